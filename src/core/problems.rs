//! Facts about diagnostics become the answer: merge, order, filter, cut, and say what was cut. It knows
//! no checker.

use std::rc::Rc;

use super::assemble::{asked_uri, document, spelling};
use super::context::{Code, Diagnostic, Diagnostics, Truncation, Unavailable};
use super::diagnostics::{self, Near};
use super::facts::{DiagnosticFact, Facts};
use super::lines::{Lines, snap, utf16_len};
use super::outcomes::{entry, failure, refusal, unread};
use super::plan::{DIAGNOSTICS, Plan};
use super::position::{Position, Range};
use super::uri;

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
                    let n_unread = outcome.n_unread;
                    out.unavailable.extend(unread(DIAGNOSTICS, &outcome.provider, n_unread));
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
                // That one checker is not for such files, or not there, is no news beside what another says.
                out.unavailable.retain(|entry| {
                    !matches!(entry.code, Code::NoProvider | Code::Disabled | Code::Install)
                });
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
    Range { start, end: end.max(start) }
}
