//! Diagnostics near a place: distance, order, filter, each problem once. It knows no checker.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::context::{Diagnostic, Severity, from_word};
use super::facts::{DiagnosticFact, Omitted};
use super::position::{Position, Range};

/// Where the question points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Near {
    Position(Position),
    Range(Range),
}

/// Which diagnostics of one file are wanted: where, how near, how severe, how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub near: Option<Near>,
    /// In lines.
    pub max_distance: Option<u32>,
    /// The rank of the least severe.
    pub min_severity: Option<u8>,
    pub limit: usize,
}

/// Which items must be known wholly to answer, and what is said of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Indexes, ascending.
    pub item_idxs: Vec<usize>,
    pub omitted: Omitted,
}

/// Lines between `range` and `near`; 0 when they share a line. Ranges are closed.
pub fn distance(range: Range, near: Near) -> u32 {
    let (first, last) = match near {
        Near::Position(p) => (p.line, p.line),
        Near::Range(r) => (r.start.line, r.end.line),
    };
    if range.end.line < first {
        first - range.end.line
    } else {
        range.start.line.saturating_sub(last)
    }
}

/// The rank of a severity's word, 0 for `error` and for what is unknown.
pub fn severity_rank(word: &str) -> u8 {
    from_word::<Severity>(word).unwrap_or_default() as u8
}

/// Which of `items` (range and severity rank, in file order) answer a question about `near`, in the
/// answer's order: indexes into `items`.
///
/// A position orders and drops nothing unless `max_distance` is given; a range filters: what touches
/// the closed range, or lies within `max_distance` lines of it.
pub fn near(items: &[(Range, u8)], near: Near, max_distance: Option<u32>) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..items.len())
        .filter(|&item_idx| is_near(items[item_idx].0, near, max_distance))
        .collect();
    if let Near::Position(at) = near {
        chosen.sort_by_cached_key(|&item_idx| nearness(items[item_idx], at));
    } else {
        chosen.sort_by_key(|&item_idx| items[item_idx].0);
    }
    chosen
}

/// Which of `items` (range and severity rank, of one file, in any order) must be known wholly, so that
/// the answer is the same as if all were.
///
/// Two items with one range and severity may be one problem; only their messages tell. So all that share
/// these with another are chosen, and beside them the first `limit` of the answer.
pub fn choose(items: &[(Range, u8)], wanted: &Wanted) -> Choice {
    let mut sorted: Vec<(Range, u8, usize)> =
        items.iter().enumerate().map(|(idx, &(range, rank))| (range, rank, idx)).collect();
    sorted.sort_unstable();
    let passes = |range, rank| {
        wanted.min_severity.is_none_or(|least| rank <= least)
            && wanted.near.is_none_or(|near| is_near(range, near, wanted.max_distance))
    };
    let mut omitted = Omitted::default();
    let mut item_idxs = Vec::new();
    let mut rivals = Vec::new();
    for group in sorted.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (range, rank, item_idx) = group[0];
        let is_alone = group.len() == 1;
        if !is_alone {
            item_idxs.extend(group.iter().map(|item| item.2));
        }
        if passes(range, rank) {
            let order = match wanted.near {
                Some(Near::Position(at)) => nearness((range, rank), at),
                // Cut by severity, in file order: nothing else counts.
                _ => (Reverse(false), 0, 0, rank, range),
            };
            rivals.push((order, item_idx, is_alone));
        } else if is_alone {
            omitted.total += 1;
        }
    }
    if rivals.len() > wanted.limit {
        rivals.select_nth_unstable(wanted.limit);
        let n_alone = rivals.drain(wanted.limit..).filter(|rival| rival.2).count();
        omitted.total += n_alone;
        omitted.passed += n_alone;
    }
    item_idxs.extend(rivals.iter().filter(|rival| rival.2).map(|rival| rival.1));
    item_idxs.sort_unstable();
    Choice { item_idxs, omitted }
}

fn is_near(range: Range, near: Near, max_distance: Option<u32>) -> bool {
    match (near, max_distance) {
        (Near::Position(_), None) => true,
        (Near::Range(asked), None) => touches(range, asked),
        (Near::Range(asked), Some(max)) => touches(range, asked) || distance(range, near) <= max,
        (Near::Position(_), Some(max)) => distance(range, near) <= max,
    }
}

type Nearness = (Reverse<bool>, u32, u32, u8, Range);

/// What a question at `at` orders by: the nearest is the least.
fn nearness((range, severity): (Range, u8), at: Position) -> Nearness {
    let contains = range.start <= at && at <= range.end;
    let distance = distance(range, Near::Position(at));
    (Reverse(contains), distance, along(range, at), severity, range)
}

/// Whether two closed ranges share a position.
fn touches(a: Range, b: Range) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// How far along the line `range` lies from `at`, in UTF-16 units.
fn along(range: Range, at: Position) -> u32 {
    if range.start > at {
        range.start.character.abs_diff(at.character)
    } else if range.end < at {
        range.end.character.abs_diff(at.character)
    } else {
        0
    }
}

/// Each problem once, in file order: the same file, range, severity and message through two channels is
/// one.
pub(crate) fn unique(mut items: Vec<DiagnosticFact>) -> Vec<DiagnosticFact> {
    items.sort_by(|a, b| (&a.file, a.range).cmp(&(&b.file, b.range)));
    let mut is_new = Vec::with_capacity(items.len());
    for rivals in items.chunk_by(|a, b| a.range == b.range && a.file == b.file) {
        if rivals.len() == 1 {
            is_new.push(true);
            continue;
        }
        let mut seen = HashSet::new();
        is_new.extend(rivals.iter().map(|d| seen.insert((d.severity as u8, &d.message))));
    }
    let mut is_new = is_new.into_iter();
    items.retain(|_| is_new.next().unwrap_or(true));
    items
}

/// What an empty answer carries that means "could not look": today's servers read nothing else.
pub(crate) fn not_checked(uri: String, reason: &str) -> Diagnostic {
    Diagnostic {
        uri: uri.into(),
        severity: Severity::Info,
        source: Some("eca-context".into()),
        code: None,
        range: Range::default(),
        message: format!("not checked: {reason}"),
        distance: None,
    }
}

/// The tool's name in `source`: a checker's function or symbol name loses its editor's affixes.
pub(crate) fn tool_name(source: String) -> String {
    const TABLE: [(&str, &str); 4] = [
        ("elisp-flymake-byte-compile", "byte-compile"),
        ("elisp-flymake-checkdoc", "checkdoc"),
        ("emacs-lisp", "byte-compile"),
        ("emacs-lisp-checkdoc", "checkdoc"),
    ];
    if let Some((_, name)) = TABLE.iter().find(|(from, _)| *from == source) {
        return (*name).into();
    }
    let mut name = source.as_str();
    for suffix in ["-flymake", "-flymake-backend", "-flymake-checker"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    for prefix in ["flymake-", "flycheck-"] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    if name.is_empty() || name.len() == source.len() { source } else { name.into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::core::assemble::assemble_diagnostics;
    use crate::core::facts::{DocumentFacts, Facts, Outcome};
    use crate::core::plan::{Options, Request, plan};
    use crate::files::FileLines;

    const SEVERITIES: [&str; 4] = ["error", "warning", "info", "hint"];

    fn problem() -> impl Strategy<Value = DiagnosticFact> {
        (0..5u32, 0..4u32, 0..3u32, 0..4u32, 0..5usize, 0..3u8).prop_map(|(sl, sc, n, ec, s, m)| {
            DiagnosticFact {
                severity: from_word(SEVERITIES.get(s).copied().unwrap_or("odd"))
                    .unwrap_or_default(),
                range: Range::new(sl, sc, sl + n, if n == 0 { sc + ec } else { ec }),
                message: m.to_string(),
                ..DiagnosticFact::default()
            }
        })
    }

    /// Where a question points, in params of the protocol.
    fn place() -> impl Strategy<Value = Value> {
        (0..3u8, 0..8u32, 0..5u32, 0..3u32).prop_map(|(kind, line, character, n)| {
            let at = json!({"line": line, "character": character});
            match kind {
                0 => json!({"position": at}),
                1 => json!({"range": {"start": at, "end": {"line": line + n, "character": 9}}}),
                _ => json!({}),
            }
        })
    }

    fn facts(outcomes: Vec<Vec<DiagnosticFact>>, omitted: Omitted) -> Facts {
        let outcome = |items| Outcome { items, exact: true, ..Outcome::default() };
        Facts {
            document: Some(DocumentFacts { path: "/f".into(), ..DocumentFacts::default() }),
            diagnostics: outcomes.into_iter().map(outcome).collect(),
            diagnostics_omitted: omitted,
            ..Facts::default()
        }
    }

    proptest! {
        #[test]
        fn what_is_not_chosen_does_not_matter(
            first in prop::collection::vec(problem(), 0..24),
            second in prop::collection::vec(problem(), 0..12),
            place in place(),
            max_distance in prop::option::of(0..4u32),
            least in prop::option::of(0..4usize),
            limit in 1..9u32,
        ) {
            let mut params = place;
            params["uri"] = "file:///f".into();
            params["limit"] = limit.into();
            params["maxDistance"] = max_distance.into();
            params["minSeverity"] = least.map(|rank| SEVERITIES[rank]).into();
            let method = "editor/getDiagnostics".into();
            let plan = plan(&Request { method, params, options: Options::default() })
                .expect("valid params");
            let lines = FileLines::new(Vec::new(), Vec::new());
            let n_first = first.len();
            let all: Vec<_> = first.iter().chain(&second).cloned().collect();
            let keys: Vec<_> =
                all.iter().map(|d| (d.range, d.severity as u8)).collect();
            let choice = choose(&keys, &plan.wanted());
            let (mut some_first, mut some_second) = (Vec::new(), Vec::new());
            for &item_idx in &choice.item_idxs {
                let part = if item_idx < n_first { &mut some_first } else { &mut some_second };
                part.push(all[item_idx].clone());
            }
            prop_assert_eq!(choice.item_idxs.len() + choice.omitted.total, all.len());
            let whole =
                assemble_diagnostics(&plan, facts(vec![first, second], Omitted::default()), &lines);
            let part =
                assemble_diagnostics(&plan, facts(vec![some_first, some_second], choice.omitted), &lines);
            prop_assert_eq!(whole, part);
        }
    }

    #[test]
    fn the_rest_is_only_counted() {
        let item = |line, rank| (Range::new(line, 0, line, 1), rank);
        let items = [item(9, 0), item(3, 1), item(0, 3), item(4, 0), item(9, 0)];
        let wanted = Wanted {
            near: Some(Near::Position(Position::new(3, 0))),
            max_distance: None,
            min_severity: Some(1),
            limit: 1,
        };
        let choice = choose(&items, &wanted);
        assert_eq!(choice.item_idxs, [0, 1, 4]);
        assert_eq!(choice.omitted, Omitted { total: 2, passed: 1 });
    }

    #[test]
    fn c09_closed_ranges_hold_zero_width() {
        let at_end = (Range::new(2, 0, 2, 0), 0);
        let zero = (Range::new(1, 3, 1, 3), 0);
        for (items, asked) in [
            ([at_end], Near::Range(Range::new(2, 0, 2, 0))),
            ([at_end], Near::Position(Position::new(2, 0))),
            ([zero], Near::Range(Range::new(1, 0, 1, 3))),
        ] {
            assert_eq!(near(&items, asked, None), [0]);
        }
    }

    #[test]
    fn position_orders_and_range_filters() {
        let items = [
            (Range::new(0, 0, 0, 3), 0),
            (Range::new(5, 9, 5, 12), 1),
            (Range::new(5, 2, 5, 4), 1),
            (Range::new(4, 0, 9, 0), 2),
        ];
        let at = Near::Position(Position::new(5, 3));
        assert_eq!(near(&items, at, None), [2, 3, 1, 0]);
        assert_eq!(near(&items, at, Some(0)), [2, 3, 1]);
        assert_eq!(near(&items, Near::Range(Range::new(0, 0, 1, 0)), None), [0]);
        assert_eq!(near(&items, Near::Range(Range::new(1, 0, 1, 0)), Some(1)), [0]);
        assert_eq!(distance(items[3].0, at), 0);
        assert_eq!(distance(items[0].0, at), 5);
    }

    #[test]
    fn sources_are_tools() {
        for (from, to) in [
            ("elisp-flymake-byte-compile", "byte-compile"),
            ("python-flymake", "python"),
            ("flymake-cc", "cc"),
            ("Pyright", "Pyright"),
        ] {
            assert_eq!(tool_name(from.into()), to);
        }
    }
}
