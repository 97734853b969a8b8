//! Which files of a project were written since the last look. It knows no server.
//!
//! A look is a walk by time and size: no watcher has to be kept, none can run out, and what is asked
//! for next finds all that was written before. Where that takes long, it is done less often.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::documents::Stamp;

/// So many files are looked at; what lies beyond is not followed.
const MAX_FILES: usize = 20_000;
/// A look that costs no more is taken for every question that came after the last one.
const CHEAP: Duration = Duration::from_millis(100);
/// Of the time, at most one part in so many is spent on dearer ones.
const SHARE: u32 = 20;

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
    known: HashMap<PathBuf, Stamp>,
    /// What every installer writes to; the packages themselves are not looked at.
    packages: HashMap<PathBuf, Stamp>,
    looked: Instant,
    cost: Duration,
}

impl Files {
    pub(crate) fn new(root: &Path, active: Option<PathBuf>) -> Self {
        let start = Instant::now();
        let (known, packages) = walk(root, active.as_deref());
        Self { root: root.into(), active, known, packages, looked: start, cost: start.elapsed() }
    }

    /// What happened from the last look until `asked` and perhaps after; nothing, if another look is
    /// not due yet.
    pub(crate) fn changes(&mut self, asked: Instant) -> News {
        let pause = if self.cost <= CHEAP { Duration::ZERO } else { self.cost * SHARE };
        if asked <= self.looked + pause {
            return News::default();
        }
        let mut next = Self::new(&self.root, self.active.take());
        let mut changes = Vec::new();
        for (path, stamp) in &next.known {
            match self.known.remove(path) {
                None => changes.push((path.clone(), Change::Created)),
                Some(before) if before != *stamp => changes.push((path.clone(), Change::Changed)),
                Some(_) => (),
            }
        }
        if next.known.len() < MAX_FILES {
            let gone = self.known.drain().map(|(path, _)| (path, Change::Deleted));
            changes.extend(gone);
        }
        std::mem::swap(self, &mut next);
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        News { files: changes, packages: self.packages != next.packages }
    }
}

/// The regular files below `root`, but for what tools keep there, hidden folders, installed packages
/// and caches; and what tells that packages were installed.
fn walk(root: &Path, active: Option<&Path>) -> (HashMap<PathBuf, Stamp>, HashMap<PathBuf, Stamp>) {
    let (mut files, mut packages) = (HashMap::new(), HashMap::new());
    let mut folders = vec![root.to_path_buf()];
    if let Some(active) = active {
        note_python_packages(active, &mut packages);
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let path = entry.path();
            if kind.is_dir() {
                if name == "node_modules" {
                    note(&path, &mut packages);
                    // Written by each run of npm, also where it puts a package deeper.
                    note(&path.join(".package-lock.json"), &mut packages);
                } else if path.join("pyvenv.cfg").exists() {
                    note_python_packages(&path, &mut packages);
                } else if !name.as_encoded_bytes().starts_with(b".")
                    && name != "__pycache__"
                    && !path.join("CACHEDIR.TAG").exists()
                {
                    folders.push(path);
                }
            } else if kind.is_file()
                && let Some(stamp) = entry.metadata().ok().and_then(|about| Stamp::of(&about))
            {
                files.insert(path, stamp);
                if files.len() >= MAX_FILES {
                    return (files, packages);
                }
            }
        }
    }
    (files, packages)
}

/// Notes where the Python environment `folder` has its packages: each one has an entry there.
fn note_python_packages(folder: &Path, packages: &mut HashMap<PathBuf, Stamp>) {
    for entry in fs::read_dir(folder.join("lib")).into_iter().flatten().flatten() {
        note(&entry.path().join("site-packages"), packages);
    }
    note(&folder.join("Lib").join("site-packages"), packages);
}

fn note(path: &Path, stamps: &mut HashMap<PathBuf, Stamp>) {
    if let Some(stamp) = fs::metadata(path).ok().and_then(|about| Stamp::of(&about)) {
        stamps.insert(path.into(), stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_written_and_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("written");
        };
        write("a.py", "1");
        write("b/c.py", "1");
        write("venv/pyvenv.cfg", "");
        let mut files = Files::new(root, None);
        let mut changes = || {
            let later = Instant::now() + Duration::from_secs(3600);
            let news = files.changes(later);
            let name =
                |path: PathBuf| path.strip_prefix(root).expect("below").display().to_string();
            let changed = news.files.into_iter().map(|(path, change)| (name(path), change));
            (changed.collect::<Vec<_>>(), news.packages)
        };
        let nothing = (Vec::new(), false);
        assert_eq!(changes(), nothing);
        write("a.py", "12");
        write("d/e.py", "1");
        for name in [".git/x", ".venv/x.py", "venv/x.py", "__pycache__/x"] {
            write(name, "");
        }
        fs::remove_file(root.join("b/c.py")).expect("it was there");
        assert_eq!(
            changes(),
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
            write(name, "");
            let is_news = name != ".venv/pyvenv.cfg";
            assert_eq!(changes(), (vec![], is_news), "{name}");
        }
        assert_eq!(changes(), nothing);
    }

    #[test]
    fn a_look_is_enough_for_what_was_asked_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = Files::new(folder.path(), None);
        let after = |files: &Files, ms| files.looked + Duration::from_millis(ms);
        fs::write(folder.path().join("a"), "").expect("written");
        assert!(files.changes(files.looked).is_none());
        files.cost = CHEAP;
        assert_eq!(files.changes(after(&files, 1)).files.len(), 1);
        fs::write(folder.path().join("b"), "").expect("written");
        files.cost = Duration::from_secs(1);
        assert!(files.changes(after(&files, 20_000)).is_none());
        assert_eq!(files.changes(after(&files, 20_001)).files.len(), 1);
    }
}
