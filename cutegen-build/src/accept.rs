//! Accept: an entry becomes the package's answer. Copies it into the package's store and pins its bytes in the lock;
//! nothing else ever writes there. Killed at any moment it leaves whole entries, one of which the lock may not pin yet;
//! accepting again mends that.

use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use serde::Serialize;

use crate::cargo;
use crate::discover::Project;
use crate::error::Error;
use crate::home;
use crate::plan::Plan;
use crate::store::accept_copy::transfer;
use crate::store::{Lookup, Store};

/// What was accepted, for `--json`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Accepted {
    /// The kernel.
    pub kernel: String,
    /// Its target.
    pub target: String,
    /// Its key.
    pub key: String,
    /// Variants in dispatch order with the digest of each artifact.
    pub variants: Vec<(String, String)>,
}

impl Accepted {
    /// Describes `record` as the answer to `plan`.
    #[must_use]
    pub fn of(plan: &Plan, record: &Record) -> Self {
        let variant = |v: &cutegen_spec::record::Variant| (v.name.clone(), v.artifact.artifact.to_string());
        Self {
            kernel: plan.spec.name.to_string(),
            target: plan.target.to_string(),
            key: record.key.to_string(),
            variants: record.variants.iter().map(variant).collect(),
        }
    }
}

/// The user's own store.
pub fn user_store() -> Result<Store, Error> {
    let folder = home::store(cargo::variable_os).map_err(|error| Error::Setting(error.to_string()))?;
    Ok(Store::new(folder))
}

/// Copies the entry for `plan` from `from` into the project's store, verified on both sides, and pins it in `lock` for
/// every kernel that asks the same. The caller writes the lock before it accepts another one.
pub fn accept(project: &Project, plan: &Plan, from: &Store, lock: &mut Lock) -> Result<Record, Error> {
    let to = Store::new(&project.store);
    transfer(from, &to, &plan.key)?;
    let record = match to.get(&plan.key) {
        Lookup::Hit(entry) => entry.record,
        Lookup::Miss => {
            return Err(Error::Setting(format!("the entry of {} vanished from the store", plan.title())));
        }
        Lookup::Corrupt(corrupt) => return Err(Error::Setting(corrupt.to_string())),
    };
    for same in lock.kernels.iter_mut().filter(|locked| locked.key == record.key) {
        *same = Locked::pin(&same.name, &same.target, &record);
    }
    pin(plan, &record, lock);
    Ok(record)
}

/// Pins `record` in `lock` as the answer to `plan`.
pub fn pin(plan: &Plan, record: &Record, lock: &mut Lock) {
    lock.set(Locked::pin(plan.spec.name.as_str(), &plan.target.to_string(), record));
}
