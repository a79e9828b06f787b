//! Indices: integer expressions in brackets, and the proof that an access stays inside.

use std::ops::Range;

use super::value::literal;
use super::{Resolved, Resolver};
use crate::diagnostic::{ACCESS, Diagnostic, KIND, RANGE};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::lexer::Number;
use crate::math::range::{self, Proof};
use crate::math::syntax::{Name, Node, NodeKind};
use crate::math::{Expr, Index, Kind, Place};
use crate::tensor::{Role, Tensor};

impl Resolver<'_> {
    /// `name[indices]` as a value.
    pub(super) fn access(
        &mut self,
        name: &Name,
        indices: &[Node],
        span: &Range<usize>,
    ) -> Resolved<super::Typed> {
        let place = self.readable(name)?;
        let (index, dims) = self.element(place, name, indices, span)?;
        self.check_access(&dims, &index, indices, name)?;
        Ok((Expr::Load(place, index), self.kind_of(place)))
    }

    /// `pad(name[indices], other)`.
    pub(super) fn pad(
        &mut self,
        name: &Name,
        arguments: &[Node],
        span: &Range<usize>,
    ) -> Resolved<super::Typed> {
        let [element, other] = self.arguments(name, arguments, span)?;
        let NodeKind::Access(tensor, indices) = &element.kind else {
            let message = "`pad` takes an element and what stands outside the tensor";
            return Err(Diagnostic::new(ACCESS, element.span.clone(), message, "expected `name[...]`"));
        };
        let place = self.readable(tensor)?;
        let (index, _) = self.element(place, tensor, indices, &element.span)?;
        let kind = self.kind_of(place);
        let load = (Expr::Load(place, index.clone()), kind);
        let outside = self.expr(other)?;
        let whole = [None, literal(other)];
        let ((_, common), (outside, _)) = self.alike(load, outside, whole, &other.span)?;
        if common != kind {
            let message =
                format!("`{}` holds {}, what stands outside is a real number", tensor.text, kind.plural());
            let error = Diagnostic::new(KIND, other.span.clone(), message, "expected an integer");
            return Err(error.help("`cast(i32, ...)` makes one"));
        }
        Ok((Expr::Pad(place, index, Box::new(outside)), kind))
    }

    fn readable(&self, name: &Name) -> Resolved<Place> {
        let place = self.place(&name.text).ok_or_else(|| self.undeclared(&name.text, &name.span))?;
        let Place::Tensor(tensor) = place else { return Ok(place) };
        let text = &name.text;
        match self.scope.tensors[tensor].role {
            Role::Output => {
                let message = format!("output `{text}` is read");
                Err(Diagnostic::new(ACCESS, name.span.clone(), message, "outputs are only written")
                    .help("assign the value to a name of its own first and use that twice"))
            }
            Role::Inout if self.math.assigns.iter().any(|assign| assign.dst == place) => {
                let message = format!("inout `{text}` is read after it was assigned");
                Err(Diagnostic::new(ACCESS, name.span.clone(), message, "its first value is gone here")
                    .help("move this assignment before that one"))
            }
            Role::Input | Role::Inout => Ok(place),
        }
    }

    /// Indices of an element, and the extents they must stay below.
    fn element(
        &mut self,
        place: Place,
        name: &Name,
        indices: &[Node],
        span: &Range<usize>,
    ) -> Resolved<(Vec<Index>, Vec<IntExpr>)> {
        let each = 0..indices.len();
        let index = each.map(|at| self.index_at((place, name), indices, at)).collect::<Resolved<Vec<_>>>()?;
        match place {
            Place::Tensor(t) => {
                self.check_rank(&self.scope.tensors[t], index.len(), span)?;
                Ok((index, self.tensor_dims(t)))
            }
            Place::Temp(t) => {
                let axes = &self.math.temps[t].axes;
                if axes.len() == index.len() {
                    return Ok((index, axes.iter().copied().map(IntExpr::Axis).collect()));
                }
                let names: Vec<&str> = axes.iter().map(|a| self.scope.axes[*a].name.as_str()).collect();
                let message = super::assign::rank(&name.text, axes.len(), index.len());
                let label = format!("assigned as `{}[{}]`", name.text, names.join(", "));
                Err(Diagnostic::new(ACCESS, span.clone(), message, label))
            }
        }
    }

    pub(super) fn tensor_dims(&self, tensor: usize) -> Vec<IntExpr> {
        self.scope.tensors[tensor].dims.clone()
    }

    /// How a tensor is declared, for labels.
    pub(super) fn declared(&self, tensor: &Tensor) -> String {
        format!("declared as {}[{}]", tensor.dtype, self.dims_text(tensor))
    }

    /// The extents of a tensor as a list.
    pub(super) fn dims_text(&self, tensor: &Tensor) -> String {
        tensor.dims.iter().map(|dim| self.extent_text(dim)).collect::<Vec<_>>().join(", ")
    }

    fn extent_text(&self, extent: &IntExpr) -> String {
        extent.text(&|axis| self.scope.axes[axis].name.clone())
    }

    /// Proves that every index stays inside its dimension; there are as many of both.
    pub(super) fn check_access(
        &self,
        dims: &[IntExpr],
        index: &[Index],
        nodes: &[Node],
        name: &Name,
    ) -> Resolved<()> {
        for ((index, dim), node) in index.iter().zip(dims).zip(nodes) {
            self.check_inside(index, dim, &node.span, &name.text)?;
        }
        Ok(())
    }

    fn check_inside(&self, index: &Index, dim: &IntExpr, span: &Range<usize>, name: &str) -> Resolved<()> {
        let extent = self.extent_text(dim);
        match self.domain(|d| range::inside(d, index, dim)) {
            Proof::Inside => Ok(()),
            Proof::Outside { shape, index, extent: found } => {
                let message =
                    format!("this index leaves `{name}`: it reaches {index}{}", self.at_shape(&shape));
                let label = if extent == found.to_string() {
                    format!("expected 0..{extent}")
                } else {
                    format!("expected 0..{extent}, which is 0..{found} there")
                };
                Err(Diagnostic::new(RANGE, span.clone(), message, label)
                    .help(format!("`pad({name}[...], v)` gives v outside")))
            }
            Proof::Unknown => {
                let message = format!("this index cannot be shown to stay inside `{name}`");
                Err(Diagnostic::new(RANGE, span.clone(), message, format!("expected 0..{extent}"))
                    .help(format!("`pad({name}[...], v)` needs no proof and gives v outside")))
            }
        }
    }

    /// ` at m = 7, n = 3`: the run-time axes of a shape.
    fn at_shape(&self, shape: &[i64]) -> String {
        let axes = self.scope.axes.iter().zip(shape).filter(|(axis, _)| axis.is_run_time());
        let texts: Vec<String> = axes.map(|(axis, extent)| format!("{} = {extent}", axis.name)).collect();
        if texts.is_empty() { String::new() } else { format!(" at {}", texts.join(", ")) }
    }

    /// An integer expression in brackets.
    pub(super) fn index(&mut self, node: &Node) -> Resolved<Index> {
        match &node.kind {
            NodeKind::Number(number) => small(*number).map(Index::Const).ok_or_else(|| self.no_integer(node)),
            NodeKind::Name(name) => self.axis_index(name, &node.span),
            NodeKind::Prefix("-", operand) => {
                Ok(Index::op(IntOp::Sub, Index::Const(0), self.index(operand)?))
            }
            NodeKind::Infix(op, a, b) => {
                let op = int_op(op).ok_or_else(|| self.no_integer(node))?;
                let (left, right) = (self.index(a)?, self.index(b)?);
                if matches!(op, IntOp::Div | IntOp::Rem) {
                    self.check_divisor(&right, &b.span)?;
                }
                Ok(Index::op(op, left, right))
            }
            NodeKind::Call(name, arguments) => match name.text.as_str() {
                "len" => self.len(name, arguments, &node.span),
                "min" | "max" => {
                    let [a, b] = self.arguments(name, arguments, &node.span)?;
                    let op = if name.text == "min" { IntOp::Min } else { IntOp::Max };
                    let a = self.index(a)?;
                    Ok(Index::op(op, a, self.index(b)?))
                }
                _ => Err(self.no_integer(node)),
            },
            NodeKind::Access(name, indices) => self.index_read(name, indices, &node.span),
            NodeKind::Prefix(..) | NodeKind::Tuple(_) => Err(self.no_integer(node)),
        }
    }

    fn no_integer(&self, node: &Node) -> Diagnostic {
        let found = match &node.kind {
            NodeKind::Number(number) => format!("`{}` is no integer", number.value),
            NodeKind::Call(name, _) => format!("`{}` cannot stand in an index", name.text),
            NodeKind::Prefix(sign, _) | NodeKind::Infix(sign, ..) => {
                format!("`{sign}` cannot stand in an index")
            }
            NodeKind::Tuple(_) | NodeKind::Name(_) | NodeKind::Access(..) => {
                "a tuple cannot stand in an index".to_owned()
            }
        };
        Diagnostic::new(KIND, node.span.clone(), found, "expected an integer expression")
            .help("axes, integers, `len(a)`, `+ - * / %`, `min`, `max` and integer inputs with a `range`")
    }

    fn axis_index(&self, name: &str, span: &Range<usize>) -> Resolved<Index> {
        let Some(axis) = self.axis(name) else {
            if self.place(name).is_some() || self.scope.scalars.iter().any(|s| s.name == name) {
                let message = format!("`{name}` is no index");
                return Err(Diagnostic::new(KIND, span.clone(), message, "expected an integer expression"));
            }
            return Err(self.no_axis(name, span));
        };
        let help = format!("reduce over it: `sum({name}, ...)`; its extent is `len({name})`");
        self.in_scope(axis).map(Index::Var).ok_or_else(|| self.not_bound(name, span, help))
    }

    /// An index read from an integer input.
    fn index_read(&mut self, name: &Name, indices: &[Node], span: &Range<usize>) -> Resolved<Index> {
        let place = self.readable(name)?;
        let wrong = |message: String, label: &str| Diagnostic::new(KIND, span.clone(), message, label);
        let Place::Tensor(t) = place else {
            return Err(wrong(
                format!("`{}` is no input", name.text),
                "an index is read from integer inputs only",
            )
            .help("compare an axis with it instead: `max(e, where(e == i[t], x[t, e], -inf))`"));
        };
        let tensor = &self.scope.tensors[t];
        if Kind::of(tensor.dtype) != Kind::Int || tensor.role != Role::Input {
            return Err(wrong(format!("`{}` is no integer input", name.text), "expected an integer input"));
        }
        if tensor.range.is_none() {
            let help = format!("declare it as `{{ type = \"{}[...]\", range = \"0..n\" }}`", tensor.dtype);
            return Err(wrong(format!("`{}` has no declared range", name.text), "may be anything").help(help));
        }
        let (index, dims) = self.element(place, name, indices, span)?;
        self.check_access(&dims, &index, indices, name)?;
        Ok(Index::Read(t, index))
    }

    /// Divisors are positive constants or extents that are never 0.
    pub(super) fn check_divisor(&self, divisor: &Index, span: &Range<usize>) -> Resolved<()> {
        let positive = as_extent(divisor)
            .is_some_and(|extent| self.domain(|d| range::at_least(d, &extent, &IntExpr::Const(1))));
        if positive {
            return Ok(());
        }
        let message = "a divisor of integers is a positive constant, or an extent that is never 0";
        Err(Diagnostic::new(RANGE, span.clone(), message, "expected one of these"))
    }
}

/// An index without loop variables and reads, as an expression of axes.
fn as_extent(index: &Index) -> Option<IntExpr> {
    match index {
        Index::Const(value) => Some(IntExpr::Const(*value)),
        Index::Extent(axis) => Some(IntExpr::Axis(*axis)),
        Index::Op(op, a, b) => Some(IntExpr::op(*op, as_extent(a)?, as_extent(b)?)),
        Index::Var(_) | Index::Read(..) => None,
    }
}

/// The integer that a literal is, of those that proofs of ranges take.
fn small(number: Number) -> Option<i64> {
    number.whole.and_then(|whole| i64::try_from(whole).ok()).filter(|whole| *whole <= SMALL)
}

/// What index arithmetic is folded up to.
pub(super) const SMALL: i64 = 1 << 53;

pub(super) fn int_op(sign: &str) -> Option<IntOp> {
    match sign {
        "+" => Some(IntOp::Add),
        "-" => Some(IntOp::Sub),
        "*" => Some(IntOp::Mul),
        "/" => Some(IntOp::Div),
        "%" => Some(IntOp::Rem),
        _ => None,
    }
}
