//! The running Emacs, asked through its socket. It knows no tool.
//!
//! Each question has a connection of its own: nothing is shared that one stuck question could spoil, and
//! one that is given up is taken back by hanging up.

use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::Uid;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

use crate::socket::place::{self, Socket};
use crate::wire;

/// For so long an Emacs beside others is waited for when it is to say who it is.
const MAX_HELLO: Duration = Duration::from_millis(1500);
/// A larger answer is none.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// What an Emacs says of itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Hello {
    pub(crate) name: String,
    pub(crate) pid: u32,
    /// `session`, `project`, `sessions` or `none`: how near the working directory is to it.
    pub(crate) why: String,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) current: Option<Current>,
}

/// Where the user is, lines and characters from 0.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Current {
    pub(crate) path: PathBuf,
    pub(crate) line: u64,
    pub(crate) character: u64,
}

/// Why no Emacs answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// None listens.
    NotRunning,
    /// It runs and does not answer in time.
    Busy(String),
    /// They run, and the working directory is none of their business.
    Elsewhere(Vec<String>),
}

/// A connection to an Emacs that has said who it is.
pub(crate) struct Editor {
    pub(crate) hello: Hello,
    connection: Connection,
}

/// The Emacs called `name`, or else the one that is nearest to `directory`.
pub(crate) async fn find(
    name: Option<&str>,
    directory: &Path,
    deadline: Instant,
) -> Result<Editor, Missing> {
    let mut sockets = living();
    if let Some(name) = name {
        sockets.retain(|socket| is_called(socket, name));
    }
    let alone = sockets.len() == 1;
    let limit = if alone { deadline } else { deadline.min(Instant::now() + MAX_HELLO) };
    let mut tasks = Vec::new();
    for socket in sockets {
        let directory = directory.to_path_buf();
        tasks.push(tokio::spawn(async move {
            let greeted = timeout_at(limit, greet(&socket, &directory)).await;
            (socket, greeted)
        }));
    }
    let (mut editors, mut silent) = (Vec::new(), None);
    for task in tasks {
        match task.await {
            Ok((_, Ok(Ok(editor)))) => editors.push(editor),
            // Nobody listens there any more, or it is no socket of ours.
            Ok((_, Ok(Err(_)))) | Err(_) => (),
            Ok((socket, Err(_))) => silent = Some(socket),
        }
    }
    choose(editors, silent)
}

fn choose(mut editors: Vec<Editor>, silent: Option<Socket>) -> Result<Editor, Missing> {
    editors.sort_by_key(|editor| rank(&editor.hello.why));
    let names = || editors.iter().map(|editor| editor.hello.name.clone()).collect();
    match (editors.first().map(|editor| rank(&editor.hello.why)), silent) {
        // One that does not answer might be nearer than one that only has sessions elsewhere.
        (Some(0 | 1), _) | (Some(2), None) => Ok(editors.swap_remove(0)),
        (_, Some(socket)) => Err(Missing::Busy(socket.name)),
        (Some(_), None) => Err(Missing::Elsewhere(names())),
        (None, None) => Err(Missing::NotRunning),
    }
}

fn rank(why: &str) -> u8 {
    match why {
        "session" => 0,
        "project" => 1,
        "sessions" => 2,
        _ => 3,
    }
}

/// Sockets that this user's Emacsen may listen on.
fn living() -> Vec<Socket> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folders = place::folders(runtime.as_deref());
    let safe = folders.iter().filter(|folder| place::check(folder).is_ok());
    safe.flat_map(|folder| place::sockets(folder)).collect()
}

fn is_called(socket: &Socket, name: &str) -> bool {
    let pid = socket.pid.to_string();
    socket.name == name || pid == name || format!("{}.{pid}", socket.name) == name
}

async fn greet(socket: &Socket, directory: &Path) -> io::Result<Editor> {
    let stream = UnixStream::connect(&socket.path).await?;
    if stream.peer_cred()?.uid() != Uid::effective().as_raw() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let mut connection = Connection { stream: BufReader::new(stream), n_asked: 0 };
    let params = json!({"workingDirectory": directory});
    let hello = connection.ask("editor/hello", &params).await?.unwrap_or_default();
    let hello = serde_json::from_value(hello).map_err(Error::other)?;
    Ok(Editor { hello, connection })
}

impl Editor {
    /// The result of `method`, or the message of the error that answers it.
    pub(crate) async fn ask(
        &mut self,
        method: &str,
        params: &Value,
    ) -> io::Result<Result<Value, String>> {
        self.connection.ask(method, params).await
    }
}

struct Connection {
    stream: BufReader<UnixStream>,
    n_asked: u64,
}

impl Connection {
    async fn ask(&mut self, method: &str, params: &Value) -> io::Result<Result<Value, String>> {
        self.n_asked += 1;
        let id = self.n_asked;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.stream.get_mut().write_all(&wire::frame(body.to_string().into_bytes())).await?;
        loop {
            let mut body: Value =
                serde_json::from_slice(&self.read().await?).map_err(Error::other)?;
            if let Some(message) = body["error"]["message"].as_str() {
                return Ok(Err(message.into()));
            }
            if body["id"] == id {
                return Ok(Ok(body["result"].take()));
            }
        }
    }

    /// The next body: our own peer writes no other header.
    async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut n_bytes = None;
        let mut line = String::new();
        loop {
            line.clear();
            if (&mut self.stream).take(1024).read_line(&mut line).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(length) = line.strip_prefix("Content-Length:") {
                n_bytes = length.trim().parse::<u64>().ok();
            } else if line.trim().is_empty() {
                break;
            }
        }
        let n_bytes = n_bytes.filter(|n| *n <= MAX_BODY_BYTES).ok_or(ErrorKind::InvalidData)?;
        let mut body = Vec::new();
        (&mut self.stream).take(n_bytes).read_to_end(&mut body).await?;
        if (body.len() as u64) < n_bytes { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
    }
}
