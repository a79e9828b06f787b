//! Asking a program for an answer: prompt on its standard input, answer on its standard output. It must not know what is
//! asked.
//!
//! Invariant: when [`Program::answer`] returns, no process of the program's group is left, whatever came of it.

mod failed;
mod group;
mod pipes;
pub mod presets;
#[cfg(test)]
mod tests;

use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::env;
pub use failed::Failed;
use group::Group;
use pipes::{Pipes, Read};

/// Variables of the environment that every program gets. Others are named one by one.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR"];

/// How long a wait sleeps between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// Any program that answers a prompt. No shell reads its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program, by name or path, and its arguments.
    pub argv: Vec<String>,
    /// Where it is stopped.
    pub limits: Limits,
    /// Names of variables of the environment that are passed on, beside `PATH`, `HOME`, `LANG`, `LC_ALL`, `TERM` and
    /// `TMPDIR`.
    pub env: Vec<String>,
}

/// Where a program is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub seconds: u32,
    /// How many bytes its answer may have.
    pub bytes: usize,
}

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// All that it wrote to its standard output.
    pub text: String,
    /// How long it took.
    pub took: Duration,
}

impl Default for Limits {
    /// Ten minutes, and four times the longest kernel that is read.
    fn default() -> Self {
        Self { seconds: 600, bytes: 1 << 20 }
    }
}

impl Program {
    /// Starts the program in an empty folder, gives it the prompt, and waits for its end.
    ///
    /// A process that leaves the program's group is not stopped. If it keeps the answer's pipe open, the deadline holds.
    ///
    /// # Errors
    /// It cannot be started, passes a limit, fails, or answers with what is no text.
    pub fn answer(&self, prompt: &str) -> Result<Answer, Failed> {
        let name = self.argv.first().cloned().unwrap_or_default();
        let not_started = |error| Failed::NotStarted { program: name.clone(), error };
        let folder = tempfile::Builder::new().prefix("cutegen-ask-").tempdir().map_err(not_started)?;
        let begun = Instant::now();
        let mut child = self.command(folder.path()).and_then(|mut it| it.spawn()).map_err(not_started)?;
        let pipes = Pipes::begin(&mut child, prompt, self.limits.bytes);
        let mut group = Group::of(child);
        let end = self.wait(&group, &pipes, begun + Duration::from_secs(self.limits.seconds.into()));
        let status = group.end();
        let took = begun.elapsed();
        match end {
            End::Passed => {
                Err(Failed::TimedOut { program: name, seconds: self.limits.seconds, said: pipes.said() })
            }
            End::TooLong => {
                Err(Failed::TooLong { program: name, bytes: self.limits.bytes, said: pipes.said() })
            }
            End::Answer(bytes) => read(name, status, bytes, &pipes).map(|text| Answer { text, took }),
        }
    }

    /// The program in `folder`, in a group of its own.
    fn command(&self, folder: &Path) -> std::io::Result<Command> {
        let missing = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "no program is named");
        let (program, args) = self.argv.split_first().filter(|(it, _)| !it.is_empty()).ok_or_else(missing)?;
        // a path is one from here, not from the folder
        let program =
            if program.contains('/') { std::path::absolute(program)? } else { PathBuf::from(program) };
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).process_group(0).env_clear();
        let names = PASSED_ON.into_iter().chain(self.env.iter().map(String::as_str));
        command.envs(names.filter_map(|name| Some((name, env::variable_os(name)?))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        group::ends_with_us(&mut command);
        Ok(command)
    }

    /// Waits for the program, and then for the end of what it wrote. Of its group nothing runs between the two.
    fn wait(&self, group: &Group, pipes: &Pipes, deadline: Instant) -> End {
        let mut has_ended = false;
        loop {
            if !has_ended && group.has_ended() {
                has_ended = true;
                group.kill();
            }
            match pipes.read() {
                Read::TooLong => return End::TooLong,
                Read::Whole(bytes) if has_ended => return End::Answer(bytes),
                Read::Whole(_) | Read::Open => {}
            }
            if Instant::now() >= deadline {
                return End::Passed;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// How waiting for a program came to its end.
enum End {
    Answer(Vec<u8>),
    Passed,
    TooLong,
}

/// The text of a program that ended by itself.
fn read(
    program: String,
    status: Option<ExitStatus>,
    bytes: Vec<u8>,
    pipes: &Pipes,
) -> Result<String, Failed> {
    let code = status.and_then(|status| status.code());
    match code {
        Some(0) => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failed::NotText { program, at, said: pipes.said() }
        }),
        Some(code) => Err(Failed::Exit { program, code, said: pipes.said() }),
        None => {
            let signal = status.and_then(|status| status.signal()).unwrap_or_default();
            Err(Failed::Signal { program, signal, said: pipes.said() })
        }
    }
}
