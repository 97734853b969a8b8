//! The door for programs of the same user on the same machine: requests in, frames out. It knows no
//! method and no editor.
//!
//! `Listener` belongs to one thread; one more accepts, and each client has one that reads and one that
//! writes. They block all signals and hold no lock while they write. Nobody but the user gets in: the
//! folder is closed to others, the socket too, and whoever comes is asked for his user id.

mod clients;
mod listener;
pub mod place;

use serde_json::Value;

pub use listener::Listener;

/// A body larger than this is no question.
const MAX_BODY_BYTES: u64 = 8 * 1024 * 1024;

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who asks, a number that is never given again.
    pub client: u64,
    /// A string or an integer.
    pub id: Value,
    pub method: String,
    /// `Null` if there are none.
    pub params: Value,
}
