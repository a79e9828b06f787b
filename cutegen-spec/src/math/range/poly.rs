//! [`Poly`]: integer polynomials over numbered atoms. It doesn't know what an atom stands for.
//!
//! No term has coefficient 0, so equal polynomials are equal values. Every operation is checked: overflow, too many
//! terms and too high a degree give `None`.

/// A position in the prover's list of atoms.
pub(super) type AtomId = u8;

const MAX_TERMS: usize = 64;
const MAX_DEGREE: usize = 8;

/// A sum of products of atoms, in the products' order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Poly {
    terms: Vec<(Product, i128)>,
}

/// Atoms in ascending order, repeated for powers; unused places are 0. The order is by degree first, so that
/// multiplying both sides keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    len: u8,
    atoms: [AtomId; MAX_DEGREE],
}

impl Product {
    const ONE: Product = Product { len: 0, atoms: [0; MAX_DEGREE] };

    fn of(atom: AtomId) -> Product {
        Product { len: 1, atoms: [atom, 0, 0, 0, 0, 0, 0, 0] }
    }

    fn atoms(&self) -> &[AtomId] {
        &self.atoms[..usize::from(self.len)]
    }

    /// The product of atoms in ascending order.
    fn collect(atoms: impl Iterator<Item = AtomId>) -> Option<Product> {
        let mut product = Product::ONE;
        for atom in atoms {
            *product.atoms.get_mut(usize::from(product.len))? = atom;
            product.len += 1;
        }
        Some(product)
    }

    fn mul(&self, other: &Product) -> Option<Product> {
        let mut product = Product::collect(self.atoms().iter().chain(other.atoms()).copied())?;
        product.atoms[..usize::from(product.len)].sort_unstable();
        Some(product)
    }

    fn power(&self, atom: AtomId) -> usize {
        self.atoms().iter().filter(|a| **a == atom).count()
    }

    fn without_all(&self, atom: AtomId) -> Product {
        Product::collect(self.atoms().iter().copied().filter(|a| *a != atom)).unwrap_or(Product::ONE)
    }

    /// This without the atoms of `divisor`, where it has them all.
    fn divide(&self, divisor: &Product) -> Option<Product> {
        let mut taken = divisor.atoms().iter().copied().peekable();
        let rest =
            Product::collect(self.atoms().iter().copied().filter(|atom| taken.next_if_eq(atom).is_none()))?;
        taken.peek().is_none().then_some(rest)
    }
}

impl Poly {
    pub(super) fn constant(value: i128) -> Poly {
        Poly { terms: (value != 0).then_some((Product::ONE, value)).into_iter().collect() }
    }

    pub(super) fn atom(id: AtomId) -> Poly {
        Poly { terms: vec![(Product::of(id), 1)] }
    }

    pub(super) fn as_constant(&self) -> Option<i128> {
        self.terms.iter().all(|(product, _)| product.len == 0).then(|| self.constant_term())
    }

    /// `(a, c)` where this polynomial is `c * a` and a constant.
    pub(super) fn as_scaled_atom(&self) -> Option<(AtomId, i128)> {
        let mut products = self.terms.iter().filter(|(product, _)| product.len > 0);
        match (products.next(), products.next()) {
            (Some((product, factor)), None) if product.len == 1 => Some((product.atoms[0], *factor)),
            _ => None,
        }
    }

    pub(super) fn constant_term(&self) -> i128 {
        self.terms.first().filter(|(product, _)| product.len == 0).map_or(0, |(_, factor)| *factor)
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = (&[AtomId], i128)> {
        self.terms.iter().map(|(product, factor)| (product.atoms(), *factor))
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The atoms that occur, ascending.
    pub(super) fn atoms(&self) -> Vec<AtomId> {
        let mut atoms: Vec<AtomId> =
            self.terms.iter().flat_map(|(product, _)| product.atoms()).copied().collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    pub(super) fn degree(&self, atom: AtomId) -> usize {
        self.terms.iter().map(|(product, _)| product.power(atom)).max().unwrap_or(0)
    }

    pub(super) fn add(&self, other: &Poly) -> Option<Poly> {
        let mut sum = self.clone();
        other.terms.iter().try_for_each(|(product, factor)| sum.push(*product, *factor))?;
        Some(sum)
    }

    pub(super) fn sub(&self, other: &Poly) -> Option<Poly> {
        let mut sum = self.clone();
        other.terms.iter().try_for_each(|(product, factor)| sum.push(*product, factor.checked_neg()?))?;
        Some(sum)
    }

    pub(super) fn plus(&self, value: i128) -> Option<Poly> {
        let mut sum = self.clone();
        sum.push(Product::ONE, value)?;
        Some(sum)
    }

    pub(super) fn mul(&self, other: &Poly) -> Option<Poly> {
        let mut result = Poly::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                result.push(left.mul(right)?, a.checked_mul(*b)?)?;
            }
        }
        Some(result)
    }

    /// The coefficient of each power of `atom`, from power 0 up.
    pub(super) fn parts(&self, atom: AtomId) -> Vec<Poly> {
        let mut parts = vec![Poly::default(); self.degree(atom) + 1];
        // leaving out the same power of an atom everywhere keeps the order
        for (product, factor) in &self.terms {
            parts[product.power(atom)].terms.push((product.without_all(atom), *factor));
        }
        parts
    }

    /// This polynomial with `value` in place of `atom`.
    pub(super) fn substitute(&self, atom: AtomId, value: &Poly) -> Option<Poly> {
        let mut parts = self.parts(atom).into_iter().rev();
        let mut result = parts.next()?;
        for part in parts {
            result = result.mul(value)?.add(&part)?;
        }
        Some(result)
    }

    /// `(q, r)` with `self = q * divisor + r`; `r` keeps what the divisor's leading term doesn't divide.
    pub(super) fn divide(&self, divisor: &Poly) -> Option<(Poly, Poly)> {
        let (lead, by) = divisor.leading()?;
        let (mut quotient, mut rest) = (Poly::default(), self.clone());
        for _ in 0..MAX_TERMS {
            let next = rest.terms.iter().filter(|(_, factor)| *factor % by == 0);
            let next = next.filter_map(|(product, factor)| Some((product.divide(&lead)?, factor / by)));
            let Some(step) = next.max() else {
                return Some((quotient, rest));
            };
            let step = Poly { terms: vec![step] };
            rest = rest.sub(&step.mul(divisor)?)?;
            quotient = quotient.add(&step)?;
        }
        None
    }

    /// `self / divisor` where that leaves nothing.
    pub(super) fn divide_exactly(&self, divisor: &Poly) -> Option<Poly> {
        self.divide(divisor).filter(|(_, rest)| rest.terms.is_empty()).map(|(quotient, _)| quotient)
    }

    /// The greatest common divisor of all coefficients but the constant; 0 for constants.
    pub(super) fn content(&self) -> i128 {
        let factors = self.terms.iter().filter(|(product, _)| product.len > 0);
        factors.fold(0, |common, (_, factor)| gcd(common, *factor))
    }

    /// Every coefficient divided by `by`, rounding down; exact but for the constant when `by` divides the content.
    pub(super) fn floor_all(&self, by: i128) -> Poly {
        let terms = self.terms.iter().map(|(product, factor)| (*product, factor.div_euclid(by)));
        Poly { terms: terms.filter(|(_, factor)| *factor != 0).collect() }
    }

    /// `(q, r)` with `self = q * by + r`, the coefficients of `r` nearest to 0 and its constant in `0..by`.
    pub(super) fn divide_nearest(&self, by: i128) -> Option<(Poly, Poly)> {
        let (mut quotient, mut rest) = (Poly::default(), Poly::default());
        for (product, factor) in &self.terms {
            let small = factor.rem_euclid(by);
            let small = if product.len > 0 && small > by / 2 { small - by } else { small };
            quotient.push(*product, factor.checked_sub(small)? / by)?;
            rest.push(*product, small)?;
        }
        Some((quotient, rest))
    }

    fn leading(&self) -> Option<(Product, i128)> {
        self.terms.last().copied()
    }

    fn push(&mut self, product: Product, factor: i128) -> Option<()> {
        match self.terms.binary_search_by_key(&product, |(product, _)| *product) {
            Ok(place) => match self.terms[place].1.checked_add(factor)? {
                0 => drop(self.terms.remove(place)),
                // has no negative, and would overflow in divisions by -1
                i128::MIN => return None,
                sum => self.terms[place].1 = sum,
            },
            Err(_) if factor == 0 => {}
            Err(_) if factor == i128::MIN || self.terms.len() == MAX_TERMS => return None,
            Err(place) => self.terms.insert(place, (product, factor)),
        }
        Some(())
    }
}

pub(super) fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::Poly;

    #[test]
    fn divides_with_rest_and_exactly() {
        let (x, y) = (Poly::atom(0), Poly::atom(1));
        let divisor = x.add(&y).and_then(|p| p.plus(-1)).unwrap_or_default();
        let both = divisor.mul(&x).unwrap_or_default();
        assert_eq!(both.divide_exactly(&divisor), Some(x.clone()));
        assert_eq!(both.plus(3).and_then(|p| p.divide(&divisor)), Some((x, Poly::constant(3))));
        assert_eq!(divisor.divide(&Poly::default()), None);
    }

    #[test]
    fn too_large_is_none() {
        let large = Poly::constant(i128::MAX);
        assert_eq!(large.plus(1), None);
        assert_eq!(large.mul(&Poly::constant(2)), None);
        let many = (0..65).try_fold(Poly::default(), |sum, id| sum.add(&Poly::atom(id)));
        assert_eq!(many, None);
    }
}
