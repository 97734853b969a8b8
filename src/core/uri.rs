//! Paths and `file:` URIs, in both directions. It knows no file system.
//!
//! A path is a `String` here, though its bytes need not be UTF-8: each byte that is not is a character of
//! its own, of a plane that is in private use. So every file has a name, and its own one.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// What RFC 3986 does not let stand in a path, and `%` itself.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The character that stands for the byte 0; no byte below 0x80 needs one.
const BYTES: u32 = 0x10_ff00;

/// The path whose name on disk is `bytes`.
pub fn path_of_bytes(bytes: &[u8]) -> String {
    let mut path = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        path.push_str(chunk.valid());
        path.extend(chunk.invalid().iter().filter_map(|b| char::from_u32(BYTES + u32::from(*b))));
    }
    path
}

/// What `path` is called on disk.
pub fn bytes_of_path(path: &str) -> Cow<'_, [u8]> {
    if !path.chars().any(|c| byte(c).is_some()) {
        return path.as_bytes().into();
    }
    let mut bytes = Vec::with_capacity(path.len());
    for c in path.chars() {
        match byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes.into()
}

fn byte(c: char) -> Option<u8> {
    u32::from(c).checked_sub(BYTES + 0x80).and_then(|n| u8::try_from(n + 0x80).ok())
}

/// The local path of a `file:` URI, percent-decoded, drive letters in lower case.
pub fn to_path(uri: &str) -> Option<String> {
    let rest = uri.get(..5).filter(|s| s.eq_ignore_ascii_case("file:")).map(|_| &uri[5..])?;
    let path = match rest.strip_prefix("//") {
        Some(after) => &after[after.find('/')?..],
        None => rest,
    };
    let path = path_of_bytes(&Cow::from(percent_decode_str(path)));
    let bytes = path.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'/' && bytes[1].is_ascii_alphabetic() && bytes[2] == b':' {
        return Some(format!("{}{}", path[1..2].to_ascii_lowercase(), &path[2..]));
    }
    Some(path)
}

/// Whether `text` is a URI rather than a path: a scheme of two characters or more.
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// The `file:` URI of an absolute path, percent-encoded; a URI passes through as it is.
pub fn from_path(path: &str) -> String {
    if is_uri(path) {
        return path.into();
    }
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("file://{root}{}", percent_encode(&bytes_of_path(path), ENCODED))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The reader of URIs in Lisp has the same table.
    #[test]
    fn c26_every_path_there_and_back() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../tests/fixtures/paths.json")).expect("JSON");
        for case in cases {
            let bytes: Vec<u8> = match case["path"].as_str() {
                Some(path) => path.into(),
                None => serde_json::from_value(case["bytes"].clone()).expect("bytes"),
            };
            let path = path_of_bytes(&bytes);
            let uri = case["uri"].as_str().expect("a URI");
            assert_eq!((from_path(&path).as_str(), to_path(uri)), (uri, Some(path.clone())));
            assert_eq!(*bytes_of_path(&path), bytes);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_there_and_back(name in prop::collection::vec(any::<u8>(), 0..20)) {
            let bytes = [b"/d/", name.as_slice()].concat();
            let path = path_of_bytes(&bytes);
            prop_assert_eq!(bytes_of_path(&path).into_owned(), bytes);
            let uri = from_path(&path);
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(to_path(&uri), Some(path.clone()));
        }
    }

    #[test]
    fn drives_are_one_in_any_spelling() {
        for uri in ["file:///c%3A/x", "file:///C:/x", "file:///c:/x"] {
            assert_eq!(to_path(uri).as_deref(), Some("c:/x"));
        }
        assert_eq!(from_path("c:/x y"), "file:///c:/x%20y");
    }

    #[test]
    fn other_schemes_pass_through() {
        assert_eq!(to_path("jar:file:///a.jar!/b"), None);
        assert_eq!(from_path("jar:file:///a.jar!/b"), "jar:file:///a.jar!/b");
    }
}
