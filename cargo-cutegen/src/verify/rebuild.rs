//! `verify --rebuild`: the stored sources of locked kernels compiled again, all cores at it, to the locked bytes or not; and
//! naive kernels launched as the math says, whether or not they are compiled.

use cutegen_build::discover::Project;
use cutegen_build::pipeline::trust;
use cutegen_build::plan::Plan;
use cutegen_build::search::{Rebuilt, Searcher, Stored, naive_as_printed};
use cutegen_build::store::{Entry, Store, lock_file};

use super::known::Known;
use super::{Verdict, not_seen, whole_entry};
use crate::args::Verify;
use crate::failure::{Failure, Failures};
use crate::output::Output;

/// Rebuilds every selected variant that no list has; fails when one of them is not what is locked, once all were compiled.
pub(super) fn run(project: &Project, plans: &[Plan], verb: &Verify, out: &Output) -> Result<(), Failure> {
    let mut known = Known::read(verb.known.as_deref())?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let mut failed = Failures::default();
    let entries = entries(project, plans, (&mut failed, out))?;
    // bytes say nothing of how they are launched; of a naive kernel the math does
    for (plan, entry) in &entries {
        let wrong = naive_as_printed(plan, entry).err().map(Verdict::Wrong);
        wrong.into_iter().for_each(|wrong| wrong.tell(plan, (&mut failed, out)));
    }
    let (listed, sources): (Vec<_>, Vec<_>) =
        entries.iter().flat_map(stored).partition(|stored| known.has(stored));
    let tell = &mut |at: usize, rebuilt: Result<Rebuilt, _>| {
        let stored: &Stored<'_> = &sources[at];
        match rebuilt {
            Ok(rebuilt) => {
                if matches!(rebuilt, Rebuilt::Same { .. }) {
                    known.add(stored);
                }
                verdict(rebuilt).tell(stored.plan, (&mut failed, out));
            }
            Err(error) => {
                not_seen(stored.plan, Failure::machine_at(&stored.plan.title(), error), (&mut failed, out));
            }
        }
    };
    searcher.rebuild(&sources, tell).map_err(Failure::machine)?;
    for (plan, entry) in &entries {
        trust(plan, project, &entry.record).err().into_iter().for_each(|e| failed.add(Failure::project(e)));
    }
    if !listed.is_empty() {
        out.note(&format!("{} variants are listed as rebuilt, {} are not", listed.len(), sources.len()));
    }
    verb.write_known.as_deref().map_or(Ok(()), |path| known.write(path))?;
    failed.end("not verified:\n")
}

/// The pinned entries with their sources; what cannot be read is told.
fn entries<'a>(
    project: &Project,
    plans: &'a [Plan],
    (failed, out): (&mut Failures, &Output),
) -> Result<Vec<(&'a Plan, Entry)>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let mut entries = Vec::new();
    for plan in plans {
        match whole_entry(project, &lock, &store, plan) {
            Ok(entry) => entries.push((plan, entry)),
            Err(failure) => not_seen(plan, failure, (failed, out)),
        }
    }
    Ok(entries)
}

fn stored<'a>((plan, entry): &'a (&Plan, Entry)) -> impl Iterator<Item = Stored<'a>> {
    let pairs = entry.record.variants.iter().zip(&entry.sources);
    pairs.map(move |(variant, source)| Stored { plan, variant, source })
}

fn verdict(rebuilt: Rebuilt) -> Verdict {
    match rebuilt {
        Rebuilt::Same { variant } => Verdict::Right(format!("{variant}: rebuilt to the locked bytes")),
        Rebuilt::Differs { variant, detail } => Verdict::Wrong(format!("{variant}: differs: {detail}")),
        Rebuilt::NotRebuilt { variant, needs, here } => {
            Verdict::NotJudged(format!("{variant}: not rebuilt: it needs {needs}; here is {here}"))
        }
    }
}
