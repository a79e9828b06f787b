//! Functions of reals as an honest kernel may compute them: correctly rounded, anywhere within the documented error, or
//! written out.

use cutegen_spec::math::Unary;

use super::style::{Functions, Rng, Style};

/// Roundings that the table of errors allows a function.
fn roundings(op: Unary) -> f64 {
    match op {
        Unary::Sqrt => 2.0,
        Unary::Tanh | Unary::Erf | Unary::Sigmoid | Unary::Softplus => 8.0,
        _ => 4.0,
    }
}

/// `op` of a real.
pub(crate) fn unary(op: Unary, x: f64, style: &Style, rng: &mut Rng) -> f64 {
    let mut f = |op, x| inexact(op, x, style, rng);
    let (round, half) = (|v| style.round(v), 0.5);
    match op {
        Unary::Silu => round(x * f(Unary::Sigmoid, x)),
        Unary::Gelu => {
            let root = round(std::f64::consts::FRAC_1_SQRT_2);
            let erf = f(Unary::Erf, round(x * root));
            round(round(half * x) * round(1.0 + erf))
        }
        Unary::GeluTanh => {
            let cubic = round(x + round(round(round(round(0.044715) * x) * x) * x));
            let tanh = f(Unary::Tanh, round(round(0.797_884_560_802_865_4) * cubic));
            round(round(half * x) * round(1.0 + tanh))
        }
        _ => exact_step(op, x).unwrap_or_else(|| f(op, x)),
    }
}

/// Functions without rounding.
fn exact_step(op: Unary, x: f64) -> Option<f64> {
    Some(match op {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Relu if x.is_nan() => x,
        Unary::Relu => x.max(0.0),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::Sign if x.is_nan() || x == 0.0 => x,
        Unary::Sign => x.signum(),
        _ => return None,
    })
}

fn inexact(op: Unary, x: f64, style: &Style, rng: &mut Rng) -> f64 {
    let v = match (style.functions, composed(op, x, style)) {
        (Functions::Composed, Some(v)) => return v,
        _ => precise(op, x),
    };
    let stray = match style.functions {
        // at an infinite argument a function is its limit
        Functions::Worst if v.is_finite() && x.is_finite() => {
            v.abs() * (roundings(op) - 1.0) * style.unit() * rng.swing()
        }
        _ => 0.0,
    };
    style.round(v + stray)
}

/// A function out of simpler ones, as kernels write them.
fn composed(op: Unary, x: f64, style: &Style) -> Option<f64> {
    let round = |v: f64| style.round(v);
    Some(match op {
        Unary::Sigmoid => round(1.0 / round(1.0 + round((-x).exp()))),
        Unary::Rsqrt => round(1.0 / round(x.sqrt())),
        Unary::Softplus if !x.is_nan() => round(x.max(0.0) + round(round((-x.abs()).exp()).ln_1p())),
        Unary::Exp => round(round(x.exp())),
        _ => return None,
    })
}

fn precise(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Exp => x.exp(),
        Unary::Exp2 => x.exp2(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Log => x.ln(),
        Unary::Log2 => x.log2(),
        Unary::Log1p => x.ln_1p(),
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => 1.0 / x.sqrt(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => x.tanh(),
        Unary::Erf => erf(x),
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Softplus if x.is_nan() => x,
        Unary::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        _ => f64::NAN,
    }
}

/// `2 / sqrt(pi) exp(-x^2) sum of (2 x^2)^n x / (1 3 5 ... (2 n + 1))`: every term has one sign.
fn erf(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    let (mut term, mut total, mut n) = (x, x, 1.0);
    while term.abs() > total.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        total += term;
        n += 1.0;
    }
    total * std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp()
}

/// `x` to the power `y`.
pub(crate) fn pow(x: f64, y: f64, style: &Style, rng: &mut Rng) -> f64 {
    let v = x.powf(y);
    let strays = style.functions == Functions::Worst && v.is_finite();
    style.round(if strays { v + v.abs() * 7.0 * style.unit() * rng.swing() } else { v })
}
