//! Keys of tables and words of closed lists, by what others call them.

use super::meant;
use crate::diagnostic::folded;

/// Other names, without marks, and the key or word that they mean.
const ALIASES: &[(&str, &str)] = &[
    ("args arguments operands in reads sources params parameters tensors", "inputs"),
    ("out outs result results returns ret writes destination", "outputs"),
    ("inplace mutable mutates state", "inout"),
    ("params parameters hyperparameters values numbers attributes attrs", "scalars"),
    ("dims dimensions dim shape shapes sizes extents indices loops ranges", "axes"),
    ("expr expression formula equation equations body code compute definition kernel op einsum", "math"),
    ("rounding", "intermediates"),
    ("tol tolerances atol rtol error accuracy", "tolerance"),
    ("numerics arithmetic compute", "precision"),
    ("determinism reproducible", "deterministic"),
    ("cases benchmarks benchmark bench timings sample samples problem problems", "workloads"),
    ("arch archs architecture architectures device devices platform platforms backend backends", "targets"),
    ("reference references baseline baselines torch pytorch", "peers"),
    ("class kind", "family"),
    ("instruction prompt notes advice hints guidance", "instructions"),
    // of an axis
    ("min max lo hi from to bounds extent size values", "range"),
    ("step multiple stepby align alignment divisible divisibleby", "multiple-of"),
    ("bucket splits bins sizes", "buckets"),
    // of a tensor
    ("dtype shape element", "type"),
    ("const weight weights static frozen param parameter", "constant"),
    ("stride layout ld pitch order", "strides"),
    ("distinct injective", "unique"),
    // of precision
    ("acc accum accumulator accumulation accumulatetype", "accumulate"),
    ("multiplication product tf32 allowtf32 mul", "multiply"),
    ("fast fastmath usefastmath approximate ffastmath", "fast-math"),
    // of tolerance and accept
    ("rtol rel", "relative"),
    ("atol abs", "absolute"),
    ("why because justification", "reason"),
    ("speedup minspeed margin threshold", "min-speedup"),
    // of the settings
    ("spec kernels folder path files", "specs"),
    ("cache storage dir", "store"),
    ("gate mingaterevision", "min-gate"),
    ("hostsource trusted trustedsources sources allow allowed", "host-sources"),
    ("version schema", "edition"),
    // families
    ("gemm matmul mm bmm product products linear", "contraction"),
    ("pointwise map unary binary activation", "elementwise"),
    ("reduction reduce row rows norm normalization softmax", "rowwise"),
    ("cumsum prefix prefixsum", "scan"),
    ("conv convolution pool pooling stencil", "window"),
    ("sdpa flash mha", "attention"),
    ("fused graph", "fused graph"),
];

/// What others declare of a kernel, and no key has.
const UNDECLARED: &[(&str, &str)] = &[
    (
        "temps temporaries locals scratch buffers workspace",
        "a value in between is not declared: it is assigned in `math`; `intermediates` has those that a kernel may round",
    ),
    ("constants consts", "a constant stands in the math; a number that callers give is one of `scalars`"),
    (
        "const constant weight weights",
        "a tensor is marked: `inputs = { w = { type = \"f32[n, k]\", constant = true } }`",
    ),
    (
        "grid block blocks threads warps numwarps numstages stages tile tiles tiling schedule template unroll launch \
         sharedmem smem vectorize",
        "how a kernel runs is not declared: a search finds it",
    ),
    ("name doc docs description comment comments note notes", "a comment stands after `#`"),
    ("dtype dtypes", "each tensor has its own: `inputs = { x = \"f32[m, k]\" }`"),
];

/// What stands for `word` among `known`.
#[must_use]
pub fn key(word: &str, known: &[&str]) -> Option<String> {
    let plain = folded(word);
    let is = |words: &str| words.split(' ').any(|one| one == plain);
    let undeclared = UNDECLARED.iter().filter(|_| known.contains(&"math"));
    if let Some((_, text)) = undeclared.into_iter().find(|(words, _)| is(words)) {
        return Some((*text).to_owned());
    }
    let named = ALIASES.iter().filter(|(words, key)| is(words) && known.contains(key));
    let keys: Vec<String> = named.map(|(_, key)| format!("`{key}`")).collect();
    match keys.as_slice() {
        [] => meant(word, known.iter().copied()),
        keys => Some(format!("did you mean {}?", keys.join(" or "))),
    }
}
