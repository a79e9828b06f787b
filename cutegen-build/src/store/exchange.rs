//! Two names change places in one step, so that no moment is without an entry. Linux has a call for it, which some
//! file systems lack (NFS, some of FUSE); `write.rs` then takes two renames.

use std::io;
use std::path::Path;

/// Exchanges the names `one` and `other`, both of which must exist; `Unsupported` where that cannot be had.
#[cfg(all(target_os = "linux", feature = "search"))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;

    let [one, other] = [one, other].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (one, other) = (one?, other?);
    // SAFETY: both pointers are to strings that end with a zero and outlive the call, which only reads them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // EPERM: a filter of system calls that does not know this one
    let lacking = [libc::ENOSYS, libc::EINVAL, libc::EOPNOTSUPP, libc::EPERM];
    match error.raw_os_error() {
        Some(code) if lacking.contains(&code) => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(error),
    }
}

/// Builds that only replay write no entries.
#[cfg(not(all(target_os = "linux", feature = "search")))]
pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
