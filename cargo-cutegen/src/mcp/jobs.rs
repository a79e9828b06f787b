//! [`Jobs`]: candidates are compiled and judged one after another, on a thread of their own. It owns the logs of this
//! server's runs and must not know what agents are told.
//!
//! A job that breaks down ends with a reason, and the next one begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use cutegen_build::event::{Event, Phase, Reporter};
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{
    Candidate, Content, Entry, Kernel, Log, LogFile, Outcome, Point, RunId, Sequence, Sweep, Verdict,
};
use cutegen_build::store;
use cutegen_build::strategy::points::chosen;

use super::bench::{Bench, Judged, Work};
use super::id::Id;

/// What compiles where no judge is.
pub(super) const NOT_JUDGED: &str = "compiled, not judged";

/// How far a candidate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Others come first.
    Waiting,
    /// A compiler has it.
    Compiling,
    /// A judge holds it against the math, at shapes and inputs that it may be told of.
    Screening,
    /// It passed that, and is timed.
    Timing,
    /// It is judged once more, from the beginning, at shapes and inputs that are not told.
    WholeGate,
    /// Its last verdict is in the log.
    Ended,
    /// It compiles, and there is no judge for it here, for this reason.
    NotJudged(String),
    /// Its job broke down, for this reason.
    Failed(String),
}

/// The entry that a package has locked for a plan.
pub(super) type Locked = Box<dyn Fn(&Plan) -> Option<store::Entry> + Send + Sync>;

/// What jobs need.
pub(super) struct Tools {
    /// Compiles and judges.
    pub(super) bench: Box<dyn Bench>,
    /// What is to be beaten.
    pub(super) locked: Locked,
    /// Gets what happens meanwhile.
    pub(super) events: fn(&Event),
}

/// The queue with its thread.
pub(super) struct Jobs(Arc<Shared>);

struct Shared {
    tools: Tools,
    board: Mutex<Board>,
    changed: Condvar,
}

#[derive(Default)]
struct Board {
    runs: BTreeMap<RunId, Run>,
    stages: BTreeMap<Id, Stage>,
    queue: VecDeque<Id>,
    life: Life,
}

/// Whether the thread goes on.
#[derive(Default, PartialEq)]
enum Life {
    #[default]
    Open,
    Closed,
}

struct Run {
    plan: Arc<Plan>,
    kept: PathBuf,
    file: LogFile,
}

impl Stage {
    /// In a word or two; none where the log has the verdict.
    pub(super) fn word(&self) -> Option<&'static str> {
        match self {
            Self::Waiting => Some("waiting"),
            Self::Compiling => Some("compiling"),
            Self::Screening => Some("screening"),
            Self::Timing => Some("timing"),
            Self::WholeGate => Some("whole gate"),
            Self::NotJudged(_) => Some(NOT_JUDGED),
            Self::Failed(_) => Some("failed"),
            Self::Ended => None,
        }
    }

    /// Whether a verdict may still come.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Waiting | Self::Compiling | Self::Screening | Self::Timing | Self::WholeGate => true,
            Self::Ended | Self::NotJudged(_) | Self::Failed(_) => false,
        }
    }

    /// The stage after an event, where it says that another one has begun. The whole gate screens and times by itself.
    fn after(&self, event: &Event) -> Option<Self> {
        match (self, event) {
            (Self::Screening, Event::Progress { phase: Phase::Timing, .. }) => Some(Self::Timing),
            _ => None,
        }
    }
}

impl Jobs {
    /// Starts the thread.
    pub(super) fn start(tools: Tools) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { tools, board: Mutex::default(), changed: Condvar::new() });
        let worker = Arc::clone(&shared);
        thread::Builder::new().name("jobs".to_owned()).spawn(move || worker.work())?;
        Ok(Self(shared))
    }

    /// Takes over the log of a run.
    pub(super) fn add_run(&self, plan: &Plan, kept: PathBuf, file: LogFile) {
        let (run, plan) = (file.log().start.run.clone(), Arc::new(plan.clone()));
        self.0.board().runs.insert(run, Run { plan, kept, file });
    }

    /// Whether this server has that run.
    pub(super) fn has_run(&self, run: &RunId) -> bool {
        self.0.board().runs.contains_key(run)
    }

    /// Records a candidate, and puts it into the queue where it is one to compile. The id is that of the kernel which it
    /// repeats, if it does.
    pub(super) fn submit(
        &self,
        run: &RunId,
        by: &str,
        text: &str,
        note: Option<String>,
    ) -> Result<Id, String> {
        let mut board = self.0.board();
        let Run { plan, file, .. } = board.runs.get_mut(run).ok_or("this server has no such run")?;
        let bench = &*self.0.tools.bench;
        let mut content = bench.read(plan, file.log(), text);
        match &mut content {
            Content::Kernel(Kernel { hypothesis, .. }) | Content::Sweep(Sweep { hypothesis, .. }) => {
                *hypothesis = hypothesis.take().or(note);
            }
            Content::Words | Content::Ideas(_) | Content::Repeat { .. } | Content::Unreadable(_) => {}
        }
        let candidate = Candidate::new(None, by.to_owned(), text.to_owned(), content);
        let sequence = file.append(Entry::Candidate(candidate)).map_err(|error| error.to_string())?;
        while let Some(point) = bench.point(plan, file.log(), sequence) {
            file.append(Entry::Point(point)).map_err(|error| error.to_string())?;
        }
        let repeated = repeated(file.log(), sequence);
        let is_kernel = !kernels(file.log(), sequence).is_empty();
        let id = Id { run: run.clone(), candidate: repeated.unwrap_or(sequence) };
        if is_kernel || repeated.is_some() {
            board.enqueue(&id);
        } else {
            board.stages.insert(id.clone(), Stage::Ended);
        }
        self.0.changed.notify_all();
        Ok(id)
    }

    /// The stage of a candidate of this server, and its run's log; waits while a verdict may still come.
    pub(super) fn wait(&self, id: &Id, most: Duration) -> Option<(Stage, Log)> {
        let is_open = |board: &mut Board| board.stages.get(id).is_some_and(Stage::is_open);
        let waited = self.0.changed.wait_timeout_while(self.0.board(), most, is_open);
        let (board, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Some((board.stages.get(id)?.clone(), board.runs.get(&id.run)?.file.log().clone()))
    }

    /// The candidates of a run that are not settled by its log, and what they are.
    pub(super) fn open(&self, run: &RunId) -> Vec<(Id, String)> {
        let board = self.0.board();
        let of_run = board.stages.iter().filter(|(id, _)| id.run == *run);
        of_run.filter_map(|(id, stage)| Some((id.clone(), stage.word()?.to_owned()))).collect()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.0.board().life = Life::Closed;
        self.0.changed.notify_all();
    }
}

impl Board {
    /// A job that is under way or has its verdict is not begun again.
    fn enqueue(&mut self, id: &Id) {
        let is_settled = self.stages.get(id).is_some_and(|stage| stage.is_open() || *stage == Stage::Ended);
        if !is_settled {
            self.stages.insert(id.clone(), Stage::Waiting);
            self.queue.push_back(id.clone());
        }
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(id) = self.next() {
            let stage = match catch_unwind(AssertUnwindSafe(|| self.one(&id))) {
                Ok(Ok(stage)) => stage,
                Ok(Err(reason)) => Stage::Failed(reason),
                Err(panic) => Stage::Failed(format!("the job broke down: {}", said(&*panic))),
            };
            self.set(&id, stage);
        }
    }

    /// The next job, once there is one; none at the end of the server.
    fn next(&self) -> Option<Id> {
        let is_idle = |board: &mut Board| board.queue.is_empty() && board.life == Life::Open;
        let waited = self.changed.wait_while(self.board(), is_idle);
        let mut board = waited.unwrap_or_else(PoisonError::into_inner);
        let id = board.queue.pop_front().filter(|_| board.life == Life::Open)?;
        board.stages.insert(id.clone(), Stage::Compiling);
        Some(id)
    }

    /// Compiles, screens and decides, as far as the candidate comes; of one that sweeps constants, all points, and then the best.
    fn one(&self, id: &Id) -> Result<Stage, String> {
        let mut compiled = Vec::new();
        for kernel in kernels(&self.log(id)?, id.candidate) {
            let built = self.step(id, |bench, work, events| bench.build(work, kernel, events))?;
            compiled.extend((built.outcome == Outcome::Compiled).then_some(kernel));
            self.record(id, built)?;
        }
        if compiled.is_empty() {
            return Ok(Stage::Ended);
        }
        self.set(id, Stage::Screening);
        match self.step(id, |bench, work, events| bench.judge(work, &compiled, events))? {
            Judged::Cannot(why) => return Ok(Stage::NotJudged(why)),
            Judged::Verdicts(verdicts) => {
                verdicts.into_iter().try_for_each(|verdict| self.record(id, verdict))?;
            }
        }
        let log = self.log(id)?;
        let best = chosen(&log, id.candidate);
        if log.verdict(best).is_none_or(|verdict| verdict.outcome != Outcome::Right) {
            return Ok(Stage::Ended);
        }
        self.set(id, Stage::WholeGate);
        let decided = self.step(id, |bench, work, events| bench.decide(work, best, events))?;
        self.record(id, decided).map(|()| Stage::Ended)
    }

    fn log(&self, id: &Id) -> Result<Log, String> {
        let board = self.board();
        board.runs.get(&id.run).map(|run| run.file.log().clone()).ok_or_else(|| "its run is gone".to_owned())
    }

    /// A step, without the board held. Its events say how far the candidate is.
    fn step<T>(
        &self,
        id: &Id,
        step: impl FnOnce(&dyn Bench, &Work<'_>, &mut dyn Reporter) -> Result<T, String>,
    ) -> Result<T, String> {
        let (plan, kept, log) = {
            let board = self.board();
            let run = board.runs.get(&id.run).ok_or("its run is gone")?;
            (Arc::clone(&run.plan), run.kept.clone(), run.file.log().clone())
        };
        let locked = (self.tools.locked)(&plan);
        let work = Work { plan: &plan, log: &log, locked: locked.as_ref(), kept: &kept };
        let mut events = |event: &Event| {
            let next = self.board().stages.get(id).and_then(|stage| stage.after(event));
            if let Some(stage) = next {
                self.set(id, stage);
            }
            (self.tools.events)(event);
        };
        step(&*self.tools.bench, &work, &mut events)
    }

    /// Appends a verdict.
    fn record(&self, id: &Id, verdict: Verdict) -> Result<(), String> {
        let mut board = self.board();
        let run = board.runs.get_mut(&id.run).ok_or("its run is gone")?;
        run.file.append(Entry::Verdict(verdict)).map(drop).map_err(|error| error.to_string())
    }

    fn set(&self, id: &Id, stage: Stage) {
        self.board().stages.insert(id.clone(), stage);
        self.changed.notify_all();
    }
}

/// The kernels of a candidate: itself, or its points.
fn kernels(log: &Log, candidate: Sequence) -> Vec<Sequence> {
    let all = std::iter::once(candidate).chain(log.points(candidate).map(|(point, _)| point));
    all.filter(|at| log.kernel(*at).is_some()).collect()
}

/// The candidate that this one repeats: a kernel, or the sweep whose points all of its own are.
fn repeated(log: &Log, candidate: Sequence) -> Option<Sequence> {
    if let Some(Content::Repeat { of }) = log.content(candidate) {
        return Some(*of);
    }
    let of = |(_, point): (Sequence, &Point)| match point.content {
        Content::Repeat { of } => Some(log.reply(of)),
        _ => None,
    };
    let all: Option<BTreeSet<Sequence>> = log.points(candidate).map(of).collect();
    all.filter(|all| all.len() == 1).and_then(|all| all.first().copied())
}

/// What a panic says.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a reason")
}
