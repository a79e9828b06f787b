//! Blocks: a candidate and an incumbent in one fresh runner, which times interleaved blocks of launches over the same
//! rotation of inputs. Afterwards the outputs that the timed launches left are held against those of untimed ones. How many
//! blocks there are, how long, and in which order: all of that is here.

use std::time::Duration;

use cutegen_spec::tensor::Role;

use super::incumbent::{Incumbent, Measured, Unmeasured};
use super::rotation::{Entrant, Rotation};
use super::torch::Theirs;
use super::{Halted, Timing, Turn};
use crate::evaluate::device::clocks::Sample;
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::{MemoryBackend, Slots};
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::stats::{compare, interleave};
use crate::evaluate::wire::arena::POISON;
use crate::evaluate::wire::protocol::{
    Action, Backend, Job, Program, Regime, Region, Reply, Run, TimePlan, Timed,
};
use crate::outcome::{Check, Comparison, Crash, Distribution, Fault, Outcome, Place};

const MIN_BLOCK_NS: u64 = 200_000;
const WARM_UP_NS: u64 = 20_000_000;
/// How long a device is kept busy before, and at least while, it is timed without pause.
const SUSTAINED_WARM_UP_NS: u64 = 300_000_000;
const SUSTAINED_NS: u64 = 3_000_000_000;
/// Parts of a finalist's blocks, between which the card is looked at: of a sustained timing each lasts a second.
const PARTS: usize = 3;
/// An incumbent this many times slower is timed once: nothing hangs on how much slower it is.
const FAR: u32 = 20;
/// Blocks of an ABBA of two programs, which stay together.
const TOGETHER: usize = 4;

/// The longest that all blocks together may take, calibration included.
const DEADLINE: Duration = Duration::from_secs(300);

/// What untimed launches left, by program.
pub(super) struct Untimed<D: MemoryBackend> {
    pub(super) left: Vec<D::Left>,
    /// What of a library was launched, in words.
    pub(super) about: Option<String>,
}

impl<D: MemoryBackend> Timing<'_, D> {
    /// See [`Judge::measure`](super::Judge::measure).
    pub(in crate::evaluate) fn measure(
        &mut self,
        candidate: &Candidate,
        incumbent: &Incumbent,
        axes: &[i64],
        regime: Regime,
    ) -> Result<Result<Measured, Unmeasured>, Error> {
        match self.time(candidate, incumbent, axes, regime) {
            Ok(measured) => Ok(Ok(measured)),
            Err(Halted::Unmeasured(unmeasured)) => Ok(Err(unmeasured)),
            Err(Halted::Error(error)) => Err(error),
        }
    }

    pub(super) fn time(
        &mut self,
        candidate: &Candidate,
        incumbent: &Incumbent,
        axes: &[i64],
        regime: Regime,
    ) -> Result<Measured, Halted> {
        let entrants = match incumbent {
            Incumbent::Variant(incumbent) => self.variants(&[candidate.clone(), incumbent.clone()])?,
            Incumbent::CublasLt(gemm) => {
                let mut entrants = self.variants(std::slice::from_ref(candidate))?;
                entrants.push(Entrant::CublasLt(gemm.clone()));
                entrants
            }
            Incumbent::Torch(text, mode) => {
                return self.time_peer(candidate, &Theirs::Expression(text, *mode), axes);
            }
            Incumbent::InPeer(variant) => return self.time_peer(candidate, &Theirs::Variant(variant), axes),
        };
        let shared = self.checker.runner.lease.shared();
        if regime == Regime::Burst {
            self.checker.runner.replace_worker(); // what decides; for the rest loading modules anew and filling memory is enough
        }
        let rotation = self.ready(&entrants, axes, Turn::Final)?;
        drop(shared);
        let _alone = self.checker.runner.lease.alone();
        let untimed = self.untimed(&rotation)?;
        let (about, mut differs) = self.held_to_reference(&rotation, untimed.about.clone())?;
        let order = interleave(2, self.checker.settings.pairs, rotation.seed);
        let (timed, samples) = self.timed(&rotation, &order, (Turn::Final, regime))?;
        differs = differs.or(self.check_timed(&rotation, &untimed.left)?);
        let order = order.get(..timed.block_ns.len()).unwrap_or_default();
        let comparison = compare(order, timed.launches, &timed.block_ns, rotation.seed);
        let comparison = comparison
            .ok_or_else(|| Halted::from(Outcome::Crashed(Crash::Protocol("timed no pairs".to_owned()))))?;
        self.check_floor(axes, &comparison).map_or(Ok(()), Err)?;
        Ok(Measured { comparison, device: self.checker.runner.device(), samples, about, differs })
    }

    pub(super) fn variants(&mut self, candidates: &[Candidate]) -> Result<Vec<Entrant>, Halted> {
        Ok(self.checker.runner.load(candidates)?.into_iter().map(Entrant::Variant).collect())
    }

    /// The rotation, and a runner that has what its programs need.
    pub(super) fn ready(
        &mut self,
        entrants: &[Entrant],
        axes: &[i64],
        turn: Turn,
    ) -> Result<Rotation<D>, Halted> {
        let with_cublaslt = entrants.iter().any(|entrant| matches!(entrant, Entrant::CublasLt(_)));
        self.checker.runner.with_cublaslt = false;
        self.checker.runner.bench(0)?; // its cache sizes the rotation
        let rotation = self.rotation(entrants, axes, turn)?;
        if with_cublaslt {
            self.checker.runner.replace_worker();
            self.checker.runner.with_cublaslt = true;
            if let Some(reason) = self.checker.runner.bench(rotation.bytes)?.worker.ready.no_cublaslt.clone()
            {
                return Err(Halted::incumbent(reason));
            }
        }
        Ok(rotation)
    }

    /// Outputs of timed launches are those of untimed ones: of ours, or it is the candidate's fault. Of a library's it is
    /// told in words.
    pub(super) fn check_timed(
        &mut self,
        rotation: &Rotation<D>,
        untimed: &[D::Left],
    ) -> Result<Option<String>, Halted> {
        let strayed = self.strayed(rotation, untimed)?;
        let Some(program) = strayed.first() else { return Ok(None) };
        if rotation.programs[*program].variant().is_none() {
            return Ok(Some("leaves other results when it is timed".to_owned()));
        }
        Err(self.timed_otherwise(&rotation.axes).into())
    }

    /// The programs that left other outputs when they were timed, or leave other ones where they were.
    pub(super) fn strayed(
        &mut self,
        rotation: &Rotation<D>,
        untimed: &[D::Left],
    ) -> Result<Vec<usize>, Halted> {
        if !self.checker.spec.deterministic || !self.checker.settings.checks.has(Check::Timed) {
            return Ok(Vec::new());
        }
        let rounds = match self.reply(self.job(rotation, Vec::new(), Action::Settle))? {
            Reply::Settled(rounds) => rounds,
            other => return Err(self.checker.runner.unexpected(&other).into()),
        };
        let programs = rotation.programs.iter().zip(rounds).map(|(program, round)| program.turned(round));
        let mut strayed = Vec::new();
        for (program, (untimed, left)) in untimed.iter().zip(self.left(rotation, programs)?).enumerate() {
            if !self.checker.cases.backend.same(untimed, &left)? {
                strayed.push(program);
            }
        }
        Ok(strayed)
    }

    pub(super) fn timed_otherwise(&self, axes: &[i64]) -> Outcome {
        Outcome::Incorrect(Fault::TimedOtherwise { place: self.timed_place(axes) })
    }

    /// No kernel is faster than its bytes and operations allow.
    pub(super) fn check_floor(&self, axes: &[i64], comparison: &Comparison) -> Option<Outcome> {
        let floor = self
            .checker
            .settings
            .floor
            .as_ref()
            .filter(|_| self.checker.settings.checks.has(Check::Floor))?;
        let (micros, floor) = (comparison.candidate_us, floor.micros(axes));
        if micros >= floor {
            return None;
        }
        let place = self.timed_place(axes);
        Some(Outcome::Incorrect(Fault::TooFast { place, micros, floor }))
    }

    pub(super) fn timed_place(&self, axes: &[i64]) -> Place {
        let output = self.checker.spec.tensors.iter().find(|t| t.role != Role::Input);
        Place {
            axes: axes.to_vec(),
            distribution: Distribution::Normal,
            tensor: output.map(|t| t.name.clone()).unwrap_or_default(),
            index: Vec::new(),
        }
    }

    /// Runs every program once on every slot.
    pub(super) fn untimed(&mut self, rotation: &Rotation<D>) -> Result<Untimed<D>, Halted> {
        self.fill_rotation(rotation)?;
        let mut about = None;
        for program in &rotation.programs {
            match self.reply(self.job(rotation, vec![program.clone()], Action::Run(Run::AFRESH)))? {
                Reply::Done(done) => about = done.library.or(about),
                other => return Err(self.checker.runner.unexpected(&other).into()),
            }
        }
        let programs = rotation.programs.iter().cloned();
        Ok(Untimed { left: self.left(rotation, programs)?, about })
    }

    /// The runner's reply; that a library lacks something is the incumbent's.
    pub(super) fn reply(&mut self, job: Job) -> Result<Reply, Halted> {
        match self.checker.runner.answer(job, DEADLINE)? {
            Reply::Lacking(reason) => Err(Halted::incumbent(reason)),
            reply => Ok(reply),
        }
    }

    /// Times the blocks of `order`; a finalist's in parts, and the card is looked at around and between them. Against an
    /// incumbent that is far slower they end behind the first pair.
    pub(super) fn timed(
        &mut self,
        rotation: &Rotation<D>,
        order: &[usize],
        (turn, regime): (Turn, Regime),
    ) -> Result<(Timed, Vec<Sample>), Halted> {
        self.fill_rotation(rotation)?;
        let parts = match (self.checker.settings.workers.backend, turn) {
            (Backend::Cuda, Turn::Final) => PARTS,
            (Backend::Host, _) | (_, Turn::Ranking) => 1,
        };
        let length = order.len().div_ceil(parts).next_multiple_of(TOGETHER);
        let (mut all, mut samples) = (Timed::default(), Vec::new());
        self.timer.watch.look(&mut samples);
        let plan = |part: &[usize]| plan(part, order.len(), (turn, regime));
        for (number, part) in order.chunks(length.max(1)).enumerate() {
            let (programs, action) = match number {
                0 => (rotation.programs.clone(), Action::Time(plan(part))),
                _ => (Vec::new(), Action::Blocks(part.to_vec())),
            };
            let Timed { launches, block_ns } = match self.reply(self.job(rotation, programs, action))? {
                Reply::Timed(timed) => timed,
                other => return Err(self.checker.runner.unexpected(&other).into()),
            };
            self.timer.watch.look(&mut samples);
            let is_over = number == 0 && plan(part).ends_behind(&block_ns);
            if block_ns.len() != part.len() && !is_over {
                return Err(Outcome::Crashed(Crash::Protocol("timed other blocks".to_owned())).into());
            }
            all.launches = launches;
            all.block_ns.extend(block_ns);
            if is_over {
                break;
            }
        }
        Ok((all, samples))
    }

    /// A freshly filled arena. A host candidate gets a new runner with it: its state may lie anywhere in the old one.
    pub(super) fn fill_rotation(&mut self, rotation: &Rotation<D>) -> Result<(), Error> {
        if self.checker.settings.workers.backend == Backend::Host {
            self.checker.runner.replace_worker();
        }
        self.checker.runner.bench(rotation.bytes)?;
        let Some(bench) = &mut self.checker.runner.live else {
            return Err(Error::Worker("vanished".to_owned()));
        };
        let slots = |program| {
            let (scratch, kept_zero) = Program::regions(program, &rotation.axes);
            Slots { slots: &program.slots, scratch, kept_zero }
        };
        let programs: Vec<Slots<'_>> = rotation.programs.iter().map(slots).collect();
        let (arena, drawn) = (&mut bench.arena, &rotation.drawn);
        self.checker.cases.backend.fill_rotation(arena, drawn, &programs, &rotation.guards, POISON)
    }

    pub(super) fn job(&self, rotation: &Rotation<D>, programs: Vec<Program>, action: Action) -> Job {
        let scalars = self.checker.cases.scalars(&self.checker.spec, rotation.seed, Distribution::Normal);
        Job { arena_bytes: rotation.bytes, axes: rotation.axes.clone(), scalars, programs, action }
    }

    /// What every program left in its outputs, and in what it keeps zero. Inouts are left out: timed launches follow one
    /// another on them.
    pub(super) fn left(
        &mut self,
        rotation: &Rotation<D>,
        programs: impl Iterator<Item = Program>,
    ) -> Result<Vec<D::Left>, Halted> {
        let outputs: Vec<usize> = self.checker.spec.tensors_with(Role::Output).collect();
        self.checker.runner.bench(rotation.bytes)?;
        let Some(bench) = &self.checker.runner.live else {
            return Err(Error::Worker("vanished".to_owned()).into());
        };
        let left = |program: Program| {
            let regions = program.slots.iter().flat_map(|slot| outputs.iter().map(|t| slot[*t]));
            let regions: Vec<Region> = regions.chain([program.regions(&rotation.axes).1]).collect();
            Ok(self.checker.cases.backend.left(&bench.arena, &regions)?)
        };
        programs.map(left).collect()
    }
}

/// How `part` of `blocks` blocks is timed.
pub(super) fn plan(part: &[usize], blocks: usize, (turn, regime): (Turn, Regime)) -> TimePlan {
    let (min_block_ns, warm_up_ns) = match regime {
        Regime::Burst => (MIN_BLOCK_NS, WARM_UP_NS),
        Regime::Sustained => (MIN_BLOCK_NS.max(SUSTAINED_NS / blocks.max(1) as u64), SUSTAINED_WARM_UP_NS),
    };
    let enough = (turn == Turn::Final && regime == Regime::Burst).then_some(FAR);
    TimePlan { order: part.to_vec(), min_block_ns, warm_up_ns, regime, enough }
}
