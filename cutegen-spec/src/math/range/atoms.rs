//! [`Prover`]: the numbered atoms of one question, each with what bounds it. It doesn't know which question.
//!
//! An atom is numbered after all atoms that its bounds mention, so going from the last to the first one eliminates
//! them all. Every bound holds wherever the access happens: any of them may be used at any time.

use super::Domain;
use super::interval::Interval;
use super::poly::{AtomId, Poly};
use crate::axis::Extent;
use crate::math::index::Index;

/// What one question may cost, in terms looked at.
const FUEL: u32 = 3_000;
const MAX_DEPTH: u32 = 96;

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A run-time axis, divided by what it is a multiple of.
    Axis(usize),
    /// A loop variable.
    Var(usize),
    /// An element of an integer input.
    Read(usize, Vec<Index>),
    /// `floor(a / b)`, `b` proved positive.
    Floor(Poly, Poly),
    /// The smaller one.
    Min(Poly, Poly),
    /// The larger one.
    Max(Poly, Poly),
    /// The value of a floor once a variable is split by it.
    Quotient(AtomId, AtomId),
    /// What that division leaves.
    Rest(AtomId),
}

/// An atom and its bounds.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) kind: Kind,
    /// The atom is at least each of these.
    pub(super) lower: Vec<Poly>,
    /// The atom is at most each of these.
    pub(super) upper: Vec<Poly>,
    pub(super) range: Interval,
}

/// The state of one question.
pub(super) struct Prover<'a> {
    pub(super) domain: Domain<'a>,
    pub(super) atoms: Vec<Atom>,
    /// Loop variables whose bounds are being read: a bound that mentions one of them is dropped.
    open: Vec<usize>,
    fuel: u32,
    depth: u32,
}

impl<'a> Prover<'a> {
    pub(super) fn new(domain: Domain<'a>) -> Prover<'a> {
        Prover { domain, atoms: Vec::new(), open: Vec::new(), fuel: FUEL, depth: 0 }
    }

    /// Pays for looking at `terms` terms; `false` once this question has cost enough.
    pub(super) fn spend(&mut self, terms: usize) -> bool {
        let cost = u32::try_from(terms).unwrap_or(FUEL).saturating_add(1);
        self.fuel = self.fuel.saturating_sub(cost);
        self.fuel > 0
    }

    /// `f` one level further down; `None` when that is too deep or this question has cost enough.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH || !self.spend(0) {
            return None;
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    pub(super) fn find(&self, kind: &Kind) -> Option<Poly> {
        let position = self.atoms.iter().position(|atom| atom.kind == *kind)?;
        Some(Poly::atom(AtomId::try_from(position).ok()?))
    }

    pub(super) fn define(
        &mut self,
        kind: Kind,
        lower: Vec<Poly>,
        upper: Vec<Poly>,
        range: Interval,
    ) -> Option<Poly> {
        let id = AtomId::try_from(self.atoms.len()).ok()?;
        let lowest = lower.iter().filter_map(|bound| self.range(bound).lo).chain(range.lo).max();
        let highest = upper.iter().filter_map(|bound| self.range(bound).hi).chain(range.hi).min();
        self.atoms.push(Atom { kind, lower, upper, range: Interval { lo: lowest, hi: highest } });
        Some(Poly::atom(id))
    }

    pub(super) fn range(&self, poly: &Poly) -> Interval {
        poly.terms().fold(Interval::of(0, 0), |sum, (product, factor)| {
            let ranges = product.iter().map(|atom| self.atoms[usize::from(*atom)].range);
            sum.add(ranges.reduce(Interval::mul).unwrap_or(Interval::of(1, 1)).scale(factor))
        })
    }

    /// The extent of an axis; `known` axes may be mentioned.
    pub(super) fn axis(&mut self, axis: usize, known: usize) -> Option<Poly> {
        let axes = self.domain.axes;
        match &axes.get(axis).filter(|_| axis < known)?.extent {
            Extent::Const(value) => Some(Poly::constant(i128::from(*value))),
            Extent::Derived(expr) => self.nested(|p| p.expr(expr, axis)),
            Extent::Range { lo, hi, multiple_of, .. } => {
                let (step, steps) = super::steps(*lo, *hi, *multiple_of)?;
                let first = if self.is_looped(axis) { (*steps.start()).max(1) } else { *steps.start() };
                let kind = Kind::Axis(axis);
                let atom = match self.find(&kind) {
                    Some(atom) => atom,
                    None => {
                        let (lo, hi) = (i128::from(first), i128::from(*steps.end()));
                        (lo <= hi).then_some(())?;
                        let ends = (vec![Poly::constant(lo)], vec![Poly::constant(hi)]);
                        self.define(kind, ends.0, ends.1, Interval::of(lo, hi))?
                    }
                };
                atom.mul(&Poly::constant(i128::from(step)))
            }
        }
    }

    pub(super) fn var(&mut self, var: usize) -> Option<Poly> {
        if let Some(atom) = self.find(&Kind::Var(var)) {
            return Some(atom);
        }
        let bound = self.domain.vars.get(var).filter(|_| !self.open.contains(&var))?.as_ref()?;
        self.open.push(var);
        let extent = self.axis(bound.axis, self.domain.axes.len());
        let to = bound.to.as_ref().and_then(|to| self.index(to));
        let from = bound.from.as_ref().and_then(|from| self.index(from));
        self.open.pop();
        if let Some(extent) = extent.as_ref().and_then(|extent| extent.plus(-1)) {
            self.assume(&extent);
        }
        let lower = [from, Some(Poly::default())].into_iter().flatten().collect();
        let upper = [to, extent].into_iter().flatten().filter_map(|end| end.plus(-1)).collect();
        self.define(Kind::Var(var), lower, upper, Interval::ANY)
    }

    pub(super) fn read(&mut self, tensor: usize, at: &[Index]) -> Option<Poly> {
        let kind = Kind::Read(tensor, at.to_vec());
        if let Some(atom) = self.find(&kind) {
            return Some(atom);
        }
        let range = (self.domain.reads)(tensor)?;
        let known = self.domain.axes.len();
        let from = self.expr(&range.from, known);
        let to = self.expr(&range.to, known).and_then(|to| to.plus(-1));
        self.define(kind, from.into_iter().collect(), to.into_iter().collect(), Interval::ANY)
    }

    /// Uses that `fact >= 0` where the access happens: loops around it are not empty.
    fn assume(&mut self, fact: &Poly) {
        let Some((atom, factor)) = fact.as_scaled_atom().filter(|(_, factor)| *factor > 0) else { return };
        // factor * atom >= -constant, rounded up
        let end = -fact.constant_term().div_euclid(factor);
        let atom = &mut self.atoms[usize::from(atom)];
        if atom.range.is_at_least(end) || atom.range.hi.is_some_and(|hi| hi < end) {
            return;
        }
        atom.range.lo = Some(end);
        if let Kind::Floor(a, b) = atom.kind.clone()
            && let Some(fact) = b.mul(&Poly::constant(end)).and_then(|least| a.sub(&least))
        {
            self.assume(&fact);
        }
    }

    /// Whether a loop around the access runs over this axis, which is then not empty.
    fn is_looped(&self, axis: usize) -> bool {
        self.domain.vars.iter().flatten().any(|bound| bound.axis == axis)
    }
}
