//! Tree to [`Math`]: binds names, proves accesses in range, settles kinds, expands the prelude.
//!
//! A call whose first argument is an axis that nothing binds yet is a reduction, and binds it; the prelude's axis
//! stays free. Every error of a kernel's math is collected, one per assignment. This module owns assignments and the
//! names in scope; [`value`] resolves expressions, [`access`] indices, [`reduction`] what loops.

mod access;
mod assign;
mod reduction;
mod value;

use std::collections::BTreeMap;
use std::ops::Range;

use super::range::{Domain, VarBound};
use super::syntax::{Name, parse};
use super::{Assign, Expr, Index, Kind, Math, Place, Temp};
use crate::axis::Axis;
use crate::diagnostic::{ASSIGN, Diagnostic, SIZE, UNDECLARED, nearest};
use crate::dtype::DType;
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

/// Most assignments of one kernel.
const MAX_ASSIGNMENTS: usize = 256;
/// Most nodes of one assignment once the prelude is written out.
const MAX_NODES: usize = 4096;

/// Parses and resolves `text`. Spans of the errors are byte ranges of `text`.
pub fn resolve(text: &str, scope: Scope<'_>) -> Result<Math, Vec<Diagnostic>> {
    let statements = parse(text).map_err(|error| vec![error])?;
    if let Some(statement) = statements.get(MAX_ASSIGNMENTS) {
        let message = format!("math has more than {MAX_ASSIGNMENTS} assignments");
        return Err(vec![Diagnostic::new(SIZE, statement.target.span.clone(), message, "one too many")]);
    }
    let mut resolver = Resolver { scope, math: Math::default(), bound: Vec::new(), bounds: Vec::new() };
    let mut failed = Vec::new();
    let mut errors = Vec::new();
    for statement in &statements {
        match resolver.statement(statement) {
            Ok(()) => {}
            // what a failed assignment would have named is not reported again where it is read
            Err(error) if !mentions(&error, &failed) => {
                failed.push(statement.target.text.clone());
                errors.push(error);
            }
            Err(_) => failed.push(statement.target.text.clone()),
        }
    }
    if errors.is_empty() {
        errors.extend(resolver.unassigned(text.len()));
        errors.extend(resolver.unread(text.len()));
    }
    if errors.is_empty() { Ok(resolver.math) } else { Err(errors) }
}

fn mentions(error: &Diagnostic, failed: &[String]) -> bool {
    error.code == UNDECLARED && failed.iter().any(|name| error.message.starts_with(&format!("`{name}` ")))
}

type Resolved<T> = Result<T, Diagnostic>;

/// An expression and what it is.
type Typed = (Expr, Kind);

struct Resolver<'a> {
    scope: Scope<'a>,
    math: Math,
    /// Axis positions in scope with their loop variables, innermost last.
    bound: Vec<(usize, usize)>,
    /// What every loop variable runs over, by variable; none for those out of scope.
    bounds: Vec<Option<VarBound>>,
}

impl Resolver<'_> {
    fn fresh(&mut self, axis: usize) -> usize {
        self.math.vars.push(axis);
        self.bounds.push(None);
        self.math.vars.len() - 1
    }

    /// A fresh variable of `axis`, in scope.
    fn bind(&mut self, axis: usize) -> usize {
        let var = self.fresh(axis);
        self.bounds[var] = Some(VarBound::whole(axis));
        self.bound.push((axis, var));
        var
    }

    /// Leaves the loops inside the first `depth`.
    fn unbind(&mut self, depth: usize) {
        for (_, var) in self.bound.drain(depth..) {
            self.bounds[var] = None;
        }
    }

    fn axis(&self, name: &str) -> Option<usize> {
        self.scope.axes.iter().position(|axis| axis.name == name)
    }

    fn in_scope(&self, axis: usize) -> Option<usize> {
        self.bound.iter().rev().find(|(a, _)| *a == axis).map(|(_, var)| *var)
    }

    fn place(&self, name: &str) -> Option<Place> {
        let tensor = self.scope.tensors.iter().position(|t| t.name == name).map(Place::Tensor);
        tensor.or_else(|| self.math.temps.iter().position(|t| t.name == name).map(Place::Temp))
    }

    fn kind_of(&self, place: Place) -> Kind {
        match place {
            Place::Tensor(t) => Kind::of(self.scope.tensors[t].dtype),
            Place::Temp(t) => self.math.temps[t].kind,
        }
    }

    /// Runs `prove` with what is known of axes, loops and index inputs.
    fn domain<T>(&self, prove: impl FnOnce(&Domain<'_>) -> T) -> T {
        let tensors = self.scope.tensors;
        let reads = |tensor: usize| tensors.get(tensor).and_then(|t| t.range.as_ref());
        prove(&Domain { axes: self.scope.axes, vars: &self.bounds, reads: &reads })
    }

    fn undeclared(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let known = self.scope.tensors.iter().map(|t| t.name.as_str());
        let known = known.chain(self.math.temps.iter().map(|t| t.name.as_str()));
        let known = known.chain(self.scope.scalars.iter().map(|s| s.name.as_str()));
        let known = known.chain(self.scope.axes.iter().map(|a| a.name.as_str()));
        let message = format!("`{name}` is not declared");
        near(Diagnostic::new(UNDECLARED, span.clone(), message, "no such name here"), name, known)
    }

    fn no_axis(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let error =
            Diagnostic::new(UNDECLARED, span.clone(), format!("`{name}` is no axis"), "expected an axis");
        near(error, name, self.scope.axes.iter().map(|a| a.name.as_str()))
    }

    fn not_bound(&self, name: &str, span: &Range<usize>, help: String) -> Diagnostic {
        let message = format!("axis `{name}` is not bound here");
        Diagnostic::new(UNDECLARED, span.clone(), message, "neither on the left side nor reduced over")
            .help(help)
    }

    /// Names `value` for the assignments that follow; returns how to read it.
    fn name_value(&mut self, name: &str, vars: Vec<usize>, (value, kind): Typed) -> Place {
        let may_round = self.scope.intermediates.get(name).copied();
        let kind = if may_round.is_some() { Kind::Real } else { kind };
        let axes = vars.iter().map(|v| self.math.vars[*v]).collect();
        self.math.temps.push(Temp { name: name.to_owned(), axes, kind, may_round });
        let dst = Place::Temp(self.math.temps.len() - 1);
        let index = vars.iter().copied().map(Index::Var).collect();
        self.math.assigns.push(Assign { dst, vars, index, value });
        dst
    }

    fn check_size(&self, value: &Expr, span: &Range<usize>) -> Resolved<()> {
        if value.size() <= MAX_NODES {
            return Ok(());
        }
        let message = format!("this expands to more than {MAX_NODES} operations");
        Err(Diagnostic::new(SIZE, span.clone(), message, "too large")
            .help("name parts of it in assignments of their own"))
    }

    fn unassigned(&self, end: usize) -> Vec<Diagnostic> {
        let assigned = |i| self.math.assigns.iter().any(|a| a.dst == Place::Tensor(i));
        let outputs = self.scope.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input);
        outputs
            .filter(|(i, _)| !assigned(*i))
            .map(|(_, t)| {
                let what = if t.role == Role::Inout { "inout" } else { "output" };
                let message = format!("{what} `{}` is never assigned", t.name);
                Diagnostic::new(ASSIGN, 0..end, message, format!("expected `{}[...] = ...`", t.name))
            })
            .collect()
    }

    fn unread(&self, end: usize) -> Vec<Diagnostic> {
        let mut read = std::collections::BTreeSet::new();
        for assign in &self.math.assigns {
            let mut indices: Vec<&Index> = assign.index.iter().collect();
            assign.value.visit(&mut |expr| {
                indices.extend(expr.indices());
                if let Expr::Load(place, _) | Expr::Pad(place, ..) = expr {
                    read.insert(*place);
                }
            });
            for index in indices {
                index.visit(&mut |i| {
                    if let Index::Read(tensor, _) = i {
                        read.insert(Place::Tensor(*tensor));
                    }
                });
            }
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

/// `error` with the known name nearest to `name`, if one is near.
fn near<'n>(error: Diagnostic, name: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    match nearest(name, known.filter(|k| !k.is_empty())) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn name_of(text: &str, span: &Range<usize>) -> Name {
    Name { text: text.to_owned(), span: span.clone() }
}
