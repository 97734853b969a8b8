//! The pipe through which threads of ours wake Emacs: one byte, and Lisp looks what is there. It knows
//! nobody's news.

use std::any::Any;
use std::io::{PipeWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use emacs::{Env, Result, Value, defun};

static CHANNEL: Mutex<Option<Arc<PipeWriter>>> = Mutex::new(None);

/// Have PROCESS, a pipe process, get a byte when there is any news.
///
/// News of then on goes to the PROCESS of the last call.
#[defun]
fn open_channel<'e>(env: &'e Env, process: Value<'e>) -> Result<()> {
    let channel = Arc::new(unshared(env.open_channel(process)?)?);
    *CHANNEL.lock().unwrap_or_else(PoisonError::into_inner) = Some(channel);
    Ok(())
}

/// What wakes Emacs, in any thread.
pub(super) fn waker() -> Box<dyn Fn() + Send + Sync> {
    Box::new(|| {
        // The lock is gone before anything is written.
        let channel = CHANNEL.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(channel) = channel {
            // Nobody reads any more: then nobody need be woken.
            let _ = (&*channel).write_all(b"\n");
        }
    })
}

/// The channel, no child process of ours or of Emacs inherits it.
fn unshared(channel: impl Write + 'static) -> Result<PipeWriter> {
    let channel: Box<dyn Any> = Box::new(channel);
    match channel.downcast::<PipeWriter>() {
        Ok(channel) => channel.try_clone().map_err(emacs::Error::new),
        Err(_) => Err(emacs::Error::msg("a channel is no pipe any more")),
    }
}
