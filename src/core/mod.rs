//! Values in, values out. This floor knows no JSON text, no I/O, no clock, no thread, no Emacs and no
//! `unsafe`.

pub mod assemble;
pub mod context;
pub mod diagnostics;
pub(crate) mod documentation;
pub(crate) mod enclosing;
pub(crate) mod encoding;
pub mod error;
pub mod facts;
pub mod lines;
pub mod locations;
pub(crate) mod outcomes;
pub(crate) mod outline;
pub mod params;
pub mod plan;
pub mod position;
pub(crate) mod problems;
pub mod raw;
pub(crate) mod reading;
pub mod symbols;
pub mod uri;
pub(crate) mod workspace;
