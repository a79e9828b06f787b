//! The templates of the `sm_90a` target: elementwise over CuTe tensors in global memory.
//!
//! Sources take their parameters in the order of [`print::all_args`]; the README beside the templates describes
//! placeholders and configurations.

mod rowwise;

use cutegen_spec::contract::{Contract, Step, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};
use cutegen_spec::math::{Binary, Expr, Index, Place, Unary};
use cutegen_spec::record::Kind;
use cutegen_spec::tensor::Role;

use super::fill::{TemplateCode, fill};
use crate::generate::{Candidate, ENTRY, name_entry};
use crate::plan::Plan;
use crate::plan::family::{Elementwise, Family};
use crate::print;
use crate::print::c::{self, element};

const PRELUDE: &str = include_str!("sm90a/prelude.cuh.in");
const ELEMENTWISE: &str = include_str!("sm90a/elementwise.cu.in");

/// Bytes of loads that a thread may have in flight before its registers cost occupancy.
const BYTES_IN_FLIGHT_MAX: i64 = 256;

/// One point of the elementwise template's space.
#[derive(Clone, Copy)]
struct Point {
    vec_bytes: i64,
    unroll: i64,
    threads: i64,
    once: bool,
    streaming: bool,
    persistent: bool,
}

/// `v16u4t256-osp`: vector bytes, unroll, threads; loads once, streaming stores, persistent grid.
const POINTS: [&str; 25] = [
    "v16u1t128",
    "v16u1t256",
    "v16u1t256-os",
    "v16u2t128",
    "v16u2t128-os",
    "v16u2t256",
    "v16u2t256-os",
    "v16u4t128-os",
    "v16u4t256",
    "v16u4t256-o",
    "v16u4t256-s",
    "v16u4t256-os",
    "v16u4t512-os",
    "v16u8t128",
    "v16u8t128-os",
    "v16u8t256-os",
    "v16u2t256-osp",
    "v16u4t128-osp",
    "v16u4t256-osp",
    "v16u4t512-osp",
    "v32u1t256-os",
    "v32u2t128-os",
    "v32u2t256",
    "v32u2t256-os",
    "v32u2t256-osp",
];

impl Point {
    /// Reads a name of [`POINTS`].
    fn parse(name: &str) -> Option<Self> {
        let (shape, flags) = name.split_once('-').unwrap_or((name, ""));
        let (vec_bytes, rest) = shape.strip_prefix('v')?.split_once('u')?;
        let (unroll, threads) = rest.split_once('t')?;
        Some(Self {
            vec_bytes: vec_bytes.parse().ok()?,
            unroll: unroll.parse().ok()?,
            threads: threads.parse().ok()?,
            once: flags.contains('o'),
            streaming: flags.contains('s'),
            persistent: flags.contains('p'),
        })
    }
}

/// Every candidate for the plan; none when no template computes its family or precision.
pub(super) fn candidates(plan: &Plan, toolchain: &str) -> Vec<Candidate> {
    if let Family::Rowwise { rows: Some(rows), .. } = &plan.family {
        return rowwise::candidates(plan, rows, toolchain);
    }
    let Family::Elementwise { plain: Some(family) } = &plan.family else { return Vec::new() };
    let shape = |t: usize| &plan.spec.tensors[t].dims;
    let flat = (0..plan.spec.tensors.len()).all(|t| shape(t) == shape(family.out));
    if plan.spec.precision.accumulate != DType::F32 || !flat {
        return Vec::new();
    }
    let reads = plan.spec.tensors_with(Role::Input).count() as i64;
    let points = POINTS.iter().filter_map(|name| Some((*name, Point::parse(name)?)));
    points
        .filter(|(_, point)| point.unroll * point.vec_bytes * reads <= BYTES_IN_FLIGHT_MAX)
        .map(|(name, point)| candidate(plan, family, name, point, toolchain))
        .collect()
}

fn candidate(plan: &Plan, family: &Elementwise, name: &str, point: Point, toolchain: &str) -> Candidate {
    let (source, contract) = (source(plan, family, name, point), contract(plan, family, point));
    let (source, contract) = name_entry(&source, &contract, toolchain);
    let aligned = (0..plan.spec.tensors.len()).map(|tensor| Condition::Aligned { tensor, bytes: 16 });
    Candidate {
        name: format!("elementwise-{name}"),
        kind: Kind::Tuned,
        origin: format!("template sm90a/elementwise {name}"),
        source,
        contract,
        eligibility: Eligibility(aligned.collect()),
        tiles: family.vars.last().map(|v| (plan.schedule.vars[*v], tile(plan, point))).into_iter().collect(),
    }
}

/// Elements of a tile: a vector is `vec_bytes` of the widest element type.
fn tile(plan: &Plan, point: Point) -> i64 {
    let widest = plan.spec.tensors.iter().map(|tensor| tensor.dtype.bytes() as i64).max().unwrap_or(4);
    point.vec_bytes / widest * point.unroll * point.threads
}

fn contract(plan: &Plan, family: &Elementwise, point: Point) -> Contract {
    let length = family.vars.iter().map(|v| IntExpr::Axis(plan.schedule.vars[*v]));
    let length = length.reduce(|a, b| IntExpr::op(IntOp::Mul, a, b)).unwrap_or(IntExpr::Const(1));
    let tiles = IntExpr::op(IntOp::CeilDiv, length, IntExpr::Const(tile(plan, point)));
    let resident = IntExpr::op(
        IntOp::Mul,
        IntExpr::Device(DeviceProp::SmCount),
        IntExpr::Device(DeviceProp::MaxBlocksPerSm),
    );
    let blocks = if point.persistent { IntExpr::op(IntOp::Min, tiles, resident) } else { tiles };
    let one = || IntExpr::Const(1);
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: [blocks, one(), one()],
        block: [IntExpr::Const(point.threads), one(), one()],
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: print::all_args(&plan.spec, 0),
        pdl: false,
        co_resident: false,
    };
    Contract { workspace: Vec::new(), steps: vec![step] }
}

fn source(plan: &Plan, family: &Elementwise, name: &str, point: Point) -> String {
    let spec = &plan.spec;
    let header =
        format!("// elementwise {name}: {}", spec.math.canonical().trim_end().replace('\n', "\n// "));
    let narrow = spec.tensors[family.out].dtype == DType::Bf16 && !sums_a_sigmoid(&family.value);
    let prelude = fill(PRELUDE, &[("NARROW", &narrow.to_string())]);
    let listed = |text: &dyn Fn(usize) -> String| {
        let texts: Vec<String> = (0..spec.tensors.len()).map(text).collect();
        texts.join(", ")
    };
    let axes = || (0..spec.axes.len()).map(|a| format!("a{a}"));
    let scalars = || (0..spec.scalars.len()).map(|s| format!("s{s}"));
    let params = (0..spec.tensors.len()).map(|t| format!("{}* t{t}", element(spec.tensors[t].dtype)));
    let params = params.chain(axes().map(|a| format!("int64_t {a}")));
    let params =
        params.chain(spec.scalars.iter().enumerate().map(|(s, x)| format!("{} s{s}", element(x.dtype))));
    let members = axes().chain(scalars()).map(|name| format!("  float {name};"));
    let initialisers = axes().chain(scalars()).map(|name| format!("float({name})"));
    let length: Vec<String> = family.vars.iter().map(|v| format!("a{}", plan.schedule.vars[*v])).collect();
    let join = |items: Vec<String>, by: &str| items.join(by);
    fill(
        ELEMENTWISE,
        &[
            ("HEADER", &header),
            ("PRELUDE", &prelude),
            ("CONFIG", &configuration(point)),
            (
                "TYPES",
                &format!(
                    "using Elements = tuple<{}>;\nconstexpr bool READ[] = {{{}}};\nconstexpr bool WRITTEN[] = {{{}}};",
                    listed(&|t| element(spec.tensors[t].dtype).to_owned()),
                    listed(&|t| (spec.tensors[t].role == Role::Input).to_string()),
                    listed(&|t| (t == family.out).to_string()),
                ),
            ),
            ("MEMBERS", &join(members.collect(), "\n")),
            ("BODY", &format!("    v[{}] = {};", family.out, c::real(&family.value, &Registers))),
            ("PARAMS", &join(params.collect(), ", ")),
            ("LENGTH", &if length.is_empty() { "1".to_owned() } else { length.join(" * ") }),
            ("SCALARS", &join(initialisers.collect(), ", ")),
            ("POINTERS", &listed(&|t| format!("t{t}"))),
        ],
    )
}

fn configuration(point: Point) -> String {
    let load = if point.once { "ONCE" } else { "CACHED" };
    let store = if point.streaming { "STREAMING" } else { "CACHED" };
    format!(
        "constexpr int VEC_BYTES = {};\nconstexpr int UNROLL = {};\nconstexpr int THREADS = {};\n\
         constexpr Load LOAD = Load::{load};\nconstexpr Store STORE = Store::{store};",
        point.vec_bytes, point.unroll, point.threads
    )
}

/// Whether a sum or difference uses the result of a sigmoid-like function: then its error must be small absolutely,
/// and the hardware's exponential is not for it.
fn sums_a_sigmoid(value: &Expr) -> bool {
    let mut found = false;
    value.visit(&mut |expr| {
        if let Expr::Binary(Binary::Add | Binary::Sub, a, b) = expr {
            for side in [a, b] {
                side.visit(&mut |inner| {
                    found |= matches!(inner, Expr::Unary(Unary::Sigmoid | Unary::Silu | Unary::GeluTanh, _));
                });
            }
        }
    });
    found
}

/// The same of everything a plan computes.
fn sums_a_sigmoid_in(plan: &Plan) -> bool {
    plan.schedule.steps.iter().any(|step| sums_a_sigmoid(step.value.expr()))
}

/// Loads are registers: `v[t]` is the element of tensor t.
struct Registers;

impl TemplateCode for Registers {
    const INFINITY: &'static str = "__int_as_float(0x7f800000)";

    fn load(&self, place: Place, _: &[Index]) -> String {
        match place {
            Place::Tensor(t) | Place::Temp(t) => format!("v[{t}]"),
        }
    }

    fn integer(&self, text: &str) -> String {
        text.to_owned()
    }

    fn scalar(&self, position: usize) -> String {
        format!("s{position}")
    }
}
