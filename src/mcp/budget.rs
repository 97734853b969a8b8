//! An answer that fits into a number of bytes: what is worth least goes first, and that is said. It
//! knows no way of writing but those it is given the size of.

use super::model::{Answer, Cut};
use super::text::text;

/// What can be left out, the least valuable first.
const LISTS: [List; 9] = [
    List::OpenFiles,
    List::Documentation,
    List::Symbols,
    List::References,
    List::Diagnostics,
    List::Fixed,
    List::New,
    List::Definitions,
    List::Enclosing,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    OpenFiles,
    Documentation,
    Symbols,
    References,
    Diagnostics,
    Fixed,
    New,
    Definitions,
    Enclosing,
}

/// `answer` cut until its text and its JSON are of at most `max_bytes` each, and its text.
///
/// Symbols go from the deepest up, diagnostics from the mildest, all else from the end. What has no
/// list stays, so it may be more after all.
pub(crate) fn fit(answer: Answer, max_bytes: usize) -> (Answer, String) {
    let fits = |answer: &Answer| {
        let text = text(answer);
        let n_json = serde_json::to_string(answer).map_or(0, |json| json.len());
        (text.len().max(n_json) <= max_bytes, text)
    };
    let (at_once, whole) = fits(&answer);
    if at_once {
        return (answer, whole);
    }
    let total: usize = LISTS.iter().map(|&list| length(&answer, list)).sum();
    // The fewest that must go.
    let (mut low, mut high) = (0, total);
    while low < high {
        let middle = low.midpoint(high);
        if fits(&without(&answer, middle)).0 { high = middle } else { low = middle + 1 }
    }
    let answer = without(&answer, low);
    let text = text(&answer);
    (answer, text)
}

/// `answer` without the `n` least valuable items.
fn without(answer: &Answer, mut n: usize) -> Answer {
    let mut answer = answer.clone();
    for list in LISTS {
        let n_there = length(&answer, list);
        let n_gone = n.min(n_there);
        n -= n_gone;
        if n_gone > 0 {
            drop_some(&mut answer, list, n_gone);
            note(&mut answer.cut, name(list), n_there - n_gone, n_there);
        }
    }
    answer
}

fn name(list: List) -> &'static str {
    match list {
        List::OpenFiles => "open_files",
        List::Documentation => "documentation",
        List::Symbols => "symbols",
        List::References => "references",
        List::Diagnostics => "diagnostics",
        List::Fixed => "fixed",
        List::New => "new",
        List::Definitions => "definitions",
        List::Enclosing => "enclosing",
    }
}

fn length(answer: &Answer, list: List) -> usize {
    fn n<T>(items: &Option<Vec<T>>) -> usize {
        items.as_ref().map_or(0, Vec::len)
    }
    match list {
        List::OpenFiles => n(&answer.open_files),
        List::Documentation => n(&answer.documentation),
        List::Symbols => n(&answer.symbols),
        List::References => n(&answer.references),
        List::Diagnostics => n(&answer.diagnostics),
        List::Fixed => n(&answer.fixed),
        List::New => n(&answer.new),
        List::Definitions => n(&answer.definitions),
        List::Enclosing => n(&answer.enclosing),
    }
}

fn drop_some(answer: &mut Answer, list: List, n: usize) {
    match list {
        List::OpenFiles => drop_last(&mut answer.open_files, n, |_| 0),
        List::Documentation => drop_last(&mut answer.documentation, n, |_| 0),
        List::Symbols => drop_last(&mut answer.symbols, n, |node| node.depth),
        List::References => drop_last(&mut answer.references, n, |_| 0),
        List::Diagnostics => drop_last(&mut answer.diagnostics, n, |p| mildness(&p.severity)),
        List::Fixed => drop_last(&mut answer.fixed, n, |p| mildness(&p.severity)),
        List::New => drop_last(&mut answer.new, n, |p| mildness(&p.severity)),
        List::Definitions => drop_last(&mut answer.definitions, n, |_| 0),
        List::Enclosing => drop_last(&mut answer.enclosing, n, |_| 0),
    }
}

fn mildness(severity: &str) -> u64 {
    match severity {
        "error" => 0,
        "warning" => 1,
        "info" => 2,
        _ => 3,
    }
}

/// Takes `n` of `items` away: those of the highest rank, and of one rank the last ones.
fn drop_last<T>(items: &mut Option<Vec<T>>, n: usize, rank: impl Fn(&T) -> u64) {
    let Some(items) = items else { return };
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&idx| rank(&items[idx]));
    let mut stays = vec![false; items.len()];
    for &idx in order.iter().take(items.len() - n) {
        stays[idx] = true;
    }
    let mut stays = stays.into_iter();
    items.retain(|_| stays.next().unwrap_or(true));
}

/// Says that only `shown` are there; what an earlier cut says of the total stays.
fn note(cuts: &mut Vec<Cut>, what: &str, shown: usize, total: usize) {
    let shown = shown as u64;
    match cuts.iter_mut().find(|cut| cut.what == what) {
        Some(cut) => cut.shown = shown,
        None => cuts.push(Cut { what: what.into(), shown, total: total as u64 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::model::{Node, OpenFile, Place, Problem};

    #[test]
    fn what_fits_stays() {
        let answer = Answer { references: Some(vec![Place::default(); 3]), ..Answer::default() };
        assert_eq!(fit(answer.clone(), 16384).0, answer);
    }

    #[test]
    fn the_least_valuable_goes_first() {
        let answer = Answer {
            open_files: Some(vec![OpenFile { path: "x".repeat(40), ..OpenFile::default() }; 100]),
            references: Some(vec![Place { path: "y".repeat(40), ..Place::default() }; 100]),
            definitions: Some(vec![Place { path: "z".repeat(40), ..Place::default() }; 2]),
            cut: vec![Cut { what: "references".into(), shown: 100, total: 900 }],
            ..Answer::default()
        };
        let (found, text) = fit(answer, 4096);
        assert!(text.len() <= 4096);
        assert_eq!(found.definitions.as_ref().map(Vec::len), Some(2));
        assert_eq!(found.open_files, Some(Vec::new()));
        let n_left = found.references.as_ref().map_or(0, Vec::len);
        assert!(n_left > 20 && n_left < 60, "{n_left}");
        assert_eq!(
            found.cut[0],
            Cut { what: "references".into(), shown: n_left as u64, total: 900 }
        );
        assert_eq!(found.cut[1], Cut { what: "open_files".into(), shown: 0, total: 100 });
        assert!(text.contains(&format!("cut: {n_left} of 900 references shown")));
        // Not one more goes than must.
        let mut more = found;
        more.references
            .as_mut()
            .expect("some")
            .push(Place { path: "y".repeat(40), ..Place::default() });
        assert!(serde_json::to_string(&more).expect("JSON").len() > 4096);
    }

    #[test]
    fn errors_outlive_hints_and_tops_what_they_hold() {
        let problem = |severity: &str| Problem {
            severity: severity.into(),
            message: "m".repeat(100),
            ..Problem::default()
        };
        let problems =
            vec![problem("hint"), problem("error"), problem("warning"), problem("error")];
        let (found, _) = fit(Answer { diagnostics: Some(problems), ..Answer::default() }, 600);
        let left: Vec<_> =
            found.diagnostics.iter().flatten().map(|p| p.severity.as_str()).collect();
        assert_eq!(left, ["error", "error"]);
        let node = |depth| Node { name: "n".repeat(100), depth, ..Node::default() };
        let symbols = Some(vec![node(0), node(1), node(2), node(0), node(1)]);
        let (found, _) = fit(Answer { symbols, ..Answer::default() }, 500);
        let left: Vec<_> = found.symbols.iter().flatten().map(|n| n.depth).collect();
        assert_eq!(left, [0, 1, 0]);
    }

    #[test]
    fn a_budget_too_small_leaves_only_what_has_no_list() {
        let answer = Answer { references: Some(vec![Place::default(); 3]), ..Answer::default() };
        assert_eq!(fit(answer, 1).0.references, Some(Vec::new()));
    }
}
