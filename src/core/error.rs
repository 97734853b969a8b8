//! The ways a request can be wrong. It knows nothing of how errors travel.

use serde_json::Value;
use thiserror::Error;

const MAX_GOT_CHARS: usize = 80;

/// Why there is no plan for a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// A param that is not what the protocol says.
    #[error("{param}: got {got}, expected {expected}")]
    InvalidParam { param: String, got: String, expected: String },
    /// A method that nobody here answers.
    #[error("method {0} is not answered here")]
    UnknownMethod(String),
}

impl Error {
    /// A param that is there and wrong; what was got is cut to 80 characters.
    pub(crate) fn invalid(param: impl Into<String>, got: &Value, expected: &str) -> Self {
        let mut got = got.to_string();
        if got.chars().count() > MAX_GOT_CHARS {
            got = got.chars().take(MAX_GOT_CHARS - 1).chain(['…']).collect();
        }
        Self::InvalidParam { param: param.into(), got, expected: expected.into() }
    }

    /// A param that is missing.
    pub(crate) fn absent(param: impl Into<String>, expected: &str) -> Self {
        let got = "nothing".into();
        Self::InvalidParam { param: param.into(), got, expected: expected.into() }
    }

    /// The JSON-RPC error code.
    pub fn code(&self) -> i32 {
        match self {
            Self::InvalidParam { .. } => -32602,
            Self::UnknownMethod(_) => -32601,
        }
    }
}
