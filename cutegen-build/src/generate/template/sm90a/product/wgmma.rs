//! The template of matrix products on `wgmma`: factors that TMA reaches, on Hopper.

mod point;

use cutegen_spec::contract::tensor_map::TensorMap;
use cutegen_spec::contract::{Arg, Contract, Initial, Step, WorkspacePart};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::math::{Expr, Place};
use cutegen_spec::record;

use super::super::problem::Laid;
use super::operand::{ELEMENT, Operand, map_of, multiples};
use super::{Product, all_of};
use crate::generate::template::fill::{config, fill};
use crate::generate::{
    Candidate, CostFeatures, ENTRY, Instruction, ProductFeatures, hinted, hints, name_entry,
};
use crate::plan::matmul::View;
use crate::print;
use point::{BK, Cluster, Point, Shape, Team, points};

const TEMPLATE: &str = include_str!("../product_wgmma.cu.in");
const TILES: &str = include_str!("../wgmma_tiles.cuh.in");
const OPERANDS: &str = include_str!("../wgmma_operands.cuh.in");
const FINISH: &str = include_str!("../wgmma_finish.cuh.in");

/// Bytes of what TMA copies at a time, to which addresses and strides are aligned.
const TMA_BYTES: i64 = 16;
/// Rows that tiles beside each other cover, which share tiles of columns in L2.
const GROUP_ROWS: i64 = 2048;
/// Columns of a chunk of the epilogue, of which vectors are parts.
const CHUNK: i64 = 16;

/// The template for one product.
pub(super) struct Wgmma<'a> {
    product: &'a Product<'a>,
    laid: Laid<'a>,
    /// Where results lie, if they are a cast of the sum.
    y: Option<View>,
    conditions: Vec<Condition>,
}

/// A point, and what the cost does not tell apart.
struct Choice<'a> {
    point: &'a Point,
    pdl: bool,
}

impl<'a> Wgmma<'a> {
    /// The template, if TMA reaches all factors.
    pub(super) fn of(product: &'a Product<'a>) -> Option<Self> {
        let operands = || std::iter::once(&product.a).chain(&product.b);
        let conditions: Option<Vec<_>> = operands().map(|operand| operand.conditions(TMA_BYTES)).collect();
        let conditions = all_of(Vec::new(), conditions?.concat());
        if !operands().all(Operand::is_of_three_dimensions) {
            return None;
        }
        let laid = product.laid();
        let (y, more) = cast(product).unzip();
        let more = more.unwrap_or_else(|| laid.conditions());
        Some(Self { product, laid, y, conditions: all_of(conditions, more) })
    }

    fn shape(&self) -> Shape {
        let product = self.product;
        Shape {
            sums: product.sums(),
            cast: self.y.is_some(),
            k_major: [product.a.is_k_major(), product.b[0].is_k_major()],
        }
    }

    pub(super) fn candidates(&self, toolchain: &str) -> Vec<Candidate> {
        let points = points(self.shape());
        let all = points.iter().flat_map(|point| {
            let alone = [false, true].map(|pdl| (*point, pdl));
            alone.into_iter().chain(self.split(point).into_iter().map(|point| (point, false)))
        });
        all.map(|(point, pdl)| self.candidate(&Choice { point: &point, pdl }, toolchain)).collect()
    }

    /// The points of this tile whose blocks share k: for rows of one tile, where extents are known.
    fn split(&self, point: &Point) -> Vec<Point> {
        let (product, matmul) = (self.product, self.product.matmul);
        let [batches, columns, terms] =
            [matmul.batches(), matmul.columns(), matmul.terms()].map(|expr| product.known(&expr));
        let (Some(batches), Some(columns), Some(terms)) = (batches, columns, terms) else { return Vec::new() };
        let one_axis = matches!(matmul.rows(), IntExpr::Axis(_)) || product.known(&matmul.rows()).is_some();
        let tiles = batches * ((columns + point.tile()[1] - 1) / point.tile()[1]);
        if one_axis { point.split(tiles, terms).collect() } else { Vec::new() }
    }

    fn candidate(&self, choice: &Choice<'_>, toolchain: &str) -> Candidate {
        let (point, shape, matmul) = (choice.point, self.shape(), self.product.matmul);
        let letters = hints(&[
            (point.cluster == Cluster::Columns, 'm'),
            (point.cluster == Cluster::Rows, 'n'),
            (choice.pdl, 'd'),
        ]);
        let name = hinted(point.name(shape), &letters);
        let source = self.source(choice, &name);
        let (source, contract) = name_entry(&source, &self.contract(choice), toolchain);
        let splits = if point.splits > 1 { format!("-{}", point.splits) } else { String::new() };
        let [rows, columns] = point.tile();
        Candidate {
            name: format!("product-{name}{splits}"),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/product_wgmma {name}{splits}"),
            source,
            contract,
            eligibility: Eligibility(self.conditions(point)),
            tiles: self.product.tiled_axes([rows, columns, BK]),
            cost_features: Some(CostFeatures::Product(ProductFeatures {
                instruction: Instruction::Wgmma,
                kind: kind(point),
                extents: [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()],
                tile: [rows, columns, BK],
                products: shape.sums,
                stages: point.ring(shape).map_or(0, |ring| ring.stages),
                threads: point.threads(),
                registers: point.registers(shape),
                smem_reads: point.smem_reads(shape),
                element_bytes: ELEMENT,
                access_bytes: TMA_BYTES,
                splits: point.splits * point.parts(),
                hints: letters,
            })),
        }
    }

    /// What must hold of a launch. Partial sums are of one tile of rows, which bounds the workspace; each block of a cluster
    /// that shares k has a part of it.
    fn conditions(&self, point: &Point) -> Vec<Condition> {
        let (product, matmul) = (self.product, self.product.matmul);
        let mut conditions = self.conditions.clone();
        if point.splits > 1 && product.known(&matmul.rows()).is_none() {
            conditions.push(Condition::AtMost { expr: matmul.rows(), bound: point.tile()[0] });
        }
        let least = point.parts() * BK;
        if point.parts() > 1 && product.known(&matmul.terms()).is_none_or(|terms| terms < least) {
            conditions.push(Condition::AtLeast { expr: matmul.terms(), bound: least });
        }
        conditions
    }

    /// Tiles of clusters.
    fn tiles(&self, point: &Point) -> IntExpr {
        self.product.tiles(point.cluster_tile())
    }

    fn contract(&self, choice: &Choice<'_>) -> Contract {
        let point = choice.point;
        let (one, number) = (|| IntExpr::Const(1), IntExpr::Const);
        let parts = if point.splits > 1 { 2 } else { 0 };
        let maps = self.maps(point).into_iter().map(|map| Arg::Map(Box::new(map)));
        let args = maps.chain(print::all_args(&self.product.plan.spec, parts));
        let step = Step {
            entry: ENTRY.to_owned(),
            grid: [self.grid(point), one(), one()],
            block: [number(point.threads()), one(), one()],
            cluster: [number(point.neighbours() * point.parts()), one(), one()],
            smem: number(point.smem(self.shape())),
            args: args.chain([Arg::Int(number(point.splits))]).collect(),
            pdl: choice.pdl,
            co_resident: false,
        };
        Contract { workspace: self.workspace(point), steps: vec![step] }
    }

    /// Blocks: as many as fit at once, and no more than there is work for; of a cluster that shares k, all.
    fn grid(&self, point: &Point) -> IntExpr {
        let number = IntExpr::Const;
        let times = |a: IntExpr, b: i64| if b == 1 { a } else { IntExpr::op(IntOp::Mul, a, number(b)) };
        if point.parts() > 1 {
            return times(self.tiles(point), point.parts());
        }
        let k_tiles = IntExpr::op(IntOp::CeilDiv, self.product.matmul.terms(), number(BK));
        let work = match point.splits {
            1 => self.tiles(point),
            splits => {
                IntExpr::op(IntOp::Mul, self.tiles(point), IntExpr::op(IntOp::Min, number(splits), k_tiles))
            }
        };
        let at_once = times(IntExpr::Device(DeviceProp::SmCount), point.blocks);
        let clusters = match point.neighbours() {
            1 => at_once,
            blocks => IntExpr::op(IntOp::Div, at_once, number(blocks)),
        };
        times(IntExpr::op(IntOp::Min, work, clusters), point.neighbours())
    }

    /// Partial sums, and how many blocks of a tile have come.
    fn workspace(&self, point: &Point) -> Vec<WorkspacePart> {
        if point.splits == 1 {
            return Vec::new();
        }
        let bytes = |of_tile: i64| IntExpr::op(IntOp::Mul, self.tiles(point), IntExpr::Const(of_tile));
        let sums = point.splits * self.product.sums() * point.sides[0] * point.sides[1];
        vec![
            WorkspacePart { bytes: bytes(4 * sums), initial: Initial::Undefined },
            WorkspacePart { bytes: bytes(4), initial: Initial::KeptZero },
        ]
    }

    /// Descriptors of A, each B, and y.
    fn maps(&self, point: &Point) -> Vec<TensorMap> {
        let product = self.product;
        let factor = |operand: &Operand<'_>, rows: i64| {
            let rows = if operand.is_k_major() { rows } else { super::super::lanes::gcd(rows, 64) };
            operand.map(product.element, rows, BK)
        };
        let [rows, columns] = point.loaded();
        let mut maps = vec![factor(&product.a, rows)];
        maps.extend(product.b.iter().map(|b| factor(b, columns)));
        maps.extend(self.y.as_ref().map(|y| self.y_map(y, point)));
        maps
    }

    fn y_map(&self, y: &View, point: &Point) -> TensorMap {
        let (plan, matmul) = (self.product.plan, self.product.matmul);
        let [wide, high] = point.y_box();
        let stride = |var: Option<&usize>, other: IntExpr| var.map_or(other, |var| y.stride(*var));
        let row = stride(matmul.m.last(), matmul.columns());
        let batch = stride(matmul.batch.last(), row.clone());
        let dims = [
            (matmul.batches(), batch, 1),
            (matmul.rows(), row, high),
            (matmul.columns(), IntExpr::Const(1), wide),
        ];
        map_of(y, plan.spec.tensors[y.tensor].dtype, dims)
    }

    fn source(&self, choice: &Choice<'_>, name: &str) -> String {
        let (product, point) = (self.product, choice.point);
        let parts: &[&str] = if point.splits > 1 { &["float4", "int"] } else { &[] };
        let text = self.laid.text_with(parts, "");
        let pair = product.sums() == 2;
        let mut maps = vec!["map_a", "map_b"];
        maps.extend(pair.then_some("map_b1"));
        maps.extend(self.y.as_ref().map(|_| "map_y"));
        let declared = maps.iter().map(|map| format!("const __grid_constant__ cute::TmaDescriptor {map}"));
        let params = declared.chain([text.params, "int64_t splits".to_owned()]).collect::<Vec<_>>().join(", ");
        let address = |there: bool, map: &str| if there { format!("&{map}") } else { "nullptr".to_owned() };
        let maps = ["&map_a".to_owned(), "&map_b".to_owned(), address(pair, "map_b1"), address(self.y.is_some(), "map_y")];
        let part = |at: usize| if point.splits > 1 { format!("w{at}") } else { "nullptr".to_owned() };
        fill(
            TEMPLATE,
            &[
                ("HEADER", &format!("// product {name}: {}", product.math())),
                ("PRELUDE", &product.prelude()),
                ("CONFIG", &self.configuration(choice)),
                ("PROBLEM", &text.problem),
                ("TILES", TILES),
                ("OPERANDS", OPERANDS),
                ("FINISH", FINISH),
                ("PARAMS", &params),
                ("EXTENTS", &self.extents(point)),
                ("MAPS", &maps.join(", ")),
                ("MEMBERS", &text.members),
                ("SUMS", &part(0)),
                ("COUNTERS", &part(1)),
            ],
        )
    }

    /// Batches, rows, columns, terms, parts of k, and tiles of the 64-row side beside each other.
    fn extents(&self, point: &Point) -> String {
        let matmul = self.product.matmul;
        let all = [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()];
        let all = all.map(|expr| format!("int({})", print::int(&expr))).join(", ");
        let side = point.sides[0] * if point.cluster == Cluster::Columns { 2 } else { 1 };
        format!("{all}, int(splits), {}", (GROUP_ROWS / side).max(1))
    }

    fn configuration(&self, choice: &Choice<'_>) -> String {
        let (product, point, shape) = (self.product, choice.point, self.shape());
        let ring = point.ring(shape).unwrap_or(point::Ring { stages: 0, boxes: 0 });
        let [producer, consumer] = point.moved_registers();
        let numbers = [
            ("BM", point.sides[0]),
            ("BN", point.sides[1]),
            ("STAGES", ring.stages),
            ("CONSUMERS", point.consumers),
            ("CLUSTER", point.neighbours()),
            ("CLUSTER_K", point.parts()),
            ("BLOCKS", point.blocks),
            ("PRODUCER_REGISTERS", producer),
            ("CONSUMER_REGISTERS", consumer),
            ("Y_BUFFERS", ring.boxes),
            ("SMEM", point.smem(shape)),
            ("VEC", self.laid.width().min(CHUNK)),
        ];
        let early = product.b.iter().all(|b| product.is_constant(b.tensor()));
        let flags = [
            ("PING_PONG", point.team == Team::PingPong),
            ("ALONG_M", point.cluster == Cluster::Columns),
            ("SWAP", point.swap),
            ("PAIR", shape.sums == 2),
            ("SPLIT", point.splits > 1),
            ("PDL", choice.pdl),
            ("EARLY", choice.pdl && early),
            ("TMA_STORE", shape.cast),
            ("A_BATCHED", product.a.is_batched()),
            ("B_BATCHED", product.b[0].is_batched()),
        ];
        let name = |dtype: DType| if dtype == DType::F16 { "F16" } else { "BF16" };
        let factor = name(product.element);
        let major = |is_k: bool| if is_k { "K" } else { "MN" };
        let out = self.y.as_ref().map_or(product.element, |y| product.plan.spec.tensors[y.tensor].dtype);
        let (hint_a, hint_b) =
            if point.swap { ("EVICT_LAST", "EVICT_FIRST") } else { ("EVICT_NORMAL", "EVICT_NORMAL") };
        [
            "template <cute::SM90::GMMA::Major L, cute::SM90::GMMA::Major R>".to_owned(),
            format!("using Atom = cute::SM90::GMMA::MMA_64x{}x16_F32{factor}{factor}_SS<L, R>;", point.sides[1]),
            format!("constexpr auto A_MAJOR = cute::SM90::GMMA::Major::{};", major(shape.k_major[0])),
            format!("constexpr auto B_MAJOR = cute::SM90::GMMA::Major::{};", major(shape.k_major[1])),
            format!("constexpr auto HINT_A = cute::TMA::CacheHintSm90::{hint_a};"),
            format!("constexpr auto HINT_B = cute::TMA::CacheHintSm90::{hint_b};"),
            format!("using Out = {};", name(out).to_lowercase()),
            config(&numbers, &flags).replace("constexpr ", "[[maybe_unused]] constexpr "),
            "[[maybe_unused]] constexpr Load LOAD = Load::CACHED;".to_owned(),
            "[[maybe_unused]] constexpr Store STORE = Store::CACHED;".to_owned(),
        ]
        .join("\n")
    }
}

/// Of one kind are points that differ in numbers alone.
fn kind(point: &Point) -> &'static str {
    match (point.swap, point.team, point.cluster) {
        (true, _, Cluster::Terms(_)) => "wgmma for few rows, k over a cluster",
        (true, ..) => "wgmma for few rows",
        (false, Team::PingPong, _) => "wgmma, ping-pong",
        (false, Team::Cooperative, _) => "wgmma, cooperative",
    }
}

/// Where the results lie and what TMA asks of that, if they are one tensor of casts of one sum.
fn cast(product: &Product<'_>) -> Option<(View, Vec<Condition>)> {
    let (plan, matmul) = (product.plan, product.matmul);
    let [output] = product.nest.outputs.as_slice() else { return None };
    let is_sum = matches!(&output.value, Expr::Load(Place::Temp(temp), _) if *temp == matmul.products[0].sum);
    let tensor = &plan.spec.tensors[output.tensor];
    if !is_sum || product.sums() > 1 || !matches!(tensor.dtype, DType::Bf16 | DType::F16) {
        return None;
    }
    let view = View::of(output.tensor, tensor, &output.index)?;
    let axes = &plan.spec.axes;
    let rows = matmul.is_one_dimension(axes, &view, &matmul.batch) && matmul.is_one_dimension(axes, &view, &matmul.m);
    let dense = product.known(&view.stride(matmul.n?)) == Some(1);
    let strides = matmul.batch.iter().chain(&matmul.m).map(|var| view.stride(*var));
    let whole = strides.chain([matmul.columns(), view.offset.clone()]);
    let elements = TMA_BYTES / tensor.dtype.bytes() as i64;
    let multiples = multiples(axes, whole, elements)?;
    let aligned = Condition::Aligned { tensor: output.tensor, bytes: TMA_BYTES.cast_unsigned() };
    (rows && dense).then(|| (view, std::iter::once(aligned).chain(multiples).collect()))
}
