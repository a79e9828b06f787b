//! What `lock` does with a lock of version 1: all that it pins is pinned by the present version, with its records
//! rewritten; `lock` renews it then, so that naive kernels are those of today's printer. Everything is read and compared before anything is written; then the records, then the lock, so that a kill
//! in between leaves a lock of version 1 that the next run migrates.
//!
//! Invariant: no tuned entry is given up. Where one cannot be migrated, nothing is.

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::search::{Migrated, migrated};
use cutegen_build::store::{Entry, Store};
use cutegen_spec::lock::{Lock, Locked, State, v1};
use cutegen_spec::record::Record;
use serde::Serialize;

use crate::failure::{Failure, Failures};
use crate::output::Output;

/// A lock of the present version, and what it took.
#[derive(Default)]
pub(crate) struct Migration {
    /// The lock.
    pub(crate) lock: Lock,
    /// Tuned kernels whose spec has moved: they stay as they are locked.
    pub(crate) moved: Vec<(String, String)>,
    renewed: Vec<(Entry, Record)>,
    told: Told,
}

/// What a migration did, for `--json`.
#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Told {
    /// Kernels that are pinned by the present version.
    migrated: usize,
    /// Kernels whose naive one is not made anew: their spec does not ask the locked question any more.
    not_renewed: Vec<String>,
    /// Untuned kernels that are compiled anew, each with the reason.
    dropped: Vec<String>,
    /// Variants without tiles: no template proposes them by their name any more.
    without_tiles: Vec<String>,
}

/// Brings `old` and the records that it pins to the present version. The caller writes the lock.
pub(crate) fn migrate(project: &Project, store: &Store, old: &v1::Lock) -> Result<Migration, Failure> {
    let plans = Plan::all(&project.specs);
    let (mut migration, mut failed) = (Migration::default(), Failures::default());
    for locked in &old.kernels {
        let title = format!("{} for {}", locked.name, locked.target);
        let plan = plans.iter().find(|plan| {
            (plan.spec.name.as_str(), &plan.target.to_string()) == (&locked.name, &locked.target)
        });
        let is_tuned = locked.state == State::Tuned;
        match taken(store, locked, plan.filter(|plan| plan.key == locked.key)) {
            Ok(taken) => migration.take(locked, taken, &title),
            Err(why) if is_tuned && plan.is_some() => {
                failed.add(Failure::Disagreement(refused(&title, &why)))
            }
            Err(why) => migration.told.dropped.push(format!("{title}: {why}")),
        }
        if is_tuned && plan.is_some_and(|plan| plan.key != locked.key) {
            migration.moved.push((locked.name.clone(), locked.target.clone()));
        }
    }
    failed.end("the lock is of version 1, and nothing of it is migrated:\n")?;
    for (entry, record) in &migration.renewed {
        store.renew(entry, record).map_err(Failure::machine)?;
    }
    Ok(migration)
}

/// The record of today for a lock of today, whose entry alone is of version 1; none where it is not.
pub(crate) fn renew(store: &Store, plan: &Plan, lock: &Lock) -> Result<bool, Failure> {
    let Some(locked) = lock.get(plan.spec.name.as_str(), &plan.target.to_string()) else { return Ok(false) };
    let Ok(entry) = store.get_old(&locked.key) else { return Ok(false) };
    let Migrated { record, .. } = migrated(plan, &entry);
    let is_pinned = locked.matches(&record);
    if is_pinned {
        store.renew(&entry, &record).map_err(Failure::machine)?;
    }
    Ok(is_pinned)
}

/// An entry and its record of today, with the variants that lack tiles; `plan` is none where no spec asks its question.
struct Taken {
    entry: Entry,
    migrated: Migrated,
    is_asked: bool,
}

fn taken(store: &Store, locked: &v1::Locked, plan: Option<&Plan>) -> Result<Taken, String> {
    let entry = store.get_old(&locked.key).map_err(|corrupt| corrupt.to_string())?;
    if !locked.matches(&entry.record) {
        return Err(format!("{} is whole, but not the one that the lock pins", entry.dir.display()));
    }
    let migrated = match plan {
        Some(plan) => migrated(plan, &entry),
        None => Migrated { record: entry.record.clone(), untiled: Vec::new() },
    };
    Ok(Taken { entry, migrated, is_asked: plan.is_some() })
}

fn refused(title: &str, why: &str) -> String {
    format!(
        "{title}: {why}\n  restore its entry; or delete its table from the lock, to have it locked untuned\n\
         run: git status"
    )
}

impl Migration {
    fn take(&mut self, locked: &v1::Locked, taken: Taken, title: &str) {
        let Taken { entry, migrated: Migrated { record, untiled }, is_asked } = taken;
        self.lock.set(Locked::pin(&locked.name, &locked.target, &record));
        self.renewed.push((entry, record));
        self.told.migrated += 1;
        self.told.without_tiles.extend(untiled.iter().map(|variant| format!("{title}: {variant}")));
        if !is_asked {
            self.told.not_renewed.push(title.to_owned());
        }
    }

    /// Says what was done, once the lock is written.
    pub(crate) fn tell(&self, out: &Output) {
        let Told { migrated, not_renewed, dropped, without_tiles } = &self.told;
        let mut lines = vec![format!("{migrated} kernels migrated from lock version 1")];
        let mut list = |head: &str, items: &[String]| {
            lines.extend((!items.is_empty()).then(|| head.to_owned()));
            lines.extend(items.iter().map(|item| format!("  {item}")));
        };
        list("with the naive kernel that was locked, as their specs have moved:", not_renewed);
        list("not migrated:", dropped);
        list("without tiles, as no template proposes them by these names any more:", without_tiles);
        out.result(&lines.join("\n"), &self.told);
    }

    /// Whether it is a tuned kernel of another question.
    pub(crate) fn has_moved(&self, plan: &Plan) -> bool {
        let target = plan.target.to_string();
        self.moved.iter().any(|moved| (moved.0.as_str(), &moved.1) == (plan.spec.name.as_str(), &target))
    }
}
