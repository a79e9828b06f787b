//! The template of matrix products on `mma.sync`: any layout and alignment, for every card since Ampere.

mod point;

use cutegen_spec::contract::{Contract, Step, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::record;

use super::super::problem::Laid;
use super::operand::{ELEMENT, Operand, widest};
use super::{EPILOGUE, Product, SOURCE, TILES, all_of, sums_of_parts};
use crate::generate::template::fill::{config, fill};
use crate::generate::{Candidate, CostFeatures, ENTRY, Fetched, Instruction, ProductFeatures, hinted, hints};
use crate::print;
use point::{Point, REGISTERS_OF_THREAD};

pub(super) use point::points;

const TEMPLATE: &str = include_str!("../product_mma_sync.cu.in");
const LOADER: &str = include_str!("../product_loader.cuh.in");
const FRAGMENTS: &str = include_str!("../product_fragments.cuh.in");

/// Tiles of rows beside each other that share tiles of columns in L2.
const GROUP: i64 = 8;

/// The template for one product.
pub(super) struct MmaSync<'a>(pub(super) &'a Product<'a>);

/// How elements are reached: bytes of a copy of either factor, columns of a vector of y.
struct Access<'a> {
    a: i64,
    b: i64,
    /// Whether a factor has no neighbours, along k or along rows.
    is_scattered: bool,
    laid: Laid<'a>,
    conditions: Vec<Condition>,
}

impl Access<'_> {
    /// Whether a point has the registers: single elements pass through them, those without neighbours with addresses of their own.
    fn fits(&self, point: &Point, products: i64) -> bool {
        let of_addresses = if self.is_scattered { 4 * point.copies(products) } else { 0 };
        self.a.min(self.b) > ELEMENT || point.staged_registers(products) + of_addresses <= REGISTERS_OF_THREAD
    }
}

impl<'a> MmaSync<'a> {
    pub(super) fn candidates(&self, at_most: usize) -> Vec<Candidate> {
        let products = self.0.sums();
        let points = points(products, i64::from(self.0.plan.target.shared_memory_max()));
        let (fast, any) = (self.fast(), self.any());
        let whole = points.iter().filter(|point| fast.fits(point, products));
        let whole = whole.flat_map(|point| self.0.launches().map(|pdl| (*point, &fast, pdl)));
        let split = points.iter().flat_map(|point| self.split(point)).map(|point| (point, &fast, false));
        let of_any = |point: &&Point| !fast.conditions.is_empty() && is_for_any(point, products);
        let of_any = points.iter().filter(of_any).map(|point| (*point, &any, false));
        let all = whole.chain(split).chain(of_any).take(at_most);
        all.map(|(point, access, pdl)| self.candidate(&point, access, pdl)).collect()
    }

    /// The points of this tile whose blocks share k.
    fn split(&self, point: &Point) -> Vec<Point> {
        let parts = point.fill().map(|fill| self.0.parts([point.tile[0], point.tile[1]], &fill));
        parts.into_iter().flatten().map(|splits| Point { splits, ..*point }).collect()
    }

    /// The widest copies and vectors that extents allow.
    fn fast(&self) -> Access<'a> {
        let (a, of_a) = widest(&[&self.0.a], ELEMENT, ELEMENT).unwrap_or((ELEMENT, Vec::new()));
        let (b, of_b) =
            widest(&self.0.b.iter().collect::<Vec<_>>(), ELEMENT, ELEMENT).unwrap_or((ELEMENT, Vec::new()));
        let laid = self.0.laid();
        let conditions = all_of(laid.conditions(), of_a.into_iter().chain(of_b));
        Access { a, b, is_scattered: self.is_scattered(), laid, conditions }
    }

    /// Single elements, for which nothing must hold.
    fn any(&self) -> Access<'a> {
        let laid = Laid::new(self.0.problem, 1);
        Access {
            a: ELEMENT,
            b: ELEMENT,
            is_scattered: self.is_scattered(),
            conditions: laid.conditions(),
            laid,
        }
    }

    fn is_scattered(&self) -> bool {
        !self.0.b.iter().chain([&self.0.a]).all(Operand::is_dense)
    }

    fn candidate(&self, point: &Point, access: &Access<'_>, pdl: bool) -> Candidate {
        let products = self.0.sums();
        let narrow = if access.conditions.is_empty() { "e" } else { "" };
        let name = hinted(format!("{}{narrow}", point.name()), &hints(&[(pdl, 'd')]));
        let source = self.source(point, access, pdl, &name);
        let contract = self.contract(point, pdl);
        let matmul = self.0.matmul;
        Candidate {
            name: format!("product-{name}"),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/product_mma_sync {name}"),
            source,
            contract,
            eligibility: Eligibility(self.conditions(point, access)),
            tiles: self.0.tiled_axes(point.tile),
            cost_features: Some(CostFeatures::Product(ProductFeatures {
                instruction: Instruction::MmaSync,
                passes: 1,
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
                fetched: Fetched::Tile,
                splits: point.splits,
                stream_k: false,
                hints: hints(&[(pdl, 'd')]),
            })),
        }
    }

    /// What must hold of a launch.
    fn conditions(&self, point: &Point, access: &Access<'_>) -> Vec<Condition> {
        let bound = self.0.bounds_rows(point.splits > 1, point.tile[0]);
        access.conditions.iter().cloned().chain(bound).collect()
    }

    fn tiles(&self, point: &Point) -> IntExpr {
        self.0.tiles([point.tile[0], point.tile[1]])
    }

    fn contract(&self, point: &Point, pdl: bool) -> Contract {
        let one = || IntExpr::Const(1);
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [self.tiles(point), IntExpr::Const(point.splits), one()],
            block: [IntExpr::Const(point.threads()), one(), one()],
            cluster: ones(),
            smem: IntExpr::Const(point.smem(self.0.sums())),
            args: print::all_args(&self.0.plan.spec, if point.splits > 1 { 2 } else { 0 }),
            pdl,
            co_resident: false,
        };
        let elements = self.0.sums() * point.tile[0] * point.tile[1];
        let workspace = sums_of_parts(self.tiles(point), point.splits, elements);
        Contract { workspace, steps: vec![step] }
    }

    fn source(&self, point: &Point, access: &Access<'_>, pdl: bool, name: &str) -> String {
        let (parts, finish): (&[&str], _) = if point.splits > 1 {
            (
                &["float", "int"],
                "split_epilogue(p, reinterpret_cast<float*>(smem), accum, output, int(blockIdx.y), w0, w1)",
            )
        } else {
            (&[], "epilogue(p, reinterpret_cast<float*>(smem), accum, output)")
        };
        let text = access.laid.text_with(parts, &self.0.members());
        fill(
            TEMPLATE,
            &[
                ("HEADER", &format!("// product {name}: {}", self.0.math())),
                ("PRELUDE", &self.0.prelude()),
                ("CONFIG", &self.configuration(point, access, pdl)),
                ("PROBLEM", &text.problem),
                ("TILES", TILES),
                ("SOURCE", SOURCE),
                ("LOADER", LOADER),
                ("FRAGMENTS", FRAGMENTS),
                ("EPILOGUE", EPILOGUE),
                ("PARAMS", &text.params),
                ("MEMBERS", &text.members),
                ("OPERANDS", &self.operands()),
                ("FINISH", finish),
            ],
        )
    }

    fn operands(&self) -> String {
        let b = (0..self.0.b.len()).map(|at| format!("{{p.b{at}(output.batch), output.n0}}"));
        let b = b.collect::<Vec<_>>().join(", ");
        format!("{{{{p.a(output.batch), output.m0}}, {{{b}}}, range.end}}")
    }

    fn configuration(&self, point: &Point, access: &Access<'_>, pdl: bool) -> String {
        let products = self.0.sums();
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
        let fixed = |tensor: usize| self.0.is_constant(tensor);
        let flags = [
            ("SWAP", point.swap),
            ("A_K_MAJOR", self.0.a.is_k_major()),
            ("B_K_MAJOR", self.0.b[0].is_k_major()),
            ("A_AHEAD", fixed(self.0.a.tensor())),
            ("B_AHEAD", self.0.b.iter().all(|b| fixed(b.tensor()))),
            ("PDL", pdl),
        ];
        let (ty, mma) = match self.0.element {
            DType::F16 => ("f16", "SM80_16x8x16_F32F16F16F32_TN"),
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
