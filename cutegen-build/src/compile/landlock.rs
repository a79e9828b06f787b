//! Landlock by system call: a process may read and write the folders it is given, and open nothing else. The compiler
//! gets its toolchain and a folder to write, a runner the folder of its candidates.
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
/// What a right may be on a file that is no folder.
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
}

#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

/// Restricts this process and its children, for good.
pub(crate) fn restrict(readable: &[PathBuf], writable: &[PathBuf]) -> io::Result<()> {
    let abi = abi()?;
    let handled = handled_fs(abi);
    let ruleset = create(handled, if abi >= 4 { NET_BIND_AND_CONNECT_TCP } else { 0 }, abi)?;
    for path in readable {
        allow(&ruleset, path, handled & (EXECUTE | READ_FILE | READ_DIR))?;
    }
    for path in writable {
        allow(&ruleset, path, handled & !EXECUTE)?;
    }
    // SAFETY: the descriptor is a ruleset; no memory is passed
    let status = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    check(status).map(|_| ())
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

fn create(fs: u64, net: u64, abi: i64) -> io::Result<OwnedFd> {
    let attr = RulesetAttr { handled_access_fs: fs, handled_access_net: net };
    let size = if abi >= 4 { size_of::<RulesetAttr>() } else { size_of::<u64>() };
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
