//! seccomp filters. Compilers, linkers and the CUDA runner are refused what none of them needs; code that runs in our
//! own process gets a list of what it may do, and nothing else. What is refused answers `EPERM`.
//!
//! The lists are in [`super::syscalls`]; here is how they become a filter.

use std::io;

#[cfg(target_arch = "x86_64")]
use super::syscalls::{ESCAPES, NEW_NAMESPACES, PROCESSES, RUNNER};

/// What a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confine {
    /// A tool that starts others: the C++ compiler, the linker.
    Programs,
    /// A process with threads but no children: NVRTC, the CUDA runner.
    Threads,
    /// A host candidate in its runner: only what is listed.
    Candidate,
}

/// A filter that stands ready: raising it allocates nothing, so it may be done between fork and exec.
#[derive(Debug)]
pub(crate) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Restricts all threads of this process and its children, for good. Needs no-new-privs.
    pub(crate) fn raise(&self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
        // SAFETY: the program is valid for the call; the kernel copies it
        match unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &program) } {
            0 => Ok(()),
            -1 => Err(io::Error::last_os_error()),
            _ => Err(io::Error::other("a thread has another filter")),
        }
    }
}

/// Raises the filter of `confine` around this process.
pub(crate) fn restrict(confine: Confine) -> io::Result<()> {
    Filter::new(confine)?.raise()
}

/// Other architectures number their system calls differently; none is filtered there, and the report says so.
#[cfg(not(target_arch = "x86_64"))]
impl Filter {
    pub(crate) fn new(_: Confine) -> io::Result<Filter> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_arch = "x86_64")]
impl Filter {
    /// The filter of `confine`.
    pub(crate) fn new(confine: Confine) -> io::Result<Filter> {
        let mut rules: Vec<Rule> = match confine {
            Confine::Programs | Confine::Threads => ESCAPES.iter().map(|call| Rule::Refuse(*call)).collect(),
            Confine::Candidate => RUNNER.iter().map(|call| Rule::Allow(*call)).collect(),
        };
        rules.extend(match confine {
            // its flags lie in memory, where no filter sees them; libraries then turn to `clone`
            Confine::Programs => {
                vec![Rule::Absent(libc::SYS_clone3), Rule::RefuseWith(libc::SYS_clone, NEW_NAMESPACES)]
            }
            Confine::Threads => {
                let mut rules: Vec<Rule> = PROCESSES.iter().map(|call| Rule::Refuse(*call)).collect();
                rules.push(Rule::Absent(libc::SYS_clone3));
                rules.push(Rule::RefuseWithout(libc::SYS_clone, libc::CLONE_THREAD.cast_unsigned()));
                rules.push(Rule::OnlyFor(libc::SYS_tgkill, own_pid()));
                rules
            }
            Confine::Candidate => vec![Rule::OnlyFor(libc::SYS_tgkill, own_pid())],
        });
        if confine != Confine::Candidate {
            rules.push(Rule::OnlyFor(libc::SYS_prlimit64, 0));
        }
        let otherwise = if confine == Confine::Candidate { REFUSED } else { libc::SECCOMP_RET_ALLOW };
        Ok(Filter(program(&rules, otherwise)))
    }
}

/// What is done with a system call. Arguments are the first, its lower half.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Allow(libc::c_long),
    Refuse(libc::c_long),
    /// As if the kernel did not know it.
    Absent(libc::c_long),
    /// Refused when its argument has any of these bits.
    RefuseWith(libc::c_long, u32),
    /// Refused when its argument has none of these bits.
    RefuseWithout(libc::c_long, u32),
    /// Refused unless its argument is this.
    OnlyFor(libc::c_long, u32),
}

#[cfg(target_arch = "x86_64")]
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
#[cfg(target_arch = "x86_64")]
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
#[cfg(target_arch = "x86_64")]
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
#[cfg(target_arch = "x86_64")]
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

#[cfg(target_arch = "x86_64")]
fn own_pid() -> u32 {
    std::process::id()
}

#[cfg(target_arch = "x86_64")]
fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(target_arch = "x86_64")]
fn program(rules: &[Rule], otherwise: u32) -> Vec<libc::sock_filter> {
    const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
    const X32: u32 = 0x4000_0000;
    let mut steps = vec![
        step(LOAD, 4, 0, 0), // seccomp_data.arch
        step(IF_EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        step(RETURN, REFUSED, 0, 0),
        step(LOAD, 0, 0, 0), // seccomp_data.nr
        step(IF_AT_LEAST, X32, 0, 1),
        step(RETURN, REFUSED, 0, 0),
    ];
    rules.iter().for_each(|rule| steps.extend(rule.steps()));
    steps.push(step(RETURN, otherwise, 0, 0));
    steps
}

#[cfg(target_arch = "x86_64")]
impl Rule {
    /// Jumps over itself when the call is another; otherwise it decides.
    fn steps(self) -> Vec<libc::sock_filter> {
        const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
        let decide = |call: libc::c_long, verdict| {
            vec![step(IF_EQUAL, call as u32, 0, 1), step(RETURN, verdict, 0, 0)]
        };
        // `good`: how far to jump when the test holds, and when it does not; 0 leads to the refusal, 1 to the leave
        let look = |call: libc::c_long, test: u32, with: u32, (holds, fails): (u8, u8)| {
            vec![
                step(IF_EQUAL, call as u32, 0, 4),
                step(LOAD, 16, 0, 0), // seccomp_data.args[0], its lower half
                step(test, with, holds, fails),
                step(RETURN, REFUSED, 0, 0),
                step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
            ]
        };
        match self {
            Rule::Allow(call) => decide(call, libc::SECCOMP_RET_ALLOW),
            Rule::Refuse(call) => decide(call, REFUSED),
            Rule::Absent(call) => decide(call, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
            Rule::RefuseWith(call, bits) => look(call, IF_ANY_BIT, bits, (0, 1)),
            Rule::RefuseWithout(call, bits) => look(call, IF_ANY_BIT, bits, (1, 0)),
            Rule::OnlyFor(call, value) => look(call, IF_EQUAL, value, (1, 0)),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// What a filter says to a call, by a machine of its five kinds of instruction.
    fn verdict(filter: &Filter, arch: u32, call: u32, argument: u32) -> u32 {
        let (mut at, mut held) = (0, 0);
        loop {
            let step = filter.0[at];
            let jump = |taken: bool| 1 + usize::from(if taken { step.jt } else { step.jf });
            at += match u32::from(step.code) & 0xf7 {
                0x20 => {
                    held = [call, arch, 0, 0, argument][step.k as usize / 4];
                    1
                }
                0x15 => jump(held == step.k),
                0x35 => jump(held >= step.k),
                0x45 => jump(held & step.k != 0),
                _ => return step.k,
            };
        }
    }

    const OURS: u32 = 0xc000_003e;
    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;

    fn of(confine: Confine, call: libc::c_long, argument: u32) -> u32 {
        verdict(&Filter::new(confine).expect("x86-64"), OURS, call as u32, argument)
    }

    #[test]
    fn tools_keep_what_they_need() {
        for (confine, call, argument, expected) in [
            (Confine::Programs, libc::SYS_socket, 2, REFUSED),
            (Confine::Programs, libc::SYS_execve, 0, ALLOWED),
            (Confine::Programs, libc::SYS_clone, libc::CLONE_VFORK as u32 | 17, ALLOWED),
            (Confine::Programs, libc::SYS_clone, libc::CLONE_NEWUSER as u32 | 17, REFUSED),
            (Confine::Programs, libc::SYS_setsid, 0, REFUSED),
            (Confine::Programs, libc::SYS_prlimit64, 0, ALLOWED),
            (Confine::Programs, libc::SYS_prlimit64, 1, REFUSED),
            (Confine::Threads, libc::SYS_clone, libc::CLONE_THREAD as u32 | libc::CLONE_VM as u32, ALLOWED),
            (Confine::Threads, libc::SYS_clone, 17, REFUSED),
            (Confine::Threads, libc::SYS_execve, 0, REFUSED),
            (Confine::Threads, libc::SYS_ioctl, 0, ALLOWED),
            (Confine::Threads, libc::SYS_tgkill, own_pid(), ALLOWED),
            (Confine::Threads, libc::SYS_tgkill, 1, REFUSED),
            (Confine::Candidate, libc::SYS_write, 1, ALLOWED),
            (Confine::Candidate, libc::SYS_prctl, 1, REFUSED),
            (Confine::Candidate, libc::SYS_tgkill, own_pid(), ALLOWED),
            (Confine::Candidate, libc::SYS_tgkill, 1, REFUSED),
            (Confine::Candidate, 4000, 0, REFUSED),
        ] {
            assert_eq!(of(confine, call, argument), expected, "{confine:?} {call} {argument}");
        }
    }

    #[test]
    fn other_architectures_are_refused() {
        for confine in [Confine::Programs, Confine::Threads, Confine::Candidate] {
            let filter = Filter::new(confine).expect("x86-64");
            assert_eq!(verdict(&filter, 0x4000_0003, libc::SYS_read as u32, 0), REFUSED, "32-bit calls");
            assert_eq!(verdict(&filter, OURS, 0x4000_0000 | libc::SYS_read as u32, 0), REFUSED, "x32");
            assert_eq!(verdict(&filter, OURS, libc::SYS_read as u32, 0), ALLOWED);
        }
    }
}
