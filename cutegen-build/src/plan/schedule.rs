//! Math to a [`Schedule`]: each reduction hoisted to a temporary over its free axes, so that a softmax costs O(c) a
//! row and not O(c^2). References, naive kernels, fallbacks, costs and families all read the schedule.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Expr, Math, Place, ReduceOp};

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
    /// The dtype a kernel may round it to; `None` means exact.
    pub may_round: Option<DType>,
}

/// `dst[vars] = value`, over all extents of `vars`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is written.
    pub dst: Place,
    /// The loop variable of each dimension.
    pub vars: Vec<usize>,
    /// What is written there.
    pub value: Value,
}

/// The value of a step; its expressions hold no reduction.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An elementwise value.
    Map(Expr),
    /// A reduction of `body` over loop variable `over`.
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// The bound variable.
        over: usize,
        /// What is reduced.
        body: Expr,
    },
}

impl Value {
    /// The expression inside.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        match self {
            Value::Map(expr) | Value::Reduce { body: expr, .. } => expr,
        }
    }
}

/// Lowers `math`. Exact elementwise temporaries are inlined where they are read; equal reductions are shared.
#[must_use]
pub fn lower(math: &Math) -> Schedule {
    let schedule = Schedule { vars: math.vars.clone(), temps: Vec::new(), steps: Vec::new() };
    let mut lowering = Lowering { schedule, values: Vec::new(), shared: Vec::new() };
    for assign in &math.assigns {
        let value = lowering.hoist(&assign.value);
        match assign.dst {
            Place::Tensor(_) => lowering.push(assign.dst, &assign.vars, Value::Map(value)),
            Place::Temp(temp) => match math.temps[temp].may_round {
                None => lowering.values.push((assign.vars.clone(), value)),
                Some(dtype) => {
                    let axes = math.temps[temp].axes.clone();
                    let place = lowering.temp(Temp { axes, may_round: Some(dtype) });
                    lowering.push(place, &assign.vars, Value::Map(value));
                    lowering.values.push((assign.vars.clone(), Expr::Load(place, assign.vars.clone())));
                }
            },
        }
    }
    lowering.schedule
}

struct Lowering {
    schedule: Schedule,
    /// What stands for each of the math's temporaries: its variables and value.
    values: Vec<(Vec<usize>, Expr)>,
    /// Reductions so far in a form independent of variable numbers, with the temporary that holds each.
    shared: Vec<(Expr, Place)>,
}

impl Lowering {
    fn temp(&mut self, temp: Temp) -> Place {
        self.schedule.temps.push(temp);
        Place::Temp(self.schedule.temps.len() - 1)
    }

    fn push(&mut self, dst: Place, vars: &[usize], value: Value) {
        self.schedule.steps.push(Step { dst, vars: vars.to_vec(), value });
    }

    /// `expr` with temporaries inlined and reductions replaced by loads of hoisted ones.
    fn hoist(&mut self, expr: &Expr) -> Expr {
        match expr {
            Expr::Load(Place::Temp(temp), vars) => {
                let (declared, value) = self.values[*temp].clone();
                declared.iter().zip(vars).fold(value, |value, (from, to)| value.rename(*from, *to))
            }
            Expr::Reduce(op, var, body) => {
                let body = self.hoist(body);
                self.reduction(*op, *var, body)
            }
            Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Scalar(_)
            | Expr::Load(..)
            | Expr::Unary(..)
            | Expr::Binary(..) => expr.map_children(&mut |child| self.hoist(child)),
        }
    }

    fn reduction(&mut self, op: ReduceOp, over: usize, body: Expr) -> Expr {
        let free = by_appearance(&body, over);
        let form = self.form(&body, &free, over).reduce(op, self.schedule.vars[over]);
        if let Some((_, place)) = self.shared.iter().find(|(known, _)| *known == form) {
            return Expr::Load(*place, free);
        }
        let axes = free.iter().map(|v| self.schedule.vars[*v]).collect();
        let place = self.temp(Temp { axes, may_round: None });
        self.push(place, &free, Value::Reduce { op, over, body });
        self.shared.push((form, place));
        Expr::Load(place, free)
    }

    /// `body` with its variables renamed to numbers that depend only on order and axis.
    fn form(&self, body: &Expr, free: &[usize], over: usize) -> Expr {
        let base = self.schedule.vars.len();
        let axes = self.schedule.vars.iter().max().map_or(1, |max| max + 1);
        let number = |position: usize, var: usize| base + position * axes + self.schedule.vars[var];
        let bound = body.rename(over, number(free.len(), over));
        free.iter().enumerate().fold(bound, |body, (i, var)| body.rename(*var, number(i, *var)))
    }
}

/// Free variables of `body` other than `over`, in order of first appearance.
fn by_appearance(body: &Expr, over: usize) -> Vec<usize> {
    let mut seen = Vec::new();
    body.visit(&mut |expr| {
        let vars: &[usize] = match expr {
            Expr::Load(_, vars) => vars,
            Expr::Index(var) => std::slice::from_ref(var),
            Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Scalar(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Reduce(..) => &[],
        };
        for var in vars.iter().filter(|v| **v != over) {
            if !seen.contains(var) {
                seen.push(*var);
            }
        }
    });
    seen
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Value, lower};
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    fn schedule(math: &str) -> Schedule {
        let text = format!(
            "edition = 1\n[kernels.a]\naxes = {{ m = 4, d = 8 }}\ninputs = {{ x = 'f32[m, d]' }}\n\
             outputs = {{ y = 'f32[m, d]' }}\nmath = '''{math}'''"
        );
        let document = spec_file(&text, &Settings::default());
        assert_eq!(document.errors, []);
        lower(&document.kernels[0].math)
    }

    fn kinds(schedule: &Schedule) -> Vec<&str> {
        let kind = |value: &Value| match value {
            Value::Map(_) => "map",
            Value::Reduce { op, .. } => op.name(),
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
    fn layer_norm_shares_its_mean() {
        assert_eq!(kinds(&schedule("y[m, d] = layer_norm(d, x[m, d], 1e-5)")), ["sum", "sum", "map"]);
    }
}
