//! What we tell a server about us and our project, and what it tells about itself. It knows no
//! process.

use std::path::Path;

use lsp_types::PositionEncodingKind;
use serde_json::{Value, json};

use super::Row;
use crate::core::uri;

/// The name of what asks for diagnostics, be they pulled or published.
pub(crate) const DIAGNOSTICS: &str = "textDocument/diagnostic";
pub(crate) const WATCHED_FILES: &str = "workspace/didChangeWatchedFiles";

/// The params of `initialize` for a server of `row` in `root`.
pub(crate) fn params(row: &Row, root: &Path) -> Value {
    let path = root.to_string_lossy();
    let root_uri = uri::from_path(&path);
    json!({
        "processId": row.tells_process_id.then(std::process::id),
        "clientInfo": {"name": "eca-context", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": path,
        "rootUri": root_uri,
        "workspaceFolders": folders(root),
        "capabilities": client(),
        "initializationOptions": row.initialization_options,
    })
}

/// The workspace folders: the server's root.
pub(crate) fn folders(root: &Path) -> Value {
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    json!([{"uri": uri::from_path(&root.to_string_lossy()), "name": name}])
}

/// What this client understands: what it asks for and no more.
fn client() -> Value {
    let formats = ["markdown", "plaintext"];
    let link = json!({"linkSupport": true});
    json!({
        "general": {"positionEncodings": ["utf-16", "utf-8", "utf-32"]},
        "window": {"workDoneProgress": true, "showMessage": {}},
        "workspace": {
            "applyEdit": false,
            "configuration": true,
            "workspaceFolders": true,
            "didChangeConfiguration": {"dynamicRegistration": true},
            "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
            "diagnostic": {"refreshSupport": true},
        },
        "textDocument": {
            "synchronization": {"dynamicRegistration": false},
            "publishDiagnostics": {"versionSupport": true, "tagSupport": {"valueSet": [1, 2]}},
            // Some servers register it instead of announcing it, and do neither without this.
            "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": false},
            "definition": link,
            "declaration": link,
            "typeDefinition": link,
            "implementation": link,
            "references": {},
            "hover": {"contentFormat": formats},
            "signatureHelp": {"signatureInformation": {"documentationFormat": formats}},
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
        },
    })
}

/// What a server can do: announced when it started, or registered since.
#[derive(Debug, Default)]
pub(crate) struct Capabilities {
    announced: Value,
    /// Ids and methods.
    registered: Vec<(String, String)>,
    /// UTF-16, which every server must know, unless it told another one.
    pub(crate) encoding: Option<PositionEncodingKind>,
}

impl Capabilities {
    /// Reads the result of `initialize`.
    pub(crate) fn new(result: &str) -> Self {
        let mut result: Value = serde_json::from_str(result).unwrap_or_default();
        let announced = result.get_mut("capabilities").map(Value::take).unwrap_or_default();
        let encoding = announced["positionEncoding"].as_str().map(|name| name.to_string().into());
        Self { announced, registered: Vec::new(), encoding }
    }

    /// Whether the server answers `method`.
    pub(crate) fn offers(&self, method: &str) -> bool {
        let announced = match method {
            DIAGNOSTICS => &self.announced["diagnosticProvider"],
            "textDocument/definition" => &self.announced["definitionProvider"],
            "textDocument/declaration" => &self.announced["declarationProvider"],
            "textDocument/typeDefinition" => &self.announced["typeDefinitionProvider"],
            "textDocument/implementation" => &self.announced["implementationProvider"],
            "textDocument/references" => &self.announced["referencesProvider"],
            "textDocument/hover" => &self.announced["hoverProvider"],
            "textDocument/signatureHelp" => &self.announced["signatureHelpProvider"],
            "textDocument/documentSymbol" => &self.announced["documentSymbolProvider"],
            _ => &Value::Null,
        };
        !matches!(announced, Value::Null | Value::Bool(false))
            || self.registered.iter().any(|(_, registered)| registered == method)
    }

    /// Whether the server runs `command` of its own.
    pub(crate) fn runs(&self, command: &str) -> bool {
        let commands = self.announced["executeCommandProvider"]["commands"].as_array();
        commands.is_some_and(|commands| commands.iter().any(|one| one == command))
    }

    /// Takes the params of `client/registerCapability`.
    pub(crate) fn register(&mut self, params: &Value) {
        for one in params["registrations"].as_array().into_iter().flatten() {
            if let (Some(id), Some(method)) = (one["id"].as_str(), one["method"].as_str()) {
                self.registered.push((id.into(), method.into()));
            }
        }
    }

    /// Takes the params of `client/unregisterCapability`.
    pub(crate) fn unregister(&mut self, params: &Value) {
        // The protocol itself misspells it, and says so.
        for key in ["unregisterations", "unregistrations"] {
            for one in params[key].as_array().into_iter().flatten() {
                self.registered.retain(|(id, _)| Some(id.as_str()) != one["id"].as_str());
            }
        }
    }
}

/// What the server's question about `items` of the configuration is answered with: an item for each,
/// from `settings`, null for what is not there.
pub(crate) fn configuration(settings: &Value, params: &Value) -> Value {
    let section = |item: &Value| -> Value {
        let Some(section) = item["section"].as_str().filter(|s| !s.is_empty()) else {
            return settings.clone();
        };
        section
            .split('.')
            .try_fold(settings, |value, key| value.get(key))
            .cloned()
            .unwrap_or_default()
    };
    params["items"].as_array().map_or(Value::Null, |items| items.iter().map(section).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_lsps() {
        let ours = client();
        let read: lsp_types::ClientCapabilities =
            serde_json::from_value(ours.clone()).expect("the shapes are LSP's");
        // What is not known there, or spelled otherwise, would be lost.
        assert_eq!(serde_json::to_value(read).expect("JSON"), ours);
    }

    #[test]
    fn announced_or_registered() {
        let mut server = Capabilities::new(
            r#"{"capabilities": {"hoverProvider": true, "definitionProvider": false,
                "referencesProvider": {}, "positionEncoding": "utf-8",
                "executeCommandProvider": {"commands": ["a"]}}}"#,
        );
        assert_eq!([server.runs("a"), server.runs("b")], [true, false]);
        assert_eq!(server.encoding, Some(PositionEncodingKind::UTF8));
        let offers = |server: &Capabilities| {
            [("hover"), ("definition"), ("references"), ("diagnostic"), ("rename")]
                .map(|name| server.offers(&format!("textDocument/{name}")))
        };
        assert_eq!(offers(&server), [true, false, true, false, false]);
        server.register(&json!({"registrations": [{"id": "1", "method": DIAGNOSTICS}, {}]}));
        server.register(&json!({"registrations": [{"id": "2", "method": DIAGNOSTICS}]}));
        server.unregister(&json!({"unregisterations": [{"id": "1", "method": DIAGNOSTICS}]}));
        assert_eq!(offers(&server), [true, false, true, true, false]);
        server.unregister(&json!({"unregisterations": [{"id": "2"}]}));
        assert_eq!(offers(&server), [true, false, true, false, false]);
        assert_eq!(offers(&Capabilities::new("7")), [false; 5]);
    }

    #[test]
    fn configuration_item_by_item() {
        let settings = json!({"python": {"analysis": {"x": 1}}, "a": false});
        let sections = ["python.analysis", "python", "a", "b.c", "a.b", ""];
        let items: Vec<Value> = sections.iter().map(|s| json!({"section": s})).collect();
        assert_eq!(
            configuration(&settings, &json!({"items": items})),
            json!([{"x": 1}, {"analysis": {"x": 1}}, false, null, null, settings])
        );
        assert_eq!(configuration(&settings, &json!({"items": [{}]})), json!([settings]));
        assert_eq!(configuration(&settings, &json!({})), Value::Null);
    }
}
