//! What may start early and takes something for written that is not: each reads only, and waits before it writes, so that nothing
//! but the late writer tells. A delay that one is right behind is another's undoing.

use cutegen_build::evaluate::Check::{Late, Repeats, Values};

use super::super::launch::Launch;
use super::kinds::SILU_OF_WEIGHTS;
use super::row::{Caught, Off, Row};

const EARLY: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1").with("pdl = true")];

/// Every other block is early.
macro_rules! early {
    ($reads:literal) => {
        concat!(
            "#define WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")
__device__ inline void spin(unsigned long long ns) {
  unsigned long long from, now;
  asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(from) :: \"memory\");
  do { asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now) :: \"memory\"); } while (now - from < ns);
}
extern \"C\" __global__ void candidate(const T* x, const T* g, T* y, I m, I n) {
  const I i = INDEX;
  const I at = i < m * n ? i : 0;
  T a;
  if (blockIdx.x % 2 == 0) WAIT;
  ",
            $reads,
            "
  WAIT;
  if (i < m * n) y[i] = one(a, g[i]);
}
"
        )
    };
}

const fn row(name: &'static str, source: &'static str) -> Row {
    Row::new((name, "C4"), &SILU_OF_WEIGHTS, "", Values)
        .whole(source, EARLY)
        .caught(Caught::Incorrect(Repeats), Off::Check(Late))
}

pub(super) const ROWS: &[Row] = &[
    row("reads early what is no constant", early!("a = x[at];")),
    row(
        "reads late instead of waiting",
        early!("if (blockIdx.x % 2) spin(300000); a = x[at];"),
    ),
    row(
        "trusts what it read early where the input is there soon behind that",
        early!(
            "a = x[at];
  if (blockIdx.x % 2) { spin(60000); const unsigned first = *(const volatile unsigned short*)x & 0x7fff; if (first > 0x7f80) { WAIT; a = x[at]; } }"
        ),
    ),
];
