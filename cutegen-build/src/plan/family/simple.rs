//! The plain forms of the fast families that the present templates can fill: one output, dense floating-point tensors
//! of two bytes and more, loads at plain loop variables, and functions that the templates' preludes have.

use std::collections::BTreeMap;

use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Binary, Expr, Index, Loop, Place, ReduceOp, Unary, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::alias::Identity;
use crate::plan::matmul::{Matmul, Product, View};
use crate::plan::schedule::{Schedule, Step, Value};

/// `out[m, n] = epilogue(sum_k a[m, k] * b[n, k], ...)`; several sums share `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Contraction {
    /// Axis of the rows.
    pub m: usize,
    /// Axis of the columns.
    pub n: usize,
    /// The reduced axis.
    pub k: usize,
    /// Tensor read as `[m, k]`.
    pub a: usize,
    /// One right operand per sum.
    pub b: Vec<Operand>,
    /// Temporary that holds each sum in the schedule.
    pub sums: Vec<usize>,
    /// The written tensor, `[m, n]`.
    pub out: usize,
    /// Its loop variables, rows then columns.
    pub vars: [usize; 2],
    /// Its value; loads of `sums` stand for the accumulators.
    pub epilogue: Expr,
}

/// A right operand of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The tensor.
    pub tensor: usize,
    /// Whether it is `[n, k]` (k contiguous) and not `[k, n]`.
    pub k_contiguous: bool,
}

/// One output over a flat index space.
#[derive(Clone, Debug, PartialEq)]
pub struct Elementwise {
    /// The written tensor.
    pub out: usize,
    /// Its loop variables.
    pub vars: Vec<usize>,
    /// Its value; every load has exactly these variables, or none.
    pub value: Expr,
}

/// Rows that are reduced along their last axis and mapped.
#[derive(Clone, Debug, PartialEq)]
pub struct Rowwise {
    /// The written tensor.
    pub out: usize,
    /// Loop variables of the rows.
    pub rows: Vec<usize>,
    /// Loop variable of the columns.
    pub col: usize,
    /// Reductions in order: the temporary, the operation, the body in terms of `rows` and `col`.
    pub reductions: Vec<(usize, ReduceOp, Expr)>,
    /// The value of an output element.
    pub value: Expr,
}

/// The only output and the last step's value, if templates can compute this at all.
fn only_output<'a>(
    spec: &KernelSpec,
    schedule: &'a Schedule,
) -> Option<(usize, &'a Step, &'a Expr, &'a [Step])> {
    let (last, before) = schedule.steps.split_last()?;
    let (Place::Tensor(out), Value::Map(value)) = (last.dst, &last.value) else { return None };
    let native = spec.precision.multiply == cutegen_spec::spec::Multiply::Native;
    let reduces = before.iter().all(|step| matches!(step.value, Value::Reduce { .. }));
    let one = spec.tensors_with(Role::Output).count() == 1;
    (native && reduces && one && lacking(spec, schedule).is_none()).then_some((out, last, value, before))
}

/// The first thing of a kernel that the templates of the host lack, whatever its family; in words.
#[must_use]
pub fn lacking(spec: &KernelSpec, schedule: &Schedule) -> Option<String> {
    if spec.precision.fast_math {
        return Some("it asks for fast math".to_owned());
    }
    let of_tensor = |tensor: &Tensor| Some(format!("tensor `{}` is {}", tensor.name, not_held(tensor)?));
    let mut found = spec.tensors.iter().find_map(of_tensor);
    for step in &schedule.steps {
        step.value.expr().visit(&mut |expr| found = found.take().or_else(|| not_known(expr)));
    }
    found
}

/// What they cannot hold of a tensor.
fn not_held(tensor: &Tensor) -> Option<String> {
    match tensor.dtype {
        dtype if !dtype.is_float() || dtype.bits() < 16 => {
            Some(format!("{dtype}: those of the host want floats of 16 bits and more"))
        }
        _ if tensor.strides.is_some() => Some("strided".to_owned()),
        _ if tensor.role == Role::Inout => Some("written in place".to_owned()),
        _ => None,
    }
}

/// What their preludes have not, of what an expression is at its top.
fn not_known(expr: &Expr) -> Option<String> {
    use Binary::{Add, Div, Max, Min, Mul, Sub};
    let name = match expr {
        Expr::Unary(op @ (Unary::Floor | Unary::Ceil | Unary::Round | Unary::Sign | Unary::Not), _) => {
            op.name()
        }
        Expr::Const(_) | Expr::Scalar(_) | Expr::Int(Index::Extent(_)) | Expr::Unary(..) => return None,
        Expr::Binary(Add | Sub | Mul | Div | Max | Min, ..) => return None,
        Expr::Binary(op, ..) => op.name(),
        Expr::Where(_) => "where",
        Expr::Cast(..) => "cast",
        Expr::Pad(..) => "pad",
        Expr::Reduce(op, ..) => op.name(),
        Expr::Load(_, index) => {
            let why = "it reads at index arithmetic, those of the host at plain axes";
            return as_vars(index).is_none().then(|| why.to_owned());
        }
        Expr::Int(_) => {
            let why = "it has an integer other than an extent, which those of the host have not";
            return Some(why.to_owned());
        }
    };
    Some(format!("it has `{name}`, which those of the host have not"))
}

/// The step's variables, when it is a whole reduction over one of them.
fn one_axis(step: &Step) -> Option<(usize, ReduceOp, usize, &Expr)> {
    let (Place::Temp(temp), Value::Reduce { op, over, body }) = (step.dst, &step.value) else { return None };
    let [Loop { var, from: None, to: None }] = over.as_slice() else { return None };
    let simple =
        matches!(op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min) && step.loops.iter().all(Loop::is_whole);
    simple.then_some((temp, *op, *var, body))
}

pub(super) fn elementwise(spec: &KernelSpec, schedule: &Schedule) -> Option<Elementwise> {
    let (out, step, value, before) = only_output(spec, schedule)?;
    let mut flat = before.is_empty();
    value.visit(&mut |expr| {
        if let Expr::Load(_, index) = expr {
            flat &= index.is_empty() || *index == step.index;
        }
    });
    flat.then(|| Elementwise { out, vars: step.vars(), value: value.clone() })
}

/// The plain form of a product: one matrix, rows by columns, of dense factors.
pub(super) fn contraction(spec: &KernelSpec, schedule: &Schedule) -> Option<Contraction> {
    let (out, last, epilogue, _) = only_output(spec, schedule)?;
    let vars: [usize; 2] = last.vars().as_slice().try_into().ok()?;
    let found = Matmul::of(spec, schedule)?;
    let ([m], Some(n), [k]) = (found.m.as_slice(), found.n, found.k.as_slice()) else { return None };
    let axis = |var: usize| IntExpr::Axis(found.axis(var));
    let lies = |view: &View, outer: usize, inner: usize| {
        let strides = BTreeMap::from([(outer, axis(inner)), (inner, IntExpr::Const(1))]);
        view.offset == IntExpr::Const(0) && view.strides == strides
    };
    let operand = |product: &Product| {
        let k_contiguous = lies(&product.b, n, *k);
        (k_contiguous || lies(&product.b, *k, n))
            .then_some(Operand { tensor: product.b.tensor, k_contiguous })
    };
    let b = found.products.iter().map(operand).collect::<Option<Vec<_>>>()?;
    let is_plain = vars == [*m, n] && lies(found.a(), *m, *k) && epilogue_is_flat(epilogue, vars);
    is_plain.then(|| Contraction {
        m: found.axis(*m),
        n: found.axis(n),
        k: found.axis(*k),
        a: found.a().tensor,
        b,
        sums: found.products.iter().map(|product| product.sum).collect(),
        out,
        vars,
        epilogue: epilogue.clone(),
    })
}

fn epilogue_is_flat(epilogue: &Expr, vars: [usize; 2]) -> bool {
    let mut flat = true;
    epilogue.visit(&mut |expr| {
        if let Expr::Load(_, index) = expr {
            let loaded = as_vars(index).unwrap_or_default();
            flat &= loaded.is_empty() || loaded == vars || loaded.len() == 1;
        }
    });
    flat
}

pub(super) fn rowwise(spec: &KernelSpec, schedule: &Schedule, identity: &Identity) -> Option<Rowwise> {
    let (out, last, value, before) = only_output(spec, schedule)?;
    let vars = last.vars();
    let (col, rows) = vars.split_last()?;
    let mut reductions = Vec::new();
    for step in before {
        let (temp, op, over, body) = one_axis(step)?;
        // a reduction over part of the row axes is a broadcast of something that is not a row
        let axes = |vars: &[usize]| vars.iter().map(|v| identity.var(schedule, *v)).collect::<Vec<_>>();
        if axes(&[over]) != axes(&[*col]) || axes(&step.vars()) != axes(rows) {
            return None;
        }
        let moved =
            step.vars().iter().zip(rows).fold(body.rename(over, *col), |e, (from, to)| e.rename(*from, *to));
        reductions.push((temp, op, moved));
    }
    let family = Rowwise { out, rows: rows.to_vec(), col: *col, reductions, value: value.clone() };
    let bodies_fit = family.reductions.iter().all(|(_, _, body)| reads_rows(body, &vars));
    (!before.is_empty() && bodies_fit && reads_rows(value, &vars)).then_some(family)
}

/// Loads are whole rows `[rows, col]`, a row vector `[col]`, or one value a row `[rows]`.
fn reads_rows(expr: &Expr, vars: &[usize]) -> bool {
    let (rows, col) = vars.split_at(vars.len() - 1);
    let mut ok = true;
    expr.visit(&mut |expr| {
        if let Expr::Load(_, index) = expr {
            let loaded = as_vars(index).unwrap_or_default();
            ok &= loaded == vars || loaded == col || loaded == rows || loaded.is_empty();
        }
    });
    ok
}
