//! What is locked and no spec declares any more: `check` and `lock` name it, `lock --prune` drops it.

use std::collections::BTreeSet;

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_spec::lock::{Lock, Locked, State};

use crate::failure::Failure;
use crate::output::Output;

/// Them in the lock.
pub(super) fn orphans(project: &Project, lock: &Lock) -> Vec<Locked> {
    let name = |plan: &Plan| (plan.spec.name.to_string(), plan.target.to_string());
    let declared: BTreeSet<_> = Plan::all(&project.specs).iter().map(name).collect();
    let is_declared = |locked: &&Locked| declared.contains(&(locked.name.clone(), locked.target.clone()));
    lock.kernels.iter().filter(|locked| !is_declared(locked)).cloned().collect()
}

/// Fails where there is one.
pub(crate) fn none(project: &Project, lock: &Lock) -> Result<(), Failure> {
    let orphans = orphans(project, lock);
    if orphans.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        orphans.iter().map(|locked| format!("{} on {}", locked.name, locked.target)).collect();
    let (lock, names) = (project.lock.display(), names.join(", "));
    Err(Failure::Disagreement(format!(
        "{lock} locks what no spec declares: {names}\n  to drop that from the lock, run: cargo cutegen lock --prune"
    )))
}

/// Says that one is dropped.
pub(super) fn dropped(orphan: &Locked, out: &Output) {
    let (name, target) = (&orphan.name, &orphan.target);
    let what = match orphan.state {
        State::Untuned => orphan.state.name().to_owned(),
        State::Tuned | State::Predicted => format!("{}: {}", orphan.state.name(), found(orphan)),
    };
    out.result(
        &format!("{name} on {target}: dropped, {what}"),
        &serde_json::json!({ "dropped": name, "target": target, "key": orphan.key.to_string() }),
    );
}

/// Names of what a search found.
pub(super) fn tuned(locked: &Locked) -> Option<String> {
    (locked.state == State::Tuned).then(|| found(locked))
}

/// Names of what stands before the naive kernel, which is the last.
fn found(locked: &Locked) -> String {
    let found = locked.variants.split_last().map_or(&[][..], |(_, found)| found);
    let names: Vec<&str> = found.iter().map(|variant| variant.name.as_str()).collect();
    names.join(", ")
}
