//! Prompts and answers as files: a person, or a program that nothing here starts, reads the one and writes the other.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::generate::proposal::BYTES_MAX;
use cutegen_build::run_log::Sequence;

use crate::failure::Failure;
use crate::outfile::OutFile;

/// The files of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// What is asked.
    pub(crate) prompt: PathBuf,
    /// Where the answer is looked for.
    pub(crate) reply: PathBuf,
}

impl Exchange {
    /// Of a request of the run whose folder this is.
    pub(crate) fn of(folder: &Path, request: Sequence) -> Self {
        let file = |what: &str| folder.join(format!("{request}-{what}.md"));
        Self { prompt: file("prompt"), reply: file("reply") }
    }

    /// Writes the prompt, unless it is there.
    pub(crate) fn ask(&self, prompt: &str) -> Result<(), Failure> {
        if fs::read(&self.prompt).is_ok_and(|there| there == prompt.as_bytes()) {
            return Ok(());
        }
        let folder = self.prompt.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .map_err(|error| Failure::machine(format!("{}: {error}", folder.display())))?;
        OutFile::open(&self.prompt, "--cache")?.write(prompt.as_bytes())
    }

    /// The answer, if there is one by now; a file of blanks alone is none. One that is too long is cut: a reader of it says that
    /// it is too long.
    pub(crate) fn answer(&self) -> Result<Option<String>, Failure> {
        let failed = |error| Failure::machine(format!("{}: {error}", self.reply.display()));
        match fs::metadata(&self.reply) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
            Ok(there) if !there.is_file() => {
                return Err(failed(std::io::Error::other("an answer is a regular file")));
            }
            Ok(_) => {}
        }
        let mut bytes = fs::read(&self.reply).map_err(failed)?;
        bytes.truncate(2 * BYTES_MAX);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok((!text.trim().is_empty()).then_some(text))
    }
}
