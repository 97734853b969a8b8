//! Which files of a project were written since the last look. It knows no server.
//!
//! A look is a walk by time and size: what is asked for next finds all that was written before. Where
//! that takes long, it is done less often; where the system tells that nothing was written, not at all.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(not(target_os = "linux"))]
use elsewhere::Watch;
#[cfg(target_os = "linux")]
use linux::Watch;

use super::documents::Stamp;

/// So many files are looked at; what lies beyond is not followed.
const MAX_FILES: usize = 20_000;
/// A look that costs no more is taken for every question that came after the last one.
const CHEAP: Duration = Duration::from_millis(100);
/// Of the time, at most one part in so many is spent on dearer ones.
const SHARE: u32 = 20;
/// After so long a look is due whatever the system tells: of memory that is mapped, and
/// of names that a file gets elsewhere, it tells nothing.
const TRUST: Duration = Duration::from_secs(10);

/// What happened to a file (LSP 3.17, FileChangeType).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

/// What happened since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Sorted by path.
    pub(crate) files: Vec<(PathBuf, Change)>,
    /// Whether packages were installed, or went.
    pub(crate) packages: bool,
}

impl News {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The files of a folder as they were at the last look.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    /// A Python environment that may lie elsewhere.
    active: Option<PathBuf>,
    seen: Seen,
    watch: Watch,
    looked: Instant,
    cost: Duration,
}

#[derive(Debug, Default)]
struct Seen {
    files: HashMap<PathBuf, Stamp>,
    /// What every installer writes to; the packages themselves are not looked at.
    packages: HashMap<PathBuf, Stamp>,
}

impl Files {
    pub(crate) fn new(root: &Path, active: Option<PathBuf>) -> Self {
        let (seen, watch, cost) = (Seen::default(), Watch::new(), Duration::ZERO);
        let mut files =
            Self { root: root.into(), active, seen, watch, looked: Instant::now(), cost };
        files.look();
        files
    }

    /// Returns what was seen at the look before.
    fn look(&mut self) -> Seen {
        self.looked = Instant::now();
        self.watch.restart();
        let seen = walk(&self.root, self.active.as_deref(), &mut self.watch);
        self.cost = self.looked.elapsed();
        std::mem::replace(&mut self.seen, seen)
    }

    /// What happened from the last look until `asked` and perhaps after; nothing, if another look is
    /// not due yet.
    pub(crate) fn changes(&mut self, asked: Instant) -> News {
        let pause = if self.cost <= CHEAP { Duration::ZERO } else { self.cost * SHARE };
        if asked <= self.looked + pause || asked < self.looked + TRUST && self.watch.is_still() {
            return News::default();
        }
        let mut before = self.look();
        let mut changes = Vec::new();
        for (path, stamp) in &self.seen.files {
            match before.files.remove(path) {
                None => changes.push((path.clone(), Change::Created)),
                Some(before) if before != *stamp => changes.push((path.clone(), Change::Changed)),
                Some(_) => (),
            }
        }
        if self.seen.files.len() < MAX_FILES {
            let gone = before.files.drain().map(|(path, _)| (path, Change::Deleted));
            changes.extend(gone);
        }
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        News { files: changes, packages: self.seen.packages != before.packages }
    }
}

/// The regular files below `root`, but for what tools keep there, hidden folders, installed packages
/// and caches; and what tells that packages were installed. All that decides of it is watched.
fn walk(root: &Path, active: Option<&Path>, watch: &mut Watch) -> Seen {
    let mut seen = Seen::default();
    let mut folders = vec![root.to_path_buf()];
    // What is not there may yet be made.
    for top in [Some(root), active].into_iter().flatten() {
        top.ancestors().find(|folder| folder.is_dir()).into_iter().for_each(|f| watch.add(f));
    }
    if let Some(active) = active {
        seen.note_python_packages(active, watch);
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let path = entry.path();
            if kind.is_dir() {
                if name == "__pycache__" {
                    continue;
                }
                watch.add(&path);
                if name == "node_modules" {
                    seen.note(&path);
                    // Written by each run of npm, also where it puts a package deeper.
                    seen.note(&path.join(".package-lock.json"));
                } else if path.join("pyvenv.cfg").exists() {
                    seen.note_python_packages(&path, watch);
                } else if !name.as_encoded_bytes().starts_with(b".")
                    && !path.join("CACHEDIR.TAG").exists()
                {
                    folders.push(path);
                }
            } else if kind.is_file()
                && let Ok(about) = entry.metadata()
                && let Some(stamp) = Stamp::of(&about)
            {
                watch.note(&about);
                seen.files.insert(path, stamp);
                if seen.files.len() >= MAX_FILES {
                    return seen;
                }
            }
        }
    }
    seen
}

impl Seen {
    /// Notes where the Python environment `folder` has its packages: each one has an entry there.
    fn note_python_packages(&mut self, folder: &Path, watch: &mut Watch) {
        watch.add(folder);
        let lib = folder.join("lib");
        watch.add(&lib);
        for entry in fs::read_dir(lib).into_iter().flatten().flatten() {
            watch.add(&entry.path());
            self.note_watched(&entry.path().join("site-packages"), watch);
        }
        let lib = folder.join("Lib");
        watch.add(&lib);
        self.note_watched(&lib.join("site-packages"), watch);
    }

    fn note_watched(&mut self, folder: &Path, watch: &mut Watch) {
        watch.add(folder);
        self.note(folder);
    }

    fn note(&mut self, path: &Path) {
        if let Some(stamp) = fs::metadata(path).ok().and_then(|about| Stamp::of(&about)) {
            self.packages.insert(path.into(), stamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Project {
        folder: tempfile::TempDir,
        files: Files,
    }

    impl Project {
        fn new(names: &[&str], active: Option<&str>) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().join("root");
            fs::create_dir(&root).expect("a folder");
            let files = Files::new(&root, active.map(|name| folder.path().join(name)));
            let mut project = Self { folder, files };
            for name in names {
                project.write(name, "1");
            }
            project.files.look();
            project
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join("root").join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("written");
        }

        /// What happened until `later`, counted from now.
        fn changes(&mut self, later: Duration) -> (Vec<(String, Change)>, bool) {
            let news = self.files.changes(Instant::now() + later);
            let root = self.path("");
            let name = |path: &Path| path.strip_prefix(&root).expect("below").display().to_string();
            let files = news.files.iter().map(|(path, change)| (name(path), *change)).collect();
            (files, news.packages)
        }

        /// Whether a question now would have the disk looked at.
        fn looks(&mut self) -> bool {
            let before = self.files.looked;
            self.files.changes(Instant::now());
            self.files.looked != before
        }
    }

    #[test]
    fn made_written_and_gone() {
        // As the system tells it, and as a look finds it.
        for later in [Duration::ZERO, TRUST] {
            let mut project = Project::new(&["a.py", "b/c.py", "venv/pyvenv.cfg"], None);
            let nothing = (Vec::new(), false);
            assert_eq!(project.changes(later), nothing);
            project.write("a.py", "12");
            project.write("d/e.py", "1");
            for name in [".git/x", ".venv/x.py", "venv/x.py", "__pycache__/x"] {
                project.write(name, "");
            }
            fs::remove_file(project.path("b/c.py")).expect("it was there");
            assert_eq!(
                project.changes(later),
                (
                    vec![
                        ("a.py".into(), Change::Changed),
                        ("b/c.py".into(), Change::Deleted),
                        ("d/e.py".into(), Change::Created)
                    ],
                    false
                )
            );
            for name in [
                ".venv/pyvenv.cfg",
                ".venv/lib/python3.11/site-packages/x/__init__.py",
                ".venv/lib/python3.11/site-packages/y/__init__.py",
                "d/node_modules/x/package.json",
                "d/node_modules/y/package.json",
            ] {
                project.write(name, "");
                let is_news = name != ".venv/pyvenv.cfg";
                assert_eq!(project.changes(later), (vec![], is_news), "{name}");
            }
            assert_eq!(project.changes(later), nothing);
        }
    }

    #[test]
    fn written_in_any_way() {
        use Change::{Changed, Created, Deleted};
        type Step =
            (&'static str, fn(&Project) -> std::io::Result<()>, &'static [(&'static str, Change)]);
        let steps: [Step; 9] = [
            ("written", |p| fs::write(p.path("a"), "12"), &[("a", Changed)]),
            ("replaced", |p| fs::rename(p.path("../new"), p.path("a")), &[("a", Changed)]),
            ("cut", |p| fs::File::create(p.path("a")).map(drop), &[("a", Changed)]),
            (
                "touched",
                |p| fs::File::open(p.path("a"))?.set_modified(std::time::UNIX_EPOCH),
                &[("a", Changed)],
            ),
            ("moved in", |p| fs::rename(p.path("../b"), p.path("b")), &[("b/c/d", Created)]),
            ("written there", |p| fs::write(p.path("b/c/d"), "12"), &[("b/c/d", Changed)]),
            (
                "moved",
                |p| fs::rename(p.path("b/c"), p.path("e")),
                &[("b/c/d", Deleted), ("e/d", Created)],
            ),
            ("written there", |p| fs::write(p.path("e/d"), "123"), &[("e/d", Changed)]),
            ("moved out", |p| fs::rename(p.path("e"), p.path("../e")), &[("e/d", Deleted)]),
        ];
        for later in [Duration::ZERO, TRUST] {
            let mut project = Project::new(&["a", "../new", "../b/c/d"], None);
            project.write("../new", "123");
            for (what, step, expected) in &steps {
                step(&project).expect("it can be done");
                let (changes, _) = project.changes(later);
                let changes: Vec<_> = changes.iter().map(|(n, c)| (n.as_str(), *c)).collect();
                assert_eq!(changes, *expected, "{what}");
            }
            // From the next look on nothing is believed.
            fs::hard_link(project.path("a"), project.path("../a")).expect("linked");
            assert_eq!(project.changes(TRUST).0, []);
            for text in ["12", "123"] {
                project.write("../a", text);
                assert_eq!(project.changes(later).0, [("a".into(), Changed)]);
            }
        }
    }

    #[test]
    fn gone_and_back() {
        let mut project = Project::new(&["a"], None);
        fs::remove_dir_all(project.path("")).expect("it was there");
        assert_eq!(project.changes(Duration::ZERO).0, [("a".into(), Change::Deleted)]);
        project.write("a", "1");
        assert_eq!(project.changes(Duration::ZERO).0, [("a".into(), Change::Created)]);
    }

    #[test]
    fn an_environment_elsewhere() {
        for later in [Duration::ZERO, TRUST] {
            let mut project = Project::new(&["a"], Some("envs/x"));
            for (name, is_news) in [
                ("../envs/x/pyvenv.cfg", false),
                ("../envs/x/lib/python3.11/x", false),
                ("../envs/x/lib/python3.11/site-packages/x", true),
                ("../envs/x/lib/python3.11/site-packages/y", true),
                ("../envs/x/Lib/site-packages/y", true),
                ("../envs/x/Lib/site-packages/z", true),
                ("../envs/y/z", false),
            ] {
                project.write(name, "");
                assert_eq!(project.changes(later), (vec![], is_news), "{name}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_look_where_nothing_happens() {
        let mut project = Project::new(&["a", "b/c", "../d"], None);
        for name in ["a", "b/c", "b/new"] {
            assert!(!project.looks());
            project.write("../d", name);
            assert!(!project.looks());
            project.write(name, "12");
            assert!(project.looks(), "{name}");
        }
        assert!(!project.looks());
        let now = Instant::now();
        project.files.changes(now + TRUST);
        assert!(project.files.looked >= now);
        assert!(!project.looks());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_look_where_not_all_is_told() {
        let mut linked = Project::new(&["a"], None);
        fs::hard_link(linked.path("a"), linked.path("../a")).expect("linked");
        linked.files.look();
        let mut large = Project::new(&["a"], None);
        for n in 0..2_000 {
            fs::create_dir(large.path(&n.to_string())).expect("a folder");
        }
        for project in [&mut linked, &mut large] {
            assert!(project.looks());
            assert!(project.looks());
        }
    }

    #[test]
    fn a_look_is_enough_for_what_was_asked_before() {
        let mut project = Project::new(&[], None);
        let files = &mut project.files;
        let after = |files: &Files, ms| files.looked + Duration::from_millis(ms);
        fs::write(project.folder.path().join("root/a"), "").expect("written");
        assert!(files.changes(files.looked).is_none());
        files.cost = CHEAP;
        assert_eq!(files.changes(after(files, 1)).files.len(), 1);
        fs::write(project.folder.path().join("root/b"), "").expect("written");
        files.cost = Duration::from_secs(1);
        assert!(files.changes(after(files, 20_000)).is_none());
        assert_eq!(files.changes(after(files, 20_001)).files.len(), 1);
    }
}
