//! Templates of matrix products: one product or a gated pair, batches, and any elementwise epilogue. What they share: the
//! product, where its factors lie, and what a launch is asked for.

mod mma_sync;
mod operand;
#[cfg(test)]
mod tests;
mod vector;
mod wgmma;

use std::ops::RangeInclusive;

use cutegen_spec::arch::Feature;
use cutegen_spec::contract::{Initial, WorkspacePart};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Condition;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Kind;

use super::computes;
use super::lanes::constant;
use super::nest::Nest;
use super::problem::{Given, Laid, Problem};
use crate::generate::Candidate;
use crate::plan::Plan;
use crate::plan::matmul::Matmul;
use crate::print;
use mma_sync::MmaSync;
use operand::Operand;
use vector::Vector;
use wgmma::Wgmma;

const TILES: &str = include_str!("product_tiles.cuh.in");
const SOURCE: &str = include_str!("product_source.cuh.in");
const EPILOGUE: &str = include_str!("product_epilogue.cuh.in");

/// A product with its rest.
struct Product<'a> {
    plan: &'a Plan,
    matmul: &'a Matmul,
    nest: &'a Nest,
    problem: &'a Problem<'a>,
    /// The type of both factors' elements.
    element: DType,
    a: Operand<'a>,
    b: Vec<Operand<'a>>,
}

/// When blocks that share k are worth it.
struct Fill {
    /// All blocks of a launch.
    blocks: RangeInclusive<i64>,
    /// Terms that each has at least.
    terms_least: i64,
}

/// Every candidate for the plan; none where it is no product of two factors of bf16, f16 or f32.
pub(super) fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    let found = computes(plan).then(|| Matmul::of(&plan.spec, &plan.schedule)).flatten();
    let Some(matmul) = found else { return Vec::new() };
    let Some(element) = element(plan, &matmul) else { return Vec::new() };
    let Some(nest) = nest(plan, &matmul) else { return Vec::new() };
    let Some(problem) = Problem::new(&nest, None, given(&matmul)) else { return Vec::new() };
    let axes = &plan.spec.axes;
    let (a, b) = (Operand::a(axes, &matmul), Operand::b(axes, &matmul));
    if !b.iter().all(|other| other.lies_as(&b[0])) {
        return Vec::new();
    }
    let product = Product { plan, matmul: &matmul, nest: &nest, problem: &problem, element, a, b };
    let left = |found: &Vec<Candidate>| at_most.saturating_sub(found.len());
    let mut found = if element == DType::F32 { Vec::new() } else { MmaSync(&product).candidates(at_most) };
    found.extend(Wgmma::of(&product).map(|wgmma| wgmma.candidates(left(&found))).unwrap_or_default());
    found.extend(Vector::of(&product).map(|vector| vector.candidates(left(&found))).unwrap_or_default());
    found
}

/// The type of both factors' elements, where there are instructions for it.
fn element(plan: &Plan, matmul: &Matmul) -> Option<DType> {
    let dtype = |tensor: usize| plan.spec.tensors[tensor].dtype;
    let first = dtype(matmul.a().tensor);
    let same = matmul.products.iter().all(|product| dtype(product.b.tensor) == first);
    Some(first).filter(|dtype| same && matches!(dtype, DType::Bf16 | DType::F16 | DType::F32))
}

/// The loops of the maps: batches, rows, columns.
fn nest(plan: &Plan, matmul: &Matmul) -> Option<Nest> {
    let mut nest = Nest::of(plan, matmul.maps(&plan.schedule))?;
    nest.vars = matmul.batch.iter().chain(&matmul.m).copied().chain(matmul.n).collect();
    let reads = |tensor: usize| matmul.products.iter().any(|p| p.a.tensor == tensor || p.b.tensor == tensor);
    let in_place = nest.outputs.iter().any(|output| reads(output.tensor));
    matmul.n.filter(|_| !in_place).map(|_| nest)
}

fn given(matmul: &Matmul) -> Vec<Given> {
    let sums = matmul.products.iter().enumerate();
    sums.map(|(at, product)| Given { temp: product.sum, kind: Kind::Real, name: format!("acc{at}") })
        .collect()
}

/// `a * b`.
fn times(a: IntExpr, b: i64) -> IntExpr {
    if b == 1 { a } else { IntExpr::op(IntOp::Mul, a, IntExpr::Const(b)) }
}

/// So many partial sums of blocks that share k, and how many blocks of each tile have come.
fn partial_sums(sums: IntExpr, tiles: IntExpr) -> Vec<WorkspacePart> {
    vec![
        WorkspacePart { bytes: times(sums, 4), initial: Initial::Undefined },
        WorkspacePart { bytes: times(tiles, 4), initial: Initial::KeptZero },
    ]
}

/// The same where so many blocks share each tile, of so many elements; nothing where one has all of its k.
fn sums_of_parts(tiles: IntExpr, parts: i64, elements: i64) -> Vec<WorkspacePart> {
    let sums = times(tiles.clone(), parts * elements);
    if parts > 1 { partial_sums(sums, tiles) } else { Vec::new() }
}

impl<'a> Product<'a> {
    /// How many sums share a factor.
    fn sums(&self) -> i64 {
        self.b.len() as i64
    }

    /// Whether a point is launched programmatically: both ways, where the target has such launches.
    fn launches(&self) -> impl Iterator<Item = bool> + use<> {
        let has = self.plan.target.has(Feature::Pdl);
        [false, true].into_iter().filter(move |pdl| has || !pdl)
    }

    /// An expression that no run-time axis enters.
    fn known(&self, expr: &IntExpr) -> Option<i64> {
        constant(&self.plan.spec.axes, expr)
    }

    /// The widest vectors of the rest that extents allow.
    fn laid(&self) -> Laid<'a> {
        self.laid_within(8)
    }

    /// The same of at most so many columns, a power of two.
    fn laid_within(&self, most: i64) -> Laid<'a> {
        let wide = [8, 4, 2].into_iter().filter(|width| *width <= most);
        let wide = wide.map(|width| Laid::new(self.problem, width));
        let laid = wide.into_iter().find(|laid| laid.is_vectorised() && !laid.scatters_stores());
        laid.unwrap_or_else(|| Laid::new(self.problem, 1)).sparing()
    }

    /// Tiles of y, over all batches.
    fn tiles(&self, [rows, columns]: [i64; 2]) -> IntExpr {
        let tiles = |extent: IntExpr, tile: i64| IntExpr::op(IntOp::CeilDiv, extent, IntExpr::Const(tile));
        let of_one =
            IntExpr::op(IntOp::Mul, tiles(self.matmul.rows(), rows), tiles(self.matmul.columns(), columns));
        IntExpr::op(IntOp::Mul, self.matmul.batches(), of_one)
    }

    /// How many blocks may share the k of a tile of so many rows and columns: as many as fill a card together, each with as
    /// many terms as it has at least. Rows that are not known are one tile. None where other extents are not known, or such
    /// rows are of more than one axis.
    fn parts(&self, [rows, columns]: [i64; 2], fill: &Fill) -> Vec<i64> {
        let matmul = self.matmul;
        let [batches, all, terms] =
            [matmul.batches(), matmul.columns(), matmul.terms()].map(|expr| self.known(&expr));
        let (Some(batches), Some(all), Some(terms)) = (batches, all, terms) else { return Vec::new() };
        let all_rows = self.known(&matmul.rows());
        let one_axis = matches!(matmul.rows(), IntExpr::Axis(_)) || all_rows.is_some();
        let tiles_m = all_rows.map_or(1, |all| (all + rows - 1) / rows);
        let tiles = batches * tiles_m * ((all + columns - 1) / columns);
        let fits = |parts: &i64| fill.blocks.contains(&(tiles * parts)) && terms >= parts * fill.terms_least;
        let all = [2, 3, 4, 6, 8].into_iter().filter(fits);
        if one_axis { all.collect() } else { Vec::new() }
    }

    /// Partial sums are of one tile of rows, which bounds the workspace.
    fn bounds_rows(&self, is_split: bool, rows: i64) -> Option<Condition> {
        let expr = self.matmul.rows();
        let is_bound = is_split && self.known(&expr).is_none();
        is_bound.then_some(Condition::AtMost { expr, bound: rows })
    }

    /// Axes of y and of k with their tiles' extents.
    fn tiled_axes(&self, [rows, columns, terms]: [i64; 3]) -> Vec<(usize, i64)> {
        let matmul = self.matmul;
        let of = |var: Option<&usize>, tile: i64| var.map(|var| (matmul.axis(*var), tile));
        let all = [of(matmul.m.last(), rows), of(matmul.n.as_ref(), columns), of(matmul.k.last(), terms)];
        all.into_iter().flatten().collect()
    }

    /// Extents and factors, as members of `struct Problem`.
    fn members(&self) -> String {
        let int = |expr: &IntExpr| print::int(expr);
        let mut text = format!(
            "  CG_DEVICE Integer m() const {{ return {}; }}\n  CG_DEVICE Integer k() const {{ return {}; }}\n",
            int(&self.matmul.rows()),
            int(&self.matmul.terms())
        );
        let sums: String = (0..self.b.len()).map(|at| format!(", sums.v[{at}][j]")).collect();
        text += &format!(
            "  template <class Sums>\n  CG_DEVICE Results results(Values const& x, Sums const& sums, int j) const {{ return results(x{sums}); }}\n"
        );
        text += &format!(
            "  CG_DEVICE auto a([[maybe_unused]] Integer batch) const {{\n{}  }}\n",
            self.a.source()
        );
        for (at, b) in self.b.iter().enumerate() {
            text += &format!(
                "  CG_DEVICE auto b{at}([[maybe_unused]] Integer batch) const {{\n{}  }}\n",
                b.source()
            );
        }
        text
    }

    /// The math, for a header.
    fn math(&self) -> String {
        self.plan.spec.math.canonical().trim_end().replace('\n', "\n// ")
    }

    /// The preludes, for the values that are stored.
    fn prelude(&self) -> String {
        let dtype = |tensor: usize| self.plan.spec.tensors[tensor].dtype;
        let values = self.nest.outputs.iter().map(|output| (dtype(output.tensor), &output.value));
        super::prelude(&values.collect::<Vec<_>>(), &[], self.nest.integer(&[]))
    }

    /// Whether no launch writes a tensor, so that it is read before the launch before has ended.
    fn is_constant(&self, tensor: usize) -> bool {
        self.plan.spec.tensors[tensor].constant
    }
}

/// Conditions of both lists, each once.
fn all_of(mut conditions: Vec<Condition>, more: impl IntoIterator<Item = Condition>) -> Vec<Condition> {
    for condition in more {
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    independent(conditions)
}

/// The conditions that no other implies: of each tensor's alignments the strictest, and no multiple of what is divided.
fn independent(conditions: Vec<Condition>) -> Vec<Condition> {
    let implies = |other: &Condition, one: &Condition| match (one, other) {
        (Condition::Aligned { tensor, bytes }, Condition::Aligned { tensor: of, bytes: more }) => {
            tensor == of && more > bytes
        }
        (Condition::Divides { expr, by }, Condition::Divides { expr: factor, by: more }) => {
            more % by == 0 && (expr != factor || more > by) && has_factor(expr, factor)
        }
        _ => false,
    };
    let is_implied = |one: &Condition| conditions.iter().any(|other| implies(other, one));
    conditions.iter().filter(|one| !is_implied(one)).cloned().collect()
}

/// Whether an expression is a product with this factor.
fn has_factor(expr: &IntExpr, factor: &IntExpr) -> bool {
    let IntExpr::Op(IntOp::Mul, a, b) = expr else { return expr == factor };
    has_factor(a, factor) || has_factor(b, factor)
}
