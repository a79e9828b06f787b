//! Verified kernels of a project, which a run begins beside. The lock pins some, others are in the user's store. A run freezes the
//! nearest.

use cutegen_build::accept;
use cutegen_build::discover::Project;
use cutegen_build::generate::prompt::beside::excerpt;
use cutegen_build::kit;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Banked, digest};
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_build::strategy::islands::nearest;
use cutegen_spec::record::{Kind, incumbent};

use crate::failure::Failure;

/// So many verified kernels of other computations on the same architecture, the nearest first.
pub(crate) fn nearest(project: &Project, plan: &Plan, count: usize) -> Result<Vec<Banked>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let (own, user) = (Store::new(&project.store), accept::user_store().map_err(Failure::machine)?);
    let others = Plan::all(&project.specs);
    let is_like = |other: &&Plan| other.key != plan.key && other.target.arch() == plan.target.arch();
    let entry = |other: &Plan| {
        let locked = replay_full(&request(other, project, &lock, &own)).ok();
        // what the lock has may be naive where a search has found more
        let found = || user.get_full(&other.key).hit();
        locked.filter(|entry| entry.record.is_tuned()).or_else(found)
    };
    let all = others.iter().filter(is_like).filter_map(|other| banked(other, &entry(other)?));
    Ok(nearest::choose(plan, all.collect(), count))
}

/// The first tuned kernel of an entry, without the kit, as far as prompts show it.
fn banked(plan: &Plan, entry: &Entry) -> Option<Banked> {
    let mut variants = entry.record.variants.iter().zip(&entry.sources);
    let (variant, source) = variants.find(|(variant, _)| variant.kind == Kind::Tuned)?;
    let source = excerpt(&kit::body(std::str::from_utf8(source).ok()?, &plan.target));
    let timings = variant.evidence.iter().flat_map(|evidence| &evidence.timings);
    let over_naive =
        timings.filter(|timing| timing.incumbent == incumbent::NAIVE).map(|timing| timing.speedup);
    Some(Banked {
        kernel: plan.spec.name.to_string(),
        family: plan.family.name().to_owned(),
        math: plan.spec.math_text.trim().to_owned(),
        digest: digest(&source),
        source,
        idea: None,
        over_naive: over_naive.reduce(f64::max),
    })
}
