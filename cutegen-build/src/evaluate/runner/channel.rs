//! [`Channel`]: the runner's end of the pipes. It moves them away from descriptors 0 and 1, where a candidate that
//! prints or reads would disturb them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use crate::evaluate::wire::protocol::{Reply, Request};

/// Requests in, replies out.
#[derive(Debug)]
pub(super) struct Channel {
    requests: BufReader<File>,
    replies: File,
}

impl Channel {
    /// Takes stdin and stdout for the protocol and leaves `/dev/null` in their place.
    pub(super) fn claim_stdio() -> Result<Self, String> {
        let null = File::options().read(true).write(true).open("/dev/null").map_err(|e| e.to_string())?;
        let requests = BufReader::new(take(0, &null)?);
        Ok(Self { requests, replies: take(1, &null)? })
    }

    /// Its own descriptors.
    pub(super) fn fds(&self) -> [RawFd; 2] {
        [self.requests.get_ref().as_raw_fd(), self.replies.as_raw_fd()]
    }

    /// The next request; `None` at the end of input.
    pub(super) fn receive(&mut self) -> Result<Option<Request>, String> {
        let mut line = String::new();
        match self.requests.read_line(&mut line) {
            Ok(0) => Ok(None),
            Ok(_) => serde_json::from_str(&line).map(Some).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends one reply.
    pub(super) fn send(&mut self, reply: &Reply) -> Result<(), String> {
        let mut line = serde_json::to_string(reply).map_err(|error| error.to_string())?;
        line.push('\n');
        self.replies.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }
}

fn take(fd: i32, null: &File) -> Result<File, String> {
    // SAFETY: duplicates a standard descriptor of this process; the result is checked before it is owned.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 100) };
    // SAFETY: replaces a standard descriptor of this process by /dev/null.
    if copy < 0 || unsafe { libc::dup2(null.as_raw_fd(), fd) } < 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: `copy` was just made and has no other owner.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(copy) }))
}
