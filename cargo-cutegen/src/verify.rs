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

/// What keeps the command from success, in order.
#[derive(Default)]
struct Failed {
    lines: Vec<String>,
    /// Whether any is more than the lack of a machine that could judge.
    is_wrong: bool,
}

/// Verifies every selected kernel; fails when one of them is not shown to be right.
pub(crate) fn run(command: &Command, verb: &Verify, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let store = Store::new(&project.store);
    let (mut failed, mut recorded) = (Failed::default(), Vec::new());
    for plan in plans {
        let mut entry = whole_entry(&project, &lock, &store, &plan)?;
        let verdicts = if verb.rebuild {
            rebuild(&searcher, &plan, &entry)?
        } else if verb.record {
            vec![judge_again(&searcher, &plan, &store, &mut entry, &mut recorded)?]
        } else {
            vec![rejudge(&searcher, &plan, &entry)?]
        };
        for verdict in verdicts {
            let line =
                Line { kernel: plan.title(), ok: verdict.is_right(), verdict: verdict.text().to_owned() };
            let text = format!("{}: {}", line.kernel, line.verdict);
            out.result(&text, &line);
            failed.note(&verdict, text);
        }
        if let Err(below) = trust(&plan, &project, &entry.record) {
            failed.wrong(below.to_string());
        }
    }
    if let Some(file) = verb.results.as_ref().filter(|_| !recorded.is_empty()) {
        pack::write_results(&store, &recorded, file)?;
        out.note(&format!("results: {}", file.display()));
    }
    failed.end()
}

impl Verdict {
    fn is_right(&self) -> bool {
        matches!(self, Verdict::Right(_))
    }

    fn text(&self) -> &str {
        match self {
            Verdict::Right(text) | Verdict::Wrong(text) | Verdict::NotJudged(text) => text,
        }
    }
}

impl Failed {
    fn note(&mut self, verdict: &Verdict, text: String) {
        match verdict {
            Verdict::Right(_) => {}
            Verdict::Wrong(_) => self.wrong(text),
            Verdict::NotJudged(_) => self.lines.push(text),
        }
    }

    fn wrong(&mut self, text: String) {
        self.is_wrong = true;
        self.lines.push(text);
    }

    /// The machine is to blame only where it is for everything.
    fn end(self) -> Result<(), Failure> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let text = format!("not verified:\n{}", self.lines.join("\n"));
        Err(if self.is_wrong { Failure::Disagreement(text) } else { Failure::Machine(text) })
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

fn rebuild(searcher: &Searcher, plan: &Plan, entry: &Entry) -> Result<Vec<Verdict>, Failure> {
    let rebuilt = searcher.rebuild(plan, entry).map_err(Failure::machine)?;
    let verdict = |rebuilt: Rebuilt| match rebuilt {
        Rebuilt::Same { variant } => Verdict::Right(format!("{variant}: rebuilt to the locked bytes")),
        Rebuilt::Differs { variant, detail } => Verdict::Wrong(format!("{variant}: differs: {detail}")),
        Rebuilt::NotRebuilt { variant, needs, here } => {
            Verdict::NotJudged(format!("{variant}: not rebuilt: it needs {needs}; here is {here}"))
        }
    };
    Ok(rebuilt.into_iter().map(verdict).collect())
}

fn rejudge(searcher: &Searcher, plan: &Plan, entry: &Entry) -> Result<Verdict, Failure> {
    if let Err(reason) = searcher.can_judge(&plan.target) {
        return Ok(Verdict::NotJudged(format!("not judged: {reason}")));
    }
    Ok(match searcher.rejudge(plan, entry).map_err(Failure::machine)? {
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
    match searcher.judge_again(plan, entry).map_err(Failure::machine)? {
        Err(verdict) => Ok(Verdict::Wrong(format!("{verdict}; its record stays as it was"))),
        Ok(record) => {
            store.restate(entry, &record).map_err(Failure::machine)?;
            let variants = record.variants.len();
            entry.record = record;
            recorded.push(plan.key);
            Ok(Verdict::Right(format!("judged by gate {GATE} and recorded: {variants} variants passed")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failed, Verdict};

    /// The exit code after these verdicts.
    fn code(verdicts: &[Verdict]) -> u8 {
        let mut failed = Failed::default();
        verdicts.iter().for_each(|verdict| failed.note(verdict, verdict.text().to_owned()));
        failed.end().map_or_else(|failure| failure.code(), |()| 0)
    }

    #[test]
    fn the_machine_is_to_blame_only_where_it_is_for_everything() {
        let (right, wrong) =
            (|| Verdict::Right("passed".into()), || Verdict::Wrong("y[0] is 1, not 2".into()));
        let here = || Verdict::NotJudged("not judged: no driver".into());
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&[right(), right()]), 0);
        assert_eq!(code(&[right(), here()]), 3);
        assert_eq!(code(&[here(), here()]), 3);
        assert_eq!(code(&[here(), wrong()]), 1);
        assert_eq!(code(&[wrong(), here(), right()]), 1);
        let mut below = Failed::default();
        below.note(&here(), "not judged".to_owned());
        below.wrong("its evidence is below min-gate = 4".to_owned());
        assert_eq!(below.end().map_err(|failure| failure.code()), Err(1));
    }
}
