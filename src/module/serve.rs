//! The socket for Lisp: requests in, frames out, and Emacs is woken when there are any. It knows no
//! method.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde_json::Value as Json;

use super::{bad_value, channel, de, eca_context_error, id_text, to_lisp, vectors};
use crate::socket::Listener;
use crate::wire;

thread_local! {
    // Emacs may end without any goodbye: then the socket is a leftover that the next one removes.
    static LISTENER: RefCell<Option<ManuallyDrop<Listener>>> = const { RefCell::new(None) };
}

/// Listen on a socket for programs of this user and return its file name.
///
/// RUNTIME is the user's runtime directory or nil, NAME what this Emacs is called.
/// A socket of an earlier call is given up.  An error tells why there is none.
#[defun]
fn serve_start<'e>(env: &'e Env, runtime: Option<Value<'e>>, name: Value<'e>) -> Result<Value<'e>> {
    let runtime = runtime.map(de::text).transpose().or_else(|e| bad_value(env, &e))?;
    let runtime = runtime.map(PathBuf::from);
    let name = de::text(name).or_else(|e| bad_value(env, &e))?;
    stop();
    match Listener::new(runtime.as_deref(), &name, channel::waker()) {
        Ok(listener) => {
            let path = listener.path().to_string_lossy().into_owned();
            LISTENER.with(|cell| cell.replace(Some(ManuallyDrop::new(listener))));
            path.into_lisp(env)
        }
        Err(error) => env.signal(eca_context_error, (error.to_string(),)),
    }
}

/// Give up the socket and let all clients go.
#[defun]
fn serve_stop() -> Result<()> {
    stop();
    Ok(())
}

fn stop() {
    let before = LISTENER.with(|cell| cell.replace(None));
    drop(before.map(ManuallyDrop::into_inner));
}

/// Return the requests that have come since the last call, a list of plists.
///
/// `:client', `:id', `:method', `:params'; the params are plists with keywords and
/// vectors, false is `:json-false' in them.
#[defun]
fn serve_poll<'e>(env: &'e Env) -> Result<Value<'e>> {
    let requests = LISTENER.with(|cell| cell.borrow().as_ref().map(|l| l.poll()));
    let mut list = ().into_lisp(env)?;
    for request in requests.unwrap_or_default().into_iter().rev() {
        let mut plist = ().into_lisp(env)?;
        for (key, value) in [
            (":params", vectors(env, &request.params)?),
            (":method", request.method.into_lisp(env)?),
            (":id", to_lisp(env, &request.id)?),
            (":client", (request.client as i64).into_lisp(env)?),
        ] {
            plist = env.cons(env.intern(key)?, env.cons(value, plist)?)?;
        }
        list = env.cons(plist, list)?;
    }
    Ok(list)
}

/// Have FRAME, a unibyte string, written to CLIENT if it is there still; wait for nothing.
#[defun]
fn serve_answer<'e>(env: &'e Env, client: i64, frame: Value<'e>) -> Result<()> {
    let frame = de::text(frame).or_else(|e| bad_value(env, &e))?.into_bytes();
    LISTENER.with(|cell| {
        if let Some(listener) = &*cell.borrow() {
            listener.answer(client as u64, frame);
        }
    });
    Ok(())
}

/// Return (CLIENTS . REQUESTS): how many are connected, and how many requests there were.
#[defun]
fn serve_count<'e>(env: &'e Env) -> Result<Value<'e>> {
    let (n_clients, n_requests) =
        LISTENER.with(|cell| cell.borrow().as_ref().map(|l| l.count())).unwrap_or_default();
    env.cons(n_clients, n_requests as i64)
}

/// Return the frame that answers request ID with RESULT, a plist with keywords and vectors.
#[defun]
fn result_frame<'e>(env: &'e Env, id: Value<'e>, result: Value<'e>) -> Result<Value<'e>> {
    let result = de::from_lisp::<Json>(result).or_else(|e| bad_value(env, &e))?;
    wire::frame(wire::result_body(&id_text(env, id)?, &result)).into_lisp(env)
}
