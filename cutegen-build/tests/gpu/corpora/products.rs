//! Products on tensor cores, drafts of templates: how each is launched, and its source with a fault planted or none. What
//! planted faults do on a card is in `results/runs/products/README.md`.

use super::launch::Launch;

/// A source in which a word of its `Faults:` is defined, or none.
macro_rules! product {
    ($defined:literal, $($part:literal)*) => {
        concat!($defined, $(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gpu/corpora/texts/products/", $part)),)*)
    };
}
/// Split over workspace; the last to arrive adds.
macro_rules! split {
    ($defined:literal) => {
        $crate::corpora::products::product!($defined, "atoms.cuh" "mma_sync.cuh" "finish.cuh" "split.cu")
    };
}
/// Split over a cluster.
macro_rules! dsmem {
    ($defined:literal) => {
        $crate::corpora::products::product!($defined, "atoms.cuh" "mma_sync.cuh" "finish.cuh" "dsmem.cu")
    };
}
/// A ring of TMA copies and wgmma.
macro_rules! ring {
    ($defined:literal) => {
        $crate::corpora::products::product!($defined, "atoms.cuh" "ring.cu")
    };
}
pub(crate) use {dsmem, product, ring, split};

/// Two halves of the columns, which share counters.
pub(crate) const SPLIT: &[Launch] =
    &[half("t0 t1 t2 w0 w1 a0 a1 a2 int(0)"), half("t0 t1 t2 w0 w1 a0 a1 a2 int(1)")];
/// The same, each of which may start before what is before it has ended.
pub(crate) const SPLIT_PDL: &[Launch] = &[SPLIT[0].with(EARLY), SPLIT[1].with(EARLY)];
/// Partial sums and counters.
pub(crate) const SPLIT_WORK: &[(&str, &str)] = &[
    ("12288 * ceil_div(a1, 128) * ceil_div(a0, 16)", "undefined"),
    ("4 * ceil_div(a1, 128) * ceil_div(a0, 16)", "zeroed"),
];
/// Four blocks a tile.
pub(crate) const DSMEM: &[Launch] = &[Launch::of(
    "candidate",
    ["ceil_div(a1, 64) * 4", "ceil_div(a0, 16)"],
    ["128", "1"],
    "t0 t1 t2 a0 a1 a2",
)
.with("smem = \"30720\"\ncluster = [\"4\", \"1\", \"1\"]")];
/// A block a tile of 128 by 128.
pub(crate) const RING: &[Launch] = &[Launch::of(
    "candidate",
    ["ceil_div(a0, 128) * ceil_div(a1, 128)", "1"],
    ["384", "1"],
    "tma(t0,dims=[a0,a2],strides=[a2,1],box=[128,64],swizzle=128,type=bf16) tma(t1,dims=[a1,a2],strides=[a2,1],box=[128,64],swizzle=128,type=bf16) \
     tma(t2,dims=[a0,a1],strides=[a1,1],box=[128,64],swizzle=128,type=bf16) a0 a1 a2",
)
.with("smem = \"164864\"")];
/// Two blocks share columns.
pub(crate) const RING_PAIRS: &[Launch] = &[Launch::of(
    "candidate",
    ["ceil_div(a0, 256) * 2 * ceil_div(a1, 128)", "1"],
    ["384", "1"],
    "tma(t0,dims=[a0,a2],strides=[a2,1],box=[128,64],swizzle=128,type=bf16) tma(t1,dims=[a1,a2],strides=[a2,1],box=[64,64],swizzle=128,type=bf16) \
     tma(t2,dims=[a0,a1],strides=[a1,1],box=[128,64],swizzle=128,type=bf16) a0 a1 a2",
)
.with("smem = \"164864\"\ncluster = [\"2\", \"1\", \"1\"]")];

/// What copies of 16 bytes take.
pub(crate) const ROWS_OF_16: &str =
    "a2 % 8 == 0 and a1 % 4 == 0 and t0 aligned 16 and t1 aligned 16 and t2 aligned 16";
/// What TMA takes.
pub(crate) const BOXES: &str = "t0 aligned 16 and t1 aligned 16 and t2 aligned 16";

const EARLY: &str = "smem = \"30720\"\npdl = true";

const fn half(args: &'static str) -> Launch {
    Launch::of("candidate", ["ceil_div(a1, 128) * 3", "ceil_div(a0, 16)"], ["128", "1"], args)
        .with("smem = \"30720\"")
}
