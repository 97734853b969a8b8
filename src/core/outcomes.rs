//! What several providers said about one feature becomes one list, or the reason why there is none. It
//! knows no feature.

use super::context::{Code, Context, Provenance, ProvenanceKind, Unavailable, from_word};
use super::facts::{Fact, Outcome, Trouble};
use super::plan::{DIAGNOSTICS, FEATURES, Plan};
use super::raw::List;

/// Why `name` is not even looked at: unknown or switched off.
pub(crate) fn refusal(plan: &Plan, name: &str) -> Option<Unavailable> {
    let (code, reason) = if plan.disabled.iter().any(|d| d == name) {
        (Code::Disabled, format!("the user switched {name} off"))
    } else if name == DIAGNOSTICS {
        return None;
    } else if !FEATURES.contains(&name) {
        (
            Code::UnknownCapability,
            format!("there is no feature {name}; known: {}", FEATURES.join(", ")),
        )
    } else {
        return None;
    };
    Some(Unavailable { capability: name.into(), code, reason, retry: false })
}

pub(crate) fn entry(name: &str, trouble: &Trouble) -> Unavailable {
    Unavailable {
        capability: name.into(),
        code: from_word(&trouble.code).unwrap_or_default(),
        reason: trouble.reason.clone(),
        retry: trouble.retry,
    }
}

pub(crate) fn failure<T: Fact>(name: &str, outcome: &Outcome<T>) -> Unavailable {
    let said = outcome.reason.as_deref().unwrap_or("gave no reason");
    // What is to be installed is named already.
    let reason = if outcome.provider.is_empty() || outcome.status == "install" {
        said.to_string()
    } else {
        format!("{}: {said}", outcome.provider)
    };
    let code = from_word(&outcome.status).unwrap_or_default();
    let retry = outcome.retry
        || matches!(code, Code::Starting | Code::Busy | Code::Timeout | Code::Partial);
    Unavailable { capability: name.into(), code, reason, retry }
}

/// What is said of the `n_unread` items of `provider` that could not be read, if there are such.
pub(crate) fn unread(name: &str, provider: &str, n_unread: usize) -> Option<Unavailable> {
    let what = if n_unread == 1 { "item" } else { "items" };
    let reason = format!("{provider}: {n_unread} {what} of its answer cannot be read");
    let code = Code::Partial;
    (n_unread > 0).then(|| Unavailable { capability: name.into(), code, reason, retry: true })
}

/// What one provider answered.
struct Answer<U> {
    provider: String,
    kind: ProvenanceKind,
    list: List<U>,
}

/// One feature's items, as `read` finds them in each outcome: a non-empty semantic answer excludes the
/// others, several of one kind are joined. `None` when no provider could look; what failed, or could not
/// be read, is said in `out`.
pub(crate) fn merge<T: Fact, U>(
    name: &str,
    outcomes: Vec<Outcome<T>>,
    out: &mut Context,
    mut read: impl FnMut(Outcome<T>) -> List<U>,
) -> Option<Vec<U>> {
    let mut answers = Vec::new();
    let mut failures = Vec::new();
    for mut outcome in outcomes {
        if outcome.status == "ok" {
            let provider = std::mem::take(&mut outcome.provider);
            let kind = from_word(&outcome.kind).unwrap_or_default();
            let n_unread = outcome.n_unread;
            let mut list = read(outcome);
            list.n_unread += n_unread;
            answers.push(Answer { provider, kind, list });
        } else {
            // A role is only asked for where there is no definition: that it cannot be asked for is no news.
            let is_main = outcome.role.as_deref().is_none_or(|role| !FALLBACKS.contains(&role));
            failures.push((is_main, failure(name, &outcome)));
        }
    }
    if answers.is_empty() {
        let most_telling =
            failures.into_iter().min_by_key(|(is_main, entry)| (!is_main, rank(entry.code)));
        out.unavailable.push(most_telling.map_or_else(
            || Unavailable {
                capability: name.into(),
                code: Code::NoProvider,
                reason: format!("nothing here answers {name}"),
                retry: false,
            },
            |(_, entry)| entry,
        ));
        return None;
    }
    // That a provider is not for such files is no news beside what another one says; nor, beside what a
    // language service knows, that it would ask for what it lacks.
    let is_known =
        answers.iter().any(|a| a.kind == ProvenanceKind::Semantic && !a.list.items.is_empty());
    let is_news = |code| !(PLAIN.contains(&code) || is_known && code == Code::WouldPrompt);
    let told = failures.into_iter().filter(|(is_main, entry)| *is_main && is_news(entry.code));
    for (_, entry) in told {
        // To ask again installs nothing.
        let retry = entry.code != Code::Install;
        out.unavailable.push(Unavailable { code: Code::Partial, retry, ..entry });
    }
    let kind = [ProvenanceKind::Semantic, ProvenanceKind::Textual, ProvenanceKind::Unknown]
        .into_iter()
        .find(|kind| answers.iter().any(|a| a.kind == *kind && !a.list.items.is_empty()))
        .unwrap_or_else(|| {
            let semantic = answers.iter().find(|a| a.kind == ProvenanceKind::Semantic);
            semantic.unwrap_or(&answers[0]).kind
        });
    let mut provenance = Provenance { kind, providers: Vec::new() };
    let mut items = Vec::new();
    for answer in &answers {
        if answer.kind == kind || answer.kind == ProvenanceKind::Semantic {
            out.unavailable.extend(unread(name, &answer.provider, answer.list.n_unread));
        }
    }
    for Answer { provider, list, .. } in answers.into_iter().filter(|a| a.kind == kind) {
        if !provenance.providers.contains(&provider) {
            provenance.providers.push(provider);
        }
        items.extend(list.items);
    }
    out.provenance.insert(name.into(), provenance);
    Some(items)
}

/// What is asked for only where there is no definition.
const FALLBACKS: [&str; 3] = ["declaration", "typeDefinition", "implementation"];

/// Codes that say no more than that a provider is none for such a question, the lesser last.
const PLAIN: [Code; 3] = [Code::UnsupportedByProvider, Code::Disabled, Code::NoProvider];

/// Of several failures the lowest is told: first what time or a person can mend.
fn rank(code: Code) -> usize {
    match code {
        Code::Starting | Code::Install => 0,
        _ => PLAIN.iter().position(|plain| *plain == code).map_or(1, |idx| idx + 2),
    }
}
