//! `replay`: whether the log of a run gives the prompts and decisions that it has; with `--verify`, whether compilers and
//! judges say again what they said.

use cutegen_build::event::Silent;
use cutegen_build::generate::prompt;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Log, Outcome, RunId, Sequence, Verdict};
use cutegen_build::search::{SearchError, Searcher};
use cutegen_build::strategy::replay::{Diverged, Prompts, decisions};

use crate::args::{Command, Replay};
use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::project;
use crate::runs::{Runs, failed};

/// Replays every run of the selected kernels.
pub(crate) fn run(command: &Command, verb: &Replay, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let runs = Runs::of(&project);
    let only = verb.run.as_deref().map(RunId::parse).transpose().map_err(Failure::Usage)?;
    let searcher = verb.verify.then(Searcher::new).transpose().map_err(Failure::machine)?;
    let (mut failures, mut replayed) = (Failures::default(), 0);
    for plan in project::select(&project, &verb.select)? {
        for run in runs.names(&plan)?.into_iter().filter(|run| only.as_ref().is_none_or(|only| only == run)) {
            let log = run_log::read(&runs.of_plan(&plan), &run).map_err(failed)?;
            replayed += 1;
            match one(&plan, &log, (searcher.as_ref(), &runs)) {
                Ok(told) => out.result(&format!("{run}: {}", told.text()), &told.value(&run, &log)),
                Err(failure) => failures.add(failure),
            }
        }
    }
    if replayed == 0 {
        return Err(Failure::Usage(
            "there is no run here\nbegin one: cargo cutegen refine KERNEL".to_owned(),
        ));
    }
    failures.end("not replayed:\n")
}

/// What a replay came to.
struct Told {
    entries: usize,
    prompts: Prompts,
    /// Verdicts that were reached again.
    verified: usize,
    /// Those that this machine cannot reach.
    left: usize,
}

impl Told {
    fn text(&self) -> String {
        let Self { entries, verified, left, .. } = self;
        let (what, note) = match self.prompts {
            Prompts::Same => ("prompt and decision", String::new()),
            Prompts::OfVersion(other) => ("decision", not_compared(other)),
        };
        match verified + left {
            0 => format!("{entries} entries, every {what} as recorded{note}"),
            _ => format!(
                "{entries} entries, every {what} as recorded, {verified} verdicts reached again, {left} not judged here{note}"
            ),
        }
    }

    fn value(&self, run: &RunId, log: &Log) -> serde_json::Value {
        serde_json::json!({
            "run": run.as_str(), "kernel": log.start.kernel, "entries": self.entries,
            "prompts": log.start.prompts, "prompts-compared": self.prompts == Prompts::Same,
            "verified": self.verified, "not-judged": self.left,
        })
    }
}

/// Why prompts of a version were not compared.
fn not_compared(version: u32) -> String {
    let own = prompt::VERSION;
    format!(
        "; prompts are of version {version}, this program writes version {own}, so they were not compared"
    )
}

fn one(plan: &Plan, log: &Log, (searcher, runs): (Option<&Searcher>, &Runs)) -> Result<Told, Failure> {
    let run = &log.start.run;
    let diverged = |diverged: &Diverged| {
        Failure::Disagreement(format!(
            "{}: run {run} {diverged}\nbegin another: cargo cutegen refine {}",
            plan.title(),
            plan.spec.name
        ))
    };
    let prompts = decisions(plan, log).map_err(|at| diverged(&at))?;
    let mut told = Told { entries: log.entries.len(), prompts, verified: 0, left: 0 };
    let Some(searcher) = searcher else { return Ok(told) };
    let again = Again { searcher, plan, runs };
    for (step, verdict) in log.verdicts() {
        let error = |error: SearchError| Failure::search(&plan.title(), &error);
        match again.reached(&cut(log, step), verdict).map_err(error)? {
            None => told.left += 1,
            Some(outcome) if is_same(outcome, verdict.outcome) => told.verified += 1,
            Some(outcome) => {
                let why = format!(
                    "{outcome:?} of candidate {}, where the log has {:?}",
                    verdict.candidate, verdict.outcome
                );
                return Err(diverged(&Diverged { step, why }));
            }
        }
    }
    Ok(told)
}

/// The log before an entry.
fn cut(log: &Log, step: Sequence) -> Log {
    let before = log.entries[..step as usize - 1].to_vec();
    Log { start: log.start.clone(), entries: before }
}

/// Speed is another day's: what is right must be right again.
fn is_same(outcome: Outcome, recorded: Outcome) -> bool {
    outcome == recorded || (outcome.is_right() && recorded.is_right())
}

/// What reaches verdicts again.
struct Again<'a> {
    searcher: &'a Searcher,
    plan: &'a Plan,
    runs: &'a Runs,
}

impl Again<'_> {
    /// The outcome by now; none where this machine cannot judge it.
    fn reached(&self, before: &Log, verdict: &Verdict) -> Result<Option<Outcome>, SearchError> {
        let Self { searcher, plan, .. } = self;
        let candidate = verdict.candidate;
        if verdict.judge.is_none() {
            return Ok(Some(searcher.build(plan, before, candidate)?.outcome));
        }
        if searcher.can_judge_foreign(&plan.target).is_err() {
            return Ok(None);
        }
        match verdict.outcome {
            Outcome::WrongInFull | Outcome::TooSlow | Outcome::Accepted => {
                Ok(Some(searcher.decide(plan, before, None, candidate, &mut Silent)?.outcome))
            }
            Outcome::Refused | Outcome::Compiled | Outcome::Wrong | Outcome::Crashed | Outcome::Right => {
                let mut outcome = None;
                let mut told = |verdict: Verdict| {
                    outcome = Some(verdict.outcome);
                    Ok(())
                };
                let (kept, mut events) = (self.runs.kept(plan), Silent);
                searcher.judge(plan, before, &[candidate], &kept, &mut told, &mut events)?;
                Ok(outcome)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cutegen_build::generate::prompt::VERSION;
    use cutegen_build::run_log::Outcome;
    use cutegen_build::strategy::replay::Prompts;

    use super::{Told, is_same};

    #[test]
    fn what_was_not_compared_is_told() {
        let told = |prompts, verified| Told { entries: 7, prompts, verified, left: 0 }.text();
        assert_eq!(told(Prompts::Same, 0), "7 entries, every prompt and decision as recorded");
        let other = format!(
            "7 entries, every decision as recorded; prompts are of version 1, this program writes version {VERSION}, so they \
             were not compared"
        );
        assert_eq!(told(Prompts::OfVersion(1), 0), other);
        let verified = told(Prompts::OfVersion(1), 3);
        assert!(
            verified.contains("3 verdicts reached again") && verified.ends_with("were not compared"),
            "{verified}"
        );
    }

    #[test]
    fn what_was_right_must_be_right_again() {
        assert!(is_same(Outcome::TooSlow, Outcome::Accepted) && is_same(Outcome::Wrong, Outcome::Wrong));
        assert!(
            !is_same(Outcome::Wrong, Outcome::Right) && !is_same(Outcome::WrongInFull, Outcome::Accepted)
        );
        assert!(!is_same(Outcome::Compiled, Outcome::Refused));
    }
}
