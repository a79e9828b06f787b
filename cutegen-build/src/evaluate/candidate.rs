//! [`Candidate`]: one compiled variant as the gate takes it; which of several the runtime would launch; and linking a
//! host object to what a runner can open.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::Eligibility;

use super::error::Error;
use super::protocol::{Backend, Format};

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
}

/// A candidate that a runner can open.
#[derive(Clone, Debug)]
pub(crate) struct Loadable {
    pub(crate) artifact: PathBuf,
    pub(crate) format: Format,
    pub(crate) candidate: Candidate,
}

/// Makes `candidate` loadable. A host object is linked to a shared one, which runs nothing of it; the linker's log
/// when that fails.
pub(crate) fn prepare(
    candidate: &Candidate,
    backend: Backend,
    linker: &Path,
    shared: PathBuf,
) -> Result<Result<Loadable, String>, Error> {
    let loadable = |artifact, format| Loadable { artifact, format, candidate: candidate.clone() };
    match backend {
        Backend::Cuda => Ok(Ok(loadable(candidate.artifact.clone(), Format::Cubin))),
        Backend::Host => match link(linker, &candidate.artifact, &shared)? {
            None => Ok(Ok(loadable(shared, Format::SharedObject))),
            Some(log) => Ok(Err(log)),
        },
    }
}

fn link(linker: &Path, object: &Path, shared: &Path) -> Result<Option<String>, Error> {
    if !object.is_file() {
        return Err(Error::File { path: object.to_owned(), reason: "is not there".to_owned() });
    }
    let mut command = Command::new(linker);
    command.args(["-shared", "-fno-lto", "-o"]).arg(shared).arg(object).arg("-lm");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| Error::system(&format!("run {}", linker.display()), e))?;
    let log = || String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { None } else { Some(log()) })
}
