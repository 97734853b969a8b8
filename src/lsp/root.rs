//! Which folder a server is to be started in. It knows no server.

use std::path::{Path, PathBuf};

/// The nearest folder around `path` that holds one of `markers` (file names), never above the innermost
/// of `folders`, workspace folders, that `path` lies in; that one if no marker is found. Links are
/// followed; `None` if `path` lies in no folder.
pub fn root(path: &Path, folders: &[PathBuf], markers: &[String]) -> Option<PathBuf> {
    let path = true_name(path);
    let folder = folders
        .iter()
        .map(|folder| true_name(folder))
        .filter(|folder| path.starts_with(folder))
        .max_by_key(|folder| folder.components().count())?;
    let marked = path
        .ancestors()
        .skip(1)
        .take_while(|ancestor| ancestor.starts_with(&folder))
        .find(|ancestor| markers.iter().any(|marker| ancestor.join(marker).exists()))
        .map(Path::to_path_buf);
    Some(marked.unwrap_or(folder))
}

/// `path` without links; its last part may not be there yet.
fn true_name(path: &Path) -> PathBuf {
    let new = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(new).unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn nearest_marker_within_the_folder() {
        let top = tempfile::tempdir().expect("a folder");
        let top = top.path().canonicalize().expect("it is there");
        fs::create_dir_all(top.join("work/a/b")).expect("folders");
        for marker in ["setup.py", "work/a/setup.py"] {
            fs::write(top.join(marker), "").expect("a file");
        }
        let markers = ["pyproject.toml".to_string(), "setup.py".to_string()];
        std::os::unix::fs::symlink(top.join("work/a"), top.join("link")).expect("a link");
        for (path, folders, found) in [
            ("work/a/b/x.py", &["work"][..], Some("work/a")),
            ("work/a/x.py", &["work/a"], Some("work/a")),
            ("work/x.py", &["work"], Some("work")),
            ("work/a/b/x.py", &["work/a/b"], Some("work/a/b")),
            ("work/a/b/x.py", &["work", "work/a/b/", "work/a", "absent"], Some("work/a/b")),
            ("link/b/x.py", &["work"], Some("work/a")),
            ("work/a/b/x.py", &["link/b"], Some("work/a/b")),
            ("workshop/x.py", &["work"], None),
            ("x.py", &["work"], None),
            ("x.py", &[], None),
        ] {
            let folders: Vec<PathBuf> = folders.iter().map(|folder| top.join(folder)).collect();
            let got = root(&top.join(path), &folders, &markers);
            assert_eq!(got, found.map(|found| top.join(found)), "{path} in {folders:?}");
        }
    }
}
