//! Positions and ranges: line and character from 0, character in UTF-16 units. It knows no text
//! encoding but UTF-16 and no editor.

use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// LSP's Position: both count from 0, `character` in UTF-16 code units.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Position {
    /// From 0.
    pub line: u32,
    /// From 0, in UTF-16 code units.
    pub character: u32,
}

impl Position {
    /// The position at `line` and `character`, both from 0.
    pub const fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

/// LSP's Range: half-open as text; closed where it filters.
// Reads from `{start, end}` or from four integers (start line, start character, end line, end
// character): that is no business of the schema's readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Range {
    /// Its first position.
    pub start: Position,
    /// Behind its last character.
    pub end: Position,
}

impl Range {
    /// The range from line `sl`, character `sc` to line `el`, character `ec`.
    pub const fn new(sl: u32, sc: u32, el: u32, ec: u32) -> Self {
        Self { start: Position::new(sl, sc), end: Position::new(el, ec) }
    }

    /// The range, empty where its end lies before its start.
    fn forwards(self) -> Self {
        Self { end: self.end.max(self.start), ..self }
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
                Ok(Range::new(n[0], n[1], n[2], n[3]).forwards())
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
                let start = start.ok_or_else(|| de::Error::missing_field("start"))?;
                let end = end.ok_or_else(|| de::Error::missing_field("end"))?;
                Ok(Range { start, end }.forwards())
            }
        }
        deserializer.deserialize_struct("Range", &["start", "end"], RangeVisitor)
    }
}

/// A position of the two older requests: both count from 1, `character` in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OneBasedPosition {
    /// From 1.
    pub line: NonZeroU32,
    /// From 1, in UTF-16 code units.
    pub character: NonZeroU32,
}

impl From<Position> for OneBasedPosition {
    fn from(at: Position) -> Self {
        let one_based = |n| NonZeroU32::MIN.saturating_add(n);
        Self { line: one_based(at.line), character: one_based(at.character) }
    }
}

/// A range of the two older requests, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OneBasedRange {
    /// Its first position.
    pub start: OneBasedPosition,
    /// Behind its last character.
    pub end: OneBasedPosition,
}

impl From<Range> for OneBasedRange {
    fn from(range: Range) -> Self {
        Self { start: range.start.into(), end: range.end.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_requests_count_from_one() {
        let range = OneBasedRange::from(Range::new(0, 4, 7, u32::MAX));
        let got = serde_json::to_string(&range).expect("integers");
        let end = u32::MAX;
        assert_eq!(
            got,
            format!(
                "{{\"start\":{{\"line\":1,\"character\":5}},\"end\":{{\"line\":8,\"character\":{end}}}}}"
            )
        );
    }
}
