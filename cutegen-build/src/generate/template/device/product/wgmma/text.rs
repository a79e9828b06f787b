//! The source of a point of the wgmma template.

use cutegen_spec::dtype::DType;

use super::point::{Cluster, Point, Ring, Schedule, Split};
use super::{Choice, Wgmma};
use crate::generate::template::fill::{config, fill};
use crate::print;

const TEMPLATE: &str = include_str!("../../product_wgmma.cu.in");
const TILES: &str = include_str!("../../wgmma_tiles.cuh.in");
const OPERANDS: &str = include_str!("../../wgmma_operands.cuh.in");
const FINISH: &str = include_str!("../../wgmma_finish.cuh.in");

/// Rows of a group of tiles. These share tiles of columns in L2.
const GROUP_ROWS: i64 = 2048;
/// Columns of a chunk of the epilogue, of which vectors are parts.
const CHUNK: i64 = 16;

impl Wgmma<'_> {
    pub(super) fn source(&self, choice: &Choice<'_>, name: &str) -> String {
        let (product, point, shape) = (self.product, choice.point, self.shape());
        let is_split = point.split != Split::Whole;
        let planes = if shape.planes { product.b.len() + 1 } else { 0 };
        let mut parts = vec!["uint16_t"; planes];
        parts.extend(if is_split { ["float4", "int"].as_slice() } else { &[] });
        let text = self.laid.text_with(&parts, "");
        let pair = product.sums() == 2;
        let mut maps = vec!["map_a", "map_b"];
        maps.extend(pair.then_some("map_b1"));
        maps.extend(self.y.as_ref().map(|_| "map_y"));
        let declared = maps.iter().map(|map| format!("const __grid_constant__ cute::TmaDescriptor {map}"));
        let params =
            declared.chain([text.params, "int64_t splits".to_owned()]).collect::<Vec<_>>().join(", ");
        let address = |there: bool, map: &str| if there { format!("&{map}") } else { "nullptr".to_owned() };
        let maps = [
            "&map_a".to_owned(),
            "&map_b".to_owned(),
            address(pair, "map_b1"),
            address(self.y.is_some(), "map_y"),
        ];
        let part = |at: usize| if is_split { format!("w{}", planes + at) } else { "nullptr".to_owned() };
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
                ("PLANES", &self.plane_text()),
            ],
        )
    }

    /// Batches, rows, columns and terms; parts of k; tiles of a group.
    fn extents(&self, point: &Point) -> String {
        let matmul = self.product.matmul;
        let all = [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()];
        let all = all.map(|expr| format!("int({})", print::int(&expr))).join(", ");
        let side = point.sides[0] * if point.cluster == Cluster::Columns { 2 } else { 1 };
        format!("{all}, int(splits), {}", (GROUP_ROWS / side).max(1))
    }

    fn configuration(&self, choice: &Choice<'_>) -> String {
        let (product, point, shape) = (self.product, choice.point, self.shape());
        let ring = point.ring(shape).unwrap_or(Ring { stages: 0, boxes: 0 });
        let [producer, consumer] = point.moved_registers(shape);
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
            ("PING_PONG", point.schedule == Schedule::PingPong),
            ("ALONG_M", point.cluster == Cluster::Columns),
            ("SWAP", point.swap),
            ("PAIR", shape.sums == 2),
            ("JOINT", point.is_joint(shape)),
            ("SPLIT", point.split != Split::Whole),
            ("STREAM_K", point.split == Split::StreamK),
            ("PDL", choice.pdl),
            ("EARLY", choice.pdl && early),
            ("PLANES", shape.planes),
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
            format!(
                "using Atom = cute::SM90::GMMA::MMA_64x{}x16_F32{factor}{factor}_SS<L, R>;",
                point.sides[1] * if point.is_joint(shape) { 2 } else { 1 }
            ),
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
