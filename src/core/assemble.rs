//! Facts become the answer: merge, order, dedupe, cut, and say what was cut. It knows no editor.

use std::rc::Rc;

use super::context::{
    Code, Context, Diagnostic, Diagnostics, Document, Provenance, ProvenanceKind, Symbol,
    Truncation, Unavailable, from_word,
};
use super::diagnostics::{self, Near};
use super::facts::{DiagnosticFact, DocumentFacts, Fact, Facts, Outcome, Trouble};
use super::lines::{Lines, snap, trimmed, utf16_len};
use super::locations::{MAX_PREVIEW_CHARS, locations};
use super::plan::{BUILT, DIAGNOSTICS, FEATURES, Plan};
use super::position::{Position, Range};
use super::{symbols, uri};

/// The answer to `editor/getContext` that follows from `facts`.
pub fn assemble(plan: &Plan, facts: Facts, lines: &dyn Lines) -> Context {
    let asked = facts.document.as_ref().map(|d| d.path.clone()).unwrap_or_default();
    let mut out = Context {
        uri: asked_uri(plan, facts.document.as_ref()),
        document: facts.document.as_ref().map(document),
        ..Context::default()
    };
    let Facts { trouble, position, position_trouble, occurrences, .. } = &facts;
    let (trouble, position_trouble) = (trouble.clone(), position_trouble.clone());
    let (position, occurrences) = (*position, *occurrences);
    let mut symbol = Some(facts.symbol_at_position);
    let mut definitions = Some(facts.definitions);
    let mut document_symbols = Some(facts.document_symbols);
    let needs_position = |name: &str| name != "documentSymbols";
    for name in &plan.include {
        if let Some(refusal) = refusal(plan, name) {
            out.unavailable.push(refusal);
            continue;
        }
        if let Some(trouble) = &trouble {
            out.unavailable.push(entry(name, trouble));
            continue;
        }
        if needs_position(name) {
            if position.is_none() {
                let fallback = Trouble {
                    code: "no-position".into(),
                    reason: "no position was given and the editor has none here".into(),
                    retry: false,
                };
                let trouble = position_trouble.as_ref().unwrap_or(&fallback);
                out.unavailable.push(entry(name, trouble));
                continue;
            }
            out.position = position;
            out.occurrences = occurrences.filter(|n| *n > 1);
        }
        match name.as_str() {
            "symbolAtPosition" => {
                let merged = merge(name, symbol.take().unwrap_or_default(), &mut out);
                let preview = |range: Range| {
                    lines.line(&asked, range.start.line).map(|t| trimmed(&t, MAX_PREVIEW_CHARS))
                };
                out.symbol_at_position = merged.map(|items| {
                    items.into_iter().next().map(|s| Symbol {
                        preview: preview(s.range),
                        text: s.text,
                        range: s.range,
                        context: s.context.as_deref().and_then(from_word),
                    })
                });
            }
            "definitions" => {
                let spell = |file: &str| spelling(plan, &asked, file, lines);
                if let Some(items) = merge(name, definitions.take().unwrap_or_default(), &mut out) {
                    let mut found = locations(items, lines, &spell);
                    let total = found.len();
                    if total > plan.limit as usize {
                        found.truncate(plan.limit as usize);
                        let cut = Truncation { returned: found.len(), total };
                        out.truncated.insert(name.clone(), cut);
                    }
                    out.definitions = Some(found);
                }
            }
            _ => {
                let facts = document_symbols.take().unwrap_or_default();
                if let Some(items) = merge(name, facts, &mut out) {
                    let mut tree = symbols::tree(items, &asked, lines);
                    if let Some(cut) = symbols::cut(&mut tree, plan.limit as usize) {
                        out.truncated.insert(name.clone(), cut);
                    }
                    out.document_symbols = Some(tree);
                }
            }
        }
    }
    out
}

/// The answer to `editor/getDiagnostics` that follows from `facts`.
pub fn assemble_diagnostics(plan: &Plan, facts: Facts, lines: &dyn Lines) -> Diagnostics {
    let asked = facts.document.as_ref().map(|d| d.path.clone()).unwrap_or_default();
    let mut out = Diagnostics {
        document: facts.document.as_ref().filter(|_| plan.uri.is_some()).map(document),
        ..Diagnostics::default()
    };
    let mut items = Vec::new();
    match (refusal(plan, DIAGNOSTICS), &facts.trouble) {
        (Some(refusal), _) => out.unavailable.push(refusal),
        (None, Some(trouble)) => out.unavailable.push(entry(DIAGNOSTICS, trouble)),
        (None, None) => {
            let mut fresh = Vec::new();
            let mut answered = false;
            for outcome in facts.diagnostics {
                if outcome.status == "ok" {
                    answered = true;
                    fresh.push(outcome.fresh);
                    out.unavailable.extend(unread(DIAGNOSTICS, &outcome));
                    items.extend(outcome.items.into_iter().map(|mut item| {
                        if item.file.is_empty()
                            || (item.file != asked
                                && lines.identity(&item.file) == lines.identity(&asked))
                        {
                            item.file.clone_from(&asked);
                        }
                        if !outcome.exact || item.file != asked {
                            item.range = clamped(item.range, &item.file, lines);
                        }
                        item
                    }));
                } else {
                    out.unavailable.push(failure(DIAGNOSTICS, &outcome));
                }
            }
            if answered {
                // That one checker is not for such files is no news beside what another one says.
                out.unavailable.retain(|entry| entry.code != Code::NoProvider);
                out.fresh = if fresh.contains(&Some(false)) || !out.unavailable.is_empty() {
                    Some(false)
                } else if fresh.contains(&None) {
                    None
                } else {
                    Some(true)
                };
                for entry in &mut out.unavailable {
                    entry.code = Code::Partial;
                    entry.retry = true;
                }
            } else if out.unavailable.is_empty() {
                out.unavailable.push(Unavailable {
                    capability: DIAGNOSTICS.into(),
                    code: Code::NoProvider,
                    reason: match plan.uri {
                        Some(_) => "no checker is active in this file".into(),
                        None => "no checker is active in an open file of the workspace".into(),
                    },
                    retry: false,
                });
            }
        }
    }
    items.retain(|d| !lines.is_excluded(&d.file));
    let mut items = diagnostics::unique(items);
    out.total = items.len() + facts.diagnostics_omitted.total;
    if let Some(least) = plan.min_severity {
        items.retain(|d| d.severity as u8 <= least);
    }
    let near = plan.position().map(Near::Position).or(plan.range.map(Near::Range));
    let keys: Vec<(Range, u8)> = items.iter().map(|d| (d.range, d.severity as u8)).collect();
    let mut chosen: Vec<usize> = match near {
        Some(near) => diagnostics::near(&keys, near, plan.max_distance),
        None => (0..items.len()).collect(),
    };
    let limit = plan.limit as usize;
    let total = chosen.len() + facts.diagnostics_omitted.passed;
    if total > limit {
        out.truncated.insert(DIAGNOSTICS.into(), Truncation { returned: limit, total });
        if plan.position().is_none() {
            // Not ordered by nearness: the most severe stay, in file order.
            chosen.sort_by_key(|&item_idx| (keys[item_idx].1, item_idx));
            chosen.truncate(limit);
            chosen.sort_unstable();
        }
        chosen.truncate(limit);
    }
    let mut last: Option<(String, Rc<str>)> = None;
    let mut items: Vec<Option<DiagnosticFact>> = items.into_iter().map(Some).collect();
    out.diagnostics.reserve(chosen.len());
    for item_idx in chosen {
        let Some(d) = items[item_idx].take() else { continue };
        // In file order: one file's items stand together.
        let uri = match &last {
            Some((file, uri)) if *file == d.file => Rc::clone(uri),
            _ => {
                let uri: Rc<str> = spelling(plan, &asked, &d.file, lines).into();
                last = Some((d.file, Rc::clone(&uri)));
                uri
            }
        };
        out.diagnostics.push(Diagnostic {
            uri,
            severity: d.severity,
            source: d.source.map(diagnostics::tool_name),
            code: d.code,
            range: d.range,
            message: d.message,
            distance: near.map(|near| diagnostics::distance(d.range, near)),
        });
    }
    if plan.not_checked && out.diagnostics.is_empty() {
        let reason = match (out.unavailable.first(), out.fresh) {
            (Some(entry), _) => entry.reason.clone(),
            (None, Some(false)) => "the checkers have not spoken about the present text".into(),
            _ => return out,
        };
        let uri = asked_uri(plan, facts.document.as_ref())
            .or_else(|| facts.root.as_deref().map(uri::from_path))
            .unwrap_or_default();
        out.diagnostics.push(diagnostics::not_checked(uri, &reason));
    }
    out
}

/// A range that a checker gave beyond the end of its line, or within a surrogate pair, is brought
/// back onto the text.
fn clamped(range: Range, path: &str, lines: &dyn Lines) -> Range {
    let Some(n_lines) = lines.n_lines(path) else { return range };
    let clamp = |p: Position| {
        let line = p.line.min(n_lines.saturating_sub(1));
        match lines.line(path, line) {
            Some(text) if p.line > line => Position::new(line, utf16_len(&text)),
            Some(text) => Position::new(line, snap(&text, p.character)),
            None if p.line > line => Position::new(line, 0),
            None => p,
        }
    };
    let (start, end) = (clamp(range.start), clamp(range.end));
    // A problem past the end of its line is shown on the last character.
    let lost = start == end && range.start != range.end;
    let start = if lost && start.character > 0 {
        let text = lines.line(path, start.line).unwrap_or_default();
        Position::new(start.line, snap(&text, start.character - 1))
    } else {
        start
    };
    Range { start, end: end.max(start) }
}

fn document(facts: &DocumentFacts) -> Document {
    Document {
        language_id: facts.language_id.clone(),
        line_count: facts.line_count,
        version: facts.version.clone(),
        modified: facts.modified,
        disk_newer: facts.disk_newer,
    }
}

fn asked_uri(plan: &Plan, document: Option<&DocumentFacts>) -> Option<String> {
    plan.uri.clone().or_else(|| document.map(|d| uri::from_path(&d.path)))
}

/// The caller's spelling for the file that was asked for, else a percent-encoded URI.
fn spelling(plan: &Plan, asked: &str, file: &str, lines: &dyn Lines) -> String {
    let is_asked = || {
        let path = uri::to_path(file);
        let path = path.as_deref().unwrap_or(file);
        path == asked || lines.identity(path) == lines.identity(asked)
    };
    match &plan.uri {
        Some(uri) if is_asked() => uri.clone(),
        _ => uri::from_path(file),
    }
}

/// Why `name` is not even looked at: unknown, switched off, or not built.
fn refusal(plan: &Plan, name: &str) -> Option<Unavailable> {
    let (code, reason) = if plan.disabled.iter().any(|d| d == name) {
        (Code::Disabled, format!("the user switched {name} off"))
    } else if name == DIAGNOSTICS {
        return None;
    } else if !FEATURES.contains(&name) {
        (
            Code::UnknownCapability,
            format!("there is no feature {name}; known: {}", FEATURES.join(", ")),
        )
    } else if !BUILT.contains(&name) {
        (Code::UnsupportedByProvider, format!("this version does not answer {name} yet"))
    } else {
        return None;
    };
    Some(Unavailable { capability: name.into(), code, reason, retry: false })
}

fn entry(name: &str, trouble: &Trouble) -> Unavailable {
    Unavailable {
        capability: name.into(),
        code: from_word(&trouble.code).unwrap_or_default(),
        reason: trouble.reason.clone(),
        retry: trouble.retry,
    }
}

fn failure<T: Fact>(name: &str, outcome: &Outcome<T>) -> Unavailable {
    let said = outcome.reason.as_deref().unwrap_or("gave no reason");
    let reason = if outcome.provider.is_empty() {
        said.to_string()
    } else {
        format!("{}: {said}", outcome.provider)
    };
    let code = from_word(&outcome.status).unwrap_or_default();
    let retry = outcome.retry
        || matches!(code, Code::Starting | Code::Busy | Code::Timeout | Code::Partial);
    Unavailable { capability: name.into(), code, reason, retry }
}

/// What is said of the items of `outcome` that could not be read, if there are such.
fn unread<T: Fact>(name: &str, outcome: &Outcome<T>) -> Option<Unavailable> {
    let Outcome { provider, n_unread, .. } = outcome;
    let what = if *n_unread == 1 { "item" } else { "items" };
    let reason = format!("{provider}: {n_unread} {what} of its answer cannot be read");
    let code = Code::Partial;
    (*n_unread > 0).then(|| Unavailable { capability: name.into(), code, reason, retry: true })
}

/// One feature's items: a non-empty semantic answer excludes the others, several of one kind are
/// joined. `None` when no provider could look; what failed is said in `out`.
fn merge<T: Fact>(name: &str, outcomes: Vec<Outcome<T>>, out: &mut Context) -> Option<Vec<T>> {
    let (answered, failed): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|o| o.status == "ok");
    if answered.is_empty() {
        match failed.first() {
            Some(outcome) => out.unavailable.push(failure(name, outcome)),
            None => out.unavailable.push(Unavailable {
                capability: name.into(),
                code: Code::NoProvider,
                reason: format!("nothing here answers {name}"),
                retry: false,
            }),
        }
        return None;
    }
    for outcome in &failed {
        let mut entry = failure(name, outcome);
        entry.code = Code::Partial;
        entry.retry = true;
        out.unavailable.push(entry);
    }
    let kind_of = |outcome: &Outcome<T>| from_word(&outcome.kind).unwrap_or_default();
    let kind = [ProvenanceKind::Semantic, ProvenanceKind::Textual, ProvenanceKind::Unknown]
        .into_iter()
        .find(|kind| answered.iter().any(|o| kind_of(o) == *kind && !o.items.is_empty()))
        .unwrap_or_else(|| kind_of(&answered[0]));
    let mut provenance = Provenance { kind, providers: Vec::new() };
    let mut items = Vec::new();
    for outcome in answered {
        if kind_of(&outcome) == provenance.kind || kind_of(&outcome) == ProvenanceKind::Semantic {
            out.unavailable.extend(unread(name, &outcome));
        }
        if kind_of(&outcome) == provenance.kind {
            if !provenance.providers.contains(&outcome.provider) {
                provenance.providers.push(outcome.provider);
            }
            items.extend(outcome.items);
        }
    }
    out.provenance.insert(name.into(), provenance);
    Some(items)
}
