//! [`Known`]: a file that lists variants whose stored source was compiled to the locked bytes before, one a line: SHA-256 of
//! the artifact, of the source, and the toolchain. Compiling is deterministic, so what is listed need not be compiled again;
//! another source, other bytes or another toolchain is another line.

use std::collections::BTreeSet;
use std::path::Path;

use cutegen_build::search::Stored;

use crate::failure::Failure;
use crate::outfile::OutFile;

/// A list of rebuilt variants.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeSet<String>);

impl Known {
    /// Reads a list; none is an empty one.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let shown = path.display();
            Failure::Usage(format!("cannot read {shown}: {error}\nname a list: --known FILE"))
        })?;
        Ok(Self(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()))
    }

    /// Whether the list has it.
    pub(super) fn has(&self, stored: &Stored<'_>) -> bool {
        self.0.contains(&line(stored))
    }

    /// Adds what was rebuilt.
    pub(super) fn add(&mut self, stored: &Stored<'_>) {
        self.0.insert(line(stored));
    }

    /// Writes the list, sorted.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let head =
            "# Written by `cargo cutegen verify --rebuild --write-known`: artifact, source, toolchain.\n";
        let lines: String = self.0.iter().flat_map(|line| [line, "\n"]).collect();
        OutFile::open(path, "--write-known")?.write(format!("{head}{lines}").as_bytes())
    }
}

fn line(stored: &Stored<'_>) -> String {
    let variant = stored.variant;
    format!("{} {} {}", variant.artifact.artifact, variant.source.digest, variant.toolchain)
}
