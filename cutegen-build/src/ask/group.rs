//! [`Group`]: a program and the processes that it started, which end together. Knows nothing of what they do.

use std::process::{Child, Command, ExitStatus};

/// A child that leads a group of its own. The child is reaped last, so that its number stays the group's until then.
pub(super) struct Group {
    child: Child,
    status: Option<ExitStatus>,
}

impl Group {
    /// Of a child that was started as the leader of a group.
    pub(super) fn of(child: Child) -> Self {
        Self { child, status: None }
    }

    /// Whether the child has ended. It is not reaped.
    pub(super) fn has_ended(&self) -> bool {
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: all bits zero are a value of this plain struct
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the struct outlives the call; the child is ours and not reaped yet
        let done = unsafe { libc::waitid(libc::P_PID, self.child.id(), &raw mut info, flags) };
        // SAFETY: `waitid` filled the struct, or left it zero
        let process = unsafe { info.si_pid() };
        // a child that cannot be waited for is none any more
        done != 0 || process != 0
    }

    /// Kills all of the group.
    pub(super) fn kill(&self) {
        if self.status.is_none() {
            // SAFETY: the group was made for this child, which is not reaped yet; no memory is touched
            unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
        }
    }

    /// Kills all of the group; how the child ended.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        self.kill();
        self.status = self.child.wait().ok().or(self.status);
        self.status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Has the program killed when the thread that starts it ends: a command that is killed while it waits leaves no program
/// that goes on.
#[cfg(target_os = "linux")]
pub(super) fn ends_with_us(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    let ask = || {
        // SAFETY: a plain call of the system, which is allowed between fork and exec
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure allocates nothing and takes no lock
    unsafe { command.pre_exec(ask) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ends_with_us(_: &mut Command) {}
