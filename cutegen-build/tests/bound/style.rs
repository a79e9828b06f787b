//! [`Style`]: the free choices of a kernel, and arithmetic that makes them. A choice is honest when the documented
//! bound allows it; everything here rounds to nearest, but for blocks of a tensor core.

/// xorshift64*, seeded through a multiplication.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mixed = (seed ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self((mixed ^ mixed >> 29).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Uniform in -1..1, but at an end every other time.
    pub(crate) fn swing(&mut self) -> f64 {
        match self.below(4) {
            0 => 1.0,
            1 => -1.0,
            _ => self.next() as f64 / (1_u64 << 47) as f64 - 1.0,
        }
    }
}

/// In which order terms are added or multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    Forward,
    Backward,
    Pairwise,
    /// Lane i has the terms i, i + n, ...
    Lanes(usize),
    /// Runs of n terms, each with its own total.
    Blocks(usize),
    /// n runs of equal length.
    Split(usize),
    /// The middle first.
    Outward,
    /// Any, by this seed.
    Permuted(u64),
    /// 32 lanes, whose totals are halved until one is left.
    WarpTree,
    /// One after the other, with what each addition lost carried along.
    Kahan,
    /// Blocks of n exact products, added to an accumulator that truncates.
    TensorCore(usize),
    /// Products of 8-bit floats as Hopper adds them: 32 at a time, brought to the largest exponent; promoted after 128.
    TensorCoreOf8Bits,
}

/// How a kernel computes its functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Functions {
    /// Correctly rounded.
    Best,
    /// Anywhere within their documented error.
    Worst,
    /// Written out in simpler ones, each correctly rounded.
    Composed,
}

/// The choices of one evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether reals are f64.
    pub(crate) is_wide: bool,
    pub(crate) order: Order,
    /// Whether any number of terms may be one chain, as in contractions.
    pub(crate) is_long: bool,
    /// Whether a product that is added is fused.
    pub(crate) fuses: bool,
    pub(crate) functions: Functions,
    /// Whether temporaries are computed again now and then.
    pub(crate) recomputes: bool,
    /// Whether intermediates are rounded where that is allowed.
    pub(crate) rounds: bool,
}

const ORDERS: [Order; 16] = [
    Order::Forward,
    Order::Backward,
    Order::Pairwise,
    Order::Lanes(4),
    Order::Lanes(8),
    Order::Lanes(32),
    Order::Lanes(128),
    Order::Blocks(8),
    Order::Blocks(32),
    Order::Blocks(128),
    Order::Split(2),
    Order::Split(7),
    Order::Outward,
    Order::Permuted(7),
    Order::WarpTree,
    Order::Kahan,
];

/// The longest chain of so many terms that is honest outside contractions: a row of one thread, or a share of it.
fn honest_chain(terms: usize) -> usize {
    const CHAIN: usize = 512;
    const LONGEST: usize = 4096;
    if terms <= LONGEST { LONGEST } else { (LONGEST * LONGEST / terms).max(CHAIN) }
}

impl Style {
    /// The plainest one.
    pub(crate) fn plain(is_wide: bool) -> Self {
        Self {
            is_wide,
            order: Order::Forward,
            is_long: false,
            fuses: false,
            functions: Functions::Best,
            recomputes: false,
            rounds: false,
        }
    }

    /// One of all, among them those of tensor cores where products have `factor_bits` that they take.
    pub(crate) fn random(rng: &mut Rng, is_wide: bool, factor_bits: Option<u32>) -> Self {
        let tensor_core = factor_bits.filter(|_| rng.below(4) == 0);
        Self {
            is_wide,
            order: match (tensor_core, rng.below(2)) {
                (Some(8), 0) => Order::TensorCoreOf8Bits,
                (Some(_), block) => Order::TensorCore([8, 16][block]),
                (None, _) => ORDERS[rng.below(ORDERS.len())],
            },
            is_long: false,
            fuses: rng.below(2) == 0,
            functions: [Functions::Best, Functions::Worst, Functions::Composed][rng.below(3)],
            recomputes: rng.below(4) == 0,
            rounds: rng.below(2) == 0,
        }
    }

    /// Unit roundoff.
    pub(crate) fn unit(&self) -> f64 {
        0.5_f64.powi(if self.is_wide { 53 } else { 24 })
    }

    pub(crate) fn round(&self, value: f64) -> f64 {
        if self.is_wide { value } else { f64::from(value as f32) }
    }

    pub(crate) fn fma(&self, a: f64, b: f64, c: f64) -> f64 {
        if self.is_wide { a.mul_add(b, c) } else { f64::from((a as f32).mul_add(b as f32, c as f32)) }
    }
}

/// A way to combine the terms of a reduction.
pub(crate) trait Fold {
    fn start(&self) -> f64;
    fn add(&self, total: f64, term: (f64, f64)) -> f64;
    fn join(&self, a: f64, b: f64) -> f64;
    /// All terms, one after the other, as precisely as is usual.
    fn careful(&self, terms: Terms<'_>) -> Option<f64>;
}

/// Terms are products `a b`; those of plain sums have `b` = 1.
pub(crate) struct Sum<'a> {
    pub(crate) style: &'a Style,
    /// What a faulty kernel does to its running total.
    pub(crate) keeps: &'a dyn Fn(f64) -> f64,
}

impl Fold for Sum<'_> {
    fn start(&self) -> f64 {
        0.0
    }

    fn add(&self, total: f64, (a, b): (f64, f64)) -> f64 {
        let style = self.style;
        let next = match (style.fuses, b == 1.0) {
            (true, false) => style.fma(a, b, total),
            (false, false) => style.round(total + style.round(a * b)),
            (_, true) => style.round(total + a),
        };
        (self.keeps)(next)
    }

    fn join(&self, a: f64, b: f64) -> f64 {
        (self.keeps)(self.style.round(a + b))
    }

    /// Kahan's; an infinite total has no compensation.
    fn careful(&self, terms: Terms<'_>) -> Option<f64> {
        let (mut total, mut lost) = (0.0, 0.0);
        for term in terms {
            let next = self.style.round(self.add(0.0, *term) - lost);
            let sum = self.join(total, next);
            lost = self.style.round(self.style.round(sum - total) - next);
            total = sum;
        }
        total.is_finite().then_some(total)
    }
}

pub(crate) struct Product<'a>(pub(crate) &'a Style);

impl Fold for Product<'_> {
    fn start(&self) -> f64 {
        1.0
    }

    fn add(&self, total: f64, (a, _): (f64, f64)) -> f64 {
        self.0.round(total * a)
    }

    fn join(&self, a: f64, b: f64) -> f64 {
        self.0.round(a * b)
    }

    fn careful(&self, _: Terms<'_>) -> Option<f64> {
        None
    }
}

type Terms<'a> = &'a [(f64, f64)];

/// `terms` in the order that the style has.
pub(crate) fn fold(terms: Terms<'_>, style: &Style, by: &dyn Fold) -> f64 {
    let length = if style.is_long { usize::MAX } else { honest_chain(terms.len()) };
    let by = Chains { length, by };
    let forward = |terms: Terms<'_>| by.run(terms.iter());
    match style.order {
        Order::Forward => forward(terms),
        Order::Backward => by.run(terms.iter().rev()),
        Order::Pairwise => by.pairwise(terms),
        Order::Lanes(n) => by.joined((0..n.min(terms.len())).map(|i| by.run(terms[i..].iter().step_by(n)))),
        Order::Blocks(n) => by.joined(terms.chunks(n).map(forward)),
        Order::Split(n) => by.joined(terms.chunks(terms.len().div_ceil(n).max(1)).map(forward)),
        Order::Outward => {
            let (left, right) = terms.split_at(terms.len() / 2);
            by.run(right.iter().chain(left.iter().rev()))
        }
        Order::Permuted(seed) => by.run(shuffled(terms, seed).iter()),
        Order::WarpTree => {
            by.tree((0..32.min(terms.len())).map(|i| by.run(terms[i..].iter().step_by(32))).collect())
        }
        Order::Kahan => by.by.careful(terms).unwrap_or_else(|| forward(terms)),
        Order::TensorCore(n) => {
            let chained = |part: &[(f64, f64)]| part.chunks(n).fold(by.by.start(), truncated_block);
            by.joined(terms.chunks(by.length).map(chained))
        }
        Order::TensorCoreOf8Bits => {
            let promoted = |part: &[(f64, f64)]| part.chunks(32).fold(by.by.start(), aligned_block);
            by.joined(terms.chunks(128).map(promoted))
        }
    }
}

/// Terms that are combined in chains of at most this length.
struct Chains<'a> {
    length: usize,
    by: &'a dyn Fold,
}

impl Chains<'_> {
    fn run<'t>(&self, terms: impl Iterator<Item = &'t (f64, f64)>) -> f64 {
        let (mut chains, mut total) = (Vec::new(), self.by.start());
        for (n, term) in terms.enumerate() {
            if n > 0 && n % self.length == 0 {
                chains.push(std::mem::replace(&mut total, self.by.start()));
            }
            total = self.by.add(total, *term);
        }
        if chains.is_empty() {
            return total;
        }
        chains.push(total);
        self.tree(chains)
    }

    fn joined(&self, parts: impl Iterator<Item = f64>) -> f64 {
        let parts: Vec<f64> = parts.collect();
        let one = |parts: &[f64]| parts.iter().copied().reduce(|a, b| self.by.join(a, b));
        self.tree(parts.chunks(self.length).filter_map(one).collect())
    }

    /// Lane i takes that of lane i + half, until one is left.
    fn tree(&self, mut lanes: Vec<f64>) -> f64 {
        while lanes.len() > 1 {
            let half = lanes.len().div_ceil(2);
            (half..lanes.len()).for_each(|i| lanes[i - half] = self.by.join(lanes[i - half], lanes[i]));
            lanes.truncate(half);
        }
        lanes.first().copied().unwrap_or(self.by.start())
    }

    fn pairwise(&self, terms: Terms<'_>) -> f64 {
        if terms.len() <= 2 {
            return self.run(terms.iter());
        }
        let (left, right) = terms.split_at(terms.len() / 2);
        self.by.join(self.pairwise(left), self.pairwise(right))
    }
}

fn shuffled(terms: Terms<'_>, seed: u64) -> Vec<(f64, f64)> {
    let (mut rng, mut terms) = (Rng::new(seed), terms.to_vec());
    (1..terms.len()).rev().for_each(|i| terms.swap(i, rng.below(i + 1)));
    terms
}

/// A block's products are exact in f64 and so, nearly, is their sum; the result is cut to f32.
/// What lies more than 13 bits below the largest exponent is dropped.
fn aligned_block(total: f64, block: Terms<'_>) -> f64 {
    let addends: Vec<f64> = block.iter().map(|(a, b)| a * b).chain([total]).collect();
    let largest = addends.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    if largest == 0.0 || addends.iter().any(|x| !x.is_finite()) {
        return addends.iter().sum();
    }
    let unit = 2_f64.powi(largest.log2().floor() as i32 - 13);
    addends.iter().map(|x| (x / unit).trunc() * unit).sum()
}

fn truncated_block(total: f64, block: Terms<'_>) -> f64 {
    let sum = total + block.iter().map(|(a, b)| a * b).sum::<f64>();
    let near = sum as f32;
    let over = f64::from(near).abs() > sum.abs() && near.is_finite();
    f64::from(if over { f32::from_bits(near.to_bits() - 1) } else { near })
}
