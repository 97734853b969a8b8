//! The documents that are open at one server, and what it published about them. It knows no process.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use lsp_types::PositionEncodingKind;
use serde_json::json;

use super::Unsaved;
use super::message::notification;
use crate::core::encoding::from_utf16;
use crate::core::position::Position;
use crate::core::uri;

/// So many documents stay open at a server.
const MAX_OPEN: usize = 100;
/// For how long a document stays open that nobody asks about.
const IDLE: Duration = Duration::from_secs(120);
/// A file written so shortly before it was read may be written again within one tick of its clock.
const RACY: Duration = Duration::from_millis(100);

/// What tells that a file was written: when, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: SystemTime,
    n_bytes: u64,
}

impl Stamp {
    pub(crate) fn of(about: &fs::Metadata) -> Option<Self> {
        Some(Self { modified: about.modified().ok()?, n_bytes: about.len() })
    }

    fn is_old(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age > RACY)
    }
}

/// Where the text of a document is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Editor,
    /// A file as it was at that stamp; `None` if it may be newer than the text.
    Disk(Option<Stamp>),
}

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: String,
    pub(crate) text: String,
    pub(crate) version: i64,
    source: Source,
    used: Instant,
    changed: Instant,
    pub(crate) published: Option<Published>,
}

/// What a server published about a document.
#[derive(Debug)]
pub(crate) struct Published {
    /// A JSON list.
    pub(crate) diagnostics: String,
    version: Option<i64>,
    at: Instant,
    /// The text that it is about; without a version the one that was open then.
    text: Option<String>,
}

impl Document {
    /// Whether what was published is about the present text. A server that tells no version may
    /// publish in pieces: it must have been silent for `quiet`.
    pub(crate) fn is_fresh(&self, now: Instant, quiet: Duration) -> bool {
        self.published.as_ref().is_some_and(|published| match published.version {
            Some(version) => version == self.version || published.text.as_ref() == Some(&self.text),
            None => published.at >= self.changed && now >= published.at + quiet,
        })
    }

    /// `at` in UTF-16 units as the server counts.
    pub(crate) fn position(&self, at: Position, encoding: &PositionEncodingKind) -> Position {
        let line = lines(&self.text).nth(at.line as usize).unwrap_or_default();
        Position::new(at.line, from_utf16(line, at.character, encoding))
    }
}

/// The lines of `text` without their endings, be those LF, CR LF or CR.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The open documents by path, links followed.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: HashMap<PathBuf, Document>,
}

impl Documents {
    pub(crate) fn get(&self, path: &Path) -> Option<&Document> {
        self.open.get(path)
    }

    /// Has the server see `text` (of an editor), else what stands in the file now, as `path`; returns
    /// what must be sent for that.
    ///
    /// *Errors*: those of reading the file.
    pub(crate) fn show(
        &mut self,
        path: &Path,
        text: Option<&str>,
        language_id: &str,
        now: Instant,
    ) -> io::Result<Vec<Vec<u8>>> {
        if let Some(document) = self.open.get_mut(path) {
            document.used = now;
        }
        let (text, source) = match text {
            Some(text) => (text.to_string(), Source::Editor),
            None => {
                let stamp = Stamp::of(&fs::metadata(path)?);
                let known = self.open.get(path).map(|document| document.source);
                if stamp.is_some() && known == Some(Source::Disk(stamp)) {
                    return Ok(Vec::new());
                }
                (read(path)?, Source::Disk(stamp.filter(Stamp::is_old)))
            }
        };
        let Some(document) = self.open.get_mut(path) else {
            return Ok(self.open(path, text, source, language_id, now));
        };
        document.source = source;
        if document.text == text {
            return Ok(Vec::new());
        }
        // What was published about this version is about the text that is going.
        if let Some(published) = &mut document.published
            && published.version == Some(document.version)
        {
            published.text = Some(std::mem::take(&mut document.text));
        }
        document.version += 1;
        document.changed = now;
        document.text = text;
        let params = json!({
            "textDocument": {"uri": document.uri, "version": document.version},
            "contentChanges": [{"text": document.text}],
        });
        Ok(vec![notification("textDocument/didChange", params)])
    }

    fn open(
        &mut self,
        path: &Path,
        text: String,
        source: Source,
        language_id: &str,
        now: Instant,
    ) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        if self.open.len() >= MAX_OPEN
            && let Some((oldest, _)) = self.open.iter().min_by_key(|(_, document)| document.used)
        {
            let oldest = oldest.clone();
            frames.extend(self.close(&oldest));
        }
        let document = Document {
            uri: uri::from_path(&path.to_string_lossy()),
            text,
            version: 1,
            source,
            used: now,
            changed: now,
            published: None,
        };
        let params = json!({"textDocument": {
            "uri": document.uri,
            "languageId": language_id,
            "version": document.version,
            "text": document.text,
        }});
        frames.push(notification("textDocument/didOpen", params));
        self.open.insert(path.into(), document);
        frames
    }

    fn close(&mut self, path: &Path) -> Option<Vec<u8>> {
        let document = self.open.remove(path)?;
        let params = json!({"textDocument": {"uri": document.uri}});
        Some(notification("textDocument/didClose", params))
    }

    /// Closes what nobody has asked about for long, and what has lost its file; returns what must be
    /// sent for that.
    pub(crate) fn close_idle(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let idle: Vec<PathBuf> = (self.open.iter())
            .filter(|(_, document)| now >= document.used + IDLE)
            .map(|(path, _)| path.clone())
            .collect();
        idle.iter().filter_map(|path| self.close(path)).collect()
    }

    /// When the next document will have been idle for long.
    pub(crate) fn next_idle(&self) -> Option<Instant> {
        self.open.values().map(|document| document.used + IDLE).min()
    }

    /// Has the server see all but `asked` as it is now: `unsaved` as an editor has it, and what else is
    /// open as it is on disk; returns what must be sent for that.
    pub(crate) fn follow(
        &mut self,
        asked: &Path,
        unsaved: &[Unsaved],
        now: Instant,
    ) -> Vec<Vec<u8>> {
        let unsaved: HashMap<&Path, &Unsaved> =
            unsaved.iter().take(MAX_OPEN / 2).map(|one| (Path::new(&one.0), one)).collect();
        let mut frames = Vec::new();
        for (path, Unsaved(_, language_id, text)) in &unsaved {
            if *path != asked {
                // No file is read.
                frames.extend(self.show(path, Some(text), language_id, now).into_iter().flatten());
            }
        }
        let others: Vec<(PathBuf, Instant)> = (self.open.iter())
            .filter(|(path, _)| *path != asked && !unsaved.contains_key(path.as_path()))
            .map(|(path, document)| (path.clone(), document.used))
            .collect();
        for (path, used) in others {
            match self.show(&path, None, "", now) {
                Ok(more) => frames.extend(more),
                Err(_) => frames.extend(self.close(&path)),
            }
            // That it is looked at is not that somebody asked about it.
            if let Some(document) = self.open.get_mut(&path) {
                document.used = used;
            }
        }
        frames
    }

    /// Takes what the server published about `uri`; nothing, if that is not open.
    pub(crate) fn publish(
        &mut self,
        uri: &str,
        version: Option<i64>,
        diagnostics: String,
        now: Instant,
    ) {
        let Some(path) = uri::to_path(uri).map(PathBuf::from) else { return };
        let path = if self.open.contains_key(&path) {
            path
        } else {
            // Some servers follow links, or spell otherwise.
            fs::canonicalize(&path).unwrap_or(path)
        };
        if let Some(document) = self.open.get_mut(&path) {
            document.published = Some(Published { diagnostics, version, at: now, text: None });
        }
    }
}

/// The text of a file. What is no UTF-8 in it is U+FFFD; a byte order mark is no part of it.
fn read(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(fs::read(path)?)
        .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.into(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(frames: Vec<Vec<u8>>) -> Vec<String> {
        frames
            .into_iter()
            .map(|frame| {
                let frame = String::from_utf8(frame).expect("text");
                let body = frame.split_once("\r\n\r\n").expect("a header").1;
                let message: serde_json::Value = serde_json::from_str(body).expect("JSON");
                let method = message["method"].as_str().expect("a method");
                let params = &message["params"];
                let text = match method {
                    "textDocument/didOpen" => &params["textDocument"]["text"],
                    _ => &params["contentChanges"][0]["text"],
                };
                let method = method.trim_start_matches("textDocument/did");
                format!("{method} {} {text}", params["textDocument"]["version"])
            })
            .collect()
    }

    #[test]
    fn c10_line_endings_and_no_more() {
        for (text, found) in
            [("a\r\nb\n", &["a", "b", ""][..]), ("a\rb\r\r\nc", &["a", "b", "", "c"]), ("", &[""])]
        {
            assert_eq!(lines(text).collect::<Vec<_>>(), found);
        }
    }

    #[test]
    fn texts_follow_editor_and_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.py");
        let mut documents = Documents::default();
        let now = Instant::now();
        let mut show = |text: Option<&str>| {
            said(documents.show(&path, text, "python", now).expect("it can be read"))
        };
        fs::write(&path, "\u{feff}one").expect("written");
        assert_eq!(show(None), ["Open 1 \"one\""]);
        assert_eq!(show(None), [""; 0]);
        // As long as the first, and perhaps within one tick of the clock.
        fs::write(&path, "\u{feff}two").expect("written");
        assert_eq!(show(None), ["Change 2 \"two\""]);
        assert_eq!(show(Some("two")), [""; 0]);
        assert_eq!(show(Some("unsaved")), ["Change 3 \"unsaved\""]);
        assert_eq!(show(None), ["Change 4 \"two\""]);
        fs::remove_file(&path).expect("it was there");
        assert!(documents.show(&path, None, "python", now).is_err());
    }

    #[test]
    fn what_changes_on_disk_is_shown_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        let (a, b) = (folder.join("a.py"), folder.join("b.py"));
        let old = SystemTime::now() - Duration::from_secs(60);
        let write = |path: &Path, text: &str, age: u64| {
            fs::write(path, text).expect("written");
            let file = fs::File::options().write(true).open(path).expect("it is there");
            file.set_modified(old + Duration::from_secs(age)).expect("times can be set");
        };
        write(&a, "one", 0);
        let mut documents = Documents::default();
        let now = Instant::now();
        documents.show(&a, None, "python", now).expect("it can be read");
        documents.show(&b, Some("of an editor"), "python", now).expect("it need not be there");
        write(&a, "two", 1);
        write(&b, "other", 1);
        let c = folder.join("c.py");
        let unsaved = |path: &Path, text: &str| {
            Unsaved(path.to_str().expect("UTF-8").into(), "python".into(), text.into())
        };
        assert_eq!(said(documents.follow(&b, &[], now)), ["Change 2 \"two\""]);
        assert_eq!(said(documents.follow(&b, &[unsaved(&b, "no")], now)), [""; 0]);
        // The editor's text counts as long as the editor has it.
        let texts = [unsaved(&b, "of an editor"), unsaved(&c, "new")];
        assert_eq!(said(documents.follow(&a, &texts, now)), ["Open 1 \"new\""]);
        let mut frames = said(documents.follow(&a, &[], now));
        frames.sort();
        assert_eq!(frames, ["Change 2 \"other\"", "Close null null"]);
        let mut follow = || said(documents.follow(&c, &[], now));
        // Read so shortly after it was written that it may have been written again.
        fs::write(&a, "three").expect("written");
        assert_eq!(follow(), ["Change 3 \"three\""]);
        fs::write(&a, "seven").expect("written");
        assert_eq!(follow(), ["Change 4 \"seven\""]);
        fs::remove_file(&a).expect("it was there");
        assert_eq!(follow(), ["Close null null"]);
        assert_eq!(said(documents.close_idle(now + IDLE)), ["Close null null"]);
        assert!(documents.next_idle().is_none());
    }

    #[test]
    fn fresh_is_about_the_present_text() {
        let path = Path::new("/no/such/a.py");
        let quiet = Duration::from_millis(200);
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        let mut documents = Documents::default();
        let fresh = |documents: &Documents, ms| {
            documents.get(path).expect("open").is_fresh(later(ms), quiet)
        };
        let show = |documents: &mut Documents, text: &str, ms| {
            documents.show(path, Some(text), "python", later(ms)).expect("no file is read");
        };
        show(&mut documents, "a", 0);
        assert!(!fresh(&documents, 0));
        documents.publish("file:///no/such/a.py", Some(1), "[]".into(), later(1));
        assert!(fresh(&documents, 1));
        show(&mut documents, "b", 2);
        assert!(!fresh(&documents, 2));
        // An edit that was undone: some servers publish nothing then.
        show(&mut documents, "a", 3);
        assert!(fresh(&documents, 3));
        documents.publish("file:///no/such/a.py", Some(2), "[]".into(), later(4));
        assert!(!fresh(&documents, 4));
        documents.publish("file:///no/such/a.py", None, "[]".into(), later(5));
        assert!(!fresh(&documents, 5));
        assert!(fresh(&documents, 205));
        show(&mut documents, "c", 300);
        assert!(!fresh(&documents, 600));
    }

    #[test]
    fn not_too_many_stay_open() {
        let mut documents = Documents::default();
        let start = Instant::now();
        for n in 0..=MAX_OPEN {
            let path = PathBuf::from(format!("/no/such/{n}"));
            let at = start + Duration::from_millis(n as u64);
            let frames = documents.show(&path, Some(""), "x", at).expect("no file is read");
            assert_eq!(frames.len(), if n < MAX_OPEN { 1 } else { 2 });
        }
        assert!(documents.get(Path::new("/no/such/0")).is_none());
    }
}
