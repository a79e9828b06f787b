//! `verify`: trust nothing that is locked. Judges locked kernels again on this machine, and writes what it saw into
//! their records when asked to; or compiles their stored sources again and compares digests, for which no GPU is needed.
//!
//! Invariant: nothing is said against a kernel that was judged beside others. It may have lacked memory or time for their
//! sake, so it is re-verified alone.

mod known;
mod lanes;
mod rebuild;
mod session;

use std::time::{Duration, Instant};

use cutegen_build::discover::Project;
use cutegen_build::evaluate::Outcome;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::trust::{Doubt, doubts};
use cutegen_build::store::{Entry, Store};
use cutegen_spec::lock::Lock;
use cutegen_spec::record::{Evidence, GATE, Record, Variant};

use crate::args::{Command, Verify};
use crate::failure::Failure;
use crate::outfile::Kept;
use crate::output::Output;
use crate::project;
use session::{Session, Verdict, not_seen};

/// What became of kernels that the deadline left out.
const LEFT: &str = "not begun before the deadline\ngo on: cargo cutegen verify --record --resume";

/// What a lane saw of a kernel. Nothing is written yet.
enum Seen {
    /// It passed.
    Passed(String),
    /// Every variant passed: its record with fresh evidence.
    Fresh(Box<Record>),
    /// It did not pass.
    Refused(String),
    /// This machine cannot judge it.
    NotJudged(String),
}

/// A kernel, and what is locked for it.
type Kernel = (Plan, Entry);

/// Verifies every selected kernel; fails when one of them is not shown to be right, once all others were looked at.
pub(crate) fn run(command: &Command, verb: &Verify, out: &Output) -> Result<(), Failure> {
    let began = Instant::now();
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    if verb.rebuild {
        return rebuild::run(&project, &plans, verb, out);
    }
    let kept = Kept::new(verb.results.as_deref())?;
    let (searcher, store) = (Searcher::new().map_err(Failure::machine)?, Store::new(&project.store));
    let mut session = Session::new((&project, &store), kept, out);
    let kernels =
        session.kernels(plans, |plan, record| verb.resume && is_recorded(&searcher, plan, record))?;
    let is_over = || verb.deadline.is_some_and(|seconds| began.elapsed() >= Duration::from_secs(seconds));
    let work = |at: usize| {
        if verb.record { judge_again(&searcher, &kernels[at]) } else { rejudge(&searcher, &kernels[at]) }
    };
    let (lanes, mut alone) = (usize::from(verb.jobs), Vec::new());
    let seconds: Vec<f64> = kernels.iter().map(judge_seconds).collect();
    let order = in_order(&seconds, lanes, verb.deadline.is_some());
    let mut left = lanes::run(lanes, &order, &is_over, &work, |at, seen| {
        if lanes > 1 && is_in_doubt(searcher.sanitizes(&kernels[at].0.target), &seen) {
            alone.push(at)
        } else {
            session.take(&kernels[at], seen)
        }
    });
    if !alone.is_empty() {
        out.note(&format!("kernels re-verified alone: {}", alone.len()));
    }
    left.extend(lanes::run(1, &alone, &is_over, &work, |at, seen| session.take(&kernels[at], seen)));
    left.into_iter().for_each(|at| session.leave(&kernels[at].0, LEFT));
    session.end()
}

/// What judging a kernel took before; nothing where no record says so.
fn judge_seconds((_, entry): &Kernel) -> f64 {
    let evidence = entry.record.variants.iter().filter_map(Variant::judged);
    evidence.filter_map(|evidence| evidence.judge_seconds).sum()
}

/// Where several are judged at a time, what takes longest comes first: else the end would wait for it. Under a deadline it
/// comes last: else a run that is cut off, and gone on with, would begin with the same kernels each time and end none.
fn in_order(seconds: &[f64], lanes: usize, has_deadline: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    if has_deadline {
        order.sort_by(|a, b| seconds[*a].total_cmp(&seconds[*b]));
    } else if lanes > 1 {
        order.sort_by(|a, b| seconds[*b].total_cmp(&seconds[*a]));
    }
    order
}

/// Whether judging again would see no more: this gate judged every variant, and compute-sanitizer did where it is here.
fn is_recorded(searcher: &Searcher, plan: &Plan, record: &Record) -> bool {
    let is_open = |doubt: &Doubt| match doubt {
        Doubt::NotSanitized { .. } => searcher.sanitizes(&plan.target),
        other => other.ends_by_judging(),
    };
    !doubts(record, &plan.target, &[], GATE).iter().any(is_open)
}

/// Whether what was seen may be the doing of kernels that were judged beside it.
/// `sanitizes` says that compute-sanitizer is here.
fn is_in_doubt(sanitizes: bool, seen: &Result<Seen, Failure>) -> bool {
    match seen {
        Ok(Seen::Passed(_) | Seen::NotJudged(_)) => false,
        Ok(Seen::Fresh(record)) => {
            sanitizes && !record.variants.iter().filter_map(Variant::judged).all(Evidence::is_sanitized)
        }
        Ok(Seen::Refused(_)) | Err(_) => true,
    }
}

/// The pinned entry with its sources.
fn whole_entry(project: &Project, lock: &Lock, store: &Store, plan: &Plan) -> Result<Entry, Failure> {
    replay_full(&request(plan, project, lock, store)).map_err(Failure::project)
}

fn rejudge(searcher: &Searcher, (plan, entry): &Kernel) -> Result<Seen, Failure> {
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(Seen::NotJudged(format!("not judged: {reason}")));
    }
    Ok(match searcher.rejudge(plan, entry).map_err(|error| Failure::machine_at(&plan.title(), error))? {
        passed @ Outcome::Passed { .. } => Seen::Passed(passed.to_string()),
        refused => Seen::Refused(refused.to_string()),
    })
}

/// Judges every variant for the record.
fn judge_again(searcher: &Searcher, (plan, entry): &Kernel) -> Result<Seen, Failure> {
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(Seen::NotJudged(format!("not judged: {reason}")));
    }
    let judged =
        searcher.judge_again(plan, entry).map_err(|error| Failure::machine_at(&plan.title(), error))?;
    let refused = |verdict| Seen::Refused(format!("{verdict}; its record stays as it was"));
    Ok(judged.map_or_else(refused, |record| Seen::Fresh(Box::new(record))))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cutegen_spec::record::{Evidence, Record};

    use super::{Failure, Seen, in_order, is_in_doubt};

    /// A committed record, of whose variants compute-sanitizer said this.
    fn fresh(sanitizer: &str) -> Seen {
        let mut path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-app/cutegen-store/v1");
        while path.is_dir() {
            let inside = std::fs::read_dir(path).expect("a folder").map(|item| item.expect("listed").path());
            path =
                inside.filter(|path| path.is_dir() || path.ends_with("record.toml")).min().expect("an entry");
        }
        let mut record = Record::parse(&std::fs::read_to_string(path).expect("a record")).expect("parses");
        for variant in &mut record.variants {
            variant.evidence = Some(Evidence { sanitizer: sanitizer.to_owned(), ..Evidence::default() });
        }
        Seen::Fresh(Box::new(record))
    }

    #[test]
    fn what_takes_longest_is_first_but_last_under_a_deadline() {
        let seconds = [3.0, 90.0, 0.0, 7.0];
        assert_eq!(in_order(&seconds, 1, false), [0, 1, 2, 3], "as they are declared");
        assert_eq!(in_order(&seconds, 4, false), [1, 3, 0, 2]);
        for lanes in [1, 4] {
            assert_eq!(in_order(&seconds, lanes, true), [2, 0, 3, 1]);
        }
    }

    #[test]
    fn only_a_pass_is_believed_of_kernels_judged_side_by_side() {
        let with_tool = |seen| is_in_doubt(true, &seen);
        assert!(!with_tool(Ok(Seen::Passed("passed".to_owned()))));
        assert!(!with_tool(Ok(Seen::NotJudged("no device".to_owned()))));
        assert!(with_tool(Ok(Seen::Refused("no room in an arena".to_owned()))));
        assert!(with_tool(Err(Failure::Machine("cuMemAlloc: out of memory".to_owned()))));
        let (clean, open) = ("clean: memcheck, racecheck", "not run: cuMemAlloc: out of memory");
        assert!(!with_tool(Ok(fresh(clean))) && with_tool(Ok(fresh(open))));
        assert!(!is_in_doubt(false, &Ok(fresh(open))), "it would not run alone either");
    }
}
