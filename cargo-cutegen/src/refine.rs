//! `refine`: begins a run for one kernel, or goes on with it, and takes the steps that this machine can take.

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{RunId, Start};
use cutegen_build::strategy::Strategy;

use crate::args::{Begin, Command, Refine, Select};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{self, Runs, bank, begun, seeds};
use crate::{experience, project, step};

/// Verified kernels that a run of islands begins beside.
const SEEDS: usize = 4;

/// Begins a run, and steps.
pub(crate) fn run(command: &Command, verb: &Refine, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let select = Select { kernels: vec![verb.kernel.clone()], target: verb.target.clone() };
    let plans = project::select(&project, &select)?;
    let [plan] = plans.as_slice() else {
        let targets: Vec<String> = plans.iter().map(|plan| plan.target.to_string()).collect();
        let (kernel, targets) = (&verb.kernel, targets.join(" or "));
        return Err(Failure::Usage(format!(
            "`{kernel}` is for several targets: a run is for one\nrun: cargo cutegen refine {kernel} --target {targets}"
        )));
    };
    let runs = Runs::of(&project);
    let run = match &verb.run {
        Some(name) => RunId::parse(name).map_err(Failure::Usage)?,
        None => runs.unused(plan)?,
    };
    if !runs.names(plan)?.contains(&run) {
        let start = settled(plan, run.clone(), &verb.begin)?;
        begin((&project, &runs), plan, start, out)?;
    } else if !verb.begin.is_default() {
        return Err(Failure::Usage(format!(
            "run {run} has its strategy and settings already\nbegin another: --run RUN"
        )));
    }
    let stepping =
        step::Stepping { project: &project, runs: &runs, how: &verb.how, results: None, deadline: None };
    step::all(&stepping, vec![(plan, run)], out)
}

/// The first line of a run that begins so.
pub(crate) fn settled(plan: &Plan, run: RunId, verb: &Begin) -> Result<Start, Failure> {
    let strategy = verb.strategy.unwrap_or(Strategy::Refine);
    let mut start = Start { strategy: strategy.name().to_owned(), ..runs::start(plan, run) };
    let known = strategy.settings();
    for (name, number) in &verb.set {
        if !known.contains(&name.as_str()) {
            return Err(Failure::Usage(format!("no setting `{name}`; there are: {}", known.join(", "))));
        }
        start.settings.insert(name.clone(), *number);
    }
    Ok(start)
}

/// Freezes what prompts may show into the first line, and writes it.
pub(crate) fn begin(
    (project, runs): (&Project, &Runs),
    plan: &Plan,
    start: Start,
    out: &Output,
) -> Result<(), Failure> {
    let file = runs.begin(plan, frozen((project, runs), plan, start, out)?)?;
    if let Err(error) = begun::note(&file.log().start) {
        out.note(&format!("{}: it will credit no hint: {error}", file.log().start.run));
    }
    Ok(())
}

/// A first line with what prompts may show: hints, and kernels of others. Nothing is written.
pub(crate) fn frozen(
    (project, runs): (&Project, &Runs),
    plan: &Plan,
    mut start: Start,
    out: &Output,
) -> Result<Start, Failure> {
    let strategy = Strategy::of(&start).unwrap_or(Strategy::Refine);
    if strategy.settings().contains(&"experience") && start.setting("experience", 1.0) != 0.0 {
        start.experience = Some(experience::frozen(project, plan, out)?);
    }
    start.bank = match strategy {
        Strategy::Branch => bank::of_others(project, runs, (plan, &start)),
        Strategy::Islands if start.setting("seeds", 1.0) != 0.0 => seeds::nearest(project, plan, SEEDS)?,
        Strategy::Islands | Strategy::Refine => Vec::new(),
    };
    Ok(start)
}
