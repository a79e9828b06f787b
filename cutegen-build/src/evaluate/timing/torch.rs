//! PyTorch as an incumbent: its blocks, in the peer worker's process, in turn with ours in a runner's. Both replay a
//! captured graph of as many launches over as many slots, behind an untimed replay of the same. A variant of ours may
//! stand in the expression's place.

use std::rc::Rc;
use std::time::Duration;

use tempfile::TempDir;

use super::blocks::plan;
use super::rotation::{Rotation, drawn};
use super::{Halted, Timing, Turn};
use crate::evaluate::device::clocks::Sample;
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::MemoryBackend;
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::judge::content::{self, Bytes};
use crate::evaluate::judge::strided::Placed;
use crate::evaluate::stats::CANDIDATE;
use crate::evaluate::timing::incumbent::Measured;
use crate::evaluate::timing::peer::{
    self, Blocks, Cubin, Device, Inputs, Mode, Peer, Prepared, Ready, Stopped, What, Written,
};
use crate::evaluate::wire::protocol::{Action, Backend, Regime, Reply, Timed};
use crate::outcome::Distribution;

/// The longest that a block may take to prepare: `torch.compile` may try many kernels.
const PREPARE_DEADLINE: Duration = Duration::from_secs(600);
/// The card is looked at before every so many of our blocks.
const LOOK_EVERY: u32 = 16;

/// What the worker was given.
pub(super) struct Given {
    /// What it was drawn from.
    seed: u64,
    inputs: Written,
    /// Where its files are.
    _folder: TempDir,
}

/// What the worker launches.
pub(super) enum Theirs<'a> {
    /// An expression of PyTorch.
    Expression(&'a str, Mode),
    /// A variant of ours.
    Variant(&'a Candidate),
}

/// Blocks of the candidate in the present runner.
struct Ours<'a, 't, D: MemoryBackend> {
    timing: &'a mut Timing<'t, D>,
    rotation: &'a Rotation<D>,
    launches: u32,
    blocks: u32,
    samples: Vec<Sample>,
    /// What ended them.
    halted: Option<Halted>,
}

impl<D: MemoryBackend> Blocks for Ours<'_, '_, D> {
    fn launches(&self) -> u32 {
        self.launches
    }

    fn block(&mut self) -> Result<u64, String> {
        if self.blocks.is_multiple_of(LOOK_EVERY) {
            self.timing.timer.watch.look(&mut self.samples);
        }
        self.blocks += 1;
        let timed = self.timing.one_block(self.rotation);
        timed.map_err(|halted| {
            self.halted = Some(halted);
            "our runner ended".to_owned()
        })
    }
}

impl<D: MemoryBackend> Timing<'_, D> {
    pub(super) fn time_peer(
        &mut self,
        candidate: &Candidate,
        theirs: &Theirs<'_>,
        axes: &[i64],
    ) -> Result<Measured, Halted> {
        if self.checker.settings.workers.backend == Backend::Host {
            return Err(Halted::incumbent("not run: blocks of a host are no captured graphs".to_owned()));
        }
        let entrants = self.variants(std::slice::from_ref(candidate))?;
        let shared = self.checker.runner.lease.shared();
        self.checker.runner.replace_worker();
        let rotation = self.ready(&entrants, axes, Turn::Final)?;
        let untimed = self.untimed(&rotation)?;
        let launches = self.calibrated(&rotation)?;
        let mut peer = self.timer.peer.take().map_or_else(|| self.start_peer(), Ok)?;
        let what = self.what(theirs, &rotation, peer.ready())?;
        let (about, differs) = self.prepare_peer(&mut peer, &rotation, what, launches)?;
        drop(shared);
        let _alone = self.checker.runner.lease.alone();
        let (pairs, seed) = (self.checker.settings.pairs, rotation.seed);
        let mut ours = Ours {
            timing: self,
            rotation: &rotation,
            launches,
            blocks: 0,
            samples: Vec::new(),
            halted: None,
        };
        let compared = peer::compare(&mut ours, &mut peer, pairs, seed);
        let Ours { mut samples, halted, .. } = ours;
        self.timer.watch.look(&mut samples);
        let comparison = compared.map_err(|reason| halted.unwrap_or(Halted::incumbent(reason)))?;
        self.timer.peer = Some(peer); // one that has died does not come back
        self.check_timed(&rotation, &untimed.left)?;
        self.check_floor(axes, &comparison).map_or(Ok(()), Err)?;
        Ok(Measured {
            comparison,
            device: self.checker.runner.device(),
            samples,
            about: Some(about),
            differs,
        })
    }

    fn start_peer(&mut self) -> Result<Peer, Halted> {
        if let Some(starting) = self.timer.starting.take() {
            return starting.ready(Device::Cuda).map_err(stopped);
        }
        let python = self.checker.settings.python.as_ref();
        let python = python.ok_or_else(|| Halted::incumbent("not run: no Python was named".to_owned()))?;
        Peer::start(python, Device::Cuda).map_err(stopped)
    }

    fn what(&self, theirs: &Theirs<'_>, rotation: &Rotation<D>, ready: &Ready) -> Result<What, Halted> {
        let variant = match theirs {
            Theirs::Expression(text, mode) => {
                return Ok(What::Expression { text: (*text).to_owned(), mode: *mode });
            }
            Theirs::Variant(variant) => variant,
        };
        let scalars = self.checker.cases.scalars(&self.checker.spec, rotation.seed, Distribution::Normal);
        let (axes, contract) = (&rotation.axes, &variant.contract);
        let cubin = Cubin::of(&self.checker.spec, &variant.artifact, contract, axes, &scalars, ready);
        cubin.map(What::Cubin).map_err(Halted::incumbent)
    }

    /// Has the worker prepare blocks on the same inputs: what it is, and how its results differ from the spec's.
    fn prepare_peer(
        &mut self,
        peer: &mut Peer,
        rotation: &Rotation<D>,
        what: What,
        launches: u32,
    ) -> Result<(String, Option<String>), Halted> {
        let slots = rotation.programs[CANDIDATE].slots.len() as u32;
        self.give(rotation, u64::from(slots))?;
        let Some(given) = &self.timer.given else { return Err(Error::Worker("vanished".to_owned()).into()) };
        let outputs = folder()?;
        let searched = match &what {
            What::Expression { mode: Mode::CompileMaxAutotune, .. } => ", max-autotune",
            _ => "",
        };
        let asked =
            peer::describe(&self.checker.spec, &given.inputs, what, (slots, launches), outputs.path());
        let prepared = peer.prepare(&asked, PREPARE_DEADLINE).map_err(stopped)?;
        let about = format!("PyTorch {}, CUDA {}{searched}", peer.ready().torch, peer.ready().cuda);
        self.agreement(rotation, &prepared, about)
    }

    /// Has the inputs of this rotation in files; those that the incumbent before this one was given serve again.
    fn give(&mut self, rotation: &Rotation<D>, slots: u64) -> Result<(), Error> {
        if self.timer.given.as_ref().is_some_and(|given| given.seed == rotation.seed) {
            return Ok(());
        }
        self.timer.given = None; // first, or both are there at once
        let drawn = match self.timer.contents.take() {
            Some((seed, contents)) if seed == rotation.seed => contents,
            _ => {
                let slots = slots.min(self.checker.settings.drawn_slots);
                drawn(&self.checker.spec, (rotation.seed, slots), &rotation.axes, D::DRAWS)?
            }
        };
        let drawn: Vec<Bytes> =
            drawn.into_iter().map(|slot| content::drawn(Rc::unwrap_or_clone(slot))).collect();
        let drawn: Vec<&[Option<Vec<u8>>]> = drawn.iter().map(Vec::as_slice).collect();
        let scalars = self.checker.cases.scalars(&self.checker.spec, rotation.seed, Distribution::Normal);
        let inputs = Inputs { axes: &rotation.axes, scalars: &scalars, slots: &drawn };
        let folder = folder()?;
        let inputs = peer::write(&self.checker.spec, &inputs, folder.path())?;
        self.timer.given = Some(Given { seed: rotation.seed, inputs, _folder: folder });
        Ok(())
    }

    /// What is said of the worker's results.
    fn agreement(
        &self,
        rotation: &Rotation<D>,
        prepared: &Prepared,
        about: String,
    ) -> Result<(String, Option<String>), Halted> {
        let given =
            match peer::given(&self.checker.spec, &rotation.axes, prepared).map_err(Halted::incumbent)? {
                Ok(given) => given,
                Err(difference) => return Ok((about, Some(difference))),
            };
        let Some(held) = self.reference(&rotation.axes, rotation.seed)? else {
            return Ok((format!("{about}; its results were not compared: too large"), None));
        };
        let mut all = vec![Vec::new(); self.checker.spec.tensors.len()];
        for (tensor, dense) in self.checker.results().zip(given) {
            all[tensor] = Placed::new(&self.checker.spec.tensors[tensor], &rotation.axes)?.scatter(dense);
        }
        let left = self.checker.cases.backend.given(&all)?;
        Ok((about, self.difference(&held, &left)?))
    }

    /// Captures blocks of the candidate that last long enough; their launches.
    fn calibrated(&mut self, rotation: &Rotation<D>) -> Result<u32, Halted> {
        self.fill_rotation(rotation)?;
        let action = Action::Time(plan(&[CANDIDATE], 1, (Turn::Final, Regime::Burst)));
        match self.reply(self.job(rotation, rotation.programs.clone(), action))? {
            Reply::Timed(Timed { launches, .. }) => Ok(launches),
            other => Err(self.checker.runner.unexpected(&other).into()),
        }
    }

    fn one_block(&mut self, rotation: &Rotation<D>) -> Result<u64, Halted> {
        let reply = self.reply(self.job(rotation, Vec::new(), Action::Blocks(vec![CANDIDATE])))?;
        match &reply {
            Reply::Timed(Timed { block_ns, .. }) if block_ns.len() == 1 => Ok(block_ns[0]),
            other => Err(self.checker.runner.unexpected(other).into()),
        }
    }
}

fn folder() -> Result<TempDir, Error> {
    tempfile::tempdir().map_err(|e| Error::system("make a temporary folder", e))
}

fn stopped(stopped: Stopped) -> Halted {
    Halted::incumbent(stopped.to_string())
}
