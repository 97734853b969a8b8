//! Which files raw results name, so that Lisp can say which of them may be shown and which have unsaved
//! text. It decides nothing.

use std::collections::HashSet;

use crate::core::facts::{Facts, Outcome, PlaceFact};
use crate::core::uri;
use crate::wire;

/// The local paths in the raw results of `outcomes`, places, each once, in their order.
pub(crate) fn files(outcomes: Vec<Outcome<PlaceFact>>) -> Vec<String> {
    let mut facts = Facts { definitions: outcomes, ..Facts::default() };
    wire::raw::read(&mut facts);
    let mut seen = HashSet::new();
    let uris = facts
        .definitions
        .into_iter()
        .flat_map(|outcome| outcome.raw.items)
        .filter_map(|place| place.target_uri.or(place.uri));
    uris.filter(|uri| seen.insert(uri.clone())).filter_map(|uri| uri::to_path(&uri)).collect()
}
