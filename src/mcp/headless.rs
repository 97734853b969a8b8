//! Language servers where no Emacs answers: they run for the agent alone, as long as this program does.
//! It knows no tool's words.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::cli::server::{self, trouble};
use crate::core::facts::Trouble;
use crate::core::lines::{Lines, find_symbol, identifier, snap, trimmed};
use crate::core::position::Position;
use crate::files::FileLines;
use crate::lsp::{Ask, Found, Limits, Servers};

/// So many run at once, each so long without a question.
const LIMITS: Limits = Limits { max_servers: 3, idle: Duration::from_secs(600) };
/// Of a tool's time so much is left for a second question.
const PATIENCE: Duration = Duration::from_millis(500);

type Reply = oneshot::Sender<Result<Found, Trouble>>;

enum Event {
    Ask(Box<Ask>, Reply),
    Woken,
}

/// The thread that the servers belong to, once there is one.
#[derive(Default)]
pub(crate) struct Headless {
    events: Option<Sender<Event>>,
}

/// A question about a file, positions from 0.
pub(crate) struct Question<'a> {
    /// The protocol's names; `diagnostics` only alone.
    pub(crate) features: &'a [&'a str],
    pub(crate) path: &'a Path,
    /// The folder that nothing is looked at outside of.
    pub(crate) folder: &'a Path,
    pub(crate) params: &'a Value,
    pub(crate) limit: Duration,
}

/// A question on its way, about one feature.
pub(crate) struct Asked {
    name: String,
    reply: oneshot::Receiver<Result<Found, Trouble>>,
}

impl Headless {
    /// Asks the server for the file about each feature, starting one if need be; says why there is none.
    pub(crate) fn ask(&mut self, question: &Question<'_>) -> Vec<Result<Asked, Trouble>> {
        let path = file(question.path, question.folder);
        let each =
            |feature: &&str| self.ask_one(path.as_ref().map_err(Clone::clone)?, feature, question);
        question.features.iter().map(each).collect()
    }

    fn ask_one(
        &mut self,
        path: &Path,
        feature: &str,
        question: &Question<'_>,
    ) -> Result<Asked, Trouble> {
        let position = &question.params["position"];
        if position.is_null() && !matches!(feature, "documentSymbols" | "diagnostics") {
            return Err(trouble("no-position", "it is about a place".into()));
        }
        let at = |key: &str| position[key].as_u64().map_or(0, units);
        let at = Position::new(at("line"), at("character"));
        let (name, ask) = server::ask(path, question.folder, "it", feature, at)?;
        let limit_ms = question.limit.as_millis() as u64;
        let patience_ms = limit_ms.saturating_sub(PATIENCE.as_millis() as u64);
        let ask = Ask { deadline_ms: limit_ms, patience_ms, ..ask };
        let (reply, answer) = oneshot::channel();
        let events = self.events.get_or_insert_with(start);
        let _ = events.send(Event::Ask(Box::new(ask), reply));
        Ok(Asked { name, reply: answer })
    }
}

/// The result in the protocol's shape.
pub(crate) async fn result(question: &Question<'_>, asked: Vec<Result<Asked, Trouble>>) -> Value {
    let path = fs::canonicalize(question.path).unwrap_or_else(|_| question.path.into());
    let mut said = Vec::new();
    for (feature, asked) in question.features.iter().zip(asked) {
        let answered = match asked {
            Ok(asked) => match asked.reply.await {
                Ok(Ok(found)) => Ok((asked.name, found)),
                Ok(Err(trouble)) => Err(trouble),
                Err(_) => Err(Trouble { code: "error".into(), ..Trouble::default() }),
            },
            Err(trouble) => Err(trouble),
        };
        said.push((*feature, answered));
    }
    server::answer(&path.to_string_lossy(), said, question.params.clone(), &lines())
}

/// The regular file `path` in `folder`, or why it is none.
fn file(path: &Path, folder: &Path) -> Result<PathBuf, Trouble> {
    let path =
        fs::canonicalize(path).map_err(|_| trouble("not-found", "there is no such file".into()))?;
    if !path.is_file() {
        return Err(trouble("not-a-file", "that is no regular file".into()));
    }
    if !path.starts_with(folder) {
        let reason = format!("the file lies outside {}", folder.display());
        return Err(trouble("outside-workspace", reason));
    }
    Ok(path)
}

/// The character, in UTF-16 units, that is meant on `line` of the file `path` on disk, positions from 0: the
/// one given, at most the line's end, else where `symbol` stands, else 0. It is 0, too, where the file is
/// none that is looked at, which who is asked says.
///
/// *Errors*: that there is no such line, or that the symbol does not stand there.
pub(crate) fn character(
    path: &Path,
    folder: &Path,
    line: u64,
    symbol: Option<&str>,
    character: Option<u64>,
) -> Result<u32, Trouble> {
    let Ok(path) = file(path, folder) else { return Ok(0) };
    let (path, lines) = (path.to_string_lossy(), lines());
    let Some(n_lines) = lines.n_lines(&path) else { return Ok(0) };
    let text =
        u32::try_from(line).ok().and_then(|line| lines.line(&path, line)).ok_or_else(|| {
            let line = line.saturating_add(1);
            let reason = format!("there is no line {line}, the file has {n_lines}; read it again");
            trouble("out-of-range", reason)
        })?;
    if let Some(character) = character {
        return Ok(snap(&text, units(character)));
    }
    let Some(symbol) = symbol else { return Ok(0) };
    find_symbol(&text, symbol, 0).map(|(start, _)| start).ok_or_else(|| {
        let symbol: String = symbol.chars().take(80).collect();
        let (line, text) = (line + 1, trimmed(&text, 200));
        let reason =
            format!("`{symbol}` does not stand on line {line}: {text}; read the file again");
        trouble("symbol-not-found", reason)
    })
}

/// The symbol at that place, positions from 0.
pub(crate) fn symbol(path: &Path, line: u64, character: u64) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    identifier(&lines().line(&path.to_string_lossy(), units(line))?, units(character))
}

fn units(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Of files on disk.
fn lines() -> FileLines {
    FileLines::new(Vec::new(), Vec::new())
}

/// A thread that owns the servers; they end with it, and it with the last who could ask.
fn start() -> Sender<Event> {
    let (events, received) = unbounded();
    let wake = events.clone();
    // It keeps a sender of its own for waking: it ends with the process, as its servers do.
    thread::spawn(move || {
        let mut servers = Servers::new(Box::new(move || {
            let _ = wake.send(Event::Woken);
        }));
        let mut waiting: Vec<(u64, Reply)> = Vec::new();
        for event in received {
            match event {
                Event::Ask(ask, reply) => waiting.push((servers.ask(*ask, LIMITS), reply)),
                Event::Woken => {
                    for answer in servers.poll() {
                        let at = waiting.iter().position(|(token, _)| *token == answer.token);
                        if let Some(at) = at {
                            let _ = waiting.swap_remove(at).1.send(answer.outcome);
                        }
                    }
                }
            }
        }
    });
    events
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn where_a_symbol_stands() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.py");
        fs::write(&path, "x\n    total2 = \"😀\"; self.total(total)\na-b-c a-b\n")
            .expect("written");
        let folder = fs::canonicalize(dir.path()).expect("there");
        let out = "out-of-range".to_string();
        let none = "symbol-not-found".to_string();
        for (line, symbol, found) in [
            (1, Some("total"), Ok(24)),
            (1, Some("total2"), Ok(4)),
            (1, None, Ok(0)),
            (2, Some("a-b"), Ok(6)),
            (1, Some("tot"), Err(&none)),
            (1, Some(""), Err(&none)),
            (9, Some("x"), Err(&out)),
            (u64::MAX, None, Err(&out)),
        ] {
            let seen = character(&path, &folder, line, symbol, None);
            assert_eq!(seen.as_ref().map(|n| *n).map_err(|t| &t.code), found, "{line} {symbol:?}");
        }
        // Nothing is told of a file elsewhere.
        assert_eq!(character(&path, Path::new("/nowhere"), 9, Some("nope"), None), Ok(0));
        assert_eq!(character(&path, &folder, 0, Some("nope"), Some(u64::MAX)), Ok(1));
        assert_eq!(symbol(&path, 1, 26).as_deref(), Some("total"));
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(dir.path()).expect("there");
        fs::write(folder.join("a.xyz"), "").expect("written");
        for (path, code) in [
            (folder.join("a.xyz"), "no-provider"),
            (folder.join("none.py"), "not-found"),
            (folder.clone(), "not-a-file"),
            ("/etc/passwd".into(), "outside-workspace"),
        ] {
            let params = json!({"position": {"line": 0, "character": 0}});
            let question = Question {
                features: &["definitions", "enclosingSymbols"],
                path: &path,
                folder: &folder,
                params: &params,
                limit: Duration::from_secs(1),
            };
            let asked = Headless::default().ask(&question);
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let found = runtime.block_on(result(&question, asked));
            let codes = found["unavailable"].as_array().expect("both").iter().map(|e| &e["code"]);
            assert_eq!(codes.collect::<Vec<_>>(), [code, code], "{found}");
        }
    }
}
