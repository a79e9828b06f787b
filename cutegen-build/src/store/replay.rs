//! The locked mode's lookup: what the lock pins for a kernel, found in the store, or a message that says what moved
//! and which command brings it back.
//!
//! Invariant: an [`Entry`] returned here answers the question asked and holds exactly the pinned bytes; lock and store are
//! seen as one writer left them both.

use std::fmt;
use std::path::{Path, PathBuf};

use cutegen_spec::axis::Axis;
use cutegen_spec::digest::CacheKey;
use cutegen_spec::key::Question;
use cutegen_spec::lock::{Lock, Locked, State};
use cutegen_spec::name::KernelName;
use cutegen_spec::record::Record;
use cutegen_spec::target::Target;
use cutegen_spec::unread::{UPDATE, Unread};

use super::{CorruptEntry, Entry, Lookup, Reason, Store, lock_file};

/// What a locked build asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kernel.
    pub kernel: &'a KernelName,
    /// One of its targets.
    pub target: &'a Target,
    /// What its spec asks of that target today.
    pub question: &'a Question,
    /// The axes of its spec, which the question has without names.
    pub axes: &'a [Axis],
    /// The package's lock.
    pub lock: &'a Lock,
    /// Where that lock lies, for messages.
    pub lock_path: &'a Path,
    /// The package's store.
    pub store: &'a Store,
}

/// Why a kernel cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The kernel.
    pub kernel: String,
    /// The target.
    pub target: String,
    /// The lock's path.
    pub lock: PathBuf,
    /// What is locked, if anything.
    pub locked: Option<State>,
    /// What is wrong.
    pub cause: Box<Cause>,
    /// Whether the store has all of a searched answer to today's question, which the lock only has to pin: an accept that
    /// was cut short leaves that.
    pub is_searched: bool,
}

/// What keeps a kernel from being replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The lock does not know the kernel on this target.
    NotLocked {
        /// Targets for which it does.
        elsewhere: Vec<String>,
    },
    /// The spec asks another question than the locked one.
    KeyMoved {
        /// What moved; empty when the locked entry is not in the store to compare with.
        fields: Vec<Moved>,
        /// What is locked.
        state: State,
    },
    /// The store has no entry for the locked key.
    EntryMissing {
        /// Where it should lie.
        path: PathBuf,
        /// What is locked.
        state: State,
    },
    /// The entry must not be used.
    EntryCorrupt(CorruptEntry),
    /// A whole entry, whose bytes are not the pinned ones.
    BytesDiffer {
        /// The entry's folder.
        path: PathBuf,
        /// Variants pinned or stored, but not both alike.
        variants: Vec<String>,
        /// What is locked.
        state: State,
    },
}

/// A field of the question that is not what was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its name.
    pub field: String,
    /// Its text in the locked question.
    pub was: String,
    /// Its text today.
    pub is: String,
}

/// The pinned entry for a request.
pub fn replay(request: &Request<'_>) -> Result<Entry, ReplayError> {
    replay_as(request, Store::get)
}

/// As [`replay`], with sources.
pub fn replay_full(request: &Request<'_>) -> Result<Entry, ReplayError> {
    replay_as(request, Store::get_full)
}

fn replay_as(request: &Request<'_>, get: Get) -> Result<Entry, ReplayError> {
    settled(request, get).map_err(|cause| ReplayError {
        kernel: request.kernel.to_string(),
        target: request.target.to_string(),
        lock: request.lock_path.to_owned(),
        locked: request.lock.get(request.kernel.as_str(), &request.target.to_string()).map(|k| k.state),
        cause: Box::new(cause),
        is_searched: has_searched(request),
    })
}

/// What `accept` can pin: sources belong to it.
fn has_searched(request: &Request<'_>) -> bool {
    let entry = request.store.get_full(&request.question.key()).hit();
    entry.is_some_and(|entry| entry.record.is_tuned())
}

/// How much of an entry is read.
type Get = fn(&Store, &CacheKey) -> Lookup;

/// The store may have been changed, and the lock after it, since the lock was read. So bytes that it does not pin are
/// believed only once no writer is there and the lock was read again.
fn settled(request: &Request<'_>, get: Get) -> Result<Entry, Cause> {
    let first = find(request, get);
    if !matches!(first, Err(Cause::BytesDiffer { .. })) {
        return first;
    }
    let Some(_guard) = request.store.wait_for_writers() else { return first };
    match lock_file::read(request.lock_path) {
        Ok(lock) if lock.get(request.kernel.as_str(), &request.target.to_string()).is_some() => {
            find(&Request { lock: &lock, ..*request }, get)
        }
        Ok(_) | Err(_) => first,
    }
}

fn find(request: &Request<'_>, get: Get) -> Result<Entry, Cause> {
    let target = request.target.to_string();
    let Some(locked) = request.lock.get(request.kernel.as_str(), &target) else {
        return Err(Cause::NotLocked { elsewhere: elsewhere(request) });
    };
    let key = request.question.key();
    if locked.key != key {
        let fields = moved(request, &locked.key);
        return Err(Cause::KeyMoved { fields, state: locked.state });
    }
    match get(request.store, &key) {
        Lookup::Hit(entry) if locked.matches(&entry.record) => Ok(entry),
        Lookup::Hit(entry) => {
            let variants = differing(locked, &entry.record);
            Err(Cause::BytesDiffer { path: entry.dir, variants, state: locked.state })
        }
        Lookup::Miss => Err(Cause::EntryMissing { path: request.store.entry_dir(&key), state: locked.state }),
        Lookup::Corrupt(bad) => Err(Cause::EntryCorrupt(bad)),
    }
}

fn elsewhere(request: &Request<'_>) -> Vec<String> {
    let same = |locked: &&Locked| locked.name == request.kernel.as_str();
    request.lock.kernels.iter().filter(same).map(|locked| locked.target.clone()).collect()
}

/// What distinguishes the question from the locked one, which its entry still spells out.
fn moved(request: &Request<'_>, locked: &CacheKey) -> Vec<Moved> {
    let Some(entry) = request.store.get(locked).hit() else { return Vec::new() };
    let (was, is) = (&entry.record.question, request.question);
    let text = |question: &Question, field: &str| match (question.field(field), field) {
        (None, _) => "nothing".to_owned(),
        (Some(extents), "axes" | "buckets") => named(extents, request.axes),
        (Some(text), _) => text.to_owned(),
    };
    let moved = |field: &str| Moved { field: field.to_owned(), was: text(was, field), is: text(is, field) };
    is.moved(was).into_iter().map(moved).collect()
}

/// What a question says of each axis, `1..=8192 by 1; 4096`, with the names that the spec has for as many.
fn named(extents: &str, axes: &[Axis]) -> String {
    let parts: Vec<&str> = extents.split("; ").collect();
    if parts.len() != axes.len() {
        return extents.to_owned();
    }
    let named = axes.iter().zip(parts).map(|(axis, extent)| format!("{} = {extent}", axis.name));
    named.collect::<Vec<_>>().join("; ")
}

/// Names of variants that the lock and the record do not agree on, order included; or the state, where it is that alone.
fn differing(locked: &Locked, record: &Record) -> Vec<String> {
    let stored = Locked::pin(&locked.name, &locked.target, record);
    let mut names = Vec::new();
    if locked.variants == stored.variants {
        names.push("state".to_owned());
    }
    for at in 0..locked.variants.len().max(stored.variants.len()) {
        let (pinned, found) = (locked.variants.get(at), stored.variants.get(at));
        if pinned != found {
            names.extend([pinned, found].into_iter().flatten().map(|variant| variant.name.clone()));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kernel, lock) = (&self.kernel, self.lock.display());
        write!(f, "kernel `{kernel}` for {}: ", self.target)?;
        match &*self.cause {
            Cause::NotLocked { elsewhere } => {
                writeln!(f, "not in {lock}")?;
                if !elsewhere.is_empty() {
                    writeln!(f, "  it is locked for {} only", elsewhere.join(", "))?;
                }
                self.find_again(f, State::Untuned)
            }
            Cause::KeyMoved { fields, state } => {
                writeln!(f, "its spec is not the one in {lock}")?;
                explain_move(f, fields)?;
                self.find_again(f, *state)
            }
            Cause::EntryMissing { path, state } => {
                writeln!(f, "locked in {lock}, but its entry is not there")?;
                writeln!(
                    f,
                    "  no {}: not committed, ignored by git, or excluded from the package",
                    path.display()
                )?;
                self.find_again(f, *state)
            }
            Cause::EntryCorrupt(bad) => {
                explain_corrupt(f, bad, kernel, self.locked.unwrap_or(State::Untuned))
            }
            Cause::BytesDiffer { path, variants, state } => {
                writeln!(f, "its entry is whole, but not the one that {lock} pins")?;
                writeln!(f, "  {} differs in: {}", path.display(), variants.join(", "))?;
                writeln!(
                    f,
                    "  to go back to the committed state: git checkout -- {lock} {}",
                    path.display()
                )?;
                self.find_again(f, *state)
            }
        }
    }
}

impl std::error::Error for ReplayError {}

impl ReplayError {
    /// The last line: what was searched and is at hand is pinned, a tuned kernel is tuned again, any other needs no GPU.
    fn find_again(&self, f: &mut fmt::Formatter<'_>, state: State) -> fmt::Result {
        let kernel = &self.kernel;
        match state {
            _ if self.is_searched => {
                writeln!(
                    f,
                    "  the store has what a search found for it, not pinned: an accept was cut short"
                )?;
                write!(f, "run: cargo cutegen accept {kernel}")
            }
            State::Untuned | State::Predicted => write!(f, "run: cargo cutegen lock {kernel}"),
            State::Tuned => {
                writeln!(f, "  untuned until then, without the device: cargo cutegen lock {kernel}")?;
                write!(f, "run: cargo cutegen tune {kernel} && cargo cutegen accept {kernel}")
            }
        }
    }
}

fn explain_move(f: &mut fmt::Formatter<'_>, fields: &[Moved]) -> fmt::Result {
    if fields.is_empty() {
        return writeln!(f, "  which field moved is unknown: the locked entry is not in the store either");
    }
    for Moved { field, was, is } in fields {
        let (was, is) = apart(was, is);
        writeln!(f, "  {field}: locked `{was}`, now `{is}`")?;
    }
    Ok(())
}

/// The advice for a damaged entry, as the last lines of a message: a naive or predicted kernel is made again, a tuned one has
/// to be found again.
#[must_use]
pub fn repair(kernel: &str, locked: State, path: &Path) -> String {
    let again = match locked {
        State::Untuned | State::Predicted => format!("cargo cutegen lock {kernel}"),
        State::Tuned => format!("cargo cutegen tune {kernel} && cargo cutegen accept {kernel}"),
    };
    format!("  if it was never committed, run: {again}\nrun: git checkout -- {}", path.display())
}

fn explain_corrupt(
    f: &mut fmt::Formatter<'_>,
    bad: &CorruptEntry,
    kernel: &str,
    locked: State,
) -> fmt::Result {
    let path = bad.path.display();
    writeln!(f, "its entry cannot be used")?;
    writeln!(f, "  {bad}")?;
    match bad.reason {
        Reason::Unreadable { .. } => write!(f, "run: ls -la {path}"),
        Reason::Record(Unread::Old { .. }) => write!(f, "run: cargo cutegen lock {kernel}"),
        Reason::Record(Unread::Newer(_)) => f.write_str(UPDATE),
        Reason::NotAFolder
        | Reason::Missing { .. }
        | Reason::NotRegular { .. }
        | Reason::Empty { .. }
        | Reason::TooLarge { .. }
        | Reason::Seal(_)
        | Reason::Record(Unread::Wrong(_))
        | Reason::OtherKey(_)
        | Reason::Contradiction { .. }
        | Reason::Digest { .. } => f.write_str(&repair(kernel, locked, &bad.path)),
    }
}

/// Two texts of a field, each cut to one line around the first place where they differ.
fn apart(was: &str, is: &str) -> (String, String) {
    const BEFORE: usize = 40;
    let same = was.chars().zip(is.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    (cut(was, from), cut(is, from))
}

fn cut(text: &str, from: usize) -> String {
    const MOST: usize = 100;
    let head = if from > 0 { "..." } else { "" };
    let tail = if text.chars().count() > from + MOST { "..." } else { "" };
    let middle: String = text.chars().skip(from).take(MOST).collect();
    format!("{head}{middle}{tail}")
}

#[cfg(test)]
mod tests;
