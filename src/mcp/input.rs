//! What a model gives a tool, and what is wrong with it: one sentence that says what to give. It asks nobody.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::Tool;

/// No file's name is longer.
const MAX_PATH_BYTES: usize = 4096;

/// What a tool is given.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Input {
    /// File, absolute or relative to the workspace root; for diagnostics also a folder. Without it:
    /// the file the user is in.
    pub(crate) path: Option<String>,
    /// Line, from 1. Without `path` and `line`: where the user's cursor is.
    pub(crate) line: Option<u64>,
    /// The symbol exactly as written on that line; its column is found from it.
    pub(crate) symbol: Option<String>,
    /// Column, from 1, in UTF-16 units; only where `symbol` will not do.
    pub(crate) column: Option<u64>,
    /// Token of an earlier answer: also say what is new and what is fixed since then.
    pub(crate) since: Option<String>,
    /// Most bytes of the answer, default 16384.
    pub(crate) max_bytes: Option<u64>,
}

const NAMES: [&str; 6] = ["path", "line", "symbol", "column", "since", "max_bytes"];

/// The arguments of `tool`.
///
/// *Errors*: a sentence that says what to give.
pub(crate) fn read(tool: Tool, mut arguments: Map<String, Value>) -> Result<Input, String> {
    // What only other tools take says nothing here.
    arguments.retain(|name, _| {
        tool.inputs().contains(&name.as_str()) || !NAMES.contains(&name.as_str())
    });
    for (name, value) in &arguments {
        if !NAMES.contains(&name.as_str()) {
            let name: String = name.chars().take(40).collect();
            let known = tool.inputs().join(", ");
            return Err(format!("there is no argument `{name}`; there are {known}"));
        }
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        if serde_json::from_value::<Input>(Value::Object(alone)).is_err() {
            let kind = match name.as_str() {
                "line" | "column" | "max_bytes" => "a whole number, from 1",
                _ => "a string",
            };
            return Err(format!("`{name}` must be {kind}"));
        }
    }
    let input: Input =
        serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())?;
    check(tool, &input).map_or(Ok(input), |wrong| Err(wrong.into()))
}

fn check(tool: Tool, input: &Input) -> Option<&'static str> {
    let needs_place = matches!(tool, Tool::Definition | Tool::References);
    let path = input.path.as_deref();
    let symbol = input.symbol.as_deref();
    if path.is_some_and(|path| path.trim().is_empty()) {
        Some("`path` is empty; name a file, or leave it out for the one the user is in")
    } else if path.is_some_and(|path| path.len() > MAX_PATH_BYTES || path.contains('\0')) {
        Some("`path` is no file's name")
    } else if input.line == Some(0) || input.column == Some(0) {
        Some("lines and columns count from 1")
    } else if symbol.is_some_and(|symbol| symbol.trim().is_empty() || symbol.contains('\n')) {
        Some("`symbol` is no name; give one as it is written on the line")
    } else if input.line.is_none() && (symbol.is_some() || input.column.is_some()) {
        Some("`symbol` and `column` need `line`")
    } else if needs_place && path.is_some() && input.line.is_none() {
        Some("give `line`, and `symbol` as it is written on it")
    } else if needs_place && input.line.is_some() && symbol.is_none() && input.column.is_none() {
        Some("give `symbol` as it is written on that line")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_model_is_told_when_it_asks_wrongly() {
        let long = "x".repeat(5000);
        let empty = "`path` is empty; name a file, or leave it out for the one the user is in";
        let symbol = "`symbol` is no name; give one as it is written on the line";
        for (tool, given, told) in [
            (Tool::Context, json!({}), ""),
            (Tool::Context, json!({"line": 2, "path": null}), ""),
            (Tool::Context, json!({"path": " "}), empty),
            (Tool::Context, json!({"path": long}), "`path` is no file's name"),
            (Tool::Context, json!({"path": "a\0"}), "`path` is no file's name"),
            (Tool::Context, json!({"line": 0}), "lines and columns count from 1"),
            (Tool::Context, json!({"line": -1}), "`line` must be a whole number, from 1"),
            (Tool::Context, json!({"line": "3"}), "`line` must be a whole number, from 1"),
            (Tool::Context, json!({"path": ["a"]}), "`path` must be a string"),
            (Tool::Context, json!({"symbol": "x"}), "`symbol` and `column` need `line`"),
            (Tool::Context, json!({"line": 1, "symbol": ""}), symbol),
            (Tool::Context, json!({"line": 1, "symbol": "a\nb"}), symbol),
            (
                Tool::Context,
                json!({"file": "a"}),
                "there is no argument `file`; there are path, line, symbol, column, max_bytes",
            ),
            (Tool::Definition, json!({}), ""),
            (
                Tool::Definition,
                json!({"path": "a"}),
                "give `line`, and `symbol` as it is written on it",
            ),
            (
                Tool::Definition,
                json!({"path": "a", "line": 1}),
                "give `symbol` as it is written on that line",
            ),
            (Tool::Definition, json!({"path": "a", "line": 1, "column": 2}), ""),
            (Tool::Symbols, json!({"path": "a", "line": 0, "symbol": 5}), ""),
        ] {
            let Value::Object(arguments) = given.clone() else { panic!("an object") };
            let found = read(tool, arguments);
            assert_eq!(found.err().unwrap_or_default(), told, "{given}");
        }
    }
}
