//! The naive kernels' preludes under the pinned compilers: every dtype and function at least compiles.

use cutegen_build::print::naive::{CUDA_PRELUDE as CUDA, HOST_PRELUDE as HOST};

use crate::setup::{compiled, cuda, host, setup};

pub(crate) const TESTS: &[crate::Test] =
    &[("preludes::cuda_compiles", cuda_compiles), ("preludes::host_compiles", host_compiles)];

/// Statements that use all of a prelude. In scope: `t0`..`t9` pointers to every kind of element, `i` an index.
const BODY: &str = "
  acc x = cg_load(t0[i]) + cg_load(t1[i]) + cg_load(t2[i]) + cg_load(t3[i]) + cg_load(t4[i]) + cg_load(t5[i]);
  int64_t n = cg_load(t6[i]) + cg_load(t7[i]) + cg_load(t8[i]) + cg_load(t9[i]) + cg_load_i4(t7, i) + cg_load_u4(t7, i);
  bool c = cg_and(cg_load(t10[i]), cg_or(cg_lt(x, acc(1)), cg_not(cg_le(n, cg_int(i)))));
  c = cg_or(c, cg_gt(x, acc(2))) && cg_ge(n, cg_int(2)) && cg_eq(x, x) && cg_ne(n, cg_int(i));
  x = cg_exp(x) + cg_exp2(x) + cg_expm1(x) + cg_log(x) + cg_log2(x) + cg_log1p(x) + cg_sqrt(x) + cg_rsqrt(x);
  x = cg_sin(x) + cg_cos(x) + cg_tanh(x) + cg_erf(x) + cg_sigmoid(x) + cg_silu(x) + cg_gelu(x) + cg_gelu_tanh(x);
  x = cg_relu(x) + cg_softplus(x) + cg_floor(x) + cg_ceil(x) + cg_round(x) + cg_sign(x) + cg_pow(x, acc(0.3));
  x = cg_max(x, cg_real(n)) + cg_min(x, acc(4)) + cg_abs(x) + cg_cast_f64(x) + cg_cast_f32(x) + cg_cast_f16(x);
  x = x + cg_cast_bf16(x) + cg_cast_f8e4m3(x) + cg_cast_f8e5m2(x) + (c ? acc(1) : -x) + acc(cg_inf());
  n = cg_max(n, cg_int(i)) + cg_min(n, cg_int(3)) + cg_abs(n) + cg_sign(n) + cg_rem(n, cg_int(7)) + cg_mod(n, 5);
  n = cg_floor_div(n, 3) + cg_imin(n, i) + cg_imax(n, i) + cg_cast_i8(x) + cg_cast_u8(n) + cg_cast_i32(x) - n;
  n = n + cg_cast_i64(x) + cg_cast_i4(n) + cg_cast_u4(x);
  cg_store(t0[i], x); cg_store(t1[i], x); cg_store(t2[i], x); cg_store(t3[i], x); cg_store(t4[i], x);
  cg_store(t5[i], x); cg_store(t6[i], n); cg_store(t7[i], n); cg_store(t8[i], n); cg_store(t9[i], n);
  cg_store(t10[i], c); t7[i + 1] = cg_pack_i4(n, i); t7[i + 2] = cg_pack_u4(n, i);
";

const TENSORS: &str = "double* t0, float* t1, f16* t2, bf16* t3, f8e4m3* t4, f8e5m2* t5, signed char* t6, \
    unsigned char* t7, int* t8, long long* t9, bool8* t10, int64_t i";

fn cuda_compiles() {
    for acc in ["float", "double"] {
        let headers = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>";
        let source = format!(
            "{headers}\nusing acc = {acc};\n{CUDA}\nextern \"C\" __global__ void k({}) {{{BODY}}}\n",
            TENSORS
        );
        println!("  {acc}: {} bytes", compiled(&cuda(&source, &["k"]), &setup()).bytes.len());
    }
}

fn host_compiles() {
    for acc in ["float", "double"] {
        let headers = "#include <cmath>\n#include <cstdint>\n#include <cstring>";
        let visible = "__attribute__((visibility(\"default\"), externally_visible))";
        let source = format!(
            "{headers}\nusing acc = {acc};\n{HOST}\nextern \"C\" {visible} void k({}) {{{BODY}}}\n",
            TENSORS
        );
        println!("  {acc}: {:?}", compiled(&host(&source, "k"), &setup()).inspected);
    }
}
