//! Facts become the answer: merge, order, dedupe, cut, and say what was cut. It knows no editor.

use std::collections::HashMap;

use lsp_types::PositionEncodingKind;

use super::context::{
    Code, Context, Document, DocumentSymbol, EnclosingSymbol, Location, Locations,
    OneBasedLocation, ProvenanceKind, Reference, Status, Symbol, Truncation, Unavailable,
    from_word,
};
use super::facts::{DocumentFacts, EnclosingFact, Fact, Facts, IndexEntry, Outcome, Trouble};
use super::lines::{Lines, identifier, trimmed};
use super::locations::{self, Eyes, Found, MAX_PREVIEW_CHARS, Place};
use super::outcomes::{entry, merge, refusal};
use super::plan::{Method, Plan};
use super::position::{Position, Range};
use super::raw::List;
use super::{documentation, enclosing, outline, symbols, uri, workspace};

pub use super::problems::assemble_diagnostics;

/// The answer to `editor/getContext` that follows from `facts`.
pub fn assemble(plan: &Plan, facts: Facts, lines: &dyn Lines) -> Context {
    let mut out = Context {
        uri: asked_uri(plan, facts.document.as_ref()),
        document: facts.document.as_ref().map(document),
        ..Context::default()
    };
    let asked = facts.document.as_ref().map(|d| d.path.clone()).unwrap_or_default();
    let language = facts.document.as_ref().and_then(|d| d.language_id.clone());
    let spell = |file: &str| spelling(plan, &asked, file, lines);
    let name = asked_name(plan, &facts, &asked, lines);
    let eyes = Eyes { lines, asked: &asked, name: name.as_deref(), spell: &spell };
    let limit = plan.limit as usize;

    // The tree of the asked file, from whichever feature told it: places in it have their containers.
    let mut tree = Vec::new();
    let mut tree_is_semantic = false;
    let mut found = HashMap::new();
    let Facts { trouble, position, position_trouble, occurrences, .. } = facts;
    let mut symbol_facts = facts.symbol_at_position;
    let mut definition_facts = facts.definitions;
    let mut reference_facts = facts.references;
    let mut index_facts = facts.document_symbols;
    let mut enclosing_facts = facts.enclosing_symbols;
    let mut text_facts = facts.documentation;
    let mut workspace_facts = facts.workspace;
    for name in &plan.include {
        if let Some(refusal) = refusal(plan, name) {
            out.unavailable.push(refusal);
            continue;
        }
        // What is wrong with the file says nothing about the workspace.
        if let Some(trouble) = &trouble
            && (name != WORKSPACE || workspace_facts.is_empty())
        {
            out.unavailable.push(entry(name, trouble));
            continue;
        }
        let at = if needs_position(name) {
            let Some(at) = position else {
                out.unavailable.push(entry(name, &no_position(position_trouble.as_ref())));
                continue;
            };
            out.position = position;
            out.occurrences = occurrences.filter(|n| *n > 1);
            at
        } else {
            Position::default()
        };
        match name.as_str() {
            "symbolAtPosition" => {
                let outcomes = std::mem::take(&mut symbol_facts);
                let merged = merge(name, outcomes, &mut out, items);
                let preview = |range: Range| {
                    lines.line(&asked, range.start.line).map(|t| trimmed(&t, MAX_PREVIEW_CHARS))
                };
                out.symbol_at_position = merged.map(|items| {
                    items.into_iter().next().map(|s| Symbol {
                        preview: preview(s.range),
                        text: s.text,
                        range: s.range,
                        context: s.context.as_deref().and_then(from_word),
                    })
                });
            }
            "definitions" => {
                let outcomes = std::mem::take(&mut definition_facts);
                let places = merge(name, outcomes, &mut out, |o| locations::definitions(o, &eyes));
                let places = places.map(|places| locations::locations(places, &eyes));
                found.extend(places.map(|places| ("definitions", places)));
            }
            "references" => {
                let outcomes = std::mem::take(&mut reference_facts);
                let places = merge(name, outcomes, &mut out, |o| locations::references(o, &eyes));
                found.extend(places.map(|places| ("references", sorted(places, &eyes))));
            }
            "documentSymbols" => {
                let outcomes = std::mem::take(&mut index_facts);
                let merged = merge(name, outcomes, &mut out, |o| symbol_tree(o, &asked, lines));
                if let Some(symbols) = merged {
                    let symbols = symbols::joined(symbols);
                    if !tree_is_semantic {
                        tree.clone_from(&symbols);
                        tree_is_semantic = is_semantic(&out, name);
                    }
                    out.document_symbols = Some(symbols);
                }
            }
            "enclosingSymbols" => {
                let outcomes = std::mem::take(&mut enclosing_facts);
                let mut whole = Vec::new();
                let merged = merge(name, outcomes, &mut out, |outcome| {
                    enclosing_chain(outcome, at, &asked, lines, &mut whole)
                });
                if !tree_is_semantic && !whole.is_empty() {
                    tree = whole;
                    tree_is_semantic = is_semantic(&out, name);
                }
                // Several chains are several views of one place: the first is the best.
                let chain = merged.map(|chains| chains.into_iter().next().unwrap_or_default());
                out.enclosing_symbols = chain;
            }
            "documentation" => {
                let outcomes = std::mem::take(&mut text_facts);
                let merged = merge(name, outcomes, &mut out, |outcome| {
                    documentation::texts(outcome, language.as_deref())
                });
                out.documentation = merged.map(documentation::chosen);
            }
            _ => {
                let outcomes = std::mem::take(&mut workspace_facts);
                let merged = merge(name, outcomes, &mut out, items);
                if let Some(items) = merged {
                    let fact = items.into_iter().next().unwrap_or_default();
                    let (workspace, cut) = workspace::workspace(fact, limit, lines, &spell);
                    out.workspace = Some(workspace);
                    out.truncated.extend(cut.map(|cut| ("openFiles".into(), cut)));
                }
            }
        }
    }
    let separator = separator(language.as_deref());
    let [definitions, references] = ["definitions", "references"].map(|name| {
        let mut found = found.remove(name)?;
        // What a pattern suggests has no place in what a language service knows.
        if tree_is_semantic || !is_semantic(&out, name) {
            add_containers(&mut found, &tree, separator);
        }
        Some(found)
    });
    out.definitions = definitions.map(|found| found.into_iter().map(|f| f.location).collect());
    out.references = references.map(|found| found.into_iter().map(reference).collect());
    cut(&mut out, limit);
    out
}

/// The answer to `editor/getDefinition` or `editor/getReferences` that follows from `facts`.
pub fn assemble_locations(plan: &Plan, facts: Facts, lines: &dyn Lines) -> Locations {
    let asked = facts.document.as_ref().map(|d| d.path.clone()).unwrap_or_default();
    let spell = |file: &str| spelling(plan, &asked, file, lines);
    let asked_name = asked_name(plan, &facts, &asked, lines);
    let eyes = Eyes { lines, asked: &asked, name: asked_name.as_deref(), spell: &spell };
    let feature = plan.include.first().map(String::as_str).unwrap_or_default();
    let obstacle = refusal(plan, feature)
        .or_else(|| facts.trouble.as_ref().map(|trouble| entry(feature, trouble)))
        .or_else(|| {
            let trouble = no_position(facts.position_trouble.as_ref());
            facts.position.is_none().then(|| entry(feature, &trouble))
        });
    if let Some(obstacle) = obstacle {
        return refused(&obstacle);
    }
    let mut out = Context::default();
    let found = if plan.method == Method::GetDefinition {
        merge(feature, facts.definitions, &mut out, |o| locations::definitions(o, &eyes))
            .map(|places| locations::locations(places, &eyes))
    } else {
        merge(feature, facts.references, &mut out, |o| locations::references(o, &eyes))
            .map(|places| sorted(places, &eyes))
    };
    let Some(mut found) = found else {
        return out.unavailable.first().map(refused).unwrap_or_default();
    };
    if plan.include_declaration == Some(false) {
        found.retain(|found| found.declaration != Some(true));
    }
    let reasons: Vec<_> = out.unavailable.into_iter().map(|entry| entry.reason).collect();
    let one_based = |found: Found| OneBasedLocation {
        uri: found.location.uri,
        range: found.location.range.into(),
        preview: found.location.preview,
        role: (plan.method == Method::GetDefinition).then_some(found.location.role),
    };
    Locations {
        status: Status::Success,
        locations: Some(found.into_iter().map(one_based).collect()),
        message: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

/// What the two older methods answer where there are no locations.
fn refused(obstacle: &Unavailable) -> Locations {
    let status = match obstacle.code {
        Code::Starting => Status::Starting,
        Code::NoProvider | Code::UnsupportedByProvider | Code::Install => Status::NoServer,
        _ => Status::Error,
    };
    Locations { status, locations: None, message: Some(obstacle.reason.clone()) }
}

const WORKSPACE: &str = "workspace";

fn needs_position(feature: &str) -> bool {
    !matches!(feature, "documentSymbols" | WORKSPACE)
}

fn no_position(trouble: Option<&Trouble>) -> Trouble {
    trouble.cloned().unwrap_or_else(|| Trouble {
        code: "no-position".into(),
        reason: "no position was given and the editor has none here".into(),
        retry: false,
    })
}

/// The name that was asked about: as the request says, as a provider found it, or as the line reads.
fn asked_name(plan: &Plan, facts: &Facts, asked: &str, lines: &dyn Lines) -> Option<String> {
    let found = facts.symbol_at_position.iter().find_map(|outcome| outcome.items.first());
    plan.symbol.clone().or_else(|| found.map(|symbol| symbol.text.clone())).or_else(|| {
        let at = facts.position?;
        identifier(&lines.line(asked, at.line)?, at.character)
    })
}

/// The items of an outcome that has nothing raw.
fn items<T: Fact>(outcome: Outcome<T>) -> List<T> {
    List { items: outcome.items, n_unread: 0 }
}

fn sorted(places: Vec<Place>, eyes: &Eyes) -> Vec<Found> {
    let mut found = locations::locations(places, eyes);
    locations::sort(&mut found);
    found
}

fn symbol_tree(
    outcome: Outcome<IndexEntry>,
    path: &str,
    lines: &dyn Lines,
) -> List<DocumentSymbol> {
    let encoding = outcome.encoding.unwrap_or(PositionEncodingKind::UTF16);
    let mut tree = outline::tree(outcome.raw, &encoding, path, lines);
    tree.items.extend(symbols::tree(outcome.items, path, lines));
    tree
}

/// One chain, if there is something in it; the tree that it is from is left in `tree`.
fn enclosing_chain(
    outcome: Outcome<EnclosingFact>,
    at: Position,
    path: &str,
    lines: &dyn Lines,
    tree: &mut Vec<DocumentSymbol>,
) -> List<Vec<EnclosingSymbol>> {
    let encoding = outcome.encoding.unwrap_or(PositionEncodingKind::UTF16);
    let List { items, n_unread } = outline::tree(outcome.raw, &encoding, path, lines);
    let mut chain = enclosing::of_tree(&items, at);
    chain.extend(enclosing::of_facts(outcome.items, at));
    if tree.is_empty() {
        *tree = items;
    }
    List { items: if chain.is_empty() { Vec::new() } else { vec![chain] }, n_unread }
}

fn is_semantic(out: &Context, feature: &str) -> bool {
    out.provenance.get(feature).is_some_and(|p| p.kind == ProvenanceKind::Semantic)
}

/// Adds the containers of places in the asked file, whose symbols are `tree`.
fn add_containers(found: &mut [Found], tree: &[DocumentSymbol], separator: &str) {
    for Found { location: Location { container, range, .. }, is_in_asked_file, .. } in found {
        if *is_in_asked_file && container.is_none() {
            *container = enclosing::container(tree, *range, separator);
        }
    }
}

/// What stands between the parts of a qualified name.
fn separator(language: Option<&str>) -> &'static str {
    match language {
        Some("c" | "cpp" | "rust" | "php" | "perl" | "ruby") => "::",
        _ => ".",
    }
}

fn reference(found: Found) -> Reference {
    let Location { uri, range, preview, container, modified, .. } = found.location;
    Reference { uri, range, preview, container, declaration: found.declaration, modified }
}

/// Cuts each list of `out` to `limit` items, and says so.
fn cut(out: &mut Context, limit: usize) {
    fn list<T>(list: &mut Option<Vec<T>>, limit: usize) -> Option<Truncation> {
        let list = list.as_mut().filter(|list| list.len() > limit)?;
        let total = list.len();
        list.truncate(limit);
        Some(Truncation { returned: limit, total })
    }
    let cuts = [
        ("definitions", list(&mut out.definitions, limit)),
        ("references", list(&mut out.references, limit)),
        (
            "documentSymbols",
            out.document_symbols.as_mut().and_then(|tree| symbols::cut(tree, limit)),
        ),
        ("enclosingSymbols", list(&mut out.enclosing_symbols, limit)),
        ("documentation", list(&mut out.documentation, limit)),
    ];
    for (name, cut) in cuts {
        out.truncated.extend(cut.map(|cut| (name.into(), cut)));
    }
}

pub(crate) fn document(facts: &DocumentFacts) -> Document {
    Document {
        language_id: facts.language_id.clone(),
        line_count: facts.line_count,
        version: facts.version.clone(),
        modified: facts.modified,
        disk_newer: facts.disk_newer,
    }
}

pub(crate) fn asked_uri(plan: &Plan, document: Option<&DocumentFacts>) -> Option<String> {
    plan.uri.clone().or_else(|| document.map(|d| uri::from_path(&d.path)))
}

/// The caller's spelling for the file that was asked for, else a percent-encoded URI.
pub(crate) fn spelling(plan: &Plan, asked: &str, file: &str, lines: &dyn Lines) -> String {
    let is_asked = || {
        let path = uri::to_path(file);
        let path = path.as_deref().unwrap_or(file);
        path == asked || lines.identity(path) == lines.identity(asked)
    };
    match &plan.uri {
        Some(uri) if is_asked() => uri.clone(),
        _ => uri::from_path(file),
    }
}
