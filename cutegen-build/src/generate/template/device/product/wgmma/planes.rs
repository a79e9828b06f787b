//! f32 factors as planes of bf16: the step that cuts them, where planes lie, and how TMA reaches them. The method is that of
//! Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
//! performance", 2022, with three pieces of bf16 and one more of what is finite.

use cutegen_spec::contract::tensor_map::{Base, TensorMap};
use cutegen_spec::contract::{Arg, Initial, Step, WorkspacePart, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::super::operand::{Lines, Operand, map_of};
use super::Wgmma;
use crate::generate::ENTRY;
use crate::generate::template::fill::fill;

const TEMPLATE: &str = include_str!("../../wgmma_planes.cuh.in");
/// Elements of a line are padded to as many, 16 bytes; those of a long one to a line of L2, so that no box straddles two.
const UNIT: i64 = 8;
const LONG_UNIT: i64 = 64;
/// A line is long from so many elements on.
const LONG: i64 = 512;
/// Threads of a block.
const THREADS: i64 = 256;
/// Blocks of a multiprocessor.
const BLOCKS: i64 = 8;
/// Planes of a factor.
const PLANES: i64 = 4;

fn times(a: IntExpr, b: IntExpr) -> IntExpr {
    IntExpr::op(IntOp::Mul, a, b)
}

impl Wgmma<'_> {
    /// To how many elements a line of a plane is padded.
    fn unit(&self, lines: &Lines) -> i64 {
        let is_long = self.product.known(&lines.dims[2]).is_some_and(|elements| elements >= LONG);
        if is_long { LONG_UNIT } else { UNIT }
    }

    /// Elements of a line of a plane.
    fn padded(&self, lines: &Lines) -> IntExpr {
        let unit = self.unit(lines);
        times(IntExpr::op(IntOp::CeilDiv, lines.dims[2].clone(), IntExpr::Const(unit)), IntExpr::Const(unit))
    }

    /// Whether boxes of a factor, or of its planes, have parts of two lines of L2.
    pub(super) fn straddles(&self, factor: &Operand<'_>) -> bool {
        let strays = |elements: i64| elements < LONG && elements % LONG_UNIT != 0;
        let of_planes = || self.product.known(&factor.lines().dims[2]).is_some_and(strays);
        if self.has_planes() { of_planes() } else { factor.straddles() }
    }

    fn factors(&self) -> impl Iterator<Item = &Operand<'_>> {
        std::iter::once(&self.product.a).chain(&self.product.b)
    }

    /// The planes of each factor; none where factors are no f32.
    pub(super) fn plane_parts(&self) -> Vec<WorkspacePart> {
        let part = |factor: &Operand<'_>| {
            let lines = factor.lines();
            let [batches, outer, _] = lines.dims.clone();
            let elements = times(times(batches, outer), self.padded(&lines));
            let bytes = times(elements, IntExpr::Const(PLANES * 2));
            WorkspacePart { bytes, initial: Initial::Undefined }
        };
        if self.has_planes() { self.factors().map(part).collect() } else { Vec::new() }
    }

    /// The descriptor of a factor's planes, which are as many batches more.
    pub(super) fn plane_map(&self, factor: &Operand<'_>, part: usize, tile: [i64; 3]) -> TensorMap {
        let lines = factor.lines();
        let line = self.padded(&lines);
        let [batches, outer, inner] = lines.dims;
        let planes = Lines {
            offset: IntExpr::Const(0),
            dims: [times(batches, IntExpr::Const(PLANES)), outer.clone(), inner],
            strides: [times(outer, line.clone()), line],
        };
        map_of(Base::Workspace(part), DType::Bf16, planes, tile)
    }

    /// The step that cuts factors into planes.
    pub(super) fn plane_step(&self) -> Option<Step> {
        let factors = self.factors().enumerate();
        let args = factors.flat_map(|(part, factor)| {
            let lines = factor.lines();
            let line = self.padded(&lines);
            let numbers = [lines.offset].into_iter().chain(lines.dims).chain([line]).chain(lines.strides);
            [Arg::Ptr(factor.tensor()), Arg::Workspace(part)].into_iter().chain(numbers.map(Arg::Int))
        });
        let args: Vec<Arg> = args.collect();
        let blocks = times(IntExpr::Device(DeviceProp::SmCount), IntExpr::Const(BLOCKS));
        let count = IntExpr::Const(self.factors().count() as i64);
        self.has_planes().then(|| Step {
            entry: format!("{ENTRY}_planes"),
            grid: [blocks, count, IntExpr::Const(1)],
            block: [IntExpr::Const(THREADS), IntExpr::Const(1), IntExpr::Const(1)],
            cluster: ones(),
            smem: IntExpr::Const(0),
            args,
            pdl: false,
            co_resident: false,
        })
    }

    /// The source of that step.
    pub(super) fn plane_text(&self) -> String {
        if !self.has_planes() {
            return String::new();
        }
        const NUMBERS: [&str; 7] = ["offset", "batches", "outer", "inner", "line", "batch_stride", "stride"];
        let count = self.factors().count();
        let params = (0..count).map(|at| {
            let numbers = NUMBERS.map(|name| format!("int64_t {name}{at}")).join(", ");
            format!("float const* t{at}, uint16_t* w{at}, {numbers}")
        });
        let splits = (0..count).map(|at| {
            let sizes =
                ["batches", "outer", "inner", "line"].map(|name| format!("Integer({name}{at})")).join(", ");
            let matrix = format!("t{at} + offset{at}, w{at}, {sizes}, batch_stride{at}, stride{at}");
            format!("if (blockIdx.y == {at}) split<{}>({{{matrix}}});", at == 0)
        });
        let (params, splits) = (params.collect::<Vec<_>>(), splits.collect::<Vec<_>>());
        fill(TEMPLATE, &[("PARAMS", &params.join(",\n    ")), ("SPLITS", &splits.join("\n  "))])
    }
}
