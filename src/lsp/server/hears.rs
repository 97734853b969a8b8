//! What a server says of its own accord, and the answers it gets.

use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{OUR_TOKEN, Server, Waiting};
use crate::lsp::initialize::{self, Capabilities};
use crate::lsp::message::{self, Incoming};

impl Server {
    pub(super) fn hear(&mut self, incoming: Incoming, now: Instant) -> Result<(), String> {
        match incoming {
            Incoming::Reply { id, result } if self.ready.is_none() && id == "1" => {
                let result = result.map_err(|error| format!("initialize: {}", error.message))?;
                self.capabilities = Capabilities::new(&result);
                self.ready = Some(now);
                self.send(message::notification("initialized", json!({})));
                // Where there is nothing to tell, some would read their configuration twice for it.
                if !self.row.settings.is_null() {
                    self.tell_settings();
                }
            }
            Incoming::Reply { id, result } => {
                self.in_flight.retain(|request| request.id.upgrade().is_some_and(|of| *of != *id));
                // One that nobody waits for, or that comes again, is for nobody.
                let parts = self.pending.iter_mut().flat_map(|one| match &mut one.waiting {
                    Waiting::Replies(parts) => parts.iter_mut(),
                    _ => [].iter_mut(),
                });
                for part in parts.filter(|part| *part.id == *id && part.result.is_none()) {
                    part.result = Some(result.clone());
                }
            }
            Incoming::Request { id, method, params } => {
                let params = serde_json::from_str(params.get()).unwrap_or_default();
                let frame = self.answer(&id, &method, &params);
                self.send(frame);
            }
            Incoming::Notification { method, params } => self.note(&method, &params, now),
        }
        Ok(())
    }

    /// Has the server read its configuration anew.
    pub(super) fn tell_settings(&mut self) {
        let settings =
            if self.row.settings.is_null() { json!({}) } else { self.row.settings.clone() };
        let params = json!({"settings": settings});
        self.send(message::notification("workspace/didChangeConfiguration", params));
    }

    /// The answer to a question of the server: there is one to each.
    fn answer(&mut self, id: &RawValue, method: &str, params: &Value) -> Vec<u8> {
        let result = match method {
            "workspace/configuration" => initialize::configuration(&self.row.settings, params),
            "workspace/workspaceFolders" => initialize::folders(&self.root),
            "client/registerCapability" => {
                self.capabilities.register(params);
                Value::Null
            }
            "client/unregisterCapability" => {
                self.capabilities.unregister(params);
                Value::Null
            }
            "window/showMessageRequest" => {
                self.shared.note(params["message"].as_str().unwrap_or_default());
                Value::Null
            }
            "window/workDoneProgress/create" => Value::Null,
            "window/showDocument" => json!({"success": false}),
            "workspace/applyEdit" => {
                json!({"applied": false, "failureReason": "this client only reads"})
            }
            _ if method.starts_with("workspace/") && method.ends_with("/refresh") => Value::Null,
            _ => {
                return message::response(
                    id,
                    Err((-32601, "this client does not know that method")),
                );
            }
        };
        message::response(id, Ok(result))
    }

    fn note(&mut self, method: &str, params: &RawValue, now: Instant) {
        match method {
            "textDocument/publishDiagnostics" => {
                #[derive(Deserialize)]
                struct Publish<'a> {
                    uri: String,
                    version: Option<i64>,
                    #[serde(borrow)]
                    diagnostics: &'a RawValue,
                }
                if let Ok(said) = serde_json::from_str::<Publish<'_>>(params.get()) {
                    let raw = said.diagnostics.get().to_string();
                    self.documents.publish(&said.uri, said.version, raw, now);
                }
            }
            "$/progress" => {
                let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
                if params["token"].as_str().is_some_and(|token| token.starts_with(OUR_TOKEN)) {
                    // The search for an answer is no loading of the project.
                    return;
                }
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") => {
                        self.progress.insert(token);
                    }
                    Some("end") => {
                        self.progress.remove(&token);
                        self.progress_ended = Some(now);
                    }
                    _ => (),
                }
            }
            "window/showMessage" | "window/logMessage" => {
                let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
                let message = params["message"].as_str().unwrap_or_default();
                if !self.row.loaded.is_empty() && message.contains(&self.row.loaded) {
                    self.loaded = Some(now);
                }
                // Errors and warnings; the rest is chatter.
                if params["type"].as_u64().is_some_and(|kind| kind <= 2) {
                    self.shared.note(message);
                }
            }
            _ => (),
        }
    }
}
