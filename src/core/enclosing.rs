//! What encloses a place, by exact ranges or by the tree's own nesting. It knows no provider.

use super::context::{DocumentSymbol, EnclosingSymbol, from_word};
use super::facts::EnclosingFact;
use super::outline::has_scope;
use super::position::{Position, Range};
use super::symbols::{as_member, kind_of, undecorated};

/// Those of `facts` that have a scope and hold `at`, outermost first.
pub(crate) fn of_facts(facts: Vec<EnclosingFact>, at: Position) -> Vec<EnclosingSymbol> {
    let mut symbols: Vec<EnclosingSymbol> = facts
        .into_iter()
        .map(|fact| {
            let (name, said) = undecorated(&fact.name);
            let word = fact.kind.as_deref();
            let kind = word.and_then(|word| from_word(word).or_else(|| kind_of(word))).or(said);
            let selection_range = fact.selection_range;
            EnclosingSymbol { name, kind, range: fact.range, selection_range }
        })
        .filter(|s| encloses(s, at))
        .collect();
    symbols.sort_by_key(|s| (s.range.start, std::cmp::Reverse(s.range.end)));
    let mut parent = None;
    for symbol in &mut symbols {
        symbol.kind = as_member(symbol.kind, parent);
        parent = symbol.kind;
    }
    symbols
}

/// The symbols of `tree` that have a scope and hold `at`, outermost first. Where two that touch both
/// hold it, it is in the later one.
pub(crate) fn of_tree(tree: &[DocumentSymbol], at: Position) -> Vec<EnclosingSymbol> {
    let mut chain = Vec::new();
    for symbol in tree {
        let mut inner = of_tree(&symbol.children, at);
        if let Some(range) = symbol.range {
            let own = EnclosingSymbol {
                name: symbol.name.clone(),
                kind: symbol.kind,
                range,
                selection_range: symbol.selection_range,
            };
            if encloses(&own, at) {
                inner.insert(0, own);
            }
        }
        if !inner.is_empty() {
            chain = inner;
        }
    }
    chain
}

/// The qualified name of what encloses `range`, names joined by `separator`: the place of a symbol's own
/// name lies in what the symbol lies in.
pub(crate) fn container(tree: &[DocumentSymbol], range: Range, separator: &str) -> Option<String> {
    let mut outer = Vec::new();
    let names = if holds_name(tree, range, &mut outer) {
        outer
    } else {
        let ends = [range.start, range.end];
        let [chain, at_end] = ends.map(|at| of_tree(tree, at));
        chain.into_iter().filter(|s| at_end.contains(s)).map(|s| s.name).collect()
    };
    (!names.is_empty()).then(|| names.join(separator))
}

/// Whether `range` is the name of a symbol of `tree`; `outer` then names what that one lies in.
fn holds_name(tree: &[DocumentSymbol], range: Range, outer: &mut Vec<String>) -> bool {
    range.start != range.end
        && tree.iter().any(|symbol| {
            if symbol.selection_range == Some(range) {
                return true;
            }
            outer.push(symbol.name.clone());
            let is_inside = holds_name(&symbol.children, range, outer);
            if !is_inside {
                outer.pop();
            }
            is_inside
        })
}

/// Whether `symbol` has a scope, and its closed range or its own name holds `at`.
fn encloses(symbol: &EnclosingSymbol, at: Position) -> bool {
    let holds = |range: Range| range.start <= at && at <= range.end;
    let is_long = symbol.range.start.line != symbol.range.end.line;
    (is_long || symbol.kind.is_some_and(has_scope))
        && (holds(symbol.range) || symbol.selection_range.is_some_and(holds))
}

#[cfg(test)]
mod tests {
    use super::super::context::SymbolKind::{Class, Constant, Function, Method, Variable};
    use super::*;

    fn names(symbols: &[EnclosingSymbol]) -> Vec<&str> {
        symbols.iter().map(|s| s.name.as_str()).collect()
    }

    /// Class `A` 0-5 with `K` and the method `f` 2:4-3:9, then the one-line function `g` 5:1-5:9.
    fn tree() -> Vec<DocumentSymbol> {
        let symbol = |name: &str, kind, range, sel, children| DocumentSymbol {
            name: name.into(),
            kind: Some(kind),
            range: Some(range),
            selection_range: Some(sel),
            children,
            ..DocumentSymbol::default()
        };
        let k = symbol("K", Constant, Range::new(1, 4, 1, 9), Range::new(1, 4, 1, 5), vec![]);
        let f = symbol("f", Method, Range::new(2, 4, 3, 9), Range::new(2, 8, 2, 9), vec![]);
        vec![
            symbol("A", Class, Range::new(0, 0, 5, 1), Range::new(0, 6, 0, 7), vec![k, f]),
            symbol("g", Function, Range::new(5, 1, 5, 9), Range::new(5, 5, 5, 6), vec![]),
        ]
    }

    #[test]
    fn closed_ranges_with_a_scope() {
        for (line, character, wanted) in [
            (0, 0, &["A"][..]),
            (0, 6, &["A"]),
            (1, 5, &["A"]),
            (2, 3, &["A"]),
            (2, 4, &["A", "f"]),
            (2, 8, &["A", "f"]),
            (3, 9, &["A", "f"]),
            (3, 10, &["A"]),
            (5, 0, &["A"]),
            (5, 1, &["g"]),
            (5, 9, &["g"]),
            (5, 10, &[]),
            (9, 0, &[]),
        ] {
            let at = Position::new(line, character);
            assert_eq!(names(&of_tree(&tree(), at)), wanted, "{at:?}");
        }
    }

    #[test]
    fn facts_are_ordered_and_judged() {
        let fact = |name: &str, kind: &str, range| EnclosingFact {
            name: name.into(),
            kind: Some(kind.into()),
            range,
            selection_range: None,
        };
        let facts = vec![
            fact("f (def)", "", Range::new(1, 0, 4, 0)),
            fact("A", "class", Range::new(0, 0, 9, 0)),
            fact("x", "variable", Range::new(2, 0, 2, 9)),
            fact("big", "Variables", Range::new(2, 0, 3, 0)),
            fact("gone", "function", Range::new(5, 0, 6, 0)),
        ];
        let symbols = of_facts(facts, Position::new(2, 0));
        assert_eq!(names(&symbols), ["A", "f", "big"]);
        let kinds: Vec<_> = symbols.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [Some(Class), Some(Method), Some(Variable)]);
    }

    #[test]
    fn containers_are_known_by_name_or_by_range() {
        for (range, wanted) in [
            (Range::new(2, 8, 2, 9), Some("A")),
            (Range::new(3, 0, 3, 4), Some("A::f")),
            (Range::new(1, 4, 1, 5), Some("A")),
            (Range::new(1, 8, 1, 9), Some("A")),
            (Range::new(0, 6, 0, 7), None),
            (Range::new(5, 5, 5, 6), None),
            (Range::new(5, 7, 5, 8), Some("g")),
            (Range::new(3, 0, 9, 0), None),
        ] {
            assert_eq!(container(&tree(), range, "::").as_deref(), wanted, "{range:?}");
        }
        // Without ranges only a symbol's own name has a known place.
        let mut tree = tree();
        tree[0].range = None;
        tree[0].children[1].range = None;
        assert_eq!(container(&tree, Range::new(2, 8, 2, 9), ".").as_deref(), Some("A"));
        assert_eq!(container(&tree, Range::new(3, 0, 3, 4), "."), None);
    }
}
