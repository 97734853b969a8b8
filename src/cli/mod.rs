//! The program `eca-context`: what an editor is asked, asked from a shell. It decides how a question is
//! written and how an answer is shown, and knows no server and no editor.

mod arguments;
mod lsp;
pub(crate) mod server;
pub(crate) mod table;
mod text;

use std::ffi::OsString;
use std::io::Write;

use arguments::Command;

/// How a run ends: what a shell sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Something was found.
    Found = 0,
    /// It was looked, and there is nothing.
    Nothing = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Nobody could look; why is said.
    Unavailable = 3,
}

/// Runs the program with `arguments`, its own name left out.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Exit {
    match arguments::parse(arguments) {
        Ok(Command::Help) => {
            say(out, arguments::HELP);
            Exit::Found
        }
        Ok(Command::Version) => {
            say(out, concat!("eca-context ", env!("CARGO_PKG_VERSION")));
            Exit::Found
        }
        Ok(Command::Lsp(arguments)) => lsp::run(&arguments, out, err),
        Err(reason) => {
            say(err, &format!("eca-context: {reason}\n{}", arguments::USAGE));
            Exit::Usage
        }
    }
}

/// A line, or several. A reader that has seen enough is no fault.
fn say(out: &mut impl Write, text: &str) {
    let _ = writeln!(out, "{}", text.trim_end());
}
