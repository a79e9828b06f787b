//! A step of the schedule as statements over values with their running errors. The same for host and device, but for
//! what a thread may keep: see [`Side`]. The rules are in the headers beside this file.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, ReduceOp};
use cutegen_spec::spec::Multiply;

use super::host;
use crate::plan::Plan;
use crate::plan::family::Family;
use crate::plan::schedule::{Step, Value};
use crate::print::c::{self, Dialect, Places, literal};

/// Where a reference runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// In the judge: many elements on a thread, which may keep things.
    Host,
    /// On a device: an element on a thread, which keeps nothing.
    Device,
}

/// What is printed, and for where.
#[derive(Clone, Copy)]
pub(super) struct Running<'a> {
    pub(super) plan: &'a Plan,
    pub(super) side: Side,
}

impl Running<'_> {
    pub(super) fn places(&self) -> Places<'_> {
        Places { spec: &self.plan.spec, schedule: &self.plan.schedule }
    }

    /// The statements of one element of a step, its loop variables being in scope.
    pub(super) fn statement(&self, step: &Step) -> String {
        match &step.value {
            Value::Map(value) => {
                let kind = self.kind(step.dst);
                let mut text = self.store(step, &c::of_kind(value, kind, self));
                text.push_str(&self.alternatives(step, value));
                text
            }
            Value::Reduce { op, .. } => format!(
                "{}{}{}",
                self.summed(&step.value),
                self.store(step, "s.result(sum_scale)"),
                self.keep_also(step, *op)
            ),
            Value::Scan { op, over, along, direction, body } => {
                let add = format!("      {}\n", self.add(*op, body, *over));
                let store = self.store(step, "s.result(sum_scale)") + &self.keep_also(step, *op);
                let inner = if direction.exclusive { store + &add } else { add + &store };
                format!(
                    "    {};\n    {} {{\n      const int64_t v{along} = v{over};\n{inner}    }}\n",
                    self.accumulator(*op, body),
                    self.places().scan_loop(*over, *direction)
                )
            }
        }
    }

    /// The statements that make the sum `s` of a step.
    pub(super) fn summed(&self, value: &Value) -> String {
        let Value::Reduce { op, over, body } = value else { return String::new() };
        self.reduced(*op, over, body, &|again| format!("{again};"))
    }

    /// The statements that reduce `body` into `s`. A device goes through an index's terms once more; `found` is what it
    /// does with the condition that a term's index is right as well as the best.
    fn reduced(&self, op: ReduceOp, over: &[Loop], body: &Expr, found: &dyn Fn(&str) -> String) -> String {
        let heads: String = over.iter().map(|l| format!("    {} {{\n", self.places().for_loop(l))).collect();
        let at = over.first().map_or(0, |l| l.var);
        let each = |inner: &str| format!("{heads}      {inner}\n{}", "    }\n".repeat(over.len()));
        let once = format!("    {};\n{}", self.accumulator(op, body), each(&self.add(op, body, at)));
        if self.side == Side::Host || !op.gives_index() {
            return once;
        }
        once + &each(&found(&format!("s.again(v{at}, {})", c::value(body, self).0)))
    }

    fn accumulator(&self, op: ReduceOp, body: &Expr) -> String {
        let int = c::value(body, self).1 == Kind::Int;
        let limit = self.int_limit();
        match (op, int) {
            (ReduceOp::Sum, false) if self.is_for_tensor_cores_of_8_bits(body) => "SumOf8Bits s".to_owned(),
            (ReduceOp::Sum, false) if self.is_contraction(body) => "LongSum s".to_owned(),
            (ReduceOp::Sum, false) => "Sum s".to_owned(),
            (ReduceOp::Sum, true) => format!("ISum s({limit})"),
            (ReduceOp::Prod, false) => "Prod s".to_owned(),
            (ReduceOp::Prod, true) => format!("IProd s({limit})"),
            (ReduceOp::Max, false) => "Extreme s(-1)".to_owned(),
            (ReduceOp::Max, true) => "IExtreme s(-1)".to_owned(),
            (ReduceOp::Min, false) => "Extreme s(1)".to_owned(),
            (ReduceOp::Min, true) => "IExtreme s(1)".to_owned(),
            (ReduceOp::ArgMax, false) => "ArgExtreme<real> s(-1)".to_owned(),
            (ReduceOp::ArgMax, true) => "ArgExtreme<wide> s(-1)".to_owned(),
            (ReduceOp::ArgMin, false) => "ArgExtreme<real> s(1)".to_owned(),
            (ReduceOp::ArgMin, true) => "ArgExtreme<wide> s(1)".to_owned(),
        }
    }

    /// What a kernel may accumulate integers up to: those of `i32`, unless the kernel has a tensor of `i64`.
    fn int_limit(&self) -> i64 {
        let wide = self.plan.spec.tensors.iter().any(|tensor| tensor.dtype == DType::I64);
        if wide { 1 << 53 } else { i64::from(i32::MAX) }
    }

    /// A product of exact factors under a sum is exact: the sum's own term covers its rounding, fused or not.
    fn add(&self, op: ReduceOp, body: &Expr, at: usize) -> String {
        let term = if self.plan.spec.precision.multiply == Multiply::Tf32 { "term_tf32" } else { "term" };
        match (op, body) {
            (ReduceOp::Sum, Expr::Binary(Binary::Mul, a, b)) if c::value(body, self).1 == Kind::Real => {
                format!("s.add({term}({}, {}));", c::real(a, self), c::real(b, self))
            }
            (ReduceOp::ArgMax | ReduceOp::ArgMin, _) => format!("s.add(v{at}, {});", c::value(body, self).0),
            _ => format!("s.add({});", c::value(body, self).0),
        }
    }

    /// Whether what is summed are products of two 8-bit floats, in f32.
    pub(super) fn is_for_tensor_cores_of_8_bits(&self, body: &Expr) -> bool {
        let of_8_bits = |factor: &Expr| match factor {
            Expr::Load(Place::Tensor(t), _) => {
                matches!(self.plan.spec.tensors[*t].dtype, DType::F8e4m3 | DType::F8e5m2)
            }
            _ => false,
        };
        let is_product = matches!(body, Expr::Binary(Binary::Mul, a, b) if of_8_bits(a) && of_8_bits(b));
        is_product && self.plan.spec.precision.accumulate == DType::F32
    }

    /// Whether a kernel may sum this on tensor cores: the kernel is a contraction, or what is summed is a product of factors
    /// of which each knows something that the other does not, rows and columns.
    fn is_contraction(&self, body: &Expr) -> bool {
        fn factors<'e>(body: &'e Expr, found: &mut Vec<&'e Expr>) {
            match body {
                Expr::Binary(Binary::Mul, a, b) => {
                    [a, b].into_iter().for_each(|factor| factors(factor, found))
                }
                other => found.push(other),
            }
        }
        let mut all = Vec::new();
        factors(body, &mut all);
        let knows_more = |a: &Expr, b: &Expr| a.free_vars().iter().any(|var| !b.free_vars().contains(var));
        let crosses = |a: &Expr, b: &Expr| knows_more(a, b) && knows_more(b, a);
        matches!(self.plan.family, Family::Contraction { .. })
            || all.iter().any(|a| all.iter().any(|b| crosses(a, b)))
    }

    fn keep_also(&self, step: &Step, op: ReduceOp) -> String {
        match step.dst {
            Place::Temp(w) if op.gives_index() && self.side == Side::Host => {
                format!("    also{w}[{}] = s.also();\n", self.places().offset(step.dst, &step.index))
            }
            Place::Temp(_) | Place::Tensor(_) => String::new(),
        }
    }

    /// A value as its temporary holds it.
    pub(super) fn held_as(&self, temp: usize, value: &str) -> String {
        match self.plan.schedule.temps[temp].may_round {
            None => value.to_owned(),
            Some(dtype) => rounded(&saturated(value, dtype), dtype),
        }
    }

    pub(super) fn store(&self, step: &Step, value: &str) -> String {
        match step.dst {
            Place::Temp(temp) => {
                let dst = self.places().element(step.dst, &step.index);
                format!("    {dst} = {};\n", self.held_as(temp, value))
            }
            Place::Tensor(t) => {
                let at = self.places().offset(step.dst, &step.index);
                let out = self.stored(self.plan.spec.tensors[t].dtype, value);
                format!(
                    "    const auto out = {out};\n    value{t}[{at}] = double(out.v);\n    bound{t}[{at}] = error_of(out);\n"
                )
            }
        }
    }

    /// A value as its tensor holds it.
    fn stored(&self, dtype: DType, value: &str) -> String {
        match Kind::of(dtype) {
            Kind::Cond => format!("Cond({value})"),
            Kind::Int => format!("cg_cast_{dtype}(IV({value}))"),
            Kind::Real => {
                let narrower = dtype.unit_roundoff() > self.plan.spec.precision.accumulate.unit_roundoff();
                let real = saturated(&format!("VE({value})"), dtype);
                let out = if narrower { rounded(&real, dtype) } else { real };
                match &self.plan.spec.tolerance {
                    Some(t) => format!("tolerated({out}, {:?}, {:?})", t.relative, t.absolute),
                    None => out,
                }
            }
        }
    }

    /// Whether the step tells the judge of alternatives.
    pub(super) fn hands_over(&self, step: &Step) -> bool {
        matches!(&step.value, Value::Map(value) if !self.alternatives(step, value).is_empty())
    }

    /// Where an output is an index of an extreme as it is, every index that may be right.
    fn alternatives(&self, step: &Step, value: &Expr) -> String {
        let inner = match value {
            Expr::Cast(dtype, inner) if Kind::of(*dtype) == Kind::Int => inner,
            other => other,
        };
        match (step.dst, inner) {
            (Place::Tensor(t), Expr::Load(Place::Temp(w), index)) => {
                match (self.side, indexing(self.plan, *w)) {
                    (_, None) => String::new(),
                    (Side::Host, Some(_)) => self.kept_alternatives(step, t, (*w, index)),
                    (Side::Device, Some(reduction)) => self.found_alternatives(step, t, index, reduction),
                }
            }
            _ => String::new(),
        }
    }

    /// Those that the reduction kept beside the temporary.
    fn kept_alternatives(&self, step: &Step, tensor: usize, (temp, index): (usize, &[Index])) -> String {
        let from = self.places().offset(Place::Temp(temp), index);
        let at = self.places().offset(step.dst, &step.index);
        format!(
            "    for (const int64_t other : also{temp}[{from}]) others{tensor}(context{tensor}, {at}, double(other));\n"
        )
    }

    /// The reduction once more, for the element of the temporary that is read.
    fn found_alternatives(&self, step: &Step, tensor: usize, index: &[Index], reduction: &Step) -> String {
        let Value::Reduce { op, over, body } = &reduction.value else { return String::new() };
        let at = over.first().map_or(0, |l| l.var);
        let names: Vec<String> =
            reduction.index.iter().map(|i| format!("int64_t {}", self.places().index(i))).collect();
        let values: Vec<String> = index.iter().map(|i| self.places().index(i)).collect();
        let found = |again: &str| format!("if ({again}) hand_over(others, {tensor}, at, double(v{at}));");
        format!(
            "    const int64_t at = {};\n    [&]({}) {{\n{}    }}({});\n",
            self.places().offset(step.dst, &step.index),
            names.join(", "),
            self.reduced(*op, over, body, &found),
            values.join(", ")
        )
    }
}

/// The type that holds values of a kind with their error.
pub(super) fn held(kind: Kind) -> &'static str {
    match kind {
        Kind::Real => "VE",
        Kind::Int => "IV",
        Kind::Cond => "Cond",
    }
}

/// The step that makes a temporary an index of an extreme, of which several may be right.
pub(super) fn indexing(plan: &Plan, temp: usize) -> Option<&Step> {
    plan.schedule.steps.iter().find(|step| {
        let op = match &step.value {
            Value::Reduce { op, .. } | Value::Scan { op, .. } => *op,
            Value::Map(_) => return false,
        };
        step.dst == Place::Temp(temp) && op.gives_index()
    })
}

fn rounded(value: &str, dtype: DType) -> String {
    format!("rounded({value}, {:?}, {:?})", dtype.unit_roundoff(), dtype.underflow())
}

/// 8-bit floats saturate.
fn saturated(value: &str, dtype: DType) -> String {
    match dtype {
        DType::F8e4m3 | DType::F8e5m2 => format!("saturated({value}, {:?})", dtype.max_finite()),
        _ => value.to_owned(),
    }
}

impl Dialect for Running<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) if self.side == Side::Host && host::is_widened(self.plan, t) => {
                format!("x{t}[{}]", self.places().offset(place, index))
            }
            _ => self.places().load(place, index),
        }
    }

    fn kind(&self, place: Place) -> Kind {
        self.plan.schedule.kind(&self.plan.spec, place)
    }

    fn constant(&self, value: f64) -> String {
        format!("constant({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("cg_int({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("constant(real(s{position}))")
    }

    fn index(&self, index: &Index) -> String {
        self.places().index(index)
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        self.places().inside(place, index)
    }

    fn choose(&self, condition: &str, a: &str, b: &str) -> String {
        format!("cg_where({condition}, {a}, {b})")
    }
}
