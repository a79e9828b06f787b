//! Who may start while the kernel before it runs waits for it before it touches memory, on every path and in each warp role.
//! NVRTC moves loads that are marked `.nc` ahead of the wait, which the inspection of a cubin sees; committed kernels do so
//! where an argument is `constant`.

use std::path::Path;

use cutegen_build::compile::{CompileFor, CompileJob, Inspected};
use cutegen_build::evaluate::device::waits::check_waits;
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin;
use cutegen_build::inspect::cubin::wait::Wait;
use cutegen_build::inspect::cubin::{CubinInfo, KernelInfo};
use cutegen_build::plan::Plan;
use cutegen_build::store::{FILE_LIMIT, Store};
use cutegen_spec::contract::{Contract, Step};
use cutegen_spec::target::Target;

use crate::library;
use crate::setup::{compiled, of_candidate, setup};

pub(crate) const TESTS: &[crate::Test] = &[
    ("waits::loads_of_constant_memory_are_seen_ahead_of_the_wait", loads_of_constant_memory_are_seen),
    ("waits::each_path_and_role_is_seen", each_path_and_role_is_seen),
    ("waits::committed_kernels_wait_first", committed_kernels_wait_first),
];

/// Folders of committed entries.
const STORES: [&str; 4] =
    ["cache", "tests/bars/cache", "example-app/cutegen-store", "tests/chain/cutegen-store"];
/// Committed kernels that overlap, lest a change empties the test.
const OVERLAP_LEAST: usize = 100;
/// Architectures that have the wait, one of each encoding that NVRTC has.
const ARCHS: [&str; 4] = ["sm_90a", "sm_100f", "sm_103", "sm_120f"];

/// What a kernel does before it waits.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    First,
    Ahead,
    Late,
    Never,
}

/// Name, the text of a kernel, and what is seen of it.
type Row = (&'static str, &'static str, Seen);

/// A check in the order of addresses lets these through: one of the two kernels that wait *in one role only*, *waits on one
/// side*, *a wait that some skip*, *a wait in a loop that may not run*, functions called before that load or store, and *a
/// prefetch before*. Of those that wait first, it refuses *a function that waits*.
const ROWS: &[Row] = &[
    ("waits first", "WAIT; y[t] = x[t];", Seen::First),
    ("a late load", "const float v = __ldcg(x + t); WAIT; y[t] = v;", Seen::Ahead),
    ("a late store", "y[t] = 1; WAIT; y[t + 1] = x[t];", Seen::Late),
    ("an atomic before", "if (t == 0) atomicAdd(y, 1.0f); WAIT; y[t + 1] = x[t];", Seen::Late),
    ("never waits", "y[t] = x[t];", Seen::Never),
    (
        "a wait in each role",
        "if (t < 32) { WAIT; s[t] = x[t]; arrive(); } else { meet(); WAIT; y[t] = s[t & 31]; }",
        Seen::First,
    ),
    (
        "in one role only",
        "if (t < 32) { WAIT; s[t] = x[t]; arrive(); } else { meet(); y[t] = s[t & 31]; }",
        Seen::Late,
    ),
    (
        "in one role only, which is the later in the code",
        "if (t >= 32) { meet(); y[t] = s[t & 31]; } else { WAIT; s[t] = x[t]; arrive(); }",
        Seen::Late,
    ),
    ("waits on one side", "if (n & 1) { WAIT; n = 7; } y[t] = x[t] * n;", Seen::Late),
    ("a wait that some skip", "if (t < 32) WAIT; y[t] = x[t];", Seen::Late),
    (
        "a wait in a loop that may not run",
        "for (int i = 0; i < n; ++i) { WAIT; s[i] = i; } y[t] = s[t];",
        Seen::Late,
    ),
    (
        "a loop before",
        "float v = 0; for (int i = 0; i < n; ++i) { s[i & 31] = v; v = v * v + s[t & 31]; } WAIT; y[t] = v;",
        Seen::First,
    ),
    ("leaves before", "if (t >= n) return; WAIT; y[t] = x[t];", Seen::First),
    (
        "a prefetch before",
        "asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"(w + t)); WAIT; y[t] = w[t];",
        Seen::Ahead,
    ),
    ("weights before", "s[t] = __ldg(w + t); WAIT; y[t] = s[t] * x[t];", Seen::Ahead),
    (
        "a cp.async before",
        "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(address(s + t)), \"l\"(w + t));
         WAIT; asm volatile(\"cp.async.wait_all;\"); y[t] = s[t];",
        Seen::Ahead,
    ),
    ("a division before", "const int q = n / (t + 3) + (int)(m / (n + 1)); WAIT; y[t] = x[q];", Seen::First),
    (
        "a function that computes, called before",
        "const float v = compute(n, t); WAIT; y[t] = v;",
        Seen::First,
    ),
    ("a function that loads, called before", "const float v = load(w, n, t); WAIT; y[t] = v;", Seen::Ahead),
    ("a function that stores, called before", "store(y, n, t); WAIT; store(y + 1, n, t);", Seen::Late),
    ("a function called behind the wait", "WAIT; store(y, n, t); store(y + n, n, t + 1);", Seen::First),
    ("a function that waits", "wait(n, t); y[t] = x[t];", Seen::First),
];

/// What the rows' kernels call. A barrier lets the roles go on, once what one of them stored in shared memory is there.
const PRELUDE: &str = r#"
#define WAIT asm volatile("griddepcontrol.wait;" ::: "memory")
__shared__ float s[1024];
__device__ void arrive() { asm volatile("bar.arrive 1, 64;" ::: "memory"); }
__device__ void meet() { asm volatile("bar.sync 1, 64;" ::: "memory"); }
__device__ unsigned address(const float* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __noinline__ float compute(int n, int t) {
    float v = t; for (int i = 0; i < n; ++i) v = v * v + s[i & 31]; return v;
}
__device__ __noinline__ float load(const float* w, int n, int t) {
    float v = t; for (int i = 0; i < n; ++i) v = v * v + w[i]; return v;
}
__device__ __noinline__ void store(float* y, int n, int t) { for (int i = 0; i < n; ++i) y[i * t] = i; }
__device__ __noinline__ void wait(int n, int t) { for (int i = 0; i < n; ++i) s[i & t] = i; WAIT; s[t] = 3; }
"#;

fn each_path_and_role_is_seen() {
    let mut wrong = Vec::new();
    for arch in ARCHS {
        for (name, body, wanted) in ROWS {
            let kernel = row(arch, body);
            let passes =
                |may: bool| check_waits(&overlapping(), std::slice::from_ref(&kernel), &|_| may).is_ok();
            let (with, without) = (matches!(wanted, Seen::First | Seen::Ahead), *wanted == Seen::First);
            if seen(kernel.wait) != *wanted || passes(true) != with || passes(false) != without {
                wrong.push(format!("{arch}: {name}: {:?}", kernel.wait));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn row(arch: &str, body: &str) -> KernelInfo {
    let source = format!(
        "{PRELUDE}extern \"C\" __global__ void k(const float* x, const float* w, float* y, int n, long long m) {{\n\
         const int t = threadIdx.x; {body} }}\n"
    );
    let compile_for = CompileFor::Cuda { arch: arch.to_owned() };
    let artifact = compiled(&CompileJob { source, entries: vec!["k".to_owned()], compile_for }, &setup());
    let Inspected::Cubin(CubinInfo { mut kernels, .. }) = artifact.inspected else {
        panic!("a cubin was asked for")
    };
    kernels.remove(0)
}

fn overlapping() -> Contract {
    let text =
        "[[steps]]\nentry = 'k'\ngrid = ['1', '1', '1']\nblock = ['64', '1', '1']\nargs = []\npdl = true\n";
    toml::from_str(text).expect("parses")
}

fn seen(wait: Wait) -> Seen {
    match wait {
        Wait::First => Seen::First,
        Wait::Ahead(_) => Seen::Ahead,
        Wait::Late(_) => Seen::Late,
        Wait::Never => Seen::Never,
    }
}

fn loads_of_constant_memory_are_seen() {
    let target = Target::parse("sm_90a").expect("a target");
    let host = library::all().into_iter().find(|plan| plan.spec.name.as_str() == "layer_norm");
    let plan = Plan::new(&host.expect("it is in kernel-specs").spec, &target);
    let all = Templates::new("").space(&plan);
    let mut candidate =
        all.into_iter().find(|c| c.name == "rowwise-reg-x8t256u2q1c1-owd").expect("a point of the space");
    assert_eq!(waits(&candidate), [Seen::First]);
    let constant = candidate.source.replace("ld.global.L1", "ld.global.nc.L1");
    assert_ne!(constant, candidate.source);
    candidate.source = constant;
    assert_eq!(waits(&candidate), [Seen::Ahead]);
}

fn waits(candidate: &Candidate) -> Vec<Seen> {
    let artifact = compiled(&of_candidate(candidate), &setup());
    let Inspected::Cubin(info) = artifact.inspected else { panic!("a cubin was asked for") };
    info.kernels.iter().map(|kernel| seen(kernel.wait)).collect()
}

fn committed_kernels_wait_first() {
    let (mut overlap, mut late) = (0, Vec::new());
    for root in STORES {
        let store = Store::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(root));
        for key in store.keys().expect("a store") {
            let entry = store.get(&key).hit().expect("a whole entry");
            let tensors = entry.record.question.field("tensors").expect("every question has them");
            let may_read = |_: &Step| tensors.contains(" constant");
            for (variant, stored) in entry.record.variants.iter().zip(&entry.artifacts) {
                let steps = variant.contract.steps.iter().filter(|step| step.pdl).count();
                overlap += steps;
                let wrong = (steps > 0).then(|| check_waits(&variant.contract, &kernels(stored), &may_read));
                let wrong = wrong.and_then(Result::err);
                late.extend(wrong.map(|why| format!("{root}: {} of {key}: {why}", variant.name)));
            }
        }
    }
    assert!(overlap >= OVERLAP_LEAST, "{overlap} kernels overlap");
    assert!(late.is_empty(), "{late:#?}");
}

/// The kernels of a stored cubin.
fn kernels(stored: &[u8]) -> Vec<KernelInfo> {
    let cubin = zstd::bulk::decompress(stored, FILE_LIMIT as usize).expect("compressed");
    cubin::read(&cubin).expect("a cubin").kernels
}
