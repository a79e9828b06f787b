//! [`Group`]: the steps of one launch. What one elementwise step alone reads of a reduction, at its own element, never
//! goes through memory: the launch computes the reduction and then the element.

use cutegen_spec::math::{Expr, Index, Loop, Place, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use crate::plan::schedule::{Schedule, Step, Value};
use crate::print::c::is_packed;

/// What one launch computes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// Reductions, or one scan, over the loops of `last`, with the temporary that stands for each.
    pub(super) held: Vec<(usize, Step)>,
    /// What is written in the end.
    pub(super) last: Step,
}

/// The launches of a schedule, in order.
pub(super) fn groups(spec: &KernelSpec, schedule: &Schedule) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for step in &schedule.steps {
        let (mut held, mut rest): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(|group| joins(spec, schedule, group, step));
        // a scan's result runs along one of the loops: it goes with no other
        if held.len() > 1 && held.iter().any(Group::is_scan) {
            rest.append(&mut held);
        }
        let held = held.into_iter().filter_map(|group| group.held_by(step)).collect();
        groups = rest;
        groups.push(Group { held, last: step.clone() });
    }
    groups
}

impl Group {
    /// Whether a scan is all of it.
    fn is_scan(&self) -> bool {
        matches!(self.last.value, Value::Scan { .. })
    }

    /// Its step and temporary, by the variables at which `last` reads it.
    fn held_by(&self, last: &Step) -> Option<(usize, Step)> {
        let Place::Temp(temp) = self.last.dst else { return None };
        let index = reads(std::iter::once(last), temp).first().and_then(|index| as_vars(index))?;
        Some((temp, renamed(&self.last, &index)))
    }
}

/// Whether `last` is the only reader of what a group computes, and reads it at its own element.
fn joins(spec: &KernelSpec, schedule: &Schedule, group: &Group, last: &Step) -> bool {
    let (Place::Temp(temp), [], Value::Map(value)) = (group.last.dst, group.held.as_slice(), &last.value)
    else {
        return false;
    };
    let of = &group.last;
    let along = match of.value {
        Value::Map(_) => return false,
        Value::Reduce { .. } => None,
        Value::Scan { along, .. } => Some(along),
    };
    let own: Vec<usize> = of.vars().into_iter().chain(along).collect();
    let there = reads(std::iter::once(last), temp);
    let Some(Some(index)) = there.first().map(|index| as_vars(index)) else { return false };
    // few steps read a temporary: all others are looked at for these alone
    let everywhere = reads(schedule.steps.iter(), temp);
    let here = there.len() == everywhere.len();
    let alike = everywhere.iter().all(|other| *other == everywhere[0]) && !pads(value, temp);
    let mut covered = index.clone();
    covered.sort_unstable();
    let mut wanted = last.vars();
    wanted.sort_unstable();
    let whole = of.loops.iter().chain(&last.loops).all(Loop::is_whole) && own.len() == index.len();
    let packed = matches!(last.dst, Place::Tensor(t) if is_packed(spec.tensors[t].dtype));
    here && alike && whole && covered == wanted && !packed && !reads_in_place(spec, of)
}

/// Where the temporary is read in any of these steps.
fn reads<'a>(steps: impl Iterator<Item = &'a Step>, temp: usize) -> Vec<&'a Vec<Index>> {
    let mut found = Vec::new();
    for step in steps {
        step.value.expr().visit(&mut |e| {
            if let Expr::Load(Place::Temp(t), index) | Expr::Pad(Place::Temp(t), index, _) = e
                && *t == temp
            {
                found.push(index);
            }
        });
    }
    found
}

fn pads(value: &Expr, temp: usize) -> bool {
    let mut found = false;
    value.visit(&mut |e| found |= matches!(e, Expr::Pad(Place::Temp(t), ..) if *t == temp));
    found
}

/// Whether a step reads what a later one may have written.
fn reads_in_place(spec: &KernelSpec, step: &Step) -> bool {
    let mut found = false;
    step.value.expr().visit(&mut |e| {
        found |= matches!(e, Expr::Load(Place::Tensor(t), _) | Expr::Pad(Place::Tensor(t), ..)
            if spec.tensors[*t].role != Role::Input);
    });
    found
}

/// A step whose element is that of other variables.
fn renamed(step: &Step, index: &[usize]) -> Step {
    let own: Vec<usize> = step.index.iter().filter_map(Index::as_var).collect();
    let to = |var: usize| own.iter().position(|v| *v == var).map(|at| index[at]);
    let name = |var: usize| to(var).unwrap_or(var);
    let to_index = |var: usize| to(var).map(Index::Var);
    let expr = |expr: &Expr| expr.subst(&to_index);
    let value = match &step.value {
        Value::Map(value) => Value::Map(expr(value)),
        Value::Reduce { op, over, body } => {
            let bound = |bound: &Option<Index>| bound.as_ref().map(|index| index.subst(&to_index));
            let one = |l: &Loop| Loop { var: l.var, from: bound(&l.from), to: bound(&l.to) };
            Value::Reduce { op: *op, over: over.iter().map(one).collect(), body: expr(body) }
        }
        Value::Scan { op, over, along, direction, body } => {
            Value::Scan { op: *op, over: *over, along: name(*along), direction: *direction, body: expr(body) }
        }
    };
    Step {
        dst: step.dst,
        index: index.iter().copied().map(Index::Var).collect(),
        loops: step.loops.iter().map(|l| Loop::whole(name(l.var))).collect(),
        value,
    }
}
