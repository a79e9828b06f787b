//! Steps as the splitter wants them: each value once, products of matrices of what is loaded, and a step's value as math again.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::int_expr::IntOp;
use cutegen_spec::math::{Binary, Expr, Index, Kind, Loop, Place, ReduceOp, canonical_expr};

use crate::plan::schedule::{Direction, Schedule, Step, Temp, Value};

/// A schedule in which no temporary is another again: lowering holds what a reduction repeats for each reduction.
pub(super) fn shared(from: &Schedule) -> Schedule {
    let mut schedule = Schedule { steps: Vec::new(), ..from.clone() };
    let (mut first, mut same) = (BTreeMap::new(), BTreeMap::new());
    let written: BTreeSet<Place> = from.steps.iter().map(|step| step.dst).filter(is_tensor).collect();
    for step in &from.steps {
        let step = renamed(step, &|place| *same.get(&place).unwrap_or(&place));
        let form = canonical_expr(&over_its_loops(&step), &schedule.vars);
        let is_exact = matches!(step.dst, Place::Temp(temp) if schedule.temps[temp].may_round.is_none());
        // what is read of a tensor may be another value once that is written
        let may_share = is_exact && reads(&step).is_disjoint(&written);
        match first.get(&form).filter(|_| may_share) {
            Some(known) => {
                same.insert(step.dst, *known);
            }
            None => {
                first.extend(may_share.then_some((form, step.dst)));
                schedule.steps.push(step);
            }
        }
    }
    schedule
}

fn is_tensor(place: &Place) -> bool {
    matches!(place, Place::Tensor(_))
}

/// The value of a step as a reduction over all of its variables, in the order of what it writes.
fn over_its_loops(step: &Step) -> Expr {
    let order = step.index.iter().filter_map(Index::as_var).map(Loop::whole);
    let bounded = step.loops.iter().filter(|l| !l.is_whole()).cloned();
    Expr::Reduce(ReduceOp::Sum, order.chain(bounded).collect(), Box::new(value(step)))
}

fn renamed(step: &Step, to: &dyn Fn(Place) -> Place) -> Step {
    let value = match step.value.clone() {
        Value::Map(value) => Value::Map(moved(&value, to)),
        Value::Reduce { op, over, body } => Value::Reduce { op, over, body: moved(&body, to) },
        Value::Scan { op, over, along, direction, body } => {
            Value::Scan { op, over, along, direction, body: moved(&body, to) }
        }
    };
    Step { value, ..step.clone() }
}

/// A schedule in which matrix products multiply what is loaded.
pub(super) fn with_factors(from: &Schedule) -> Schedule {
    let mut schedule = Schedule { steps: Vec::new(), ..from.clone() };
    for step in &from.steps {
        let value = match &step.value {
            Value::Reduce { op: ReduceOp::Sum, over, body: Expr::Binary(Binary::Mul, a, b) }
                if over.iter().chain(&step.loops).all(Loop::is_whole) && is_of_matrices(a, b) =>
            {
                let (a, b) = (hold(&mut schedule, a), hold(&mut schedule, b));
                Value::Reduce { op: ReduceOp::Sum, over: over.clone(), body: a.binary(Binary::Mul, b) }
            }
            other => other.clone(),
        };
        schedule.steps.push(Step { value, ..step.clone() });
    }
    schedule
}

/// Whether each of two factors has a variable that the other lacks.
fn is_of_matrices(a: &Expr, b: &Expr) -> bool {
    let (a, b) = (a.free_vars(), b.free_vars());
    let lacks = |of: &[usize], other: &[usize]| of.iter().any(|var| !other.contains(var));
    lacks(&a, &b) && lacks(&b, &a)
}

/// A factor as a load, of a temporary if need be.
fn hold(schedule: &mut Schedule, factor: &Expr) -> Expr {
    if matches!(factor, Expr::Load(..)) {
        return factor.clone();
    }
    let vars = factor.free_vars();
    let axes = vars.iter().map(|var| schedule.vars[*var]).collect();
    let dst = Place::Temp(schedule.temps.len());
    let index: Vec<Index> = vars.iter().copied().map(Index::Var).collect();
    let loops = vars.into_iter().map(Loop::whole).collect();
    schedule.temps.push(Temp { axes, kind: Kind::Real, may_round: None });
    schedule.steps.push(Step { dst, index: index.clone(), loops, value: Value::Map(factor.clone()) });
    Expr::Load(dst, index)
}

/// The value of a step as the math has it: the inverse of lowering.
pub(super) fn value(step: &Step) -> Expr {
    match &step.value {
        Value::Map(value) => value.clone(),
        Value::Reduce { op, over, body } => Expr::Reduce(*op, over.clone(), Box::new(body.clone())),
        Value::Scan { op, over, along, direction, body } => {
            Expr::Reduce(*op, vec![prefix(*over, *along, *direction)], Box::new(body.clone()))
        }
    }
}

/// The loop of a running reduction.
fn prefix(var: usize, along: usize, Direction { reverse, exclusive }: Direction) -> Loop {
    let own = Index::Var(along);
    let next = Index::op(IntOp::Add, own.clone(), Index::Const(1));
    match (reverse, exclusive) {
        (false, false) => Loop { var, from: None, to: Some(next) },
        (false, true) => Loop { var, from: None, to: Some(own) },
        (true, false) => Loop { var, from: Some(own), to: None },
        (true, true) => Loop { var, from: Some(next), to: None },
    }
}

/// The places that a step reads.
pub(super) fn reads(step: &Step) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    let mut see = |index: &Index| {
        if let Index::Read(tensor, _) = index {
            found.insert(Place::Tensor(*tensor));
        }
    };
    let value = value(step);
    step.index.iter().for_each(|index| index.visit(&mut see));
    value.visit(&mut |expr| expr.indices().into_iter().for_each(|index| index.visit(&mut see)));
    value.visit(&mut |expr| {
        if let Expr::Load(place, _) | Expr::Pad(place, ..) = expr {
            found.insert(*place);
        }
    });
    found
}

/// An expression that reads each place elsewhere.
pub(super) fn moved(expr: &Expr, to: &dyn Fn(Place) -> Place) -> Expr {
    let all = |indices: &[Index]| indices.iter().map(|index| moved_index(index, to)).collect();
    match expr {
        Expr::Int(index) => Expr::Int(moved_index(index, to)),
        Expr::Load(place, index) => Expr::Load(to(*place), all(index)),
        Expr::Pad(place, index, other) => Expr::Pad(to(*place), all(index), Box::new(moved(other, to))),
        Expr::Reduce(op, loops, body) => {
            let bound = |index: &Option<Index>| index.as_ref().map(|index| moved_index(index, to));
            let one = |l: &Loop| Loop { var: l.var, from: bound(&l.from), to: bound(&l.to) };
            Expr::Reduce(*op, loops.iter().map(one).collect(), Box::new(moved(body, to)))
        }
        Expr::Const(_)
        | Expr::Scalar(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Where(_)
        | Expr::Cast(..) => expr.map_children(&mut |child| moved(child, to)),
    }
}

/// An index that reads each tensor elsewhere.
pub(super) fn moved_index(index: &Index, to: &dyn Fn(Place) -> Place) -> Index {
    match index {
        Index::Const(_) | Index::Extent(_) | Index::Var(_) => index.clone(),
        Index::Read(tensor, inner) => {
            let inner = inner.iter().map(|index| moved_index(index, to)).collect();
            // a tensor stays one
            let (Place::Tensor(at) | Place::Temp(at)) = to(Place::Tensor(*tensor));
            Index::Read(at, inner)
        }
        Index::Op(op, a, b) => Index::Op(*op, Box::new(moved_index(a, to)), Box::new(moved_index(b, to))),
    }
}
