//! A run's file: JSON lines in a folder by key, appended by one writer. A torn last line is dropped.
//!
//! Invariant: what was appended reads back as it is. An entry of which a part reached the disk is cut off again.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{Entry, Log, RunId, Sequence, Start, line};

/// How the name of a log ends.
const END: &str = ".jsonl";

/// The largest log that is read or written.
const BYTES_MAX: u64 = 256 << 20;

/// A log that is appended to. Its file is locked, so that there is one writer.
pub struct LogFile {
    path: PathBuf,
    held: Held,
    log: Log,
    /// Bytes of the whole lines.
    end: u64,
}

/// A locked file. The lock goes with it, although a child that was just forked may still share the file.
pub(super) struct Held(pub(super) File);

/// Why a log cannot be read or written.
#[derive(Debug)]
pub enum LogError {
    /// The system says no.
    File(PathBuf, std::io::Error),
    /// Another process is writing it.
    Busy(PathBuf),
    /// A line is no entry, or an entry no line.
    Line(PathBuf, usize, String),
}

impl LogFile {
    /// Begins a run. A file without a whole line, which a kill may leave, is none yet.
    ///
    /// # Errors
    /// There is one of this name, another process writes it, or the system says no.
    pub fn create(folder: &Path, start: Start) -> Result<Self, LogError> {
        std::fs::create_dir_all(folder).map_err(refusal(folder))?;
        let path = path(folder, &start.run);
        let first = line::written(&start).map_err(|why| LogError::Line(path.clone(), 1, why))?;
        let file = opened(&path, OpenOptions::new().append(true).read(true).create(true))?;
        let held = locked(&path, file)?;
        if !line::whole(&bytes(&path, &held.0)?).is_empty() {
            return Err(LogError::File(path, io::ErrorKind::AlreadyExists.into()));
        }
        held.0.set_len(0).map_err(refusal(&path))?;
        let mut created = Self { path, held, log: Log::new(start), end: 0 };
        created.write(&first)?;
        // the name is on the disk as well
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(refusal(folder))?;
        Ok(created)
    }

    /// Opens a run to go on with it. A torn last line is cut off the file.
    ///
    /// # Errors
    /// There is none, another process writes it, or a line is no entry; then the file stays as it is.
    pub fn open(folder: &Path, run: &RunId) -> Result<Self, LogError> {
        let path = path(folder, run);
        let file = opened(&path, OpenOptions::new().append(true).read(true))?;
        let held = locked(&path, file)?;
        let bytes = bytes(&path, &held.0)?;
        let whole = line::whole(&bytes);
        let log = parsed(&path, whole)?;
        let end = whole.len() as u64;
        if whole.len() < bytes.len() {
            held.0.set_len(end).and_then(|()| held.0.sync_data()).map_err(refusal(&path))?;
        }
        Ok(Self { path, held, log, end })
    }

    /// What was written so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an entry; it is on the disk when this returns.
    ///
    /// # Errors
    /// The system says no, the file was removed or changed by others, or the entry holds a number that is not finite. Then
    /// the log is as before.
    pub fn append(&mut self, entry: Entry) -> Result<Sequence, LogError> {
        // the first line is the run's
        let number = self.log.entries.len() + 2;
        let line = line::written(&entry).map_err(|why| LogError::Line(self.path.clone(), number, why))?;
        self.write(&line)?;
        Ok(self.log.push(entry))
    }

    fn write(&mut self, line: &str) -> Result<(), LogError> {
        self.is_ours().map_err(refusal(&self.path))?;
        let end = self.end + line.len() as u64;
        if end > BYTES_MAX {
            return Err(refusal(&self.path)(io::ErrorKind::FileTooLarge.into()));
        }
        let written = self.held.0.write_all(line.as_bytes()).and_then(|()| self.held.0.sync_data());
        if let Err(error) = written {
            // a part of a line would spoil what follows
            let _ = self.held.0.set_len(self.end);
            return Err(refusal(&self.path)(error));
        }
        self.end = end;
        Ok(())
    }

    /// Whether the name still leads to the file, and the file ends where it was left.
    fn is_ours(&self) -> io::Result<()> {
        let (there, here) = (std::fs::symlink_metadata(&self.path)?, self.held.0.metadata()?);
        let place = |meta: &Metadata| (meta.dev(), meta.ino());
        if place(&there) != place(&here) {
            return Err(io::Error::other("another file took its place"));
        }
        if here.len() != self.end {
            return Err(io::Error::other("the file was changed by another program"));
        }
        Ok(())
    }
}

/// Reads a run without going on with it.
///
/// # Errors
/// There is none, or a line is no entry.
pub fn read(folder: &Path, run: &RunId) -> Result<Log, LogError> {
    let path = path(folder, run);
    let file = opened(&path, OpenOptions::new().read(true))?;
    parsed(&path, line::whole(&bytes(&path, &file)?))
}

/// The runs in a folder, by name.
///
/// # Errors
/// The folder cannot be read; one that does not exist has no runs.
pub fn runs(folder: &Path) -> Result<Vec<RunId>, LogError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refusal(folder)(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let name = entry.map_err(refusal(folder))?.file_name();
        runs.extend(
            name.to_str().and_then(|name| name.strip_suffix(END)).and_then(|name| RunId::parse(name).ok()),
        );
    }
    runs.sort();
    Ok(runs)
}

fn path(folder: &Path, run: &RunId) -> PathBuf {
    folder.join(format!("{run}{END}"))
}

/// Opens a regular file: no link is followed, and a pipe is not waited for.
fn opened(path: &Path, options: &mut OpenOptions) -> Result<File, LogError> {
    let is_regular = |meta: &Metadata| {
        let other = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
        if meta.is_file() { Ok(()) } else { Err(other()) }
    };
    match std::fs::symlink_metadata(path) {
        Ok(meta) => is_regular(&meta).map_err(refusal(path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refusal(path)(error)),
    }
    let opened = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = opened.map_err(refusal(path))?;
    let meta = file.metadata().map_err(refusal(path))?;
    is_regular(&meta).map_err(refusal(path))?;
    Ok(file)
}

fn locked(path: &Path, file: File) -> Result<Held, LogError> {
    match file.try_lock() {
        Ok(()) => Ok(Held(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(LogError::Busy(path.to_owned())),
        Err(std::fs::TryLockError::Error(error)) => Err(refusal(path)(error)),
    }
}

fn bytes(path: &Path, file: &File) -> Result<Vec<u8>, LogError> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(refusal(path))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(refusal(path)(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(bytes)
}

fn parsed(path: &Path, whole: &[u8]) -> Result<Log, LogError> {
    line::read(whole).map_err(|(number, why)| LogError::Line(path.to_owned(), number, why))
}

fn refusal(path: &Path) -> impl Fn(io::Error) -> LogError {
    move |error| LogError::File(path.to_owned(), error)
}

impl Drop for Held {
    fn drop(&mut self) {
        // closing it does the same, once no other process shares it
        let _ = self.0.unlock();
    }
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Busy(path) => write!(f, "{}: another process is writing this run", path.display()),
            Self::Line(path, line, why) => write!(f, "{}: line {line}: {why}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}
