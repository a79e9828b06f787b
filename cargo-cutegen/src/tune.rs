//! `tune`: the search, in the foreground. Winners go to the user store; `accept` brings them into the package.

use cutegen_build::generate::template;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::{Cause, ReplayError, replay_full};
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::digest::CacheKey;

use crate::args::{Command, Tune};
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::{pack, project};

/// What became of the kernels so far.
#[derive(Default)]
struct Session {
    /// Of those in the user store.
    keys: Vec<CacheKey>,
    /// Titles of those that this machine cannot judge.
    refused: Vec<String>,
    failed: Failures,
}

/// Searches every selected kernel whose target this machine can judge. What fails of one is told, and the next one's turn
/// comes.
pub(crate) fn run(command: &Command, verb: &Tune, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let mut kept = Kept::new(verb.results.as_deref())?;
    let searcher = Searcher::new().map_err(Failure::machine)?.with_peers(verb.peers);
    let store = Store::new(&project.store);
    let mut session = Session::default();
    for plan in &plans {
        let named = verb.select.target.is_some() || !verb.select.kernels.is_empty();
        match searcher.can_judge(&plan.target) {
            Ok(()) => {}
            Err(reason) if named && plans.len() == 1 => return Err(Failure::Machine(reason)),
            Err(reason) => {
                out.note(&format!("{}: skipped: {reason}", plan.title()));
                session.refused.push(plan.title());
                continue;
            }
        }
        let locked = pinned(replay_full(&request(plan, &project, &lock, &store)), out);
        match one(&searcher, plan, (locked.as_ref(), verb.again), out) {
            Ok(()) => {
                session.keys.push(plan.key);
                kept.write(|file| pack::write_results(searcher.store(), &session.keys, file));
            }
            Err(failure) => {
                out.note(&failure.to_string());
                session.failed.add(failure);
            }
        }
    }
    kept.end((&mut session.failed, out));
    session.end(out)
}

/// What is locked and to be beaten. What the lock does not pin has to be beaten by nobody, which is said.
fn pinned(found: Result<Entry, ReplayError>, out: &Output) -> Option<Entry> {
    let error = match found {
        Ok(entry) => return Some(entry),
        Err(error) => error,
    };
    if matches!(&*error.cause, Cause::BytesDiffer { .. } | Cause::EntryCorrupt(_)) {
        out.note(&format!("searching without what is locked: {error}"));
    }
    None
}

/// Searches for what beats the `locked` entry; `again` although the user store has an answer.
fn one(
    searcher: &Searcher,
    plan: &Plan,
    (locked, again): (Option<&Entry>, bool),
    out: &Output,
) -> Result<(), Failure> {
    if let Some(why) = template::unfilled(plan) {
        out.note(&format!("{}: no template fills this: {why}", plan.title()));
    }
    let mut events = out.reporter();
    let entry = match again {
        true => searcher.search(plan, locked, &mut events),
        false => searcher.find(plan, locked, &mut events),
    };
    let entry = entry.map_err(|error| Failure::machine_at(&plan.title(), error))?;
    let names: Vec<&str> = entry.record.variants.iter().map(|v| v.name.as_str()).collect();
    out.note(&format!("{}: in the user store: {}", plan.title(), names.join(", ")));
    Ok(())
}

impl Session {
    fn end(self, out: &Output) -> Result<(), Failure> {
        if !self.keys.is_empty() {
            out.note("next: cargo cutegen accept");
        }
        if self.keys.is_empty() && self.failed.is_empty() {
            return Err(Failure::Machine(format!("nothing was tuned: {}", self.refused.join(", "))));
        }
        self.failed.end("not tuned:\n")
    }
}
