//! Dtypes by the names of PyTorch, NumPy, CUDA and C.

use super::Instead::{Called, Said};
use super::{Instead, Row, find, meant};
use crate::dtype::DType;

const NAMES: &[Row] = &[
    ("double float64 fp64 doubletensor", Called("f64")),
    ("float float32 fp32 single floattensor", Called("f32")),
    ("half float16 fp16 halftensor", Called("f16")),
    ("bfloat16 bfloat brainfloat nvbfloat16 bfloat16tensor", Called("bf16")),
    ("float8e4m3 float8e4m3fn e4m3 e4m3fn fp8e4m3 f8e4m3fn nvfp8e4m3 floate4m3 fp8e4m3fn", Called("f8e4m3")),
    ("float8e5m2 e5m2 fp8e5m2 nvfp8e5m2 floate5m2", Called("f8e5m2")),
    ("fp8 float8 f8 quarter", Said("say which: `f8e4m3` is the finer one, `f8e5m2` the wider one")),
    (
        "float8e4m3fnuz float8e5m2fnuz e4m3fnuz e5m2fnuz f8e4m3fnuz f8e5m2fnuz float8e8m0fnu e8m0 ue8m0 f8e8m0",
        Said("of 8-bit floats there are `f8e4m3` and `f8e5m2` of OCP, and no others"),
    ),
    (
        "float4 fp4 f4 e2m1 nvfp4 mxfp4 float4e2m1fnx2 float6 fp6 f6",
        Said("there are no floats of fewer than 8 bits"),
    ),
    (
        "tf32 tfloat32",
        Said("tensors are `f32`; products of TF32 are asked for by `precision = { multiply = \"tf32\" }`"),
    ),
    ("float128 fp128 f128 longdouble quad", Said("`f64` is the widest float")),
    ("int8 int8t s8 char schar chartensor", Called("i8")),
    ("uint8 uint8t byte uchar bytetensor", Called("u8")),
    ("int int32 int32t s32 inttensor", Called("i32")),
    ("int64 int64t long longlong s64 longtensor", Called("i64")),
    ("int4 s4", Called("i4")),
    ("uint4", Called("u4")),
    ("boolean bool8 pred i1 booltensor", Called("bool")),
    ("int16 int16t short i16 s16", Said("there are no integers of 16 bits: widen them to `i32`")),
    ("uint16 uint16t ushort u16", Said("there are no integers of 16 bits: widen them to `i32`")),
    (
        "uint uint32 uint32t u32 uint64 uint64t u64 ulong sizet usize isize unsigned",
        Said("unsigned integers are `u8` and `u4`; wider ones are `i32` and `i64`"),
    ),
    ("int128 i128 u128", Said("`i64` is the widest integer")),
    ("int2 uint2 i2 u2 int1 uint1 u1", Said("the smallest integers are `i4` and `u4`")),
    (
        "complex complex64 complex128 c64 c128 cfloat cdouble complexfloat",
        Said("complex numbers are two tensors, or a last axis of 2"),
    ),
    ("str string object", Said("tensors hold numbers")),
];

/// Widths that a type may have: a word that ends in one is meant as it stands, and no slip of the pen.
const WIDTHS: [&str; 9] = ["1", "2", "4", "6", "8", "16", "32", "64", "128"];

/// The dtype of the same numbers as `word`, by any name.
#[must_use]
pub fn same_dtype(word: &str) -> Option<DType> {
    let word = bare(word);
    match find(NAMES, word) {
        Some(Called(name)) => DType::parse(name),
        Some(_) => None,
        None => DType::ALL.into_iter().find(|dtype| dtype.name() == word),
    }
}

/// What stands for `word`, which is none of the dtypes that fit.
#[must_use]
pub fn dtype(word: &str, fits: impl Fn(DType) -> bool) -> Option<String> {
    if let Some(Instead::Said(text)) = find(NAMES, bare(word)) {
        return Some(text.to_owned());
    }
    match same_dtype(word) {
        Some(dtype) => fits(dtype).then(|| format!("did you mean `{dtype}`?")),
        None if is_width(word) => None,
        None => meant(word, DType::ALL.into_iter().filter(|dtype| fits(*dtype)).map(DType::name)),
    }
}

/// The names of the dtypes that `fits`, for labels.
#[must_use]
pub fn dtypes(fits: impl Fn(DType) -> bool) -> String {
    let names: Vec<&str> = DType::ALL.into_iter().filter(|dtype| fits(*dtype)).map(DType::name).collect();
    names.join(", ")
}

/// Without the module and the marks that a library puts around it: `torch.float32`, `__nv_bfloat16`, `cutlass::half_t`.
fn bare(word: &str) -> &str {
    let word = word.rsplit(['.', ':']).next().unwrap_or(word);
    let word = word.trim_start_matches("__").trim_start_matches("jnp_");
    match word {
        "half_t" | "bfloat16_t" | "float_e4m3_t" | "float_e5m2_t" | "tfloat32_t" => {
            word.trim_end_matches("_t")
        }
        _ => word,
    }
}

fn is_width(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    digits.len() < word.len() && WIDTHS.contains(&digits)
}
