//! The worker's own walls: it raises them around itself before a compiler reads the first hostile byte.
//!
//! Limits and no-new-privs always hold; Landlock and seccomp need the kernel's help and are reported.

use std::io;
use std::path::PathBuf;

use super::job::{Confinement, WorkerJob};
use super::{landlock, seccomp};

/// Dies with the client, and takes the limits of the job.
pub(super) fn limit(job: &WorkerJob) -> io::Result<()> {
    die_with_parent(job.parent_pid)?;
    // SIGXCPU comes at the soft limit, SIGKILL a second later
    set_limit(libc::RLIMIT_CPU, job.cpu_s, job.cpu_s + 1)?;
    set_limit(libc::RLIMIT_AS, job.memory_bytes, job.memory_bytes)?;
    set_limit(libc::RLIMIT_FSIZE, job.output_bytes, job.output_bytes)?;
    set_limit(libc::RLIMIT_CORE, 0, 0)?;
    set_limit(libc::RLIMIT_NOFILE, 256, 256)?;
    // counts all of the user's processes, so it only stops what is far beyond use; refused is fine
    let _ = set_limit(libc::RLIMIT_NPROC, 4096, 4096);
    no_new_privileges()
}

/// Closes files and system calls, as far as this kernel can.
pub(super) fn confine(job: &WorkerJob, readable: &[PathBuf], writable: &[PathBuf]) -> Confinement {
    let landlock = job.landlock && landlock::restrict(readable, writable).is_ok();
    let seccomp = seccomp::refuse_escapes().is_ok();
    Confinement { landlock, seccomp }
}

fn die_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: prctl with an integer argument touches no memory
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    // SAFETY: getppid has no preconditions
    let now = unsafe { libc::getppid() };
    if now as u32 == parent { Ok(()) } else { Err(io::Error::other("the client is gone")) }
}

fn set_limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the struct is valid for the call
    check(unsafe { libc::setrlimit(resource, &limit) })
}

fn no_new_privileges() -> io::Result<()> {
    // SAFETY: prctl with integer arguments touches no memory
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
