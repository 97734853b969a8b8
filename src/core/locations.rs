//! Places that providers named become Locations: the name's range, a preview, each place once. It
//! knows no provider.

use std::collections::HashSet;

use super::context::{Location, Role, from_word};
use super::facts::PlaceFact;
use super::lines::{Lines, find_symbol, snap, trimmed, utf16_len};
use super::position::{Position, Range};
use super::uri;

pub(crate) const MAX_PREVIEW_CHARS: usize = 200;

/// The places as Locations, in the providers' order; excluded files and lines that are not there are
/// left out. `spell` gives a path the spelling that the answer uses.
pub(crate) fn locations(
    places: Vec<PlaceFact>,
    lines: &dyn Lines,
    spell: &dyn Fn(&str) -> String,
) -> Vec<Location> {
    let has_definition = places.iter().any(|p| role(p) == Role::Definition);
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for place in places {
        let is_a_file = !place.file.is_empty() && !place.file.contains('\0');
        if !is_a_file || has_definition && role(&place) != Role::Definition {
            continue;
        }
        let identity = lines.identity(&path(&place));
        let Some(location) = location(place, lines, spell) else { continue };
        if seen.insert((identity, location.range)) {
            out.push(location);
        }
    }
    out
}

/// The path of a place, or its URI where that names no local file.
fn path(place: &PlaceFact) -> String {
    uri::to_path(&place.file).unwrap_or_else(|| place.file.clone())
}

fn role(place: &PlaceFact) -> Role {
    place.role.as_deref().and_then(from_word).unwrap_or_default()
}

fn location(
    place: PlaceFact,
    lines: &dyn Lines,
    spell: &dyn Fn(&str) -> String,
) -> Option<Location> {
    let path = path(&place);
    if lines.is_excluded(&path) {
        return None;
    }
    let line = place.line.unwrap_or(0);
    let text = lines.line(&path, line);
    if text.is_none() && lines.n_lines(&path).is_some_and(|n_lines| line >= n_lines) {
        return None;
    }
    let role = role(&place);
    let character = place.character.unwrap_or(0);
    let range = match (&text, place.end_line, place.end_character) {
        (None, Some(end_line), Some(end)) => {
            let start = Position::new(line, character);
            Range { start, end: start.max(Position::new(end_line, end)) }
        }
        (None, _, _) => Range::new(line, character, line, character),
        (Some(text), Some(end_line), Some(end)) if end_line == line && end > character => {
            Range::new(line, snap(text, character), line, snap(text, end))
        }
        (Some(text), _, _) => {
            let name = place.name.as_deref().unwrap_or("");
            match find_symbol(text, name, character) {
                Some((start, end)) => Range::new(line, start, line, end),
                None => {
                    let at = snap(text, character.min(utf16_len(text)));
                    Range::new(line, at, line, at)
                }
            }
        }
    };
    Some(Location {
        uri: spell(&place.file),
        range,
        role,
        preview: text.map(|t| trimmed(&t, MAX_PREVIEW_CHARS)),
        container: place.container,
        modified: lines.is_modified(&path),
    })
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
            let place = PlaceFact {
                file: path.to_str().expect("UTF-8").into(),
                line: Some(line),
                character: Some(4),
                end_line: Some(line),
                end_character: Some(9),
                ..PlaceFact::default()
            };
            let lines = FileLines::new(Vec::new(), Vec::new());
            let got = locations(vec![place], &lines, &|file| file.into());
            let got = got.first().map(|place| (place.range, place.preview.as_deref()));
            assert_eq!(got, found, "{name} {line}");
        }
    }
}
