//! Host candidates: shared objects opened with `RTLD_NOW | RTLD_LOCAL` and called in this process, straight on the
//! arena and on stacks of their own.

mod stack;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cutegen_spec::contract::{Arg, Contract, Initial};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use stack::{Entry, Stacks, Turn};

use super::rng::Rng;
use super::{Device, variant};
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::wire::arena::POISON;
use crate::evaluate::wire::memory::{Access, SharedMemory};
use crate::evaluate::wire::protocol::{
    Done, Format, Job, Program, Ready, Region, Run, ScalarValue, TimePlan, Timed, Variant,
};

/// The arena, loaded objects by path, and what was timed last.
pub(super) struct Host {
    arena: SharedMemory,
    libraries: BTreeMap<PathBuf, Library>,
    timed: Vec<Turning>,
    stacks: Stacks,
    rng: Rng,
}

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
        let mut done = Done::default();
        for slot in 0..program.slots.len() {
            let mut launch = self.resolve(job, program, slot)?;
            if slot >= program.workspaces.len() {
                launch.poison(); // it is not the first there
            }
            if run.fenced {
                self.fence(program)?;
            }
            let changed = launch.judged(&mut self.stacks, run.poison_stack.then_some(&mut self.rng));
            if run.fenced {
                self.arena.fence(&[]).map_err(failed)?;
            }
            done.changed_register = done.changed_register.or(changed.map(str::to_owned));
        }
        Ok(done)
    }

    fn time(&mut self, job: &Job, plan: &TimePlan) -> Result<Timed, DeviceError> {
        self.map(job)?;
        let mut programs = Vec::with_capacity(job.programs.len());
        for program in &job.programs {
            programs.push(self.turning(job, program)?);
        }
        let around = &mut Around { stacks: &mut self.stacks, rng: &mut self.rng };
        for program in &mut programs {
            around.poison();
            program.launch(program.slots, around.stacks)?;
        }
        let (launches, fastest) = calibrate(&mut programs, around, plan)?;
        let (may_end, mut block_ns) = (plan.is_enough(&fastest), Vec::with_capacity(plan.order.len()));
        for program in &plan.order {
            block_ns.push(programs[*program].block(launches, around)?);
            if may_end && plan.ends_behind(&block_ns) {
                break;
            }
        }
        self.timed = programs;
        Ok(Timed { launches, block_ns })
    }

    fn blocks(&mut self, _: &[usize]) -> Result<Timed, DeviceError> {
        Err(DeviceError::Failed("a host runner times all blocks at once".to_owned()))
    }

    fn settle(&mut self) -> Result<Vec<usize>, DeviceError> {
        let around = &mut Around { stacks: &mut self.stacks, rng: &mut self.rng };
        let rounds = self.timed.iter_mut().map(|program| {
            program.renew(around);
            let round = around.rng.round(program.slots);
            program.next = round * program.slots; // a block of the host may begin at any
            program.launch(program.slots, around.stacks)?;
            Ok(round)
        });
        rounds.collect()
    }
}

/// What is drawn and poisoned around timed launches.
struct Around<'a> {
    stacks: &'a mut Stacks,
    rng: &'a mut Rng,
}

impl Around<'_> {
    fn poison(&mut self) {
        self.stacks.poison_timed(self.rng.byte());
    }
}

/// A program and the launch that comes next.
struct Turning {
    /// Over its slots, in as many rounds: in each, what is written lies a slot further on.
    launches: Vec<Launch>,
    slots: usize,
    next: usize,
    written: Vec<Poisoned>,
}

/// Some bytes that a program writes on a slot.
type Poisoned = Vec<*mut u8>;

impl Turning {
    fn launch(&mut self, launches: usize, stacks: &mut Stacks) -> Result<(), DeviceError> {
        let mut changed = None;
        for _ in 0..launches {
            let turn = Turn::timed(self.next % self.slots, self.next / self.slots);
            changed = changed.or(self.launches[self.next].go(stacks, turn));
            self.next = (self.next + 1) % self.launches.len();
        }
        let changes = |what| DeviceError::Refused(format!("changes {what} when it is timed"));
        changed.map_or(Ok(()), |what| Err(changes(what)))
    }

    /// Stacks and undefined workspace as if no launch had been there, and another value for a byte of what was written on
    /// each slot.
    fn renew(&mut self, around: &mut Around<'_>) {
        around.poison();
        self.launches[0].poison();
        for bytes in &self.written {
            if let Some(at) = around.rng.pick(bytes) {
                // SAFETY: `turning` took it from a region inside the mapped arena.
                unsafe { **at = around.rng.next() as u8 };
            }
        }
    }

    /// The time of so many launches. The clock stands while stacks are poisoned again: before the first, and before one
    /// could meet what was left there for the same inputs.
    fn block(&mut self, launches: u32, around: &mut Around<'_>) -> Result<u64, DeviceError> {
        self.renew(around);
        let (mut left, mut took) = (launches as usize, Duration::ZERO);
        loop {
            let part = left.min(stack::unmet(self.slots));
            let start = Instant::now();
            self.launch(part, around.stacks)?;
            took += start.elapsed();
            left -= part;
            if left == 0 {
                return Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            }
            around.poison();
        }
    }
}

/// Doubles the launches of a block until the fastest program's block is long enough and the warm-up is over. So many
/// launches, and by program the fastest block of them.
fn calibrate(
    programs: &mut [Turning],
    around: &mut Around<'_>,
    plan: &TimePlan,
) -> Result<(u32, Vec<u64>), DeviceError> {
    let start = Instant::now();
    let (mut launches, mut fastest) = (1, vec![u64::MAX; programs.len()]);
    loop {
        let mut now = u64::MAX;
        for (program, fastest) in programs.iter_mut().zip(&mut fastest) {
            let block = program.block(launches, around)?;
            (now, *fastest) = (now.min(block), block.min(*fastest));
        }
        let warm = start.elapsed().as_nanos() >= u128::from(plan.warm_up_ns);
        match (now < plan.min_block_ns, warm) {
            (true, _) => {
                (launches, fastest) = (u32::saturating_mul(launches, 2), vec![u64::MAX; programs.len()])
            }
            (false, false) => {}
            (false, true) => return Ok((launches, fastest)),
        }
    }
}

impl Host {
    pub(super) fn new(arena: SharedMemory) -> Result<Self, DeviceError> {
        let stacks = Stacks::map().map_err(|error| DeviceError::Failed(format!("map stacks: {error}")))?;
        Ok(Self { arena, libraries: BTreeMap::new(), timed: Vec::new(), stacks, rng: Rng::new() })
    }

    fn map(&mut self, job: &Job) -> Result<(), DeviceError> {
        self.timed.clear(); // what follows may unmap what they refer to
        self.arena.remap(job.arena_bytes).map_err(|error| DeviceError::Failed(error.to_string()))
    }

    /// Leaves of the arena what a launch on the first slot may touch.
    fn fence(&self, program: &Program) -> Result<(), DeviceError> {
        let access = |t| if program.only_read.contains(&t) { Access::Read } else { Access::Write };
        let tensors = program.slots[0].iter().enumerate().map(|(t, region)| (*region, access(t)));
        let open: Vec<_> = tensors.chain([(program.workspace(0), Access::Write)]).collect();
        self.arena.fence(&open).map_err(failed)
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
        let poisoned = |slot: &Vec<Region>| {
            let each = program.written.iter().map(|written| {
                let start = self.arena.address(slot[written.tensor])?;
                Ok(written.bytes.iter().map(move |byte| start.wrapping_add(*byte as usize)))
            });
            let each: Result<Vec<_>, crate::evaluate::Error> = each.collect();
            each.map(|each| each.into_iter().flatten().collect())
        };
        let written = program.slots.iter().map(poisoned).collect::<Result<_, _>>();
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
            let values = step.args.iter().map(|arg| bind.value(arg)).collect::<Result<_, _>>()?;
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

fn failed(error: crate::evaluate::Error) -> DeviceError {
    DeviceError::Failed(error.to_string())
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
    fn value(&self, arg: &Arg) -> Result<u64, DeviceError> {
        let unknown = || DeviceError::Refused(format!("its contract refers to {arg}, which does not exist"));
        match arg {
            Arg::Ptr(t) => self.pointer(*self.slot.get(*t).ok_or_else(unknown)?),
            Arg::Workspace(w) => self.pointer(*self.workspace.get(*w).ok_or_else(unknown)?),
            Arg::Axis(a) => self.job.axes.get(*a).map(|v| v.cast_unsigned()).ok_or_else(unknown),
            Arg::Scalar(s) => {
                self.job.scalars.get(*s).copied().map(ScalarValue::parameter).ok_or_else(unknown)
            }
            Arg::Int(number) => {
                let value = number.eval_axes(&self.job.axes);
                let refused = || DeviceError::Refused(format!("its argument `{number}` cannot be computed"));
                value.map(i64::cast_unsigned).ok_or_else(refused)
            }
            Arg::Map(_) => Err(DeviceError::Refused("a CPU has no tensor maps".to_owned())),
        }
    }

    fn pointer(&self, region: Region) -> Result<u64, DeviceError> {
        let address = self.arena.address(region).map_err(|error| DeviceError::Failed(error.to_string()))?;
        Ok(address as u64)
    }
}

fn workspace(contract: &Contract, axes: &[i64], whole: Region) -> Result<Vec<Region>, DeviceError> {
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

    /// One launch on the stack of this turn; the register that it left changed.
    fn go(&mut self, stacks: &mut Stacks, turn: Turn) -> Option<&'static str> {
        self.clear();
        self.calls.iter_mut().fold(None, |changed, call| changed.or(call.go(stacks, turn)))
    }

    /// One launch whose every step finds a stack filled with a byte of `rng`, and after which the x87 unit is empty.
    fn judged(&mut self, stacks: &mut Stacks, mut rng: Option<&mut Rng>) -> Option<&'static str> {
        self.clear();
        let mut changed = None;
        for call in &mut self.calls {
            if let Some(rng) = &mut rng {
                stacks.poison(rng.byte());
            }
            changed = changed.or(call.go(stacks, Turn::JUDGED));
            changed = changed.or(stack::x87_is_used().then_some("the x87 unit, which it left with values"));
        }
        changed
    }

    /// Clears what a launch finds zeroed.
    fn clear(&mut self) {
        for (start, bytes) in &self.zeroed {
            // SAFETY: `parts` took these bytes from a region inside the mapped arena.
            unsafe { std::ptr::write_bytes(*start, 0, *bytes) };
        }
    }
}

impl Call {
    fn go(&mut self, stacks: &mut Stacks, turn: Turn) -> Option<&'static str> {
        let mut params: Vec<*mut c_void> = self.values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        // SAFETY: parameters lie as the contract orders them; what the candidate does with them is on trial.
        unsafe { stacks.call(turn, self.entry, params.as_mut_ptr()) }.changed()
    }
}

/// Bytes of the largest cache that the system reports; 32 MiB where it reports none.
fn cache_bytes() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let reported =
        [libc::_SC_LEVEL3_CACHE_SIZE, libc::_SC_LEVEL2_CACHE_SIZE].map(|n| unsafe { libc::sysconf(n) });
    reported.into_iter().find(|b| *b > 0).map_or(32 << 20, i64::unsigned_abs)
}
