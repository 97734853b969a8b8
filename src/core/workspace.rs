//! What is open, as far as it may be told. It knows no editor.

use super::context::{OpenFile, Selection, Truncation, Workspace, WorkspaceFolder};
use super::facts::{RootFact, WorkspaceFact};
use super::lines::Lines;
use super::uri;

const MAX_SELECTION_CHARS: usize = 2000;

/// What `fact` says of files that lie in its roots and are not excluded, at most `limit` open ones; and
/// what was cut. `spell` gives a path the spelling that the answer uses.
pub(crate) fn workspace(
    fact: WorkspaceFact,
    limit: usize,
    lines: &dyn Lines,
    spell: &dyn Fn(&str) -> String,
) -> (Workspace, Option<Truncation>) {
    let roots = fact.roots.as_deref().unwrap_or_default();
    let may_be_told = |path: &str| is_inside(path, roots, lines) && !lines.is_excluded(path);
    let mut open: Vec<OpenFile> = Vec::new();
    let mut identities = Vec::new();
    for file in fact.open_files.iter().flatten().filter(|file| may_be_told(&file.path)) {
        let identity = lines.identity(&file.path);
        match identities.iter().position(|known| *known == identity) {
            Some(file_idx) => {
                open[file_idx].modified |= file.modified;
                open[file_idx].visible |= file.visible;
            }
            None => {
                identities.push(identity);
                let uri = spell(&file.path);
                open.push(OpenFile { uri, modified: file.modified, visible: file.visible });
            }
        }
    }
    let total = open.len();
    open.truncate(limit);
    let cut = (open.len() < total).then_some(Truncation { returned: limit, total });
    let workspace = Workspace {
        current_file: fact.current_file.filter(|path| may_be_told(path)).map(|path| spell(&path)),
        open_files: fact.open_files.is_some().then_some(open),
        selection: fact
            .selection
            .filter(|selection| !selection.text.is_empty() && may_be_told(&selection.path))
            .map(|selection| Selection {
                uri: spell(&selection.path),
                range: selection.range,
                text: selection.text.chars().take(MAX_SELECTION_CHARS).collect(),
            }),
        roots: fact.roots.map(|roots| roots.into_iter().map(|root| folder(root, spell)).collect()),
    };
    (workspace, cut)
}

fn folder(root: RootFact, spell: &dyn Fn(&str) -> String) -> WorkspaceFolder {
    let path = root.path.trim_end_matches('/');
    let name = root.name.filter(|name| !name.is_empty());
    let last = || {
        let last = path.rsplit('/').next().unwrap_or(path);
        String::from_utf8_lossy(&uri::bytes_of_path(last)).into_owned()
    };
    WorkspaceFolder {
        uri: spell(if path.is_empty() { "/" } else { path }),
        name: name.unwrap_or_else(last),
    }
}

/// Whether `path` lies in one of `roots`, links followed or not; without roots there is no outside.
fn is_inside(path: &str, roots: &[RootFact], lines: &dyn Lines) -> bool {
    let lies_in = |path: &str, root: &str| {
        let rest = path.strip_prefix(root.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    roots.is_empty()
        || roots.iter().any(|root| lies_in(&lines.identity(path), &lines.identity(&root.path)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::files::FileLines;

    fn check(fact: Value, limit: usize) -> (Value, Option<Truncation>) {
        let fact = serde_json::from_value(fact).expect("a fact");
        let lines = FileLines::new(Vec::new(), vec!["/repo/.env".into()]);
        let (workspace, cut) = workspace(fact, limit, &lines, &uri::from_path);
        (serde_json::to_value(workspace).expect("plain values"), cut)
    }

    #[test]
    fn what_may_be_told() {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
        let root = json!([{"uri": "file:///repo", "name": "repo"}]);
        for (fact, wanted) in [
            (json!({}), json!({})),
            (json!({"roots": [], "openFiles": null}), json!({"roots": [], "openFiles": []})),
            (
                json!({"roots": [["/repo/"], ["/a b", "ab"], ["/"]]}),
                json!({"roots": [root[0], {"uri": "file:///a%20b", "name": "ab"},
                                 {"uri": "file:///", "name": ""}]}),
            ),
            (
                json!({"roots": [["/repo"]], "currentFile": "/repo/.env",
                       "selection": ["/repo/.env", [0, 0, 1, 0], "x"],
                       "openFiles": [["/repo/.env"], ["/repository/b"], ["/repo/a", false, true],
                                     ["/repo/a", true, false]]}),
                json!({"roots": root,
                       "openFiles": [{"uri": "file:///repo/a", "modified": true, "visible": true}]}),
            ),
            (
                json!({"roots": [["/repo"]], "currentFile": "/repo/a",
                       "selection": ["/repo/a", [0, 0, 1, 0], "x\n"]}),
                json!({"roots": root, "currentFile": "file:///repo/a",
                       "selection": {"uri": "file:///repo/a", "range": range, "text": "x\n"}}),
            ),
            (
                json!({"currentFile": "/else/a", "selection": ["/else/a", [0, 0, 0, 0], ""]}),
                json!({"currentFile": "file:///else/a"}),
            ),
        ] {
            assert_eq!(check(fact.clone(), 9), (wanted, None), "{fact}");
        }
    }

    #[test]
    fn what_is_cut() {
        let fact = json!({"openFiles": [["/a"], ["/b"], ["/c"]],
                          "selection": ["/a", [0, 0, 0, 9], "👧".repeat(3000)]});
        let (workspace, cut) = check(fact, 2);
        assert_eq!(cut, Some(Truncation { returned: 2, total: 3 }));
        assert_eq!(workspace["openFiles"].as_array().map(Vec::len), Some(2));
        let text = workspace["selection"]["text"].as_str().expect("a text");
        assert_eq!(text, "👧".repeat(2000));
    }
}
