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
    use super::*;
    use crate::lsp::initialize::DIAGNOSTICS;

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
}
