//! The params of the four requests, as they come. It knows their types and nothing of what they mean
//! together: defaults, ceilings and relations are the plan's.
//!
//! `null` is absent, unknown keys are ignored. Doc comments of fields stand in the JSON Schema: they are
//! for the author of another editor's client.

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::context::{Severity, from_word};
use super::error::Error;
use super::position::{Position, Range};

pub(crate) const NUMBER: &str = "an integer >= 0";
const COUNT: &str = "an integer >= 1";

/// What `editor/getContext` is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ContextParams {
    /// The file asked about; absent: the current file, never the chat.
    pub uri: Option<String>,
    /// Where; absent: the editor's own cursor in the file. Needs `uri`.
    #[serde(deserialize_with = "optional")]
    pub position: Option<LinePosition>,
    /// A name as written on the line of `position`, found on boundaries of whole symbols.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub symbol: Option<String>,
    /// Which of several `symbol`s on the line, from 1; absent: the first.
    pub occurrence: Option<Count>,
    /// The features wanted; absent: `symbolAtPosition`, `definitions` and `documentSymbols`. An unknown
    /// name is answered by an entry of `unavailable`; `diagnostics` has a request of its own.
    pub include: Option<Vec<String>>,
    /// The most items in each list, a tree counting its nodes; absent: 100; at most 1000.
    pub limit: Option<Count>,
}

/// What `editor/getDiagnostics` is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DiagnosticsParams {
    /// The file; absent: all workspace folders of the session.
    pub uri: Option<String>,
    /// Order by distance from here. Needs `uri`; not together with `range`.
    #[serde(deserialize_with = "optional")]
    pub position: Option<PositionParam>,
    /// Only what touches this. Needs `uri`.
    #[serde(deserialize_with = "optional")]
    pub range: Option<RangeParam>,
    /// Drop what is more lines away than this from `position` or `range`.
    pub max_distance: Option<Number>,
    /// Drop what is less severe.
    #[serde(deserialize_with = "severity")]
    pub min_severity: Option<Severity>,
    /// The most items; absent: 20 with `position`, 100 with `range`, else 1000; at most 10,000.
    pub limit: Option<Count>,
}

/// What `editor/getDefinition` is asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DefinitionParams {
    /// The file asked about.
    pub uri: String,
    /// Where the symbol stands, counting from 1.
    #[serde(deserialize_with = "object")]
    pub position: OneBasedParam,
}

/// What `editor/getReferences` is asked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReferencesParams {
    /// The file asked about.
    pub uri: String,
    /// Where the symbol stands, counting from 1.
    #[serde(deserialize_with = "object")]
    pub position: OneBasedParam,
    /// Whether the symbol's declaration is wanted too; absent: it is.
    pub include_declaration: Option<bool>,
}

/// A line, and a character where it is known. Both count from 0, `character` in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "{line, character}")]
pub struct LinePosition {
    /// From 0.
    pub line: Number,
    /// May be absent only where `symbol` is given.
    pub character: Option<Number>,
}

/// A position in params. Both count from 0, `character` in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "{line, character}")]
pub struct PositionParam {
    /// From 0.
    pub line: Number,
    /// From 0, in UTF-16 code units.
    pub character: Number,
}

/// A range in params; closed where it filters.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "{start, end}")]
pub struct RangeParam {
    /// Its first position.
    #[serde(deserialize_with = "object")]
    pub start: PositionParam,
    /// Not before `start`.
    #[serde(deserialize_with = "object")]
    pub end: PositionParam,
}

/// A position in params of the two older requests. Both count from 1, `character` in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "{line, character}")]
pub struct OneBasedParam {
    /// From 1.
    pub line: Count,
    /// From 1, in UTF-16 code units.
    pub character: Count,
}

impl From<PositionParam> for Position {
    fn from(at: PositionParam) -> Self {
        Self::new(at.line.0, at.character.0)
    }
}

impl From<OneBasedParam> for Position {
    fn from(at: OneBasedParam) -> Self {
        Self::new(at.line.0 - 1, at.character.0 - 1)
    }
}

impl From<RangeParam> for Range {
    fn from(range: RangeParam) -> Self {
        Self { start: range.start.into(), end: range.end.into() }
    }
}

/// An integer from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Number(pub u32);

/// An integer from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Count(#[cfg_attr(feature = "schema", schemars(range(min = 1)))] pub u32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        integer(deserializer, 0.0, NUMBER).map(Self)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        integer(deserializer, 1.0, COUNT).map(Self)
    }
}

/// An integral float is an integer, and what is larger than any line is as good as the largest.
fn integer<'de, D: Deserializer<'de>>(
    deserializer: D,
    least: f64,
    expected: &str,
) -> Result<u32, D::Error> {
    let wrong = |got: &str| de::Error::custom(format!("{got}, expected {expected}"));
    // A missing field comes here too, as an error that says so.
    let value = Value::deserialize(deserializer).map_err(|e| wrong(&e.to_string()))?;
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number >= least => {
            Ok(number.min(f64::from(u32::MAX)) as u32)
        }
        _ => Err(wrong("no such integer")),
    }
}

fn severity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Severity>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let severity = from_word(&word);
    severity.map(Some).ok_or_else(|| de::Error::custom("expected error, warning, info or hint"))
}

/// A struct, read from a map only: what serde derives would take an array too.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(MapOnly(deserializer)).map(Self)
    }
}

fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Object::deserialize(d).map(|object| object.0)
}

fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(d)?.map(|object| object.0))
}

struct MapOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for MapOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads `T` from params; no params at all are an empty object.
///
/// *Errors*: `InvalidParam` names the param by its path.
pub(crate) fn read<T: DeserializeOwned>(params: &Value) -> Result<T, Error> {
    let nothing = Value::Object(Map::new());
    let params = match params {
        Value::Null => &nothing,
        Value::Array(items) if items.is_empty() => &nothing,
        Value::Object(_) => params,
        other => return Err(Error::invalid("params", other, "an object")),
    };
    serde_path_to_error::deserialize(params).map_err(|error| {
        let mut path = error.path().to_string();
        let got = error.path().iter().try_fold(params, |value, segment| match segment {
            Segment::Map { key } => value.get(key),
            Segment::Seq { index } => value.get(index),
            _ => Some(value),
        });
        // serde's messages end so: `invalid type: integer `5`, expected a string`.
        let message = error.inner().to_string();
        let expected = match message.rsplit_once("expected ") {
            Some((_, "a sequence")) => "an array",
            Some((_, expected)) => expected,
            None => "a value",
        };
        let missing = message.strip_prefix("missing field `").and_then(|m| m.split_once('`'));
        if let Some((field, _)) = missing {
            path = if path == "." { field.into() } else { format!("{path}.{field}") };
            return Error::absent(path, expected);
        }
        Error::invalid(path, got.unwrap_or(&Value::Null), expected)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check<T: DeserializeOwned>(params: Value) -> String {
        read::<T>(&params).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_wrong_is_named() {
        type C = ContextParams;
        type D = DiagnosticsParams;
        type R = ReferencesParams;
        let at = json!({"line": 1, "character": 1});
        for (got, message) in [
            (check::<C>(json!([1])), "params: got [1], expected an object"),
            (check::<C>(json!({"include": 5})), "include: got 5, expected an array"),
            (check::<C>(json!({"include": ["x", {}]})), "include[1]: got {}, expected a string"),
            (
                check::<C>(json!({"position": [1, 2]})),
                "position: got [1,2], expected {line, character}",
            ),
            (
                check::<C>(json!({"position": {}})),
                "position.line: got nothing, expected an integer >= 0",
            ),
            (
                check::<D>(json!({"position": {"line": 1, "character": null}})),
                "position.character: got null, expected an integer >= 0",
            ),
            (
                check::<D>(json!({"range": {"start": at, "end": [1, 2]}})),
                "range.end: got [1,2], expected {line, character}",
            ),
            (check::<D>(json!({"range": {}})), "range.start: got nothing, expected a value"),
            (check::<D>(json!({"minSeverity": 1})), "minSeverity: got 1, expected a string"),
            (check::<R>(json!({"position": at})), "uri: got nothing, expected a value"),
            (
                check::<R>(json!({"uri": "", "position": {"line": 0, "character": 1}})),
                "position.line: got 0, expected an integer >= 1",
            ),
        ] {
            assert_eq!(got, message);
        }
        let long = check::<C>(json!({"uri": ["é".repeat(200)]}));
        assert_eq!(long, format!("uri: got [\"{}…, expected a string", "é".repeat(77)));
    }

    #[test]
    fn null_is_absent_and_the_unknown_is_ignored() {
        let nulls = json!({"uri": null, "position": null, "limit": null, "include": null, "x": 1});
        for params in [Value::Null, json!([]), json!({}), nulls] {
            assert_eq!(read(&params), Ok(ContextParams::default()));
        }
        let huge = json!({"maxDistance": 1e30, "limit": 5.0});
        let params: DiagnosticsParams = read(&huge).expect("integral floats are integers");
        assert_eq!((params.max_distance, params.limit), (Some(Number(u32::MAX)), Some(Count(5))));
    }
}
