//! Positions and ranges: line and character from 0, character in UTF-16 units. It knows no text
//! encoding but UTF-16 and no editor.

use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// LSP 3.17 `Position`.
///
/// *Units*: both from 0; `character` in UTF-16 code units.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

impl Position {
    /// The position at `line` and `character`, both from 0.
    pub const fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

/// LSP 3.17 `Range`; closed when it filters, half-open as text.
///
/// *Shape*: reads from `{start, end}` or from four integers (start line, start character, end
/// line, end character).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

impl Range {
    /// The range from line `sl`, character `sc` to line `el`, character `ec`.
    pub const fn new(sl: u32, sc: u32, el: u32, ec: u32) -> Self {
        Self { start: Position::new(sl, sc), end: Position::new(el, ec) }
    }

    /// The empty range at `at`.
    pub const fn empty(at: Position) -> Self {
        Self { start: at, end: at }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RangeVisitor;
        impl<'de> Visitor<'de> for RangeVisitor {
            type Value = Range;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a range: {start, end} or four integers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
                let mut n = [0u32; 4];
                for (idx, slot) in n.iter_mut().enumerate() {
                    *slot =
                        seq.next_element()?.ok_or_else(|| de::Error::invalid_length(idx, &self))?;
                }
                Ok(Range::new(n[0], n[1], n[2], n[3]))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
                let (mut start, mut end) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "start" => start = Some(map.next_value()?),
                        "end" => end = Some(map.next_value()?),
                        _ => drop(map.next_value::<de::IgnoredAny>()?),
                    }
                }
                Ok(Range {
                    start: start.ok_or_else(|| de::Error::missing_field("start"))?,
                    end: end.ok_or_else(|| de::Error::missing_field("end"))?,
                })
            }
        }
        deserializer.deserialize_struct("Range", &["start", "end"], RangeVisitor)
    }
}
