//! Lines of text: the door to them, and counting in UTF-16 on one of them. It knows no file.
//!
//! Lines are the editor's: LF ends one, and no CR is a character of it, whether the editor took it away
//! when it read the file (CRLF) or left it where it stood (a lone one).

use std::rc::Rc;

/// Hands over the text of lines on demand.
pub trait Lines {
    /// The text of line `line` (from 0) of `path`, without its line ending; `None` when there is no
    /// such line or its text cannot be read.
    fn line(&self, path: &str, line: u32) -> Option<String>;
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

/// The length of `line` in UTF-16 units.
pub fn utf16_len(line: &str) -> u32 {
    line.chars().map(n_units).sum()
}

/// How many units `c` takes on its line.
fn n_units(c: char) -> u32 {
    if c == '\r' { 0 } else { c.len_utf16() as u32 }
}

/// `character` on `line`: inside a surrogate pair it is the pair's start, past the end the end.
///
/// *Units*: UTF-16, from 0.
pub fn snap(line: &str, character: u32) -> u32 {
    let mut at = 0;
    for c in line.chars() {
        let next = at + n_units(c);
        if next > character {
            return at;
        }
        at = next;
    }
    at
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
    let mut first = None;
    for (byte_idx, _) in line.match_indices(name) {
        let before = line[..byte_idx].chars().next_back();
        let after = line[byte_idx + name.len()..].chars().next();
        let starts_word = name.chars().next().is_some_and(is_symbol_char);
        let ends_word = name.chars().next_back().is_some_and(is_symbol_char);
        let clash = |own: bool, c: Option<char>| c.is_some_and(|c| (own && inside(c)) || extra(c));
        if clash(starts_word, before) || clash(ends_word, after) {
            continue;
        }
        let start = utf16_len(&line[..byte_idx]);
        let found = (start, start + utf16_len(name));
        if start >= from {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
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
        at += n_units(c);
    }
    (at >= character && !word.is_empty()).then_some(word)
}

/// `line` trimmed and cut to at most `max_chars` characters.
pub fn trimmed(line: &str, max_chars: usize) -> String {
    line.trim().chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
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
