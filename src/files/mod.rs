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
    fn new(text: String) -> Self {
        let mut lines = Vec::new();
        let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let bytes = text.as_bytes();
        let mut at = start;
        while at < bytes.len() {
            let ending = match bytes[at] {
                b'\n' | b'\r' => 1 + usize::from(bytes[at..].starts_with(b"\r\n")),
                _ => 0,
            };
            if ending > 0 {
                lines.push((start, at));
                start = at + ending;
                at = start;
            } else {
                at += 1;
            }
        }
        lines.push((start, bytes.len()));
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
        let split = read(path).map(|text| Rc::new(Split::new(text)));
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
    use super::*;

    #[test]
    fn c10_line_endings_and_bom_count_for_nothing() {
        for (text, line, found) in [
            ("ab\r\ncd\r\n", 1, Some("cd")),
            ("ab\r\ncd\nef\r\n", 0, Some("ab")),
            ("\u{feff}abc", 0, Some("abc")),
            ("a\rb", 1, Some("b")),
            ("a\nb\n", 2, Some("")),
            ("a\nb\n", 3, None),
        ] {
            assert_eq!(
                FileLines::of_text("/f", text).line("/f", line).as_deref(),
                found,
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_is_no_file_has_no_lines() {
        let lines = FileLines::new(Vec::new(), Vec::new());
        assert_eq!(lines.n_lines("/"), None);
        assert_eq!(lines.n_lines("/no such file"), None);
    }
}
