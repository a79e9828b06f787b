//! What compute-sanitizer says of candidates, held against the naive kernel: where the tool comes out clean of that, it
//! works on this machine, and of a candidate it must come out clean too. A kernel can tell that it is slowed down; if it
//! then crashed or hung, and that counted as a tool that did not run, no tool would hold it.

use std::path::PathBuf;

use super::error::SearchError;
use super::judging::Judging;
use crate::env;
use crate::evaluate::Candidate;
use crate::evaluate::judge::sanitize::{NOT_RUN, Sanitized, Tool, locate};
use crate::plan::Plan;

/// What the record says of a candidate, or why it does not get by.
pub(super) type Cleared = Result<String, String>;

/// The naive kernel, and what was said of it once it was looked at.
pub(super) struct Naive {
    candidate: Candidate,
    seen: Option<Sanitized>,
}

/// compute-sanitizer, where this machine has it.
pub(super) fn program() -> Option<PathBuf> {
    let (path, home) = (env::variable_os("PATH"), env::variable_os("CUDA_HOME"));
    locate(path.as_deref(), home.as_deref())
}

/// The tool for this plan on this machine: what it says of each of these at small shapes.
pub(super) fn asked<'a>(
    plan: &'a Plan,
    judge: &'a mut Judging,
) -> impl FnMut(&[Candidate]) -> Result<Vec<Sanitized>, SearchError> + 'a {
    |candidates| {
        let not_run =
            |reason: &str| Ok(vec![Sanitized::NotRun { reason: reason.to_owned() }; candidates.len()]);
        if plan.target.is_host() {
            return not_run("host code");
        }
        match program() {
            Some(program) => judge.sanitize(candidates, &program, &Tool::ALL),
            None => not_run("no compute-sanitizer on this machine"),
        }
    }
}

impl Naive {
    pub(super) fn new(candidate: Candidate) -> Self {
        Self { candidate, seen: None }
    }

    /// What the tool says of each of these. The naive kernel is looked at beside the first.
    pub(super) fn beside(
        &mut self,
        candidates: &[Candidate],
        mut ask: impl FnMut(&[Candidate]) -> Result<Vec<Sanitized>, SearchError>,
    ) -> Result<Vec<Cleared>, SearchError> {
        let beside = self.seen.is_none().then_some(&self.candidate);
        let list: Vec<Candidate> = candidates.iter().chain(beside).cloned().collect();
        let mut said = ask(&list)?;
        let naive = match self.seen.take() {
            Some(seen) => seen,
            None => match said.pop() {
                // one that hangs on the same device may hold up the naive kernel as well
                Some(Sanitized::NotRun { .. }) if said.iter().any(is_open) => self.alone(&mut ask)?,
                Some(seen) => seen,
                None => self.alone(&mut ask)?,
            },
        };
        let cleared = said.into_iter().map(|said| cleared(&naive, said)).collect();
        self.seen = Some(naive);
        Ok(cleared)
    }

    /// What the tool says of the naive kernel.
    pub(super) fn itself(
        self,
        mut ask: impl FnMut(&[Candidate]) -> Result<Vec<Sanitized>, SearchError>,
    ) -> Result<Cleared, SearchError> {
        let seen = match self.seen {
            Some(seen) => seen,
            None => self.alone(&mut ask)?,
        };
        Ok(cleared(&seen, seen.clone()))
    }

    fn alone(
        &self,
        ask: &mut impl FnMut(&[Candidate]) -> Result<Vec<Sanitized>, SearchError>,
    ) -> Result<Sanitized, SearchError> {
        let silent = || SearchError::Judge("said nothing of the naive kernel".to_owned());
        ask(std::slice::from_ref(&self.candidate))?.pop().ok_or_else(silent)
    }
}

fn is_open(said: &Sanitized) -> bool {
    matches!(said, Sanitized::NotRun { .. })
}

/// What is said of a candidate, where this is said of the naive kernel.
fn cleared(naive: &Sanitized, said: Sanitized) -> Cleared {
    match (naive, said) {
        (_, Sanitized::Clean { tools }) => {
            let names: Vec<&str> = tools.into_iter().map(Tool::name).collect();
            Ok(format!("clean: {}", names.join(", ")))
        }
        (_, Sanitized::Errors { tool, summary }) => Err(format!("{}: {summary}", tool.name())),
        (Sanitized::NotRun { .. }, Sanitized::NotRun { reason }) => Ok(format!("{NOT_RUN}{reason}")),
        (Sanitized::Clean { .. } | Sanitized::Errors { .. }, Sanitized::NotRun { reason }) => {
            Err(format!("compute-sanitizer works for the naive kernel, and not for this one: {reason}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Naive, Sanitized, SearchError, Tool};

    fn named(name: &str) -> Candidate {
        Candidate {
            artifact: name.into(),
            contract: Default::default(),
            eligibility: Default::default(),
            prefer: Default::default(),
            tiles: Vec::new(),
            shared_memory: None,
        }
    }

    fn clean() -> Sanitized {
        Sanitized::Clean { tools: Tool::ALL.to_vec() }
    }

    fn open(reason: &str) -> Sanitized {
        Sanitized::NotRun { reason: reason.to_owned() }
    }

    fn errors() -> Sanitized {
        Sanitized::Errors { tool: Tool::Racecheck, summary: "2 hazards".to_owned() }
    }

    /// A tool that says `of_naive` of the naive kernel, alone or `beside` others, and something of each of the others.
    /// How many were looked at, call by call, goes to `calls`.
    fn tool<'a>(
        (beside, alone): (Sanitized, Sanitized),
        of: impl Fn(&str) -> Sanitized + 'a,
        calls: &'a mut Vec<usize>,
    ) -> impl FnMut(&[Candidate]) -> Result<Vec<Sanitized>, SearchError> + 'a {
        move |list| {
            calls.push(list.len());
            let said = |candidate: &Candidate| match candidate.artifact.to_str() {
                Some("naive") if list.len() > 1 => beside.clone(),
                Some("naive") => alone.clone(),
                other => of(other.unwrap_or_default()),
            };
            Ok(list.iter().map(said).collect())
        }
    }

    const CLEAN: &str = "clean: memcheck, racecheck, initcheck, synccheck";
    const HUNG: &str = "memcheck ended with None, answered TimedOut(240s): ";

    #[test]
    fn who_gets_out_of_a_tool_that_works_does_not_get_by() {
        let (mut naive, mut calls) = (Naive::new(named("naive")), Vec::new());
        let of = |name: &str| match name {
            "spins" => open(HUNG),
            "races" => errors(),
            _ => clean(),
        };
        let mut ask = tool((clean(), clean()), of, &mut calls);
        let [honest, spins, races] = ["honest", "spins", "races"].map(named);
        let said = naive.beside(&[honest.clone(), spins.clone(), races], &mut ask).expect("works");
        assert_eq!(said[0].as_deref(), Ok(CLEAN));
        let refused = said[1].as_ref().expect_err("it was slowed down, and hung");
        assert!(refused.contains("works for the naive kernel") && refused.contains(HUNG), "{refused}");
        assert_eq!(said[2], Err("racecheck: 2 hazards".to_owned()));
        let later = naive.beside(&[spins, honest], &mut ask).expect("works");
        assert!(later[0].is_err() && later[1].is_ok(), "what the naive kernel showed is kept: {later:?}");
        assert_eq!(naive.itself(&mut ask).expect("works").as_deref(), Ok(CLEAN));
        drop(ask);
        assert_eq!(calls, [4, 2], "the naive kernel is looked at once");
    }

    #[test]
    fn one_that_holds_up_the_naive_kernel_as_well_does_not_get_by() {
        let (mut naive, mut calls) = (Naive::new(named("naive")), Vec::new());
        let mut ask = tool((open(HUNG), clean()), |_| open(HUNG), &mut calls);
        let said = naive.beside(&[named("spins")], &mut ask).expect("works");
        assert!(said[0].is_err(), "alone the naive kernel is clean: {said:?}");
        drop(ask);
        assert_eq!(calls, [2, 1]);
    }

    #[test]
    fn a_tool_that_does_not_work_here_is_no_candidate_s_fault() {
        let (mut naive, mut calls) = (Naive::new(named("naive")), Vec::new());
        let broken = "memcheck ended with Some(1): no such device";
        let mut ask = tool((open(broken), open(broken)), |_| open(broken), &mut calls);
        let said = naive.beside(&[named("honest")], &mut ask).expect("works");
        assert_eq!(said, [Ok(format!("not run: {broken}"))]);
        assert_eq!(naive.itself(&mut ask).expect("works"), Ok(format!("not run: {broken}")));
        let alone = Naive::new(named("naive")).itself(&mut ask).expect("works");
        assert_eq!(alone, Ok(format!("not run: {broken}")));
    }

    #[test]
    fn errors_count_where_the_tool_does_not_come_through_for_the_naive_kernel() {
        let mut calls = Vec::new();
        let mut ask = tool((open(HUNG), open(HUNG)), |_| errors(), &mut calls);
        let said = Naive::new(named("naive")).beside(&[named("races")], &mut ask).expect("works");
        assert!(said[0].is_err());
        drop(ask);
        let of_itself = tool((errors(), errors()), |_| clean(), &mut calls);
        assert!(Naive::new(named("naive")).itself(of_itself).expect("works").is_err());
    }
}
