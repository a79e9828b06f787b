//! cuBLASLt as an incumbent: [`CublasLt`], the library opened at run time, and [`Product`], one matrix product in it.
//! Up to 32 of its heuristics are timed over the caller's own slots, and the fastest is what is launched from then on.
//!
//! Knows the device's stream and addresses; not who asked, nor what the product is compared with. The device's memory
//! is the caller's. A machine without the library is told in words, and so is whatever the library does not take.

mod describe;
mod library;
mod replay;

use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUstream};

use crate::evaluate::stats::median;
use crate::evaluate::wire::gemm::{Compute, Gemm};
use describe::Described;
use library::Algorithm;
pub use library::CublasLt;
use replay::Replay;

/// Heuristics that are asked for.
pub const HEURISTICS: usize = 32;
/// Most launches of one timing: as many slots as a rotation can have are not needed to rank.
const LAUNCHES_MAX: usize = 1024;
/// A timing repeats its launches until it lasts this long.
const TIMED_NS: f64 = 500_000.0;
const REPEATS_MAX: f64 = 64.0;
/// Timings of an algorithm, of which the median counts.
const TIMINGS: usize = 5;
/// An algorithm that is so much slower in its first timing gets no other.
const HOPELESS: f64 = 1.5;

/// Device addresses of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The left factor, [`Gemm::a`].
    pub a: CUdeviceptr,
    /// The right factor, [`Gemm::b`].
    pub b: CUdeviceptr,
    /// The result.
    pub d: CUdeviceptr,
    /// One `f32` each, as many as [`Gemm::scales`].
    pub scales: Vec<CUdeviceptr>,
}

impl Slot {
    /// Of the addresses of all of a spec's tensors, by position.
    pub fn of(gemm: &Gemm, tensors: &[CUdeviceptr]) -> Result<Self, String> {
        let at = |tensor: usize| tensors.get(tensor).copied().ok_or(format!("no tensor {tensor}"));
        let scales = gemm.scales.iter().map(|scale| at(*scale)).collect::<Result<_, _>>()?;
        Ok(Self { a: at(gemm.a.tensor)?, b: at(gemm.b.tensor)?, d: at(gemm.d.tensor)?, scales })
    }
}

/// Device memory that the library may use in a launch; 256-byte aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Where.
    pub at: CUdeviceptr,
    /// How much, [`WORKSPACE_BYTES`](crate::evaluate::wire::protocol::WORKSPACE_BYTES) where there is room.
    pub bytes: u64,
}

/// What timing the heuristics found; times are of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// Heuristics that the library offered.
    pub offered: usize,
    /// Those that ran.
    pub ran: usize,
    /// Position of the fastest among those offered.
    pub fastest: usize,
    /// Nanoseconds of the fastest.
    pub fastest_ns: f64,
    /// Nanoseconds of the first that ran: what a caller gets who times nothing.
    pub first_ns: f64,
}

/// A product with the algorithm that computes it.
#[derive(Debug)]
pub struct Product {
    library: Rc<CublasLt>,
    described: Described,
    workspace: Workspace,
    offered: Vec<Algorithm>,
    chosen: usize,
    one: [u8; 8],
}

impl Product {
    /// Describes `gemm` and asks the library for algorithms that fit the alignment of all `slots`. The first one is
    /// launched until [`Product::tune`] has found a faster one.
    pub fn new(
        library: &Rc<CublasLt>,
        gemm: &Gemm,
        workspace: Workspace,
        slots: &[Slot],
    ) -> Result<Self, String> {
        let described = Described::new(library, gemm)?;
        if let Some(slot) = slots.first() {
            described.set_scales(library, slot)?; // which kernels there are depends on them
        }
        let offered = described.algorithms(library, workspace.bytes, slots)?;
        if offered.is_empty() {
            return Err("cuBLASLt offers no algorithm for it".to_owned());
        }
        let one = one(gemm.compute);
        Ok(Self { library: Rc::clone(library), described, workspace, offered, chosen: 0, one })
    }

    /// Times every offered algorithm over `slots`, and keeps the fastest.
    ///
    /// # Safety
    /// As [`Product::launch`], for each slot.
    pub unsafe fn tune(&mut self, stream: CUstream, slots: &[Slot]) -> Result<Tuned, String> {
        let mut times: Vec<(usize, f64)> = Vec::new();
        let mut said = String::new();
        for number in 0..self.offered.len() {
            self.chosen = number;
            let best = times.iter().map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min);
            // SAFETY: as the caller promises.
            match unsafe { self.time(stream, slots, best) } {
                Ok(ns) => times.push((number, ns)),
                Err(error) => said = error, // offered, but not for this: the next one
            }
        }
        let fastest = times.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let (&(fastest, fastest_ns), &(_, first_ns)) =
            fastest.zip(times.first()).ok_or_else(|| format!("no algorithm of cuBLASLt ran: {said}"))?;
        self.chosen = fastest;
        Ok(Tuned { offered: self.offered.len(), ran: times.len(), fastest, fastest_ns, first_ns })
    }

    /// Nanoseconds of one launch of the chosen algorithm.
    ///
    /// # Safety
    /// As [`Product::launch`].
    unsafe fn time(&self, stream: CUstream, slots: &[Slot], best: f64) -> Result<f64, String> {
        let first = slots.first().ok_or("no slots to time over")?;
        // SAFETY: as the caller promises. A failure is better met outside a capture.
        unsafe { self.launch(stream, first)? };
        let launches: Vec<&Slot> = slots.iter().take(LAUNCHES_MAX).collect();
        let all = || {
            // SAFETY: as the caller promises.
            launches.iter().try_for_each(|slot| unsafe { self.launch(stream, slot) })
        };
        let replay = Replay::capture(stream, &all)?;
        replay.ns(1)?; // pays for the upload
        let once = replay.ns(1)?;
        let each = |ns: f64, repeats: u32| ns / f64::from(repeats) / launches.len() as f64;
        if each(once, 1) > best * HOPELESS {
            return Ok(each(once, 1));
        }
        let repeats = (TIMED_NS / once.max(1.0)).clamp(1.0, REPEATS_MAX) as u32;
        let times = (0..TIMINGS).map(|_| Ok(each(replay.ns(repeats)?, repeats)));
        median(times.collect::<Result<_, String>>()?).ok_or_else(|| "no timing".to_owned())
    }

    /// Puts one launch into the stream, which may be capturing.
    ///
    /// # Safety
    /// The library's context is current on this thread and owns the stream. The slot's addresses hold the description's
    /// tensors, the workspace its bytes, and all of it lives until the launch, and every graph that captured it, is done.
    pub unsafe fn launch(&self, stream: CUstream, slot: &Slot) -> Result<(), String> {
        self.described.set_scales(&self.library, slot)?;
        let algorithm = &self.offered[self.chosen];
        // SAFETY: as the caller promises.
        unsafe { self.described.matmul(&self.library, &self.one, slot, algorithm, self.workspace, stream) }
    }
}

/// The bits of 1 in the type of the factor alpha.
fn one(compute: Compute) -> [u8; 8] {
    let mut bytes = [0; 8];
    match compute {
        Compute::F64 => bytes = 1.0_f64.to_le_bytes(),
        Compute::F32 | Compute::Tf32 => bytes[..4].copy_from_slice(&1.0_f32.to_le_bytes()),
        Compute::I32 => bytes[..4].copy_from_slice(&1_i32.to_le_bytes()),
    }
    bytes
}
