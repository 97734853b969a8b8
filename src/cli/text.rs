//! Answers for people, made of what the protocol says. It asks nobody.

use std::path::Path;

use serde_json::Value;

use super::Exit;
use super::arguments::{Arguments, Question};
use crate::core::encoding::from_utf16;
use crate::core::lines::Lines;
use crate::core::uri;

/// So many entries are shown; of the rest only the number.
const MAX_ENTRIES: usize = 50;

/// What the answer `result` to `question` means for a shell.
pub(super) fn exit(question: Question, result: &Value) -> Exit {
    match result[question.feature()].as_array() {
        // Of diagnostics an empty list may mean that nobody looked.
        Some(items) if items.is_empty() && reason(result).is_some() => Exit::Unavailable,
        Some(items) if items.is_empty() => Exit::Nothing,
        Some(_) => Exit::Found,
        None => Exit::Unavailable,
    }
}

/// Why somebody could not look, if so.
pub(super) fn reason(result: &Value) -> Option<&str> {
    result["unavailable"].as_array()?.first()?["reason"].as_str()
}

/// The entries of the answer `result`, a line each, and the number of those left out; files below
/// `folder` without it.
pub(super) fn text(
    arguments: &Arguments,
    result: &Value,
    folder: &Path,
    lines: &dyn Lines,
) -> String {
    let question = arguments.question;
    let place = |uri: &Value, range: &Value| place(arguments, folder, lines, uri, range);
    let mut entries = Vec::new();
    for item in items(&result[question.feature()]) {
        match question {
            Question::Hover => entries.push(item["value"].as_str().unwrap_or_default().into()),
            Question::Symbols => {
                symbol(item, 0, &mut entries, &|range| place(&result["uri"], range))
            }
            Question::Diagnostics => {
                let at = place(&item["uri"], &item["range"]);
                let (severity, message) = (word(&item["severity"]), word(&item["message"]));
                let code = item["code"].as_str().map(|code| format!(" [{code}]"));
                entries.push(format!("{at}  {severity}: {message}{}", code.unwrap_or_default()));
            }
            Question::Definition | Question::References => {
                let at = place(&item["uri"], &item["range"]);
                entries.push(format!("{at}  {}", word(&item["preview"])));
            }
        }
    }
    let n_shown = entries.len().min(MAX_ENTRIES);
    let total = result["truncated"][question.feature()]["total"].as_u64().unwrap_or(0) as usize;
    let n_more = total.max(entries.len()) - n_shown;
    entries.truncate(n_shown);
    if n_more > 0 {
        entries.push(format!("… and {n_more} more"));
    }
    entries.join("\n")
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `path:line:column` of a range's start, both from 1; `path` alone without one.
fn place(
    arguments: &Arguments,
    folder: &Path,
    lines: &dyn Lines,
    uri: &Value,
    range: &Value,
) -> String {
    let uri = word(uri);
    let path = uri::to_path(uri).unwrap_or_else(|| uri.into());
    let shown = Path::new(&path).strip_prefix(folder).unwrap_or(Path::new(&path)).display();
    let number = |key: &str| range["start"][key].as_u64().and_then(|n| u32::try_from(n).ok());
    let (Some(line), Some(character)) = (number("line"), number("character")) else {
        return shown.to_string();
    };
    let text = lines.line(&path, line);
    let column = text.map_or(character, |text| from_utf16(&text, character, &arguments.encoding));
    format!("{shown}:{}:{}", line + 1, column + 1)
}

/// `symbol` and what it holds, indented by `depth`.
fn symbol(
    symbol: &Value,
    depth: usize,
    entries: &mut Vec<String>,
    place: &dyn Fn(&Value) -> String,
) {
    let at = place(&symbol["selectionRange"]);
    let kind = symbol["kind"].as_str().unwrap_or("symbol");
    let indent = "  ".repeat(depth);
    entries.push(format!("{at}  {indent}{kind} {}", word(&symbol["name"])));
    for child in items(&symbol["children"]) {
        self::symbol(child, depth + 1, entries, place);
    }
}
