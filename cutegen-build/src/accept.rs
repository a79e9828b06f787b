//! Accept: an entry becomes the package's answer. Copies it into the package's store and pins its bytes in the lock;
//! nothing else ever writes there. Killed at any moment it leaves whole entries, one of which the lock may not pin yet;
//! accepting again repairs that.

use std::fmt;
use std::path::PathBuf;

use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use serde::Serialize;

use crate::env;
use crate::home::{self, HomeError};
use crate::plan::Plan;
use crate::store::accept_copy::transfer;
use crate::store::change::Change;
use crate::store::{CorruptEntry, Entry, Files, Lookup, Store, StoreError};

/// Why an entry did not become the package's answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// The entry cannot be copied.
    Store(StoreError),
    /// The entry was in the package's store a moment ago.
    Vanished {
        /// Its kernel.
        kernel: String,
        /// Its folder.
        path: PathBuf,
    },
    /// The entry that was copied must not be used.
    Corrupt {
        /// Its kernel.
        kernel: String,
        /// What is wrong with it.
        entry: Box<CorruptEntry>,
    },
}

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
pub fn user_store() -> Result<Store, HomeError> {
    Ok(Store::new(home::store(env::variable_os)?))
}

/// Copies the entry for `plan` from `from` into the project's store, verified on both sides, and pins it in the lock for
/// every kernel that asks the same. The caller ends the change before it accepts another one.
pub fn accept(plan: &Plan, from: &Store, change: &mut Change) -> Result<Record, AcceptError> {
    let to = &change.store;
    // the store that is held must not wait for itself
    let from = if from.root() == to.root() { to } else { from };
    transfer(from, to, &plan.key).map_err(AcceptError::Store)?;
    let kernel = plan.spec.name.to_string();
    let record = match to.get(&plan.key) {
        Lookup::Hit(entry) => entry.record,
        Lookup::Miss => return Err(AcceptError::Vanished { kernel, path: to.entry_dir(&plan.key) }),
        Lookup::Corrupt(entry) => return Err(AcceptError::Corrupt { kernel, entry: Box::new(entry) }),
    };
    pin_all(plan, &record, &mut change.lock);
    Ok(record)
}

/// Puts an entry that was made anew in the place of `entry`, and pins it for every kernel that asks the same.
pub fn renewed(
    plan: &Plan,
    entry: &Entry,
    (record, files): (&Record, &Files),
    change: &mut Change,
) -> Result<(), StoreError> {
    let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    change.store.replace(entry, record, &files)?;
    pin_all(plan, record, &mut change.lock);
    Ok(())
}

/// Pins what the store has for `plan`, where that is what the lock pins for another kernel that asks the same.
#[must_use]
pub fn share(plan: &Plan, change: &mut Change) -> Option<Record> {
    let entry = change.store.get_full(&plan.key).hit()?;
    let is_pinned = change.lock.kernels.iter().any(|locked| locked.matches(&entry.record));
    is_pinned.then(|| pin(plan, &entry.record, &mut change.lock))?;
    Some(entry.record)
}

/// Puts an entry that was made without a search into the project's store and pins it.
pub fn untuned(
    plan: &Plan,
    (record, files): (&Record, &Files),
    change: &mut Change,
) -> Result<(), StoreError> {
    let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    change.store.put(record, &files)?;
    pin(plan, record, &mut change.lock);
    Ok(())
}

/// Pins `record` in `lock` as the answer to `plan`, and to all that ask the same.
fn pin_all(plan: &Plan, record: &Record, lock: &mut Lock) {
    for same in lock.kernels.iter_mut().filter(|locked| locked.key == record.key) {
        *same = Locked::pin(&same.name, &same.target, record);
    }
    pin(plan, record, lock);
}

/// Pins `record` in `lock` as the answer to `plan`.
fn pin(plan: &Plan, record: &Record, lock: &mut Lock) {
    lock.set(Locked::pin(plan.spec.name.as_str(), &plan.target.to_string(), record));
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcceptError::Store(error) => error.fmt(f),
            AcceptError::Vanished { kernel, path } => {
                let path = path.display();
                write!(
                    f,
                    "{kernel}: the entry just copied is gone: {path}\nrun: cargo cutegen accept {kernel}"
                )
            }
            AcceptError::Corrupt { kernel, entry } => {
                write!(f, "{kernel}: {entry}\nrun: cargo cutegen accept {kernel}")
            }
        }
    }
}

impl std::error::Error for AcceptError {}
