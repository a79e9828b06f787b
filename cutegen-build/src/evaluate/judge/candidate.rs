//! [`Candidate`]: one compiled variant as the gate takes it, and making it what a runner can open.

use std::path::{Path, PathBuf};

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::Eligibility;

use crate::evaluate::error::Error;
use crate::evaluate::link::Linker;
use crate::evaluate::wire::protocol::{Backend, Format};
use crate::inspect;
use crate::inspect::cubin;
use crate::outcome::Outcome;

/// A compiled variant, and where it is right and preferred.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// Its compiled bytes: a `.o` for the host, a cubin for a device.
    pub artifact: PathBuf,
    /// How it is launched.
    pub contract: Contract,
    /// Launches for which it says that it is right.
    pub eligibility: Eligibility,
    /// Launches for which it is preferred when eligible.
    pub prefer: Eligibility,
    /// Tile extents by axis position, whose edges are probed where it is judged in full.
    pub tiles: Vec<(usize, i64)>,
    /// The most shared memory that a block of it needs; none where that is not known, or there is none.
    pub shared_memory: Option<u32>,
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
    linker: &Linker,
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
            match linker.link(&copy, &shared)? {
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
