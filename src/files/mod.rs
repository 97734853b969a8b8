//! Lines of files: from disk, or from texts that came along. It knows no editor and no request.
//!
//! A file is read as UTF-8, or as UTF-16 where it begins with that byte order mark. What is in another
//! encoding is not guessed at: an editor that has it open knows, and hands its text over. Else its lines
//! of ASCII are as good as ever, the others cannot be read. What is compressed, or no text at all, has
//! no lines.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
#[cfg(unix)]
use std::os::unix::{ffi::OsStringExt, fs::OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::string::FromUtf8Error;

use memchr::{memchr, memchr_iter, memmem};

use crate::core::facts::Text;
use crate::core::lines::{Line, Lines};
use crate::core::uri;

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
    /// Folders without links in their names; `None` for what is none.
    folders: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

/// A text and where each of its lines lies in it, in bytes.
struct Split {
    text: Rc<str>,
    lines: Vec<(usize, usize)>,
    /// Whether the text is what the bytes mean; else lines with an ESC cannot be read.
    is_known: bool,
}

impl Split {
    /// The lines of a text as an editor has it.
    fn new(text: String) -> Self {
        Self::at(b'\n', text.into(), true)
    }

    /// The lines of what a file holds: where there is no LF at all, an editor lets CRs end them. `None` if
    /// it is no text.
    fn of_file(bytes: Vec<u8>) -> Option<Self> {
        let text = match bytes.as_slice() {
            [0xff, 0xfe, rest @ ..] => Ok(utf16(rest, u16::from_le_bytes)),
            [0xfe, 0xff, rest @ ..] => Ok(utf16(rest, u16::from_be_bytes)),
            _ if COMPRESSED.iter().any(|magic| bytes.starts_with(magic)) => return None,
            _ if memchr(0, &bytes).is_some() => return None,
            // Seven bits may be no ASCII either: ISO-2022 goes to another set so.
            _ if memmem::find(&bytes, b"\x1b$").is_some() => Err(bytes),
            _ => String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes),
        };
        let is_known = text.is_ok();
        let sure = |byte: u8| if byte.is_ascii() { char::from(byte) } else { ESC };
        let text = text.unwrap_or_else(|bytes| bytes.into_iter().map(sure).collect());
        let is_mac = text.contains('\r') && !text.contains('\n');
        Some(Self::at(if is_mac { b'\r' } else { b'\n' }, text.into(), is_known))
    }

    fn at(ending: u8, text: Rc<str>, is_known: bool) -> Self {
        let bytes = text.as_bytes();
        let mut start = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
        let endings = memchr_iter(ending, bytes);
        let mut lines = Vec::with_capacity(endings.clone().count() + 1);
        for end in endings.chain([bytes.len()]) {
            let n_crs = bytes[start..end].iter().rev().take_while(|byte| **byte == b'\r').count();
            lines.push((start, end - n_crs));
            start = end + 1;
        }
        Self { text, lines, is_known }
    }

    fn line(&self, line: u32) -> Option<Line> {
        let &(start, end) = self.lines.get(line as usize)?;
        let line = Line::new(Rc::clone(&self.text), start, end);
        (self.is_known || !line.contains(ESC)).then_some(line)
    }
}

const BOM: char = '\u{feff}';
const ESC: char = '\u{1b}';

/// How files begin that an editor shows other than they lie: gzip, compress, bzip2, xz, zstd, lzip.
const COMPRESSED: [&[u8]; 6] =
    [b"\x1f\x8b", b"\x1f\x9d", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"LZIP"];

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.collect()
}

impl FileLines {
    /// Lines of `texts` first, else of disk; nothing of `excluded` paths.
    pub fn new(texts: Vec<Text>, excluded: Vec<String>) -> Self {
        let mut lines = Self {
            modified: Vec::new(),
            excluded: Vec::new(),
            cache: RefCell::default(),
            identities: RefCell::default(),
            folders: RefCell::default(),
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
        let split = read(path).and_then(Split::of_file).map(Rc::new);
        self.cache.borrow_mut().insert(identity, split.clone());
        split
    }

    /// The name of the file `path` without links. Many files lie in one folder, which is looked at once.
    fn true_name(&self, path: &Path) -> Option<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return path.canonicalize().ok();
        };
        // Elsewhere a name may stand for one in other letters.
        if !cfg!(target_os = "linux") || !path.symlink_metadata().ok()?.is_file() {
            return path.canonicalize().ok();
        }
        if let Some(known) = self.folders.borrow().get(folder) {
            return Some(known.as_ref()?.join(name));
        }
        let found = folder.canonicalize().ok();
        self.folders.borrow_mut().insert(folder.into(), found.clone());
        Some(found?.join(name))
    }
}

/// What the system calls `path`.
fn on_disk(path: &str) -> OsString {
    #[cfg(unix)]
    return OsString::from_vec(uri::bytes_of_path(path).into_owned());
    #[cfg(not(unix))]
    return path.into();
}

/// What the regular file `path` holds. Nothing is waited for, whatever `path` is by now: pipes and devices
/// are not even opened, and files of the system that have no size and no end are read up to the limit.
fn read(path: &str) -> Option<Vec<u8>> {
    let is_readable = |about: Metadata| about.is_file() && about.len() <= MAX_BYTES;
    let on_disk = on_disk(path);
    if path.ends_with(".gz") || !is_readable(std::fs::metadata(&on_disk).ok()?) {
        return None;
    }
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    options.custom_flags(nix::libc::O_NONBLOCK);
    let file = options.open(&on_disk).ok()?;
    let about = file.metadata().ok()?;
    let n_expected = about.len();
    if !is_readable(about) {
        return None;
    }
    // One more tells the end.
    let mut bytes = Vec::with_capacity(n_expected as usize + 1);
    let n_bytes = file.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (n_bytes as u64 <= MAX_BYTES).then_some(bytes)
}

impl Lines for FileLines {
    fn line(&self, path: &str, line: u32) -> Option<Line> {
        self.split(path)?.line(line)
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
        let found = self.true_name(Path::new(&on_disk(path)));
        let found = found.map(|found| uri::path_of_bytes(found.as_os_str().as_encoded_bytes()));
        let identity = Rc::from(found.as_deref().unwrap_or(path));
        self.identities.borrow_mut().insert(path.into(), Rc::clone(&identity));
        identity
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;
    use crate::core::lines::utf16_len;

    /// The reader of buffers in lisp/eca-context-position.el has the same table.
    #[test]
    fn c10_lines_as_the_editor_has_them() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/fixtures/lines.json"))
            .expect("the table is JSON");
        let folder = TempDir::new().expect("a folder for the test");
        for case in cases.as_array().expect("the table is an array") {
            let path = file(&folder, "f", case["text"].as_str().expect("a text").as_bytes());
            let lines = FileLines::new(Vec::new(), Vec::new());
            let n_lines = lines.n_lines(&path).expect("a file that can be read");
            let found: Vec<_> = (0..n_lines).filter_map(|line| lines.line(&path, line)).collect();
            let texts: Vec<_> = found.iter().map(|line| line.replace('\r', "")).collect();
            let units: Vec<_> = found.iter().map(|line| utf16_len(line)).collect();
            assert_eq!(json!([texts, units]), json!([case["lines"], case["units"]]), "{case}");
            assert!(!found.iter().any(|line| line.ends_with('\r')));
            assert!(lines.line(&path, n_lines).is_none());
        }
    }

    #[test]
    fn a_text_of_the_editor_has_its_lines_already() {
        let lines = FileLines::of_text("/f", "a\rb");
        assert_eq!(lines.n_lines("/f"), Some(1));
        assert_eq!(lines.line("/f", 0).as_deref(), Some("a\rb"));
    }

    fn file(folder: &TempDir, name: &str, content: &[u8]) -> String {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path.to_str().expect("a path in UTF-8").into()
    }

    #[test]
    fn encodings_are_known_or_not_guessed_at() {
        let utf16 = |bom: [u8; 2], order: fn(u16) -> [u8; 2]| {
            [bom.to_vec(), "a😀\r\né\n".encode_utf16().flat_map(order).collect()].concat()
        };
        let folder = TempDir::new().expect("a folder for the test");
        for (name, content, found) in [
            (
                "utf-16le",
                utf16([0xff, 0xfe], u16::to_le_bytes),
                vec![Some("a😀"), Some("é"), Some("")],
            ),
            (
                "utf-16be",
                utf16([0xfe, 0xff], u16::to_be_bytes),
                vec![Some("a😀"), Some("é"), Some("")],
            ),
            ("utf-16, half a unit", b"\xff\xfea\0\n\0x".to_vec(), vec![Some("a"), Some("")]),
            (
                "latin-1",
                b"int i;\n// caf\xe9\nint j;".to_vec(),
                vec![Some("int i;"), None, Some("int j;")],
            ),
            ("latin-1, CR", b"caf\xe9\rb".to_vec(), vec![None, Some("b")]),
            // A UTF-8 é in such a file is not sure to be one.
            ("sjis", b"\x83\\\n\xc3\xa9\nc".to_vec(), vec![None, None, Some("c")]),
            ("iso-2022-jp", b"a\n\x1b$B$\"\x1b(B\nb".to_vec(), vec![Some("a"), None, Some("b")]),
            ("colours", b"a\n\x1b[31mb".to_vec(), vec![Some("a"), Some("\x1b[31mb")]),
            ("cut utf-8", b"a\n\xf0\x9f\x98".to_vec(), vec![Some("a"), None]),
        ] {
            let path = file(&folder, "f", &content);
            let lines = FileLines::new(Vec::new(), Vec::new());
            let n_lines = lines.n_lines(&path).unwrap_or_default();
            let texts: Vec<_> = (0..n_lines).map(|line| lines.line(&path, line)).collect();
            assert_eq!(texts.iter().map(Option::as_deref).collect::<Vec<_>>(), found, "{name}");
        }
    }

    #[test]
    fn what_is_no_text_has_no_lines() {
        let folder = TempDir::new().expect("a folder for the test");
        for (name, content) in [
            ("f.el.gz", &b"(defun f ())\n"[..]),
            ("gzip", b"\x1f\x8b\x08\x10abc\n"),
            ("xz", b"\xfd7zXZabc\n"),
            ("binary", b"\x7fELF\0\n"),
            ("utf-16 without a mark", b"a\0\n\0"),
        ] {
            let path = file(&folder, name, content);
            let lines = FileLines::new(Vec::new(), Vec::new());
            assert!(lines.n_lines(&path).is_none() && lines.line(&path, 0).is_none(), "{name}");
            // But for what the editor hands over.
            let text = Text { path: path.clone(), text: "a".into(), modified: false };
            let lines = FileLines::new(vec![text], Vec::new());
            assert_eq!(lines.line(&path, 0).as_deref(), Some("a"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_waited_for() {
        let folder = TempDir::new().expect("a folder for the test");
        let pipe = file(&folder, "pipe", b"");
        std::fs::remove_file(&pipe).expect("a file to be replaced");
        assert!(
            std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success()
        );
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).expect("a link");
        let folder_path = folder.path().to_str().expect("UTF-8");
        let link = link.to_str().expect("UTF-8");
        for path in
            [&pipe, link, folder_path, "/dev/zero", "/dev/stdin", "/dev/tty", "/proc/kmsg", ""]
        {
            assert_eq!(FileLines::new(Vec::new(), Vec::new()).n_lines(path), None, "{path}");
        }
    }

    #[test]
    fn what_has_no_size_or_too_much_of_it() {
        let folder = TempDir::new().expect("a folder for the test");
        let path = file(&folder, "large", &vec![b'a'; MAX_BYTES as usize]);
        assert_eq!(FileLines::new(Vec::new(), Vec::new()).n_lines(&path), Some(1));
        let path = file(&folder, "larger", &vec![b'a'; MAX_BYTES as usize + 1]);
        assert_eq!(FileLines::new(Vec::new(), Vec::new()).n_lines(&path), None);
        // Linux says 0 bytes of these.
        if std::fs::metadata("/proc/self/status").is_ok_and(|about| about.len() == 0) {
            let lines = FileLines::new(Vec::new(), Vec::new());
            assert!(
                lines.line("/proc/self/status", 0).is_some_and(|line| line.starts_with("Name:"))
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_one_by_whatever_name() {
        use std::os::unix::fs::symlink;

        let folder = TempDir::new().expect("a folder for the test");
        let top = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir(top.join("sub")).expect("a folder");
        for name in ["f", "sub/g", "sub/\u{e9}"] {
            std::fs::write(top.join(name), "").expect("a file");
        }
        for (to, link) in [("sub", "in"), ("sub/g", "h"), ("../f", "sub/f"), ("absent", "loose")] {
            symlink(to, top.join(link)).expect("a link");
        }
        let lines = FileLines::new(Vec::new(), Vec::new());
        let name = |name: &str| format!("{}/{name}", top.display());
        for (asked, is) in [
            ("f", Some("f")),
            ("sub/g", Some("sub/g")),
            ("in/g", Some("sub/g")),
            ("h", Some("sub/g")),
            ("in/f", Some("f")),
            ("sub/../in/../f", Some("f")),
            ("./sub/./g", Some("sub/g")),
            ("in/\u{e9}", Some("sub/\u{e9}")),
            ("in", Some("sub")),
            ("in/..", Some("")),
            ("loose", None),
            ("in/absent", None),
            ("absent/f", None),
            ("f/", None),
        ] {
            let is = match is {
                Some("") => top.display().to_string(),
                Some(is) => name(is),
                None => name(asked),
            };
            assert_eq!(*lines.identity(&name(asked)), *is, "{asked}");
        }
        assert_eq!(&*lines.identity("untitled:1"), "untitled:1");
        assert_eq!(&*lines.identity(""), "");
    }

    #[test]
    fn what_is_no_file_has_no_lines() {
        let lines = FileLines::new(Vec::new(), Vec::new());
        assert_eq!(lines.n_lines("/"), None);
        assert_eq!(lines.n_lines("/no such file"), None);
    }
}
