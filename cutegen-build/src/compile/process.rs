//! A worker as a process: its folder's files, its start, its end by itself or by the deadline. Knows no compiler.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::error::Error;
use super::job::{CompileSetup, WorkerJob};
use super::worker::{WORKER_KIND, WORKER_VAR};

/// Files of a worker's folder. A fork of a zygote opens them by name, before it reads any of a candidate.
pub(super) const JOB: &str = "job.json";
/// What it answers.
pub(super) const REPLY: &str = "reply.json";
/// What its libraries print.
pub(super) const STDERR: &str = "stderr.txt";

/// How a worker ended, and what it said. The compiler shares its folder, so these files are never opened again: their
/// names may lead elsewhere by now.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) said: Said,
}

/// Files that a worker writes and that are read here. Files instead of pipes: nothing to drain, and the size limit
/// holds for them.
pub(super) struct Said {
    pub(super) stdout: File,
    pub(super) stderr: File,
}

impl Said {
    pub(super) fn create(dir: &Path) -> Result<Said, Error> {
        Ok(Said { stdout: said(&dir.join(REPLY))?, stderr: said(&dir.join(STDERR))? })
    }
}

/// Puts a job where a worker finds it.
pub(super) fn write_job(job: &WorkerJob, dir: &Path) -> Result<(), Error> {
    let (input, text) = (dir.join(JOB), text_of_job(job));
    fs::write(&input, text).map_err(Error::io("writing", &input))
}

pub(super) fn text_of_job(job: &WorkerJob) -> Vec<u8> {
    serde_json::to_vec(job).expect("a job holds only strings, numbers and UTF-8 paths")
}

/// Runs a worker for one job. `None` when the deadline passed.
pub(super) fn run(job: &WorkerJob, setup: &CompileSetup, dir: &Path) -> Result<Option<Ended>, Error> {
    let said = Said::create(dir)?;
    write_job(job, dir)?;
    let input = dir.join(JOB);
    let mut command = command(setup, WORKER_KIND, dir, &said)?;
    command.env("PATH", crate::env::variable_os("PATH").unwrap_or_default());
    command.stdin(File::open(&input).map_err(Error::io("reading", &input))?);
    let exe = &setup.workers.exe;
    let mut child = command.spawn().map_err(Error::io("starting", exe))?;
    let status = wait(&mut child, setup.limits.wall).map_err(Error::io("waiting for", exe));
    end(&mut child);
    Ok(status?.map(|status| Ended { status, said }))
}

/// This program as a worker of `kind` in `dir`, in a group of its own, with no environment.
pub(super) fn command(setup: &CompileSetup, kind: &str, dir: &Path, said: &Said) -> Result<Command, Error> {
    let mut command = Command::new(&setup.workers.exe);
    command.args(&setup.workers.args).current_dir(dir).process_group(0);
    command.env_clear().env(WORKER_VAR, kind).env("LC_ALL", "C").env("TMPDIR", dir);
    command.stdout(said.stdout.try_clone().map_err(Error::io("creating a file in", dir))?);
    command.stderr(said.stderr.try_clone().map_err(Error::io("creating a file in", dir))?);
    Ok(command)
}

/// Ends a child and its group. Also after an ordinary end: a compiler's child may have outlived it.
pub(super) fn end(child: &mut Child) {
    kill_group(child.id() as libc::pid_t);
    let _ = child.wait();
}

/// Kills the processes of a group that was made for a child of ours.
pub(super) fn kill_group(group: libc::pid_t) {
    // SAFETY: the group was made for this child; no memory is touched
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// As much as can be read.
pub(super) fn start_of(file: &mut File, bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if file.rewind().is_ok() {
        let _ = file.take(bytes_max).read_to_end(&mut bytes);
    }
    bytes
}

/// The same, of words for people.
pub(super) fn words_of(file: &mut File) -> String {
    String::from_utf8_lossy(&start_of(file, 1 << 12)).into_owned()
}

fn said(path: &Path) -> Result<File, Error> {
    let options = File::options().read(true).write(true).create_new(true).to_owned();
    options.open(path).map_err(Error::io("creating", path))
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}
