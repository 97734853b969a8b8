//! Diagnostics as a server says them become facts. It knows neither server nor document.

use lsp_types::PositionEncodingKind;
use serde::Deserialize;
use serde_json::Value;

use super::documents;
use crate::core::context::Severity;
use crate::core::encoding::to_utf16;
use crate::core::facts::DiagnosticFact;
use crate::core::position::{Position, Range};

/// A diagnostic as it comes; whatever is absent or odd is left open.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw {
    range: Range,
    severity: Value,
    code: Value,
    source: Option<String>,
    message: Value,
}

/// The facts that the JSON text `raw`, a list of diagnostics of one file with the text `lines`, tells.
/// An item that cannot be read is left out.
///
/// *Units*: characters in `encoding` become UTF-16.
pub(crate) fn facts(
    raw: &str,
    encoding: &PositionEncodingKind,
    tool: &str,
    text: &str,
) -> Vec<DiagnosticFact> {
    let items: Vec<Value> = serde_json::from_str(raw).unwrap_or_default();
    let lines: Vec<&str> = documents::lines(text).collect();
    let utf16 = |at: Position| {
        let line = lines.get(at.line as usize).copied().unwrap_or_default();
        Position::new(at.line, to_utf16(line, at.character, encoding))
    };
    items
        .into_iter()
        .filter_map(|item| serde_json::from_value::<Raw>(item).ok())
        .map(|raw| DiagnosticFact {
            file: String::new(),
            severity: match raw.severity.as_u64() {
                Some(2) => Severity::Warning,
                Some(3) => Severity::Info,
                Some(4) => Severity::Hint,
                _ => Severity::Error,
            },
            source: raw.source.or_else(|| Some(tool.into())),
            code: match raw.code {
                Value::String(code) => Some(code),
                Value::Number(code) => Some(code.to_string()),
                _ => None,
            },
            range: Range { start: utf16(raw.range.start), end: utf16(raw.range.end) },
            // LSP 3.18 allows MarkupContent.
            message: match raw.message {
                Value::String(text) => text,
                other => other["value"].as_str().unwrap_or_default().into(),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_odd_costs_only_itself() {
        let range =
            json!({"start": {"line": 0, "character": 6}, "end": {"line": 0, "character": 7}});
        let raw = json!([
            {"range": range, "severity": 2, "code": 2304, "source": "ts", "message": "m"},
            {"range": range, "severity": "x", "message": {"kind": "markdown", "value": "n"}},
            {"range": {"start": {}}, "message": "lost"}, 7, null,
            {"range": range, "code": {"value": 1}, "message": null},
        ]);
        let found = facts(&raw.to_string(), &PositionEncodingKind::UTF8, "tool", "𝒳 = x");
        let brief: Vec<_> = found
            .iter()
            .map(|d| (d.severity, d.source.as_deref(), d.code.as_deref(), d.message.as_str()))
            .collect();
        assert_eq!(
            brief,
            [
                (Severity::Warning, Some("ts"), Some("2304"), "m"),
                (Severity::Error, Some("tool"), None, "n"),
                (Severity::Error, Some("tool"), None, ""),
            ]
        );
        assert_eq!(found[0].range, Range::new(0, 4, 0, 5));
        assert!(facts("{", &PositionEncodingKind::UTF16, "tool", "").is_empty());
    }
}
