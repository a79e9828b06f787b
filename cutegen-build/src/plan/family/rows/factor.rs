//! What all elements of a row are multiplied by: it leaves their maximum, and a level of reductions with it; and what is written
//! of the same elements is a product by one factor.

use cutegen_spec::math::{Binary, Expr, ReduceOp, Unary};

/// The maximum of `|c x|`, where c is of the row, as `|c|` times that of `|x|`: c and x. Rounding the maximum, and a product once
/// more, is within what a bound allows for products in any order; but x may leave a float's range where `c x` does not.
pub(super) fn factored(op: ReduceOp, body: &Expr, cols: &[usize]) -> Option<(Expr, Expr)> {
    let (ReduceOp::Max, Expr::Unary(Unary::Abs, product)) = (op, body) else { return None };
    let factors = Factors::of(product, cols);
    Some((factors.of_row?, factors.of_element?))
}

/// `expr` with every product of one of `elements` and factors of the row as that element times one factor.
pub(super) fn gathered(expr: &Expr, elements: &[Expr], cols: &[usize]) -> Expr {
    match Factors::of(expr, cols) {
        Factors { of_row: Some(of_row), of_element: Some(element) } if elements.contains(&element) => {
            element.binary(Binary::Mul, of_row)
        }
        _ => expr.map_children(&mut |child| gathered(child, elements, cols)),
    }
}

/// The factors of a product; a part is `None` where none are.
struct Factors {
    of_row: Option<Expr>,
    of_element: Option<Expr>,
}

impl Factors {
    fn of(expr: &Expr, cols: &[usize]) -> Factors {
        let of_element = |expr: &Expr| expr.free_vars().iter().any(|var| cols.contains(var));
        match expr {
            _ if !of_element(expr) => Factors { of_row: Some(expr.clone()), of_element: None },
            Expr::Binary(Binary::Mul, a, b) => {
                let (a, b) = (Factors::of(a, cols), Factors::of(b, cols));
                Factors {
                    of_row: product(a.of_row, b.of_row),
                    of_element: product(a.of_element, b.of_element),
                }
            }
            Expr::Binary(Binary::Div, a, by) if !of_element(by) => {
                let a = Factors::of(a, cols);
                let of_row = a.of_row.unwrap_or(Expr::Const(1.0)).binary(Binary::Div, by.as_ref().clone());
                Factors { of_row: Some(of_row), of_element: a.of_element }
            }
            _ => Factors { of_row: None, of_element: Some(expr.clone()) },
        }
    }
}

fn product(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.binary(Binary::Mul, b)),
        (a, b) => a.or(b),
    }
}
