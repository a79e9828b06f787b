//! The zygote's end: opens NVRTC and nvJitLink, reads the common headers once, and forks a worker for each folder that it is named.
//!
//! It reads no candidate: a fork does, in its own folder, with all sandbox layers of a worker up around it. The zygote keeps the
//! deadline of each, and has one thread, without which a fork would not be whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::job::{ForkEnded, Tool, WorkerJob};
use super::landlock::Access;
use super::process::{JOB, REPLY, STDERR, kill_group};
use super::sandbox;
use super::worker::{self, Libraries, Ready};
use crate::toolchain::cuda_options;

/// Its value of [`WORKER_VAR`](super::WORKER_VAR).
pub const ZYGOTE_KIND: &str = "compile-many";

/// How soon the end of a fork is seen.
const TICK_MS: libc::c_int = 4;

/// The whole life of a zygote. Call it first thing in `main`, before any thread exists.
pub fn zygote_main() -> ! {
    let status = match serve() {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    };
    // SAFETY: nothing is left to flush; what forks are left die with this process
    unsafe { libc::_exit(status) }
}

fn serve() -> io::Result<()> {
    let mut orders = Orders::new()?;
    let Order::Line(first) = orders.next(None)? else { return Ok(()) };
    let job: WorkerJob = serde_json::from_str(&first)?;
    let ready = prepare(&job)?;
    let mut forks: Vec<Fork> = Vec::new();
    loop {
        match orders.next((!forks.is_empty()).then_some(TICK_MS))? {
            Order::Line(folder) => forks.push(Fork::start(folder, &job, &ready)?),
            Order::NoneYet => {}
            Order::End => return Ok(()),
        }
        let mut running = Vec::new();
        for fork in forks {
            match fork.end()? {
                End::Running(fork) => running.push(fork),
                End::Ended(ended) => tell(&ended)?,
            }
        }
        forks = running;
    }
}

/// Reads the headers inside its own sandbox layers. Headers that do not compile are the candidates' affair: forks read them again.
fn prepare(job: &WorkerJob) -> io::Result<Ready> {
    let Tool::Nvrtc { arch, precompiled, .. } = &job.tool else {
        return Err(io::Error::other("only NVRTC has headers to precompile"));
    };
    let libraries = Libraries::open(&job.tool).map_err(io::Error::other)?;
    let access = Access { readable: worker::readable(job), writable: vec![".".into()], devices: Vec::new() };
    sandbox::limit_zygote(job, &access)?;
    let options = cuda_options(arch, &job.header_roots, libraries.output(arch));
    let precompile = |to| libraries.nvrtc.precompile(&job.source, &options, to).is_ok();
    let headers = precompiled.as_ref().is_some_and(|to| precompile(to));
    Ok(Ready { libraries, headers })
}

fn tell(ended: &ForkEnded) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(ended)?)?;
    stdout.flush()
}

/// One worker in a folder of its own.
struct Fork {
    folder: String,
    pid: libc::pid_t,
    deadline: Instant,
}

enum End {
    Running(Fork),
    Ended(ForkEnded),
}

impl Fork {
    fn start(folder: String, job: &WorkerJob, ready: &Ready) -> io::Result<Fork> {
        // SAFETY: this process has one thread, so the child's memory is whole
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => become_worker(&folder, ready),
            pid => {
                group(pid);
                let deadline = Instant::now() + Duration::from_millis(job.wall_ms);
                Ok(Fork { folder, pid, deadline })
            }
        }
    }

    /// Whether it has come to its end, by itself or by the deadline.
    fn end(self) -> io::Result<End> {
        let late = Instant::now() >= self.deadline;
        if late {
            kill_group(self.pid);
        }
        let mut status = 0;
        // SAFETY: the pointer is valid for the call, and the child is ours
        let ended = unsafe { libc::waitpid(self.pid, &mut status, if late { 0 } else { libc::WNOHANG }) };
        match ended {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(End::Running(self)),
            _ => {
                kill_group(self.pid);
                Ok(End::Ended(ForkEnded { folder: self.folder, status: (!late).then_some(status) }))
            }
        }
    }
}

/// The child's life: in its folder, with that folder's files and no other descriptor of the zygote's.
fn become_worker(folder: &str, ready: &Ready) -> ! {
    group(0);
    match enter(Path::new(folder)) {
        Ok(()) => worker::answer(Some(ready)),
        // SAFETY: nothing is left to flush
        Err(_) => unsafe { libc::_exit(1) },
    }
}

fn enter(folder: &Path) -> io::Result<()> {
    std::env::set_current_dir(folder)?;
    let write = File::options().write(true).to_owned();
    for (file, descriptor) in [(File::open(JOB)?, 0), (write.open(REPLY)?, 1), (write.open(STDERR)?, 2)] {
        // SAFETY: both are numbers; what they stood for is not used in this process
        if unsafe { libc::dup2(file.as_raw_fd(), descriptor) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    for descriptor in 3..sandbox::DESCRIPTORS {
        // SAFETY: whatever of the zygote's this closes is not used in this process
        unsafe { libc::close(descriptor as libc::c_int) };
    }
    Ok(())
}

/// Makes a group for a child: it and the zygote both do, so that it is there for the first of them.
fn group(pid: libc::pid_t) {
    // SAFETY: integers only
    unsafe { libc::setpgid(pid, pid) };
}

/// Lines from stdin. Not through the standard library's buffer: a fork would find the rest of it.
struct Orders {
    file: File,
    pending: Vec<u8>,
}

enum Order {
    Line(String),
    NoneYet,
    /// The client is gone.
    End,
}

impl Orders {
    fn new() -> io::Result<Orders> {
        Ok(Orders { file: io::stdin().as_fd().try_clone_to_owned()?.into(), pending: Vec::new() })
    }

    /// The next line, if it comes within `wait_ms`.
    fn next(&mut self, wait_ms: Option<libc::c_int>) -> io::Result<Order> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Order::Line(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if !self.readable(wait_ms.unwrap_or(-1)) {
                return Ok(Order::NoneYet);
            }
            let mut bytes = [0; 4096];
            match self.file.read(&mut bytes)? {
                0 => return Ok(Order::End),
                n => self.pending.extend_from_slice(&bytes[..n]),
            }
        }
    }

    fn readable(&self, wait_ms: libc::c_int) -> bool {
        let mut poll = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid struct
        unsafe { libc::poll(&mut poll, 1, wait_ms) > 0 }
    }
}
