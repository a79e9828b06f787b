//! The worker's own sandbox layers: it raises them around itself before a compiler reads the first hostile byte.
//!
//! Limits and no-new-privs always hold; the others need the kernel's help and are reported.

use std::io;

use super::job::{Confinement, WorkerJob};
use super::landlock::{self, Access};
use super::privileges::{self, Children};
use super::seccomp::{self, Confine};

/// Processes of one compile, where namespaces let them be counted by themselves.
const PROCESSES_APART: u64 = 64;

/// Descriptors of one process.
pub(super) const DESCRIPTORS: u64 = 256;

/// Dies with the client, and takes the limits of the job.
pub(super) fn limit(job: &WorkerJob) -> io::Result<()> {
    die_with_parent(job.parent_pid)?;
    // SIGXCPU comes at the soft limit, SIGKILL a second later
    set_limit(libc::RLIMIT_CPU, job.cpu_s, job.cpu_s + 1)?;
    set_limit(libc::RLIMIT_AS, job.memory_bytes, job.memory_bytes)?;
    set_limit(libc::RLIMIT_FSIZE, job.file_bytes, job.file_bytes)?;
    set_limit(libc::RLIMIT_CORE, 0, 0)?;
    set_limit(libc::RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS)?;
    // counts all of the user's processes, so it only stops what is far beyond use; refused is fine
    let _ = set_limit(libc::RLIMIT_NPROC, job.processes, job.processes);
    no_new_privileges()
}

/// Closes files, system calls and privileges, as far as this kernel can.
pub(super) fn confine(job: &WorkerJob, access: &Access, confine: Confine) -> Confinement {
    let children = match confine {
        Confine::Programs => Children::Apart,
        Confine::Threads | Confine::Candidate => Children::None,
    };
    let namespaces = job.layers.namespaces && privileges::leave_namespaces(children).is_ok();
    if namespaces {
        let processes = job.processes.min(PROCESSES_APART);
        let _ = set_limit(libc::RLIMIT_NPROC, processes, processes);
    }
    let capabilities = privileges::drop_capabilities().is_ok();
    let lacking = if job.layers.landlock { landlock::restrict(access).ok() } else { None };
    let seccomp = job.layers.seccomp && seccomp::restrict(confine).is_ok();
    let landlock = lacking.is_some();
    let lacking = lacking.into_iter().flatten().map(str::to_owned).collect();
    Confinement { landlock, seccomp, namespaces, capabilities, lacking }
}

/// What a zygote takes upon itself before it reads our own headers. It keeps the system calls by which it forks, and
/// each fork raises all sandbox layers of a worker on top.
pub(super) fn limit_zygote(job: &WorkerJob, access: &Access) -> io::Result<()> {
    die_with_parent(job.parent_pid)?;
    set_limit(libc::RLIMIT_CORE, 0, 0)?;
    set_limit(libc::RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS)?;
    no_new_privileges()?;
    // without them each fork still has its own, and reports what it lacks
    let _ = privileges::drop_capabilities();
    if job.layers.landlock {
        let _ = landlock::restrict(access);
    }
    Ok(())
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
