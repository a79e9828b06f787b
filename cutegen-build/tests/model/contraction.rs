//! `y = x w^T` of every dtype, whole outputs at random sizes: honest evaluations, and mutants of them.

use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::{Budget, Distribution, Reference, shapes};
use cutegen_build::plan::Plan;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

use super::gate::{self, Judged, POISON, fault};
use super::library;
use super::mutants::Mutant;
use super::specs::{self, Drawn};
use super::style::{Order, Rng, Style, Sum, fold};
use super::tally::Tally;
use super::values::{cast, tf32};

/// Types of a contraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) input: DType,
    pub(crate) output: DType,
}

/// Its extents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
}

/// Problems with honest evaluations, and evaluations of each; problems with mutants.
const HONEST: (usize, usize) = (12, 6);
const MUTANTS: usize = 12;
/// Multiply-adds of the gate's other shapes, and how many of them a mutant is judged at that passes at its own.
const OTHERS: (u64, usize) = (1 << 15, 3);

impl Kind {
    pub(crate) const ALL: [Kind; 8] = [
        Kind { input: DType::F32, output: DType::F32 },
        Kind { input: DType::F16, output: DType::F16 },
        Kind { input: DType::F16, output: DType::F32 },
        Kind { input: DType::Bf16, output: DType::Bf16 },
        Kind { input: DType::Bf16, output: DType::F32 },
        Kind { input: DType::F8e4m3, output: DType::Bf16 },
        Kind { input: DType::F8e5m2, output: DType::F32 },
        Kind { input: DType::I8, output: DType::I32 },
    ];

    fn plan(self) -> Plan {
        let Kind { input, output } = self;
        let text = format!(
            "edition = 1\n[kernels.{input}_{output}]\naxes = {{ m = \"1..=64\", n = \"1..=64\", k = \"1..=4096\" }}\n\
             inputs = {{ x = \"{input}[m, k]\", w = \"{input}[n, k]\" }}\noutputs = {{ y = \"{output}[m, n]\" }}\n\
             math = \"y[m, n] = sum(k, x[m, k] * w[n, k])\"\ntargets = [\"host\"]\n"
        );
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        Plan::new(&kernels[0], &kernels[0].targets[0])
    }

    /// Sums of integers are exact in f64, in any order.
    fn is_wide(self) -> bool {
        !self.input.is_float()
    }

    /// Bits of factors that tensor cores take as they are.
    fn factor_bits(self) -> Option<u32> {
        (self.input.is_float() && self.input.bits() <= 16).then_some(self.input.bits())
    }
}

/// Everything about one kind.
pub(crate) fn run(kind: Kind, seed: u64) -> Tally {
    let plan = kind.plan();
    let reference = library::reference(&plan);
    let mut rng = Rng::new(seed ^ (kind.input as u64) << 8 ^ kind.output as u64);
    let mut tally = Tally::default();
    for _ in 0..HONEST.0 {
        let problem = Problem::draw(kind, &plan, &reference, sizes(&mut rng, 1), rng.next());
        (0..HONEST.1).for_each(|_| problem.honest(&mut rng, &mut tally));
    }
    let others = others(kind, &plan, &reference, rng.next());
    for _ in 0..MUTANTS {
        let problem = Problem::draw(kind, &plan, &reference, sizes(&mut rng, 5), rng.next());
        problem.mutants(&others, &mut rng, &mut tally);
    }
    tally
}

/// The first of the shapes that the gate itself takes.
fn others(kind: Kind, plan: &Plan, reference: &Reference, seed: u64) -> Vec<Problem> {
    let cost = |axes: &[i64]| axes.iter().product::<i64>() as u64;
    let budget = Budget { cost: &cost, cap: OTHERS.0, most: OTHERS.1, tiles: &[] };
    let size = |axes: Vec<i64>| Size { m: axes[0], n: axes[1], k: axes[2] };
    let shapes = shapes(&plan.spec, &budget).into_iter().map(size);
    shapes.map(|size| Problem::draw(kind, plan, reference, size, seed)).collect()
}

/// At random, short sums as often as long ones. `least` rows hold each special value once.
fn sizes(rng: &mut Rng, least: i64) -> Size {
    let mut extent = || least + rng.below(8) as i64;
    let (m, n) = (extent(), extent());
    const LENGTHS: [i64; 12] = [1, 2, 3, 8, 16, 17, 31, 64, 100, 128, 257, 1024];
    let k = match rng.below(3) {
        0 => 1 + rng.below(300) as i64,
        _ => LENGTHS[rng.below(LENGTHS.len())],
    };
    Size { m, n, k }
}

/// One size, drawn in every distribution.
struct Problem {
    kind: Kind,
    size: Size,
    seed: u64,
    cases: Vec<Case>,
}

struct Case {
    distribution: Distribution,
    x: Vec<f64>,
    w: Vec<f64>,
    judged: Judged,
}

impl Problem {
    fn draw(kind: Kind, plan: &Plan, reference: &Reference, size: Size, seed: u64) -> Self {
        let cases = Distribution::ALL.map(|distribution| {
            let drawn = specs::draw(plan, reference, &[size.m, size.n, size.k], distribution, seed);
            Case::new(kind, size, plan, drawn)
        });
        Self { kind, size, seed, cases: cases.into() }
    }

    fn honest(&self, rng: &mut Rng, tally: &mut Tally) {
        let style = style(self.kind, rng);
        tally.honest += 1;
        let wrong = self.cases.iter().find_map(|case| {
            let (_, said) = fault(&case.judged, &case.run(self.kind, self.size, &style, None, POISON[0]))?;
            Some(format!("{}, {}: {said}", self.name(&style), case.distribution))
        });
        tally.rejected.extend(wrong);
    }

    /// Judges every mutant here, and at the other shapes where it passes here.
    fn mutants(&self, others: &[Problem], rng: &mut Rng, tally: &mut Tally) {
        for mutant in Mutant::of(self.kind, self.size) {
            let style = style(self.kind, rng);
            let here = self.caught(&style, mutant);
            if here.is_none() && self.is_unchanged(&style, mutant) {
                tally.passed(format!("{mutant:?}: {}", self.name(&style)), true);
                continue;
            }
            let elsewhere = || {
                let applies = |other: &&Problem| mutant.applies(other.kind, other.size);
                others.iter().filter(applies).find_map(|other| other.caught(&style, mutant))
            };
            match (here, here.or_else(elsewhere)) {
                (Some(check), _) => tally.caught(check),
                (None, Some(check)) => tally.caught(&format!("{check} at another shape")),
                (None, None) => tally.passed(format!("{mutant:?}: {}", self.name(&style)), false),
            }
        }
    }

    /// The check that a mutant falls to. What still holds the poison of its launch was not written.
    fn caught(&self, style: &Style, mutant: Mutant) -> Option<&'static str> {
        self.cases.iter().find_map(|case| {
            let [first, again] = POISON.map(|p| case.run(self.kind, self.size, style, Some(mutant), p));
            if first != again {
                return Some("poison");
            }
            fault(&case.judged, &first).map(|(check, _)| check)
        })
    }

    fn is_unchanged(&self, style: &Style, mutant: Mutant) -> bool {
        let run = |case: &Case, mutant| case.run(self.kind, self.size, style, mutant, POISON[0]);
        self.cases.iter().all(|case| run(case, Some(mutant)) == run(case, None))
    }

    fn name(&self, style: &Style) -> String {
        let (Kind { input, output }, Size { m, n, k }) = (self.kind, self.size);
        let Style { order, fuses, .. } = style;
        format!("{input} to {output}, {m} x {n} x {k}, {order:?}, fused {fuses}, seed {}", self.seed)
    }
}

/// Sums of integers have one result.
fn style(kind: Kind, rng: &mut Rng) -> Style {
    let style = Style { is_long: true, ..Style::random(rng, kind.is_wide(), kind.factor_bits()) };
    match style.order {
        Order::Permuted(_) => Style { order: Order::Permuted(rng.next()), ..style },
        _ => style,
    }
}

impl Case {
    fn new(kind: Kind, size: Size, plan: &Plan, mut drawn: Drawn) -> Self {
        let numbers = |t: usize| {
            let bytes = drawn.contents[t].as_deref().expect("an input");
            (0..bytes.len() / kind.input.bytes()).map(|i| element::read(kind.input, bytes, i)).collect()
        };
        let (x, w) = (numbers(0), numbers(1));
        let expected = drawn.expected[2].take().expect("an output");
        let judged = Judged { rule: gate::rule(plan, 2), expected, baseline: Vec::new() };
        let mut case = Self { distribution: drawn.distribution, x, w, judged };
        case.judged.baseline = case.run(kind, size, &Style::plain(kind.is_wide()), None, POISON[0]);
        case
    }

    /// The output's memory after a launch.
    fn run(&self, kind: Kind, size: Size, style: &Style, mutant: Option<Mutant>, poison: u8) -> Vec<u8> {
        let (rows, columns) = (size.m as usize, size.n as usize);
        let mut bytes = gate::poisoned(self.judged.rule, rows * columns, poison);
        let mut sums = vec![0.0; rows * columns];
        for (at, sum) in sums.iter_mut().enumerate() {
            let (i, j) = source(at, rows, columns, mutant);
            *sum = after(self.sum(i, j, size.k as usize, style, mutant), kind, mutant);
        }
        if mutant == Some(Mutant::RowMean) {
            sums.chunks_mut(columns).for_each(|row| row.fill(row.iter().sum::<f64>() / columns as f64));
        }
        for (at, sum) in sums.iter().enumerate().filter(|(at, _)| !is_skipped(*at, rows, columns, mutant)) {
            store(kind.output, &mut bytes, at, last(*sum, at, mutant), mutant);
        }
        bytes
    }

    fn sum(&self, i: usize, j: usize, k: usize, style: &Style, mutant: Option<Mutant>) -> f64 {
        let seen = |x: f64| match mutant {
            Some(Mutant::Inputs(to)) => cast(to, x),
            Some(Mutant::Tf32) => tf32(x),
            _ => x,
        };
        let term = |l: usize| (seen(self.x[i * k + l]), seen(self.w[j * k + l]));
        let mut terms: Vec<(f64, f64)> = (0..k).map(term).collect();
        reshape(&mut terms, mutant);
        let keeps = |x: f64| match mutant {
            Some(Mutant::Accumulator(to) | Mutant::BlockAccumulator(to, _)) => cast(to, x),
            _ => x,
        };
        // what truncates is no sum of this type: the narrow one rounds as a chain does
        let style = match (mutant, style.order) {
            (
                Some(Mutant::Accumulator(_) | Mutant::BlockAccumulator(..)),
                Order::TensorCore(_) | Order::TensorCoreOf8Bits,
            ) => Style { order: Order::Forward, ..*style },
            _ => *style,
        };
        let sum = Sum { style: &style, keeps: &keeps };
        match mutant {
            Some(Mutant::BlockAccumulator(_, block)) => {
                terms.chunks(block).fold(0.0, |total, block| style.round(total + fold(block, &style, &sum)))
            }
            _ => fold(&terms, &style, &sum),
        }
    }
}

/// Which result an element of the output gets.
fn source(at: usize, rows: usize, columns: usize, mutant: Option<Mutant>) -> (usize, usize) {
    let (i, j) = (at / columns, at % columns);
    match mutant {
        Some(Mutant::TransposedCorner) if i < 2 && j < 2 => (j, i),
        Some(Mutant::NextRow) => ((i + 1) % rows, j),
        Some(Mutant::NextColumn) => (i, (j + 1) % columns),
        Some(Mutant::Constant) => (0, 0),
        _ => (i, j),
    }
}

fn is_skipped(at: usize, rows: usize, columns: usize, mutant: Option<Mutant>) -> bool {
    match mutant {
        Some(Mutant::UnwrittenElement) => at == rows * columns - 1,
        Some(Mutant::UnwrittenRow) => at / columns == rows - 1,
        _ => false,
    }
}

fn reshape(terms: &mut Vec<(f64, f64)>, mutant: Option<Mutant>) {
    match mutant {
        Some(Mutant::DropsFirst) => drop(terms.remove(0)),
        Some(Mutant::DropsLast) => drop(terms.pop()),
        Some(Mutant::DoublesFirst) => terms.push(terms[0]),
        Some(Mutant::DoublesLast) => terms.push(terms[terms.len() - 1]),
        Some(Mutant::HalfK) => terms.truncate(terms.len().div_ceil(2)),
        Some(Mutant::DropsEvery16th) => {
            let mut at = 0;
            terms.retain(|_| {
                at += 1;
                at % 16 != 0
            });
        }
        _ => {}
    }
}

/// What becomes of a sum.
fn after(sum: f64, kind: Kind, mutant: Option<Mutant>) -> f64 {
    match mutant {
        Some(Mutant::Output(to)) => cast(to, sum),
        Some(Mutant::Gain(n)) => sum * (1.0 + 0.5_f64.powi(n)),
        Some(Mutant::Offset) if !kind.output.is_float() => sum + 1.0,
        Some(Mutant::Offset) => sum + 0.01,
        Some(Mutant::SwallowsNan) if sum.is_nan() => 0.0,
        Some(Mutant::Saturates) if sum.is_infinite() => kind.output.max_finite().copysign(sum),
        Some(Mutant::Relu) if sum < 0.0 => 0.0,
        Some(Mutant::Abs) => sum.abs(),
        Some(Mutant::Negates) => -sum,
        Some(Mutant::Zero) => 0.0,
        _ => sum,
    }
}

/// What happens to a single element.
fn last(sum: f64, at: usize, mutant: Option<Mutant>) -> f64 {
    match mutant {
        Some(Mutant::OneElement) if at == 3 => sum * 1.03,
        Some(Mutant::PlantsNan) if at == 3 => f64::NAN,
        _ => sum,
    }
}

fn store(dtype: DType, bytes: &mut [u8], at: usize, sum: f64, mutant: Option<Mutant>) {
    element::write(dtype, bytes, at, sum);
    let stored = element::read(dtype, bytes, at);
    if mutant == Some(Mutant::TruncatesOutput) && stored.is_finite() && stored.abs() > sum.abs() {
        let below = element::bits(dtype, bytes, at) - 1;
        element::put_bits(dtype, bytes, at, below);
    }
}
