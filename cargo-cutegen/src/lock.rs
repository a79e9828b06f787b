//! `lock`: every kernel can always be locked to something right. Compiles the naive kernel of whatever is not locked, and for a
//! GPU that is not here what the cost estimate picks; what no
//! spec declares any more stays locked and is told, until `--prune` drops it. Brings a lock of version 1 to the present one
//! first, and makes anew what is locked, as `--renew` does. Compiling takes long, so it lies between two changes of the lock, and what another process locked meanwhile stays.

pub(crate) mod orphans;
mod renew;

use cutegen_build::accept::{self, Accepted};
use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::{Locked, Searcher};
use cutegen_build::store::change::Change;
use cutegen_build::store::replay::{Cause, ReplayError, Request, replay, replay_full};
use cutegen_build::store::{Entry, Reason, Store, lock_file};
use cutegen_spec::lock::{Lock, State};
use cutegen_spec::unread::Unread;

use crate::args::{self, Command};
use crate::failure::Failure;
use crate::migrate::{Migration, migrate, renew};
use crate::output::Output;
use crate::project;

/// Locks naive kernels, and predictions, where nothing valid is locked; fails where the lock still has what no spec declares.
pub(crate) fn run(command: &Command, verb: &args::Lock, out: &Output) -> Result<(), Failure> {
    let project = project::open_with_lock(command)?;
    let plans = project::select_or_none(&project, &verb.select)?;
    let store = Store::new(&project.store);
    let migration = migrated(&project, &store)?;
    migration.iter().for_each(|migration| migration.tell(out));
    match &migration {
        // how an old naive kernel is launched nothing pinned
        Some(_) => renew::run(&project, &store, &Plan::all(&project.specs), out)?,
        None if verb.renew => renew::run(&project, &store, &plans, out)?,
        None => {}
    }
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let mut searcher = None;
    for plan in &plans {
        let has_moved = migration.as_ref().is_some_and(|migration| migration.has_moved(plan));
        if has_moved || !is_missing(&request(plan, &project, &lock, &store), plan)? {
            continue;
        }
        if is_settled(&project, plan, &mut begin(&project, &store)?, out)? {
            continue;
        }
        let searcher = match &mut searcher {
            Some(searcher) => searcher,
            none => none.insert(Searcher::new().map_err(Failure::machine)?),
        };
        let made = if verb.naive_only { searcher.untuned(plan) } else { searcher.predicted(plan) };
        let made = made.map_err(Failure::machine)?;
        let mut change = begin(&project, &store)?;
        if !is_settled(&project, plan, &mut change, out)? {
            let instead = in_place_of(plan, &change.lock);
            accept::untuned(plan, (&made.record, &made.files), &mut change).map_err(Failure::machine)?;
            change.write().map_err(Failure::project)?;
            tell(plan, &made, &instead, out);
        }
    }
    match verb.prune {
        true => prune(&project, &store, out),
        false if verb.select.is_all() => orphans::none(&project, &lock),
        false => Ok(()),
    }
}

/// What a kernel is locked to now, and why that is no prediction.
fn tell(plan: &Plan, made: &Locked, instead: &str, out: &Output) {
    let title = plan.title();
    if let Some(why) = &made.not_predicted {
        out.note(&format!("{title}: nothing is predicted: {why}"));
    }
    let found: Vec<&str> = made.record.variants.iter().map(|variant| variant.name.as_str()).collect();
    let (name, target) = (&plan.spec.name, &plan.target);
    let what = match State::of(&made.record) {
        State::Predicted => format!(
            "predicted {}{instead}; the naive kernel runs until it is judged, on such a GPU: \
             cargo cutegen verify --record {name} --target {target}",
            found[..found.len() - 1].join(", ")
        ),
        state @ (State::Tuned | State::Untuned) => format!("{}{instead}", state.name()),
    };
    out.result(&format!("{title}: locked, {what}"), &Accepted::of(plan, &made.record));
}

/// What an entry replaces, if that was tuned.
fn in_place_of(plan: &Plan, lock: &Lock) -> String {
    let before = lock.get(plan.spec.name.as_str(), &plan.target.to_string()).and_then(orphans::tuned);
    before.map(|names| format!(", in place of the tuned {names}")).unwrap_or_default()
}

/// Drops what no spec declares any more.
fn prune(project: &Project, store: &Store, out: &Output) -> Result<(), Failure> {
    let mut change = begin(project, store)?;
    let orphans = orphans::orphans(project, &change.lock);
    change.lock.kernels.retain(|locked| !orphans.contains(locked));
    change.write().map_err(Failure::project)?;
    orphans.iter().for_each(|orphan| orphans::dropped(orphan, out));
    Ok(())
}

/// What was migrated from version 1, records and lock together.
fn migrated(project: &Project, store: &Store) -> Result<Option<Migration>, Failure> {
    if lock_file::read_old(&project.lock).map_err(Failure::project)?.is_none() {
        return Ok(None);
    }
    let held = store.hold().map_err(Failure::machine)?;
    // another process may have been faster
    let Some(old) = lock_file::read_old(&project.lock).map_err(Failure::project)? else { return Ok(None) };
    let migration = migrate(project, &held, &old)?;
    lock_file::write(&project.lock, &migration.lock).map_err(Failure::project)?;
    Ok(Some(migration))
}

fn begin(project: &Project, store: &Store) -> Result<Change, Failure> {
    Change::begin(store, &project.lock).map_err(Failure::project)
}

/// Whether the plan needs no compiling after all: a killed writer had moved its entry aside, another process locked it, or
/// another kernel asks the same.
fn is_settled(project: &Project, plan: &Plan, change: &mut Change, out: &Output) -> Result<bool, Failure> {
    if whole(&request(plan, project, &change.lock, &change.store)).is_ok() {
        return Ok(true);
    }
    let Some(record) = accept::share(plan, change) else { return Ok(false) };
    change.write().map_err(Failure::project)?;
    out.result(&format!("{}: locked with its like", plan.title()), &Accepted::of(plan, &record));
    Ok(true)
}

/// The pinned entry; with sources, unless it is tuned: all else can be made again.
fn whole(request: &Request<'_>) -> Result<Entry, ReplayError> {
    let entry = replay(request)?;
    if entry.record.is_tuned() { Ok(entry) } else { replay_full(request) }
}

/// Whether there is nothing valid for a plan. An entry of version 1 that a lock of today pins is renewed; one that it does
/// not pin stays, if it was tuned.
fn is_missing(request: &Request<'_>, plan: &Plan) -> Result<bool, Failure> {
    let Err(error) = whole(request) else { return Ok(false) };
    match &*error.cause {
        Cause::EntryCorrupt(bad) if matches!(bad.reason, Reason::Record(Unread::Old { .. })) => {
            if renew(request.store, plan, request.lock)? {
                return Ok(false);
            }
            let text =
                format!("{}: its entry is of version 1, and not the one that the lock pins", plan.title());
            Err(Failure::Disagreement(format!("{text}\nrun: git status")))
        }
        _ => renew::cut_short(plan, request.store, request.lock).map_or(Ok(true), Err),
    }
}
