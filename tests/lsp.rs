//! The language server client with the real pyright and typescript-language-server (which
//! tests/setup.sh installs), and with a stand-in that misbehaves as it is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use eca_context::core::facts::Trouble;
use eca_context::lsp::{Answer, Ask, Found, Limits, Row, Servers, State, Status, Unsaved};
use serde_json::{Value, json};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(90);
const LIMITS: Limits = Limits { max_servers: 3, idle: Duration::from_secs(600) };

type Outcome = Result<Found, Trouble>;

/// Servers and a folder that is theirs.
struct Rig {
    servers: Servers,
    woken: Receiver<()>,
    answers: Vec<Answer>,
    folder: TempDir,
}

impl Rig {
    fn new() -> Self {
        let (wake, woken) = unbounded();
        let servers = Servers::new(Box::new(move || wake.send(()).unwrap_or(())));
        let folder = tempfile::tempdir().expect("a folder");
        Self { servers, woken, answers: Vec::new(), folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders");
        fs::write(&path, text).expect("written");
        path
    }

    /// A question to `row` about the file `name`.
    fn ask(&self, row: &Row, name: &str, method: &str, line: u32, character: u32) -> Ask {
        let text = |path: &Path| path.to_str().expect("UTF-8").to_string();
        let language = match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("py") => "python",
            Some("tsx") => "typescriptreact",
            Some("js") => "javascript",
            _ => "typescript",
        };
        Ask {
            row: row.clone(),
            root: text(&self.root()),
            path: text(&self.root().join(name)),
            language_id: language.into(),
            text: None,
            unsaved: Vec::new(),
            method: format!("textDocument/{method}"),
            line,
            character,
            deadline_ms: 60_000,
            patience_ms: 60_000,
            starts: true,
        }
    }

    fn wait(&mut self, token: u64) -> Outcome {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(idx) = self.answers.iter().position(|answer| answer.token == token) {
                return self.answers.remove(idx).outcome;
            }
            self.woken.recv_deadline(deadline).expect("an answer in time");
            let answers = self.servers.poll();
            self.answers.extend(answers);
        }
    }

    fn said(&mut self, ask: Ask) -> Outcome {
        let token = self.servers.ask(ask, LIMITS);
        self.wait(token)
    }

    fn answer(&mut self, ask: Ask) -> Found {
        self.said(ask).unwrap_or_else(|trouble| panic!("{trouble:?}, {:?}", self.servers.list()))
    }

    fn status(&self) -> Status {
        self.servers.list().pop().expect("there is a server")
    }
}

/// A condition that comes true in time.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < deadline, "no {what} in time");
        std::thread::yield_now();
    }
}

fn is_alive(pid: u32) -> bool {
    // A zombie is one no more.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")))
}

fn value(found: &Found) -> Value {
    serde_json::from_str(&found.result).expect("a result is JSON")
}

// The stand-in.

fn stub(how: &str) -> Row {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub-server.py");
    let script = script.to_str().expect("UTF-8").to_string();
    Row {
        name: format!("stub-{how}"),
        command: ["/usr/bin/env", "python3", &script, how].map(String::from).into(),
        settings: json!({"a": {"b": 1}}),
        initialization_options: Value::Null,
        loaded: String::new(),
        settle_ms: 0,
        ..Row::default()
    }
}

/// The URIs of a stub's answer to a question about a file with the text `a = 1`.
fn uris(how: &str) -> Result<Vec<String>, String> {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub(how), "a.py", "definition", 0, 3);
    match rig.said(ask) {
        Ok(found) => Ok(value(&found)
            .as_array()
            .expect("a list")
            .iter()
            .map(|place| place["uri"].as_str().unwrap_or("none").to_string())
            .collect()),
        Err(trouble) => Err(format!("{}: {}", trouble.code, trouble.reason)),
    }
}

#[test]
fn odd_servers_are_understood() {
    let plain = ["stub:definition:3:a = 1\n", "file:///usr/lib/elsewhere.py"].map(String::from);
    for how in ["plain", "lower-case", "garbage", "bytewise", "flood", "slow"] {
        assert_eq!(uris(how), Ok(plain.clone().into()), "{how}");
    }
    assert_eq!(uris("utf-8"), Ok(plain.into()));
    let twice = vec!["stub:definition:3:a = 1\n".to_string(); 2];
    assert_eq!(uris("duplicates"), Ok(twice));
    assert_eq!(uris("not-utf-8"), Ok(vec!["a\u{fffd}\u{fffd}".into(), "none".into()]));
    let huge = uris("huge").expect("20 MB are no trouble");
    assert_eq!((huge.len(), huge[0].len()), (20_000, 1000));
}

#[test]
fn servers_that_refuse_say_why() {
    for (how, reason) in [
        ("refuses", "error: I would rather not"),
        ("nothing", "unsupported-by-provider: stub-nothing does not answer definition"),
        (
            "crash-init",
            "error: stub-crash-init crashed: exited with status 7 | cannot find my brain",
        ),
        ("refuses-init", "error: stub-refuses-init crashed: initialize: not today"),
    ] {
        assert_eq!(uris(how), Err(reason.into()));
    }
}

#[test]
fn every_question_of_a_server_is_answered() {
    let answers = uris("asks").expect("it answers when it was answered");
    let unknown = json!({"code": -32601, "message": "this client does not know that method"});
    for answers in answers {
        let answers: Vec<Value> = serde_json::from_str(&answers).expect("the stub sent JSON");
        assert_eq!(answers[0], json!([1, null, {"a": {"b": 1}}]));
        assert_eq!(answers[1], Value::Null);
        assert_eq!(answers[2]["applied"], false);
        assert_eq!(answers[3], Value::Null);
        assert!(answers[4][0]["uri"].as_str().is_some_and(|uri| uri.starts_with("file:///")));
        assert_eq!(answers[5], json!({"success": false}));
        assert_eq!(answers[6], Value::Null);
        assert_eq!(answers[7], unknown);
    }
}

#[test]
fn replies_in_any_order_find_their_askers() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let row = stub("reversed");
    let tokens = [0, 1, 2].map(|character| {
        let ask = rig.ask(&row, "a.py", "definition", 0, character);
        rig.servers.ask(ask, LIMITS)
    });
    for (character, token) in tokens.into_iter().enumerate() {
        let found = rig.wait(token).expect("an answer");
        assert_eq!(value(&found)[0]["uri"], format!("stub:definition:{character}:a = 1\n"));
    }
    assert_eq!(rig.servers.list().len(), 1);
}

#[test]
fn empty_answers_wait_for_the_project() {
    assert_eq!(uris("progress"), Ok(vec!["asked 2 times".into()]));
    assert_eq!(uris("modified").map(|uris| uris.len()), Ok(2));
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let row = stub("loads-forever");
    let ask = rig.ask(&row, "a.py", "hover", 0, 3);
    // Not a list, and so to be believed at once, were it not null.
    let trouble = rig.said(Ask { patience_ms: 5000, ..ask }).expect_err("it never ends");
    assert_eq!((trouble.code.as_str(), trouble.retry), ("starting", true));
    assert_eq!(rig.status().state, State::Loading);
    // Without progress it is the settling time that counts.
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let row = Row { settle_ms: 50, ..stub("progress") };
    let ask = rig.ask(&row, "a.py", "definition", 0, 3);
    assert!(rig.said(ask).is_ok());
}

#[test]
fn one_that_does_not_start_is_starting() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("never"), "a.py", "definition", 0, 3);
    let start = Instant::now();
    for ask in [Ask { patience_ms: 50, ..ask.clone() }, Ask { deadline_ms: 50, ..ask }] {
        let trouble = rig.said(ask).expect_err("it never answers");
        assert_eq!((trouble.code.as_str(), trouble.retry), ("starting", true));
        assert_eq!(trouble.reason, "stub-never is starting");
    }
    assert_eq!(rig.status().state, State::Starting);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn one_that_hangs_is_given_up() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("hangs"), "a.py", "definition", 0, 3);
    rig.said(ask.clone()).expect("its only answer");
    let pid = rig.status().pid;
    let ask = Ask { deadline_ms: 100, ..ask };
    for n in 1..=3 {
        let trouble = rig.said(ask.clone()).expect_err("no answer");
        assert_eq!((trouble.code.as_str(), trouble.retry), ("timeout", true));
        assert_eq!(rig.status().n_timeouts, n);
    }
    assert!(rig.status().last_words[0].starts_with("no answer to textDocument/definition"));
    wait_until("end of the server", || !is_alive(pid) && rig.status().state == State::Crashed);
    // The next question has a new one.
    rig.said(Ask { deadline_ms: 60_000, ..ask }).expect("its only answer");
}

#[test]
fn a_crash_is_told_at_once_and_not_too_often() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("crash-third"), "a.py", "definition", 0, 3);
    let words = "stub-crash-third crashed: exited with status 7 | some trace | out of cheese";
    for _ in 0..4 {
        for _ in 0..2 {
            rig.said(ask.clone()).expect("it is well");
        }
        let start = Instant::now();
        let trouble = rig.said(ask.clone()).expect_err("it crashes");
        assert_eq!((trouble.code.as_str(), trouble.reason.as_str()), ("error", words));
        assert!(start.elapsed() < Duration::from_secs(10));
        wait_until("note of the crash", || rig.status().state == State::Crashed);
    }
    let trouble = rig.said(ask).expect_err("that is too often");
    assert!(trouble.reason.starts_with("stub-crash-third crashed 4 times within 5 minutes: "));
    // Who stops it by hand may try again.
    assert_eq!(rig.servers.list().len(), 1);
    rig.servers.stop(None, LONG);
    assert!(rig.servers.list().is_empty());
}

#[test]
fn killed_from_outside_it_is_started_again() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("plain"), "a.py", "definition", 0, 3);
    rig.said(ask.clone()).expect("an answer");
    let pid = rig.status().pid;
    let kill = format!("kill -KILL {pid}");
    Command::new("/bin/sh").args(["-c", &kill]).status().expect("a shell");
    wait_until("note of the crash", || rig.status().state == State::Crashed);
    assert!(rig.status().last_words.concat().contains("killed by signal 9"));
    rig.said(ask).expect("an answer of a new one");
    assert_ne!(rig.status().pid, pid);
}

#[test]
fn nothing_is_left_of_one_that_clings() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("clings"), "a.py", "definition", 0, 3);
    rig.said(ask).expect("an answer");
    let Status { pid, memory_bytes, id, .. } = rig.status();
    assert!(memory_bytes.is_some_and(|n| n > 1_000_000));
    rig.servers.stop(Some(id), LONG);
    assert!(rig.servers.list().is_empty());
    wait_until("end of the server", || !is_alive(pid));
}

#[test]
fn idle_servers_go_and_only_so_many_are_kept() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let mut ask = rig.ask(&stub("plain"), "a.py", "definition", 0, 3);
    let token = rig.servers.ask(ask.clone(), Limits { max_servers: 1, ..LIMITS });
    rig.wait(token).expect("an answer");
    ask.row.name = "another".into();
    let token = rig.servers.ask(ask.clone(), Limits { max_servers: 1, ..LIMITS });
    let trouble = rig.wait(token).expect_err("one is enough");
    assert_eq!((trouble.code.as_str(), trouble.retry), ("busy", true));
    assert_eq!(
        trouble.reason,
        "another is not started: 1 language servers are at work (`eca-context-max-servers')"
    );
    let root = ask.root.clone();
    assert!(
        rig.servers.is_running("stub-plain", &root) && !rig.servers.is_running("another", &root)
    );
    // What may not start one is told that there is none.
    let token = rig.servers.ask(Ask { starts: false, ..ask.clone() }, LIMITS);
    assert_eq!(rig.wait(token).expect_err("none").code, "no-provider");
    ask.row.name = "stub-plain".into();
    let token = rig.servers.ask(ask, Limits { idle: Duration::ZERO, ..LIMITS });
    rig.wait(token).expect("an answer");
    wait_until("end of the idle server", || rig.servers.list().is_empty());
}

#[test]
fn what_cannot_be_started_says_so() {
    let mut rig = Rig::new();
    rig.write("a.py", "");
    let row = Row { name: "x".into(), command: vec!["/no/such/server".into()], ..Row::default() };
    let ask = rig.ask(&row, "a.py", "definition", 0, 0);
    let trouble = rig.said(ask).expect_err("there is none");
    assert!(trouble.reason.starts_with("x cannot be started: "), "{}", trouble.reason);
    let ask = rig.ask(&stub("plain"), "missing.py", "definition", 0, 0);
    let trouble = rig.said(ask).expect_err("there is no file");
    assert!(trouble.reason.starts_with("the file cannot be read: "), "{}", trouble.reason);
}

#[test]
fn positions_are_counted_as_the_server_counts() {
    let mut rig = Rig::new();
    rig.write("a.py", "x = \"😀\"; bad\n");
    let ask = rig.ask(&stub("utf-8"), "a.py", "definition", 0, 10);
    let found = rig.said(ask).expect("an answer");
    assert_eq!(found.encoding.as_ref().map(|e| e.as_str()), Some("utf-8"));
    assert!(
        value(&found)[0]["uri"].as_str().is_some_and(|uri| uri.starts_with("stub:definition:12:"))
    );
}

#[test]
fn references_bring_the_declarations() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("plain"), "a.py", "references", 0, 1);
    let found = rig.said(ask).expect("an answer");
    assert_eq!(value(&found)[0]["uri"], "stub:references:1:a = 1\n");
    let declarations = found.declarations.expect("they were asked for, too");
    assert!(declarations.contains("stub:definition:1:"));
}

#[test]
fn what_several_wait_for_is_asked_once() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let [references, definition, hover] = ["references", "definition", "hover"]
        .map(|method| rig.ask(&stub("reversed"), "a.py", method, 0, 1));
    let edited = Ask { text: Some("b = 1\n".into()), ..hover.clone() };
    // It answers when it was asked three things. A search for references asks for the definition, too; of
    // another text all is asked again.
    for (asks, told) in [
        (
            vec![references, definition.clone(), definition, hover.clone()],
            vec!["references:1:a", "definition:1:a", "definition:1:a", "hover:1:a"],
        ),
        (vec![hover.clone(), edited, hover], vec!["hover:1:a", "hover:1:b", "hover:1:a"]),
    ] {
        let tokens: Vec<u64> = asks.into_iter().map(|ask| rig.servers.ask(ask, LIMITS)).collect();
        for (token, told) in tokens.into_iter().zip(told) {
            let found = rig.wait(token).expect("an answer");
            assert_eq!(value(&found)[0]["uri"], format!("stub:{told} = 1\n"));
        }
    }
}

#[test]
fn after_news_it_is_asked_again() {
    // It is told nothing, as it watches by itself, and stays silent at its second request.
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    rig.write("b.py", "b = 1\n");
    let ask = rig.ask(&stub("tsserver"), "a.py", "hover", 0, 1);
    rig.said(ask.clone()).expect("an answer");
    rig.write("b.py", "b = 1000\n");
    rig.said(Ask { deadline_ms: 10_000, ..ask }).expect("an answer to the third");
}

#[test]
fn one_that_gives_up_takes_nothing_from_others() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let ask = rig.ask(&stub("silent-once"), "a.py", "hover", 0, 1);
    rig.said(ask.clone()).expect("an answer");
    let tokens =
        [1000, 1200].map(|deadline_ms| rig.servers.ask(Ask { deadline_ms, ..ask.clone() }, LIMITS));
    for token in tokens {
        assert_eq!(rig.wait(token).expect_err("silence").code, "timeout");
    }
    rig.said(Ask { deadline_ms: 100, ..ask.clone() }).expect_err("silence");
    // The last one of those who waited for it takes it back.
    assert!(rig.said(ask).expect("an answer").result.contains("cancelled 2 times"));
}

#[test]
fn a_search_for_references_is_never_taken_back() {
    // It stays silent at its second and third request; a search for references is two.
    for (method, n_late, told) in
        [("references", 1, "cancelled 0 times"), ("hover", 2, "cancelled 2 times")]
    {
        let mut rig = Rig::new();
        rig.write("a.py", "a = 1\n");
        let ask = rig.ask(&stub("silent-once"), "a.py", method, 0, 1);
        rig.said(rig.ask(&stub("silent-once"), "a.py", "hover", 0, 1)).expect("an answer");
        let late = Ask { deadline_ms: 100, ..ask.clone() };
        for _ in 0..n_late {
            assert_eq!(rig.said(late.clone()).expect_err("silence").code, "timeout");
        }
        assert!(rig.said(ask).expect("an answer").result.contains(told), "{method}");
    }
}

#[test]
fn a_file_that_an_answer_named_may_be_asked_about() {
    let mut rig = Rig::new();
    rig.write("a.py", "a = 1\n");
    let row = stub("plain");
    let elsewhere = "/usr/lib/elsewhere.py";
    assert_eq!(rig.servers.who_named(&row.name, elsewhere), None);
    let ask = rig.ask(&row, "a.py", "definition", 0, 1);
    let root = ask.root.clone();
    rig.said(ask).expect("an answer");
    assert_eq!(rig.servers.who_named(&row.name, elsewhere), Some(root));
    assert_eq!(rig.servers.who_named(&row.name, "/etc/passwd"), None);
    assert_eq!(rig.servers.who_named("another", elsewhere), None);
}

/// Items as the facts have them: messages, and whether they are fresh.
fn messages(found: &Found) -> (Vec<String>, Option<bool>) {
    let items = value(found);
    let items = items.as_array().expect("a list");
    (items.iter().map(|i| i[5].as_str().unwrap_or("none").into()).collect(), found.fresh)
}

#[test]
fn diagnostics_pulled_registered_or_published() {
    for how in ["pulls", "registers", "publishes", "versionless"] {
        let mut rig = Rig::new();
        rig.write("a.py", "one");
        let ask = rig.ask(&stub(how), "a.py", "diagnostic", 0, 0);
        let found = rig.said(ask.clone()).expect(how);
        assert_eq!(messages(&found), (vec!["one".into()], Some(true)), "{how}");
        // What lies past the line's end is its end.
        assert_eq!(
            value(&found)[0],
            json!(["", "error", format!("stub-{how}"), null, [0, 3, 0, 3], "one"])
        );
        // Unsaved text, and then what stands on disk.
        let unsaved = Ask { text: Some("two".into()), ..ask.clone() };
        let found = rig.said(unsaved).expect(how);
        assert_eq!(messages(&found), (vec!["two".into()], Some(true)), "{how}");
        rig.write("a.py", "three");
        let found = rig.said(ask).expect(how);
        assert_eq!(messages(&found), (vec!["three".into()], Some(true)), "{how}");
    }
}

#[test]
fn older_diagnostics_are_said_to_be_older() {
    let mut rig = Rig::new();
    rig.write("a.py", "one");
    let row = stub("late");
    let ask = rig.ask(&row, "a.py", "definition", 0, 0);
    rig.said(ask).expect("it has started");
    let ask = rig.ask(&row, "a.py", "diagnostic", 0, 0);
    let found = rig.said(Ask { deadline_ms: 200, ..ask.clone() }).expect("it published something");
    assert_eq!(messages(&found), (vec!["one".into()], Some(false)));
    let found = rig.said(Ask { text: Some("two".into()), ..ask }).expect("it spoke of this one");
    assert_eq!(messages(&found), (vec!["two".into()], Some(true)));
    // Who never speaks of it is not clean.
    let ask = rig.ask(&stub("plain"), "a.py", "diagnostic", 0, 0);
    let trouble = rig.said(Ask { patience_ms: 100, ..ask }).expect_err("it publishes nothing");
    assert_eq!(trouble.code, "starting");
}

#[test]
fn files_written_meanwhile_are_told() {
    let mut rig = Rig::new();
    rig.write("a.py", "one");
    let ask = rig.ask(&stub("registers"), "a.py", "diagnostic", 0, 0);
    rig.said(ask.clone()).expect("an answer");
    rig.write("b.py", "");
    let found = rig.said(ask).expect("an answer");
    assert_eq!(messages(&found).0, ["one+b.py 1"]);
}

// The real ones.

fn node(name: &str) -> String {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test/node/node_modules/.bin").join(name);
    assert!(bin.exists(), "{} is missing: make setup", bin.display());
    bin.to_str().expect("UTF-8").into()
}

fn pyright() -> Row {
    Row {
        name: "pyright".into(),
        command: vec![node("pyright-langserver"), "--stdio".into()],
        loaded: "source file".into(),
        settle_ms: 60_000,
        ..Row::default()
    }
}

fn typescript() -> Row {
    let tsserver = Path::new(&node("tsc")).with_file_name("../typescript/lib");
    Row {
        name: "typescript-language-server".into(),
        command: vec![node("typescript-language-server"), "--stdio".into()],
        initialization_options: json!({
            "disableAutomaticTypingAcquisition": true,
            "tsserver": {"path": tsserver, "useSyntaxServer": "never"},
        }),
        settle_ms: 0,
        ..Row::default()
    }
}

const APP: &str = include_str!("fixtures/golden/project/app.py");

/// Places as `file:line:character`, sorted: servers give them in any order.
fn places(found: &Found, root: &Path) -> Vec<String> {
    let prefix = format!("file://{}/", root.display());
    let mut places: Vec<String> = value(found)
        .as_array()
        .expect("a list of places")
        .iter()
        .map(|place| {
            let (uri, range) = match place.get("targetUri") {
                Some(uri) => (uri, &place["targetSelectionRange"]),
                None => (&place["uri"], &place["range"]),
            };
            let file = uri.as_str().expect("a URI").trim_start_matches(&prefix);
            format!("{file}:{}:{}", range["start"]["line"], range["start"]["character"])
        })
        .collect();
    places.sort();
    places
}

#[test]
fn pyright_from_cold() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.write("app.py", APP);
    rig.write("use.py", "from app import Cart\n\nCart().total([])\nmissing\n");
    let row = pyright();
    let ask =
        |rig: &Rig, name, method, line, character| rig.ask(&row, name, method, line, character);
    // First of all: it answers before it has looked which files there are.
    let found = rig.answer(ask(&rig, "app.py", "references", 12, 13));
    assert_eq!(places(&found, &root), ["app.py:12:12", "app.py:6:8", "use.py:2:7"]);
    let definition = rig.answer(ask(&rig, "use.py", "definition", 2, 9));
    assert_eq!(places(&definition, &root), ["app.py:6:8"]);
    assert!(found.declarations.expect("asked for, too").contains("\"line\":6"));
    let found = rig.answer(ask(&rig, "app.py", "hover", 12, 13));
    assert!(found.result.contains("(method) def total(items: Unknown) -> float"));
    let found = rig.answer(ask(&rig, "app.py", "documentSymbol", 0, 0));
    assert_eq!(value(&found)[0]["name"], "Cart");
    let found = rig.answer(ask(&rig, "use.py", "diagnostic", 0, 0));
    let warning = value(&found).as_array().expect("a list").iter().any(|item| {
        item[4] == json!([3, 0, 3, 7])
            && item[3] == "reportUndefinedVariable"
            && item[2] == "Pyright"
    });
    assert!(warning && found.fresh == Some(true), "{}", found.result);
    let unsaved =
        Ask { text: Some("x = nowhere\n".into()), ..ask(&rig, "use.py", "diagnostic", 0, 0) };
    let found = rig.answer(unsaved);
    assert_eq!(messages(&found), (vec!["\"nowhere\" is not defined".into()], Some(true)));
    // A file that is new on disk, asked about at once, is found by another one.
    rig.write("fresh.py", "def made(): ...\n");
    rig.write("use.py", "from fresh import made\nmade()\n");
    let found = rig.answer(ask(&rig, "use.py", "definition", 1, 1));
    assert_eq!(places(&found, &root), ["fresh.py:0:4"]);
    // A file of a library: nothing is started for it, but the running server knows it.
    rig.write("use.py", "import os\nos.getcwd()\n");
    let found = rig.answer(ask(&rig, "use.py", "definition", 1, 4));
    let library = places(&found, &root).remove(0);
    let path = library.trim_start_matches("file://").split(':').next().expect("a path");
    assert_eq!(rig.servers.who_named("pyright", path), Some(root.to_str().expect("UTF-8").into()));
    let mut outside = ask(&rig, "use.py", "documentSymbol", 0, 0);
    outside.path = path.into();
    assert!(rig.answer(outside).result.contains("getcwd"));
    assert_eq!(rig.servers.list().len(), 1);
    let Status { pid, .. } = rig.status();
    rig.servers.stop(None, LONG);
    wait_until("end of pyright", || !is_alive(pid));
}

#[test]
fn typescript_from_cold() {
    let mut rig = Rig::new();
    let root = rig.root();
    rig.write("tsconfig.json", r#"{"compilerOptions": {"allowJs": true, "jsx": "preserve"}}"#);
    rig.write(
        "cart.ts",
        "export class Cart {\n  total(items: number[]) { return items.length; }\n}\n",
    );
    rig.write(
        "view.tsx",
        "import { Cart } from \"./cart\";\nexport const x = <b>{new Cart().total([])}</b>;\n",
    );
    rig.write("old.js", "import { Cart } from \"./cart\";\nnew Cart().total([]);\n");
    let row = typescript();
    let ask =
        |rig: &Rig, name, method, line, character| rig.ask(&row, name, method, line, character);
    for (name, character) in [("view.tsx", 33), ("old.js", 12)] {
        let found = rig.answer(ask(&rig, name, "definition", 1, character));
        assert_eq!(places(&found, &root), ["cart.ts:1:2"], "{name}");
    }
    let found = rig.answer(ask(&rig, "cart.ts", "references", 1, 3));
    assert_eq!(places(&found, &root), ["cart.ts:1:2", "old.js:1:11", "view.tsx:1:32"]);
    let found = rig.answer(ask(&rig, "cart.ts", "hover", 1, 3));
    assert!(found.result.contains("(method) Cart.total(items: number[]): number"));
    // Clean, edited and broken, mended: each is known to be so.
    let diagnose = ask(&rig, "cart.ts", "diagnostic", 0, 0);
    assert_eq!(messages(&rig.answer(diagnose.clone())), (vec![], Some(true)));
    let broken =
        Ask { text: Some("const a: string = 5;\nexport {};\n".into()), ..diagnose.clone() };
    let found = rig.answer(broken);
    let item = &value(&found)[0];
    let brief = json!([item[1], item[2], item[3], item[4]]);
    assert_eq!(brief, json!(["error", "typescript", "2322", [0, 6, 0, 7]]));
    assert_eq!(messages(&rig.answer(diagnose)), (vec![], Some(true)));
    // A file that is new on disk.
    rig.write("fresh.ts", "export function made() {}\n");
    rig.write("cart.ts", "import { made } from \"./fresh\";\nmade();\n");
    let found = rig.answer(ask(&rig, "cart.ts", "definition", 1, 1));
    assert_eq!(places(&found, &root), ["fresh.ts:0:16"]);
    rig.write("user.ts", "import { made } from \"./fresh\";\n");
    let found = rig.answer(ask(&rig, "fresh.ts", "references", 0, 17));
    assert_eq!(
        places(&found, &root),
        ["cart.ts:0:9", "cart.ts:1:0", "fresh.ts:0:16", "user.ts:0:9"]
    );
}

#[test]
fn what_was_asked_about_before_is_as_on_disk() {
    let texts = |name: &str, of: &str| match name {
        "py" => format!("def f(x: {of}): return x\n"),
        _ => format!("export function f(x: {of}) {{ return x; }}\n"),
    };
    for (row, name, [good, bad], using) in [
        (pyright(), "py", ["int", "str"], "from lib import f\nf(1)\n"),
        (typescript(), "ts", ["number", "string"], "import { f } from \"./lib\";\nf(1);\n"),
    ] {
        let mut rig = Rig::new();
        let (lib, user) = (format!("lib.{name}"), format!("use.{name}"));
        rig.write(&lib, &texts(name, good));
        rig.write(&user, using);
        let (lib, user) =
            (rig.ask(&row, &lib, "diagnostic", 0, 0), rig.ask(&row, &user, "diagnostic", 0, 0));
        let n_problems = |rig: &mut Rig, ask: &Ask| {
            let (messages, fresh) = messages(&rig.answer(ask.clone()));
            assert_eq!(fresh, Some(true), "{name}");
            messages.len()
        };
        assert_eq!((n_problems(&mut rig, &lib), n_problems(&mut rig, &user)), (0, 0), "{name}");
        // Written, asked about at once, and written again.
        fs::write(&lib.path, texts(name, bad)).expect("written");
        assert_eq!((n_problems(&mut rig, &user), n_problems(&mut rig, &lib)), (1, 0), "{name}");
        fs::write(&lib.path, texts(name, good)).expect("written");
        assert_eq!(n_problems(&mut rig, &user), 0, "{name}");
        // An editor's unsaved text counts as long as the editor has it.
        let unsaved = vec![Unsaved(lib.path.clone(), lib.language_id.clone(), texts(name, bad))];
        let shown = Ask { text: Some(texts(name, bad)), ..lib };
        let using = Ask { unsaved, ..user.clone() };
        for (ask, n) in [(&shown, 0), (&using, 1), (&user, 0), (&using, 1)] {
            assert_eq!(n_problems(&mut rig, ask), n, "{name}");
        }
    }
}

#[test]
fn packages_installed_meanwhile_are_known() {
    let config = r#"{"venvPath": ".", "venv": ".venv"}"#;
    for (row, user, text, folder, package) in [
        (
            pyright(),
            "use.py",
            "import made\nmade.f()\n",
            ".venv/lib/python3.11/site-packages",
            ("__init__.py", "def f(): ...\n"),
        ),
        (
            typescript(),
            "use.ts",
            "import { f } from \"made\";\nf();\n",
            "node_modules",
            ("index.d.ts", "export function f(): void;\n"),
        ),
    ] {
        let mut rig = Rig::new();
        rig.write("pyrightconfig.json", config);
        rig.write("tsconfig.json", r#"{"compilerOptions": {"module": "commonjs"}}"#);
        rig.write(".venv/pyvenv.cfg", "");
        rig.write(&format!("{folder}/other/x"), "");
        rig.write(user, text);
        let ask = rig.ask(&row, user, "diagnostic", 0, 0);
        let n_problems = |rig: &mut Rig| messages(&rig.answer(ask.clone())).0.len();
        assert_eq!(n_problems(&mut rig), 1, "{user}");
        rig.write(&format!("{folder}/made/{}", package.0), package.1);
        assert_eq!(n_problems(&mut rig), 0, "{user}");
    }
}

#[test]
fn packages_of_the_inherited_environment_are_known() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    let active = elsewhere.path().join("active");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&active).status();
    assert!(made.is_ok_and(|status| status.success()));
    let active = active.to_str().expect("UTF-8");
    let path = std::env::var("PATH").expect("there is one");
    let row = Row {
        environment: Some(vec![
            format!("VIRTUAL_ENV={active}"),
            format!("PATH={active}/bin:{path}"),
        ]),
        ..pyright()
    };
    let mut rig = Rig::new();
    rig.write("use.py", "import made\nmade.f()\n");
    let ask = rig.ask(&row, "use.py", "diagnostic", 0, 0);
    let n_problems = |rig: &mut Rig| messages(&rig.answer(ask.clone())).0.len();
    assert_eq!(n_problems(&mut rig), 1);
    let lib = fs::read_dir(format!("{active}/lib")).expect("it is there").next();
    let packages = lib.expect("a version").expect("it is read").path().join("site-packages");
    fs::create_dir(packages.join("made")).expect("a folder");
    fs::write(packages.join("made/__init__.py"), "def f(): ...\n").expect("written");
    assert_eq!(n_problems(&mut rig), 0);
}

#[test]
fn many_at_once_share_their_servers() {
    let mut rig = Rig::new();
    let row = pyright();
    let mut tokens = Vec::new();
    for n in 0..21 {
        let (root, name) = (format!("root{}", n % 3), format!("m{n}.py"));
        rig.write(&format!("{root}/lib.py"), "def shared(): ...\n");
        let path = rig.write(&format!("{root}/{name}"), "from lib import shared\nshared()\n");
        let ask = Ask {
            root: path.parent().and_then(Path::to_str).expect("UTF-8").into(),
            path: path.to_str().expect("UTF-8").into(),
            ..rig.ask(&row, &name, "definition", 1, 1)
        };
        tokens.push((rig.servers.ask(ask.clone(), LIMITS), ask));
    }
    assert_eq!(rig.servers.list().len(), 3);
    let pids: Vec<u32> = rig.servers.list().iter().map(|status| status.pid).collect();
    for (token, ask) in tokens {
        let found = rig.wait(token).expect("an answer");
        assert_eq!(places(&found, Path::new(&ask.root)), ["lib.py:0:4"]);
    }
    let now: Vec<u32> = rig.servers.list().iter().map(|status| status.pid).collect();
    assert_eq!(now, pids);
}
