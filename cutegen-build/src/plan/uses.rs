//! How the math's temporaries are read: what decides whether lowering inlines, holds or defers them.

use cutegen_spec::math::{Expr, Loop, Place, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::schedule::INLINE_NODES;

/// By the positions of the temporaries.
pub(super) struct Uses {
    /// How often each is read.
    pub(super) reads: Vec<usize>,
    /// The last assignment that reads it.
    pub(super) last: Vec<usize>,
    /// Whether it is read through `pad`.
    pub(super) padded: Vec<bool>,
    /// Whether every reader needs it only inside bounds: its reductions then wait for their readers, so that causal
    /// attention computes a triangle of scores and not the square.
    pub(super) deferred: Vec<bool>,
}

/// One read of a temporary.
struct Read {
    temp: usize,
    /// The assignment it stands in.
    position: usize,
    /// Whether it is at plain variables.
    plain: bool,
    /// Whether a loop around it bounds one of its variables.
    bounded: bool,
    padded: bool,
}

impl Uses {
    pub(super) fn of(spec: &KernelSpec) -> Uses {
        let n = spec.math.temps.len();
        let reads: Vec<Read> = reads_of(spec);
        let of = |t: usize| reads.iter().filter(move |read| read.temp == t);
        Uses {
            reads: (0..n).map(|t| of(t).count()).collect(),
            last: (0..n).map(|t| of(t).map(|read| read.position).max().unwrap_or(0)).collect(),
            padded: (0..n).map(|t| of(t).any(|read| read.padded)).collect(),
            deferred: deferred(spec, &reads),
        }
    }
}

fn reads_of(spec: &KernelSpec) -> Vec<Read> {
    let mut reads = Vec::new();
    for (position, assign) in spec.math.assigns.iter().enumerate() {
        walk(&assign.value, position, &mut Vec::new(), &mut reads);
    }
    reads
}

fn walk(expr: &Expr, position: usize, bounded: &mut Vec<usize>, out: &mut Vec<Read>) {
    if let Expr::Load(Place::Temp(temp), index) | Expr::Pad(Place::Temp(temp), index, _) = expr {
        let vars = as_vars(index);
        let is_bounded = vars.iter().flatten().any(|var| bounded.contains(var));
        let padded = matches!(expr, Expr::Pad(..));
        out.push(Read { temp: *temp, position, plain: vars.is_some(), bounded: is_bounded, padded });
    }
    let depth = bounded.len();
    if let Expr::Reduce(_, loops, _) = expr {
        bounded.extend(loops.iter().filter(|l: &&Loop| !l.is_whole()).map(|l| l.var));
    }
    expr.children().into_iter().for_each(|child| walk(child, position, bounded, out));
    bounded.truncate(depth);
}

/// Which temporaries hold a reduction, directly or through another, and are read only inside bounds, directly or by
/// others of that kind. What that writes out again is limited.
fn deferred(spec: &KernelSpec, reads: &[Read]) -> Vec<bool> {
    let math = &spec.math;
    let mut defined = vec![usize::MAX; math.temps.len()];
    let (mut sizes, mut reduces) = (vec![0_usize; math.temps.len()], vec![false; math.temps.len()]);
    for (position, assign) in math.assigns.iter().enumerate() {
        let Place::Temp(t) = assign.dst else { continue };
        let inner = reads.iter().filter(|read| read.position == position).map(|read| read.temp);
        defined[t] = position;
        sizes[t] = inner.clone().fold(assign.value.size(), |size, u| size.saturating_add(sizes[u]));
        reduces[t] = assign.value.reduces() || inner.clone().any(|u| reduces[u]);
    }
    let in_place = spec.tensors.iter().any(|tensor| tensor.role == Role::Inout);
    let mut deferred = vec![false; math.temps.len()];
    for t in (0..math.temps.len()).rev() {
        let own: Vec<&Read> = reads.iter().filter(|read| read.temp == t).collect();
        let by_deferred =
            |read: &Read| (t + 1..deferred.len()).any(|u| deferred[u] && defined[u] == read.position);
        let inside = own.iter().all(|read| read.plain && !read.padded && (read.bounded || by_deferred(read)));
        let small = sizes[t].saturating_mul(own.len()) <= INLINE_NODES;
        deferred[t] = inside && small && reduces[t] && !in_place && math.temps[t].may_round.is_none();
    }
    deferred
}
