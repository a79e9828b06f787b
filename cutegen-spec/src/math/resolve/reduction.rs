//! Reductions and the prelude: what binds axes and what loops over them.

use std::ops::Range;

use super::{Resolved, Resolver, Typed};
use crate::diagnostic::{ASSIGN, Diagnostic, RANGE, SYNTAX, UNDECLARED};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::range;
use crate::math::syntax::{Name, Node, NodeKind};
use crate::math::{Binary, Expr, Index, Kind, Loop, ReduceOp, Unary};

/// Values of at most so many nodes are written out where the prelude needs them twice; larger ones get a name.
const SMALL: usize = 8;

impl Resolver<'_> {
    /// Whether a first argument makes `max` or `min` a reduction.
    pub(super) fn binds(&self, node: Option<&Node>) -> bool {
        match node.map(|n| &n.kind) {
            Some(NodeKind::Name(name)) => self.axis(name).is_some_and(|a| self.in_scope(a).is_none()),
            Some(NodeKind::Tuple(_) | NodeKind::Infix("<=" | "<" | ">=" | ">", ..)) => true,
            _ => false,
        }
    }

    pub(super) fn reduction(
        &mut self,
        name: &Name,
        arguments: &[Node],
        span: &Range<usize>,
    ) -> Resolved<Typed> {
        let [over, body] = self.arguments(name, arguments, span)?;
        let scope = self.bound.len();
        let loops = self.loops(over).map_err(|error| self.axis_first(error, name, arguments));
        let reduced = loops.and_then(|loops| Ok((loops, self.number(body)?)));
        self.unbind(scope);
        let (loops, (body, kind)) = reduced?;
        let Some(op) = ReduceOp::parse(&name.text) else {
            let count = self.count(&loops);
            let sum = Expr::Reduce(ReduceOp::Sum, loops, Box::new(body));
            return Ok((sum.binary(Binary::Div, Expr::Int(count)), Kind::Real));
        };
        if op.gives_index() {
            self.check_arg(op, &loops, &over.span)?;
            return Ok((Expr::Reduce(op, loops, Box::new(body)), Kind::Int));
        }
        Ok((Expr::Reduce(op, loops, Box::new(body)), kind))
    }

    fn check_arg(&self, op: ReduceOp, loops: &[Loop], span: &Range<usize>) -> Resolved<()> {
        let [one] = loops else {
            let message = format!("`{}` runs over one axis", op.name());
            return Err(Diagnostic::new(SYNTAX, span.clone(), message, "expected one axis"));
        };
        let axis = self.math.vars[one.var];
        if self.domain(|d| range::at_least(d, &IntExpr::Axis(axis), &IntExpr::Const(1))) {
            return Ok(());
        }
        let message =
            format!("axis `{}` may be empty, then `{}` has no index", self.scope.axes[axis].name, op.name());
        Err(Diagnostic::new(RANGE, span.clone(), message, "may have extent 0"))
    }

    /// Binds what the first argument names.
    fn loops(&mut self, over: &Node) -> Resolved<Vec<Loop>> {
        let items = match &over.kind {
            NodeKind::Tuple(items) => items.as_slice(),
            _ => std::slice::from_ref(over),
        };
        let mut loops: Vec<Loop> = Vec::new();
        for item in items {
            self.one_loop(item, &mut loops)?;
        }
        Ok(loops)
    }

    fn one_loop(&mut self, item: &Node, loops: &mut Vec<Loop>) -> Resolved<()> {
        match &item.kind {
            NodeKind::Name(name) => {
                let axis = self.reduced_axis(name, &item.span, loops, false)?;
                loops.push(Loop::whole(self.bind(axis)));
                Ok(())
            }
            NodeKind::Infix(op @ ("<=" | "<" | ">=" | ">"), left, right) => {
                if let Some(axis) = self.free_axis(right).filter(|_| self.free_axis(left).is_none()) {
                    return Err(turned(item, axis, op));
                }
                let NodeKind::Name(name) = &left.kind else {
                    let message = "a bound reads `axis <= expression`";
                    return Err(Diagnostic::new(SYNTAX, left.span.clone(), message, "expected an axis"));
                };
                let axis = self.reduced_axis(name, &left.span, loops, true)?;
                let hidden = self.hide(axis, loops);
                let bound = self.index(right);
                self.bound.extend(hidden);
                let bound = bound?;
                let position = match loops.iter().position(|l| self.math.vars[l.var] == axis) {
                    Some(position) => position,
                    None => {
                        loops.push(Loop::whole(self.bind(axis)));
                        loops.len() - 1
                    }
                };
                self.tighten(&mut loops[position], op, bound);
                Ok(())
            }
            _ => Err(Diagnostic::new(
                SYNTAX,
                item.span.clone(),
                "a reduction runs over axes",
                "expected an axis, or a bound such as `t <= c`",
            )),
        }
    }

    /// The axis that `node` names, if nothing binds it.
    pub(super) fn free_axis<'n>(&self, node: &'n Node) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Name(name) => {
                self.axis(name).is_some_and(|a| self.in_scope(a).is_none()).then_some(name.as_str())
            }
            _ => None,
        }
    }

    /// Takes the axis out of scope while its own bound is read.
    fn hide(&mut self, axis: usize, loops: &[Loop]) -> Option<(usize, usize)> {
        let position =
            self.bound.iter().rposition(|(a, v)| *a == axis && loops.iter().any(|l| l.var == *v))?;
        Some(self.bound.remove(position))
    }

    /// The axis that a reduction names: not bound outside it, and only bounds may name it twice.
    fn reduced_axis(&self, name: &str, span: &Range<usize>, loops: &[Loop], bound: bool) -> Resolved<usize> {
        let axis = self.axis(name).ok_or_else(|| self.no_axis(name, span))?;
        let own = loops.iter().any(|l| self.math.vars[l.var] == axis);
        if self.in_scope(axis).is_none() || (own && bound) {
            return Ok(axis);
        }
        let message = format!("axis `{name}` is already bound here");
        let error = Diagnostic::new(ASSIGN, span.clone(), message, "expected an axis that is free here");
        Err(error.help(format!(
            "declare a second axis of the same extent, such as `{name}2 = \"{name}\"`, and reduce over that"
        )))
    }

    fn tighten(&mut self, l: &mut Loop, op: &str, bound: Index) {
        let next = |index: Index| Index::op(IntOp::Add, index, Index::Const(1));
        let merge = |old: Option<Index>, new: Index, op: IntOp| match old {
            Some(old) => Index::op(op, old, new),
            None => new,
        };
        match op {
            "<=" => l.to = Some(merge(l.to.take(), next(bound), IntOp::Min)),
            "<" => l.to = Some(merge(l.to.take(), bound, IntOp::Min)),
            ">=" => l.from = Some(merge(l.from.take(), bound, IntOp::Max)),
            _ => l.from = Some(merge(l.from.take(), next(bound), IntOp::Max)),
        }
        if let Some(known) = &mut self.bounds[l.var] {
            (known.from, known.to) = (l.from.clone(), l.to.clone());
        }
    }

    /// How many terms a reduction has.
    fn count(&self, loops: &[Loop]) -> Index {
        let one = |l: &Loop| {
            let extent = Index::Extent(self.math.vars[l.var]);
            if l.is_whole() {
                return extent;
            }
            let to = l.to.clone().map_or(extent.clone(), |to| Index::op(IntOp::Min, to, extent));
            let from = l.from.clone().map(|from| Index::op(IntOp::Max, from, Index::Const(0)));
            let span = Index::op(IntOp::Sub, to, from.unwrap_or(Index::Const(0)));
            Index::op(IntOp::Max, span, Index::Const(0))
        };
        loops.iter().map(one).reduce(|a, b| Index::op(IntOp::Mul, a, b)).unwrap_or(Index::Const(1))
    }

    /// `softmax`, `log_softmax`, `layer_norm`, `rms_norm`: written out over a fresh variable of the axis.
    pub(super) fn prelude(
        &mut self,
        name: &Name,
        arguments: &[Node],
        span: &Range<usize>,
    ) -> Resolved<Typed> {
        let wants_eps = name.text.ends_with("_norm");
        let (over, body, eps) = if wants_eps {
            let [over, body, eps] = self.arguments(name, arguments, span)?;
            (over, body, Some(self.number(eps)?.0))
        } else {
            let [over, body] = self.arguments(name, arguments, span)?;
            (over, body, None)
        };
        let NodeKind::Name(axis_name) = &over.kind else {
            let message = format!("`{}` takes an axis first", name.text);
            let error = Diagnostic::new(SYNTAX, over.span.clone(), message, "expected an axis");
            return Err(self
                .bounded(name, over, body)
                .unwrap_or_else(|| self.axis_first(error, name, arguments)));
        };
        let axis = self.axis(axis_name).ok_or_else(|| self.no_axis(axis_name, &over.span))?;
        let var = self.in_scope(axis).ok_or_else(|| {
            let message = format!("`{}` keeps axis `{axis_name}`, which is not bound here", name.text);
            Diagnostic::new(UNDECLARED, over.span.clone(), message, "expected an axis of the left side")
        })?;
        if !self.is_whole(var) {
            let message =
                format!("`{}` runs over all of axis `{axis_name}`, which is bounded here", name.text);
            return Err(Diagnostic::new(
                ASSIGN,
                over.span.clone(),
                message,
                "expected an axis without a bound",
            ));
        }
        let value = self.number(body)?;
        let value = self.named(value);
        let inner = self.fresh(axis);
        let moved = value.rename(var, inner);
        let expanded = expand(&name.text, value, moved, inner, axis, eps);
        self.check_size(&expanded, span)?;
        Ok((expanded, Kind::Real))
    }

    fn is_whole(&self, var: usize) -> bool {
        self.bounds[var].as_ref().is_some_and(|bound| bound.from.is_none() && bound.to.is_none())
    }

    /// `value` or, where it is large, a load of a temporary that holds it.
    fn named(&mut self, (value, kind): Typed) -> Expr {
        let vars = value.free_vars();
        if value.size() <= SMALL || !vars.iter().all(|var| self.is_whole(*var)) {
            return value;
        }
        let index = vars.iter().copied().map(Index::Var).collect();
        Expr::Load(self.name_value("", vars, (value, kind)), index)
    }
}

/// A bound whose reduced axis stands on the right.
fn turned(item: &Node, axis: &str, op: &str) -> Diagnostic {
    let op = match op {
        "<=" => ">=",
        "<" => ">",
        ">=" => "<=",
        _ => "<",
    };
    let message = format!("the reduced axis `{axis}` stands on the right of its bound");
    Diagnostic::new(SYNTAX, item.span.clone(), message, "expected the axis on the left")
        .help(format!("turn it round: `{axis} {op} ...`"))
}

fn mean(body: Expr, var: usize, axis: usize) -> Expr {
    body.reduce(ReduceOp::Sum, var).binary(Binary::Div, Expr::Int(Index::Extent(axis)))
}

/// The prelude's definitions. `moved` is `value` with the kept axis's variable replaced by `inner`.
fn expand(name: &str, value: Expr, moved: Expr, inner: usize, axis: usize, eps: Option<Expr>) -> Expr {
    let eps = eps.unwrap_or(Expr::Const(0.0));
    let largest = moved.clone().reduce(ReduceOp::Max, inner);
    let shifted = |e: Expr| e.binary(Binary::Sub, largest.clone());
    let total = |e: Expr| shifted(e).unary(Unary::Exp).reduce(ReduceOp::Sum, inner);
    let scale = |square: Expr| square.binary(Binary::Add, eps.clone()).unary(Unary::Rsqrt);
    match name {
        "softmax" => shifted(value).unary(Unary::Exp).binary(Binary::Div, total(moved)),
        "log_softmax" => shifted(value).binary(Binary::Sub, total(moved).unary(Unary::Log)),
        "layer_norm" => {
            let average = mean(moved.clone(), inner, axis);
            let off = |e: Expr| e.binary(Binary::Sub, average.clone());
            let square = off(moved.clone()).binary(Binary::Mul, off(moved));
            off(value).binary(Binary::Mul, scale(mean(square, inner, axis)))
        }
        _ => {
            let square = moved.clone().binary(Binary::Mul, moved);
            value.binary(Binary::Mul, scale(mean(square, inner, axis)))
        }
    }
}
