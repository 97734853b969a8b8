//! `eca-context lsp`: one question, one server, one answer in the protocol's shape.

use std::env;
use std::fs;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use serde_json::{Value, json};

use super::arguments::{Arguments, Question};
use super::table::{known, titles};
use super::{Exit, say, text};
use crate::core::encoding::to_utf16;
use crate::core::facts::Trouble;
use crate::core::lines::Lines;
use crate::core::plan::Options;
use crate::core::position::Position;
use crate::core::uri;
use crate::files::FileLines;
use crate::lsp::{Ask, Found, Limits, Servers};
use crate::wire;

/// As many of each as the protocol allows.
const LIMIT: u32 = 1000;
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
    let question = arguments.question;
    let mut facts = json!({"document": {"path": path_text}, "position": position});
    match ask(arguments, &path, position.unwrap_or_default()) {
        Ok((name, found)) => facts[question.feature()] = json!([outcome(question, &name, &found)]),
        Err(Trouble { code, reason, retry }) => {
            facts["trouble"] = json!({"code": code, "reason": reason, "retry": retry});
        }
    }
    let facts = serde_json::from_value(facts).expect("these are the shapes of facts");
    let mut params = json!({"uri": uri::from_path(&path_text), "limit": LIMIT});
    let method = if question == Question::Diagnostics {
        "editor/getDiagnostics"
    } else {
        params["include"] = json!([question.feature()]);
        "editor/getContext"
    };
    if let Some(position) = position {
        params["position"] = json!(position);
    }
    let options = Options { max_limit: LIMIT, not_checked: false, ..Options::default() };
    let body = wire::answer(method, params, options, facts, lines, "0");
    let mut body: Value = serde_json::from_slice(&body).expect("an answer is JSON");
    body["result"].take()
}

/// What the server for `path` says, and its name.
fn ask(arguments: &Arguments, path: &Path, at: Position) -> Result<(String, Found), Trouble> {
    let trouble = |code: &str, reason: String| Trouble { code: code.into(), reason, retry: false };
    match fs::metadata(path) {
        Ok(about) if about.is_file() => (),
        Ok(_) => {
            return Err(trouble("not-a-file", format!("{} is no regular file", path.display())));
        }
        Err(error) => return Err(trouble("not-found", format!("{}: {error}", path.display()))),
    }
    let table = known();
    let mut fitting = table.iter().filter_map(|known| Some((known, known.language(path)?)));
    let (known, language) = fitting.next().ok_or_else(|| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let titles = titles(&table);
        trouble("no-provider", format!("no language server is known for {name}; known: {titles}"))
    })?;
    let root = known.root(path, &folder(arguments, path));
    let row = known
        .row(&root)
        .map_err(|missing| trouble("install", format!("unavailable: {missing}")))?;
    let timeout_ms = arguments.timeout.as_millis() as u64;
    let ask = Ask {
        row,
        root: root.to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
        language_id: language.into(),
        text: None,
        method: arguments.question.method().into(),
        line: at.line,
        character: at.character,
        deadline_ms: timeout_ms,
        patience_ms: timeout_ms,
        starts: true,
    };
    Ok((known.name.clone(), wait(ask, arguments.timeout)?))
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

/// What `name` said, as facts.
fn outcome(question: Question, name: &str, found: &Found) -> Value {
    let mut outcome = json!({"provider": name, "kind": "semantic", "status": "ok"});
    if question == Question::Diagnostics {
        outcome["items"] = serde_json::from_str(&found.result).expect("our own list");
        outcome["fresh"] = json!(found.fresh);
    } else {
        outcome["rawJson"] = json!(found.result);
        outcome["encoding"] = json!(found.encoding);
        outcome["declarationsJson"] = json!(found.declarations);
        outcome["role"] = json!(question.role());
    }
    outcome
}
