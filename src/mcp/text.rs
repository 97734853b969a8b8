//! An answer as text for a model. It cuts nothing.

use std::fmt::Write;

use super::model::{Answer, Node, Place, Problem};

/// The text of `answer`, lines without an end.
pub(crate) fn text(answer: &Answer) -> String {
    let mut out = String::new();
    head(answer, &mut out);
    if let Some(nodes) = answer.enclosing.as_deref().filter(|nodes| !nodes.is_empty()) {
        let names: Vec<String> = nodes.iter().map(named).collect();
        line(&mut out, &format!("inside: {}", names.join(" > ")));
    }
    if let Some(places) = &answer.definitions {
        section(&mut out, "definitions", places.len());
        for place in places {
            line(&mut out, &format!("  {}", definition(place)));
        }
    }
    if let Some(places) = &answer.references {
        references(places, &mut out);
    }
    if let Some(nodes) = &answer.symbols {
        section(&mut out, "symbols", nodes.len());
        for node in nodes {
            symbol(node, &mut out);
        }
    }
    for text in answer.documentation.iter().flatten() {
        line(&mut out, "documentation:");
        for text in text.lines() {
            line(&mut out, &format!("  {text}"));
        }
    }
    if let Some(place) = &answer.selection {
        line(&mut out, &format!("selected: {}:{}:{}", place.path, place.line, place.column));
        for text in place.text.iter().flat_map(|text| text.lines()) {
            line(&mut out, &format!("  {text}"));
        }
    }
    if let Some(files) = &answer.open_files {
        section(&mut out, "open files", files.len());
        for file in files {
            let visible = if file.visible { " (visible)" } else { "" };
            let unsaved = if file.unsaved { " (unsaved changes)" } else { "" };
            line(&mut out, &format!("  {}{visible}{unsaved}", file.path));
        }
    }
    diagnostics(answer, &mut out);
    for cut in &answer.cut {
        line(&mut out, &format!("cut: {} of {} {} shown", cut.shown, cut.total, cut.what));
    }
    for entry in &answer.unavailable {
        line(&mut out, &format!("unavailable: {} ({}): {}", entry.what, entry.code, entry.reason));
    }
    out.truncate(out.trim_end().len());
    out
}

/// Adds a line: what would break it, be it in the name of a file, is written as an escape.
fn line(out: &mut String, text: &str) {
    push(out, &plain(text));
}

fn push(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(c),
            '\u{2028}' | '\u{2029}' => out.extend(c.escape_default()),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

fn section(out: &mut String, name: &str, n: usize) {
    line(out, &if n == 0 { format!("{name}: none") } else { format!("{name}: {n}") });
}

fn head(answer: &Answer, out: &mut String) {
    if let Some(path) = &answer.path {
        let mut head = path.clone();
        if let Some(at) = answer.line {
            let _ = write!(head, ":{at}:{}", answer.column.unwrap_or(1));
        }
        if let Some(symbol) = &answer.symbol {
            let _ = write!(head, " `{symbol}`");
        }
        if answer.unsaved == Some(true) {
            head.push_str(" (unsaved changes: lines are the editor's, not the disk's)");
        }
        line(out, &head);
    }
    if let Some(root) = &answer.root {
        line(out, &format!("root: {root}"));
    }
    line(out, &format!("from: {}", answer.source));
}

fn named(node: &Node) -> String {
    match (&node.kind, node.line) {
        (Some(kind), Some(at)) => format!("{kind} {} (line {at})", node.name),
        (Some(kind), None) => format!("{kind} {}", node.name),
        (None, Some(at)) => format!("{} (line {at})", node.name),
        (None, None) => node.name.clone(),
    }
}

fn definition(place: &Place) -> String {
    let mut text = format!("{}:{}:{}", place.path, place.line, place.column);
    if let Some(role) = place.role.as_deref().filter(|role| *role != "definition") {
        let _ = write!(text, " ({role})");
    }
    if let Some(container) = &place.container {
        let _ = write!(text, " in {container}");
    }
    if let Some(preview) = &place.text {
        let _ = write!(text, ": {preview}");
    }
    if place.unsaved == Some(true) {
        text.push_str(" (unsaved changes)");
    }
    text
}

/// Grouped by file, and there by what they lie in.
fn references(places: &[Place], out: &mut String) {
    section(out, "references", places.len());
    let mut file = "";
    let mut container = None;
    for place in places {
        if place.path != file {
            file = &place.path;
            container = None;
            let unsaved = if place.unsaved == Some(true) { " (unsaved changes)" } else { "" };
            line(out, &format!("{file}{unsaved}"));
        }
        if container != Some(&place.container) {
            container = Some(&place.container);
            if let Some(container) = &place.container {
                line(out, &format!("  in {container}"));
            }
        }
        let role = if place.role.is_some() { " (declaration)" } else { "" };
        let preview = place.text.as_deref().unwrap_or_default();
        line(out, &format!("    {}:{}{role}: {preview}", place.line, place.column));
    }
}

/// One line a symbol, with its signature.
fn symbol(node: &Node, out: &mut String) {
    let indent = "  ".repeat(node.depth as usize + 1);
    let kind = node.kind.as_deref().unwrap_or("symbol");
    let mut text = match (node.line, node.end_line) {
        (Some(from), Some(to)) if to > from => format!("{indent}{from}-{to} {kind} {}", node.name),
        (Some(at), _) => format!("{indent}{at} {kind} {}", node.name),
        _ => format!("{indent}{kind} {}", node.name),
    };
    if let Some(signature) = node.signature.as_deref().filter(|s| !s.is_empty() && *s != node.name)
    {
        let _ = write!(text, ": {}", signature.replace('\n', " "));
    }
    line(out, &text);
}

fn diagnostics(answer: &Answer, out: &mut String) {
    let Some(problems) = &answer.diagnostics else { return };
    match (&answer.new, &answer.fixed) {
        (Some(new), Some(fixed)) => {
            let n_same = problems.len().saturating_sub(new.len());
            line(out, &format!("new: {}, fixed: {}, as before: {n_same}", new.len(), fixed.len()));
            for (mark, list) in [("new", new), ("fixed", fixed)] {
                for found in list {
                    push(out, &format!("  {mark}: {}", problem(found)));
                }
            }
            if settled(answer) {
                section(out, "diagnostics", problems.len());
            } else {
                line(out, "not all of it was checked: what is gone need not be fixed");
            }
        }
        _ if problems.is_empty() && settled(answer) => {
            line(out, "diagnostics: none, the present text was checked");
        }
        _ if problems.is_empty() => {
            line(out, "diagnostics: none known, but see below: not checked")
        }
        _ => section(out, "diagnostics", problems.len()),
    }
    for found in problems {
        push(out, &format!("  {}", problem(found)));
    }
    if answer.fresh == Some(false) {
        line(out, "not fresh: a checker has not spoken about the present text yet; ask again");
    } else if answer.fresh.is_none() && answer.unavailable.is_empty() {
        line(out, "whether the present text was checked is not known");
    }
    if let Some(token) = &answer.token {
        line(out, &format!("token: {token} (give it as `since` to see what changed)"));
    }
}

/// Whether all was looked at, as it is now.
fn settled(answer: &Answer) -> bool {
    answer.fresh == Some(true) && answer.unavailable.is_empty()
}

/// A problem, whose message may have several lines.
fn problem(found: &Problem) -> String {
    let code = found.code.as_deref().map(|code| format!(" [{}]", plain(code))).unwrap_or_default();
    let (path, at, column) = (plain(&found.path), found.line, found.column);
    let message = found.message.lines().map(plain).collect::<Vec<_>>().join("\n      ");
    let source = plain(&found.source);
    format!("{path}:{at}:{column}: {}: {message} ({source}{code})", found.severity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::model::{OpenFile, Unavailable};

    fn place(path: &str, line: u64, container: Option<&str>) -> Place {
        Place {
            path: path.into(),
            line,
            column: 5,
            container: container.map(String::from),
            text: Some("f()".into()),
            ..Place::default()
        }
    }

    fn problem(severity: &str, message: &str) -> Problem {
        Problem {
            path: "a.py".into(),
            line: 3,
            column: 1,
            severity: severity.into(),
            source: "Pyright".into(),
            code: Some("x".into()),
            message: message.into(),
        }
    }

    fn check(answer: Answer, text: &str) {
        let answer = Answer { source: "emacs".into(), ..answer };
        assert_eq!(self::text(&answer), text);
    }

    #[test]
    fn references_by_file_and_container() {
        check(
            Answer {
                path: Some("a.py".into()),
                line: Some(1),
                column: Some(5),
                symbol: Some("f".into()),
                references: Some(vec![
                    place("a.py", 1, None),
                    place("a.py", 4, Some("C.m")),
                    place("a.py", 5, Some("C.m")),
                    place("b.py", 9, Some("C.m")),
                ]),
                ..Answer::default()
            },
            "a.py:1:5 `f`\nfrom: emacs\nreferences: 4\na.py\n    1:5: f()\n  in C.m\n    4:5: f()\n    5:5: f()\n\
             b.py\n  in C.m\n    9:5: f()",
        );
        check(
            Answer { references: Some(Vec::new()), ..Answer::default() },
            "from: emacs\nreferences: none",
        );
    }

    #[test]
    fn an_outline() {
        let node = |name: &str, line, end_line, depth| Node {
            name: name.into(),
            kind: Some("method".into()),
            line,
            end_line,
            depth,
            signature: Some(format!("def {name}(self):")),
        };
        check(
            Answer {
                symbols: Some(vec![
                    node("C", Some(1), Some(9), 0),
                    node("m", Some(2), Some(2), 1),
                    node("n", None, None, 1),
                ]),
                ..Answer::default()
            },
            "from: emacs\nsymbols: 3\n  1-9 method C: def C(self):\n    2 method m: def m(self):\n    \
             method n: def n(self):",
        );
    }

    #[test]
    fn clean_and_not_checked_are_not_one() {
        let with = |fresh, problems, unavailable| Answer {
            diagnostics: Some(problems),
            fresh,
            unavailable,
            ..Answer::default()
        };
        let starting = Unavailable {
            what: "diagnostics".into(),
            code: "starting".into(),
            reason: "it starts".into(),
            retry: true,
        };
        check(
            with(Some(true), Vec::new(), Vec::new()),
            "from: emacs\ndiagnostics: none, the present text was checked",
        );
        check(
            with(None, Vec::new(), vec![starting]),
            "from: emacs\ndiagnostics: none known, but see below: not checked\n\
             unavailable: diagnostics (starting): it starts",
        );
        check(
            with(Some(false), vec![problem("error", "bad\nworse")], Vec::new()),
            "from: emacs\ndiagnostics: 1\n  a.py:3:1: error: bad\n      worse (Pyright [x])\n\
             not fresh: a checker has not spoken about the present text yet; ask again",
        );
    }

    #[test]
    fn a_name_is_no_line() {
        let name = "a\nfrom: nobody\r\u{1b}[1m.py";
        let escaped = "a\\nfrom: nobody\\r\\u{1b}[1m.py";
        check(
            Answer {
                path: Some(name.into()),
                references: Some(vec![place(name, 1, Some("C\nD"))]),
                diagnostics: Some(vec![Problem { path: name.into(), ..problem("error", "a\tb") }]),
                fresh: Some(true),
                ..Answer::default()
            },
            &format!(
                "{escaped}\nfrom: emacs\nreferences: 1\n{escaped}\n  in C\\nD\n    1:5: f()\n\
                 diagnostics: 1\n  {escaped}:3:1: error: a\tb (Pyright [x])"
            ),
        );
    }

    #[test]
    fn what_is_new_and_what_is_fixed() {
        check(
            Answer {
                diagnostics: Some(vec![problem("error", "a"), problem("error", "b")]),
                fresh: Some(true),
                new: Some(vec![problem("error", "b")]),
                fixed: Some(vec![problem("hint", "c")]),
                token: Some("d2".into()),
                ..Answer::default()
            },
            "from: emacs\nnew: 1, fixed: 1, as before: 1\n  new: a.py:3:1: error: b (Pyright [x])\n  \
             fixed: a.py:3:1: hint: c (Pyright [x])\ndiagnostics: 2\n  a.py:3:1: error: a (Pyright [x])\n  \
             a.py:3:1: error: b (Pyright [x])\ntoken: d2 (give it as `since` to see what changed)",
        );
    }

    #[test]
    fn where_the_user_is() {
        check(
            Answer {
                path: Some("a.py".into()),
                root: Some("/repo".into()),
                unsaved: Some(true),
                enclosing: Some(vec![
                    Node { name: "C".into(), line: Some(1), ..Node::default() },
                    Node { name: "m".into(), kind: Some("method".into()), ..Node::default() },
                ]),
                definitions: Some(vec![Place {
                    role: Some("declaration".into()),
                    ..place("b.py", 2, Some("C"))
                }]),
                documentation: Some(vec!["one\ntwo".into()]),
                selection: Some(place("a.py", 7, None)),
                open_files: Some(vec![OpenFile {
                    path: "a.py".into(),
                    unsaved: true,
                    visible: true,
                }]),
                ..Answer::default()
            },
            "a.py (unsaved changes: lines are the editor's, not the disk's)\nroot: /repo\nfrom: emacs\n\
             inside: C (line 1) > method m\ndefinitions: 1\n  b.py:2:5 (declaration) in C: f()\n\
             documentation:\n  one\n  two\nselected: a.py:7:5\n  f()\nopen files: 1\n  \
             a.py (visible) (unsaved changes)",
        );
    }
}
