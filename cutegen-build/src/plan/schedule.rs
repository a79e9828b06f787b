//! Math to a [`Schedule`]: each reduction hoisted to a temporary over its free axes, so that a softmax costs O(c) a
//! row and not O(c^2), and prefix-bounded ones turned into scans. References, naive kernels, fallbacks, costs and
//! families all read the schedule.

use std::collections::BTreeMap;

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Assign, Binary, Expr, Index, Kind, Loop, Place, ReduceOp, Unary, canonical_expr};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

pub use super::scan::Direction;

use super::scan;
use super::uses::Uses;

/// An exact temporary is inlined while that adds at most so many nodes to all its readers together.
pub(super) const INLINE_NODES: usize = 1024;
/// And while its indices are no larger than this: inlining writes the reader's indices into them, which may double them.
const INLINE_INDEX: usize = 128;

/// Steps in order; each reads inputs and the temporaries of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The axis that each loop variable runs over.
    pub vars: Vec<usize>,
    /// The temporaries; [`Place::Temp`] counts these, not the math's.
    pub temps: Vec<Temp>,
    /// What is computed, in order.
    pub steps: Vec<Step>,
}

/// A temporary tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temp {
    /// The axis of each dimension.
    pub axes: Vec<usize>,
    /// What its elements are.
    pub kind: Kind,
    /// The dtype a kernel may round it to; `None` means exact.
    pub may_round: Option<DType>,
}

/// `dst[index] = value`, over all values of `loops`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is written.
    pub dst: Place,
    /// Where: the loops' variables in order, but for an `inout`, and a scan's variable in its place.
    pub index: Vec<Index>,
    /// What it runs over, outermost first.
    pub loops: Vec<Loop>,
    /// What is written there.
    pub value: Value,
}

/// The value of a step; its expressions hold no reduction.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An elementwise value.
    Map(Expr),
    /// A reduction of `body` over bound variables.
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// What it runs over, outermost first.
        over: Vec<Loop>,
        /// What is reduced.
        body: Expr,
    },
    /// A reduction of every prefix (or suffix) along an axis.
    Scan {
        /// The operation.
        op: ReduceOp,
        /// The variable that `body` is over.
        over: usize,
        /// The variable of the result; it runs over the same extent and is none of the step's loops.
        along: usize,
        /// From which end, and whether the element itself counts.
        direction: Direction,
        /// What is reduced.
        body: Expr,
    },
}

impl Step {
    /// The loop variables, outermost first.
    #[must_use]
    pub fn vars(&self) -> Vec<usize> {
        self.loops.iter().map(|l| l.var).collect()
    }
}

impl Value {
    /// The expression inside.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        match self {
            Value::Map(expr) | Value::Reduce { body: expr, .. } | Value::Scan { body: expr, .. } => expr,
        }
    }
}

impl Schedule {
    /// What elements of `place` are.
    #[must_use]
    pub fn kind(&self, spec: &KernelSpec, place: Place) -> Kind {
        match place {
            Place::Tensor(t) => Kind::of(spec.tensors[t].dtype),
            Place::Temp(t) => self.temps[t].kind,
        }
    }
}

/// Lowers the math of `spec`. Exact elementwise temporaries are inlined where they are read; equal reductions are
/// shared.
#[must_use]
pub fn lower(spec: &KernelSpec) -> Schedule {
    let schedule = Schedule { vars: spec.math.vars.clone(), temps: Vec::new(), steps: Vec::new() };
    let mut lowering = Lowering {
        spec,
        schedule,
        values: Vec::new(),
        deferred: Vec::new(),
        shared: BTreeMap::new(),
        bounded: Vec::new(),
    };
    let uses = Uses::of(spec);
    for (position, assign) in spec.math.assigns.iter().enumerate() {
        lowering.assign(position, assign, &uses);
    }
    lowering.schedule
}

struct Lowering<'a> {
    spec: &'a KernelSpec,
    schedule: Schedule,
    /// What stands for each of the math's temporaries: its variables and value.
    values: Vec<(Vec<usize>, Expr)>,
    /// Which of them are as written, their reductions hoisted by each reader, inside its bounds.
    deferred: Vec<bool>,
    /// Canonical forms of the reductions so far, with the temporary that holds each.
    shared: BTreeMap<String, Place>,
    /// Bounded loops around the current expression.
    bounded: Vec<Loop>,
}

impl Lowering<'_> {
    fn assign(&mut self, position: usize, assign: &Assign, uses: &Uses) {
        if let Place::Temp(t) = assign.dst
            && uses.deferred[t]
        {
            self.values.push((assign.vars.clone(), assign.value.clone()));
            self.deferred.push(true);
            return;
        }
        let value = self.hoist(&assign.value);
        match assign.dst {
            Place::Tensor(t)
                if self.spec.tensors[t].role == Role::Inout && reads_elsewhere(&value, assign) =>
            {
                let held = self.hold(&assign.vars, value, None);
                self.push(assign.dst, assign, Value::Map(held));
            }
            Place::Tensor(_) => self.push(assign.dst, assign, Value::Map(value)),
            Place::Temp(t) => {
                let may_round = self.spec.math.temps[t].may_round;
                let small = value.size() <= 8 || value.size().saturating_mul(uses.reads[t]) <= INLINE_NODES;
                let inline = may_round.is_none()
                    && small
                    && index_nodes(&value) <= INLINE_INDEX
                    && !uses.padded[t]
                    && !self.outlives_an_inout(&value, position, uses.last[t]);
                let value = if inline { value } else { self.hold(&assign.vars, value, may_round) };
                self.values.push((assign.vars.clone(), value));
                self.deferred.push(false);
            }
        }
    }

    fn push(&mut self, dst: Place, assign: &Assign, value: Value) {
        let loops = assign.vars.iter().copied().map(Loop::whole).collect();
        self.schedule.steps.push(Step { dst, index: assign.index.clone(), loops, value });
    }

    /// Whether `value` reads an inout that is assigned between this assignment and its last reader.
    fn outlives_an_inout(&self, value: &Expr, position: usize, last: usize) -> bool {
        let assigns = &self.spec.math.assigns;
        let overwritten = |place: &Place| assigns[position..last].iter().any(|a| a.dst == *place);
        let mut found = false;
        value.visit(&mut |expr| {
            if let Expr::Load(place @ Place::Tensor(_), _) | Expr::Pad(place @ Place::Tensor(_), ..) = expr {
                found |= overwritten(place);
            }
        });
        found
    }

    /// Computes `value` into a temporary of its own and gives the load that reads it.
    fn hold(&mut self, vars: &[usize], value: Expr, may_round: Option<DType>) -> Expr {
        let kind = value.kind(&|place| self.schedule.kind(self.spec, place));
        let kind = if may_round.is_some() { Kind::Real } else { kind };
        let place = self.temp(vars, kind, may_round);
        let index: Vec<Index> = vars.iter().copied().map(Index::Var).collect();
        let loops = vars.iter().copied().map(Loop::whole).collect();
        self.schedule.steps.push(Step { dst: place, index: index.clone(), loops, value: Value::Map(value) });
        Expr::Load(place, index)
    }

    fn temp(&mut self, vars: &[usize], kind: Kind, may_round: Option<DType>) -> Place {
        let axes = vars.iter().map(|v| self.schedule.vars[*v]).collect();
        self.schedule.temps.push(Temp { axes, kind, may_round });
        Place::Temp(self.schedule.temps.len() - 1)
    }

    /// `expr` with temporaries inlined and reductions replaced by loads of hoisted ones.
    fn hoist(&mut self, expr: &Expr) -> Expr {
        match expr {
            Expr::Load(Place::Temp(temp), index) => self.read(*temp, index),
            Expr::Pad(Place::Temp(temp), index, other) => {
                let Expr::Load(place, index) = self.read(*temp, index) else { return self.hoist(other) };
                Expr::Pad(place, index, Box::new(self.hoist(other)))
            }
            Expr::Reduce(op, loops, body) => {
                let outer = self.bounded.len();
                self.bounded.extend(loops.iter().filter(|l| !l.is_whole()).cloned());
                let body = self.hoist(body);
                let vars = body.free_vars().len();
                let body = self.hold_repeated(body, vars);
                self.bounded.truncate(outer);
                self.reduction(*op, loops, body)
            }
            _ => expr.map_children(&mut |child| self.hoist(child)),
        }
    }

    /// `body` of a reduction over `vars` variables, each costly factor that depends on fewer of them held: else an
    /// attention would take the exponential of a score once for each element of a value.
    fn hold_repeated(&mut self, body: Expr, vars: usize) -> Expr {
        if let Expr::Binary(Binary::Mul, a, b) = body {
            let (a, b) = (self.hold_repeated(*a, vars), self.hold_repeated(*b, vars));
            return Expr::Binary(Binary::Mul, Box::new(a), Box::new(b));
        }
        let free = body.free_vars();
        if free.len() >= vars || !is_costly(&body) {
            return body;
        }
        let loops = self.with_bounds(free);
        let vars: Vec<usize> = loops.iter().map(|l| l.var).collect();
        let index: Vec<Index> = vars.iter().copied().map(Index::Var).collect();
        let place = self.temp(&vars, Kind::Real, None);
        self.schedule.steps.push(Step { dst: place, index: index.clone(), loops, value: Value::Map(body) });
        Expr::Load(place, index)
    }

    fn read(&mut self, temp: usize, index: &[Index]) -> Expr {
        let (declared, value) = &self.values[temp];
        let to = |var: usize| declared.iter().position(|v| *v == var).map(|d| index[d].clone());
        let value = value.subst(&to);
        if self.deferred[temp] { self.hoist(&value) } else { value }
    }

    fn reduction(&mut self, op: ReduceOp, loops: &[Loop], body: Expr) -> Expr {
        let whole = Expr::Reduce(op, loops.to_vec(), Box::new(body));
        let free = self.with_bounds(whole.free_vars());
        let vars: Vec<usize> = free.iter().map(|l| l.var).collect();
        let index: Vec<Index> = vars.iter().copied().map(Index::Var).collect();
        // with the loops it is hoisted to: what lies outside their bounds is not computed
        let hoisted = Expr::Reduce(op, free.clone(), Box::new(whole.clone()));
        let form = canonical_expr(&hoisted, &self.schedule.vars);
        if let Some(place) = self.shared.get(&form) {
            return Expr::Load(*place, index);
        }
        let kind = whole.kind(&|place| self.schedule.kind(self.spec, place));
        let place = self.temp(&vars, kind, None);
        let Expr::Reduce(op, over, body) = whole else { return Expr::Load(place, index) };
        let (loops, value) = match scan::of(&self.spec.axes, &self.schedule.vars, &over, &body, &free) {
            Some((over, along, direction)) => {
                let loops = free.into_iter().filter(|l| l.var != along).collect();
                (loops, Value::Scan { op, over, along, direction, body: *body })
            }
            None => (free, Value::Reduce { op, over, body: *body }),
        };
        self.schedule.steps.push(Step { dst: place, index: index.clone(), loops, value });
        self.shared.insert(form, place);
        Expr::Load(place, index)
    }

    /// The loops of a hoisted reduction: a variable that an enclosing reduction bounds keeps its bounds, after the
    /// variables that those name. What lies outside was never proved to be readable.
    fn with_bounds(&self, free: Vec<usize>) -> Vec<Loop> {
        let mut loops: Vec<Loop> = Vec::new();
        free.into_iter().for_each(|var| self.add_loop(var, &mut loops));
        loops
    }

    fn add_loop(&self, var: usize, loops: &mut Vec<Loop>) {
        if loops.iter().any(|l| l.var == var) {
            return;
        }
        let own = self.bounded.iter().find(|l| l.var == var).cloned().unwrap_or(Loop::whole(var));
        let mut named = Vec::new();
        own.bounds().for_each(|bound| bound.vars(&mut named));
        named.into_iter().for_each(|var| self.add_loop(var, loops));
        loops.push(own);
    }
}

/// Whether `expr` is a real that calls a function which costs more than to load its value.
fn is_costly(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| {
        found |= match e {
            Expr::Unary(op, _) => {
                !matches!(op, Unary::Neg | Unary::Abs | Unary::Relu | Unary::Sign | Unary::Not)
            }
            Expr::Binary(op, ..) => *op == Binary::Pow,
            _ => false,
        };
    });
    found
}

/// Nodes of all indices in an expression.
fn index_nodes(expr: &Expr) -> usize {
    let mut nodes = 0;
    expr.visit(&mut |e| e.indices().into_iter().for_each(|index| index.visit(&mut |_| nodes += 1)));
    nodes
}

/// Whether `value` reads the assigned tensor anywhere but at the assigned element.
fn reads_elsewhere(value: &Expr, assign: &Assign) -> bool {
    let mut found = false;
    value.visit(&mut |expr| {
        if let Expr::Load(place, index) | Expr::Pad(place, index, _) = expr {
            found |= *place == assign.dst && *index != assign.index;
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Value, lower};
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    fn schedule(math: &str) -> Schedule {
        let text = format!(
            "edition = 1\n[kernels.a]\naxes = {{ m = 4, d = 8, i = 'd', j = 'm' }}\ninputs = {{ x = 'f32[m, d]' }}\n\
             outputs = {{ y = 'f32[m, d]' }}\nmath = '''{math}'''"
        );
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        lower(&kernels[0])
    }

    fn kinds(schedule: &Schedule) -> Vec<&str> {
        let kind = |value: &Value| match value {
            Value::Map(_) => "map",
            Value::Reduce { op, .. } => op.name(),
            Value::Scan { .. } => "scan",
        };
        schedule.steps.iter().map(|step| kind(&step.value)).collect()
    }

    #[test]
    fn softmax_is_two_reductions_and_a_map_however_it_is_written() {
        let prelude = schedule("y[m, d] = softmax(d, x[m, d])");
        assert_eq!(kinds(&prelude), ["max", "sum", "map"]);
        assert_eq!(prelude.temps[0].axes, [0]);
        let long = schedule(
            "top[m] = max(d, x[m, d])\ne[m, d] = exp(x[m, d] - top[m])\ns[m] = sum(d, e[m, d])\n\
             y[m, d] = e[m, d] / s[m]",
        );
        assert_eq!(kinds(&long), ["max", "sum", "map"]);
    }

    #[test]
    fn a_costly_factor_is_held_where_it_repeats() {
        let repeated = schedule("y[m, d] = sum((i, j), exp(x[m, i]) * x[j, d] * x[j, i])");
        assert_eq!(kinds(&repeated), ["map", "sum", "map"]);
        assert_eq!(repeated.temps[0].axes, [0, 2]);
        let cheap = schedule("y[m, d] = sum((i, j), -x[m, i] * x[j, d] * x[j, i])");
        assert_eq!(kinds(&cheap), ["sum", "map"]);
        assert_eq!(kinds(&schedule("y[m, d] = sum(i, exp(x[m, i]) * x[m, i]) * x[m, d]")), ["sum", "map"]);
    }

    #[test]
    fn layer_norm_shares_its_mean() {
        assert_eq!(kinds(&schedule("y[m, d] = layer_norm(d, x[m, d], 1e-5)")), ["sum", "sum", "map"]);
    }
}
