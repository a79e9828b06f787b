//! [`Candidate`]: one compiled variant as the gate takes it; which of several the runtime would launch; and linking a
//! host object, behind the compiler's walls, to what a runner can open.

use std::path::{Path, PathBuf};

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::Eligibility;

use super::error::Error;
use super::protocol::{Backend, Format};
use crate::compile::walled::walled;
use crate::inspect;
use crate::inspect::cubin;
use crate::outcome::Outcome;

/// A compiled variant and what is claimed of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// Its compiled bytes: a `.o` for the host, a cubin for a device.
    pub artifact: PathBuf,
    /// How it is launched.
    pub contract: Contract,
    /// Launches for which it claims to be right.
    pub eligibility: Eligibility,
    /// Launches for which it is preferred when eligible.
    pub prefer: Eligibility,
    /// Tile extents by axis position, whose edges are probed where it is judged in full.
    pub tiles: Vec<(usize, i64)>,
}

/// A candidate that a runner can open.
#[derive(Clone, Debug)]
pub(crate) struct Loadable {
    pub(crate) artifact: PathBuf,
    pub(crate) format: Format,
    pub(crate) candidate: Candidate,
}

/// Makes `candidate` loadable, as a file beside `shared`: a runner reads no other folder. A host object is linked to a
/// shared one, which runs nothing of it. Read once: what is inspected is what is loaded. Else what its bytes hold that they
/// must not, where `inspects`, or the linker's remarks.
pub(crate) fn prepare(
    candidate: &Candidate,
    (backend, inspects): (Backend, bool),
    linker: &Path,
    shared: PathBuf,
) -> Result<Result<Loadable, Outcome>, Error> {
    let bytes = std::fs::read(&candidate.artifact).map_err(failed(&candidate.artifact))?;
    if let Some(problems) = inspects.then(|| foreign(candidate, backend, &bytes)).flatten() {
        return Ok(Err(Outcome::Blocked(format!("its artifact: {}", problems.join("; ")))));
    }
    let loadable = |artifact, format| Loadable { artifact, format, candidate: candidate.clone() };
    Ok(match backend {
        // named by its bytes: the same cubin is the same module to a runner
        Backend::Cuda => {
            let copy = shared.with_file_name(format!("{}.cubin", blake3::hash(&bytes).to_hex()));
            std::fs::write(&copy, bytes).map_err(failed(&copy))?;
            Ok(loadable(copy, Format::Cubin))
        }
        Backend::Host => {
            let copy = shared.with_extension("o");
            std::fs::write(&copy, bytes).map_err(failed(&copy))?;
            match link(linker, &copy, &shared)? {
                None => Ok(loadable(shared, Format::SharedObject)),
                Some(log) => Err(Outcome::CompileFailed(log)),
            }
        }
    })
}

/// What is inside a candidate's bytes that must not be. A compiler's own look at them is not relied on, since they may
/// come from a store.
fn foreign(candidate: &Candidate, backend: Backend, bytes: &[u8]) -> Option<Vec<String>> {
    let entries: Vec<String> = candidate.contract.steps.iter().map(|step| step.entry.clone()).collect();
    match backend {
        Backend::Cuda => cubin::check(bytes, &entries).err(),
        Backend::Host => inspect::judged(bytes, &entries).err(),
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::File { path, reason: error.to_string() }
}

fn link(linker: &Path, object: &Path, shared: &Path) -> Result<Option<String>, Error> {
    let folder = shared.parent().unwrap_or(Path::new("."));
    let mut command = walled(linker, &[object.to_owned()], folder);
    command.args(["-shared", "-fno-lto", "-o"]).arg(shared).arg(object).arg("-lm");
    let output = command.output().map_err(|e| Error::system(&format!("run {}", linker.display()), e))?;
    let log = || remarks(&String::from_utf8_lossy(&output.stderr));
    Ok(if output.status.success() { None } else { Some(log()) })
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
