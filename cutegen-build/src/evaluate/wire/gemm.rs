//! [`Gemm`]: a matrix product in numbers, as cuBLASLt describes one, and [`gemm_of`]: which specs are one. Judge and
//! runner both read it. Knows no library and no device: whether a library takes it, the library says.
//!
//! `d[i + j * ld] = sum over l of op(a)(i, l) * op(b)(l, j)`, with `i < m`, `j < n`, `l < k`, for each matrix of the
//! batch. Matrices are column-major: element `(r, c)` of a stored matrix lies `r + c * ld` elements from its start, the
//! matrix of batch number `z` starts `z * batch_stride` elements from the tensor's. `op(x)(r, c)` is `x(c, r)` where
//! `transposed`. A row-major `d` is therefore the transposed product of the two factors, exchanged.

mod layout;
mod plain;

use cutegen_spec::dtype::DType;
use cutegen_spec::spec::{KernelSpec, Multiply};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::plan::family::Family;
use layout::{Shape, Sizes, shape};
use plain::Plain;

/// A matrix product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gemm {
    /// Rows of `op(a)` and `d`.
    pub m: u64,
    /// Columns of `op(b)` and `d`.
    pub n: u64,
    /// Columns of `op(a)`, rows of `op(b)`.
    pub k: u64,
    /// Matrices of each tensor.
    pub batch: u64,
    /// The left factor.
    pub a: Matrix,
    /// The right factor.
    pub b: Matrix,
    /// The result; never transposed.
    pub d: Matrix,
    /// What products and sums are formed in.
    pub compute: Compute,
    /// Whether 8-bit floats may be summed with fewer bits than f32 has.
    pub fast_accumulation: bool,
    /// Tensors of one `f32` each that the factors are multiplied with.
    pub scales: Vec<usize>,
}

/// One matrix of a product, or a batch of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Matrix {
    /// Position among the spec's tensors.
    pub tensor: usize,
    /// What its elements are.
    pub element: Element,
    /// Whether the product takes its transpose.
    pub transposed: bool,
    /// Elements from a column to the next, as stored.
    pub ld: u64,
    /// Elements from a matrix of the batch to the next; 0 where all use one.
    pub batch_stride: u64,
}

/// Element types of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Element {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// OCP 8-bit float, 4 exponent bits.
    F8e4m3,
    /// OCP 8-bit float, 5 exponent bits.
    F8e5m2,
    /// Signed 8-bit integer.
    I8,
    /// Signed 32-bit integer.
    I32,
}

/// What products and sums are formed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compute {
    /// f64.
    F64,
    /// f32.
    F32,
    /// Products of inputs rounded to TF32, sums in f32.
    Tf32,
    /// Integers of 32 bits.
    I32,
}

impl Matrix {
    /// Rows and columns as stored, of a factor whose `op` has these.
    #[must_use]
    pub fn stored(&self, rows: u64, columns: u64) -> (u64, u64) {
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }
}

impl Element {
    /// The element type of a tensor, if products take it.
    #[must_use]
    pub fn of(dtype: DType) -> Option<Element> {
        Some(match dtype {
            DType::F64 => Element::F64,
            DType::F32 => Element::F32,
            DType::F16 => Element::F16,
            DType::Bf16 => Element::Bf16,
            DType::F8e4m3 => Element::F8e4m3,
            DType::F8e5m2 => Element::F8e5m2,
            DType::I8 => Element::I8,
            DType::I32 => Element::I32,
            DType::U8 | DType::I64 | DType::Bool | DType::I4 | DType::U4 => return None,
        })
    }

    fn is_f8(self) -> bool {
        matches!(self, Element::F8e4m3 | Element::F8e5m2)
    }
}

/// The product that `plan` is at these extents: one sum of products of two tensors, stored as it comes or cast to the
/// output's type, each tensor with a dimension along which its elements are neighbours. 8-bit floats may carry up to two
/// scales. `None` for anything more, for types that no library multiplies as the spec asks, and for empty tensors.
#[must_use]
pub fn gemm_of(plan: &Plan, axes: &[i64]) -> Option<Gemm> {
    let Family::Contraction { .. } = plan.family else { return None };
    let spec = &plan.spec;
    let found = Plain::of(spec, &plan.schedule)?;
    let element = |tensor: usize| Element::of(spec.tensors[tensor].dtype);
    let types = (element(found.a.tensor)?, element(found.b.tensor)?, element(found.d.tensor)?);
    let compute = compute(spec, types, &found.scales)?;
    let sizes = Sizes { spec, vars: &plan.schedule.vars, axes };
    let Shape { m, n, k, batch, a, b, d } = shape(&sizes, &found)?;
    let fast_accumulation = spec.precision.fast_math && types.0.is_f8();
    Some(Gemm { m, n, k, batch, a, b, d, compute, fast_accumulation, scales: found.scales })
}

/// What the spec has products of these types formed in, where that is something a library offers.
fn compute(spec: &KernelSpec, (a, b, d): (Element, Element, Element), scales: &[usize]) -> Option<Compute> {
    use Element::{Bf16, F8e5m2, F16, F32, F64, I8, I32};
    let single = spec.precision.accumulate == DType::F32;
    let scalable = a.is_f8() && scales.len() <= 2;
    let plain_scales = scales.iter().all(|s| spec.tensors[*s].dtype == DType::F32);
    if !(scales.is_empty() || scalable && plain_scales) {
        return None;
    }
    match (a, b, d) {
        (F64, F64, F64) => Some(Compute::F64),
        (I8, I8, I32) => Some(Compute::I32),
        (F32, F32, F32) if single => Some(match spec.precision.multiply {
            Multiply::Native => Compute::F32,
            Multiply::Tf32 => Compute::Tf32,
        }),
        (F16, F16, F16 | F32) | (Bf16, Bf16, Bf16 | F32) if single => Some(Compute::F32),
        (F8e5m2, F8e5m2, _) => None,
        (a, b, F16 | Bf16 | F32) if single && a.is_f8() && b.is_f8() => Some(Compute::F32),
        _ => None,
    }
}
