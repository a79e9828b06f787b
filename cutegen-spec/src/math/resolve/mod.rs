//! Tree to [`Math`]: binds names, proves accesses in range, settles kinds, expands the prelude.
//!
//! A call whose first argument is an axis that nothing binds yet is a reduction, and binds it; the prelude's axis
//! stays free. Every error of a kernel's math is collected, one per assignment. This module owns assignments and the
//! names in scope; `value` resolves expressions, `access` indices, `reduction` what loops. What a mistake was meant for is
//! said by `mistakes`.

mod access;
mod assign;
mod mistakes;
mod reduction;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::range::{Domain, VarBound};
use super::syntax::{Name, Statement, parse};
use super::{Assign, Expr, Index, Kind, Math, Place, Temp};
use crate::axis::Axis;
use crate::diagnostic::{ASSIGN, Diagnostic, SIZE, UNDECLARED};
use crate::dtype::DType;
use crate::hint;
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
    /// The type of reals.
    pub accumulate: DType,
}

/// Most assignments of one kernel.
const MAX_ASSIGNMENTS: usize = 256;
/// Most nodes of one assignment once the prelude is written out.
const MAX_NODES: usize = 4096;

/// Parses and resolves `text`. Spans of the errors are byte ranges of `text`. Whether every tensor is used is left to
/// the caller, who knows where it is declared: see [`Math::reads`].
pub fn resolve(text: &str, scope: Scope<'_>) -> Result<Math, Vec<Diagnostic>> {
    let statements = parse(text).map_err(|error| vec![error])?;
    if let Some(statement) = statements.get(MAX_ASSIGNMENTS) {
        let message = format!("math has more than {MAX_ASSIGNMENTS} assignments");
        return Err(vec![Diagnostic::new(SIZE, statement.target.span.clone(), message, "one too many")]);
    }
    let assigned = statements.iter().map(|statement| statement.target.text.as_str()).collect();
    let (bound, bounds) = (Vec::new(), Vec::new());
    let mut resolver = Resolver { text, scope, math: Math::default(), bound, bounds, assigned };
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
        errors.extend(resolver.unread(&statements));
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
    /// What was parsed, for messages that repeat some of it.
    text: &'a str,
    scope: Scope<'a>,
    math: Math,
    /// Axis positions in scope with their loop variables, innermost last.
    bound: Vec<(usize, usize)>,
    /// What every loop variable runs over, by variable; none for those out of scope.
    bounds: Vec<Option<VarBound>>,
    /// Every name that is assigned somewhere.
    assigned: BTreeSet<&'a str>,
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

    /// Temporaries that nothing reads, at the names that `statements` assign.
    fn unread(&self, statements: &[Statement]) -> Vec<Diagnostic> {
        let read = self.math.reads();
        let temps = self.math.temps.iter().enumerate().filter(|(t, _)| !read.contains(&Place::Temp(*t)));
        let names = temps.filter_map(|(_, temp)| statements.iter().find(|s| s.target.text == temp.name));
        names
            .map(|statement| {
                let name = &statement.target;
                let message = format!("`{}` is never read", name.text);
                let error = Diagnostic::new(ASSIGN, name.span.clone(), message, "expected a use of it");
                let outputs = self.scope.tensors.iter().filter(|tensor| tensor.role != Role::Input);
                let help = hint::meant(&name.text, outputs.map(|tensor| tensor.name.as_str()));
                Diagnostic { help, ..error }
            })
            .collect()
    }
}

fn name_of(text: &str, span: &Range<usize>) -> Name {
    Name { text: text.to_owned(), span: span.clone() }
}
