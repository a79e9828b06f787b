//! compute-sanitizer on a finalist: our own runner under it, one launch per tool at the smallest shapes.
//!
//! The runner is started as `run-apart`, so that every tensor and workspace part has a device allocation of its own:
//! memcheck then sees an access one byte past it, initcheck a read of undefined workspace. (Outputs are uploaded, so
//! initcheck does not see reads of those; poison does.) Pipes and the arena's descriptor are inherited through the
//! sanitizer; a runner that cannot map the arena says so, and the result is [`Sanitized::NotRun`].

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::arena::{Alignment, POISON};
use super::candidate::{Candidate, Loadable};
use super::desk::host::fill;
use super::desk::{Desk, Filling};
use super::error::Error;
use super::inputs::Distribution;
use super::judge::Session;
use super::memory::SharedMemory;
use super::protocol::{Action, Job, Memory, Reply, Run};
use super::session::{Halt, code, program};
use super::worker::{Answer, First, RUN_APART, Worker, Workers};

/// How a record begins that tells why it did not run.
pub const NOT_RUN: &str = "not run: ";

/// How the sanitizer ends when it found something.
const FOUND: i32 = 86;
/// One job and one exit, each slowed a hundredfold.
const DEADLINE: Duration = Duration::from_secs(240);
/// Shapes that each tool looks at.
const SHAPES: usize = 2;

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Tool {
    /// Accesses outside allocations, misaligned ones.
    Memcheck,
    /// Races on shared memory.
    Racecheck,
    /// Reads of memory that nobody wrote.
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
    /// Every tool, the most telling first.
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

impl<D: Desk> Session<D> {
    /// Runs each of the candidates under the tools, at the smallest shapes where it is eligible; all of it at once.
    pub(super) fn sanitize(
        &mut self,
        candidates: &[Candidate],
        sanitizer: &Path,
        tools: &[Tool],
    ) -> Result<Vec<Sanitized>, Error> {
        let _shared = self.lease.shared();
        let mut told = vec![None; candidates.len()];
        // arenas stay for as long as their runners map them
        let (mut looks, mut arenas) = (Vec::new(), Vec::new());
        for (number, candidate) in candidates.iter().enumerate() {
            let found =
                self.looks(candidate, sanitizer, tools)?.map_err(|not_run| told[number] = Some(not_run));
            for (look, arena) in found.into_iter().flatten() {
                looks.push((number, look));
                arenas.push(arena);
            }
        }
        for (number, seen) in side_by_side(looks)? {
            if seen.outweighs(told[number].as_ref()) {
                told[number] = Some(seen);
            }
        }
        let clean = Sanitized::Clean { tools: tools.to_vec() };
        Ok(told.into_iter().map(|told| told.unwrap_or(clean.clone())).collect())
    }

    /// What the tools are to look at of a candidate, or why they cannot.
    fn looks(
        &mut self,
        candidate: &Candidate,
        sanitizer: &Path,
        tools: &[Tool],
    ) -> Result<Result<Vec<(Look, SharedMemory)>, Sanitized>, Error> {
        let loaded = match self.load(std::slice::from_ref(candidate)) {
            Ok(loaded) => loaded,
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Outcome(outcome)) => return Ok(Err(not_run(&*outcome))),
        };
        let mut shapes: Vec<usize> = (0..self.shapes().len()).collect();
        shapes.sort_by_key(|shape| self.shapes()[*shape].iter().product::<i64>());
        let mut looks = Vec::new();
        for tool in tools {
            let before = looks.len();
            for shape in &shapes {
                match self.look(&loaded, *shape, sanitizer, *tool)? {
                    Ok(look) => looks.extend(look),
                    Err(not_run) => return Ok(Err(not_run)),
                }
                if looks.len() == before + SHAPES {
                    break;
                }
            }
        }
        let nowhere = || not_run(&"is eligible for none of the test shapes");
        Ok(if looks.is_empty() { Err(nowhere()) } else { Ok(looks) })
    }

    /// What one tool is to look at; none where no variant is eligible.
    fn look(
        &mut self,
        variants: &[Loadable],
        shape: usize,
        sanitizer: &Path,
        tool: Tool,
    ) -> Result<Result<Option<(Look, SharedMemory)>, Sanitized>, Error> {
        let axes = self.shapes()[shape].clone();
        let (variant, image) = match self.dispatch(variants, &axes, Alignment::Allocator) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(None)),
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Outcome(outcome)) => return Ok(Err(not_run(&*outcome))),
        };
        let case = self.cases.get(&self.spec, shape, &axes, Distribution::Normal)?;
        self.linked += 1; // a report of another run must not speak for this one
        let log = self.folder.path().join(format!("{}.{}.log", tool.name(), self.linked));
        let contents = self.cases.desk.contents(&case.held)?;
        let mut arena = SharedMemory::create()?;
        arena.grow(image.bytes)?;
        let (contract, checks) = (&variant.candidate.contract, &self.settings.checks);
        let filling = Filling { image: &image, held: &(), contract, poison: POISON, checks };
        fill(&mut arena, &contents, &filling)?;
        let memory = Memory::Host { fd: arena.fd() };
        let first = First { memory, candidates: self.folder.path(), kernels: None, cublaslt: None };
        let worker = match under(&self.settings.workers, sanitizer, tool, &log).start(RUN_APART, first) {
            Ok(worker) => worker,
            Err(error) => return Ok(Err(not_run(&error))),
        };
        let job = Job {
            arena_bytes: image.bytes,
            axes: case.axes.clone(),
            scalars: case.scalars.clone(),
            programs: vec![program(code(variant), vec![image.tensors.clone()], vec![image.workspace])],
            action: Action::Run(Run { reload: true, scramble: false, watch_globals: false, late: false }),
        };
        Ok(Ok(Some((Look { tool, log, worker, job }, arena))))
    }
}

/// One launch under one tool.
struct Look {
    tool: Tool,
    log: PathBuf,
    worker: Worker,
    job: Job,
}

impl Look {
    fn seen(self) -> Result<Sanitized, Error> {
        let (answer, status) = drive(self.worker, self.job)?;
        let report = std::fs::read_to_string(&self.log).unwrap_or_default();
        Ok(verdict(self.tool, status, answer.as_deref(), &report))
    }
}

/// All at once, for most of a look is the start of its tool; in order, each with the number that it came with.
fn side_by_side(looks: Vec<(usize, Look)>) -> Result<Vec<(usize, Sanitized)>, Error> {
    std::thread::scope(|scope| {
        let seen = |(number, look): (usize, Look)| scope.spawn(move || Ok((number, look.seen()?)));
        let looks: Vec<_> = looks.into_iter().map(seen).collect();
        let panicked = |_| Err(Error::Worker("the sanitizer's thread panicked".to_owned()));
        looks.into_iter().map(|look| look.join().unwrap_or_else(panicked)).collect()
    })
}

/// The job's answer, when it was not the expected one, and the sanitizer's exit status.
fn drive(mut worker: Worker, job: Job) -> Result<(Option<String>, Option<i32>), Error> {
    let answer = match worker.answer(job, DEADLINE) {
        Ok(Answer::Reply(Reply::Done(_))) => None,
        Ok(other) => Some(format!("{other:?}")),
        Err(Error::Worker(reason)) => Some(reason),
        Err(error) => return Err(error),
    };
    Ok((answer, worker.finish(DEADLINE)?))
}

/// Starts runners under the sanitizer, which writes to `log` and leaves the pipes to the runner.
fn under(workers: &Workers, sanitizer: &Path, tool: Tool, log: &Path) -> Workers {
    let mut args: Vec<String> = ["--tool", tool.name(), "--error-exitcode", "86", "--launch-timeout", "120"]
        .map(str::to_owned)
        .to_vec();
    args.extend(["--print-limit", "10", "--log-file"].map(str::to_owned));
    args.push(log.display().to_string());
    args.push(workers.exe.display().to_string());
    args.extend(workers.args.iter().cloned());
    let tmp: OsString = "TMPDIR".into(); // its parts meet through a socket there
    let folder = log.parent().unwrap_or(Path::new("/tmp")).as_os_str().to_owned();
    let env = workers.env.iter().cloned().chain([(tmp, folder)]).collect();
    Workers { exe: sanitizer.to_owned(), args, env, ..workers.clone() }
}

fn not_run(why: &dyn fmt::Display) -> Sanitized {
    Sanitized::NotRun { reason: why.to_string() }
}

/// Clean only with a summary of zero, the status of success and the expected answer.
fn verdict(tool: Tool, status: Option<i32>, answer: Option<&str>, report: &str) -> Sanitized {
    let found = errors(report);
    match (status, found, answer) {
        (Some(FOUND), ..) | (_, Some(1..), _) => Sanitized::Errors { tool, summary: shortened(report) },
        (Some(0), Some(0), None) => Sanitized::Clean { tools: vec![tool] },
        _ => {
            let told = answer.map(|answer| format!(", answered {answer}")).unwrap_or_default();
            let reason = format!("{} ended with {status:?}{told}: {}", tool.name(), shortened(report));
            Sanitized::NotRun { reason }
        }
    }
}

/// The count on the last summary line: `ERROR SUMMARY: 2 errors`, `RACECHECK SUMMARY: 0 hazards displayed (..)`.
fn errors(report: &str) -> Option<u64> {
    let (_, rest) = report.lines().rev().find_map(|line| line.split_once(" SUMMARY: "))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The lines that tell: without frames, without the banner's fence, at most a dozen.
fn shortened(report: &str) -> String {
    let lines = report.lines().map(|line| line.trim_start_matches('=').trim());
    let telling = lines.filter(|line| {
        !line.is_empty()
            && !["COMPUTE-SANITIZER", "Host Frame", "Saved host", "in "].iter().any(|s| line.starts_with(s))
    });
    telling.take(12).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Sanitized, Tool, locate, verdict};

    const FAULT: &str = "========= COMPUTE-SANITIZER\n\
        ========= Invalid __global__ write of size 2 bytes\n\
        =========     at candidate+0x100\n\
        =========     Saved host backtrace up to driver entry point\n\
        =========     Host Frame: main [0x1]\n\
        ========= ERROR SUMMARY: 1 error\n";

    #[test]
    fn reports_are_read_strictly() {
        let memcheck = |status, answer, report: &str| verdict(Tool::Memcheck, status, answer, report);
        let Sanitized::Errors { tool: Tool::Memcheck, summary } = memcheck(Some(86), Some("faulted"), FAULT)
        else {
            panic!("an error");
        };
        assert_eq!(
            summary,
            "Invalid __global__ write of size 2 bytes\nat candidate+0x100\nERROR SUMMARY: 1 error"
        );
        assert!(matches!(memcheck(Some(0), None, FAULT), Sanitized::Errors { .. }));
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(memcheck(Some(0), None, clean), Sanitized::Clean { tools: vec![Tool::Memcheck] });
        let raced = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert!(matches!(verdict(Tool::Racecheck, Some(0), None, raced), Sanitized::Clean { .. }));
        for (status, answer, report) in
            [(Some(0), None, ""), (None, None, clean), (Some(1), None, clean), (Some(0), Some("late"), clean)]
        {
            assert!(
                matches!(memcheck(status, answer, report), Sanitized::NotRun { .. }),
                "{status:?} {answer:?}"
            );
        }
    }

    #[test]
    fn is_located_on_the_path_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("compute-sanitizer");
        std::fs::write(&file, "").expect("written");
        let found = locate(Some(folder.path().as_os_str()), None);
        assert_eq!(found, file.canonicalize().ok());
    }
}
