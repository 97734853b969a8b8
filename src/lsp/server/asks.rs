//! What is asked of a server, from the question to the answer: the second half of its thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_types::PositionEncodingKind;
use serde_json::{Value, json};

use super::{
    DEFINITION, MAX_START, OUR_TOKEN, Outcome, Part, Pending, Question, REFERENCES, Request,
    Server, Waiting, results,
};
use crate::core::position::Position;
use crate::core::uri;
use crate::lsp::initialize::{DIAGNOSTICS, WATCHED_FILES};
use crate::lsp::message::{self, ReplyError};
use crate::lsp::queue::trouble;
use crate::lsp::watch::Change;
use crate::lsp::{Ask, Found, diagnostics, tsserver};

/// How long a server that tells no versions must be silent before what it published is believed.
pub(super) const QUIET: Duration = Duration::from_millis(300);

/// Questions that come within so short a time are asked at once.
const TOGETHER: Duration = Duration::from_millis(1);

fn have_come(parts: &[Part]) -> bool {
    parts.iter().all(|part| part.result.is_some())
}

impl Pending {
    /// Whether the server has the question, and the disk has not been looked at for it.
    fn wants_look(&self) -> bool {
        !self.looked && matches!(self.waiting, Waiting::Replies(_) | Waiting::Diagnostics)
    }
}

impl Server {
    pub(super) fn take(&mut self, question: Question, now: Instant) {
        let Question { ask, asker, asked, idle } = question;
        self.idle = idle;
        self.last_asked = now;
        let deadline = asked + Duration::from_millis(ask.deadline_ms);
        let patience = deadline.min(asked + Duration::from_millis(ask.patience_ms));
        let waiting = Waiting::Server;
        let looked = false;
        self.pending.push(Pending { ask, asker, asked, patience, deadline, waiting, looked });
    }

    /// Moves `one` on as far as it goes now; gives it back if it is not over.
    pub(super) fn step(&mut self, mut one: Pending, now: Instant) -> Option<Pending> {
        let looked = one.looked;
        let outcome = match &mut one.waiting {
            Waiting::Server if self.ready.is_some() => self.begin(&mut one, now),
            Waiting::Project if self.is_settled(now) => self.begin(&mut one, now),
            Waiting::Replies(parts) if looked && have_come(parts) => {
                let parts = std::mem::take(parts);
                self.has_answered = true;
                self.finish(&mut one, parts, now)
            }
            Waiting::Diagnostics if self.pulls() => self.begin(&mut one, now),
            Waiting::Diagnostics if looked => {
                let path = Path::new(&one.ask.path);
                let document = self.documents.get(path);
                match document.filter(|d| d.is_fresh(now, QUIET)).and_then(|d| d.published.as_ref())
                {
                    Some(published) => {
                        let raw = published.diagnostics.clone();
                        let found = self.diagnostics(&one.ask, &raw, true);
                        self.believed(&mut one, found, &raw, now)
                    }
                    None => None,
                }
            }
            _ => None,
        };
        match outcome.or_else(|| self.out_of_time(&one, now)) {
            Some(outcome) => {
                one.asker.tell(outcome);
                None
            }
            None => Some(one),
        }
    }

    /// Shows the document and asks the server, unless that cannot be.
    fn begin(&mut self, one: &mut Pending, now: Instant) -> Option<Outcome> {
        let path = PathBuf::from(&one.ask.path);
        let shown = self.documents.show(&path, one.ask.text.as_deref(), &one.ask.language_id, now);
        match shown {
            Ok(frames) => frames.into_iter().for_each(|frame| self.send(frame)),
            Err(error) => {
                return Some(Err(trouble("error", format!("the file cannot be read: {error}"))));
            }
        }
        // For what is open at the server it does not look at the disk.
        for frame in self.documents.follow(&path, &one.ask.unsaved, now) {
            self.send(frame);
        }
        let parts = self.send_requests(&one.ask, &path);
        let method = one.ask.method.as_str();
        one.waiting = match parts {
            Some(parts) => Waiting::Replies(parts),
            None if method == DIAGNOSTICS => Waiting::Diagnostics,
            None => {
                let what = method.trim_start_matches("textDocument/");
                let reason = format!("{} does not answer {what}", self.row.name);
                return Some(Err(trouble("unsupported-by-provider", reason)));
            }
        };
        None
    }

    /// Sends the requests that answer `ask`; `None` if the server does not take them.
    fn send_requests(&mut self, ask: &Ask, path: &Path) -> Option<Vec<Part>> {
        let requests = self.requests(ask, path)?;
        let ask = |(method, params)| Part { id: self.ask_once(method, params), result: None };
        Some(requests.into_iter().map(ask).collect())
    }

    /// Sends a request, unless the server is about to answer that very one; returns its id.
    fn ask_once(&mut self, method: &str, params: Value) -> Arc<str> {
        let same = |one: &&Request| one.method == method && one.params == params;
        if let Some(id) = self.in_flight.iter().find(same).and_then(|one| one.id.upgrade()) {
            return id;
        }
        let mut told = params.clone();
        // Else pyright first asks for a token to tell its progress with.
        told["workDoneToken"] = format!("{OUR_TOKEN}{}", self.next_id).into();
        let id = Arc::from(self.send_request(method, told));
        let request = Request { id: Arc::downgrade(&id), method: method.into(), params };
        self.in_flight.push(request);
        id
    }

    /// The requests that answer `ask`; `None` if the server does not take them.
    fn requests<'a>(&self, ask: &'a Ask, path: &Path) -> Option<Vec<(&'a str, Value)>> {
        let document = self.documents.get(path)?;
        if ask.method == DIAGNOSTICS && self.capabilities.runs(tsserver::COMMAND) {
            return Some(tsserver::requests(&document.uri));
        }
        if !self.capabilities.offers(&ask.method) {
            return None;
        }
        let at = document.position(Position::new(ask.line, ask.character), &self.encoding());
        let mut params = json!({"textDocument": {"uri": document.uri}});
        if !matches!(ask.method.as_str(), DIAGNOSTICS | "textDocument/documentSymbol") {
            params["position"] = json!(at);
        }
        if ask.method != REFERENCES {
            return Some(vec![(&ask.method, params)]);
        }
        let mut requests = vec![];
        if self.capabilities.offers(DEFINITION) {
            requests.push((DEFINITION, params.clone()));
        }
        params["context"] = json!({"includeDeclaration": true});
        requests.insert(0, (REFERENCES, params));
        Some(requests)
    }

    /// Makes an outcome of what the server replied; `None` if it is to be asked again.
    fn finish(&mut self, one: &mut Pending, parts: Vec<Part>, now: Instant) -> Option<Outcome> {
        let mut results = Vec::new();
        for part in parts {
            match part.result.expect("all have come") {
                Ok(result) => results.push(result),
                // The text was changed meanwhile, or it prefers to be asked later.
                Err(ReplyError { code: -32801 | -32802, .. }) => {
                    one.waiting = Waiting::Server;
                    return None;
                }
                Err(error) if results.is_empty() => {
                    return Some(Err(trouble("error", error.message)));
                }
                Err(_) => results.push("null".into()),
            }
        }
        let first = results.first().map(String::as_str).unwrap_or("null");
        if one.ask.method == DIAGNOSTICS {
            let raw = if self.capabilities.runs(tsserver::COMMAND) {
                tsserver::merged(&results.iter().map(String::as_str).collect::<Vec<_>>())
            } else {
                results::pulled(first)
            };
            return match raw {
                Some(raw) => {
                    let found = self.diagnostics(&one.ask, &raw, true);
                    self.believed(one, found, &raw, now)
                }
                None => Some(Err(trouble("error", "it told nothing about this file"))),
            };
        }
        let found = Found {
            result: first.into(),
            encoding: self.capabilities.encoding.clone(),
            declarations: results.get(1).cloned(),
            fresh: None,
        };
        let first = first.to_string();
        self.believed(one, found, &first, now)
    }

    /// `found`, unless its JSON text `raw` may be a fragment and the project is not loaded.
    fn believed(
        &mut self,
        one: &mut Pending,
        found: Found,
        raw: &str,
        now: Instant,
    ) -> Option<Outcome> {
        if results::is_thin(&one.ask.method, raw) && !self.is_settled(now) {
            one.waiting = Waiting::Project;
            return None;
        }
        if results::names_places(&one.ask.method) {
            results::files(raw)
                .filter(|path| !path.starts_with(&self.root))
                .for_each(|path| self.shared.name(path));
        }
        Some(Ok(found))
    }

    /// What who asked is told when it has waited long enough.
    fn out_of_time(&mut self, one: &Pending, now: Instant) -> Option<Outcome> {
        if now < self.patience_ends(one) {
            return None;
        }
        if let Waiting::Diagnostics = one.waiting
            && let Some(document) = self.documents.get(Path::new(&one.ask.path))
            && let Some(published) = &document.published
        {
            return Some(Ok(self.diagnostics(&one.ask, &published.diagnostics, false)));
        }
        if now < one.deadline || self.is_cold(now) {
            self.cancel(one);
            let what = if self.ready.is_some() { "loading the project" } else { "starting" };
            let reason = format!("{} is {what}", self.row.name);
            return Some(Err(trouble("starting", reason)));
        }
        if let Waiting::Replies(_) = &one.waiting {
            self.cancel(one);
            let waited = now.duration_since(one.asked).as_secs_f32();
            self.shared.note(&format!("no answer to {} within {waited:.1} s", one.ask.method));
            self.shared.look().n_timeouts += 1;
            self.n_silent += 1;
        }
        Some(Err(trouble("timeout", format!("{} did not answer in time", self.row.name))))
    }

    /// Until when `one` waits: not to its end, where the server is not yet what it will be.
    pub(super) fn patience_ends(&self, one: &Pending) -> Instant {
        let starts = match one.waiting {
            Waiting::Server => self.ready.is_none(),
            Waiting::Project => true,
            Waiting::Replies(_) => self.is_cold(one.patience),
            Waiting::Diagnostics => {
                let document = self.documents.get(Path::new(&one.ask.path));
                self.is_cold(one.patience)
                    && document.is_none_or(|document| document.published.is_none())
            }
        };
        if starts { one.patience } else { one.deadline }
    }

    /// Whether it may still be loading the project, for all that is known.
    fn is_cold(&self, now: Instant) -> bool {
        !self.has_answered && now < self.started + MAX_START
    }

    fn cancel(&mut self, one: &Pending) {
        // Pyright, once told to cancel its search for references, fails at each later one.
        if one.ask.method == REFERENCES {
            return;
        }
        let Waiting::Replies(parts) = &one.waiting else { return };
        let is_ours_alone =
            |part: &&Part| part.result.is_none() && Arc::strong_count(&part.id) == 1;
        for part in parts.iter().filter(is_ours_alone) {
            self.send(message::notification("$/cancelRequest", json!({"id": *part.id})));
        }
    }

    fn diagnostics(&self, ask: &Ask, raw: &str, fresh: bool) -> Found {
        let text = self.documents.get(Path::new(&ask.path)).map_or("", |d| d.text.as_str());
        let facts = diagnostics::facts(raw, &self.encoding(), &self.row.name, text);
        let items: Value = facts.into_iter().map(results::item).collect();
        Found { result: items.to_string(), fresh: Some(fresh), ..Found::default() }
    }

    fn encoding(&self) -> PositionEncodingKind {
        self.capabilities.encoding.clone().unwrap_or(PositionEncodingKind::UTF16)
    }

    fn pulls(&self) -> bool {
        self.capabilities.runs(tsserver::COMMAND) || self.capabilities.offers(DIAGNOSTICS)
    }

    /// Whether an empty answer is to be believed.
    fn is_settled(&self, now: Instant) -> bool {
        self.settled_at().is_some_and(|at| now >= at)
    }

    /// When an empty answer will be believed, as far as that is known.
    pub(super) fn settled_at(&self) -> Option<Instant> {
        if !self.progress.is_empty() {
            return None;
        }
        let settled = self.ready? + Duration::from_millis(self.row.settle_ms);
        // Where it says when it has loaded, the end of other work tells nothing.
        let told = if self.row.loaded.is_empty() { self.progress_ended } else { self.loaded };
        Some(told.map_or(settled, |at| settled.min(at)))
    }

    /// Tells the server which files were written before it was asked, while it is at work already; what
    /// it was asked is asked again then. Questions that come at once share a look at the disk.
    pub(super) fn look(&mut self, now: Instant) {
        let Some((newest, due)) = self.look_due() else { return };
        let is_answered =
            |one: &Pending| matches!(&one.waiting, Waiting::Replies(parts) if have_come(parts));
        if now < due && !self.pending.iter().any(|one| one.wants_look() && is_answered(one)) {
            return;
        }
        let has_news = self.follow_disk(newest);
        if has_news {
            // What was asked before need not be about it, whether the server was told or looks itself.
            self.in_flight.clear();
        }
        let mut pending = std::mem::take(&mut self.pending);
        for one in pending.iter_mut().filter(|one| one.wants_look()) {
            one.looked = true;
            if let Waiting::Replies(parts) = &mut one.waiting
                && has_news
                && let Some(again) = self.send_requests(&one.ask, Path::new(&one.ask.path))
            {
                *parts = again;
            }
        }
        self.pending = pending;
    }

    /// When the newest question came that wants the disk looked at, and when that is due.
    pub(super) fn look_due(&self) -> Option<(Instant, Instant)> {
        let asked = self.pending.iter().filter(|one| one.wants_look()).map(|one| one.asked);
        asked.max().map(|newest| (newest, newest + TOGETHER))
    }

    /// Tells a server that wants to know which files were written since it was told last and before
    /// `asked`; returns whether there were any.
    fn follow_disk(&mut self, asked: Instant) -> bool {
        let wants_to_know = self.capabilities.offers(WATCHED_FILES);
        // Tsserver watches by itself, and looks at what is new a second after the last news.
        let is_late = self.capabilities.runs(tsserver::COMMAND);
        if !wants_to_know && !is_late {
            return false;
        }
        let Some(files) = &mut self.files else { return false };
        let news = files.changes(asked);
        if wants_to_know && !news.files.is_empty() {
            let told: Vec<Value> = (news.files.iter())
                .map(|(path, change)| {
                    json!({"uri": uri::from_path(&path.to_string_lossy()), "type": *change as u8})
                })
                .collect();
            self.send(message::notification(WATCHED_FILES, json!({"changes": told})));
        }
        let came_or_went = news.files.iter().any(|(_, change)| *change != Change::Changed);
        if is_late && (came_or_went || news.packages) {
            let (method, params) = tsserver::reload();
            self.send_request(method, params);
        } else if news.packages {
            // Of these pyright takes no word, but then it looks at all of them again.
            self.tell_settings();
        }
        !news.is_none()
    }
}
