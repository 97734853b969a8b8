//! Lines of text: the door to them, and counting in UTF-16 on one of them. It knows no file.
//!
//! Lines are the editor's: LF ends one, and no CR is a character of it, whether the editor took it away
//! when it read the file (CRLF) or left it where it stood (a lone one).

use std::ops::Deref;
use std::rc::Rc;

/// Hands over the text of lines on demand.
pub trait Lines {
    /// The text of line `line` (from 0) of `path`, without its line ending; `None` when there is no
    /// such line or its text cannot be read.
    fn line(&self, path: &str, line: u32) -> Option<Line>;
    /// How many lines `path` has; `a\nb\n` has three. `None` when nothing of it can be read.
    fn n_lines(&self, path: &str) -> Option<u32>;
    /// Whether the text at hand differs from the file on disk.
    fn is_modified(&self, path: &str) -> bool;
    /// Whether `path` must appear nowhere.
    fn is_excluded(&self, path: &str) -> bool;
    /// The file that `path` leads to, links followed: two paths of one file have one identity. What
    /// leads nowhere is its own.
    fn identity(&self, path: &str) -> Rc<str>;
}

/// The text of a line, a part of its file's: a line may be as long as a file, and be asked for often.
#[derive(Debug, Clone)]
pub struct Line {
    text: Rc<str>,
    /// In bytes.
    start: usize,
    end: usize,
}

impl Line {
    /// The part of `text` from byte `start` to byte `end`, both between characters.
    pub fn new(text: Rc<str>, start: usize, end: usize) -> Self {
        Self { text, start, end }
    }
}

impl Deref for Line {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text[self.start..self.end]
    }
}

/// The length of `line` in UTF-16 units.
pub fn utf16_len(line: &str) -> u32 {
    n_utf16(line.as_bytes())
}

/// How many UTF-16 units there are in UTF-8, CRs none: one for each byte that begins a character, one
/// more for each that begins one of four bytes.
pub(crate) fn n_utf16(bytes: &[u8]) -> u32 {
    count(bytes, |b| u8::from(b & 0xc0 != 0x80) + u8::from(b >= 0xf0) - u8::from(b == b'\r'))
}

/// The sum of what `one`, at most 2, says of each byte; many bytes at once, as a byte holds so much.
pub(crate) fn count(bytes: &[u8], one: impl Fn(u8) -> u8) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().fold(0, |n: u8, b| n.wrapping_add(one(*b)));
    bytes.chunks(127).map(|bytes| u32::from(sum(bytes))).sum()
}

/// The last byte of `line` between characters with at most `units` before it, and how many there are, as
/// `count` counts what is in UTF-8: all of a character by its first byte, or each byte by itself.
pub(crate) fn byte_at(line: &str, units: u32, count: impl Fn(&[u8]) -> u32) -> (usize, u32) {
    const N_BLOCK: usize = 512;
    let (mut at, mut n_units) = (0, 0);
    // Whole blocks are counted many bytes at once.
    while at + N_BLOCK < line.len() {
        let next = (0..4).map(|n| at + N_BLOCK - n).find(|next| line.is_char_boundary(*next));
        let next = next.expect("a character has no more than four bytes");
        let n_more = count(&line.as_bytes()[at..next]);
        if n_units + n_more > units {
            break;
        }
        (at, n_units) = (next, n_units + n_more);
    }
    for c in line[at..].chars() {
        let next = at + c.len_utf8();
        let n_more = count(&line.as_bytes()[at..next]);
        if n_units + n_more > units {
            break;
        }
        (at, n_units) = (next, n_units + n_more);
    }
    (at, n_units)
}

/// `character` on `line`: inside a surrogate pair it is the pair's start, past the end the end.
///
/// *Units*: UTF-16, from 0.
pub fn snap(line: &str, character: u32) -> u32 {
    byte_at(line, character, n_utf16).1
}

fn is_symbol_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '\u{300}'..='\u{36f}')
}

/// Where `name` stands on `line` as a whole symbol: the first such place at or after `from`, else
/// the first on the line.
///
/// *Units*: start and end in UTF-16, from 0.
pub fn find_symbol(line: &str, name: &str, from: u32) -> Option<(u32, u32)> {
    if name.is_empty() {
        return None;
    }
    // A character that the name itself holds (`-` of Lisp, `$` of JavaScript) is no boundary.
    let inside = |c: char| is_symbol_char(c) || (!c.is_whitespace() && !c.is_ascii_punctuation());
    let extra = |c: char| matches!(c, '-' | '$' | '?' | '!' | '*') && name.contains(c);
    let starts_word = name.chars().next().is_some_and(is_symbol_char);
    let ends_word = name.chars().next_back().is_some_and(is_symbol_char);
    let clash = |own: bool, c: Option<char>| c.is_some_and(|c| (own && inside(c)) || extra(c));
    let first_whole = |from: usize, to: usize| {
        let mut found = line[from..to].match_indices(name).map(|(byte_idx, _)| from + byte_idx);
        let is_whole = |byte_idx: &usize| {
            !clash(starts_word, line[..*byte_idx].chars().next_back())
                && !clash(ends_word, line[*byte_idx + name.len()..].chars().next())
        };
        found.find(is_whole)
    };
    // Before `from` only where there is none behind it.
    let (mut from_byte, n_before) = byte_at(line, from, n_utf16);
    if n_before < from {
        from_byte += line[from_byte..].chars().next().map_or(0, char::len_utf8);
    }
    // An occurrence that begins before it may end behind it.
    let mut to_byte = line.len().min(from_byte + name.len());
    while !line.is_char_boundary(to_byte) {
        to_byte += 1;
    }
    let start = first_whole(from_byte, line.len()).or_else(|| first_whole(0, to_byte))?;
    let n_units = utf16_len(&line[..start]);
    Some((n_units, n_units + utf16_len(name)))
}

/// The identifier that touches `character` on `line`, its end included; of two the one that begins there.
///
/// *Units*: `character` in UTF-16, from 0.
pub fn identifier(line: &str, character: u32) -> Option<String> {
    let mut at = 0;
    let mut word = String::new();
    for c in line.chars() {
        let is_part = is_symbol_char(c);
        if !is_part {
            if at >= character && !word.is_empty() {
                return Some(word);
            }
            word.clear();
        }
        if at > character && word.is_empty() {
            return None;
        }
        if is_part {
            word.push(c);
        }
        at += n_utf16(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    (at >= character && !word.is_empty()).then_some(word)
}

/// `line` trimmed and cut to at most `max_chars` characters.
pub fn trimmed(line: &str, max_chars: usize) -> String {
    line.trim().chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c01_utf16_of_wide_text() {
        for (line, start) in [
            ("\tx = \"😀\"; bad()", 11),
            ("cafe\u{301} = bad", 8),
            ("s = \"👩\u{200d}👩\u{200d}👧\"; bad", 16),
            ("s = \"🇵🇱\"; bad", 12),
            ("變數 = bad", 5),
            ("𠮷 = bad", 5),
            ("let 𝒳 = bad", 9),
            ("a\u{200b}b bad", 4),
        ] {
            assert_eq!(find_symbol(line, "bad", 0), Some((start, start + 3)), "{line}");
        }
    }

    #[test]
    fn c04_inside_a_pair_snaps_back() {
        let line = "\tx = \"😀\"; bad()";
        assert_eq!((snap(line, 6), snap(line, 7), snap(line, 8)), (6, 6, 8));
    }

    #[test]
    fn c07_past_the_end_is_the_end() {
        assert_eq!(snap("cd", 25), 2);
    }

    #[test]
    fn no_cr_counts() {
        let line = "\r😀\r\rbad";
        assert_eq!((utf16_len(line), snap(line, 1), snap(line, 3), snap(line, 9)), (5, 0, 3, 5));
        assert_eq!(find_symbol(line, "bad", 0), Some((2, 5)));
    }

    proptest! {
        /// Lines longer than a block, counted character by character.
        #[test]
        fn long_lines_are_counted_right(
            parts in prop::collection::vec(
                (prop::sample::select(vec!["a", "é", "變", "😀", "\r", "total ", "e\u{301}"]), 1..300usize),
                0..8,
            ),
            at in 0..3000u32,
        ) {
            let line: String = parts.iter().map(|(part, n)| part.repeat(*n)).collect();
            let width = |c: char| if c == '\r' { 0 } else { c.len_utf16() as u32 };
            prop_assert_eq!(utf16_len(&line), line.chars().map(width).sum::<u32>());
            let mut before = 0;
            for c in line.chars() {
                if before + width(c) > at {
                    break;
                }
                before += width(c);
            }
            prop_assert_eq!(snap(&line, at), before);
            let places: Vec<_> = line
                .match_indices("total")
                .map(|(idx, _)| utf16_len(&line[..idx]))
                .filter(|start| find_symbol(&line, "total", *start) == Some((*start, start + 5)))
                .collect();
            let found = find_symbol(&line, "total", at).map(|place| place.0);
            let wanted = places.iter().find(|start| **start >= at).or(places.first());
            prop_assert_eq!(found, wanted.copied());
        }
    }

    #[test]
    fn a_long_line_asked_about_often() {
        // Once a minute and more: each place was looked for among all that were before it.
        for unit in ["var a=f(b);", "var é=f(b);"] {
            let line = unit.repeat(20_000);
            let start = std::time::Instant::now();
            for n in 0..200 {
                let from = 11 * (n * 99) + 4;
                let name = unit.trim_start_matches("var ").chars().next().expect("a name");
                let found = find_symbol(&line, &name.to_string(), from);
                assert_eq!(found, Some((from, from + 1)));
                assert_eq!(snap(&line, from), from);
            }
            assert!(start.elapsed().as_secs() < 10);
        }
    }

    #[test]
    fn identifiers_touch() {
        for (line, character, found) in [
            ("c.total(x)", 2, Some("total")),
            ("c.total(x)", 4, Some("total")),
            ("c.total(x)", 7, Some("total")),
            ("c.total(x)", 1, Some("c")),
            ("c.total(x)", 8, Some("x")),
            ("c.total(x)", 9, Some("x")),
            ("c.total(x)", 10, None),
            ("c.total(x)", 99, None),
            ("a  b", 2, None),
            ("a  b", 3, Some("b")),
            ("x = 😀𝒳", 8, Some("𝒳")),
            ("é变_1", 4, Some("é变_1")),
            ("", 0, None),
        ] {
            assert_eq!(identifier(line, character).as_deref(), found, "{line} {character}");
        }
    }

    #[test]
    fn whole_symbols_only() {
        for (line, name, from, found) in [
            ("foo-bar foo", "foo", 0, Some((0, 3))),
            ("(foo-bar foo-ba)", "foo-ba", 0, Some((9, 15))),
            ("subtotal total", "total", 0, Some((9, 14))),
            ("a b a", "a", 3, Some((4, 5))),
            ("abc", "b", 0, None),
        ] {
            assert_eq!(find_symbol(line, name, from), found, "{line} {name}");
        }
    }
}
