//! [`Linker`]: links a host object, behind the compiler's sandbox layers, to a shared one that a runner can open. It must not know
//! candidates.

use std::path::{Path, PathBuf};

use crate::compile::sandboxed::sandboxed;
use crate::evaluate::error::Error;

/// The driver of the C++ toolchain that links.
#[derive(Clone, Debug)]
pub struct Linker(pub PathBuf);

impl Linker {
    /// Links `object` to `shared`, beside which nothing else is written; what it says where it refuses.
    pub(super) fn link(&self, object: &Path, shared: &Path) -> Result<Option<String>, Error> {
        let folder = shared.parent().unwrap_or(Path::new("."));
        let mut command = sandboxed(&self.0, &[object.to_owned()], folder);
        command.args(["-shared", "-fno-lto", "-o"]).arg(shared).arg(object).arg("-lm");
        let output = command.output().map_err(|e| Error::system(&format!("run {}", self.0.display()), e))?;
        let log = || remarks(&String::from_utf8_lossy(&output.stderr));
        Ok(if output.status.success() { None } else { Some(log()) })
    }
}

/// Of a linker's log what names the candidate's own symbols. It may quote sections of any file that it read.
fn remarks(log: &str) -> String {
    const KNOWN: [&str; 3] = ["undefined reference to ", "multiple definition of ", "recompile with -fPIC"];
    let known = |line: &str| KNOWN.iter().find_map(|words| line.find(words).map(|at| line[at..].to_owned()));
    let mut said: Vec<String> = log.lines().filter_map(known).map(|line| plain(&line)).collect();
    said.dedup();
    said.truncate(8);
    if said.is_empty() { "the linker refuses its object".to_owned() } else { said.join("; ") }
}

/// Up to the first path.
fn plain(line: &str) -> String {
    let end = line.find('/').unwrap_or(line.len());
    line[..end].trim_end_matches([';', ' ']).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::remarks;

    #[test]
    fn a_linkers_log_keeps_symbols_and_no_files() {
        let log = "/usr/bin/ld: /tmp/x/1.o: in function `k':\nkernel.cpp:(.text+0x5): undefined reference to `elsewhere'\n\
                   /usr/bin/ld: /tmp/x/1.o:/etc/passwd:1: root:x:0:0: unknown line\n\
                   /usr/bin/ld: k: multiple definition of `k'; /tmp/x/1.o:(.text+0x0): first defined here\n\
                   collect2: error: ld returned 1 exit status\n";
        assert_eq!(remarks(log), "undefined reference to `elsewhere'; multiple definition of `k'");
        assert_eq!(remarks("/etc/shadow: file format not recognized"), "the linker refuses its object");
    }
}
