//! Privileges that a process gives away: capabilities, and its share of the system's namespaces. Both are extra sandbox layers:
//! the others must hold without them.

use std::io;

/// Namespaces of its own: no network but an unconnected loopback, no shared memory of others. With
/// [`Children::Apart`] its next child also heads a tree of processes of its own, which ends with it.
///
/// Call it while there is one thread. Fails, and changes nothing, where users may not make namespaces.
pub(crate) fn leave_namespaces(children: Children) -> io::Result<()> {
    let shared = libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    let flags = match children {
        Children::Apart => shared | libc::CLONE_NEWPID,
        Children::None => shared,
    };
    // SAFETY: touches no memory
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What children a process will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    /// One, with what it starts in turn. There can be no second, and no further thread.
    Apart,
    /// No children.
    None,
}

/// Gives away every capability, for good; no program started later gets one either. Needs no-new-privs.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    const LAST: libc::c_ulong = 63;
    for capability in 0..=LAST {
        // refused where there is nothing to give away
        // SAFETY: integers only
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let (header, none) = (Header { version: 0x2008_0522, pid: 0 }, [0_u32; 6]);
    // SAFETY: both structs are as this version of the call has them
    match unsafe { libc::syscall(libc::SYS_capset, &header, none.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
