//! [`Kernels`]: the gate's own kernels, loaded in the judge's context, and their launches. Results are small and lie in
//! one scratch memory; reading it waits for the stream.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Contract;

use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::Loaded;
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::{Session, machine};
use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::Region;

/// Source of the gate's own kernels.
pub const KERNELS: &str = concat!(include_str!("kernels.cu"), "\n", include_str!("draw.cu"));

/// How NVRTC compiles them: no product may be fused with a sum that the host rounds apart.
pub const OPTIONS: [&str; 2] = ["--fmad=false", "--std=c++17"];

const ENTRIES: [&str; 9] = [
    "cutegen_pieces",
    "cutegen_compare",
    "cutegen_touched",
    "cutegen_unwritten",
    "cutegen_repeat",
    "cutegen_loose",
    "cutegen_moments",
    "cutegen_draw",
    "cutegen_plant",
];

const THREADS: u32 = 256;
/// A result that says that there is none.
pub(super) const NONE: u64 = u64::MAX;
/// Results that one reading takes.
const SCRATCH: usize = 1024;
/// Bytes of a table at first.
const TABLE: u64 = 1 << 20;

/// A parameter of a kernel, in a word of 8 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// An address, or a 64-bit number.
    Wide(u64),
    /// A 32-bit number.
    Narrow(u32),
    /// An f64.
    Real(f64),
}

/// The loaded kernels.
pub(super) struct Kernels {
    session: Rc<Session>,
    functions: BTreeMap<&'static str, CUfunction>,
    scratch: DeviceMemory,
    /// What a launch reads that no parameter holds; made longer when it has to be.
    table: RefCell<DeviceMemory>,
    _loaded: Loaded,
}

impl Kernels {
    /// Loads their cubin.
    pub(super) fn load(session: &Rc<Session>, cubin: &Path) -> Result<Self, Error> {
        let file = |error: std::io::Error| Error::File { path: cubin.to_owned(), reason: error.to_string() };
        let image = std::fs::read(cubin).map_err(file)?;
        let mut loaded = Loaded::load(session, &image, &Contract::default(), &[])?;
        let mut functions = BTreeMap::new();
        for entry in ENTRIES {
            functions.insert(entry, loaded.find(entry)?);
        }
        let scratch = DeviceMemory::new(session, 8 * SCRATCH as u64)?;
        let table = RefCell::new(DeviceMemory::new(session, TABLE)?);
        Ok(Self { session: Rc::clone(session), functions, scratch, table, _loaded: loaded })
    }

    /// Puts a kernel over `elements` into the stream.
    pub(super) fn go(&self, entry: &'static str, elements: u64, words: &[Word]) -> Result<(), Error> {
        if elements == 0 {
            return Ok(());
        }
        let function = self.functions.get(entry).copied();
        let function = function.ok_or_else(|| Error::Worker(format!("no kernel `{entry}`")))?;
        let blocks = elements.div_ceil(u64::from(THREADS)).min(u64::from(8 * self.session.device.sm_count));
        let config = LaunchConfig {
            grid: [blocks as u32, 1, 1],
            block: [THREADS, 1, 1],
            cluster: [1, 1, 1],
            dynamic_smem: 0,
            pdl: false,
            cooperative: false,
        };
        let words: Vec<u64> = words.iter().map(|word| word.bits()).collect();
        let mut params: Vec<*mut c_void> =
            words.iter().map(|word| (&raw const *word).cast_mut().cast()).collect();
        // SAFETY: our own kernel, whose parameters the caller orders as `kernels.cu` has them; `words` outlives the call.
        unsafe { launch::launch(function, self.session.stream, &config, &mut params) }
            .map_err(machine(entry))?;
        Ok(())
    }

    /// Where these bytes lie on the device until the next are put there, which waits for the stream.
    pub(super) fn table(&self, bytes: &[u8]) -> Result<CUdeviceptr, Error> {
        let (mut table, length) = (self.table.borrow_mut(), bytes.len() as u64);
        if table.bytes() < length {
            *table = DeviceMemory::new(&self.session, length.next_power_of_two())?;
        }
        table.write(0, bytes)?;
        Ok(table.at(Region { offset: 0, bytes: length })?)
    }

    /// Sets the first `results` of the scratch memory, each to 0 or to [`NONE`], and says where they lie. In the
    /// stream's order; does not wait.
    pub(super) fn clear(&self, results: &[u64]) -> Result<CUdeviceptr, Error> {
        if results.len() > SCRATCH || results.iter().any(|word| ![0, NONE].contains(word)) {
            return Err(Error::Worker(format!("{} results cannot be cleared", results.len())));
        }
        let mut offset = 0;
        for equal in results.chunk_by(|a, b| a == b) {
            let bytes = 8 * equal.len() as u64;
            self.scratch.fill(Region { offset, bytes }, equal[0] as u8)?;
            offset += bytes;
        }
        Ok(self.scratch.at(Region { offset: 0, bytes: offset })?)
    }

    /// The only result, after everything in the stream; none where it is [`NONE`].
    pub(super) fn first(&self) -> Result<Option<u64>, Error> {
        Ok(self.results(1)?.into_iter().find(|first| *first != NONE))
    }

    /// The first `count` results, after everything in the stream.
    pub(super) fn results(&self, count: usize) -> Result<Vec<u64>, Error> {
        let mut bytes = vec![0; 8 * count];
        self.scratch.read(0, &mut bytes)?;
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Ok(bytes.chunks_exact(8).map(word).collect())
    }
}

impl Word {
    pub(super) fn bits(self) -> u64 {
        match self {
            Word::Wide(bits) => bits,
            Word::Narrow(bits) => u64::from(bits),
            Word::Real(value) => value.to_bits(),
        }
    }
}

impl From<DeviceError> for Error {
    fn from(stop: DeviceError) -> Self {
        let (DeviceError::Refused(reason)
        | DeviceError::Faulted(reason)
        | DeviceError::Lacking(reason)
        | DeviceError::Failed(reason)) = stop;
        Error::Worker(format!("the judge's device: {reason}"))
    }
}
