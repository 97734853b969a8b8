//! Tools for agents that speak MCP: `eca-context mcp` answers on its standard input and output what a
//! running Emacs answers through its socket, or language servers where there is none. It knows no
//! provider and decides nothing about what is found.
//!
//! `tools` says what can be asked, `input` with what; `ask` has it answered, by `editor` or by `headless`; `read`, `since`,
//! `budget` and `text` make of an answer what a model reads.

mod arguments;
mod ask;
mod budget;
mod editor;
mod headless;
mod input;
mod lines;
mod model;
mod read;
mod server;
mod since;
mod text;
mod tools;

use std::io::Write;

/// Runs `eca-context mcp` with `arguments` (without its own name); returns how it ends, 0 or 2.
pub fn run(arguments: &[String], out: &mut impl Write, err: &mut impl Write) -> u8 {
    match arguments::parse(arguments) {
        Ok(Some(options)) => match server::serve(options) {
            Ok(()) => 0,
            Err(reason) => {
                let _ = writeln!(err, "eca-context mcp: {reason}");
                1
            }
        },
        Ok(None) => {
            let _ = out.write_all(arguments::HELP.as_bytes());
            0
        }
        Err(reason) => {
            let _ = writeln!(err, "eca-context mcp: {reason}\n{}", arguments::USAGE);
            2
        }
    }
}
