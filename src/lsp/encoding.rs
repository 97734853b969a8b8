//! Characters of a line as a server counts them, and in UTF-16 units. It knows no document.

/// The unit that a server counts characters in (LSP 3.17, PositionEncodingKind).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The encoding of that name; UTF-16, which every server must know, for any other.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "utf-8" => Self::Utf8,
            "utf-32" => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    fn len(self, c: char) -> u32 {
        match self {
            Self::Utf8 => c.len_utf8() as u32,
            Self::Utf16 => c.len_utf16() as u32,
            Self::Utf32 => 1,
        }
    }

    /// `units` of this encoding on `line`, counted in `to`. What lies beyond the line's end stays as
    /// far beyond it; within a character it is that one's start.
    pub(crate) fn convert(self, line: &str, units: u32, to: Self) -> u32 {
        if self == to {
            return units;
        }
        let (mut from_units, mut to_units) = (0, 0);
        for c in line.chars() {
            let next = from_units + self.len(c);
            if next > units {
                return to_units;
            }
            from_units = next;
            to_units += to.len(c);
        }
        to_units.saturating_add(units - from_units)
    }
}

/// The lines of `text` without their endings, be those LF, CR LF or CR.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c01_the_same_place_in_each_unit() {
        for (line, utf8, utf16, utf32) in [
            ("\tx = \"😀\"; bad()", 13, 11, 10),
            ("變數 = bad", 9, 5, 5),
            ("let 𝒳 = bad", 11, 9, 8),
            ("bad", 0, 0, 0),
            ("𝒳", 9, 7, 6),
        ] {
            for (from, at) in
                [(Encoding::Utf8, utf8), (Encoding::Utf16, utf16), (Encoding::Utf32, utf32)]
            {
                assert_eq!(from.convert(line, at, Encoding::Utf16), utf16, "{line} {from:?}");
                assert_eq!(from.convert(line, at, Encoding::Utf8), utf8, "{line} {from:?}");
                assert_eq!(from.convert(line, at, Encoding::Utf32), utf32, "{line} {from:?}");
            }
        }
        assert_eq!(Encoding::Utf16.convert("😀x", 1, Encoding::Utf32), 0);
    }

    #[test]
    fn c10_line_endings_and_no_more() {
        for (text, found) in
            [("a\r\nb\n", &["a", "b", ""][..]), ("a\rb\r\r\nc", &["a", "b", "", "c"]), ("", &[""])]
        {
            assert_eq!(lines(text).collect::<Vec<_>>(), found);
        }
    }
}
