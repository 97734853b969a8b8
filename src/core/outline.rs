//! What a language server says of a file's symbols becomes a tree of DocumentSymbols: kinds become
//! words, flat lists nest, what is local to a function goes. It knows no server.

use std::cmp::Reverse;
use std::collections::HashMap;

use lsp_types::{PositionEncodingKind, SymbolKind as LspKind};

use super::context::DocumentSymbol;
use super::context::SymbolKind::{self, *};
use super::encoding;
use super::lines::{Lines, trimmed};
use super::position::Range;
use super::raw::{List, RawSymbol};
use super::symbols::{MAX_DETAIL_CHARS, as_member, name_range, sort};

const KINDS: [(LspKind, SymbolKind); 26] = [
    (LspKind::FILE, File),
    (LspKind::MODULE, Module),
    (LspKind::NAMESPACE, Namespace),
    (LspKind::PACKAGE, Package),
    (LspKind::CLASS, Class),
    (LspKind::METHOD, Method),
    (LspKind::PROPERTY, Property),
    (LspKind::FIELD, Field),
    (LspKind::CONSTRUCTOR, Constructor),
    (LspKind::ENUM, Enum),
    (LspKind::INTERFACE, Interface),
    (LspKind::FUNCTION, Function),
    (LspKind::VARIABLE, Variable),
    (LspKind::CONSTANT, Constant),
    (LspKind::STRING, String),
    (LspKind::NUMBER, Number),
    (LspKind::BOOLEAN, Boolean),
    (LspKind::ARRAY, Array),
    (LspKind::OBJECT, Object),
    (LspKind::KEY, Key),
    (LspKind::NULL, Null),
    (LspKind::ENUM_MEMBER, EnumMember),
    (LspKind::STRUCT, Struct),
    (LspKind::EVENT, Event),
    (LspKind::OPERATOR, Operator),
    (LspKind::TYPE_PARAMETER, TypeParameter),
];

/// How deep symbols of a flat list nest: a reader of the answer takes no tree of any depth.
const MAX_DEPTH: usize = 50;
/// How many symbols of a container's name are looked at.
const MAX_NAMESAKES: usize = 8;

/// A symbol, and the name of what contains it where only a name is known.
struct Node {
    symbol: DocumentSymbol,
    container: Option<std::string::String>,
    is_flat: bool,
}

/// What raw symbols are read with.
struct Reader<'a> {
    path: &'a str,
    lines: &'a dyn Lines,
    encoding: &'a PositionEncodingKind,
    n_unread: usize,
}

/// The tree of symbols of the file `path` that a server gave as `raw`, in file order; and how many could
/// not be read.
pub(crate) fn tree(
    raw: List<RawSymbol>,
    encoding: &PositionEncodingKind,
    path: &str,
    lines: &dyn Lines,
) -> List<DocumentSymbol> {
    let mut reader = Reader { path, lines, encoding, n_unread: 0 };
    let nodes = reader.nodes(raw);
    let is_flat = nodes.iter().any(|node| node.is_flat);
    let mut symbols =
        if is_flat { nested(nodes) } else { nodes.into_iter().map(|n| n.symbol).collect() };
    symbols = without_locals(symbols, None);
    sort(&mut symbols);
    List { items: symbols, n_unread: reader.n_unread }
}

impl Reader<'_> {
    fn nodes(&mut self, raw: List<RawSymbol>) -> Vec<Node> {
        self.n_unread += raw.n_unread;
        let mut nodes = Vec::with_capacity(raw.items.len());
        for symbol in raw.items {
            match self.node(symbol) {
                Some(node) => nodes.push(node),
                None => self.n_unread += 1,
            }
        }
        nodes
    }

    fn node(&mut self, raw: RawSymbol) -> Option<Node> {
        let is_flat = raw.range.is_none();
        let range = raw.range.or_else(|| raw.location.and_then(|location| location.range))?;
        let range = encoding::range(self.lines, self.path, range, self.encoding);
        let name = match raw.name.trim() {
            "" => "(anonymous)".into(),
            name => name.to_string(),
        };
        let selection_range = match raw.selection_range {
            Some(range) => encoding::range(self.lines, self.path, range, self.encoding),
            None => {
                let text = self.lines.line(self.path, range.start.line);
                name_range(text.as_deref(), &name, range.start)
            }
        };
        let short = |text: &str| trimmed(text, MAX_DETAIL_CHARS);
        let detail = raw.detail.map(|text| short(&text)).filter(|text| !text.is_empty());
        let line = || self.lines.line(self.path, selection_range.start.line);
        let detail = detail.or_else(|| line().map(|text| short(&text)));
        let kind = of_lsp(raw.kind);
        let mut children = raw.children;
        if is_function(kind) {
            // They are most of what some servers tell, and left out in the end.
            children.items.retain(|c| !is_variable(of_lsp(c.kind)) || !c.children.items.is_empty());
        }
        let children = self.nodes(children);
        Some(Node {
            symbol: DocumentSymbol {
                name,
                kind,
                detail: detail.filter(|text| !text.is_empty()),
                range: Some(range),
                selection_range: Some(selection_range),
                children: children.into_iter().map(|node| node.symbol).collect(),
                truncated_children: None,
            },
            container: raw.container_name.filter(|name| !name.is_empty()),
            is_flat,
        })
    }
}

fn of_lsp(raw: Option<LspKind>) -> Option<SymbolKind> {
    KINDS.iter().find(|(known, _)| Some(*known) == raw).map(|(_, kind)| *kind)
}

/// Whether variables in it are its own affair.
fn is_function(kind: Option<SymbolKind>) -> bool {
    matches!(kind, Some(Function | Method | Constructor | Operator))
}

fn is_variable(kind: Option<SymbolKind>) -> bool {
    matches!(kind, Some(Variable | Constant | TypeParameter))
}

/// The tree of a flat list: a symbol lies in the smallest other one whose range holds its own, else in
/// the one that it names as its container.
fn nested(mut nodes: Vec<Node>) -> Vec<DocumentSymbol> {
    let range = |node: &Node| node.symbol.range.unwrap_or_default();
    nodes.sort_by_key(|node| (range(node).start, Reverse(range(node).end)));
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
    let mut open: Vec<usize> = Vec::new();
    for (node_idx, node) in nodes.iter().enumerate() {
        let own = range(node);
        let holds = |outer: Range| outer.start <= own.start && own.end <= outer.end && outer != own;
        while open.last().is_some_and(|&outer_idx| !holds(range(&nodes[outer_idx]))) {
            open.pop();
        }
        parents.push(open.last().copied());
        open.push(node_idx);
    }
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (node_idx, node) in nodes.iter().enumerate() {
        by_name.entry(&node.symbol.name).or_default().push(node_idx);
    }
    for node_idx in 0..nodes.len() {
        if parents[node_idx].is_none()
            && let Some(container) = nodes[node_idx].container.as_deref()
        {
            let last = container.rsplit(['.', ':']).next().unwrap_or(container);
            let namesakes = |wanted| by_name.get(wanted).into_iter().flatten().take(MAX_NAMESAKES);
            parents[node_idx] = [container, last]
                .into_iter()
                .flat_map(namesakes)
                .copied()
                .find(|&outer_idx| !lies_within(outer_idx, node_idx, &parents));
        }
    }
    let (roots, children) = tree_of(&parents);
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    roots
        .into_iter()
        .filter_map(|root_idx| with_children(root_idx, &mut nodes, &children))
        .collect()
}

/// Whether `inner_idx` is `outer_idx` or lies in it, or too deep to tell.
fn lies_within(inner_idx: usize, outer_idx: usize, parents: &[Option<usize>]) -> bool {
    let outwards = std::iter::successors(Some(inner_idx), |&idx| parents[idx]);
    let mut n_outwards = 0;
    for idx in outwards {
        n_outwards += 1;
        if idx == outer_idx || n_outwards > MAX_DEPTH {
            return true;
        }
    }
    false
}

/// The roots and the children of each node, at most `MAX_DEPTH` deep: what lies deeper is a child of the
/// deepest that may have some.
fn tree_of(parents: &[Option<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut given: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    for (node_idx, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent_idx) => given[*parent_idx].push(node_idx),
            None => roots.push(node_idx),
        }
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    // A node, which of those that it lies in has its children, and how deep that one lies.
    let mut left: Vec<(usize, usize, usize)> = roots.iter().map(|&root| (root, root, 1)).collect();
    while let Some((node_idx, holder_idx, depth)) = left.pop() {
        for &child_idx in &given[node_idx] {
            children[holder_idx].push(child_idx);
            let deeper = (child_idx, child_idx, depth + 1);
            let as_deep = (child_idx, holder_idx, depth);
            left.push(if depth + 1 < MAX_DEPTH { deeper } else { as_deep });
        }
    }
    (roots, children)
}

fn with_children(
    node_idx: usize,
    nodes: &mut [Option<Node>],
    children: &[Vec<usize>],
) -> Option<DocumentSymbol> {
    let mut symbol = nodes[node_idx].take()?.symbol;
    for &child_idx in &children[node_idx] {
        symbol.children.extend(with_children(child_idx, nodes, children));
    }
    Some(symbol)
}

/// The symbols, children of one of kind `parent`, without parameters and variables of functions; what
/// such a variable holds (a function, a class) stands in its place. Functions of classes are methods.
fn without_locals(symbols: Vec<DocumentSymbol>, parent: Option<SymbolKind>) -> Vec<DocumentSymbol> {
    let mut kept = Vec::with_capacity(symbols.len());
    for mut symbol in symbols {
        if is_function(parent) && is_variable(symbol.kind) {
            let inner = without_locals(symbol.children, parent);
            kept.extend(inner.into_iter().filter(|s| s.kind.is_some_and(has_scope)));
            continue;
        }
        symbol.kind = as_member(symbol.kind, parent);
        symbol.children = without_locals(symbol.children, symbol.kind);
        kept.push(symbol);
    }
    kept
}

/// Whether symbols of this kind have a scope, however short they are.
pub(crate) fn has_scope(kind: SymbolKind) -> bool {
    matches!(
        kind,
        Module
            | Namespace
            | Package
            | Class
            | Method
            | Constructor
            | Enum
            | Interface
            | Function
            | Struct
            | Operator
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::files::FileLines;

    /// The tree as text: name, kind, ranges as they are; children in brackets.
    fn check(text: &str, raw: Value) -> (std::string::String, usize) {
        let raw: List<RawSymbol> = serde_json::from_value(raw).expect("a list reads from anything");
        let lines = FileLines::of_text("/f", text);
        let List { items, n_unread } = tree(raw, &PositionEncodingKind::UTF16, "/f", &lines);
        (told(&items), n_unread)
    }

    fn told(symbols: &[DocumentSymbol]) -> std::string::String {
        let place = |range: Option<Range>| {
            let Range { start, end } = range.expect("a range");
            format!("{}:{}-{}:{}", start.line, start.character, end.line, end.character)
        };
        let one = |s: &DocumentSymbol| {
            let kind = s.kind.map_or("?".into(), |kind| format!("{kind:?}"));
            let inner = if s.children.is_empty() { "".into() } else { told(&s.children) };
            format!("{} {kind} {} {}{inner}", s.name, place(s.range), place(s.selection_range))
        };
        format!("[{}]", symbols.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    fn range(sl: u32, sc: u32, el: u32, ec: u32) -> Value {
        json!({"start": {"line": sl, "character": sc}, "end": {"line": el, "character": ec}})
    }

    fn flat(name: &str, kind: u8, place: Value, container: Value) -> Value {
        json!({"name": name, "kind": kind, "containerName": container,
               "location": {"uri": "file:///f", "range": place}})
    }

    fn deep(name: &str, kind: u8, place: Value, name_place: Value, children: Value) -> Value {
        json!({"name": name, "kind": kind, "range": place, "selectionRange": name_place,
               "children": children})
    }

    #[test]
    fn flat_lists_nest_by_range_else_by_container() {
        let text = "class A {\n  int x;\n  f() {}\n}\nint A::g() {}\n";
        let raw = json!([
            flat("f", 12, range(2, 2, 2, 8), Value::Null),
            flat("x", 8, range(1, 2, 1, 8), json!("elsewhere")),
            flat("g", 6, range(4, 0, 4, 13), json!("ns::A")),
            flat("h", 12, range(4, 0, 4, 13), json!("h")),
            flat("A", 5, range(0, 0, 3, 1), Value::Null),
        ]);
        let wanted = "[A Class 0:0-3:1 0:6-0:7[x Field 1:2-1:8 1:6-1:7, f Method 2:2-2:8 2:2-2:3, \
                      g Method 4:0-4:13 4:7-4:8], h Function 4:0-4:13 4:0-4:0]";
        assert_eq!(check(text, raw), (wanted.into(), 0));
    }

    #[test]
    fn long_flat_lists_are_read_at_once_and_lie_not_too_deep() {
        fn depth(symbols: &[DocumentSymbol]) -> usize {
            symbols.iter().map(|symbol| 1 + depth(&symbol.children)).max().unwrap_or(0)
        }
        fn count(symbols: &[DocumentSymbol]) -> usize {
            symbols.iter().map(|symbol| 1 + count(&symbol.children)).sum()
        }
        const N: u32 = 5_000;
        let leaf = |n: u32| range(n, 0, n, 1);
        let of =
            |name: &dyn Fn(u32) -> Value, place: &dyn Fn(u32) -> Value, n: u32, other: Value| {
                flat(name(n).as_str().expect("a name"), 5, place(n), other)
            };
        let own = |n: u32| json!(format!("n{n}"));
        let same = |_: u32| json!("a");
        let shells = |n: u32| range(n, 0, 3 * N - n, 0);
        for (case, raw, deepest) in [
            ("nowhere", (0..N).map(|n| of(&own, &leaf, n, json!("ns"))).collect::<Vec<_>>(), 1),
            ("namesakes", (0..N).map(|n| of(&same, &leaf, n, json!("a"))).collect(), MAX_DEPTH),
            ("inwards", (0..N).map(|n| of(&own, &leaf, n, own(n + 1))).collect(), MAX_DEPTH),
            ("outwards", (1..N).map(|n| of(&own, &leaf, n, own(n - 1))).collect(), MAX_DEPTH),
            ("shells", (0..N).map(|n| of(&own, &shells, n, Value::Null)).collect(), MAX_DEPTH),
        ] {
            let n_given = raw.len();
            let raw: List<RawSymbol> = serde_json::from_value(raw.into()).expect("a list");
            let lines = FileLines::of_text("/f", "");
            let found = tree(raw, &PositionEncodingKind::UTF16, "/f", &lines);
            assert_eq!((count(&found.items), found.n_unread), (n_given, 0), "{case}");
            assert!(depth(&found.items) <= deepest, "{case} lies {} deep", depth(&found.items));
        }
    }

    #[test]
    fn names_that_contain_one_another_end() {
        let raw = json!([
            flat("a", 3, range(0, 0, 0, 1), json!("b")),
            flat("b", 3, range(1, 0, 1, 1), json!("a")),
        ]);
        let wanted = "[b Namespace 1:0-1:1 1:0-1:1[a Namespace 0:0-0:1 0:0-0:1]]";
        assert_eq!(check("a\nb\n", raw), (wanted.into(), 0));
    }

    #[test]
    fn what_is_local_to_a_function_goes() {
        let name = |line| range(line, 0, line, 1);
        let leaf = |n: &str, kind, line| deep(n, kind, name(line), name(line), Value::Null);
        let raw = json!([
            deep(
                "f",
                12,
                range(0, 0, 9, 0),
                name(0),
                json!([
                    leaf("p", 13, 0),
                    leaf("K", 14, 1),
                    leaf("T", 26, 1),
                    leaf("g", 12, 2),
                    deep(
                        "v",
                        13,
                        range(3, 0, 4, 0),
                        name(3),
                        json!([leaf("h", 12, 4), leaf("k", 7, 4)])
                    ),
                    deep(
                        "C",
                        5,
                        range(5, 0, 6, 0),
                        name(5),
                        json!([leaf("K", 14, 6), leaf("m", 12, 6)])
                    ),
                ])
            ),
            leaf("TOP", 14, 9),
        ]);
        let wanted = "[f Function 0:0-9:0 0:0-0:1[g Function 2:0-2:1 2:0-2:1, \
                      h Function 4:0-4:1 4:0-4:1, C Class 5:0-6:0 5:0-5:1[K Constant 6:0-6:1 6:0-6:1, \
                      m Method 6:0-6:1 6:0-6:1]], TOP Constant 9:0-9:1 9:0-9:1]";
        assert_eq!(check(&"x\n".repeat(10), raw), (wanted.into(), 0));
    }

    #[test]
    fn odd_symbols() {
        let at = range(0, 0, 0, 3);
        for (raw, wanted, n_unread) in [
            (Value::Null, "[]", 0),
            (json!([{"name": "a"}]), "[]", 1),
            (json!([{"name": "a", "location": {"uri": "file:///f"}}]), "[]", 1),
            (json!([{"name": "a b", "range": at}]), "[a b ? 0:0-0:3 0:0-0:0]", 0),
            (json!([{"name": "", "kind": 99, "range": at}]), "[(anonymous) ? 0:0-0:3 0:0-0:0]", 0),
            (
                json!([deep("a", 5, at.clone(), at.clone(), json!([5, {"name": "b"}]))]),
                "[a Class 0:0-0:3 0:0-0:3]",
                2,
            ),
        ] {
            assert_eq!(check("abc\n", raw.clone()), (wanted.into(), n_unread), "{raw}");
        }
    }
}
