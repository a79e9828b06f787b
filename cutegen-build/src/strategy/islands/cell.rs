//! [`Cell`]: how a source is built, by its text alone: how it moves bytes, computes, and shares work, each in four levels. A
//! level is the highest of which some mark stands in the code; comments have no say but for the contract's launches.

use crate::generate::answers::uncommented;

/// Levels of an axis.
const LEVELS: u8 = 4;

/// A place in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Cell {
    /// 0 plain, 1 wide accesses, 2 staged in shared or private memory, 3 staged ahead of use.
    pub memory: u8,
    /// 0 direct, 1 unrolled or fused by hand, 2 restated in one pass, 3 tiles of products.
    pub compute: u8,
    /// 0 none, 1 blocks that wait for themselves, 2 warps or vectors, 3 several blocks or parts that work together.
    pub parallelism: u8,
}

/// Marks of the levels of an axis, from 1: text that stands in code of that level.
type Marks = [&'static [&'static str]; LEVELS as usize - 1];

const MEMORY: Marks = [
    &[
        "kit/vector.cuh",
        "load_vector",
        "float4",
        "float2",
        "uint4",
        "int4",
        "__ldg",
        "_loadu_",
        "_load_ps",
        "__restrict",
        "__builtin_assume_aligned",
    ],
    &["__shared__", "kit/pipeline.cuh", "extern __shared__", "smem", "alignas(", "_mm_prefetch"],
    &[
        "cp.async",
        "cp_async",
        "kit/ring.cuh",
        "memcpy_async",
        "CUtensorMap",
        "make_tma_copy",
        "SM90_TMA",
        "mbarrier",
        "_mm256_stream",
        "_mm512_stream",
    ],
];

const COMPUTE: Marks = [
    &["#pragma unroll", "#pragma GCC unroll", "fmaf(", "__fmaf", "_fmadd_", "__hfma2", "lanes["],
    &["kit/online_softmax.cuh", "kit/scan.cuh", "exp2f", "online", "welford", "__expf", "rescale"],
    &[
        "wgmma",
        "mma.sync",
        "mma_sync",
        "cute::gemm",
        "TiledMMA",
        "MMA_Atom",
        "kit/mma",
        "kit/product",
        "kit/attention",
    ],
];

const PARALLELISM: Marks = [
    &["__syncthreads", "kit/reduce.cuh", "bar.sync", "block_reduce", "#pragma omp simd"],
    &["__shfl", "__syncwarp", "__ballot", "__reduce_", "warp", "_mm256_", "_mm512_"],
    &[
        "cluster",
        "atomicAdd",
        "atomicMax",
        "__threadfence",
        "setmaxnreg",
        "griddepcontrol",
        "kit/launch.cuh",
        "cooperative_groups",
        "ld.acquire",
        "red.release",
    ],
];

impl Cell {
    /// The cell of a source.
    #[must_use]
    pub(super) fn of(source: &str) -> Self {
        let code = uncommented(source);
        let level = |marks: &Marks| -> u8 {
            let has = |level: &&[&str]| level.iter().any(|mark| code.contains(mark));
            (1..).zip(marks).filter(|(_, level)| has(level)).map(|(number, _)| number).last().unwrap_or(0)
        };
        let several = if launches(source) > 1 { LEVELS - 1 } else { 0 };
        Self {
            memory: level(&MEMORY),
            compute: level(&COMPUTE),
            parallelism: level(&PARALLELISM).max(several),
        }
    }

    /// Its place in words, for prompts.
    #[must_use]
    pub(super) fn words(self) -> String {
        let Self { memory, compute, parallelism } = self;
        format!("memory {memory}, compute {compute}, parallelism {parallelism}, of 0 to {}", LEVELS - 1)
    }
}

/// Launches that the contract at the top names.
fn launches(source: &str) -> usize {
    let top = source.lines().take_while(|line| line.trim_start().starts_with("//"));
    top.map(|line| line.matches("@ENTRY@").count()).sum()
}

#[cfg(test)]
mod tests {
    use super::Cell;

    fn cell(source: &str) -> [u8; 3] {
        let Cell { memory, compute, parallelism } = Cell::of(source);
        [memory, compute, parallelism]
    }

    #[test]
    fn the_highest_level_of_each_axis_counts() {
        for (source, levels) in [
            ("int a;", [0, 0, 0]),
            ("float4 x;", [1, 0, 0]),
            ("__shared__ float4 x[32]; __syncthreads();", [2, 0, 1]),
            ("#include <kit/ring.cuh>\nfloat4 x;", [3, 0, 0]),
            ("#pragma unroll\nfor (;;) {}", [0, 1, 0]),
            ("#include <kit/online_softmax.cuh>\nx = __shfl_xor_sync(0, x, 1);", [0, 2, 2]),
            ("asm(\"wgmma.fence;\"); asm(\"setmaxnreg.inc\");", [0, 3, 3]),
            ("cute::gemm(mma, a, b, c); asm(\"cp.async.wait_all\");", [3, 3, 0]),
            ("__m256 v = _mm256_loadu_ps(x); s = _mm256_fmadd_ps(v, v, s);", [1, 1, 2]),
        ] {
            assert_eq!(cell(source), levels, "{source}");
        }
    }

    #[test]
    fn comments_and_names_of_levels_in_them_have_no_say() {
        let plain = "int a; // cp.async, wgmma, cluster\n/* __shared__ __shfl float4 */\n";
        assert_eq!(cell(plain), [0, 0, 0]);
        assert_eq!(cell(&plain.replace("// ", "\n")), [3, 3, 3]);
    }

    #[test]
    fn several_launches_work_together() {
        let one = "// contract:\n// steps = [{ entry = \"@ENTRY@\" }]\nint a;\n";
        assert_eq!(cell(one), [0, 0, 0]);
        let two = one.replace("}]", "}, { entry = \"@ENTRY@_sum\" }]");
        assert_eq!(cell(&two), [0, 0, 3]);
        assert_eq!(
            cell(&one.replace("int a", "int @ENTRY@, @ENTRY@_b")),
            [0, 0, 0],
            "the contract alone says it"
        );
    }

    #[test]
    fn a_cell_is_told_in_words() {
        let cell = Cell::of("__shared__ float4 x[32]; __syncthreads();");
        assert_eq!(cell.words(), "memory 2, compute 0, parallelism 1, of 0 to 3");
    }
}
