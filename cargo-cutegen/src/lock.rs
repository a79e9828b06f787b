//! `lock`: every kernel can always be locked to something right. Compiles the naive kernel of whatever is not
//! locked, and drops from the lock what no spec declares any more. Brings a lock of version 1 to the present one first.

use cutegen_build::accept;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::{Cause, Request, replay};
use cutegen_build::store::{Reason, Store, lock_file};
use cutegen_spec::unread::Unread;

use crate::args::{Command, Select};
use crate::failure::Failure;
use crate::migrate::{migrate, renew};
use crate::output::Output;
use crate::project;

/// Locks naive kernels where nothing valid is locked.
pub(crate) fn run(command: &Command, verb: &Select, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select_or_none(&project, verb)?;
    let store = Store::new(&project.store);
    let old = lock_file::read_old(&project.lock).map_err(Failure::project)?;
    let migration = old.map(|old| migrate(&project, &store, &old)).transpose()?;
    let mut lock = match &migration {
        Some(migration) => migration.lock.clone(),
        None => lock_file::read(&project.lock).map_err(Failure::project)?,
    };
    if let Some(migration) = &migration {
        lock_file::write(&project.lock, &lock).map_err(Failure::project)?;
        migration.tell(out);
    }
    let mut missing = Vec::new();
    for plan in &plans {
        let has_moved = migration.as_ref().is_some_and(|migration| migration.has_moved(plan));
        if !has_moved && is_missing(&request(plan, &project, &lock, &store), plan)? {
            missing.push(plan);
        }
    }
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

/// Whether there is nothing valid for a plan. An entry of version 1 that a lock of today pins is renewed; one that it does
/// not pin stays, if it was tuned.
fn is_missing(request: &Request<'_>, plan: &Plan) -> Result<bool, Failure> {
    let Err(error) = replay(request) else { return Ok(false) };
    match &*error.cause {
        Cause::EntryCorrupt(bad) if matches!(bad.reason, Reason::Record(Unread::Old { .. })) => {
            if renew(request.store, plan, request.lock)? {
                return Ok(false);
            }
            let text =
                format!("{}: its entry is of version 1, and not the one that the lock pins", plan.title());
            Err(Failure::Disagreement(format!("{text}\nrun: git status")))
        }
        _ => Ok(true),
    }
}
