//! The answers: what assemble yields, in the protocol's shapes. It knows no provider. Longer than other
//! files, for it is one list of types.
//!
//! Doc comments of types and fields stand in the JSON Schema: they are for the author of another
//! editor's client.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

use super::position::{OneBasedRange, Position, Range};

/// The result of `editor/getContext`: each feature asked for stands here under its own name or in
/// `unavailable`; under both only with code `partial`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The file answered for, in the caller's spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The position answered for; absent when no feature needed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// How often the asked `symbol` stands on the line, when more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrences: Option<u32>,
    /// The file; absent when none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Document>,
    /// `null`: looked, and no symbol touches the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_at_position: Option<Option<Symbol>>,
    /// Where the symbol is defined, in the provider's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definitions: Option<Vec<Location>>,
    /// Where the symbol is used: the asked file first, each file in its order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<Reference>>,
    /// The file's symbols, a tree in file order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_symbols: Option<Vec<DocumentSymbol>>,
    /// The symbols whose closed range holds the position, outermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enclosing_symbols: Option<Vec<EnclosingSymbol>>,
    /// What is written about the symbol: hover, signatures, docstring, equal texts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<Vec<Documentation>>,
    /// What is open in the workspace folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// An entry for each feature that is answered.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, Provenance>,
    /// An entry for each list that was cut.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truncated: BTreeMap<String, Truncation>,
    /// An entry for each feature that could not be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

/// The result of `editor/getDiagnostics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// The problems: by distance if `position` was given, else in file order.
    pub diagnostics: Vec<Diagnostic>,
    /// True: every active checker has spoken about the present text; false: not in time;
    /// absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// The file, when `uri` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Document>,
    /// Has the key `diagnostics` when `limit` cut something.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truncated: BTreeMap<String, Truncation>,
    /// How many there were before filter and limit.
    pub total: usize,
    /// What could not be looked at; the capability is `diagnostics`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

/// The result of `editor/getDefinition` and of `editor/getReferences`; it counts from 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct Locations {
    /// How it went.
    pub status: Status,
    /// The places; there with status `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<OneBasedLocation>>,
    /// What went wrong, for a person to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How a request of the two older methods went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Looked; an empty list of locations means there is none.
    Success,
    /// A provider is starting: ask again.
    Starting,
    /// Nothing answers this for such a file.
    NoServer,
    /// The request or the client was at fault; `message` says how.
    #[default]
    Error,
}

/// A place, counted from 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OneBasedLocation {
    /// The file.
    pub uri: String,
    /// The target's name.
    pub range: OneBasedRange,
    /// The line, trimmed, at most 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the place is to the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// The file as the editor has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// LSP's name of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_id: Option<String>,
    /// `a\\nb\\n` has three lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u32>,
    /// Opaque; another one for another text. Absent when the file is not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The editor has text that is not saved.
    pub modified: bool,
    /// The file changed on disk since the editor read it.
    pub disk_newer: bool,
}

/// The whole identifier that touches the position, its end included.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Symbol {
    /// The name as it stands in the file.
    pub text: String,
    /// Where it stands.
    pub range: Range,
    /// What it stands in; absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<SymbolContext>,
    /// The line, trimmed, at most 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// What surrounds a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SymbolContext {
    Code,
    Comment,
    String,
}

/// A place: the target's name, with its line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Location {
    /// The file.
    pub uri: String,
    /// The target's name; empty where only a point is known.
    pub range: Range,
    /// What the place is to the symbol.
    pub role: Role,
    /// The line as the editor has it, trimmed, at most 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Qualified name of what encloses the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The file has unsaved text in the editor: on disk the numbers may differ.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// A place where the symbol is used, or declared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Reference {
    /// The file.
    pub uri: String,
    /// The name; empty where only a point is known.
    pub range: Range,
    /// The line as the editor has it, trimmed, at most 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Qualified name of what encloses the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Whether this is the symbol's declaration; absent when that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration: Option<bool>,
    /// The file has unsaved text in the editor: on disk the numbers may differ.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// What a place is to the symbol asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Role {
    #[default]
    Definition,
    Declaration,
    TypeDefinition,
    Implementation,
}

/// LSP's DocumentSymbol with its kind as a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct DocumentSymbol {
    /// Free of what a tool adds to it.
    pub name: String,
    /// Absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<SymbolKind>,
    /// The provider's, else the symbol's line, trimmed, at most 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The whole symbol; absent when only a point is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The name; empty where it does not stand on its line, absent when no point is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_range: Option<Range>,
    /// The symbols inside; a leaf has no such key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<DocumentSymbol>,
    /// How many children `limit` cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_children: Option<usize>,
}

/// A symbol around the position; it has a scope, and encloses its own name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct EnclosingSymbol {
    /// Free of what a tool adds to it.
    pub name: String,
    /// Absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<SymbolKind>,
    /// The whole symbol.
    pub range: Range,
    /// The name; absent when its place is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_range: Option<Range>,
}

/// A text about the symbol, at most 4,000 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Documentation {
    /// Where such a text is shown.
    pub role: DocumentationRole,
    /// How to read it.
    pub kind: MarkupKind,
    /// The text.
    pub value: String,
}

/// Where a text about a symbol is shown, in the order of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DocumentationRole {
    /// What is shown at the position.
    Hover,
    /// How the function around the position is called.
    Signature,
    /// What stands with the definition.
    Docstring,
}

/// LSP's MarkupKind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MarkupKind {
    #[default]
    Plaintext,
    Markdown,
}

/// What is open inside the workspace folders. A key that is absent is not known, or the user keeps it to
/// himself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// The workspace folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<WorkspaceFolder>>,
    /// The file the user is in, or was last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_file: Option<String>,
    /// The files that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<Vec<OpenFile>>,
    /// The selected text; absent when nothing is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// LSP's WorkspaceFolder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct WorkspaceFolder {
    /// The folder.
    pub uri: String,
    /// As people call it.
    pub name: String,
}

/// A file that is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OpenFile {
    /// The file.
    pub uri: String,
    /// It has unsaved text.
    pub modified: bool,
    /// The user sees it, or a part of it.
    pub visible: bool,
}

/// What the user has selected.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Selection {
    /// The file.
    pub uri: String,
    /// All that is selected.
    pub range: Range,
    /// The text, at most its first 2,000 characters.
    pub text: String,
}

/// LSP's SymbolKind as a word with a small first letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SymbolKind {
    File,
    Module,
    Namespace,
    Package,
    Class,
    Method,
    Property,
    Field,
    Constructor,
    Enum,
    Interface,
    Function,
    Variable,
    Constant,
    String,
    Number,
    Boolean,
    Array,
    Object,
    Key,
    Null,
    EnumMember,
    Struct,
    Event,
    Operator,
    TypeParameter,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Diagnostic {
    /// The file.
    pub uri: Rc<str>,
    /// How bad it is.
    pub severity: Severity,
    /// The tool's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The tool's name for such problems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where; a range may be empty.
    pub range: Range,
    /// What the tool says.
    pub message: String,
    /// Lines from the asked position or range; 0 when it touches the same line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
}

/// LSP's DiagnosticSeverity as a word, the most severe first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[default]
    Error,
    Warning,
    Info,
    Hint,
}

/// Who answered a feature, and how much it is worth.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Provenance {
    /// What kind of knowledge it is.
    pub kind: ProvenanceKind,
    /// Who was asked and answered.
    pub providers: Vec<String>,
}

/// What kind of knowledge an answer rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProvenanceKind {
    /// A language service, or a running system's own knowledge.
    Semantic,
    /// Syntax tables, tag files, patterns, searches.
    Textual,
    /// The client cannot tell.
    #[default]
    Unknown,
}

/// How many items of a list are here, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Truncation {
    /// So many are here.
    pub returned: usize,
    /// So many there were.
    pub total: usize,
}

/// What could not be answered, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Unavailable {
    /// The feature, as it was asked for.
    pub capability: String,
    /// For the server: whether to ask again, and how.
    pub code: Code,
    /// For a person or a model to read.
    pub reason: String,
    /// Ask again, for this feature only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
}

/// Why something could not be answered. Later versions may add codes: a reader takes an unknown code as
/// `error`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The user has switched the feature off.
    Disabled,
    /// No feature has this name.
    UnknownCapability,
    /// No `uri` was given, and there is no current file.
    NoFile,
    /// Nothing here answers this for such a file.
    NoProvider,
    /// What answers for such a file, or this client, cannot do this.
    UnsupportedByProvider,
    /// A position is needed, none was given, and the editor has no cursor there.
    NoPosition,
    /// `symbol` does not stand on the line; the reason quotes the line.
    SymbolNotFound,
    /// There is no such line; the reason says how many there are.
    OutOfRange,
    /// There is no such file.
    NotFound,
    /// The URI is not one the client can look into.
    UnsupportedScheme,
    /// What the URI names is no regular file.
    NotAFile,
    /// The file is too large to look into.
    TooLarge,
    /// The file is on another machine without a live connection.
    Remote,
    /// The file is in none of the session's workspace folders.
    OutsideWorkspace,
    /// The user excludes the file.
    Excluded,
    /// The provider wanted to ask the user something.
    WouldPrompt,
    /// A program is missing; the reason says how to install it.
    Install,
    /// The provider failed; the reason is its message.
    #[default]
    Error,
    /// The provider is starting; has `retry`.
    Starting,
    /// The provider is busy; has `retry`.
    Busy,
    /// The provider did not answer in time; has `retry`.
    Timeout,
    /// One of several providers failed, the others answered; has `retry`.
    Partial,
}

/// The value that `word` names in the protocol, if it names one.
pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    let word: StrDeserializer<'_, WordError> = word.into_deserializer();
    T::deserialize(word).ok()
}
