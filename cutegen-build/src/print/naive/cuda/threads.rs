//! A thread an element: its reductions are loops of its own. Where a term counts only under a condition on integers, the
//! loops that the condition names come first and skip what it leaves out.

use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, ReduceOp, Unary};

use super::group::Group;
use super::{Cuda, Fold, Reduction};
use crate::print::c;

/// The elements of a group's last step, each with its reductions.
pub(super) fn body(cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'_>]) -> String {
    let own: String = reductions.iter().map(|reduction| own(cuda, group, reduction)).collect();
    cuda.each_point(&beside(cuda, group, reductions), &(own + &cuda.finish(group, "    ")))
}

/// The loops of the elements so that neighbouring threads read neighbours where a temporary is written.
fn beside(cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'_>]) -> Vec<Loop> {
    let loops = &group.last.loops;
    let near = reductions.first().map(|r| cuda.neighbours(r.body)).unwrap_or_default();
    match group.last.dst {
        Place::Temp(_) if loops.iter().all(Loop::is_whole) => {
            let (inner, outer): (Vec<&Loop>, Vec<&Loop>) = loops.iter().partition(|l| near.contains(&l.var));
            outer.into_iter().chain(inner).cloned().collect()
        }
        _ => loops.clone(),
    }
}

/// The statements that reduce in one thread.
fn own(cuda: &Cuda<'_>, group: &Group, reduction: &Reduction<'_>) -> String {
    let (mut guards, term) = guarded(cuda, reduction);
    let over = ordered(reduction.over, &guards);
    let fold = Fold::new(reduction.op, term, &cuda.naive);
    let mut bound = group.last.vars();
    let mut text = format!("    const {} r{} = [&] {{\n", fold.kept(), reduction.temp);
    text.push_str(&fold.start("      "));
    text.push_str(&skip(cuda, &mut guards, &bound, "      ", &format!("return {}", fold.result())));
    let mut deep = "      ".to_owned();
    for l in &over {
        text.push_str(&format!("{deep}{} {{\n", cuda.naive.places().for_loop(l)));
        deep.push_str("  ");
        bound.push(l.var);
        text.push_str(&skip(cuda, &mut guards, &bound, &deep, "continue"));
    }
    text.push_str(&fold.next(&deep, reduction.at()));
    for _ in &over {
        deep.truncate(deep.len() - 2);
        text.push_str(&format!("{deep}}}\n"));
    }
    text + &format!("      return {};\n    }}();\n", fold.result())
}

/// What leaves terms out as soon as all `bound` variables of a condition are there.
fn skip(cuda: &Cuda<'_>, left: &mut Vec<&Expr>, bound: &[usize], indent: &str, leave: &str) -> String {
    let (now, later): (Vec<&Expr>, Vec<&Expr>) =
        left.iter().copied().partition(|guard| guard.free_vars().iter().all(|var| bound.contains(var)));
    *left = later;
    let one =
        |guard: &Expr| format!("{indent}if (!{}) {leave};\n", c::of_kind(guard, Kind::Cond, &cuda.naive));
    now.into_iter().map(one).collect()
}

/// The conditions under which a term counts, and the term under them.
pub(super) fn guarded<'a>(cuda: &Cuda<'_>, reduction: &Reduction<'a>) -> (Vec<&'a Expr>, &'a Expr) {
    let none = (Vec::new(), reduction.body);
    let Expr::Where(parts) = reduction.body else { return none };
    let [condition, term, other] = parts.as_ref();
    let real = c::value(term, &cuda.naive).1 == Kind::Real;
    let whole = reduction.over.iter().all(Loop::is_whole);
    let mut guards = Vec::new();
    conjuncts(condition, &mut guards);
    let plain = guards.iter().all(|guard| is_of_integers(guard));
    if is_neutral(reduction.op, other) && real && whole && plain { (guards, term) } else { none }
}

/// Whether a value changes no reduction: a zero of a sum, an infinity of a maximum or minimum.
fn is_neutral(op: ReduceOp, value: &Expr) -> bool {
    match (op, value) {
        (ReduceOp::Sum, Expr::Const(value)) => *value == 0.0,
        (ReduceOp::Sum, Expr::Int(Index::Const(value))) => *value == 0,
        (ReduceOp::Max, Expr::Const(value)) => *value == f64::NEG_INFINITY,
        (ReduceOp::Min, Expr::Const(value)) => *value == f64::INFINITY,
        (ReduceOp::Max, Expr::Unary(Unary::Neg, value)) => **value == Expr::Const(f64::INFINITY),
        _ => false,
    }
}

fn conjuncts<'a>(condition: &'a Expr, out: &mut Vec<&'a Expr>) {
    match condition {
        Expr::Binary(Binary::And, a, b) => {
            conjuncts(a, out);
            conjuncts(b, out);
        }
        other => out.push(other),
    }
}

/// Whether a condition names loop variables and extents, and loads nothing.
fn is_of_integers(condition: &Expr) -> bool {
    let mut plain = true;
    condition.visit(&mut |e| {
        plain &= !matches!(e, Expr::Load(..) | Expr::Pad(..) | Expr::Scalar(_));
        e.indices().into_iter().for_each(|index| {
            index.visit(&mut |i| plain &= !matches!(i, Index::Read(..)));
        });
    });
    plain
}

/// The loops, those that guards name first.
fn ordered(over: &[Loop], guards: &[&Expr]) -> Vec<Loop> {
    let named: Vec<usize> = guards.iter().flat_map(|guard| guard.free_vars()).collect();
    let (first, rest): (Vec<&Loop>, Vec<&Loop>) = over.iter().partition(|l| named.contains(&l.var));
    first.into_iter().chain(rest).cloned().collect()
}
