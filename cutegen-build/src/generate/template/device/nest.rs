//! [`Nest`]: loops over rows and columns with what is stored at each of their points: the form in which the
//! elementwise and the scan template see a schedule. A nest that only walks its tensors in order has one loop.

use cutegen_spec::axis::{Axis, Extent, largest};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Loop, Place};
use cutegen_spec::spec::KernelSpec;

use super::lanes::{Vectors, constant};
use crate::plan::Plan;
use crate::plan::schedule::{Step, Value};
use crate::print::c::is_packed;

/// Slack for tiles that reach beyond the last element.
const SLACK: i128 = 1 << 20;

/// `tensor[index] = value` at every point.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) tensor: usize,
    pub(super) index: Vec<Index>,
    pub(super) value: Expr,
}

/// Loops and what is stored.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The kernel, with one axis more when the nest is flat.
    pub(super) spec: KernelSpec,
    /// The axis of each variable.
    pub(super) axes: Vec<usize>,
    /// Loop variables, outermost first; the last runs along the columns.
    pub(super) vars: Vec<usize>,
    pub(super) outputs: Vec<Output>,
    /// The axes that a flat nest's one axis stands for.
    flat: Vec<usize>,
}

impl Nest {
    /// The nest that all of `steps` share, if they are maps to tensors over the same whole loops, and none reads what
    /// another has written.
    pub(super) fn of(plan: &Plan, steps: &[Step]) -> Option<Nest> {
        let axes = plan.schedule.vars.clone();
        let vars = steps.first()?.vars();
        let outputs: Vec<Output> =
            steps.iter().map(|step| output(&axes, &vars, step)).collect::<Option<_>>()?;
        let nest = Nest { spec: plan.spec.clone(), axes, vars, outputs, flat: Vec::new() };
        (!nest.vars.is_empty() && nest.is_independent() && nest.is_storable()).then_some(nest)
    }

    pub(super) fn inner(&self) -> usize {
        self.vars.last().copied().unwrap_or(0)
    }

    pub(super) fn vectors(&self, width: i64, assumed: &[usize]) -> Vectors<'_> {
        let assumed = assumed.to_vec();
        Vectors { spec: &self.spec, inner: self.inner(), width, assumed }
    }

    /// Whether any step of the nest writes the tensor.
    pub(super) fn writes(&self, tensor: usize) -> bool {
        self.outputs.iter().any(|output| output.tensor == tensor)
    }

    /// Points of all loops but the last, in axes of the spec.
    pub(super) fn rows(&self) -> IntExpr {
        let (_, outer) = self.vars.split_last().unwrap_or((&0, &[]));
        product(outer.iter().map(|var| self.axes[*var]))
    }

    /// Points of the last loop, in axes of the spec.
    pub(super) fn columns(&self) -> IntExpr {
        if self.flat.is_empty() {
            return IntExpr::Axis(self.axes[self.inner()]);
        }
        product(self.flat.iter().copied())
    }

    /// The axis of the spec that runs fastest along the columns.
    pub(super) fn last_axis(&self) -> usize {
        self.flat.last().copied().unwrap_or(self.axes[self.inner()])
    }

    /// The extent of an axis that no run-time axis enters.
    pub(super) fn extent(&self, axis: usize) -> Option<i64> {
        constant(&self.spec.axes, &IntExpr::Axis(axis))
    }

    /// Axes that are arguments of the kernel.
    pub(super) fn arguments(&self) -> usize {
        self.spec.axes.len() - usize::from(!self.flat.is_empty())
    }

    /// The nest with one loop, where every access is at all variables in order or at none, in dense tensors of one shape.
    pub(super) fn flattened(mut self) -> Nest {
        if self.vars.len() < 2 || !self.is_flat() {
            return self;
        }
        let (var, axis) = (self.axes.len(), self.spec.axes.len());
        self.flat = self.vars.iter().map(|var| self.axes[*var]).collect();
        let derived = Extent::Derived(product(self.flat.iter().copied()));
        self.spec.axes.push(Axis { name: "flat".to_owned(), extent: derived });
        self.axes.push(axis);
        for output in &mut self.outputs {
            output.index = vec![Index::Var(var)];
            output.value = walk_in_order(&output.value, var);
            self.spec.tensors[output.tensor].dims = vec![IntExpr::Axis(axis)];
        }
        for tensor in reads(self.outputs.iter().map(|output| &output.value)) {
            if !self.spec.tensors[tensor].dims.is_empty() {
                self.spec.tensors[tensor].dims = vec![IntExpr::Axis(axis)];
            }
        }
        self.vars = vec![var];
        self
    }

    fn is_flat(&self) -> bool {
        let shape = &self.spec.tensors[self.outputs[0].tensor].dims;
        let own: Vec<Index> = self.vars.iter().copied().map(Index::Var).collect();
        let in_order = |tensor: usize, index: &[Index]| {
            let declared = &self.spec.tensors[tensor];
            declared.strides.is_none()
                && (declared.dims.is_empty() || (declared.dims == *shape && *index == *own))
        };
        let mut flat = self.outputs.iter().all(|output| in_order(output.tensor, &output.index));
        for output in &self.outputs {
            output.value.visit(&mut |expr| match expr {
                Expr::Load(Place::Tensor(tensor), index) => flat &= in_order(*tensor, index),
                Expr::Int(index) => flat &= matches!(index, Index::Const(_) | Index::Extent(_)),
                Expr::Pad(..) | Expr::Load(..) => flat = false,
                _ => {}
            });
        }
        flat
    }

    /// Steps run side by side: a tensor that one writes is read by itself alone, at the point that it writes.
    fn is_independent(&self) -> bool {
        self.outputs.iter().all(|writer| {
            self.outputs.iter().all(|reader| {
                let mut apart = std::ptr::eq(writer, reader) || writer.tensor != reader.tensor;
                reader.value.visit(&mut |expr| {
                    let inside = expr.indices().into_iter().any(|index| index_reads(index, writer.tensor));
                    let own = std::ptr::eq(writer, reader);
                    let elsewhere = match expr {
                        Expr::Load(Place::Tensor(t), index) => {
                            *t == writer.tensor && !(own && *index == writer.index)
                        }
                        Expr::Pad(Place::Tensor(t), ..) => *t == writer.tensor,
                        _ => false,
                    };
                    apart &= !inside && !elsewhere;
                });
                apart && !reader.index.iter().any(|index| index_reads(index, writer.tensor))
            })
        })
    }

    /// Two elements of a byte cannot be stored by two lanes.
    fn is_storable(&self) -> bool {
        self.outputs.iter().all(|output| !is_packed(self.spec.tensors[output.tensor].dtype))
    }

    /// The type that holds every index and address at every shape of the domain.
    pub(super) fn integer(&self, bodies: &[&Expr]) -> &'static str {
        let reach = self.reach(bodies);
        if reach.is_some_and(|reach| reach < (1 << 31) - SLACK) { "int32_t" } else { "int64_t" }
    }

    fn reach(&self, bodies: &[&Expr]) -> Option<i128> {
        let ends = Ends { nest: self, extents: largest(&self.spec.axes)? };
        let mut most = ends.of_extent(&self.columns())?.checked_mul(ends.of_extent(&self.rows())?)?;
        let mut see = |reach: Option<i128>| most = reach.map_or(i128::MAX, |reach| most.max(reach));
        for tensor in &self.spec.tensors {
            see(tensor.span(&ends.extents).map(i128::from));
        }
        self.outputs.iter().flat_map(|output| &output.index).for_each(|index| see(ends.of(index)));
        for value in self.outputs.iter().map(|output| &output.value).chain(bodies.iter().copied()) {
            value.visit(&mut |expr| {
                expr.indices().into_iter().for_each(|index| see(ends.of(index)));
            });
        }
        Some(most)
    }
}

/// The largest values that integers reach.
struct Ends<'a> {
    nest: &'a Nest,
    extents: Vec<i64>,
}

impl Ends<'_> {
    fn of_extent(&self, expr: &IntExpr) -> Option<i128> {
        expr.eval_axes(&self.extents).map(i128::from)
    }

    fn of(&self, index: &Index) -> Option<i128> {
        match index {
            Index::Const(value) => Some(i128::from(*value).abs()),
            Index::Extent(axis) => self.of_extent(&IntExpr::Axis(*axis)),
            Index::Var(var) => self.of_extent(&IntExpr::Axis(self.nest.axes[*var])),
            Index::Read(tensor, inner) => {
                inner.iter().map(|index| self.of(index)).collect::<Option<Vec<_>>>()?;
                let tensor = &self.nest.spec.tensors[*tensor];
                let declared = tensor.range.as_ref().and_then(|range| {
                    Some(self.of_extent(&range.from)?.abs().max(self.of_extent(&range.to)?.abs()))
                });
                Some(declared.unwrap_or(tensor.dtype.max_finite() as i128))
            }
            Index::Op(op, a, b) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                match op {
                    IntOp::Add | IntOp::Sub | IntOp::CeilDiv => a.checked_add(b),
                    IntOp::Mul => a.checked_mul(b),
                    IntOp::Div | IntOp::Rem | IntOp::Min | IntOp::Max => Some(a.max(b)),
                }
            }
        }
    }
}

/// A step as an output over `vars`.
fn output(axes: &[usize], vars: &[usize], step: &Step) -> Option<Output> {
    let (Place::Tensor(tensor), Value::Map(value)) = (step.dst, &step.value) else { return None };
    let own = step.vars();
    let same = own.len() == vars.len() && own.iter().zip(vars).all(|(a, b)| axes[*a] == axes[*b]);
    if !same || !step.loops.iter().all(Loop::is_whole) {
        return None;
    }
    let to = |var: usize| own.iter().position(|v| *v == var).map(|at| Index::Var(vars[at]));
    let index = step.index.iter().map(|index| index.subst(&to)).collect();
    Some(Output { tensor, index, value: value.subst(&to) })
}

fn product(axes: impl Iterator<Item = usize>) -> IntExpr {
    let all = axes.map(IntExpr::Axis).reduce(|a, b| IntExpr::op(IntOp::Mul, a, b));
    all.unwrap_or(IntExpr::Const(1))
}

fn walk_in_order(value: &Expr, var: usize) -> Expr {
    match value {
        Expr::Load(place, index) if !index.is_empty() => Expr::Load(*place, vec![Index::Var(var)]),
        other => other.map_children(&mut |child| walk_in_order(child, var)),
    }
}

fn reads<'a>(values: impl Iterator<Item = &'a Expr>) -> Vec<usize> {
    let mut found = Vec::new();
    for value in values {
        value.visit(&mut |expr| {
            if let Expr::Load(Place::Tensor(tensor), _) = expr {
                found.push(*tensor);
            }
        });
    }
    found
}

fn index_reads(index: &Index, tensor: usize) -> bool {
    let mut found = false;
    index.visit(&mut |i| found |= matches!(i, Index::Read(t, _) if *t == tensor));
    found
}

/// Axes that strides of a tensor are made of, where these are no constants.
pub(super) fn stride_axes(spec: &KernelSpec, tensor: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for stride in spec.tensors[tensor].stride_exprs() {
        if constant(&spec.axes, &stride).is_none() {
            collect_axes(spec, &stride, &mut found);
        }
    }
    found
}

fn collect_axes(spec: &KernelSpec, expr: &IntExpr, found: &mut Vec<usize>) {
    match expr {
        IntExpr::Axis(axis) if constant(&spec.axes, expr).is_none() && !found.contains(axis) => {
            found.push(*axis);
        }
        IntExpr::Op(_, a, b) => {
            collect_axes(spec, a, found);
            collect_axes(spec, b, found);
        }
        IntExpr::Axis(_) | IntExpr::Const(_) | IntExpr::Device(_) => {}
    }
}
