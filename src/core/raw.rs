//! LSP results as servers give them, in shapes wide enough for all of LSP's variants. It knows neither
//! what they mean nor which encoding their positions are in.
//!
//! Everything is read item by item: what cannot be read is dropped and counted, and the rest of the list
//! stays. lsp-types' own structs read all or nothing, and its untagged enums cannot tell a null from an
//! empty list where the reader hands over neither.

use std::fmt;
use std::marker::PhantomData;

use lsp_types::SymbolKind;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What LSP gives as null, as one item or as an array of items.
#[derive(Debug, Clone, PartialEq)]
pub struct List<T> {
    pub items: Vec<T>,
    /// How many were there that could not be read.
    pub n_unread: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), n_unread: 0 }
    }
}

impl<T> List<T> {
    fn of(item: Option<T>) -> Self {
        let n_unread = usize::from(item.is_none());
        Self { items: item.into_iter().collect(), n_unread }
    }
}

impl<'de, T: Deserialize<'de>> List<T> {
    /// The items of `seq` that can be read.
    pub(crate) fn of_seq<A: SeqAccess<'de>>(seq: &mut A) -> Result<Self, A::Error> {
        let mut list = Self::default();
        while let Some(Item(item)) = seq.next_element()? {
            match item {
                Some(item) => list.items.push(item),
                None => list.n_unread += 1,
            }
        }
        Ok(list)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("null, an item or an array of items")
    }
    fn visit_unit<E>(self) -> Result<List<T>, E> {
        Ok(List::default())
    }
    fn visit_none<E>(self) -> Result<List<T>, E> {
        Ok(List::default())
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<List<T>, D::Error> {
        List::deserialize(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
        List::of_seq(&mut seq)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<List<T>, A::Error> {
        let item = T::deserialize(MapAccessDeserializer::new(&mut map)).ok();
        // What is left where reading failed.
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(List::of(item))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<List<T>, E> {
        let text: StrDeserializer<'_, E> = text.into_deserializer();
        Ok(List::of(T::deserialize(text).ok()))
    }
    fn visit_bool<E>(self, _: bool) -> Result<List<T>, E> {
        Ok(List::of(None))
    }
    fn visit_i64<E>(self, _: i64) -> Result<List<T>, E> {
        Ok(List::of(None))
    }
    fn visit_u64<E>(self, _: u64) -> Result<List<T>, E> {
        Ok(List::of(None))
    }
    fn visit_f64<E>(self, _: f64) -> Result<List<T>, E> {
        Ok(List::of(None))
    }
}

/// An item, or `None` if it cannot be read.
struct Item<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

/// LSP's Location and LocationLink.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RawLocation {
    pub uri: Option<String>,
    pub range: Option<RawRange>,
    pub target_uri: Option<String>,
    pub target_range: Option<RawRange>,
    pub target_selection_range: Option<RawRange>,
}

/// LSP's DocumentSymbol and SymbolInformation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RawSymbol {
    pub name: String,
    pub kind: Option<SymbolKind>,
    pub detail: Option<String>,
    pub range: Option<RawRange>,
    pub selection_range: Option<RawRange>,
    #[serde(default)]
    pub children: List<RawSymbol>,
    /// SymbolInformation only.
    pub location: Option<RawLocation>,
    /// SymbolInformation only.
    pub container_name: Option<String>,
}

/// LSP's Hover and SignatureHelp.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RawDocumentation {
    /// Hover only.
    pub contents: List<Marked>,
    /// SignatureHelp only.
    pub signatures: List<RawSignature>,
    pub active_signature: Option<u32>,
}

/// LSP's SignatureInformation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RawSignature {
    pub label: String,
    #[serde(default)]
    pub documentation: List<Marked>,
}

/// LSP's MarkupContent and MarkedString; a bare string is Markdown in a hover, plain text elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    Bare(String),
    Plain(String),
    Markdown(String),
    Code { language: String, value: String },
}

impl<'de> Deserialize<'de> for Marked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MarkedVisitor)
    }
}

struct MarkedVisitor;

impl<'de> Visitor<'de> for MarkedVisitor {
    type Value = Marked;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string, {kind, value} or {language, value}")
    }
    fn visit_str<E>(self, text: &str) -> Result<Marked, E> {
        Ok(Marked::Bare(text.into()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Marked, A::Error> {
        #[derive(Deserialize)]
        struct Fields {
            kind: Option<String>,
            language: Option<String>,
            value: String,
        }
        let Fields { kind, language, value } =
            Fields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(match (kind.as_deref(), language) {
            (Some("plaintext"), _) => Marked::Plain(value),
            (None, Some(language)) => Marked::Code { language, value },
            _ => Marked::Markdown(value),
        })
    }
}

/// A range in the server's own units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct RawRange {
    pub start: RawPosition,
    pub end: RawPosition,
}

/// A position in the server's own units, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct RawPosition {
    #[serde(deserialize_with = "count")]
    pub line: u32,
    #[serde(deserialize_with = "count")]
    pub character: u32,
}

/// An integer from 0; what is larger than any line, as servers mean by `Number.MAX_VALUE`, is as good as
/// the largest.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    struct Count;
    impl Visitor<'_> for Count {
        type Value = u32;
        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an integer >= 0")
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
            let number = u64::try_from(number)
                .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
            self.visit_u64(number)
        }
        fn visit_u64<E>(self, number: u64) -> Result<u32, E> {
            Ok(u32::try_from(number).unwrap_or(u32::MAX))
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<u32, E> {
            if number >= 0.0 && number.fract() == 0.0 {
                Ok(number.min(f64::from(u32::MAX)) as u32)
            } else {
                Err(E::invalid_value(de::Unexpected::Float(number), &self))
            }
        }
    }
    deserializer.deserialize_u32(Count)
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn list<T: DeserializeOwned>(raw: Value) -> List<T> {
        serde_json::from_value(raw).expect("a list reads from anything")
    }

    #[test]
    fn every_shape_of_places() {
        let range =
            json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}});
        let location = json!({"uri": "file:///a", "range": range});
        let link = json!({"targetUri": "file:///a", "targetRange": range, "targetSelectionRange": range,
                          "originSelectionRange": null});
        let odd = |position: Value| json!({"uri": "file:///a", "range": {"start": position, "end": {"line": 9, "character": 1e300}}});
        for (raw, n_items, n_unread) in [
            (Value::Null, 0, 0),
            (json!([]), 0, 0),
            (location.clone(), 1, 0),
            (json!([location, link]), 2, 0),
            (json!([null, location, 5, "x", {"uri": 7}, [], {"range": {"start": 1}}]), 2, 5),
            (odd(json!({"line": 1.0, "character": 5_000_000_000_u64})), 1, 0),
            (odd(json!({"line": -1, "character": 0})), 0, 1),
            (odd(json!({"line": 1.5, "character": 0})), 0, 1),
            (odd(json!({"line": "1", "character": 0})), 0, 1),
            (json!(5), 0, 1),
            (json!("x"), 0, 1),
            (json!(true), 0, 1),
        ] {
            let got = list::<RawLocation>(raw.clone());
            assert_eq!((got.items.len(), got.n_unread), (n_items, n_unread), "{raw}");
        }
        let got = list::<RawLocation>(odd(json!({"line": 1, "character": 5_000_000_000_u64})));
        let range = got.items[0].range.expect("a range");
        assert_eq!((range.start.character, range.end.character), (u32::MAX, u32::MAX));
    }

    #[test]
    fn a_bad_child_is_dropped_alone() {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
        let symbol = |name: &str, children: Value| json!({"name": name, "kind": 5, "range": range, "selectionRange": range, "children": children});
        let bad = json!({"name": null, "kind": 6, "range": range, "selectionRange": range});
        let got = list::<RawSymbol>(json!([symbol("a", json!([bad, symbol("b", Value::Null)]))]));
        assert_eq!((got.items.len(), got.n_unread), (1, 0));
        let children = &got.items[0].children;
        assert_eq!((children.items[0].name.as_str(), children.n_unread), ("b", 1));
        assert_eq!(children.items[0].kind, Some(SymbolKind::CLASS));
    }

    #[test]
    fn every_shape_of_texts() {
        let code = json!({"language": "c", "value": "int f()"});
        let read = Marked::Code { language: "c".into(), value: "int f()".into() };
        let plain = json!({"kind": "plaintext", "value": "p"});
        let markdown = json!({"kind": "markdown", "value": "m"});
        for (contents, wanted, n_unread) in [
            (json!("s"), vec![Marked::Bare("s".into())], 0),
            (code.clone(), vec![read.clone()], 0),
            (plain, vec![Marked::Plain("p".into())], 0),
            (markdown.clone(), vec![Marked::Markdown("m".into())], 0),
            (json!({"value": "v"}), vec![Marked::Markdown("v".into())], 0),
            (
                json!([code, "s", {"language": "c"}, null, markdown]),
                vec![read, Marked::Bare("s".into()), Marked::Markdown("m".into())],
                2,
            ),
            (json!([]), vec![], 0),
            (Value::Null, vec![], 0),
        ] {
            let hover = list::<RawDocumentation>(json!({"contents": contents}));
            assert_eq!(hover.items[0].contents.items, wanted, "{contents}");
            assert_eq!(hover.items[0].contents.n_unread, n_unread, "{contents}");
        }
        let help = json!({"signatures": [{"label": "f()", "documentation": "d"}, {"x": 1}],
                          "activeSignature": null});
        let help = list::<RawDocumentation>(help);
        assert_eq!(
            help.items[0].signatures.items[0].documentation.items,
            [Marked::Bare("d".into())]
        );
        assert_eq!((help.items[0].signatures.n_unread, help.n_unread), (1, 0));
    }
}
