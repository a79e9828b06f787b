//! Kernels of `kernel-specs/` beyond contractions: some elements of each output, by the machine of the tests of bounds.

use cutegen_build::evaluate::Expected;
use cutegen_build::evaluate::judge::element;
use cutegen_build::plan::Plan;
use cutegen_build::plan::schedule::Step;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::Place;

use super::faults::Fault;
use super::gate::{self, Judged, POISON, fault};
use super::library;
use super::machine::{Launch, Machine};
use super::specs::{self, Drawn};
use super::style::{Rng, Style};
use super::tally::Tally;

/// Multiply-adds and elements of the reference at a shape.
const CAP: u64 = 1 << 21;

/// Of each family those with the most different arithmetic.
const CHOSEN: [&str; 30] = [
    "add",
    "elu",
    "gelu",
    "gelu_bf16",
    "relu",
    "leaky_relu",
    "sigmoid",
    "log_sigmoid",
    "tanh",
    "silu_bf16",
    "mish",
    "silu_mul",
    "layer_norm",
    "layer_norm_plain",
    "rms_norm",
    "rms_norm_fp8",
    "add_rms_norm",
    "batch_norm",
    "softmax",
    "softmax_bf16",
    "log_softmax",
    "l2_norm",
    "sum_last",
    "mean_last",
    "max_last",
    "prod_last",
    "cumsum",
    "cumsum_exclusive",
    "gemv_nt_bf16",
    "mse_loss",
];

/// Honest evaluations of each.
const HONEST: usize = 5;
/// A mutant that these show nothing of is judged once more on others: the gate looks at every element.
const FEW: Sample = Sample { elements: 64, row: 16, work: 12_000 };
const MANY: Sample = Sample { elements: 1 << 16, row: 4096, work: 1 << 20 };

/// Elements of an output, of which so many in turn lie in one row, and terms of reductions that the last of them may
/// begin after.
#[derive(Clone, Copy)]
struct Sample {
    elements: usize,
    row: usize,
    work: usize,
}

/// The plans of the chosen.
pub(crate) fn chosen() -> impl Iterator<Item = Plan> {
    let plans = library::all();
    let known: Vec<String> = plans.iter().map(|p| p.spec.name.to_string()).collect();
    assert!(CHOSEN.iter().all(|name| known.iter().any(|k| k == name)), "a spec is not there");
    plans.into_iter().filter(|plan| CHOSEN.contains(&plan.spec.name.to_string().as_str()))
}

/// Everything about one kernel, at its conclusive shapes.
pub(crate) fn run(plan: &Plan, seed: u64) -> Tally {
    let reference = library::reference(plan);
    let mut drawn: Vec<Drawn> = Vec::new();
    for axes in library::telling_shapes(plan, CAP) {
        let draw = |distribution| specs::draw(plan, &reference, &axes, distribution, seed);
        drawn.extend(specs::distributions(plan).map(draw));
    }
    let cases: Vec<Case<'_>> = drawn.iter().flat_map(|drawn| Case::of(plan, drawn, seed, FEW)).collect();
    let (mut rng, mut tally) = (Rng::new(seed), Tally::default());
    let is_wide = plan.spec.precision.accumulate == DType::F64;
    for _ in 0..HONEST {
        let style = Style::random(&mut rng, is_wide, None);
        tally.honest += 1;
        tally.rejected.extend(cases.iter().find_map(|case| case.rejected(style)));
    }
    for mutant in Fault::ALL.into_iter().filter(|fault| fault.applies(plan)) {
        match judge(&cases, mutant) {
            Verdict::Caught(check) => tally.caught(check),
            Verdict::Unchanged | Verdict::Passed => match judge_more(plan, &drawn, seed, mutant) {
                Verdict::Caught(check) => tally.caught(&format!("{check} of more elements")),
                verdict => {
                    tally.passed(format!("{mutant:?}: {}", plan.spec.name), verdict == Verdict::Unchanged)
                }
            },
        }
    }
    tally
}

/// Judges a mutant on many elements, case by case until one shows it.
fn judge_more(plan: &Plan, drawn: &[Drawn], seed: u64, mutant: Fault) -> Verdict {
    let mut unchanged = true;
    for drawn in drawn {
        match judge(&Case::of(plan, drawn, seed, MANY), mutant) {
            Verdict::Caught(check) => return Verdict::Caught(check),
            verdict => unchanged &= verdict == Verdict::Unchanged,
        }
    }
    if unchanged { Verdict::Unchanged } else { Verdict::Passed }
}

/// What becomes of a mutant.
#[derive(PartialEq)]
enum Verdict {
    Caught(&'static str),
    Passed,
    /// It gave the baseline's bits everywhere.
    Unchanged,
}

fn judge(cases: &[Case<'_>], mutant: Fault) -> Verdict {
    let mut unchanged = true;
    for case in cases {
        let bytes = case.run(case.plain(), Some(mutant));
        unchanged &= bytes == case.judged.baseline;
        if let Some((check, _)) = fault(&case.judged, &bytes) {
            return Verdict::Caught(check);
        }
    }
    if unchanged { Verdict::Unchanged } else { Verdict::Passed }
}

/// Some elements of one output.
struct Case<'a> {
    plan: &'a Plan,
    drawn: &'a Drawn,
    step: &'a Step,
    dtype: DType,
    points: Vec<Vec<i64>>,
    seed: u64,
    judged: Judged,
}

impl<'a> Case<'a> {
    /// The cases of a drawn launch, one an output.
    fn of(plan: &'a Plan, drawn: &'a Drawn, seed: u64, sample: Sample) -> Vec<Self> {
        let output = |step: &'a Step| match step.dst {
            Place::Tensor(t) => Some((step, t)),
            Place::Temp(_) => None,
        };
        let outputs = plan.schedule.steps.iter().filter_map(output);
        outputs.map(|(step, t)| Self::new(plan, drawn, (step, t), seed, sample)).collect()
    }

    fn new(
        plan: &'a Plan,
        drawn: &'a Drawn,
        (step, t): (&'a Step, usize),
        seed: u64,
        sample: Sample,
    ) -> Self {
        let dtype = plan.spec.tensors[t].dtype;
        let judged =
            Judged { rule: gate::rule(plan, t), expected: Expected::default(), baseline: Vec::new() };
        let mut case = Self { plan, drawn, step, dtype, points: Vec::new(), seed, judged };
        let style = case.plain();
        case.choose(t, style, sample);
        case.judged.baseline = case.run(style, None);
        case
    }

    /// Both ends, then runs in rows at random, until the work is spent.
    fn choose(&mut self, t: usize, style: Style, sample: Sample) {
        let (mut machine, mut rng) = (self.machine(style, None), Rng::new(self.seed ^ 77));
        let axes = &self.drawn.axes;
        let extents: Vec<i64> =
            self.step.loops.iter().map(|l| axes[self.plan.schedule.vars[l.var]]).collect();
        let most = extents.iter().product::<i64>().min(sample.elements as i64) as usize;
        let full = self.drawn.expected[t].as_ref().expect("an output has a reference");
        let (mut bytes, mut point) = (vec![0; 8], vec![0; extents.len()]);
        while self.points.len() < most && machine.work < sample.work {
            let number = self.points.len();
            for (dim, (at, extent)) in point.iter_mut().zip(&extents).enumerate() {
                match number {
                    0 => *at = 0,
                    1 => *at = extent - 1,
                    _ if number % sample.row == 2 || dim + 1 == extents.len() => {
                        *at = rng.below(*extent as usize) as i64;
                    }
                    _ => {}
                }
            }
            let element = machine.offset_of(self.step, &point);
            machine.store(self.step, &point, &mut bytes, 0);
            self.expect(full, element);
            self.points.push(point.clone());
        }
    }

    fn expect(&mut self, full: &Expected, element: usize) {
        let expected = &mut self.judged.expected;
        if let Some(also) = full.also.get(&element) {
            expected.also.insert(self.points.len(), also.clone());
        }
        expected.value.push(full.value[element]);
        expected.bound.push(full.bound[element]);
    }

    fn plain(&self) -> Style {
        Style::plain(self.plan.spec.precision.accumulate == DType::F64)
    }

    fn machine(&self, style: Style, fault: Option<Fault>) -> Machine<'a> {
        let Drawn { axes, contents, scalars, .. } = self.drawn;
        Machine::new(Launch { plan: self.plan, axes, contents, scalars }, style, fault, self.seed)
    }

    fn run(&self, style: Style, fault: Option<Fault>) -> Vec<u8> {
        let mut machine = self.machine(style, fault);
        let mut bytes = gate::poisoned(self.judged.rule, self.points.len(), POISON[0]);
        for (slot, point) in self.points.iter().enumerate() {
            let shifted = fault == Some(Fault::Neighbour) && slot % 3 == 2;
            let seen = if shifted { &self.points[(slot + 1) % self.points.len()] } else { point };
            machine.store(self.step, seen, &mut bytes, slot);
        }
        bytes
    }

    fn rejected(&self, style: Style) -> Option<String> {
        let bytes = self.run(style, None);
        let (check, said) = fault(&self.judged, &bytes)?;
        let Drawn { axes, distribution, .. } = self.drawn;
        let first = element::read(self.dtype, &bytes, 0);
        Some(format!(
            "{} at {axes:?}, {distribution}, {style:?}: {check}: {said}; first {first:e}",
            self.plan.spec.name
        ))
    }
}
