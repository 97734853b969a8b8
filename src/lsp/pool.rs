//! The servers that run, one for each row and root. It knows no message.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, unbounded};

use super::process::{Process, memory_bytes};
use super::queue::{Asker, Queue, trouble};
use super::server::{Event, Question, Server};
use super::status::{Shared, State, Status};
use super::{Answer, Ask, Row, Unsaved};
use crate::core::facts::Trouble;
use crate::threads::spawn_quiet;

/// So often, within so long, a server that crashes is started again.
const MAX_RESTARTS: usize = 3;
const RESTARTS_WITHIN: Duration = Duration::from_secs(300);
/// A server that was asked so shortly ago does not make room for another one.
const BUSY: Duration = Duration::from_secs(30);

/// What the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_servers: usize,
    /// After so long without a question a server is stopped.
    pub idle: Duration,
}

/// The language servers of this process. All are stopped with it.
pub struct Servers {
    queue: Arc<Queue>,
    entries: Vec<Entry>,
    /// When servers that had crashed were started again.
    restarts: HashMap<(String, PathBuf), VecDeque<Instant>>,
    next_id: u64,
}

/// A server, be it running or the last one of its kind that ended.
struct Entry {
    id: u64,
    name: String,
    root: PathBuf,
    pid: u32,
    events: Sender<Event>,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    asked: Instant,
}

impl Entry {
    fn is_alive(&self) -> bool {
        self.shared.state().is_alive() && !self.thread.is_finished()
    }

    fn is_for(&self, name: &str, root: &Path) -> bool {
        self.name == name && self.root == root
    }
}

impl Servers {
    /// `wake` is called, in any thread, when an answer is there and none was before.
    pub fn new(wake: Box<dyn Fn() + Send + Sync>) -> Self {
        Self {
            queue: Arc::new(Queue::new(wake)),
            entries: Vec::new(),
            restarts: HashMap::new(),
            next_id: 0,
        }
    }

    /// Asks, starting a server if there is none yet and the question may; returns the token that the
    /// answer will bear. There is one answer for each token.
    ///
    /// To be called in a thread that blocks no signals; it waits for nothing but a process's birth.
    pub fn ask(&mut self, mut ask: Ask, limits: Limits) -> u64 {
        self.next_id += 1;
        let token = self.next_id;
        let asker = Asker::new(token, Arc::clone(&self.queue));
        let root = canonical(&ask.root);
        ask.path = canonical(&ask.path).to_string_lossy().into_owned();
        for Unsaved(path, ..) in &mut ask.unsaved {
            *path = canonical(path).to_string_lossy().into_owned();
        }
        match self.entry(&ask, root, limits) {
            Ok(entry) => {
                let asked = Instant::now();
                entry.asked = asked;
                entry.shared.look().n_asked += 1;
                let question = Question { ask, asker, asked, idle: limits.idle };
                // Nobody there any more: the asker says so when it is dropped.
                let _ = entry.events.send(Event::Ask(Box::new(question)));
            }
            Err(trouble) => asker.tell(Err(trouble)),
        }
        token
    }

    /// The answers that have come since the last call.
    pub fn poll(&self) -> Vec<Answer> {
        self.queue.take()
    }

    /// Whether a server of that name runs for `root`.
    pub fn is_running(&self, name: &str, root: &str) -> bool {
        let root = canonical(root);
        self.entries.iter().any(|entry| entry.is_for(name, &root) && entry.is_alive())
    }

    /// The root of the running server of that name whose answers named the file `path`.
    pub fn who_named(&self, name: &str, path: &str) -> Option<String> {
        let path = canonical(path);
        self.entries
            .iter()
            .find(|entry| entry.name == name && entry.is_alive() && entry.shared.has_named(&path))
            .map(|entry| entry.root.to_string_lossy().into_owned())
    }

    /// Stops the servers of that name that run for `path`, which somebody else serves.
    pub fn make_way(&mut self, name: &str, path: &str) {
        let path = canonical(path);
        for entry in self.entries.iter().filter(|e| e.name == name && path.starts_with(&e.root)) {
            let _ = entry.events.send(Event::Stop);
        }
    }

    /// All servers that run, and those that crashed last.
    pub fn list(&self) -> Vec<Status> {
        self.entries
            .iter()
            .filter(|entry| entry.shared.state() != State::Stopped)
            .map(|entry| {
                let last_words = entry.shared.last_words(usize::MAX);
                let inner = entry.shared.look();
                Status {
                    id: entry.id,
                    name: entry.name.clone(),
                    root: entry.root.to_string_lossy().into_owned(),
                    state: inner.state,
                    pid: entry.pid,
                    memory_bytes: inner.state.is_alive().then(|| memory_bytes(entry.pid)).flatten(),
                    n_asked: inner.n_asked,
                    n_timeouts: inner.n_timeouts,
                    last_words,
                }
            })
            .collect()
    }

    /// Stops the server of that id, or all; those that ended are forgotten. Waits at most `limit` for
    /// their end, which comes in any case.
    pub fn stop(&mut self, id: Option<u64>, limit: Duration) {
        let deadline = Instant::now() + limit;
        let is_meant = |entry: &Entry| id.is_none_or(|id| id == entry.id);
        for entry in self.entries.iter().filter(|entry| is_meant(entry)) {
            let _ = entry.events.send(Event::Stop);
            self.restarts.remove(&(entry.name.clone(), entry.root.clone()));
        }
        while Instant::now() < deadline
            && self.entries.iter().any(|entry| is_meant(entry) && !entry.thread.is_finished())
        {
            thread::sleep(Duration::from_millis(2));
        }
        self.entries.retain(|entry| !is_meant(entry) || !entry.thread.is_finished());
    }

    /// The server for `ask`, started if need be.
    fn entry(&mut self, ask: &Ask, root: PathBuf, limits: Limits) -> Result<&mut Entry, Trouble> {
        let name = &ask.row.name;
        let found = self.entries.iter().position(|entry| entry.is_for(name, &root));
        if let Some(idx) = found.filter(|&idx| self.entries[idx].is_alive()) {
            return Ok(&mut self.entries[idx]);
        }
        if !ask.starts {
            return Err(trouble("no-provider", format!("{name} does not run for this file")));
        }
        // One that is gone and did not say so has lost its thread.
        let crashed = found.filter(|&idx| {
            let state = self.entries[idx].shared.state();
            state == State::Crashed || state.is_alive()
        });
        let restarts = self.restarts.entry((name.clone(), root.clone())).or_default();
        restarts.retain(|at| at.elapsed() < RESTARTS_WITHIN);
        if let Some(idx) = crashed
            && restarts.len() >= MAX_RESTARTS
        {
            let words = self.entries[idx].shared.last_words(3).join(" | ");
            let n = restarts.len() + 1;
            let minutes = RESTARTS_WITHIN.as_secs() / 60;
            let reason = format!("{name} crashed {n} times within {minutes} minutes: {words}");
            return Err(trouble("error", reason));
        }
        self.make_room(limits.max_servers, name)?;
        if crashed.is_some()
            && let Some(restarts) = self.restarts.get_mut(&(name.clone(), root.clone()))
        {
            restarts.push_back(Instant::now());
        }
        self.entries.retain(|entry| !entry.is_for(name, &root));
        self.start(ask, root, limits)
    }

    /// Stops the server that was not asked for longest, if one more would be too many.
    fn make_room(&mut self, max_servers: usize, name: &str) -> Result<(), Trouble> {
        let alive: Vec<&Entry> = self.entries.iter().filter(|entry| entry.is_alive()).collect();
        if alive.len() < max_servers {
            return Ok(());
        }
        match alive.iter().filter(|e| e.asked.elapsed() >= BUSY).min_by_key(|e| e.asked) {
            Some(entry) => {
                let _ = entry.events.send(Event::Stop);
                entry.shared.look().state = State::Stopping;
                Ok(())
            }
            None => Err(trouble(
                "busy",
                format!(
                    "{name} is not started: {} language servers are at work (`eca-context-max-servers')",
                    alive.len()
                ),
            )),
        }
    }

    fn start(&mut self, ask: &Ask, root: PathBuf, limits: Limits) -> Result<&mut Entry, Trouble> {
        let name = &ask.row.name;
        let failed = |error| trouble("error", format!("{name} cannot be started: {error}"));
        let Row { command, environment, .. } = &ask.row;
        let (process, pipes) =
            Process::start(command, environment.as_deref(), &root).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let (events, received) = unbounded();
        let pid = process.id();
        let server = Server::new(ask.row.clone(), root.clone(), Arc::clone(&shared), limits.idle);
        let sender = events.clone();
        let thread = spawn_quiet("eca-context-lsp", move || {
            server.run(process, pipes, sender, received);
        })
        .map_err(failed)?;
        self.next_id += 1;
        self.entries.push(Entry {
            id: self.next_id,
            name: name.clone(),
            root,
            pid,
            events,
            shared,
            thread,
            asked: Instant::now(),
        });
        Ok(self.entries.last_mut().expect("it was pushed"))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop(None, Duration::from_secs(2));
    }
}

fn canonical(path: &str) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}
