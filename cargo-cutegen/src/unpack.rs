//! Reading a results file from another machine. It was written by others: it may hold regular files and folders below one
//! root, each once, within limits, and nothing else. What the entries in it say is for `accept` to check.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek as _};
use std::path::{Component, Path, PathBuf};

use cutegen_build::store::FILE_LIMIT;
use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

use crate::failure::Failure;

/// Most bytes of a header that holds a long name.
const EXTENSION: u64 = 64 << 10;

const LIMITS: Limits = Limits { members: 100_000, bytes: 512 << 20 };

/// What an archive may hold.
#[derive(Clone, Copy)]
struct Limits {
    /// Files, folders and headers of extensions.
    members: usize,
    /// Of all of them together.
    bytes: u64,
}

/// What it was seen to hold.
#[derive(Default)]
struct Tally {
    members: usize,
    bytes: u64,
}

/// Why an archive is refused.
#[derive(Debug)]
enum Refusal {
    /// No archive, cut short, or the system's refusal.
    Io(io::Error),
    /// A member that is no regular file and no folder.
    Kind(PathBuf),
    /// A member outside the archive's root.
    Outside(PathBuf),
    /// Two members of one name.
    Twice(PathBuf),
    /// A file larger than any of an entry, with the most that it may have.
    File(PathBuf, u64),
    /// More members than are read.
    Members(usize),
    /// More bytes than are read.
    Bytes(u64),
}

/// Unpacks a results file to a temporary store.
pub(crate) fn read_results(file: &Path) -> Result<tempfile::TempDir, Failure> {
    let failed = |error: Refusal| {
        let file = file.display();
        Failure::Usage(format!("cannot read results {file}: {error}\nname another file: --results FILE"))
    };
    let folder = tempfile::tempdir().map_err(|error| failed(error.into()))?;
    let archive = open(file).map_err(|error| failed(error.into()))?;
    unpack(&archive, folder.path(), LIMITS).map_err(failed)?;
    Ok(folder)
}

/// A pipe or a device would be waited for, or read without end.
fn open(file: &Path) -> io::Result<File> {
    match fs::metadata(file)? {
        there if there.is_file() => File::open(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Unpacks an archive into an empty folder, to which nothing is written before all of it was looked at.
fn unpack(mut archive: &File, folder: &Path, limits: Limits) -> Result<(), Refusal> {
    survey(GzDecoder::new(archive), limits)?;
    archive.rewind()?;
    extract(GzDecoder::new(archive), folder, limits)
}

/// Looks at the headers as they lie there. Those of extensions, which the reader otherwise takes into memory, are small.
fn survey(archive: impl Read, limits: Limits) -> Result<(), Refusal> {
    let mut tally = Tally::default();
    for member in Archive::new(archive).entries()?.raw(true) {
        let member = member?;
        tally.add(&member, limits)?;
    }
    Ok(())
}

fn extract(archive: impl Read, folder: &Path, limits: Limits) -> Result<(), Refusal> {
    let mut tally = Tally::default();
    for member in Archive::new(archive).entries()? {
        let mut member = member?;
        tally.add(&member, limits)?;
        let name = member.path()?.into_owned();
        let path = folder.join(inside(&name)?);
        match member.header().entry_type() {
            EntryType::Directory => fs::create_dir_all(&path)?,
            EntryType::XGlobalHeader => {}
            _ => write(&mut member, &path, name)?,
        }
    }
    Ok(())
}

impl Tally {
    /// Counts a member if it may be there.
    fn add(&mut self, member: &Entry<'_, impl Read>, limits: Limits) -> Result<(), Refusal> {
        let name = || member.path().map(|name| name.into_owned()).unwrap_or_default();
        let most = match member.header().entry_type() {
            EntryType::Directory => 0,
            EntryType::Regular => FILE_LIMIT,
            EntryType::GNULongName | EntryType::XHeader | EntryType::XGlobalHeader => EXTENSION,
            _ => return Err(Refusal::Kind(name())),
        };
        self.members += 1;
        self.bytes = self.bytes.saturating_add(member.size());
        match () {
            () if member.size() > most => Err(Refusal::File(name(), most)),
            () if self.members > limits.members => Err(Refusal::Members(limits.members)),
            () if self.bytes > limits.bytes => Err(Refusal::Bytes(limits.bytes)),
            () => Ok(()),
        }
    }
}

/// The member's path if it leads to nothing outside.
fn inside(name: &Path) -> Result<PathBuf, Refusal> {
    let mut path = PathBuf::new();
    for component in name.components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Refusal::Outside(name.to_owned()));
            }
        }
    }
    Ok(path)
}

/// Modes, owners and times of the archive are left out.
fn write(member: &mut impl Read, path: &Path, name: PathBuf) -> Result<(), Refusal> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(Refusal::Twice(name)),
        opened => opened?,
    };
    io::copy(member, &mut file)?;
    Ok(())
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Io(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Io(error) => error.fmt(f),
            Refusal::Kind(name) => write!(f, "{} is no regular file and no folder", name.display()),
            Refusal::Outside(name) => write!(f, "{} lies outside the archive", name.display()),
            Refusal::Twice(name) => write!(f, "{} is in it twice", name.display()),
            Refusal::File(name, most) => write!(f, "{} has more than {most} bytes", name.display()),
            Refusal::Members(most) => write!(f, "it holds more than {most} files and folders"),
            Refusal::Bytes(most) => write!(f, "its files have more than {most} bytes together"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::{Limits, unpack};

    fn archive(path: &Path, files: &[(&str, usize)]) -> File {
        let out = File::create(path).expect("made");
        let mut tar = Builder::new(GzEncoder::new(out, Compression::fast()));
        for (name, bytes) in files {
            let mut header = Header::new_gnu();
            header.set_size(*bytes as u64);
            tar.append_data(&mut header, name, vec![7; *bytes].as_slice()).expect("appended");
        }
        tar.into_inner().and_then(GzEncoder::finish).expect("ended");
        File::open(path).expect("there")
    }

    #[test]
    fn limits_hold_at_their_edges_and_nothing_is_written_beyond() {
        let told = |files: &[(&str, usize)], members, bytes| {
            let (home, folder) =
                (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
            let file = archive(&home.path().join("r.tgz"), files);
            let done = unpack(&file, folder.path(), Limits { members, bytes });
            (
                done.err().map(|refusal| refusal.to_string()),
                fs::read_dir(folder.path()).expect("listed").count(),
            )
        };
        let two = [("a", 600), ("b", 400)];
        let refused = |text: &str| (Some(text.to_owned()), 0);
        assert_eq!(told(&two, 2, 1000), (None, 2));
        assert_eq!(told(&two, 2, 999), refused("its files have more than 999 bytes together"));
        assert_eq!(told(&two, 1, 1000), refused("it holds more than 1 files and folders"));
        let long = "n".repeat(200);
        assert_eq!(told(&[(&long, 1)], 2, 1000), (None, 1), "a long name takes a member of its own");
        let giant = "n/".repeat(1 << 20);
        let (told, written) = told(&[(&giant, 1)], 9, 1 << 30);
        assert!(told.is_some_and(|told| told.ends_with("has more than 65536 bytes")), "a name of megabytes");
        assert_eq!(written, 0);
    }
}
