//! Lines of a client as every reader of JSON takes them. It knows nothing of what they say.
//!
//! JavaScript writes half a surrogate pair as an escape, which is no character; and bytes may be no UTF-8.
//! A request that cannot be read is one that is never answered: what is no character is replaced.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream, duplex};

const BUFFER_BYTES: usize = 64 * 1024;

/// What `input` brings, mended line by line. A task of its own reads it.
pub(crate) fn mended(input: impl AsyncRead + Unpin + Send + 'static) -> DuplexStream {
    let (mut sender, receiver) = duplex(BUFFER_BYTES);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).await.is_ok_and(|n_bytes| n_bytes > 0) {
            if std::str::from_utf8(&line).is_err() {
                line = String::from_utf8_lossy(&line).into_owned().into_bytes();
            }
            mend(&mut line);
            if sender.write_all(&line).await.is_err() {
                break;
            }
            line.clear();
        }
    });
    receiver
}

/// Writes the replacement character over each escape of half a pair.
fn mend(line: &mut [u8]) {
    let mut at = 0;
    while let Some(n_before) = line[at..].iter().position(|byte| *byte == b'\\') {
        at += n_before;
        match unit(&line[at..]) {
            Some(0xd800..=0xdbff) if matches!(unit(&line[at + 6..]), Some(0xdc00..=0xdfff)) => {
                at += 12
            }
            Some(0xd800..=0xdfff) => {
                line[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            Some(_) => at += 6,
            // The escaped character may be a backslash.
            None => at = line.len().min(at + 2),
        }
    }
}

/// The UTF-16 unit whose escape `bytes` begin with.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn what_is_no_character_is_replaced() {
        for (line, mended) in [
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (r"\ud83d\ude00 \u00e9", r"\ud83d\ude00 \u00e9"),
            (r"\ud83d", r"\ufffd"),
            (r"\uDE00\uD83D x", r"\ufffd\ufffd x"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\\ud83d \n\ud83dx", r"\\ud83d \n\ufffdx"),
            (r"\ud8", r"\ud8"),
            ("\\", "\\"),
        ] {
            let mut found = line.as_bytes().to_vec();
            mend(&mut found);
            assert_eq!(String::from_utf8_lossy(&found), mended, "{line}");
        }
    }

    #[test]
    fn lines_come_through_whole() {
        let long = "x".repeat(3 * BUFFER_BYTES);
        let given = [b"a\n\xff\n".as_slice(), long.as_bytes(), b"\n\"\\udead\""].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let found = runtime.block_on(async {
            let mut found = String::new();
            let mut lines = mended(std::io::Cursor::new(given));
            lines.read_to_string(&mut found).await.map(|_| found)
        });
        assert_eq!(found.expect("text"), format!("a\n\u{fffd}\n{long}\n\"\\ufffd\""));
    }
}
