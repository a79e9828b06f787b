//! `tune`: the search, in the foreground. Winners go to the user store; `accept` brings them into the package.

mod asked;
mod counts;
#[cfg(feature = "model")]
mod dry_run;
mod from_runs;
mod kinds;
mod one;
mod targets;

#[cfg(not(feature = "model"))]
use cutegen_build::discover::Project;
use cutegen_build::generate::template;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::refine::Choice;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::{Cause, ReplayError, replay, replay_full};
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::digest::CacheKey;

use crate::args::{Command, Tune};
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::runs::Runs;
use crate::skipped::Skipped;
use crate::{pack, project};
use asked::Model;
use counts::{Counts, Turn};
use kinds::Kinds;
use one::{Asked, Tuning};

/// What became of the kernels so far.
#[derive(Default)]
struct Session {
    counts: Counts,
    /// Of those in the user store.
    keys: Vec<CacheKey>,
    /// Those that this machine cannot judge.
    refused: Skipped,
    failed: Failures,
}

/// Searches every selected kernel that a template fills and whose target this machine can judge. What fails of one is told,
/// and the next one's turn comes.
pub(crate) fn run(command: &Command, verb: &Tune, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    if let (true, Some(endpoint)) = (verb.dry_run, &verb.how.endpoint) {
        return dry_run((&project, &plans), verb, endpoint, out);
    }
    let kinds = Kinds::of(verb, &plans, out)?;
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let mut kept = Kept::new(verb.results.as_deref())?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let searcher = searcher.with_peers(verb.how.peers).with_choice(choice(verb));
    let (store, runs) = (Store::new(&project.store), Runs::of(&project));
    let model =
        plans.iter().any(|plan| kinds.asks_model(plan)).then(|| Model::of(&project, verb)).transpose()?;
    let named = verb.select.target.is_some() || !verb.select.kernels.is_empty();
    let is_one = plans.len() == 1;
    let mut session = Session { counts: Counts::among(plans.len()), ..Session::default() };
    let is_tuned = |plan: &Plan| {
        let locked = replay(&request(plan, &project, &lock, &store)).ok();
        let found = locked.or_else(|| searcher.store().get(&plan.key).hit());
        found.is_some_and(|entry| entry.record.is_tuned())
    };
    let plans = if verb.select.target.is_none() { session.here(plans, &searcher) } else { plans };
    let is_searched =
        |plan: &Plan| verb.judge_naive || is_tuned(plan) || from_runs::are_any(&searcher, &runs, plan);
    let tuning = Tuning { searcher: &searcher, runs: &runs, model: model.as_ref(), again: verb.again, out };
    for plan in session.filled(plans, |plan| is_searched(plan) || kinds.asks_model(plan), out) {
        match searcher.can_judge(&plan.target) {
            Ok(()) => {}
            Err(reason) if named && is_one => return Err(Failure::Machine(reason)),
            Err(reason) => {
                session.refused.add(plan.title(), format!("skipped: {reason}"));
                continue;
            }
        }
        let locked = pinned(replay_full(&request(&plan, &project, &lock, &store)), out);
        let has_space = template::unfilled(&plan).is_none() || is_searched(&plan);
        let asked = kinds.of_plan(&plan).map(|order| Asked { order, has_space });
        let entry = asked.and_then(|asked| tuning.one(&plan, locked.as_ref(), &asked));
        match entry {
            Ok(entry) => {
                let (turn, is_new) = turn(locked.as_ref(), entry.as_ref());
                session.counts.add(turn, is_new);
                session.keys.extend(entry.map(|_| plan.key));
                kept.write(|file| pack::write_results(searcher.store(), &session.keys, file));
            }
            Err(failure) => {
                if !is_one {
                    out.note(&failure.to_string());
                }
                session.failed.add(failure);
            }
        }
    }
    kept.end((&mut session.failed, out));
    session.end(out)
}

/// How answers are chosen: what the flags leave out is the default.
fn choice(verb: &Tune) -> Choice {
    let default = Choice::default();
    let finalists = verb.finalists.map_or(default.finalists, usize::from);
    Choice { worth: verb.worth.unwrap_or(default.worth), finalists }
}

#[cfg(feature = "model")]
use dry_run::dry_run;

#[cfg(not(feature = "model"))]
fn dry_run(_: (&Project, &[Plan]), _: &Tune, _: &str, _: &Output) -> Result<(), Failure> {
    Err(crate::runs::generator::no_models())
}

/// What is locked and to be beaten. What the lock does not pin need not be beaten, which is said.
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

impl Session {
    /// The plans that this machine's card has a turn for, if there is one; a kernel that it runs no target of is refused.
    fn here(&mut self, plans: Vec<Plan>, searcher: &Searcher) -> Vec<Plan> {
        let Ok(card) = searcher.card() else { return plans };
        let (taken, refused) = targets::taken(plans, &card);
        refused.into_iter().for_each(|(title, reason)| self.refused.add(title, reason));
        taken
    }

    /// The plans that a template fills, and others that are `wanted`: an entry that was tuned otherwise can be re-verified.
    /// Why no template fills them is told.
    fn filled(&mut self, plans: Vec<Plan>, wanted: impl Fn(&Plan) -> bool, out: &Output) -> Vec<Plan> {
        let mut filled = Vec::new();
        for plan in plans {
            let Some(why) = template::unfilled(&plan) else {
                filled.push(plan);
                continue;
            };
            let is_searched = wanted(&plan);
            let what = if is_searched { "" } else { "skipped: " };
            out.note(&format!("{}: {what}no template fills this: {why}", plan.title()));
            if is_searched { filled.push(plan) } else { self.counts.no_template += 1 }
        }
        if self.counts.no_template > 0 {
            out.note("to judge naive kernels all the same: cargo cutegen tune --judge-naive");
        }
        filled
    }

    fn end(mut self, out: &Output) -> Result<(), Failure> {
        let is_idle = !self.counts.has_turns() && self.failed.is_empty() && self.counts.no_template == 0;
        let refused = self.refused.lines();
        if is_idle {
            return Err(Failure::Machine(format!("nothing was tuned:\n{}", refused.join("\n"))));
        }
        refused.iter().for_each(|line| out.note(line));
        (self.counts.not_here, self.counts.failed) = (self.refused.len(), self.failed.len());
        out.news(&self.counts.told(), &self.counts);
        self.failed.end("not tuned:\n")
    }
}

/// What a search came to whose answer is this entry, and whether the package has it not.
fn turn(locked: Option<&Entry>, entry: Option<&Entry>) -> (Turn, bool) {
    let Some(entry) = entry else { return (Turn::Naive, false) };
    let bytes =
        |entry: &Entry| -> Vec<_> { entry.record.variants.iter().map(|v| v.artifact.artifact).collect() };
    let turn = match (entry.record.is_tuned(), locked) {
        (false, _) => Turn::Naive,
        (true, Some(locked)) if bytes(locked) == bytes(entry) => Turn::Stays,
        (true, _) => Turn::Faster,
    };
    (turn, one::is_new(locked, entry))
}
