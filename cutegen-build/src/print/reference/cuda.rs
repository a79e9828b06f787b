//! The reference for a device: a kernel per step, a thread per element, reductions serial in their thread in the host's
//! order. Everything that it makes lies in parts of the workspace; [`Parts`] says which is what.

use std::ops::Range;

use cutegen_spec::contract::{Arg, Contract, Initial, Step as LaunchStep, WorkspacePart};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Kind, Place};
use cutegen_spec::tensor::{Role, Tensor};

use super::others::{OTHERS_MAX, RECORD_BYTES};
use super::products::{self, Products};
use super::running::{Running, Side, held};
use super::sampled::Sampled;
use super::{DEVICE_PRELUDE, ENTRY, definitions};
use crate::plan::Plan;
use crate::plan::sample::Sample;
use crate::plan::schedule::{Step, Value};
use crate::print::c::element;
use crate::print::grid;

const NAMES: &str = include_str!("names.cuh");

/// What NVRTC must be given beside the target: products and sums are rounded one by one, as on the host, and integers'
/// errors are 128 bits wide. The rest keeps what no step of this kernel calls out of the compiler's log.
const OPTIONS: [&str; 3] = ["--fmad=false", "--device-int128", "--diag-suppress=177"];

/// The first kernel: nothing is touched, no value but the first is right.
const BLANK: &str = "blank";

/// What kernels of steps that are cut start with.
const SAMPLE: &str = "  const Sample sample(scale[1]);\n";

/// A reference as kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReference {
    /// One CUDA source without includes.
    pub source: String,
    /// How it is launched, once for each case. Of the tensors only inputs and inouts are given, which stay as they are.
    pub contract: Contract,
    /// The same on f64 tensor cores; none where there is nothing for them.
    pub large: Option<Large>,
    /// What the parts of the workspace are.
    pub parts: Parts,
    /// The compiler's options beside those of every kernel.
    pub options: [&'static str; 3],
}

/// How a reference is launched where contractions are so large that their terms are taken for independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Large {
    /// The launches.
    pub contract: Contract,
    /// Products that they sum.
    pub terms: IntExpr,
    /// Whether those are all that is reduced.
    pub is_all: bool,
}

/// Positions of workspace parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Those of each inout and output, in the spec's order.
    pub results: Vec<ResultParts>,
    /// Temporaries of the schedule with their errors.
    pub temps: Range<usize>,
    /// Further right values, for [`others`](super::others); where indices of extremes are results.
    pub others: Option<usize>,
    /// Two doubles that the judge writes before the launch: 1, or 0 where inputs are such that every sum is exact; and which
    /// elements are computed, all by 0.
    pub sum_scale: usize,
    /// One double: not 0 where two ways to a sum differ.
    pub crossed: usize,
}

/// The parts of one result. Both hold a double for each element of the tensor's memory, gaps included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultParts {
    /// The tensor, by position.
    pub tensor: usize,
    /// Its values.
    pub value: usize,
    /// Its bounds; -1 where no assignment addresses the element.
    pub bound: usize,
}

/// The reference as kernels. `None` where only the host has what it takes: a type beyond f64 for plans that accumulate
/// in f64, and memory that grows for running indices of extremes.
#[must_use]
pub fn print_cuda(plan: &Plan) -> Option<DeviceReference> {
    let running_index = |step: &Step| matches!(&step.value, Value::Scan { op, .. } if op.gives_index());
    if plan.spec.precision.accumulate == DType::F64 || plan.schedule.steps.iter().any(running_index) {
        return None;
    }
    let running = Running { plan, side: Side::Device };
    let parts = parts(&running);
    let sample = Sample::of(&plan.spec, &plan.schedule);
    let device = Device { running, parts, sample };
    let mut source = format!(
        "{NAMES}static constexpr int64_t OTHERS_MAX = {OTHERS_MAX};\n{}{DEVICE_PRELUDE}\n",
        definitions(plan)
    );
    let mut steps = vec![device.launch((BLANK, grid::THREADS), device.most())];
    source.push_str(&device.blank());
    for (number, step) in plan.schedule.steps.iter().enumerate() {
        source.push_str(&device.kernel(number, step));
        steps.push(device.serial(number, step));
    }
    let contract = Contract { workspace: device.workspace(), steps };
    let large = device.large(&contract, &mut source);
    Some(DeviceReference { source, contract, large, parts: device.parts, options: OPTIONS })
}

/// Results, temporaries, others, scale.
fn parts(running: &Running<'_>) -> Parts {
    let plan = running.plan;
    let results = (0..plan.spec.tensors.len()).filter(|t| plan.spec.tensors[*t].role != Role::Input);
    let of = |(number, tensor)| ResultParts { tensor, value: 2 * number, bound: 2 * number + 1 };
    let results: Vec<ResultParts> = results.enumerate().map(of).collect();
    let temps = 2 * results.len()..2 * results.len() + plan.schedule.temps.len();
    let several = plan.schedule.steps.iter().any(|step| running.hands_over(step));
    let others = several.then_some(temps.end);
    let sum_scale = temps.end + usize::from(several);
    Parts { sum_scale, crossed: sum_scale + 1, results, temps, others }
}

/// Elements of a tensor's memory, gaps included; 0 when it is empty.
fn span(tensor: &Tensor) -> IntExpr {
    let product = |a, b| IntExpr::op(IntOp::Mul, a, b);
    let elements = tensor.dims.iter().cloned().fold(IntExpr::Const(1), product);
    let Some(strides) = &tensor.strides else { return elements };
    let last = |(dim, stride): (&IntExpr, &IntExpr)| {
        product(IntExpr::op(IntOp::Sub, dim.clone(), IntExpr::Const(1)), stride.clone())
    };
    let last = tensor.dims.iter().zip(strides).map(last);
    let span = last.fold(IntExpr::Const(1), |a, b| IntExpr::op(IntOp::Add, a, b));
    product(IntExpr::op(IntOp::Min, elements, IntExpr::Const(1)), span)
}

struct Device<'a> {
    running: Running<'a>,
    parts: Parts,
    sample: Option<Sample>,
}

impl Device<'_> {
    fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.running.plan.spec.tensors.iter().enumerate()
    }

    fn workspace(&self) -> Vec<WorkspacePart> {
        let times = |n: IntExpr, bytes: usize| IntExpr::op(IntOp::Mul, n, IntExpr::Const(bytes as i64));
        let result = |r: &ResultParts| times(span(&self.running.plan.spec.tensors[r.tensor]), 8);
        let results = self.parts.results.iter().flat_map(|r| [result(r), result(r)]);
        let temps = self.running.plan.schedule.temps.iter().map(|temp| {
            let bytes = if temp.kind == Kind::Cond { 2 } else { 16 };
            temp.axes.iter().fold(IntExpr::Const(bytes), |n, a| IntExpr::op(IntOp::Mul, n, IntExpr::Axis(*a)))
        });
        let others = self.parts.others.map(|_| IntExpr::Const(((1 + OTHERS_MAX) * RECORD_BYTES) as i64));
        let all = results.chain(temps).chain(others).chain([IntExpr::Const(16), IntExpr::Const(8)]);
        all.map(|bytes| WorkspacePart { bytes, initial: Initial::Undefined }).collect()
    }

    /// A thread at least, so that the others are counted from 0.
    fn most(&self) -> IntExpr {
        let spans = self.parts.results.iter().map(|r| span(&self.running.plan.spec.tensors[r.tensor]));
        spans.fold(IntExpr::Const(1), |a, b| IntExpr::op(IntOp::Max, a, b))
    }

    /// Each element of a step in a thread of its own.
    fn serial(&self, number: usize, step: &Step) -> LaunchStep {
        self.launch((&number.to_string(), grid::THREADS), grid::points(&self.running.plan.schedule, step))
    }

    /// The launches of `contract` with sums of products on tensor cores, whose kernels are added to `source`.
    fn large(&self, contract: &Contract, source: &mut String) -> Option<Large> {
        let schedule = &self.running.plan.schedule;
        let (mut steps, mut terms, mut is_all) = (contract.steps[..1].to_vec(), Vec::new(), true);
        for (number, step) in schedule.steps.iter().enumerate() {
            let Some(products) = Products::of(&self.running, step) else {
                is_all &= matches!(step.value, Value::Map(_));
                steps.push(self.serial(number, step));
                continue;
            };
            if terms.is_empty() {
                source.push_str(&products::prelude());
            }
            terms.push(products.terms(&schedule.vars));
            let names = ["products", "again"].map(|what| format!("{number}_{what}"));
            let (most, few) = ((names[0].as_str(), products::THREADS), (names[1].as_str(), grid::THREADS));
            source.push_str(&self.text(most, Some(step.dst), &products.body(&self.running)));
            source.push_str(&self.text(few, None, &products.again(&self.running)));
            steps.push(self.launch(most, products.threads(&schedule.vars)));
            steps.push(self.launch(few, IntExpr::Const(products::AGAIN)));
        }
        let contract = Contract { workspace: contract.workspace.clone(), steps };
        let terms = terms.into_iter().reduce(|a, b| IntExpr::op(IntOp::Add, a, b))?;
        Some(Large { contract, terms, is_all })
    }

    /// A kernel that writes `dst`.
    fn text(&self, (name, threads): (&str, i64), dst: Option<Place>, body: &str) -> String {
        grid::kernel((&format!("{ENTRY}_{name}"), threads), &self.parameters(dst), body)
    }

    fn launch(&self, (name, threads): (&str, i64), points: IntExpr) -> LaunchStep {
        let spec = &self.running.plan.spec;
        let given = self.tensors().filter(|(_, tensor)| tensor.role != Role::Output);
        let tensors = given.map(|(position, _)| Arg::Ptr(position));
        let axes = (0..spec.axes.len()).map(Arg::Axis);
        let scalars = (0..spec.scalars.len()).map(Arg::Scalar);
        let parts = (0..=self.parts.crossed).map(Arg::Workspace);
        let args = tensors.chain(axes).chain(scalars).chain(parts).collect();
        grid::launch((format!("{ENTRY}_{name}"), threads), points, args)
    }

    /// The parameters of a kernel that writes `dst`; what it doesn't write is constant.
    fn parameters(&self, dst: Option<Place>) -> String {
        let spec = &self.running.plan.spec;
        let given = self.tensors().filter(|(_, tensor)| tensor.role != Role::Output);
        let tensors = given.map(|(i, t)| format!("const {}* __restrict__ t{i}", element(t.dtype)));
        let axes = (0..spec.axes.len()).map(|i| format!("int64_t a{i}"));
        let scalars = spec.scalars.iter().enumerate().map(|(i, s)| format!("{} s{i}", element(s.dtype)));
        let results = self
            .parts
            .results
            .iter()
            .map(|r| format!("double* __restrict__ value{0}, double* __restrict__ bound{0}", r.tensor));
        let temps = self.running.plan.schedule.temps.iter().enumerate().map(|(i, temp)| {
            let constness = if dst == Some(Place::Temp(i)) { "" } else { "const " };
            format!("{constness}{}* __restrict__ w{i}", held(temp.kind))
        });
        let others = self.parts.others.map(|_| "Other* __restrict__ others".to_owned());
        let last = ["const double* __restrict__ scale", "double* __restrict__ crossed"].map(str::to_owned);
        let all = tensors.chain(axes).chain(scalars).chain(results).chain(temps).chain(others).chain(last);
        all.collect::<Vec<_>>().join(", ")
    }

    fn blank(&self) -> String {
        let fill = |r: &ResultParts| {
            let (t, places) = (r.tensor, self.running.places());
            let loops = format!("value{t}[i] = __builtin_nan(\"\"), bound{t}[i] = -1;");
            grid::stride_loop(&places.span(t), &format!("    {loops}\n"))
        };
        let none = self
            .parts
            .others
            .map_or("", |_| "  if (blockIdx.x == 0 && threadIdx.x == 0) others->tensor = 0;\n");
        let same = "  if (blockIdx.x == 0 && threadIdx.x == 0) *crossed = 0;\n";
        let fills: String = self.parts.results.iter().map(fill).collect();
        self.text((BLANK, grid::THREADS), None, &format!("{none}{same}{fills}"))
    }

    fn kernel(&self, number: usize, step: &Step) -> String {
        let places = self.running.places();
        let scale = match step.value {
            Value::Map(_) => "",
            Value::Reduce { .. } | Value::Scan { .. } => "  const double sum_scale = *scale;\n",
        };
        let (total, statement) = (places.total(&step.loops), self.running.statement(step));
        let head = |total: &str| format!("{scale}  const int64_t total = {total};\n");
        let body = match Sampled::of(self.running, self.sample.as_ref(), (number, step)) {
            None => head(&total) + &grid::each_point(places, &step.loops, &statement),
            Some(sampled) if sampled.is_marked() => {
                let marked = sampled.mark("continue") + &statement;
                format!("{SAMPLE}{}{}", head(&total), grid::each_point(places, &step.loops, &marked))
            }
            Some(sampled) => {
                let rest = sampled.point(&total, "continue") + &places.unravel(&step.loops, "    ");
                format!(
                    "{SAMPLE}{}{}",
                    head(&sampled.points(&total)),
                    grid::stride_loop("total", &(rest + &statement))
                )
            }
        };
        self.text((&number.to_string(), grid::THREADS), Some(step.dst), &body)
    }
}
