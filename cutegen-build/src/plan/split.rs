//! [`split`]: a kernel as several, one after the other. Each part is a kernel of its own: of the whole it has some steps, the
//! tensors that these touch, and the temporaries that pass from part to part as tensors. It knows no template: what may be a
//! part, its caller says.
//!
//! A temporary between parts is as exact as the schedule's: of the type that the kernel accumulates in, unless the spec allows a
//! rounded one. Factors of a matrix product are temporaries, too, where they are computed: so a product may begin a part.

mod steps;

use std::collections::BTreeSet;
use std::ops::Range;

use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{self, Assign, Expr, Index, Kind, Loop, Math, Place, as_vars};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::{Role, Tensor};

use super::Plan;
use super::schedule::{Schedule, Step, Temp};
use steps::{moved, moved_index, reads, shared, value, with_factors};

/// Some steps of a kernel as a kernel.
#[derive(Clone, Debug)]
pub struct Part {
    /// The kernel. Its axes, scalars and workloads are those of the whole.
    pub plan: Plan,
    /// What each of its tensors is to the whole: a tensor, or a temporary between parts.
    pub places: Vec<Place>,
}

/// The parts of a kernel, from the front: each of as many steps as fit together. The error is the first step that fits
/// nowhere, alone; none where a step cannot be a kernel at all.
pub fn split(whole: &Plan, fits: &dyn Fn(&Plan) -> bool) -> Result<Vec<Part>, Option<Box<Plan>>> {
    let whole = &Plan { schedule: with_factors(&shared(&whole.schedule)), ..whole.clone() };
    let end = whole.schedule.steps.len();
    let (mut parts, mut from) = (Vec::new(), 0);
    while from < end {
        let longest_first = (from + 1..=end).rev();
        let mut all = longest_first.filter_map(|to| Some((Part::of(whole, from..to)?, to)));
        let Some((part, to)) = all.find(|(part, _)| fits(&part.plan)) else {
            return Err(Part::of(whole, from..from + 1).map(|part| Box::new(part.plan)));
        };
        parts.push(part);
        from = to;
    }
    Ok(parts)
}

impl Part {
    /// These steps. None where a loop among them is bounded: what lies outside of the bounds was never proved to be readable.
    fn of(whole: &Plan, steps: Range<usize>) -> Option<Part> {
        let schedule = &whole.schedule;
        let own = &schedule.steps[steps.clone()];
        if !own.iter().all(|step| step.loops.iter().all(Loop::is_whole)) {
            return None;
        }
        let reads: BTreeSet<Place> = own.iter().flat_map(reads).collect();
        let later: BTreeSet<Place> = schedule.steps[steps.end..].iter().flat_map(steps::reads).collect();
        let writes: BTreeSet<Place> = own.iter().map(|step| step.dst).collect();
        let passed = |place: &&Place| matches!(place, Place::Tensor(_)) || later.contains(place);
        let mut places: Vec<(Role, Place)> =
            reads.difference(&writes).map(|place| (Role::Input, *place)).collect();
        places.extend(writes.iter().filter(passed).map(|place| (role(&whole.spec, *place), *place)));
        places.sort();
        let tensors = places.iter().map(|(role, place)| tensor(whole, *role, *place)).collect();
        let places: Vec<Place> = places.into_iter().map(|(_, place)| place).collect();
        let empty =
            Rewriting { schedule, places: &places, reads: &reads, own: Vec::new(), math: Math::default() };
        let math = empty.of(own);
        Some(Part { plan: Plan::new(&kernel(&whole.spec, tensors, math), &whole.target), places })
    }
}

/// The spec of a part.
fn kernel(whole: &KernelSpec, tensors: Vec<Tensor>, math: Math) -> KernelSpec {
    KernelSpec {
        tensors,
        math_text: math.canonical(),
        math,
        intermediates: Default::default(),
        tolerance: None,
        family: None,
        peers: Default::default(),
        instructions: None,
        ..whole.clone()
    }
}

/// What a step does with what it writes.
fn role(spec: &KernelSpec, place: Place) -> Role {
    match place {
        Place::Tensor(tensor) => spec.tensors[tensor].role,
        Place::Temp(_) => Role::Output,
    }
}

/// A place of the whole as a tensor of a part.
fn tensor(whole: &Plan, role: Role, place: Place) -> Tensor {
    let temp = match place {
        Place::Tensor(tensor) => return Tensor { role, ..whole.spec.tensors[tensor].clone() },
        Place::Temp(temp) => temp,
    };
    let held = &whole.schedule.temps[temp];
    let exact = match held.kind {
        Kind::Real => whole.spec.precision.accumulate,
        Kind::Int => DType::I64,
        Kind::Cond => DType::Bool,
    };
    Tensor {
        name: format!("temp{temp}"),
        role,
        dtype: held.may_round.unwrap_or(exact),
        dims: held.axes.iter().copied().map(IntExpr::Axis).collect(),
        constant: false,
        strides: None,
        range: None,
        unique: false,
    }
}

/// Steps of the whole as assignments of a part.
struct Rewriting<'a> {
    schedule: &'a Schedule,
    places: &'a [Place],
    /// What the part reads.
    reads: &'a BTreeSet<Place>,
    /// Temporaries that it reads and has itself, passed on or not.
    own: Vec<usize>,
    math: Math,
}

impl Rewriting<'_> {
    fn of(mut self, steps: &[Step]) -> Math {
        self.math.vars = self.schedule.vars.clone();
        for step in steps {
            let value = moved(&value(step), &|place| self.place(place));
            let index: Vec<Index> =
                step.index.iter().map(|index| moved_index(index, &|place| self.place(place))).collect();
            let of_temp = || as_vars(&index).filter(|_| matches!(step.dst, Place::Temp(_)));
            let vars = of_temp().unwrap_or_else(|| step.vars());
            let assign = |dst, value| Assign { dst, vars: vars.clone(), index: index.clone(), value };
            let held = self.hold(step.dst);
            let again = held.map_or_else(|| value.clone(), |held| Expr::Load(held, index.clone()));
            self.math.assigns.extend(held.map(|held| assign(held, value)));
            let passed = self.position(step.dst).map(|tensor| assign(Place::Tensor(tensor), again));
            self.math.assigns.extend(passed);
        }
        self.math
    }

    /// The part's own temporary for what a step writes, if the part reads it.
    fn hold(&mut self, place: Place) -> Option<Place> {
        let Place::Temp(temp) = place else { return None };
        if !self.reads.contains(&place) {
            return None;
        }
        let Temp { axes, kind, may_round } = self.schedule.temps[temp].clone();
        self.math.temps.push(math::Temp { name: String::new(), axes, kind, may_round });
        self.own.push(temp);
        Some(Place::Temp(self.own.len() - 1))
    }

    /// The part's tensor that is this place.
    fn position(&self, place: Place) -> Option<usize> {
        self.places.iter().position(|own| *own == place)
    }

    fn place(&self, place: Place) -> Place {
        let own = self.own.iter().position(|temp| Place::Temp(*temp) == place).map(Place::Temp);
        own.unwrap_or_else(|| {
            Place::Tensor(self.position(place).expect("a part has every place that it reads"))
        })
    }
}

#[cfg(test)]
mod tests;
