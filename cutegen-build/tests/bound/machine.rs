//! [`Machine`]: computes single elements of a schedule on given inputs, as a kernel of some [`Style`] would, and what
//! they need on the way. It is written against docs/math.md and shares nothing with the printers.

use cutegen_build::evaluate::judge::element;
use cutegen_build::plan::Plan;
use cutegen_build::plan::family::Family;
use cutegen_build::plan::schedule::{Step, Value};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntOp;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, ReduceOp, Unary};

use super::faults::Fault;
use super::functions;
use super::style::{Fold, Order, Product, Rng, Style, Sum, fold};
use super::values::{cast, compares, flushed, integers, number, square_of_difference, tf32, whole};

/// A value while it is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Held {
    Real(f64),
    Int(i64),
    Cond(bool),
}

/// What a kernel is launched on.
#[derive(Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) axes: &'a [i64],
    /// Memory of inputs and inouts, by position among the spec's tensors.
    pub(crate) contents: &'a [Option<Vec<u8>>],
    pub(crate) scalars: &'a [f64],
}

/// One evaluation.
pub(crate) struct Machine<'a> {
    launch: Launch<'a>,
    strides: Vec<Vec<i64>>,
    extents: Vec<Vec<i64>>,
    /// Elements of temporaries so far.
    kept: Vec<Vec<Option<Held>>>,
    style: Style,
    fault: Option<Fault>,
    rng: Rng,
    /// Terms of reductions so far.
    pub(crate) work: usize,
}

type Env = Vec<i64>;

impl<'a> Machine<'a> {
    pub(crate) fn new(launch: Launch<'a>, style: Style, fault: Option<Fault>, seed: u64) -> Self {
        let (spec, axes) = (&launch.plan.spec, launch.axes);
        let dims = |t: &cutegen_spec::tensor::Tensor| {
            t.dims.iter().map(|d| d.eval_axes(axes).expect("it has an extent")).collect()
        };
        let sizes = launch.plan.schedule.temps.iter();
        let size = |t: &cutegen_build::plan::schedule::Temp| t.axes.iter().map(|a| axes[*a]).product::<i64>();
        Self {
            strides: spec.tensors.iter().map(|t| t.strides(axes).expect("it has strides")).collect(),
            extents: spec.tensors.iter().map(dims).collect(),
            kept: sizes.map(|t| vec![None; size(t) as usize]).collect(),
            launch,
            style,
            fault,
            rng: Rng::new(seed),
            work: 0,
        }
    }

    /// The element of an output that `step` writes at a point of its loops: where, and its bits in `bytes` at `slot`.
    pub(crate) fn store(&mut self, step: &'a Step, point: &[i64], bytes: &mut [u8], slot: usize) {
        let (Value::Map(value), Place::Tensor(t)) = (&step.value, step.dst) else {
            panic!("outputs are written by maps")
        };
        let env = self.env(step, point);
        let dtype = self.launch.plan.spec.tensors[t].dtype;
        match self.value(value, &env) {
            Held::Cond(c) => element::write_integer(dtype, bytes, slot, i64::from(c)),
            Held::Int(i) if !dtype.is_float() => element::write_integer(dtype, bytes, slot, i),
            held => self.store_real(dtype, bytes, slot, held),
        }
    }

    fn store_real(&mut self, dtype: DType, bytes: &mut [u8], slot: usize, held: Held) {
        let x = self.as_real(held);
        let x = if self.is(Fault::FlushesSubnormals) { flushed(x) } else { x };
        element::write(dtype, bytes, slot, x);
        let stored = element::read(dtype, bytes, slot);
        if self.is(Fault::TruncatesOutput) && stored.is_finite() && stored.abs() > x.abs() {
            let below = element::bits(dtype, bytes, slot) - 1;
            element::put_bits(dtype, bytes, slot, below);
        }
    }

    /// Where a step writes at a point of its loops.
    pub(crate) fn offset_of(&mut self, step: &Step, point: &[i64]) -> usize {
        let env = self.env(step, point);
        let Place::Tensor(t) = step.dst else { panic!("a temporary has no offset") };
        self.offset(t, &step.index, &env).expect("an output is written inside")
    }

    fn env(&self, step: &Step, point: &[i64]) -> Env {
        let mut env = vec![0; self.launch.plan.schedule.vars.len()];
        step.loops.iter().zip(point).for_each(|(l, at)| env[l.var] = *at);
        env
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn index(&self, index: &Index, env: &Env) -> i64 {
        match index {
            Index::Const(value) => *value,
            Index::Extent(axis) => self.launch.axes[*axis],
            Index::Var(var) => env[*var],
            Index::Read(t, at) => self.read_index(*t, at, env),
            Index::Op(op, a, b) => {
                let (a, b) = (self.index(a, env), self.index(b, env));
                match op {
                    IntOp::Add => a + b,
                    IntOp::Sub => a - b,
                    IntOp::Mul => a * b,
                    IntOp::Div => a.div_euclid(b),
                    IntOp::Rem => a.rem_euclid(b),
                    IntOp::CeilDiv => (a + b - 1).div_euclid(b),
                    IntOp::Min => a.min(b),
                    IntOp::Max => a.max(b),
                }
            }
        }
    }

    fn read_index(&self, t: usize, at: &[Index], env: &Env) -> i64 {
        let offset = self.offset(t, at, env).expect("indices are read inside");
        let tensor = &self.launch.plan.spec.tensors[t];
        let id = element::read(tensor.dtype, self.memory(t), offset) as i64;
        let (true, Some(range)) = (self.is(Fault::ReadsNextRow), &tensor.range) else { return id };
        let end = range.to.eval_axes(self.launch.axes).expect("a range has an end");
        if id + 1 < end { id + 1 } else { id }
    }

    fn memory(&self, t: usize) -> &'a [u8] {
        self.launch.contents[t].as_deref().expect("only inputs and inouts are read")
    }

    /// Where an element lies; none outside.
    fn offset(&self, t: usize, index: &[Index], env: &Env) -> Option<usize> {
        let mut offset = 0;
        for ((i, extent), stride) in index.iter().zip(&self.extents[t]).zip(&self.strides[t]) {
            let i = self.index(i, env);
            if i < 0 || i >= *extent {
                return None;
            }
            offset += i * stride;
        }
        Some(offset as usize)
    }

    fn temp_offset(&self, w: usize, index: &[Index], env: &Env) -> Option<(usize, Vec<i64>)> {
        let at: Vec<i64> = index.iter().map(|i| self.index(i, env)).collect();
        let mut offset = 0;
        for (i, axis) in at.iter().zip(&self.launch.plan.schedule.temps[w].axes) {
            let extent = self.launch.axes[*axis];
            if *i < 0 || *i >= extent {
                return None;
            }
            offset = offset * extent + i;
        }
        Some((offset as usize, at))
    }

    fn load(&mut self, place: Place, index: &[Index], env: &Env) -> Option<Held> {
        match place {
            Place::Tensor(t) => {
                let offset = self.offset(t, index, env)?;
                let dtype = self.launch.plan.spec.tensors[t].dtype;
                let value = element::read(dtype, self.memory(t), offset);
                Some(match Kind::of(dtype) {
                    Kind::Real => Held::Real(self.seen(value)),
                    Kind::Int => Held::Int(value as i64),
                    Kind::Cond => Held::Cond(value != 0.0),
                })
            }
            Place::Temp(w) => {
                let (offset, at) = self.temp_offset(w, index, env)?;
                let again = self.style.recomputes && self.rng.below(2048) == 0;
                if let (Some(held), false) = (self.kept[w][offset], again) {
                    return Some(held);
                }
                let held = self.produce(w, &at);
                self.kept[w][offset] = Some(held);
                Some(held)
            }
        }
    }

    /// An input as a faulty kernel sees it.
    fn seen(&self, value: f64) -> f64 {
        match self.fault {
            Some(Fault::Bf16Inputs) => cast(DType::Bf16, value),
            Some(Fault::F16Inputs) => cast(DType::F16, value),
            Some(Fault::FlushesSubnormals) => flushed(value),
            _ => value,
        }
    }

    fn produce(&mut self, w: usize, at: &[i64]) -> Held {
        let schedule = &self.launch.plan.schedule;
        let step =
            schedule.steps.iter().find(|s| s.dst == Place::Temp(w)).expect("every temporary is computed");
        let mut env = vec![0; schedule.vars.len()];
        step.index.iter().zip(at).for_each(|(i, at)| env[i.as_var().expect("a loop")] = *at);
        match &step.value {
            Value::Map(value) => {
                let held = self.value(value, &env);
                let held =
                    if schedule.temps[w].kind == Kind::Real { Held::Real(self.as_real(held)) } else { held };
                match (schedule.temps[w].may_round, held) {
                    (Some(dtype), Held::Real(x)) if self.style.rounds => Held::Real(cast(dtype, x)),
                    _ => held,
                }
            }
            Value::Reduce { op: ReduceOp::Max, body, .. }
                if self.is(Fault::NoMax) && self.kind(body) == Kind::Real =>
            {
                Held::Real(0.0)
            }
            Value::Reduce { op, over, body } => {
                let bounds: Vec<&Loop> = over.iter().collect();
                let mut points = Vec::new();
                self.points(&bounds, &mut env, &mut points);
                self.reduce(*op, body, &env, &bounds.iter().map(|l| l.var).collect::<Vec<_>>(), points)
            }
            Value::Scan { op, over, along, direction, body } => {
                let (at, extent) = (env[*along], self.launch.axes[schedule.vars[*over]]);
                let exclusive = i64::from(direction.exclusive != self.is(Fault::ScanOffByOne));
                let range = if direction.reverse { at + exclusive..extent } else { 0..at + 1 - exclusive };
                let mut points: Vec<i64> = range.collect();
                if direction.reverse {
                    points.reverse();
                }
                self.reduce(*op, body, &env, &[*over], points)
            }
        }
    }

    /// All points of nested loops, one after the other.
    fn points(&self, loops: &[&Loop], env: &mut Env, out: &mut Vec<i64>) {
        self.nested(loops, 0, env, out);
    }

    fn nested(&self, loops: &[&Loop], depth: usize, env: &mut Env, out: &mut Vec<i64>) {
        let Some(l) = loops.get(depth) else {
            out.extend(loops.iter().map(|l| env[l.var]));
            return;
        };
        let extent = self.launch.axes[self.launch.plan.schedule.vars[l.var]];
        let first = l.from.as_ref().map_or(0, |from| self.index(from, env).max(0));
        let late = i64::from(self.is(Fault::BoundOffByOne));
        let end = l.to.as_ref().map_or(extent, |to| (self.index(to, env) + late).min(extent));
        for at in first..end {
            env[l.var] = at;
            self.nested(loops, depth + 1, env, out);
        }
    }

    fn kind(&self, expr: &Expr) -> Kind {
        let plan = self.launch.plan;
        expr.kind(&|place| plan.schedule.kind(&plan.spec, place))
    }

    fn reduce(&mut self, op: ReduceOp, body: &Expr, env: &Env, vars: &[usize], mut points: Vec<i64>) -> Held {
        let (width, count) = (vars.len(), points.len() / vars.len());
        match self.fault {
            Some(Fault::DropsLast) if count > 1 => points.truncate((count - 1) * width),
            Some(Fault::DropsFirst) if count > 1 => drop(points.drain(..width)),
            _ => {}
        }
        self.work += points.len() / width;
        let mut env = env.clone();
        let at = |env: &mut Env, point: &[i64]| vars.iter().zip(point).for_each(|(v, i)| env[*v] = *i);
        if op.gives_index() {
            let mut best = None;
            for point in points.chunks(width) {
                at(&mut env, point);
                let held = self.value(body, &env);
                let x = number(held);
                if best.is_none_or(|(_, b)| self.beats(op, x, b)) {
                    best = Some((point[0], x));
                }
            }
            return Held::Int(best.map_or(0, |(i, _)| i));
        }
        if self.kind(body) == Kind::Int {
            let mut values = Vec::new();
            for point in points.chunks(width) {
                at(&mut env, point);
                values.push(number(self.value(body, &env)) as i64);
            }
            return Held::Int(whole(op, &values));
        }
        let mut terms = Vec::with_capacity(points.len() / width);
        for point in points.chunks(width) {
            at(&mut env, point);
            terms.push(self.term(op, body, &env));
        }
        let mean = self.mean_of(op, body, &env);
        Held::Real(self.total(op, body, &terms, mean))
    }

    fn beats(&self, op: ReduceOp, x: f64, best: f64) -> bool {
        if x.is_nan() || best.is_nan() {
            return !best.is_nan();
        }
        let (x, best) = if op == ReduceOp::ArgMax { (x, best) } else { (-x, -best) };
        x > best || (x == best && self.is(Fault::LastOfTies))
    }

    /// A term of a real reduction: two factors where a product is summed.
    fn term(&mut self, op: ReduceOp, body: &Expr, env: &Env) -> (f64, f64) {
        let (a, b) = match (op, body) {
            (ReduceOp::Sum, Expr::Binary(Binary::Mul, a, b)) => match square_of_difference(body) {
                Some((x, _)) if self.is(Fault::NaiveVariance) => {
                    let x = self.real(x, env);
                    (x, x)
                }
                _ => (self.real(a, env), self.real(b, env)),
            },
            _ => return (self.real(body, env), 1.0),
        };
        if self.is(Fault::Tf32) { (tf32(a), tf32(b)) } else { (a, b) }
    }

    /// What a naive variance subtracts in the end.
    fn mean_of(&mut self, op: ReduceOp, body: &Expr, env: &Env) -> Option<f64> {
        let (_, mean) =
            square_of_difference(body).filter(|_| self.is(Fault::NaiveVariance) && op == ReduceOp::Sum)?;
        Some(self.real(mean, env))
    }

    fn total(&mut self, op: ReduceOp, body: &Expr, terms: &[(f64, f64)], mean: Option<f64>) -> f64 {
        let mut style = self.style;
        if matches!(self.launch.plan.family, Family::Contraction { .. }) {
            style.is_long = true;
        }
        if matches!(style.order, Order::TensorCore(_) | Order::TensorCoreOf8Bits)
            && !(op == ReduceOp::Sum && matches!(body, Expr::Binary(Binary::Mul, ..)))
        {
            style.order = Order::Lanes(8);
        }
        let keeps: &dyn Fn(f64) -> f64 = match self.fault {
            Some(Fault::Bf16Sum) => &|x| cast(DType::Bf16, x),
            Some(Fault::F16Sum) => &|x| cast(DType::F16, x),
            _ => &|x| x,
        };
        let sum = Sum { style: &style, keeps };
        let extreme =
            |start, pick: fn(f64, f64) -> f64| terms.iter().fold(start, |m, t| self.pick(m, t.0, pick));
        match op {
            ReduceOp::Sum => {
                let total = fold(terms, &style, &sum as &dyn Fold);
                match mean {
                    Some(m) => style.round(total - style.round(style.round(terms.len() as f64 * m) * m)),
                    None => total,
                }
            }
            ReduceOp::Prod => fold(terms, &style, &Product(&style)),
            ReduceOp::Max => extreme(f64::NEG_INFINITY, f64::max),
            ReduceOp::Min => extreme(f64::INFINITY, f64::min),
            ReduceOp::ArgMax | ReduceOp::ArgMin => f64::NAN,
        }
    }

    fn pick(&self, a: f64, b: f64, pick: fn(f64, f64) -> f64) -> f64 {
        if (a.is_nan() || b.is_nan()) && !self.is(Fault::SwallowsNan) { f64::NAN } else { pick(a, b) }
    }

    fn real(&mut self, expr: &Expr, env: &Env) -> f64 {
        let held = self.value(expr, env);
        self.as_real(held)
    }

    fn as_real(&self, held: Held) -> f64 {
        match held {
            Held::Real(x) => x,
            Held::Int(i) => self.style.round(i as f64),
            Held::Cond(c) => f64::from(u8::from(c)),
        }
    }

    fn value(&mut self, expr: &Expr, env: &Env) -> Held {
        match expr {
            Expr::Const(c) if self.is(Fault::Scale128) && *c == 127.0 => Held::Real(128.0),
            Expr::Const(c) => Held::Real(self.style.round(*c)),
            Expr::Int(index) => Held::Int(self.index(index, env)),
            Expr::Scalar(position) => Held::Real(self.launch.scalars[*position]),
            Expr::Load(place, index) => self.load(*place, index, env).expect("accesses stay inside"),
            Expr::Pad(place, index, other) => match self.load(*place, index, env) {
                Some(held) => held,
                None if self.is(Fault::PadsOnes) => Held::Real(1.0),
                None => self.value(other, env),
            },
            Expr::Unary(op, a) => self.unary(*op, a, env),
            Expr::Binary(op, a, b) => self.binary(*op, a, b, env),
            Expr::Where(parts) => {
                let [c, a, b] = parts.as_ref();
                let ignored = self.is(Fault::IgnoresMask) && super::faults::reads_mask(c, self.launch.plan);
                let holds = ignored || self.value(c, env) == Held::Cond(true);
                let held = self.value(if holds { a } else { b }, env);
                if self.kind(expr) == Kind::Real { Held::Real(self.as_real(held)) } else { held }
            }
            Expr::Cast(dtype, a) => {
                let held = self.value(a, env);
                self.cast(*dtype, held)
            }
            Expr::Reduce(..) => panic!("schedules hold no reduction inside an expression"),
        }
    }

    fn cast(&self, dtype: DType, held: Held) -> Held {
        match (Kind::of(dtype), held) {
            (Kind::Real, held) => Held::Real(cast(dtype, self.as_real(held))),
            (Kind::Cond, held) => Held::Cond(number(held) != 0.0),
            (Kind::Int, Held::Int(i)) => {
                let (least, most) = element::integers(dtype);
                Held::Int(i.clamp(least, most))
            }
            (Kind::Int, held) => Held::Int(cast(dtype, number(held)) as i64),
        }
    }

    fn unary(&mut self, op: Unary, a: &Expr, env: &Env) -> Held {
        let held = self.value(a, env);
        let op = if self.is(Fault::GeluByTanh) && op == Unary::Gelu { Unary::GeluTanh } else { op };
        match (op, held) {
            (Unary::Not, held) => return Held::Cond(held == Held::Cond(false)),
            (Unary::Neg, Held::Int(i)) => return Held::Int(-i),
            (Unary::Abs, Held::Int(i)) => return Held::Int(i.abs()),
            (Unary::Sign, Held::Int(i)) => return Held::Int(i.signum()),
            _ => {}
        }
        let x = self.as_real(held);
        let x = if self.is(Fault::Bf16Exp) && op == Unary::Exp { cast(DType::Bf16, x) } else { x };
        if self.is(Fault::SwallowsNan) && op == Unary::Relu && x.is_nan() {
            return Held::Real(0.0);
        }
        let y = functions::unary(op, x, &self.style, &mut self.rng);
        let coarse = self.is(Fault::CoarseRsqrt) && op == Unary::Rsqrt;
        Held::Real(if coarse { cast(DType::Bf16, y) } else { y })
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr, env: &Env) -> Held {
        if let Some(only) = self.dropped(op, a, b) {
            return Held::Real(self.real(only, env));
        }
        let fuses = self.style.fuses && matches!(op, Binary::Add | Binary::Sub);
        if let (true, Expr::Binary(Binary::Mul, x, y), Kind::Real) = (fuses, a, self.kind(a)) {
            let (x, y, c) = (self.real(x, env), self.real(y, env), self.real(b, env));
            return Held::Real(self.style.fma(x, y, if op == Binary::Sub { -c } else { c }));
        }
        let (left, right) = (self.value(a, env), self.value(b, env));
        match (left, right) {
            (Held::Cond(x), Held::Cond(y)) => Held::Cond(if op == Binary::And { x && y } else { x || y }),
            (Held::Int(x), Held::Int(y)) if !matches!(op, Binary::Div | Binary::Pow) => integers(op, x, y),
            _ => self.reals(op, self.as_real(left), self.as_real(right)),
        }
    }

    /// The operand that a faulty kernel keeps of a sum.
    fn dropped<'e>(&self, op: Binary, a: &'e Expr, b: &'e Expr) -> Option<&'e Expr> {
        match self.fault {
            _ if op != Binary::Add => None,
            Some(Fault::DropsResidual) if super::faults::is_input(b) => Some(a),
            Some(Fault::DropsResidual) if super::faults::is_input(a) => Some(b),
            Some(Fault::NoEps) if super::faults::is_eps(b, self.launch.plan) => Some(a),
            _ => None,
        }
    }

    fn reals(&mut self, op: Binary, x: f64, y: f64) -> Held {
        let round = |v: f64| Held::Real(self.style.round(v));
        match op {
            Binary::Add => round(x + y),
            Binary::Sub => round(x - y),
            Binary::Mul => round(x * y),
            Binary::Div => round(x / y),
            Binary::Max => Held::Real(self.pick(x, y, f64::max)),
            Binary::Min => Held::Real(self.pick(x, y, f64::min)),
            Binary::Pow => Held::Real(functions::pow(x, y, &self.style, &mut self.rng)),
            _ => Held::Cond(compares(op, x, y)),
        }
    }
}
