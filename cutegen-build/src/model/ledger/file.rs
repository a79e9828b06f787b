//! [`Locked`]: the ledger's file while one process has it. A torn last line, which a kill may leave, is cut off before the next
//! one is written: the request of a torn reservation was never sent.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{LedgerError, Line};

/// The largest ledger.
const BYTES_MAX: u64 = 64 << 20;

/// How often a file is opened again whose name leads to another one by then.
const TRIES: usize = 16;

/// A file that no other process has meanwhile.
pub(super) struct Locked {
    path: PathBuf,
    file: File,
    text: String,
}

impl Locked {
    /// Waits for the file; it is made where there is none.
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let refused = refusal(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(&refused)?;
        }
        for _ in 0..TRIES {
            let file = opened(path).map_err(&refused)?;
            file.lock().map_err(&refused)?;
            if is_at(&file, path) {
                let text = text(&file).map_err(&refused)?;
                return Ok(Self { path: path.to_owned(), file, text });
            }
        }
        Err(refused(io::Error::other("another file takes its place again and again")))
    }

    /// The whole lines.
    pub(super) fn whole(&self) -> &str {
        self.text.rfind('\n').map_or("", |end| &self.text[..=end])
    }

    /// Appends a line; it is on the disk when this returns.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), LedgerError> {
        let refused = refusal(&self.path);
        let text = serde_json::to_string(line).map_err(|error| refused(io::Error::other(error)))? + "\n";
        let end = self.whole().len();
        if (end + text.len()) as u64 > BYTES_MAX {
            return Err(refused(io::ErrorKind::FileTooLarge.into()));
        }
        if end < self.text.len() {
            self.file.set_len(end as u64).map_err(&refused)?;
            self.text.truncate(end);
        }
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // a part of a line would spoil what follows
            let _ = self.file.set_len(end as u64);
            return Err(refused(error));
        }
        if end == 0 {
            self.sync_name().map_err(&refused)?;
        }
        self.text.push_str(&text);
        Ok(())
    }

    /// The name of a new file is on the disk as well.
    fn sync_name(&self) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // closing it does the same, once no child shares it
        let _ = self.file.unlock();
    }
}

/// Opens a regular file: no link is followed, and a pipe is not waited for.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).read(true).create(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    // what is asked and spent is the user's alone
    let file = options.mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// Whether the name leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |meta: Metadata| (meta.dev(), meta.ino());
    let there = std::fs::symlink_metadata(path).map(place).ok();
    there.is_some() && there == file.metadata().map(place).ok()
}

fn text(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // a torn line may end within a character
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    match std::str::from_utf8(&bytes[..whole]) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

fn refusal(path: &Path) -> impl Fn(io::Error) -> LedgerError {
    let path = path.to_owned();
    move |error| LedgerError::File(path.clone(), error)
}
