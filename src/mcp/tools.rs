//! The tools: names, descriptions and schemas, the same bytes each time. It asks nobody.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Declared, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::input::Input;
use super::model::Answer;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Context,
    Diagnostics,
    Definition,
    References,
    Symbols,
}

pub(crate) const TOOLS: [Tool; 5] =
    [Tool::Context, Tool::Diagnostics, Tool::Definition, Tool::References, Tool::Symbols];

/// Keys of every answer.
const ALWAYS: [&str; 4] = ["source", "root", "cut", "unavailable"];

impl Tool {
    pub(crate) fn named(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Context => "editor_context",
            Self::Diagnostics => "editor_diagnostics",
            Self::Definition => "editor_definition",
            Self::References => "editor_references",
            Self::Symbols => "editor_symbols",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Context => "Where the user is",
            Self::Diagnostics => "Errors and warnings",
            Self::Definition => "Go to definition",
            Self::References => "Find references",
            Self::Symbols => "Outline of a file",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Context => {
                "What the user's editor knows about a place: the symbol there, what encloses it, its \
                 definitions and documentation, the selection and the open files. Without arguments: \
                 the place where the user is now. Includes text that is not saved yet."
            }
            Self::Diagnostics => {
                "Errors and warnings that the user's editor and its language servers have for a file \
                 (or, with a folder as `path`, for all files known there), unsaved text included. Says \
                 whether the present text was checked. Ask again with `since` after an edit to see \
                 what is new and what is fixed."
            }
            Self::Definition => {
                "Where a symbol is defined, by the editor's language server. Give `path`, `line` and \
                 `symbol` as written there."
            }
            Self::References => {
                "Where a symbol is used, by the editor's language server, grouped by file and by what \
                 the use lies in. Give `path`, `line` and `symbol` as written there."
            }
            Self::Symbols => {
                "The outline of a file: classes, functions, methods with lines and signatures. Much \
                 shorter than reading the file."
            }
        }
    }

    pub(crate) fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Context | Self::Definition | Self::References => {
                &["path", "line", "symbol", "column", "max_bytes"]
            }
            Self::Diagnostics => &["path", "line", "since", "max_bytes"],
            Self::Symbols => &["path", "max_bytes"],
        }
    }

    fn outputs(self) -> &'static [&'static str] {
        match self {
            Self::Context => &[
                "path",
                "line",
                "column",
                "unsaved",
                "symbol",
                "enclosing",
                "definitions",
                "documentation",
                "open_files",
                "selection",
            ],
            Self::Diagnostics => {
                &["path", "unsaved", "diagnostics", "fresh", "token", "new", "fixed"]
            }
            Self::Definition => &["path", "line", "column", "unsaved", "symbol", "definitions"],
            Self::References => &["path", "line", "column", "unsaved", "symbol", "references"],
            Self::Symbols => &["path", "unsaved", "symbols"],
        }
    }

    /// The features of `editor/getContext` that it wants.
    pub(crate) fn features(self) -> &'static [&'static str] {
        match self {
            Self::Context => &[
                "symbolAtPosition",
                "enclosingSymbols",
                "definitions",
                "documentation",
                "workspace",
            ],
            Self::Diagnostics => &[],
            // What a place lies in is told by the symbols of the file.
            Self::Definition => &["symbolAtPosition", "definitions", "enclosingSymbols"],
            Self::References => &["symbolAtPosition", "references", "enclosingSymbols"],
            Self::Symbols => &["documentSymbols"],
        }
    }

    /// Takes from `result`, the protocol's, what was only asked for the sake of the rest.
    pub(crate) fn trim(self, result: &mut Value) {
        const OTHER: &str = "enclosingSymbols";
        if !matches!(self, Self::Definition | Self::References) {
            return;
        }
        let unwanted = |map: Option<&mut Value>| {
            map.and_then(Value::as_object_mut).and_then(|map| map.remove(OTHER))
        };
        unwanted(result.get_mut("truncated"));
        unwanted(Some(result));
        if let Some(entries) = result["unavailable"].as_array_mut() {
            entries.retain(|entry| entry["capability"] != OTHER);
        }
    }

    /// The features that a language server answers without an editor.
    pub(crate) fn semantic(self) -> &'static [&'static str] {
        match self {
            Self::Context => &["enclosingSymbols", "definitions", "documentation"],
            Self::Diagnostics => &["diagnostics"],
            Self::Definition => &["definitions", "enclosingSymbols"],
            Self::References => &["references", "enclosingSymbols"],
            Self::Symbols => &["documentSymbols"],
        }
    }

    pub(crate) fn declared(self) -> Declared {
        let annotations = ToolAnnotations::with_title(self.title())
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        Declared::new(self.name(), self.description(), schema::<Input>(self.inputs(), &[]))
            .with_title(self.title())
            .with_raw_output_schema(schema::<Answer>(self.outputs(), &ALWAYS))
            .with_annotations(annotations)
    }
}

/// The schema of `T` with those properties only.
fn schema<T: JsonSchema>(some: &[&str], others: &[&str]) -> Arc<JsonObject> {
    let generator = SchemaSettings::draft07()
        .for_serialize()
        .with(|s| s.inline_subschemas = true)
        .into_generator();
    let mut schema: Value = generator.into_root_schema_for::<T>().into();
    let is_wanted = |key: &str| some.contains(&key) || others.contains(&key);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|key, _| is_wanted(key));
    }
    schema["additionalProperties"] = json!(false);
    simplify(&mut schema);
    match schema {
        Value::Object(mut map) => {
            map.remove("title");
            map.remove("description");
            Arc::new(map)
        }
        _ => Arc::default(),
    }
}

/// Leaves what all clients take: a type is one word, since absent is never null here.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("format").is_some_and(Value::is_string) {
                map.remove("format");
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                let first = types.first().cloned().unwrap_or_default();
                map.insert("type".into(), first);
            }
            map.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_read_only_and_whole() {
        for tool in TOOLS {
            let declared = tool.declared();
            assert_eq!(Tool::named(&declared.name), Some(tool));
            assert_eq!(declared.annotations.and_then(|a| a.read_only_hint), Some(true));
            let count =
                |schema: &JsonObject| schema["properties"].as_object().map_or(0, |p| p.len());
            assert_eq!(count(&declared.input_schema), tool.inputs().len(), "{tool:?}");
            let output = declared.output_schema.expect("each has one");
            let text = serde_json::to_string(&output).expect("JSON");
            assert!(!text.contains("null") && !text.contains("uint64"), "{text}");
            assert_eq!(output["required"], json!(["source"]));
            assert_eq!(count(&output), tool.outputs().len() + ALWAYS.len(), "{tool:?}");
        }
    }

    #[test]
    fn the_same_bytes_each_time() {
        let text = || serde_json::to_string(&TOOLS.map(Tool::declared)).expect("JSON");
        assert_eq!(text(), text());
    }
}
