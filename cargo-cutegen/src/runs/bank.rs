//! The bank of a new run: what other specs' runs of this project had accepted. It is read once, and stands in the run's first line.

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Banked, Start};
use cutegen_build::strategy::branch::bank::{choose, of, shown};

use super::Runs;

/// The kernels that a run shows which begins so. Runs that cannot be read have none: an example is no need.
pub(crate) fn of_others(project: &Project, runs: &Runs, (plan, start): (&Plan, &Start)) -> Vec<Banked> {
    let others = Plan::all(&project.specs).into_iter();
    let others =
        others.filter(|other| other.key != plan.key && other.target.is_host() == plan.target.is_host());
    let all = others.flat_map(|other| {
        let folder = runs.of_plan(&other);
        let names = run_log::runs(&folder).unwrap_or_default();
        let logs = names.into_iter().filter_map(|run| run_log::read(&folder, &run).ok());
        // a folder has the keys that begin alike
        let own = logs.filter(|log| log.start.key == other.key.to_string());
        own.filter_map(|log| of(&other, &log)).collect::<Vec<_>>()
    });
    choose(plan, all.collect(), shown(start))
}
