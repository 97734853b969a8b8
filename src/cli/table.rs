//! Which server is for a file, and how it is run: what the option `eca-context-servers` is at first, read
//! from where it is written. It starts nothing.

use std::env;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde_json::Value;

use crate::lsp::{self, Row};

const LISP: &str = include_str!("../../lisp/eca-context-servers.el");

/// A language server that is known, and what it is for.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) name: String,
    title: String,
    /// What names of files must match, and LSP's language identifiers.
    languages: Vec<(Regex, String)>,
    command: Vec<String>,
    install: String,
    markers: Vec<String>,
    loaded: String,
    settle_ms: u64,
    /// The function that makes the initialization options.
    options: Option<String>,
}

/// All that are known.
pub(crate) fn known() -> Vec<Known> {
    let start = LISP.split_once("(defcustom eca-context-servers\n  '").expect("it is there").1;
    let Some(Lisp::List(rows)) = Lisp::read(&mut start.chars()) else { return Vec::new() };
    rows.into_iter().map(Known::read).collect()
}

impl Known {
    fn read(row: Lisp) -> Self {
        let mut items = row.items().into_iter();
        let mut known = Self { name: items.next().unwrap_or_default().text(), ..Self::default() };
        let rest: Vec<Lisp> = items.collect();
        let texts = |value: &Lisp| value.clone().items().into_iter().map(Lisp::text).collect();
        for pair in rest.chunks_exact(2) {
            let (key, value) = (&pair[0], &pair[1]);
            match key.clone().text().as_str() {
                ":title" => known.title = value.clone().text(),
                ":languages" => {
                    known.languages =
                        value.clone().items().into_iter().filter_map(language).collect();
                }
                ":command" => known.command = texts(value),
                ":install" => known.install = value.clone().text(),
                ":roots" => known.markers = texts(value),
                ":loaded" => known.loaded = value.clone().text(),
                ":settle" => known.settle_ms = 1000 * value.clone().text().parse().unwrap_or(2),
                ":initialization-options" => known.options = Some(value.clone().text()),
                _ => (),
            }
        }
        known
    }

    /// LSP's identifier of the language of `path`, if the server is for it.
    pub(crate) fn language(&self, path: &Path) -> Option<&str> {
        let path = path.to_str()?;
        let language = self.languages.iter().find(|(name, _)| name.is_match(path))?;
        Some(&language.1)
    }

    /// The root for `path`: the nearest marked folder, never above `folder`.
    pub(crate) fn root(&self, path: &Path, folder: &Path) -> PathBuf {
        let folder = folder.to_path_buf();
        lsp::root(path, std::slice::from_ref(&folder), &self.markers).unwrap_or(folder)
    }

    /// How the server is run for `root`.
    ///
    /// *Errors*: what is to be installed, in words.
    pub(crate) fn row(&self, root: &Path) -> Result<Row, String> {
        let (name, arguments) = self.command.split_first().ok_or("its command is empty")?;
        let program = find(name, root).ok_or(&self.install)?;
        let initialization_options = match self.options {
            None => Value::Null,
            Some(_) => {
                let programs = [Some(program.clone()), find("tsserver", root)];
                let programs: Vec<PathBuf> = programs.into_iter().flatten().collect();
                lsp::tsserver_options(&programs, root).ok_or(lsp::NO_TSSERVER)?
            }
        };
        let program = program.to_string_lossy().into_owned();
        Ok(Row {
            name: self.name.clone(),
            command: [program].into_iter().chain(arguments.iter().cloned()).collect(),
            initialization_options,
            loaded: self.loaded.clone(),
            settle_ms: self.settle_ms,
            ..Row::default()
        })
    }
}

/// What the servers are for.
pub(crate) fn titles(known: &[Known]) -> String {
    known.iter().map(|known| known.title.as_str()).collect::<Vec<_>>().join(", ")
}

/// A language that is known by names of files; modes are an editor's.
fn language(pair: Lisp) -> Option<(Regex, String)> {
    match pair.items().as_slice() {
        [Lisp::Text(name), _, Lisp::Text(id)] => Some((Regex::new(&plain(name)).ok()?, id.clone())),
        _ => None,
    }
}

/// Emacs' regexp `emacs` as others write it.
fn plain(emacs: &str) -> String {
    let mut out = String::new();
    let mut chars = emacs.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(next)) => {
                chars.next();
                match next {
                    '\'' => out.push_str(r"\z"),
                    '`' => out.push_str(r"\A"),
                    '(' | ')' | '|' | '{' | '}' => out.push(next),
                    _ => out.extend(['\\', next]),
                }
            }
            ('(' | ')' | '|' | '{' | '}', _) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// The absolute program in `PATH`; what lies in `root` is the project's, and not run.
fn find(program: &str, root: &Path) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .filter(|path| !path.starts_with(root))
}

/// Lisp data, as far as the table needs them.
#[derive(Debug, Clone, PartialEq)]
enum Lisp {
    Text(String),
    Symbol(String),
    /// The dot of a pair is a symbol in it.
    List(Vec<Lisp>),
}

impl Default for Lisp {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Lisp {
    /// The next datum; `None` at a closing parenthesis, or at the end.
    fn read(chars: &mut std::str::Chars<'_>) -> Option<Self> {
        let first = chars.find(|c| !c.is_whitespace())?;
        match first {
            ')' => None,
            '(' => Some(Self::List(std::iter::from_fn(|| Self::read(chars)).collect())),
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    text.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
                Some(Self::Text(text))
            }
            _ => {
                let rest = chars.as_str();
                let ends = |c: char| c.is_whitespace() || c == '(' || c == ')';
                let (more, rest) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
                *chars = rest.chars();
                Some(Self::Symbol(format!("{first}{more}")))
            }
        }
    }

    fn items(self) -> Vec<Self> {
        match self {
            Self::List(items) => items,
            _ => Vec::new(),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Text(text) | Self::Symbol(text) => text,
            Self::List(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_wholly() {
        let known = known();
        let names: Vec<_> = known.iter().map(|known| known.name.as_str()).collect();
        assert_eq!(names, ["pyright", "typescript-language-server"]);
        assert_eq!(titles(&known), "Python, TypeScript and JavaScript");
        assert_eq!(known[0].command, ["pyright-langserver", "--stdio"]);
        assert_eq!(known[0].install, "install pyright — npm install -g pyright");
        assert_eq!((known[0].options.as_deref(), known[0].settle_ms), (None, 60_000));
        assert_eq!(known[0].loaded, "source file");
        assert_eq!((known[1].loaded.as_str(), known[1].settle_ms), ("", 0));
        assert_eq!(known[1].options.as_deref(), Some("eca-context-servers-tsserver"));
        for known in &known {
            assert!(known.markers.contains(&".git".to_string()) && known.markers.len() > 4);
        }
        // A key that is new there has to be understood here.
        let rows = LISP.split_once("\n  '((").expect("the table").1;
        let rows = rows.split_once("\n  \"").expect("its docstring").0;
        for key in rows.split_whitespace().filter(|word| word.starts_with(':')) {
            let read = [":title", ":languages", ":command", ":install", ":roots", ":loaded"];
            let made = [":settle", ":initialization-options"];
            assert!(read.contains(&key) || made.contains(&key), "{key}");
        }
    }

    #[test]
    fn files_find_their_servers() {
        let known = known();
        for (path, found) in [
            ("a.py", Some(("pyright", "python"))),
            ("a.pyi", Some(("pyright", "python"))),
            ("b/a.d.ts", Some(("typescript-language-server", "typescript"))),
            ("a.mts", Some(("typescript-language-server", "typescript"))),
            ("a.tsx", Some(("typescript-language-server", "typescriptreact"))),
            ("a.cjs", Some(("typescript-language-server", "javascript"))),
            ("a.jsx", Some(("typescript-language-server", "javascriptreact"))),
            ("a.PY", None),
            ("apy", None),
            ("a.py.txt", None),
        ] {
            let got = known
                .iter()
                .find_map(|known| Some((known.name.as_str(), known.language(Path::new(path))?)));
            assert_eq!(got, found, "{path}");
        }
    }

    #[test]
    fn regexps_of_emacs() {
        for (emacs, others) in [
            (r"\.pyi?\'", r"\.pyi?\z"),
            (r"\`\(a\|b\){1}\w", r"\A(a|b)\{1\}\w"),
            ("[(]", r"[\(]"),
            ("\\", "\\"),
        ] {
            assert_eq!(plain(emacs), others);
        }
    }

    #[test]
    fn lisp_data() {
        let mut chars = r#" ("a\"b\\." (x . "y") :k -1 ()) rest"#.chars();
        let found = Lisp::read(&mut chars).expect("a list").items();
        assert_eq!(found[0], Lisp::Text(r#"a"b\."#.into()));
        assert_eq!(found[1].clone().items().len(), 3);
        assert_eq!(found[3].clone().text(), "-1");
        assert_eq!(found[4], Lisp::default());
        assert_eq!(chars.as_str(), " rest");
        assert_eq!(Lisp::read(&mut "(a \"b".chars()).expect("what is there").items().len(), 2);
    }
}
