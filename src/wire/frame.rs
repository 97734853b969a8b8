//! Messages out of a peer's bytes. It knows no JSON and no process.
//!
//! A peer may print what is no message, write its headers in lower case, send bytes that are no
//! UTF-8, and stop anywhere: what can be read is read, and nothing is held that was only promised.

use std::io::{self, BufRead, Error, ErrorKind, Read};

/// Of a line that is no header only so much is looked at, at once.
const MAX_LINE_BYTES: u64 = 64 * 1024;

const LENGTH: &[u8] = b"content-length:";

/// The next message's body; `None` when the peer has closed its end.
///
/// Bytes that are no UTF-8, and halves of surrogate pairs in escapes, are U+FFFD.
///
/// *Errors*: what reading gives; `InvalidData` for a body of more than `max_bytes`.
pub(crate) fn read(input: &mut impl BufRead, max_bytes: u64) -> io::Result<Option<String>> {
    let Some(n_bytes) = read_header(input)? else { return Ok(None) };
    if n_bytes > max_bytes {
        let text = format!("it announced a message of {n_bytes} bytes");
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    let mut body = Vec::new();
    let n_read = input.by_ref().take(n_bytes).read_to_end(&mut body)?;
    if (n_read as u64) < n_bytes {
        return Ok(None);
    }
    let text = String::from_utf8(body)
        .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    Ok(Some(mended(text)))
}

/// The length that the next header names. What stands before it is passed over, a header without a
/// length too.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut n_bytes = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if let Some(found) = length(&line) {
            n_bytes = Some(found);
        } else if let Some(n_bytes) = n_bytes
            && line.trim_ascii().is_empty()
        {
            return Ok(Some(n_bytes));
        }
    }
}

/// The number after `Content-Length:`, which other output may stand before.
fn length(line: &[u8]) -> Option<u64> {
    let start = line.windows(LENGTH.len()).rposition(|w| w.eq_ignore_ascii_case(LENGTH))?;
    std::str::from_utf8(&line[start + LENGTH.len()..]).ok()?.trim().parse().ok()
}

/// JSON text whose escaped surrogates are all paired, so that a strict reader takes it.
fn mended(text: String) -> String {
    let bytes = text.as_bytes();
    if !bytes.windows(3).any(|w| w[0] == b'\\' && w[1] == b'u' && w[2].eq_ignore_ascii_case(&b'd'))
    {
        return text;
    }
    let surrogate = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut copied = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(at) {
            Some(0xd800..0xdc00) if surrogate(at + 6).is_some_and(|unit| unit >= 0xdc00) => {
                at += 12
            }
            Some(_) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // The escaped character cannot start another escape.
            None => at += 2,
        }
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: u64 = 1 << 28;

    /// Hands out one byte at a time, as a slow pipe may.
    struct Bytewise<'a>(&'a [u8]);

    impl Read for Bytewise<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = buf.len().min(1).min(self.0.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(bytes: &[u8]) -> Vec<String> {
        let mut input = io::BufReader::with_capacity(1, Bytewise(bytes));
        std::iter::from_fn(|| read(&mut input, MAX).expect("a slice can be read")).collect()
    }

    #[test]
    fn messages_among_anything() {
        for (bytes, found) in [
            (&b"Content-Length: 2\r\n\r\n{}"[..], &["{}"][..]),
            (b"content-length:2\r\ncontent-type: x\r\n\r\n{}", &["{}"]),
            (b"Content-Type: x\r\nCONTENT-LENGTH: 2\r\n\r\n{}", &["{}"]),
            (b"Content-Length: 2\n\n[]Content-Length: 2\r\n\r\n{}", &["[]", "{}"]),
            (b"hello\nworldContent-Length: 2\r\n\r\n{}", &["{}"]),
            (b"\r\n\r\nContent-Length: x\r\n\r\nContent-Length: 2\r\n\r\n{}", &["{}"]),
            (b"Content-Length: 3\r\n\r\n\"\xe9\"", &["\"\u{fffd}\""]),
            (b"Content-Length: 9\r\n\r\n{}", &[]),
            (b"Content-Length: 2\r\n", &[]),
            (b"", &[]),
        ] {
            assert_eq!(all(bytes), found, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_an_error() {
        let mut input = &b"Content-Length: 99999999999\r\n\r\n{}"[..];
        let error = read(&mut input, MAX).expect_err("too long");
        assert_eq!(error.to_string(), "it announced a message of 99999999999 bytes");
    }

    #[test]
    fn c11_halves_of_pairs_are_mended() {
        for (text, found) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00x\uD83D\n""#, r#""\ufffdx\ufffd\n""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""é\ud83d""#, r#""é\ufffd""#),
        ] {
            assert_eq!(mended(text.into()), found);
            serde_json::from_str::<String>(found).expect("strict readers take it");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut input = &bytes[..];
            while let Ok(Some(_)) = read(&mut input, MAX) {}
        }

        #[test]
        fn bodies_arrive_whatever_stands_between(
            bodies in prop::collection::vec("\\PC{0,40}", 1..5),
            noise in "[a-z \n]{0,30}",
        ) {
            let mut bytes = Vec::new();
            for body in &bodies {
                bytes.extend_from_slice(noise.as_bytes());
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
            }
            let found = all(&bytes);
            prop_assert_eq!(found.len(), bodies.len());
            for (found, body) in found.iter().zip(&bodies) {
                prop_assert_eq!(found, &mended(body.clone()));
            }
        }

        #[test]
        fn mended_text_stays_readable(text in "\\PC{0,30}") {
            let json = serde_json::to_string(&text).expect("a string");
            prop_assert_eq!(serde_json::from_str::<String>(&mended(json)).expect("still JSON"), text);
        }
    }
}
