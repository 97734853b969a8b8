//! Places that providers named, read by eye or by a server, become Locations: the name's range, a
//! preview, each place once. It knows no provider and no feature's rules but the order.

use std::collections::HashMap;
use std::rc::Rc;

use lsp_types::PositionEncodingKind;

use super::context::{Location, Role, from_word};
use super::encoding::{self, to_utf16};
use super::facts::{Outcome, PlaceFact, ReferenceFact};
use super::lines::{Lines, find_symbol, snap, trimmed};
use super::position::{Position, Range};
use super::raw::{List, RawLocation, RawPosition, RawRange};
use super::uri;

pub(crate) const MAX_PREVIEW_CHARS: usize = 200;

/// A place as a provider named it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    /// Absolute path, or a URI that names no local file.
    file: String,
    start: RawPosition,
    end: Option<RawPosition>,
    encoding: PositionEncodingKind,
    /// The name to find on the line.
    name: Option<String>,
    role: Role,
    declaration: Option<bool>,
    container: Option<String>,
}

/// A place as the answer has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) location: Location,
    pub(crate) declaration: Option<bool>,
    pub(crate) is_in_asked_file: bool,
    identity: Rc<str>,
}

/// What places are looked at with.
pub(crate) struct Eyes<'a> {
    pub(crate) lines: &'a dyn Lines,
    /// The path of the file that was asked about.
    pub(crate) asked: &'a str,
    /// The name that was asked about, if it is known.
    pub(crate) name: Option<&'a str>,
    /// Gives a path the spelling that the answer uses.
    pub(crate) spell: &'a dyn Fn(&str) -> String,
}

/// The places of an outcome of definitions, and how many could not be read.
pub(crate) fn definitions(outcome: Outcome<PlaceFact>, eyes: &Eyes) -> List<Place> {
    let encoding = outcome.encoding.unwrap_or(PositionEncodingKind::UTF16);
    let role = role(outcome.role.as_deref());
    let mut places = raw_places(outcome.raw, &encoding, eyes.name);
    for place in &mut places.items {
        place.role = role;
    }
    places.items.extend(outcome.items.into_iter().filter_map(|fact| {
        Place::of_fact(fact.file, [fact.line, fact.character], [fact.end_line, fact.end_character])
            .map(|place| Place {
                name: fact.name,
                role: self::role(fact.role.as_deref()),
                container: fact.container,
                ..place
            })
    }));
    places
}

/// The places of an outcome of references, and how many could not be read.
pub(crate) fn references(outcome: Outcome<ReferenceFact>, eyes: &Eyes) -> List<Place> {
    let encoding = outcome.encoding.unwrap_or(PositionEncodingKind::UTF16);
    let mut places = raw_places(outcome.raw, &encoding, eyes.name);
    if let Some(declarations) = outcome.declarations {
        let declarations = raw_places(declarations, &encoding, eyes.name);
        let declarations: Vec<Found> =
            declarations.items.iter().filter_map(|place| found(place, eyes)).collect();
        for place in &mut places.items {
            let identity = eyes.lines.identity(&place.file);
            let is_one = |reference: Found| declarations.iter().any(|d| d.declares(&reference));
            place.declaration = Some(
                declarations.iter().any(|d| d.identity == identity)
                    && found(place, eyes).is_some_and(is_one),
            );
        }
    }
    places.items.extend(outcome.items.into_iter().filter_map(|fact| {
        Place::of_fact(fact.file, [fact.line, fact.character], [fact.end_line, fact.end_character])
            .map(|place| Place {
                name: fact.name,
                declaration: fact.declaration,
                container: fact.container,
                ..place
            })
    }));
    places
}

/// The places as the answer has them, in the given order, each once; excluded files and lines that are
/// not there are left out, and what is only declared, typed or implemented where something is defined.
pub(crate) fn locations(places: Vec<Place>, eyes: &Eyes) -> Vec<Found> {
    let has_definition = places.iter().any(|place| place.role == Role::Definition);
    let mut known: HashMap<(Rc<str>, Range), usize> = HashMap::new();
    let mut out: Vec<Found> = Vec::new();
    for place in places {
        if has_definition && place.role != Role::Definition {
            continue;
        }
        let Some(found) = found(&place, eyes) else { continue };
        match known.get(&(found.identity.clone(), found.location.range)) {
            Some(&found_idx) => out[found_idx].learn(found),
            None => {
                known.insert((found.identity.clone(), found.location.range), out.len());
                out.push(found);
            }
        }
    }
    out
}

/// Orders references: the asked file first, then by file, then by place.
pub(crate) fn sort(references: &mut [Found]) {
    references.sort_by(|a, b| {
        let key = |found: &Found| (!found.is_in_asked_file, found.location.range);
        let ((a_other, a_range), (b_other, b_range)) = (key(a), key(b));
        (a_other, &a.location.uri, a_range).cmp(&(b_other, &b.location.uri, b_range))
    });
}

fn role(word: Option<&str>) -> Role {
    word.and_then(from_word).unwrap_or_default()
}

fn raw_places(
    raw: List<RawLocation>,
    encoding: &PositionEncodingKind,
    name: Option<&str>,
) -> List<Place> {
    let n_given = raw.items.len() + raw.n_unread;
    let items: Vec<Place> = raw
        .items
        .into_iter()
        .filter_map(|raw| {
            let uri = raw.target_uri.or(raw.uri)?;
            let RawRange { start, end } =
                raw.target_selection_range.or(raw.target_range).or(raw.range)?;
            Some(Place {
                start,
                end: Some(end),
                encoding: encoding.clone(),
                name: name.map(String::from),
                ..Place::new(uri)?
            })
        })
        .collect();
    List { n_unread: n_given - items.len(), items }
}

impl Place {
    fn new(file: String) -> Option<Self> {
        let file = uri::to_path(&file).unwrap_or(file);
        (!file.is_empty() && !file.contains('\0')).then(|| Self {
            file,
            start: RawPosition::default(),
            end: None,
            encoding: PositionEncodingKind::UTF16,
            name: None,
            role: Role::Definition,
            declaration: None,
            container: None,
        })
    }

    fn of_fact(file: String, start: [Option<u32>; 2], end: [Option<u32>; 2]) -> Option<Self> {
        let position = |[line, character]: [Option<u32>; 2]| {
            line.zip(character).map(|(line, character)| RawPosition { line, character })
        };
        let start = start.map(|n| Some(n.unwrap_or(0)));
        Some(Self { start: position(start)?, end: position(end), ..Self::new(file)? })
    }
}

impl Found {
    /// Whether this, a definition, is where `reference` stands.
    fn declares(&self, reference: &Self) -> bool {
        let (own, other) = (self.location.range, reference.location.range);
        let is_a_name = own.start.line == own.end.line;
        self.identity == reference.identity
            && (own.start == other.start
                || is_a_name && own.start <= other.start && other.end <= own.end)
    }

    /// Takes what another provider knows of the same place.
    fn learn(&mut self, other: Self) {
        if other.declaration == Some(true) || self.declaration.is_none() {
            self.declaration = other.declaration;
        }
        if self.location.container.is_none() {
            self.location.container = other.location.container;
        }
    }
}

fn found(place: &Place, eyes: &Eyes) -> Option<Found> {
    let Eyes { lines, asked, spell, .. } = eyes;
    let path = place.file.as_str();
    if lines.is_excluded(path) {
        return None;
    }
    let text = lines.line(path, place.start.line);
    if text.is_none() && lines.n_lines(path).is_some_and(|n_lines| place.start.line >= n_lines) {
        return None;
    }
    let identity = lines.identity(path);
    Some(Found {
        is_in_asked_file: path == *asked || identity == lines.identity(asked),
        identity,
        declaration: place.declaration,
        location: Location {
            uri: spell(path),
            range: match &text {
                Some(text) => range(place, text, *lines),
                None => {
                    let start = Position::from(place.start);
                    Range { start, end: place.end.map_or(start, Position::from).max(start) }
                }
            },
            role: place.role,
            preview: text.map(|t| trimmed(&t, MAX_PREVIEW_CHARS)),
            container: place.container.clone(),
            modified: lines.is_modified(path),
        },
    })
}

/// The range of the name at `place`, whose first line is `text`.
fn range(place: &Place, text: &str, lines: &dyn Lines) -> Range {
    let name = place.name.as_deref().unwrap_or("");
    let line = place.start.line;
    let character = to_utf16(text, place.start.character, &place.encoding);
    let start = Position::new(line, character);
    let end = match place.end {
        Some(end) if end.line == line => {
            Position::new(line, to_utf16(text, end.character, &place.encoding))
        }
        Some(end) => encoding::position(lines, &place.file, end, &place.encoding),
        None => start,
    };
    if end <= start {
        return match find_symbol(text, name, character) {
            Some((start, end)) => Range::new(line, start, line, end),
            None => Range::empty(Position::new(line, snap(text, character))),
        };
    }
    match find_symbol(text, name, character) {
        Some((from, to)) if from >= character && Position::new(line, to) <= end => {
            Range::new(line, from, line, to)
        }
        _ => Range { start, end },
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::files::FileLines;

    #[test]
    fn a_place_whose_text_cannot_be_read_stays() {
        let folder = TempDir::new().expect("a folder for the test");
        for (name, content, line, found) in [
            ("f.el.gz", &b"\x1f\x8b\x08\0\0"[..], 99, Some((Range::new(99, 4, 99, 9), None))),
            ("absent", b"", 99, Some((Range::new(99, 4, 99, 9), None))),
            ("latin-1", b"// \xe9\nint total;", 0, Some((Range::new(0, 4, 0, 9), None))),
            (
                "latin-1",
                b"// \xe9\nint total;",
                1,
                Some((Range::new(1, 4, 1, 9), Some("int total;"))),
            ),
            ("latin-1", b"// \xe9\nint total;", 2, None),
        ] {
            let path = folder.path().join(name);
            if name != "absent" {
                std::fs::write(&path, content).expect("a file for the test");
            }
            let outcome = Outcome {
                items: vec![PlaceFact {
                    file: path.to_str().expect("UTF-8").into(),
                    line: Some(line),
                    character: Some(4),
                    end_line: Some(line),
                    end_character: Some(9),
                    ..PlaceFact::default()
                }],
                ..Outcome::default()
            };
            let lines = FileLines::new(Vec::new(), Vec::new());
            let eyes = Eyes { lines: &lines, asked: "", name: None, spell: &|file| file.into() };
            let got = locations(definitions(outcome, &eyes).items, &eyes);
            let got = got.first().map(|f| (f.location.range, f.location.preview.as_deref()));
            assert_eq!(got, found, "{name} {line}");
        }
    }
}
