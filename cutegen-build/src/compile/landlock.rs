//! Landlock by system call: a process may read and write the folders it is given, open nothing else, and signal no process
//! outside. The compiler gets its toolchain and a folder to write, a runner the folder of its candidates.
//!
//! Numbers are those of the kernel's uapi header; rights a kernel does not know are left out for it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const CREATE_RULESET_VERSION: libc::c_uint = 1;
const RULE_PATH_BENEATH: libc::c_uint = 1;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const ALL_OF_ABI_1: u64 = (1 << 13) - 1;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
const NET_BIND_AND_CONNECT_TCP: u64 = 3;
const SCOPE_ABSTRACT_UNIX_AND_SIGNALS: u64 = 3;
const REMOVE_AND_MAKE: u64 = 1 << 5 | 1 << 4 | 1 << 7 | 1 << 8; // files and folders; no links, pipes, sockets or nodes
/// What a right may be on a file that is no folder.
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

/// What stays open. Everything else is closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// Folders and files to read and execute.
    pub(crate) readable: Vec<PathBuf>,
    /// Folders to work in; files to write. No links, pipes, sockets or device nodes can be made there.
    pub(crate) writable: Vec<PathBuf>,
    /// Device nodes, or folders of them, to read, write and control.
    pub(crate) devices: Vec<PathBuf>,
}

/// Rules that stand ready: raising them allocates nothing, so it may be done between fork and exec.
#[derive(Debug)]
pub(crate) struct Ruleset {
    rules: OwnedFd,
    abi: i64,
}

impl Ruleset {
    /// Asks the kernel for rules that leave `access` open.
    pub(crate) fn new(access: &Access) -> io::Result<Ruleset> {
        let abi = abi()?;
        let handled = handled_fs(abi);
        let rules = create(handled, abi)?;
        let edit = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REMOVE_AND_MAKE;
        let rights = [
            (&access.readable, EXECUTE | READ_FILE | READ_DIR),
            (&access.writable, edit),
            (&access.devices, READ_FILE | READ_DIR | WRITE_FILE | IOCTL_DEV),
        ];
        for (paths, rights) in rights {
            for path in paths {
                allow(&rules, path, handled & rights)?;
            }
        }
        Ok(Ruleset { rules, abi })
    }

    /// Restricts this thread and its children, for good. Needs no-new-privs.
    pub(crate) fn raise(&self) -> io::Result<()> {
        // SAFETY: the descriptor is a ruleset; no memory is passed
        let status = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) };
        check(status).map(|_| ())
    }

    /// What this kernel's Landlock is too old for, in words.
    pub(crate) fn lacking(&self) -> Vec<&'static str> {
        let since = [
            (3, "truncating files that cannot be written (old landlock)"),
            (5, "ioctl on devices (old landlock)"),
            (6, "signals to the user's other processes (old landlock)"),
        ];
        since.into_iter().filter(|(abi, _)| self.abi < *abi).map(|(_, what)| what).collect()
    }
}

/// Restricts this process and its children, for good; what an old kernel leaves open.
pub(crate) fn restrict(access: &Access) -> io::Result<Vec<&'static str>> {
    let rules = Ruleset::new(access)?;
    rules.raise().map(|()| rules.lacking())
}

fn abi() -> io::Result<i64> {
    let none = std::ptr::null::<RulesetAttr>();
    // SAFETY: with this flag the kernel reads no attribute and returns a number
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, CREATE_RULESET_VERSION) })
}

fn handled_fs(abi: i64) -> u64 {
    let later = [(2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)];
    later.iter().filter(|(since, _)| abi >= *since).fold(ALL_OF_ABI_1, |rights, (_, right)| rights | right)
}

fn create(fs: u64, abi: i64) -> io::Result<OwnedFd> {
    let attr = RulesetAttr {
        handled_access_fs: fs,
        handled_access_net: NET_BIND_AND_CONNECT_TCP,
        scoped: SCOPE_ABSTRACT_UNIX_AND_SIGNALS,
    };
    // an older kernel takes the attribute's older, shorter form
    let fields = 1 + usize::from(abi >= 4) + usize::from(abi >= 6);
    let size = fields * size_of::<u64>();
    // SAFETY: the attribute is valid for `size` bytes
    let fd = check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &attr, size, 0) })?;
    // SAFETY: the kernel just gave us this descriptor
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A path that does not exist needs no rule.
fn allow(ruleset: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
    let Ok(file) = open_path(path) else { return Ok(()) };
    let rights = if file.metadata()?.is_dir() { rights } else { rights & FILE_RIGHTS };
    let attr = PathBeneathAttr { allowed_access: rights, parent_fd: file.as_raw_fd() };
    // SAFETY: both descriptors are open, and the attribute is valid for the call
    let status = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), RULE_PATH_BENEATH, &attr, 0)
    };
    check(status).map(|_| ())
}

fn open_path(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path)
}

fn check(status: libc::c_long) -> io::Result<i64> {
    if status >= 0 { Ok(status) } else { Err(io::Error::last_os_error()) }
}
