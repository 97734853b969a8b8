//! Diagnostics near a place: distance, order, filter, each problem once. It knows no checker.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::facts::DiagnosticFact;
use super::plan::SEVERITIES;
use super::position::{Position, Range};

/// Where the question points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Near {
    Position(Position),
    Range(Range),
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
    SEVERITIES.iter().position(|s| *s == word).map_or(0, |rank| rank as u8)
}

/// Which of `items` (range and severity rank, in file order) answer a question about `near`, in the
/// answer's order: indexes into `items`.
///
/// A position orders and drops nothing unless `max_distance` is given; a range filters: what touches
/// the closed range, or lies within `max_distance` lines of it.
pub fn near(items: &[(Range, u8)], near: Near, max_distance: Option<u32>) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..items.len())
        .filter(|&item_idx| {
            let range = items[item_idx].0;
            match (near, max_distance) {
                (Near::Position(_), None) => true,
                (Near::Range(asked), None) => touches(range, asked),
                (Near::Range(asked), Some(max)) => {
                    touches(range, asked) || distance(range, near) <= max
                }
                (Near::Position(_), Some(max)) => distance(range, near) <= max,
            }
        })
        .collect();
    if let Near::Position(at) = near {
        chosen.sort_by_key(|&item_idx| {
            let (range, severity) = items[item_idx];
            let contains = range.start <= at && at <= range.end;
            (Reverse(contains), distance(range, near), along(range, at), severity, range)
        });
    } else {
        chosen.sort_by_key(|&item_idx| items[item_idx].0);
    }
    chosen
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

/// Each problem once: the same file, range, severity and message through two channels is one.
pub(crate) fn unique(items: Vec<DiagnosticFact>) -> Vec<DiagnosticFact> {
    let mut seen = HashSet::new();
    items
        .into_iter()
        .filter(|d| {
            seen.insert((d.file.clone(), d.range, severity_rank(&d.severity), d.message.clone()))
        })
        .collect()
}

/// The tool's name in `source`: a checker's function or symbol name loses its editor's affixes.
pub(crate) fn tool_name(source: &str) -> String {
    const TABLE: [(&str, &str); 4] = [
        ("elisp-flymake-byte-compile", "byte-compile"),
        ("elisp-flymake-checkdoc", "checkdoc"),
        ("emacs-lisp", "byte-compile"),
        ("emacs-lisp-checkdoc", "checkdoc"),
    ];
    if let Some((_, name)) = TABLE.iter().find(|(from, _)| *from == source) {
        return (*name).into();
    }
    let mut name = source;
    for suffix in ["-flymake", "-flymake-backend", "-flymake-checker"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    for prefix in ["flymake-", "flycheck-"] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    if name.is_empty() { source.into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(tool_name(from), to);
        }
    }
}
