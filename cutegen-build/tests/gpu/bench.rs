//! A judging session on the device, over one spec: `y = silu(g) * x`.

use std::time::Duration;

use cutegen_build::evaluate::wire::protocol::{Backend, Limits};
use cutegen_build::evaluate::{
    Candidate, Judge, OnDevice, Outcome, Question, ScalarChoice, Settings, Workers,
};
use cutegen_build::plan::sums::ExactIntegers;
use cutegen_spec::contract::Contract;
use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::spec::KernelSpec;

pub(crate) const SPEC: &str = r#"
edition = 1
[kernels.k]
axes = { m = "1..=8192", n = "1..=8192" }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
"#;

/// Value and bound, as the host's gate has them.
const REFERENCE: &str = r#"
#include <cmath>
#include <cstdint>
#include <cstring>
typedef uint16_t bf16;
static float up(bf16 h) { uint32_t u = uint32_t(h) << 16; float f; memcpy(&f, &u, 4); return f; }
#define PTR(T, i) (*(T**)p[i])
#define VAL(T, i) (*(T*)p[i])
static const double U16 = 0x1p-8, ETA16 = 0x1p-134, U32 = 0x1p-24;
extern "C" void cutegen_reference(void** p) {
  const bf16 *x = PTR(bf16, 0), *g = PTR(bf16, 1);
  double *v = PTR(double, VALUE), *b = PTR(double, VALUE + 1);
  int64_t size = VAL(int64_t, 2) * VAL(int64_t, 3);
  for (int64_t i = 0; i < size; ++i) {
    double a = up(g[i]), c = up(x[i]), e = exp(-fabs(a));
    double s = a >= 0 ? a / (1 + e) : a * e / (1 + e);
    v[i] = s * c;
    b[i] = fabs(v[i]) * (U16 + (8 + 2 * fabs(a)) * U32) + ETA16 + 0x1p-149 * (1 + fabs(a)) * (1 + fabs(c));
  }
}
"#;

/// The source of the reference, for a spec with so many scalars, which it does not read.
pub(crate) fn reference(scalars: usize) -> String {
    format!("#define VALUE {}\n{REFERENCE}", 4 + scalars)
}

/// What candidates of these tests start with.
pub(crate) const PRELUDE: &str = r#"
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
#define PARAMETERS const bf16* x, const bf16* g, bf16* y, long long m, long long n
#define INDEX ((long long)blockIdx.x * blockDim.x + threadIdx.x)
__device__ inline bf16 one(bf16 x, bf16 g) {
  float a = __bfloat162float(g), e = expf(-fabsf(a)), s = a < 0 ? e / (1 + e) : 1 / (1 + e);
  return __float2bfloat16_rn(a * s * __bfloat162float(x));
}
"#;

/// The usual step.
pub(crate) const STEP: &str = r#"
[[steps]]
entry = "candidate"
grid = ["ceil_div(a0 * a1, 256)", "1", "1"]
block = ["256", "1", "1"]
args = ["ptr(t0)", "ptr(t1)", "ptr(t2)", "axis(a0)", "axis(a1)"]
"#;

/// A kernel that does what is asked.
pub(crate) const HONEST: &str = "
extern \"C\" __global__ void candidate(PARAMETERS) {
  const long long i = INDEX;
  if (i < m * n) y[i] = one(x[i], g[i]);
}";

pub(crate) fn workers() -> Workers {
    Workers {
        exe: std::env::current_exe().expect("this binary"),
        args: Vec::new(),
        env: ["LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "PATH"]
            .into_iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .collect(),
        backend: Backend::Cuda,
        limits: Limits { address_space: 0, cpu_seconds: 600, files: 0, sandboxed: true },
    }
}

pub(crate) fn judge() -> Judge {
    judge_of(spec(), None, |_| {})
}

/// A session over a spec with the usual reference, its scalars chosen, its settings adjusted.
pub(crate) fn judge_of(
    spec: KernelSpec,
    scalar: Option<ScalarChoice>,
    adjust: impl FnOnce(&mut Settings),
) -> Judge {
    let question = Question {
        reference: crate::fixtures::reference_of(&reference(spec.scalars.len())),
        spec,
        exact_integers: ExactIntegers::None,
        cost: Box::new(|axes| axes.iter().product::<i64>().unsigned_abs()),
        tiles: vec![16, 256],
        scalar,
    };
    let mut settings = Settings::new(workers(), 0x5eed);
    settings.cost_cap = 200_000;
    settings.shapes_most = 8;
    settings.repeats = (20, 100);
    settings.deadline = Duration::from_secs(5);
    settings.device =
        Some(OnDevice { kernels: crate::fixtures::gate_kernels(), reference: None, totals: None });
    adjust(&mut settings);
    Judge::new(question, settings).expect("a session")
}

pub(crate) fn candidate(source: &str, entries: &[&str], contract: &str) -> Candidate {
    eligible(source, entries, contract, "true")
}

pub(crate) fn eligible(source: &str, entries: &[&str], contract: &str, eligibility: &str) -> Candidate {
    let contract: Contract = toml::from_str(contract).expect("a contract");
    let eligibility = Eligibility::parse_positional(eligibility).expect("an eligibility");
    let artifact = crate::fixtures::cubin(source, entries);
    let (prefer, tiles, shared_memory) = (Eligibility::default(), Vec::new(), None);
    Candidate { artifact, contract, eligibility, prefer, tiles, shared_memory }
}

pub(crate) fn honest() -> Candidate {
    candidate(&format!("{PRELUDE}{HONEST}"), &["candidate"], STEP)
}

/// Of a variant for no launch at all.
pub(crate) fn never() -> Eligibility {
    Eligibility::parse_positional("a0 >= 1000000").expect("an eligibility")
}

pub(crate) fn passes(judge: &mut Judge, candidate: &Candidate) {
    let outcome = judge.screen(candidate).expect("the machine works");
    assert!(matches!(outcome, Outcome::Passed { .. }), "{outcome}");
}

pub(crate) fn spec() -> KernelSpec {
    spec_of(SPEC)
}

/// The first kernel of a spec file.
pub(crate) fn spec_of(text: &str) -> KernelSpec {
    spec_file(text, &Default::default()).into_kernels().expect("right specs").remove(0)
}
