//! [`Operand`]: how a factor of a product is copied to shared memory: along which dimension its elements are neighbours, in
//! how wide copies, and what that asks of extents and addresses. And its text: where it lies, for `struct Problem`.

use cutegen_spec::axis::{Axis, Extent};
use cutegen_spec::contract::tensor_map::{Base, Fill, TensorMap};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Condition;
use cutegen_spec::int_expr::{IntExpr, IntOp};

use super::super::lanes::{constant, gcd};
use crate::plan::matmul::{Matmul, View};
use crate::print;

/// Bytes of an element of tensor cores.
pub(super) const ELEMENT: i64 = 2;
/// Bytes of a line of L2.
const LINE: i64 = 128;

/// One side of a product.
pub(super) struct Operand<'a> {
    axes: &'a [Axis],
    matmul: &'a Matmul,
    view: &'a View,
    /// The last variable of its rows, of which there may be none.
    row: Option<usize>,
    rows: IntExpr,
}

impl<'a> Operand<'a> {
    /// The factor with the rows.
    pub(super) fn a(axes: &'a [Axis], matmul: &'a Matmul) -> Self {
        Self { axes, matmul, view: matmul.a(), row: matmul.m.last().copied(), rows: matmul.rows() }
    }

    /// The factors with the columns.
    pub(super) fn b(axes: &'a [Axis], matmul: &'a Matmul) -> Vec<Self> {
        let one = |product: &'a crate::plan::matmul::Product| Self {
            axes,
            matmul,
            view: &product.b,
            row: matmul.n,
            rows: matmul.columns(),
        };
        matmul.products.iter().map(one).collect()
    }

    /// The tensor.
    pub(super) fn tensor(&self) -> usize {
        self.view.tensor
    }

    fn row_stride(&self) -> IntExpr {
        self.row.map_or(IntExpr::Const(1), |var| self.view.stride(var))
    }

    fn k_stride(&self) -> IntExpr {
        self.matmul.k.last().map_or(IntExpr::Const(1), |var| self.view.stride(*var))
    }

    /// Whether tiles lie in shared memory as rows of k: everywhere but where elements are neighbours along rows alone.
    pub(super) fn is_k_major(&self) -> bool {
        let is_one = |stride: &IntExpr| constant(self.axes, stride) == Some(1);
        is_one(&self.k_stride()) || self.row.is_none() || !is_one(&self.row_stride())
    }

    /// Whether one loader serves both: constant strides are equal, and all others are known at run time.
    pub(super) fn lies_as(&self, other: &Operand<'_>) -> bool {
        let constants =
            |of: &Operand<'_>| [of.row_stride(), of.k_stride()].map(|stride| constant(of.axes, &stride));
        constants(self) == constants(other)
    }

    /// What copies of so many bytes ask of a launch, elements having `element`; none where they are never possible.
    pub(super) fn conditions(&self, bytes: i64, element: i64) -> Option<Vec<Condition>> {
        let elements = bytes / element;
        if elements == 1 {
            return Some(Vec::new());
        }
        let (along, length, line) = if self.is_k_major() {
            (self.k_stride(), self.matmul.terms(), self.row.map(|_| self.row_stride()))
        } else {
            (self.row_stride(), self.rows.clone(), Some(self.k_stride()))
        };
        if constant(self.axes, &along) != Some(1) {
            return None;
        }
        let batch = self.matmul.batch.iter().map(|var| self.view.stride(*var));
        let whole = batch.chain(line).chain([length, self.view.offset.clone()]);
        let multiples = multiples(self.axes, whole, elements)?;
        let aligned = Condition::Aligned { tensor: self.tensor(), bytes: bytes.cast_unsigned() };
        Some(std::iter::once(aligned).chain(multiples).collect())
    }

    /// Whether its elements are neighbours along k or along rows.
    pub(super) fn is_dense(&self) -> bool {
        let along = if self.is_k_major() { self.k_stride() } else { self.row_stride() };
        constant(self.axes, &along) == Some(1)
    }

    /// Where it lies, (batches, outer, inner) of elements that are neighbours along the last.
    pub(super) fn lines(&self) -> Lines {
        let rows = self.rows.clone();
        // a single row has no stride, and descriptors want one
        let stride = if self.row.is_some() { self.row_stride() } else { self.matmul.terms() };
        let (outer, inner, stride) = if self.is_k_major() {
            (rows, self.matmul.terms(), stride)
        } else {
            (self.matmul.terms(), rows, self.k_stride())
        };
        let last = self.matmul.batch.last().filter(|_| self.is_batched());
        let batch_stride = last.map_or_else(|| stride.clone(), |var| self.view.stride(*var));
        let batches = if self.is_batched() { self.matmul.batches() } else { IntExpr::Const(1) };
        Lines {
            offset: self.view.offset.clone(),
            dims: [batches, outer, inner],
            strides: [batch_stride, stride],
        }
    }

    /// Whether boxes of 128 bytes have parts of two lines of as many in memory.
    pub(super) fn straddles(&self) -> bool {
        self.lines().straddle(self.axes)
    }

    /// Whether all batches share it, or lie one after another.
    pub(super) fn is_of_three_dimensions(&self) -> bool {
        !self.is_batched() || self.matmul.is_one_dimension(self.axes, self.view, &self.matmul.batch)
    }

    /// Whether any batch has its own.
    pub(super) fn is_batched(&self) -> bool {
        self.matmul.batch.iter().any(|var| self.view.strides.contains_key(var))
    }

    /// Its descriptor, by boxes of so many rows and terms.
    pub(super) fn map(&self, dtype: DType, rows: i64, terms: i64) -> TensorMap {
        let promotion = if self.straddles() { LINE } else { 2 * LINE };
        let map = map_of(Base::Tensor(self.tensor()), dtype, self.lines(), self.box_of(rows, terms));
        TensorMap { promotion: promotion as u32, ..map }
    }

    /// Extents of a box of so many rows and terms.
    pub(super) fn box_of(&self, rows: i64, terms: i64) -> [i64; 3] {
        if self.is_k_major() { [1, rows, terms] } else { [1, terms, rows] }
    }

    /// The expression of a `Source` in a member function that knows `batch`.
    pub(super) fn source(&self) -> String {
        let mut address = print::int(&self.view.offset);
        let mut decode = String::new();
        for var in self.matmul.batch.iter().rev() {
            let axis = self.matmul.axis(*var);
            decode += &format!(
                "    const Integer v{var} = remainder(batch, Integer(a{axis}));\n    batch = quotient(batch, Integer(a{axis}));\n"
            );
            if self.view.strides.contains_key(var) {
                address += &format!(" + v{var} * Integer({})", print::int(&self.view.stride(*var)));
            }
        }
        let stride = |expr: &IntExpr| match constant(self.axes, expr) {
            Some(value) => format!("cute::Int<{value}>{{}}"),
            None => format!("Integer({})", print::int(expr)),
        };
        format!(
            "{decode}    return source(t{} + ({address}), {}, {}, Integer({}), k());\n",
            self.view.tensor,
            stride(&self.row_stride()),
            stride(&self.k_stride()),
            print::int(&self.rows)
        )
    }
}

/// A matrix of a batch in memory: (batches, outer, inner) with strides of the first two, in elements.
pub(super) struct Lines {
    pub(super) offset: IntExpr,
    pub(super) dims: [IntExpr; 3],
    pub(super) strides: [IntExpr; 2],
}

impl Lines {
    /// Whether rows do not begin at lines of memory; rows of an unknown distance are taken to.
    fn straddle(&self, axes: &[Axis]) -> bool {
        let strays =
            |stride: &IntExpr| constant(axes, stride).is_some_and(|stride| stride * ELEMENT % LINE != 0);
        self.strides.iter().any(strays)
    }
}

/// A descriptor by boxes of up to 128 bytes in a row, which are swizzled whole.
pub(super) fn map_of(base: Base, dtype: DType, lines: Lines, tile: [i64; 3]) -> TensorMap {
    let row = tile[2] * dtype.bytes() as i64;
    TensorMap {
        base,
        dtype,
        offset: lines.offset,
        dims: lines.dims.to_vec(),
        strides: lines.strides.into_iter().chain([IntExpr::Const(1)]).collect(),
        tile: tile.map(|extent| extent as u32).to_vec(),
        every: vec![1; 3],
        swizzle: row as u32,
        promotion: 256,
        fill: Fill::Zero,
    }
}

/// What must hold so that so many elements divide each of these; none where one is known not to be a multiple.
pub(super) fn multiples(
    axes: &[Axis],
    of: impl IntoIterator<Item = IntExpr>,
    elements: i64,
) -> Option<Vec<Condition>> {
    let mut conditions = Vec::new();
    for expr in of {
        let known = divisor(axes, &expr);
        if known % elements != 0 && constant(axes, &expr).is_some() {
            return None;
        }
        let condition = Condition::Divides { expr, by: elements };
        if known % elements != 0 && !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    Some(conditions)
}

/// What divides an expression at every extent that the spec allows.
fn divisor(axes: &[Axis], expr: &IntExpr) -> i64 {
    match expr {
        IntExpr::Const(value) => *value,
        IntExpr::Device(_) => 1,
        IntExpr::Axis(axis) => match &axes[*axis].extent {
            Extent::Const(value) => *value,
            Extent::Derived(derived) => divisor(axes, derived),
            Extent::Range { multiple_of, .. } => *multiple_of,
        },
        IntExpr::Op(IntOp::Mul, a, b) => divisor(axes, a).saturating_mul(divisor(axes, b)),
        IntExpr::Op(IntOp::Add | IntOp::Sub, a, b) => gcd(divisor(axes, a), divisor(axes, b)),
        IntExpr::Op(..) => constant(axes, expr).unwrap_or(1),
    }
}

/// The widest accesses of all of these that extents allow, and what they ask; none where they are narrower than `least`.
pub(super) fn widest(operands: &[&Operand<'_>], element: i64, least: i64) -> Option<(i64, Vec<Condition>)> {
    [16, 8, 4, 2].into_iter().filter(|bytes| *bytes >= least).find_map(|bytes| {
        let all: Option<Vec<_>> = operands.iter().map(|operand| operand.conditions(bytes, element)).collect();
        Some((bytes, all?.concat()))
    })
}
