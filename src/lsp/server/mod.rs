//! One language server: the thread that owns all that is known about it. It knows no other server.
//!
//! Here is its life from `initialize` to its end; `asks` is what becomes of questions, `hears` what
//! it does with what the server says.

mod asks;
mod hears;
mod results;

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde_json::Value;

use super::documents::Documents;
use super::initialize::{self, Capabilities};
use super::message::{self, Incoming, ReplyError};
use super::process::{Pipes, Process, describe};
use super::queue::{Asker, trouble};
use super::status::{Shared, State};
use super::watch::Files;
use super::{Ask, Found, Row};
use crate::core::facts::Trouble;
use crate::threads::spawn_quiet;
use crate::wire::frame;

/// A server that has not started by then never will.
const MAX_START: Duration = Duration::from_secs(60);
/// So many questions in a row without a word from the server, and it is taken for dead.
const MAX_SILENCE: u32 = 3;
/// When a server that asks to be asked again is asked again.
const AGAIN: Duration = Duration::from_millis(20);
/// A body larger than this is no answer to anything we ask.
const MAX_BODY_BYTES: u64 = 256 * 1024 * 1024;
/// How long a server has to take leave, and then to end.
const MAX_LEAVE: Duration = Duration::from_secs(1);

/// With this begin the tokens by which a server may tell of its work for one question.
const OUR_TOKEN: &str = "eca-context-";

const REFERENCES: &str = "textDocument/references";
const DEFINITION: &str = "textDocument/definition";

/// What a server's thread hears of.
pub(crate) enum Event {
    Ask(Box<Question>),
    Said(Incoming),
    /// It said what is no message.
    Garbled,
    /// It will say nothing more; why, if that is known.
    Closed(String),
    Stop,
}

/// A question on its way.
pub(crate) struct Question {
    pub(crate) ask: Ask,
    pub(crate) asker: Asker,
    pub(crate) asked: Instant,
    pub(crate) idle: Duration,
}

struct Pending {
    ask: Ask,
    asker: Asker,
    asked: Instant,
    /// Until when it waits for a server that is not yet what it will be.
    patience: Instant,
    deadline: Instant,
    waiting: Waiting,
    /// Whether the server knows what was written before it was asked.
    looked: bool,
}

enum Waiting {
    /// For the server to start.
    Server,
    /// For replies, each with the method and what came.
    Replies(Vec<Part>),
    /// For the project to be loaded, after an answer that may be a fragment.
    Project,
    /// For the server to publish diagnostics, or to offer to be asked for them.
    Diagnostics,
}

/// A request on its way, or its reply; several questions may wait for the same one.
struct Part {
    id: Arc<str>,
    result: Option<Result<String, ReplyError>>,
}

/// What the server was asked and has not answered.
struct Request {
    /// Gone if nobody waits for it any more.
    id: Weak<str>,
    method: String,
    params: Value,
}

type Outcome = Result<Found, Trouble>;

/// Why a server's thread ends.
enum End {
    Asked,
    Idle,
    Crashed(String),
}

pub(crate) struct Server {
    row: Row,
    root: PathBuf,
    shared: Arc<Shared>,
    idle: Duration,
    /// Frames for its input; taken away, that is closed.
    out: Option<Sender<Vec<u8>>>,
    started: Instant,
    /// Since when it answers.
    ready: Option<Instant>,
    capabilities: Capabilities,
    documents: Documents,
    files: Option<Files>,
    pending: Vec<Pending>,
    /// What it was asked since it was told anything: asked now, it would answer the same.
    in_flight: Vec<Request>,
    /// Tokens of work that it told of and that is not over, and when the last ended.
    progress: HashSet<String>,
    progress_ended: Option<Instant>,
    /// When it said that it has loaded the project.
    loaded: Option<Instant>,
    /// Whether it has answered a question yet.
    has_answered: bool,
    /// Questions that it let wait too long since its last word.
    n_silent: u32,
    last_asked: Instant,
    next_id: u64,
}

impl Server {
    pub(crate) fn new(row: Row, root: PathBuf, shared: Arc<Shared>, idle: Duration) -> Self {
        let now = Instant::now();
        Self {
            row,
            root,
            shared,
            idle,
            out: None,
            started: now,
            ready: None,
            capabilities: Capabilities::default(),
            documents: Documents::default(),
            files: None,
            pending: Vec::new(),
            in_flight: Vec::new(),
            progress: HashSet::new(),
            progress_ended: None,
            loaded: None,
            has_answered: false,
            n_silent: 0,
            last_asked: now,
            next_id: 0,
        }
    }

    /// Serves until the server ends or is no longer wanted. Whoever waits then is told.
    pub(crate) fn run(
        mut self,
        process: Process,
        pipes: Pipes,
        events: Sender<Event>,
        received: Receiver<Event>,
    ) {
        let end = match self.connect(pipes, events) {
            Ok(printer) => {
                self.send_request("initialize", initialize::params(&self.row, &self.root));
                // Where a server that is started so looks for packages, too.
                let active = self.row.variable("VIRTUAL_ENV").map(PathBuf::from);
                self.files = Some(Files::new(&self.root, active));
                (self.serve(&received), Some(printer))
            }
            Err(error) => (End::Crashed(format!("no thread can be started: {error}")), None),
        };
        self.leave(end.0, end.1, process, &received);
    }

    /// Starts the threads that read and write; returns the one that reads what the server prints.
    fn connect(&mut self, pipes: Pipes, events: Sender<Event>) -> std::io::Result<JoinHandle<()>> {
        let (out, frames) = unbounded::<Vec<u8>>();
        let mut stdin = pipes.stdin;
        spawn_quiet("eca-context-in", move || {
            while let Ok(frame) = frames.recv() {
                if stdin.write_all(&frame).and_then(|()| stdin.flush()).is_err() {
                    // The reader will see the end, too.
                    break;
                }
            }
        })?;
        self.out = Some(out);
        let stdout = pipes.stdout;
        spawn_quiet("eca-context-out", move || {
            let mut input = BufReader::with_capacity(64 * 1024, stdout);
            let reason = loop {
                let event = match frame::read(&mut input, MAX_BODY_BYTES) {
                    Ok(Some(body)) => message::parse(&body).map_or(Event::Garbled, Event::Said),
                    Ok(None) => break String::new(),
                    Err(error) => break error.to_string(),
                };
                if events.send(event).is_err() {
                    return;
                }
            };
            let _ = events.send(Event::Closed(reason));
        })?;
        let stderr = pipes.stderr;
        let shared = Arc::clone(&self.shared);
        spawn_quiet("eca-context-err", move || {
            let mut input = BufReader::new(stderr);
            let mut line = Vec::new();
            // A line without an end is taken in pieces.
            while matches!((&mut input).take(4096).read_until(b'\n', &mut line), Ok(n) if n > 0) {
                shared.note(&String::from_utf8_lossy(&line));
                line.clear();
            }
        })
    }

    fn serve(&mut self, received: &Receiver<Event>) -> End {
        loop {
            let event = match received.recv_deadline(self.next_wake()) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return End::Asked,
            };
            let now = Instant::now();
            match event {
                Some(Event::Ask(question)) => self.take(*question, now),
                Some(Event::Said(incoming)) => {
                    self.n_silent = 0;
                    if let Err(reason) = self.hear(incoming, now) {
                        return End::Crashed(reason);
                    }
                }
                Some(Event::Garbled) => self.shared.note("it said what is no message"),
                Some(Event::Closed(reason)) => return End::Crashed(reason),
                Some(Event::Stop) => return End::Asked,
                None => (),
            }
            if let Err(end) = self.advance(now) {
                return end;
            }
        }
    }

    /// Moves on what waits for time or for what has just happened.
    fn advance(&mut self, now: Instant) -> Result<(), End> {
        self.look(now);
        let pending = std::mem::take(&mut self.pending);
        for one in pending {
            if let Some(one) = self.step(one, now) {
                self.pending.push(one);
            }
        }
        for frame in self.documents.close_idle(now) {
            self.send(frame);
        }
        self.shared.look().state = match self.ready {
            None => State::Starting,
            Some(_) if !self.progress.is_empty() => State::Loading,
            Some(_) => State::Ready,
        };
        if self.n_silent >= MAX_SILENCE {
            return Err(End::Crashed(format!("it left {} questions unanswered", self.n_silent)));
        }
        if self.ready.is_none() && now >= self.started + MAX_START {
            return Err(End::Crashed("it did not start in time".into()));
        }
        if self.pending.is_empty() && now >= self.last_asked + self.idle {
            return Err(End::Idle);
        }
        Ok(())
    }

    fn next_wake(&self) -> Instant {
        let mut next = self.last_asked + self.idle.max(Duration::from_millis(10));
        if !self.pending.is_empty() && next <= Instant::now() {
            next = Instant::now() + Duration::from_secs(1);
        }
        let mut at = |time: Instant| next = next.min(time);
        if let Some(idle) = self.documents.next_idle() {
            at(idle);
        }
        if self.ready.is_none() {
            at(self.started + MAX_START);
        }
        if let Some((_, due)) = self.look_due() {
            at(due);
        }
        for one in &self.pending {
            at(one.deadline);
            match one.waiting {
                Waiting::Server if self.ready.is_some() => at(Instant::now() + AGAIN),
                Waiting::Server | Waiting::Project => at(one.patience),
                Waiting::Replies(_) => at(self.patience_ends(one)),
                // Silence makes no noise.
                Waiting::Diagnostics => at(Instant::now() + asks::QUIET / 4),
            }
            if matches!(one.waiting, Waiting::Project) {
                at(self.settled_at().unwrap_or(one.deadline));
            }
        }
        next
    }

    fn send_request(&mut self, method: &str, params: Value) -> String {
        self.next_id += 1;
        let id = self.next_id.to_string();
        self.write(message::request(&id, method, params));
        id
    }

    /// Tells the server what may change its answers.
    fn send(&mut self, frame: Vec<u8>) {
        self.in_flight.clear();
        self.write(frame);
    }

    fn write(&self, frame: Vec<u8>) {
        if let Some(out) = &self.out {
            // The writer is gone when the server is; the reader tells.
            let _ = out.send(frame);
        }
    }

    // The end.

    fn leave(
        mut self,
        end: End,
        printer: Option<JoinHandle<()>>,
        process: Process,
        received: &Receiver<Event>,
    ) {
        let name = self.row.name.clone();
        let reason = match end {
            End::Crashed(reason) => {
                let how = describe(process.end(Duration::from_millis(50)));
                // What it printed last may still be on its way.
                let deadline = Instant::now() + Duration::from_millis(300);
                while printer.as_ref().is_some_and(|printer| !printer.is_finished())
                    && Instant::now() < deadline
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                let mut words = vec![if reason.is_empty() { how } else { reason }];
                words.extend(self.shared.last_words(3));
                self.shared.note(&format!("{name}: {}", words[0]));
                self.shared.look().state = State::Crashed;
                trouble("error", format!("{name} crashed: {}", words.join(" | ")))
            }
            End::Asked | End::Idle => {
                self.shared.look().state = State::Stopping;
                let id = self.send_request("shutdown", Value::Null);
                let deadline = Instant::now() + MAX_LEAVE;
                while let Ok(event) = received.recv_deadline(deadline) {
                    match event {
                        Event::Said(Incoming::Reply { id: reply, .. }) if reply == id => break,
                        Event::Closed(_) => break,
                        _ => (),
                    }
                }
                self.send(message::notification("exit", Value::Null));
                self.out = None;
                process.end(MAX_LEAVE);
                self.shared.look().state = State::Stopped;
                trouble("error", format!("{name} was stopped"))
            }
        };
        let late = received.try_iter().filter_map(|event| match event {
            Event::Ask(question) => Some(question.asker),
            _ => None,
        });
        let waiting = self.pending.into_iter().map(|one| one.asker);
        for asker in waiting.chain(late) {
            asker.tell(Err(reason.clone()));
        }
    }
}
