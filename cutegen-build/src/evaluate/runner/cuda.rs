//! Cubins, launched through the driver on device 0 (the judge narrows `CUDA_VISIBLE_DEVICES` to pick another), on
//! memory of the device that the judge made, filled and reads: the contract's steps run in order on one stream.

mod blocks;
pub mod cublaslt;
mod globals;
mod graph;
mod late;
mod own;
mod vendor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_spec::contract::Contract;

use super::Device;
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::{Launch, Loaded, Placed};
use crate::evaluate::device::memory::{DeviceMemory, Lent};
use crate::evaluate::device::session::Session;
use crate::evaluate::wire::gemm::Gemm;
use crate::evaluate::wire::protocol::{
    Code, Done, Format, Job, Program, Ready, Region, Run, Start, TimePlan, Timed, Variant,
};
use blocks::{Bench, Poisoned};
use globals::Globals;
use own::Own;
use vendor::{Once, Vendor};

/// The longest a stream may take to finish; the judge's own limit usually comes first.
const WALL: Duration = Duration::from_secs(20);

/// One device with what is loaded on it. Fields are dropped in this order: launches before modules and memory.
pub(super) struct Cuda {
    bench: Option<Bench>,
    loaded: BTreeMap<PathBuf, Module>,
    own: Option<Own>,
    vendor: Vendor,
    arena: DeviceMemory,
    session: Rc<Session>,
}

/// A loaded cubin, and its variables once they were watched.
struct Module {
    loaded: Loaded,
    globals: Option<Globals>,
}

impl Cuda {
    /// Opens driver, device and stream, and maps the judge's arena.
    pub(super) fn open(arena: &Lent, bytes: u64, start: &Start) -> Result<Self, DeviceError> {
        let session = Rc::new(Session::open(WALL)?);
        let arena = DeviceMemory::adopt(&session, arena, bytes)?;
        let own = start.kernels.as_deref().map(|path| Own::load(&session, path)).transpose()?;
        let vendor = Vendor::open(start.cublaslt.as_deref());
        Ok(Self { bench: None, loaded: BTreeMap::new(), own, vendor, arena, session })
    }

    fn load(&mut self, job: &Job, variant: &Variant, reload: bool) -> Result<(), DeviceError> {
        let path = &variant.artifact;
        let known = self.loaded.get(path).is_some_and(|m| m.loaded.serves(&variant.contract));
        if reload || !known {
            self.bench = None;
            self.loaded.remove(path);
            let image = image(variant)?;
            let loaded = Loaded::load(&self.session, &image, &variant.contract, &job.scalars)?;
            self.loaded.insert(path.clone(), Module { loaded, globals: None });
        }
        Ok(())
    }

    fn module(&self, variant: &Variant) -> Result<&Module, DeviceError> {
        self.loaded.get(&variant.artifact).ok_or_else(|| DeviceError::Failed("a module vanished".to_owned()))
    }

    /// Looks the variables of a loaded variant up, unless that is done.
    fn watch(&mut self, variant: &Variant) -> Result<(), DeviceError> {
        if let Some(module) = self.loaded.get_mut(&variant.artifact).filter(|m| m.globals.is_none()) {
            module.globals = Some(Globals::of(&image(variant)?, &module.loaded)?);
        }
        Ok(())
    }

    fn tensors(&self, slot: &[Region]) -> Result<Vec<CUdeviceptr>, DeviceError> {
        slot.iter().map(|r| self.arena.at(*r)).collect()
    }

    fn launch(
        &self,
        job: &Job,
        (program, variant): (&Program, &Variant),
        slot: usize,
    ) -> Result<Launch, DeviceError> {
        let module = self.module(variant)?;
        let tensors = self.tensors(&program.slots[slot])?;
        let parts = workspace_parts(&variant.contract, &job.axes, program.workspace(slot))?;
        let workspace = parts.iter().map(|part| Ok((self.arena.at(*part)?, part.bytes)));
        let workspace: Vec<(CUdeviceptr, u64)> = workspace.collect::<Result<_, DeviceError>>()?;
        let placed =
            Placed { axes: &job.axes, scalars: &job.scalars, tensors: &tensors, workspace: &workspace };
        Launch::of(&module.loaded, &variant.contract, &placed)
    }

    /// The program over its rotation; of a library's product, the algorithm that this runner has chosen.
    fn turns(&mut self, job: &Job, program: &Program) -> Result<Vec<Once>, DeviceError> {
        match &program.code {
            Code::Variant(variant) => {
                let launch = |slot| self.launch(job, (program, variant), slot).map(Once::Kernels);
                (0..program.slots.len()).map(launch).collect()
            }
            Code::CublasLt(gemm) => self.product(gemm, program),
        }
    }

    fn product(&mut self, gemm: &Gemm, program: &Program) -> Result<Vec<Once>, DeviceError> {
        let slots = program.slots.iter().map(|slot| self.tensors(slot)).collect::<Result<Vec<_>, _>>()?;
        let workspace = program.workspace(0);
        let workspace = (self.arena.at(workspace)?, workspace.bytes);
        // SAFETY: the judge laid the spec's tensors and the workspace out in the arena, which lives as long as this does.
        unsafe { self.vendor.product(self.session.stream, gemm, &slots, workspace) }
    }

    /// What may be poisoned of what the program writes, by slot.
    fn poisoned(&self, program: &Program) -> Result<Vec<Vec<Poisoned>>, DeviceError> {
        let of_slot = |slot: &Vec<Region>| {
            let written = program.written.iter().filter(|written| !written.bytes.is_empty());
            let each = written.map(|written| {
                Ok(Poisoned { at: self.arena.at(slot[written.tensor])?, bytes: written.bytes.clone() })
            });
            each.collect()
        };
        program.slots.iter().map(of_slot).collect()
    }

    fn timed_last(&mut self) -> Result<&mut Bench, DeviceError> {
        self.bench.as_mut().ok_or_else(|| DeviceError::Failed("nothing was timed yet".to_owned()))
    }

    fn run_variant(&mut self, job: &Job, variant: &Variant, run: Run) -> Result<Done, DeviceError> {
        let program = &job.programs[0];
        self.load(job, variant, run.reload)?;
        if run.watch_globals {
            self.watch(variant)?;
        }
        let slots = (0..program.slots.len()).map(|slot| self.launch(job, (program, variant), slot));
        let launches = slots.collect::<Result<Vec<_>, _>>()?;
        let scramble = self.own.as_ref().filter(|_| run.scramble);
        let frame = self.module(variant)?.loaded.frame()?;
        let globals = self.module(variant)?.globals.as_ref().filter(|_| run.watch_globals);
        let before = globals.map(|globals| globals.read()).transpose()?.unwrap_or_default();
        let late = self.own.as_ref().zip(run.late_ns).map(|(own, late_ns)| (&own.late, late_ns));
        for (slot, launch) in launches.iter().enumerate() {
            if slot >= program.workspaces.len() {
                launch.poison(&self.session)?; // it is not the first there
            }
            scramble.map_or(Ok(()), |own| own.before(frame))?;
            let pieces = written_late(program, slot);
            launch.go_behind(&self.session, |launch| match late {
                Some((late, late_ns)) => late.before(&self.arena, (&pieces, late_ns), launch),
                None => launch(),
            })?;
        }
        self.session.wait()?;
        late.map_or(Ok(()), |(late, _)| late.was_in_time())?;
        let changed_global = globals.map(|globals| globals.changed(&before)).transpose()?.flatten();
        Ok(Done { changed_global, ..Done::default() })
    }

    fn run_product(&mut self, gemm: &Gemm, program: &Program) -> Result<Done, DeviceError> {
        let turns = self.product(gemm, program)?;
        turns.iter().try_for_each(|turn| turn.go(&self.session))?;
        self.session.wait()?;
        Ok(Done { library: self.vendor.describe(), ..Done::default() })
    }
}

impl Device for Cuda {
    fn ready(&mut self) -> Result<Ready, DeviceError> {
        let (device, cache_bytes) = (self.session.describe(), self.session.cache_bytes()?);
        Ok(Ready { device, cache_bytes, not_enforced: Vec::new(), no_cublaslt: self.vendor.missing() })
    }

    fn run(&mut self, job: &Job, run: Run) -> Result<Done, DeviceError> {
        let program = &job.programs[0];
        match &program.code {
            Code::Variant(variant) => self.run_variant(job, variant, run),
            Code::CublasLt(gemm) => self.run_product(gemm, program),
        }
    }

    fn time(&mut self, job: &Job, plan: &TimePlan) -> Result<Timed, DeviceError> {
        self.bench = None;
        self.loaded.clear(); // every comparison starts from fresh modules
        for variant in job.programs.iter().filter_map(Program::variant) {
            self.load(job, variant, false)?;
        }
        let session = Rc::clone(&self.session);
        let poisoned = job.programs.iter().map(|program| self.poisoned(program));
        let poisoned = poisoned.collect::<Result<Vec<_>, _>>()?;
        let mut round = |program: usize, round| self.turns(job, &job.programs[program].turned(round));
        let mut bench = Bench::prepare(&session, poisoned, plan, &mut round)?;
        let timed = bench.begin(plan)?;
        self.bench = Some(bench);
        Ok(timed)
    }

    fn blocks(&mut self, order: &[usize]) -> Result<Timed, DeviceError> {
        self.timed_last()?.time(order)
    }

    fn settle(&mut self) -> Result<Vec<usize>, DeviceError> {
        self.timed_last()?.settle()
    }
}

/// The file's bytes.
pub(super) fn image(variant: &Variant) -> Result<Vec<u8>, DeviceError> {
    match variant.format {
        Format::Cubin => {}
        Format::SharedObject => {
            return Err(DeviceError::Failed("a shared object for the CUDA backend".to_owned()));
        }
    }
    let path = &variant.artifact;
    std::fs::read(path).map_err(|error| DeviceError::Failed(format!("{}: {error}", path.display())))
}

/// What a kernel before this slot's may still be writing: its workspace, and all tensors that are not constant.
fn written_late(program: &Program, slot: usize) -> Vec<Region> {
    let tensors = program.slots[slot].iter().copied().enumerate();
    let (spared, held): (Vec<_>, Vec<_>) = tensors.partition(|(t, _)| program.constant.contains(t));
    let regions = |of: Vec<(usize, Region)>| of.into_iter().map(|(_, region)| region);
    let held: Vec<Region> = regions(held).chain([program.workspace(slot)]).collect();
    late::pieces(&held, &regions(spared).collect::<Vec<_>>())
}

/// Where the workspace's parts lie in the arena.
pub(super) fn workspace_parts(
    contract: &Contract,
    axes: &[i64],
    whole: Region,
) -> Result<Vec<Region>, DeviceError> {
    let layout =
        contract.workspace_layout(axes).map_err(|unplaced| DeviceError::Refused(unplaced.to_string()))?;
    if layout.total().unsigned_abs() > whole.bytes {
        return Err(DeviceError::Failed("the judge gave too little workspace".to_owned()));
    }
    let parts = layout.offsets().zip(&layout.places).map(|(offset, place)| Region {
        offset: whole.offset + offset.unsigned_abs(),
        bytes: place.bytes.unsigned_abs(),
    });
    Ok(parts.collect())
}
