//! The command line of `eca-context mcp`. It runs nothing.

use std::path::PathBuf;
use std::time::Duration;

pub(crate) const USAGE: &str =
    "usage: eca-context mcp [--emacs NAME] [--root DIR] [--timeout SECONDS]";

pub(crate) const HELP: &str = "\
usage: eca-context mcp [--emacs NAME] [--root DIR] [--timeout SECONDS]

An MCP server on standard input and output. It asks the running Emacs in which
`eca-context-serve-mode' is on.

  --emacs NAME       the Emacs of that name or process id; else the one whose
                     workspace holds the working directory
  --root DIR         the directory to work in, in place of the present one
  --timeout SECONDS  within how long a tool answers, 10 unless given
";

/// What the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) emacs: Option<String>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) timeout: Duration,
}

/// The options, `None` where help is wanted, or what is wrong.
pub(crate) fn parse(arguments: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options { emacs: None, root: None, timeout: Duration::from_secs(10) };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--emacs" => options.emacs = Some(value()?.clone()),
            "--root" => options.root = Some(PathBuf::from(value()?)),
            "--timeout" => {
                let value = value()?;
                let seconds = value.parse().ok().filter(|s: &f64| (0.1..=600.0).contains(s));
                let seconds = seconds.ok_or_else(|| format!("--timeout {value}: 0.1 to 600"))?;
                options.timeout = Duration::from_secs_f64(seconds);
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Option<Options>, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let found = check("--emacs work --timeout 0.5 --root /r").expect("right").expect("options");
        assert_eq!((found.emacs.as_deref(), found.timeout.as_millis()), (Some("work"), 500));
        assert_eq!(check("--help"), Ok(None));
        for (line, reason) in [
            ("--emacs", "--emacs needs a value"),
            ("--timeout x", "--timeout x: 0.1 to 600"),
            ("--timeout 0", "--timeout 0: 0.1 to 600"),
            ("file.py", "unknown argument file.py"),
        ] {
            assert_eq!(check(line), Err(reason.into()));
        }
    }
}
