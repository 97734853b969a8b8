//! The command line. It knows no server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};
use lsp_types::PositionEncodingKind;

use crate::core::plan::DIAGNOSTICS;

pub(super) const USAGE: &str = "\
usage: eca-context lsp definition|references|hover FILE LINE COLUMN [OPTION…]
       eca-context lsp diagnostics|symbols FILE [OPTION…]
       eca-context mcp [OPTION…]
       eca-context --help";

pub(super) const HELP: &str = "\
eca-context asks a language server about code: the one for the file's language, started for this one
question and gone with it.

usage: eca-context lsp definition|references|hover FILE LINE COLUMN [OPTION…]
       eca-context lsp diagnostics|symbols FILE [OPTION…]
       eca-context mcp [OPTION…]   (tools for agents; see eca-context mcp --help)

LINE and COLUMN count from 1, here and in what is printed; columns are UTF-16 units.

  --utf-8-columns    columns are bytes
  --root FOLDER      the project's root is in FOLDER or below it
                     (default: the present folder, or that of FILE)
  --timeout SECONDS  give up then (default 60)
  --json             answer in the shapes of docs/protocol.md, which count from 0 in UTF-16 units
  --version          say which version this is

exit status: 0 something was found, 1 nothing was, 2 the command line is wrong, 3 nobody could look";

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// A day.
const MAX_SECONDS: f64 = 86_400.0;

/// What the program is to do.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Help,
    Version,
    Lsp(Arguments),
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Definition,
    References,
    Hover,
    Symbols,
    Diagnostics,
}

impl Question {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "definition" => Self::Definition,
            "references" => Self::References,
            "hover" => Self::Hover,
            "symbols" => Self::Symbols,
            "diagnostics" => Self::Diagnostics,
            _ => return None,
        })
    }

    fn needs_position(self) -> bool {
        matches!(self, Self::Definition | Self::References | Self::Hover)
    }

    /// The protocol's name of what is asked: the key in facts and answers.
    pub(super) fn feature(self) -> &'static str {
        match self {
            Self::Definition => "definitions",
            Self::References => "references",
            Self::Hover => "documentation",
            Self::Symbols => "documentSymbols",
            Self::Diagnostics => DIAGNOSTICS,
        }
    }
}

/// A question that can be asked.
#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    pub(super) question: Question,
    pub(super) file: PathBuf,
    /// Line and column, both from 1.
    pub(super) place: Option<(u32, u32)>,
    /// The units of columns.
    pub(super) encoding: PositionEncodingKind,
    pub(super) root: Option<PathBuf>,
    pub(super) timeout: Duration,
    pub(super) json: bool,
}

/// Reads a command line.
///
/// *Errors*: what is wrong, in words.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut parser = Parser::from_args(arguments);
    let mut words = Vec::new();
    let mut encoding = PositionEncodingKind::UTF16;
    let mut root = None;
    let mut timeout = DEFAULT_TIMEOUT;
    let mut json = false;
    while let Some(argument) = parser.next().map_err(said)? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Command::Version),
            Arg::Long("json") => json = true,
            Arg::Long("utf-8-columns") => encoding = PositionEncodingKind::UTF8,
            Arg::Long("root") => root = Some(parser.value().map_err(said)?.into()),
            Arg::Long("timeout") => timeout = seconds(parser.value().map_err(said)?)?,
            Arg::Value(word) => words.push(word),
            other => return Err(said(other.unexpected())),
        }
    }
    let mut words = words.into_iter();
    let mut word = |what: &str| words.next().ok_or(format!("{what} is missing"));
    match word("what is to be asked")?.to_str() {
        Some("lsp") => (),
        other => return Err(format!("there is no command {}", other.unwrap_or("of that name"))),
    }
    let name = word("what is to be asked")?;
    let name = name.to_string_lossy();
    let question = Question::named(&name).ok_or(format!("{name} cannot be asked"))?;
    let file = word("FILE")?.into();
    let rest: Vec<OsString> = words.collect();
    let place = match rest.as_slice() {
        [line, column] => Some((number(line)?, number(column)?)),
        [] if !question.needs_position() => None,
        [] => return Err(format!("{name} needs LINE and COLUMN")),
        [_] => return Err("LINE and COLUMN go together".into()),
        [_, _, more, ..] => return Err(format!("{} is too much", more.to_string_lossy())),
    };
    Ok(Command::Lsp(Arguments { question, file, place, encoding, root, timeout, json }))
}

fn said(error: lexopt::Error) -> String {
    error.to_string()
}

fn seconds(text: OsString) -> Result<Duration, String> {
    let wrong = format!("--timeout {}: no number of seconds", text.to_string_lossy());
    let seconds = text.parse::<f64>().map_err(|_| wrong.clone())?;
    let is_right = seconds > 0.0 && seconds <= MAX_SECONDS;
    is_right.then(|| Duration::from_secs_f64(seconds)).ok_or(wrong)
}

fn number(text: &OsString) -> Result<u32, String> {
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|n: &u32| *n > 0);
    number.ok_or(format!("{}: lines and columns are integers from 1", text.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn lines_that_are_right() {
        for (line, question, file, place) in [
            ("lsp definition a.py 3 4", Question::Definition, "a.py", Some((3, 4))),
            ("lsp references a.py 3 4", Question::References, "a.py", Some((3, 4))),
            ("lsp hover a.py 3 4", Question::Hover, "a.py", Some((3, 4))),
            ("lsp symbols -- --odd", Question::Symbols, "--odd", None),
            ("lsp diagnostics a.py 3 4", Question::Diagnostics, "a.py", Some((3, 4))),
        ] {
            let Ok(Command::Lsp(found)) = check(line) else { panic!("{line}") };
            assert_eq!((found.question, found.place), (question, place), "{line}");
            assert_eq!(found.file.to_str(), Some(file));
        }
        let line = "lsp --json hover --root=/r a.py --timeout 0.5 3 4 --utf-8-columns";
        let Ok(Command::Lsp(found)) = check(line) else { panic!("{line}") };
        assert_eq!((found.json, found.timeout), (true, Duration::from_millis(500)));
        assert_eq!(found.encoding, PositionEncodingKind::UTF8);
        assert_eq!(found.root, Some("/r".into()));
        assert_eq!(check("lsp -h"), Ok(Command::Help));
        assert_eq!(check("--version"), Ok(Command::Version));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, reason) in [
            ("", "what is to be asked is missing"),
            ("lsp", "what is to be asked is missing"),
            ("lps", "there is no command lps"),
            ("lsp rename a.py", "rename cannot be asked"),
            ("lsp hover", "FILE is missing"),
            ("lsp hover a.py", "hover needs LINE and COLUMN"),
            ("lsp hover a.py 1", "LINE and COLUMN go together"),
            ("lsp hover a.py 1 2 3", "3 is too much"),
            ("lsp hover a.py 0 1", "0: lines and columns are integers from 1"),
            ("lsp hover a.py 1 x", "x: lines and columns are integers from 1"),
            ("lsp symbols a.py --timeout", "missing argument for option '--timeout'"),
            ("lsp symbols a.py --timeout=0", "--timeout 0: no number of seconds"),
            ("lsp symbols a.py --timeout nan", "--timeout nan: no number of seconds"),
            ("lsp symbols a.py --fast", "invalid option '--fast'"),
            ("lsp symbols a.py --json=1", "unexpected argument for option '--json': \"1\""),
        ] {
            assert_eq!(check(line), Err(reason.into()), "{line}");
        }
    }
}
