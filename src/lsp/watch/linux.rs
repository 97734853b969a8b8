//! What Linux tells of what is written, by inotify(7). It knows no stamp and no name.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::statfs::{
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, FsType, OVERLAYFS_SUPER_MAGIC,
    TMPFS_MAGIC, statfs,
};

/// A user has so many watches for all programs (`fs.inotify.max_user_watches', 8,192 and more).
const MAX_FOLDERS: usize = 2_000;

/// Not in `nix` for every libc.
const XFS_SUPER_MAGIC: FsType = FsType(0x5846_5342);

/// File systems that only this system writes to: of what another one does nothing is told.
const LOCAL: [FsType; 6] = [
    BTRFS_SUPER_MAGIC,
    EXT4_SUPER_MAGIC,
    F2FS_SUPER_MAGIC,
    OVERLAYFS_SUPER_MAGIC,
    TMPFS_MAGIC,
    XFS_SUPER_MAGIC,
];

/// Folders that are watched, as long as all can be.
#[derive(Debug)]
pub(super) struct Watch {
    /// Gone if what happens there is not all told.
    inotify: Option<Inotify>,
    n_folders: usize,
    is_still: bool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { inotify: init(), n_folders: 0, is_still: true }
    }

    /// What happened until now is known; all folders are to be added again.
    pub(super) fn restart(&mut self) {
        self.n_folders = 0;
        self.is_still = true;
        self.drain();
        self.is_still = true;
    }

    /// Watches what is written straight into `folder`, if that is there.
    pub(super) fn add(&mut self, folder: &Path) {
        let Some(inotify) = &self.inotify else { return };
        let flags = AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_MOVE_SELF;
        self.n_folders += 1;
        let is_told = match inotify.add_watch(folder, flags) {
            Ok(_) => statfs(folder).is_ok_and(|about| LOCAL.contains(&about.filesystem_type())),
            // That it comes, or may be read, is told of the folder around it.
            Err(error) => matches!(error, Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES),
        };
        if !is_told || self.n_folders > MAX_FOLDERS {
            self.inotify = None;
        }
    }

    /// Notes a file of a folder that is watched: by another name it may be written to unseen.
    pub(super) fn note(&mut self, about: &Metadata) {
        if about.nlink() > 1 {
            self.inotify = None;
        }
    }

    /// Whether it is known that nothing happened in the folders.
    pub(super) fn is_still(&mut self) -> bool {
        self.drain();
        self.is_still && self.inotify.is_some()
    }

    fn drain(&mut self) {
        while let Some(inotify) = &self.inotify {
            match inotify.read_events() {
                Ok(events) => {
                    self.is_still = false;
                    let moved = AddWatchFlags::IN_MOVED_FROM | AddWatchFlags::IN_ISDIR;
                    if events.iter().any(|event| event.mask.contains(moved)) {
                        // What was below it is watched wherever that is now.
                        self.inotify = init();
                    }
                }
                Err(Errno::EAGAIN) => return,
                Err(_) => self.inotify = None,
            }
        }
    }
}

fn init() -> Option<Inotify> {
    Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()
}
