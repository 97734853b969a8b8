//! Editor context for AI agents: the brain, the wire and the Emacs face of eca-context.
//!
//! Floors, each of which names only those below it: `core` (values in, values out), `wire` (JSON
//! text), `files` (lines of files), `lsp` (language servers), `socket` (questions of other programs), and
//! the faces: `module` (Lisp values in, finished frames out), `cli` (the program `eca-context`) and `mcp`
//! (its tools for agents).

#[cfg(feature = "cli")]
pub mod cli;
pub mod core;
pub mod files;
pub mod lsp;
#[cfg(all(unix, feature = "mcp"))]
pub mod mcp;
#[cfg(feature = "module")]
pub mod module;
#[cfg(unix)]
pub mod socket;
mod threads;
pub mod wire;
