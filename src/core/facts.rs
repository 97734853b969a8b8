//! What the gatherers found: the hinge between them and `assemble`. It knows neither who asked nor
//! which editor answered.
//!
//! Every type reads from a map (fixtures, plists) or from a sequence in field order (hot lists, as
//! Lisp vectors). Lines and characters count from 0, characters in UTF-16 units; only in raw LSP results
//! they are in the units that the outcome names.

use std::fmt;

use lsp_types::PositionEncodingKind;
use serde::de::{self, DeserializeOwned, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::context::{Severity, from_word};
use super::position::{Position, Range};
use super::raw::{List, RawDocumentation, RawLocation, RawSymbol};
use super::reading::{IndexEntryGiven, Readable, Said, file, optional_path, outcomes, path, paths};

/// Everything known about one request, feature by feature; never fails as a whole.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// The file asked about; absent when there is none.
    pub document: Option<DocumentFacts>,
    /// A folder of the workspace, where no file was asked about.
    #[serde(deserialize_with = "optional_path")]
    pub root: Option<String>,
    /// Why nothing at all can be said about the file (`not-found`, `excluded` …).
    pub trouble: Option<Trouble>,
    /// The position as the editor resolved it: snapped, clamped, or found by name.
    pub position: Option<Position>,
    /// How often the asked symbol stands on the line; only for requests by `symbol`.
    pub occurrences: Option<u32>,
    /// Why there is no position (`out-of-range`, `symbol-not-found`, `no-position`).
    pub position_trouble: Option<Trouble>,
    /// Texts that differ from disk (modified buffers, odd encodings): path and whole text.
    pub texts: Vec<Text>,
    /// Paths that must appear nowhere, previews included.
    #[serde(deserialize_with = "paths")]
    pub excluded: Vec<String>,
    #[serde(deserialize_with = "outcomes")]
    pub symbol_at_position: Vec<Outcome<SymbolFact>>,
    #[serde(deserialize_with = "outcomes")]
    pub definitions: Vec<Outcome<PlaceFact>>,
    #[serde(deserialize_with = "outcomes")]
    pub references: Vec<Outcome<ReferenceFact>>,
    #[serde(deserialize_with = "outcomes")]
    pub document_symbols: Vec<Outcome<IndexEntry>>,
    #[serde(deserialize_with = "outcomes")]
    pub enclosing_symbols: Vec<Outcome<EnclosingFact>>,
    #[serde(deserialize_with = "outcomes")]
    pub documentation: Vec<Outcome<DocumentationFact>>,
    /// The first item of the first one that could look is the answer.
    #[serde(deserialize_with = "outcomes")]
    pub workspace: Vec<Outcome<WorkspaceFact>>,
    #[serde(deserialize_with = "outcomes")]
    pub diagnostics: Vec<Outcome<DiagnosticFact>>,
    /// Diagnostics that were only counted, not handed over.
    pub diagnostics_omitted: Omitted,
}

/// How many diagnostics of the asked file the answer can do without: each a problem of its own, none
/// among the first `limit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Omitted {
    pub total: usize,
    /// Those of them that the request's filters let through.
    pub passed: usize,
}

/// The document block as the editor knows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DocumentFacts {
    /// Absolute local path; the answer's URI is the caller's spelling, else made from this.
    #[serde(deserialize_with = "path")]
    pub path: String,
    pub language_id: Option<String>,
    pub line_count: Option<u32>,
    pub version: Option<String>,
    pub modified: bool,
    pub disk_newer: bool,
}

/// An `unavailable` entry without its capability.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Trouble {
    pub code: String,
    pub reason: String,
    pub retry: bool,
}

/// The whole text of one file as the editor has it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Text {
    #[serde(deserialize_with = "path")]
    pub path: String,
    pub text: String,
    /// The buffer differs from the file.
    pub modified: bool,
}

/// What one provider said about one feature: `items`, or the LSP result that stands for them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Said<T>", bound(deserialize = "T: Fact"))]
pub struct Outcome<T: Fact> {
    pub provider: String,
    /// `semantic`, `textual` or `unknown`.
    pub kind: String,
    /// `ok`, or an `unavailable` code.
    pub status: String,
    pub reason: Option<String>,
    pub retry: bool,
    pub items: Vec<T>,
    /// How many items there were beside these that could not be read.
    pub n_unread: usize,
    /// The LSP result as the server gave it.
    pub raw: List<T::Raw>,
    /// The same as JSON text.
    pub raw_json: Option<String>,
    /// Enclosing symbols only: `raw` is that of the document symbols' outcome with this index, from 0,
    /// and not given twice.
    pub raw_of: Option<u32>,
    /// The units of the positions in `raw`; UTF-16 unless given.
    pub encoding: Option<PositionEncodingKind>,
    /// What was asked for: of definitions `definition`, `declaration`, `typeDefinition` or
    /// `implementation`, of documentation `hover` or `signature`. Items have a role of their own.
    pub role: Option<String>,
    /// References only: the raw result of `textDocument/definition` at the same place, an array if it is
    /// empty. Absent: which reference is the declaration cannot be told.
    pub declarations: Option<List<RawLocation>>,
    /// The same as JSON text.
    pub declarations_json: Option<String>,
    /// Diagnostics only: whether the checker has spoken about the present text.
    pub fresh: Option<bool>,
    /// Diagnostics only: places in the asked file were counted in its present text, so none lies
    /// beyond a line's end or within a surrogate pair.
    pub exact: bool,
}

impl<T: Fact> Default for Outcome<T> {
    fn default() -> Self {
        Self {
            provider: String::new(),
            kind: "unknown".into(),
            status: "ok".into(),
            reason: None,
            retry: false,
            items: Vec::new(),
            n_unread: 0,
            raw: List::default(),
            raw_json: None,
            raw_of: None,
            encoding: None,
            role: None,
            declarations: None,
            declarations_json: None,
            fresh: None,
            exact: false,
        }
    }
}

impl<T: Fact> Outcome<T> {
    /// What stands for an answer that is none.
    pub(crate) fn failed(reason: String) -> Self {
        Self { status: "error".into(), reason: Some(reason), ..Self::default() }
    }
}

/// An item of a feature, and the item of the LSP result that stands for such.
pub trait Fact: DeserializeOwned {
    type Raw: DeserializeOwned + fmt::Debug + Clone + PartialEq;

    /// How many items within this one could not be read.
    fn n_unread(&self) -> usize {
        0
    }
}

impl Fact for SymbolFact {
    type Raw = IgnoredAny;
}
impl Fact for PlaceFact {
    type Raw = RawLocation;
}
impl Fact for ReferenceFact {
    type Raw = RawLocation;
}
impl Fact for IndexEntry {
    type Raw = RawSymbol;

    fn n_unread(&self) -> usize {
        self.n_unread
    }
}
impl Fact for EnclosingFact {
    type Raw = RawSymbol;
}
impl Fact for DocumentationFact {
    type Raw = RawDocumentation;
}
impl Fact for WorkspaceFact {
    type Raw = IgnoredAny;
}
impl Fact for DiagnosticFact {
    type Raw = IgnoredAny;
}

/// The identifier that touches the position (field order: text, range, context).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct SymbolFact {
    pub text: String,
    pub range: Range,
    /// `code`, `comment` or `string`.
    #[serde(default)]
    pub context: Option<String>,
}

/// A place that a provider named.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceFact {
    /// Absolute path, or a URI of another scheme (`jar:…`).
    #[serde(deserialize_with = "file")]
    pub file: String,
    #[serde(default)]
    pub line: Option<u32>,
    #[serde(default)]
    pub character: Option<u32>,
    #[serde(default)]
    pub end_line: Option<u32>,
    #[serde(default)]
    pub end_character: Option<u32>,
    /// The name to find on the line when the provider gave only a line or a point.
    #[serde(default)]
    pub name: Option<String>,
    /// `definition`, `declaration`, `typeDefinition`, `implementation`.
    #[serde(default)]
    pub role: Option<String>,
    /// Qualified name of what encloses it.
    #[serde(default)]
    pub container: Option<String>,
}

/// A reference that a provider named (field order as below; a hot list).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceFact {
    /// Absolute path, or a URI of another scheme (`jar:…`).
    #[serde(deserialize_with = "file")]
    pub file: String,
    #[serde(default)]
    pub line: Option<u32>,
    #[serde(default)]
    pub character: Option<u32>,
    #[serde(default)]
    pub end_line: Option<u32>,
    #[serde(default)]
    pub end_character: Option<u32>,
    /// The name to find on the line when the provider gave only a line or a point.
    #[serde(default)]
    pub name: Option<String>,
    /// Absent: it cannot be told.
    #[serde(default)]
    pub declaration: Option<bool>,
    /// Qualified name of what encloses it.
    #[serde(default)]
    pub container: Option<String>,
}

/// One node of an index as imenu gives it, positions already counted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "IndexEntryGiven")]
pub struct IndexEntry {
    pub name: String,
    pub line: Option<u32>,
    pub character: Option<u32>,
    pub children: Option<Vec<IndexEntry>>,
    /// What the backend says it is, in the backend's word (`def`, `class`, `Variables` …).
    pub hint: Option<String>,
    /// How many entries below it could not be read.
    pub n_unread: usize,
}

/// A symbol around the position (field order as below; outermost first).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnclosingFact {
    pub name: String,
    /// LSP's word, or what the backend calls it.
    #[serde(default)]
    pub kind: Option<String>,
    /// Exact: the symbol's first character to behind its last.
    pub range: Range,
    #[serde(default)]
    pub selection_range: Option<Range>,
}

/// A text about the symbol (field order as below).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct DocumentationFact {
    /// `hover`, `signature` or `docstring`.
    #[serde(default)]
    pub role: String,
    /// `markdown`, or else plain text.
    #[serde(default)]
    pub kind: String,
    pub value: String,
}

/// What is open. A key that is absent is not known, or not to be told.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceFact {
    #[serde(deserialize_with = "known")]
    pub roots: Option<Vec<RootFact>>,
    #[serde(deserialize_with = "optional_path")]
    pub current_file: Option<String>,
    #[serde(deserialize_with = "known")]
    pub open_files: Option<Vec<OpenFileFact>>,
    pub selection: Option<SelectionFact>,
}

/// A list under a key that is there: also nothing is a list, an empty one.
fn known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<Vec<T>>, D::Error> {
    let list = Option::<Readable<T>>::deserialize(d)?;
    Ok(Some(list.map(|Readable(list)| list.items).unwrap_or_default()))
}

/// A folder of the workspace (field order as below).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RootFact {
    /// Absolute.
    #[serde(deserialize_with = "path")]
    pub path: String,
    /// Absent: the last part of the path.
    pub name: Option<String>,
}

/// A file that is open (field order as below).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct OpenFileFact {
    /// Absolute.
    #[serde(deserialize_with = "path")]
    pub path: String,
    pub modified: bool,
    pub visible: bool,
}

/// The selected text (field order as below).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct SelectionFact {
    /// Absolute.
    #[serde(deserialize_with = "path")]
    pub path: String,
    pub range: Range,
    pub text: String,
}

/// One problem (field order as below; a hot list).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct DiagnosticFact {
    /// Absolute path; empty: the file asked about.
    #[serde(deserialize_with = "path", default)]
    pub file: String,
    /// A word; what is none of the four is `error`.
    #[serde(deserialize_with = "severity", default)]
    pub severity: Severity,
    /// The tool's name, or the checker's function or symbol name to be stripped.
    #[serde(default)]
    pub source: Option<String>,
    #[serde(default)]
    pub code: Option<String>,
    pub range: Range,
    pub message: String,
}

/// The severity that a word names; `error` for any other.
fn severity<'de, D: Deserializer<'de>>(d: D) -> Result<Severity, D::Error> {
    struct Word;
    impl Visitor<'_> for Word {
        type Value = Severity;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a severity")
        }
        fn visit_str<E: de::Error>(self, word: &str) -> Result<Severity, E> {
            Ok(from_word(word).unwrap_or_default())
        }
        fn visit_unit<E: de::Error>(self) -> Result<Severity, E> {
            Ok(Severity::default())
        }
    }
    d.deserialize_str(Word)
}
