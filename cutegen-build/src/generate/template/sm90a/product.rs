//! The template of matrix products on `mma.sync`: one product or a gated pair, batches, any layout and alignment, and any
//! elementwise epilogue.

mod operand;
mod point;
#[cfg(test)]
mod tests;

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Kind;
use cutegen_spec::record;

use super::lanes::constant;
use super::nest::Nest;
use super::problem::{Given, Laid, Problem};
use super::{computes, prelude};
use crate::generate::template::fill::{config, fill};
use crate::generate::{Candidate, CostFeatures, ENTRY, ProductFeatures, hinted, hints, name_entry};
use crate::plan::Plan;
use crate::plan::matmul::Matmul;
use crate::print;
use operand::{ELEMENT, Operand};
use point::{Point, REGISTERS_OF_THREAD, points};

const TEMPLATE: &str = include_str!("product_mma_sync.cu.in");
const TILES: &str = include_str!("product_tiles.cuh.in");
const LOADER: &str = include_str!("product_loader.cuh.in");
const EPILOGUE: &str = include_str!("product_epilogue.cuh.in");

/// Tiles of rows beside each other that share tiles of columns in L2.
const GROUP: i64 = 8;

/// A product with its rest.
struct Filling<'a> {
    plan: &'a Plan,
    matmul: &'a Matmul,
    nest: &'a Nest,
    problem: &'a Problem<'a>,
    a: Operand<'a>,
    b: Vec<Operand<'a>>,
}

/// How elements are reached: bytes of a copy of either factor, columns of a vector of y.
struct Access<'a> {
    a: i64,
    b: i64,
    laid: Laid<'a>,
    conditions: Vec<Condition>,
}

impl Access<'_> {
    /// Whether a point has the registers: single elements pass through them.
    fn fits(&self, point: &Point, products: i64) -> bool {
        self.a.min(self.b) > ELEMENT || point.staged_registers(products) <= REGISTERS_OF_THREAD
    }
}

/// Every candidate for the plan; none where it is no product of two 16-bit floats of one type.
pub(super) fn candidates(plan: &Plan, toolchain: &str, at_most: usize) -> Vec<Candidate> {
    let found = computes(plan).then(|| Matmul::of(&plan.spec, &plan.schedule)).flatten();
    let Some(matmul) = found.filter(|matmul| element(plan, matmul).is_some()) else { return Vec::new() };
    let Some(nest) = nest(plan, &matmul) else { return Vec::new() };
    let Some(problem) = Problem::new(&nest, None, given(&matmul)) else { return Vec::new() };
    let axes = &plan.spec.axes;
    let (a, b) = (Operand::a(axes, &matmul), Operand::b(axes, &matmul));
    if !b.iter().all(|other| other.lies_as(&b[0])) {
        return Vec::new();
    }
    let filling = Filling { plan, matmul: &matmul, nest: &nest, problem: &problem, a, b };
    filling.candidates(toolchain, at_most)
}

/// The type of both factors' elements, where there is an instruction for it.
fn element(plan: &Plan, matmul: &Matmul) -> Option<DType> {
    let dtype = |tensor: usize| plan.spec.tensors[tensor].dtype;
    let first = dtype(matmul.a().tensor);
    let same = matmul.products.iter().all(|product| dtype(product.b.tensor) == first);
    Some(first).filter(|dtype| same && matches!(dtype, DType::Bf16 | DType::F16))
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

impl<'a> Filling<'a> {
    fn candidates(&self, toolchain: &str, at_most: usize) -> Vec<Candidate> {
        let products = self.b.len() as i64;
        let points = points(products);
        let fast = self.fast();
        let mut found: Vec<Candidate> = Vec::new();
        for point in points.iter().filter(|point| fast.fits(point, products)) {
            for pdl in [false, true] {
                found.push(self.candidate(point, &fast, pdl, toolchain));
            }
        }
        for point in points.iter().flat_map(|point| self.split(point)) {
            found.push(self.candidate(&point, &fast, false, toolchain));
        }
        if !fast.conditions.is_empty() {
            let any = self.any();
            found.extend(
                points
                    .iter()
                    .filter(|point| is_for_any(point, products))
                    .map(|point| self.candidate(point, &any, false, toolchain)),
            );
        }
        found.truncate(at_most);
        found
    }

    /// The points of this tile whose blocks share k: for rows of one tile, where extents are known.
    fn split(&self, point: &Point) -> Vec<Point> {
        let axes = &self.plan.spec.axes;
        let known = |expr: IntExpr| constant(axes, &expr);
        let all = (known(self.matmul.batches()), known(self.matmul.columns()), known(self.matmul.terms()));
        let (Some(batches), Some(columns), Some(terms)) = all else { return Vec::new() };
        let one_axis = matches!(self.matmul.rows(), IntExpr::Axis(_)) || known(self.matmul.rows()).is_some();
        let tiles = batches * ((columns + point.tile[1] - 1) / point.tile[1]);
        if one_axis { point.split(tiles, terms).collect() } else { Vec::new() }
    }

    /// The widest copies and vectors that extents allow.
    fn fast(&self) -> Access<'a> {
        let widest = |operands: &[&Operand<'_>]| {
            [16, 8, 4, ELEMENT].into_iter().find_map(|bytes| {
                let all: Option<Vec<_>> = operands.iter().map(|operand| operand.conditions(bytes)).collect();
                Some((bytes, all?.concat()))
            })
        };
        let (a, of_a) = widest(&[&self.a]).unwrap_or((ELEMENT, Vec::new()));
        let (b, of_b) = widest(&self.b.iter().collect::<Vec<_>>()).unwrap_or((ELEMENT, Vec::new()));
        let wide = [8, 4, 2].into_iter().map(|width| Laid::new(self.problem, width));
        let laid = wide.into_iter().find(|laid| laid.is_vectorised() && !laid.scatters_stores());
        let laid = laid.unwrap_or_else(|| Laid::new(self.problem, 1)).sparing();
        let mut conditions = laid.conditions();
        for condition in of_a.into_iter().chain(of_b) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        Access { a, b, laid, conditions: independent(conditions) }
    }

    /// Single elements, for which nothing must hold.
    fn any(&self) -> Access<'a> {
        let laid = Laid::new(self.problem, 1);
        Access { a: ELEMENT, b: ELEMENT, conditions: laid.conditions(), laid }
    }

    fn candidate(&self, point: &Point, access: &Access<'_>, pdl: bool, toolchain: &str) -> Candidate {
        let products = self.b.len() as i64;
        let narrow = if access.conditions.is_empty() { "e" } else { "" };
        let name = hinted(format!("{}{narrow}", point.name()), &hints(&[(pdl, 'd')]));
        let source = self.source(point, access, pdl, &name);
        let (source, contract) = name_entry(&source, &self.contract(point, pdl), toolchain);
        let matmul = self.matmul;
        let [bm, bn, bk] = point.tile;
        let rows = matmul.m.last().map(|var| (matmul.axis(*var), bm));
        let columns = matmul.n.map(|var| (matmul.axis(var), bn));
        let terms = matmul.k.last().map(|var| (matmul.axis(*var), bk));
        Candidate {
            name: format!("product-{name}"),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/product_mma_sync {name}"),
            source,
            contract,
            eligibility: Eligibility(self.conditions(point, access)),
            tiles: rows.into_iter().chain(columns).chain(terms).collect(),
            cost_features: Some(CostFeatures::Product(ProductFeatures {
                kind: if point.swap { "mma.sync for few rows" } else { "mma.sync" },
                extents: [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()],
                tile: point.tile,
                products,
                stages: point.stages,
                threads: point.threads(),
                registers: point.registers(products),
                smem_reads: point.smem_reads(products),
                element_bytes: ELEMENT,
                access_bytes: access.a.min(access.b),
                splits: point.splits,
                hints: hints(&[(pdl, 'd')]),
            })),
        }
    }

    /// What must hold of a launch. Partial sums are of one tile of rows, which bounds the workspace.
    fn conditions(&self, point: &Point, access: &Access<'_>) -> Vec<Condition> {
        let mut conditions = access.conditions.clone();
        if point.splits > 1 && constant(&self.plan.spec.axes, &self.matmul.rows()).is_none() {
            conditions.push(Condition::AtMost { expr: self.matmul.rows(), bound: point.tile[0] });
        }
        conditions
    }

    /// Tiles of y, over all batches.
    fn tiles(&self, point: &Point) -> IntExpr {
        let tiles = |extent: IntExpr, tile: i64| IntExpr::op(IntOp::CeilDiv, extent, IntExpr::Const(tile));
        let of_one = IntExpr::op(
            IntOp::Mul,
            tiles(self.matmul.rows(), point.tile[0]),
            tiles(self.matmul.columns(), point.tile[1]),
        );
        IntExpr::op(IntOp::Mul, self.matmul.batches(), of_one)
    }

    fn contract(&self, point: &Point, pdl: bool) -> Contract {
        let one = || IntExpr::Const(1);
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [self.tiles(point), IntExpr::Const(point.splits), one()],
            block: [IntExpr::Const(point.threads()), one(), one()],
            cluster: ones(),
            smem: IntExpr::Const(point.smem(self.b.len() as i64)),
            args: print::all_args(&self.plan.spec, if point.splits > 1 { 2 } else { 0 }),
            pdl,
            co_resident: false,
        };
        Contract { workspace: self.workspace(point), steps: vec![step] }
    }

    /// Partial sums, and how many blocks of a tile have come.
    fn workspace(&self, point: &Point) -> Vec<WorkspacePart> {
        if point.splits == 1 {
            return Vec::new();
        }
        let bytes = |of_tile: i64| IntExpr::op(IntOp::Mul, self.tiles(point), IntExpr::Const(of_tile));
        let sums = point.splits * self.b.len() as i64 * point.tile[0] * point.tile[1];
        vec![
            WorkspacePart { bytes: bytes(4 * sums), initial: Initial::Undefined },
            WorkspacePart { bytes: bytes(4), initial: Initial::KeptZero },
        ]
    }

    fn source(&self, point: &Point, access: &Access<'_>, pdl: bool, name: &str) -> String {
        let plan = self.plan;
        let math = plan.spec.math.canonical().trim_end().replace('\n', "\n// ");
        let outputs = self.nest.outputs.iter();
        let values = outputs.map(|o| (plan.spec.tensors[o.tensor].dtype, &o.value)).collect::<Vec<_>>();
        let (parts, finish): (&[&str], _) = if point.splits > 1 {
            (
                &["float", "int"],
                "split_epilogue(p, reinterpret_cast<float*>(smem), accum, output, int(blockIdx.y), w0, w1)",
            )
        } else {
            (&[], "epilogue(p, reinterpret_cast<float*>(smem), accum, output)")
        };
        let text = access.laid.text_with(parts, &self.members());
        fill(
            TEMPLATE,
            &[
                ("HEADER", &format!("// product {name}: {math}")),
                ("PRELUDE", &prelude(&values, &[], self.nest.integer(&[]))),
                ("CONFIG", &self.configuration(point, access, pdl)),
                ("PROBLEM", &text.problem),
                ("TILES", TILES),
                ("LOADER", LOADER),
                ("EPILOGUE", EPILOGUE),
                ("PARAMS", &text.params),
                ("MEMBERS", &text.members),
                ("OPERANDS", &self.operands()),
                ("FINISH", finish),
            ],
        )
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

    fn operands(&self) -> String {
        let b = (0..self.b.len()).map(|at| format!("{{p.b{at}(output.batch), output.n0}}"));
        let b = b.collect::<Vec<_>>().join(", ");
        format!("{{{{p.a(output.batch), output.m0}}, {{{b}}}, range.end}}")
    }

    fn configuration(&self, point: &Point, access: &Access<'_>, pdl: bool) -> String {
        let products = self.b.len() as i64;
        let ([bm, bn, bk], [wr, wc, wk]) = (point.tile, point.warps);
        let numbers = [
            ("PRODUCTS", products),
            ("BM", bm),
            ("BN", bn),
            ("BK", bk),
            ("STAGES", point.stages),
            ("WARPS_R", wr),
            ("WARPS_C", wc),
            ("WARPS_K", wk),
            ("GROUP", GROUP),
            ("SMEM", point.smem(products)),
            ("SPLITS", point.splits),
            ("A_ACCESS", access.a),
            ("B_ACCESS", access.b),
            ("VEC", access.laid.width()),
        ];
        let fixed = |tensor: usize| self.plan.spec.tensors[tensor].constant;
        let flags = [
            ("SWAP", point.swap),
            ("A_K_MAJOR", self.a.is_k_major()),
            ("B_K_MAJOR", self.b[0].is_k_major()),
            ("A_STREAMED", !point.swap && fixed(self.a.tensor())),
            ("B_STREAMED", point.swap),
            ("A_AHEAD", fixed(self.a.tensor())),
            ("B_AHEAD", self.b.iter().all(|b| fixed(b.tensor()))),
            ("PDL", pdl),
        ];
        let (ty, mma) = match element(self.plan, self.matmul) {
            Some(DType::F16) => ("f16", "SM80_16x8x16_F32F16F16F32_TN"),
            _ => ("bf16", "SM80_16x8x16_F32BF16BF16F32_TN"),
        };
        let text = config(&numbers, &flags).replace("constexpr ", "[[maybe_unused]] constexpr ");
        let hints = "[[maybe_unused]] constexpr Load LOAD = Load::CACHED;\n[[maybe_unused]] constexpr Store STORE = Store::CACHED;";
        format!("using T = {ty};\nusing Mma = {mma};\n{text}\n{hints}")
    }
}

/// Whether a point is one of the few that are tried for any address and extent: their copies pass through registers.
fn is_for_any(point: &Point, products: i64) -> bool {
    let tiles = [[8, 32, 256], [16, 64, 128], [64, 64, 64], [128, 64, 64], [128, 128, 32]];
    tiles.contains(&point.tile) && point.staged_registers(products) <= 200 && point.stages <= 4
}

/// The conditions that no other implies: of each tensor's alignments the strictest, and no multiple of what is divided.
fn independent(conditions: Vec<Condition>) -> Vec<Condition> {
    let implies = |other: &Condition, one: &Condition| match (one, other) {
        (Condition::Aligned { tensor, bytes }, Condition::Aligned { tensor: of, bytes: more }) => {
            tensor == of && more > bytes
        }
        (Condition::Divides { expr, by }, Condition::Divides { expr: factor, by: more }) => {
            more % by == 0 && expr != factor && has_factor(expr, factor)
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
