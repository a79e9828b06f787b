//! Writing a file only when its bytes change, so that cargo and rustc see what changed and nothing else.

use std::fs;
use std::path::Path;

use super::Error;

/// Writes `bytes` unless they are there; says whether it wrote. The folder is made when missing.
pub(super) fn if_changed(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    if is(path, bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    fs::write(path, bytes).map_err(Error::file(path))?;
    Ok(true)
}

/// Whether a file holds exactly these bytes.
fn is(path: &Path, bytes: &[u8]) -> bool {
    let same_length = fs::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64);
    same_length && fs::read(path).is_ok_and(|found| found == bytes)
}
