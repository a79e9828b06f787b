//! Polynomials over run-time axes alone, each between two numbers. One that is linear in an axis is smallest at one
//! of that axis's ends; others are halved until intervals tell.

use super::atoms::Prover;
use super::interval::Interval;
use super::poly::{AtomId, Poly};

impl Prover<'_> {
    /// Whether `goal`, over axes, is never negative.
    pub(super) fn holds_on_axes(&mut self, goal: &Poly) -> bool {
        let mut widths = Vec::new();
        let mut shifted = goal.clone();
        for atom in goal.atoms() {
            let Interval { lo: Some(lo), hi: Some(hi) } = self.atoms[usize::from(atom)].range else {
                return false;
            };
            let Some(moved) = shift(&shifted, atom, lo) else { return false };
            shifted = moved;
            widths.push((atom, hi - lo));
        }
        self.holds_on_box(&shifted, &widths)
    }

    /// The same for axes that run from 0 to their widths.
    fn holds_on_box(&mut self, goal: &Poly, widths: &[(AtomId, i128)]) -> bool {
        let range = range(goal, widths);
        if range.is_at_least(0) || goal.constant_term() < 0 || !self.spend(goal.len()) {
            return range.is_at_least(0);
        }
        let used = widths.iter().filter(|(atom, _)| goal.degree(*atom) > 0);
        let Some((atom, width)) = used.min_by_key(|(atom, width)| (goal.degree(*atom), -width)).copied()
        else {
            return false;
        };
        if goal.degree(atom) == 1 {
            self.at_both_ends(goal, widths, atom, width)
        } else {
            self.halves(goal, widths)
        }
    }

    fn at_both_ends(&mut self, goal: &Poly, widths: &[(AtomId, i128)], atom: AtomId, width: i128) -> bool {
        [width, 0].into_iter().all(|end| {
            let goal = goal.substitute(atom, &Poly::constant(end));
            goal.is_some_and(|goal| self.nested(|p| p.holds_on_box(&goal, widths).then_some(())).is_some())
        })
    }

    fn halves(&mut self, goal: &Poly, widths: &[(AtomId, i128)]) -> bool {
        let used = widths.iter().filter(|(atom, width)| goal.degree(*atom) > 0 && *width > 0);
        let Some((atom, width)) = used.max_by_key(|(_, width)| *width).copied() else { return false };
        let half = width / 2;
        let low = (Some(goal.clone()), half);
        let high = (shift(goal, atom, half + 1), width - half - 1);
        [low, high].into_iter().all(|(goal, width)| {
            let narrow: Vec<_> =
                widths.iter().map(|w| if w.0 == atom { (atom, width) } else { *w }).collect();
            goal.is_some_and(|goal| self.nested(|p| p.holds_on_box(&goal, &narrow).then_some(())).is_some())
        })
    }
}

fn shift(goal: &Poly, atom: AtomId, by: i128) -> Option<Poly> {
    if by == 0 { Some(goal.clone()) } else { goal.substitute(atom, &Poly::atom(atom).plus(by)?) }
}

fn range(goal: &Poly, widths: &[(AtomId, i128)]) -> Interval {
    let width = |atom: &AtomId| {
        widths.iter().find(|(other, _)| other == atom).map(|(_, width)| Interval::of(0, *width))
    };
    goal.terms().fold(Interval::of(0, 0), |sum, (product, factor)| {
        let ranges = product.iter().map(|atom| width(atom).unwrap_or(Interval::ANY));
        sum.add(ranges.reduce(Interval::mul).unwrap_or(Interval::of(1, 1)).scale(factor))
    })
}
