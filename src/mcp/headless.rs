//! Language servers where no Emacs answers: they run for the agent alone, as long as this program does.
//! It knows no tool's words.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::cli::server::{self, trouble};
use crate::core::facts::Trouble;
use crate::core::lines::Lines;
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
    /// `definitions`, `references`, `documentSymbols` or `diagnostics`.
    pub(crate) feature: &'a str,
    pub(crate) path: &'a Path,
    /// The folder that nothing is looked at outside of.
    pub(crate) folder: &'a Path,
    pub(crate) params: &'a Value,
    pub(crate) limit: Duration,
}

/// A question on its way.
pub(crate) struct Asked {
    name: String,
    reply: oneshot::Receiver<Result<Found, Trouble>>,
}

impl Headless {
    /// Asks the server for the file, starting one if need be; says why there is none.
    pub(crate) fn ask(&mut self, question: &Question<'_>) -> Result<Asked, Trouble> {
        let path = fs::canonicalize(question.path)
            .map_err(|_| trouble("not-found", "there is no such file".into()))?;
        if !path.is_file() {
            return Err(trouble("not-a-file", "that is no regular file".into()));
        }
        if !path.starts_with(question.folder) {
            let reason = format!("the file lies outside {}", question.folder.display());
            return Err(trouble("outside-workspace", reason));
        }
        let position = &question.params["position"];
        let at = |key: &str| position[key].as_u64().unwrap_or(0) as u32;
        let at = Position::new(at("line"), at("character"));
        let (name, ask) = server::ask(&path, question.folder, "it", question.feature, at)?;
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
pub(crate) async fn result(question: &Question<'_>, asked: Result<Asked, Trouble>) -> Value {
    let path = fs::canonicalize(question.path).unwrap_or_else(|_| question.path.into());
    let path = path.to_string_lossy().into_owned();
    let answered = match asked {
        Ok(asked) => match asked.reply.await {
            Ok(Ok(found)) => Ok((asked.name, found)),
            Ok(Err(trouble)) => Err(trouble),
            Err(_) => Err(Trouble { code: "error".into(), ..Trouble::default() }),
        },
        Err(trouble) => Err(trouble),
    };
    let lines = FileLines::new(Vec::new(), Vec::new());
    server::answer(&path, question.feature, question.params.clone(), answered, &lines)
}

/// Where `symbol` stands on `line`, from 0, of the file on disk: a character in UTF-16 units.
pub(crate) fn character(path: &Path, line: u64, symbol: &str) -> Option<u64> {
    let lines = FileLines::new(Vec::new(), Vec::new());
    let text = lines.line(&path.to_string_lossy(), line as u32)?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = text.match_indices(symbol).find(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + symbol.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    });
    Some(text[..whole?.0].encode_utf16().count() as u64)
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
        fs::write(&path, "x\n    total2 = \"😀\"; self.total(total)\n").expect("written");
        for (line, symbol, found) in
            [(1, "total", Some(24)), (1, "total2", Some(4)), (1, "tot", None), (9, "x", None)]
        {
            assert_eq!(character(&path, line, symbol), found, "{symbol}");
        }
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
                feature: "definitions",
                path: &path,
                folder: &folder,
                params: &params,
                limit: Duration::from_secs(1),
            };
            let asked = Headless::default().ask(&question);
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let found = runtime.block_on(result(&question, asked));
            assert_eq!(found["unavailable"][0]["code"], code, "{found}");
        }
    }
}
