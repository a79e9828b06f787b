//! The templates of the `host` target: gemm, rowwise and elementwise over CuTe tensors on AVX2.
//!
//! Sources take their parameters in the order of [`print::all_args`]; the README beside the templates describes
//! placeholders and configurations.

mod names;

use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::ReduceOp;
use cutegen_spec::record::Kind;
use cutegen_spec::tensor::Role;

use super::fill::{config, fill};
use crate::generate::{Candidate, ENTRY};
use crate::plan::Plan;
use crate::plan::family::{Contraction, Elementwise, Family, Rowwise};
use crate::print::{self, c::element};
use names::Names;

const PRELUDE: &str = include_str!("host/prelude.hpp.in");
const GEMM: &str = include_str!("host/gemm.cpp.in");
const ROWWISE: &str = include_str!("host/rowwise.cpp.in");
const ELEMENTWISE: &str = include_str!("host/elementwise.cpp.in");

/// Floats in a register at x86-64-v3.
const LANES: &str = "8";

/// The first so many candidates for the plan; none when no template computes its family or precision.
pub(super) fn candidates(plan: &Plan, at_most: usize) -> Vec<Candidate> {
    if plan.spec.precision.accumulate != DType::F32 {
        return Vec::new();
    }
    let fillings = match &plan.family {
        Family::Contraction { plain: Some(family), .. } => gemm_fillings(plan, family),
        Family::Rowwise { plain: Some(family), .. } => rowwise_fillings(plan, family),
        Family::Elementwise { plain: Some(family) } => elementwise_fillings(plan, family),
        Family::Contraction { .. }
        | Family::Rowwise { .. }
        | Family::Elementwise { .. }
        | Family::Scan { .. }
        | Family::Window
        | Family::General { .. } => Vec::new(),
    };
    fillings.iter().take(at_most).map(|filling| candidate(plan, filling)).collect()
}

/// What a template is filled with, apart from its configuration.
struct Filling<'a> {
    template: &'a str,
    name: String,
    config: String,
    blocks: Vec<(&'a str, String)>,
    workspace: Option<IntExpr>,
    tiles: Vec<(usize, i64)>,
}

fn candidate(plan: &Plan, filling: &Filling<'_>) -> Candidate {
    let header =
        format!("// {}: {}", filling.name, plan.spec.math.canonical().trim_end().replace('\n', "\n// "));
    let prelude = fill(PRELUDE, &[("LANES", LANES)]);
    let mut blocks: Vec<(&str, &str)> =
        vec![("HEADER", &header), ("PRELUDE", &prelude), ("CONFIG", &filling.config)];
    blocks.extend(filling.blocks.iter().map(|(name, text)| (*name, text.as_str())));
    let source = fill(filling.template, &blocks);
    let parts = usize::from(filling.workspace.is_some());
    let step = Step {
        entry: ENTRY.to_owned(),
        grid: ones(),
        block: ones(),
        cluster: ones(),
        smem: IntExpr::Const(0),
        args: print::all_args(&plan.spec, parts),
        pdl: false,
        co_resident: false,
    };
    let workspace = filling
        .workspace
        .iter()
        .map(|bytes| WorkspacePart { bytes: bytes.clone(), initial: Initial::Undefined });
    let contract = Contract { workspace: workspace.collect(), steps: vec![step] };
    Candidate {
        name: filling.name.clone(),
        kind: Kind::Tuned,
        origin: format!("template host/{}", filling.name),
        source,
        contract,
        eligibility: Eligibility::default(),
        tiles: filling.tiles.clone(),
        cost_features: None,
    }
}

/// Reads parameters in the order of [`print::all_args`]; `flat` sees every tensor as one dimension.
fn params(plan: &Plan, flat: bool, workspace: bool) -> String {
    let spec = &plan.spec;
    let (tensors, axes) = (spec.tensors.len(), spec.axes.len());
    let mut lines = Vec::new();
    for a in 0..axes {
        lines.push(format!(
            "  [[maybe_unused]] const int64_t a{a} = value<int64_t>(params[{}]);",
            tensors + a
        ));
    }
    for (t, tensor) in spec.tensors.iter().enumerate() {
        let constness = if tensor.role == Role::Input { "const " } else { "" };
        let dims: Vec<String> = tensor.dims.iter().map(print::int).collect();
        let shape = match (flat, dims.is_empty()) {
            (_, true) => "1".to_owned(),
            (true, false) => dims.join(" * "),
            (false, false) => dims.join(", "),
        };
        let ty = element(tensor.dtype);
        lines.push(format!(
            "  const auto t{t} = view<{constness}{ty}>(params[{t}], make_shape({shape}));  // ({shape})"
        ));
    }
    for (s, scalar) in spec.scalars.iter().enumerate() {
        let ty = element(scalar.dtype);
        lines.push(format!("  const {ty} s{s} = value<{ty}>(params[{}]);", tensors + axes + s));
    }
    if workspace {
        let position = tensors + axes + spec.scalars.len();
        lines.push(format!("  void* const workspace = value<void*>(params[{position}]);"));
    }
    lines.join("\n")
}

fn store(plan: &Plan, out: usize, index: &str, value: &str) -> String {
    format!("t{out}({index}) = from_f32<{}>({value});", element(plan.spec.tensors[out].dtype))
}

// ------------------------------------------------------------------------------------------------ elementwise

fn elementwise_fillings(plan: &Plan, family: &Elementwise) -> Vec<Filling<'static>> {
    let mut names = Names::default();
    // every load has all variables or none: one flat index stands for them
    for (position, var) in family.vars.iter().enumerate() {
        if position == 0 {
            names.vars.insert(*var, "j".to_owned());
        }
    }
    let total: Vec<String> = family.vars.iter().map(|v| format!("a{}", plan.schedule.vars[*v])).collect();
    let total = if total.is_empty() { "1".to_owned() } else { total.join(" * ") };
    let body = format!("    {}", store(plan, family.out, "j", &names.expr(&family.value)));
    let filling = |vec| Filling {
        template: ELEMENTWISE,
        name: format!("elementwise-v{vec}"),
        config: config(&[("VEC", vec)], &[]),
        blocks: vec![
            ("PARAMS", params(plan, true, false)),
            ("SHAPE", format!("  const int64_t rows = 1, cols = {total};")),
            ("BODY", body.clone()),
        ],
        workspace: None,
        tiles: family.vars.iter().map(|v| (plan.schedule.vars[*v], vec * 8)).collect(),
    };
    [1, 2, 4, 8, 16, 32].map(filling).into()
}

// ------------------------------------------------------------------------------------------------ rowwise

fn rowwise_fillings(plan: &Plan, family: &Rowwise) -> Vec<Filling<'static>> {
    let [row] = family.rows.as_slice() else { return Vec::new() };
    let (row_axis, col_axis) = (plan.schedule.vars[*row], plan.schedule.vars[family.col]);
    let mut names = Names::default();
    names.vars.insert(*row, "first + q".to_owned());
    names.vars.insert(family.col, "j".to_owned());
    let mut body = String::new();
    for (number, (temp, op, expr)) in family.reductions.iter().enumerate() {
        let op = match op {
            ReduceOp::Sum => "Sum",
            ReduceOp::Max => "Max",
            ReduceOp::Min => "Min",
            ReduceOp::Prod | ReduceOp::ArgMax | ReduceOp::ArgMin => return Vec::new(),
        };
        let value = names.expr(expr);
        body.push_str(&format!(
            "    const auto r{number} = reduce<{op}>(n, cols, [&](int q, int64_t j) {{ return {value}; }});\n"
        ));
        names.temps.insert(*temp, format!("r{number}[q]"));
    }
    let value = names.expr(&family.value);
    let stored = store(plan, family.out, "first + q, j", &value);
    body.push_str(&format!("    each(n, cols, [&](int q, int64_t j) {{ {stored} }});"));
    let configs = [(4, 1), (8, 1), (16, 1), (4, 2), (8, 2), (4, 4)];
    let filling = |(unroll, rows)| Filling {
        template: ROWWISE,
        name: format!("rowwise-u{unroll}-r{rows}"),
        config: config(&[("UNROLL", unroll), ("ROWS", rows)], &[]),
        blocks: vec![
            ("PARAMS", params(plan, false, false)),
            ("SHAPE", format!("  const int64_t rows = a{row_axis}, cols = a{col_axis};")),
            ("BODY", body.clone()),
        ],
        workspace: None,
        tiles: vec![(row_axis, rows), (col_axis, unroll * 8)],
    };
    configs.map(filling).into()
}

// ------------------------------------------------------------------------------------------------ gemm

/// One point of the gemm template's space.
#[derive(Clone, Copy)]
struct Gemm {
    mr: i64,
    nr: i64,
    kc: i64,
    mc: i64,
    nc: i64,
    ku: i64,
    pack_b: bool,
}

/// Register tiles of at most 15 vectors, blocks of A in L1 or L2, strips of B in L2 or L3; the last four for few rows.
const GEMM_POINTS: [Gemm; 14] = [
    Gemm { mr: 6, nr: 16, kc: 256, mc: 96, nc: 512, ku: 4, pack_b: true },
    Gemm { mr: 6, nr: 16, kc: 256, mc: 96, nc: 512, ku: 1, pack_b: true },
    Gemm { mr: 6, nr: 16, kc: 512, mc: 96, nc: 512, ku: 4, pack_b: true },
    Gemm { mr: 6, nr: 16, kc: 128, mc: 192, nc: 1024, ku: 4, pack_b: true },
    Gemm { mr: 6, nr: 16, kc: 256, mc: 192, nc: 256, ku: 4, pack_b: true },
    Gemm { mr: 4, nr: 24, kc: 256, mc: 96, nc: 480, ku: 4, pack_b: true },
    Gemm { mr: 4, nr: 24, kc: 512, mc: 64, nc: 480, ku: 1, pack_b: true },
    Gemm { mr: 5, nr: 16, kc: 256, mc: 95, nc: 512, ku: 4, pack_b: true },
    Gemm { mr: 3, nr: 32, kc: 256, mc: 96, nc: 512, ku: 4, pack_b: true },
    Gemm { mr: 14, nr: 8, kc: 256, mc: 98, nc: 512, ku: 4, pack_b: true },
    Gemm { mr: 1, nr: 64, kc: 256, mc: 8, nc: 512, ku: 1, pack_b: false },
    Gemm { mr: 4, nr: 24, kc: 256, mc: 16, nc: 480, ku: 1, pack_b: false },
    Gemm { mr: 6, nr: 16, kc: 256, mc: 48, nc: 512, ku: 1, pack_b: false },
    Gemm { mr: 3, nr: 32, kc: 256, mc: 48, nc: 512, ku: 2, pack_b: false },
];

fn gemm_fillings(plan: &Plan, family: &Contraction) -> Vec<Filling<'static>> {
    let dtype = |tensor: usize| plan.spec.tensors[tensor].dtype;
    let first = family.b[0];
    let same = |b: &crate::plan::family::Operand| {
        (dtype(b.tensor), b.k_contiguous) == (dtype(first.tensor), first.k_contiguous)
    };
    if family.b.len() > 2 || !family.b.iter().all(same) {
        return Vec::new();
    }
    GEMM_POINTS.iter().map(|point| gemm_filling(plan, family, *point)).collect()
}

fn gemm_filling(plan: &Plan, family: &Contraction, point: Gemm) -> Filling<'static> {
    let (b, gated) = (family.b[0], family.b.len() == 2);
    let mut names = Names::default();
    names.vars.insert(family.vars[0], "m".to_owned());
    names.vars.insert(family.vars[1], "n".to_owned());
    names.temps.extend(family.sums.iter().enumerate().map(|(i, temp)| (*temp, format!("acc{i}"))));
    let (m, n, k) = (family.m, family.n, family.k);
    let (ta, tb) = (element(plan.spec.tensors[family.a].dtype), element(plan.spec.tensors[b.tensor].dtype));
    let second = family.b.last().map_or(b.tensor, |last| last.tensor);
    let ldb = if b.k_contiguous { k } else { n };
    let pack = if point.pack_b { "p" } else { "d" };
    Filling {
        template: GEMM,
        name: format!(
            "gemm-{}x{}-k{}-m{}-n{}-u{}-{pack}",
            point.mr, point.nr, point.kc, point.mc, point.nc, point.ku
        ),
        config: config(
            &[
                ("MR", point.mr),
                ("NR", point.nr),
                ("KC", point.kc),
                ("MC", point.mc),
                ("NC", point.nc),
                ("KU", point.ku),
            ],
            &[("PACK_B", point.pack_b)],
        ),
        blocks: vec![
            (
                "TYPES",
                format!(
                    "using TA = {ta};\nusing TB = {tb};\nconstexpr bool B_NT = {};\nconstexpr bool GATED = {gated};",
                    b.k_contiguous
                ),
            ),
            ("PARAMS", params(plan, false, true)),
            (
                "OPERANDS",
                format!(
                    "  const int64_t L = 1, M = a{m}, N = a{n}, K = a{k}, lda = a{k}, ldb = a{ldb}, batch_a = 0, batch_b = 0;\n\
                 \x20 {ta} const* const A = t{}.data();\n  {tb} const* const B = t{}.data();\n  \
                 {tb} const* const B2 = t{second}.data();",
                    family.a, b.tensor
                ),
            ),
            (
                "EPILOGUE",
                format!("              {}", store(plan, family.out, "m, n", &names.expr(&family.epilogue))),
            ),
        ],
        workspace: Some(gemm_workspace(point, family, gated)),
        tiles: vec![(m, point.mr), (n, point.nr), (k, 8)],
    }
}

/// Bytes of the gemm template's workspace: block of A | blocks of C | strips of B, in floats, and 64 to align.
fn gemm_workspace(point: Gemm, family: &Contraction, gated: bool) -> IntExpr {
    let number = IntExpr::Const;
    let op = IntExpr::op;
    let k = || IntExpr::Axis(family.k);
    let sums = if gated { 2 } else { 1 };
    let row = if point.pack_b {
        number(point.kc + 16)
    } else {
        let blocks = op(IntOp::CeilDiv, k(), number(16));
        op(IntOp::Add, op(IntOp::Mul, blocks, number(16)), number(16))
    };
    let columns = match (point.pack_b, family.b[0].k_contiguous) {
        (true, _) => point.nc,
        (false, true) => 0,
        (false, false) => point.nr,
    };
    let strip = op(IntOp::Mul, number(columns * sums), k());
    let floats = op(
        IntOp::Add,
        op(IntOp::Mul, number(point.mc), row),
        op(IntOp::Add, number(sums * point.mc * point.nc), strip),
    );
    op(IntOp::Add, op(IntOp::Mul, number(4), floats), number(64))
}
