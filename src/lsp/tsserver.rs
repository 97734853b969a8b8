//! Diagnostics that tsserver is asked for through typescript-language-server. It knows no process.
//!
//! That server publishes without a version, in pieces, and nothing at all for a clean file that stays
//! clean; so what it published never tells whether it has looked. The commands of tsserver itself
//! answer about the present text.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::core::position::Position;

/// The command that passes a request on to tsserver.
pub(crate) const COMMAND: &str = "typescript.tsserverRequest";

const REQUESTS: [&str; 3] =
    ["syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync"];

/// What there is to do where no tsserver is found.
pub const NO_TSSERVER: &str = "install typescript — npm install -g typescript";

/// What typescript-language-server is told for the project `root`, by which it runs nothing of the
/// project: it uses the tsserver that is installed beside one of `programs`, and not the project's, whose
/// plugins stay off with it; and nothing is downloaded. It runs one tsserver: the second, partial one would
/// answer wrongly while the project is loaded.
///
/// *Errors*: `None` if there is no tsserver but in `root`.
pub fn tsserver_options(programs: &[PathBuf], root: &Path) -> Option<Value> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let programs = programs.iter().filter_map(|program| fs::canonicalize(program).ok());
    let mut libraries = programs.filter_map(|program| {
        let mut near = program.ancestors().map(|folder| folder.join("typescript/lib/tsserver.js"));
        near.find(|library| library.is_file())
    });
    let path = libraries.find(|library| !library.starts_with(&root))?;
    Some(json!({
        "disableAutomaticTypingAcquisition": true,
        "tsserver": {"path": path, "useSyntaxServer": "never"},
    }))
}

/// The requests that together tell the diagnostics of the open document `uri`: methods and params.
pub(crate) fn requests(uri: &str) -> Vec<(&'static str, Value)> {
    REQUESTS
        .into_iter()
        .map(|name| {
            let arguments = json!([name, {"file": uri}]);
            ("workspace/executeCommand", json!({"command": COMMAND, "arguments": arguments}))
        })
        .collect()
}

/// The request, a method and params, that has tsserver look at once which files there are.
pub(crate) fn reload() -> (&'static str, Value) {
    ("workspace/executeCommand", json!({"command": COMMAND, "arguments": ["reloadProjects", {}]}))
}

#[derive(Deserialize)]
struct Raw {
    start: Place,
    end: Place,
    text: String,
    #[serde(default)]
    code: Value,
    #[serde(default)]
    category: String,
    source: Option<String>,
}

/// Both from 1.
#[derive(Deserialize)]
struct Place {
    line: u32,
    offset: u32,
}

impl From<Place> for Position {
    fn from(place: Place) -> Self {
        Self::new(place.line.saturating_sub(1), place.offset.saturating_sub(1))
    }
}

/// The results of the requests, as JSON texts, as one list of LSP's diagnostics, JSON text too.
/// `None` if one of them tells nothing.
pub(crate) fn merged(results: &[&str]) -> Option<String> {
    let mut all = Vec::new();
    for result in results {
        let result: Value = serde_json::from_str(result).ok()?;
        for item in result["body"].as_array()? {
            let Ok(raw) = Raw::deserialize(item) else { continue };
            all.push(json!({
                "range": {"start": Position::from(raw.start), "end": Position::from(raw.end)},
                "severity": match raw.category.as_str() {
                    "warning" => 2,
                    "message" => 3,
                    "suggestion" => 4,
                    _ => 1,
                },
                "code": raw.code,
                "source": raw.source.as_deref().unwrap_or("typescript"),
                "message": raw.text,
            }));
        }
    }
    serde_json::to_string(&all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_own_is_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("it is there");
        let write = |name: &str| {
            let path = top.join(name);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders");
            fs::write(&path, "").expect("written");
            path
        };
        let own = write("p/node_modules/typescript-language-server/cli.mjs");
        let library = write("p/node_modules/typescript/lib/tsserver.js");
        let found = |programs: &[PathBuf], root: &str| {
            let options = tsserver_options(programs, &top.join(root))?;
            Some(PathBuf::from(options["tsserver"]["path"].as_str()?))
        };
        assert_eq!(found(std::slice::from_ref(&own), "p"), None);
        assert_eq!(found(std::slice::from_ref(&own), "q"), Some(library));
        let users = write("u/node_modules/tsserver");
        let library = write("u/node_modules/typescript/lib/tsserver.js");
        assert_eq!(found(&[own, users, top.join("none")], "p"), Some(library));
    }

    #[test]
    fn three_answers_become_one() {
        let body = json!({"body": [
            {"start": {"line": 4, "offset": 1}, "end": {"line": 4, "offset": 4}, "text": "m",
             "code": 2304, "category": "error"},
            {"start": {"line": 1}, "text": "lost"},
        ]});
        let (body, empty) = (body.to_string(), r#"{"body": []}"#);
        let expected = json!([{
            "range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 3}},
            "severity": 1, "code": 2304, "source": "typescript", "message": "m",
        }]);
        let got = merged(&[&body, empty, empty]).expect("all answered");
        assert_eq!(serde_json::from_str::<Value>(&got).expect("JSON"), expected);
        assert_eq!(merged(&[empty, "null", empty]), None);
    }
}
