//! [`Row`]: one hostile candidate, how it is launched, and what catches it.

use std::time::Duration;

use cutegen_build::evaluate::judge::sanitize::Tool;
use cutegen_build::evaluate::{Candidate, Check, Checks, Settings};
use cutegen_spec::eligibility::Eligibility;

use super::super::honest::prelude;
use super::super::launch::{Launch, contract};
use super::super::subjects::Subject;
use crate::fixtures;

/// What rows about one spec share.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) subject: &'static Subject,
    /// Types and functions that bodies use.
    pub(crate) head: &'static str,
    /// Parameters of the kernel.
    pub(crate) params: &'static str,
    pub(crate) steps: &'static [Launch],
    /// What stands for `HONEST`.
    pub(crate) honest: &'static str,
}

/// One candidate that is wrong on purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Its class in the catalogue.
    pub(crate) class: &'static str,
    pub(crate) kind: &'static Kind,
    /// Before the kernel, or all of it where there is no body.
    head: &'static str,
    /// The kernel's body, after `i`; `HONEST` is the honest one.
    body: Option<&'static str>,
    params: &'static str,
    workspace: &'static [(&'static str, &'static str)],
    steps: &'static [Launch],
    claim: &'static str,
    pub(crate) caught: Caught,
    pub(crate) by: Off,
    /// What would catch it next.
    pub(crate) behind: &'static [Check],
}

/// The verdict when everything behind its check is off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caught {
    /// With a fault of this check.
    Incorrect(Check),
    Crashed,
    TimedOut,
    Blocked,
    /// In a way that depends on the device.
    Somehow,
    /// By a tool of compute-sanitizer, and by nothing before it.
    Sanitized(Tool),
    /// When it is timed, and by nothing before that.
    Timed,
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
    /// The contract, replaced by one that the code is right for.
    Steps(&'static [Launch]),
    /// The whole source, replaced by the right one.
    Source(&'static str),
}

/// The deadline of candidates that fall to it.
const SHORT: Duration = Duration::from_millis(500);
/// The deadline of all others.
const LONG: Duration = Duration::from_secs(5);

impl Row {
    /// A body that falls to `check`.
    pub(crate) const fn new(
        (name, class): (&'static str, &'static str),
        kind: &'static Kind,
        body: &'static str,
        check: Check,
    ) -> Self {
        let caught = match check {
            Check::Distribution(_) | Check::WorkspacePoison | Check::Scramble => {
                Caught::Incorrect(Check::Values)
            }
            Check::Misalignment => Caught::Crashed,
            Check::Stale => Caught::Incorrect(Check::Repeats),
            Check::Timed | Check::Floor => Caught::Timed,
            check => Caught::Incorrect(check),
        };
        let (params, steps, by) = (kind.params, kind.steps, Off::Check(check));
        let body = Some(body);
        Self {
            name,
            class,
            kind,
            head: "",
            body,
            params,
            workspace: &[],
            steps,
            claim: "true",
            caught,
            by,
            behind: &[],
        }
    }

    /// The same with a whole source for `steps`.
    pub(crate) const fn whole(self, source: &'static str, steps: &'static [Launch]) -> Self {
        Self { head: source, body: None, steps, ..self }
    }

    pub(crate) const fn head(self, head: &'static str) -> Self {
        Self { head, ..self }
    }

    pub(crate) const fn launched(self, steps: &'static [Launch]) -> Self {
        Self { steps, ..self }
    }

    /// With workspace, and the parameters that take it.
    pub(crate) const fn working(
        self,
        workspace: &'static [(&'static str, &'static str)],
        params: &'static str,
        steps: &'static [Launch],
    ) -> Self {
        Self { workspace, params, steps, ..self }
    }

    pub(crate) const fn claims(self, claim: &'static str) -> Self {
        Self { claim, ..self }
    }

    pub(crate) const fn caught(self, caught: Caught, by: Off) -> Self {
        Self { caught, by, ..self }
    }

    pub(crate) const fn behind(self, behind: &'static [Check]) -> Self {
        Self { behind, ..self }
    }

    /// What is compiled of it: without this, where that is its source.
    pub(crate) fn source(&self, off: Option<Off>) -> String {
        let Kind { head, honest, .. } = self.kind;
        let own = if let Some(Off::Source(right)) = off { right } else { self.head };
        match self.body {
            None => format!("{}{head}{own}", prelude(own)),
            Some(body) => {
                let (params, body) = (self.params, body.replace("HONEST", honest));
                let opens = format!(
                    "extern \"C\" __global__ void candidate({params}) {{\n  const I i = INDEX; (void)i;"
                );
                format!("{}{head}{own}{opens}\n{body}\n}}\n", prelude(&body))
            }
        }
    }

    pub(crate) fn entries(&self) -> Vec<&'static str> {
        let mut entries: Vec<&str> = self.steps.iter().map(|step| step.entry).collect();
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// The candidate, with what is `off` of its own claims.
    pub(crate) fn candidate(&self, off: Option<Off>) -> Candidate {
        let claim = if let Some(Off::Claim(claim)) = off { claim } else { self.claim };
        let steps = if let Some(Off::Steps(steps)) = off { steps } else { self.steps };
        Candidate {
            artifact: fixtures::cubin(&self.source(off), &self.entries()),
            contract: contract(self.workspace, steps, str::to_owned),
            eligibility: Eligibility::parse_positional(claim).expect("a claim"),
            prefer: Eligibility::default(),
            tiles: Vec::new(),
            shared_memory: None,
        }
    }

    /// The settings of a session in which `off` and `behind` are off.
    pub(crate) fn adjust(&self, settings: &mut Settings, off: Option<Off>, behind: &[Check]) {
        settings.checks = behind.iter().fold(Checks::default(), |checks, check| checks.without(*check));
        settings.deadline = if matches!(self.by, Off::Deadline(_)) { SHORT } else { LONG };
        match off {
            Some(Off::Check(check)) => settings.checks = settings.checks.clone().without(check),
            Some(Off::Deadline(deadline)) => settings.deadline = deadline,
            Some(Off::Shapes(cost)) => (settings.cost_cap, settings.large_cap) = (cost, 0),
            Some(Off::Claim(_) | Off::Steps(_) | Off::Source(_)) | None => {}
        }
        // stale values stand behind poison, the baseline behind the bound
        if !settings.checks.has(Check::Poison) {
            settings.checks = settings.checks.clone().without(Check::Stale);
        }
        if !settings.checks.has(Check::Values) {
            settings.checks = settings.checks.clone().without(Check::Rms);
        }
    }
}
