//! What to gather for a request: all validation of params lives here. It knows no editor and looks at
//! nothing but the params and the options.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diagnostics::{Near, Wanted};
use super::error::Error;
use super::params::{
    self, ContextParams, DefinitionParams, DiagnosticsParams, NUMBER, OneBasedParam,
    ReferencesParams,
};
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

/// What `editor/getDiagnostics` answers, as options and `unavailable` call it.
pub const DIAGNOSTICS: &str = "diagnostics";

const DEFAULT_INCLUDE: [&str; 3] = ["symbolAtPosition", "definitions", "documentSymbols"];
const MAX_DIAGNOSTICS: u32 = 10_000;

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
    #[serde(rename = "editor/getDefinition")]
    GetDefinition,
    #[serde(rename = "editor/getReferences")]
    GetReferences,
}

/// What to gather, with limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub method: Method,
    /// Features to gather: wanted, known and not switched off, each once.
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
    /// References only: whether the symbol's declaration is wanted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_declaration: Option<bool>,
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
/// *Source*: the protocol, sections 2 to 4.
pub fn plan(request: &Request) -> Result<Plan, Error> {
    match request.method.as_str() {
        "editor/getContext" => plan_context(params::read(&request.params)?, &request.options),
        "editor/getDiagnostics" => {
            plan_diagnostics(params::read(&request.params)?, &request.options)
        }
        "editor/getDefinition" => {
            let DefinitionParams { uri, position } = params::read(&request.params)?;
            let method = Method::GetDefinition;
            Ok(plan_locations(method, "definitions", uri, position, &request.options))
        }
        "editor/getReferences" => {
            let ReferencesParams { uri, position, include_declaration } =
                params::read(&request.params)?;
            let method = Method::GetReferences;
            let plan = plan_locations(method, "references", uri, position, &request.options);
            Ok(Plan { include_declaration: include_declaration.or(Some(true)), ..plan })
        }
        other => Err(Error::UnknownMethod(other.into())),
    }
}

fn plan_context(params: ContextParams, options: &Options) -> Result<Plan, Error> {
    let ContextParams { uri, position, symbol, occurrence, include, limit } = params;
    if symbol.as_deref() == Some("") {
        return Err(Error::invalid("symbol", &Value::from(""), "a name"));
    }
    let line = position.map(|p| p.line.0);
    let character = position.and_then(|p| p.character).map(|n| n.0);
    if line.is_some() && character.is_none() && symbol.is_none() {
        return Err(Error::absent("position.character", NUMBER));
    }
    if line.is_some() && uri.is_none() {
        return Err(Error::absent("uri", "a URI, where a position is given"));
    }
    if symbol.is_some() && line.is_none() {
        return Err(Error::absent("position", "{line}, where a symbol is given"));
    }
    let include = wanted(include)?;
    let features = include
        .iter()
        .filter(|name| FEATURES.contains(&name.as_str()) && !is_off(options, name))
        .cloned()
        .collect();
    Ok(Plan {
        method: Method::GetContext,
        features,
        include,
        disabled: options.disabled.clone(),
        uri,
        line,
        character,
        symbol,
        occurrence: occurrence.map(|n| n.0),
        range: None,
        max_distance: None,
        min_severity: None,
        include_declaration: None,
        limit: limit.map_or(options.limit, |n| n.0).min(options.max_limit),
        not_checked: false,
    })
}

fn plan_diagnostics(params: DiagnosticsParams, options: &Options) -> Result<Plan, Error> {
    let is_plain = params == DiagnosticsParams { uri: params.uri.clone(), ..Default::default() };
    let DiagnosticsParams { uri, position, range, max_distance, min_severity, limit } = params;
    let position = position.map(Position::from);
    let range = range.map(Range::from);
    if let Some(Range { start, end }) = range
        && end < start
    {
        let got = json!({"line": end.line, "character": end.character});
        return Err(Error::invalid("range.end", &got, "a position not before range.start"));
    }
    if position.is_some() && range.is_some() {
        let got = Value::from("beside position");
        return Err(Error::invalid("range", &got, "either a position or a range"));
    }
    if uri.is_none() && (position.is_some() || range.is_some()) {
        return Err(Error::absent("uri", "a URI, where a position or range is given"));
    }
    let default = match (position, range) {
        (Some(_), _) => 20,
        (_, Some(_)) => 100,
        _ => 1000,
    };
    Ok(Plan {
        method: Method::GetDiagnostics,
        features: if is_off(options, DIAGNOSTICS) { Vec::new() } else { vec![DIAGNOSTICS.into()] },
        include: Vec::new(),
        disabled: options.disabled.clone(),
        uri,
        line: position.map(|p| p.line),
        character: position.map(|p| p.character),
        symbol: None,
        occurrence: None,
        range,
        max_distance: max_distance.map(|n| n.0),
        min_severity: min_severity.map(|severity| severity as u8),
        include_declaration: None,
        limit: limit.map_or(default, |n| n.0).min(MAX_DIAGNOSTICS),
        not_checked: is_plain && options.not_checked,
    })
}

/// A plan for one of the two older methods, which count from 1 and are told everything.
fn plan_locations(
    method: Method,
    feature: &str,
    uri: String,
    position: OneBasedParam,
    options: &Options,
) -> Plan {
    let position = Position::from(position);
    Plan {
        method,
        features: if is_off(options, feature) { Vec::new() } else { vec![feature.into()] },
        include: vec![feature.into()],
        disabled: options.disabled.clone(),
        uri: Some(uri),
        line: Some(position.line),
        character: Some(position.character),
        symbol: None,
        occurrence: None,
        range: None,
        max_distance: None,
        min_severity: None,
        include_declaration: None,
        limit: u32::MAX,
        not_checked: false,
    }
}

fn is_off(options: &Options, name: &str) -> bool {
    options.disabled.iter().any(|disabled| disabled == name)
}

/// The features asked for, each once, in the order asked.
fn wanted(include: Option<Vec<String>>) -> Result<Vec<String>, Error> {
    let include = include.unwrap_or_else(|| DEFAULT_INCLUDE.map(String::from).to_vec());
    let mut names: Vec<String> = Vec::new();
    for name in include {
        if name == DIAGNOSTICS {
            const POINTER: &str = "a feature of editor/getContext; ask editor/getDiagnostics";
            return Err(Error::invalid("include", &Value::from(name), POINTER));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
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
