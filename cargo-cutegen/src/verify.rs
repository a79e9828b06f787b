//! `verify`: trust nothing that is locked. Judges locked kernels again on this machine, and writes what it saw into
//! their records when asked to; or compiles their stored sources again and compares digests, for which no GPU is needed.

mod known;
mod rebuild;

use cutegen_build::discover::Project;
use cutegen_build::evaluate::Outcome;
use cutegen_build::pipeline::{request, trust};
use cutegen_build::plan::Plan;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::digest::CacheKey;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::GATE;
use serde::Serialize;

use crate::args::{Command, Verify};
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::skipped::Skipped;
use crate::{pack, project};

/// What is known of a kernel or a variant now.
enum Verdict {
    /// Shown to be right.
    Right(String),
    /// Not shown to be right.
    Wrong(String),
    /// Nothing: this machine cannot judge it.
    NotJudged(String),
}

/// One verdict, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    kernel: String,
    ok: bool,
    verdict: String,
}

/// Verifies every selected kernel; fails when one of them is not shown to be right, once all others were looked at.
pub(crate) fn run(command: &Command, verb: &Verify, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    if verb.rebuild {
        return rebuild::run(&project, &plans, verb, out);
    }
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let mut kept = Kept::new(verb.results.as_deref())?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let store = Store::new(&project.store);
    let (mut failed, mut recorded, mut skipped) = (Failures::default(), Vec::new(), Skipped::default());
    for plan in plans {
        let before = recorded.len();
        let entry = whole_entry(&project, &lock, &store, &plan);
        let seen = entry.and_then(|mut entry| {
            let verdict = verdict(&searcher, verb, &plan, (&store, &mut entry), &mut recorded)?;
            Ok((verdict, trust(&plan, &project, &entry.record).err()))
        });
        let below = match seen {
            Ok((Verdict::NotJudged(why), below)) => {
                out.value(&Line { kernel: plan.title(), ok: false, verdict: why.clone() });
                skipped.add(plan.title(), why);
                below
            }
            Ok((verdict, below)) => {
                verdict.tell(&plan, (&mut failed, out));
                below
            }
            Err(failure) => {
                not_seen(&plan, failure, (&mut failed, out));
                None
            }
        };
        below.into_iter().for_each(|below| failed.add(Failure::project(below)));
        if recorded.len() > before {
            kept.write(|file| pack::write_results(&store, &recorded, file));
        }
    }
    for line in skipped.lines() {
        out.remark(&line);
        failed.add(Failure::Machine(line));
    }
    kept.end((&mut failed, out));
    failed.end("not verified:\n")
}

/// Prints that nothing was seen of a kernel, and why.
fn not_seen(plan: &Plan, failure: Failure, (failed, out): (&mut Failures, &Output)) {
    let line = Line { kernel: plan.title(), ok: false, verdict: failure.to_string() };
    out.result(&line.verdict, &line);
    failed.add(failure);
}

/// What is known of a kernel now, in the way that was asked for.
fn verdict(
    searcher: &Searcher,
    verb: &Verify,
    plan: &Plan,
    (store, entry): (&Store, &mut Entry),
    recorded: &mut Vec<CacheKey>,
) -> Result<Verdict, Failure> {
    match verb.record {
        true => judge_again(searcher, plan, store, entry, recorded),
        false => rejudge(searcher, plan, entry),
    }
}

impl Verdict {
    /// Prints it, and keeps what it says against the kernel.
    fn tell(self, plan: &Plan, (failed, out): (&mut Failures, &Output)) {
        let line = Line { kernel: plan.title(), ok: self.is_right(), verdict: self.text().to_owned() };
        let text = format!("{}: {}", line.kernel, line.verdict);
        out.result(&text, &line);
        match self {
            Verdict::Right(_) => {}
            Verdict::Wrong(_) => failed.add(Failure::Disagreement(text)),
            Verdict::NotJudged(_) => failed.add(Failure::Machine(text)),
        }
    }

    fn is_right(&self) -> bool {
        matches!(self, Verdict::Right(_))
    }

    fn text(&self) -> &str {
        match self {
            Verdict::Right(text) | Verdict::Wrong(text) | Verdict::NotJudged(text) => text,
        }
    }
}

/// The pinned entry with its sources.
fn whole_entry(project: &Project, lock: &Lock, store: &Store, plan: &Plan) -> Result<Entry, Failure> {
    replay_full(&request(plan, project, lock, store)).map_err(Failure::project)
}

fn rejudge(searcher: &Searcher, plan: &Plan, entry: &Entry) -> Result<Verdict, Failure> {
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(Verdict::NotJudged(format!("not judged: {reason}")));
    }
    Ok(match searcher.rejudge(plan, entry).map_err(|error| Failure::machine_at(&plan.title(), error))? {
        passed @ Outcome::Passed { .. } => Verdict::Right(passed.to_string()),
        refused => Verdict::Wrong(refused.to_string()),
    })
}

/// Judges, and replaces the entry's record where every variant passed; else the old evidence stays.
fn judge_again(
    searcher: &Searcher,
    plan: &Plan,
    store: &Store,
    entry: &mut Entry,
    recorded: &mut Vec<CacheKey>,
) -> Result<Verdict, Failure> {
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(Verdict::NotJudged(format!("not judged: {reason}")));
    }
    let at = |error: &dyn std::fmt::Display| Failure::machine_at(&plan.title(), error);
    match searcher.judge_again(plan, entry).map_err(|error| at(&error))? {
        Err(verdict) => Ok(Verdict::Wrong(format!("{verdict}; its record stays as it was"))),
        Ok(record) => {
            store.restate(entry, &record).map_err(|error| at(&error))?;
            let variants = record.variants.len();
            entry.record = record;
            recorded.push(plan.key);
            Ok(Verdict::Right(format!("judged by gate {GATE} and recorded: {variants} variants passed")))
        }
    }
}
