//! CUDA candidates: bytes that depend on the source alone, parameters read back, advisories, diagnostics.

use std::os::unix::fs::symlink;

use cutegen_build::compile::{FailureReason, Forbidden, Inspected, compile_unguarded};
use cutegen_build::inspect::cubin::{CubinInfo, Param, globals};

use crate::setup::{compiled, cuda, failed, setup, setup_with, toolchain};

pub(crate) const TESTS: &[crate::Test] = &[
    ("cuda::parameters_are_read_back", parameters_are_read_back),
    ("cuda::many_parameters_are_read_back", many_parameters_are_read_back),
    ("cuda::bytes_depend_on_the_source_alone", bytes_depend_on_the_source_alone),
    ("cuda::threads_compile_side_by_side", threads_compile_side_by_side),
    ("cuda::shared_memory_and_bounds_are_read", shared_memory_and_bounds_are_read),
    ("cuda::outside_calls_are_refused", outside_calls_are_refused),
    ("cuda::entries_must_match", entries_must_match),
    ("cuda::errors_point_into_the_candidate", errors_point_into_the_candidate),
    ("cuda::serialised_wgmma_is_a_failure", serialised_wgmma_is_a_failure),
    ("cuda::variables_that_nothing_refers_to_are_left_out", variables_that_nothing_refers_to_are_left_out),
    ("cuda::what_the_linker_refuses_is_a_diagnostic", what_the_linker_refuses_is_a_diagnostic),
    ("cuda::unknown_arch_is_an_error", unknown_arch_is_an_error),
];

pub(crate) const SCALE: &str = r#"
#include <cute/tensor.hpp>
extern "C" __global__ void scale(float const* x, float* y, int n, float by) {
    using namespace cute;
    Tensor gX = make_tensor(make_gmem_ptr(x), make_layout(n));
    Tensor gY = make_tensor(make_gmem_ptr(y), make_layout(n));
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gY(i) = gX(i) * by;
}
"#;

pub(crate) const GEMM: &str = r#"
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void __launch_bounds__(128) gemm(half_t const* a, half_t const* b, float* c, int k_len) {
    __shared__ alignas(128) half_t smemA[64 * 64];
    __shared__ alignas(128) half_t smemB[64 * 64];
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto layout = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{});
    Tensor sA = make_tensor(make_smem_ptr(smemA), layout);
    Tensor sB = make_tensor(make_smem_ptr(smemB), layout);
    for (int i = threadIdx.x; i < size(sA); i += 128) { sA(i) = a[i]; sB(i) = b[i]; }
    __syncthreads();
    auto thr = mma.get_thread_slice(threadIdx.x);
    Tensor tCrA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor tCrB = thr.make_fragment_B(thr.partition_B(sB));
    Tensor gC = make_tensor(make_gmem_ptr(c), Shape<_64, _64>{});
    Tensor tCgC = thr.partition_C(gC);
    Tensor tCrC = thr.make_fragment_C(tCgC);
    clear(tCrC);
    for (int k = 0; k < k_len; ++k) {
        warpgroup_arrive();
        gemm(mma, tCrA, tCrB, tCrC);
        warpgroup_commit_batch();
        warpgroup_wait<0>();
    }
    copy(tCrC, tCgC);
}
"#;

fn info(source: &str, entries: &[&str]) -> CubinInfo {
    match compiled(&cuda(source, entries), &setup()).inspected {
        Inspected::Cubin(info) => info,
        Inspected::Object(_) => panic!("a cubin was asked for"),
    }
}

fn parameters_are_read_back() {
    let info = info(
        r#"
struct alignas(64) Map { char bytes[128]; };
struct Pair { short a; char b; };
extern "C" __global__ void first(float* p, char c, short s, int i, double d, Pair q, const __grid_constant__ Map m, long long l) {
    if (p) *p = c + s + i + d + q.a + q.b + m.bytes[threadIdx.x] + l;
}
extern "C" __global__ void second() {}
"#,
        &["first", "second"],
    );
    let places = |index: usize| {
        info.kernels[index].params.iter().map(|p: &Param| (p.offset, p.size)).collect::<Vec<_>>()
    };
    assert_eq!(places(0), [(0, 8), (8, 1), (10, 2), (12, 4), (16, 8), (24, 4), (48, 128), (176, 8)]);
    assert_eq!(places(1), []);
    assert_eq!(info.abi_version, 8);
}

/// Over 4 KiB of parameters, which older records could not describe.
fn many_parameters_are_read_back() {
    let info = info(
        r#"
struct Big { int x[5000]; };
extern "C" __global__ void k(int a, const __grid_constant__ Big big, int* out) { *out = a + big.x[threadIdx.x]; }
"#,
        &["k"],
    );
    let params: Vec<(u32, u32)> = info.kernels[0].params.iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(params, [(0, 4), (4, 20_000), (20_008, 8)]);
}

/// Headers behind a link elsewhere, another working folder (each worker has its own), twice.
fn bytes_depend_on_the_source_alone() {
    let dir = tempfile::tempdir().expect("a temp dir");
    let mut moved = toolchain();
    for (index, root) in moved.header_roots.iter_mut().enumerate() {
        let link = dir.path().join(format!("another place {index}"));
        symlink(&*root, &link).expect("writable");
        *root = link;
    }
    let (here, there) = (setup(), setup_with(moved, Default::default()));
    for job in [cuda(SCALE, &["scale"]), cuda(GEMM, &["gemm"])] {
        let first = compiled(&job, &here);
        println!(
            "  {} ms, {} bytes, {:?}, {}",
            first.wall_ms,
            first.bytes.len(),
            first.confinement,
            first.fingerprint
        );
        assert!(first.bytes == compiled(&job, &here).bytes, "the same twice");
        assert!(first.bytes == compiled(&job, &there).bytes, "the same from elsewhere");
    }
}

fn threads_compile_side_by_side() {
    let setup = setup();
    let alone = compiled(&cuda(SCALE, &["scale"]), &setup).bytes;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(compiled(&cuda(SCALE, &["scale"]), &setup).bytes == alone));
        }
    });
}

fn shared_memory_and_bounds_are_read() {
    let info = info(GEMM, &["gemm"]);
    let kernel = &info.kernels[0];
    println!("  {kernel:?}");
    assert_eq!(kernel.static_smem_bytes, 2 * 64 * 64 * 2);
    assert_eq!(kernel.threads_max, Some([128, 1, 1]));
    assert!(kernel.registers.is_some_and(|count| (16..=255).contains(&count)), "{kernel:?}");
    assert_eq!(kernel.stack_bytes, Some(0));
}

fn outside_calls_are_refused() {
    let setup = setup();
    for (call, symbol) in [("printf(\"x\")", "`vprintf`"), ("*(void**)p = malloc(8)", "`malloc`")] {
        let job = cuda(&format!("extern \"C\" __global__ void k(float* p) {{ {call}; }}"), &["k"]);
        let failure = failed(&job, &setup);
        let FailureReason::Forbidden(found) = &failure.reason else { panic!("{failure:?}") };
        assert!(
            matches!(&found[..], [Forbidden::Artifact(problem)] if problem.contains(symbol)),
            "{found:?}"
        );
        assert!(
            compile_unguarded(&job, &setup).expect("compiles").is_ok(),
            "the compiler alone does not mind"
        );
    }
    let elsewhere = "extern \"C\" __device__ void elsewhere(float*);\nextern \"C\" __global__ void k(float* p) { elsewhere(p); }";
    let failure = failed(&cuda(elsewhere, &["k"]), &setup);
    assert!(failure.diagnostics.iter().any(|found| found.message.contains("elsewhere")), "{failure:?}");
}

fn entries_must_match() {
    let source = "extern \"C\" __global__ void a() {}\nextern \"C\" __global__ void b() {}";
    for entries in [&["a"][..], &["a", "b", "c"]] {
        let FailureReason::Forbidden(found) = failed(&cuda(source, entries), &setup()).reason else {
            panic!("it is refused")
        };
        assert_eq!(found.len(), 1, "{found:?}");
    }
    assert!(
        compile_unguarded(&cuda(source, &["a"]), &setup()).expect("compiles").is_ok(),
        "the compiler alone does not mind"
    );
}

fn errors_point_into_the_candidate() {
    let failure =
        failed(&cuda("\nextern \"C\" __global__ void k(float* p) {\n  *p = missing;\n}\n", &["k"]), &setup());
    assert_eq!(failure.reason, FailureReason::Diagnostics);
    assert_eq!((failure.diagnostics[0].line, failure.diagnostics.len()), (Some(3), 1), "{failure:#?}");
    let source = "#include <cute/tensor.hpp>\n__device__ int f() {\n  return cute::get<3>(cute::make_tuple(1, 2));\n}\n";
    let failure = failed(&cuda(source, &["k"]), &setup());
    println!("  {:?}", failure.diagnostics[0]);
    assert!(failure.diagnostics.iter().any(|d| d.line == Some(3)), "{failure:#?}");
    assert!(!format!("{failure:?}").contains(&*toolchain().dir.to_string_lossy()), "no path of this machine");
}

/// A register of the accumulator is touched while the multiplication runs.
fn serialised_wgmma_is_a_failure() {
    let source = GEMM.replace("warpgroup_commit_batch();", "warpgroup_commit_batch(); tCrC(0) += 1.0f;");
    let failure = failed(&cuda(&source, &["gemm"]), &setup());
    assert_eq!(failure.reason, FailureReason::Diagnostics);
    assert!(
        failure.diagnostics.iter().any(|d| d.code.as_deref().is_some_and(|code| code.starts_with("C75"))),
        "{failure:#?}"
    );
}

/// The gate watches a candidate's variables by their names: what a kernel can change keeps its own, whatever its linkage,
/// and of the headers' thousand none is left.
fn variables_that_nothing_refers_to_are_left_out() {
    let over_cute = compiled(&cuda(GEMM, &["gemm"]), &setup()).bytes;
    assert_eq!(globals(&over_cute).expect("a cubin"), Vec::<String>::new(), "of headers");
    assert!(over_cute.len() < 20_000, "{} bytes", over_cute.len());
    let source = r#"
__device__ int kept;
static __device__ int hidden;
__device__ int unused[1000];
namespace { __device__ float nameless[4]; }
extern "C" __global__ void k(float* p, int n) {
    static __device__ int local;
    p[0] = ++local + ++kept + ++hidden + (nameless[n & 3] += 1);
}
"#;
    let names = globals(&compiled(&cuda(source, &["k"]), &setup()).bytes).expect("a cubin");
    let has = |name: &str| names.iter().any(|found| found.contains(name));
    assert!(["kept", "hidden", "nameless", "local"].into_iter().all(has) && !has("unused"), "{names:?}");
}

/// NVRTC makes code of it; only ptxas, which nvJitLink calls, knows what fits a block.
fn what_the_linker_refuses_is_a_diagnostic() {
    let source = r#"
extern "C" __global__ void k(float* p, int n) {
    __shared__ float all[100000];
    all[threadIdx.x] = p[n];
    __syncthreads();
    p[threadIdx.x] = all[n];
}
"#;
    let failure = failed(&cuda(source, &["k"]), &setup());
    assert_eq!(failure.reason, FailureReason::Diagnostics);
    assert!(failure.diagnostics.iter().any(|d| d.message.contains("shared data")), "{failure:#?}");
}

fn unknown_arch_is_an_error() {
    let mut job = cuda(SCALE, &["scale"]);
    job.compile_for = cutegen_build::compile::CompileFor::Cuda { arch: "sm_90a --verbose".into() };
    let error = cutegen_build::compile::compile(&job, &setup()).expect_err("not an arch").to_string();
    assert!(error.contains("sm_90a --verbose") && error.ends_with("`cargo cutegen check`"), "{error}");
}
