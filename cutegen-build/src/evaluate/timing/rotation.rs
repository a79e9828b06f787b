//! [`Rotation`]: the memory of a timing: every program's tensors, slot by slot, over the same drawn inputs.

use std::rc::Rc;

use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::{Drawn, Halted, Timing, Turn};
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::MemoryBackend;
use crate::evaluate::judge::candidate::Loadable;
use crate::evaluate::judge::case::prepared;
use crate::evaluate::judge::content::{Content, Contents};
use crate::evaluate::judge::image::workspace;
use crate::evaluate::judge::runner_slot::{Halt, code, program};
use crate::evaluate::judge::strided::Placed;
use crate::evaluate::rng::mix;
use crate::evaluate::stats::CANDIDATE;
use crate::evaluate::wire::arena::{Alignment, Extent, layout};
use crate::evaluate::wire::gemm::Gemm;
use crate::evaluate::wire::protocol::{Backend, Code, Program, Region, WORKSPACE_BYTES, Written};
use crate::outcome::{Distribution, Outcome};

/// How often a rotation covers the last-level cache.
const CACHES: u64 = 3;
const SLOTS_LEAST: u64 = 3;
/// Bytes of an output of which a runner may poison one or the other.
const POISONED: u64 = 64;

/// Memory of a timing, and where everything lies in it.
pub(super) struct Rotation<D: MemoryBackend> {
    pub(super) axes: Vec<i64>,
    pub(super) seed: u64,
    pub(super) drawn: Rc<D::Drawn>,
    pub(super) programs: Vec<Program>,
    pub(super) guards: Vec<Region>,
    pub(super) bytes: u64,
}

/// What is timed in our own runner.
pub(super) enum Entrant {
    /// A variant that a runner can open.
    Variant(Loadable),
    /// A product of cuBLASLt.
    CublasLt(Gemm),
}

impl Entrant {
    fn workspace(&self, axes: &[i64]) -> Result<u64, Halted> {
        let Entrant::Variant(variant) = self else { return Ok(WORKSPACE_BYTES) };
        let sized = workspace(&variant.candidate.contract, axes);
        sized
            .map(|(_, bytes)| bytes)
            .map_err(|unplaced| Outcome::Blocked(format!("{unplaced} at {axes:?}")).into())
    }

    fn takes(&self, axes: &[i64], tensors: &[Region]) -> bool {
        let Entrant::Variant(variant) = self else { return true };
        let addresses: Vec<u64> = tensors.iter().map(|r| r.offset).collect();
        variant.candidate.eligibility.holds(axes, &addresses)
    }

    fn code(&self) -> Code {
        match self {
            Entrant::Variant(variant) => code(variant),
            Entrant::CublasLt(gemm) => Code::CublasLt(gemm.clone()),
        }
    }
}

impl<D: MemoryBackend> Timing<'_, D> {
    /// Normal inputs of the slots; the latest are kept while there is room.
    fn draw(&mut self, seed: u64, slots: u64, axes: &[i64]) -> Result<Rc<D::Drawn>, Error> {
        if let Some(known) = self.timer.drawn.iter().find(|known| known.seed == seed) {
            return Ok(Rc::clone(&known.held));
        }
        let contents =
            drawn(&self.checker.spec, (seed, slots.min(self.checker.settings.drawn_slots)), axes, D::DRAWS)?;
        let bytes = contents.iter().flat_map(|slot| slot.iter().flatten()).map(Content::len).sum();
        while !self.timer.drawn.is_empty()
            && bytes + self.timer.drawn.iter().map(|d| d.bytes).sum::<usize>()
                > self.checker.settings.keep_bytes
        {
            self.timer.drawn.remove(0);
        }
        let awaits_peer = self.timer.peer.is_some() || self.timer.starting.is_some();
        self.timer.contents = awaits_peer.then(|| (seed, contents.clone()));
        let held = Rc::new(self.checker.cases.backend.drawn(contents)?);
        self.timer.drawn.push(Drawn { seed, bytes, held: Rc::clone(&held) });
        Ok(held)
    }

    pub(super) fn rotation(
        &mut self,
        entrants: &[Entrant],
        axes: &[i64],
        turn: Turn,
    ) -> Result<Rotation<D>, Halted> {
        let seed = match turn {
            Turn::Ranking => self.checker.settings.seed,
            Turn::Final => mix(!self.checker.settings.seed),
        };
        let seed = mix(seed ^ mix(axes.iter().fold(1, |h, a| mix(h ^ a.unsigned_abs()))));
        let count = self.slots(axes, turn)?;
        let mut plan = Placing::default();
        let slots: Vec<Vec<Vec<usize>>> =
            (0..count).map(|_| self.slot(&mut plan, entrants.len(), axes)).collect::<Result<_, _>>()?;
        let mut spaces = Vec::new();
        for (p, entrant) in entrants.iter().enumerate() {
            let own = entrant.workspace(axes)?;
            self.checker.runner.room(own, own).map_err(|halt| blamed(p, halt))?; // or their sum may overflow
            spaces.push(plan.add(own));
        }
        let placed = layout(&plan.extents).ok_or_else(|| Error::Shape(format!("{axes:?} fits no arena")))?;
        let workspace = |id: &usize| placed.regions[*id].bytes;
        self.checker.runner.room(placed.bytes, workspace(&spaces[CANDIDATE]))?;
        let all = spaces.iter().map(workspace).sum();
        self.checker.runner.room(placed.bytes, all).map_err(|halt| blamed(CANDIDATE + 1, halt))?;
        let regions = |ids: &Vec<usize>| ids.iter().map(|id| placed.regions[*id]).collect::<Vec<_>>();
        let mut programs = Vec::new();
        for (p, entrant) in entrants.iter().enumerate() {
            let own: Vec<Vec<Region>> = slots.iter().map(|slot| regions(&slot[p])).collect();
            if !entrant.takes(axes, &own[0]) {
                let reason = format!("is not eligible at {axes:?}");
                return Err(match p {
                    CANDIDATE => Outcome::Blocked(reason).into(),
                    _ => Halted::incumbent(reason),
                });
            }
            let (workspaces, written) = (vec![placed.regions[spaces[p]]], self.only_written(axes, seed)?);
            programs.push(Program { written, ..program(entrant.code(), own, workspaces) });
        }
        let drawn = self.draw(seed, count, axes)?;
        let (axes, guards, bytes) = (axes.to_vec(), placed.guards, placed.bytes);
        Ok(Rotation { axes, seed, drawn, programs, guards, bytes })
    }

    /// The outputs, with bytes of elements here and there.
    fn only_written(&self, axes: &[i64], seed: u64) -> Result<Vec<Written>, Error> {
        let outputs = self.checker.spec.tensors_with(Role::Output);
        let written = outputs.map(|tensor| {
            let placed = Placed::new(&self.checker.spec.tensors[tensor], axes)?;
            let bytes = (0..POISONED).filter_map(|n| placed.byte_of_an_element(mix(seed ^ mix(n)))).collect();
            Ok(Written { tensor, bytes })
        });
        written.collect()
    }

    /// Slots of a rotation: as many as fill three times the cache or the allowed bytes, and of a finalist's three at least.
    pub(super) fn slots(&self, axes: &[i64], turn: Turn) -> Result<u64, Error> {
        let cache = self.checker.runner.live.as_ref().map_or(0, |b| b.worker.ready.cache_bytes);
        let mut bytes = 1;
        for tensor in &self.checker.spec.tensors {
            bytes += Placed::new(tensor, axes)?.bytes() as u64;
        }
        let most = match self.checker.settings.workers.backend {
            Backend::Host => 64,
            // below 45 KB a slot, launches may still find data in an H200's cache
            Backend::Cuda => 4096,
        };
        let wanted = (CACHES * cache).min(self.checker.settings.rotation_bytes).div_ceil(bytes);
        let least = match turn {
            Turn::Ranking => 1,
            Turn::Final => SLOTS_LEAST,
        };
        Ok(wanted.clamp(least, most))
    }

    /// Places one slot's tensors: inputs for all programs, all else for each; their numbers by program and tensor.
    fn slot(&self, plan: &mut Placing, programs: usize, axes: &[i64]) -> Result<Vec<Vec<usize>>, Error> {
        let mut ids = vec![Vec::new(); programs];
        for tensor in &self.checker.spec.tensors {
            let bytes = Placed::new(tensor, axes)?.bytes() as u64;
            let first = plan.add(bytes);
            for (program, own) in ids.iter_mut().enumerate() {
                own.push(match (program, tensor.role) {
                    (CANDIDATE, _) | (_, Role::Input) => first,
                    (_, Role::Inout | Role::Output) => plan.add(bytes),
                });
            }
        }
        Ok(ids)
    }
}

/// Which entrant is at fault for a request.
fn blamed(entrant: usize, halt: Halt) -> Halted {
    match halt {
        Halt::Outcome(outcome) if entrant != CANDIDATE => Halted::incumbent(outcome.to_string()),
        halt => halt.into(),
    }
}

/// Normal inputs of so many slots, drawn side by side but for what a backend draws.
pub(super) fn drawn(
    spec: &KernelSpec,
    (seed, slots): (u64, u64),
    axes: &[i64],
    draws: Option<usize>,
) -> Result<Vec<Rc<Contents>>, Error> {
    std::thread::scope(|scope| {
        let draw = |slot| prepared(spec, (mix(seed ^ slot), Distribution::Normal), axes, draws);
        let slots: Vec<_> = (0..slots).map(|slot| scope.spawn(move || draw(slot))).collect();
        let panicked = |_| Err(Error::Worker("drawing inputs panicked".to_owned()));
        slots.into_iter().map(|slot| slot.join().unwrap_or_else(panicked).map(Rc::new)).collect()
    })
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
