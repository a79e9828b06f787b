//! Contracts with computed arguments on a device: a kernel that reads its input by TMA boxes, from a descriptor that each launch
//! encodes, and is told by a number how many boxes a row has. One with a wrong field is wrong or refused, and says so.

use cutegen_build::evaluate::{Candidate, Judge, Outcome};

use crate::Test;
use crate::bench::{self, PRELUDE};

pub(crate) const TESTS: &[Test] = &[
    ("tensor_maps::a_kernel_that_reads_by_boxes_passes", a_kernel_that_reads_by_boxes_passes),
    ("tensor_maps::a_wrong_field_falls", a_wrong_field_falls),
    ("tensor_maps::workspace_is_mapped_too", workspace_is_mapped_too),
];

/// The math of these tests over rows that TMA takes.
const SPEC: &str = r#"
edition = 1
[kernels.k]
axes = { m = "1..=2048", n = { range = "8..=2048", multiple-of = 8 } }
inputs = { x = "bf16[m, n]", g = "bf16[m, n]" }
outputs = { y = "bf16[m, n]" }
math = "y[m, n] = silu(g[m, n]) * x[m, n]"
"#;

fn judge() -> Judge {
    bench::judge_of(bench::spec_of(SPEC), None, |_| {})
}

/// Boxes of 16 x 64; reads beyond the tensor give zeros, and nothing is written there.
const BOXES: &str = "
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };
__device__ inline unsigned shared(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ inline void load(void* to, const CUtensorMap* map, int column, int row, unsigned long long* full) {
  asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"
               :: \"r\"(shared(to)), \"l\"(map), \"r\"(column), \"r\"(row), \"r\"(shared(full)) : \"memory\");
}
extern \"C\" __global__ void candidate(const __grid_constant__ CUtensorMap x, const bf16* g, bf16* y, long long m, long long n, long long across) {
  __shared__ alignas(128) bf16 box[16 * 64];
  __shared__ alignas(8) unsigned long long full;
  const long long row = blockIdx.x / across * 16, column = blockIdx.x % across * 64;
  if (threadIdx.x == 0) {
    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(shared(&full)) : \"memory\");
    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");
    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;\" :: \"r\"(shared(&full)) : \"memory\");
    load(box, &x, (int)column, (int)row, &full);
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0)
    asm volatile(\"{\\n .reg .pred p;\\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n selp.u32 %0, 1, 0, p;\\n}\"
                 : \"=r\"(done) : \"r\"(shared(&full)) : \"memory\");
  for (int i = threadIdx.x; i < 16 * 64; i += 256) {
    const long long r = row + i / 64, c = column + i % 64;
    if (r < m && c < n) y[r * n + c] = one(box[i], g[r * n + c]);
  }
}";

/// The same behind a copy of the input into workspace.
const COPY: &str = "
extern \"C\" __global__ void copied(const bf16* x, bf16* w, long long m, long long n) {
  const long long i = INDEX;
  if (i < m * n) w[i] = x[i];
}";

const MAP: &str = "tma(t0, type = bf16, dims = [a0, a1], strides = [a1, 1], box = [16, 64])";
const ACROSS: &str = "int(ceil_div(a1, 64))";
const ENTRIES: [&str; 2] = ["candidate", "copied"];

pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    [(format!("{PRELUDE}{BOXES}"), vec!["candidate"]), (format!("{PRELUDE}{BOXES}{COPY}"), ENTRIES.to_vec())]
        .into_iter()
}

fn step(map: &str, across: &str) -> String {
    format!(
        "[[steps]]\nentry = 'candidate'\ngrid = ['ceil_div(a0, 16) * ceil_div(a1, 64)', '1', '1']\nblock = ['256', '1', '1']\n\
         args = ['{map}', 'ptr(t1)', 'ptr(t2)', 'axis(a0)', 'axis(a1)', '{across}']\n"
    )
}

/// Eligible where TMA takes rows and addresses.
fn boxes(map: &str, across: &str) -> Candidate {
    let source = format!("{PRELUDE}{BOXES}");
    bench::eligible(&source, &["candidate"], &step(map, across), "t0 aligned 16")
}

fn a_kernel_that_reads_by_boxes_passes() {
    let mut judge = judge();
    bench::passes(&mut judge, &boxes(MAP, ACROSS));
    let outcome = judge.full(&[boxes(MAP, ACROSS), bench::honest()]).expect("the machine works");
    assert!(matches!(outcome, Outcome::Passed { .. }), "{outcome}");
}

fn a_wrong_field_falls() {
    let wrong = [
        ("dims = [a0, a1]", "dims = [a0, a1 - 1]", "incorrect"),
        ("strides = [a1, 1]", "strides = [max(a1 - 8, 8), 1]", "incorrect"),
        ("type = bf16,", "type = bf16, offset = 8,", "incorrect"),
        // the driver takes no stride that is no multiple of 16 bytes
        ("strides = [a1, 1]", "strides = [a1 + 1, 1]", "encoding a tensor map"),
    ];
    let mut judge = judge();
    for (right, field, word) in wrong {
        let outcome = judge.screen(&boxes(&MAP.replace(right, field), ACROSS)).expect("the machine works");
        println!("    {field}: {outcome}");
        let said = outcome.to_string();
        assert!(!matches!(outcome, Outcome::Passed { .. }) && said.contains(word), "{field}: {said}");
    }
    let outcome = judge.screen(&boxes(MAP, "int(ceil_div(a1, 64) + 1)")).expect("the machine works");
    assert!(!matches!(outcome, Outcome::Passed { .. }), "{outcome}");
}

fn workspace_is_mapped_too() {
    let map = MAP.replace("t0", "w0");
    let contract = format!(
        "workspace = [{{ bytes = 'a0 * a1 * 2', initial = 'undefined' }}]\n[[steps]]\nentry = 'copied'\n\
         grid = ['ceil_div(a0 * a1, 256)', '1', '1']\nblock = ['256', '1', '1']\n\
         args = ['ptr(t0)', 'workspace(w0)', 'axis(a0)', 'axis(a1)']\n{}",
        step(&map, ACROSS)
    );
    let source = format!("{PRELUDE}{BOXES}{COPY}");
    let candidate = bench::eligible(&source, &ENTRIES, &contract, "true");
    bench::passes(&mut judge(), &candidate);
}
