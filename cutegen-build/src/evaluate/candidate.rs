//! [`Candidate`]: one compiled variant as the gate takes it; which of several the runtime would launch; and linking a
//! host object to what a runner can open.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::Eligibility;

use super::error::Error;
use super::protocol::{Backend, Format};

/// A compiled variant and what is claimed of it.
#[derive(Clone, Debug, PartialEq)]
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

/// The variant that the runtime would launch: the first that is eligible and preferred, else the first eligible.
#[must_use]
pub fn dispatch(variants: &[(&Eligibility, &Eligibility)], axes: &[i64], addresses: &[u64]) -> Option<usize> {
    let eligible: Vec<usize> =
        (0..variants.len()).filter(|v| variants[*v].0.holds(axes, addresses)).collect();
    let preferred = eligible.iter().find(|v| variants[**v].1.holds(axes, addresses));
    preferred.or(eligible.first()).copied()
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

#[cfg(test)]
mod tests {
    use super::dispatch;
    use cutegen_spec::eligibility::Eligibility;

    #[test]
    fn preferred_first_then_eligible_then_none() {
        let parse = |text| Eligibility::parse_positional(text).expect("parses");
        let variants = [
            (parse("a0 % 8 == 0"), parse("a0 >= 64")),
            (parse("t0 aligned 16"), parse("a0 <= 32")),
            (parse("a0 >= 2"), parse("a0 >= 999")),
        ];
        let pick = |m: i64, address: u64| {
            let list: Vec<_> = variants.iter().map(|(e, p)| (e, p)).collect();
            dispatch(&list, &[m], &[address])
        };
        assert_eq!(pick(64, 0), Some(0), "eligible and preferred");
        assert_eq!(pick(16, 0), Some(1), "preferred beats order");
        assert_eq!(pick(16, 2), Some(0), "the misaligned one is not eligible");
        assert_eq!(pick(33, 2), Some(2), "eligible is enough");
        assert_eq!(pick(1, 2), None);
    }
}
