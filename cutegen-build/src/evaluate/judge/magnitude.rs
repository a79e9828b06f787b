//! How large integers may be so that none of the math leaves what kernels hold. Pure; it must not know how inputs are
//! drawn.

use cutegen_spec::dtype::DType;
use cutegen_spec::math::{Binary, Expr, Kind, Loop, Place, ReduceOp, Unary};
use cutegen_spec::spec::KernelSpec;

/// The largest magnitude of elements of integer inputs at which every integer of the math fits: `i32`, or 2^53 where a
/// tensor is of `i64`.
pub(in crate::evaluate) fn integers(spec: &KernelSpec, axes: &[i64]) -> i64 {
    let wide = spec.tensors.iter().any(|tensor| tensor.dtype == DType::I64);
    let (mut fits, mut leaves) = (1, if wide { 1 << 53 } else { i64::from(i32::MAX) + 1 });
    let limit = (leaves - 1) as f64;
    while leaves - fits > 1 {
        let middle = fits + (leaves - fits) / 2;
        if (Sizes { spec, axes, temps: Vec::new() }).largest(middle as f64) <= limit {
            fits = middle;
        } else {
            leaves = middle;
        }
    }
    fits
}

/// Magnitudes of what is assigned.
struct Sizes<'a> {
    spec: &'a KernelSpec,
    axes: &'a [i64],
    /// By position, as far as they are assigned.
    temps: Vec<f64>,
}

impl Sizes<'_> {
    /// The largest integer of the math where elements are of this size.
    fn largest(&mut self, element: f64) -> f64 {
        self.temps = vec![element; self.spec.math.temps.len()];
        let mut largest = 0.0_f64;
        for assign in &self.spec.math.assigns {
            let size = self.size(&assign.value, element, &mut largest);
            if let Place::Temp(temp) = assign.dst {
                self.temps[temp] = size;
            }
        }
        largest
    }

    /// The magnitude of a value, 1 of what is no integer; `largest` is that of all integers below.
    fn size(&self, expr: &Expr, element: f64, largest: &mut f64) -> f64 {
        let below: Vec<f64> =
            expr.children().into_iter().map(|child| self.size(child, element, largest)).collect();
        if expr.kind(&|place| self.kind(place)) != Kind::Int {
            return 1.0;
        }
        let most = below.iter().fold(0.0_f64, |most, size| most.max(*size));
        let size = match expr {
            Expr::Int(_) | Expr::Const(_) | Expr::Scalar(_) => self.longest(),
            Expr::Load(Place::Temp(temp), _) => self.temps[*temp],
            Expr::Pad(Place::Temp(temp), ..) => self.temps[*temp].max(most),
            Expr::Load(..) => element,
            Expr::Pad(..) => element.max(most),
            Expr::Binary(Binary::Add | Binary::Sub, ..) => below.iter().sum(),
            Expr::Binary(Binary::Mul, ..) => below.iter().product(),
            Expr::Reduce(ReduceOp::Sum, loops, _) => most * self.points(loops),
            Expr::Reduce(ReduceOp::Prod, loops, _) => most.max(1.0).powf(self.points(loops)),
            Expr::Reduce(ReduceOp::ArgMax | ReduceOp::ArgMin, ..) => self.longest(),
            Expr::Unary(Unary::Sign, _) => 1.0,
            // what a real becomes is held or saturates
            Expr::Cast(..) => most,
            _ => most,
        };
        *largest = largest.max(size);
        size
    }

    fn kind(&self, place: Place) -> Kind {
        match place {
            Place::Tensor(tensor) => Kind::of(self.spec.tensors[tensor].dtype),
            Place::Temp(temp) => self.spec.math.temps[temp].kind,
        }
    }

    /// The longest axis: no index is larger.
    fn longest(&self) -> f64 {
        self.axes.iter().copied().max().unwrap_or(1) as f64
    }

    fn points(&self, loops: &[Loop]) -> f64 {
        loops.iter().map(|l| self.axes[self.spec.math.vars[l.var]] as f64).product()
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::settings::Settings;

    use super::integers;

    fn of(dtype: &str, math: &str) -> i64 {
        let text = format!(
            "edition = 1\n[kernels.one]\naxes = {{ m = '1..=64', n = '1..=64', k = 'n' }}\n\
             inputs = {{ x = '{dtype}[m, n]', z = '{dtype}[m, n]' }}\noutputs = {{ y = '{dtype}[m, n]' }}\n\
             math = 'y[m, n] = {math}'"
        );
        let specs = spec_file(&text, &Settings::default()).into_kernels().expect("a right spec");
        integers(&specs[0], &[4, 32, 32])
    }

    #[test]
    fn sums_and_products_stay_in_what_kernels_hold() {
        assert_eq!(of("i64", "x[m, n] + z[m, n]"), ((1 << 53) - 1) / 2);
        assert_eq!(of("i32", "x[m, n] * z[m, n]"), 46340);
        assert_eq!(of("i64", "max(x[m, n], z[m, n])"), (1 << 53) - 1);
        assert_eq!(of("i32", "sum(k, x[m, k]) + z[m, n]"), i64::from(i32::MAX) / 33);
        assert_eq!(of("i32", "sum(k, x[m, k] * z[m, k])"), 8191);
    }
}
