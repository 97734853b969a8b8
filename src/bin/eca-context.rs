//! The program `eca-context`; `eca_context::cli` and, for `mcp`, `eca_context::mcp` are all of it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    #[cfg(all(unix, feature = "mcp"))]
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "mcp") {
        let rest: Vec<String> = rest.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        return ExitCode::from(eca_context::mcp::run(&rest, &mut out, &mut err));
    }
    ExitCode::from(eca_context::cli::run(arguments, &mut out, &mut err) as u8)
}
