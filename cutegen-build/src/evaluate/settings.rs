//! What a judging session is told: the [`Question`] and how thoroughly to judge it.

use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::spec::KernelSpec;

use crate::evaluate::device::memory::Sharing;
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::judge::case::ScalarChoice;
use crate::evaluate::judge::sampling::Sampling;
use crate::evaluate::link::Linker;
use crate::evaluate::timing::peer::Python;
use crate::evaluate::wire::protocol::Backend;
use crate::evaluate::wire::worker::Workers;
use crate::outcome::Checks;
use crate::plan::sums::ExactIntegers;
use crate::print::reference::DeviceReference;

/// Cost of judging a shape once.
pub type Cost = Box<dyn Fn(&[i64]) -> u64>;

/// What is asked of candidates, and what is known about it.
pub struct Question {
    /// The spec.
    pub spec: KernelSpec,
    /// The shared object with its compiled f64 reference, see [`Reference`](super::Reference).
    pub reference: PathBuf,
    /// Integers over which sums are exact, so that their bound has no summation term, see
    /// [`exact_integers`](crate::plan::sums::exact_integers).
    pub exact_integers: ExactIntegers,
    /// Cost of judging a shape once, in multiply-adds or elements.
    pub cost: Cost,
    /// Tile extents whose edges are probed.
    pub tiles: Vec<i64>,
    /// Values of scalars; log-uniform in 1e-6..1e-2 where there is none.
    pub scalar: Option<ScalarChoice>,
}

/// How thoroughly is judged, and by what means.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How runners are started.
    pub workers: Workers,
    /// Links host objects: a C++ compiler driver.
    pub linker: Linker,
    /// Seed of every drawn input. Runners never see it.
    pub seed: u64,
    /// Shapes above this cost are not judged.
    pub cost_cap: u64,
    /// Workloads above it, up to this cost, are judged as well, by the distributions of [`LARGE`](super::LARGE) alone.
    pub large_cap: u64,
    /// The largest number of shapes.
    pub shapes_most: usize,
    /// How many of the shapes, and of the distributions, screening takes.
    pub screening: (usize, usize),
    /// Launches of a case while screening, and of finalists, that must be bit-equal.
    pub repeats: (u32, u32),
    /// The longest a launch may take.
    pub deadline: Duration,
    /// Bytes of drawn cases to keep.
    pub keep_bytes: usize,
    /// Pairs of blocks in a comparison.
    pub pairs: usize,
    /// Bytes that the rotation of a comparison may grow to, to exceed the last-level cache.
    pub rotation_bytes: u64,
    /// What errors are held against besides their bounds; none where the session has nothing that it trusts.
    pub baseline: Option<Baseline>,
    /// Slots of a rotation whose inputs are drawn; further ones repeat theirs in memory of their own.
    pub drawn_slots: u64,
    /// What a sampled reference costs; none where references compute every element.
    pub sampling: Option<Sampling>,
    /// The least time that a kernel can take; none where no ceilings are known.
    pub floor: Option<Floor>,
    /// Folders in which the vendor's libraries may lie, besides the loader's.
    pub libraries: Vec<PathBuf>,
    /// The interpreter of peers.
    pub python: Option<Python>,
    /// What the judge needs on a device; none where candidates run on the host.
    pub device: Option<OnDevice>,
    /// How a device's memory is lent to runners.
    pub sharing: Sharing,
    /// What a block has of shared memory on smaller cards that run the target. Lists are judged as those dispatch them, too.
    pub smaller: Vec<u32>,
    /// Checks that are on: all of them, but for the gate's own tests.
    pub checks: Checks,
}

/// A kernel whose errors are what is usual.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The kernel, eligible everywhere.
    pub candidate: Candidate,
    /// Whether the math is nothing but sums of products of inputs.
    pub only_sums: bool,
}

/// The least time of a launch, microseconds, at these extents.
#[derive(Clone)]
pub struct Floor(pub Rc<Micros>);

/// Microseconds at these extents.
type Micros = dyn Fn(&[i64]) -> f64;

impl Floor {
    pub(super) fn micros(&self, axes: &[i64]) -> f64 {
        (self.0)(axes)
    }
}

impl fmt::Debug for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Floor")
    }
}

/// What the judge launches itself on a device.
#[derive(Clone, Debug)]
pub struct OnDevice {
    /// The cubin of [`KERNELS`](super::KERNELS).
    pub kernels: PathBuf,
    /// The reference's kernels: their cubin, and what was printed. Without them the host's reference is used.
    pub reference: Option<(PathBuf, DeviceReference)>,
    /// Terms of the longest total of a case, where there are totals: the host's reference makes long ones.
    pub totals: Option<Terms>,
}

/// How many terms are added to one element at given extents.
#[derive(Clone)]
pub struct Terms(pub Rc<Count>);

type Count = dyn Fn(&[i64]) -> u64;

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Terms")
    }
}

impl Settings {
    /// The defaults.
    #[must_use]
    pub fn new(workers: Workers, seed: u64) -> Self {
        // a device computes its references; the host shares a core between all of the judge's work
        let (cost_cap, large_cap, keep_bytes, drawn_slots) = match workers.backend {
            Backend::Host => (1 << 26, 1 << 31, 1 << 30, u64::MAX),
            Backend::Cuda => (1 << 32, 1 << 42, 8 << 30, 4),
        };
        Self {
            workers,
            linker: Linker(PathBuf::from("c++")),
            seed,
            cost_cap,
            large_cap,
            shapes_most: 14,
            screening: (3, 5),
            repeats: (20, 1000),
            deadline: Duration::from_secs(10),
            keep_bytes,
            pairs: 30,
            rotation_bytes: 256 << 20,
            baseline: None,
            drawn_slots,
            sampling: None,
            floor: None,
            libraries: Vec::new(),
            python: None,
            device: None,
            sharing: Sharing::default(),
            smaller: Vec::new(),
            checks: Checks::default(),
        }
    }
}
