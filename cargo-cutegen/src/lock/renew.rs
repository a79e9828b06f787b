//! `lock --renew`: what is locked, as today's printer and compilers make it. Tuned cubins, and how each question is
//! dispatched, stay. Each entry is written with its lock in one change; a kill between the two is seen at the next run, and
//! gone on with.
//!
//! Invariant: nothing is pinned that is neither pinned already nor made here from the math or a pinned source.

use std::collections::BTreeMap;

use cutegen_build::accept;
use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::search::{Renewed, Searcher};
use cutegen_build::store::lock_file::{self, Written};
use cutegen_build::store::{Entry, Store};
use cutegen_spec::lock::{Lock, Locked, Pinned, State};
use cutegen_spec::record::{Kind, Record, Variant};
use cutegen_spec::target::Target;
use serde::Serialize;

use super::begin;
use crate::failure::{Failure, Failures};
use crate::output::Output;

/// What became of a kernel, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    kernel: String,
    /// Variants that are others now.
    renewed: Vec<String>,
    /// Variants as they were: their source does not compile any more.
    stuck: Vec<String>,
}

/// How many there were, for `--json`.
#[derive(Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Count {
    renewed: usize,
    unchanged: usize,
}

/// Kernels that ask the same, what is locked for them, and what the store has.
struct Old<'a> {
    plans: Vec<&'a Plan>,
    locked: Locked,
    /// Variants that the lock does not pin as they lie there: they have to be what is made today.
    open: Vec<String>,
}

/// Renews what is locked of `plans`; fails where a variant does not compile any more, once all others were looked at.
pub(super) fn run(project: &Project, store: &Store, plans: &[Plan], out: &Output) -> Result<(), Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let (olds, entries): (Vec<Old<'_>>, Vec<(&Plan, Entry)>) =
        locked(store, plans, &lock).into_iter().unzip();
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let (mut failed, mut count) = (Failures::default(), Count::default());
    searcher.renew(&entries, &mut |at, renewed| {
        let (old, (plan, entry)) = (&olds[at], &entries[at]);
        let renewed = renewed.map_err(|error| Failure::machine_at(&plan.title(), error));
        match renewed.and_then(|renewed| Ok((write(project, store, (old, entry), &renewed)?, renewed))) {
            Ok((is_new, renewed)) => old.tell(is_new, &renewed, (&mut count, &mut failed, out)),
            Err(failure) => failed.add(failure),
        }
    });
    let text = format!("{} kernels renewed, {} as they were", count.renewed, count.unchanged);
    out.result(&text, &count);
    if count.renewed > 0 {
        out.note("nothing has judged what is renewed; where the device is: cargo cutegen verify --record");
    }
    failed.end("not renewed:\n")
}

/// What the lock pins for `plans`, with whole entries. The rest is for `lock` itself.
fn locked<'a>(store: &Store, plans: &'a [Plan], lock: &Lock) -> Vec<(Old<'a>, (&'a Plan, Entry))> {
    let mut groups: BTreeMap<_, Vec<&Plan>> = BTreeMap::new();
    plans.iter().for_each(|plan| groups.entry(plan.key).or_default().push(plan));
    let old = |(key, plans): (_, Vec<&'a Plan>)| {
        let locked = plans.iter().find_map(|plan| locked_for(plan, lock))?.clone();
        let entry = store.get_full(&key).hit()?;
        let open = open(&locked, &entry.record)?;
        let plan = plans[0];
        Some((Old { plans, locked, open }, (plan, entry)))
    };
    groups.into_iter().filter_map(old).collect()
}

/// What the lock has for today's question.
fn locked_for<'a>(plan: &Plan, lock: &'a Lock) -> Option<&'a Locked> {
    let locked = lock.get(plan.spec.name.as_str(), &plan.target.to_string())?;
    (locked.key == plan.key).then_some(locked)
}

/// Names of variants that are not pinned as they lie there, where a renewal may have made all of them; none where something
/// else must have.
fn open(locked: &Locked, record: &Record) -> Option<Vec<String>> {
    let mut open = Vec::new();
    if locked.variants.len() != record.variants.len() {
        return None;
    }
    for (pinned, variant) in locked.variants.iter().zip(&record.variants) {
        match () {
            () if *pinned == Pinned::of(variant) => {}
            () if may_come_of(pinned, variant, &locked.target) => open.push(variant.name.clone()),
            () => return None,
        }
    }
    Some(open)
}

/// Whether a renewal may have made `variant` of the pinned one: any naive kernel, and of the host's one with other bytes.
fn may_come_of(pinned: &Pinned, variant: &Variant, target: &str) -> bool {
    let mut before = variant.clone();
    (before.artifact.artifact, before.artifact.stored) = (pinned.artifact, pinned.stored);
    match variant.kind {
        Kind::Naive => pinned.name == variant.name,
        Kind::Tuned | Kind::Predicted => is_host(target) && *pinned == Pinned::of(&before),
    }
}

fn is_host(target: &str) -> bool {
    Target::parse(target).is_ok_and(|target| target.is_host())
}

/// Why a plain `lock` must leave this kernel alone: its entry is more than a naive kernel, and a renewal was killed before it
/// was pinned.
pub(super) fn cut_short(plan: &Plan, store: &Store, lock: &Lock) -> Option<Failure> {
    let (locked, entry) = (locked_for(plan, lock)?, store.get_full(&plan.key).hit()?);
    let is_more = State::of(&entry.record) != State::Untuned;
    let is_open = is_more && open(locked, &entry.record).is_some_and(|open| !open.is_empty());
    let (title, name) = (plan.title(), &plan.spec.name);
    is_open.then(|| {
        Failure::Disagreement(format!(
            "{title}: it was renewed, and is not pinned yet\nrun: cargo cutegen lock --renew {name}"
        ))
    })
}

/// Writes an entry and its lock; whether anything changed.
fn write(
    project: &Project,
    store: &Store,
    (old, entry): (&Old<'_>, &Entry),
    renewed: &Renewed,
) -> Result<bool, Failure> {
    let plan = old.plans[0];
    let (title, name) = (plan.title(), &plan.spec.name);
    if let Some(variant) = old.open.iter().find(|open| renewed.changed.contains(open)) {
        let text = format!("{title}: `{variant}` is neither what the lock pins nor what is made today");
        return Err(Failure::Disagreement(format!("{text}\nrun: git status")));
    }
    let mut change = begin(project, store)?;
    if !change.lock.kernels.contains(&old.locked) {
        let text = format!("{title}: it was locked otherwise meanwhile");
        return Err(Failure::Disagreement(format!("{text}\nrun: cargo cutegen lock --renew {name}")));
    }
    let made = (&renewed.record, &renewed.files);
    accept::renewed(plan, entry, made, &mut change).map_err(|error| Failure::machine_at(&title, error))?;
    let written = change.write().map_err(Failure::project)?;
    Ok(written == Written::Changed || !renewed.changed.is_empty())
}

impl Old<'_> {
    /// Prints a line for each kernel, and keeps what did not compile.
    fn tell(
        &self,
        is_new: bool,
        renewed: &Renewed,
        (count, failed, out): (&mut Count, &mut Failures, &Output),
    ) {
        for plan in &self.plans {
            let title = plan.title();
            let what = match (is_new, renewed.changed.as_slice()) {
                (false, _) => "as it was".to_owned(),
                (true, []) => "renewed before, pinned now".to_owned(),
                (true, changed) => format!("renewed: {}", changed.join(", ")),
            };
            *(if is_new { &mut count.renewed } else { &mut count.unchanged }) += 1;
            let stuck = renewed.stuck.iter().map(|(variant, _)| variant.clone()).collect();
            let line = Line { kernel: title.clone(), renewed: renewed.changed.clone(), stuck };
            out.result(&format!("{title}: {what}"), &line);
            for (variant, why) in &renewed.stuck {
                let (name, target) = (&plan.spec.name, &plan.target);
                failed.add(Failure::Disagreement(format!(
                    "{title}: `{variant}` stays as it was, its source does not compile any more: {why}\n\
                     run: cargo cutegen tune {name} --again --target {target}"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::digest::ArtifactDigest;
    use cutegen_spec::lock::Locked;
    use cutegen_spec::record::Record;

    use super::open;

    /// A committed record that has a tuned and a naive variant.
    fn record(target: &str) -> Record {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../example-app/cutegen-store/v1");
        let below = |folder: &std::path::Path| -> Vec<_> {
            std::fs::read_dir(folder).expect("a folder").map(|item| item.expect("listed").path()).collect()
        };
        let entries = below(root.as_ref()).into_iter().flat_map(|prefix| below(&prefix));
        let texts =
            entries.map(|entry| std::fs::read_to_string(entry.join("record.toml")).expect("a record"));
        let mut records = texts.map(|text| Record::parse(&text).expect("parses"));
        let is_it =
            |r: &Record| r.is_tuned() && r.question.field("target").is_some_and(|t| t.starts_with(target));
        records.find(is_it).expect("one is committed")
    }

    #[test]
    fn only_what_a_renewal_may_change_is_open() {
        let other = ArtifactDigest::of(b"other");
        for (target, tuned_may) in [("host", true), ("sm_90a", false)] {
            let record = record(target);
            let locked = Locked::pin("k", record.question.field("target").expect("has one"), &record);
            let open_after = |edit: &dyn Fn(&mut Record)| {
                let mut edited = record.clone();
                edit(&mut edited);
                open(&locked, &edited)
            };
            assert_eq!(open_after(&|_| {}), Some(Vec::new()));
            let last = record.variants.len() - 1;
            let naive = open_after(&|r| r.variants[last].source.digest = other);
            assert_eq!(naive, Some(vec!["naive".to_owned()]));
            let bytes = open_after(&|r| {
                (r.variants[0].artifact.artifact, r.variants[0].artifact.stored) = (other, other);
            });
            assert_eq!(bytes, tuned_may.then(|| vec![record.variants[0].name.clone()]));
            let source = open_after(&|r| r.variants[0].source.digest = other);
            assert_eq!(source, None, "a tuned source is pinned");
            assert_eq!(open_after(&|r| drop(r.variants.remove(0))), None, "and so is how many there are");
            assert_eq!(
                open_after(&|r| r.variants[0].tiles.clear()).is_none(),
                !record.variants[0].tiles.is_empty()
            );
        }
    }
}
