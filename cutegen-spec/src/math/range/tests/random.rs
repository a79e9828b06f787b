//! Small random questions against all that can happen.

use super::Question;
use crate::axis::{self, Extent};
use crate::math::range::Proof;

/// xorshift
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    fn expr(&mut self, leaves: &[&str], depth: u32) -> String {
        if depth == 0 || self.below(5) == 0 {
            return self.pick(leaves).to_owned();
        }
        let (a, b) = (self.expr(leaves, depth - 1), self.expr(leaves, depth - 1));
        let divisor = self.pick(&["2", "3", "4", "len_m", "len_n", "len_p"]).to_owned();
        match self.below(12) {
            0..3 => format!("({a} + {b})"),
            3..5 => format!("({a} - {b})"),
            5..7 => format!("({a} * {b})"),
            7..9 => format!("({a} / {divisor})"),
            9 => format!("({a} % {divisor})"),
            10 => format!("min({a}, {b})"),
            _ => format!("max({a}, {b})"),
        }
    }

    fn question(&mut self) -> Question {
        let m = self.pick(&["0..4", "1..5", "2..6/2", "3..3"]);
        let n = self.pick(&["1..4", "2..5", "0..6/3"]);
        let p = self.pick(&["m * n", "m + n", "(m + 1) / 2", "m + 1 - n", "2 * m", "max(m, n)"]);
        let bound = self.pick(&["", "; s <= m", "; s < m; s >= m - 1", "; s > n", "; p <= m + n"]);
        let read = self.pick(&["0, m", "1, n + 1", "0, 3"]);
        let domain = format!("m {m}; n {n}; p = {p}; s ~ m{bound}; x @ {read}");
        let leaves = ["m", "n", "p", "s", "m", "p", "len_m", "len_n", "1", "2", "x"];
        let depth = 1 + u32::try_from(self.below(3)).unwrap();
        let index = self.expr(&leaves, depth);
        let sizes = ["m", "n", "p", "m * n", "m + n", "8", "2", "m * n * p", "p + 2"];
        Question::parse(&domain, &index, self.pick(&sizes))
    }
}

fn values(extent: &Extent) -> Vec<i64> {
    match extent {
        Extent::Range { lo, hi, multiple_of, .. } => {
            (*lo..=*hi).filter(|value| value % multiple_of == 0).collect()
        }
        _ => vec![0],
    }
}

fn shapes(question: &Question) -> Vec<Vec<i64>> {
    let [m, n] = [0, 1].map(|axis| values(&question.axes[axis].extent));
    let pairs = m.iter().flat_map(|m| n.iter().map(|n| [*m, *n]));
    pairs.filter_map(|pair| axis::resolve(&question.axes, &|position| pair[position])).collect()
}

fn is_inside(question: &Question) -> bool {
    shapes(question).iter().all(|shape| {
        let extent = question.dim.eval_axes(shape).unwrap();
        question.indices(shape).iter().all(|index| index.is_some_and(|index| (0..extent).contains(&index)))
    })
}

#[test]
fn verdicts_agree_with_trying_everything() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut proved, mut refused, mut open) = (0, 0, 0);
    for round in 0..3_000 {
        let question = random.question();
        match question.prove() {
            Proof::Inside => {
                assert!(is_inside(&question), "round {round}: {question:?}");
                proved += 1;
            }
            Proof::Outside { shape, index, extent } => {
                assert!(
                    question.confirms(&shape, index, extent),
                    "round {round}: {index} at {shape:?}: {question:?}"
                );
                refused += 1;
            }
            Proof::Unknown => open += u32::from(is_inside(&question)),
        }
    }
    assert!(proved > 800 && refused > 1_000, "{proved} proved, {refused} refused");
    assert!(open * 5 < proved, "{proved} proved, {open} true but open");
}
