//! Search: the loop between a miss and the store. Generate, compile, evaluate, refine; then an entry in the user's
//! store. One loop for every target and generator; build scripts and the command both call it here.

mod answered;
mod bench;
mod compiled;
mod config;
mod entry;
mod error;
mod final_evaluation;
mod foreign;
mod judging;
mod launch;
mod migrate;
mod naive;
mod ordered;
mod predict;
mod propose;
mod rebuild;
mod renew;
mod rounds;
mod sanitize;
mod step;
mod verify;

use std::path::PathBuf;
use std::time::Instant;

use cutegen_spec::record::Record;
use cutegen_spec::target::Target;

pub use answered::{Answered, Fastest, meets_accept, over_naive};
pub use bench::{Bench, Benched, Times};
pub use compiled::{Refusal, stored};
pub use config::{Budget, SearchConfig};
pub use error::SearchError;
pub use final_evaluation::Final;
pub use judging::Devices;
pub(crate) use judging::main as judge_main;
pub use launch::{Launch, Which};
pub use migrate::{Migrated, migrated, naive_as_printed};
pub use predict::Locked;
pub use propose::{Speeds, Submitted, Verdict as ProposalVerdict};
pub use rebuild::{Rebuilt, Stored};
pub use renew::Renewed;
pub use rounds::screen::{Against, Screen, Screened, ScreenedPoint, Winner};
pub use step::{BY_STORE, BY_TEMPLATE};
pub use verify::Verdict;

use answered::Beside;
use final_evaluation::IncumbentVerdict;
use rounds::Searched;

use crate::accept;
use crate::compile::{CompileCache, CompileSetup, Limits, Workers};
use crate::emit::{EmitKernel, linkable};
use crate::env;
use crate::evaluate::Ran;
use crate::event::{Event, Phase, Reporter};
use crate::generate::template::Templates;
use crate::generate::{Candidate, Generator};
use crate::home;
use crate::plan::Plan;
use crate::refine::{self, Choice, Trial};
use crate::store::{Entry, Lookup, Store};
use crate::toolchain::{Places, STAMP_FILE, locate};

/// Everything a search needs of this machine: compilers, workers, the user's store.
pub struct Searcher {
    setup: CompileSetup,
    store: Store,
    peers: bool,
    choice: Choice,
}

/// What a search tried.
struct Tried {
    history: Vec<Trial>,
    finals: Vec<Final>,
}

/// What a build script calls on a miss in mode `search`.
pub fn find(plan: &Plan, events: &mut dyn Reporter) -> Result<Entry, SearchError> {
    Searcher::new()?.find(plan, None, events)
}

/// The toolchain of the bundle that this program was unpacked from: a stamped folder beside it.
fn bundled() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.join("toolchain");
    folder.join(STAMP_FILE).is_file().then_some(folder)
}

/// Whether an entry is a search's answer, and one that a build would link.
fn is_answer(plan: &Plan, entry: &Entry) -> bool {
    let kernel = EmitKernel { plan, record: &entry.record, artifacts: &entry.artifacts };
    entry.record.is_tuned() && linkable(&kernel).is_ok()
}

/// Says how far the search is, where there is anything of that.
fn progress(plan: &Plan, phase: Phase, (done, of): (usize, usize), events: &mut dyn Reporter) {
    if of == 0 {
        return;
    }
    events.report(&Event::Progress { kernel: plan.title(), phase, done, of });
}

/// Adds the seconds that this takes.
fn spent<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    *seconds += began.elapsed().as_secs_f64();
    done
}

/// A card, by what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability.
    pub capability: (u32, u32),
}

impl Searcher {
    /// Locates the toolchain and the user's store. This program becomes the workers.
    pub fn new() -> Result<Self, SearchError> {
        let mut places = Places::from_env()?;
        places.explicit = places.explicit.or_else(bundled);
        let toolchain = locate(&places)?;
        let workers = Workers::current().map_err(SearchError::Worker)?;
        let cache = CompileCache::in_folder(home::compiled(env::variable_os)?);
        let setup = CompileSetup { toolchain, workers, limits: Limits::default(), cache };
        Ok(Self { setup, store: accept::user_store()?, peers: false, choice: Choice::default() })
    }

    /// Has finalists timed against PyTorch too, where a spec names an expression of it. It takes minutes to start.
    #[must_use]
    pub fn with_peers(self, peers: bool) -> Self {
        Self { peers, ..self }
    }

    /// Has answers chosen so.
    #[must_use]
    pub fn with_choice(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    /// The user's store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The card that kernels for GPUs are judged on here; the error says what is missing.
    pub fn card(&self) -> Result<Card, String> {
        let device = compiled::device()?;
        Ok(Card { name: device.name.clone(), capability: device.capability })
    }

    /// Whether this machine can judge kernels for `target`; the error says what is missing.
    pub fn can_judge(&self, target: &Target) -> Result<(), String> {
        match target {
            Target::Host { .. } => {
                self.setup.toolchain.need_cxx().map(|_| ()).map_err(|error| error.to_string())
            }
            Target::Cuda { .. } => compiled::cuda_device(target).map(|_| ()),
        }
    }

    /// Whether compute-sanitizer looks at what is judged for `target` here.
    #[must_use]
    pub fn sanitizes(&self, target: &Target) -> bool {
        !target.is_host() && sanitize::program().is_some()
    }

    /// The user store's tuned entry for the plan, or that of a new search, which has to beat what is `locked`.
    pub fn find(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        events: &mut dyn Reporter,
    ) -> Result<Entry, SearchError> {
        match self.known(plan, events) {
            Some(entry) => Ok(entry),
            None => self.search(plan, locked, events),
        }
    }

    /// The user store's tuned entry for the plan.
    pub fn known(&self, plan: &Plan, events: &mut dyn Reporter) -> Option<Entry> {
        match self.store.get(&plan.key) {
            Lookup::Hit(entry) if is_answer(plan, &entry) => Some(entry),
            Lookup::Hit(_) | Lookup::Miss => None,
            Lookup::Corrupt(corrupt) => {
                events.report(&Event::Note { text: format!("searching again: {corrupt}") });
                None
            }
        }
    }

    /// Searches, and puts the answer into the user's store. Where `locked` or the user's store has a tuned entry, that is
    /// re-verified and stays, with fresh evidence, unless it is beaten or the gate refuses it. Where its sources give other
    /// bytes by now, or it gains too little over the naive kernel, it stays as it was unless it is beaten.
    pub fn search(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        events: &mut dyn Reporter,
    ) -> Result<Entry, SearchError> {
        Ok(self.search_beside(plan, locked, Vec::new(), events)?.entry)
    }

    /// The same with kernels that runs `found` beside those of templates, and with the fastest of what was tried.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn search_beside(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        found: Vec<Candidate>,
        events: &mut dyn Reporter,
    ) -> Result<Answered, SearchError> {
        let toolchain = compiled::fingerprint(&self.setup, &plan.target)?;
        let found = self.confined(plan, found, events);
        let own = Templates::new(toolchain).of_parts(refine::select);
        let generators: Vec<Box<dyn Generator>> = vec![Box::new(Beside { own, found })];
        let config = SearchConfig { peers: self.peers, choice: self.choice, ..SearchConfig::of(generators) };
        let (entry, tried) = self.search_by(plan, locked, config, events)?;
        Ok(Answered { entry, fastest: answered::fastest(&tried) })
    }

    /// The same with generators of the caller's.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn search_with(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        config: SearchConfig<'_>,
        events: &mut dyn Reporter,
    ) -> Result<Entry, SearchError> {
        Ok(self.search_by(plan, locked, config, events)?.0)
    }

    /// A search by these generators: the entry, and what was tried.
    fn search_by(
        &self,
        plan: &Plan,
        locked: Option<&Entry>,
        mut config: SearchConfig<'_>,
        events: &mut dyn Reporter,
    ) -> Result<(Entry, Tried), SearchError> {
        let started = Instant::now();
        let known = match self.store.get_full(&plan.key) {
            Lookup::Hit(entry) => Some(entry),
            Lookup::Miss | Lookup::Corrupt(_) => None,
        };
        let locked = [locked, known.as_ref()].into_iter().flatten().find(|entry| is_answer(plan, entry));
        let Searched { mut found, history } =
            rounds::run(&self.setup, plan, locked, &mut config, started, events)?;
        let tried = Tried { history, finals: std::mem::take(&mut found.finals) };
        let verdict = match &found.verdict {
            IncumbentVerdict::Refused(why) => Some(format!("what is locked is refused: {why}")),
            IncumbentVerdict::Stays => Some("what is locked stays, re-verified: nothing beats it".to_owned()),
            IncumbentVerdict::Open => (locked.is_some() && !found.is_tuned())
                .then(|| "what is locked stays as it was: nothing beats it".to_owned()),
        };
        if let Some(verdict) = verdict {
            events.report(&Event::Note { text: format!("{}: {verdict}", plan.title()) });
        }
        if let Some(locked) = locked.filter(|_| !found.is_tuned() && found.verdict == IncumbentVerdict::Open)
        {
            return Ok((self.keep(plan, locked)?, tried));
        }
        let (record, files) = entry::build(plan, &found)?;
        self.put(&record, &files)?;
        let (variant, speedup) = found.headline();
        let seconds = started.elapsed().as_secs_f64();
        events.report(&Event::Found { kernel: plan.title(), variant, speedup, seconds });
        Ok((self.read_back(plan)?, tried))
    }

    /// Sees to it that the user's store has the entry.
    fn keep(&self, plan: &Plan, entry: &Entry) -> Result<Entry, SearchError> {
        if !matches!(self.store.get(&plan.key), Lookup::Hit(kept) if kept.record == entry.record) {
            let mut files = Vec::new();
            for (at, variant) in entry.record.variants.iter().enumerate() {
                files.push((variant.artifact.file.clone(), entry.artifacts[at].clone()));
                files.extend(
                    entry.sources.get(at).map(|source| (variant.source.file.clone(), source.clone())),
                );
            }
            self.put(&entry.record, &files)?;
        }
        self.read_back(plan)
    }

    /// Compiles the naive kernel alone: the entry's record and its files. No device is needed, so none has judged
    /// it.
    pub fn untuned(&self, plan: &Plan) -> Result<Locked, SearchError> {
        predict::untuned(&self.setup, plan)
    }

    /// Compiles what the cost estimate picks of each bucket, and the naive kernel behind it. Of a target that this machine can
    /// judge, and of the host, the naive kernel alone: there a search finds out.
    pub fn predicted(&self, plan: &Plan) -> Result<Locked, SearchError> {
        if plan.target.is_host() || self.can_judge(&plan.target).is_ok() {
            return self.untuned(plan);
        }
        predict::predicted(&self.setup, plan)
    }

    /// Judges the variants of a locked entry again, on this machine.
    pub fn rejudge(&self, plan: &Plan, entry: &Entry) -> Result<Verdict, SearchError> {
        verify::rejudge(&self.setup, plan, entry)
    }

    /// Judges each variant of a locked entry again, on this machine: its record with fresh evidence, or the verdict
    /// that keeps it from having any.
    pub fn judge_again(&self, plan: &Plan, entry: &Entry) -> Result<Result<Record, Verdict>, SearchError> {
        verify::judge_again(&self.setup, plan, entry)
    }

    /// Launches locked variants on tensors of a user, in a runner of their own.
    pub fn launch(
        &self,
        plan: &Plan,
        entry: &Entry,
        what: &Launch,
    ) -> Result<Result<Ran, Verdict>, SearchError> {
        launch::run(&self.setup, plan, entry, what)
    }

    /// Times what is locked once more, under the gate's protocol. Nothing is stored.
    pub fn bench(
        &self,
        plan: &Plan,
        entry: &Entry,
        what: &Bench,
        events: &mut dyn Reporter,
    ) -> Result<Benched, SearchError> {
        bench::run(&self.setup, plan, entry, what, events)
    }

    /// Ranks a plan's points and times what a search would dispatch. Nothing is judged by the whole gate, nothing stored.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn screen(
        &self,
        plan: &Plan,
        what: &Screen,
        events: &mut dyn Reporter,
    ) -> Result<Screened, SearchError> {
        rounds::screen::run(&self.setup, plan, what, Instant::now(), events)
    }

    /// Compiles stored sources again, on all cores, and compares with the recorded digests. `tell` gets each outcome under
    /// the number of its source, in order and as soon as it is known.
    pub fn rebuild(
        &self,
        sources: &[Stored<'_>],
        tell: &mut dyn FnMut(usize, Result<Rebuilt, SearchError>),
    ) -> Result<(), SearchError> {
        rebuild::rebuild(&self.setup, sources, tell)
    }

    /// Makes locked entries, which came with their sources, as today's printer and compilers make them, on all cores. `tell`
    /// gets each under its number, in order and as soon as it is made. No device is needed.
    pub fn renew(
        &self,
        entries: &[(&Plan, Entry)],
        tell: &mut dyn FnMut(usize, Result<Renewed, SearchError>),
    ) {
        renew::renew(&self.setup, entries, tell);
    }

    fn put(&self, record: &Record, files: &[(String, Vec<u8>)]) -> Result<(), SearchError> {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        self.store.put(record, &files)?;
        Ok(())
    }

    fn read_back(&self, plan: &Plan) -> Result<Entry, SearchError> {
        match self.store.get(&plan.key) {
            Lookup::Hit(entry) => Ok(entry),
            Lookup::Miss => Err(SearchError::Vanished(self.store.entry_dir(&plan.key))),
            Lookup::Corrupt(corrupt) => Err(SearchError::Corrupt(corrupt)),
        }
    }
}
