//! A socket that is listened on. It knows no message.

use std::fs;
use std::io::{self, Error, ErrorKind, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Uid;

use super::Request;
use super::clients::Clients;
use super::place::{self, Socket};
use crate::threads::spawn_quiet;

/// Listens for programs of this user until it is dropped or this process ends.
pub struct Listener {
    path: PathBuf,
    /// What tells our socket from one that took its place.
    inode: u64,
    clients: Arc<Clients>,
    stop: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens on a new socket for the Emacs called `name`.
    ///
    /// `runtime` is the environment variable XDG_RUNTIME_DIR. `wake` is called, in any thread, when a
    /// request is there and none was. Sockets that were left over are removed.
    ///
    /// *Errors*: what the system gives; `PermissionDenied` if others could enter the folder.
    pub fn new(
        runtime: Option<&Path>,
        name: &str,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> io::Result<Self> {
        let folder = place::make_folder(runtime)?;
        remove_leftovers(&folder);
        let path = folder.join(place::file_name(name, std::process::id()));
        let listener = bind(&path)?;
        let inode = fs::symlink_metadata(&path)?.ino();
        listener.set_nonblocking(true)?;
        let clients = Arc::new(Clients::new(wake));
        let (stopped, stop) = io::pipe()?;
        let thread = {
            let clients = Arc::clone(&clients);
            spawn_quiet("eca-context-accept", move || accept(&listener, &stopped, &clients))?
        };
        Ok(Self { path, inode, clients, stop, thread: Some(thread) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The requests that have come since the last call.
    pub fn poll(&self) -> Vec<Request> {
        self.clients.take().into()
    }

    /// Has `frame` written to `client`, without waiting; nothing happens if it is gone.
    pub fn answer(&self, client: u64, frame: Vec<u8>) {
        self.clients.answer(client, frame);
    }

    /// How many are connected, and how many requests there were.
    pub fn count(&self) -> (usize, u64) {
        self.clients.count()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|about| about.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.stop.write_all(b"\n");
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.clients.dismiss();
    }
}

/// A socket at `path`, which is there only once somebody listens and others are kept out.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unready = path.with_file_name(format!(".{name}"));
    let _ = fs::remove_file(&unready);
    let listener = UnixListener::bind(&unready).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => Error::other(format!("{} is too long", path.display())),
        kind => Error::new(kind, format!("{}: {error}", path.display())),
    })?;
    fs::set_permissions(&unready, fs::Permissions::from_mode(0o600))?;
    fs::rename(&unready, path)?;
    Ok(listener)
}

/// Removes the sockets that nobody listens on.
fn remove_leftovers(folder: &Path) {
    for Socket { path, .. } in place::sockets(folder) {
        if UnixStream::connect(&path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Welcomes whoever may come in, until `stopped` says something.
fn accept(listener: &UnixListener, mut stopped: &io::PipeReader, clients: &Arc<Clients>) {
    loop {
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = [watch(listener.as_fd()), watch(stopped.as_fd())];
        if poll(&mut fds, PollTimeout::NONE).is_err() {
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        if fds[1].any().unwrap_or(true) {
            let _ = stopped.read(&mut [0]);
            return;
        }
        match listener.accept() {
            Ok((stream, _)) if is_ours(peer(&stream)) => {
                // On some systems it is as its listener.
                if stream.set_nonblocking(false).is_ok() {
                    let _ = clients.welcome(stream);
                }
            }
            Ok(_) => (),
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            // As when there are too many files open: it may pass.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Whether a peer with that user id may come in; unknown is nobody.
pub(super) fn is_ours(peer: Option<u32>) -> bool {
    peer == Some(Uid::effective().as_raw())
}

/// The user id of whoever is at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn peer(stream: &UnixStream) -> Option<u32> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    getsockopt(stream, PeerCredentials).ok().map(|peer| peer.uid())
}

/// The user id of whoever is at the other end.
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(super) fn peer(stream: &UnixStream) -> Option<u32> {
    use nix::sys::socket::{getsockopt, sockopt::LocalPeerCred};
    getsockopt(stream, LocalPeerCred).ok().map(|peer| peer.uid())
}

/// Nobody is let in where it cannot be told who comes.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
)))]
pub(super) fn peer(_: &UnixStream) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::time::Instant;

    use crossbeam_channel::unbounded;
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::frame;

    struct Door {
        listener: Listener,
        woken: crossbeam_channel::Receiver<()>,
        dir: tempfile::TempDir,
    }

    fn door() -> Door {
        let dir = tempfile::tempdir().expect("a folder");
        let (wake, woken) = unbounded();
        let wake = Box::new(move || {
            let _ = wake.send(());
        });
        let listener = Listener::new(Some(dir.path()), "server", wake).expect("a socket");
        Door { listener, woken, dir }
    }

    impl Door {
        fn client(&self) -> UnixStream {
            UnixStream::connect(self.listener.path()).expect("somebody listens")
        }

        /// The next requests.
        fn requests(&self) -> Vec<Request> {
            self.woken.recv_timeout(Duration::from_secs(20)).expect("a request");
            self.listener.poll()
        }
    }

    fn say(mut client: &UnixStream, body: &str) {
        client.write_all(&frame(body.into())).expect("it is read");
    }

    fn hear(client: &UnixStream) -> Option<Value> {
        let body = frame::read(&mut BufReader::new(client), 1 << 20).ok().flatten()?;
        serde_json::from_str(&body).ok()
    }

    fn until(done: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done() {
            assert!(Instant::now() < deadline, "it never came");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_question_and_its_answer() {
        let door = door();
        let client = door.client();
        say(&client, r#"{"id":1,"method":"m","params":{"a":[]}}"#);
        let [request] = &door.requests()[..] else { panic!("one request") };
        assert_eq!((&request.method[..], &request.params), ("m", &json!({"a": []})));
        door.listener.answer(request.client, frame(b"{\"id\":1}".to_vec()));
        assert_eq!(hear(&client), Some(json!({"id": 1})));
        assert_eq!(door.listener.count(), (1, 1));
        let mode = fs::metadata(door.listener.path()).expect("a socket").mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_question_is_answered_at_once() {
        let door = door();
        let client = door.client();
        (&client).write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is read");
        say(&client, "{");
        assert_eq!(hear(&client).expect("an error")["error"]["code"], -32700);
        say(&client, r#"{"method":"told"}"#);
        say(&client, r#"{"id":{},"method":"m"}"#);
        assert_eq!(hear(&client).expect("an error")["error"]["code"], -32600);
        assert!(door.listener.poll().is_empty());
        // One that announces too much is let go, another one is served.
        (&client).write_all(b"Content-Length: 99999999999\r\n\r\n").expect("it is read");
        assert_eq!(hear(&client), None);
        let other = door.client();
        say(&other, r#"{"id":2,"method":"m"}"#);
        assert_eq!(door.requests()[0].id, 2);
    }

    #[test]
    fn who_is_gone_has_asked_nothing() {
        let door = door();
        let client = door.client();
        say(&client, r#"{"id":1,"method":"m"}"#);
        door.woken.recv_timeout(Duration::from_secs(20)).expect("a request");
        drop(client);
        until(|| door.listener.count().0 == 0);
        assert!(door.listener.poll().is_empty());
        door.listener.answer(1, b"nobody".to_vec());
    }

    #[test]
    fn who_asks_without_end_is_told_so() {
        let door = door();
        let client = door.client();
        for id in 0..65 {
            say(&client, &format!("{{\"id\":{id},\"method\":\"m\"}}"));
        }
        let refused = hear(&client).expect("an answer");
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(64), &json!(-32000)));
        assert_eq!(door.listener.poll().len(), 64);
    }

    #[test]
    fn who_never_reads_is_let_go() {
        let door = door();
        let client = door.client();
        say(&client, r#"{"id":1,"method":"m"}"#);
        let asker = door.requests()[0].client;
        let start = Instant::now();
        while door.listener.count().0 > 0 {
            door.listener.answer(asker, vec![b'x'; 1 << 20]);
        }
        assert!(start.elapsed() < Duration::from_secs(5), "nobody waited for it");
    }

    #[test]
    fn one_client_too_many() {
        let door = door();
        let clients: Vec<UnixStream> = (0..64).map(|_| door.client()).collect();
        until(|| door.listener.count().0 == 64);
        let refused = hear(&door.client()).expect("an answer");
        assert_eq!(refused["error"]["code"], -32000);
        drop(clients);
        until(|| door.listener.count().0 == 0);
        say(&door.client(), r#"{"id":1,"method":"m"}"#);
    }

    #[test]
    fn leftovers_go_and_the_living_stay() {
        let door = door();
        let folder = door.listener.path().parent().expect("a folder").to_path_buf();
        let leftover = folder.join("server.1");
        drop(UnixListener::bind(&leftover).expect("a socket"));
        let wake = || Box::new(|| ()) as Box<dyn Fn() + Send + Sync>;
        let other = Listener::new(Some(door.dir.path()), "other", wake()).expect("a second one");
        assert!(!leftover.exists());
        let names: Vec<String> = place::sockets(&folder).into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["other", "server"]);
        drop(other);
        let path = door.listener.path().to_path_buf();
        // Whoever took the place keeps it.
        fs::remove_file(&path).expect("ours");
        fs::write(&path, "").expect("a file");
        drop(door.listener);
        assert!(path.exists());
    }

    #[test]
    fn only_the_user_comes_in() {
        let uid = Uid::effective().as_raw();
        assert!(is_ours(Some(uid)));
        assert!(!is_ours(Some(uid + 1)));
        assert!(!is_ours(None));
        let (one, _other) = UnixStream::pair().expect("a pair");
        assert_eq!(peer(&one), Some(uid));
    }
}
