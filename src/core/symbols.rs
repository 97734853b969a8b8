//! An index of names becomes a tree of DocumentSymbols: decorations become kinds, groupings go, names
//! get their ranges. It knows no editor, only the words that index builders write.

use std::collections::HashMap;

use super::context::SymbolKind::{
    self, Class, Constant, Enum, Field, Function, Interface, Method, Module, Namespace, Property,
    Struct, Variable,
};
use super::context::{DocumentSymbol, Truncation};
use super::facts::IndexEntry;
use super::lines::{Lines, find_symbol, trimmed, utf16_len};
use super::position::{Position, Range};

/// The hint of an entry that is no symbol but the title of those below it.
const GROUP: &str = "group";

pub(crate) const MAX_DETAIL_CHARS: usize = 120;

/// The word of a backend and the LSP kind it means. Groupings are the plurals.
const KINDS: [(&str, Option<SymbolKind>); 31] = [
    ("def", Some(Function)),
    ("async def", Some(Function)),
    ("function", Some(Function)),
    ("functions", Some(Function)),
    ("defuns", Some(Function)),
    ("macros", Some(Function)),
    ("method", Some(Method)),
    ("methods", Some(Method)),
    ("class", Some(Class)),
    ("classes", Some(Class)),
    ("struct", Some(Struct)),
    ("structs", Some(Struct)),
    ("type", Some(Class)),
    ("types", Some(Class)),
    ("variable", Some(Variable)),
    ("variables", Some(Variable)),
    ("constant", Some(Constant)),
    ("constants", Some(Constant)),
    ("interface", Some(Interface)),
    ("interfaces", Some(Interface)),
    ("enum", Some(Enum)),
    ("enums", Some(Enum)),
    ("module", Some(Module)),
    ("modules", Some(Module)),
    ("namespace", Some(Namespace)),
    ("namespaces", Some(Namespace)),
    ("property", Some(Property)),
    ("properties", Some(Property)),
    ("field", Some(Field)),
    ("fields", Some(Field)),
    ("other", None),
];

/// How a line that defines something may begin, and the kind it defines.
const OPENINGS: [(&str, SymbolKind); 22] = [
    ("(defun", Function),
    ("(cl-defun", Function),
    ("(defsubst", Function),
    ("(defmacro", Function),
    ("(cl-defmacro", Function),
    ("(define-", Function),
    ("(defalias", Function),
    ("(cl-defmethod", Method),
    ("(cl-defgeneric", Function),
    ("(defvar", Variable),
    ("(defcustom", Variable),
    ("(defconst", Constant),
    ("(defface", Variable),
    ("(cl-defstruct", Struct),
    ("(defclass", Class),
    ("def ", Function),
    ("async def ", Function),
    ("class ", Class),
    ("struct ", Struct),
    ("enum ", Enum),
    ("fn ", Function),
    ("function ", Function),
];

/// The tree of symbols that `entries` describe, in file order.
pub(crate) fn tree(entries: Vec<IndexEntry>, path: &str, lines: &dyn Lines) -> Vec<DocumentSymbol> {
    let mut symbols = Vec::new();
    collect(entries, None, None, path, lines, &mut symbols);
    sort(&mut symbols);
    symbols
}

fn collect(
    entries: Vec<IndexEntry>,
    group_kind: Option<SymbolKind>,
    parent_kind: Option<SymbolKind>,
    path: &str,
    lines: &dyn Lines,
    into: &mut Vec<DocumentSymbol>,
) {
    for entry in entries {
        let is_leaf = entry.children.is_none();
        if is_leaf && is_self_entry(&entry.name) {
            continue;
        }
        let (name, mut kind) = undecorated(&entry.name);
        let mut children = entry.children.unwrap_or_default();
        let own = children.iter().find(|c| c.children.is_none() && is_self_entry(&c.name));
        let at = match (entry.line, own) {
            (Some(line), _) => Some(Position::new(line, entry.character.unwrap_or(0))),
            (None, Some(own)) => {
                own.line.map(|line| Position::new(line, own.character.unwrap_or(0)))
            }
            (None, None) => None,
        };
        if !is_leaf && at.is_none() {
            if children.is_empty() {
                continue;
            }
            let titled = (entry.hint.as_deref() == Some(GROUP)).then(|| kind_of(&name));
            if let Some(of_group) = titled.or_else(|| grouping(&name)) {
                collect(children, of_group, parent_kind, path, lines, into);
                continue;
            }
        }
        let text = at.and_then(|p| lines.line(path, p.line));
        kind = kind
            .or_else(|| entry.hint.as_deref().and_then(kind_of))
            .or_else(|| text.as_deref().and_then(kind_of_line))
            .or(group_kind);
        kind = as_member(kind, parent_kind);
        let mut node = DocumentSymbol {
            kind,
            selection_range: at.map(|p| name_range(text.as_deref(), &name, p)),
            detail: text.as_deref().map(|t| trimmed(t, MAX_DETAIL_CHARS)).filter(|t| !t.is_empty()),
            name,
            ..DocumentSymbol::default()
        };
        if !children.is_empty() {
            collect(std::mem::take(&mut children), None, kind, path, lines, &mut node.children);
        }
        into.push(node);
    }
}

/// `kind` of a symbol that lies in one of kind `parent`: a function in a class is a method.
pub(crate) fn as_member(
    kind: Option<SymbolKind>,
    parent: Option<SymbolKind>,
) -> Option<SymbolKind> {
    let is_method = kind == Some(Function) && matches!(parent, Some(Class | Struct | Interface));
    if is_method { Some(Method) } else { kind }
}

/// The range of `name` on its line: its first whole occurrence, else nothing at `at`.
pub(crate) fn name_range(text: Option<&str>, name: &str, at: Position) -> Range {
    let last = name.rsplit(['.', ':', '/', '#']).next().unwrap_or(name);
    for wanted in [name, last] {
        if let Some((start, end)) = text.and_then(|t| find_symbol(t, wanted, at.character)) {
            return Range::new(at.line, start, at.line, end);
        }
    }
    let character = text.map_or(at.character, |t| at.character.min(utf16_len(t)));
    Range::empty(Position::new(at.line, character))
}

fn is_self_entry(name: &str) -> bool {
    name == "." || (name.starts_with('*') && name.ends_with(" definition*"))
}

/// `total (def)` is `total`, a function; an empty name is said to be one.
pub(crate) fn undecorated(name: &str) -> (String, Option<SymbolKind>) {
    let name = name.trim();
    if name.is_empty() {
        return ("(anonymous)".into(), None);
    }
    if let Some((bare, word)) = name.strip_suffix(')').and_then(|n| n.rsplit_once(" ("))
        && let Some(kind) = kind_of(word)
        && !bare.trim().is_empty()
    {
        return (bare.trim().into(), Some(kind));
    }
    (name.into(), None)
}

pub(crate) fn kind_of(word: &str) -> Option<SymbolKind> {
    let word = word.to_lowercase();
    KINDS.iter().find(|(w, _)| *w == word).and_then(|(_, kind)| *kind)
}

/// The kind that a grouping gives its members; `None` when `name` is a symbol's own name.
fn grouping(name: &str) -> Option<Option<SymbolKind>> {
    let lower = name.to_lowercase();
    KINDS
        .iter()
        .find(|(w, _)| *w == lower && (w.ends_with('s') || *w == "other") && *w != "class")
        .map(|(_, kind)| *kind)
}

fn kind_of_line(line: &str) -> Option<SymbolKind> {
    let line = line.trim_start();
    OPENINGS.iter().find(|(opening, _)| line.starts_with(opening)).map(|(_, kind)| *kind)
}

pub(crate) fn sort(symbols: &mut [DocumentSymbol]) {
    if symbols.iter().all(|s| s.selection_range.is_some()) {
        symbols.sort_by_key(|s| s.selection_range.map(|r| r.start));
    }
    for symbol in symbols {
        sort(&mut symbol.children);
    }
}

/// The symbols of several providers as one tree, in file order: what has one name in one place is one.
pub(crate) fn joined(symbols: Vec<DocumentSymbol>) -> Vec<DocumentSymbol> {
    let mut out: Vec<DocumentSymbol> = Vec::with_capacity(symbols.len());
    let mut known: HashMap<(String, Position), usize> = HashMap::new();
    for symbol in symbols {
        let start = symbol.selection_range.map(|range| range.start);
        match start.and_then(|start| known.get(&(symbol.name.clone(), start)).copied()) {
            Some(idx) => {
                let children = &mut out[idx].children;
                children.extend(symbol.children);
                *children = joined(std::mem::take(children));
            }
            None => {
                known.extend(start.map(|start| ((symbol.name.clone(), start), out.len())));
                out.push(symbol);
            }
        }
    }
    sort(&mut out);
    out
}

/// Cuts `symbols` breadth first to at most `limit` nodes; what was cut, if anything.
pub(crate) fn cut(symbols: &mut Vec<DocumentSymbol>, limit: usize) -> Option<Truncation> {
    let total = count(symbols);
    if total <= limit {
        return None;
    }
    symbols.truncate(limit);
    let mut left = limit - symbols.len();
    let mut level: Vec<&mut DocumentSymbol> = symbols.iter_mut().collect();
    while !level.is_empty() {
        let mut next = Vec::new();
        for node in level {
            let n_children = node.children.len();
            node.children.truncate(left);
            left -= node.children.len();
            if node.children.len() < n_children {
                node.truncated_children = Some(n_children - node.children.len());
            }
            next.extend(node.children.iter_mut());
        }
        level = next;
    }
    Some(Truncation { returned: limit, total })
}

fn count(symbols: &[DocumentSymbol]) -> usize {
    symbols.iter().map(|s| 1 + count(&s.children)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileLines;

    fn entry(name: &str, line: Option<u32>, children: Option<Vec<IndexEntry>>) -> IndexEntry {
        IndexEntry { name: name.into(), line, children, ..IndexEntry::default() }
    }

    fn check(text: &str, entries: Vec<IndexEntry>) -> Vec<DocumentSymbol> {
        tree(entries, "/f", &FileLines::of_text("/f", text))
    }

    #[test]
    fn c14_nesting_is_kept() {
        let c = entry("C", None, Some(vec![entry("m", Some(0), None)]));
        let tree =
            check("m\n", vec![entry("a", None, Some(vec![entry("b", None, Some(vec![c]))]))]);
        assert_eq!(tree[0].children[0].children[0].children[0].name, "m");
        assert_eq!(tree[0].selection_range, None);
    }

    #[test]
    fn c17_empty_shapes() {
        assert_eq!(check("x\n", vec![entry("Class", None, Some(vec![]))]), []);
        assert_eq!(check("x\n", vec![entry("", Some(0), None)])[0].name, "(anonymous)");
    }

    #[test]
    fn groupings_become_kinds() {
        let vars = entry("Variables", None, Some(vec![entry("*db*", Some(1), None)]));
        let tree = check("(defun f ())\n(defvar *db* 1)\n", vec![vars, entry("f", Some(0), None)]);
        assert_eq!((tree[0].name.as_str(), tree[0].kind), ("f", Some(Function)));
        assert_eq!((tree[1].name.as_str(), tree[1].kind), ("*db*", Some(Variable)));
        assert_eq!(tree[1].selection_range, Some(Range::new(1, 8, 1, 12)));
    }

    #[test]
    fn titles_are_no_symbols_and_the_line_knows_better() {
        let mut class =
            entry("Class", None, Some(vec![entry("A", Some(0), None), entry("S", Some(1), None)]));
        class.hint = Some(GROUP.into());
        let tree = check("template <T> class A {};\nstruct S {};\n", vec![class]);
        assert_eq!((tree[0].name.as_str(), tree[0].kind), ("A", Some(Class)));
        assert_eq!((tree[1].name.as_str(), tree[1].kind), ("S", Some(Struct)));
    }

    #[test]
    fn a_qualified_name_is_found_by_its_last_part() {
        for name in ["M::A#f", "a.f", "a/f", "f"] {
            let tree = check("  def f\n", vec![entry(name, Some(0), None)]);
            assert_eq!(tree[0].selection_range, Some(Range::new(0, 6, 0, 7)), "{name}");
        }
    }

    #[test]
    fn cut_is_breadth_first_and_said() {
        let leaf = |n: &str| entry(n, Some(0), None);
        let mut tree = check(
            "x\n",
            vec![entry("a", Some(0), Some(vec![leaf("b"), leaf("c")])), leaf("d"), leaf("e")],
        );
        assert_eq!(cut(&mut tree, 4), Some(Truncation { returned: 4, total: 5 }));
        assert_eq!((tree.len(), tree[0].children.len()), (3, 1));
        assert_eq!(tree[0].truncated_children, Some(1));
    }
}
