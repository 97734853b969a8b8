//! Texts about a symbol: from hovers, signatures and docstrings to the answer's few. It knows no
//! provider.

use std::collections::HashSet;

use super::context::{Documentation, DocumentationRole, MarkupKind, from_word};
use super::facts::{DocumentationFact, Outcome};
use super::raw::{List, Marked, RawSignature};

const MAX_CHARS: usize = 4000;
const FENCE: &str = "```";

/// The texts of an outcome, and how many parts could not be read. `language` is that of the file.
pub(crate) fn texts(
    outcome: Outcome<DocumentationFact>,
    language: Option<&str>,
) -> List<Documentation> {
    let mut texts = List { items: Vec::new(), n_unread: outcome.raw.n_unread };
    for raw in outcome.raw.items {
        texts.n_unread += raw.contents.n_unread + raw.signatures.n_unread;
        if let Some((kind, value)) = joined(raw.contents, MarkupKind::Markdown) {
            texts.items.push(Documentation { role: DocumentationRole::Hover, kind, value });
        }
        let mut signatures = raw.signatures.items;
        let active = raw.active_signature.unwrap_or(0) as usize;
        if active < signatures.len() {
            signatures[..=active].rotate_right(1);
        }
        texts.items.extend(signatures.into_iter().map(|s| signature(s, language)));
    }
    texts.items.extend(outcome.items.into_iter().map(|fact| Documentation {
        role: from_word(&fact.role).unwrap_or(DocumentationRole::Docstring),
        kind: from_word(&fact.kind).unwrap_or_default(),
        value: fact.value,
    }));
    texts
}

/// The texts in the order of their roles, trimmed and cut; what is empty or a repetition goes.
pub(crate) fn chosen(mut texts: Vec<Documentation>) -> Vec<Documentation> {
    texts.sort_by_key(|text| text.role);
    for text in &mut texts {
        text.value = cut(&text.value, text.kind);
    }
    let mut seen = HashSet::new();
    texts.retain(|text| !text.value.is_empty() && seen.insert(text.value.clone()));
    texts
}

/// How a function is called: its label, then what is written about it.
fn signature(raw: RawSignature, language: Option<&str>) -> Documentation {
    let label = raw.label.trim();
    let (kind, value) = match joined(raw.documentation, MarkupKind::Plaintext) {
        None => (MarkupKind::Plaintext, label.into()),
        Some((MarkupKind::Plaintext, text)) => {
            (MarkupKind::Plaintext, format!("{label}\n\n{text}"))
        }
        Some((kind, text)) => {
            (kind, format!("{}\n\n{text}", fenced(label, language.unwrap_or(""))))
        }
    };
    Documentation { role: DocumentationRole::Signature, kind, value }
}

/// The parts as one text, plain only if all of them are; a bare string is of the kind `bare`.
fn joined(parts: List<Marked>, bare: MarkupKind) -> Option<(MarkupKind, String)> {
    let mut all = MarkupKind::Plaintext;
    let mut texts = Vec::new();
    for part in parts.items {
        let (kind, text) = match part {
            Marked::Bare(text) => (bare, text),
            Marked::Plain(text) => (MarkupKind::Plaintext, text),
            Marked::Markdown(text) => (MarkupKind::Markdown, text),
            Marked::Code { value, .. } if value.trim().is_empty() => continue,
            Marked::Code { language, value } => (MarkupKind::Markdown, fenced(&value, &language)),
        };
        if !text.trim().is_empty() {
            texts.push(text.trim().to_string());
            if kind == MarkupKind::Markdown {
                all = kind;
            }
        }
    }
    (!texts.is_empty()).then(|| (all, texts.join("\n\n")))
}

/// `code` between fences that are longer than any in it.
fn fenced(code: &str, language: &str) -> String {
    let mut fence = FENCE.to_string();
    while code.contains(&fence) {
        fence.push('`');
    }
    let code = code.trim_matches(['\n', '\r']).trim_end();
    format!("{fence}{language}\n{code}\n{fence}")
}

/// `value` trimmed and cut on a character; a fence that the cut leaves open is closed.
fn cut(value: &str, kind: MarkupKind) -> String {
    let value = value.trim();
    if value.chars().nth(MAX_CHARS).is_none() {
        return value.into();
    }
    let first = |n_chars: usize| value.chars().take(n_chars).collect::<String>();
    let short = first(MAX_CHARS);
    if kind != MarkupKind::Markdown || open_fence(&short).is_none() {
        return short.trim_end().into();
    }
    let mut n_chars = MAX_CHARS;
    loop {
        let short = first(n_chars);
        let short = short.trim_end();
        let Some(fence) = open_fence(short) else { return short.into() };
        let closed = format!("{short}\n{fence}");
        if closed.chars().count() <= MAX_CHARS {
            return closed;
        }
        n_chars -= closed.chars().count() - MAX_CHARS;
    }
}

/// The fence that `text` opens and does not close.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let n_ticks = line.chars().take_while(|c| *c == '`').count();
        match &open {
            None if n_ticks >= FENCE.len() => open = Some("`".repeat(n_ticks)),
            Some(fence) if n_ticks >= fence.len() && line.trim_end().len() == n_ticks => {
                open = None
            }
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Role, kind and value of each text that follows from `outcome`.
    fn check(outcome: Value) -> Vec<(DocumentationRole, MarkupKind, String)> {
        let outcome = serde_json::from_value(outcome).expect("an outcome");
        let texts = chosen(texts(outcome, Some("python")).items);
        texts.into_iter().map(|text| (text.role, text.kind, text.value)).collect()
    }

    #[test]
    fn every_shape_of_hover() {
        use MarkupKind::{Markdown, Plaintext};
        let code = json!({"language": "c", "value": "\nint f()\n"});
        for (contents, wanted) in [
            (json!({"kind": "markdown", "value": " *a* \n"}), Some((Markdown, "*a*"))),
            (json!({"kind": "plaintext", "value": "a"}), Some((Plaintext, "a"))),
            (json!("a"), Some((Markdown, "a"))),
            (code.clone(), Some((Markdown, "```c\nint f()\n```"))),
            (json!([code, "", "b"]), Some((Markdown, "```c\nint f()\n```\n\nb"))),
            (json!({"language": "", "value": "a ``` b"}), Some((Markdown, "````\na ``` b\n````"))),
            (json!({"language": "c", "value": " "}), None),
            (json!([]), None),
            (Value::Null, None),
        ] {
            let wanted: Vec<_> = wanted
                .into_iter()
                .map(|(kind, text)| (DocumentationRole::Hover, kind, text.to_string()))
                .collect();
            assert_eq!(check(json!({"raw": {"contents": contents}})), wanted, "{contents}");
        }
        assert_eq!(check(json!({"raw": null})), []);
    }

    #[test]
    fn the_active_signature_comes_first() {
        let markdown = json!({"kind": "markdown", "value": "*d*"});
        let help = json!({"activeSignature": 1, "signatures": [
            {"label": "f(a)", "documentation": "d"}, {"label": "f(b)", "documentation": markdown},
            {"label": "f()"}]});
        let values: Vec<_> = check(json!({"raw": help})).into_iter().map(|t| (t.1, t.2)).collect();
        assert_eq!(
            values,
            [
                (MarkupKind::Markdown, "```python\nf(b)\n```\n\n*d*".to_string()),
                (MarkupKind::Plaintext, "f(a)\n\nd".to_string()),
                (MarkupKind::Plaintext, "f()".to_string()),
            ]
        );
    }

    #[test]
    fn by_role_and_each_once() {
        let items = json!([
            ["docstring", "plaintext", "a"],
            ["odd", "odd", "b"],
            ["signature", "", " a"],
            ["hover", "markdown", "c"],
            ["hover", "markdown", " "]
        ]);
        let values: Vec<_> =
            check(json!({"items": items})).into_iter().map(|t| (t.0, t.2)).collect();
        assert_eq!(
            values,
            [
                (DocumentationRole::Hover, "c".to_string()),
                (DocumentationRole::Signature, "a".to_string()),
                (DocumentationRole::Docstring, "b".to_string()),
            ]
        );
    }

    #[test]
    fn cut_on_a_character_with_its_fence_closed() {
        for (text, kind, ending) in [
            ("👧".repeat(5000), "plaintext", "👧👧"),
            (format!("```c\n{}\n```", "x".repeat(5000)), "plaintext", "xx"),
            (format!("```c\n{}\n```", "x".repeat(5000)), "markdown", "xx\n```"),
            (format!("````\n```\n{}\n````", "é".repeat(5000)), "markdown", "éé\n````"),
            (format!("```\na\n```\n{}", "b".repeat(5000)), "markdown", "bb"),
            (format!("{}\n```\nx", "b".repeat(3990)), "markdown", "x"),
        ] {
            let got = check(json!({"items": [["hover", kind, text]]})).remove(0).2;
            assert!(got.chars().count() <= MAX_CHARS && got.ends_with(ending), "{ending}");
            assert!(got.chars().count() > MAX_CHARS - 10, "{ending}");
        }
    }
}
