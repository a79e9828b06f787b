//! Comparing a candidate with an incumbent: both loaded in one fresh runner, which times interleaved blocks over the
//! same rotation of inputs; afterwards the outputs that the timed launches left are held against those of untimed
//! ones.

use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::tensor::Role;

use super::arena::{Alignment, Extent, POISON, layout};
use super::candidate::{Candidate, Loadable};
use super::case::contents;
use super::desk::{Desk, Slots};
use super::error::Error;
use super::fault::{Check, Fault, Place};
use super::image::workspace;
use super::inputs::{Distribution, mix};
use super::judge::Session;
use super::outcome::{Crash, Outcome};
use super::protocol::{Action, Backend, Job, Program, Regime, Region, Reply, Run, TimePlan, Timed};
use super::session::{Halt, program};
use super::stats::{CANDIDATE, Comparison, INCUMBENT, compare, interleave};
use super::strided::Placed;

const MIN_BLOCK_NS: u64 = 200_000;
const WARM_UP_NS: u64 = 20_000_000;
/// How long a device is kept busy before, and at least while, it is timed without pause.
const SUSTAINED_WARM_UP_NS: u64 = 300_000_000;
const SUSTAINED_NS: u64 = 3_000_000_000;

/// The longest that all blocks together may take, calibration included.
const DEADLINE: Duration = Duration::from_secs(300);

/// How often a rotation covers the last-level cache.
const CACHES: u64 = 3;
const SLOTS_LEAST: u64 = 3;

/// Memory of a timing, and where everything lies in it.
struct Rotation<D: Desk> {
    axes: Vec<i64>,
    seed: u64,
    drawn: Rc<D::Drawn>,
    programs: Vec<Program>,
    guards: Vec<Region>,
    bytes: u64,
}

/// Which timing of a session this is. Each has inputs of its own, so that what won once must win again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// While candidates are ranked.
    Ranking,
    /// Of a finalist, in a new process and on new inputs.
    Final,
}

impl<D: Desk> Session<D> {
    /// See [`Judge::compare`](super::Judge::compare).
    pub(super) fn compare(
        &mut self,
        candidate: &Candidate,
        incumbent: &Candidate,
        axes: &[i64],
    ) -> Result<Result<Comparison, Outcome>, Error> {
        let pair = [candidate.clone(), incumbent.clone()];
        settle(self.time(pair, axes, Turn::Ranking, Regime::Burst))
    }

    /// See [`Judge::measure`](super::Judge::measure).
    pub(super) fn measure(
        &mut self,
        candidate: &Candidate,
        incumbent: &Candidate,
        axes: &[i64],
        regime: Regime,
    ) -> Result<Result<Comparison, Outcome>, Error> {
        settle(self.time([candidate.clone(), incumbent.clone()], axes, Turn::Final, regime))
    }

    fn time(
        &mut self,
        candidates: [Candidate; 2],
        axes: &[i64],
        turn: Turn,
        regime: Regime,
    ) -> Result<Comparison, Halt> {
        let loaded = self.load(&candidates)?;
        if turn == Turn::Final {
            self.replace_worker();
        }
        // its cache sizes the rotation
        self.bench(0)?;
        let rotation = self.rotation(&loaded, axes, turn)?;
        let untimed = self.untimed(&rotation)?;
        let order = interleave(self.settings.pairs, rotation.seed);
        let (timed, left) = self.timed(&rotation, &order, regime)?;
        if self.spec.deterministic && self.settings.checks.has(Check::Timed) {
            self.check_timed(&rotation, &untimed, &left)?;
        }
        let comparison = compare(&order, timed.launches, &timed.block_ns, rotation.seed);
        let comparison = comparison
            .ok_or_else(|| Halt::from(Outcome::Crashed(Crash::Protocol("timed no pairs".to_owned()))))?;
        self.check_floor(axes, &comparison)?;
        Ok(comparison)
    }

    fn check_timed(&self, rotation: &Rotation<D>, untimed: &D::Left, left: &D::Left) -> Result<(), Halt> {
        if self.cases.desk.same(untimed, left)? {
            return Ok(());
        }
        let place = self.timed_place(&rotation.axes);
        Err(Outcome::Incorrect(Fault::TimedOtherwise { place }).into())
    }

    /// No kernel is faster than its bytes and operations allow.
    fn check_floor(&self, axes: &[i64], comparison: &Comparison) -> Result<(), Halt> {
        let Some(floor) = self.settings.floor.as_ref().filter(|_| self.settings.checks.has(Check::Floor))
        else {
            return Ok(());
        };
        let (micros, floor) = (comparison.candidate_us, floor.micros(axes));
        if micros >= floor {
            return Ok(());
        }
        let place = self.timed_place(axes);
        Err(Outcome::Incorrect(Fault::TooFast { place, micros, floor }).into())
    }

    fn timed_place(&self, axes: &[i64]) -> Place {
        let output = self.spec.tensors.iter().find(|t| t.role != Role::Input);
        Place {
            axes: axes.to_vec(),
            distribution: Distribution::Normal,
            tensor: output.map(|t| t.name.clone()).unwrap_or_default(),
            index: Vec::new(),
        }
    }

    /// Runs every program once on every slot.
    fn untimed(&mut self, rotation: &Rotation<D>) -> Result<D::Left, Halt> {
        self.fill_rotation(rotation)?;
        for program in &rotation.programs {
            let run = Run { reload: true, scramble: false, watch_globals: false };
            let job = self.job(rotation, vec![program.clone()], Action::Run(run));
            match self.answer(job, DEADLINE)? {
                Reply::Done(_) => {}
                other => return Err(self.unexpected(&other)),
            }
        }
        self.left(rotation)
    }

    fn timed(
        &mut self,
        rotation: &Rotation<D>,
        order: &[usize],
        regime: Regime,
    ) -> Result<(Timed, D::Left), Halt> {
        self.fill_rotation(rotation)?;
        let (min_block_ns, warm_up_ns) = match regime {
            Regime::Burst => (MIN_BLOCK_NS, WARM_UP_NS),
            Regime::Sustained => {
                (MIN_BLOCK_NS.max(SUSTAINED_NS / order.len().max(1) as u64), SUSTAINED_WARM_UP_NS)
            }
        };
        let plan = TimePlan { order: order.to_vec(), min_block_ns, warm_up_ns, regime };
        let job = self.job(rotation, rotation.programs.clone(), Action::Time(plan));
        match self.answer(job, DEADLINE)? {
            Reply::Timed(timed) => Ok((timed, self.left(rotation)?)),
            other => Err(self.unexpected(&other)),
        }
    }

    /// A freshly filled arena. A host candidate gets a new runner with it: its state may lie anywhere in the old one.
    fn fill_rotation(&mut self, rotation: &Rotation<D>) -> Result<(), Error> {
        if self.settings.workers.backend == Backend::Host {
            self.replace_worker();
        }
        self.bench(rotation.bytes)?;
        let Some(bench) = &mut self.bench else { return Err(Error::Worker("vanished".to_owned())) };
        let programs: Vec<Slots<'_>> =
            rotation.programs.iter().map(|p| Slots { slots: &p.slots, workspace: p.workspace }).collect();
        let (arena, drawn) = (&mut bench.arena, &rotation.drawn);
        self.cases.desk.fill_rotation(arena, drawn, &programs, &rotation.guards, POISON)
    }

    fn job(&self, rotation: &Rotation<D>, programs: Vec<Program>, action: Action) -> Job {
        let scalars = self.cases.scalars(&self.spec, rotation.seed, Distribution::Normal);
        Job { arena_bytes: rotation.bytes, axes: rotation.axes.clone(), scalars, programs, action }
    }

    /// What every program left in its outputs. Inouts are left out: timed launches follow one another on them.
    fn left(&mut self, rotation: &Rotation<D>) -> Result<D::Left, Halt> {
        let outputs: Vec<usize> = self.spec.tensors_with(Role::Output).collect();
        let slots = rotation.programs.iter().flat_map(|program| &program.slots);
        let regions: Vec<Region> = slots.flat_map(|slot| outputs.iter().map(|t| slot[*t])).collect();
        self.bench(rotation.bytes)?;
        let Some(bench) = &self.bench else { return Err(Error::Worker("vanished".to_owned()).into()) };
        Ok(self.cases.desk.left(&bench.arena, &regions)?)
    }

    /// Normal inputs of the slots, kept while the same shape is timed.
    fn draw(&mut self, seed: u64, slots: u64, axes: &[i64], turn: Turn) -> Result<Rc<D::Drawn>, Error> {
        let known = self.drawn.as_ref().filter(|(known, _)| known == axes && turn == Turn::Ranking);
        if let Some((_, drawn)) = known {
            return Ok(Rc::clone(drawn));
        }
        let slots = slots.min(self.settings.drawn_slots);
        let draw = |slot| contents(&self.spec, mix(seed ^ slot), axes, Distribution::Normal);
        let contents = (0..slots).map(draw).collect::<Result<Vec<_>, _>>()?;
        let drawn = Rc::new(self.cases.desk.drawn(contents)?);
        if turn == Turn::Ranking {
            self.drawn = Some((axes.to_vec(), Rc::clone(&drawn)));
        }
        Ok(drawn)
    }

    fn rotation(&mut self, variants: &[Loadable], axes: &[i64], turn: Turn) -> Result<Rotation<D>, Halt> {
        let seed = match turn {
            Turn::Ranking => self.settings.seed,
            Turn::Final => mix(!self.settings.seed),
        };
        let seed = mix(seed ^ mix(axes.iter().fold(1, |h, a| mix(h ^ a.unsigned_abs()))));
        let count = self.slots(axes)?;
        let mut plan = Placing::default();
        let slots: Vec<Vec<Vec<usize>>> =
            (0..count).map(|_| self.slot(&mut plan, axes)).collect::<Result<_, _>>()?;
        let mut spaces = Vec::new();
        for variant in variants {
            let sized = workspace(&variant.candidate.contract, axes);
            let (_, bytes) =
                sized.ok_or_else(|| Outcome::Blocked(format!("its workspace has no size at {axes:?}")))?;
            spaces.push(plan.add(bytes));
        }
        let placed = layout(&plan.extents).ok_or_else(|| Error::Shape(format!("{axes:?} fits no arena")))?;
        let regions = |ids: &Vec<usize>| ids.iter().map(|id| placed.regions[*id]).collect::<Vec<_>>();
        let mut programs = Vec::new();
        for (p, variant) in variants.iter().enumerate() {
            let own: Vec<Vec<Region>> = slots.iter().map(|slot| regions(&slot[p])).collect();
            let addresses: Vec<u64> = own[0].iter().map(|r| r.offset).collect();
            if !variant.candidate.eligibility.holds(axes, &addresses) {
                return Err(Outcome::Blocked(format!("is not eligible at {axes:?}")).into());
            }
            programs.push(program(variant, own, placed.regions[spaces[p]]));
        }
        let drawn = self.draw(seed, count, axes, turn)?;
        let (axes, guards, bytes) = (axes.to_vec(), placed.guards, placed.bytes);
        Ok(Rotation { axes, seed, drawn, programs, guards, bytes })
    }

    /// Slots of a rotation: three, and more until three times the cache or the allowed bytes are filled.
    fn slots(&self, axes: &[i64]) -> Result<u64, Error> {
        let cache = self.bench.as_ref().map_or(0, |b| b.worker.ready.cache_bytes);
        let mut bytes = 1;
        for tensor in &self.spec.tensors {
            bytes += Placed::new(tensor, axes)?.bytes() as u64;
        }
        let most = match self.settings.workers.backend {
            Backend::Host => 64,
            // below 45 KB a slot, launches may still find data in an H200's cache
            Backend::Cuda => 4096,
        };
        let wanted = (CACHES * cache).min(self.settings.rotation_bytes).div_ceil(bytes);
        Ok(wanted.clamp(SLOTS_LEAST, most))
    }

    /// Places one slot's tensors: inputs for both programs, all else for each; their numbers by program and tensor.
    fn slot(&self, plan: &mut Placing, axes: &[i64]) -> Result<Vec<Vec<usize>>, Error> {
        let mut ids = vec![Vec::new(); 2];
        for tensor in &self.spec.tensors {
            let bytes = Placed::new(tensor, axes)?.bytes() as u64;
            let candidate = plan.add(bytes);
            ids[CANDIDATE].push(candidate);
            ids[INCUMBENT].push(match tensor.role {
                Role::Input => candidate,
                Role::Inout | Role::Output => plan.add(bytes),
            });
        }
        Ok(ids)
    }
}

fn settle(timed: Result<Comparison, Halt>) -> Result<Result<Comparison, Outcome>, Error> {
    match timed {
        Ok(comparison) => Ok(Ok(comparison)),
        Err(Halt::Outcome(outcome)) => Ok(Err(*outcome)),
        Err(Halt::Error(error)) => Err(error),
    }
}

/// Extents in the order in which they are placed.
#[derive(Default)]
struct Placing {
    extents: Vec<(Extent, Alignment)>,
}

impl Placing {
    fn add(&mut self, bytes: u64) -> usize {
        self.extents.push((Extent { bytes, element: 1 }, Alignment::Allocator));
        self.extents.len() - 1
    }
}
