//! What bodies of rows may use, by spec.

use super::super::launch::Launch;
use super::super::subjects as of;
use super::row::Kind;

pub(super) const EACH: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1")];
pub(super) const PLAIN: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1 a2")];

/// `y = silu(g) * x` of bf16.
pub(super) static SILU: Kind = Kind {
    subject: &of::SILU_BF16,
    head: "typedef bf16 T;
__device__ inline T one(T x, T g) { return down<T>(silu(up(g)) * up(x)); }
",
    params: "const T* x, const T* g, T* y, I m, I n",
    steps: EACH,
    honest: "if (i < m * n) y[i] = one(x[i], g[i]);",
};

/// The same, of which `g` is constant.
pub(super) static SILU_OF_WEIGHTS: Kind = Kind { subject: &of::SILU_OF_WEIGHTS, ..SILU };

const PRODUCT: &str = "#define EACH if (i >= m * n) return; const I r = i / n, c = i % n;
#define P(l) up(x[r * k + (l)])
#define Q(l) up(w[c * k + (l)])
";

const PRODUCT_HONEST: &str = "EACH float s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s;";

/// `y = x w^T`, bf16 in, f32 out.
pub(super) static GEMM: Kind = Kind {
    subject: &of::GEMM_BF16,
    head: PRODUCT,
    params: "const bf16* x, const bf16* w, float* y, I m, I n, I k",
    steps: PLAIN,
    honest: PRODUCT_HONEST,
};

/// The same on tensor cores.
pub(super) static TENSOR_CORES: Kind =
    Kind { subject: &of::GEMM_BF16, head: "", params: "", steps: &[], honest: "" };

/// The same by a ring of TMA copies, bf16 out.
pub(super) static RING: Kind = Kind { subject: &of::GEMM_RING, head: "", params: "", steps: &[], honest: "" };

/// The same of f32, 8192 terms long.
pub(super) static LONG: Kind = Kind {
    subject: &of::GEMM_LONG,
    head: PRODUCT,
    params: "const float* x, const float* w, float* y, I m, I n, I k",
    steps: PLAIN,
    honest: PRODUCT_HONEST,
};

/// The same of whole numbers.
pub(super) static WHOLE: Kind = Kind {
    subject: &of::GEMM_I8,
    head: PRODUCT,
    params: "const i8* x, const i8* w, int* y, I m, I n, I k",
    steps: PLAIN,
    honest: "EACH int s = 0; for (I l = 0; l < k; ++l) s += P(l) * Q(l); y[i] = s;",
};

const ROWS: &str = "#define ROW if (i >= m) return; const float* v = x + i * n;
#define ALL for (I j = 0; j < n; ++j)
";

/// A thread a row.
const THREADS: &[Launch] = &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")];

pub(super) static SOFTMAX: Kind = Kind {
    subject: &of::SOFTMAX_F32,
    head: ROWS,
    params: "const float* x, float* y, I m, I n",
    steps: THREADS,
    honest: "ROW float top = minus_infinity(), s = 0; ALL top = larger(top, v[j]); ALL s += expf(v[j] - top);
      ALL y[i * n + j] = expf(v[j] - top) / s;",
};

pub(super) static SUM: Kind = Kind {
    subject: &of::SUM_F32,
    head: ROWS,
    params: "const float* x, float* y, I m, I n",
    steps: THREADS,
    honest: "ROW float s = 0; ALL s += v[j]; y[i] = s;",
};

pub(super) static VARIANCE: Kind = Kind {
    subject: &of::VARIANCE_F32,
    head: ROWS,
    params: "const float* x, float* y, I m, I n",
    steps: THREADS,
    honest: "ROW float s = 0, q = 0; ALL s += v[j]; s /= n; ALL q += (v[j] - s) * (v[j] - s); y[i] = q / n;",
};

pub(super) static NORM: Kind = Kind {
    subject: &of::NORM_BF16,
    head: "#define ALL for (I j = 0; j < n; ++j)\n",
    params: "const bf16* x, const bf16* w, bf16* y, I m, I n, float eps",
    steps: &[Launch::flat("ceil_div(a0, 256)", "t0 t1 t2 a0 a1 s0")],
    honest: "if (i >= m) return; const bf16* v = x + i * n; float s = 0; ALL s += up(v[j]) * up(v[j]);
      const float r = rsqrtf(s / n + eps); ALL y[i * n + j] = down<bf16>(up(v[j]) * r * up(w[j]));",
};

pub(super) static PADDED: Kind = Kind {
    subject: &of::PADDED,
    head: "",
    params: "const float* x, float* y, I m, I n",
    steps: &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 a0 a1")],
    honest: "if (i < m * n) y[i / n * 8 + i % n] = x[i];",
};

pub(super) static SCATTER: Kind = Kind {
    subject: &of::SCATTER,
    head: "",
    params: "const int* at, const float* x, float* c, I b, I t",
    steps: &[Launch::flat("ceil_div(a0, 256)", "t0 t1 t2 a0 a1")],
    honest: "if (i < b) c[at[i]] += x[i];",
};
