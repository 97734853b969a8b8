//! JSON-RPC messages as this client reads and writes them. It knows no server and no method.
//!
//! Results stay text: who asked reads them, in whatever way fits.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::wire::frame;

/// What a server said.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// To a question of ours; the result is JSON text.
    Reply {
        id: String,
        result: Result<String, ReplyError>,
    },
    /// A question; its id goes back as it came.
    Request {
        id: Box<RawValue>,
        method: String,
        params: Box<RawValue>,
    },
    Notification {
        method: String,
        params: Box<RawValue>,
    },
}

/// The error that a server answered with.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ReplyError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// Reads a message; `None` for what is none.
pub(crate) fn parse(body: &str) -> Option<Incoming> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(default, borrow)]
        id: Option<&'a RawValue>,
        #[serde(default)]
        method: Option<String>,
        #[serde(default, borrow)]
        params: Option<&'a RawValue>,
        #[serde(default, borrow)]
        result: Option<&'a RawValue>,
        #[serde(default)]
        error: Option<ReplyError>,
    }
    let Message { id, method, params, result, error } = serde_json::from_str(body).ok()?;
    let params = || params.map_or_else(null, ToOwned::to_owned);
    match (id, method) {
        (None, Some(method)) => Some(Incoming::Notification { method, params: params() }),
        (Some(id), Some(method)) => {
            Some(Incoming::Request { id: id.to_owned(), method, params: params() })
        }
        (Some(id), None) => {
            let id = serde_json::from_str(id.get()).ok()?;
            let result = match error {
                Some(error) => Err(error),
                None => Ok(result.map_or("null", RawValue::get).to_string()),
            };
            Some(Incoming::Reply { id, result })
        }
        (None, None) => None,
    }
}

fn null() -> Box<RawValue> {
    RawValue::from_string("null".into()).expect("null is JSON")
}

/// The frame of a question with a string id.
pub(crate) fn request(id: &str, method: &str, params: Value) -> Vec<u8> {
    framed(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// The frame of what wants no answer.
pub(crate) fn notification(method: &str, params: Value) -> Vec<u8> {
    framed(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// The frame of an answer to the server's question `id`: a result, or a code and a message.
pub(crate) fn response(id: &RawValue, result: Result<Value, (i32, &str)>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'a str,
        id: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    }
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err((code, message)) => (None, Some(json!({"code": code, "message": message}))),
    };
    framed(&Response { jsonrpc: "2.0", id, result, error })
}

fn framed(message: &impl Serialize) -> Vec<u8> {
    frame(serde_json::to_vec(message).expect("our own messages have string keys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_what() {
        for (body, kind) in [
            (r#"{"id":"7","result":null}"#, r#"Reply { id: "7", result: Ok("null") }"#),
            (r#"{"id":"7"}"#, r#"Reply { id: "7", result: Ok("null") }"#),
            (
                r#"{"id":"7","error":null,"result":[ 1]}"#,
                r#"Reply { id: "7", result: Ok("[ 1]") }"#,
            ),
            (
                r#"{"id":"7","error":{"message":"m"}}"#,
                r#"Reply { id: "7", result: Err(ReplyError { code: 0, message: "m" }) }"#,
            ),
            (r#"{"method":"m"}"#, r#"Notification { method: "m", params: RawValue(null) }"#),
            (
                r#"{"id":4,"method":"m","params":[]}"#,
                r#"Request { id: RawValue(4), method: "m", params: RawValue([]) }"#,
            ),
        ] {
            let found = parse(body).map(|message| format!("{message:?}"));
            assert_eq!(found.as_deref(), Some(kind), "{body}");
        }
    }

    #[test]
    fn what_is_none() {
        for body in
            ["", "[]", "{}", "7", "{\"id\":7,\"result\":1}", "{\"id\":null}", "{\"method\":1}"]
        {
            assert!(parse(body).is_none(), "{body}");
        }
    }

    #[test]
    fn an_id_goes_back_as_it_came() {
        let id = RawValue::from_string("12345678901234567890".into()).expect("a number");
        let frame = String::from_utf8(response(&id, Ok(Value::Null))).expect("text");
        assert!(frame.ends_with(r#"{"jsonrpc":"2.0","id":12345678901234567890,"result":null}"#));
        let frame = String::from_utf8(response(&id, Err((-32601, "no")))).expect("text");
        assert!(frame.ends_with(r#""error":{"code":-32601,"message":"no"}}"#));
    }
}
