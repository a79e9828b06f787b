//! [`Tensor`] and [`Scalar`]: a kernel's arguments, in the order in which a launch passes them.

use crate::dtype::DType;
use crate::int_expr::IntExpr;

/// What a kernel does with a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Only read.
    Input,
    /// Read and partly assigned.
    Inout,
    /// Only written, every element.
    Output,
}

impl Role {
    /// The table a spec declares it in.
    #[must_use]
    pub fn table(self) -> &'static str {
        match self {
            Role::Input => "inputs",
            Role::Inout => "inout",
            Role::Output => "outputs",
        }
    }
}

/// A tensor argument. Row-major and dense unless strides are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The name in the spec; not part of the kernel's identity.
    pub name: String,
    /// What the kernel does with it.
    pub role: Role,
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension, outermost first.
    pub dims: Vec<IntExpr>,
    /// Whether the values are weights: the same at every launch.
    pub constant: bool,
    /// Stride of each dimension in elements; `None` is row-major and dense.
    pub strides: Option<Vec<IntExpr>>,
    /// What the values of an integer input lie in.
    pub range: Option<ValueRange>,
    /// Whether no two elements are equal.
    pub unique: bool,
}

/// The declared range of an integer input's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The smallest value.
    pub from: IntExpr,
    /// One past the largest value.
    pub to: IntExpr,
}

impl Tensor {
    /// Number of elements at these axis extents; `None` on overflow.
    #[must_use]
    pub fn elements(&self, axes: &[i64]) -> Option<i64> {
        self.dims.iter().try_fold(1_i64, |product, dim| product.checked_mul(dim.eval_axes(axes)?))
    }

    /// Bytes at these axis extents; `None` on overflow.
    #[must_use]
    pub fn bytes(&self, axes: &[i64]) -> Option<i64> {
        let bits = self.elements(axes)?.checked_mul(i64::from(self.dtype.bits()))?;
        Some((bits + 7) / 8)
    }

    /// Row-major strides in elements at these axis extents.
    #[must_use]
    pub fn strides(&self, axes: &[i64]) -> Option<Vec<i64>> {
        let mut strides = vec![1; self.dims.len()];
        for d in (1..self.dims.len()).rev() {
            strides[d - 1] = self.dims[d].eval_axes(axes)?.checked_mul(strides[d])?;
        }
        Some(strides)
    }
}

/// A run-time scalar argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The name in the spec; not part of the kernel's identity.
    pub name: String,
    /// Its type: `f32` or `f64`.
    pub dtype: DType,
}
