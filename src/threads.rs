//! Threads beside Emacs's own. It knows no work.

use std::io;
use std::thread::{self, JoinHandle};

/// Runs `work` in a thread that no signal reaches: those are Emacs's.
pub(crate) fn spawn_quiet<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // The mask is inherited, so there is no moment without it.
    #[cfg(unix)]
    let before = nix::sys::signal::SigSet::all()
        .thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)
        .map_err(io::Error::from)?;
    let thread = thread::Builder::new().name(name.into()).stack_size(512 * 1024).spawn(work);
    #[cfg(unix)]
    before.thread_set_mask().map_err(io::Error::from)?;
    thread
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn no_signal_reaches_a_thread_of_ours() {
        let blocked = spawn_quiet("test", || {
            let mask = nix::sys::signal::SigSet::thread_get_mask().expect("a mask");
            (mask.contains(nix::sys::signal::SIGCHLD), mask.contains(nix::sys::signal::SIGINT))
        });
        assert_eq!(blocked.expect("a thread").join().expect("no panic"), (true, true));
        let mine = nix::sys::signal::SigSet::thread_get_mask().expect("a mask");
        assert!(!mine.contains(nix::sys::signal::SIGINT));
    }
}
