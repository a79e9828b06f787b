//! [`Process`]: the worker's process and its pipes. Every wait has a deadline; a worker that misses it, ends or talks
//! nonsense is killed with its group, and so is whatever it started.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::protocol::{Reply, Request};
use super::{Python, Stopped};

/// Our own script, whole on the command line: no file of it lies about.
const SCRIPT: &str = include_str!("worker.py");
/// Longer lines are no reply of ours.
const LONGEST_LINE: u64 = 1 << 20;

/// A live worker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Whether it was killed and reaped.
    ended: bool,
    requests: ChildStdin,
    /// Lines as they come; closed when the worker closes its pipe.
    lines: Receiver<Vec<u8>>,
}

impl Process {
    pub(super) fn start(python: &Python) -> Result<Self, Stopped> {
        let mut command = Command::new(&python.command);
        command.args(["-c", SCRIPT]).env_clear().envs(python.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let missing = |error| Stopped::NotRun(format!("no {}: {error}", python.command.display()));
        let mut child = command.spawn().map_err(missing)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => {
                Ok(Self { child, ended: false, requests, lines: read(replies) })
            }
            _ => Err(Stopped::NotRun("the peer worker has no pipes".to_owned())),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn ask(&mut self, request: &Request<'_>, deadline: Duration) -> Result<Reply, Stopped> {
        let mut line = serde_json::to_vec(request).map_err(|error| Stopped::Garbled(error.to_string()))?;
        line.push(b'\n');
        // one that is gone says so below
        let _ = self.requests.write_all(&line);
        let reply = match self.lines.recv_timeout(deadline) {
            Ok(line) => serde_json::from_slice(&line).map_err(|error| Stopped::Garbled(error.to_string())),
            Err(RecvTimeoutError::Timeout) => Err(Stopped::Late(deadline)),
            Err(RecvTimeoutError::Disconnected) => Err(Stopped::Died(self.ended())),
        };
        reply.inspect_err(|_| {
            self.end();
        })
    }

    /// How it ended, in words.
    fn ended(&mut self) -> String {
        std::thread::sleep(Duration::from_millis(100)); // its pipe closes a little before it is gone
        self.end().map_or_else(|| "its pipe is closed".to_owned(), |status| status.to_string())
    }

    /// Kills what is left of its group, then reaps it.
    fn end(&mut self) -> Option<ExitStatus> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        if let Ok(group) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: the leader is a child of ours that is not reaped, so the id is still its group's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        self.child.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads lines on a thread of its own, which ends with the pipe.
fn read(replies: ChildStdout) -> Receiver<Vec<u8>> {
    let (to, lines) = channel();
    std::thread::spawn(move || {
        let mut replies = BufReader::new(replies);
        loop {
            let mut line = Vec::new();
            let read = replies.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || to.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
