//! Language servers that run for the agent alone, where the editor has none. It knows no editor and no
//! request of ECA: a question goes in, and later its answer lies in a queue.
//!
//! `Servers` is the only door. It belongs to one thread; each server has a thread that owns all that is
//! known about it, and three that read and write its pipes. They block all signals, take a lock only to
//! look or to put something down, and hold none while they write to a pipe.

mod diagnostics;
mod documents;
mod initialize;
mod message;
mod pool;
mod process;
mod queue;
mod root;
mod server;
mod status;
mod tsserver;
mod watch;

use std::ffi::OsString;

use lsp_types::PositionEncodingKind;
use serde::Deserialize;
use serde_json::Value;

use crate::core::facts::Trouble;

pub use pool::{Limits, Servers};
pub use root::root;
pub use status::{State, Status};
pub use tsserver::{NO_TSSERVER, tsserver_options};

/// A server that can be run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// As people call it; two rows of one name are one.
    pub name: String,
    /// Absolute program and its arguments.
    pub command: Vec<String>,
    /// What it inherits in place of our own environment: each `NAME=value`, or `NAME` for what is not
    /// set; of one name the first counts.
    pub environment: Option<Vec<String>>,
    /// What `workspace/configuration` is answered from.
    pub settings: Value,
    pub initialization_options: Value,
    /// What the server logs, among other words, when it has loaded the project; empty if it does not say.
    pub loaded: String,
    /// For how long after it started, in milliseconds, what may be a fragment is not believed of a server
    /// that has told of no end of loading. 0 for one that answers only when it has loaded the project.
    pub settle_ms: u64,
    /// Whether it is told our process id: not where it runs among other ids.
    pub tells_process_id: bool,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            name: String::new(),
            command: Vec::new(),
            environment: None,
            settings: Value::Null,
            initialization_options: Value::Null,
            loaded: String::new(),
            settle_ms: 2000,
            tells_process_id: true,
        }
    }
}

impl Row {
    /// What the server inherits as the environment variable `name`.
    fn variable(&self, name: &str) -> Option<OsString> {
        let Some(environment) = &self.environment else { return std::env::var_os(name) };
        let mut entries = environment.iter().map(|entry| variable(entry));
        entries.find(|(of, _)| *of == name)?.1.map(OsString::from)
    }
}

/// The name and the value in an entry of [`Row::environment`].
fn variable(entry: &str) -> (&str, Option<&str>) {
    entry.split_once('=').map_or((entry, None), |(name, value)| (name, Some(value)))
}

/// A question about one file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ask {
    pub row: Row,
    /// The folder that the server runs for, absolute.
    pub root: String,
    /// Absolute.
    pub path: String,
    pub language_id: String,
    /// The editor's text of the file where it is not what stands on disk.
    pub text: Option<String>,
    /// What else the editor has that is not on disk. All other files count as they are there.
    pub unsaved: Vec<Unsaved>,
    /// Of LSP, `textDocument/…`; `textDocument/diagnostic` stands for diagnostics in any way.
    pub method: String,
    /// From 0, in UTF-16 units; where the method needs a position.
    pub line: u32,
    pub character: u32,
    /// Within how long, in milliseconds, there must be an answer.
    pub deadline_ms: u64,
    /// How long, in milliseconds, to wait for a server that starts or loads the project before saying so.
    pub patience_ms: u64,
    /// Whether a server may be started for it.
    pub starts: bool,
}

/// An editor's text of a file: the file's absolute name, its language id, the text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Unsaved(pub String, pub String, pub String);

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub token: u64,
    pub outcome: Result<Found, Trouble>,
}

/// What a server said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// JSON text. Of diagnostics a list of `[file, severity, source, code, [line, character, end line,
    /// end character], message]` in UTF-16 units, the file empty for the one asked about; else the result
    /// as it came.
    pub result: String,
    /// The units of characters in it; UTF-16 unless given.
    pub encoding: Option<PositionEncodingKind>,
    /// Of references: what `textDocument/definition` said at the same place.
    pub declarations: Option<String>,
    /// Of diagnostics: whether they are about the present text.
    pub fresh: Option<bool>,
}
