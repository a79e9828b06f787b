//! Tree to [`Math`]: binds names, proves accesses in range, expands the prelude.
//!
//! A call whose first argument is an axis that nothing binds yet is a reduction, and binds it; the prelude's axis
//! stays free. Every error of a kernel's math is collected, one per assignment.

use std::collections::BTreeMap;
use std::ops::Range;

use super::func::{AXIS_CALLS, Binary, RESERVED, ReduceOp, Unary, callable};
use super::syntax::{Name, Node, NodeKind, Statement, parse};
use super::{Assign, Expr, Math, Place, Temp};
use crate::axis::{Axis, Extent};
use crate::diagnostic::{self, ACCESS, ASSIGN, Diagnostic, SYNTAX, UNDECLARED, nearest};
use crate::dtype::DType;
use crate::int_expr::IntExpr;
use crate::tensor::{Role, Scalar, Tensor};

/// What the math may name.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Declared axes.
    pub axes: &'a [Axis],
    /// Declared tensors.
    pub tensors: &'a [Tensor],
    /// Declared scalars.
    pub scalars: &'a [Scalar],
    /// Values that a kernel may round.
    pub intermediates: &'a BTreeMap<String, DType>,
}

/// Parses and resolves `text`. Spans of the errors are byte ranges of `text`.
pub fn resolve(text: &str, scope: Scope<'_>) -> Result<Math, Vec<Diagnostic>> {
    let statements = parse(text).map_err(|error| vec![error])?;
    let mut resolver = Resolver { scope, math: Math::default(), bound: Vec::new() };
    let mut errors: Vec<Diagnostic> =
        statements.iter().filter_map(|statement| resolver.statement(statement).err()).collect();
    if errors.is_empty() {
        errors.extend(resolver.unassigned(text.len()));
        errors.extend(resolver.unread(text.len()));
    }
    if errors.is_empty() { Ok(resolver.math) } else { Err(errors) }
}

type Resolved<T> = Result<T, Diagnostic>;

struct Resolver<'a> {
    scope: Scope<'a>,
    math: Math,
    /// Axis positions in scope with their loop variables, innermost last.
    bound: Vec<(usize, usize)>,
}

impl Resolver<'_> {
    fn statement(&mut self, statement: &Statement) -> Resolved<()> {
        self.bound.clear();
        let vars = self.left_vars(&statement.indices)?;
        let dst = self.destination(&statement.target, &vars)?;
        let value = self.expr(&statement.value)?;
        let dst = match dst {
            Some(tensor) => Place::Tensor(tensor),
            None => {
                let may_round = self.scope.intermediates.get(&statement.target.text).copied();
                let axes = vars.iter().map(|v| self.math.vars[*v]).collect();
                self.math.temps.push(Temp { name: statement.target.text.clone(), axes, may_round });
                Place::Temp(self.math.temps.len() - 1)
            }
        };
        self.math.assigns.push(Assign { dst, vars, value });
        Ok(())
    }

    fn fresh(&mut self, axis: usize) -> usize {
        self.math.vars.push(axis);
        self.math.vars.len() - 1
    }

    fn axis(&self, name: &str) -> Option<usize> {
        self.scope.axes.iter().position(|axis| axis.name == name)
    }

    fn in_scope(&self, axis: usize) -> Option<usize> {
        self.bound.iter().rev().find(|(a, _)| *a == axis).map(|(_, var)| *var)
    }

    /// The left side's indices: distinct axes.
    fn left_vars(&mut self, indices: &[Node]) -> Resolved<Vec<usize>> {
        let mut vars = Vec::new();
        for index in indices {
            let NodeKind::Name(name) = &index.kind else {
                return Err(reserved(&index.span, "an index expression on the left side"));
            };
            let axis = self.axis(name).ok_or_else(|| self.no_axis(name, &index.span))?;
            if self.in_scope(axis).is_some() {
                let message = format!("axis `{name}` occurs twice on the left side");
                return Err(Diagnostic::new(ASSIGN, index.span.clone(), message, "expected distinct axes"));
            }
            let var = self.fresh(axis);
            self.bound.push((axis, var));
            vars.push(var);
        }
        Ok(vars)
    }

    /// The assigned output, or `None` for a new temporary.
    fn destination(&self, target: &Name, vars: &[usize]) -> Resolved<Option<usize>> {
        let wrong =
            |message: String, label: &str| Err(Diagnostic::new(ASSIGN, target.span.clone(), message, label));
        let name = &target.text;
        if self.math.temps.iter().any(|temp| temp.name == *name) {
            return wrong(format!("`{name}` is assigned twice"), "already has a value");
        }
        if self.axis(name).is_some() || self.scope.scalars.iter().any(|s| s.name == *name) {
            return wrong(format!("`{name}` is an axis or a scalar"), "cannot be assigned");
        }
        let Some(tensor) = self.scope.tensors.iter().position(|tensor| tensor.name == *name) else {
            return Ok(None);
        };
        match self.scope.tensors[tensor].role {
            Role::Input => return wrong(format!("input `{name}` is assigned"), "inputs are only read"),
            Role::Inout => return Err(reserved(&target.span, "assigning an `inout` tensor")),
            Role::Output => {}
        }
        if self.math.assigns.iter().any(|assign| assign.dst == Place::Tensor(tensor)) {
            return wrong(format!("output `{name}` is assigned twice"), "already has a value");
        }
        self.check_access(tensor, vars, &target.span)?;
        Ok(Some(tensor))
    }

    /// Proves that `vars` stay inside the tensor: each dimension's extent is the variable's axis.
    fn check_access(&self, tensor: usize, vars: &[usize], span: &Range<usize>) -> Resolved<()> {
        let tensor = &self.scope.tensors[tensor];
        let expected = || {
            let dims: Vec<String> = tensor.dims.iter().map(|dim| self.dim_name(dim)).collect();
            format!("declared as {}[{}]", tensor.dtype, dims.join(", "))
        };
        if vars.len() != tensor.dims.len() {
            let message =
                format!("`{}` has {} dimensions, found {}", tensor.name, tensor.dims.len(), vars.len());
            return Err(Diagnostic::new(ACCESS, span.clone(), message, expected()));
        }
        for (var, dim) in vars.iter().zip(&tensor.dims) {
            if !self.fits(self.math.vars[*var], dim) {
                let axis = &self.scope.axes[self.math.vars[*var]].name;
                let message = format!("axis `{axis}` may leave a dimension of `{}`", tensor.name);
                return Err(Diagnostic::new(ACCESS, span.clone(), message, expected()));
            }
        }
        Ok(())
    }

    fn fits(&self, axis: usize, dim: &IntExpr) -> bool {
        let constant = |axis: usize| match self.scope.axes[axis].extent {
            Extent::Const(value) => Some(value),
            Extent::Range { .. } | Extent::Derived(_) => None,
        };
        match dim {
            IntExpr::Axis(dim) => {
                *dim == axis || (constant(*dim).is_some() && constant(*dim) == constant(axis))
            }
            IntExpr::Const(extent) => constant(axis) == Some(*extent),
            IntExpr::Device(_) | IntExpr::Op(..) => false,
        }
    }

    fn dim_name(&self, dim: &IntExpr) -> String {
        match dim {
            IntExpr::Axis(axis) => self.scope.axes[*axis].name.clone(),
            IntExpr::Const(_) | IntExpr::Device(_) | IntExpr::Op(..) => dim.to_string(),
        }
    }

    fn expr(&mut self, node: &Node) -> Resolved<Expr> {
        match &node.kind {
            NodeKind::Number(value) => Ok(Expr::Const(*value)),
            NodeKind::Name(name) => self.name(name, &node.span),
            NodeKind::Access(name, indices) => self.access(name, indices, &node.span),
            NodeKind::Call(name, arguments) => self.call(name, arguments, &node.span),
            NodeKind::Prefix("-", operand) => Ok(self.expr(operand)?.unary(Unary::Neg)),
            NodeKind::Prefix(op, _) => Err(reserved(&node.span, op)),
            NodeKind::Infix(op, a, b) => {
                let op = infix(op).ok_or_else(|| reserved(&node.span, op))?;
                let a = self.expr(a)?;
                Ok(a.binary(op, self.expr(b)?))
            }
            NodeKind::Tuple(_) => {
                let message = "a tuple is no value";
                Err(Diagnostic::new(SYNTAX, node.span.clone(), message, "expected one expression"))
            }
        }
    }

    fn name(&mut self, name: &str, span: &Range<usize>) -> Resolved<Expr> {
        if name == "inf" {
            return Ok(Expr::Const(f64::INFINITY));
        }
        if let Some(scalar) = self.scope.scalars.iter().position(|s| s.name == name) {
            return Ok(Expr::Scalar(scalar));
        }
        if let Some(axis) = self.axis(name) {
            return self.in_scope(axis).map(Expr::Index).ok_or_else(|| {
                let message = format!("axis `{name}` is not bound here");
                Diagnostic::new(
                    UNDECLARED,
                    span.clone(),
                    message,
                    "neither on the left side nor reduced over",
                )
                .help(format!("reduce over it: `sum({name}, ...)`; its extent is `len({name})`"))
            });
        }
        if self.place(name).is_some() {
            return self.access(&Name { text: name.to_owned(), span: span.clone() }, &[], span);
        }
        Err(self.undeclared(name, span))
    }

    fn place(&self, name: &str) -> Option<Place> {
        let tensor = self.scope.tensors.iter().position(|t| t.name == name).map(Place::Tensor);
        tensor.or_else(|| self.math.temps.iter().position(|t| t.name == name).map(Place::Temp))
    }

    fn undeclared(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let known = self.scope.tensors.iter().map(|t| t.name.as_str());
        let known = known.chain(self.math.temps.iter().map(|t| t.name.as_str()));
        let known = known.chain(self.scope.scalars.iter().map(|s| s.name.as_str()));
        let known = known.chain(self.scope.axes.iter().map(|a| a.name.as_str()));
        let error = Diagnostic::new(
            UNDECLARED,
            span.clone(),
            format!("`{name}` is not declared"),
            "no such name here",
        );
        match nearest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn no_axis(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let error =
            Diagnostic::new(UNDECLARED, span.clone(), format!("`{name}` is no axis"), "expected an axis");
        match nearest(name, self.scope.axes.iter().map(|a| a.name.as_str())) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn access(&mut self, name: &Name, indices: &[Node], span: &Range<usize>) -> Resolved<Expr> {
        let place = self.place(&name.text).ok_or_else(|| self.undeclared(&name.text, &name.span))?;
        let vars = indices.iter().map(|index| self.index(index)).collect::<Resolved<Vec<_>>>()?;
        match place {
            Place::Tensor(tensor) if self.scope.tensors[tensor].role == Role::Output => {
                let message = format!("output `{}` is read", name.text);
                Err(Diagnostic::new(ACCESS, span.clone(), message, "outputs are only written")
                    .help("assign the value to a name of its own first and use that twice"))
            }
            Place::Tensor(tensor) => {
                self.check_access(tensor, &vars, span)?;
                Ok(Expr::Load(place, vars))
            }
            Place::Temp(temp) => {
                let found: Vec<usize> = vars.iter().map(|v| self.math.vars[*v]).collect();
                if found == self.math.temps[temp].axes {
                    return Ok(Expr::Load(place, vars));
                }
                let message = format!("`{}` is indexed by other axes than it was assigned with", name.text);
                Err(Diagnostic::new(
                    ACCESS,
                    span.clone(),
                    message,
                    "expected the same axes in the same order",
                ))
            }
        }
    }

    fn index(&self, node: &Node) -> Resolved<usize> {
        let NodeKind::Name(name) = &node.kind else {
            return Err(reserved(&node.span, "index arithmetic"));
        };
        let axis = self.axis(name).ok_or_else(|| self.no_axis(name, &node.span))?;
        self.in_scope(axis).ok_or_else(|| {
            let message = format!("axis `{name}` is not bound here");
            Diagnostic::new(
                UNDECLARED,
                node.span.clone(),
                message,
                "neither on the left side nor reduced over",
            )
            .help(format!("reduce over it: `sum({name}, ...)`"))
        })
    }

    fn call(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Expr> {
        if RESERVED.contains(&name.text.as_str()) {
            return Err(reserved(&name.span, &name.text));
        }
        if let Some(op) = Unary::parse(&name.text) {
            let [x] = self.arguments(name, arguments, span)?;
            return Ok(self.expr(x)?.unary(op));
        }
        match name.text.as_str() {
            "len" => self.len(name, arguments, span),
            "clamp" => {
                let [x, lo, hi] = self.arguments(name, arguments, span)?;
                let low = self.expr(x)?.binary(Binary::Max, self.expr(lo)?);
                Ok(low.binary(Binary::Min, self.expr(hi)?))
            }
            "max" | "min" if !self.is_free_axis(arguments.first()) => {
                let [a, b] = self.arguments(name, arguments, span)?;
                let op = if name.text == "max" { Binary::Max } else { Binary::Min };
                let a = self.expr(a)?;
                Ok(a.binary(op, self.expr(b)?))
            }
            "sum" | "max" | "min" | "mean" => self.reduction(name, arguments, span),
            word if AXIS_CALLS.contains(&word) => self.prelude(name, arguments, span),
            word => {
                let message = format!("`{word}` is no function");
                let error = Diagnostic::new(UNDECLARED, name.span.clone(), message, "not in the language");
                Err(match nearest(word, callable()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
        }
    }

    fn arguments<'n, const N: usize>(
        &self,
        name: &Name,
        arguments: &'n [Node],
        span: &Range<usize>,
    ) -> Resolved<&'n [Node; N]> {
        arguments.try_into().map_err(|_| {
            let message = format!("`{}` takes {N} arguments, found {}", name.text, arguments.len());
            Diagnostic::new(SYNTAX, span.clone(), message, format!("expected {N} arguments"))
        })
    }

    fn len(&self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Expr> {
        let [axis] = self.arguments(name, arguments, span)?;
        match &axis.kind {
            NodeKind::Name(text) => {
                self.axis(text).map(Expr::Extent).ok_or_else(|| self.no_axis(text, &axis.span))
            }
            _ => Err(Diagnostic::new(SYNTAX, axis.span.clone(), "`len` takes an axis", "expected an axis")),
        }
    }

    fn is_free_axis(&self, node: Option<&Node>) -> bool {
        match node.map(|n| &n.kind) {
            Some(NodeKind::Name(name)) => self.axis(name).is_some_and(|a| self.in_scope(a).is_none()),
            Some(NodeKind::Tuple(_) | NodeKind::Infix("<=" | "<" | ">=" | ">", ..)) => true,
            _ => false,
        }
    }

    fn reduction(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Expr> {
        let [over, body] = self.arguments(name, arguments, span)?;
        let NodeKind::Name(axis_name) = &over.kind else {
            return Err(reserved(&over.span, "a reduction over several axes or a bounded one"));
        };
        let axis = self.axis(axis_name).ok_or_else(|| self.no_axis(axis_name, &over.span))?;
        if self.in_scope(axis).is_some() {
            let message = format!("axis `{axis_name}` is already bound here");
            return Err(Diagnostic::new(
                ASSIGN,
                over.span.clone(),
                message,
                "expected an axis that is free here",
            ));
        }
        let var = self.fresh(axis);
        self.bound.push((axis, var));
        let body = self.expr(body);
        self.bound.pop();
        let body = body?;
        Ok(match name.text.as_str() {
            "max" => body.reduce(ReduceOp::Max, var),
            "min" => body.reduce(ReduceOp::Min, var),
            "mean" => mean(body, var, axis),
            _ => body.reduce(ReduceOp::Sum, var),
        })
    }

    /// `softmax`, `log_softmax`, `layer_norm`, `rms_norm`: written out over a fresh variable of the axis.
    fn prelude(&mut self, name: &Name, arguments: &[Node], span: &Range<usize>) -> Resolved<Expr> {
        let wants_eps = name.text.ends_with("_norm");
        let (over, body, eps) = if wants_eps {
            let [over, body, eps] = self.arguments(name, arguments, span)?;
            (over, body, Some(self.expr(eps)?))
        } else {
            let [over, body] = self.arguments(name, arguments, span)?;
            (over, body, None)
        };
        let NodeKind::Name(axis_name) = &over.kind else {
            return Err(Diagnostic::new(SYNTAX, over.span.clone(), "expected an axis", "not an axis"));
        };
        let axis = self.axis(axis_name).ok_or_else(|| self.no_axis(axis_name, &over.span))?;
        let var = self.in_scope(axis).ok_or_else(|| {
            let message = format!("`{}` keeps axis `{axis_name}`, which is not bound here", name.text);
            Diagnostic::new(UNDECLARED, over.span.clone(), message, "expected an axis of the left side")
        })?;
        let value = self.expr(body)?;
        let inner = self.fresh(axis);
        let moved = value.rename(var, inner);
        Ok(expand(&name.text, value, moved, inner, axis, eps))
    }

    fn unassigned(&self, end: usize) -> Vec<Diagnostic> {
        let assigned = |i| self.math.assigns.iter().any(|a| a.dst == Place::Tensor(i));
        let outputs = self.scope.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input);
        outputs
            .filter(|(i, _)| !assigned(*i))
            .map(|(_, t)| {
                let message = format!("output `{}` is never assigned", t.name);
                Diagnostic::new(ASSIGN, 0..end, message, format!("expected `{}[...] = ...`", t.name))
            })
            .collect()
    }

    fn unread(&self, end: usize) -> Vec<Diagnostic> {
        let mut read = std::collections::BTreeSet::new();
        for assign in &self.math.assigns {
            assign.value.visit(&mut |expr| {
                if let Expr::Load(place, _) = expr {
                    read.insert(*place);
                }
            });
        }
        let inputs = self.scope.tensors.iter().enumerate().filter(|(_, t)| t.role == Role::Input);
        let inputs = inputs.filter(|(i, _)| !read.contains(&Place::Tensor(*i))).map(|(_, t)| &t.name);
        let temps = self.math.temps.iter().enumerate().filter(|(i, _)| !read.contains(&Place::Temp(*i)));
        let unread = inputs.chain(temps.map(|(_, t)| &t.name));
        unread
            .map(|name| {
                Diagnostic::new(ASSIGN, 0..end, format!("`{name}` is never read"), "expected a use of it")
            })
            .collect()
    }
}

fn infix(op: &str) -> Option<Binary> {
    match op {
        "+" => Some(Binary::Add),
        "-" => Some(Binary::Sub),
        "*" => Some(Binary::Mul),
        "/" => Some(Binary::Div),
        _ => None,
    }
}

fn reserved(span: &Range<usize>, what: &str) -> Diagnostic {
    let message = format!("{what} is reserved by edition 1 and not computed by this version yet");
    Diagnostic::new(diagnostic::RESERVED, span.clone(), message, "not supported yet")
}

fn mean(body: Expr, var: usize, axis: usize) -> Expr {
    body.reduce(ReduceOp::Sum, var).binary(Binary::Div, Expr::Extent(axis))
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
