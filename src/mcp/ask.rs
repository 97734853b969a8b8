//! A tool's question on its way: who is asked, within how long, and what is made of the answer. It
//! speaks no MCP.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::arguments::Options;
use super::budget::fit;
use super::editor::{self, Editor, Hello, Missing};
use super::headless::{self, Headless};
use super::input::{self, Input};
use super::model::{Answer, Unavailable};
use super::read;
use super::since::{Lost, Memory};
use super::tools::Tool;
use crate::core::uri;

const MAX_BYTES: usize = 16 * 1024;
/// What is left of a tool's time when the editor is to have answered.
const MARGIN: Duration = Duration::from_millis(500);
/// Most references and symbols that are asked for: the budget cuts the rest.
const LIMIT: u64 = 1000;

/// What is known between two questions.
pub(crate) struct Asker {
    options: Options,
    directory: PathBuf,
    memory: Mutex<Memory>,
    servers: Mutex<Headless>,
}

/// What a tool is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) structured: Value,
    /// Nothing of what was asked for could be told.
    pub(crate) failed: bool,
}

impl Asker {
    pub(crate) fn new(options: Options) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = options.root.as_ref().map_or(here.clone(), |root| here.join(root));
        let directory = fs::canonicalize(&directory).unwrap_or(directory);
        Self { options, directory, memory: Mutex::default(), servers: Mutex::default() }
    }

    /// The answer to `tool` with `arguments`, within the time limit whatever Emacs does.
    pub(crate) async fn answer(&self, tool: Tool, arguments: Map<String, Value>) -> Said {
        let input = match input::read(tool, arguments) {
            Ok(input) => input,
            Err(reason) => return self.failed(tool, "invalid", &reason),
        };
        let max_bytes = input.max_bytes.map_or(MAX_BYTES, |n| n.clamp(1024, 1 << 20) as usize);
        let deadline = Instant::now() + self.options.timeout;
        // A little before the end, so that the answer is there in time.
        let limit = deadline - MARGIN.min(self.options.timeout / 4);
        let found = editor::find(self.options.emacs.as_deref(), &self.directory, limit).await;
        let answered = match found {
            Ok(mut emacs) => {
                let asked = timeout_at(limit, self.ask(&mut emacs, tool, &input, limit)).await;
                match asked {
                    Ok(answered) => answered,
                    Err(_) => Err(Missing::Busy(emacs.hello.name)),
                }
            }
            Err(missing) => Err(missing),
        };
        match answered {
            Ok(Ok(answer)) => said(answer, max_bytes),
            Ok(Err(message)) => {
                let message = message.trim_start_matches("eca-context: ");
                self.failed(tool, "invalid", message)
            }
            Err(missing @ Missing::Busy(_)) => {
                let (code, reason) = self.reason(&missing);
                self.failed(tool, code, &reason)
            }
            Err(missing) => self.without_editor(tool, &input, &missing, limit, max_bytes).await,
        }
    }

    /// What language servers say where there is no Emacs to ask, or that there is none.
    async fn without_editor(
        &self,
        tool: Tool,
        input: &Input,
        missing: &Missing,
        limit: Instant,
        max_bytes: usize,
    ) -> Said {
        let (code, reason) = self.reason(missing);
        let Some(path) = &input.path else {
            let reason = format!("{reason}. Without it, give `path`");
            return self.failed(tool, code, &reason);
        };
        let path = self.resolve(path, &Hello::default());
        let mut params = json!({"limit": LIMIT});
        if let Some(line) = input.line.map(|line| line - 1) {
            let (symbol, column) = (input.symbol.as_deref(), input.column.map(|column| column - 1));
            let character = headless::character(&path, &self.directory, line, symbol, column);
            let character = match character {
                Ok(character) => character,
                Err(trouble) => return self.failed(tool, &trouble.code, &trouble.reason),
            };
            params["position"] = json!({"line": line, "character": character});
        }
        let question = headless::Question {
            features: tool.semantic(),
            path: &path,
            folder: &self.directory,
            params: &params,
            limit: limit.saturating_duration_since(Instant::now()),
        };
        let asked = self.servers.lock().unwrap_or_else(PoisonError::into_inner).ask(&question);
        let Ok(mut result) = timeout_at(limit, headless::result(&question, asked)).await else {
            return self.failed(tool, "timeout", "the language server is not ready; ask again");
        };
        tool.trim(&mut result);
        let source = format!("a language server without an editor, files as on disk ({reason})");
        let mut answer = read::answer(&result, Some(&self.directory), &source);
        if answer.is_about_a_place()
            && let (Some(line), Some(column)) = (answer.line, answer.column)
        {
            let written = || headless::symbol(&path, line - 1, column - 1);
            answer.symbol = input.symbol.clone().or_else(written);
        }
        if tool == Tool::Context {
            answer.unavailable.push(Unavailable {
                what: "open_files, selection".into(),
                code: code.into(),
                reason: format!("only an editor knows them, and {reason}"),
                retry: false,
            });
        }
        if tool == Tool::Diagnostics {
            let scope = path.to_string_lossy();
            answer.path = scope_path(&scope, Some(&self.directory));
            self.compare(&mut answer, &scope, input.since.as_deref());
        }
        said(answer, max_bytes)
    }

    /// What Emacs says, or why it refuses.
    async fn ask(
        &self,
        emacs: &mut Editor,
        tool: Tool,
        input: &Input,
        limit: Instant,
    ) -> Result<Result<Answer, String>, Missing> {
        let question = self.question(tool, input, &emacs.hello);
        if question.folder.is_some() && tool != Tool::Diagnostics {
            return Ok(Err("`path` is a folder; this tool is about a file".into()));
        }
        let left = limit.saturating_duration_since(Instant::now());
        let mut params = question.params;
        params["workingDirectory"] = json!(self.directory);
        // It answers with what it knows by then.
        params["timeLimitMs"] = json!((left.as_millis() as u64).saturating_sub(200).max(50));
        let Ok(result) = emacs.ask(question.method, &params).await else {
            return Err(Missing::NotRunning);
        };
        let hello = &emacs.hello;
        let source = format!("Emacs {} (pid {})", hello.name, hello.pid);
        Ok(result.map(|mut result| {
            tool.trim(&mut result);
            let root = hello.roots.first().map(PathBuf::as_path);
            let mut answer = read::answer(&result, root, &source);
            if let Some(line) = input.line {
                read::count_from_one(&mut answer, line, &result);
            }
            if let Some(folder) = &question.folder {
                narrow(&mut answer, folder, root);
            }
            if tool == Tool::Diagnostics {
                let scope = question.folder.as_deref().or(question.file.as_deref());
                let scope = scope.map_or(String::new(), |path| path.to_string_lossy().into_owned());
                answer.path = scope_path(&scope, root);
                self.compare(&mut answer, &scope, input.since.as_deref());
            }
            answer
        }))
    }

    fn question(&self, tool: Tool, input: &Input, hello: &Hello) -> Question {
        let path = input.path.as_deref().map(|path| self.resolve(path, hello));
        let (file, folder) = match path {
            Some(path) if path.is_dir() => (None, Some(path)),
            Some(path) => (Some(path), None),
            None => (None, None),
        };
        let current = hello.current.as_ref();
        // A line, or diagnostics, without a file are about the user's.
        let file = file.or_else(|| {
            let wanted = folder.is_none() && (input.line.is_some() || tool == Tool::Diagnostics);
            current.filter(|_| wanted).map(|current| current.path.clone())
        });
        let mut params = json!({});
        if let Some(file) = &file {
            params["uri"] = json!(uri::from_path(&file.to_string_lossy()));
        }
        if let Some(line) = input.line {
            let mut position = json!({"line": line - 1});
            match (&input.symbol, input.column) {
                (_, Some(column)) => position["character"] = json!(column - 1),
                (Some(symbol), None) => params["symbol"] = json!(symbol),
                (None, None) => position["character"] = json!(0),
            }
            params["position"] = position;
        }
        params["limit"] = json!(LIMIT);
        let method = if tool == Tool::Diagnostics {
            "editor/getDiagnostics"
        } else {
            params["include"] = json!(tool.features());
            "editor/getContext"
        };
        Question { method, params, file, folder }
    }

    /// The file or folder that a model calls `path`: below the root where it is there, else here.
    fn resolve(&self, path: &str, hello: &Hello) -> PathBuf {
        let decoded = path.contains(":/").then(|| uri::to_path(path)).flatten();
        let path = decoded.as_deref().unwrap_or(path);
        let roots = hello.roots.iter().map(PathBuf::as_path).chain([self.directory.as_path()]);
        let mut candidates = roots.map(|root| clean(&root.join(path)));
        let first = candidates.next().unwrap_or_else(|| path.into());
        if first.exists() {
            return first;
        }
        candidates.find(|candidate| candidate.exists()).unwrap_or(first)
    }

    fn compare(&self, answer: &mut Answer, scope: &str, since: Option<&str>) {
        let problems = answer.diagnostics.clone().unwrap_or_default();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = since {
            match memory.compare(token, scope, &problems) {
                Ok((new, fixed)) => (answer.new, answer.fixed) = (Some(new), Some(fixed)),
                Err(lost) => answer.unavailable.push(Unavailable {
                    what: "since".into(),
                    code: "unknown-token".into(),
                    reason: match lost {
                        Lost::Unknown => {
                            let token: String = token.chars().take(20).collect();
                            format!("there is no answer {token} to compare with")
                        }
                        Lost::OtherScope(scope) => format!("answer {token} was about {scope}"),
                    },
                    retry: false,
                }),
            }
        }
        answer.token = Some(memory.remember(scope, problems));
    }

    fn reason(&self, missing: &Missing) -> (&'static str, String) {
        let directory = self.directory.display();
        match missing {
            Missing::NotRunning => (
                "not-running",
                match &self.options.emacs {
                    Some(name) => format!("no Emacs called {name} listens"),
                    None => "no Emacs listens; in Emacs, M-x eca-context-serve-mode".into(),
                },
            ),
            Missing::Busy(name) => (
                "busy",
                format!("Emacs {name} is busy and does not answer; ask again in a few seconds"),
            ),
            Missing::Elsewhere(names) => (
                "outside-workspace",
                format!(
                    "Emacs {} has no file of {directory} open; the user can open one",
                    names.join(", ")
                ),
            ),
        }
    }

    fn failed(&self, tool: Tool, code: &str, reason: &str) -> Said {
        let entry = Unavailable {
            what: tool.name().into(),
            code: code.into(),
            reason: reason.into(),
            retry: code == "busy",
        };
        let answer =
            Answer { source: "nobody".into(), unavailable: vec![entry], ..Answer::default() };
        let structured = serde_json::to_value(&answer).unwrap_or_default();
        Said { text: format!("{code}: {reason}"), structured, failed: true }
    }
}

struct Question {
    method: &'static str,
    params: Value,
    /// What is asked about, if that is known.
    file: Option<PathBuf>,
    folder: Option<PathBuf>,
}

fn said(answer: Answer, max_bytes: usize) -> Said {
    let (answer, text) = fit(answer, max_bytes);
    // An empty list that nobody speaks for tells nothing.
    let is_checked = |problems: &Vec<_>| !problems.is_empty() || answer.fresh.is_some();
    let found = answer.symbol.is_some()
        || answer.is_about_a_place()
        || answer.symbols.is_some()
        || answer.open_files.is_some()
        || answer.diagnostics.as_ref().is_some_and(is_checked);
    let structured = serde_json::to_value(&answer).unwrap_or_default();
    Said { text, structured, failed: !found && !answer.unavailable.is_empty() }
}

/// Leaves only what lies in `folder`.
fn narrow(answer: &mut Answer, folder: &Path, root: Option<&Path>) {
    let inside = |path: &str| {
        let path = root.map_or_else(|| PathBuf::from(path), |root| root.join(path));
        path.starts_with(folder)
    };
    if let Some(problems) = &mut answer.diagnostics {
        problems.retain(|problem| inside(&problem.path));
    }
}

fn scope_path(scope: &str, root: Option<&Path>) -> Option<String> {
    (!scope.is_empty()).then(|| read::path(&uri::from_path(scope), root))
}

/// `path` without `.` and `..` in it.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => (),
            std::path::Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker() -> Asker {
        let root = Some(PathBuf::from("/no/such/root"));
        Asker::new(Options { emacs: None, root, timeout: Duration::from_secs(1) })
    }

    fn input(json: Value) -> Input {
        serde_json::from_value(json).expect("an input")
    }

    #[test]
    fn what_is_asked_of_the_editor() {
        let current = editor::Current { path: "/repo/now.py".into(), line: 3, character: 4 };
        let hello =
            Hello { roots: vec!["/repo".into()], current: Some(current), ..Hello::default() };
        for (tool, given, params) in [
            (Tool::Context, json!({}), json!({"limit": 1000})),
            (
                Tool::Context,
                json!({"line": 2}),
                json!({"uri": "file:///repo/now.py", "position": {"line": 1, "character": 0}, "limit": 1000}),
            ),
            (
                Tool::Definition,
                json!({"path": "./src/../a b.py", "line": 5, "symbol": "f"}),
                json!({"uri": "file:///repo/a%20b.py", "position": {"line": 4}, "symbol": "f", "limit": 1000}),
            ),
            (
                Tool::References,
                json!({"path": "/x/a.py", "line": 1, "symbol": "f", "column": 3}),
                json!({"uri": "file:///x/a.py", "position": {"line": 0, "character": 2}, "limit": 1000}),
            ),
            (Tool::Diagnostics, json!({}), json!({"uri": "file:///repo/now.py", "limit": 1000})),
            (Tool::Diagnostics, json!({"path": "/"}), json!({"limit": 1000})),
            (
                Tool::Diagnostics,
                json!({"path": "file:///x/a%20b%23.py"}),
                json!({"uri": "file:///x/a%20b%23.py", "limit": 1000}),
            ),
            (
                Tool::Diagnostics,
                json!({"path": "file:b.py"}),
                json!({"uri": "file:///repo/file:b.py", "limit": 1000}),
            ),
        ] {
            let mut found = asker().question(tool, &input(given.clone()), &hello).params;
            if let Some(map) = found.as_object_mut() {
                map.remove("include");
            }
            assert_eq!(found, params, "{given}");
        }
    }
}
