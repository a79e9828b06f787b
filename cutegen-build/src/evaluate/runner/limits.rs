//! Limits that a runner puts on itself before it loads a candidate.

use std::io;
use std::os::fd::RawFd;

use crate::evaluate::wire::process::die_with_parent;
use crate::evaluate::wire::protocol::{Backend, Limits, Start};

/// Applies every limit. One that the system refuses is an error.
pub(super) fn apply(start: &Start) -> Result<(), String> {
    die_with_parent()?;
    no_new_privileges()?;
    limit("core files", libc::RLIMIT_CORE, 0)?;
    let Limits { address_space, cpu_seconds, files, sandboxed } = start.limits;
    match start.backend {
        Backend::Host => {
            limit("address space", libc::RLIMIT_AS, address_space)?;
            limit("open files", libc::RLIMIT_NOFILE, files)?;
            if sandboxed {
                limit("file size", libc::RLIMIT_FSIZE, 0)?;
                limit("processes", libc::RLIMIT_NPROC, 0)?;
            }
        }
        // the driver reserves terabytes of addresses, opens files and starts threads of its own
        Backend::Cuda => {}
    }
    limit("processor time", libc::RLIMIT_CPU, cpu_seconds)
}

/// Closes every descriptor that the judge's process leaked into this one; `keep` and the standard ones stay.
pub(super) fn close_leaked(mut keep: Vec<RawFd>) -> Result<(), String> {
    keep.extend([0, 1, 2]);
    keep.sort_unstable();
    let ends = keep.iter().skip(1).map(|fd| fd - 1).chain([RawFd::MAX]);
    for (first, last) in keep.iter().map(|fd| fd + 1).zip(ends).filter(|(first, last)| first <= last) {
        // SAFETY: no live value of this process owns a descriptor outside `keep`.
        if unsafe { libc::close_range(first.cast_unsigned(), last.cast_unsigned(), 0) } != 0 {
            return Err(failed("descriptors"));
        }
    }
    Ok(())
}

fn no_new_privileges() -> Result<(), String> {
    // SAFETY: prctl with constant arguments.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(failed("no-new-privileges")),
    }
}

fn limit(what: &str, resource: libc::__rlimit_resource_t, value: u64) -> Result<(), String> {
    let mut current = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `current` is a valid rlimit to write to.
    if unsafe { libc::getrlimit(resource, &raw mut current) } != 0 {
        return Err(failed(what));
    }
    let value = value.min(current.rlim_max);
    let wanted = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: `wanted` is a valid rlimit to read from.
    match unsafe { libc::setrlimit(resource, &raw const wanted) } {
        0 => Ok(()),
        _ => Err(failed(what)),
    }
}

fn failed(what: &str) -> String {
    format!("limit {what}: {}", io::Error::last_os_error())
}
