//! What a tool answers, in the words of a model: lines and columns from 1, paths below the root without
//! it. It knows neither who was asked nor how it is written.

use schemars::JsonSchema;
use serde::Serialize;

/// What a tool found. A list that is absent was not asked for or could not be looked at; an empty one
/// was looked for, and there is nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// Who answered: the editor by name, or language servers run for this question alone.
    pub(crate) source: String,
    /// The folder that relative paths are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<String>,
    /// The file answered about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// From 1, in UTF-16 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u64>,
    /// The editor's text of the file is not what is on disk; lines are those of the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unsaved: Option<bool>,
    /// The symbol at that place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) symbol: Option<String>,
    /// The symbols around that place, outermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enclosing: Option<Vec<Node>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) definitions: Option<Vec<Place>>,
    /// Sorted by file, the asked one first, then by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) references: Option<Vec<Place>>,
    /// The symbols of the file in its order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) symbols: Option<Vec<Node>>,
    /// What is written about the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) documentation: Option<Vec<String>>,
    /// The files the user has open, the last used first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open_files: Option<Vec<OpenFile>>,
    /// What the user has selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diagnostics: Option<Vec<Problem>>,
    /// True: every checker has spoken about the present text. False: not all of them in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fresh: Option<bool>,
    /// To be given as `since` later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// With `since`: the diagnostics that were not there then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Vec<Problem>>,
    /// With `since`: the diagnostics that are there no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fixed: Option<Vec<Problem>>,
    /// What was left out for want of room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cut: Vec<Cut>,
    /// What could not be looked at, and what to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unavailable: Vec<Unavailable>,
}

impl Answer {
    /// Whether anything was looked for at a place.
    pub(crate) fn is_about_a_place(&self) -> bool {
        self.enclosing.is_some()
            || self.definitions.is_some()
            || self.references.is_some()
            || self.documentation.is_some()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Node {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
    /// 0 at the top of the file.
    pub(crate) depth: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Place {
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: u64,
    /// From 1, in UTF-16 units.
    pub(crate) column: u64,
    /// What it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<String>,
    /// `definition`, `declaration`, `typeDefinition`, `implementation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// The text there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The editor's text of that file is not what is on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unsaved: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct OpenFile {
    pub(crate) path: String,
    pub(crate) unsaved: bool,
    pub(crate) visible: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: u64,
    /// From 1, in UTF-16 units.
    pub(crate) column: u64,
    /// `error`, `warning`, `info`, `hint`.
    pub(crate) severity: String,
    pub(crate) source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Cut {
    pub(crate) what: String,
    pub(crate) shown: u64,
    pub(crate) total: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Unavailable {
    pub(crate) what: String,
    pub(crate) code: String,
    /// A sentence: why, and what to do.
    pub(crate) reason: String,
    /// Asking again may help.
    pub(crate) retry: bool,
}
