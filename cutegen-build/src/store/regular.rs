//! Opening what others may have put there: regular files only, no links, of bounded size, and without waiting, so that
//! a pipe in a repository stops nothing and a link to a device eats no memory. Knows nothing of what is in them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum Refused {
    /// A link, folder, pipe or device.
    NotRegular,
    /// It has this many bytes, more than asked for; or at least so many.
    TooLarge(u64),
    /// The system's refusal.
    Io(io::Error),
}

/// The bytes of the file at `path`, at most `limit`.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Refused> {
    let file = open(path, OpenOptions::new().read(true))?;
    let length = file.metadata().map_err(Refused::Io)?.len();
    if length > limit {
        return Err(Refused::TooLarge(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(limit + 1).read_to_end(&mut bytes).map_err(Refused::Io)?;
    match bytes.len() as u64 {
        length if length > limit => Err(Refused::TooLarge(length)),
        _ => Ok(bytes),
    }
}

/// Opens the file at `path` if it is regular; it is looked at before it is opened, and what was opened again.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File, Refused> {
    if !fs::symlink_metadata(path).map_err(Refused::Io)?.is_file() {
        return Err(Refused::NotRegular);
    }
    let file = without_waiting(options).open(path).map_err(Refused::Io)?;
    if file.metadata().map_err(Refused::Io)?.is_file() { Ok(file) } else { Err(Refused::NotRegular) }
}

/// A pipe that took the file's place since the look opens at once.
#[cfg(target_os = "linux")]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    const NONBLOCK: i32 = 0o4000;
    options.custom_flags(NONBLOCK)
}

#[cfg(not(target_os = "linux"))]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotRegular => io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"),
            Refused::TooLarge(bytes) => {
                let text = format!("it has {bytes} bytes, more than are read");
                io::Error::new(io::ErrorKind::FileTooLarge, text)
            }
            Refused::Io(error) => error,
        }
    }
}
