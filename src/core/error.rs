//! The ways a request can be wrong. It knows nothing of how errors travel.

use thiserror::Error;

/// Why there is no plan for a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// A param that is not what the protocol says.
    #[error("{param}: got {got}, expected {expected}")]
    InvalidParam { param: &'static str, got: String, expected: &'static str },
    /// A method that nobody here answers.
    #[error("method {0} is not answered here")]
    UnknownMethod(String),
}

impl Error {
    /// The JSON-RPC error code.
    pub fn code(&self) -> i32 {
        match self {
            Self::InvalidParam { .. } => -32602,
            Self::UnknownMethod(_) => -32601,
        }
    }
}
