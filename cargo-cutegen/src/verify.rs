//! `verify`: trust nothing that is locked. Judges locked kernels again on this machine, and writes what it saw into
//! their records when asked to; or compiles their stored sources again and compares digests, for which no GPU is needed.

use cutegen_build::discover::Project;
use cutegen_build::evaluate::Outcome;
use cutegen_build::pipeline::{request, trust};
use cutegen_build::plan::Plan;
use cutegen_build::search::{Rebuilt, Searcher};
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Entry, Lookup, Store, lock_file};
use cutegen_spec::digest::CacheKey;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::GATE;
use serde::Serialize;

use crate::args::{Command, Verify};
use crate::failure::Failure;
use crate::output::Output;
use crate::{pack, project};

/// One verdict, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    kernel: String,
    ok: bool,
    verdict: String,
}

/// Verifies every selected kernel; fails when one of them is not shown to be right.
pub(crate) fn run(command: &Command, verb: &Verify, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let store = Store::new(&project.store);
    let (mut failed, mut recorded) = (Vec::new(), Vec::new());
    for plan in project::select(&project, &verb.select)? {
        let mut entry = whole_entry(&project, &lock, &store, &plan)?;
        let lines = if verb.rebuild {
            rebuild(&searcher, &plan, &entry)?
        } else if verb.record {
            vec![judge_again(&searcher, &plan, &store, &mut entry, &mut recorded)?]
        } else {
            vec![rejudge(&searcher, &plan, &entry)?]
        };
        for line in lines {
            out.result(&format!("{}: {}", line.kernel, line.verdict), &line);
            if !line.ok {
                failed.push(format!("{}: {}", line.kernel, line.verdict));
            }
        }
        failed.extend(trust(&plan, &project, &entry.record).err().map(|below| below.to_string()));
    }
    if let Some(file) = verb.results.as_ref().filter(|_| !recorded.is_empty()) {
        pack::write_results(&store, &recorded, file)?;
        out.note(&format!("results: {}", file.display()));
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Disagreement(format!("not verified:\n{}", failed.join("\n"))))
    }
}

/// The pinned entry with its sources.
fn whole_entry(project: &Project, lock: &Lock, store: &Store, plan: &Plan) -> Result<Entry, Failure> {
    let request = request(plan, project, lock, store);
    replay(&request).map_err(Failure::project)?;
    match store.get_full(&plan.key) {
        Lookup::Hit(entry) => Ok(entry),
        Lookup::Miss => Err(Failure::Disagreement(format!("the entry of {} is gone", plan.title()))),
        Lookup::Corrupt(corrupt) => Err(Failure::project(corrupt)),
    }
}

fn rebuild(searcher: &Searcher, plan: &Plan, entry: &Entry) -> Result<Vec<Line>, Failure> {
    let rebuilt = searcher.rebuild(plan, entry).map_err(Failure::machine)?;
    let line = |rebuilt: Rebuilt| {
        let (ok, verdict) = match rebuilt {
            Rebuilt::Same { variant } => (true, format!("{variant}: rebuilt to the locked bytes")),
            Rebuilt::Differs { variant, detail } => (false, format!("{variant}: differs: {detail}")),
            Rebuilt::NotRebuilt { variant, needs, here } => {
                (false, format!("{variant}: not rebuilt: it needs {needs}; here is {here}"))
            }
        };
        Line { kernel: plan.title(), ok, verdict }
    };
    Ok(rebuilt.into_iter().map(line).collect())
}

fn rejudge(searcher: &Searcher, plan: &Plan, entry: &Entry) -> Result<Line, Failure> {
    let line = |ok, verdict| Line { kernel: plan.title(), ok, verdict };
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(line(false, format!("not judged: {reason}")));
    }
    let outcome = searcher.rejudge(plan, entry).map_err(Failure::machine)?;
    let ok = matches!(outcome, Outcome::Passed { .. });
    Ok(line(ok, outcome.to_string()))
}

/// Judges, and replaces the entry's record where every variant passed; else the old evidence stays.
fn judge_again(
    searcher: &Searcher,
    plan: &Plan,
    store: &Store,
    entry: &mut Entry,
    recorded: &mut Vec<CacheKey>,
) -> Result<Line, Failure> {
    let line = |ok, verdict| Line { kernel: plan.title(), ok, verdict };
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(line(false, format!("not judged: {reason}")));
    }
    match searcher.judge_again(plan, entry).map_err(Failure::machine)? {
        Err(verdict) => Ok(line(false, format!("{verdict}; its record stays as it was"))),
        Ok(record) => {
            store.restate(entry, &record).map_err(Failure::machine)?;
            let variants = record.variants.len();
            entry.record = record;
            recorded.push(plan.key);
            Ok(line(true, format!("judged by gate {GATE} and recorded: {variants} variants passed")))
        }
    }
}
