//! A seccomp filter that answers `EPERM` to what no compiler needs: sockets, tracing, namespaces, mounts, io_uring; and
//! for code that runs in our own process also to new processes, other programs and signals to others.

use std::io;

/// What is refused to compilers, and to all.
#[cfg(target_arch = "x86_64")]
const ESCAPES: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_mount,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_userfaultfd,
];

/// What is refused on top to a process that calls a candidate's code: it starts nothing and signals nobody.
#[cfg(target_arch = "x86_64")]
const PROCESSES: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
];

/// Refuses what no compiler needs, for this process and its children. Needs no-new-privs.
#[cfg(target_arch = "x86_64")]
pub(crate) fn refuse_escapes() -> io::Result<()> {
    install(ESCAPES)
}

/// The same for a process that calls a candidate's code, and everything that starts or signals a process.
#[cfg(target_arch = "x86_64")]
pub(crate) fn refuse_processes() -> io::Result<()> {
    install(&[ESCAPES, PROCESSES].concat())
}

#[cfg(target_arch = "x86_64")]
fn install(refused: &[libc::c_long]) -> io::Result<()> {
    let filter = program(refused);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program is valid for the call; the kernel copies it
    let status = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Other architectures number their system calls differently; none is filtered there, and the report says so.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn refuse_escapes() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// As [`refuse_escapes`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn refuse_processes() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_arch = "x86_64")]
fn program(calls: &[libc::c_long]) -> Vec<libc::sock_filter> {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
    const X32: u32 = 0x4000_0000;
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let refused = calls.len() as u8;
    let mut steps = vec![
        step(LOAD, 4, 0, 0), // seccomp_data.arch
        step(IF_EQUAL, AUDIT_ARCH_X86_64, 0, refused + 3),
        step(LOAD, 0, 0, 0), // seccomp_data.nr
        step(IF_AT_LEAST, X32, refused + 1, 0),
    ];
    for (index, call) in calls.iter().enumerate() {
        steps.push(step(IF_EQUAL, *call as u32, refused - index as u8, 0));
    }
    steps.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    steps.push(step(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0));
    steps
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_jumps_to_the_last_step() {
        for calls in [ESCAPES.to_vec(), [ESCAPES, PROCESSES].concat()] {
            let steps = program(&calls);
            let last = steps.len() - 1;
            for (index, step) in steps.iter().enumerate().skip(4).take(calls.len()) {
                assert_eq!(index + 1 + usize::from(step.jt), last, "step {index}");
            }
            assert_eq!(2 + usize::from(steps[1].jf), last, "foreign architecture");
            assert_eq!(4 + usize::from(steps[3].jt), last, "x32");
        }
    }
}
