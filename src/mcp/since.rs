//! What has changed in diagnostics since an earlier answer. It asks nobody.

use std::collections::{HashMap, VecDeque};

use super::model::Problem;

/// So many answers are remembered.
const MAX_ANSWERS: usize = 64;

/// Answers that were given, by token.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    answers: VecDeque<Known>,
    n_given: u64,
}

#[derive(Debug)]
struct Known {
    token: String,
    /// What was asked about.
    scope: String,
    problems: Vec<Problem>,
}

/// Why there is nothing to compare with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Unknown,
    OtherScope(String),
}

impl Memory {
    /// Remembers `problems`, all there are in `scope`; returns the token.
    pub(crate) fn remember(&mut self, scope: &str, problems: Vec<Problem>) -> String {
        self.n_given += 1;
        let token = format!("d{}", self.n_given);
        self.answers.push_back(Known { token: token.clone(), scope: scope.into(), problems });
        if self.answers.len() > MAX_ANSWERS {
            self.answers.pop_front();
        }
        token
    }

    /// What is in `now` and was not in the answer with `token`, and the other way round.
    pub(crate) fn compare(
        &self,
        token: &str,
        scope: &str,
        now: &[Problem],
    ) -> Result<(Vec<Problem>, Vec<Problem>), Lost> {
        let known = self.answers.iter().find(|known| known.token == token).ok_or(Lost::Unknown)?;
        if known.scope != scope {
            return Err(Lost::OtherScope(known.scope.clone()));
        }
        Ok((only(now, &known.problems), only(&known.problems, now)))
    }
}

type Identity<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Not the place: that moves with every edit.
fn identity(problem: &Problem) -> Identity<'_> {
    (&problem.path, &problem.severity, &problem.source, &problem.message)
}

/// Those of `some` that are not among `others`, each of which stands for one.
fn only(some: &[Problem], others: &[Problem]) -> Vec<Problem> {
    let mut left: HashMap<Identity<'_>, usize> = HashMap::new();
    for other in others {
        *left.entry(identity(other)).or_default() += 1;
    }
    let mut rest = Vec::new();
    for problem in some {
        match left.get_mut(&identity(problem)) {
            Some(n) if *n > 0 => *n -= 1,
            _ => rest.push(problem.clone()),
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: u64, message: &str) -> Problem {
        Problem { path: "a".into(), line, message: message.into(), ..Problem::default() }
    }

    #[test]
    fn a_place_is_no_identity_and_each_counts_once() {
        let mut memory = Memory::default();
        let token = memory.remember("a", vec![problem(1, "x"), problem(2, "y"), problem(3, "y")]);
        let now = [problem(5, "x"), problem(6, "y"), problem(7, "z")];
        let (new, fixed) = memory.compare(&token, "a", &now).expect("known");
        assert_eq!(new, [problem(7, "z")]);
        assert_eq!(fixed, [problem(3, "y")]);
        let warning = Problem { severity: "warning".into(), ..problem(1, "x") };
        let (new, _) = memory.compare(&token, "a", std::slice::from_ref(&warning)).expect("known");
        assert_eq!(new, [warning]);
    }

    #[test]
    fn what_cannot_be_compared() {
        let mut memory = Memory::default();
        let token = memory.remember("a", Vec::new());
        assert_eq!(memory.compare("d9", "a", &[]), Err(Lost::Unknown));
        assert_eq!(memory.compare(&token, "b", &[]), Err(Lost::OtherScope("a".into())));
        for _ in 0..MAX_ANSWERS {
            memory.remember("a", Vec::new());
        }
        assert_eq!(memory.compare(&token, "a", &[]), Err(Lost::Unknown));
    }
}
