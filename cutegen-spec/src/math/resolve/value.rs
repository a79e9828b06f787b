//! Expressions outside brackets: names, operators and functions, each with its kind.

use std::ops::Range;

use super::access::{SMALL, int_op};
use super::{Resolved, Resolver, Typed, name_of};
use crate::diagnostic::{Diagnostic, KIND, SYNTAX, UNDECLARED};
use crate::dtype::DType;
use crate::hint;
use crate::int_expr::IntOp;
use crate::math::func::{PRELUDE, REDUCTIONS, callable};
use crate::math::syntax::{Name, Node, NodeKind};
use crate::math::{Binary, Expr, Index, Kind, Unary};

impl Resolver<'_> {
    pub(super) fn expr(&mut self, node: &Node) -> Resolved<Typed> {
        match &node.kind {
            NodeKind::Number(number) => Ok((Expr::Const(self.held(number.value, &node.span)?), Kind::Real)),
            NodeKind::Name(name) => self.name(name, &node.span),
            NodeKind::Access(name, indices) => self.access(name, indices, &node.span),
            NodeKind::Call(name, arguments) => self.call(name, arguments, &node.span),
            NodeKind::Prefix("not", operand) => {
                let condition = self.condition(operand)?;
                Ok((condition.unary(Unary::Not), Kind::Cond))
            }
            NodeKind::Prefix(_, operand) => {
                let (value, kind) = self.number(operand)?;
                Ok(negated(value, kind))
            }
            NodeKind::Infix(op, a, b) => self.infix(op, a, b),
            NodeKind::Tuple(_) => {
                let message = "a tuple is no value";
                Err(Diagnostic::new(SYNTAX, node.span.clone(), message, "expected one expression"))
            }
        }
    }

    /// A literal that the accumulation type holds, though it may round it.
    fn held(&self, value: f64, span: &Range<usize>) -> Resolved<f64> {
        let accumulate = self.scope.accumulate;
        let held = if accumulate == DType::F32 { f64::from(value as f32) } else { value };
        let how = match value {
            _ if held.is_infinite() => "beyond its largest number",
            _ if held == 0.0 && value != 0.0 => "below its smallest",
            _ => return Ok(value),
        };
        let message = format!("`{value:e}` is no number of {accumulate}, in which this kernel computes");
        let error = Diagnostic::new(KIND, span.clone(), message, how);
        Err(error.help("compute in f64: `precision = { accumulate = \"f64\" }`"))
    }

    /// A real or an integer.
    pub(super) fn number(&mut self, node: &Node) -> Resolved<Typed> {
        let (value, kind) = self.expr(node)?;
        if kind != Kind::Cond {
            return Ok((value, kind));
        }
        let message = "a condition stands where a number is needed";
        Err(Diagnostic::new(KIND, node.span.clone(), message, "a condition").help("write `where(..., 1, 0)`"))
    }

    fn condition(&mut self, node: &Node) -> Resolved<Expr> {
        let (value, kind) = self.expr(node)?;
        if kind == Kind::Cond {
            return Ok(value);
        }
        let message = format!("{} stands where a condition is needed", kind.name());
        Err(Diagnostic::new(KIND, node.span.clone(), message, "no condition").help("compare it: `... != 0`"))
    }

    /// Two values brought to one kind: literals beside integers are integers. `whole` are those that the two are.
    pub(super) fn alike(
        &self,
        a: Typed,
        b: Typed,
        whole: [Option<i64>; 2],
        span: &Range<usize>,
    ) -> Resolved<(Typed, Typed)> {
        match (a.1, b.1) {
            (Kind::Cond, Kind::Cond) | (Kind::Int, Kind::Int) | (Kind::Real, Kind::Real) => Ok((a, b)),
            (Kind::Cond, _) | (_, Kind::Cond) => {
                let message = "a condition and a number stand side by side";
                Err(Diagnostic::new(KIND, span.clone(), message, "of the other kind"))
            }
            (Kind::Int, Kind::Real) => Ok(match whole[1] {
                Some(value) => (a, (Expr::Int(Index::Const(value)), Kind::Int)),
                None => ((a.0, Kind::Real), b),
            }),
            (Kind::Real, Kind::Int) => Ok(match whole[0] {
                Some(value) => ((Expr::Int(Index::Const(value)), Kind::Int), b),
                None => (a, (b.0, Kind::Real)),
            }),
        }
    }

    fn infix(&mut self, sign: &'static str, left: &Node, right: &Node) -> Resolved<Typed> {
        let span = left.span.start..right.span.end;
        let op = Binary::infix(sign).expect("the parser takes no other sign for an operator");
        if matches!(op, Binary::And | Binary::Or) {
            let a = self.condition(left)?;
            return Ok((a.binary(op, self.condition(right)?), Kind::Cond));
        }
        let (a, b) = (self.number(left)?, self.number(right)?);
        if op == Binary::Div {
            return Ok((a.0.binary(op, b.0), Kind::Real));
        }
        let ((a, ka), (b, kb)) = self.alike(a, b, [literal(left), literal(right)], &span)?;
        let ints = ka == Kind::Int && kb == Kind::Int;
        if op.compares() {
            return Ok((a.binary(op, b), Kind::Cond));
        }
        if op == Binary::Rem {
            return self.remainder(a, b, ints, &span, &right.span);
        }
        if !ints {
            return Ok((a.binary(op, b), Kind::Real));
        }
        Ok((fold(op, sign, a, b), Kind::Int))
    }

    fn remainder(
        &self,
        a: Expr,
        b: Expr,
        ints: bool,
        span: &Range<usize>,
        divisor: &Range<usize>,
    ) -> Resolved<Typed> {
        let Expr::Int(by) = &b else {
            let message = "`%` is the remainder of integers";
            return Err(Diagnostic::new(KIND, span.clone(), message, "expected an integer and a divisor"));
        };
        if !ints {
            let message = "`%` is the remainder of integers";
            return Err(Diagnostic::new(KIND, span.clone(), message, "not an integer"));
        }
        self.check_divisor(by, divisor)?;
        Ok((fold(Binary::Rem, "%", a, b), Kind::Int))
    }

    fn name(&mut self, name: &str, span: &Range<usize>) -> Resolved<Typed> {
        if name == "inf" {
            return Ok((Expr::Const(f64::INFINITY), Kind::Real));
        }
        if let Some(scalar) = self.scope.scalars.iter().position(|s| s.name == name) {
            return Ok((Expr::Scalar(scalar), Kind::Real));
        }
        if let Some(axis) = self.axis(name) {
            let help = format!("reduce over it: `sum({name}, ...)`; its extent is `len({name})`");
            let var = self.in_scope(axis).ok_or_else(|| self.not_bound(name, span, help))?;
            return Ok((Expr::Int(Index::Var(var)), Kind::Int));
        }
        if self.place(name).is_some() {
            return self.access(&name_of(name, span), &[], span);
        }
        Err(self.undeclared(name, span))
    }

    fn call(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Typed> {
        let word = name.text.as_str();
        if let Some(op) = Unary::parse(word) {
            let [x] = self.arguments(name, arguments, span)?;
            let (value, kind) = self.number(x)?;
            let keeps = matches!(op, Unary::Abs | Unary::Sign) && kind == Kind::Int;
            return Ok((value.unary(op), if keeps { Kind::Int } else { Kind::Real }));
        }
        match word {
            "len" => Ok((Expr::Int(self.len(name, arguments, span)?), Kind::Int)),
            "pad" => self.pad(name, arguments, span),
            "cast" => self.cast(name, arguments, span),
            "where" => self.choice(name, arguments, span),
            "pow" => {
                let [a, b] = self.arguments(name, arguments, span)?;
                let a = self.number(a)?.0;
                Ok((a.binary(Binary::Pow, self.number(b)?.0), Kind::Real))
            }
            "clamp" => {
                let [x, lo, hi] = self.arguments(name, arguments, span)?;
                let low = self.two(Binary::Max, x, lo)?;
                let high = self.number(hi)?;
                let ((a, kind), (b, _)) = self.alike(low, high, [None, literal(hi)], span)?;
                Ok((a.binary(Binary::Min, b), kind))
            }
            "max" | "min" if !self.binds(arguments.first()) => {
                let [a, b] = self.arguments(name, arguments, span)?;
                if let Some(axis) = self.free_axis(b) {
                    let help = format!("the axis comes first: `{word}({axis}, ...)`");
                    return Err(self.not_bound(axis, &b.span, help));
                }
                self.two(if word == "max" { Binary::Max } else { Binary::Min }, a, b)
            }
            _ if REDUCTIONS.contains(&word) => self.reduction(name, arguments, span),
            _ if PRELUDE.contains(&word) => self.prelude(name, arguments, span),
            _ => {
                let message = format!("`{word}` is no function");
                let error = Diagnostic::new(UNDECLARED, name.span.clone(), message, "not in the language");
                let element = self
                    .element_of(word)
                    .map(|element| format!("elements are read by brackets: `{element}`"));
                let help = element.or_else(|| hint::function(word, &callable().collect::<Vec<_>>()));
                Err(Diagnostic { help, ..error })
            }
        }
    }

    /// `max` or `min` of two numbers.
    fn two(&mut self, op: Binary, a: &Node, b: &Node) -> Resolved<Typed> {
        let span = a.span.start..b.span.end;
        let whole = [literal(a), literal(b)];
        let (a, b) = (self.number(a)?, self.number(b)?);
        let ((a, kind), (b, _)) = self.alike(a, b, whole, &span)?;
        Ok((a.binary(op, b), kind))
    }

    fn choice(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Typed> {
        let [c, a, b] = self.arguments(name, arguments, span)?;
        let (other, whole) = (b.span.clone(), [literal(a), literal(b)]);
        let c = self.condition(c)?;
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        let ((a, kind), (b, _)) = self.alike(a, b, whole, &other)?;
        Ok((Expr::Where(Box::new([c, a, b])), kind))
    }

    fn cast(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Typed> {
        let [to, value] = self.arguments(name, arguments, span)?;
        let word = match &to.kind {
            NodeKind::Name(word) => word.as_str(),
            _ => "",
        };
        let Some(dtype) = DType::parse(word).filter(|d| is_castable(*d)) else {
            let message = match word {
                "" => "`cast` takes a dtype first".to_owned(),
                "bool" => "nothing is cast to `bool`".to_owned(),
                _ => format!("`{word}` is no dtype"),
            };
            let label = format!("expected one of {}", hint::dtypes(is_castable));
            let error = Diagnostic::new(KIND, to.span.clone(), message, label);
            let help = match word {
                "bool" => Some("compare it: `... != 0`".to_owned()),
                _ => hint::dtype(word, is_castable),
            };
            return Err(Diagnostic { help, ..error });
        };
        let (value, _) = self.number(value)?;
        Ok((Expr::Cast(dtype, Box::new(value)), Kind::of(dtype)))
    }

    pub(super) fn len(&self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Index> {
        let [axis] = self.arguments(name, arguments, span)?;
        match &axis.kind {
            NodeKind::Name(text) => {
                self.axis(text).map(Index::Extent).ok_or_else(|| self.no_axis(text, &axis.span))
            }
            _ => Err(Diagnostic::new(SYNTAX, axis.span.clone(), "`len` takes an axis", "expected an axis")),
        }
    }

    pub(super) fn arguments<'n, const N: usize>(
        &self,
        name: &Name,
        arguments: &'n [Node],
        span: &Range<usize>,
    ) -> Resolved<&'n [Node; N]> {
        arguments.try_into().map_err(|_| {
            let arguments_text = if N == 1 { "argument" } else { "arguments" };
            let message = format!("`{}` takes {N} {arguments_text}, found {}", name.text, arguments.len());
            let error =
                Diagnostic::new(SYNTAX, span.clone(), message, format!("expected {N} {arguments_text}"));
            self.axis_first(error, name, arguments)
        })
    }
}

fn is_castable(dtype: DType) -> bool {
    dtype != DType::Bool
}

fn negated(value: Expr, kind: Kind) -> Typed {
    match value {
        Expr::Int(index) => (Expr::Int(Index::op(IntOp::Sub, Index::Const(0), index)), kind),
        value => (value.unary(Unary::Neg), kind),
    }
}

/// An operation on integers: index arithmetic where both sides are that.
fn fold(op: Binary, sign: &str, a: Expr, b: Expr) -> Expr {
    let is_large =
        |x: &Expr| matches!(x, Expr::Int(Index::Const(value)) if value.unsigned_abs() > SMALL.unsigned_abs());
    if is_large(&a) || is_large(&b) {
        return a.binary(op, b);
    }
    match (a, b, int_op(sign)) {
        (Expr::Int(a), Expr::Int(b), Some(int)) => Expr::Int(Index::op(int, a, b)),
        (a, b, _) => a.binary(op, b),
    }
}

/// The integer that a literal stands for beside integers.
pub(super) fn literal(node: &Node) -> Option<i64> {
    fn whole(node: &Node) -> Option<i128> {
        match &node.kind {
            NodeKind::Number(number) => number.whole,
            NodeKind::Prefix("-", inner) => whole(inner).and_then(i128::checked_neg),
            _ => None,
        }
    }
    whole(node).and_then(|whole| i64::try_from(whole).ok())
}
