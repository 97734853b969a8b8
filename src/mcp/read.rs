//! From answers of the protocol to what a model is told. It asks nobody.

use std::path::Path;

use serde_json::Value;

use super::model::{Answer, Cut, Node, OpenFile, Place, Problem, Unavailable};
use crate::core::uri;

const MAX_REASON_CHARS: usize = 300;

/// The answer that `result` is, an `editor/getContext` or `editor/getDiagnostics` result; paths below
/// `root` are given without it.
pub(crate) fn answer(result: &Value, root: Option<&Path>, source: &str) -> Answer {
    let list = |key: &str| result[key].as_array();
    let mut answer = Answer {
        source: source.into(),
        root: root.map(|root| root.to_string_lossy().trim_end_matches('/').into()),
        path: result["uri"].as_str().map(|uri| path(uri, root)),
        unsaved: result["document"]["modified"].as_bool().filter(|&modified| modified),
        fresh: result["fresh"].as_bool(),
        ..Answer::default()
    };
    if result["position"].is_object() {
        (answer.line, answer.column) = start(&result["position"], "");
    }
    answer.symbol = text(&result["symbolAtPosition"]["text"]);
    answer.enclosing = list("enclosingSymbols").map(|nodes| outline(nodes, 0));
    answer.definitions = list("definitions").map(|items| places(items, root));
    answer.references = list("references").map(|items| places(items, root));
    answer.symbols = list("documentSymbols").map(|nodes| outline(nodes, 0));
    answer.documentation =
        list("documentation").map(|items| items.iter().filter_map(|i| text(&i["value"])).collect());
    answer.diagnostics = list("diagnostics").map(|items| {
        items.iter().filter(|i| i["source"] != "eca-context").map(|i| problem(i, root)).collect()
    });
    if let workspace @ Value::Object(_) = &result["workspace"] {
        answer.open_files = workspace["openFiles"].as_array().map(|files| {
            files
                .iter()
                .map(|file| OpenFile {
                    path: path(file["uri"].as_str().unwrap_or_default(), root),
                    unsaved: file["modified"] == true,
                    visible: file["visible"] == true,
                })
                .collect()
        });
        let selection = &workspace["selection"];
        answer.selection = selection.is_object().then(|| {
            let mut place = place(selection, root);
            place.text = text(&selection["text"]);
            place
        });
    }
    let truncated = result["truncated"].as_object();
    answer.cut = truncated
        .into_iter()
        .flatten()
        .map(|(key, cut)| Cut {
            what: word(key).into(),
            shown: cut["returned"].as_u64().unwrap_or(0),
            total: cut["total"].as_u64().unwrap_or(0),
        })
        .collect();
    for entry in list("unavailable").into_iter().flatten() {
        let entry = unavailable(entry);
        match answer.unavailable.iter_mut().find(|e| e.reason == entry.reason) {
            Some(same) => same.what = format!("{}, {}", same.what, entry.what),
            None => answer.unavailable.push(entry),
        }
    }
    answer
}

/// Says the reasons about `line`, from 1, in which lines count from 0.
pub(crate) fn count_from_one(answer: &mut Answer, line: u64, result: &Value) {
    for entry in &mut answer.unavailable {
        match (entry.code.as_str(), result["document"]["lineCount"].as_u64()) {
            ("out-of-range", Some(n_lines)) => {
                entry.reason =
                    format!("there is no line {line}, the file has {n_lines}; read it again");
            }
            ("symbol-not-found", _) => {
                let (theirs, ours) = (format!("on line {}:", line - 1), format!("on line {line}:"));
                entry.reason = entry.reason.replacen(&theirs, &ours, 1);
            }
            _ => (),
        }
    }
}

/// What we call a feature of the protocol.
fn word(feature: &str) -> &str {
    match feature {
        "symbolAtPosition" => "symbol",
        "enclosingSymbols" => "enclosing",
        "documentSymbols" => "symbols",
        "workspace" => "open_files",
        other => other,
    }
}

fn unavailable(entry: &Value) -> Unavailable {
    let code = entry["code"].as_str().unwrap_or("error");
    let reason = shortened(entry["reason"].as_str().unwrap_or_default().trim_end_matches('.'));
    let advice = match code {
        "starting" | "busy" | "timeout" | "partial" => "; ask again in a few seconds",
        "symbol-not-found" => "; read the file again and give the symbol as it is written there",
        "out-of-range" => "; read the file again",
        "no-position" => "; give `line` and `symbol`",
        "no-file" => "; give a `path`",
        "outside-workspace" => "; only files of the workspace can be asked about",
        "no-provider" if entry["capability"] == "diagnostics" => "; run the compiler or the tests",
        "no-provider" | "unsupported-by-provider" => "; search the text instead",
        _ => "",
    };
    Unavailable {
        what: word(entry["capability"].as_str().unwrap_or_default()).into(),
        code: code.into(),
        reason: format!("{reason}{advice}"),
        retry: entry["retry"] == true,
    }
}

/// A reason may quote what was asked, however long that was.
fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.into(),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(String::from)
}

/// Line and column, from 1, of the position at `pointer` in `value`.
fn start(value: &Value, pointer: &str) -> (Option<u64>, Option<u64>) {
    let at = value.pointer(pointer);
    let number = |key: &str| at.and_then(|at| at[key].as_u64()).map(|n| n + 1);
    (number("line"), number("character"))
}

/// A local path, below `root` without it; other URIs as they are.
pub(crate) fn path(uri: &str, root: Option<&Path>) -> String {
    let Some(path) = uri::to_path(uri) else { return uri.into() };
    let below = root.and_then(|root| Path::new(&path).strip_prefix(root).ok());
    match below {
        Some(below) if !below.as_os_str().is_empty() => below.to_string_lossy().into_owned(),
        _ => path,
    }
}

fn places(items: &[Value], root: Option<&Path>) -> Vec<Place> {
    items.iter().map(|item| place(item, root)).collect()
}

fn place(item: &Value, root: Option<&Path>) -> Place {
    let (line, column) = start(item, "/range/start");
    Place {
        path: path(item["uri"].as_str().unwrap_or_default(), root),
        line: line.unwrap_or(1),
        column: column.unwrap_or(1),
        container: text(&item["container"]),
        role: text(&item["role"]).or_else(|| {
            item["declaration"].as_bool().filter(|&is| is).map(|_| "declaration".into())
        }),
        text: text(&item["preview"]),
        unsaved: item["modified"].as_bool().filter(|&modified| modified),
    }
}

fn problem(item: &Value, root: Option<&Path>) -> Problem {
    let (line, column) = start(item, "/range/start");
    Problem {
        path: path(item["uri"].as_str().unwrap_or_default(), root),
        line: line.unwrap_or(1),
        column: column.unwrap_or(1),
        severity: text(&item["severity"]).unwrap_or_else(|| "error".into()),
        source: text(&item["source"]).unwrap_or_default(),
        code: text(&item["code"]),
        message: text(&item["message"]).unwrap_or_default(),
    }
}

/// A tree as a list in its order.
fn outline(nodes: &[Value], depth: u64) -> Vec<Node> {
    let mut out = Vec::new();
    for node in nodes {
        let (line, _) = start(node, "/selectionRange/start");
        out.push(Node {
            name: text(&node["name"]).unwrap_or_default(),
            kind: text(&node["kind"]),
            line: line.or_else(|| start(node, "/range/start").0),
            end_line: start(node, "/range/end").0,
            signature: text(&node["detail"]),
            depth,
        });
        if let Some(children) = node["children"].as_array() {
            out.extend(outline(children, depth + 1));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(result: Value) -> Answer {
        answer(&result, Some(Path::new("/repo")), "emacs")
    }

    #[test]
    fn counts_from_one_below_the_root() {
        let found = check(json!({
            "uri": "file:///repo/a%20b.py", "position": {"line": 0, "character": 4},
            "symbolAtPosition": {"text": "f"}, "document": {"modified": true},
            "definitions": [
                {"uri": "file:///repo/src/x.py", "range": {"start": {"line": 9, "character": 0}},
                 "preview": "def f():", "container": "C", "role": "definition"},
                {"uri": "jar:x", "range": {"start": {"line": 0, "character": 0}}},
                {"uri": "file:///repository/y", "range": {}}
            ],
        }));
        assert_eq!(
            (found.path.as_deref(), found.line, found.column),
            (Some("a b.py"), Some(1), Some(5))
        );
        assert_eq!((found.symbol.as_deref(), found.unsaved), (Some("f"), Some(true)));
        let places = found.definitions.expect("three");
        let seen: Vec<_> = places.iter().map(|p| (p.path.as_str(), p.line)).collect();
        assert_eq!(seen, [("src/x.py", 10), ("jar:x", 1), ("/repository/y", 1)]);
        assert_eq!(found.references, None);
    }

    #[test]
    fn trees_are_lists() {
        let at = |line| json!({"start": {"line": line, "character": 0}, "end": {"line": line + 1}});
        let found = check(json!({"documentSymbols": [
            {"name": "C", "kind": "class", "range": at(0), "selectionRange": at(0), "children": [
                {"name": "m", "detail": "def m(self)", "selectionRange": at(1)}]},
            {"name": "f"}]}));
        let nodes = found.symbols.expect("three");
        let seen: Vec<_> = nodes.iter().map(|n| (n.name.as_str(), n.depth, n.line)).collect();
        assert_eq!(seen, [("C", 0, Some(1)), ("m", 1, Some(2)), ("f", 0, None)]);
        assert_eq!(nodes[0].end_line, Some(2));
    }

    #[test]
    fn reasons_count_from_one_and_stand_once() {
        let trouble = |capability: &str, code: &str, reason: &str| json!({"capability": capability, "code": code, "reason": reason});
        for (code, reason, told) in [
            (
                "out-of-range",
                "there is no line 9",
                "there is no line 10, the file has 3; read it again",
            ),
            (
                "symbol-not-found",
                "f stands 0 times on line 9: on line 9:",
                "f stands 0 times on line 10: on line 9:; read the file again and give the symbol as it is written there",
            ),
        ] {
            let entries =
                [trouble("definitions", code, reason), trouble("symbolAtPosition", code, reason)];
            let result = json!({"document": {"lineCount": 3}, "unavailable": entries});
            let mut found = check(result.clone());
            count_from_one(&mut found, 10, &result);
            let [entry] = &found.unavailable[..] else { panic!("one entry") };
            assert_eq!((entry.what.as_str(), entry.reason.as_str()), ("definitions, symbol", told));
        }
    }

    #[test]
    fn not_checked_is_no_problem() {
        let found = check(
            json!({"diagnostics": [{"source": "eca-context", "message": "not checked"}],
            "fresh": false,
            "unavailable": [{"capability": "diagnostics", "code": "starting", "reason": "it starts", "retry": true}]}),
        );
        assert_eq!((found.diagnostics, found.fresh), (Some(Vec::new()), Some(false)));
        assert_eq!(found.unavailable[0].reason, "it starts; ask again in a few seconds");
        assert!(found.unavailable[0].retry);
    }
}
