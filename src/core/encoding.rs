//! Positions of a server become positions in UTF-16. It knows no server and no request.

use lsp_types::PositionEncodingKind;

use super::lines::{Lines, byte_at, count, n_utf16, snap, utf16_len};
use super::position::{Position, Range};
use super::raw::{RawPosition, RawRange};

/// Where `units` of `encoding` lead to on `line`, in UTF-16 units: inside a character it is that one's
/// start, past the end the end. What is no encoding of LSP's is UTF-16.
pub(crate) fn to_utf16(line: &str, units: u32, encoding: &PositionEncodingKind) -> u32 {
    if *encoding == PositionEncodingKind::UTF8 {
        utf16_len(&line[..byte_at(line, units, n_utf8).0])
    } else if *encoding == PositionEncodingKind::UTF32 {
        utf16_len(&line[..byte_at(line, units, n_utf32).0])
    } else {
        snap(line, units)
    }
}

/// Where `character` leads to on `line`, in units of `encoding`: the inverse of `to_utf16`.
///
/// *Units*: `character` in UTF-16, from 0.
pub(crate) fn from_utf16(line: &str, character: u32, encoding: &PositionEncodingKind) -> u32 {
    let before = &line[..byte_at(line, character, n_utf16).0];
    if *encoding == PositionEncodingKind::UTF8 {
        n_utf8(before.as_bytes())
    } else if *encoding == PositionEncodingKind::UTF32 {
        n_utf32(before.as_bytes())
    } else {
        utf16_len(before)
    }
}

// A CR is no character of the line, as everywhere.
fn n_utf8(bytes: &[u8]) -> u32 {
    count(bytes, |b| u8::from(b != b'\r'))
}

fn n_utf32(bytes: &[u8]) -> u32 {
    count(bytes, |b| u8::from(b & 0xc0 != 0x80 && b != b'\r'))
}

/// The position `at` of a server in the file `path`; where the line cannot be read it stays as it is.
pub(crate) fn position(
    lines: &dyn Lines,
    path: &str,
    at: RawPosition,
    encoding: &PositionEncodingKind,
) -> Position {
    match lines.line(path, at.line) {
        Some(text) => Position::new(at.line, to_utf16(&text, at.character, encoding)),
        None => last(lines, path).filter(|last| last.line < at.line).unwrap_or(at.into()),
    }
}

/// The range `raw` of a server in the file `path`.
pub(crate) fn range(
    lines: &dyn Lines,
    path: &str,
    raw: RawRange,
    encoding: &PositionEncodingKind,
) -> Range {
    let start = position(lines, path, raw.start, encoding);
    let end = position(lines, path, raw.end, encoding);
    Range { start, end: end.max(start) }
}

/// The end of the text.
fn last(lines: &dyn Lines, path: &str) -> Option<Position> {
    let line = lines.n_lines(path)?.checked_sub(1)?;
    Some(Position::new(line, utf16_len(&lines.line(path, line)?)))
}

impl From<RawPosition> for Position {
    fn from(at: RawPosition) -> Self {
        Self::new(at.line, at.character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileLines;

    #[test]
    fn c01_each_encoding_leads_to_the_same_place() {
        let family = "s = \"👩\u{200d}👩\u{200d}👧\"; bad";
        for (line, utf8, utf16, utf32) in [
            ("let 𝒳 = bad", 11, 9, 8),
            (family, 26, 16, 13),
            ("變數 = bad", 9, 5, 5),
            ("\t\tbad", 2, 2, 2),
            ("\tx = \"😀\"; bad()", 13, 11, 10),
            ("cafe\u{301} = bad", 9, 8, 8),
            ("𝒳", 4, 2, 1),
        ] {
            for (encoding, units) in [
                (PositionEncodingKind::UTF8, utf8),
                (PositionEncodingKind::UTF16, utf16),
                (PositionEncodingKind::UTF32, utf32),
                (PositionEncodingKind::new("odd"), utf16),
            ] {
                assert_eq!(to_utf16(line, units, &encoding), utf16, "{line} {encoding:?}");
                assert_eq!(to_utf16(line, 1000, &encoding), utf16_len(line), "{line} {encoding:?}");
                assert_eq!(from_utf16(line, utf16, &encoding), units, "{line} {encoding:?}");
            }
        }
    }

    #[test]
    fn c04_inside_a_character_is_its_start() {
        for (encoding, units) in [
            (PositionEncodingKind::UTF8, 1),
            (PositionEncodingKind::UTF8, 3),
            (PositionEncodingKind::UTF16, 1),
        ] {
            assert_eq!(to_utf16("😀x", units, &encoding), 0);
        }
    }

    #[test]
    fn there_and_back() {
        let line = "x = \"😀\"; é变𝒳";
        for encoding in
            [PositionEncodingKind::UTF8, PositionEncodingKind::UTF16, PositionEncodingKind::UTF32]
        {
            for character in 0..20 {
                let units = from_utf16(line, character, &encoding);
                assert_eq!(to_utf16(line, units, &encoding), snap(line, character), "{character}");
            }
        }
    }

    #[test]
    fn past_the_last_line_is_the_end_of_the_text() {
        let lines = FileLines::of_text("/f", "ab\n😀");
        let at = |line, character| RawPosition { line, character };
        let encoding = PositionEncodingKind::UTF32;
        for (raw, found) in [
            (at(1, 1), Position::new(1, 2)),
            (at(2, 0), Position::new(1, 2)),
            (at(u32::MAX, u32::MAX), Position::new(1, 2)),
        ] {
            assert_eq!(position(&lines, "/f", raw, &encoding), found);
        }
        assert_eq!(position(&lines, "/none", at(7, 3), &encoding), Position::new(7, 3));
    }
}
