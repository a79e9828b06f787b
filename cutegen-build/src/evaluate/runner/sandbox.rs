//! Files, system calls and privileges that a runner takes away from itself, and an honest list of what it could not.
//!
//! A host candidate is native code in the runner's process: it may read the linked candidates and the system's
//! libraries, write nothing, and start, signal or reach no process and no network. On CUDA candidates are device code;
//! the driver, which serves them, keeps its devices, its libraries and its threads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::compile::landlock::{self, Access};
use crate::compile::privileges::{self, Children};
use crate::compile::seccomp::{self, Confine};
use crate::evaluate::wire::protocol::Backend;

/// What the dynamic loader may still need when a candidate is opened.
const SYSTEM: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

/// What the driver reads while it runs.
const DRIVER: [&str; 8] = [
    "/proc/self",
    "/proc/driver/nvidia",
    "/proc/devices",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/sys",
    "/dev/urandom",
];

/// Raises the sandbox layers that this system has around a runner that reads its candidates in `candidates`; returns, in words,
/// what stays open. A CUDA runner calls it when its context is open.
#[doc(hidden)]
#[must_use]
pub fn raise(backend: Backend, layers: bool, candidates: &Path) -> Vec<String> {
    let mut open = match (layers, backend) {
        (false, _) => {
            vec!["files, network, processes and other system calls (the sandbox is off)".to_owned()]
        }
        (true, Backend::Host) => raise_for_host(candidates),
        (true, Backend::Cuda) => raise_for_cuda(candidates),
    };
    open.push(match backend {
        Backend::Host => "clock and block times (candidate shares the runner's memory)".to_owned(),
        Backend::Cuda => "address space, open files, processes (the driver needs them)".to_owned(),
    });
    open.push("mount namespaces and cgroups (not used)".to_owned());
    open
}

fn raise_for_host(candidates: &Path) -> Vec<String> {
    let mut open = Vec::new();
    // SAFETY: geteuid has no preconditions; asked before namespaces hide who this is
    let is_root = unsafe { libc::geteuid() } == 0;
    if privileges::leave_namespaces(Children::None).is_err() {
        open.push("user and network namespaces (users may not make them here)".to_owned());
    }
    let readable = SYSTEM.iter().map(PathBuf::from).chain([candidates.to_owned()]).collect();
    close(&Access { readable, ..Access::default() }, Confine::Candidate, &mut open);
    if is_root && open.iter().any(|what| what.contains("no seccomp")) {
        open.push(
            "new processes, and their leaving the runner's group (the limit does not bind root)".to_owned(),
        );
    }
    open
}

fn raise_for_cuda(candidates: &Path) -> Vec<String> {
    let mut open = vec!["user and network namespaces (not used with the driver)".to_owned()];
    let known = SYSTEM.iter().chain(&DRIVER).map(PathBuf::from);
    let readable = known.chain(mapped_libraries()).chain([candidates.to_owned()]).collect();
    let access = Access { readable, writable: vec!["/dev/null".into()], devices: devices() };
    close(&access, Confine::Threads, &mut open);
    open.push("files to threads that the driver had before (landlock binds later ones)".to_owned());
    open.push("ioctl on the driver's devices (it works by them)".to_owned());
    open
}

/// Capabilities, files and system calls; what could not be closed is added to `open`.
fn close(access: &Access, confine: Confine, open: &mut Vec<String>) {
    if privileges::drop_capabilities().is_err() {
        open.push("capabilities (they could not be dropped)".to_owned());
    }
    match landlock::restrict(access) {
        Ok(lacking) => open.extend(lacking.into_iter().map(str::to_owned)),
        Err(_) => open.push("file reads (no landlock)".to_owned()),
    }
    if seccomp::restrict(confine).is_err() {
        open.push("network, processes and other system calls (no seccomp)".to_owned());
    }
}

/// Nodes of the driver: `/dev/nvidia0`, `/dev/nvidiactl`, `/dev/nvidia-uvm`, `/dev/nvidia-caps/` and the like.
fn devices() -> Vec<PathBuf> {
    let nodes = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let is_driver = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("nvidia");
    nodes.filter(is_driver).map(|entry| entry.path()).collect()
}

/// Folders of the libraries that this process has mapped: the driver's may lie anywhere.
fn mapped_libraries() -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_library = |path: &&Path| path.to_string_lossy().contains(".so");
    paths.filter(is_library).filter_map(Path::parent).map(Path::to_owned).collect()
}
