//! How a point of the wgmma template is launched: grid, arguments, TMA descriptors and workspace.

use cutegen_spec::contract::tensor_map::{Base, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Step, WorkspacePart};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::super::operand::{Lines, Operand, map_of};
use super::super::{partial_sums, sums_of_parts, times};
use super::point::{BK, Point, Split};
use super::{Choice, Wgmma};
use crate::generate::ENTRY;
use crate::generate::template::device::lanes::gcd;
use crate::plan::matmul::View;
use crate::print;

/// Multiprocessors of a whole GH100; no card has more of the one architecture with these instructions. A launch is right by it,
/// so that it is no device model's.
const MULTIPROCESSORS: i64 = 144;

impl Wgmma<'_> {
    /// Tiles of clusters.
    fn tiles(&self, point: &Point) -> IntExpr {
        self.product.tiles(point.cluster_tile())
    }

    pub(super) fn contract(&self, choice: &Choice<'_>) -> Contract {
        let point = choice.point;
        let (one, number) = (|| IntExpr::Const(1), IntExpr::Const);
        let parts = self.workspace(point).len();
        let maps = self.maps(point).into_iter().map(|map| Arg::Map(Box::new(map)));
        let args = maps.chain(print::all_args(&self.product.plan.spec, parts));
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [self.grid(point), one(), one()],
            block: [number(point.threads()), one(), one()],
            cluster: [number(point.neighbours() * point.parts()), one(), one()],
            smem: number(point.smem(self.shape())),
            args: args.chain([Arg::Int(number(point.splits()))]).collect(),
            pdl: choice.pdl,
            co_resident: false,
        };
        Contract {
            workspace: self.workspace(point),
            steps: self.plane_step().into_iter().chain([step]).collect(),
        }
    }

    /// Blocks: as many as fit at once, and no more than there is work for; of a cluster that shares k, all.
    fn grid(&self, point: &Point) -> IntExpr {
        let number = IntExpr::Const;
        if point.parts() > 1 {
            return times(self.tiles(point), point.parts());
        }
        let k_tiles = IntExpr::op(IntOp::CeilDiv, self.product.matmul.terms(), number(BK));
        let of_k = |parts: IntExpr| IntExpr::op(IntOp::Mul, self.tiles(point), parts);
        let work = match point.split {
            Split::Whole => self.tiles(point),
            Split::Parts(parts) => of_k(IntExpr::op(IntOp::Min, number(parts), k_tiles)),
            Split::StreamK => IntExpr::op(IntOp::Min, of_k(k_tiles), number(MULTIPROCESSORS * point.blocks)),
        };
        let at_once = times(IntExpr::Device(DeviceProp::SmCount), point.blocks);
        let clusters = match point.neighbours() {
            1 => at_once,
            blocks => IntExpr::op(IntOp::Div, at_once, number(blocks)),
        };
        times(IntExpr::op(IntOp::Min, work, clusters), point.neighbours())
    }

    /// Planes, and what blocks that share k leave.
    fn workspace(&self, point: &Point) -> Vec<WorkspacePart> {
        let elements = self.product.sums() * point.sides[0] * point.sides[1];
        let tiles = self.tiles(point);
        let sums = match point.split {
            Split::Whole => Vec::new(),
            Split::Parts(parts) => sums_of_parts(tiles, parts, elements),
            // a block begins in one tile and ends in another
            Split::StreamK => {
                partial_sums(IntExpr::Const(2 * MULTIPROCESSORS * point.blocks * elements), tiles)
            }
        };
        self.plane_parts().into_iter().chain(sums).collect()
    }

    /// Descriptors of A, each B, and y.
    fn maps(&self, point: &Point) -> Vec<TensorMap> {
        let product = self.product;
        let factor = |part: usize, operand: &Operand<'_>, rows: i64| {
            let rows = if operand.is_k_major() { rows } else { gcd(rows, 64) };
            if self.has_planes() {
                return self.plane_map(operand, part, operand.box_of(rows, BK));
            }
            operand.map(product.element, rows, BK)
        };
        let [rows, columns] = point.loaded();
        let mut maps = vec![factor(0, &product.a, rows)];
        maps.extend(product.b.iter().enumerate().map(|(at, b)| factor(at + 1, b, columns)));
        maps.extend(self.y.as_ref().map(|y| self.y_map(y, point)));
        maps
    }

    fn y_map(&self, y: &View, point: &Point) -> TensorMap {
        let (plan, matmul) = (self.product.plan, self.product.matmul);
        let [wide, high] = point.y_box();
        let stride = |var: Option<&usize>, other: IntExpr| var.map_or(other, |var| y.stride(*var));
        let row = stride(matmul.m.last(), matmul.columns());
        let batch = stride(matmul.batch.last(), row.clone());
        let lines = Lines {
            offset: y.offset.clone(),
            dims: [matmul.batches(), matmul.rows(), matmul.columns()],
            strides: [batch, row],
        };
        map_of(Base::Tensor(y.tensor), plan.spec.tensors[y.tensor].dtype, lines, [1, high, wide])
    }
}
