//! What the judge and a runner, each a process of its own, both do to themselves.

use std::io;

/// This process ends when the one that started it does.
pub fn die_with_parent() -> Result<(), String> {
    // SAFETY: prctl with constant arguments; getppid has no preconditions.
    let (set, parent) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
    match (set, parent) {
        (0, parent) if parent != 1 => Ok(()),
        (0, _) => Err("the judge is gone".to_owned()),
        _ => Err(format!("limit parent-death signal: {}", io::Error::last_os_error())),
    }
}
