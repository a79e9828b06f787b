//! The kernel that a run begins from: the best that is known of its spec, from the lock or the user's store, or what `tune` hands
//! over. It enters the log unasked, before anything is asked, and is judged as an answer is.
//!
//! Invariant: it is read as an answer is, and enters no log that has an entry.

use cutegen_build::accept;
use cutegen_build::discover::Project;
use cutegen_build::generate::proposal::text;
use cutegen_build::generate::{Candidate, answers};
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Content, Entry, Log, LogFile};
use cutegen_build::search::{BY_STORE, over_naive, stored};
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{self, Store, lock_file};
use cutegen_spec::record::{Kind, Record};

use super::failed;
use crate::failure::Failure;
use crate::output::Output;

/// The lever of a run that turns this off.
const LEVER: &str = "warm-start";

/// Enters the best known kernel, unless the log has an entry, or the run begins from nothing.
pub(crate) fn enter(
    (project, plan): (&Project, &Plan),
    file: &mut LogFile,
    out: &Output,
) -> Result<(), Failure> {
    let entry = known((project, plan), file.log(), out)?;
    entry.map_or(Ok(()), |entry| append(file, entry))
}

/// Enters this one, of a generator of this name.
pub(crate) fn enter_this(
    plan: &Plan,
    file: &mut LogFile,
    named: (&str, &Candidate),
    out: &Output,
) -> Result<(), Failure> {
    let entry = is_open(file.log()).then(|| entry(plan, file.log(), named, out)).flatten();
    entry.map_or(Ok(()), |entry| append(file, entry))
}

/// What [`enter`] would enter into this log, unwritten.
pub(crate) fn known(
    (project, plan): (&Project, &Plan),
    log: &Log,
    out: &Output,
) -> Result<Option<run_log::Candidate>, Failure> {
    if !is_open(log) {
        return Ok(None);
    }
    let best = best(project, plan)?;
    Ok(best.and_then(|candidate| entry(plan, log, (BY_STORE, &candidate), out)))
}

fn append(file: &mut LogFile, entry: run_log::Candidate) -> Result<(), Failure> {
    file.append(Entry::Candidate(entry)).map(drop).map_err(failed)
}

/// A candidate as an entry; where it cannot be read as an answer, none, which is told.
fn entry(
    plan: &Plan,
    log: &Log,
    (by, candidate): (&str, &Candidate),
    out: &Output,
) -> Option<run_log::Candidate> {
    let left_out = |why: &str| {
        out.note(&format!(
            "{}: the run begins from nothing: {} cannot be read as a proposal: {why}",
            plan.title(),
            candidate.name
        ));
        None
    };
    let text = match text(plan, candidate) {
        Ok(text) => text,
        Err(why) => return left_out(&why),
    };
    let content = answers::read(plan, log, None, &text);
    match &content {
        Content::Kernel(_) => {}
        Content::Unreadable(problems) => {
            return left_out(problems.first().map_or("no reason", |problem| &problem.message));
        }
        Content::Words | Content::Ideas(_) | Content::Sweep(_) | Content::Repeat { .. } => {
            return left_out("no kernel");
        }
    }
    let by = format!("{by}, {}", candidate.name);
    Some(run_log::Candidate::new(None, by, text, content))
}

/// The kernel that is known to be the fastest over the naive one: of what is locked, or of the user's store.
fn best(project: &Project, plan: &Plan) -> Result<Option<Candidate>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let (own, user) = (Store::new(&project.store), accept::user_store().map_err(Failure::machine)?);
    let locked = replay_full(&request(plan, project, &lock, &own)).ok();
    let known = [locked, user.get_full(&plan.key).hit()].into_iter().flatten();
    let speed = |entry: &store::Entry| over_naive(&entry.record, |timing| timing.speedup).unwrap_or(0.0);
    let tuned = known.filter(|entry| entry.record.is_tuned());
    // of two alike what is locked
    let best = tuned.reduce(|best, other| if speed(&other) > speed(&best) { other } else { best });
    Ok(best.and_then(|entry| {
        let at = most_served(plan, &entry.record)?;
        Some(stored(&entry.record.variants[at], entry.sources.get(at)?))
    }))
}

/// The tuned variant that serves most workloads, the first of several.
fn most_served(plan: &Plan, record: &Record) -> Option<usize> {
    let addresses = vec![0; plan.spec.tensors.len()];
    let workloads: Vec<Vec<i64>> =
        plan.spec.workloads.iter().filter_map(|workload| plan.spec.bind(&workload.axes).ok()).collect();
    let served =
        |at: usize| workloads.iter().filter(|axes| record.choose(axes, &addresses) == Some(at)).count();
    let tuned = (0..record.variants.len()).filter(|at| record.variants[*at].kind == Kind::Tuned);
    tuned.reduce(|best, other| if served(other) > served(best) { other } else { best })
}

/// Whether a kernel may enter: nothing has, and the run has not said that it begins from nothing.
fn is_open(log: &Log) -> bool {
    log.entries.is_empty() && log.start.setting(LEVER, 1.0) != 0.0
}
