//! `accept`: winners from the user store, or from a results file of another machine, into the package.

use cutegen_build::accept::{self, Accepted};
use cutegen_build::store::{Lookup, Store, lock_file};

use crate::args::{Accept, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::{pack, project};

/// Copies every selected kernel's entry and pins it in the lock.
pub(crate) fn run(command: &Command, verb: &Accept, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let unpacked;
    let from = match &verb.results {
        None => accept::user_store().map_err(Failure::machine)?,
        Some(file) => {
            unpacked = pack::read_results(file)?;
            Store::new(unpacked.path())
        }
    };
    let mut lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let mut accepted = 0;
    for plan in &plans {
        match from.get_full(&plan.key) {
            Lookup::Hit(_) => {
                let record = accept::accept(&project, plan, &from, &mut lock).map_err(Failure::project)?;
                accepted += 1;
                let names: Vec<&str> = record.variants.iter().map(|v| v.name.as_str()).collect();
                let text = format!("{}: accepted {}", plan.title(), names.join(", "));
                out.result(&text, &Accepted::of(plan, &record));
            }
            Lookup::Miss if verb.select.kernels.is_empty() => {}
            Lookup::Miss => {
                let (title, name) = (plan.title(), &plan.spec.name);
                return Err(Failure::Disagreement(format!(
                    "there is no result for {title}\nrun: cargo cutegen tune {name}"
                )));
            }
            Lookup::Corrupt(corrupt) => return Err(Failure::project(corrupt)),
        }
    }
    if accepted == 0 {
        return Err(Failure::Disagreement(
            "there is no result for any kernel\nrun: cargo cutegen tune".to_owned(),
        ));
    }
    lock_file::write(&project.lock, &lock).map_err(Failure::project)?;
    Ok(())
}
