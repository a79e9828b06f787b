//! Runs honest and faulty evaluations of one spec and says what the bound made of them.

use std::collections::BTreeMap;

use cutegen_build::evaluate::judge::compare::{compare, is_conclusive};
use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::{Distribution, Expected};
use cutegen_build::plan::Plan;
use cutegen_build::plan::schedule::Step;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Place, ReduceOp};

use super::faults::Fault;
use super::library;
use super::machine::{Launch, Machine};
use super::specs::{self, Drawn};
use super::style::{Rng, Style};

/// Multiply-adds and elements of the reference at a shape.
pub(crate) const CAP: u64 = 1 << 21;
/// Honest evaluations of each drawn case.
const HONEST: usize = 3;
/// Terms of reductions that an evaluation costs, or ten times that where one element does, and elements that it has at most and at least.
const WORK: usize = 20_000;
/// Elements that are not finite, of those where that was drawn.
const SPECIAL: usize = 6;
const ELEMENTS: std::ops::RangeInclusive<usize> = 12..=256;

/// What was found about a spec.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: String,
    /// Honest evaluations, and elements of them that were judged.
    pub(crate) honest: usize,
    pub(crate) judged: u64,
    /// Honest results outside the bound.
    pub(crate) violations: Vec<String>,
    /// For each output the distributions that count as a test.
    pub(crate) conclusive: BTreeMap<String, Vec<Distribution>>,
    /// Faults that apply, with the distribution that caught each.
    pub(crate) faults: BTreeMap<Fault, Option<Distribution>>,
    /// Median of bound over value, normal inputs.
    pub(crate) looseness: Vec<(String, f64)>,
    /// The largest honest error as a share of the bound.
    pub(crate) worst_share: f64,
}

/// Everything about one spec.
pub(crate) fn report(plan: &Plan, seed: u64) -> Report {
    let reference = library::reference(plan);
    let mut report = Report { name: plan.spec.name.to_string(), ..Report::default() };
    let applying: Vec<Fault> = Fault::ALL.into_iter().filter(|f| f.applies(plan)).collect();
    report.faults = applying.iter().map(|f| (*f, None)).collect();
    for (number, axes) in library::telling_shapes(plan, CAP).iter().enumerate() {
        for distribution in specs::distributions(plan) {
            let drawn = specs::draw(plan, &reference, axes, distribution, seed ^ number as u64);
            let run = Run { plan, drawn: &drawn, seed };
            run.honest(&mut report);
            run.faulty(&mut report);
            if number == 0 {
                run.describe(&mut report);
            }
        }
    }
    report
}

struct Run<'a> {
    plan: &'a Plan,
    drawn: &'a Drawn,
    seed: u64,
}

impl<'a> Run<'a> {
    fn machine(&self, style: Style, fault: Option<Fault>, seed: u64) -> Machine<'a> {
        let Drawn { axes, contents, scalars, .. } = self.drawn;
        Machine::new(Launch { plan: self.plan, axes, contents, scalars }, style, fault, seed)
    }

    fn outputs(&self) -> impl Iterator<Item = (&'a Step, usize)> {
        self.plan.schedule.steps.iter().filter_map(|step| match step.dst {
            Place::Tensor(t) => Some((step, t)),
            Place::Temp(_) => None,
        })
    }

    fn honest(&self, report: &mut Report) {
        let mut rng = Rng::new(self.seed ^ self.drawn.distribution as u64);
        let is_wide = self.plan.spec.precision.accumulate == DType::F64;
        for _ in 0..HONEST {
            let style = Style::random(&mut rng, is_wide, factor_bits(self.plan));
            report.honest += 1;
            for (step, t) in self.outputs() {
                let sample = self.sample(step, t, style, None, rng.next());
                let compared = compare(self.dtype(t), &sample.bytes, &sample.expected);
                report.judged += compared.judged;
                report.worst_share = report.worst_share.max(compared.worst_share);
                if let Some(wrong) = compared.wrong {
                    report.violations.push(format!(
                        "{} at {:?}, {}, `{}`: {:?} is {:e}, not {:e} within {:e}: {:.3} of the bound; {style:?}",
                        report.name,
                        self.drawn.axes,
                        self.drawn.distribution,
                        self.plan.spec.tensors[t].name,
                        sample.points[wrong.element],
                        wrong.found,
                        wrong.expected,
                        wrong.bound,
                        (wrong.found - wrong.expected).abs() / wrong.bound
                    ));
                }
            }
        }
    }

    fn faulty(&self, report: &mut Report) {
        let is_wide = self.plan.spec.precision.accumulate == DType::F64;
        for (fault, caught) in report.faults.iter_mut().filter(|(_, caught)| caught.is_none()) {
            let wrong = self.outputs().any(|(step, t)| {
                let sample = self.sample(step, t, Style::plain(is_wide), Some(*fault), self.seed);
                compare(self.dtype(t), &sample.bytes, &sample.expected).wrong.is_some()
            });
            *caught = wrong.then_some(self.drawn.distribution);
        }
    }

    fn describe(&self, report: &mut Report) {
        for (_, t) in self.outputs() {
            let Some(expected) = &self.drawn.expected[t] else { continue };
            let name = self.plan.spec.tensors[t].name.clone();
            if is_conclusive(self.dtype(t), expected) {
                report.conclusive.entry(name.clone()).or_default().push(self.drawn.distribution);
            } else {
                report.conclusive.entry(name.clone()).or_default();
            }
            if self.drawn.distribution == Distribution::Normal {
                report.looseness.push((name, median(expected)));
            }
        }
    }

    fn dtype(&self, t: usize) -> DType {
        self.plan.spec.tensors[t].dtype
    }

    /// What is not finite, corners, then points at random, until the work is spent.
    fn sample(&self, step: &'a Step, t: usize, style: Style, fault: Option<Fault>, seed: u64) -> Sample {
        let mut machine = self.machine(style, fault, seed);
        let mut rng = Rng::new(seed ^ 77);
        let extents: Vec<i64> =
            step.loops.iter().map(|l| self.drawn.axes[self.plan.schedule.vars[l.var]]).collect();
        let most = extents.iter().product::<i64>().min(*ELEMENTS.end() as i64) as usize;
        let full = self.drawn.expected[t].as_ref().expect("an output has a reference");
        let mut sample = Sample::with_room(self.dtype(t), most);
        let special = self.special(&mut machine, step, full, &extents);
        let mut chosen = special.into_iter().map(Some).chain(std::iter::repeat(None));
        while sample.points.len() < most
            && (machine.work < WORK || (sample.points.len() < *ELEMENTS.start() && machine.work < 10 * WORK))
        {
            let chosen = chosen.next().flatten();
            let point = chosen.unwrap_or_else(|| point(sample.points.len(), &extents, &mut rng));
            let slot = sample.points.len();
            let element = machine.offset_of(step, &point);
            let seen = if fault == Some(Fault::Neighbour) && slot % 3 == 2 {
                next(&point, &extents)
            } else {
                point.clone()
            };
            machine.store(step, &seen, &mut sample.bytes, slot);
            sample.expect(full, element, point);
        }
        sample
    }

    /// Some points where an output is not finite, of those whose place says their indices.
    fn special(
        &self,
        machine: &mut Machine<'_>,
        step: &Step,
        full: &Expected,
        extents: &[i64],
    ) -> Vec<Vec<i64>> {
        let total = extents.iter().product::<i64>() as usize;
        let drawn = self.drawn.distribution == Distribution::Specials;
        let odd = (0..total.min(full.value.len())).filter(|e| drawn && !full.value[*e].is_finite());
        let points = odd.map(|element| (element, unravel(element as i64, extents)));
        let found = points.filter(|(element, point)| machine.offset_of(step, point) == *element);
        found.map(|(_, point)| point).take(SPECIAL).collect()
    }
}

/// The point with this number, in row-major order.
fn unravel(number: i64, extents: &[i64]) -> Vec<i64> {
    let mut rest = number;
    let mut point = vec![0; extents.len()];
    for (at, extent) in point.iter_mut().zip(extents).rev() {
        (*at, rest) = (rest % extent, rest / extent);
    }
    point
}

/// Some elements of an output.
struct Sample {
    bytes: Vec<u8>,
    expected: Expected,
    points: Vec<Vec<i64>>,
}

impl Sample {
    fn with_room(dtype: DType, elements: usize) -> Self {
        Self {
            bytes: vec![0; element::bytes(dtype, elements)],
            expected: Expected::default(),
            points: Vec::new(),
        }
    }

    fn expect(&mut self, full: &Expected, element: usize, point: Vec<i64>) {
        if let Some(also) = full.also.get(&element) {
            self.expected.also.insert(self.points.len(), also.clone());
        }
        self.expected.value.push(full.value[element]);
        self.expected.bound.push(full.bound[element]);
        self.points.push(point);
    }
}

fn point(number: usize, extents: &[i64], rng: &mut Rng) -> Vec<i64> {
    let total = extents.iter().product::<i64>() as usize;
    extents
        .iter()
        .map(|extent| match number {
            0 => 0,
            1 => extent - 1,
            _ if total <= 2 => number as i64 % extent,
            // where a scan still moves
            2..9 => rng.below((*extent).min(4) as usize) as i64,
            _ => rng.below(*extent as usize) as i64,
        })
        .collect()
}

fn next(point: &[i64], extents: &[i64]) -> Vec<i64> {
    let mut next = point.to_vec();
    if let Some(widest) = (0..extents.len()).rev().find(|i| extents[*i] > 1) {
        next[widest] = (next[widest] + 1) % extents[widest];
    }
    next
}

/// Bits of the factors whose products are summed, where tensor cores take them as they are.
fn factor_bits(plan: &Plan) -> Option<u32> {
    let bits = |e: &Expr| match e {
        Expr::Load(Place::Tensor(t), _) => {
            let dtype = plan.spec.tensors[*t].dtype;
            (dtype.is_float() && dtype.bits() <= 16).then_some(dtype.bits())
        }
        _ => None,
    };
    let of_sum = |step: &Step| match &step.value {
        cutegen_build::plan::schedule::Value::Reduce {
            op: ReduceOp::Sum,
            body: Expr::Binary(Binary::Mul, a, b),
            ..
        } => Some(bits(a)?.max(bits(b)?)),
        _ => None,
    };
    plan.schedule.steps.iter().find_map(of_sum)
}

fn median(expected: &Expected) -> f64 {
    let share = |(v, b): (&f64, &f64)| if *b == 0.0 { 0.0 } else { b / v.abs() };
    let mut shares: Vec<f64> = expected.value.iter().zip(&expected.bound).map(share).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(0.0)
}
