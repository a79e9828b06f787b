//! Candidates of the rowwise templates: every legal point of their space for a plan's rows, with its contract and the
//! launches it is right for. The README beside the templates describes holes and names.

mod across;
mod code;
mod fold;
mod layout;
mod resident;
mod ring;
mod slices;
mod split;
#[cfg(test)]
mod tests;
mod warp_specialised;

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::record::Kind;

use self::code::Code;
use self::layout::Layout;
use super::super::fill::fill;
use super::{PRELUDE, narrow};
use crate::generate::{Candidate, StreamFeatures};
use crate::plan::Plan;
use crate::plan::family::Rows;

const ROWS: &str = include_str!("rows.cuh.in");
const BLOCK: &str = include_str!("block.cuh.in");
const ONLINE: &str = include_str!("online.cuh.in");
const PARTIALS: &str = include_str!("partials.cuh.in");
const RING: &str = include_str!("ring.cuh.in");
const ACROSS: &str = include_str!("across.cuh.in");

/// Registers of a multiprocessor.
const REGISTERS: i64 = 65536;

/// Bytes of a block's shared memory that are for statistics and barriers; the rest is for rows.
const SMEM_ASIDE: i64 = 15 * 1024;

/// Bytes that a multiprocessor may read a second time from L2: half of what is on its way there, and all
/// multiprocessors' together about what L2 holds.
const REREAD_MAX: i64 = 640 * 1024;

/// A point of a template's space, filled in.
struct Point {
    /// `rows-x8t256u2`, say.
    name: String,
    template: &'static str,
    /// The lines of `@CONFIG@`.
    config: String,
    /// The entries, where the template leaves them open.
    entries: Option<String>,
    contract: Contract,
    conditions: Vec<Condition>,
    /// Elements along a row between which behaviour changes.
    tile: i64,
    /// Rows side by side between which it changes too.
    side: Option<i64>,
    cost_features: StreamFeatures,
}

/// Every candidate for the plan's rows.
pub(super) fn candidates(plan: &Plan, rows: &Rows, at_most: usize) -> Vec<Candidate> {
    let layout = Layout::of(plan, rows);
    let prelude = fill(PRELUDE, &values(plan, rows).holes());
    let code = code::code(plan, rows, prelude);
    let points = [
        resident::points(plan, &layout),
        split::points(plan, &layout),
        ring::points(plan, &layout),
        warp_specialised::points(plan, &layout),
        across::points(plan, &layout),
    ];
    let points = points.into_iter().flatten().take(at_most);
    points.map(|point| candidate(plan, &layout, &code, point)).collect()
}

fn candidate(plan: &Plan, layout: &Layout<'_>, code: &Code, point: Point) -> Candidate {
    let fold = fold::text(layout, &point);
    let source = source(plan, code, &point, &fold);
    let tiles = layout.tiles(point.tile, point.side);
    let point = fold::folded(layout, point);
    Candidate {
        origin: format!("template sm90a/{}", point.name),
        name: point.name,
        kind: Kind::Tuned,
        source,
        contract: point.contract,
        eligibility: Eligibility(point.conditions),
        tiles,
        cost_features: Some(point.cost_features.into()),
    }
}

fn source(plan: &Plan, code: &Code, point: &Point, fold: &fold::Text) -> String {
    let spec = &plan.spec;
    let header = format!("// {}: {}", point.name, spec.math.canonical().trim_end().replace('\n', "\n// "));
    let rows = fill(ROWS, &[("CONFIG", &point.config), ("TYPES", &code.types), ("MATH", &code.math)]);
    let mut holes = vec![
        ("HEADER", header.as_str()),
        ("PRELUDE", &code.prelude),
        ("ROWS", &rows),
        ("BLOCK", BLOCK),
        ("ONLINE", ONLINE),
        ("PARTIALS", PARTIALS),
        ("RING", RING),
        ("ACROSS", ACROSS),
        ("FOLD", fold.parameter),
        ("PARAMS", &code.params),
        ("AXES", &code.axes),
        ("MEMBERS", &code.members),
        ("ROW_COUNT", &code.rows),
        ("COLUMNS", &code.columns),
    ];
    if let Some(entries) = &point.entries {
        holes.insert(0, ("ENTRIES", entries));
    }
    fill(&(point.template.to_owned() + &fold.launch), &holes)
}

/// What the rows compute.
pub(super) fn values<'a>(plan: &Plan, rows: &'a Rows) -> narrow::Values<'a> {
    let outputs = rows.sinks.iter().chain(&rows.scalars).chain(&rows.totals);
    let outputs = outputs.map(|(access, value)| (plan.spec.tensors[access.tensor].dtype, value));
    let reduced = rows.reductions.iter().chain(&rows.folds);
    let reduced = reduced.map(|reduced| (reduced.op, Some(reduced.temp), &reduced.body));
    narrow::Values { outputs: outputs.collect(), reduced: reduced.collect(), cols: &rows.cols }
}

/// What every template is configured with.
struct Config {
    home: &'static str,
    vec: i64,
    threads: i64,
    unroll: i64,
    rows: i64,
    cluster: i64,
    /// Elements that parts of a row are multiples of.
    unit: i64,
    stages: i64,
    once: bool,
    streaming: bool,
    early: bool,
    /// Every thread has all its vectors.
    whole: bool,
    producer: bool,
    /// The cache eviction priority of what is read again.
    eviction: &'static str,
    /// Begins while the last kernel ends.
    pdl: bool,
}

impl Config {
    /// The lines of `@CONFIG@`.
    fn lines(&self) -> String {
        let numbers = [
            ("VEC", self.vec),
            ("THREADS", self.threads),
            ("UNROLL", self.unroll),
            ("ROWS", self.rows),
            ("CLUSTER", self.cluster),
            ("SLICE_UNIT", self.unit),
            ("STAGES", self.stages),
        ];
        let numbers: String =
            numbers.iter().map(|(name, value)| format!("constexpr int {name} = {value};\n")).collect();
        let (load, store) =
            (if self.once { "ONCE" } else { "CACHED" }, if self.streaming { "STREAMING" } else { "CACHED" });
        format!(
            "constexpr Row ROW = Row::{};\n{numbers}constexpr Load LOAD = Load::{load};\n\
             [[maybe_unused]] constexpr Store STORE = Store::{store};\nconstexpr bool EARLY = {};\n\
             constexpr bool WHOLE = {};\nconstexpr bool HAS_PRODUCER = {};\n\
             constexpr Stay STAY = Stay::{};\n[[maybe_unused]] constexpr bool PDL = {};",
            self.home, self.early, self.whole, self.producer, self.eviction, self.pdl
        )
    }
}

/// `a op b`.
fn op(op: IntOp, a: IntExpr, b: i64) -> IntExpr {
    IntExpr::op(op, a, IntExpr::Const(b))
}
