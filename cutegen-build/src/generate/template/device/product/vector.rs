//! The template of matrix products without tensor cores, for at most eight rows: as fast as weights come from memory.

mod point;

use std::ops::RangeInclusive;

use cutegen_spec::axis::Extent;
use cutegen_spec::contract::{Contract, Step, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::record;

use super::super::problem::Laid;
use super::operand::{Operand, widest};
use super::{EPILOGUE, Product, SOURCE, TILES, all_of, sums_of_parts, times};
use crate::generate::template::fill::{config, fill};
use crate::generate::{Candidate, CostFeatures, ENTRY, Fetched, Instruction, ProductFeatures, hinted, hints};
use crate::print;
use point::{Point, Shape};

const TEMPLATE: &str = include_str!("../product_vector.cu.in");

/// Rows that a launch may have, by powers of two.
const ROWS: [i64; 4] = [1, 2, 4, 8];
/// Bytes of the narrowest asynchronous copy.
const COPY_LEAST: i64 = 4;

/// The template for one product.
pub(super) struct Vector<'a> {
    product: &'a Product<'a>,
    /// Bytes of a load of the factor with the rows, and of a copy of the others.
    access: [i64; 2],
    conditions: Vec<Condition>,
    /// How many rows there may be.
    rows: RangeInclusive<i64>,
}

/// A point, and what the cost does not tell apart.
struct Choice<'a> {
    point: &'a Point,
    pdl: bool,
    laid: Laid<'a>,
}

impl<'a> Vector<'a> {
    /// The template, if weights can be copied and rows may be few.
    pub(super) fn of(product: &'a Product<'a>) -> Option<Self> {
        let is_dense = product.b.iter().all(Operand::is_dense);
        let rows = rows(product).filter(|rows| is_dense && *rows.start() <= ROWS[3])?;
        let element = product.element.bytes() as i64;
        let along_k = product.a.is_k_major().then(|| widest(&[&product.a], element, element));
        let (a, of_a) = along_k.flatten().unwrap_or((element, Vec::new()));
        let (b, of_b) = widest(&product.b.iter().collect::<Vec<_>>(), element, COPY_LEAST.max(element))?;
        let conditions = all_of(of_a, of_b);
        Some(Self { product, access: [a, b], conditions, rows })
    }

    fn shape(&self) -> Shape {
        Shape {
            sums: self.product.sums(),
            element: self.product.element.bytes() as i64,
            k_major: self.product.b[0].is_k_major(),
            rows_k_major: self.product.a.is_k_major(),
        }
    }

    pub(super) fn candidates(&self, at_most: usize) -> Vec<Candidate> {
        let is_near = |rows: &i64| rows >= self.rows.start() && rows / 2 < *self.rows.end();
        let points = ROWS.into_iter().filter(is_near).flat_map(|rows| point::points(rows, self.shape()));
        let all = points.flat_map(|point| {
            let parts = if point.blocks == 1 { self.split(&point) } else { Vec::new() };
            std::iter::once(point).chain(parts)
        });
        let all = all.flat_map(|point| self.product.launches().map(move |pdl| (point, pdl))).take(at_most);
        all.map(|(point, pdl)| self.candidate(&point, pdl)).collect()
    }

    /// The points of this tile whose blocks share k.
    fn split(&self, point: &Point) -> Vec<Point> {
        let [rows, columns, _] = point.tile(self.shape());
        let parts = self.product.parts([rows, columns], &point.fill(self.shape()));
        parts.into_iter().map(|splits| Point { splits, ..*point }).collect()
    }

    fn candidate(&self, point: &Point, pdl: bool) -> Candidate {
        let (shape, matmul) = (self.shape(), self.product.matmul);
        let laid = self.product.laid_within(point.tile(shape)[1]);
        let choice = Choice { point, pdl, laid };
        let letters = hints(&[(pdl, 'd')]);
        let name = hinted(point.name(), &letters);
        let (source, contract) = (self.source(&choice, &name), self.contract(&choice));
        Candidate {
            name: format!("product-{name}"),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/product_vector {name}"),
            source,
            contract,
            eligibility: Eligibility(self.conditions(&choice)),
            tiles: self.product.tiled_axes(point.tile(shape)),
            cost_features: Some(CostFeatures::Product(ProductFeatures {
                instruction: Instruction::Fma,
                passes: 1,
                kind: kind(point),
                extents: [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()],
                tile: point.tile(shape),
                products: shape.sums,
                stages: point.stages,
                threads: point.threads(),
                registers: point.registers(shape),
                smem_reads: point.reads(shape),
                element_bytes: shape.element,
                access_bytes: self.access[0].min(self.access[1]),
                fetched: Fetched::Tile,
                splits: point.splits,
                stream_k: false,
                hints: letters,
            })),
        }
    }

    /// What must hold of a launch.
    fn conditions(&self, choice: &Choice<'_>) -> Vec<Condition> {
        let expr = self.product.matmul.rows();
        let is_bound = self.rows.end() > &choice.point.rows;
        let bound = is_bound.then_some(Condition::AtMost { expr, bound: choice.point.rows });
        all_of(choice.laid.conditions(), self.conditions.iter().cloned().chain(bound))
    }

    fn tiles(&self, point: &Point) -> IntExpr {
        let [rows, columns, _] = point.tile(self.shape());
        self.product.tiles([rows, columns])
    }

    fn contract(&self, choice: &Choice<'_>) -> Contract {
        let (point, one) = (choice.point, || IntExpr::Const(1));
        let at_once = times(IntExpr::Device(DeviceProp::SmCount), point.blocks);
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [IntExpr::op(IntOp::Min, times(self.tiles(point), point.splits), at_once), one(), one()],
            block: [IntExpr::Const(point.threads()), one(), one()],
            cluster: ones(),
            smem: IntExpr::Const(point.smem(self.shape())),
            args: print::all_args(&self.product.plan.spec, if point.splits > 1 { 2 } else { 0 }),
            pdl: choice.pdl,
            co_resident: false,
        };
        let [rows, columns, _] = point.tile(self.shape());
        let elements = self.product.sums() * rows * columns;
        let workspace = sums_of_parts(self.tiles(point), point.splits, elements);
        Contract { workspace, steps: vec![step] }
    }

    fn source(&self, choice: &Choice<'_>, name: &str) -> String {
        let (parts, finish): (&[&str], _) = if choice.point.splits > 1 {
            (&["float", "int"], "split_epilogue(p, sums, accum, work.output, work.split, w0, w1)")
        } else {
            (&[], "epilogue(p, sums, accum, work.output)")
        };
        let copies = (0..self.product.b.len()).map(|at| format!("copy(p.b{at}(batch), {at}, first);"));
        let batches = print::int(&self.product.matmul.batches());
        let batches = format!("  CG_DEVICE Integer batches() const {{ return {batches}; }}\n");
        let text = choice.laid.text_with(parts, &(self.product.members() + &batches));
        fill(
            TEMPLATE,
            &[
                ("HEADER", &format!("// product {name}: {}", self.product.math())),
                ("PRELUDE", &self.product.prelude()),
                ("CONFIG", &self.configuration(choice)),
                ("SOURCE", SOURCE),
                ("PROBLEM", &text.problem),
                ("TILES", TILES),
                ("EPILOGUE", EPILOGUE),
                ("PARAMS", &text.params),
                ("MEMBERS", &text.members),
                ("COPIES", &copies.collect::<Vec<_>>().join(" ")),
                ("FINISH", finish),
            ],
        )
    }

    fn configuration(&self, choice: &Choice<'_>) -> String {
        let (product, point) = (self.product, choice.point);
        let [_, columns, terms] = point.tile(self.shape());
        let numbers = [
            ("PRODUCTS", product.sums()),
            ("ROWS", point.rows),
            ("COLUMNS", point.columns),
            ("LANES_N", point.lanes),
            ("WARPS_N", point.warps[0]),
            ("WARPS_K", point.warps[1]),
            ("UNROLL", point.unroll),
            ("STAGES", point.stages),
            ("SPLITS", point.splits),
            ("A_ACCESS", self.access[0]),
            ("B_ACCESS", self.access[1]),
            ("SMEM", point.smem(self.shape())),
            ("GROUP", 1),
            ("VEC", choice.laid.width()),
        ];
        let is_whole = |expr: &IntExpr, tile: i64| product.known(expr).is_some_and(|all| all % tile == 0);
        let flags = [
            ("WHOLE_COLUMNS", is_whole(&product.matmul.columns(), columns)),
            ("WHOLE_TERMS", is_whole(&product.matmul.terms(), terms)),
            ("B_K_MAJOR", self.shape().k_major),
            ("B_AHEAD", product.b.iter().all(|b| product.is_constant(b.tensor()))),
            ("PDL", choice.pdl),
        ];
        let ty = match product.element {
            DType::F32 => "float",
            DType::F16 => "f16",
            _ => "bf16",
        };
        let text = config(&numbers, &flags).replace("constexpr ", "[[maybe_unused]] constexpr ");
        let hints = "[[maybe_unused]] constexpr Load LOAD = Load::CACHED;\n[[maybe_unused]] constexpr Store STORE = Store::CACHED;";
        format!("using T = {ty};\n{text}\n{hints}")
    }
}

/// Of one kind are points that differ in numbers alone.
fn kind(point: &Point) -> &'static str {
    match (point.splits, point.blocks) {
        (1, 1) => "FMA",
        (1, _) => "FMA, two blocks of a multiprocessor",
        _ => "FMA, k over blocks",
    }
}

/// How many rows there may be, where a condition can bound them.
fn rows(product: &Product<'_>) -> Option<RangeInclusive<i64>> {
    let expr = product.matmul.rows();
    if let Some(rows) = product.known(&expr) {
        return Some(rows..=rows);
    }
    let IntExpr::Axis(axis) = expr else { return None };
    match &product.plan.spec.axes[axis].extent {
        Extent::Range { lo, hi, .. } => Some(*lo..=*hi),
        Extent::Const(_) | Extent::Derived(_) => Some(1..=i64::MAX),
    }
}
