//! [`OutFile`]: a file that appears when it is whole. It is opened before minutes are spent on what goes into it, and
//! where those end without success nothing is left. [`Kept`]: one that is written anew behind each kernel.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::failure::{Failure, Failures};
use crate::output::Output;

/// What names a file of results.
const RESULTS: &str = "--results";

/// A file to be.
pub(crate) struct OutFile {
    partial: NamedTempFile,
    path: PathBuf,
    flag: &'static str,
}

/// The file of results that `--results` named, if it did: whatever fails later, what is done stays in it.
pub(crate) struct Kept<'a> {
    path: Option<&'a Path>,
    /// What became of the last writing.
    written: Option<Result<(), Failure>>,
}

impl OutFile {
    /// Opens a hidden file beside `path`, which `flag` named.
    pub(crate) fn open(path: &Path, flag: &'static str) -> Result<Self, Failure> {
        match path.metadata() {
            Ok(there) if there.is_dir() => return Err(unwritable(path, flag, "it is a folder")),
            Ok(there) if !there.is_file() => return Err(unwritable(path, flag, "it is no regular file")),
            Ok(_) | Err(_) => {}
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = Builder::new();
        // as any program would make it: without what the user's mask takes away
        let builder = builder.prefix(".cutegen-").permissions(Permissions::from_mode(0o666));
        let partial = builder.tempfile_in(folder).map_err(|error| unwritable(path, flag, error))?;
        Ok(Self { partial, path: path.to_owned(), flag })
    }

    /// What to write to until it is whole.
    pub(crate) fn file(&self) -> &File {
        self.partial.as_file()
    }

    /// Where that is.
    pub(crate) fn partial(&self) -> &Path {
        self.partial.path()
    }

    /// Writes all of it and gives it its name.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.partial.write_all(bytes);
        written.map_err(|error| self.failure(error))?;
        self.keep()
    }

    /// Gives it its name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let Self { partial, path, flag } = self;
        partial.as_file().sync_all().map_err(|error| unwritable(&path, flag, error))?;
        partial.persist(&path).map(|_| ()).map_err(|error| unwritable(&path, flag, error.error))
    }

    /// That it cannot be written.
    pub(crate) fn failure(&self, error: impl std::fmt::Display) -> Failure {
        unwritable(&self.path, self.flag, error)
    }
}

impl<'a> Kept<'a> {
    /// Whoever cannot write learns it now, before minutes are spent.
    pub(crate) fn new(path: Option<&'a Path>) -> Result<Self, Failure> {
        path.map(|path| OutFile::open(path, RESULTS)).transpose()?;
        Ok(Self { path, written: None })
    }

    /// Has it written, in place of what is there.
    pub(crate) fn write(&mut self, write: impl FnOnce(OutFile) -> Result<(), Failure>) {
        self.written = self.path.map(|path| OutFile::open(path, RESULTS).and_then(write));
    }

    /// Tells where it is, or why it is not.
    pub(crate) fn end(self, (failed, out): (&mut Failures, &Output)) {
        match (self.path, self.written) {
            (Some(path), Some(Ok(()))) => out.note(&format!("results: {}", path.display())),
            (_, Some(Err(failure))) => failed.add(failure),
            (_, Some(Ok(())) | None) => {}
        }
    }
}

fn unwritable(path: &Path, flag: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Machine(format!("cannot write {}: {error}\nname another file: {flag} FILE", path.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Kept, OutFile};

    #[test]
    fn a_file_is_whole_or_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("y");
        let names = || std::fs::read_dir(folder.path()).expect("a folder").count();
        drop(OutFile::open(&path, "--out").expect("opens"));
        assert_eq!(names(), 0, "dropped, nothing is left");
        OutFile::open(&path, "--out").expect("opens").write(b"one").expect("written");
        OutFile::open(&path, "--out").expect("opens").write(b"two").expect("written over");
        assert_eq!((std::fs::read(&path).expect("there"), names()), (b"two".to_vec(), 1));
        let told = OutFile::open(folder.path(), "--out").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told.contains("it is a folder") && told.ends_with("name another file: --out FILE"), "{told}");
        assert!(Kept::new(Some(&path.join("below"))).is_err());
        let told = Kept::new(Some(Path::new("/dev/null"))).err().map(|e| e.to_string());
        assert!(
            told.is_some_and(|told| told.contains("it is no regular file")),
            "a device would be replaced"
        );
        let _ = Kept::new(Some(&path)).expect("can be written");
        assert_eq!((std::fs::read(&path).expect("there"), names()), (b"two".to_vec(), 1), "and was not");
    }
}
