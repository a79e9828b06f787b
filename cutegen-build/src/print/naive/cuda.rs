//! The naive kernel for CUDA: a launch per [`Group`] of steps. A thread has an element; a block, or a cluster of them,
//! has one whose reduction is long, and a block 64 x 64 of a sum of products. Constant extents are constants of the
//! source. Where no special form clearly applies, a thread does what the schedule says.

mod blocks;
mod group;
mod scan;
mod threads;
mod tile;

use std::collections::BTreeSet;

use cutegen_spec::arch::Feature;
use cutegen_spec::axis;
use cutegen_spec::contract::{Arg, Contract, Step as LaunchStep, WorkspacePart};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Loop, Place, ReduceOp};
use cutegen_spec::tensor::Role;

use super::{CUDA_PRELUDE, Fold, Naive, Printed};
use crate::plan::family::constant;
use crate::plan::schedule::{Step, Value};
use crate::print::c::element;
use crate::print::grid;
use group::{Group, groups};
use scan::Scanned;
use tile::Tile;

/// What kernels whose blocks reduce start with; the second is for clusters of them.
const BLOCKS_PRELUDE: [&str; 3] =
    [include_str!("cuda/blocks.cuh"), include_str!("cuda/clusters.cuh"), include_str!("cuda/leaders.cuh")];

pub(super) fn print(naive: &Naive<'_>) -> Printed {
    let groups = groups(&naive.plan.spec, &naive.plan.schedule);
    let held = groups.iter().flat_map(|group| group.held.iter().map(|(temp, _)| *temp)).collect();
    let naive = Naive { plan: naive.plan, held };
    let cuda = Cuda { extents: axis::largest(&naive.plan.spec.axes).unwrap_or_default(), naive };
    let launches = groups.iter().enumerate().map(|(n, group)| cuda.launch(&format!("@ENTRY@_{n}"), group));
    let (kernels, steps): (Vec<String>, Vec<LaunchStep>) = launches.unzip();
    let kernels = kernels.concat();
    let blocks = if kernels.contains("cg_of_") { cuda.blocks_prelude() } else { String::new() };
    let source = format!(
        "{}#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\nusing acc = {};\n\n{CUDA_PRELUDE}\n{blocks}{}\n{kernels}",
        cuda.naive.header(),
        element(cuda.naive.acc()),
        cuda.constants(),
    );
    Printed { source, contract: Contract { workspace: cuda.workspace(), steps } }
}

/// A reduction of a group, in terms of the variables of the group's last step.
struct Reduction<'a> {
    /// The temporary that stands for it.
    temp: usize,
    op: ReduceOp,
    over: &'a [Loop],
    body: &'a Expr,
}

impl<'a> Reduction<'a> {
    fn of((temp, step): (usize, &'a Step)) -> Option<Self> {
        let Value::Reduce { op, over, body } = &step.value else { return None };
        Some(Reduction { temp, op: *op, over, body })
    }

    fn fold(&self, naive: &Naive<'_>) -> Fold {
        Fold::new(self.op, self.body, naive)
    }

    /// The variable of which an index is wanted.
    fn at(&self) -> usize {
        self.over.first().map_or(0, |l| l.var)
    }
}

/// What a group reduces.
fn reductions(group: &Group) -> Vec<Reduction<'_>> {
    let own = match group.last.dst {
        Place::Temp(temp) => Some((temp, &group.last)),
        Place::Tensor(_) => None,
    };
    group.held.iter().map(|(temp, step)| (*temp, step)).chain(own).filter_map(Reduction::of).collect()
}

/// What is printed, with the largest extent of every axis.
struct Cuda<'a> {
    naive: Naive<'a>,
    extents: Vec<i64>,
}

/// The shape of a launch.
struct Shape {
    threads: i64,
    /// What has a block each, or a thread.
    points: IntExpr,
    /// How many of them a block has.
    per_block: i64,
    /// Blocks that have one together.
    cluster: i64,
}

impl Cuda<'_> {
    fn blocks_prelude(&self) -> String {
        let [blocks, clusters, leaders] = BLOCKS_PRELUDE;
        let clusters = if self.has_clusters() { clusters } else { "" };
        [blocks, clusters, leaders].concat()
    }

    fn has_clusters(&self) -> bool {
        self.naive.plan.target.has(Feature::Cluster)
    }

    /// The kernel of a group, and how it is launched.
    fn launch(&self, entry: &str, group: &Group) -> (String, LaunchStep) {
        let (shape, body) = self.body(group);
        let text = grid::kernel((entry, shape.threads), &self.parameters(), &body);
        let mut step = grid::launch((entry.to_owned(), shape.per_block), shape.points, self.args());
        step.block[0] = IntExpr::Const(shape.threads);
        if shape.cluster > 1 {
            step.grid[0] = IntExpr::op(IntOp::Mul, step.grid[0].clone(), IntExpr::Const(shape.cluster));
            step.cluster[0] = IntExpr::Const(shape.cluster);
        }
        (text, step)
    }

    /// The text of a kernel and the shape of its launch.
    fn body(&self, group: &Group) -> (Shape, String) {
        let loops = &group.last.loops;
        if let Some(scanned) = Scanned::of(group) {
            let points = self.points(scanned.loops());
            return if scanned.is_of_blocks(self) {
                (Shape::of_blocks(scan::THREADS, points), scanned.of_block(self))
            } else {
                (Shape::of_threads(points), scanned.of_thread(self))
            };
        }
        let reductions = reductions(group);
        if reductions.is_empty() {
            return (Shape::of_threads(self.points(loops)), self.plain(&group.last));
        }
        if let Some(tile) = Tile::of(self, group, &reductions) {
            return (Shape::of_blocks(tile::THREADS, tile.blocks(self)), tile.body(self, group, &reductions));
        }
        match blocks::shares(self, group, &reductions) {
            Some(shares) => {
                let shape = Shape::of_blocks(shares.threads, self.points(loops));
                let shape = Shape { cluster: shares.blocks, ..shape };
                (shape, blocks::body(self, group, &reductions, shares))
            }
            None => (Shape::of_threads(self.points(loops)), threads::body(self, group, &reductions)),
        }
    }

    /// A thread an element of what is not reduced; packed elements go two to a thread.
    fn plain(&self, step: &Step) -> String {
        let naive = &self.naive;
        if naive.is_packed(step) {
            let head = format!("  const int64_t total = {};\n", naive.places().total(&step.loops));
            let at = naive.packed_value(step, "  ");
            return head + &at + &grid::stride_loop("(total + 1) / 2", &naive.packed_store(step, "    "));
        }
        self.each_point(&step.loops, &naive.element_statement(step, "    "))
    }

    /// `statement` for each point of the loops, a thread a point.
    fn each_point(&self, loops: &[Loop], statement: &str) -> String {
        let inside = format!("{}{}{statement}", self.unravel("i", loops, "    "), self.guards(loops));
        let head = format!("  const int64_t total = {};\n", self.naive.places().total(loops));
        head + &grid::stride_loop("total", &inside)
    }

    /// `statement` for each point of the loops, `blocks` blocks a point.
    fn each_block(&self, loops: &[Loop], blocks: i64, statement: &str) -> String {
        let (at, step) = match blocks {
            1 => ("blockIdx.x".to_owned(), "gridDim.x".to_owned()),
            more => (format!("blockIdx.x / {more}"), format!("gridDim.x / {more}")),
        };
        format!(
            "  const int64_t total = {};\n  for (int64_t i = {at}; i < total; i += {step}) {{\n{}{}{statement}  }}\n",
            self.naive.places().total(loops),
            self.unravel("i", loops, "    "),
            self.guards(loops)
        )
    }

    /// Points outside bounds are left out.
    fn guards(&self, loops: &[Loop]) -> String {
        let one = |l: &Loop| {
            let (first, end) = self.naive.places().bounds(l);
            format!("    if (v{0} < {first} || v{0} >= {end}) continue;\n", l.var)
        };
        loops.iter().filter(|l| !l.is_whole()).map(one).collect()
    }

    /// The statement that stores an element, its reductions being `r` and the number of their temporaries.
    fn finish(&self, group: &Group, indent: &str) -> String {
        let last = &group.last;
        let value = match (&last.value, last.dst) {
            (Value::Map(value), _) => self.naive.stored(last, value),
            (_, Place::Temp(temp)) => format!("r{temp}"),
            (_, Place::Tensor(_)) => "r".to_owned(),
        };
        self.naive.store(last, &value, indent)
    }

    /// The most points that loops have, at any extents.
    fn most(&self, loops: &[Loop]) -> f64 {
        let extent = |l: &Loop| self.extents.get(self.naive.plan.schedule.vars[l.var]).copied();
        loops.iter().map(|l| extent(l).unwrap_or(i64::MAX) as f64).product()
    }

    fn points(&self, loops: &[Loop]) -> IntExpr {
        let axes = loops.iter().map(|l| IntExpr::Axis(self.naive.plan.schedule.vars[l.var]));
        axes.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1))
    }

    /// The variables that move the largest operand of `expr` by one element; none where it has strides of its own.
    fn neighbours(&self, expr: &Expr) -> Vec<usize> {
        let mut found = (0, Vec::new());
        expr.visit(&mut |e| {
            if let Expr::Load(place, index) | Expr::Pad(place, index, _) = e {
                let mut vars = Vec::new();
                index.iter().for_each(|index| index.vars(&mut vars));
                let dense = index.last().filter(|_| self.is_dense(*place));
                if vars.len() > found.0 {
                    found = (vars.len(), dense.map(unit).unwrap_or_default());
                }
            }
        });
        found.1
    }

    fn is_dense(&self, place: Place) -> bool {
        let Place::Tensor(t) = place else { return true };
        let strides = &self.naive.plan.spec.tensors[t].strides;
        strides.as_ref().is_none_or(|strides| strides.last() == Some(&IntExpr::Const(1)))
    }

    /// Declarations of loop variables from the flat index of this name.
    fn unravel(&self, flat: &str, loops: &[Loop], indent: &str) -> String {
        let [first, inner @ ..] = loops else { return String::new() };
        if inner.is_empty() {
            return format!("{indent}const int64_t v{} = {flat};\n", first.var);
        }
        format!(
            "{indent}int64_t rest_{flat} = {flat};\n{}{indent}const int64_t v{} = rest_{flat};\n",
            self.naive.places().unravel_of(&format!("rest_{flat}"), inner, indent),
            first.var
        )
    }

    /// The extents that every shape has.
    fn constants(&self) -> String {
        let all = 0..self.naive.plan.spec.axes.len();
        let text = all.filter_map(|axis| {
            Some(format!("static constexpr int64_t a{axis} = {};\n", self.constant(axis)?))
        });
        text.collect()
    }

    fn constant(&self, axis: usize) -> Option<i64> {
        constant(&self.naive.plan.spec, &IntExpr::Axis(axis))
    }

    /// The axes whose extents are arguments.
    fn ranged(&self) -> impl Iterator<Item = usize> {
        (0..self.naive.plan.spec.axes.len()).filter(|axis| self.constant(*axis).is_none())
    }

    /// The temporaries that go through memory.
    fn parts(&self) -> Vec<usize> {
        let held: &BTreeSet<usize> = &self.naive.held;
        (0..self.naive.plan.schedule.temps.len()).filter(|temp| !held.contains(temp)).collect()
    }

    fn workspace(&self) -> Vec<WorkspacePart> {
        let all = self.naive.workspace();
        self.parts().into_iter().map(|temp| all[temp].clone()).collect()
    }

    fn args(&self) -> Vec<Arg> {
        let spec = &self.naive.plan.spec;
        let tensors = (0..spec.tensors.len()).map(Arg::Ptr);
        let scalars = (0..spec.scalars.len()).map(Arg::Scalar);
        let parts = (0..self.parts().len()).map(Arg::Workspace);
        tensors.chain(self.ranged().map(Arg::Axis)).chain(scalars).chain(parts).collect()
    }

    fn parameters(&self) -> String {
        let spec = &self.naive.plan.spec;
        let tensors = spec.tensors.iter().enumerate().map(|(i, tensor)| {
            let constness = if tensor.role == Role::Input { "const " } else { "" };
            format!("{constness}{}* t{i}", self.naive.element(i))
        });
        let axes = self.ranged().map(|i| format!("int64_t a{i}"));
        let scalars = spec.scalars.iter().enumerate().map(|(i, s)| format!("{} s{i}", element(s.dtype)));
        let types = self.naive.part_types();
        let parts = self.parts().into_iter().map(|temp| format!("{}* w{temp}", types[temp]));
        tensors.chain(axes).chain(scalars).chain(parts).collect::<Vec<_>>().join(", ")
    }
}

impl Shape {
    fn of_threads(points: IntExpr) -> Shape {
        Shape { threads: grid::THREADS, points, per_block: grid::THREADS, cluster: 1 }
    }

    fn of_blocks(threads: i64, points: IntExpr) -> Shape {
        Shape { threads, points, per_block: 1, cluster: 1 }
    }
}

/// The variables that an index adds up.
fn unit(index: &Index) -> Vec<usize> {
    match index {
        Index::Var(var) => vec![*var],
        Index::Op(IntOp::Add, a, b) => [unit(a), unit(b)].concat(),
        Index::Op(IntOp::Sub, a, _) => unit(a),
        Index::Const(_) | Index::Extent(_) | Index::Read(..) | Index::Op(..) => Vec::new(),
    }
}
