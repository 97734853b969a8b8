//! LSP results that came as JSON text, in the outcomes that hold them. It knows no feature.

use serde_json::Value;

use crate::core::facts::{Fact, Facts, Outcome};

/// Reads the JSON text of every outcome, so that `facts` look as if the results had come as values, each
/// where it belongs. What is no JSON makes its outcome an error.
pub(crate) fn read(facts: &mut Facts) {
    outcomes(&mut facts.definitions);
    outcomes(&mut facts.references);
    outcomes(&mut facts.document_symbols);
    outcomes(&mut facts.enclosing_symbols);
    outcomes(&mut facts.documentation);
    for outcome in &mut facts.enclosing_symbols {
        let source = outcome.raw_of.and_then(|idx| facts.document_symbols.get(idx as usize));
        if let Some(source) = source {
            outcome.raw.clone_from(&source.raw);
        }
    }
}

fn outcomes<T: Fact>(outcomes: &mut [Outcome<T>]) {
    for outcome in outcomes {
        if let Err(error) = outcome_values(outcome) {
            outcome.status = "error".into();
            outcome.reason = Some(format!("its result is no JSON: {error}"));
        }
    }
}

// By way of a value: in running text an item that cannot be read takes the rest of its list with it.
fn outcome_values<T: Fact>(outcome: &mut Outcome<T>) -> serde_json::Result<()> {
    if let Some(text) = outcome.raw_json.take() {
        outcome.raw = serde_json::from_value(serde_json::from_str::<Value>(&text)?)?;
    }
    if let Some(text) = outcome.declarations_json.take() {
        let list = serde_json::from_value(serde_json::from_str::<Value>(&text)?)?;
        outcome.declarations = Some(list);
    }
    Ok(())
}
