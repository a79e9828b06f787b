//! Host candidates: shared objects opened with `RTLD_NOW | RTLD_LOCAL` and called in this process, straight on the
//! arena.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cutegen_spec::contract::{Arg, Contract, Initial};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::dice::Dice;
use super::{Device, variant};
use crate::evaluate::arena::POISON;
use crate::evaluate::cuda::error::DeviceError;
use crate::evaluate::memory::SharedMemory;
use crate::evaluate::protocol::{
    Done, Format, Job, Program, Ready, Region, Run, ScalarValue, TimePlan, Timed, Variant,
};

/// The arena, loaded objects by path, and what was timed last.
pub(super) struct Host {
    arena: SharedMemory,
    libraries: BTreeMap<PathBuf, Library>,
    timed: Vec<Turning>,
    dice: Dice,
}

type Entry = unsafe extern "C" fn(*mut *mut c_void);

/// One launch with every address and extent resolved.
struct Launch {
    zeroed: Vec<(*mut u8, usize)>,
    undefined: Vec<(*mut u8, usize)>,
    calls: Vec<Call>,
}

/// One step: its entry, and its parameters' values in words aligned for any of them.
struct Call {
    entry: Entry,
    values: Vec<u64>,
}

impl Device for Host {
    fn ready(&mut self) -> Result<Ready, DeviceError> {
        let device = format!("host {}", std::env::consts::ARCH);
        Ok(Ready { device, cache_bytes: cache_bytes(), ..Ready::default() })
    }

    fn run(&mut self, job: &Job, run: Run) -> Result<Done, DeviceError> {
        self.map(job)?;
        let program = &job.programs[0];
        if run.reload {
            self.libraries.remove(&variant(program)?.artifact);
        }
        for slot in 0..program.slots.len() {
            let mut launch = self.resolve(job, program, slot)?;
            if slot >= program.workspaces.len() {
                launch.poison(); // it is not the first there
            }
            launch.go();
        }
        Ok(Done::default())
    }

    fn time(&mut self, job: &Job, plan: &TimePlan) -> Result<Timed, DeviceError> {
        self.map(job)?;
        let mut programs = Vec::with_capacity(job.programs.len());
        for program in &job.programs {
            programs.push(self.turning(job, program)?);
        }
        programs.iter_mut().for_each(|program| program.launch(program.slots));
        let dice = &mut self.dice;
        let launches = calibrate(&mut programs, dice, plan);
        let block_ns = plan.order.iter().map(|p| programs[*p].block(launches, dice)).collect();
        self.timed = programs;
        Ok(Timed { launches, block_ns })
    }

    fn blocks(&mut self, _: &[usize]) -> Result<Timed, DeviceError> {
        Err(DeviceError::Failed("a host runner times all blocks at once".to_owned()))
    }

    fn settle(&mut self) -> Result<Vec<usize>, DeviceError> {
        let dice = &mut self.dice;
        let rounds = self.timed.iter_mut().map(|program| {
            program.renew(dice);
            let round = dice.round(program.slots);
            program.next = round * program.slots; // a block of the host may begin at any
            program.launch(program.slots);
            round
        });
        Ok(rounds.collect())
    }
}

/// A program and the launch that comes next.
struct Turning {
    /// Over its slots, in as many rounds: in each, what is written lies a slot further on.
    launches: Vec<Launch>,
    slots: usize,
    next: usize,
    written: Vec<Spoilt>,
}

/// Some bytes that a program writes on a slot.
type Spoilt = Vec<*mut u8>;

impl Turning {
    fn launch(&mut self, launches: usize) {
        for _ in 0..launches {
            self.launches[self.next].go();
            self.next = (self.next + 1) % self.launches.len();
        }
    }

    /// Undefined workspace as if no launch had been there, and another value for a byte of what was written on each slot.
    fn renew(&mut self, dice: &mut Dice) {
        self.launches[0].poison();
        for bytes in &self.written {
            if let Some(at) = dice.pick(bytes) {
                // SAFETY: `turning` took it from a region inside the mapped arena.
                unsafe { **at = dice.roll() as u8 };
            }
        }
    }

    fn block(&mut self, launches: u32, dice: &mut Dice) -> u64 {
        self.renew(dice);
        let start = Instant::now();
        self.launch(launches as usize);
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Doubles the launches of a block until the fastest program's block is long enough and the warm-up is over.
fn calibrate(programs: &mut [Turning], dice: &mut Dice, plan: &TimePlan) -> u32 {
    let start = Instant::now();
    let mut launches = 1;
    loop {
        let fastest = programs.iter_mut().map(|program| program.block(launches, dice)).min();
        let fastest = fastest.unwrap_or(u64::MAX);
        let warm = start.elapsed().as_nanos() >= u128::from(plan.warm_up_ns);
        match (fastest < plan.min_block_ns, warm) {
            (true, _) => launches = u32::saturating_mul(launches, 2),
            (false, false) => {}
            (false, true) => return launches,
        }
    }
}

impl Host {
    pub(super) fn new(arena: SharedMemory) -> Self {
        Self { arena, libraries: BTreeMap::new(), timed: Vec::new(), dice: Dice::new() }
    }

    fn map(&mut self, job: &Job) -> Result<(), DeviceError> {
        self.timed.clear(); // what follows may unmap what they refer to
        self.arena.remap(job.arena_bytes).map_err(|error| DeviceError::Failed(error.to_string()))
    }

    fn turning(&mut self, job: &Job, program: &Program) -> Result<Turning, DeviceError> {
        let slots = program.slots.len();
        let mut launches = Vec::with_capacity(slots * slots);
        for round in 0..slots {
            let turned = program.turned(round);
            for slot in 0..slots {
                launches.push(self.resolve(job, &turned, slot)?);
            }
        }
        let spoilt = |slot: &Vec<Region>| {
            let each = program.written.iter().map(|written| {
                let start = self.arena.address(slot[written.tensor])?;
                Ok(written.bytes.iter().map(move |byte| start.wrapping_add(*byte as usize)))
            });
            let each: Result<Vec<_>, crate::evaluate::Error> = each.collect();
            each.map(|each| each.into_iter().flatten().collect())
        };
        let written = program.slots.iter().map(spoilt).collect::<Result<_, _>>();
        let written = written.map_err(|error| DeviceError::Failed(error.to_string()))?;
        Ok(Turning { launches, slots, next: 0, written })
    }

    fn resolve(&mut self, job: &Job, program: &Program, slot: usize) -> Result<Launch, DeviceError> {
        let Variant { artifact, format, contract } = variant(program)?;
        let workspace = workspace(contract, &job.axes, program.workspace(slot))?;
        self.load(artifact, *format)?;
        let (arena, library) = (&self.arena, self.library(artifact)?);
        let bind = Binding { job, slot: &program.slots[slot], workspace: &workspace, arena };
        let steps = contract.steps.iter();
        let calls = steps.map(|step| {
            let values = step.args.iter().map(|arg| bind.value(*arg)).collect::<Result<_, _>>()?;
            Ok(Call { entry: entry(library, &step.entry)?, values })
        });
        let calls = calls.collect::<Result<_, DeviceError>>()?;
        let parts = |initial| parts(contract, &workspace, arena, initial);
        Ok(Launch { zeroed: parts(Initial::Zeroed)?, undefined: parts(Initial::Undefined)?, calls })
    }

    fn load(&mut self, path: &Path, format: Format) -> Result<(), DeviceError> {
        match format {
            Format::SharedObject => {}
            Format::Cubin => return Err(DeviceError::Failed("a cubin for the host backend".to_owned())),
        }
        if !self.libraries.contains_key(path) {
            // SAFETY: this process exists to run such code; whatever it does is the judge's to find out.
            let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
                .map_err(|error| DeviceError::Refused(format!("cannot be loaded: {error}")))?;
            self.libraries.insert(path.to_owned(), library);
        }
        Ok(())
    }

    fn library(&self, path: &Path) -> Result<&Library, DeviceError> {
        self.libraries.get(path).ok_or_else(|| DeviceError::Failed("a library vanished".to_owned()))
    }
}

fn entry(library: &Library, name: &str) -> Result<Entry, DeviceError> {
    // SAFETY: the contract says that this symbol has the host ABI; a lie is a crash of this process.
    let symbol = unsafe { library.get::<Entry>(name.as_bytes()) };
    symbol.map(|s| *s).map_err(|_| DeviceError::Refused(format!("has no entry `{name}`")))
}

/// What the arguments of a step may refer to.
struct Binding<'a> {
    job: &'a Job,
    slot: &'a [Region],
    workspace: &'a [Region],
    arena: &'a SharedMemory,
}

impl Binding<'_> {
    fn value(&self, arg: Arg) -> Result<u64, DeviceError> {
        let unknown = || DeviceError::Refused(format!("its contract refers to {arg}, which does not exist"));
        match arg {
            Arg::Ptr(t) => self.pointer(*self.slot.get(t).ok_or_else(unknown)?),
            Arg::Workspace(w) => self.pointer(*self.workspace.get(w).ok_or_else(unknown)?),
            Arg::Axis(a) => self.job.axes.get(a).map(|v| v.cast_unsigned()).ok_or_else(unknown),
            Arg::Scalar(s) => {
                self.job.scalars.get(s).copied().map(ScalarValue::parameter).ok_or_else(unknown)
            }
        }
    }

    fn pointer(&self, region: Region) -> Result<u64, DeviceError> {
        let address = self.arena.address(region).map_err(|error| DeviceError::Failed(error.to_string()))?;
        Ok(address as u64)
    }
}

fn workspace(contract: &Contract, axes: &[i64], whole: Region) -> Result<Vec<Region>, DeviceError> {
    let refused = || DeviceError::Refused("its workspace cannot be sized".to_owned());
    let (offsets, total) = contract.workspace_layout(axes).ok_or_else(refused)?;
    if u64::try_from(total).map_err(|_| refused())? > whole.bytes {
        return Err(DeviceError::Failed("the judge gave too little workspace".to_owned()));
    }
    let parts = contract.workspace.iter().zip(offsets).map(|(part, offset)| {
        let bytes = part.bytes.eval_axes(axes).and_then(|b| u64::try_from(b).ok()).ok_or_else(refused)?;
        Ok(Region { offset: whole.offset + offset.unsigned_abs(), bytes })
    });
    parts.collect()
}

/// The parts of the workspace that begin so.
fn parts(
    contract: &Contract,
    parts: &[Region],
    arena: &SharedMemory,
    initial: Initial,
) -> Result<Vec<(*mut u8, usize)>, DeviceError> {
    let wanted = contract.workspace.iter().zip(parts).filter(|(part, _)| part.initial == initial);
    let addressed = wanted.map(|(_, region)| Ok((arena.address(*region)?, region.bytes as usize)));
    addressed
        .collect::<Result<_, _>>()
        .map_err(|error: crate::evaluate::Error| DeviceError::Failed(error.to_string()))
}

impl Launch {
    /// Fills what is undefined.
    fn poison(&mut self) {
        for (start, bytes) in &self.undefined {
            // SAFETY: `parts` took these bytes from a region inside the mapped arena.
            unsafe { std::ptr::write_bytes(*start, POISON, *bytes) };
        }
    }

    fn go(&mut self) {
        for (start, bytes) in &self.zeroed {
            // SAFETY: `parts` took these bytes from a region inside the mapped arena.
            unsafe { std::ptr::write_bytes(*start, 0, *bytes) };
        }
        for call in &mut self.calls {
            let mut params: Vec<*mut c_void> = call.values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
            // SAFETY: parameters lie as the contract orders them; what the candidate does with them is on trial.
            unsafe { (call.entry)(params.as_mut_ptr()) };
        }
    }
}

/// Bytes of the largest cache that the system reports; 32 MiB where it reports none.
fn cache_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let reported =
        [libc::_SC_LEVEL3_CACHE_SIZE, libc::_SC_LEVEL2_CACHE_SIZE].map(|n| unsafe { libc::sysconf(n) });
    reported.into_iter().find(|b| *b > 0).map_or(32 << 20, i64::unsigned_abs)
}
