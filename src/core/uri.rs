//! Paths and `file:` URIs, in both directions. It knows no file system.

use percent_encoding::percent_decode_str;
use url::Url;

/// The local path of a `file:` URI, percent-decoded, drive letters in lower case.
pub fn to_path(uri: &str) -> Option<String> {
    let rest = uri.get(..5).filter(|s| s.eq_ignore_ascii_case("file:")).map(|_| &uri[5..])?;
    let path = match rest.strip_prefix("//") {
        Some(after) => &after[after.find('/')?..],
        None => rest,
    };
    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
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
    let mut url = Url::parse("file:///").expect("a constant that parses");
    let rooted = if path.starts_with('/') { path.into() } else { format!("/{path}") };
    url.set_path(&rooted.replace('%', "%25").replace('\\', "%5C"));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c26_decoded_and_compared_as_files() {
        let path = "/repo/my dir/caf é#1 100%25.py";
        let uri = "file:///repo/my%20dir/caf%20%C3%A9%231%20100%2525.py";
        assert_eq!(to_path(uri).as_deref(), Some(path));
        assert_eq!(from_path(path), uri);
        for uri in ["file:///c%3A/x", "file:///C:/x", "file:///c:/x"] {
            assert_eq!(to_path(uri).as_deref(), Some("c:/x"));
        }
    }

    #[test]
    fn other_schemes_pass_through() {
        assert_eq!(to_path("jar:file:///a.jar!/b"), None);
        assert_eq!(from_path("jar:file:///a.jar!/b"), "jar:file:///a.jar!/b");
    }
}
