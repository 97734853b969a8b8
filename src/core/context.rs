//! The answers: what assemble yields, in the protocol's shapes. It knows no provider.

use std::collections::BTreeMap;

use serde::Serialize;

use super::position::{Position, Range};

/// The result of `editor/getContext`; a feature that could not be looked at is absent here and stands
/// in `unavailable`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Context {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrences: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Document>,
    /// `Some(None)`: looked, and there is no symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol_at_position: Option<Option<Symbol>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definitions: Option<Vec<Location>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_symbols: Option<Vec<DocumentSymbol>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, Provenance>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truncated: BTreeMap<String, Truncation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

/// The result of `editor/getDiagnostics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    pub diagnostics: Vec<Diagnostic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<Document>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truncated: BTreeMap<String, Truncation>,
    /// What there was before filter and limit.
    pub total: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
}

/// The file as the editor has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Document {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub modified: bool,
    pub disk_newer: bool,
}

/// The whole identifier that touches the position.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Symbol {
    pub text: String,
    pub range: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// A place: the target's name, with its line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    pub uri: String,
    pub range: Range,
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The target's file has unsaved text in the editor.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
}

/// LSP's DocumentSymbol with its kind as a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DocumentSymbol {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_range: Option<Range>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<DocumentSymbol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated_children: Option<usize>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnostic {
    pub uri: String,
    pub severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub range: Range,
    pub message: String,
    /// Lines from the asked position or range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
}

/// Who answered a feature, and how much it is worth.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// `semantic`, `textual` or `unknown`.
    pub kind: String,
    pub providers: Vec<String>,
}

/// How many items of a list are here, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Truncation {
    pub returned: usize,
    pub total: usize,
}

/// What could not be answered, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    pub capability: String,
    pub code: String,
    pub reason: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
}
