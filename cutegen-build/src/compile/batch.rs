//! The client's end of a zygote: one process that has read the headers common to a search's candidates, and whose forks
//! compile them. Safe to call from many threads at once.
//!
//! What a fork leaves ranks candidates; what is shipped is compiled again by a worker of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::client::{worker_error, worker_job};
use super::error::Error;
use super::guard;
use super::job::{CompileFor, CompileJob, CompileSetup, ForkEnded, Tool, WorkerJob};
use super::process::{self, Ended, Said};
use super::zygote::ZYGOTE_KIND;

/// The zygote's file of precompiled headers.
const HEADERS: &str = "headers.pch";

/// With precompiled headers NVRTC keeps its memory in a temporary file, larger than any output by so much at most.
const MEMORY_FILE: u64 = 16;

/// What a zygote may take beyond its forks' limits before it counts as stuck.
const SLACK: Duration = Duration::from_secs(30);

/// What waits for which fork, by the name of its folder.
type Waiting = Arc<Mutex<BTreeMap<String, Sender<ForkEnded>>>>;

/// A running zygote. It ends with the value, or with the thread that started it.
#[derive(Debug)]
pub struct Batch {
    pub(super) setup: CompileSetup,
    pub(super) folder: tempfile::TempDir,
    headers: String,
    zygote: Child,
    orders: Option<Mutex<ChildStdin>>,
    waiting: Waiting,
    listener: Option<JoinHandle<()>>,
}

/// The `#include` lines that a source begins with: what of it can be precompiled.
#[must_use]
pub fn includes(source: &str) -> String {
    let lines = source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.take_while(|line| line.starts_with("#include <")).flat_map(|line| [line, "\n"]).collect()
}

impl Batch {
    /// Starts a zygote that reads the headers which `source`, one of the candidates to come, begins with. Returns at once.
    pub fn start(setup: &CompileSetup, arch: &str, source: &str) -> Result<Batch, Error> {
        let mut headers = includes(source);
        let folder = tempfile::tempdir().map_err(Error::io("creating a folder in", &std::env::temp_dir()))?;
        if !guard::check(&headers, guard::Language::of(&cuda(arch))).is_empty() {
            headers.clear();
        }
        let said = Said::create(folder.path())?;
        let mut command = process::command(setup, ZYGOTE_KIND, folder.path(), &said)?;
        // NVRTC keeps temporary files: a fork's go to its own folder, into which it changes
        command.env("TMPDIR", ".");
        let exe = &setup.workers.exe;
        let mut zygote = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::io("starting", exe))?;
        let (orders, events) = (zygote.stdin.take(), zygote.stdout.take());
        let waiting = Waiting::default();
        let listener = events.map(|events| listen(events, waiting.clone()));
        let orders = orders.map(Mutex::new);
        let batch = Batch { setup: setup.clone(), folder, headers, zygote, orders, waiting, listener };
        let job = CompileJob { source: batch.headers.clone(), entries: Vec::new(), compile_for: cuda(arch) };
        let mut job = batch.adopt(worker_job(&job, setup)?);
        job.parent_pid = std::process::id();
        batch.order(&process::text_of_job(&job)).map_err(Error::io("starting", exe))?;
        Ok(batch)
    }

    /// Where its forks have their folders. For tests of what they can reach there.
    #[doc(hidden)]
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A job for a fork: another parent, and headers that need no reading.
    pub(super) fn adopt(&self, mut job: WorkerJob) -> WorkerJob {
        job.parent_pid = self.zygote.id();
        if let Tool::Nvrtc { precompiled, .. } = &mut job.tool
            && !self.headers.is_empty()
            && includes(&job.source) == self.headers
        {
            *precompiled = Some(self.folder.path().join(HEADERS));
            job.file_bytes = job.output_bytes.saturating_mul(MEMORY_FILE);
        }
        job
    }

    /// Runs a fork for one job in `dir`, a folder in the zygote's. `None` when the deadline passed.
    pub(super) fn run(&self, job: &WorkerJob, dir: &Path) -> Result<Option<Ended>, Error> {
        let said = Said::create(dir)?;
        process::write_job(job, dir)?;
        let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (tell, told) = mpsc::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone(), tell);
        let ended = match self.order(folder.as_bytes()) {
            // the headers are read under the same deadline
            Ok(()) => told.recv_timeout(2 * self.setup.limits.wall + SLACK).ok(),
            Err(_) => None,
        };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&folder);
        let Some(ended) = ended else { return Err(self.lost()) };
        Ok(ended.status.map(|status| Ended { status: ExitStatus::from_raw(status), said }))
    }

    fn order(&self, line: &[u8]) -> std::io::Result<()> {
        let Some(orders) = &self.orders else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.write_all(&[line, b"\n"].concat())
    }

    /// Why there is no answer: what the zygote said as it ended, if it did.
    fn lost(&self) -> Error {
        let said = std::fs::read_to_string(self.folder.path().join(process::STDERR)).unwrap_or_default();
        worker_error(&self.setup, format!("answers no more as a zygote: {}", said.trim()))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.orders = None;
        // its forks die with it
        process::end(&mut self.zygote);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// Hands on what a zygote tells, until it ends; then no caller waits any more.
fn listen(events: ChildStdout, waiting: Waiting) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let lines = BufReader::new(events).lines().map_while(Result::ok);
        for ended in lines.filter_map(|line| serde_json::from_str::<ForkEnded>(&line).ok()) {
            let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&ended.folder);
            // a caller that has given up waiting needs no word
            let _ = waiter.map(|waiter| waiter.send(ended));
        }
        waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    })
}

fn cuda(arch: &str) -> CompileFor {
    CompileFor::Cuda { arch: arch.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_precompiled_ends_before_the_first_other_line() {
        let source = "// y\n\n#include <a>\n// more\n#include <b>\n\nint x;\n#include <c>\n";
        assert_eq!(includes(source), "#include <a>\n#include <b>\n");
        for own in ["#define A 1\n#include <a>\n", "#include \"a\"\n", "int x;\n", ""] {
            assert_eq!(includes(own), "", "{own}");
        }
    }
}
