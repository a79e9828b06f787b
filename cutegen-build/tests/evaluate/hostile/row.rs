//! [`Row`]: one hostile candidate, and the proof that its check is what catches it.

use std::time::Duration;

use cutegen_build::evaluate::{Candidate, Check, Checks, Fault, Outcome, Settings};
use cutegen_spec::eligibility::Eligibility;

use crate::bench::Bench;
use crate::kernels::Kernel;

/// One candidate that is wrong on purpose.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Its class in the catalogue.
    pub(crate) class: &'static str,
    pub(crate) kernel: fn() -> &'static Kernel,
    /// Its body, in which `HONEST` stands for the kernel's honest one.
    body: &'static str,
    /// Its contract's arguments, where they are not the usual ones.
    args: Option<&'static str>,
    /// What it is.
    caught: Caught,
    /// What catches it.
    by: Off,
    /// What would catch it next.
    behind: &'static [Check],
}

/// The verdict with everything on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caught {
    Incorrect(Check),
    Crashed,
    TimedOut,
}

/// What is switched off to show that nothing else holds the candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Off {
    Check(Check),
    /// The deadline of a launch, made longer.
    Deadline(Duration),
    /// Shapes that cost more than this.
    Shapes(u64),
    /// The claim to be eligible everywhere, replaced by this one.
    Claim(&'static str),
}

/// The deadline of candidates that fall to it.
const SHORT: Duration = Duration::from_millis(300);

impl Row {
    /// Falls to `check`, with a fault that names it.
    pub(crate) const fn new(
        (name, class): (&'static str, &'static str),
        kernel: fn() -> &'static Kernel,
        body: &'static str,
        check: Check,
    ) -> Self {
        let caught = match check {
            Check::Distribution(_) | Check::WorkspacePoison => Caught::Incorrect(Check::Values),
            Check::Stale => Caught::Incorrect(Check::Repeats),
            Check::Misalignment => Caught::Crashed,
            check => Caught::Incorrect(check),
        };
        Self { name, class, kernel, body, args: None, caught, by: Off::Check(check), behind: &[] }
    }

    /// Falls in this way, to something that is no check.
    pub(crate) const fn caught(self, caught: Caught, by: Off) -> Self {
        Self { caught, by, ..self }
    }

    pub(crate) const fn behind(self, behind: &'static [Check]) -> Self {
        Self { behind, ..self }
    }

    pub(crate) const fn args(self, args: &'static str) -> Self {
        Self { args: Some(args), ..self }
    }

    /// Judges it with everything on, with only what stands behind its check off, and with both off.
    pub(crate) fn falls(&self, bench: &Bench) -> Result<String, String> {
        let kernel = (self.kernel)();
        let body = self.body.replace("HONEST", kernel.honest);
        let candidate = bench.with_args(&body, self.args.unwrap_or(kernel.args));
        let outcome = self.judged(bench, &candidate, None, &[]);
        self.expect(&outcome)?;
        if !self.behind.is_empty() {
            self.expect(&self.judged(bench, &candidate, None, self.behind))?;
        }
        match self.judged(bench, &candidate, Some(self.by), self.behind) {
            Outcome::Passed { .. } => Ok(outcome.to_string()),
            other => Err(format!("without {:?} and {:?}: {other}", self.by, self.behind)),
        }
    }

    fn judged(&self, bench: &Bench, candidate: &Candidate, off: Option<Off>, behind: &[Check]) -> Outcome {
        let mut candidate = candidate.clone();
        if let Some(Off::Claim(claim)) = off {
            candidate.eligibility = Eligibility::parse_positional(claim).expect("a claim");
        }
        let adjust = |settings: &mut Settings| {
            settings.checks = behind.iter().fold(Checks::default(), |checks, check| checks.without(*check));
            match off {
                Some(Off::Check(check)) => settings.checks = settings.checks.clone().without(check),
                Some(Off::Deadline(deadline)) => settings.deadline = deadline,
                Some(Off::Shapes(cost)) => settings.cost_cap = cost,
                Some(Off::Claim(_)) => {}
                None if matches!(self.by, Off::Deadline(_)) => settings.deadline = SHORT,
                None => {}
            }
            // stale values stand behind poison
            if !settings.checks.has(Check::Poison) {
                settings.checks = settings.checks.clone().without(Check::Stale);
            }
        };
        bench.judge_with(adjust).full(&[candidate]).expect("the machine works")
    }

    fn expect(&self, outcome: &Outcome) -> Result<(), String> {
        let is_right = match (self.caught, outcome) {
            (Caught::Incorrect(check), Outcome::Incorrect(fault)) => {
                fault.check() == check && self.is_drawn_so(fault)
            }
            (Caught::Crashed, Outcome::Crashed(_)) | (Caught::TimedOut, Outcome::TimedOut(_)) => true,
            _ => false,
        };
        if is_right { Ok(()) } else { Err(format!("{:?} by {:?}, but {outcome}", self.caught, self.by)) }
    }

    /// A distribution that catches something is where it is seen.
    fn is_drawn_so(&self, fault: &Fault) -> bool {
        match self.by {
            Off::Check(Check::Distribution(distribution)) => fault.place().distribution == distribution,
            _ => true,
        }
    }
}
