//! Cubins, launched through the driver on device 0 (the judge narrows `CUDA_VISIBLE_DEVICES` to pick another).
//!
//! The arena's whole image is copied to one device allocation, the contract's steps run in order on one stream, and
//! the image is copied back. Under compute-sanitizer every region has an allocation of its own instead
//! ([`Placement::Apart`]), so that a read or write one element past it is seen.
//!
//! Not here yet: clocks and throttle reasons (NVML), comparison of `.nv.global*` contents, memory that the judge
//! maps itself.

mod blocks;
pub mod cublaslt;
mod graph;
mod memory;
mod program;
mod rotation;
mod session;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::{Device, Stop};
use crate::evaluate::memory::SharedMemory;
use crate::evaluate::protocol::{Done, Job, Program, Ready, Region, Run, TimePlan, Timed};
use memory::{Placed, Together, workspace_parts};
use program::{Launch, Loaded};
use session::Session;

/// Where regions lie on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// As in the arena: guards and misalignment carry over.
    Together,
    /// Each alone; undefined workspace stays uninitialised.
    Apart,
}

/// One device with what is loaded on it.
pub(super) struct Cuda {
    session: Rc<Session>,
    placement: Placement,
    loaded: BTreeMap<PathBuf, Loaded>,
    arena: Option<Together>,
}

impl Cuda {
    /// Opens driver, device and stream.
    pub(super) fn open(placement: Placement) -> Result<Self, Stop> {
        let session = Rc::new(Session::open(placement)?);
        Ok(Self { session, placement, loaded: BTreeMap::new(), arena: None })
    }

    /// Device memory for all of a job; grown when it must be.
    fn place(&mut self, job: &Job) -> Result<&mut Together, Stop> {
        let fits = self.arena.as_ref().is_some_and(|arena| arena.bytes() >= job.arena_bytes);
        if !fits {
            self.arena = None; // first, or both must fit at once
            self.arena = Some(Together::new(&self.session, job.arena_bytes)?);
        }
        self.arena.as_mut().ok_or_else(|| Stop::Failed("the device's arena vanished".to_owned()))
    }

    fn load(&mut self, job: &Job, program: &Program, reload: bool) -> Result<(), Stop> {
        let known = self.loaded.get(&program.artifact).is_some_and(|l| l.serves(&program.contract));
        if reload || !known {
            self.loaded.remove(&program.artifact);
            let loaded = Loaded::load(&self.session, job, program)?;
            self.loaded.insert(program.artifact.clone(), loaded);
        }
        Ok(())
    }

    fn launch(&self, job: &Job, program: &Program, slot: &[Region], at: &dyn Placed) -> Result<Launch, Stop> {
        let loaded = self.loaded.get(&program.artifact);
        let loaded = loaded.ok_or_else(|| Stop::Failed("a module vanished".to_owned()))?;
        Launch::of(loaded, job, program, slot, at)
    }
}

impl Device for Cuda {
    fn ready(&mut self) -> Result<Ready, Stop> {
        let (device, cache_bytes) = (self.session.describe(), self.session.cache_bytes()?);
        Ok(Ready { device, cache_bytes, not_enforced: Vec::new() })
    }

    fn run(&mut self, job: &Job, run: Run, arena: &mut SharedMemory) -> Result<Done, Stop> {
        match self.placement {
            Placement::Together => self.run_together(job, run, arena),
            Placement::Apart => self.run_apart(job, run, arena),
        }
    }

    fn time(&mut self, job: &Job, plan: &TimePlan, arena: &mut SharedMemory) -> Result<Timed, Stop> {
        if self.placement == Placement::Apart {
            return Err(Stop::Failed("nothing is timed under the sanitizer".to_owned()));
        }
        self.loaded.clear(); // every comparison starts from fresh modules
        for program in &job.programs {
            self.load(job, program, false)?;
        }
        self.place(job)?.upload(arena)?;
        let base = self.arena.as_ref().ok_or_else(|| Stop::Failed("no device arena".to_owned()))?;
        let rotation = rotation::Rotation::new(&self.session, base, job)?;
        let mut launches = Vec::with_capacity(job.programs.len());
        for program in &job.programs {
            let mut turns = Vec::new();
            for replica in rotation.replicas() {
                for slot in &program.slots {
                    turns.push(self.launch(job, program, slot, &replica)?);
                }
            }
            launches.push(turns);
        }
        let timed = blocks::time(&self.session, &launches, plan)?;
        base.download(arena)?;
        rotation.fold_differences(job, arena)?;
        Ok(timed)
    }
}

impl Cuda {
    fn run_together(&mut self, job: &Job, run: Run, arena: &mut SharedMemory) -> Result<Done, Stop> {
        let program = &job.programs[0];
        self.load(job, program, run.reload)?;
        self.place(job)?.upload(arena)?;
        let base = self.arena.as_ref().ok_or_else(|| Stop::Failed("no device arena".to_owned()))?;
        let launch = self.launch(job, program, &program.slots[0], base)?;
        let pristine = if run.repeats > 1 { Some(base.duplicate()?) } else { None };
        launch.go(&self.session)?;
        self.session.wait()?;
        base.download(arena)?;
        let mut done = Done::default();
        for _ in 1..run.repeats {
            if let Some(pristine) = &pristine {
                base.restore(pristine)?;
            }
            launch.go(&self.session)?;
            self.session.wait()?;
            done.differing_repeats += u32::from(base.differs(0, arena, &program.slots[0])?);
        }
        Ok(done)
    }

    /// One launch: the sanitizer looks at a kernel, not at its repeats.
    fn run_apart(&mut self, job: &Job, run: Run, arena: &mut SharedMemory) -> Result<Done, Stop> {
        let program = &job.programs[0];
        self.load(job, program, run.reload)?;
        let parts = workspace_parts(&program.contract, &job.axes, program.workspace)?;
        let apart = memory::Apart::new(&self.session, &program.slots[0], &parts)?;
        apart.upload(arena)?;
        let launch = self.launch(job, program, &program.slots[0], &apart)?;
        launch.go(&self.session)?;
        self.session.wait()?;
        apart.download(arena)?;
        Ok(Done::default())
    }
}
