//! Expressions as polynomials: what is no sum or product becomes an atom, in a form in which equal things meet.
//!
//! A divisor must be proved positive; there is no polynomial without that.

use super::atoms::{Kind, Prover};
use super::interval::Interval;
use super::poly::{AtomId, Poly, gcd};
use crate::int_expr::{IntExpr, IntOp};
use crate::math::index::Index;

impl Prover<'_> {
    pub(super) fn index(&mut self, index: &Index) -> Option<Poly> {
        match index {
            Index::Const(value) => Some(Poly::constant(i128::from(*value))),
            Index::Extent(axis) => self.axis(*axis, self.domain.axes.len()),
            Index::Var(var) => self.nested(|p| p.var(*var)),
            Index::Read(tensor, at) => self.nested(|p| p.read(*tensor, at)),
            Index::Op(op, a, b) => self.nested(|p| {
                let a = p.index(a)?;
                let b = p.index(b)?;
                p.op(*op, &a, &b)
            }),
        }
    }

    /// `known` axes may be mentioned.
    pub(super) fn expr(&mut self, expr: &IntExpr, known: usize) -> Option<Poly> {
        match expr {
            IntExpr::Const(value) => Some(Poly::constant(i128::from(*value))),
            IntExpr::Axis(axis) => self.axis(*axis, known),
            IntExpr::Device(_) => None,
            IntExpr::Op(op, a, b) => self.nested(|p| {
                let a = p.expr(a, known)?;
                let b = p.expr(b, known)?;
                p.op(*op, &a, &b)
            }),
        }
    }

    /// This polynomial with `value` in place of an atom, inside other atoms too.
    pub(super) fn replace(&mut self, poly: &Poly, atom: AtomId, value: &Poly) -> Option<Poly> {
        let mut result = poly.clone();
        for inner in poly.atoms().into_iter().filter(|inner| *inner > atom).rev() {
            let kind = self.atoms[usize::from(inner)].kind.clone();
            let new = match &kind {
                _ if !self.mentions(inner, atom) => continue,
                Kind::Floor(a, b) => self.both(a, b, atom, value, |p, a, b| p.floor(a, b)),
                Kind::Min(a, b) => self.both(a, b, atom, value, |p, a, b| p.op(IntOp::Min, a, b)),
                Kind::Max(a, b) => self.both(a, b, atom, value, |p, a, b| p.op(IntOp::Max, a, b)),
                _ => continue,
            }?;
            result = result.substitute(inner, &new)?;
        }
        result.substitute(atom, value)
    }

    /// `floor(a / b)`
    pub(super) fn floor(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        if !self.nonneg(&b.plus(-1)?) {
            return None;
        }
        let (whole, rest) = match b.as_constant() {
            Some(1) => return Some(a.clone()),
            Some(by) => self.whole_part(a, by)?,
            None => a.divide(b)?,
        };
        let part = match self.known_quotient(&rest, b) {
            Some(known) => Poly::constant(known),
            None => self.floor_atom(&rest, b)?,
        };
        whole.add(&part)
    }

    /// The value where the ranges leave one, and 0 where `0 <= rest < by` is proved.
    fn known_quotient(&mut self, rest: &Poly, by: &Poly) -> Option<i128> {
        let range = self.range(rest).floor_div(self.range(by));
        if range.lo.is_some() && range.lo == range.hi {
            return range.lo;
        }
        let below = by.sub(rest)?.plus(-1)?;
        let possible = !range.is_at_most(-1) && !range.is_at_least(1);
        (possible && self.nonneg(rest) && self.nonneg(&below)).then_some(0)
    }

    /// Takes multiples of `by` off: only those that are, when what stays is below `by`, else as much as can be.
    fn whole_part(&mut self, a: &Poly, by: i128) -> Option<(Poly, Poly)> {
        if self.known_quotient(a, &Poly::constant(by)) == Some(0) {
            return Some((Poly::default(), a.clone()));
        }
        a.divide_nearest(by)
    }

    fn floor_atom(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let (mut a, mut b) = (a.clone(), b.clone());
        if let Some(by) = b.as_constant() {
            let common = gcd(a.content(), by);
            (a, b) = (a.floor_all(common), Poly::constant(by / common));
        }
        if let Some((inner, 1)) = a.as_scaled_atom()
            && let Kind::Floor(c, d) = self.atoms[usize::from(inner)].kind.clone()
        {
            // floor((floor(c / d) + s) / b) = floor((c + s d) / (d b))
            let top = c.add(&d.mul(&Poly::constant(a.constant_term()))?)?;
            return self.nested(|p| p.floor(&top, &d.mul(&b)?));
        }
        let kind = Kind::Floor(a.clone(), b.clone());
        if let Some(atom) = self.find(&kind) {
            return Some(atom);
        }
        let range = self.range(&a).floor_div(self.range(&b));
        let zero = !range.is_at_least(0) && self.nonneg(&a);
        self.define(kind, zero.then(Poly::default).into_iter().collect(), Vec::new(), range)
    }

    fn op(&mut self, op: IntOp, a: &Poly, b: &Poly) -> Option<Poly> {
        match op {
            IntOp::Add => a.add(b),
            IntOp::Sub => a.sub(b),
            IntOp::Mul => a.mul(b),
            IntOp::Div => self.floor(a, b),
            IntOp::Rem => a.sub(&self.floor(a, b)?.mul(b)?),
            IntOp::CeilDiv => self.floor(&a.add(b)?.plus(-1)?, b),
            IntOp::Min | IntOp::Max => self.choice(op == IntOp::Min, a, b),
        }
    }

    /// The smaller or the larger one.
    fn choice(&mut self, min: bool, a: &Poly, b: &Poly) -> Option<Poly> {
        let gap = b.sub(a)?;
        if self.nonneg(&gap) {
            return Some(if min { a.clone() } else { b.clone() });
        }
        if self.nonneg(&Poly::default().sub(&gap)?) {
            return Some(if min { b.clone() } else { a.clone() });
        }
        let kind = if min { Kind::Min(a.clone(), b.clone()) } else { Kind::Max(a.clone(), b.clone()) };
        if let Some(atom) = self.find(&kind) {
            return Some(atom);
        }
        let (x, y, ends) = (self.range(a), self.range(b), vec![a.clone(), b.clone()]);
        if min {
            let lo = x.lo.zip(y.lo).map(|(a, b)| a.min(b));
            self.define(kind, Vec::new(), ends, Interval { lo, hi: None })
        } else {
            let hi = x.hi.zip(y.hi).map(|(a, b)| a.max(b));
            self.define(kind, ends, Vec::new(), Interval { lo: None, hi })
        }
    }

    fn both(
        &mut self,
        a: &Poly,
        b: &Poly,
        atom: AtomId,
        value: &Poly,
        make: impl FnOnce(&mut Self, &Poly, &Poly) -> Option<Poly>,
    ) -> Option<Poly> {
        self.nested(|p| {
            let a = p.replace(a, atom, value)?;
            let b = p.replace(b, atom, value)?;
            make(p, &a, &b)
        })
    }

    fn mentions(&self, outer: AtomId, atom: AtomId) -> bool {
        match &self.atoms[usize::from(outer)].kind {
            _ if outer <= atom => outer == atom,
            Kind::Floor(a, b) | Kind::Min(a, b) | Kind::Max(a, b) => {
                [a, b].into_iter().flat_map(Poly::atoms).any(|inner| self.mentions(inner, atom))
            }
            Kind::Axis(_) | Kind::Var(_) | Kind::Read(..) | Kind::Quotient(..) | Kind::Rest(_) => false,
        }
    }
}
