//! Lines of files: from disk, or from texts that came along. It knows no editor and no request.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::core::facts::Text;
use crate::core::lines::Lines;

/// A file larger than this is not read for a preview.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Lines of the texts that came along, else of files on disk, each read once.
pub struct FileLines {
    /// Identities, as are all keys below.
    modified: Vec<Rc<str>>,
    excluded: Vec<Rc<str>>,
    cache: RefCell<HashMap<Rc<str>, Option<Rc<Split>>>>,
    /// What each path was found to be.
    identities: RefCell<HashMap<String, Rc<str>>>,
}

/// A text and where each of its lines lies in it, in bytes.
struct Split {
    text: String,
    lines: Vec<(usize, usize)>,
}

impl Split {
    /// The lines of a text as an editor has it.
    fn new(text: String) -> Self {
        Self::at(b'\n', text)
    }

    /// The lines of what a file holds: where there is no LF at all, an editor lets CRs end them.
    fn of_file(text: String) -> Self {
        let ending = if text.contains('\r') && !text.contains('\n') { b'\r' } else { b'\n' };
        Self::at(ending, text)
    }

    fn at(ending: u8, text: String) -> Self {
        let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let bytes = text.as_bytes();
        let mut lines = Vec::new();
        let endings = bytes.iter().enumerate().filter(|(_, byte)| **byte == ending);
        for end in endings.map(|(at, _)| at).chain([bytes.len()]) {
            let n_crs = bytes[start..end].iter().rev().take_while(|byte| **byte == b'\r').count();
            lines.push((start, end - n_crs));
            start = end + 1;
        }
        Self { text, lines }
    }
}

impl FileLines {
    /// Lines of `texts` first, else of disk; nothing of `excluded` paths.
    pub fn new(texts: Vec<Text>, excluded: Vec<String>) -> Self {
        let mut lines = Self {
            modified: Vec::new(),
            excluded: Vec::new(),
            cache: RefCell::default(),
            identities: RefCell::default(),
        };
        lines.excluded = excluded.iter().map(|path| lines.identity(path)).collect();
        for text in texts {
            let identity = lines.identity(&text.path);
            if text.modified {
                lines.modified.push(identity.clone());
            }
            let split = Some(Rc::new(Split::new(text.text)));
            lines.cache.borrow_mut().insert(identity, split);
        }
        lines
    }

    /// Lines of one text, for tests.
    #[cfg(test)]
    pub(crate) fn of_text(path: &str, text: &str) -> Self {
        let text = Text { path: path.into(), text: text.into(), modified: false };
        Self::new(vec![text], Vec::new())
    }

    fn split(&self, path: &str) -> Option<Rc<Split>> {
        if self.is_excluded(path) {
            return None;
        }
        let identity = self.identity(path);
        if let Some(known) = self.cache.borrow().get(&identity) {
            return known.clone();
        }
        let split = read(path).map(|text| Rc::new(Split::of_file(text)));
        self.cache.borrow_mut().insert(identity, split.clone());
        split
    }
}

fn read(path: &str) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into()))
}

impl Lines for FileLines {
    fn line(&self, path: &str, line: u32) -> Option<String> {
        let split = self.split(path)?;
        let &(start, end) = split.lines.get(line as usize)?;
        Some(split.text[start..end].to_string())
    }

    fn n_lines(&self, path: &str) -> Option<u32> {
        Some(self.split(path)?.lines.len() as u32)
    }

    fn is_modified(&self, path: &str) -> bool {
        !self.modified.is_empty() && self.modified.contains(&self.identity(path))
    }

    fn is_excluded(&self, path: &str) -> bool {
        !self.excluded.is_empty() && self.excluded.contains(&self.identity(path))
    }

    fn identity(&self, path: &str) -> Rc<str> {
        if let Some(known) = self.identities.borrow().get(path) {
            return known.clone();
        }
        let found = std::fs::canonicalize(path).ok();
        let identity = Rc::from(found.as_ref().and_then(|p| p.to_str()).unwrap_or(path));
        self.identities.borrow_mut().insert(path.into(), Rc::clone(&identity));
        identity
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use crate::core::lines::utf16_len;

    /// The reader of buffers in lisp/eca-context-position.el has the same table.
    #[test]
    fn c10_lines_as_the_editor_has_them() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/fixtures/lines.json"))
            .expect("the table is JSON");
        let folder = Scratch::new("lines");
        for case in cases.as_array().expect("the table is an array") {
            let path = folder.file("f", case["text"].as_str().expect("a text").as_bytes());
            let lines = FileLines::new(Vec::new(), Vec::new());
            let n_lines = lines.n_lines(&path).expect("a file that can be read");
            let found: Vec<_> = (0..n_lines).filter_map(|line| lines.line(&path, line)).collect();
            let texts: Vec<_> = found.iter().map(|line| line.replace('\r', "")).collect();
            let units: Vec<_> = found.iter().map(|line| utf16_len(line)).collect();
            assert_eq!(json!([texts, units]), json!([case["lines"], case["units"]]), "{case}");
            assert!(!found.iter().any(|line| line.ends_with('\r')));
            assert_eq!(lines.line(&path, n_lines), None);
        }
    }

    #[test]
    fn a_text_of_the_editor_has_its_lines_already() {
        let lines = FileLines::of_text("/f", "a\rb");
        assert_eq!((lines.n_lines("/f"), lines.line("/f", 0)), (Some(1), Some("a\rb".into())));
    }

    /// A folder for one test, gone afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("eca-context-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).expect("a folder for the test");
            Self(folder)
        }

        fn file(&self, name: &str, content: &[u8]) -> String {
            let path = self.0.join(name);
            std::fs::write(&path, content).expect("a file for the test");
            path.to_str().expect("a path in UTF-8").into()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn what_is_no_file_has_no_lines() {
        let lines = FileLines::new(Vec::new(), Vec::new());
        assert_eq!(lines.n_lines("/"), None);
        assert_eq!(lines.n_lines("/no such file"), None);
    }
}
