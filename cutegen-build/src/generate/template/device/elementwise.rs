//! The elementwise template: any nest of maps, over flat tensors or over rows and columns.

use cutegen_spec::arch::Feature;
use cutegen_spec::contract::{Contract, Step, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::record::Kind;

use super::nest::Nest;
use super::problem::{Laid, Problem};
use super::{computes, prelude};
use crate::generate::template::fill::fill;
use crate::generate::{Candidate, CostFeatures, ENTRY, StreamFeatures, hinted, hints};
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
    /// Bytes of a vector in the tensor that takes most per lane; none where a vector is one element.
    vec_bytes: Option<i64>,
    unroll: i64,
    threads: i64,
    load: Load,
    streaming: bool,
    persistent: bool,
    pdl: bool,
}

/// How long what is loaded stays in L2: as anything does, no longer than it takes, or first to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Cached,
    Once,
    First,
}

/// Hints that go together, plain ones first: loads, streaming stores, persistent grid, programmatic launch.
const HINTS: [(Load, bool, bool, bool); 8] = [
    (Load::Cached, false, false, false),
    (Load::Once, true, false, false),
    (Load::Once, false, false, false),
    (Load::Cached, true, false, false),
    (Load::First, true, false, false),
    (Load::Once, true, true, false),
    (Load::Once, true, false, true),
    (Load::Cached, false, false, true),
];

/// The whole space, before what a nest forbids.
fn space() -> Vec<Point> {
    let mut points = Vec::new();
    for vec_bytes in [Some(16), Some(32), Some(8), None] {
        for unroll in [1, 2, 4, 8] {
            for threads in [128, 256, 512, 1024] {
                for (load, streaming, persistent, pdl) in HINTS {
                    points.push(Point { vec_bytes, unroll, threads, load, streaming, persistent, pdl });
                }
            }
        }
    }
    points.retain(Point::is_told_apart);
    points
}

impl Point {
    /// Vectors of other than 16 bytes are few: narrow ones are for tensors whose lanes differ in size, and single
    /// elements for addresses that have no vectors.
    fn is_told_apart(&self) -> bool {
        let is_plain = !self.persistent && !self.pdl && self.load != Load::First;
        match self.vec_bytes {
            Some(16) => true,
            Some(_) => is_plain && self.streaming == (self.load == Load::Once),
            None => is_plain && !self.streaming && self.load == Load::Cached,
        }
    }

    /// `v16u4t256-ospd`: vector bytes (`e`: single elements), unroll, threads; loads once (`f`: and first to leave L2),
    /// streaming stores, persistent grid, programmatic launch.
    fn name(self) -> String {
        let vector = self.vec_bytes.map_or("e".to_owned(), |bytes| format!("v{bytes}u"));
        hinted(format!("{vector}{}t{}", self.unroll, self.threads), &self.hints())
    }

    fn hints(self) -> String {
        hints(&[
            (self.load == Load::First, 'f'),
            (self.load == Load::Once, 'o'),
            (self.streaming, 's'),
            (self.persistent, 'p'),
            (self.pdl, 'd'),
        ])
    }

    /// Columns of a vector whose lanes take so many bytes.
    fn width(self, lane_bytes: i64) -> i64 {
        self.vec_bytes.map_or(1, |bytes| (bytes / lane_bytes).max(1))
    }

    fn configuration(self, width: i64) -> String {
        let store = if self.streaming { "STREAMING" } else { "CACHED" };
        let load = match self.load {
            Load::Cached => "CACHED",
            Load::Once => "ONCE",
            Load::First => "FIRST",
        };
        format!(
            "constexpr int VEC = {width};\nconstexpr int UNROLL = {};\nconstexpr int THREADS = {};\n\
             [[maybe_unused]] constexpr Load LOAD = Load::{load};\n[[maybe_unused]] constexpr Store STORE = Store::{store};\n\
             constexpr bool PDL = {};",
            self.unroll, self.threads, self.pdl
        )
    }
}

/// Every candidate for the plan; none where its steps have different loops, or compute what the prelude cannot.
pub(super) fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    let nest = computes(plan).then(|| Nest::of(plan, &plan.schedule.steps)).flatten().map(Nest::flattened);
    let Some(nest) = nest else { return Vec::new() };
    let Some(problem) = Problem::new(&nest, None, Vec::new()) else { return Vec::new() };
    let points = space().into_iter().filter(|point| !point.pdl || plan.target.has(Feature::Pdl));
    points.filter_map(|point| candidate(plan, &nest, &problem, point)).take(at_most).collect()
}

/// The candidate of a point, if the point makes sense for the nest.
fn candidate(plan: &Plan, nest: &Nest, problem: &Problem<'_>, point: Point) -> Option<Candidate> {
    let width = point.width(problem.lane_bytes());
    let laid = Laid::new(problem, width);
    let vectorised = width > 1 && laid.is_vectorised() && !laid.scatters_stores();
    let in_flight = point.vec_bytes.unwrap_or(problem.lane_bytes()) * point.unroll * problem.streams();
    let fits = in_flight <= BYTES_IN_FLIGHT_MAX && width * point.unroll <= RESULTS_MAX;
    if point.vec_bytes.is_some() != vectorised || !fits {
        return None;
    }
    let (source, contract) = (source(plan, nest, &laid, point, width), contract(plan, nest, point, width));
    Some(Candidate {
        name: format!("elementwise-{}", point.name()),
        kind: Kind::Tuned,
        origin: format!("template sm90a/elementwise {}", point.name()),
        source,
        contract,
        eligibility: Eligibility(laid.conditions()),
        tiles: vec![(nest.last_axis(), width * point.unroll * point.threads)],
        cost_features: Some(CostFeatures::Stream(StreamFeatures {
            kind: if point.persistent { "persistent" } else { "elementwise" },
            in_flight,
            registers: 16 + in_flight / 4 + width * point.unroll,
            block_barriers: 0,
            reads_percent: 100,
            longest_percent: 100,
            in_l2: false,
            late: false,
            tail_steps: 0,
            hints: point.hints(),
        })),
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
            ("HEADER", &format!("// elementwise {}: {math}", point.name())),
            ("PRELUDE", &prelude(&values, &[], nest.integer(&[]))),
            ("CONFIG", &point.configuration(width)),
            ("PROBLEM", &text.problem),
            ("PARAMS", &text.params),
            ("MEMBERS", &text.members),
        ],
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::space;

    #[test]
    fn every_point_has_its_name() {
        let points = space();
        let names: BTreeSet<String> = points.iter().map(|point| point.name()).collect();
        assert_eq!(names.len(), points.len());
        assert!(names.contains("v16u4t256-os") && names.contains("e1t256") && names.contains("v32u2t128-os"));
        assert!(points.iter().all(|point| point.threads % 32 == 0 && point.width(2) >= 1), "{points:?}");
    }
}
