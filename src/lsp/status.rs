//! What is known about a server from outside its thread. It knows no message.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// So many lines of what a server said are kept, each of so many characters.
const MAX_LINES: usize = 100;
const MAX_LINE_CHARS: usize = 500;
/// So many files that answers named are remembered.
const MAX_NAMED: usize = 10_000;

/// How a server is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Starting,
    /// It answers, and says that it is still at work on the project.
    Loading,
    Ready,
    Stopping,
    Stopped,
    Crashed,
}

impl State {
    /// Whether questions can still reach it.
    pub(crate) fn is_alive(self) -> bool {
        matches!(self, Self::Starting | Self::Loading | Self::Ready)
    }
}

/// A line of the list of servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// By which it can be stopped.
    pub id: u64,
    pub name: String,
    pub root: String,
    pub state: State,
    pub pid: u32,
    /// Of its whole process group; absent where that cannot be told.
    pub memory_bytes: Option<u64>,
    pub n_asked: u64,
    /// How often it let a question wait too long.
    pub n_timeouts: u64,
    /// What it printed or complained of last, the newest last.
    pub last_words: Vec<String>,
}

/// What a server's threads put down for others to see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) n_asked: u64,
    pub(crate) n_timeouts: u64,
    words: VecDeque<String>,
    named: HashSet<PathBuf>,
}

impl Shared {
    pub(crate) fn look(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        self.look().state
    }

    /// Keeps a line of what the server said.
    pub(crate) fn note(&self, line: &str) {
        let line: String = line.trim().chars().take(MAX_LINE_CHARS).collect();
        if line.is_empty() {
            return;
        }
        let mut inner = self.look();
        if inner.words.len() >= MAX_LINES {
            inner.words.pop_front();
        }
        inner.words.push_back(line);
    }

    /// The last `n` lines that the server said, the newest last.
    pub(crate) fn last_words(&self, n: usize) -> Vec<String> {
        let inner = self.look();
        inner.words.iter().skip(inner.words.len().saturating_sub(n)).cloned().collect()
    }

    /// Remembers that an answer named `path`.
    pub(crate) fn name(&self, path: PathBuf) {
        let mut inner = self.look();
        if inner.named.len() < MAX_NAMED {
            inner.named.insert(path);
        }
    }

    pub(crate) fn has_named(&self, path: &Path) -> bool {
        self.look().named.contains(path)
    }
}
