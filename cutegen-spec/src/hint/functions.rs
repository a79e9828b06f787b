//! Functions and constants of other libraries. What has the same value in one expression is written out, and a test
//! computes it.

use super::Instead::{Called, Said, Written};
use super::{Instead, Row, find, meant, same_dtype};
use crate::diagnostic::folded;
use crate::dtype::DType;

/// By words without underscores. The first word of a row is the one that its test knows.
pub const FUNCTIONS: &[Row] = &[
    // powers and logarithms
    ("log10", Written("0.4342944819032518 * log(x)")),
    ("ln loge", Called("log")),
    ("exp10", Written("exp(2.302585092994046 * x)")),
    ("ldexp", Written("x * exp2(y)")),
    ("square sqr sq", Written("x * x")),
    ("cube", Written("x * x * x")),
    ("power powi", Called("pow")),
    ("reciprocal rcp recip inv inverse frcprn", Written("1 / x")),
    ("cbrt", Written("sign(x) * pow(abs(x), 0.3333333333333333)")),
    ("hypot", Written("sqrt(x * x + y * y)")),
    ("invsqrt inversesqrt isqrt frsqrtrn", Called("rsqrt")),
    ("fsqrtrn", Called("sqrt")),
    ("logaddexp", Written("max(x, y) + log1p(exp(-abs(x - y)))")),
    ("logaddexp2", Written("max(x, y) + log2(1 + exp2(-abs(x - y)))")),
    ("rhypot", Written("rsqrt(x * x + y * y)")),
    ("xlogy", Written("where(x == 0, 0, x * log(y))")),
    ("logit", Written("log(x / (1 - x))")),
    // circles and hyperbolas
    ("tan", Written("sin(x) / cos(x)")),
    ("sinpi", Written("sin(3.141592653589793 * x)")),
    ("cospi", Written("cos(3.141592653589793 * x)")),
    ("sinc", Written("where(x == 0, 1, sin(3.141592653589793 * x) / (3.141592653589793 * x))")),
    ("sinh", Written("(exp(x) - exp(-x)) / 2")),
    ("cosh", Written("(exp(x) + exp(-x)) / 2")),
    ("asinh arcsinh", Written("sign(x) * log(abs(x) + sqrt(x * x + 1))")),
    ("acosh arccosh", Written("log(x + sqrt(x * x - 1))")),
    ("atanh arctanh", Written("log((1 + x) / (1 - x)) / 2")),
    (
        "asin acos atan atan2 arcsin arccos arctan arctan2",
        Said("inverse trigonometric functions cannot be said: pass their values as an input"),
    ),
    ("deg2rad radians", Written("0.017453292519943295 * x")),
    ("rad2deg degrees", Written("57.29577951308232 * x")),
    // special functions
    ("erfc", Written("1 - erf(x)")),
    ("normcdf ndtr", Written("(1 + erf(0.7071067811865476 * x)) / 2")),
    (
        "erfcx erfinv erfcinv normcdfinv ndtri lgamma tgamma gamma gammaln digamma polygamma i0 i1 i0e i1e j0 j1 jn y0 y1 \
         yn zeta",
        Said("special functions but `erf` cannot be said: pass their values as an input"),
    ),
    // steps
    ("trunc fix", Written("where(x < 0, ceil(x), floor(x))")),
    ("frac", Written("x - where(x < 0, ceil(x), floor(x))")),
    ("lrint llrint lround", Said("`cast(i32, round(x))`")),
    ("fdim", Written("max(x - y, 0)")),
    ("rint nearbyint roundeven", Called("round")),
    ("sgn", Called("sign")),
    ("signbit", Said("`x < 0`, which does not hold for -0.0")),
    ("copysign", Written("where(y < 0, -abs(x), abs(x))")),
    ("heaviside", Written("where(x == 0, y, where(x > 0, 1, 0))")),
    ("step unitstep", Written("where(x >= 0, 1, 0)")),
    ("fabs absolute", Called("abs")),
    // activations
    ("swish siluswish", Called("silu")),
    ("logistic expit", Called("sigmoid")),
    ("geluerf gelupython", Called("gelu")),
    ("gelunew gelufast geluapprox gelupytorchtanh geluapproximate", Called("gelu_tanh")),
    ("quickgelu geluquick", Written("x * sigmoid(1.702 * x)")),
    ("relu6", Written("clamp(x, 0, 6)")),
    ("relu2 squaredrelu relusquared", Written("relu(x) * relu(x)")),
    ("leakyrelu lrelu prelu rrelu", Written("where(x > 0, x, y * x)")),
    ("elu", Written("where(x > 0, x, y * expm1(x))")),
    ("celu", Written("where(x > 0, x, y * expm1(x / y))")),
    ("selu", Written("1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(x))")),
    ("mish", Written("x * tanh(softplus(x))")),
    ("hardswish hswish", Written("x * clamp(x + 3, 0, 6) / 6")),
    ("hardsigmoid hsigmoid", Written("clamp(x / 6 + 0.5, 0, 1)")),
    ("hardtanh", Written("clamp(x, -1, 1)")),
    ("logsigmoid", Written("-softplus(-x)")),
    ("softsign", Written("x / (1 + abs(x))")),
    ("tanhshrink", Written("x - tanh(x)")),
    ("softshrink", Written("sign(x) * max(abs(x) - y, 0)")),
    ("hardshrink", Written("where(abs(x) > y, x, 0)")),
    ("threshold", Written("where(x > y, x, z)")),
    ("swiglu", Said("write it out: `silu(g[m, n]) * u[m, n]`")),
    ("geglu", Said("write it out: `gelu(g[m, n]) * u[m, n]`")),
    ("reglu", Said("write it out: `relu(g[m, n]) * u[m, n]`")),
    ("glu", Said("write it out: `a[m, n] * sigmoid(b[m, n])`")),
    // operators as functions
    ("add plus", Written("x + y")),
    ("sub subtract minus", Written("x - y")),
    ("mul multiply times", Written("x * y")),
    ("div divide truedivide fdivide fdividef fdiv", Written("x / y")),
    ("positive", Said("write the value itself")),
    ("neg negative negate", Written("-x")),
    ("fma mad ffmarn", Written("x * y + z")),
    ("addcmul", Written("x + y * z")),
    ("addcdiv", Written("x + y / z")),
    ("lerp mix", Written("x + z * (y - x)")),
    ("floordivide floordiv", Written("floor(x / y)")),
    ("mod remainder rem", Said("of integers `i % 4`, never negative; of reals `x - y * floor(x / y)`")),
    (
        "fmod drem",
        Said(
            "an exact remainder of reals cannot be said; `x - y * floor(x / y)` is rounded and has the sign of `y`",
        ),
    ),
    ("maximum", Called("max")),
    ("minimum", Called("min")),
    ("fmax", Said("`max(x, y)`, which is NaN where either is")),
    ("fmin", Said("`min(x, y)`, which is NaN where either is")),
    ("clip", Called("clamp")),
    ("clampmin", Written("max(x, y)")),
    ("clampmax", Written("min(x, y)")),
    ("saturate saturatef", Written("clamp(x, 0, 1)")),
    // conditions
    ("isposinf", Written("x == inf")),
    ("isneginf", Written("x == -inf")),
    ("isnan", Written("x != x")),
    ("isinf", Written("abs(x) == inf")),
    ("isfinite", Written("abs(x) < inf")),
    ("eq equal", Written("x == y")),
    ("ne notequal", Written("x != y")),
    ("lt less", Written("x < y")),
    ("le lessequal", Written("x <= y")),
    ("gt greater", Written("x > y")),
    ("ge greaterequal", Written("x >= y")),
    ("and logicaland", Said("conditions are joined by `a and b`")),
    ("or logicalor", Said("conditions are joined by `a or b`")),
    ("not logicalnot", Said("a condition is negated by `not a`")),
    ("xor logicalxor", Said("of conditions `(a or b) and not (a and b)`")),
    (
        "bitwiseand bitwiseor bitwisexor bitwisenot leftshift rightshift shl shr lshift rshift popcount popc clz",
        Said("integers have no bits here: a shift is `* 16`, or in an index `/ 16` and `% 16`"),
    ),
    (
        "if ifelse iif select cond choose ternary",
        Said("`where(c, x, y)` is `x` where condition `c` holds, else `y`"),
    ),
    ("maskedfill", Said("`where(c, value, x[m, k])`, with a condition `c`")),
    ("nantonum", Said("`where(x != x, 0, x)`, inside a `clamp` for infinities")),
    // over an axis
    ("amax reducemax maxreduce nanmax", Said("`max(k, x[m, k])`: the axis comes first")),
    ("amin reducemin minreduce nanmin", Said("`min(k, x[m, k])`: the axis comes first")),
    ("reducesum addreduce nansum total", Said("`sum(k, x[m, k])`: the axis comes first")),
    ("average avg reducemean nanmean", Said("`mean(k, x[m, k])`: the axis comes first")),
    ("product reduceprod", Said("`prod(k, x[m, k])`: the axis comes first")),
    ("norm l2norm vectornorm pnorm nrm2", Said("`sqrt(sum(k, x[m, k] * x[m, k]))`")),
    ("l1norm asum", Said("`sum(k, abs(x[m, k]))`")),
    ("var variance", Said("`a[m] = mean(k, x[m, k])`, then `mean(k, (x[m, k] - a[m]) * (x[m, k] - a[m]))`")),
    ("stdmean varmean", Said("`mean` and what is built of it are two assignments")),
    (
        "std stddev",
        Said("`a[m] = mean(k, x[m, k])`, then `sqrt(mean(k, (x[m, k] - a[m]) * (x[m, k] - a[m])))`"),
    ),
    ("logsumexp lse", Said("`a[m] = max(k, x[m, k])`, then `a[m] + log(sum(k, exp(x[m, k] - a[m])))`")),
    ("softmin", Said("`softmax(c, -x[m, c])`")),
    ("logsoftmin", Said("`log_softmax(c, -x[m, c])`")),
    ("cumsum prefixsum inclusivescan scan", Said("`sum(t <= c, x[m, t])`, with an axis `t = \"c\"`")),
    ("exclusivescan", Said("`sum(t < c, x[m, t])`, with an axis `t = \"c\"`")),
    ("cumprod", Said("`prod(t <= c, x[m, t])`, with an axis `t = \"c\"`")),
    ("cummax", Said("`max(t <= c, x[m, t])`, with an axis `t = \"c\"`")),
    ("cummin", Said("`min(t <= c, x[m, t])`, with an axis `t = \"c\"`")),
    ("logcumsumexp", Said("`a[m] = max(c, x[m, c])`, then `a[m] + log(sum(t <= c, exp(x[m, t] - a[m])))`")),
    (
        "topk topp",
        Said("one at a time: `i[t] = argmax(e, x[t, e])`, then `argmax(e, where(e == i[t], -inf, x[t, e]))`"),
    ),
    (
        "sort argsort msort median nanmedian mode quantile percentile kthvalue unique searchsorted bucketize histogram \
         histc bincount",
        Said("sorting cannot be said; the k largest are found one at a time, by `argmax`"),
    ),
    ("countnonzero count", Said("`sum(k, where(x[m, k] != 0, 1, 0))`")),
    ("all", Said("`min(k, where(x[m, k] != 0, 1, 0))`")),
    ("any", Said("`max(k, where(x[m, k] != 0, 1, 0))`")),
    // products of matrices and what is built of them
    (
        "matmul mm bmm dot vdot inner einsum gemm linear dense addmm baddbmm mv matvec tensordot contract",
        Said("a product of matrices is a sum: `sum(k, x[m, k] * w[n, k])`"),
    ),
    ("outer", Said("`x[m] * y[n]`, assigned to `z[m, n]`")),
    (
        "conv conv1d conv2d conv3d convolution convolve correlate",
        Said("`sum((c, r, s), x[b, c, h + r, v + s] * w[o, c, r, s])`"),
    ),
    (
        "maxpool maxpool1d maxpool2d avgpool avgpool1d avgpool2d pool",
        Said("`max((r, s), x[b, c, 2 * h + r, 2 * v + s])`, or `mean` of it"),
    ),
    (
        "attention sdpa scaleddotproductattention flashattention flashattn mha multiheadattention",
        Said("`p[s, t] = softmax(t, sum(d, q[s, d] * k[t, d]))`, then `sum(t, p[s, t] * v[t, d])`"),
    ),
    (
        "batchnorm batchnorm1d batchnorm2d batchnorm3d instancenorm groupnorm localresponsenorm",
        Said("write it out with `mean` and `rsqrt`; over one axis there are `layer_norm` and `rms_norm`"),
    ),
    (
        "cov corrcoef",
        Said("`sum(r, (x[r, i] - a[i]) * (x[r, j] - a[j]))`, with means `a` and an axis `j = \"i\"`"),
    ),
    ("dist cdist pdist pairwisedistance", Said("`sqrt(sum(k, (x[m, k] - y[n, k]) * (x[m, k] - y[n, k])))`")),
    (
        "cosinesimilarity",
        Said("`sum(k, x[m, k] * y[m, k])`, times `rsqrt(sum(k, x[m, k] * x[m, k]))` and the same of `y`"),
    ),
    (
        "normalize l2normalize",
        Said("`x[m, k] * rsqrt(sum(k2, x[m, k2] * x[m, k2]) + eps)`, with an axis `k2 = \"k\"`"),
    ),
    (
        "crossentropy nllloss mseloss l1loss smoothl1loss huberloss kldiv bceloss loss",
        Said("a loss is written out, with `log_softmax`, `sum` and `mean`"),
    ),
    // where elements are
    ("onehot", Said("`where(c == ids[m], 1, 0)`")),
    ("tril", Said("`where(c <= r, x[r, c], 0)`")),
    ("triu", Said("`where(c >= r, x[r, c], 0)`")),
    (
        "gather take takealongaxis indexselect embedding lookup tex1dfetch",
        Said("`table[ids[t], d]`, with `ids = { type = \"i32[t]\", range = \"0..v\" }`"),
    ),
    (
        "scatter scatteradd indexadd indexcopy indexput put",
        Said("assign an `inout`: `cache[pos[b], d] = k[b, d]`, with a `unique` input `pos`"),
    ),
    (
        "cat concat concatenate stack hstack vstack",
        Said("`where(d < 64, pad(a[m, d], 0), pad(b[m, d - 64], 0))`"),
    ),
    ("diag diagonal", Said("`x[i, i]`")),
    ("trace", Said("`sum(i, x[i, i])`")),
    ("diff", Said("`x[m, c + 1] - x[m, c]`, with a `c` of one less than `x` has")),
    ("unfold im2col", Said("an index is arithmetic: `x[b, c, h + r, v + s]`")),
    ("upsample interpolate interp", Said("an index is arithmetic: the nearest one is `x[b, h / 2, v / 2]`")),
    (
        "nonzero argwhere maskedselect compress",
        Said(
            "how many elements a tensor has is known before the launch: keep all of them, and mask by `where`",
        ),
    ),
    ("split chunk slice narrow", Said("an index is arithmetic: the second half is `x[m, d + 64]`")),
    (
        "reshape view transpose permute flatten squeeze unsqueeze expand broadcast broadcastto swapaxes moveaxis",
        Said("tensors are read at indices: name the axes as they lie, `x[k, m]`"),
    ),
    ("repeat tile repeatinterleave", Said("an index is arithmetic: `x[c / 2]`, or `x[c % 64]`")),
    ("roll flip shift rot90", Said("an index is arithmetic: `x[(c + 1) % len(c)]`")),
    (
        "arange iota range linspace index programid threadidx",
        Said("an axis is its own index: `c` is 0, 1, 2 and so on"),
    ),
    (
        "zeros ones full fill zeroslike oneslike fulllike eye",
        Said("a constant stands by itself: `y[m, c] = 0`"),
    ),
    ("size shape numel dim ndim extent length sizeof stride", Said("`len(c)` is the extent of axis `c`")),
    (
        "ldg load store tlload tlstore",
        Said("elements are read by brackets, `x[m, k]`, and written by an assignment"),
    ),
    ("atomicadd", Said("a sum over an axis is `sum(k, x[m, k])`")),
    (
        "shflsync shflxorsync shfldownsync shflupsync reduceaddsync syncthreads",
        Said("threads are not seen: a sum over an axis is `sum(k, x[m, k])`"),
    ),
    (
        "fft ifft rfft det svd qr cholesky solve lstsq eig eigh matrixexp kron cross gcd lcm frexp modf logb ilogb scalb \
         nextafter",
        Said("it cannot be said in index notation: pass what it gives as an input"),
    ),
    ("conj real imag angle", Said("complex numbers are two tensors, or a last axis of 2")),
    ("float2half", Written("cast(f16, x)")),
    ("half2float bfloat162float", Written("cast(f32, x)")),
    ("float2bfloat16", Written("cast(bf16, x)")),
    (
        "rand randn randint dropout bernoulli multinomial uniform normal gumbel",
        Said("random numbers cannot be said: pass them as an input"),
    ),
    (
        "to astype type typeas convert staticcast reinterpretcast quantize dequantize bitcast viewas",
        Said("`cast(bf16, x)` rounds to a dtype"),
    ),
];

/// Names that stand alone.
const CONSTANTS: &[Row] = &[
    ("pi mpi", Said("write `3.141592653589793`")),
    ("tau", Said("write `6.283185307179586`")),
    ("e euler", Said("write `2.718281828459045`; a power of it is `exp(x)`")),
    ("infinity infty hugeval", Called("inf")),
    ("neginf ninf", Said("write `-inf`")),
    ("nan", Said("NaN has no literal: mask with 0, 1, `inf` or `-inf`")),
    ("true false", Said("a condition is a comparison, as in `x[m] > 0`")),
    ("none null nullptr nil", Said("every argument is declared and given")),
    ("newaxis", Said("an axis that a tensor does not name is broadcast by itself")),
];

/// What stands for a call of `word`, which is none of the functions that can be called here.
#[must_use]
pub fn function(word: &str, callable: &[&'static str]) -> Option<String> {
    let plain = word.trim_start_matches('_');
    foreign(plain, callable)
        // `expf` and `__expf` are `exp` of floats
        .or_else(|| foreign(plain.strip_suffix('f')?, callable))
        .or_else(|| meant(word, callable.iter().copied()))
}

fn foreign(word: &str, callable: &[&'static str]) -> Option<String> {
    let same = callable.iter().copied().find(|name| folded(name) == folded(word)).map(Called);
    same.or_else(|| find(FUNCTIONS, word)).map(Instead::text).or_else(|| converted(word))
}

/// A dtype that is called as a function.
fn converted(word: &str) -> Option<String> {
    Some(match same_dtype(word)? {
        DType::Bool => "compare it: `x != 0`".to_owned(),
        dtype => format!("write `cast({dtype}, x)`"),
    })
}

/// What stands for a name alone.
#[must_use]
pub fn constant(word: &str) -> Option<String> {
    find(CONSTANTS, word).map(Instead::text)
}
