//! The program `eca-context`; `eca_context::cli` is all of it.

use std::env;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = eca_context::cli::run(env::args_os().skip(1), &mut io::stdout(), &mut io::stderr());
    ExitCode::from(exit as u8)
}
