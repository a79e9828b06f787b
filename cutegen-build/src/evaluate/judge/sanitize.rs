//! compute-sanitizer on finalists: our own runner under it, launches at the smallest shapes. What one of its processes does is
//! a round.
//!
//! Every tensor and workspace part has a device allocation of its own: memcheck then sees an access one byte past it,
//! initcheck a read of undefined workspace. (Outputs are uploaded, so initcheck does not see reads of those; poison does.)
//! A runner that cannot map the arena says so, and the result is [`Sanitized::NotRun`].

mod round;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::backend::MemoryBackend;
use super::candidate::{Candidate, Loadable};
use super::checker::Checker;
use super::instrumented::{Instrumented, Look, side_by_side};
use super::runner_slot::{Halt, code};
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::Alignment;
use crate::outcome::Distribution;
use round::{DEADLINE, Round, under};

/// How a record begins that tells why it did not run.
pub const NOT_RUN: &str = "not run: ";

/// Shapes that each tool looks at.
const SHAPES: usize = 2;

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tool {
    /// Accesses outside allocations, misaligned ones.
    Memcheck,
    /// Races on shared memory.
    Racecheck,
    /// Reads of memory that was never written.
    Initcheck,
    /// Barriers that not all threads reach.
    Synccheck,
}

/// What the sanitizer says of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sanitized {
    /// All tools ran and found nothing.
    Clean {
        /// The tools.
        tools: Vec<Tool>,
    },
    /// A tool found something.
    Errors {
        /// The tool.
        tool: Tool,
        /// Its report, shortened.
        summary: String,
    },
    /// It could not be asked, or did not come through. Whose fault that is, the naive kernel shows.
    NotRun {
        /// Why.
        reason: String,
    },
}

impl Tool {
    /// Every tool, the most conclusive first.
    pub const ALL: [Tool; 4] = [Tool::Memcheck, Tool::Racecheck, Tool::Initcheck, Tool::Synccheck];

    /// The name on the sanitizer's command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
        }
    }
}

impl Sanitized {
    fn is_clean(&self) -> bool {
        matches!(self, Sanitized::Clean { .. })
    }

    /// What this means for each of so many candidates, none of which shows it alone. After an error no candidate is clean, and
    /// the naive kernel may show alone that it is not its own. A tool that broke down is no candidate's fault.
    fn of_none_alone(self, count: usize) -> Vec<Sanitized> {
        let for_each = match self {
            Sanitized::Errors { tool, summary } => {
                let name = tool.name();
                not_run(&format!(
                    "{name} found errors in one of {count}, and in none of them alone: {summary}"
                ))
            }
            Sanitized::Clean { .. } | Sanitized::NotRun { .. } => Sanitized::Clean { tools: Vec::new() },
        };
        vec![for_each; count]
    }

    /// Whether this goes before what was told so far: what one tool finds does, whatever became of those before it.
    fn outweighs(&self, told: Option<&Sanitized>) -> bool {
        match self {
            Sanitized::Clean { .. } => false,
            Sanitized::NotRun { .. } => told.is_none(),
            Sanitized::Errors { .. } => !matches!(told, Some(Sanitized::Errors { .. })),
        }
    }
}

/// Finds compute-sanitizer in the folders of `path`, in `cuda_home`, or where CUDA is usually installed. It is
/// started by absolute path, so links are followed: its own libraries lie beside it.
#[must_use]
pub fn locate(path: Option<&OsStr>, cuda_home: Option<&OsStr>) -> Option<PathBuf> {
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    let usual = PathBuf::from("/usr/local/cuda");
    let homes = cuda_home.map(PathBuf::from).into_iter().chain([usual]);
    let folders = on_path.chain(homes.flat_map(|home| [home.join("bin"), home.join("compute-sanitizer")]));
    folders.map(|folder| folder.join("compute-sanitizer")).find_map(|file| file.canonicalize().ok())
}

impl<D: MemoryBackend> Checker<D> {
    /// Runs each of the candidates under the tools, at the smallest shapes where it is eligible. A tool has one process for all
    /// of them, for most of its time is its start; where that does not come out clean, one for each, to say whose it is.
    pub(in crate::evaluate) fn sanitize(
        &mut self,
        candidates: &[Candidate],
        sanitizer: &Path,
        tools: &[Tool],
    ) -> Result<Vec<Sanitized>, Error> {
        let _shared = self.runner.lease.shared();
        let looks =
            candidates.iter().map(|candidate| self.looks(candidate)).collect::<Result<Vec<_>, _>>()?;
        let all: Vec<&Look> = looks.iter().flatten().flatten().collect();
        let mut told: Vec<Option<Sanitized>> =
            looks.iter().map(|looks| looks.as_ref().err().cloned()).collect();
        let rounds = tools.iter().map(|tool| (*tool, all.clone())).filter(|(_, looks)| !looks.is_empty());
        let together = self.seen(sanitizer, rounds.collect())?;
        let several: Vec<usize> = (0..looks.len()).filter(|number| looks[*number].is_ok()).collect();
        for (seen, tool) in together.into_iter().zip(tools).filter(|(seen, _)| !seen.is_clean()) {
            let each = match several.as_slice() {
                [_] => vec![seen],
                _ => {
                    let own = |number: &usize| (*tool, looks[*number].iter().flatten().collect());
                    let each = self.seen(sanitizer, several.iter().map(own).collect())?;
                    if each.iter().all(Sanitized::is_clean) { seen.of_none_alone(each.len()) } else { each }
                }
            };
            for (number, seen) in several.iter().copied().zip(each) {
                if seen.outweighs(told[number].as_ref()) {
                    told[number] = Some(seen);
                }
            }
        }
        let clean = Sanitized::Clean { tools: tools.to_vec() };
        Ok(told.into_iter().map(|told| told.unwrap_or(clean.clone())).collect())
    }

    /// What these rounds end with, each a tool and what it looks at; all at once.
    fn seen(&mut self, sanitizer: &Path, rounds: Vec<(Tool, Vec<&Look>)>) -> Result<Vec<Sanitized>, Error> {
        let (mut ready, mut arenas) = (Vec::new(), Vec::new());
        for (tool, looks) in rounds {
            // a report of another run must not speak for this one
            let log = self.runner.fresh(&format!(".{}.log", tool.name()));
            let (arena, jobs) = side_by_side(&looks, &self.settings.checks)?;
            let (workers, folder) = (&self.settings.workers, self.runner.folder().to_owned());
            let workers = under(workers, sanitizer, tool, &log);
            let run = Instrumented { workers, folder, log, arena: arena.fd(), jobs, deadline: DEADLINE };
            ready.push(Round { tool, run });
            arenas.push(arena); // they stay for as long as their runners map them
        }
        round::all(ready)
    }

    /// What the tools are to look at of a candidate, or why they cannot.
    fn looks(&mut self, candidate: &Candidate) -> Result<Result<Vec<Look>, Sanitized>, Error> {
        let loaded = match self.runner.load(std::slice::from_ref(candidate)) {
            Ok(loaded) => loaded,
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Outcome(outcome)) => return Ok(Err(not_run(&*outcome))),
        };
        let mut shapes: Vec<usize> = (0..self.shapes().len()).collect();
        shapes.sort_by_key(|shape| self.shapes()[*shape].iter().product::<i64>());
        let mut looks = Vec::new();
        for shape in shapes {
            match self.look(&loaded, shape)? {
                Ok(look) => looks.extend(look),
                Err(not_run) => return Ok(Err(not_run)),
            }
            if looks.len() == SHAPES {
                break;
            }
        }
        let nowhere = || not_run(&"is eligible for none of the test shapes");
        Ok(if looks.is_empty() { Err(nowhere()) } else { Ok(looks) })
    }

    /// A launch to look at; none where no variant is eligible.
    fn look(
        &mut self,
        variants: &[Loadable],
        shape: usize,
    ) -> Result<Result<Option<Look>, Sanitized>, Error> {
        let axes = self.shapes()[shape].clone();
        let (variant, image) = match self.dispatch(variants, &axes, Alignment::Allocator) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(None)),
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Outcome(outcome)) => return Ok(Err(not_run(&*outcome))),
        };
        let case = self.cases.get(&self.spec, shape, &axes, Distribution::Normal)?;
        let (code, contract) = (code(variant), variant.candidate.contract.clone());
        let (contents, scalars) = (self.cases.backend.contents(&case.held)?, case.scalars.clone());
        Ok(Ok(Some(Look { code, contract, image, axes, scalars, contents })))
    }
}

fn not_run(why: &dyn fmt::Display) -> Sanitized {
    Sanitized::NotRun { reason: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::locate;

    #[test]
    fn is_located_on_the_path_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("compute-sanitizer");
        std::fs::write(&file, "").expect("written");
        let found = locate(Some(folder.path().as_os_str()), None);
        assert_eq!(found, file.canonicalize().ok());
    }
}
