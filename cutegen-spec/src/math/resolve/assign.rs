//! The left side of an assignment: what is assigned, where, and whether two elements could land on one place.

use super::{Assign, Resolved, Resolver, Typed};
use crate::diagnostic::{ACCESS, ASSIGN, COLLIDE, Diagnostic, KIND};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::range;
use crate::math::syntax::{Name, Node, NodeKind, Statement};
use crate::math::{Index, Kind, Place};
use crate::name::MATH_WORDS;
use crate::tensor::{Role, Tensor};

impl Resolver<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Resolved<()> {
        self.unbind(0);
        let temps = self.math.temps.len();
        let tensor = self.assignable(&statement.target)?;
        let role = tensor.map(|t| self.scope.tensors[t].role);
        let (vars, index) = if role == Some(Role::Inout) {
            self.scattered(&statement.indices)?
        } else {
            let vars = self.plain(&statement.indices)?;
            let index = vars.iter().copied().map(Index::Var).collect();
            (vars, index)
        };
        match tensor {
            Some(t) if role == Some(Role::Inout) => self.check_inout(t, &vars, &index, statement)?,
            Some(t) => self.check_covered(t, &vars, statement)?,
            None => {}
        }
        let value = self.expr(&statement.value);
        if value.is_err() {
            self.forget(temps);
        }
        let value = value?;
        self.check_size(&value.0, &statement.value.span)?;
        self.check_kind(statement, tensor, &value)?;
        match tensor {
            Some(t) => {
                let dst = Place::Tensor(t);
                self.math.assigns.push(Assign { dst, vars, index, value: value.0 });
            }
            None => {
                self.name_value(&statement.target.text, vars, value);
            }
        }
        Ok(())
    }

    /// Drops what a failed assignment had named for itself.
    fn forget(&mut self, temps: usize) {
        self.math.temps.truncate(temps);
        self.math.assigns.retain(|assign| !matches!(assign.dst, Place::Temp(t) if t >= temps));
    }

    /// The tensor that `target` names, or `None` for a new temporary.
    fn assignable(&self, target: &Name) -> Resolved<Option<usize>> {
        let wrong =
            |message: String, label: &str| Err(Diagnostic::new(ASSIGN, target.span.clone(), message, label));
        let name = &target.text;
        if self.math.temps.iter().any(|temp| temp.name == *name) {
            return wrong(format!("`{name}` is assigned twice"), "already has a value");
        }
        if MATH_WORDS.contains(&name.as_str()) {
            return wrong(format!("`{name}` is a word of the math"), "cannot be assigned");
        }
        if self.axis(name).is_some() || self.scope.scalars.iter().any(|s| s.name == *name) {
            let what = if self.axis(name).is_some() { "an axis" } else { "a scalar" };
            return wrong(format!("`{name}` is {what}"), "cannot be assigned");
        }
        let Some(tensor) = self.scope.tensors.iter().position(|tensor| tensor.name == *name) else {
            return Ok(None);
        };
        if self.scope.tensors[tensor].role == Role::Input {
            return wrong(format!("input `{name}` is assigned"), "inputs are only read");
        }
        if self.math.assigns.iter().any(|assign| assign.dst == Place::Tensor(tensor)) {
            return wrong(format!("`{name}` is assigned twice"), "already has a value");
        }
        Ok(Some(tensor))
    }

    /// The left side of an output or temporary: distinct axes.
    fn plain(&mut self, indices: &[Node]) -> Resolved<Vec<usize>> {
        let mut vars = Vec::new();
        for index in indices {
            let NodeKind::Name(name) = &index.kind else {
                let message = "the left side names plain axes, so that every element is assigned once";
                return Err(Diagnostic::new(ASSIGN, index.span.clone(), message, "expected an axis")
                    .help("only a tensor of `inout` is assigned at computed indices"));
            };
            let axis = self.axis(name).ok_or_else(|| self.no_axis(name, &index.span))?;
            if self.in_scope(axis).is_some() {
                let message = format!("axis `{name}` occurs twice on the left side");
                return Err(Diagnostic::new(ASSIGN, index.span.clone(), message, "expected distinct axes"));
            }
            vars.push(self.bind(axis));
        }
        Ok(vars)
    }

    /// The left side of an `inout`: axes are bound where they first occur, anywhere inside the brackets.
    fn scattered(&mut self, indices: &[Node]) -> Resolved<(Vec<usize>, Vec<Index>)> {
        let mut names = Vec::new();
        indices.iter().for_each(|index| names_in(index, &mut names));
        let mut vars = Vec::new();
        for name in names {
            if let Some(axis) = self.axis(&name).filter(|axis| self.in_scope(*axis).is_none()) {
                vars.push(self.bind(axis));
            }
        }
        let index = indices.iter().map(|index| self.index(index)).collect::<Resolved<_>>()?;
        Ok((vars, index))
    }

    /// Every element of an output is written: its dimensions are exactly the axes of the left side.
    fn check_covered(&self, tensor: usize, vars: &[usize], statement: &Statement) -> Resolved<()> {
        let tensor = &self.scope.tensors[tensor];
        self.check_rank(tensor, vars.len(), &statement.target.span)?;
        for ((var, dim), node) in vars.iter().zip(&tensor.dims).zip(&statement.indices) {
            let axis = self.math.vars[*var];
            if !self.equal(&IntExpr::Axis(axis), dim) {
                let name = &self.scope.axes[axis].name;
                let message =
                    format!("axis `{name}` is not the extent of this dimension of `{}`", tensor.name);
                return Err(Diagnostic::new(ACCESS, node.span.clone(), message, self.declared(tensor)));
            }
        }
        Ok(())
    }

    /// Whether two extents are equal at every shape.
    pub(super) fn equal(&self, a: &IntExpr, b: &IntExpr) -> bool {
        a == b || self.domain(|d| range::at_least(d, a, b) && range::at_least(d, b, a))
    }

    fn check_inout(
        &self,
        tensor: usize,
        vars: &[usize],
        index: &[Index],
        statement: &Statement,
    ) -> Resolved<()> {
        self.check_rank(&self.scope.tensors[tensor], index.len(), &statement.target.span)?;
        self.check_access(&self.tensor_dims(tensor), index, &statement.indices, &statement.target)?;
        let determined = |var: &usize| index.iter().any(|i| self.determines(i, *var));
        let Some(var) = vars.iter().find(|var| !determined(var)) else { return Ok(()) };
        let axis = &self.scope.axes[self.math.vars[*var]].name;
        let name = &statement.target.text;
        let message = format!("two values of axis `{axis}` may be written to one element of `{name}`");
        Err(Diagnostic::new(COLLIDE, statement.target.span.clone(), message, "may collide").help(format!(
            "index by `{axis}` itself, or by an integer input over it that is declared `unique = true`"
        )))
    }

    /// Whether equal values of `index` mean equal values of `var`, the other variables being equal or determined.
    fn determines(&self, index: &Index, var: usize) -> bool {
        match index {
            Index::Var(v) => *v == var,
            Index::Read(tensor, indices) => {
                self.scope.tensors[*tensor].unique && indices.iter().any(|i| self.determines(i, var))
            }
            Index::Op(IntOp::Add | IntOp::Sub, a, b) => {
                let has = |i: &Index| {
                    let mut vars = Vec::new();
                    i.vars(&mut vars);
                    !vars.is_empty()
                };
                (self.determines(a, var) && !has(b)) || (self.determines(b, var) && !has(a))
            }
            Index::Const(_) | Index::Extent(_) | Index::Op(..) => false,
        }
    }

    /// A value is stored in a tensor of its kind; a real needs a cast to become an integer.
    fn check_kind(&self, statement: &Statement, tensor: Option<usize>, value: &Typed) -> Resolved<()> {
        let name = &statement.target.text;
        let rounded = self.scope.intermediates.contains_key(name);
        let wanted = match tensor {
            Some(t) => self.kind_of(Place::Tensor(t)),
            None if rounded => Kind::Real,
            None => return Ok(()),
        };
        let fits = matches!(
            (value.1, wanted),
            (Kind::Real | Kind::Int, Kind::Real) | (Kind::Int, Kind::Int) | (Kind::Cond, Kind::Cond)
        );
        if fits {
            return Ok(());
        }
        let message = format!("`{name}` holds {}, the value is {}", wanted.plural(), value.1.name());
        let error = Diagnostic::new(
            KIND,
            statement.value.span.clone(),
            message,
            format!("expected {}", wanted.name()),
        );
        let dtype = tensor.map_or("i32", |t| self.scope.tensors[t].dtype.name());
        Err(match (value.1, wanted) {
            (Kind::Real, Kind::Int) => {
                error.help(format!("say how: `cast({dtype}, ...)` truncates, `round` before it rounds"))
            }
            (Kind::Cond, _) => error.help("write `where(..., 1, 0)`"),
            (_, Kind::Cond) => error.help("compare it: `... != 0`"),
            (Kind::Real | Kind::Int, Kind::Real | Kind::Int) => error,
        })
    }

    pub(super) fn check_rank(
        &self,
        tensor: &Tensor,
        found: usize,
        span: &std::ops::Range<usize>,
    ) -> Resolved<()> {
        if tensor.dims.len() == found {
            return Ok(());
        }
        let message = rank(&tensor.name, tensor.dims.len(), found);
        let error = Diagnostic::new(ACCESS, span.clone(), message, self.declared(tensor));
        let help =
            (found == 0).then(|| format!("name its axes: `{}[{}]`", tensor.name, self.dims_text(tensor)));
        Err(Diagnostic { help, ..error })
    }
}

/// What is said of a wrong number of indices.
pub(super) fn rank(name: &str, dims: usize, found: usize) -> String {
    let noun = if dims == 1 { "dimension" } else { "dimensions" };
    format!("`{name}` has {dims} {noun}, found {found}")
}

/// Names inside an index, in order; those of tensors are there too and are no axes.
pub(super) fn names_in(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        NodeKind::Name(name) => out.push(name.clone()),
        NodeKind::Access(_, indices) | NodeKind::Tuple(indices) => {
            indices.iter().for_each(|index| names_in(index, out));
        }
        // `len(a)` names an axis without binding it
        NodeKind::Call(name, _) if name.text == "len" => {}
        NodeKind::Call(_, arguments) => arguments.iter().for_each(|a| names_in(a, out)),
        NodeKind::Prefix(_, operand) => names_in(operand, out),
        NodeKind::Infix(_, a, b) => {
            names_in(a, out);
            names_in(b, out);
        }
        NodeKind::Number(_) => {}
    }
}
