//! [`Family`]: which templates can compute a schedule, and why not a faster family, in words.

use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::schedule::{Schedule, Step, Value};

/// What a kernel's loops look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// Sums of products over one axis, then an elementwise epilogue.
    Contraction(Contraction),
    /// No reduction: every output element from the same element of the inputs, or a broadcast.
    Elementwise(Elementwise),
    /// Every reduction runs whole over the last axis of the rows, all else is elementwise in the rest.
    Rowwise(Rowwise),
    /// Anything else: the naive kernel only.
    General {
        /// Why it is in no faster family.
        why: String,
    },
}

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

impl Family {
    /// The word a spec's `family` asserts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Family::Contraction(_) => "contraction",
            Family::Elementwise(_) => "elementwise",
            Family::Rowwise(_) => "rowwise",
            Family::General { .. } => "general",
        }
    }

    /// Why it is in no faster family, when it is in none.
    #[must_use]
    pub fn why_general(&self) -> Option<&str> {
        match self {
            Family::General { why } => Some(why),
            Family::Contraction(_) | Family::Elementwise(_) | Family::Rowwise(_) => None,
        }
    }
}

/// Finds the family of a schedule.
#[must_use]
pub fn classify(spec: &KernelSpec, schedule: &Schedule) -> Family {
    let general = |why: &str| Family::General { why: why.to_owned() };
    if spec.tensors_with(Role::Output).count() != 1 {
        return general("it has several outputs");
    }
    let Some((last, before)) = schedule.steps.split_last() else { return general("it computes nothing") };
    let (Place::Tensor(out), Value::Map(value)) = (last.dst, &last.value) else {
        return general("its last step writes no output");
    };
    if before.is_empty() {
        return match elementwise(out, last, value) {
            Some(family) => Family::Elementwise(family),
            None => general("an input is read at other indices than the output is written"),
        };
    }
    if !before.iter().all(|step| matches!(step.value, Value::Reduce { .. })) {
        return general("a rounded intermediate stands between its reductions");
    }
    contraction(schedule, before, out, last, value)
        .map(Family::Contraction)
        .or_else(|| rowwise(schedule, before, out, last, value).map(Family::Rowwise))
        .unwrap_or_else(|| {
            general("its reductions are neither sums of products over one axis nor whole rows")
        })
}

fn elementwise(out: usize, step: &Step, value: &Expr) -> Option<Elementwise> {
    let mut flat = true;
    value.visit(&mut |expr| match expr {
        Expr::Load(_, vars) => flat &= vars.is_empty() || *vars == step.vars,
        Expr::Index(_) => flat = false,
        Expr::Const(_) | Expr::Extent(_) | Expr::Scalar(_) => {}
        Expr::Unary(..) | Expr::Binary(..) | Expr::Reduce(..) => {}
    });
    flat.then(|| Elementwise { out, vars: step.vars.clone(), value: value.clone() })
}

fn contraction(
    schedule: &Schedule,
    sums: &[Step],
    out: usize,
    last: &Step,
    epilogue: &Expr,
) -> Option<Contraction> {
    let vars: [usize; 2] = last.vars.as_slice().try_into().ok()?;
    let [m, n] = vars.map(|v| schedule.vars[v]);
    let mut found: Option<Contraction> = None;
    for step in sums {
        let (Place::Temp(temp), Value::Reduce { op: ReduceOp::Sum, over, body }) = (step.dst, &step.value)
        else {
            return None;
        };
        let (a, b) = product(schedule, body, m, n, schedule.vars[*over])?;
        let k = schedule.vars[*over];
        if found.as_ref().is_some_and(|f| (f.a, f.k) != (a, k)) {
            return None;
        }
        let family = found.get_or_insert_with(|| Contraction {
            m,
            n,
            k,
            a,
            b: Vec::new(),
            sums: Vec::new(),
            out,
            vars,
            epilogue: epilogue.clone(),
        });
        family.b.push(b);
        family.sums.push(temp);
    }
    found.filter(|_| epilogue_is_flat(epilogue, vars))
}

/// Reads `body` as `a[m, k] * b[n, k]` (or `b[k, n]`), in either order of the factors.
fn product(schedule: &Schedule, body: &Expr, m: usize, n: usize, k: usize) -> Option<(usize, Operand)> {
    let Expr::Binary(Binary::Mul, left, right) = body else { return None };
    let load = |expr: &Expr| match expr {
        Expr::Load(Place::Tensor(tensor), vars) => {
            Some((*tensor, vars.iter().map(|v| schedule.vars[*v]).collect::<Vec<_>>()))
        }
        _ => None,
    };
    let (left, right) = (load(left)?, load(right)?);
    for ((a, a_axes), (b, b_axes)) in [(&left, &right), (&right, &left)] {
        if *a_axes == [m, k] && *b_axes == [n, k] {
            return Some((*a, Operand { tensor: *b, k_contiguous: true }));
        }
        if *a_axes == [m, k] && *b_axes == [k, n] {
            return Some((*a, Operand { tensor: *b, k_contiguous: false }));
        }
    }
    None
}

fn epilogue_is_flat(epilogue: &Expr, vars: [usize; 2]) -> bool {
    let mut flat = true;
    epilogue.visit(&mut |expr| match expr {
        Expr::Load(_, loaded) => flat &= loaded.is_empty() || *loaded == vars || loaded.len() == 1,
        Expr::Index(_) => flat = false,
        Expr::Const(_) | Expr::Extent(_) | Expr::Scalar(_) => {}
        Expr::Unary(..) | Expr::Binary(..) | Expr::Reduce(..) => {}
    });
    flat
}

fn rowwise(schedule: &Schedule, before: &[Step], out: usize, last: &Step, value: &Expr) -> Option<Rowwise> {
    let (col, rows) = last.vars.split_last()?;
    let mut reductions = Vec::new();
    for step in before {
        let (Place::Temp(temp), Value::Reduce { op, over, body }) = (step.dst, &step.value) else {
            return None;
        };
        if schedule.vars[*over] != schedule.vars[*col] {
            return None;
        }
        // a reduction over part of the row axes is a broadcast of something that is not a row
        let axes = |vars: &[usize]| vars.iter().map(|v| schedule.vars[*v]).collect::<Vec<_>>();
        if axes(&step.vars) != axes(rows) {
            return None;
        }
        let moved =
            step.vars.iter().zip(rows).fold(body.rename(*over, *col), |e, (from, to)| e.rename(*from, *to));
        reductions.push((temp, *op, moved));
    }
    let family = Rowwise { out, rows: rows.to_vec(), col: *col, reductions, value: value.clone() };
    let bodies_fit = family.reductions.iter().all(|(_, _, body)| reads_rows(body, &last.vars));
    (bodies_fit && reads_rows(value, &last.vars)).then_some(family)
}

/// Loads are whole rows `[rows, col]`, a row vector `[col]`, or one value a row `[rows]`.
fn reads_rows(expr: &Expr, vars: &[usize]) -> bool {
    let (rows, col) = vars.split_at(vars.len() - 1);
    let mut ok = true;
    expr.visit(&mut |expr| match expr {
        Expr::Load(_, loaded) => {
            ok &= loaded.as_slice() == vars
                || loaded.as_slice() == col
                || loaded.as_slice() == rows
                || loaded.is_empty();
        }
        Expr::Index(_) => ok = false,
        Expr::Const(_) | Expr::Extent(_) | Expr::Scalar(_) => {}
        Expr::Unary(..) | Expr::Binary(..) | Expr::Reduce(..) => {}
    });
    ok
}
