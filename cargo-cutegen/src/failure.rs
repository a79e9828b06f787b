//! [`Failure`]: why a verb ends without success, and with which exit code; [`Failures`] of one that goes on with its
//! other kernels.

use std::fmt;

use cutegen_build::render::command::placed;
use cutegen_build::search::SearchError;

/// Why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Specs, lock, store or evidence disagree, or a kernel failed; the text says which.
    Disagreement(String),
    /// The arguments name something that is not there.
    Usage(String),
    /// The machine lacks something.
    Machine(String),
    /// All went well, and these runs await answers.
    Awaited(Vec<String>),
}

/// What failed of a verb's kernels, in order.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Disagreement(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Machine(_) => 3,
            Failure::Awaited(_) => 4,
        }
    }

    /// The same with `place` on the commands that it names.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Failure::Disagreement(text) => Failure::Disagreement(placed(&text, place)),
            Failure::Usage(text) => Failure::Usage(placed(&text, place)),
            Failure::Machine(text) => Failure::Machine(placed(&text, place)),
            Failure::Awaited(runs) => Failure::Awaited(runs),
        }
    }

    /// From an error of the pipeline about the project itself.
    pub(crate) fn project(error: impl fmt::Display) -> Self {
        Failure::Disagreement(error.to_string())
    }

    /// From an error of the machine.
    pub(crate) fn machine(error: impl fmt::Display) -> Self {
        Failure::Machine(error.to_string())
    }

    /// From a search for the kernel of this title: what it says of the kernel is no matter of the machine.
    pub(crate) fn search(title: &str, error: &SearchError) -> Self {
        if error.is_verdict() { Self::project(error) } else { Self::machine_at(title, error) }
    }

    /// From an error of the machine while it was at the kernel of this title.
    pub(crate) fn machine_at(title: &str, error: impl fmt::Display) -> Self {
        Failure::Machine(format!("{title}: {error}"))
    }
}

impl Failures {
    /// Keeps one.
    pub(crate) fn add(&mut self, failure: Failure) {
        self.0.push(failure);
    }

    /// How many failed.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing failed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them below `head`, as the worst: what is wrong is worse than what was asked wrongly, and the machine is to
    /// blame only where it is for everything.
    pub(crate) fn end(self, head: &str) -> Result<(), Failure> {
        let Some(code) = self.0.iter().map(Failure::code).min() else { return Ok(()) };
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        let text = format!("{head}{}", texts.join("\n"));
        Err(match code {
            1 => Failure::Disagreement(text),
            2 => Failure::Usage(text),
            _ => Failure::Machine(text),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Disagreement(text) | Failure::Usage(text) | Failure::Machine(text) => f.write_str(text),
            Failure::Awaited(runs) => {
                write!(f, "answers are awaited: {}\nonce they are there: cargo cutegen step", runs.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Failures};

    #[test]
    fn the_worst_says_the_exit_code_and_all_are_told() {
        let wrong = || Failure::Disagreement("y[0] is 1, not 2".to_owned());
        let usage = || Failure::Usage("no such axis".to_owned());
        let here = || Failure::machine_at("norm on sm_90a", "no driver");
        let ended = |all: Vec<Failure>| Failures(all).end("not done:\n").map_err(|failure| failure.code());
        assert_eq!(ended(Vec::new()), Ok(()));
        assert_eq!(ended(vec![here(), here()]), Err(3));
        assert_eq!(ended(vec![here(), usage()]), Err(2));
        assert_eq!(ended(vec![here(), wrong(), usage()]), Err(1));
        let told = Failures(vec![here(), wrong()]).end("not done:\n").map_err(|failure| failure.to_string());
        assert_eq!(told, Err("not done:\nnorm on sm_90a: no driver\ny[0] is 1, not 2".to_owned()));
    }
}
