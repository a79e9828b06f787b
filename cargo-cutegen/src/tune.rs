//! `tune`: the search, in the foreground. Winners go to the user store; `accept` brings them into the package.

use cutegen_build::search::Searcher;
use cutegen_build::store::Store;

use crate::args::{Command, Tune};
use crate::failure::Failure;
use crate::output::Output;
use crate::{pack, project};

/// Searches every selected kernel whose target this machine can judge.
pub(crate) fn run(command: &Command, verb: &Tune, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let searcher = Searcher::new().map_err(Failure::machine)?.with_peers(verb.peers);
    let store = Store::new(&project.store);
    let mut events = out.reporter();
    let (mut keys, mut refused) = (Vec::new(), Vec::new());
    for plan in &plans {
        let named = verb.select.target.is_some() || !verb.select.kernels.is_empty();
        match searcher.can_judge(&plan.target) {
            Ok(()) => {}
            Err(reason) if named && plans.len() == 1 => return Err(Failure::Machine(reason)),
            Err(reason) => {
                out.note(&format!("{}: skipped: {reason}", plan.title()));
                refused.push(plan.title());
                continue;
            }
        }
        let locked = store.get_full(&plan.key).hit();
        let entry = match verb.again {
            true => searcher.search(plan, locked.as_ref(), &mut events),
            false => searcher.find(plan, &mut events),
        };
        let entry = entry.map_err(Failure::machine)?;
        let names: Vec<&str> = entry.record.variants.iter().map(|v| v.name.as_str()).collect();
        out.note(&format!("{}: in the user store: {}", plan.title(), names.join(", ")));
        keys.push(plan.key);
    }
    if let Some(file) = &verb.results {
        pack::write_results(searcher.store(), &keys, file)?;
        out.note(&format!("results: {}", file.display()));
    }
    if keys.is_empty() && !refused.is_empty() {
        return Err(Failure::Machine(format!("nothing was tuned: {}", refused.join(", "))));
    }
    out.note("next: cargo cutegen accept");
    Ok(())
}
