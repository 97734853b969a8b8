//! JSON text and core values: requests in, finished bodies and frames out. It knows no editor and
//! no process.

pub(crate) mod frame;
pub(crate) mod raw;

use std::fmt::Display;

use serde::Serialize;
use serde_json::{Value, json};

use crate::core::assemble::{assemble, assemble_diagnostics, assemble_locations};
use crate::core::context::{Code, Diagnostics, Locations, Status, Unavailable};
use crate::core::diagnostics;
use crate::core::facts::Facts;
use crate::core::lines::Lines;
use crate::core::plan::{DIAGNOSTICS, Method, Options, Plan, Request, plan};
use crate::core::uri;

/// JSON-RPC's codes.
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// What Lisp is told to gather, or why the request is refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlanOut {
    Plan(Box<Plan>),
    Refused { error: ErrorOut },
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorOut {
    pub code: i32,
    pub message: String,
}

/// The plan for a request, or the error that answers it.
pub fn plan_value(method: &str, params: Value, options: Options) -> PlanOut {
    match plan(&Request { method: method.into(), params, options }) {
        Ok(plan) => PlanOut::Plan(Box::new(plan)),
        Err(e) => PlanOut::Refused { error: ErrorOut { code: e.code(), message: e.to_string() } },
    }
}

/// What stands for a plan where the params could not even be read.
pub fn no_plan(reason: &impl Display) -> PlanOut {
    let error = ErrorOut { code: INVALID_PARAMS, message: format!("params: {reason}") };
    PlanOut::Refused { error }
}

/// The body that answers a request whose params could not even be read.
pub fn unreadable_params(
    method: &str,
    options: &Options,
    reason: &impl Display,
    id_json: &str,
) -> Vec<u8> {
    let message = format!("params: {reason}");
    refusal(method, options.not_checked, None, INVALID_PARAMS, &message, id_json)
}

/// The body that answers a request whose facts could not be read.
pub fn unreadable_facts(
    method: &str,
    options: &Options,
    reason: &impl Display,
    id_json: &str,
) -> Vec<u8> {
    let message = format!("eca-context could not read its own facts: {reason}");
    refusal(method, options.not_checked, None, INTERNAL_ERROR, &message, id_json)
}

/// An error; of `editor/getDiagnostics` a result, since today's servers read an error as "clean", and of
/// the other two older methods their own kind of result.
fn refusal(
    method: &str,
    not_checked: bool,
    root: Option<&str>,
    code: i32,
    message: &str,
    id_json: &str,
) -> Vec<u8> {
    match method {
        "editor/getDiagnostics" => {
            body(id_json, "result", &refused_diagnostics(message, not_checked, root), BODY_BYTES)
        }
        "editor/getDefinition" | "editor/getReferences" => {
            let message = Some(message.into());
            let refused = Locations { status: Status::Error, locations: None, message };
            body(id_json, "result", &refused, BODY_BYTES)
        }
        _ => error_body(id_json, code, message),
    }
}

/// The complete JSON-RPC body that answers a request; it never fails.
///
/// `id_json` is the request's id as JSON text. Only `editor/getContext` is answered by an error: of the
/// other methods a bad param is told in a result.
pub fn answer(
    method: &str,
    params: Value,
    options: Options,
    mut facts: Facts,
    lines: &dyn Lines,
    id_json: &str,
) -> Vec<u8> {
    raw::read(&mut facts);
    let not_checked = options.not_checked;
    match plan(&Request { method: method.into(), params, options }) {
        Ok(plan) => match plan.method {
            Method::GetContext => {
                body(id_json, "result", &assemble(&plan, facts, lines), BODY_BYTES)
            }
            Method::GetDiagnostics => {
                let found = assemble_diagnostics(&plan, facts, lines);
                let capacity = BODY_BYTES + DIAGNOSTIC_BYTES * found.diagnostics.len();
                body(id_json, "result", &found, capacity)
            }
            Method::GetDefinition | Method::GetReferences => {
                let found = assemble_locations(&plan, facts, lines);
                let n_found = found.locations.as_ref().map_or(0, Vec::len);
                body(id_json, "result", &found, BODY_BYTES + LOCATION_BYTES * n_found)
            }
        },
        Err(e) => {
            let root = facts.root.as_deref();
            refusal(method, not_checked, root, e.code(), &e.to_string(), id_json)
        }
    }
}

/// The body of a JSON-RPC error.
pub fn error_body(id_json: &str, code: i32, message: &str) -> Vec<u8> {
    body(id_json, "error", &json!({"code": code, "message": message}), BODY_BYTES)
}

/// The body that answers a request with `result`.
pub fn result_body(id_json: &str, result: &Value) -> Vec<u8> {
    body(id_json, "result", result, BODY_BYTES)
}

/// `body` behind its header, as it goes on the wire.
///
/// *Units*: `Content-Length` counts bytes.
pub fn frame(mut body: Vec<u8>) -> Vec<u8> {
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    body.splice(0..0, header.into_bytes());
    body
}

fn refused_diagnostics(reason: &str, not_checked: bool, root: Option<&str>) -> Diagnostics {
    let uri = root.map(uri::from_path).unwrap_or_default();
    let entry = diagnostics::not_checked(uri, reason);
    let unavailable = Unavailable {
        capability: DIAGNOSTICS.into(),
        code: Code::Error,
        reason: reason.into(),
        retry: false,
    };
    Diagnostics {
        diagnostics: if not_checked { vec![entry] } else { Vec::new() },
        unavailable: vec![unavailable],
        ..Diagnostics::default()
    }
}

/// The body with `value` as its `key`, written once: it may be large.
/// Room for the head of a body, and for what most answers hold.
const BODY_BYTES: usize = 4096;
/// What a diagnostic takes, as a guess.
const DIAGNOSTIC_BYTES: usize = 320;
/// What a location takes, as a guess.
const LOCATION_BYTES: usize = 256;

fn body<T: Serialize>(id_json: &str, key: &str, value: &T, capacity: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(capacity);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    body.extend_from_slice(id_json.as_bytes());
    body.extend_from_slice(format!(",\"{key}\":").as_bytes());
    serde_json::to_writer(&mut body, value)
        .expect("our own types have string keys and finite numbers, and memory takes them");
    body.push(b'}');
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileLines;

    fn check(method: &str, params: Value, id: &str) -> Value {
        let lines = FileLines::new(Vec::new(), Vec::new());
        let body = answer(method, params, Options::default(), Facts::default(), &lines, id);
        serde_json::from_slice(&body).expect("an answer is JSON")
    }

    #[test]
    fn c38_an_error_is_an_error_and_ids_stay() {
        for id in ["0", "\"x\"", "1152921504606846976123"] {
            let body = error_body(id, -32602, "m");
            assert!(String::from_utf8_lossy(&body).contains(&format!("\"id\":{id},")));
        }
        let answer = check("editor/getContext", json!({"limit": 0}), "0");
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer.get("result").is_none());
    }

    #[test]
    fn never_a_false_clean() {
        let answer = check("editor/getDiagnostics", json!({"uri": "file:///a"}), "1");
        assert_eq!(
            answer["result"]["diagnostics"][0]["message"],
            "not checked: no checker is active in this file"
        );
        let answer = check("editor/getDiagnostics", json!({"uri": 5}), "1");
        assert_eq!(
            answer["result"]["diagnostics"][0]["message"],
            "not checked: uri: got 5, expected a string"
        );
        assert!(answer.get("error").is_none());
    }

    #[test]
    fn every_name_is_answered_once() {
        let include = json!({"uri": "file:///a", "include": ["references", "x", "definitions"]});
        let answer = check("editor/getContext", include, "1");
        let codes: Vec<_> = answer["result"]["unavailable"]
            .as_array()
            .expect("three entries")
            .iter()
            .map(|e| e["code"].as_str().unwrap_or("").to_string())
            .collect();
        assert_eq!(codes, ["no-position", "unknown-capability", "no-position"]);
    }

    #[test]
    fn the_most_telling_failure_is_told() {
        let (install, told) = ("install", "unavailable: install pyright");
        for (statuses, codes) in [
            (&["no-provider", "would-prompt", install][..], json!([["install", told, null]])),
            (&["no-provider", "disabled", "error"], json!([["error", "p: r", null]])),
            (&["disabled", "no-provider"], json!([["disabled", "p: r", null]])),
            (&["ok", "no-provider", "disabled"], json!([])),
            (&["ok", "would-prompt"], json!([["partial", "p: r", true]])),
            (&["found", "no-provider", "would-prompt"], json!([])),
            (&["found", "error"], json!([["partial", "p: r", true]])),
            (&["ok", install], json!([["partial", told, null]])),
            (&["ok", "starting"], json!([["partial", "p: r", true]])),
        ] {
            let outcomes: Vec<Value> = statuses
                .iter()
                .map(|status| {
                    let reason = if *status == install { told } else { "r" };
                    let items = if *status == "found" { json!([["/a", 0, 0]]) } else { json!([]) };
                    let status = if *status == "found" { "ok" } else { status };
                    json!({"provider": "p", "kind": "semantic", "status": status, "reason": reason,
                           "items": items})
                })
                .collect();
            let facts = json!({"position": {"line": 0, "character": 0}, "definitions": outcomes});
            let facts: Facts = serde_json::from_value(facts).expect("facts");
            let params = json!({"uri": "file:///a", "include": ["definitions"]});
            let lines = FileLines::new(Vec::new(), Vec::new());
            let options = Options::default();
            let body = answer("editor/getContext", params, options, facts, &lines, "1");
            let answer: Value = serde_json::from_slice(&body).expect("JSON");
            let told: Value = answer["result"]["unavailable"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|entry| json!([entry["code"], entry["reason"], entry["retry"]]))
                .collect();
            assert_eq!(told, codes, "{statuses:?}");
        }
    }

    #[test]
    fn frames_count_bytes() {
        assert_eq!(frame("é".into()), b"Content-Length: 2\r\n\r\n\xc3\xa9");
    }
}
