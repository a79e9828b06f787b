//! Files and system calls that a runner takes away from itself, and an honest list of what it could not.
//!
//! A host candidate is native code in the runner's process: it may read the linked candidates and the system's
//! libraries, write nothing, and start, signal or reach no process and no network. The CUDA driver needs files, sockets
//! and threads as long as it lives, and its candidates are device code; it has none of these walls.

use std::path::{Path, PathBuf};

use crate::compile::{landlock, seccomp};
use crate::evaluate::protocol::{Backend, Start};

/// What the dynamic loader may still need when a candidate is opened.
const SYSTEM: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

/// Raises the walls that this system has; returns, in words, what stays open.
pub(super) fn raise(start: &Start) -> Vec<String> {
    let mut open = Vec::new();
    match start.backend {
        Backend::Host => {
            let system = SYSTEM.iter().map(|path| Path::new(path).to_owned());
            let readable: Vec<PathBuf> = system.chain([start.candidates.clone()]).collect();
            if !start.limits.walls || landlock::restrict(&readable, &[]).is_err() {
                open.push("file reads (no landlock)");
            }
            if !start.limits.walls || seccomp::refuse_processes().is_err() {
                open.push("network, processes and other system calls (no seccomp)");
                // SAFETY: geteuid has no preconditions.
                if unsafe { libc::geteuid() } == 0 {
                    open.push(
                        "new processes, and their leaving the runner's group (the limit does not bind root)",
                    );
                }
            }
            open.push("clock and block times (candidate shares the runner's memory)");
        }
        Backend::Cuda => {
            open.push("file reads, network and other system calls (the driver needs them; candidates are device code)");
            open.push("address space, open files, processes (the driver needs them)");
        }
    }
    open.push("namespaces and cgroups (not used)");
    open.into_iter().map(str::to_owned).collect()
}
