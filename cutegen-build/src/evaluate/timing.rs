//! Comparing a candidate with an incumbent: both loaded in one fresh runner, which times interleaved blocks over the
//! same rotation of inputs; afterwards the outputs that the timed launches left are held against those of untimed
//! ones.

use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::tensor::Role;

use super::arena::{Alignment, Extent, POISON, SECOND_POISON, fill_guard, layout};
use super::candidate::{Candidate, Loadable};
use super::case::contents;
use super::error::Error;
use super::image::workspace;
use super::inputs::{Distribution, mix};
use super::judge::{Drawn, Judge};
use super::memory::SharedMemory;
use super::outcome::{Crash, Outcome};
use super::protocol::{Action, Job, Program, Region, Reply, Run, TimePlan, Timed};
use super::session::{Halt, program};
use super::stats::{CANDIDATE, Comparison, INCUMBENT, compare, interleave};
use super::strided::Placed;

const MIN_BLOCK_NS: u64 = 200_000;
const WARM_UP_NS: u64 = 20_000_000;
const SLOTS: (u64, u64) = (3, 64);

/// The longest that all blocks together may take, calibration included.
const DEADLINE: Duration = Duration::from_secs(300);

/// Contents of every inout and output, by program, slot and tensor.
type Results = Vec<Vec<Vec<Vec<u8>>>>;

/// Inputs of a rotation, and where everything lies.
struct Rotation {
    axes: Vec<i64>,
    seed: u64,
    contents: Vec<Drawn>,
    programs: Vec<Program>,
    guards: Vec<Region>,
    bytes: u64,
}

impl Judge {
    /// Times `candidate` against `incumbent` at these extents. The outcome when either cannot be timed: it crashes,
    /// hangs, is not eligible, or leaves other outputs than when it is not timed.
    pub fn compare(
        &mut self,
        candidate: &Candidate,
        incumbent: &Candidate,
        axes: &[i64],
    ) -> Result<Result<Comparison, Outcome>, Error> {
        match self.try_compare([candidate.clone(), incumbent.clone()], axes) {
            Ok(comparison) => Ok(Ok(comparison)),
            Err(Halt::Outcome(outcome)) => Ok(Err(*outcome)),
            Err(Halt::Error(error)) => Err(error),
        }
    }

    fn try_compare(&mut self, candidates: [Candidate; 2], axes: &[i64]) -> Result<Comparison, Halt> {
        let loaded = self.load(&candidates)?;
        // its cache sizes the rotation
        self.worker()?;
        let rotation = self.rotation(&loaded, axes)?;
        self.check_size(rotation.bytes)?;
        let untimed = self.untimed(&rotation)?;
        let order = interleave(self.settings.pairs, rotation.seed);
        let (timed, left) = self.timed(&rotation, &order)?;
        if self.spec.deterministic && untimed != left {
            let reason = "left other outputs when timed than when not".to_owned();
            return Err(Outcome::Blocked(reason).into());
        }
        let comparison = compare(&order, timed.launches, &timed.block_ns, rotation.seed);
        comparison.ok_or_else(|| Outcome::Crashed(Crash::Protocol("timed no pairs".to_owned())).into())
    }

    /// Runs every program once on every slot, in a runner of its own.
    fn untimed(&mut self, rotation: &Rotation) -> Result<Results, Halt> {
        self.replace_worker();
        rotation.fill(&mut self.worker()?.arena, POISON)?;
        for program in &rotation.programs {
            for slot in &program.slots {
                let slots = vec![slot.clone()];
                let programs = vec![Program { slots, ..program.clone() }];
                let job = self.job(rotation, programs, Action::Run(Run { repeats: 1, reload: false }));
                match self.answer(job, self.settings.deadline)? {
                    Reply::Done(_) => {}
                    other => return Err(self.unexpected(&other)),
                }
            }
        }
        Ok(self.results(rotation)?)
    }

    fn timed(&mut self, rotation: &Rotation, order: &[usize]) -> Result<(Timed, Results), Halt> {
        self.replace_worker();
        rotation.fill(&mut self.worker()?.arena, SECOND_POISON)?;
        let plan = TimePlan { order: order.to_vec(), min_block_ns: MIN_BLOCK_NS, warm_up_ns: WARM_UP_NS };
        let job = self.job(rotation, rotation.programs.clone(), Action::Time(plan));
        match self.answer(job, DEADLINE)? {
            Reply::Timed(timed) => Ok((timed, self.results(rotation)?)),
            other => Err(self.unexpected(&other)),
        }
    }

    fn job(&self, rotation: &Rotation, programs: Vec<Program>, action: Action) -> Job {
        let scalars = self.cases.scalars(&self.spec, rotation.seed, Distribution::Normal);
        Job { arena_bytes: rotation.bytes, axes: rotation.axes.clone(), scalars, programs, action }
    }

    /// What every program left in the elements of its outputs; gaps keep the poison of their launch. Inouts are left
    /// out: timed launches follow one another on them.
    fn results(&mut self, rotation: &Rotation) -> Result<Results, Error> {
        let outputs = self.spec.tensors_with(Role::Output);
        let outputs = outputs.map(|t| Ok((t, Placed::new(&self.spec.tensors[t], &rotation.axes)?)));
        let outputs: Vec<(usize, Placed)> = outputs.collect::<Result<_, Error>>()?;
        let arena = &self.worker()?.arena;
        let left =
            |slot: &Vec<Region>, (t, placed): &(usize, Placed)| Ok(placed.gather(arena.slice(slot[*t])?));
        let read = |slot: &Vec<Region>| outputs.iter().map(|output| left(slot, output)).collect();
        rotation.programs.iter().map(|p| p.slots.iter().map(read).collect()).collect()
    }

    /// Normal inputs of a slot, drawn once a session.
    fn draw(&mut self, seed: u64, slot: u64, axes: &[i64]) -> Result<Drawn, Error> {
        let key = (axes.to_vec(), slot);
        if let Some(drawn) = self.drawn.get(&key) {
            return Ok(Rc::clone(drawn));
        }
        let drawn = Rc::new(contents(&self.spec, mix(seed ^ slot), axes, Distribution::Normal)?);
        self.drawn.insert(key, Rc::clone(&drawn));
        Ok(drawn)
    }

    fn rotation(&mut self, variants: &[Loadable], axes: &[i64]) -> Result<Rotation, Halt> {
        let seed = mix(self.settings.seed ^ mix(axes.iter().fold(1, |h, a| mix(h ^ a.unsigned_abs()))));
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
        let contents = (0..count).map(|slot| self.draw(seed, slot, axes)).collect::<Result<_, _>>()?;
        Ok(Rotation {
            axes: axes.to_vec(),
            seed,
            contents,
            programs,
            guards: placed.guards,
            bytes: placed.bytes,
        })
    }

    /// Slots of a rotation: three, and more until three times the cache or the allowed bytes are filled.
    fn slots(&self, axes: &[i64]) -> Result<u64, Error> {
        let cache = self.worker.as_ref().map_or(0, |w| w.ready.cache_bytes);
        let mut bytes = 1;
        for tensor in &self.spec.tensors {
            bytes += Placed::new(tensor, axes)?.bytes() as u64;
        }
        let wanted = (3 * cache).min(self.settings.rotation_bytes) / bytes;
        Ok(wanted.clamp(SLOTS.0, SLOTS.1))
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

impl Rotation {
    /// Inputs into every slot, poison into every output and workspace.
    fn fill(&self, arena: &mut SharedMemory, poison: u8) -> Result<(), Error> {
        arena.grow(self.bytes)?;
        for guard in &self.guards {
            fill_guard(arena.slice_mut(*guard)?);
        }
        for program in &self.programs {
            arena.slice_mut(program.workspace)?.fill(poison);
            for (slot, contents) in program.slots.iter().zip(&self.contents) {
                for (region, contents) in slot.iter().zip(contents.iter()) {
                    match contents {
                        Some(contents) => arena.slice_mut(*region)?.copy_from_slice(contents),
                        None => arena.slice_mut(*region)?.fill(poison),
                    }
                }
            }
        }
        Ok(())
    }
}
