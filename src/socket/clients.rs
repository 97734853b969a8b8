//! Who is connected and what they have asked. It knows no socket's name.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::Value;

use super::{MAX_BODY_BYTES, Request};
use crate::threads::spawn_quiet;
use crate::wire::{self, frame};

/// So many may be connected at once.
const MAX_CLIENTS: usize = 64;
/// So many of one client's requests may wait to be fetched, and so many answers to be read.
const MAX_WAITING: usize = 64;
/// Whoever reads nothing for so long is gone.
const MAX_WRITE: Duration = Duration::from_secs(10);

/// JSON-RPC's codes, the last one ours.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const BUSY: i32 = -32000;

/// The clients, shared by all threads.
pub(super) struct Clients {
    inner: Mutex<Inner>,
    /// Called when a request is there and none was.
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Inner {
    connected: HashMap<u64, Client>,
    last_client: u64,
    requests: VecDeque<Request>,
    n_requests: u64,
}

struct Client {
    stream: UnixStream,
    answers: Sender<Vec<u8>>,
}

impl Clients {
    pub(super) fn new(wake: Box<dyn Fn() + Send + Sync>) -> Self {
        Self { inner: Mutex::default(), wake }
    }

    fn look(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves `stream` in threads of its own. One client too many is told so and let go.
    pub(super) fn welcome(self: &Arc<Self>, stream: UnixStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(MAX_WRITE))?;
        let (answers, to_write) = bounded(MAX_WAITING);
        let client = {
            let mut inner = self.look();
            if inner.connected.len() >= MAX_CLIENTS {
                drop(inner);
                return refuse(stream);
            }
            inner.last_client += 1;
            let id = inner.last_client;
            let client = Client { stream: stream.try_clone()?, answers: answers.clone() };
            inner.connected.insert(id, client);
            id
        };
        let output = stream.try_clone()?;
        spawn_quiet("eca-context-write", move || write(output, &to_write))?;
        let clients = Arc::clone(self);
        spawn_quiet("eca-context-read", move || {
            clients.read(client, &stream, &answers);
            clients.forget(client);
        })?;
        Ok(())
    }

    /// Reads what `client` asks until it is gone.
    fn read(&self, client: u64, stream: &UnixStream, answers: &Sender<Vec<u8>>) {
        let mut input = BufReader::new(stream);
        while let Ok(Some(body)) = frame::read(&mut input, MAX_BODY_BYTES) {
            let answer = match parse(&body) {
                Ok(Some((id, method, params))) => {
                    let text = id.to_string();
                    if self.ask(Request { client, id, method, params }) {
                        continue;
                    }
                    wire::error_body(&text, BUSY, "eca-context: too many requests are waiting")
                }
                // A notification: there is none that we know.
                Ok(None) => continue,
                Err((code, message)) => wire::error_body("null", code, &message),
            };
            if answers.try_send(frame(answer)).is_err() {
                break;
            }
        }
    }

    /// Puts `request` where it is fetched; false if its client waits for too much already.
    fn ask(&self, request: Request) -> bool {
        let was_empty = {
            let mut inner = self.look();
            let n = inner.requests.iter().filter(|r| r.client == request.client).count();
            if n >= MAX_WAITING {
                return false;
            }
            inner.n_requests += 1;
            inner.requests.push_back(request);
            inner.requests.len() == 1
        };
        // The lock is gone: whoever is woken may take it at once.
        if was_empty {
            (self.wake)();
        }
        true
    }

    pub(super) fn take(&self) -> VecDeque<Request> {
        std::mem::take(&mut self.look().requests)
    }

    /// Has `frame` written to `client`, if it is there still. One that lets too much lie is let go.
    pub(super) fn answer(&self, client: u64, frame: Vec<u8>) {
        let mut inner = self.look();
        let is_full = |client: &Client| client.answers.try_send(frame).is_err();
        if inner.connected.get(&client).is_some_and(is_full)
            && let Some(client) = inner.connected.remove(&client)
        {
            let _ = client.stream.shutdown(Shutdown::Both);
        }
    }

    /// Forgets `client` and what it asked that nobody has fetched.
    fn forget(&self, client: u64) {
        let mut inner = self.look();
        inner.connected.remove(&client);
        inner.requests.retain(|request| request.client != client);
    }

    /// Lets all go.
    pub(super) fn dismiss(&self) {
        let mut inner = self.look();
        for (_, client) in inner.connected.drain() {
            let _ = client.stream.shutdown(Shutdown::Both);
        }
        inner.requests.clear();
    }

    /// How many are connected, and how many requests there were.
    pub(super) fn count(&self) -> (usize, u64) {
        let inner = self.look();
        (inner.connected.len(), inner.n_requests)
    }
}

fn refuse(mut stream: UnixStream) -> std::io::Result<()> {
    let body = wire::error_body("null", BUSY, "eca-context: too many programs are connected");
    // A new socket's buffer takes so little at once.
    stream.set_nonblocking(true)?;
    stream.write_all(&frame(body))
}

/// Writes until nobody has anything to say any more, or nobody reads.
fn write(mut output: UnixStream, frames: &Receiver<Vec<u8>>) {
    for frame in frames {
        if output.write_all(&frame).is_err() {
            break;
        }
    }
    let _ = output.shutdown(Shutdown::Both);
}

type Parsed = (Value, String, Value);

/// Id, method and params of a request; `None` for a notification.
fn parse(body: &str) -> Result<Option<Parsed>, (i32, String)> {
    let body: Value =
        serde_json::from_str(body).map_err(|e| (PARSE_ERROR, format!("eca-context: {e}")))?;
    let wrong = |what: &str| (INVALID_REQUEST, format!("eca-context: {what}"));
    let Value::Object(mut message) = body else {
        return Err(wrong("a request is an object"));
    };
    let id = message.remove("id");
    let Some(Value::String(method)) = message.remove("method") else {
        return Err(wrong("a request has a method, a string"));
    };
    let Some(id) = id else { return Ok(None) };
    if !(id.is_string() || id.is_i64()) {
        return Err(wrong("an id is a string or an integer of 64 bits"));
    }
    Ok(Some((id, method, message.remove("params").unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_a_request() {
        let full = r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[]}}"#;
        assert_eq!(parse(full), Ok(Some((json!("a"), "m".into(), json!({"x": []})))));
        assert_eq!(
            parse(r#"{"id":0,"method":"m"}"#),
            Ok(Some((json!(0), "m".into(), json!(null))))
        );
        assert_eq!(parse(r#"{"method":"m"}"#), Ok(None));
        for (body, code) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("5", INVALID_REQUEST),
            (r#"{"id":1}"#, INVALID_REQUEST),
            (r#"{"id":1,"method":5}"#, INVALID_REQUEST),
            (r#"{"id":1,"result":5}"#, INVALID_REQUEST),
            (r#"{"id":null,"method":"m"}"#, INVALID_REQUEST),
            (r#"{"id":1.5,"method":"m"}"#, INVALID_REQUEST),
            (r#"{"id":18446744073709551615,"method":"m"}"#, INVALID_REQUEST),
        ] {
            assert_eq!(parse(body).expect_err("no request").0, code, "{body}");
        }
        assert_eq!(parse(&"[".repeat(100_000)).expect_err("too deep").0, PARSE_ERROR);
    }
}
