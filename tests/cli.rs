//! The program `eca-context` with the real pyright and typescript-language-server (which tests/setup.sh
//! installs), as a shell sees it.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const APP: &str = include_str!("fixtures/golden/project/app.py");

/// A project and the folder of the servers.
struct Rig {
    folder: TempDir,
    path: OsString,
}

impl Rig {
    fn new() -> Self {
        let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test/node/node_modules/.bin");
        let folders = [bin, "/usr/local/bin".into(), "/usr/bin".into(), "/bin".into()];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).expect("no colon in them");
        Self { folder: tempfile::tempdir().expect("a folder"), path }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).expect("written");
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_eca-context"));
        command.args(line.split_whitespace()).current_dir(self.root()).env("PATH", &self.path);
        command
    }

    /// What is printed, what is complained of, and the exit status.
    fn run(&self, line: &str) -> (String, String, i32) {
        let Output { status, stdout, stderr } = self.command(line).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(stdout), text(stderr), status.code().expect("it ends by itself"))
    }

    fn check(&self, line: &str, printed: &str) {
        let status = i32::from(printed.is_empty());
        assert_eq!(self.run(line), (printed.into(), String::new(), status), "{line}");
    }
}

#[test]
fn python() {
    let rig = Rig::new();
    rig.write("app.py", APP);
    rig.write("use.py", "from app import Cart\nCart().total([])\n\u{1d4b3} = bad\n");
    rig.check("lsp definition app.py 13 13", "app.py:7:9  def total(self, items):\n");
    rig.check(
        "lsp references app.py 13 13",
        "app.py:7:9  def total(self, items):\n\
         app.py:13:13  print(c.total([1, 2]))\n\
         use.py:2:8  Cart().total([])\n",
    );
    rig.check(
        "lsp hover app.py 13 13",
        "```python\n(method) def total(items: Unknown) -> float\n```\n",
    );
    rig.check(
        "lsp symbols app.py",
        "app.py:3:7  class Cart\napp.py:5:5    constant TAX\napp.py:7:9    method total\n\
         app.py:11:5  function main\n",
    );
    let bad = "error: \"bad\" is not defined [reportUndefinedVariable]\n";
    rig.check("lsp diagnostics use.py", &format!("use.py:3:6  {bad}"));
    rig.check("lsp diagnostics use.py --utf-8-columns", &format!("use.py:3:8  {bad}"));
    rig.check("lsp hover use.py 3 6 --utf-8-columns", "");
    rig.check("lsp hover use.py 3 6", "```python\n(function) bad: Unknown\n```\n");
}

#[test]
fn typescript() {
    let rig = Rig::new();
    rig.write("tsconfig.json", r#"{"compilerOptions": {"allowJs": true, "jsx": "preserve"}}"#);
    rig.write("cart.ts", "export class Cart {\n  total() { return 1; }\n}\n");
    rig.write("old.js", "import { Cart } from \"./cart\";\nnew Cart().total();\n");
    rig.check("lsp definition old.js 2 12", "cart.ts:2:3  total() { return 1; }\n");
    rig.check(
        "lsp references cart.ts 2 3",
        "cart.ts:2:3  total() { return 1; }\nold.js:2:12  new Cart().total();\n",
    );
}

#[test]
fn shapes_of_the_protocol() {
    let rig = Rig::new();
    rig.write("app.py", APP);
    let (printed, _, status) = rig.run("lsp definition app.py 13 13 --json");
    let found: Value = serde_json::from_str(&printed).expect("JSON");
    let uri = format!("file://{}/app.py", rig.root().display());
    let range = json!({"start": {"line": 6, "character": 8}, "end": {"line": 6, "character": 13}});
    let place = json!({"uri": uri, "range": range, "role": "definition",
                       "preview": "def total(self, items):"});
    assert_eq!((&found["definitions"], status), (&json!([place]), 0));
    assert_eq!(found["provenance"]["definitions"]["providers"], json!(["pyright"]));
    let (printed, _, status) = rig.run("lsp diagnostics app.py --json");
    let found: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!((&found["fresh"], &found["total"], status), (&json!(true), &json!(1), 0));
}

#[test]
fn fifty_and_how_many_more() {
    let rig = Rig::new();
    rig.write("many.py", &format!("x = 1\n{}", "print(x)\n".repeat(1200)));
    let (printed, _, status) = rig.run("lsp references many.py 1 1");
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!((printed.len(), status), (51, 0));
    assert_eq!((printed[49], printed[50]), ("many.py:50:7  print(x)", "… and 1151 more"));
}

#[test]
fn what_cannot_be_is_said_at_once() {
    let rig = Rig::new();
    rig.write("app.py", APP);
    rig.write("notes.txt", "");
    let name = env!("CARGO_PKG_VERSION");
    for (line, printed, complaint, status) in [
        ("--version", format!("eca-context {name}\n").as_str(), "", 0),
        ("lsp hover app.py", "", "eca-context: hover needs LINE and COLUMN\nusage: ", 2),
        ("lsp symbols none.py", "", "eca-context: none.py: No such file", 3),
        ("lsp symbols .", "", "eca-context: ", 3),
        (
            "lsp symbols notes.txt",
            "",
            "eca-context: no language server is known for notes.txt; known: Python, TypeScript",
            3,
        ),
    ] {
        let found = rig.run(line);
        assert_eq!((found.0.as_str(), found.2), (printed, status), "{line}");
        assert!(found.1.starts_with(complaint) && found.1.is_empty() == complaint.is_empty());
    }
    // The fastest of a few: the machine may be busy with other tests.
    let fastest = (0..5).map(|_| {
        let start = Instant::now();
        let output = rig.command("lsp hover app.py 1 1").env("PATH", "/nowhere").output();
        let output = output.expect("it runs");
        let complaint = "eca-context: unavailable: install pyright — npm install -g pyright\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), complaint);
        assert_eq!(output.status.code(), Some(3));
        start.elapsed()
    });
    assert!(fastest.min() < Some(Duration::from_millis(100)));
    let (_, complaint, status) = rig.run("lsp hover app.py 13 13 --timeout 0.01");
    assert_eq!((complaint.as_str(), status), ("eca-context: pyright is starting\n", 3));
}

/// The live processes of a group, zombies aside.
fn members(group: u32) -> usize {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let fields = |stat: &str| {
        let rest = stat.rsplit_once(')')?.1.to_string();
        let mut words = rest.split_whitespace().map(String::from);
        Some((words.next()?, words.nth(1)?))
    };
    let is_member = |stat: &String| {
        fields(stat).is_some_and(|(state, id)| state != "Z" && id == group.to_string())
    };
    stats.filter(is_member).count()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_of_a_killed_one() {
    let rig = Rig::new();
    rig.write("app.py", APP);
    // In place of pyright one that tells its process group, and that nothing moves.
    let bin = rig.root().join("bin");
    fs::create_dir(&bin).expect("a folder");
    let script = "#!/bin/sh\ntrap '' HUP INT TERM\nsleep 1000 &\n\
                  read -r id name state parent group rest </proc/$$/stat\n\
                  echo \"$group\" >\"$OUT\"\nwait\n";
    let program = bin.join("pyright-langserver");
    fs::write(&program, script).expect("written");
    let mut mode = fs::metadata(&program).expect("it is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).expect("it is ours");
    let out = rig.root().join("out");
    nix::unistd::mkfifo(&out, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let project = rig.root().join("project");
    fs::create_dir(&project).expect("a folder");
    fs::write(project.join("app.py"), APP).expect("written");
    let mut command = rig.command("lsp symbols app.py");
    command.env("PATH", path).env("OUT", &out).current_dir(project).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::null()).spawn().expect("it runs");
    let mut line = String::new();
    let mut told = BufReader::new(fs::File::open(&out).expect("it is a pipe"));
    told.read_line(&mut line).expect("it says so");
    let group = line.trim().parse().expect("a process group");
    assert_eq!(members(group), 3, "with the watchman");
    let start = Instant::now();
    child.kill().expect("it runs");
    child.wait().expect("it is ours");
    while members(group) > 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "something is left");
        std::thread::yield_now();
    }
}
