//! Language servers for Lisp: questions in, answers out, and Emacs is woken when there are any. It knows
//! no server and no provider.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::time::Duration;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::{bad_value, channel, de, to_lisp, vectors};
use crate::lsp::{Answer, Ask, Limits, NO_TSSERVER, Servers, root, tsserver_options};

thread_local! {
    // Emacs ends without waiting for the servers: each is killed with us.
    static SERVERS: RefCell<Option<ManuallyDrop<Servers>>> = const { RefCell::new(None) };
}

/// Ask ASK, starting a server if need be, and return a token, an integer.
///
/// ASK is a plist: `:row' (a plist: `:name', `:command', `:settings',
/// `:initializationOptions', `:loaded', `:settleMs', `:tellsProcessId'), `:root', `:path',
/// `:languageId', `:text' (nil: what is on disk), `:method', `:line', `:character',
/// `:deadlineMs', `:patienceMs', `:starts'.  At most MAX-SERVERS run, each until
/// IDLE-SECONDS without a question.
#[defun]
fn lsp_ask<'e>(env: &'e Env, ask: Value<'e>, max_servers: usize, idle_seconds: u64) -> Result<u64> {
    let ask = de::from_lisp::<Ask>(ask).or_else(|e| bad_value(env, &e))?;
    let limits = Limits { max_servers, idle: Duration::from_secs(idle_seconds) };
    with(|servers| servers.ask(ask, limits))
}

/// Return the answers that have come since the last call, a list of plists.
///
/// `:token'; `:status', ok or a code of the protocol, `:reason', `:retry'; and of
/// a success `:result' (JSON text), `:encoding', `:declarations' (JSON text); of
/// diagnostics instead `:items', as in the facts, and `:fresh' (t or `:json-false').
#[defun]
fn lsp_poll<'e>(env: &'e Env) -> Result<Value<'e>> {
    let answers = with(|servers| servers.poll())?;
    let mut list = ().into_lisp(env)?;
    for answer in answers.into_iter().rev() {
        list = env.cons(plist(env, answer)?, list)?;
    }
    Ok(list)
}

fn plist<'e>(env: &'e Env, answer: Answer) -> Result<Value<'e>> {
    let mut entries = vec![(":token", answer.token.into_lisp(env)?)];
    match answer.outcome {
        Ok(found) => {
            entries.push((":status", "ok".into_lisp(env)?));
            if let Some(fresh) = found.fresh {
                let items = serde_json::from_str(&found.result).map_err(emacs::Error::new)?;
                entries.push((":items", vectors(env, &items)?));
                entries.push((":fresh", env.intern(if fresh { "t" } else { ":json-false" })?));
            } else {
                entries.push((":result", found.result.into_lisp(env)?));
                let encoding = found.encoding.as_ref().map(|encoding| encoding.as_str());
                entries.push((":encoding", encoding.into_lisp(env)?));
            }
            if let Some(declarations) = found.declarations {
                entries.push((":declarations", declarations.into_lisp(env)?));
            }
        }
        Err(trouble) => {
            entries.push((":status", trouble.code.into_lisp(env)?));
            entries.push((":reason", trouble.reason.into_lisp(env)?));
            entries.push((":retry", trouble.retry.into_lisp(env)?));
        }
    }
    let mut list = ().into_lisp(env)?;
    for (key, value) in entries.into_iter().rev() {
        list = env.cons(env.intern(key)?, env.cons(value, list)?)?;
    }
    Ok(list)
}

/// Return the folder that a server for PATH runs in, or nil if PATH lies in none of
/// FOLDERS, a vector: the nearest around it that holds one of MARKERS, a vector of
/// file names, but none above the innermost of FOLDERS.
#[defun]
fn lsp_root<'e>(
    env: &'e Env,
    path: Value<'e>,
    folders: Value<'e>,
    markers: Value<'e>,
) -> Result<Option<String>> {
    let path = de::text(path).or_else(|e| bad_value(env, &e))?;
    let folders = de::from_lisp::<Vec<PathBuf>>(folders).or_else(|e| bad_value(env, &e))?;
    let markers = de::from_lisp::<Vec<String>>(markers).or_else(|e| bad_value(env, &e))?;
    let root = root(Path::new(&path), &folders, &markers);
    Ok(root.map(|root| root.to_string_lossy().into_owned()))
}

/// Return what typescript-language-server is told for ROOT, a plist, or what is to
/// be installed for it, a string.
///
/// The tsserver beside one of PROGRAMS, absolute names, is used, not the one that
/// the project may bring, so the project's plugins are not run; nothing is
/// downloaded; and there is one tsserver: the second, partial one would answer
/// wrongly while the project is loaded.
#[defun]
fn lsp_tsserver<'e>(env: &'e Env, programs: Value<'e>, root: Value<'e>) -> Result<Value<'e>> {
    let programs = de::from_lisp::<Vec<PathBuf>>(programs).or_else(|e| bad_value(env, &e))?;
    let root = de::text(root).or_else(|e| bad_value(env, &e))?;
    match tsserver_options(&programs, Path::new(&root)) {
        Some(options) => to_lisp(env, &options),
        None => NO_TSSERVER.into_lisp(env),
    }
}

/// Return t if a server of the row NAME runs for ROOT.
#[defun]
fn lsp_running_p<'e>(env: &'e Env, name: Value<'e>, root: Value<'e>) -> Result<bool> {
    let name = de::text(name).or_else(|e| bad_value(env, &e))?;
    let root = de::text(root).or_else(|e| bad_value(env, &e))?;
    with(|servers| servers.is_running(&name, &root))
}

/// Return the root of the running server of the row NAME that named PATH, or nil.
#[defun]
fn lsp_who_named<'e>(env: &'e Env, name: Value<'e>, path: Value<'e>) -> Result<Option<String>> {
    let name = de::text(name).or_else(|e| bad_value(env, &e))?;
    let path = de::text(path).or_else(|e| bad_value(env, &e))?;
    with(|servers| servers.who_named(&name, &path))
}

/// Stop the servers of the row NAME that run for PATH, which the editor serves.
#[defun]
fn lsp_make_way<'e>(env: &'e Env, name: Value<'e>, path: Value<'e>) -> Result<()> {
    let name = de::text(name).or_else(|e| bad_value(env, &e))?;
    let path = de::text(path).or_else(|e| bad_value(env, &e))?;
    with(|servers| servers.make_way(&name, &path))
}

/// Return the servers, a list of plists.
///
/// `:id', `:name', `:root', `:state', `:pid', `:memoryBytes', `:nAsked',
/// `:nTimeouts', `:lastWords' (a list of strings, the newest last).
#[defun]
fn lsp_servers<'e>(env: &'e Env) -> Result<Value<'e>> {
    let list = with(|servers| servers.list())?;
    to_lisp(env, &serde_json::to_value(list).map_err(emacs::Error::new)?)
}

/// Stop the server with ID, nil for all, waiting at most MAX-MS milliseconds for its
/// end, which comes in any case.
#[defun]
fn lsp_stop(id: Option<u64>, max_ms: u64) -> Result<()> {
    with(|servers| servers.stop(id, Duration::from_millis(max_ms)))
}

fn with<T>(work: impl FnOnce(&mut Servers) -> T) -> Result<T> {
    SERVERS.with(|cell| {
        let mut servers = cell.try_borrow_mut().map_err(emacs::Error::new)?;
        Ok(work(servers.get_or_insert_with(|| ManuallyDrop::new(Servers::new(channel::waker())))))
    })
}
