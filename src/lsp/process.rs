//! A server as a process: a group of its own, three pipes, and nobody left behind. It knows no
//! message.
//!
//! The group goes with us even when we are killed: a watchman outside the group waits for the end of
//! a pipe that only we hold, and kills the group then. `PR_SET_PDEATHSIG` would reach the leader
//! alone, and is tied to the thread that started it. On Windows the job object does the same.

use std::io;
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap};

/// A running server.
pub(crate) struct Process {
    child: Box<dyn ChildWrapper>,
    #[cfg(unix)]
    watchman: Option<Watchman>,
}

/// The server's ends of the pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts `command`, a program and its arguments, in the folder `root`.
    ///
    /// To be called in a thread that blocks no signals: the child inherits what is blocked.
    pub(crate) fn start(command: &[String], root: &Path) -> io::Result<(Self, Pipes)> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut inner = Command::new(program);
        inner.args(arguments).current_dir(root);
        inner.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut wrap = CommandWrap::from(inner);
        #[cfg(unix)]
        wrap.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        wrap.wrap(process_wrap::std::JobObject);
        let mut child = wrap.spawn()?;
        let pipes = Pipes {
            stdin: child.stdin().take().expect("it was piped"),
            stdout: child.stdout().take().expect("it was piped"),
            stderr: child.stderr().take().expect("it was piped"),
        };
        #[cfg(unix)]
        let watchman = Watchman::start(child.id()).ok();
        let process = Self {
            child,
            #[cfg(unix)]
            watchman,
        };
        Ok((process, pipes))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Gives the leader until `limit` to end, then kills the whole group; returns how it ended.
    pub(crate) fn end(mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // What the leader has left behind is in its group still; a group that is empty is no error.
        let _ = self.child.start_kill();
        let status = self.child.wait().ok();
        #[cfg(unix)]
        if let Some(watchman) = self.watchman.take() {
            watchman.dismiss();
        }
        status
    }
}

/// How a process ended, in words.
pub(crate) fn describe(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|s| std::os::unix::process::ExitStatusExt::signal(&s)) {
        return format!("killed by signal {signal}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("exited with status {code}"),
        None => "gone".into(),
    }
}

/// Kills a process group when we are gone.
#[cfg(unix)]
struct Watchman {
    child: std::process::Child,
}

#[cfg(unix)]
impl Watchman {
    /// A line tells it to leave; without one the end of its input is our end. The server sees the
    /// end of its own input then, too, and has a second to leave by itself. The form of `kill` is the
    /// one that all shells have.
    const SCRIPT: &str = r#"trap '' HUP INT TERM; read -r line && exit
sleep 1; kill -s KILL -- "-$1""#;

    fn start(group: u32) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let child = Command::new("/bin/sh")
            .args(["-c", Self::SCRIPT, "eca-context-watchman", &group.to_string()])
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child })
    }

    fn dismiss(mut self) {
        if let Some(mut stdin) = self.child.stdin.take() {
            let _ = io::Write::write_all(&mut stdin, b"\n");
        }
        let _ = self.child.wait();
    }
}

/// The resident memory of the group that `leader` leads, in bytes; `None` where it cannot be told.
pub(crate) fn memory_bytes(leader: u32) -> Option<u64> {
    let mut total = None;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).ok();
        let Some(stat) = read("stat") else { continue };
        // After the name, which may hold anything: state, parent, group.
        let group = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(2));
        if group.and_then(|group| group.parse().ok()) == Some(leader) {
            let n_kib = read("status").and_then(|status| {
                let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
                line.split_whitespace().nth(1)?.parse::<u64>().ok()
            });
            total = Some(total.unwrap_or(0) + 1024 * n_kib.unwrap_or(0));
        }
    }
    total
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Read;

    use super::*;

    fn shell(script: &str) -> (Process, Pipes) {
        let command = ["/bin/sh", "-c", script].map(String::from);
        Process::start(&command, Path::new("/")).expect("there is a shell")
    }

    fn has_members(group: u32) -> bool {
        memory_bytes(group).is_some()
    }

    #[test]
    fn the_whole_group_goes() {
        let (process, mut pipes) = shell("trap '' TERM; sleep 1000 & echo started; wait");
        let mut line = [0; 8];
        pipes.stdout.read_exact(&mut line).expect("it says so");
        let group = process.id();
        assert!(has_members(group));
        let status = process.end(Duration::ZERO);
        assert_eq!(describe(status), "killed by signal 9");
        let mut rest = String::new();
        // The background process held the pipe open as long as it lived.
        pipes.stdout.read_to_string(&mut rest).expect("the pipe ends");
        let deadline = Instant::now() + Duration::from_secs(5);
        while has_members(group) && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(!has_members(group));
    }

    #[test]
    fn the_watchman_kills_whom_we_leave_behind() {
        let (mut process, _pipes) = shell("trap '' TERM HUP; sleep 1000 & wait");
        let group = process.id();
        let mut watchman = process.watchman.take().expect("it was started");
        // As if we were gone: nobody holds the other end of its input.
        drop(watchman.child.stdin.take());
        assert!(watchman.child.wait().expect("it is our child").success());
        assert_eq!(describe(process.child.wait().ok()), "killed by signal 9");
        let deadline = Instant::now() + Duration::from_secs(5);
        while has_members(group) && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(!has_members(group));
    }

    #[test]
    fn an_end_of_its_own_is_waited_for() {
        let (process, pipes) = shell("read x; exit 3");
        drop(pipes.stdin);
        assert_eq!(describe(process.end(Duration::from_secs(20))), "exited with status 3");
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let missing = ["/no/such/program".to_string()];
        assert!(Process::start(&missing, Path::new("/")).is_err());
        assert!(Process::start(&[], Path::new("/")).is_err());
    }
}
