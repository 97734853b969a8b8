//! Places and severities of diagnostics as they lie in Lisp: nothing else of an item crosses here. It
//! decides nothing.

use emacs::{Result, Value, Vector};
use serde::Deserialize;

use super::de;
use crate::core::diagnostics::{Near, Wanted, severity_rank};
use crate::core::position::{Position, Range};

/// The part of a plan that says which diagnostics are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Limits {
    line: Option<u32>,
    character: Option<u32>,
    range: Option<Range>,
    max_distance: Option<u32>,
    min_severity: Option<u8>,
    limit: usize,
}

impl Limits {
    pub(crate) fn wanted(&self) -> Wanted {
        let position =
            self.line.zip(self.character).map(|(l, c)| Near::Position(Position::new(l, c)));
        Wanted {
            near: position.or(self.range.map(Near::Range)),
            max_distance: self.max_distance,
            min_severity: self.min_severity,
            limit: self.limit,
        }
    }
}

/// Range and severity rank of each of `items`, a vector of vectors FILE SEVERITY … RANGE at 0, 1 and 4;
/// `None` when one of them is not of this shape or the items are not all of one file.
pub(crate) fn keys(items: Value<'_>) -> Result<Option<Vec<(Range, u8)>>> {
    let Ok(items) = items.into_rust::<Vector>() else { return Ok(None) };
    let mut known = Known::default();
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        match key(item, &mut known) {
            Some(key) => keys.push(key),
            None => return Ok(None),
        }
    }
    Ok(Some(keys))
}

/// What was read before: most items share their strings as objects.
#[derive(Default)]
struct Known<'e> {
    file: Option<Value<'e>>,
    severities: Vec<(Value<'e>, u8)>,
}

fn key<'e>(item: Value<'e>, known: &mut Known<'e>) -> Option<(Range, u8)> {
    let item: Vector = item.into_rust().ok()?;
    let file: Value = item.get(0).ok()?;
    let first = *known.file.get_or_insert(file);
    if file != first && de::text(file).ok()? != de::text(first).ok()? {
        return None;
    }
    let severity: Value = item.get(1).ok()?;
    let rank = match known.severities.iter().find(|(value, _)| *value == severity) {
        Some((_, rank)) => *rank,
        None => {
            let rank = severity_rank(&de::text(severity).ok()?);
            if known.severities.len() < 8 {
                known.severities.push((severity, rank));
            }
            rank
        }
    };
    let range: Vector = item.get(4).ok()?;
    let mut n = [0u32; 4];
    for (idx, slot) in n.iter_mut().enumerate() {
        *slot = range.get::<i64>(idx).ok()?.try_into().ok()?;
    }
    Some((Range::new(n[0], n[1], n[2], n[3]), rank))
}
