//! One question to a language server of the table, and the answer in the protocol's shape. It knows
//! neither a command line nor who asks.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::table::{known, titles};
use crate::core::facts::{Facts, Trouble};
use crate::core::lines::Lines;
use crate::core::plan::Options;
use crate::core::position::Position;
use crate::core::uri;
use crate::lsp::{Ask, Found};
use crate::wire;

/// As many of each as the protocol allows.
pub(crate) const LIMIT: u32 = 1000;

pub(crate) fn trouble(code: &str, reason: String) -> Trouble {
    Trouble { code: code.into(), reason, retry: false }
}

/// The name of the server for the file `path`, and what it is asked about `feature`, the protocol's name,
/// without a time limit. No root is looked for above `folder`; `called` is what a reason calls the file.
///
/// *Errors*: that no server is known, or what is to be installed.
pub(crate) fn ask(
    path: &Path,
    folder: &Path,
    called: &str,
    feature: &str,
    at: Position,
) -> Result<(String, Ask), Trouble> {
    let table = known();
    let mut fitting = table.iter().filter_map(|known| Some((known, known.language(path)?)));
    let (known, language) = fitting.next().ok_or_else(|| {
        let titles = titles(&table);
        trouble("no-provider", format!("no language server is known for {called}; known: {titles}"))
    })?;
    let root: PathBuf = known.root(path, folder);
    let row = known
        .row(&root)
        .map_err(|missing| trouble("install", format!("unavailable: {missing}")))?;
    let ask = Ask {
        row,
        root: root.to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
        language_id: language.into(),
        text: None,
        unsaved: Vec::new(),
        method: method(feature).into(),
        line: at.line,
        character: at.character,
        deadline_ms: 0,
        patience_ms: 0,
        starts: true,
    };
    Ok((known.name.clone(), ask))
}

/// A feature, the protocol's name: what the server of that name said of it, or why nothing.
pub(crate) type Said<'a> = (&'a str, Result<(String, Found), Trouble>);

/// The answer about the file `path`. `params` are the request's, but for `uri` and `include`.
pub(crate) fn answer(
    path: &str,
    said: Vec<Said<'_>>,
    mut params: Value,
    lines: &dyn Lines,
) -> Value {
    let features: Vec<_> = said.iter().map(|(feature, _)| *feature).collect();
    let mut facts = json!({"document": {"path": path}, "position": params["position"]});
    for (feature, said) in said {
        facts[feature] = json!([match said {
            Ok((name, found)) => outcome(feature, &name, &found),
            Err(Trouble { code, reason, retry }) => {
                json!({"provider": "", "status": code, "reason": reason, "retry": retry})
            }
        }]);
    }
    let facts: Facts = serde_json::from_value(facts).unwrap_or_default();
    params["uri"] = json!(uri::from_path(path));
    let method = if features == ["diagnostics"] {
        "editor/getDiagnostics"
    } else {
        params["include"] = json!(features);
        "editor/getContext"
    };
    let options = Options { max_limit: LIMIT, not_checked: false, ..Options::default() };
    let body = wire::answer(method, params, options, facts, lines, "0");
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    body["result"].take()
}

/// LSP's method that tells of `feature`.
fn method(feature: &str) -> &'static str {
    match feature {
        "definitions" => "textDocument/definition",
        "references" => "textDocument/references",
        "documentSymbols" | "enclosingSymbols" => "textDocument/documentSymbol",
        "documentation" => "textDocument/hover",
        _ => "textDocument/diagnostic",
    }
}

/// What the server `name` said of `feature`, as facts.
fn outcome(feature: &str, name: &str, found: &Found) -> Value {
    let mut outcome = json!({"provider": name, "kind": "semantic", "status": "ok"});
    if feature == "diagnostics" {
        outcome["items"] = serde_json::from_str(&found.result).unwrap_or_default();
        outcome["fresh"] = json!(found.fresh);
        return outcome;
    }
    outcome["rawJson"] = json!(found.result);
    outcome["encoding"] = json!(found.encoding);
    outcome["declarationsJson"] = json!(found.declarations);
    match feature {
        "definitions" => outcome["role"] = json!("definition"),
        "documentation" => outcome["role"] = json!("hover"),
        _ => (),
    }
    outcome
}
