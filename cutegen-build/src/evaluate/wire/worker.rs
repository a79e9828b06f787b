//! [`Worker`]: the judge's end of a runner process. It starts it, speaks with it under a deadline, kills its process
//! group when that passes, and says how it ended. The memory that it shares with the judge is the judge's to make.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::protocol::{Backend, Job, Limits, Memory, Ready, Reply, Request, Start};
use crate::evaluate::error::Error;
use crate::outcome::Crash;

/// Says, in a worker's environment, that it is one. Its `main` calls [`crate::evaluate::runner::main`] when the value is
/// [`RUN`].
pub const VARIABLE: &str = "CUTEGEN_WORKER";

/// The value of [`VARIABLE`] for a runner.
pub const RUN: &str = "run";

/// The value of [`VARIABLE`] for a runner under compute-sanitizer: [`crate::evaluate::runner::main_apart`].
pub const RUN_APART: &str = "run-apart";

/// The value of [`VARIABLE`] for a judge.
pub const JUDGE: &str = "judge";

/// How runners are started.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Workers {
    /// Our own binary.
    pub exe: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The only variables that it inherits, besides [`VARIABLE`].
    pub env: Vec<(OsString, OsString)>,
    /// What candidates run on.
    pub backend: Backend,
    /// Limits of a runner.
    pub limits: Limits,
}

/// A live runner.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    replies: ChildStdout,
    unread: Vec<u8>,
    backend: Backend,
    reaped: bool,
    /// What it found when it started.
    pub(crate) ready: Ready,
}

/// What a runner is told before its first job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First<'a> {
    /// The arena.
    pub(crate) memory: Memory,
    /// The folder of what it may open.
    pub(crate) candidates: &'a Path,
    /// The gate's own kernels.
    pub(crate) kernels: Option<&'a Path>,
    /// Folders in which cuBLASLt may lie, where it will be asked for.
    pub(crate) cublaslt: Option<&'a [PathBuf]>,
}

/// How a job went, as the candidate's outcome: errors are ours.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It ran.
    Reply(Reply),
    /// It cannot be launched.
    Refused(String),
    /// It took its runner with it.
    Crashed(Crash),
    /// It did not end.
    TimedOut(Duration),
}

/// Why no reply came.
enum Silence {
    Late,
    Closed,
    Garbled(String),
}

const START_DEADLINE: Duration = Duration::from_secs(60);

/// Longer lines are no reply of ours.
const LONGEST_LINE: usize = 1 << 20;

impl Workers {
    /// Starts a runner, as this value of [`VARIABLE`] says, and waits until it takes jobs.
    pub(crate) fn start(&self, kind: &str, first: First<'_>) -> Result<Worker, Error> {
        let mut child = self.spawn(first.memory.fd(), kind)?;
        let (requests, Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Worker("has no pipes".to_owned()));
        };
        let (backend, ready) = (self.backend, Ready::default());
        let (unread, reaped) = (Vec::new(), false);
        let mut worker = Worker { child, requests, replies, unread, backend, reaped, ready };
        let start = Start {
            backend,
            memory: first.memory,
            limits: self.limits,
            candidates: first.candidates.to_owned(),
            kernels: first.kernels.map(Path::to_owned),
            cublaslt: first.cublaslt.map(<[PathBuf]>::to_vec),
        };
        worker.send(&Request::Start(start)).map_err(|e| Error::system("start a runner", e))?;
        match worker.receive(START_DEADLINE) {
            Ok(Reply::Ready(ready)) => worker.ready = ready,
            Ok(reply) => return Err(Error::Worker(format!("did not start: {reply:?}"))),
            Err(silence) => return Err(Error::Worker(format!("did not start: {}", silence.describe()))),
        }
        Ok(worker)
    }

    /// A process that inherits `fd`.
    fn spawn(&self, fd: Option<RawFd>, kind: &str) -> Result<Child, Error> {
        let mut command = Command::new(&self.exe);
        command.args(&self.args).env_clear().envs(self.env.iter().cloned()).env(VARIABLE, kind);
        command.env("CUDA_CACHE_DISABLE", "1"); // the driver would keep files in the user's home
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        // SAFETY: between fork and exec only one async-signal-safe call is made, on a descriptor of ours.
        unsafe {
            command.pre_exec(move || match fd.map_or(0, |fd| libc::fcntl(fd, libc::F_SETFD, 0)) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        command.spawn().map_err(|e| Error::system(&format!("start {}", self.exe.display()), e))
    }
}

impl Worker {
    /// Sends a job and waits for its answer. After [`Answer::Crashed`] and [`Answer::TimedOut`] the runner is gone.
    pub(crate) fn answer(&mut self, job: Job, deadline: Duration) -> Result<Answer, Error> {
        if self.send(&Request::Job(job)).is_err() {
            return Ok(Answer::Crashed(self.ended()?));
        }
        match self.receive(deadline) {
            Ok(Reply::Refused(reason)) => Ok(Answer::Refused(reason)),
            Ok(Reply::Faulted(reason)) => Ok(Answer::Crashed(Crash::Device(reason))),
            Ok(Reply::Failed(reason)) => self.blamed(reason),
            Ok(reply) => Ok(Answer::Reply(reply)),
            Err(Silence::Late) => Ok(Answer::TimedOut(deadline)),
            Err(Silence::Closed) => Ok(Answer::Crashed(self.ended()?)),
            Err(Silence::Garbled(reason)) => self.blamed(reason),
        }
    }

    /// A host candidate shares its runner's memory and pipes, so such a runner's word against the machine counts for
    /// nothing. Where kernels are data, it does.
    fn blamed(&self, reason: String) -> Result<Answer, Error> {
        match self.backend {
            Backend::Host => Ok(Answer::Crashed(Crash::Protocol(reason))),
            Backend::Cuda => Err(Error::Worker(reason)),
        }
    }

    fn send(&mut self, request: &Request) -> std::io::Result<()> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let Some(requests) = &mut self.requests else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        requests.write_all(line.as_bytes())
    }

    /// Ends its input and waits for its exit status: none when it did not end in time, or by a signal.
    pub(crate) fn finish(mut self, deadline: Duration) -> Result<Option<i32>, Error> {
        self.requests = None;
        let end = Instant::now() + deadline;
        while !self.reaped && !self.is_zombie() {
            if Instant::now() > end {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.reap().map(|status| status.code()).map_err(|e| Error::system("wait for a runner", e))
    }

    fn receive(&mut self, deadline: Duration) -> Result<Reply, Silence> {
        let end = Instant::now() + deadline;
        loop {
            if let Some(newline) = self.unread.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=newline).collect();
                return serde_json::from_slice(&line).map_err(|error| Silence::Garbled(error.to_string()));
            }
            if self.unread.len() > LONGEST_LINE {
                return Err(Silence::Garbled("a line without end".to_owned()));
            }
            self.wait_readable(end)?;
            self.read_some()?;
        }
    }

    fn wait_readable(&self, end: Instant) -> Result<(), Silence> {
        let left = end.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd { fd: self.replies.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid pollfd.
        match unsafe { libc::poll(&raw mut poll, 1, millis) } {
            0 => Err(Silence::Late),
            _ => Ok(()),
        }
    }

    fn read_some(&mut self) -> Result<(), Silence> {
        use std::io::Read as _;
        let mut chunk = [0; 4096];
        match self.replies.read(&mut chunk) {
            Ok(0) => Err(Silence::Closed),
            Ok(n) => {
                self.unread.extend_from_slice(&chunk[..n]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(Silence::Closed),
        }
    }

    /// How the process ended; one that closed its pipe but lives on is killed.
    fn ended(&mut self) -> Result<Crash, Error> {
        let end = Instant::now() + Duration::from_millis(500);
        while !self.is_zombie() {
            if Instant::now() > end {
                return Ok(Crash::Protocol("closed its pipe and went on".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = self.reap().map_err(|e| Error::system("wait for a runner", e))?;
        let exited = status.code().map(Crash::Exit);
        Ok(status.signal().map(Crash::Signal).or(exited).unwrap_or(Crash::Exit(-1)))
    }

    /// Whether it has ended; it stays unreaped, so that its id and its group's are not reused.
    fn is_zombie(&self) -> bool {
        // SAFETY: an all-zero siginfo is valid to write to.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: waits without blocking for a child of ours that is not reaped.
        let found = unsafe { libc::waitid(libc::P_PID, self.child.id(), &raw mut info, flags) };
        // SAFETY: waitid filled `info`, or left it zero.
        found == 0 && unsafe { info.si_pid() } != 0
    }

    /// Kills what is left of its process group, then reaps it.
    fn reap(&mut self) -> std::io::Result<std::process::ExitStatus> {
        if let (false, Ok(group)) = (self.reaped, libc::pid_t::try_from(self.child.id())) {
            // SAFETY: the leader is a child of ours that is not reaped, so the id is still its group's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // a process that cannot be waited for leaves nothing to be done
        let _ = self.reap();
    }
}

impl Silence {
    fn describe(&self) -> String {
        match self {
            Silence::Late => "no answer in time".to_owned(),
            Silence::Closed => "it ended".to_owned(),
            Silence::Garbled(reason) => reason.clone(),
        }
    }
}
