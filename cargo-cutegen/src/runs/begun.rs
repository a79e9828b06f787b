//! Runs that this user began on this machine, by their first lines: a list beside the user's store. A log that came from elsewhere, by
//! whatever way, is not on it, and so credits no hint.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use cutegen_build::home;
use cutegen_build::run_log::{Start, digest};

/// The list: 16 hex digits of a digest a line.
const LIST: &str = "begun-runs";
/// Digits of a name.
const DIGITS: usize = 16;

/// What a run is called where all runs of all packages meet.
pub(crate) fn name(start: &Start) -> String {
    let line = serde_json::to_string(start).expect("a start has string keys and finite numbers");
    digest(&line).to_string()[..DIGITS].to_owned()
}

/// Whether a run is on the list.
pub(crate) fn is_here(start: &Start) -> bool {
    let name = name(start);
    let list = path().and_then(fs::read_to_string).unwrap_or_default();
    list.lines().any(|line| line == name)
}

/// Puts a run on the list.
pub(crate) fn note(start: &Start) -> io::Result<()> {
    let path = path()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut list = OpenOptions::new().append(true).create(true).open(path)?;
    // one write, so that lines of two commands do not mix
    list.write_all(format!("{}\n", name(start)).as_bytes())
}

fn path() -> io::Result<PathBuf> {
    let store = home::store(|name| env::var_os(name)).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(store.with_file_name(LIST))
}
