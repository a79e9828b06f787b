//! The kit: CUDA and C++ headers that proposed sources include by name, their digest, and a page that describes them.
//!
//! A stored source must need no kit, so [`flatten`] puts the headers' text into it. Knows no generator and no compiler.
//! Invariant: a source begins with the fixed block of [`includes`], whatever it includes itself, so that a zygote which has
//! read these headers serves every proposal.

mod flatten;
mod reference;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::target::Target;

pub use flatten::{BUILT_IN, Flattened, KitError, LineMap, Origin, body, flatten};
pub use reference::{reference, reference_without};

/// A header of the kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What a source includes it by, such as `kit/reduce.cuh`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// What every proposal for a GPU begins with: what templates begin with, so that one zygote serves both.
const CUDA_INCLUDES: &str = "\
#include <cute/tensor_impl.hpp>
#include <cute/atom/copy_traits.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
";

/// What every proposal for a CPU begins with.
const HOST_INCLUDES: &str = "\
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
";

const CUDA: &[Header] = &[
    Header { name: "kit/index.cuh", text: include_str!("index.cuh") },
    Header { name: "kit/math.cuh", text: include_str!("math.cuh") },
    Header { name: "kit/vector.cuh", text: include_str!("vector.cuh") },
    Header { name: "kit/reduce.cuh", text: include_str!("reduce.cuh") },
    Header { name: "kit/online_softmax.cuh", text: include_str!("online_softmax.cuh") },
    Header { name: "kit/scan.cuh", text: include_str!("scan.cuh") },
    Header { name: "kit/pipeline.cuh", text: include_str!("pipeline.cuh") },
    Header { name: "kit/ring.cuh", text: include_str!("ring.cuh") },
    Header { name: "kit/mma.cuh", text: include_str!("mma.cuh") },
    Header { name: "kit/product.cuh", text: include_str!("product.cuh") },
    Header { name: "kit/attention.cuh", text: include_str!("attention.cuh") },
    Header { name: "kit/wgmma.cuh", text: include_str!("wgmma.cuh") },
    Header { name: "kit/launch.cuh", text: include_str!("launch.cuh") },
    Header { name: "kit/ptx.cuh", text: include_str!("ptx.cuh") },
    Header { name: "kit/ptx_wgmma.cuh", text: include_str!("ptx_wgmma.cuh") },
];

const HOST: &[Header] = &[Header { name: "kit/host.hpp", text: include_str!("host.hpp") }];

/// The headers that sources for a target may include.
#[must_use]
pub fn headers(target: &Target) -> &'static [Header] {
    match target {
        Target::Cuda { .. } => CUDA,
        Target::Host { .. } => HOST,
    }
}

/// The `#include` lines that every flattened source for a target begins with.
#[must_use]
pub fn includes(target: &Target) -> &'static str {
    match target {
        Target::Cuda { .. } => CUDA_INCLUDES,
        Target::Host { .. } => HOST_INCLUDES,
    }
}

/// The digest of everything that flattening may add to a source: names, texts and fixed blocks of all targets.
#[must_use]
pub fn digest() -> ArtifactDigest {
    let mut text = format!("{CUDA_INCLUDES}\0{HOST_INCLUDES}\0");
    for header in CUDA.iter().chain(HOST) {
        text.extend([header.name, "\0", header.text, "\0"]);
    }
    ArtifactDigest::of(text.as_bytes())
}
