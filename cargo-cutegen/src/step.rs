//! `step`: takes in what another machine judged, then every step of every run that this machine can take, and lists what the
//! runs wait for.

use std::path::Path;
use std::time::{Duration, Instant};

use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::RunId;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{Store, lock_file};
use cutegen_build::strategy::Strategy;

use crate::args::{Command, How, Step};
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::project;
use crate::runs::advance::{Advance, Asking};
use crate::runs::generator::Generator;
use crate::runs::told::Told;
use crate::runs::{Runs, archive, warm};

/// What steps are taken with.
pub(crate) struct Stepping<'a> {
    pub(crate) project: &'a Project,
    pub(crate) runs: &'a Runs,
    pub(crate) how: &'a How,
    /// Where verdicts and winners are written to; then nothing is asked.
    pub(crate) results: Option<&'a Path>,
    /// After it no step begins that takes long.
    pub(crate) deadline: Option<Instant>,
}

/// Merges, and steps.
pub(crate) fn run(command: &Command, verb: &Step, out: &Output) -> Result<(), Failure> {
    let began = Instant::now();
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let runs = Runs::of(&project);
    if let Some(file) = &verb.merge {
        for (run, merged) in archive::merge(&runs, &plans, file)? {
            out.note(&format!("{run}: {} new verdicts, {} known", merged.new, merged.known));
        }
    }
    let only = verb.run.as_deref().map(RunId::parse).transpose().map_err(Failure::Usage)?;
    let mut all = Vec::new();
    for plan in &plans {
        let names = runs.names(plan)?;
        all.extend(
            names
                .into_iter()
                .filter(|run| only.as_ref().is_none_or(|only| only == run))
                .map(|run| (plan, run)),
        );
    }
    // one that no clock reaches is none
    let deadline = verb.deadline.and_then(|seconds| began.checked_add(Duration::from_secs(seconds)));
    let results = verb.results.as_deref();
    self::all(&Stepping { project: &project, runs: &runs, how: &verb.how, results, deadline }, all, out)
}

/// Takes the steps of these runs that this machine can take. What fails of one is told, and the next one's turn comes.
pub(crate) fn all(stepping: &Stepping<'_>, all: Vec<(&Plan, RunId)>, out: &Output) -> Result<(), Failure> {
    if all.is_empty() {
        return Err(Failure::Usage(
            "there is no run here\nbegin one: cargo cutegen refine KERNEL".to_owned(),
        ));
    }
    let searcher = Searcher::new().map_err(Failure::machine)?.with_peers(stepping.how.peers);
    let generator = Generator::of(stepping.how)?;
    let by = generator.name(stepping.how.model.as_deref());
    let asking = if stepping.results.is_some() { Asking::Nothing } else { Asking::Of(&generator, &by) };
    let (mut kept, mut failures) = (Kept::new(stepping.results)?, Failures::default());
    let (mut done, mut awaited) = (Vec::new(), Vec::new());
    for (plan, run) in all {
        if stepping.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            out.note(&format!("{run}: not begun, the time is up"));
            continue;
        }
        match one(stepping, (&searcher, asking), (plan, &run), out) {
            Ok(Some(told)) => {
                out.result(&told.text(), &told);
                awaited.extend(told.is_awaited().then(|| run.to_string()));
                // what is asked for verdicts alone has done nothing then
                if let Some(why) = told.lacks().filter(|_| stepping.results.is_some()) {
                    failures.add(Failure::machine_at(&plan.title(), format!("{run}: {why}")));
                }
            }
            Ok(None) => continue,
            Err(failure) => {
                out.note(&failure.to_string());
                failures.add(failure);
            }
        }
        done.push((plan, run));
        kept.write(|file| archive::write(searcher.store(), stepping.runs, &done, file));
    }
    kept.end((&mut failures, out));
    failures.end("not stepped:\n")?;
    // what a node cannot ask for is not its to await
    if awaited.is_empty() || stepping.results.is_some() { Ok(()) } else { Err(Failure::Awaited(awaited)) }
}

/// Steps one run, from the best known kernel where nothing was asked yet; none where its strategy asks for nothing.
pub(crate) fn one(
    stepping: &Stepping<'_>,
    (searcher, asking): (&Searcher, Asking<'_>),
    (plan, run): (&Plan, &RunId),
    out: &Output,
) -> Result<Option<Told>, Failure> {
    let Stepping { project, runs, deadline, .. } = *stepping;
    let mut file = runs.open(plan, run)?;
    let Some(strategy) = Strategy::of(&file.log().start) else { return Ok(None) };
    if matches!(asking, Asking::Of(..)) {
        warm::enter((project, plan), &mut file, out)?;
    }
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let locked = replay_full(&request(plan, project, &lock, &Store::new(&project.store))).ok();
    let (kept, exchange) = (runs.kept(plan), runs.exchange(plan, run));
    let mut advance =
        Advance { searcher, plan, strategy, file, kept, exchange, locked, asking, deadline, out };
    let stand = advance.run()?;
    Ok(Some(Told::of(plan, advance.file.log(), &stand)))
}
