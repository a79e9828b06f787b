//! [`Tensor`] and [`Scalar`]: a kernel's arguments, in the order in which a launch passes them.

use crate::dtype::DType;
use crate::int_expr::{IntExpr, IntOp};

/// What a kernel does with a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

    /// Elements of its memory at these axis extents, from the first addressed one to the last, gaps included; 0 when
    /// it is empty, `None` on overflow.
    #[must_use]
    pub fn span(&self, axes: &[i64]) -> Option<i64> {
        let mut last = 0_i64;
        for (dim, stride) in self.dims.iter().zip(self.strides(axes)?) {
            let extent = dim.eval_axes(axes)?;
            if extent == 0 {
                return Some(0);
            }
            last = last.checked_add((extent - 1).checked_mul(stride)?)?;
        }
        last.checked_add(1)
    }

    /// Bytes of its memory at these axis extents; `None` on overflow.
    #[must_use]
    pub fn bytes(&self, axes: &[i64]) -> Option<i64> {
        let bits = self.span(axes)?.checked_mul(i64::from(self.dtype.bits()))?;
        Some(bits.div_euclid(8) + i64::from(bits % 8 != 0))
    }

    /// Strides in elements at these axis extents: the declared ones, or those of a dense row-major tensor.
    #[must_use]
    pub fn strides(&self, axes: &[i64]) -> Option<Vec<i64>> {
        if let Some(strides) = &self.strides {
            return strides.iter().map(|stride| stride.eval_axes(axes)).collect();
        }
        let mut strides = vec![1; self.dims.len()];
        for d in (1..self.dims.len()).rev() {
            strides[d - 1] = self.dims[d].eval_axes(axes)?.checked_mul(strides[d])?;
        }
        Some(strides)
    }

    /// Strides in elements, in axes: the declared ones, or those of a dense row-major tensor.
    #[must_use]
    pub fn stride_exprs(&self) -> Vec<IntExpr> {
        if let Some(strides) = &self.strides {
            return strides.clone();
        }
        let mut strides = vec![IntExpr::Const(1); self.dims.len()];
        for d in (1..self.dims.len()).rev() {
            strides[d - 1] = match &strides[d] {
                IntExpr::Const(1) => self.dims[d].clone(),
                inner => IntExpr::op(IntOp::Mul, inner.clone(), self.dims[d].clone()),
            };
        }
        strides
    }
}

/// A run-time scalar argument.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Scalar {
    /// The name in the spec; not part of the kernel's identity.
    pub name: String,
    /// Its type: `f32` or `f64`.
    pub dtype: DType,
}

#[cfg(test)]
mod tests {
    use super::{Role, Tensor};
    use crate::dtype::DType;
    use crate::int_expr::IntExpr;

    fn tensor(dtype: DType, dims: &[i64], strides: Option<&[i64]>) -> Tensor {
        let exprs = |values: &[i64]| values.iter().map(|v| IntExpr::Const(*v)).collect();
        Tensor {
            name: "x".to_owned(),
            role: Role::Input,
            dtype,
            dims: exprs(dims),
            constant: false,
            strides: strides.map(exprs),
            range: None,
            unique: false,
        }
    }

    fn sizes(tensor: &Tensor) -> (Option<i64>, Option<i64>, Option<i64>) {
        (tensor.elements(&[]), tensor.span(&[]), tensor.bytes(&[]))
    }

    #[test]
    fn dense_tensors_span_their_elements() {
        assert_eq!(sizes(&tensor(DType::F16, &[3, 5], None)), (Some(15), Some(15), Some(30)));
        assert_eq!(sizes(&tensor(DType::I4, &[3, 5], None)), (Some(15), Some(15), Some(8)));
        assert_eq!(sizes(&tensor(DType::F32, &[], None)), (Some(1), Some(1), Some(4)));
        assert_eq!(sizes(&tensor(DType::F32, &[0, 5], None)), (Some(0), Some(0), Some(0)));
    }

    #[test]
    fn strided_tensors_span_their_gaps() {
        let padded = tensor(DType::F32, &[3, 5], Some(&[8, 1]));
        assert_eq!((padded.strides(&[]), sizes(&padded)), (Some(vec![8, 1]), (Some(15), Some(21), Some(84))));
        let column = tensor(DType::U4, &[3, 5], Some(&[1, 3]));
        assert_eq!(sizes(&column), (Some(15), Some(15), Some(8)));
        assert_eq!(sizes(&tensor(DType::F32, &[0, 5], Some(&[8, 1]))), (Some(0), Some(0), Some(0)));
        assert_eq!(sizes(&tensor(DType::F32, &[3, 0], Some(&[8, 1]))), (Some(0), Some(0), Some(0)));
    }

    #[test]
    fn overflow_has_no_size() {
        assert_eq!(tensor(DType::F32, &[3, 2], Some(&[i64::MAX, 1])).span(&[]), None);
        assert_eq!(tensor(DType::F64, &[i64::MAX / 8], None).bytes(&[]), None);
        assert_eq!(tensor(DType::F32, &[i64::MAX, 3], None).span(&[]), None);
    }
}
