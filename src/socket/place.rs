//! Where sockets lie: a folder that only its owner may enter, a file an Emacs. It listens nowhere.

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

/// The name of the folder in the user's runtime directory.
const FOLDER: &str = "eca-context";
/// So much of an Emacs's name is in a file's.
const MAX_NAME_CHARS: usize = 32;

/// A socket and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    pub path: PathBuf,
    /// As the Emacs is called; several may be called the same.
    pub name: String,
    pub pid: u32,
}

/// The folders that sockets of this user may lie in, whether they are there or not.
///
/// `runtime` is the environment variable XDG_RUNTIME_DIR. The first one is where a new one is put.
pub fn folders(runtime: Option<&Path>) -> Vec<PathBuf> {
    let uid = Uid::effective();
    let usual = PathBuf::from(format!("/run/user/{uid}"));
    let own = |dir: &&Path| {
        dir.is_absolute() && fs::metadata(dir).is_ok_and(|about| about.uid() == uid.as_raw())
    };
    let runtime = runtime.filter(own).or_else(|| Some(usual.as_path()).filter(own));
    let shared = std::env::temp_dir().join(format!("{FOLDER}-{uid}"));
    runtime.map(|dir| dir.join(FOLDER)).into_iter().chain([shared]).collect()
}

/// The folder for a new socket, made if it is not there.
///
/// *Errors*: what making gives; `PermissionDenied` if others could enter or replace it.
pub(crate) fn make_folder(runtime: Option<&Path>) -> io::Result<PathBuf> {
    let folder = folders(runtime).swap_remove(0);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Error::new(error.kind(), format!("{}: {error}", folder.display())))
        }
        _ => check(&folder).map(|()| folder),
    }
}

/// Whether nobody but this user can put a socket into `folder`, or replace it.
///
/// *Errors*: `PermissionDenied`, saying what is wrong with it.
pub fn check(folder: &Path) -> io::Result<()> {
    let uid = Uid::effective().as_raw();
    let about = fs::symlink_metadata(folder)?;
    let parent = folder.parent().map_or_else(|| folder.metadata(), Path::metadata)?;
    let fault =
        folder_fault(&Seen::of(&about), uid).or_else(|| parent_fault(&Seen::of(&parent), uid));
    match fault {
        Some(fault) => {
            let text = format!("{} {fault}, so it is not used", folder.display());
            Err(Error::new(ErrorKind::PermissionDenied, text))
        }
        None => Ok(()),
    }
}

/// What is looked at in a folder.
struct Seen {
    is_folder: bool,
    uid: u32,
    mode: u32,
}

impl Seen {
    fn of(about: &Metadata) -> Self {
        Self { is_folder: about.is_dir(), uid: about.uid(), mode: about.mode() }
    }
}

fn folder_fault(folder: &Seen, uid: u32) -> Option<&'static str> {
    if !folder.is_folder {
        Some("is no folder")
    } else if folder.uid != uid {
        Some("belongs to another user")
    } else if folder.mode & 0o077 != 0 {
        Some("is open to other users")
    } else {
        None
    }
}

/// In a folder where others may write, only the sticky bit keeps them from what is ours.
fn parent_fault(parent: &Seen, uid: u32) -> Option<&'static str> {
    if parent.uid != uid && parent.uid != 0 {
        Some("lies in a folder of another user")
    } else if parent.mode & 0o022 != 0 && parent.mode & 0o1000 == 0 {
        Some("lies in a folder that others may write to")
    } else {
        None
    }
}

/// The sockets in `folder` that are this user's, by name and process id.
pub fn sockets(folder: &Path) -> Vec<Socket> {
    let uid = Uid::effective().as_raw();
    let mut found: Vec<Socket> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let about = fs::symlink_metadata(entry.path());
            about.is_ok_and(|about| about.file_type().is_socket() && about.uid() == uid)
        })
        .filter_map(|entry| parse(&entry.path()))
        .collect();
    found.sort_by(|a, b| (&a.name, a.pid).cmp(&(&b.name, b.pid)));
    found
}

/// The file name of a socket: `NAME.PID`. What is no letter, digit or `-` in a name is `_`.
pub(crate) fn file_name(name: &str, pid: u32) -> String {
    let name: String = name
        .chars()
        .take(MAX_NAME_CHARS)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    format!("{}.{pid}", if name.is_empty() { "emacs" } else { &name })
}

fn parse(path: &Path) -> Option<Socket> {
    let (name, pid) = path.file_name()?.to_str()?.rsplit_once('.')?;
    let pid = pid.parse().ok()?;
    (!name.is_empty()).then(|| Socket { path: path.into(), name: name.into(), pid })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn who_else_could_get_at_a_folder() {
        let seen = |is_folder, uid, mode| Seen { is_folder, uid, mode };
        for (folder, fault) in [
            (seen(true, 7, 0o40700), None),
            (seen(false, 7, 0o120700), Some("is no folder")),
            (seen(true, 8, 0o40700), Some("belongs to another user")),
            (seen(true, 0, 0o40700), Some("belongs to another user")),
            (seen(true, 7, 0o40710), Some("is open to other users")),
            (seen(true, 7, 0o40702), Some("is open to other users")),
        ] {
            assert_eq!(folder_fault(&folder, 7), fault, "{:o}", folder.mode);
        }
        for (parent, fault) in [
            (seen(true, 0, 0o41777), None),
            (seen(true, 7, 0o40700), None),
            (seen(true, 0, 0o40755), None),
            (seen(true, 8, 0o40700), Some("lies in a folder of another user")),
            (seen(true, 0, 0o40777), Some("lies in a folder that others may write to")),
        ] {
            assert_eq!(parent_fault(&parent, 7), fault, "{:o}", parent.mode);
        }
    }

    #[test]
    fn folders_are_made_closed_and_open_ones_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = make_folder(Some(dir.path())).expect("a new one");
        assert_eq!(folder, dir.path().join("eca-context"));
        let mode = || fs::metadata(&folder).expect("it is there").mode() & 0o777;
        assert_eq!(mode(), 0o700);
        assert_eq!(make_folder(Some(dir.path())).expect("the same"), folder);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
        let error = make_folder(Some(dir.path())).expect_err("others may look in");
        assert!(error.to_string().ends_with("is open to other users, so it is not used"));
        fs::remove_dir(&folder).expect("empty");
        let elsewhere = dir.path().join("elsewhere");
        DirBuilder::new().mode(0o700).create(&elsewhere).expect("a folder");
        symlink(&elsewhere, &folder).expect("a link");
        let error = make_folder(Some(dir.path())).expect_err("a link");
        assert!(error.to_string().ends_with("is no folder, so it is not used"));
    }

    #[test]
    fn a_runtime_directory_that_cannot_be_is_none() {
        for runtime in ["", "relative", "/no/such/dir"] {
            assert!(!folders(Some(Path::new(runtime)))[0].starts_with("relative"), "{runtime}");
            assert!(!folders(Some(Path::new(runtime)))[0].starts_with("/no"), "{runtime}");
        }
    }

    #[test]
    fn names_of_files() {
        for (name, file) in [
            ("server", "server.5"),
            ("my work/é", "my_work__.5"),
            ("", "emacs.5"),
            ("..", "__.5"),
            ("a.b-c", "a_b-c.5"),
        ] {
            assert_eq!(file_name(name, 5), file);
            assert!(parse(Path::new(file)).is_some(), "{file}");
        }
        for file in [".server.5", "server", "server.x", ".5", "5"] {
            let found = parse(Path::new(file)).filter(|socket| !socket.name.starts_with('.'));
            assert_eq!(found, None, "{file}");
        }
    }

    #[test]
    fn only_sockets_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("server.5");
        let _listener = UnixListener::bind(&path).expect("a socket");
        fs::write(dir.path().join("server.6"), "").expect("a file");
        symlink(&path, dir.path().join("server.7")).expect("a link");
        let found = sockets(dir.path());
        assert_eq!(found, [Socket { path, name: "server".into(), pid: 5 }]);
        assert_eq!(sockets(Path::new("/no/such")), []);
    }
}
