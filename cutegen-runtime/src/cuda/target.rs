//! Which target serves a device: what runs there, and which of those is taken. The build's rule, in cutegen-spec, is the
//! same. A test of the suite compares them.

use std::cmp::Reverse;

use super::module::TargetEntry;
use crate::dispatch::{Origin, PassedOver, Why};

/// Compute capabilities of Tegra, whose devices run no cubins made for others.
const TEGRA: [(u32, u32); 5] = [(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)];

/// Whether a cubin for `arch` runs on a device. `sm_90a` runs on 9.0 alone. `sm_100f` runs on its family, 10.0 and later 10.x.
/// `sm_90` runs on 9.0 and later 9.x. On a Tegra only names with `a` run.
///
/// ```
/// use cutegen_runtime::cuda::arch_runs_on;
/// assert!(arch_runs_on("sm_90a", (9, 0)));
/// assert!(!arch_runs_on("sm_90a", (10, 0)));
/// assert!(!arch_runs_on("sm_80", (8, 7)));
/// ```
#[must_use]
pub fn arch_runs_on(arch: &str, capability: (u32, u32)) -> bool {
    let Some(((major, minor), suffix)) = parts(arch) else { return false };
    match suffix {
        "a" => capability == (major, minor),
        "" | "f" => capability.0 == major && capability.1 >= minor && !TEGRA.contains(&capability),
        _ => false,
    }
}

/// Whether kernels for a target, such as `sm_90a:h200`, are for a device of this name. The device runs them. Its name has what the
/// target is narrowed to, as whole words.
///
/// ```
/// use cutegen_runtime::cuda::target_runs_on;
/// assert!(target_runs_on("sm_90a:h200", "NVIDIA H200", (9, 0)));
/// assert!(!target_runs_on("sm_90a:h200", "NVIDIA GH200 480GB", (9, 0)));
/// ```
#[must_use]
pub fn target_runs_on(target: &str, name: &str, capability: (u32, u32)) -> bool {
    let (arch, narrow) = target.split_once(':').unwrap_or((target, ""));
    let (name, narrow) = (words(name), words(narrow));
    let is_named = narrow.is_empty() || name.windows(narrow.len()).any(|words| *words == narrow);
    is_named && arch_runs_on(arch, capability)
}

/// The target that serves a device, of those that run there. One with a tuned variant goes before those without, then one with
/// a predicted variant. Then one narrowed to the device is taken, then the highest minor. Of equals the device's own goes before its family's.
pub(super) fn serving<'a>(
    targets: &'a [TargetEntry],
    name: &str,
    capability: (u32, u32),
    shared_memory: u32,
) -> Option<&'a TargetEntry> {
    let runs = targets.iter().filter(|target| target_runs_on(target.arch, name, capability));
    runs.min_by_key(|target| {
        let (arch, narrow) = target.arch.split_once(':').unwrap_or((target.arch, ""));
        let (minor, suffix) = parts(arch).map_or((0, ""), |((_, minor), suffix)| (minor, suffix));
        let specific = ["", "f", "a"].iter().position(|other| *other == suffix);
        Reverse((best(target, shared_memory), !narrow.is_empty(), minor, specific))
    })
}

/// The other targets that run on a device, which `served` goes before, and why.
pub(super) fn passed_over(
    targets: &[TargetEntry],
    served: &TargetEntry,
    (name, capability, shared_memory): (&str, (u32, u32), u32),
) -> Vec<PassedOver> {
    let others = targets.iter().filter(|target| target.arch != served.arch);
    let others = others.filter(|target| target_runs_on(target.arch, name, capability));
    let why = |own: Standing| match own {
        Standing::Tuned => Why::Origin(Origin::Tuned),
        Standing::Predicted => Why::Origin(Origin::Predicted),
        Standing::Untuned => Why::Origin(Origin::Untuned),
    };
    let passed = |target: &TargetEntry| {
        let own = best(target, shared_memory);
        let why = if own < best(served, shared_memory) { why(own) } else { Why::Fit };
        PassedOver { target: target.arch, why }
    };
    others.map(passed).collect()
}

/// What the best variant of a target is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Untuned,
    Predicted,
    Tuned,
}

/// The best of what can be launched with this much shared memory.
fn best(target: &TargetEntry, shared_memory: u32) -> Standing {
    let standing = |origin| match origin {
        Origin::Tuned => Standing::Tuned,
        Origin::Predicted => Standing::Predicted,
        Origin::Untuned | Origin::Fallback => Standing::Untuned,
    };
    let fitting = target.variants.iter().filter(|variant| variant.fits(shared_memory));
    fitting.map(|variant| standing(variant.about.origin)).max().unwrap_or(Standing::Untuned)
}

/// Compute capability and suffix of a name such as `sm_100f`.
fn parts(arch: &str) -> Option<((u32, u32), &str)> {
    let rest = arch.strip_prefix("sm_")?;
    let digits = rest.trim_end_matches(['a', 'f']);
    let number: u32 = digits.parse().ok()?;
    Some(((number / 10, number % 10), &rest[digits.len()..]))
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, VariantEntry};
    use super::{TargetEntry, arch_runs_on, passed_over, serving, target_runs_on};
    use crate::dispatch::{Origin, PassedOver, Variant, Why};

    const fn variant(origin: Origin, shared_memory: u32) -> VariantEntry {
        let about = Variant { name: "v", origin, eligible: "", preferred: "", tuned_on: "" };
        let artifact = Artifact { stored: &[], compressed: false, sha256: "", len: 0 };
        VariantEntry { about, artifact, min_driver: 580, shared_memory, steps: &[] }
    }

    const UNTUNED: &[VariantEntry] = &[variant(Origin::Untuned, 0)];
    const PREDICTED: &[VariantEntry] = &[variant(Origin::Predicted, 100_000), variant(Origin::Untuned, 0)];
    const TUNED: &[VariantEntry] = &[variant(Origin::Tuned, 100_000), variant(Origin::Untuned, 0)];

    fn served(targets: &[(&'static str, bool)], name: &str, on: (u32, u32)) -> Option<&'static str> {
        let entry =
            |&(arch, is_tuned)| TargetEntry { arch, variants: if is_tuned { TUNED } else { UNTUNED } };
        let targets: Vec<TargetEntry> = targets.iter().map(entry).collect();
        serving(&targets, name, on, 160_000).map(|target| target.arch)
    }

    #[test]
    fn archs_match_by_their_suffix() {
        let cases = [
            ("sm_90a", (9, 0), true),
            ("sm_90a", (9, 1), false),
            ("sm_90", (9, 1), true),
            ("sm_90", (10, 0), false),
            ("sm_89", (8, 6), false),
            ("sm_86", (8, 9), true),
            ("sm_86", (8, 7), false),
            ("sm_100f", (10, 3), true),
            ("sm_100f", (10, 1), false),
            ("sm_100a", (10, 3), false),
            ("sm_120a", (12, 0), true),
            ("sm_90aa", (9, 0), false),
            ("90a", (9, 0), false),
            ("sm_", (0, 0), false),
        ];
        for (arch, capability, expected) in cases {
            assert_eq!(arch_runs_on(arch, capability), expected, "{arch} on {capability:?}");
        }
    }

    #[test]
    fn a_narrowed_target_asks_for_the_device_too() {
        let runs = |target, name| target_runs_on(target, name, (9, 0));
        assert!(runs("sm_90a", "NVIDIA H200") && runs("sm_90a:h200", "NVIDIA H200"));
        assert!(runs("sm_90a:h100 80gb", "NVIDIA H100 80GB HBM3"));
        for name in ["NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "NVIDIA H200x", ""] {
            assert!(!runs("sm_90a:h200", name), "{name}");
        }
    }

    #[test]
    fn narrowed_then_exact_then_lower_minor() {
        let all =
            ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_90a:h200", "sm_100", "sm_100f", "sm_103"];
        let of = |is_tuned, name, on| served(&all.map(|arch| (arch, is_tuned)), name, on);
        for is_tuned in [true, false] {
            assert_eq!(of(is_tuned, "NVIDIA H200", (9, 0)), Some("sm_90a:h200"));
            assert_eq!(of(is_tuned, "NVIDIA H100", (9, 0)), Some("sm_90a"));
            assert_eq!(of(is_tuned, "NVIDIA L4", (8, 9)), Some("sm_89"));
            assert_eq!(of(is_tuned, "some", (8, 8)), Some("sm_86"));
            assert_eq!(of(is_tuned, "NVIDIA B200", (10, 0)), Some("sm_100f"));
            assert_eq!(of(is_tuned, "NVIDIA B300", (10, 3)), Some("sm_103"));
            assert_eq!(of(is_tuned, "Orin", (8, 7)), None);
            assert_eq!(of(is_tuned, "Thor", (11, 0)), None);
        }
    }

    #[test]
    fn an_untuned_entry_hides_no_tuned_one() {
        let a10 = |targets: &[(&'static str, bool)]| served(targets, "NVIDIA A10", (8, 6));
        assert_eq!(a10(&[("sm_86", false), ("sm_80", true)]), Some("sm_80"));
        assert_eq!(a10(&[("sm_86:a10", false), ("sm_86", true)]), Some("sm_86"));
        assert_eq!(a10(&[("sm_86", true), ("sm_80", true)]), Some("sm_86"));
        assert_eq!(a10(&[("sm_86", false), ("sm_90a", true)]), Some("sm_86"), "it runs here");
        let small = [
            TargetEntry { arch: "sm_80", variants: TUNED },
            TargetEntry { arch: "sm_86", variants: UNTUNED },
        ];
        let found = serving(&small, "NVIDIA A10", (8, 6), 99_000).map(|target| target.arch);
        assert_eq!(found, Some("sm_86"), "a tuned variant that cannot be launched here is none");
    }
    #[test]
    fn a_predicted_entry_goes_between_a_tuned_one_and_an_untuned_one() {
        let of = |arch, variants| TargetEntry { arch, variants };
        let on = |targets: &[TargetEntry], shared_memory| {
            let served = serving(targets, "NVIDIA A10", (8, 6), shared_memory).expect("one runs");
            let others = passed_over(targets, served, ("NVIDIA A10", (8, 6), shared_memory));
            (served.arch, others)
        };
        let passed = |target, why| PassedOver { target, why };
        let tuned = [of("sm_80", TUNED), of("sm_86", PREDICTED), of("sm_90a", TUNED)];
        let predicted = Why::Origin(Origin::Predicted);
        assert_eq!(on(&tuned, 160_000), ("sm_80", vec![passed("sm_86", predicted)]), "it hides no tuned one");
        let untuned = [of("sm_80", PREDICTED), of("sm_86", UNTUNED)];
        let is_untuned = Why::Origin(Origin::Untuned);
        assert_eq!(on(&untuned, 160_000), ("sm_80", vec![passed("sm_86", is_untuned)]));
        assert_eq!(on(&untuned, 99_000), ("sm_86", vec![passed("sm_80", Why::Fit)]), "it cannot be launched");
        let alike = [of("sm_80", PREDICTED), of("sm_86", PREDICTED)];
        assert_eq!(on(&alike, 160_000), ("sm_86", vec![passed("sm_80", Why::Fit)]));
    }
}
