//! What can be told from a result without knowing the server.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{DEFINITION, REFERENCES};
use crate::core::facts::DiagnosticFact;
use crate::core::uri;

/// Whether the result of `method` is places.
pub(super) fn names_places(method: &str) -> bool {
    matches!(
        method,
        REFERENCES
            | DEFINITION
            | "textDocument/declaration"
            | "textDocument/typeDefinition"
            | "textDocument/implementation"
    )
}

/// Whether the result `raw` of `method` may be all that a server knows before it has loaded the
/// project: references, nothing, or of other places a single one.
pub(super) fn is_thin(method: &str, raw: &str) -> bool {
    if method == REFERENCES {
        return true;
    }
    match serde_json::from_str::<Vec<&RawValue>>(raw) {
        Ok(items) => items.len() <= usize::from(names_places(method)),
        Err(_) => raw.trim() == "null" || names_places(method),
    }
}

/// The files that the places of the result `raw` lie in, links followed.
pub(super) fn files(raw: &str) -> impl Iterator<Item = PathBuf> + use<> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Place {
        uri: Option<String>,
        target_uri: Option<String>,
    }
    let places: Vec<Place> = serde_json::from_str(raw)
        .or_else(|_| serde_json::from_str(raw).map(|place| vec![place]))
        .unwrap_or_default();
    places
        .into_iter()
        .filter_map(|place| uri::to_path(&place.target_uri.or(place.uri)?).map(PathBuf::from))
        .map(|path| std::fs::canonicalize(&path).unwrap_or(path))
}

/// The diagnostics, JSON text, in the answer to a pull.
pub(super) fn pulled(raw: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Report<'a> {
        #[serde(borrow)]
        items: &'a RawValue,
    }
    serde_json::from_str::<Report<'_>>(raw).ok().map(|report| report.items.get().to_string())
}

/// A diagnostic as the list of its fields.
pub(super) fn item(fact: DiagnosticFact) -> Value {
    let DiagnosticFact { file, severity, source, code, range, message } = fact;
    let range = [range.start.line, range.start.character, range.end.line, range.end.character];
    json!([file, severity, source, code, range, message])
}

#[cfg(test)]
mod tests {
    use lsp_types::PositionEncodingKind;
    use proptest::prelude::*;

    use super::*;
    use crate::lsp::initialize::{Capabilities, DIAGNOSTICS};
    use crate::lsp::{diagnostics, message, tsserver};

    #[test]
    fn fragments_are_known_by_their_size() {
        for (method, raw, thin) in [
            (DEFINITION, "null", true),
            (DEFINITION, "[]", true),
            (DEFINITION, "[{}]", true),
            (DEFINITION, "{}", true),
            (REFERENCES, "[{},{}]", true),
            (DEFINITION, "[{},{}]", false),
            ("textDocument/hover", "null", true),
            ("textDocument/hover", "{}", false),
            ("textDocument/documentSymbol", "[]", true),
            ("textDocument/documentSymbol", "[{}]", false),
            (DIAGNOSTICS, "[]", true),
            (DIAGNOSTICS, "[{}]", false),
        ] {
            assert_eq!(is_thin(method, raw), thin, "{method} {raw}");
        }
    }

    #[test]
    fn places_name_files() {
        for (raw, found) in [
            (r#"[{"uri":"file:///no/a%20b"},{"targetUri":"file:///no/c"},{"uri":"jar:x"},{}]"#, 2),
            (r#"{"uri":"file:///no/a%20b"}"#, 1),
            ("null", 0),
            ("[7]", 0),
        ] {
            let files: Vec<_> = files(raw).collect();
            assert_eq!(files.len(), found, "{raw}");
            assert!(files.first().is_none_or(|path| path.to_str() == Some("/no/a b")));
        }
    }

    /// JSON of the words that servers use, in any place.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (0..4u64).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from),
            Just("file:///a%ff".into()),
        ];
        let keys = [
            "uri",
            "targetUri",
            "range",
            "start",
            "end",
            "line",
            "character",
            "offset",
            "items",
            "body",
            "message",
            "text",
            "value",
            "code",
            "severity",
            "category",
            "source",
            "method",
            "id",
            "result",
            "error",
            "params",
            "positionEncoding",
            "capabilities",
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            let key = prop::sample::select(keys.to_vec()).prop_map(String::from);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map(key, inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_is_read(
            said in json(),
            cut in prop::option::of(0..60usize),
            text in "\\PC{0,20}",
        ) {
            let mut raw = said.to_string();
            if let Some(cut) = cut {
                raw = raw.chars().take(cut).collect();
            }
            for method in [REFERENCES, DEFINITION, DIAGNOSTICS, "textDocument/hover"] {
                is_thin(method, &raw);
            }
            prop_assert!(files(&raw).all(|path| path.is_absolute()));
            pulled(&raw);
            if let Some(merged) = tsserver::merged(&[&raw, &raw]) {
                prop_assert!(serde_json::from_str::<Vec<Value>>(&merged).is_ok());
            }
            for encoding in [PositionEncodingKind::UTF8, PositionEncodingKind::UTF16] {
                diagnostics::facts(&raw, &encoding, "tool", &text);
            }
            message::parse(&raw);
            Capabilities::new(&raw).offers(DIAGNOSTICS);
        }
    }
}
