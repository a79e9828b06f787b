//! The elementwise template: any nest of maps, over flat tensors or over rows and columns.

use cutegen_spec::contract::{Contract, Step, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::record::Kind;

use super::nest::Nest;
use super::problem::{Laid, Problem};
use super::{computes, prelude};
use crate::generate::template::fill::fill;
use crate::generate::{Candidate, ENTRY, name_entry};
use crate::plan::Plan;
use crate::print;

const TEMPLATE: &str = include_str!("elementwise.cu.in");

/// Bytes of loads that a thread may have in flight before its registers cost occupancy.
const BYTES_IN_FLIGHT_MAX: i64 = 256;
/// Results that a thread computes at most, which bounds the text of a kernel after unrolling.
const RESULTS_MAX: i64 = 64;

/// One point of the template's space.
#[derive(Clone, Copy, Debug)]
struct Point {
    name: &'static str,
    /// Bytes of a vector in the tensor that takes most per lane; none where a vector is one element.
    vec_bytes: Option<i64>,
    unroll: i64,
    threads: i64,
    load: &'static str,
    streaming: bool,
    persistent: bool,
    pdl: bool,
}

/// `v16u4t256-ospd`: vector bytes (`e`: single elements), unroll, threads; loads once (`f`: and first to leave L2),
/// streaming stores, persistent grid, programmatic launch.
const POINTS: [&str; 32] = [
    "v16u1t128",
    "v16u1t256",
    "v16u1t256-os",
    "v16u1t256-osd",
    "v16u2t128",
    "v16u2t128-os",
    "v16u2t256",
    "v16u2t256-os",
    "v16u2t256-fs",
    "v16u2t512-os",
    "v16u4t128-os",
    "v16u4t256",
    "v16u4t256-o",
    "v16u4t256-s",
    "v16u4t256-os",
    "v16u4t256-fs",
    "v16u4t512-os",
    "v16u8t128-os",
    "v16u8t256-os",
    "v16u2t256-osp",
    "v16u4t128-osp",
    "v16u4t256-osp",
    "v16u4t512-osp",
    "v16u4t256-osd",
    "v32u1t256-os",
    "v32u2t128-os",
    "v32u2t256",
    "v32u2t256-os",
    "v32u2t256-osp",
    "e1t256",
    "e4t256",
    "e8t128",
];

impl Point {
    /// Reads a name of [`POINTS`].
    fn parse(name: &'static str) -> Option<Self> {
        let (shape, flags) = name.split_once('-').unwrap_or((name, ""));
        let (vector, rest) = match shape.strip_prefix('e') {
            Some(rest) => (None, rest),
            None => shape.strip_prefix('v')?.split_once('u').map(|(v, rest)| (v.parse().ok(), rest))?,
        };
        let (unroll, threads) = rest.split_once('t')?;
        Some(Self {
            name,
            vec_bytes: vector,
            unroll: unroll.parse().ok()?,
            threads: threads.parse().ok()?,
            load: if flags.contains('f') {
                "FIRST"
            } else if flags.contains('o') {
                "ONCE"
            } else {
                "CACHED"
            },
            streaming: flags.contains('s'),
            persistent: flags.contains('p'),
            pdl: flags.contains('d'),
        })
    }

    /// Columns of a vector whose lanes take so many bytes.
    fn width(self, lane_bytes: i64) -> i64 {
        self.vec_bytes.map_or(1, |bytes| (bytes / lane_bytes).max(1))
    }

    fn configuration(self, width: i64) -> String {
        let store = if self.streaming { "STREAMING" } else { "CACHED" };
        format!(
            "constexpr int VEC = {width};\nconstexpr int UNROLL = {};\nconstexpr int THREADS = {};\n\
             [[maybe_unused]] constexpr Load LOAD = Load::{};\n[[maybe_unused]] constexpr Store STORE = Store::{store};\n\
             constexpr bool PDL = {};",
            self.unroll, self.threads, self.load, self.pdl
        )
    }
}

/// Every candidate for the plan; none where its steps have different loops, or compute what the prelude cannot.
pub(super) fn candidates(plan: &Plan, toolchain: &str) -> Vec<Candidate> {
    let nest = computes(plan).then(|| Nest::of(plan, &plan.schedule.steps)).flatten().map(Nest::flattened);
    let Some(nest) = nest else { return Vec::new() };
    let Some(problem) = Problem::new(&nest, None) else { return Vec::new() };
    let points = POINTS.iter().filter_map(|name| Point::parse(name));
    points.filter_map(|point| candidate(plan, &nest, &problem, point, toolchain)).collect()
}

/// The candidate of a point, if the point makes sense for the nest.
fn candidate(
    plan: &Plan,
    nest: &Nest,
    problem: &Problem<'_>,
    point: Point,
    toolchain: &str,
) -> Option<Candidate> {
    let width = point.width(problem.lane_bytes());
    let laid = Laid::new(problem, width);
    let vectorised = width > 1 && laid.is_vectorised() && !laid.scatters_stores();
    let in_flight = point.vec_bytes.unwrap_or(1) * point.unroll * problem.streams();
    let fits = in_flight <= BYTES_IN_FLIGHT_MAX && width * point.unroll <= RESULTS_MAX;
    if point.vec_bytes.is_some() != vectorised || !fits {
        return None;
    }
    let (source, contract) = (source(plan, nest, &laid, point, width), contract(plan, nest, point, width));
    let (source, contract) = name_entry(&source, &contract, toolchain);
    Some(Candidate {
        name: format!("elementwise-{}", point.name),
        kind: Kind::Tuned,
        origin: format!("template sm90a/elementwise {}", point.name),
        source,
        contract,
        eligibility: Eligibility(laid.conditions()),
        tiles: vec![(nest.last_axis(), width * point.unroll * point.threads)],
    })
}

fn contract(plan: &Plan, nest: &Nest, point: Point, width: i64) -> Contract {
    let per_row = IntExpr::op(IntOp::CeilDiv, nest.columns(), IntExpr::Const(width));
    let vectors = IntExpr::op(IntOp::Mul, nest.rows(), per_row);
    let tiles = IntExpr::op(IntOp::CeilDiv, vectors, IntExpr::Const(point.threads * point.unroll));
    let resident = IntExpr::op(
        IntOp::Mul,
        IntExpr::Device(DeviceProp::SmCount),
        IntExpr::Device(DeviceProp::MaxBlocksPerSm),
    );
    // one block a tile, as far as a grid reaches
    let most = if point.persistent { resident } else { IntExpr::Const(i64::from(i32::MAX)) };
    let one = || IntExpr::Const(1);
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: [IntExpr::op(IntOp::Min, tiles, most), one(), one()],
        block: [IntExpr::Const(point.threads), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: print::all_args(&plan.spec, 0),
        pdl: point.pdl,
        co_resident: false,
    };
    Contract { workspace: Vec::new(), steps: vec![step] }
}

fn source(plan: &Plan, nest: &Nest, laid: &Laid<'_>, point: Point, width: i64) -> String {
    let math = plan.spec.math.canonical().trim_end().replace('\n', "\n// ");
    let text = laid.text(&[]);
    let values: Vec<(DType, _)> =
        nest.outputs.iter().map(|output| (plan.spec.tensors[output.tensor].dtype, &output.value)).collect();
    fill(
        TEMPLATE,
        &[
            ("HEADER", &format!("// elementwise {}: {math}", point.name)),
            ("PRELUDE", &prelude(&values, nest.integer(&[]))),
            ("CONFIG", &point.configuration(width)),
            ("PROBLEM", &text.problem),
            ("PARAMS", &text.params),
            ("MEMBERS", &text.members),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::{POINTS, Point};

    #[test]
    fn every_name_is_a_point() {
        for name in POINTS {
            let point = Point::parse(name).expect(name);
            assert!(point.threads % 32 == 0 && point.unroll >= 1 && point.width(2) >= 1, "{point:?}");
        }
    }
}
