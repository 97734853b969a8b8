//! How facts are read: whatever a provider gave, the rest of the facts stays, and what cannot be read is
//! told or counted. It knows no feature and no wire.
//!
//! From running JSON text facts are read by way of a `Value`: there an item that cannot be read would take
//! the rest of its list with it.

use std::fmt;
use std::marker::PhantomData;

use lsp_types::PositionEncodingKind;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::facts::{Fact, IndexEntry, Outcome};
use super::raw::{List, RawLocation};
use super::uri;

/// The outcomes of one feature; one that is none is an outcome that says so.
pub(crate) fn outcomes<'de, D: Deserializer<'de>, T: Fact>(
    d: D,
) -> Result<Vec<Outcome<T>>, D::Error> {
    let tried = Tried::<Vec<Tried<Outcome<T>>>>::deserialize(d)?;
    let failed = |reason| Outcome::failed(format!("it gave no outcome: {reason}"));
    Ok(match tried {
        Tried::Absent => Vec::new(),
        Tried::Wrong(reason) => vec![failed(reason)],
        Tried::Read(outcomes) => outcomes
            .into_iter()
            .map(|tried| match tried {
                Tried::Read(outcome) => outcome,
                Tried::Wrong(reason) => failed(reason),
                Tried::Absent => failed("nothing".into()),
            })
            .collect(),
    })
}

/// A value that may be absent, or other than it should be: then why.
#[derive(Default)]
enum Tried<T> {
    #[default]
    Absent,
    Read(T),
    Wrong(String),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tried<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match Option::<T>::deserialize(d) {
            Ok(Some(value)) => Self::Read(value),
            Ok(None) => Self::Absent,
            Err(error) => Self::Wrong(error.to_string()),
        })
    }
}

/// An outcome as a provider gave it.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "T: Fact"))]
pub(crate) struct Said<T: Fact> {
    provider: Tried<String>,
    kind: Tried<String>,
    status: Tried<String>,
    reason: Tried<String>,
    retry: Tried<bool>,
    items: Tried<Readable<T>>,
    raw: Tried<List<T::Raw>>,
    raw_json: Tried<String>,
    raw_of: Tried<u32>,
    encoding: Tried<PositionEncodingKind>,
    role: Tried<String>,
    declarations: Tried<List<RawLocation>>,
    declarations_json: Tried<String>,
    fresh: Tried<bool>,
    exact: Tried<bool>,
}

impl<T: Fact> Default for Said<T> {
    fn default() -> Self {
        Self {
            provider: Tried::Absent,
            kind: Tried::Absent,
            status: Tried::Absent,
            reason: Tried::Absent,
            retry: Tried::Absent,
            items: Tried::Absent,
            raw: Tried::Absent,
            raw_json: Tried::Absent,
            raw_of: Tried::Absent,
            encoding: Tried::Absent,
            role: Tried::Absent,
            declarations: Tried::Absent,
            declarations_json: Tried::Absent,
            fresh: Tried::Absent,
            exact: Tried::Absent,
        }
    }
}

impl<T: Fact> From<Said<T>> for Outcome<T> {
    fn from(said: Said<T>) -> Self {
        let mut wrong = Vec::new();
        let mut out = Self::default();
        let mut items = Readable(List::default());
        said.provider.put(&mut out.provider, "provider", &mut wrong);
        said.kind.put(&mut out.kind, "kind", &mut wrong);
        said.status.put(&mut out.status, "status", &mut wrong);
        said.reason.put_some(&mut out.reason, "reason", &mut wrong);
        said.retry.put(&mut out.retry, "retry", &mut wrong);
        said.items.put(&mut items, "items", &mut wrong);
        said.raw.put(&mut out.raw, "raw", &mut wrong);
        said.raw_json.put_some(&mut out.raw_json, "rawJson", &mut wrong);
        said.raw_of.put_some(&mut out.raw_of, "rawOf", &mut wrong);
        said.encoding.put_some(&mut out.encoding, "encoding", &mut wrong);
        said.role.put_some(&mut out.role, "role", &mut wrong);
        said.declarations.put_some(&mut out.declarations, "declarations", &mut wrong);
        said.declarations_json.put_some(&mut out.declarations_json, "declarationsJson", &mut wrong);
        said.fresh.put_some(&mut out.fresh, "fresh", &mut wrong);
        said.exact.put(&mut out.exact, "exact", &mut wrong);
        if !wrong.is_empty() {
            let reason = format!("it gave no outcome: {}", wrong.join("; "));
            return Self { provider: out.provider, ..Self::failed(reason) };
        }
        let Readable(List { items, n_unread }) = items;
        out.n_unread = n_unread + items.iter().map(Fact::n_unread).sum::<usize>();
        out.items = items;
        out
    }
}

impl<T> Tried<T> {
    fn put(self, slot: &mut T, key: &str, wrong: &mut Vec<String>) {
        match self {
            Self::Absent => (),
            Self::Read(value) => *slot = value,
            Self::Wrong(reason) => wrong.push(format!("{key}: {reason}")),
        }
    }

    fn put_some(self, slot: &mut Option<T>, key: &str, wrong: &mut Vec<String>) {
        match self {
            Self::Absent => (),
            Self::Read(value) => *slot = Some(value),
            Self::Wrong(reason) => wrong.push(format!("{key}: {reason}")),
        }
    }
}

/// A list of items; one item for itself is none.
pub(crate) struct Readable<T>(pub(crate) List<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Readable<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct ReadableVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ReadableVisitor<T> {
            type Value = Readable<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of items")
            }
            fn visit_unit<E>(self) -> Result<Readable<T>, E> {
                Ok(Readable(List::default()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Readable<T>, A::Error> {
                List::of_seq(&mut seq).map(Readable)
            }
        }
        d.deserialize_seq(ReadableVisitor(PhantomData))
    }
}

/// One node of an index as it was given.
#[derive(serde::Deserialize)]
pub(crate) struct IndexEntryGiven {
    name: String,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    character: Option<u32>,
    #[serde(default)]
    children: Option<Readable<IndexEntry>>,
    #[serde(default)]
    hint: Option<String>,
}

impl From<IndexEntryGiven> for IndexEntry {
    fn from(given: IndexEntryGiven) -> Self {
        let IndexEntryGiven { name, line, character, children, hint } = given;
        let n_unread = children.as_ref().map_or(0, |Readable(children)| {
            children.n_unread + children.items.iter().map(|child| child.n_unread).sum::<usize>()
        });
        let children = children.map(|Readable(children)| children.items);
        Self { name, line, character, children, hint, n_unread }
    }
}

/// A path: what is not UTF-8 in a file's name is kept.
struct Path(String);

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct PathVisitor;
        impl Visitor<'_> for PathVisitor {
            type Value = Path;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a path")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<Path, E> {
                Ok(Path(path.into()))
            }
            fn visit_string<E: de::Error>(self, path: String) -> Result<Path, E> {
                Ok(Path(path))
            }
            fn visit_bytes<E: de::Error>(self, path: &[u8]) -> Result<Path, E> {
                Ok(Path(uri::path_of_bytes(path)))
            }
        }
        d.deserialize_byte_buf(PathVisitor)
    }
}

pub(crate) fn path<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    Ok(Path::deserialize(d)?.0)
}

/// The path of a file, which has a name.
pub(crate) fn file<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    Some(path(d)?).filter(|file| !file.is_empty()).ok_or_else(|| de::Error::custom("no file"))
}

pub(crate) fn optional_path<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Path>::deserialize(d)?.map(|path| path.0))
}

pub(crate) fn paths<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Path>::deserialize(d)?.into_iter().map(|path| path.0).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::core::assemble::{assemble, assemble_diagnostics};
    use crate::core::context::Unavailable;
    use crate::core::facts::Facts;
    use crate::core::plan::{Options, Request, plan};
    use crate::files::FileLines;

    /// Codes and reasons, and the answer, that follow from `facts` about a file `total\n`.
    fn check(method: &str, params: Value, mut facts: Value) -> (Vec<String>, Value) {
        facts["document"] = json!({"path": "/f"});
        facts["position"] = json!({"line": 0, "character": 0});
        let facts: Facts = serde_json::from_value(facts).expect("facts read, whatever they hold");
        let request = Request { method: method.into(), params, options: Options::default() };
        let plan = plan(&request).expect("valid params");
        let lines = FileLines::of_text("/f", "total\n");
        let said = |unavailable: &[Unavailable]| {
            unavailable.iter().map(|entry| entry.reason.clone()).collect::<Vec<_>>()
        };
        if method == "editor/getContext" {
            let out = assemble(&plan, facts, &lines);
            (said(&out.unavailable), serde_json::to_value(out).expect("JSON"))
        } else {
            let out = assemble_diagnostics(&plan, facts, &lines);
            (said(&out.unavailable), serde_json::to_value(out).expect("JSON"))
        }
    }

    #[test]
    fn a_lost_item_is_said() {
        let range = json!([0, 0, 0, 5]);
        let good = json!({"range": range, "message": "m"});
        for (lost, items) in [
            (0, json!([good, {"range": range, "message": "n", "severity": "odd", "code": null}])),
            (1, json!([good, null])),
            (1, json!([good, {}])),
            (1, json!([good, {"range": null, "message": "m"}])),
            (1, json!([good, {"range": [0, -1, 0, 5], "message": "m"}])),
            (1, json!([good, {"range": [0, 0, 0], "message": "m"}])),
            (1, json!([good, {"range": range, "message": 5}])),
            (3, json!([good, 5, "x", [range]])),
            (1, json!([{"range": range}])),
        ] {
            let facts = json!({"diagnostics": [
                {"provider": "a", "fresh": true, "items": items},
                {"provider": "b", "fresh": true, "items": []},
            ]});
            let (reasons, answer) =
                check("editor/getDiagnostics", json!({"uri": "file:///f"}), facts);
            let what = if lost == 1 { "item" } else { "items" };
            let expected = format!("a: {lost} {what} of its answer cannot be read");
            assert_eq!(reasons, if lost > 0 { vec![expected] } else { vec![] }, "{items}");
            assert_eq!(answer["fresh"], json!(lost == 0));
            // Never a false "clean".
            assert!(!answer["diagnostics"].as_array().expect("a list").is_empty());
        }
    }

    #[test]
    fn a_lost_item_takes_no_other_with_it() {
        let child = json!({"name": "total", "line": 0, "character": 0});
        for (lost, children) in [
            (0, json!([child])),
            (1, json!([child, {"line": 0}])),
            (
                2,
                json!([5, child, {"name": "x", "line": 0, "children": [{"line": -1, "name": "y"}]}]),
            ),
        ] {
            let entry = json!({"name": "Cart", "line": 0, "children": children});
            let facts = json!({"documentSymbols": [{"provider": "p", "items": [entry]}]});
            let params = json!({"uri": "file:///f", "include": ["documentSymbols"]});
            let (reasons, answer) = check("editor/getContext", params, facts);
            assert_eq!(answer["documentSymbols"][0]["children"][0]["name"], "total");
            assert_eq!(reasons.len(), usize::from(lost > 0), "{reasons:?}");
            assert!(reasons.iter().all(|reason| reason.starts_with(&format!("p: {lost} item"))));
        }
    }

    #[test]
    fn what_could_be_read_of_no_semantic_one_is_textual() {
        let facts = json!({"definitions": [
            {"provider": "s", "kind": "semantic", "items": [{"line": 0}, {"file": "", "line": 0}]},
            {"provider": "t", "kind": "textual", "items": [{"file": "/f", "line": 0, "name": "total"}]},
        ]});
        let params = json!({"uri": "file:///f", "include": ["definitions"]});
        let (reasons, answer) = check("editor/getContext", params, facts);
        assert_eq!(reasons, ["s: 2 items of its answer cannot be read"]);
        assert_eq!(answer["definitions"].as_array().map(Vec::len), Some(1));
        assert_eq!(answer["provenance"]["definitions"]["kind"], "textual");
    }

    #[test]
    fn what_is_no_outcome_is_one_that_failed() {
        for (outcome, reason) in [
            (json!({"items": 5}), "items: invalid type: integer `5`, expected a list of items"),
            (json!({"provider": "p", "status": 3}), "p: it gave no outcome: status: "),
            (json!({"provider": {"a": 1}}), "it gave no outcome: provider: "),
            (json!({"provider": "p", "kind": [], "reason": 1}), "p: it gave no outcome: kind: "),
            (json!({"provider": "p", "raw": 5, "fresh": 5}), "p: it gave no outcome: fresh: "),
            (json!(5), "it gave no outcome: "),
            (json!("x"), "it gave no outcome: "),
            (Value::Null, "it gave no outcome: nothing"),
        ] {
            let good =
                json!({"provider": "good", "items": [{"range": [0, 0, 0, 1], "message": "m"}]});
            for (all, n_found) in [(json!([outcome]), 0), (json!([outcome, good]), 1)] {
                let facts = json!({"diagnostics": all});
                let (reasons, answer) =
                    check("editor/getDiagnostics", json!({"uri": "file:///f"}), facts);
                assert!(reasons.len() == 1 && reasons[0].contains(reason), "{outcome} {reasons:?}");
                let code = if n_found == 0 { "error" } else { "partial" };
                assert_eq!(answer["unavailable"][0]["code"], code);
                assert_eq!(answer["total"], n_found);
            }
        }
        // And no outcomes at all where there should be some.
        for value in [json!(5), json!("x"), json!({"provider": "p"}), json!(true)] {
            let (reasons, _) = check(
                "editor/getContext",
                json!({"uri": "file:///f"}),
                json!({"definitions": value, "documentSymbols": value, "symbolAtPosition": value}),
            );
            assert_eq!(reasons.len(), 3, "{reasons:?}");
            assert!(reasons.iter().all(|reason| reason.starts_with("it gave no outcome: ")));
        }
    }
}
