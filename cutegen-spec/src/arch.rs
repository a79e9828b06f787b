//! [`Arch`]: NVIDIA architectures as a table: what each has, and which devices run its cubins. A test of compilers holds the
//! table to NVRTC. Knows no device by name.

use std::collections::BTreeSet;

/// An NVIDIA architecture, as NVRTC compiles for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Arch {
    /// A100.
    Sm80,
    /// Ampere of workstations and consumers.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper, without what is specific to it.
    Sm90,
    /// Hopper with its architecture-specific instructions.
    Sm90a,
    /// Blackwell of data centres, without what is specific to it.
    Sm100,
    /// The family of data-centre Blackwell.
    Sm100f,
    /// B300.
    Sm103,
    /// Blackwell of workstations and consumers, without what is specific to it.
    Sm120,
    /// The family of consumer Blackwell.
    Sm120f,
    /// GB10.
    Sm121,
}

/// What kernels may use on some architectures only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Conversions to and from 8-bit floats.
    Fp8,
    /// Copies in bulk between global and shared memory (`cp.async.bulk`), with their barriers.
    Bulk,
    /// Copies of boxes of tensors, by a map (`cp.async.bulk.tensor`).
    Tma,
    /// Clusters of blocks, and their shared memory.
    Cluster,
    /// Programmatic dependent launch (`griddepcontrol`).
    Pdl,
    /// Stores of matrices from registers to shared memory.
    Stmatrix,
    /// Registers moved between warpgroups.
    Setmaxnreg,
    /// Products by warpgroups, from shared memory.
    Wgmma,
}

/// Which devices run the cubins of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Those of its compute capability: names in `a`.
    Exact,
    /// Those of its family: names in `f`.
    Family,
    /// Those of its major and no lower minor.
    Major,
}

struct Row {
    name: &'static str,
    capability: (u32, u32),
    reach: Reach,
    /// Kibibytes of shared memory that a block may ask for.
    shared_kib: u32,
    features: &'static [Feature],
}

/// What every architecture has from 9.0 on, and what families have too: features in the order of [`Feature::ALL`].
const SINCE_90: &[Feature] = Feature::ALL.split_at(6).0;
const FAMILY: &[Feature] = Feature::ALL.split_at(7).0;

/// In the order of [`Arch`]. Shared memory is by the CUDA C++ Programming Guide, table of technical specifications.
const TABLE: [(Arch, Row); 11] = [
    (Arch::Sm80, row("sm_80", (8, 0), Reach::Major, 163, &[])),
    (Arch::Sm86, row("sm_86", (8, 6), Reach::Major, 99, &[])),
    (Arch::Sm89, row("sm_89", (8, 9), Reach::Major, 99, &[Feature::Fp8])),
    (Arch::Sm90, row("sm_90", (9, 0), Reach::Major, 227, SINCE_90)),
    (Arch::Sm90a, row("sm_90a", (9, 0), Reach::Exact, 227, &Feature::ALL)),
    (Arch::Sm100, row("sm_100", (10, 0), Reach::Major, 227, SINCE_90)),
    (Arch::Sm100f, row("sm_100f", (10, 0), Reach::Family, 227, FAMILY)),
    (Arch::Sm103, row("sm_103", (10, 3), Reach::Major, 227, SINCE_90)),
    (Arch::Sm120, row("sm_120", (12, 0), Reach::Major, 99, SINCE_90)),
    (Arch::Sm120f, row("sm_120f", (12, 0), Reach::Family, 99, FAMILY)),
    (Arch::Sm121, row("sm_121", (12, 1), Reach::Major, 99, SINCE_90)),
];

/// Compute capabilities of Tegra, whose devices run no cubins made for others (CUDA C++ Programming Guide, binary
/// compatibility).
const TEGRA: [(u32, u32); 5] = [(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)];

/// One target for each generation that has any: with what is specific to it, and for as many devices as run it.
const ADVISED: [Arch; 4] = [Arch::Sm80, Arch::Sm90a, Arch::Sm100f, Arch::Sm120f];

const fn row(
    name: &'static str,
    capability: (u32, u32),
    reach: Reach,
    shared_kib: u32,
    features: &'static [Feature],
) -> Row {
    Row { name, capability, reach, shared_kib, features }
}

impl Arch {
    /// Every one.
    pub fn all() -> impl Iterator<Item = Arch> {
        TABLE.iter().map(|(arch, _)| *arch)
    }

    /// The one of this name, as in `sm_90a`.
    #[must_use]
    pub fn named(name: &str) -> Option<Arch> {
        Self::all().find(|arch| arch.name() == name)
    }

    /// The word used in specs and by NVRTC.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The compute capability that it is made for.
    #[must_use]
    pub fn compute_capability(self) -> (u32, u32) {
        self.row().capability
    }

    /// Bytes of shared memory that a block may ask for, on a device of this compute capability.
    #[must_use]
    pub fn shared_memory_max(self) -> u32 {
        self.row().shared_kib << 10
    }

    /// What blocks have of shared memory on devices that run its cubins and have less than its own, each once, the most first.
    #[must_use]
    pub fn smaller_shared_memory(self) -> Vec<u32> {
        let served = Self::all().filter(|other| self.runs_on(other.compute_capability()));
        let sizes: BTreeSet<u32> = served.map(Self::shared_memory_max).collect();
        sizes.into_iter().rev().filter(|size| *size < self.shared_memory_max()).collect()
    }

    /// Whether its kernels may use this.
    #[must_use]
    pub fn has(self, feature: Feature) -> bool {
        self.row().features.contains(&feature)
    }

    /// Whether its cubins run on devices of this compute capability. Those of `a` do on one, of `f` in a family, others from
    /// a minor on; none does across majors, or on a Tegra.
    #[must_use]
    pub fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let own = self.compute_capability();
        match self.row().reach {
            Reach::Exact => (major, minor) == own,
            Reach::Family | Reach::Major => {
                major == own.0 && minor >= own.1 && !TEGRA.contains(&(major, minor))
            }
        }
    }

    /// The one to declare for devices of this compute capability; none where no cubin of any runs there.
    #[must_use]
    pub fn advised(capability: (u32, u32)) -> Option<Arch> {
        ADVISED.into_iter().find(|arch| arch.runs_on(capability))
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize].1
    }
}

impl Feature {
    /// Every one, from what more architectures have to what fewer have.
    pub const ALL: [Feature; 8] = [
        Feature::Fp8,
        Feature::Bulk,
        Feature::Tma,
        Feature::Cluster,
        Feature::Pdl,
        Feature::Stmatrix,
        Feature::Setmaxnreg,
        Feature::Wgmma,
    ];

    /// What it is called in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Feature::Fp8 => "conversions of 8-bit floats",
            Feature::Bulk => "bulk copies",
            Feature::Tma => "copies by a tensor map",
            Feature::Cluster => "clusters",
            Feature::Pdl => "programmatic launches",
            Feature::Stmatrix => "stmatrix",
            Feature::Setmaxnreg => "setmaxnreg",
            Feature::Wgmma => "wgmma",
        }
    }
}

/// The compute capability that a name such as `sm_103` says; suffixes tell nothing of it.
#[must_use]
pub fn capability(name: &str) -> Option<(u32, u32)> {
    let number: u32 = name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']).parse().ok()?;
    Some((number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use super::{Arch, Feature, TABLE, capability};

    #[test]
    fn rows_stand_in_the_order_of_the_architectures() {
        for (at, (arch, row)) in TABLE.iter().enumerate() {
            assert_eq!(*arch as usize, at, "{}", row.name);
            assert_eq!((Arch::named(row.name), capability(row.name)), (Some(*arch), Some(row.capability)));
        }
        assert_eq!(Arch::named("sm_87"), None);
    }

    #[test]
    fn cubins_run_within_their_reach_and_on_no_tegra() {
        let runs = |name: &str, on| Arch::named(name).expect("a row").runs_on(on);
        for (name, on, expected) in [
            ("sm_80", (8, 0), true),
            ("sm_80", (8, 6), true),
            ("sm_80", (8, 9), true),
            ("sm_80", (8, 7), false),
            ("sm_86", (8, 7), false),
            ("sm_86", (8, 0), false),
            ("sm_89", (9, 0), false),
            ("sm_90", (9, 0), true),
            ("sm_90a", (9, 0), true),
            ("sm_90a", (10, 0), false),
            ("sm_100f", (10, 3), true),
            ("sm_100f", (10, 1), false),
            ("sm_100", (10, 1), false),
            ("sm_100f", (11, 0), false),
            ("sm_103", (10, 0), false),
            ("sm_120f", (12, 1), true),
            ("sm_121", (12, 0), false),
        ] {
            assert_eq!(runs(name, on), expected, "{name} on {on:?}");
        }
    }

    #[test]
    fn sm_80_alone_runs_on_devices_with_less_shared_memory() {
        let smaller = Arch::all().map(|arch| (arch.name(), arch.smaller_shared_memory()));
        let some: Vec<_> = smaller.filter(|(_, sizes)| !sizes.is_empty()).collect();
        assert_eq!(some, [("sm_80", vec![99 << 10])]);
    }

    #[test]
    fn every_device_that_has_a_target_has_one_to_declare() {
        let to = |capability| Arch::advised(capability).map(Arch::name);
        for arch in Arch::all() {
            let advised = Arch::advised(arch.compute_capability());
            assert!(advised.is_some_and(|other| other.runs_on(arch.compute_capability())));
        }
        assert_eq!([to((8, 9)), to((9, 0)), to((10, 3))], [Some("sm_80"), Some("sm_90a"), Some("sm_100f")]);
        assert_eq!([to((7, 5)), to((8, 7)), to((10, 1)), to((11, 0))], [None; 4]);
    }

    #[test]
    fn only_hopper_has_wgmma() {
        let having: Vec<&str> = Arch::all().filter(|a| a.has(Feature::Wgmma)).map(Arch::name).collect();
        assert_eq!(having, ["sm_90a"]);
        let having = |feature| Arch::all().filter(|arch| arch.has(feature)).count();
        assert_eq!(Feature::ALL.map(having), [9, 8, 8, 8, 8, 8, 3, 1]);
    }
}
