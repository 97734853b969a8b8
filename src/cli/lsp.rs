//! `eca-context lsp`: one question, one server, one answer in the protocol's shape.

use std::env;
use std::fs;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::server::{self, LIMIT, trouble};
use super::{Exit, say, text};
use crate::core::encoding::to_utf16;
use crate::core::facts::Trouble;
use crate::core::lines::Lines;
use crate::core::position::Position;
use crate::files::FileLines;
use crate::lsp::{Ask, Found, Limits, Servers};

/// How often a terminal is told what is waited for, and what is not worth telling.
const TICK: Duration = Duration::from_millis(200);

/// Asks and shows the answer.
pub(super) fn run(arguments: &Arguments, out: &mut impl Write, err: &mut impl Write) -> Exit {
    let lines = FileLines::new(Vec::new(), Vec::new());
    let result = answer(arguments, &lines);
    let exit = text::exit(arguments.question, &result);
    if arguments.json {
        say(out, &result.to_string());
        return exit;
    }
    if let Some(reason) = text::reason(&result) {
        say(err, &format!("eca-context: {reason}"));
    }
    if matches!(exit, Exit::Found) {
        let folder = env::current_dir().unwrap_or_default();
        say(out, &text::text(arguments, &result, &folder, &lines));
    }
    exit
}

/// The answer as the protocol has it.
fn answer(arguments: &Arguments, lines: &FileLines) -> Value {
    let path = fs::canonicalize(&arguments.file).unwrap_or_else(|_| arguments.file.clone());
    let path_text = path.to_string_lossy().into_owned();
    let position = arguments.place.map(|(line, column)| {
        let (line, units) = (line - 1, column - 1);
        let text = lines.line(&path_text, line);
        let character = text.map_or(units, |text| to_utf16(&text, units, &arguments.encoding));
        Position::new(line, character)
    });
    let mut params = json!({"limit": LIMIT});
    if let Some(position) = position {
        params["position"] = json!(position);
    }
    let said = ask(arguments, &path, position.unwrap_or_default());
    server::answer(&path_text, vec![(arguments.question.feature(), said)], params, lines)
}

/// What the server for `path` says, and its name.
fn ask(arguments: &Arguments, path: &Path, at: Position) -> Result<(String, Found), Trouble> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => (),
        Ok(_) => {
            return Err(trouble("not-a-file", format!("{} is no regular file", path.display())));
        }
        Err(error) => return Err(trouble("not-found", format!("{}: {error}", path.display()))),
    }
    let called = path.file_name().unwrap_or_default().to_string_lossy();
    let feature = arguments.question.feature();
    let (name, ask) = server::ask(path, &folder(arguments, path), &called, feature, at)?;
    let timeout_ms = arguments.timeout.as_millis() as u64;
    let ask = Ask { deadline_ms: timeout_ms, patience_ms: timeout_ms, ..ask };
    Ok((name, wait(ask, arguments.timeout)?))
}

/// The folder above which no root is looked for: the one given, else the present one if the file lies in
/// it, else the file's.
fn folder(arguments: &Arguments, path: &Path) -> PathBuf {
    let present = env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
    match &arguments.root {
        Some(root) => root.clone(),
        None if path.starts_with(&present) => present,
        None => path.parent().unwrap_or(path).to_path_buf(),
    }
}

/// Asks, and tells a terminal what is waited for.
fn wait(ask: Ask, timeout: Duration) -> Result<Found, Trouble> {
    let (wake, woken) = unbounded();
    let mut servers = Servers::new(Box::new(move || {
        let _ = wake.send(());
    }));
    servers.ask(ask, Limits { max_servers: 1, idle: timeout + Duration::from_secs(60) });
    let start = Instant::now();
    let mut terminal = Some(stderr()).filter(IsTerminal::is_terminal);
    while woken.recv_timeout(TICK).is_err() {
        let Some(terminal) = &mut terminal else { continue };
        for server in servers.list() {
            let (state, seconds) = (json!(server.state), start.elapsed().as_secs());
            let state = state.as_str().unwrap_or_default();
            let _ = write!(terminal, "\r{} is {state}, {seconds} s\x1b[K", server.name);
        }
    }
    if let Some(terminal) = &mut terminal {
        let _ = write!(terminal, "\r\x1b[K");
    }
    servers.poll().pop().expect("woken by an answer").outcome
}
