//! `lock`: every kernel can always be locked to something right. Compiles the naive kernel of whatever is not
//! locked, and drops from the lock what no spec declares any more.

use cutegen_build::accept;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Store, lock_file};

use crate::args::{Command, Select};
use crate::failure::Failure;
use crate::output::Output;
use crate::project;

/// Locks naive kernels where nothing valid is locked.
pub(crate) fn run(command: &Command, verb: &Select, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select_or_none(&project, verb)?;
    let mut lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let missing: Vec<&Plan> =
        plans.iter().filter(|plan| replay(&request(plan, &project, &lock, &store)).is_err()).collect();
    if !missing.is_empty() {
        let searcher = Searcher::new().map_err(Failure::machine)?;
        for plan in missing {
            let record = searcher.untuned(plan, &store).map_err(Failure::machine)?;
            accept::pin(plan, &record, &mut lock);
            out.result(&format!("{}: locked, untuned", plan.title()), &accept::Accepted::of(plan, &record));
        }
    }
    let declared = Plan::all(&project.specs);
    lock.kernels.retain(|k| {
        declared.iter().any(|p| p.spec.name.as_str() == k.name && p.target.to_string() == k.target)
    });
    lock_file::write(&project.lock, &lock).map_err(Failure::project)?;
    Ok(())
}
