//! `accept`: winners from the user store, or from a results file of another machine, into the package. All of them are
//! looked into before any is copied; then the lock pins each as soon as the store has it, so that a kill leaves at most
//! one entry that is not pinned, which the next `accept` pins.

use std::path::Path;

use cutegen_build::accept::{self, Accepted};
use cutegen_build::discover::Project;
use cutegen_build::emit::{EmitKernel, linkable};
use cutegen_build::pipeline::{request, trust};
use cutegen_build::plan::Plan;
use cutegen_build::search::naive_as_printed;
use cutegen_build::store::change::Change;
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Entry, Lookup, Store, lock_file};
use cutegen_spec::digest::DigestStart;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::Record;

use crate::args::{Accept, Command};
use crate::evidence::witnesses;
use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::{host_sources, project, unpack};

/// Where results are looked for.
struct Sources<'a> {
    /// The user store, or what the file holds.
    from: Store,
    file: Option<&'a Path>,
    /// Host sources that no template wrote and that a person wants.
    wanted: Vec<DigestStart>,
    /// The package's own.
    own: Store,
}

/// What the sources have for the selected kernels.
#[derive(Default)]
struct Answers<'a> {
    /// To be accepted, and from where.
    new: Vec<(&'a Plan, &'a Store)>,
    /// How many lock and store have as they are.
    already: usize,
}

/// Copies every selected kernel's entry and pins it in the lock; nothing, where one of them is not as it must be.
pub(crate) fn run(command: &Command, verb: &Accept, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let unpacked = verb.results.as_deref().map(unpack::read_results).transpose()?;
    let from = match &unpacked {
        None => accept::user_store().map_err(Failure::machine)?,
        Some(folder) => Store::new(folder.path()),
    };
    let wanted = [project.settings.host_sources.as_slice(), &verb.host_source].concat();
    let sources = Sources { from, file: verb.results.as_deref(), wanted, own: Store::new(&project.store) };
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let answers = answers(&project, &plans, &lock, &sources, !verb.select.kernels.is_empty(), out)?;
    for (plan, from) in &answers.new {
        let mut change = Change::begin(&sources.own, &project.lock).map_err(Failure::project)?;
        let record = accept::accept(plan, from, &mut change).map_err(Failure::project)?;
        // the entry may be another one since it was looked into
        asked(plan, &record, &sources.wanted).map_err(Failure::Disagreement)?;
        change.write().map_err(Failure::project)?;
        let names: Vec<&str> = record.variants.iter().map(|v| v.name.as_str()).collect();
        // what a file brings was judged where it comes from
        let away = verb.results.as_ref().and_then(|_| witnesses(&record));
        let away = away.map(|by| format!("; {by}, by the word of the file, not here")).unwrap_or_default();
        let text = format!("{}: accepted {}{away}", plan.title(), names.join(", "));
        out.result(&text, &Accepted::of(plan, &record));
        let unlisted = host_sources::unlisted(plan, &record, &project.settings.host_sources);
        if !unlisted.is_empty() {
            out.note(&format!(
                "`check` fails until it is listed: {}",
                host_sources::to_list(&project, &unlisted)
            ));
        }
    }
    if answers.already > 0 {
        let nothing = if answers.new.is_empty() { "nothing new: " } else { "" };
        let text = format!("{nothing}{} accepted already", answers.already);
        out.result(&text, &serde_json::json!({ "already": answers.already }));
    }
    Ok(())
}

/// Whether lock and store have an entry as it is, evidence included.
fn is_accepted(project: &Project, plan: &Plan, lock: &Lock, entry: &Entry) -> bool {
    let own = Store::new(&project.store);
    replay(&request(plan, project, lock, &own)).is_ok()
        && own.get_full(&plan.key).hit().is_some_and(|mine| mine.record == entry.record)
}

/// What there is to accept, and from where; kernels that were `named` must all have a result.
fn answers<'a>(
    project: &Project,
    plans: &'a [Plan],
    lock: &Lock,
    sources: &'a Sources<'_>,
    named: bool,
    out: &Output,
) -> Result<Answers<'a>, Failure> {
    let (mut answers, mut failed) = (Answers::default(), Failures::default());
    for plan in plans {
        let is_unpinned = named && sources.file.is_none() && is_unpinned(project, plan, lock, &sources.own);
        match found(project, plan, &sources.from) {
            Ok(Some(entry)) if is_accepted(project, plan, lock, &entry) => answers.already += 1,
            Ok(Some(entry)) => match wanted(plan, &entry, &sources.wanted, out) {
                Ok(()) => answers.new.push((plan, &sources.from)),
                Err(reason) => failed.add(Failure::Disagreement(reason)),
            },
            Ok(None) if is_unpinned => match own(plan, sources, out) {
                Ok(()) => answers.new.push((plan, &sources.own)),
                Err(reason) => failed.add(Failure::Disagreement(reason)),
            },
            Ok(None) if !named => {}
            Ok(None) => failed.add(Failure::Disagreement(missing(plan, sources.file))),
            Err(reason) => failed.add(Failure::Disagreement(reason)),
        }
    }
    failed.end("nothing is accepted:\n")?;
    if answers.new.is_empty() && answers.already == 0 {
        let text = "there is no result for any kernel\nrun: cargo cutegen tune";
        return Err(Failure::Disagreement(text.to_owned()));
    }
    Ok(answers)
}

/// The store's entry for the plan; the error says what is wrong with it.
fn found(project: &Project, plan: &Plan, store: &Store) -> Result<Option<Entry>, String> {
    let (title, name) = (plan.title(), &plan.spec.name);
    match store.get_full(&plan.key) {
        Lookup::Miss => Ok(None),
        Lookup::Corrupt(corrupt) => Err(format!(
            "{title}: its result cannot be used\n  {corrupt}\nrun: cargo cutegen tune {name} --again"
        )),
        Lookup::Hit(entry) => {
            let kernel = EmitKernel { plan, record: &entry.record, artifacts: &entry.artifacts };
            linkable(&kernel).map_err(|error| error.to_string())?;
            naive_as_printed(plan, &entry)
                .map_err(|why| format!("{title}: {why}\nrun: cargo cutegen tune {name} --again"))?;
            let below = trust(plan, project, &entry.record);
            below.map_err(|below| format!("{}\nrun: cargo cutegen tune {name} --again", below.why()))?;
            Ok(Some(entry))
        }
    }
}

/// Whether a person wants what an entry has of host sources that no template wrote. Those that are left are printed.
fn wanted(plan: &Plan, entry: &Entry, wanted: &[DigestStart], out: &Output) -> Result<(), String> {
    let open = host_sources::unlisted(plan, &entry.record, wanted);
    let sources = entry.record.variants.iter().zip(&entry.sources);
    for (variant, source) in sources.filter(|(variant, _)| open.contains(variant)) {
        let (text, digest) = (String::from_utf8_lossy(source), variant.source.digest.to_string());
        let value = serde_json::json!({
            "kernel": plan.spec.name.to_string(), "variant": variant.name, "origin": variant.origin, "digest": digest,
            "source": text,
        });
        out.result(&format!("{}:\n{text}", variant.source.file), &value);
    }
    asked(plan, &entry.record, wanted)
}

fn asked(plan: &Plan, record: &Record, wanted: &[DigestStart]) -> Result<(), String> {
    let open = host_sources::unlisted(plan, record, wanted);
    if open.is_empty() { Ok(()) } else { Err(host_sources::refusal(plan, &open)) }
}

/// The same of the package's own entry that is to be pinned.
fn own(plan: &Plan, sources: &Sources<'_>, out: &Output) -> Result<(), String> {
    match sources.own.get_full(&plan.key).hit() {
        Some(entry) => wanted(plan, &entry, &sources.wanted, out),
        None => Ok(()),
    }
}

/// Whether an accept that was cut short left a searched entry in the package's store.
fn is_unpinned(project: &Project, plan: &Plan, lock: &Lock, own: &Store) -> bool {
    replay(&request(plan, project, lock, own)).is_err_and(|error| error.is_searched)
}

fn missing(plan: &Plan, file: Option<&Path>) -> String {
    let (title, name) = (plan.title(), &plan.spec.name);
    match file {
        None => format!("there is no result for {title}\nrun: cargo cutegen tune {name}"),
        Some(file) => {
            let file = file.display();
            format!(
                "there is no result for {title} in {file}\nrun: cargo cutegen tune {name} --results {file}"
            )
        }
    }
}
