//! Which folder a server is to be started in. It knows no server.

use std::path::{Path, PathBuf};

/// The nearest folder around `path` that holds one of `markers` (file names), never above `folder`,
/// the workspace folder; that one if no marker is found or `path` lies elsewhere. Links are followed.
pub fn root(path: &Path, folder: &Path, markers: &[String]) -> PathBuf {
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if !path.starts_with(&folder) {
        return folder;
    }
    path.ancestors()
        .skip(1)
        .take_while(|ancestor| ancestor.starts_with(&folder))
        .find(|ancestor| markers.iter().any(|marker| ancestor.join(marker).exists()))
        .map_or(folder.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nearest_marker_within_the_folder() {
        let top = tempfile::tempdir().expect("a folder");
        let top = top.path().canonicalize().expect("it is there");
        fs::create_dir_all(top.join("work/a/b")).expect("folders");
        for marker in ["setup.py", "work/a/setup.py"] {
            fs::write(top.join(marker), "").expect("a file");
        }
        let markers = ["pyproject.toml".to_string(), "setup.py".to_string()];
        for (path, folder, found) in [
            ("work/a/b/x.py", "work", "work/a"),
            ("work/a/x.py", "work/a", "work/a"),
            ("work/x.py", "work", "work"),
            ("work/a/b/x.py", "work/a/b", "work/a/b"),
            ("x.py", "work", "work"),
        ] {
            let got = root(&top.join(path), &top.join(folder), &markers);
            assert_eq!(got, top.join(found), "{path} in {folder}");
        }
    }
}
