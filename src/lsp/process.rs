//! A server as a process: a group of its own, three pipes, and nobody left behind. It knows no
//! message.
//!
//! The group goes with us even when we are killed: a watchman leads it, who is there before the
//! server is, waits for the end of a pipe that only we hold, and kills the group then.
//! `PR_SET_PDEATHSIG` would reach the server alone, and is tied to the thread that started it. On
//! Windows the job object does the same.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap};

use super::variable;

/// A running server.
pub(crate) struct Process {
    child: Box<dyn ChildWrapper>,
    #[cfg(unix)]
    watchman: Watchman,
}

/// The server's ends of the pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts `command`, a program and its arguments, in the folder `root`, with `environment` in place
    /// of our own.
    ///
    /// To be called in a thread that blocks no signals: the child inherits what is blocked.
    pub(crate) fn start(
        command: &[String],
        environment: Option<&[String]>,
        root: &Path,
    ) -> io::Result<(Self, Pipes)> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut inner = Command::new(program);
        inner.args(arguments).current_dir(root);
        if let Some(environment) = environment {
            inherit(&mut inner, environment);
        }
        inner.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        let watchman = Watchman::start()?;
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut inner, watchman.group());
        let mut wrap = CommandWrap::from(inner);
        #[cfg(windows)]
        wrap.wrap(process_wrap::std::JobObject);
        let mut child = wrap.spawn()?;
        let pipes = Pipes {
            stdin: child.stdin().take().expect("it was piped"),
            stdout: child.stdout().take().expect("it was piped"),
            stderr: child.stderr().take().expect("it was piped"),
        };
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

    /// Gives the server until `limit` to end, then kills the whole group; returns how it ended.
    pub(crate) fn end(mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // What the server has left behind is in the group still.
        #[cfg(unix)]
        drop(self.watchman);
        #[cfg(windows)]
        let _ = self.child.start_kill();
        self.child.wait().ok()
    }
}

/// Has `command` inherit `environment`, as [`Row`](super::Row) tells, in place of our own.
fn inherit(command: &mut Command, environment: &[String]) {
    let mut names = HashSet::new();
    for entry in environment {
        let (name, value) = variable(entry);
        // What has not come whole, for it is no text, is as it is with us.
        let is_whole = !name.is_empty() && !entry.contains(['\0', '\u{fffd}']);
        if names.insert(OsStr::new(name)) && is_whole {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| !names.contains(name.as_os_str())) {
        command.env_remove(name);
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

/// Leads a process group, and kills it when it is dropped or we are gone.
#[cfg(unix)]
struct Watchman(Box<dyn ChildWrapper>);

#[cfg(unix)]
impl Watchman {
    /// Nobody writes to it: the end of its input is our end. The server sees the end of its own
    /// input then, too, and has a second to leave by itself.
    const SCRIPT: &str = "trap '' HUP INT TERM; read -r line; sleep 1; kill -s KILL 0";

    fn start() -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", Self::SCRIPT, "eca-context-watchman"]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut wrap = CommandWrap::from(command);
        wrap.wrap(process_wrap::std::ProcessGroup::leader());
        wrap.spawn().map(Self)
    }

    fn group(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

#[cfg(unix)]
impl Drop for Watchman {
    fn drop(&mut self) {
        let _ = self.0.start_kill();
        // Of the group only the leader: how the server ended is for whoever started that.
        let _ = self.0.inner_mut().wait();
    }
}

/// The resident memory of the group of the process `id`, in bytes; `None` where it cannot be told.
pub(crate) fn memory_bytes(id: u32) -> Option<u64> {
    // After the name, which may hold anything: state, parent, group.
    let group_of = |folder: &Path| {
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(2).map(String::from)
    };
    let group = group_of(&Path::new("/proc").join(id.to_string()))?;
    let folders = std::fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let n_kib = |folder: PathBuf| {
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let members = folders.filter(|folder| group_of(folder).as_ref() == Some(&group));
    Some(1024 * members.filter_map(n_kib).sum::<u64>())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Read;

    use super::*;

    fn shell(script: &str) -> (Process, Pipes) {
        let command = ["/bin/sh", "-c", script].map(String::from);
        Process::start(&command, None, Path::new("/")).expect("there is a shell")
    }

    /// Waits until nobody holds the other end of the pipe any more.
    fn ends(mut stdout: ChildStdout) {
        stdout.read_to_string(&mut String::new()).expect("the pipe ends");
    }

    fn started(pipes: &mut Pipes) {
        pipes.stdout.read_exact(&mut [0; 8]).expect("it says so");
    }

    #[test]
    fn the_whole_group_goes() {
        let (process, mut pipes) = shell("trap '' TERM; sleep 1000 & echo started; wait");
        started(&mut pipes);
        assert!(memory_bytes(process.id()).is_some_and(|n_bytes| n_bytes > 100_000));
        assert_eq!(describe(process.end(Duration::ZERO)), "killed by signal 9");
        ends(pipes.stdout);
    }

    #[test]
    fn the_watchman_kills_whom_we_leave_behind() {
        let (mut process, mut pipes) = shell("trap '' TERM HUP; sleep 1000 & echo started; wait");
        started(&mut pipes);
        // As if we were gone: nobody holds the other end of its input.
        drop(process.watchman.0.stdin().take());
        ends(pipes.stdout);
        assert_eq!(describe(process.child.wait().ok()), "killed by signal 9");
    }

    #[test]
    fn what_it_leaves_behind_goes() {
        let (process, mut pipes) = shell("trap '' TERM; sleep 1000 & echo started");
        started(&mut pipes);
        assert_eq!(describe(process.end(Duration::from_secs(20))), "exited with status 0");
        ends(pipes.stdout);
    }

    #[test]
    fn an_end_of_its_own_is_waited_for() {
        let (process, pipes) = shell("read x; exit 3");
        drop(pipes.stdin);
        assert_eq!(describe(process.end(Duration::from_secs(20))), "exited with status 3");
    }

    #[test]
    fn the_environment_is_the_editors() {
        let command = ["/bin/sh", "-c", "/usr/bin/env"].map(String::from);
        let entries = ["A=1=2", "A=3", "B", "B=4", "PATH=\u{fffd}", "=", "C="].map(String::from);
        let (_process, mut pipes) =
            Process::start(&command, Some(&entries), Path::new("/")).expect("there is a shell");
        let mut said = String::new();
        pipes.stdout.read_to_string(&mut said).expect("the pipe ends");
        // A shell sets some of its own.
        let mut lines: Vec<&str> = (said.lines())
            .filter(|line| !["PWD=", "SHLVL=", "_="].iter().any(|name| line.starts_with(name)))
            .collect();
        lines.sort();
        let path = format!("PATH={}", std::env::var("PATH").expect("there is one"));
        assert_eq!(lines, ["A=1=2", "C=", &path]);
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let missing = ["/no/such/program".to_string()];
        assert!(Process::start(&missing, None, Path::new("/")).is_err());
        assert!(Process::start(&[], None, Path::new("/")).is_err());
    }
}
