//! What to gather for a request: all validation of params lives here. It knows no editor and looks at
//! nothing but the params and the options.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::diagnostics::{Near, Wanted};
use super::error::Error;
use super::position::{Position, Range};

/// Every feature the protocol names, in its order.
pub const FEATURES: [&str; 7] = [
    "symbolAtPosition",
    "definitions",
    "references",
    "documentSymbols",
    "enclosingSymbols",
    "documentation",
    "workspace",
];

/// The features that this version answers.
pub const BUILT: [&str; 3] = ["symbolAtPosition", "definitions", "documentSymbols"];

const DEFAULT_INCLUDE: [&str; 3] = ["symbolAtPosition", "definitions", "documentSymbols"];
const MAX_DIAGNOSTICS: u32 = 10_000;
const NUMBER: &str = "an integer >= 0";
const COUNT: &str = "an integer >= 1";

/// What the user has set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Features switched off.
    pub disabled: Vec<String>,
    /// Items in each list of `editor/getContext` where the request does not say.
    pub limit: u32,
    /// The most that a request may ask for.
    pub max_limit: u32,
    /// Whether an empty list of diagnostics that nobody checked carries the "not checked" entry.
    pub not_checked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { disabled: Vec::new(), limit: 100, max_limit: 1000, not_checked: true }
    }
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub params: Value,
    pub options: Options,
}

/// Which of the methods answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Method {
    #[serde(rename = "editor/getContext")]
    GetContext,
    #[serde(rename = "editor/getDiagnostics")]
    GetDiagnostics,
}

/// What to gather, with limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub method: Method,
    /// Features to gather: wanted, known, built and not switched off, each once.
    pub features: Vec<String>,
    /// Everything the answer must speak of, in the order asked.
    #[serde(skip)]
    pub include: Vec<String>,
    #[serde(skip)]
    pub disabled: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub character: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_distance: Option<u32>,
    /// The rank of the least severe diagnostic wanted: 0 error … 3 hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<u8>,
    pub limit: u32,
    #[serde(skip)]
    pub not_checked: bool,
}

impl Plan {
    /// The asked position, if it names a column.
    pub fn position(&self) -> Option<Position> {
        Some(Position::new(self.line?, self.character?))
    }

    /// Which diagnostics of one file are wanted.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            near: self.position().map(Near::Position).or(self.range.map(Near::Range)),
            max_distance: self.max_distance,
            min_severity: self.min_severity,
            limit: self.limit as usize,
        }
    }
}

/// Says what to gather for `request`.
///
/// *Errors*: `InvalidParam` names the param, what was got and what was expected; `UnknownMethod`.
/// *Source*: the protocol, sections 2 and 3.
pub fn plan(request: &Request) -> Result<Plan, Error> {
    let empty = Map::new();
    let map = match &request.params {
        Value::Null => &empty,
        Value::Object(map) => map,
        Value::Array(items) if items.is_empty() => &empty,
        other => return Err(invalid("params", other, "an object")),
    };
    match request.method.as_str() {
        "editor/getContext" => plan_context(map, &request.options),
        "editor/getDiagnostics" => plan_diagnostics(map, &request.options),
        other => Err(Error::UnknownMethod(other.into())),
    }
}

fn plan_context(map: &Map<String, Value>, options: &Options) -> Result<Plan, Error> {
    let uri = string(map, "uri")?;
    let symbol = string(map, "symbol")?;
    if symbol.as_deref() == Some("") {
        return Err(invalid("symbol", &Value::from(""), "a name"));
    }
    let occurrence = integer(map, "occurrence", 1, COUNT)?;
    let (mut line, mut character) = (None, None);
    if let Some(value) = present(map, "position") {
        let Value::Object(position) = value else {
            return Err(invalid("position", value, "{line, character}"));
        };
        line = Some(required(position, "line", "position.line")?);
        character = integer_as(position, "character", "position.character", 0, NUMBER)?;
        if character.is_none() && symbol.is_none() {
            return Err(absent("position.character", NUMBER));
        }
        if uri.is_none() {
            return Err(absent("uri", "a URI, where a position is given"));
        }
    }
    if symbol.is_some() && line.is_none() {
        return Err(absent("position", "{line}, where a symbol is given"));
    }
    let include = include(map)?;
    let features = include
        .iter()
        .filter(|name| BUILT.contains(&name.as_str()) && !options.disabled.contains(name))
        .cloned()
        .collect();
    let limit = integer(map, "limit", 1, COUNT)?.unwrap_or(options.limit);
    Ok(Plan {
        method: Method::GetContext,
        features,
        include,
        disabled: options.disabled.clone(),
        uri,
        line,
        character,
        symbol,
        occurrence,
        range: None,
        max_distance: None,
        min_severity: None,
        limit: limit.min(options.max_limit),
        not_checked: false,
    })
}

fn plan_diagnostics(map: &Map<String, Value>, options: &Options) -> Result<Plan, Error> {
    let uri = string(map, "uri")?;
    let at = match present(map, "position") {
        Some(value) => Some(position(value, "position")?),
        None => None,
    };
    let range = match present(map, "range") {
        Some(Value::Object(range)) => {
            let start = position(range.get("start").unwrap_or(&Value::Null), "range.start")?;
            let end = position(range.get("end").unwrap_or(&Value::Null), "range.end")?;
            if end < start {
                return Err(invalid(
                    "range.end",
                    &range["end"],
                    "a position not before range.start",
                ));
            }
            Some(Range { start, end })
        }
        Some(other) => return Err(invalid("range", other, "{start, end}")),
        None => None,
    };
    if at.is_some() && range.is_some() {
        return Err(invalid("range", &map["range"], "either a position or a range"));
    }
    if uri.is_none() && (at.is_some() || range.is_some()) {
        return Err(absent("uri", "a URI, where a position or range is given"));
    }
    let max_distance = integer(map, "maxDistance", 0, NUMBER)?;
    let min_severity = match string(map, "minSeverity")? {
        None => None,
        Some(word) => match SEVERITIES.iter().position(|s| *s == word) {
            Some(rank) => Some(rank as u8),
            None => {
                return Err(invalid(
                    "minSeverity",
                    &Value::from(word),
                    "error, warning, info or hint",
                ));
            }
        },
    };
    let default = match (at, range) {
        (Some(_), _) => 20,
        (_, Some(_)) => 100,
        _ => 1000,
    };
    let limit = integer(map, "limit", 1, COUNT)?.unwrap_or(default).min(MAX_DIAGNOSTICS);
    let plain = ["position", "range", "maxDistance", "minSeverity", "limit"]
        .iter()
        .all(|name| present(map, name).is_none());
    Ok(Plan {
        method: Method::GetDiagnostics,
        features: vec!["diagnostics".into()],
        include: Vec::new(),
        disabled: options.disabled.clone(),
        uri,
        line: at.map(|p| p.line),
        character: at.map(|p| p.character),
        symbol: None,
        occurrence: None,
        range,
        max_distance,
        min_severity,
        limit,
        not_checked: plain && options.not_checked,
    })
}

/// The words of severity, most severe first.
pub const SEVERITIES: [&str; 4] = ["error", "warning", "info", "hint"];

fn include(map: &Map<String, Value>) -> Result<Vec<String>, Error> {
    const EXPECTED: &str = "an array of feature names";
    let Some(value) = present(map, "include") else {
        return Ok(DEFAULT_INCLUDE.map(String::from).to_vec());
    };
    let Value::Array(items) = value else { return Err(invalid("include", value, EXPECTED)) };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let Value::String(name) = item else { return Err(invalid("include", item, EXPECTED)) };
        if name == "diagnostics" {
            const POINTER: &str = "a feature of editor/getContext; ask editor/getDiagnostics";
            return Err(invalid("include", item, POINTER));
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}

fn present<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    map.get(name).filter(|value| !value.is_null())
}

fn invalid(param: &'static str, got: &Value, expected: &'static str) -> Error {
    let mut got = got.to_string();
    if got.chars().count() > 80 {
        got = got.chars().take(79).chain(['…']).collect();
    }
    Error::InvalidParam { param, got, expected }
}

fn absent(param: &'static str, expected: &'static str) -> Error {
    Error::InvalidParam { param, got: "nothing".into(), expected }
}

fn string(map: &Map<String, Value>, name: &'static str) -> Result<Option<String>, Error> {
    match present(map, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(invalid(name, other, "a string")),
    }
}

fn integer(
    map: &Map<String, Value>,
    name: &'static str,
    least: u32,
    expected: &'static str,
) -> Result<Option<u32>, Error> {
    integer_as(map, name, name, least, expected)
}

/// The integer at `name`, called `param` in the error. An integral float is an integer, and what is
/// larger than any line is as good as the largest.
fn integer_as(
    map: &Map<String, Value>,
    name: &str,
    param: &'static str,
    least: u32,
    expected: &'static str,
) -> Result<Option<u32>, Error> {
    let Some(value) = present(map, name) else { return Ok(None) };
    let number = match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number >= f64::from(least) => number,
        _ => return Err(invalid(param, value, expected)),
    };
    Ok(Some(number.min(f64::from(u32::MAX)) as u32))
}

fn required(map: &Map<String, Value>, name: &str, param: &'static str) -> Result<u32, Error> {
    integer_as(map, name, param, 0, NUMBER)?.ok_or_else(|| absent(param, NUMBER))
}

fn position(value: &Value, param: &'static str) -> Result<Position, Error> {
    let Value::Object(map) = value else { return Err(invalid(param, value, "{line, character}")) };
    Ok(Position::new(required(map, "line", param)?, required(map, "character", param)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(method: &str, params: Value) -> Result<Plan, String> {
        plan(&Request { method: method.into(), params, options: Options::default() })
            .map_err(|e| e.to_string())
    }

    #[test]
    fn bad_params_are_named() {
        for (method, params, message) in [
            ("editor/getContext", json!({"uri": 5}), "uri: got 5, expected a string"),
            (
                "editor/getContext",
                json!({"position": {"line": 1, "character": 2}}),
                "uri: got nothing, expected a URI, where a position is given",
            ),
            (
                "editor/getContext",
                json!({"uri": "file:///a", "position": {"line": -1, "character": 2}}),
                "position.line: got -1, expected an integer >= 0",
            ),
            (
                "editor/getContext",
                json!({"uri": "file:///a", "position": {"line": 1.5, "character": 2}}),
                "position.line: got 1.5, expected an integer >= 0",
            ),
            ("editor/getContext", json!({"limit": 0}), "limit: got 0, expected an integer >= 1"),
            (
                "editor/getContext",
                json!({"include": ["diagnostics"]}),
                "include: got \"diagnostics\", expected a feature of editor/getContext; ask editor/getDiagnostics",
            ),
            (
                "editor/getDiagnostics",
                json!({"position": {"line": 1, "character": 2}}),
                "uri: got nothing, expected a URI, where a position or range is given",
            ),
            (
                "editor/getDiagnostics",
                json!({"minSeverity": "bad"}),
                "minSeverity: got \"bad\", expected error, warning, info or hint",
            ),
        ] {
            assert_eq!(check(method, params).expect_err(message), message);
        }
    }

    #[test]
    fn defaults_ceilings_and_doubles() {
        let plan = check("editor/getContext", json!({})).expect("no params are fine");
        assert_eq!((plan.features.len(), plan.limit), (3, 100));
        let plan = check(
            "editor/getContext",
            json!({"include": ["definitions", "definitions", "x"], "limit": 5000.0}),
        )
        .expect("an integral float is an integer");
        assert_eq!((plan.features, plan.limit), (vec!["definitions".to_string()], 1000));
        assert_eq!(plan.include, ["definitions", "x"]);
    }

    #[test]
    fn diagnostics_limits() {
        let at = json!({"uri": "file:///a", "position": {"line": 0, "character": 0}});
        assert_eq!(check("editor/getDiagnostics", at).expect("valid").limit, 20);
        assert_eq!(check("editor/getDiagnostics", Value::Null).expect("valid").limit, 1000);
    }
}
