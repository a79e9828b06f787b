//! Proofs that a polynomial is never negative: atoms go from the last to the first, each replaced by a bound that
//! can only make the polynomial smaller, until axes are left, which [`super::corners`] decides.

use super::atoms::{Kind, Prover};
use super::interval::Interval;
use super::poly::{AtomId, Poly};

/// What is known of a coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    NonNegative,
    NonPositive,
    Unknown,
}

impl Prover<'_> {
    /// Whether `goal >= 0` is proved.
    pub(super) fn nonneg(&mut self, goal: &Poly) -> bool {
        let range = self.range(goal);
        if range.is_at_least(0) || range.is_at_most(-1) || !self.spend(goal.len()) {
            return range.is_at_least(0);
        }
        match goal.content() {
            common if common > 1 => self.step(&goal.floor_all(common)),
            _ => self.step(goal),
        }
    }

    fn step(&mut self, goal: &Poly) -> bool {
        let Some(atom) = self.next_atom(goal) else { return self.holds_on_axes(goal) };
        self.nested(|p| (p.eliminate(goal, atom) || p.split(goal, atom) == Some(true)).then_some(()))
            .is_some()
    }

    /// Choices that need both cases come first, so that each case may pick its own bounds; then the last atom.
    fn next_atom(&self, goal: &Poly) -> Option<AtomId> {
        let is_axis = |atom: &AtomId| matches!(self.atoms[usize::from(*atom)].kind, Kind::Axis(_));
        let atoms: Vec<AtomId> = goal.atoms().into_iter().filter(|atom| !is_axis(atom)).collect();
        let branches = atoms.iter().rev().find(|atom| match self.atoms[usize::from(**atom)].kind {
            Kind::Min(..) => goal.parts(**atom)[1..].iter().all(|part| self.range(part).is_at_least(0)),
            Kind::Max(..) => goal.parts(**atom)[1..].iter().all(|part| self.range(part).is_at_most(0)),
            _ => false,
        });
        branches.or(atoms.last()).copied()
    }

    fn eliminate(&mut self, goal: &Poly, atom: AtomId) -> bool {
        let parts = goal.parts(atom);
        let sign = self.common_sign(&parts[1..]);
        match self.atoms[usize::from(atom)].kind.clone() {
            Kind::Floor(a, b) if parts.len() == 2 => {
                self.floor_bound(&parts, sign, &a, &b) == Some(true)
                    || self.ends(goal, atom, parts.len(), sign)
            }
            Kind::Min(a, b) | Kind::Max(a, b) => {
                self.ends(goal, atom, parts.len(), sign)
                    || [a, b].iter().all(|case| !self.can_be(atom, case) || self.with(goal, atom, case))
            }
            _ => self.ends(goal, atom, parts.len(), sign),
        }
    }

    /// `r + c floor(a / b) >= 0`: what is left of it when the floor is as small or as large as can be. Scaled by `b`
    /// where `b` doesn't divide `c`; whole numbers need to be above `-b` only, then.
    fn floor_bound(&mut self, parts: &[Poly], sign: Sign, a: &Poly, b: &Poly) -> Option<bool> {
        let end = match sign {
            Sign::NonPositive => a.clone(),
            Sign::NonNegative => a.sub(b)?.plus(1)?,
            Sign::Unknown => return None,
        };
        let goal = match parts[1].divide_exactly(b) {
            Some(times) => parts[0].add(&times.mul(&end)?)?,
            None => parts[0].mul(b)?.add(&parts[1].mul(&end)?)?.add(b)?.plus(-1)?,
        };
        Some(self.nonneg(&goal))
    }

    fn ends(&mut self, goal: &Poly, atom: AtomId, parts: usize, sign: Sign) -> bool {
        match sign {
            // powers keep the order only of numbers that aren't negative
            _ if parts > 2 && !self.atoms[usize::from(atom)].range.is_at_least(0) => false,
            Sign::NonNegative => self.at_an_end(goal, atom, true),
            Sign::NonPositive => self.at_an_end(goal, atom, false),
            Sign::Unknown => {
                parts == 2 && self.at_an_end(goal, atom, true) && self.at_an_end(goal, atom, false)
            }
        }
    }

    fn at_an_end(&mut self, goal: &Poly, atom: AtomId, lower: bool) -> bool {
        let Side { bounds, number } = self.end(atom, lower);
        let linear = goal.degree(atom) == 1;
        let fits = |p: &Self, bound: &Poly| linear || p.range(bound).is_at_least(0);
        bounds.iter().any(|bound| fits(self, bound) && self.with(goal, atom, bound))
            || number.is_some_and(|number| {
                let bound = Poly::constant(number);
                !bounds.contains(&bound) && self.with(goal, atom, &bound)
            })
    }

    fn end(&self, atom: AtomId, lower: bool) -> Side {
        let atom = &self.atoms[usize::from(atom)];
        if lower {
            Side { bounds: atom.lower.clone(), number: atom.range.lo }
        } else {
            Side { bounds: atom.upper.clone(), number: atom.range.hi }
        }
    }

    /// Whether the ranges of an atom and of a value meet.
    fn can_be(&self, atom: AtomId, value: &Poly) -> bool {
        let (atom, value) = (self.atoms[usize::from(atom)].range, self.range(value));
        let apart = |hi: Option<i128>, lo: Option<i128>| hi.zip(lo).is_some_and(|(hi, lo)| hi < lo);
        !apart(value.hi, atom.lo) && !apart(atom.hi, value.lo)
    }

    fn with(&mut self, goal: &Poly, atom: AtomId, value: &Poly) -> bool {
        self.spend(goal.len()) && goal.substitute(atom, value).is_some_and(|goal| self.nonneg(&goal))
    }

    /// Tries `goal` with a variable of a floor written as quotient and rest: `v + w = b q + r`.
    fn split(&mut self, goal: &Poly, floor: AtomId) -> Option<bool> {
        let Kind::Floor(a, b) = self.atoms[usize::from(floor)].kind.clone() else { return None };
        let (var, factor) = splittable(&a, &b)?;
        let others = a.sub(&Poly::atom(var).mul(&Poly::constant(factor))?)?;
        let quotient = self.quotient(floor, var, factor, &others, &b)?;
        let rest = self.rest(floor, &b)?;
        let value = quotient.mul(&b)?.add(&rest)?.sub(&others)?.mul(&Poly::constant(factor))?;
        let goal = self.replace(goal, var, &value)?;
        Some(self.nonneg(&goal))
    }

    fn quotient(
        &mut self,
        floor: AtomId,
        var: AtomId,
        factor: i128,
        others: &Poly,
        by: &Poly,
    ) -> Option<Poly> {
        let kind = Kind::Quotient(floor, var);
        if let Some(atom) = self.find(&kind) {
            return Some(atom);
        }
        let (mut lower, mut upper) = (self.end(var, true).bounds, self.end(var, false).bounds);
        if factor < 0 {
            (lower, upper) = (upper, lower);
        }
        let lower = self.quotients(&lower, factor, others, by);
        let upper = self.quotients(&upper, factor, others, by);
        let range = self.atoms[usize::from(floor)].range;
        self.define(kind, lower, upper, range)
    }

    fn quotients(&mut self, ends: &[Poly], factor: i128, others: &Poly, by: &Poly) -> Vec<Poly> {
        let quotient = |end: &Poly| {
            let top = end.mul(&Poly::constant(factor))?.add(others)?;
            self.nested(|p| p.floor(&top, by))
        };
        ends.iter().filter_map(quotient).collect()
    }

    fn rest(&mut self, floor: AtomId, by: &Poly) -> Option<Poly> {
        let kind = Kind::Rest(floor);
        if let Some(atom) = self.find(&kind) {
            return Some(atom);
        }
        let range = Interval { lo: Some(0), hi: None };
        self.define(kind, vec![Poly::default()], vec![by.plus(-1)?], range)
    }

    fn common_sign(&mut self, parts: &[Poly]) -> Sign {
        let used: Vec<&Poly> = parts.iter().filter(|part| part.len() > 0).collect();
        let first = used.first().map_or(Sign::NonNegative, |part| self.sign(part));
        if used.iter().skip(1).all(|part| self.sign(part) == first) { first } else { Sign::Unknown }
    }

    fn sign(&mut self, poly: &Poly) -> Sign {
        if self.nonneg(poly) {
            Sign::NonNegative
        } else if Poly::default().sub(poly).is_some_and(|negated| self.nonneg(&negated)) {
            Sign::NonPositive
        } else {
            Sign::Unknown
        }
    }
}

/// One side of an atom: bounds over other atoms, and a number.
struct Side {
    bounds: Vec<Poly>,
    number: Option<i128>,
}

/// The last atom of `a` that occurs in it once, with coefficient 1 or -1, and not in `b`.
fn splittable(a: &Poly, b: &Poly) -> Option<(AtomId, i128)> {
    let alone = a.terms().filter(|(product, factor)| product.len() == 1 && factor.abs() == 1);
    let candidates = alone.map(|(product, factor)| (product[0], factor));
    candidates
        .filter(|(atom, _)| a.degree(*atom) == 1 && b.degree(*atom) == 0)
        .filter(|(atom, _)| a.terms().filter(|(product, _)| product.contains(atom)).count() == 1)
        .max()
}
