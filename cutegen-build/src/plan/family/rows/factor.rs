//! What all elements of a row are multiplied by: it leaves their largest magnitude, and a level of reductions with it; and what is
//! written of the same elements is a product by one factor.

use cutegen_spec::math::{Binary, Expr, ReduceOp, Unary};

/// The largest of `|c x|`, where c is of the row, is `|c|` times that of `|x|`, with as many roundings. Where c could be infinite
/// beside an x of 0 it would not be, so c is made of roots of a sum and something positive, and of constants. x may leave a float's
/// range where `c x` does not.
pub(super) fn factored(op: ReduceOp, body: &Expr, cols: &[usize]) -> Option<Factors> {
    let (ReduceOp::Max, Expr::Unary(Unary::Abs, product)) = (op, body) else { return None };
    let factors = Factors::of(product, cols);
    let over =
        factors.over.iter().all(|factor| matches!(factor, Expr::Int(_)) || is_tame(factor, Unary::Rsqrt));
    let under = factors.under.iter().all(|factor| is_tame(factor, Unary::Sqrt));
    (over && under && !factors.of_element.is_empty()).then_some(factors)
}

/// Whether a factor of a row is finite whatever the inputs are, or no number: a constant, or this root of a sum and something
/// positive. For divisors that is what none is 0 of.
fn is_tame(factor: &Expr, root: Unary) -> bool {
    match factor {
        Expr::Const(value) => value.is_finite() && *value != 0.0,
        Expr::Unary(of, sum) if *of == root => match sum.as_ref() {
            Expr::Binary(Binary::Add, _, more) => {
                matches!(**more, Expr::Const(value) if value > 0.0) || matches!(**more, Expr::Scalar(_))
            }
            _ => false,
        },
        _ => false,
    }
}

/// `expr` with every product of one of `elements` and factors of the row as that element times one factor.
pub(super) fn gathered(expr: &Expr, elements: &[Expr], cols: &[usize]) -> Expr {
    let factors = Factors::of(expr, cols);
    match factors.element() {
        Some(element) if !factors.is_alone() && elements.contains(&element) => {
            match (product(&factors.over), product(&factors.under)) {
                (Some(over), Some(under)) => element.binary(Binary::Mul, over.binary(Binary::Div, under)),
                (Some(over), None) => element.binary(Binary::Mul, over),
                (None, Some(under)) => element.binary(Binary::Div, under),
                (None, None) => element,
            }
        }
        _ => expr.map_children(&mut |child| gathered(child, elements, cols)),
    }
}

/// The factors of a product, and what it is divided by: of the row, or of each element.
pub(super) struct Factors {
    over: Vec<Expr>,
    under: Vec<Expr>,
    of_element: Vec<Expr>,
}

impl Factors {
    fn of(expr: &Expr, cols: &[usize]) -> Factors {
        let mut found = Factors { over: Vec::new(), under: Vec::new(), of_element: Vec::new() };
        found.add(expr, cols);
        found
    }

    fn add(&mut self, expr: &Expr, cols: &[usize]) {
        let of_element = |expr: &Expr| expr.free_vars().iter().any(|var| cols.contains(var));
        match expr {
            Expr::Binary(Binary::Mul, a, b) => {
                self.add(a, cols);
                self.add(b, cols);
            }
            Expr::Binary(Binary::Div, a, by) if !of_element(by) => {
                self.add(a, cols);
                self.under.push(by.as_ref().clone());
            }
            other if of_element(other) => self.of_element.push(other.clone()),
            other => self.over.push(other.clone()),
        }
    }

    fn is_alone(&self) -> bool {
        self.over.is_empty() && self.under.is_empty()
    }

    /// The product of what is each element's.
    pub(super) fn element(&self) -> Option<Expr> {
        product(&self.of_element)
    }

    /// All that is of the row.
    pub(super) fn of_row(&self) -> impl Iterator<Item = &Expr> {
        self.over.iter().chain(&self.under)
    }

    /// `value` times the magnitude of all that is of the row.
    pub(super) fn times(&self, value: Expr) -> Expr {
        let magnitude = |factor: &Expr| factor.clone().unary(Unary::Abs);
        let scaled = self.over.iter().fold(value, |value, over| value.binary(Binary::Mul, magnitude(over)));
        self.under.iter().fold(scaled, |value, under| value.binary(Binary::Div, magnitude(under)))
    }
}

fn product(factors: &[Expr]) -> Option<Expr> {
    factors.iter().cloned().reduce(|a, b| a.binary(Binary::Mul, b))
}
