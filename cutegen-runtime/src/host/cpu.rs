//! CPU levels: the named feature sets of the x86-64 psABI that host kernels are compiled for. The standard
//! library caches what the CPU reports, so asking costs a load and a test.

/// Whether this CPU has the level.
#[must_use]
pub fn supports(level: &str) -> bool {
    first_missing(level).is_none()
}

/// The highest level that this CPU has.
#[must_use]
pub fn level() -> &'static str {
    let levels = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64", "armv8-a"];
    levels.into_iter().find(|level| supports(level)).unwrap_or(std::env::consts::ARCH)
}

/// The first feature of a level that this CPU lacks; of a level unknown here, the level itself.
#[must_use]
pub fn first_missing(level: &str) -> Option<&'static str> {
    match (std::env::consts::ARCH, level) {
        ("x86_64", "x86-64") | ("aarch64", "armv8-a") => None,
        ("x86_64", "x86-64-v2") => missing(V2),
        ("x86_64", "x86-64-v3") => missing(V2).or_else(|| missing(V3)),
        ("x86_64", "x86-64-v4") => missing(V2).or_else(|| missing(V3)).or_else(|| missing(V4)),
        _ => Some("the whole level"),
    }
}

type Features = &'static [(&'static str, fn() -> bool)];

macro_rules! features {
    ($($name:tt),* $(,)?) => {
        &[$(($name, || {
            #[cfg(target_arch = "x86_64")]
            let has = std::arch::is_x86_feature_detected!($name);
            #[cfg(not(target_arch = "x86_64"))]
            let has = false;
            has
        })),*]
    };
}

const V2: Features = features!["cmpxchg16b", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"];
/// OSXSAVE has no name here: AVX is only reported where the system saves its registers.
const V3: Features = features!["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"];
const V4: Features = features!["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];

fn missing(features: Features) -> Option<&'static str> {
    features.iter().find(|(_, has)| !has()).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_nest_and_unknown_ones_are_refused() {
        assert!(supports(if cfg!(target_arch = "aarch64") { "armv8-a" } else { "x86-64" }));
        assert!(!supports("x86-64-v3") || supports("x86-64-v2"));
        assert!(!supports("x86-64-v4") || supports("x86-64-v3"));
        assert!(supports(level()));
        assert!(!supports("x86-64-v9"));
    }
}
