//! The scan template: one running reduction along the last axis, with what its results are used for.

mod point;

use cutegen_spec::contract::{Arg, Contract, Initial, Step as Launch, WorkspacePart, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Expr, Index, Kind, Place, ReduceOp, as_vars};
use cutegen_spec::record;

use point::{POINTS, Point};

use super::nest::Nest;
use super::problem::{Given, Laid, Problem, value_type};
use super::{computes, prelude};
use crate::generate::template::fill::fill;
use crate::generate::{Candidate, CostFeatures, ENTRY, StreamFeatures};
use crate::plan::Plan;
use crate::plan::schedule::{Direction, Step, Value};
use crate::print;

const TEMPLATE: &str = include_str!("scan.cu.in");
const TOTALS: &str = include_str!("scan_totals.cu.in");

/// Terms of a thread that stay in registers.
const TERMS_MAX: i64 = 32;

/// One scan over the loops of a nest.
struct Scan {
    nest: Nest,
    /// The temporary that holds its result in the schedule.
    temp: usize,
    op: ReduceOp,
    kind: Kind,
    direction: Direction,
    /// What is folded, in the nest's variables.
    body: Expr,
}

/// Every candidate for the plan; none where it is more than one scan along the last axis and maps of its result.
pub(super) fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    let Some(scan) = computes(plan).then(|| Scan::of(plan)).flatten() else { return Vec::new() };
    let given = vec![Given { temp: scan.temp, kind: scan.kind, name: "prefix".to_owned() }];
    let problem = Problem::new(&scan.nest, Some((scan.kind, &scan.body)), given);
    let Some(problem) = problem else { return Vec::new() };
    let points = POINTS.iter().filter_map(|name| Point::parse(name));
    points.filter_map(|point| scan.candidate(plan, &problem, point)).take(at_most).collect()
}

impl Scan {
    fn of(plan: &Plan) -> Option<Scan> {
        let (first, maps) = plan.schedule.steps.split_first()?;
        let Value::Scan { op, over, along, direction, body } = &first.value else { return None };
        let Place::Temp(temp) = first.dst else { return None };
        let nest = Nest::of(plan, maps)?;
        let to = renaming(&nest, first, temp)?;
        let body = body
            .rename(*over, *along)
            .subst(&|var| to.iter().find(|(from, _)| *from == var).map(|(_, to)| Index::Var(*to)));
        let runs = to.iter().any(|(from, to)| from == along && *to == nest.inner());
        let known = matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min);
        let kind = plan.schedule.temps[temp].kind;
        let unwritten = !reads_written(&nest, &body);
        (runs && known && unwritten && kind != Kind::Cond).then_some(Scan {
            nest,
            temp,
            op: *op,
            kind,
            direction: *direction,
            body,
        })
    }

    fn candidate(&self, plan: &Plan, problem: &Problem<'_>, point: Point) -> Option<Candidate> {
        let width = point.vec_bytes.map_or(1, |bytes| (bytes / problem.lane_bytes()).max(1));
        let laid = Laid::new(problem, width);
        let vectorised = width > 1 && laid.is_vectorised() && !laid.scatters_stores();
        if point.vec_bytes.is_some() != vectorised
            || width * point.unroll > TERMS_MAX
            || !self.fits(point, width)
        {
            return None;
        }
        let (source, contract) = (self.source(plan, &laid, point, width), self.contract(plan, point, width));
        Some(Candidate {
            name: format!("scan-{}", point.name),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/scan {}", point.name),
            source,
            contract,
            eligibility: self.eligibility(&laid, width),
            tiles: vec![(self.nest.last_axis(), width * point.tile())],
            cost_features: Some(CostFeatures::Stream(StreamFeatures {
                kind: if point.chunk.is_some() { "scan in chunks" } else { "scan" },
                in_flight: point.vec_bytes.unwrap_or(4) * point.unroll,
                registers: 32 + 2 * width * point.unroll,
                block_barriers: if point.warps > 1 { 2 } else { 0 },
                reads_percent: if point.chunk.is_some() { 200 } else { 100 },
                longest_percent: 100,
                in_l2: false,
                late: false,
                tail_steps: 0,
                hints: point.hints().to_owned(),
            })),
        })
    }

    /// Whether rows of a known length are whole vectors, keep most threads busy, and are long enough for chunks.
    fn fits(&self, point: Point, width: i64) -> bool {
        let Some(columns) = self.nest.extent(self.nest.last_axis()) else { return true };
        let tile = point.tile() * width;
        let single = point.vec_bytes.is_none();
        columns % width == 0
            && (single || tile < 2 * columns)
            && point.chunk.is_none_or(|chunk| single || chunk * tile < columns)
    }

    fn eligibility(&self, laid: &Laid<'_>, width: i64) -> Eligibility {
        let mut conditions = laid.conditions();
        let whole = Condition::Divides { expr: self.nest.columns(), by: width };
        let known = self.nest.extent(self.nest.last_axis()).is_some();
        if width > 1 && !known && !conditions.contains(&whole) {
            conditions.push(whole);
        }
        Eligibility(conditions)
    }

    fn chunks(&self, point: Point, width: i64, chunk: i64) -> IntExpr {
        IntExpr::op(IntOp::CeilDiv, self.nest.columns(), IntExpr::Const(width * point.tile() * chunk))
    }

    fn contract(&self, plan: &Plan, point: Point, width: i64) -> Contract {
        let op = IntExpr::op;
        let one = || IntExpr::Const(1);
        let rows = op(IntOp::CeilDiv, self.nest.rows(), IntExpr::Const(point.rows));
        let chunks = point.chunk.map(|chunk| self.chunks(point, width, chunk));
        let blocks = match &chunks {
            Some(chunks) => op(IntOp::Mul, rows, chunks.clone()),
            None => rows,
        };
        let args: Vec<Arg> = print::all_args(&plan.spec, usize::from(chunks.is_some()));
        let launch = |entry: String| Launch {
            entry,
            grid: [blocks.clone(), one(), one()],
            block: [IntExpr::Const(point.threads()), one(), one()],
            cluster: ones(),
            smem: IntExpr::Const(0),
            args: args.clone(),
            pdl: false,
            co_resident: false,
        };
        let scan = launch(ENTRY.to_owned());
        let Some(chunks) = chunks else { return Contract { workspace: Vec::new(), steps: vec![scan] } };
        let bytes = IntExpr::Const(if self.kind == Kind::Int { 8 } else { 4 });
        let bytes = op(IntOp::Mul, op(IntOp::Mul, self.nest.rows(), chunks), bytes);
        let totals = WorkspacePart { bytes, initial: Initial::Undefined };
        Contract { workspace: vec![totals], steps: vec![launch(format!("{ENTRY}_totals")), scan] }
    }

    fn source(&self, plan: &Plan, laid: &Laid<'_>, point: Point, width: i64) -> String {
        let math = plan.spec.math.canonical().trim_end().replace('\n', "\n// ");
        let text = laid.text(if point.chunk.is_some() { &["V"] } else { &[] });
        let outputs = self.nest.outputs.iter();
        let values: Vec<(DType, &Expr)> =
            outputs.map(|output| (plan.spec.tensors[output.tensor].dtype, &output.value)).collect();
        let totals = if point.chunk.is_some() { TOTALS } else { "" };
        let chunk = match point.chunk {
            Some(_) => {
                "  const Chunk chunk = chunk_of(blockIdx.x, tiles);\n  \
                 const Place place = place_of(p.rows(), chunk.row);\n  \
                 const Integer first = chunk.first, end = chunk.end;\n  carry = carried(w0, chunk);\n"
            }
            None => {
                "  const Place place = place_of(p.rows(), blockIdx.x);\n  const Integer first = 0, end = tiles;\n"
            }
        };
        fill(
            TEMPLATE,
            &[
                ("TOTALS", totals),
                ("CHUNK", chunk),
                ("HEADER", &format!("// scan {}: {math}", point.name)),
                ("PRELUDE", &prelude(&values, &[&self.body], self.nest.integer(&[&self.body]))),
                ("CONFIG", &self.configuration(point, width)),
                ("PROBLEM", &text.problem),
                ("FOLD", &self.fold()),
                ("PARAMS", &text.params),
                ("MEMBERS", &text.members),
            ],
        )
    }

    fn configuration(&self, point: Point, width: i64) -> String {
        let store = if point.streaming { "STREAMING" } else { "CACHED" };
        let chunk =
            point.chunk.map_or_else(String::new, |tiles| format!("\nconstexpr Integer CHUNK = {tiles};"));
        format!(
            "constexpr int VEC = {width};\nconstexpr int UNROLL = {};\nconstexpr int WARPS = {};\n\
             constexpr int ROWS = {};\n[[maybe_unused]] constexpr Load LOAD = Load::{};\n[[maybe_unused]] constexpr Store STORE = Store::{store};\n\
             constexpr bool REVERSE = {};\nconstexpr bool EXCLUSIVE = {};{chunk}",
            point.unroll,
            point.warps,
            point.rows,
            point.load,
            self.direction.reverse,
            self.direction.exclusive
        )
    }

    /// The value that is folded, and how.
    fn fold(&self) -> String {
        let real = self.kind != Kind::Int;
        let (identity, folded) = match self.op {
            ReduceOp::Prod => ("1", "a * b"),
            ReduceOp::Max => (if real { "-cg_inf()" } else { "-9223372036854775807ll - 1" }, "cg_max(a, b)"),
            ReduceOp::Min => (if real { "cg_inf()" } else { "9223372036854775807ll" }, "cg_min(a, b)"),
            ReduceOp::Sum | ReduceOp::ArgMax | ReduceOp::ArgMin => ("0", "a + b"),
        };
        format!(
            "using V = {};\nCG_DEVICE V neutral() {{ return {identity}; }}\n\
             CG_DEVICE V join(V a, V b) {{ return {folded}; }}",
            value_type(self.kind)
        )
    }
}

/// The nest's variable for each of the scan's, by where its result is read; every reader must agree.
fn renaming(nest: &Nest, scan: &Step, temp: usize) -> Option<Vec<(usize, usize)>> {
    let own = as_vars(&scan.index)?;
    let mut found: Option<Vec<usize>> = None;
    let mut same = true;
    for output in &nest.outputs {
        output.value.visit(&mut |expr| match expr {
            Expr::Load(Place::Temp(t), index) => match (as_vars(index), &found) {
                (Some(vars), None) if *t == temp => found = Some(vars),
                (Some(vars), Some(known)) if *t == temp && vars == *known => {}
                _ => same = false,
            },
            Expr::Pad(Place::Temp(_), ..) => same = false,
            _ => {}
        });
    }
    let found = found.filter(|vars| same && vars.len() == own.len())?;
    Some(own.into_iter().zip(found).collect())
}

fn reads_written(nest: &Nest, body: &Expr) -> bool {
    let mut found = false;
    body.visit(&mut |expr| {
        if let Expr::Load(Place::Tensor(t), _) | Expr::Pad(Place::Tensor(t), ..) = expr {
            found |= nest.writes(*t);
        }
    });
    found
}
