//! Tools that are run on a candidate's bytes outside of the compile worker, such as the linker: the same sandbox layers, raised
//! between fork and exec, and an environment of its own.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::landlock::{Access, Ruleset};
use super::seccomp::{Confine, Filter};

const MEMORY_BYTES: u64 = 16 << 30;
const CPU_S: u64 = 180;

/// A tool that reads the system's compiler and `readable`, and writes in `folder`, as far as this kernel can say so.
pub(crate) fn sandboxed(program: &Path, readable: &[PathBuf], folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").env("TMPDIR", folder).stdin(Stdio::null());
    command.env("PATH", crate::env::variable_os("PATH").unwrap_or_default());
    let readable = compiler_folders(program).into_iter().chain(readable.iter().cloned()).collect();
    let writable = vec![folder.to_owned(), "/dev/null".into()];
    let rules = Ruleset::new(&Access { readable, writable, devices: Vec::new() }).ok();
    let filter = Filter::new(Confine::Programs).ok();
    // SAFETY: after the fork, system calls on descriptors and memory that were made ready before; nothing allocates
    unsafe { command.pre_exec(move || raise(rules.as_ref(), filter.as_ref())) };
    command
}

fn raise(rules: Option<&Ruleset>, filter: Option<&Filter>) -> io::Result<()> {
    let limit = |resource, value| {
        let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        // SAFETY: the struct is valid for the call
        unsafe { libc::setrlimit(resource, &limit) }
    };
    // a lower limit may hold already
    let _ =
        (limit(libc::RLIMIT_AS, MEMORY_BYTES), limit(libc::RLIMIT_CPU, CPU_S), limit(libc::RLIMIT_CORE, 0));
    // SAFETY: integers only
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    rules.map_or(Ok(()), Ruleset::raise)?;
    filter.map_or(Ok(()), Filter::raise)
}

/// The system's compiler, its libraries and headers; for one that lives elsewhere, its own folders but not their parent.
pub(super) fn compiler_folders(program: &Path) -> Vec<PathBuf> {
    let system = [
        "/usr/bin",
        "/usr/include",
        "/usr/lib",
        "/usr/lib32",
        "/usr/lib64",
        "/usr/libexec",
        "/usr/local/bin",
        "/usr/local/include",
        "/usr/local/lib",
        "/usr/x86_64-linux-gnu",
        "/bin",
        "/lib",
        "/lib64",
        "/nix/store",
        "/etc/ld.so.cache",
        "/dev/null",
        "/dev/urandom",
    ];
    let prefix = program.parent().and_then(Path::parent).filter(|prefix| prefix.components().count() > 1);
    let own = ["bin", "lib", "lib64", "libexec", "include"];
    let own = prefix.into_iter().flat_map(|prefix| own.map(|folder| prefix.join(folder)));
    system.map(PathBuf::from).into_iter().chain(own).collect()
}
