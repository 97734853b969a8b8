//! docs/schema.json is what the types give. `make schema` rewrites it.

use std::path::Path;

use eca_context::core::context::{Context, Diagnostics, Locations};
use eca_context::core::params::{
    ContextParams, DefinitionParams, DiagnosticsParams, ReferencesParams,
};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

const DESCRIPTION: &str = "The params and the result of the four requests by which an agent server asks \
an editor, each under the name of its method; protocol.md beside this file says what they mean. Results \
are closed, so that a client's misspelt key is found: a reader ignores keys it does not know. Params are \
open: what a client does not know it ignores. Where a param may be absent, null is as good.";

fn definition<T: JsonSchema>(settings: SchemaSettings, defs: &mut Map<String, Value>) -> Value {
    let mut generator = settings.into_generator();
    let reference = generator.subschema_for::<T>().to_value();
    for (name, schema) in generator.take_definitions(true) {
        if let Some(known) = defs.insert(name.clone(), schema.clone()) {
            assert_eq!(known, schema, "two types are called {name}");
        }
    }
    reference
}

/// In a result, what is absent has no key; only `symbolAtPosition` may be null.
fn absent_is_not_null(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        let Value::Object(property) = property else { continue };
        if name == "symbolAtPosition" {
            continue;
        }
        if let Some(Value::Array(types)) = property.get("type")
            && let [kind, Value::String(null)] = types.as_slice()
            && null == "null"
        {
            let kind = kind.clone();
            property.insert("type".into(), kind);
        }
        if let Some(Value::Array(choices)) = property.get("anyOf")
            && let [Value::Object(only), null] = choices.as_slice()
            && *null == json!({"type": "null"})
        {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}

/// Formats such as `uint32` are no formats of JSON Schema, and null is no default worth a word.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    transform_subschemas(&mut plain, schema);
}

fn document() -> String {
    let params = || SchemaSettings::draft2020_12().with_transform(plain as fn(&mut Schema));
    let results = || {
        let strict = RecursiveTransform(absent_is_not_null as fn(&mut Schema));
        params().for_serialize().with_transform(strict)
    };
    let mut defs = Map::new();
    let mut properties = Map::new();
    for (method, params, result) in [
        (
            "editor/getContext",
            definition::<ContextParams>(params(), &mut defs),
            definition::<Context>(results(), &mut defs),
        ),
        (
            "editor/getDiagnostics",
            definition::<DiagnosticsParams>(params(), &mut defs),
            definition::<Diagnostics>(results(), &mut defs),
        ),
        (
            "editor/getDefinition",
            definition::<DefinitionParams>(params(), &mut defs),
            definition::<Locations>(results(), &mut defs),
        ),
        (
            "editor/getReferences",
            definition::<ReferencesParams>(params(), &mut defs),
            definition::<Locations>(results(), &mut defs),
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"params": params, "result": result}});
        properties.insert(method.into(), schema);
    }
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What an agent may ask an editor",
        "description": DESCRIPTION,
        "type": "object",
        "properties": properties,
        "$defs": defs,
    });
    let mut text = serde_json::to_string_pretty(&document).expect("a document of our own");
    text.push('\n');
    text
}

#[test]
fn the_committed_schema_is_what_the_types_give() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema.json");
    let wanted = document();
    if std::env::var_os("ECA_CONTEXT_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &wanted).expect("docs can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == wanted, "docs/schema.json is not what the types give; run `make schema`");
}

#[test]
fn the_schema_is_for_any_editor() {
    let text = document().to_lowercase();
    for word in ["emacs", "elisp", "lisp", "xref", "imenu", "flymake", "flycheck", "buffer"] {
        assert!(!text.contains(word), "{word}");
    }
}
