//! Hints against what they stand for: expressions are computed, and everything in backquotes is parsed.

use std::collections::{BTreeMap, BTreeSet};

use super::{FUNCTIONS, Instead, same_dtype, target};
use crate::arch::Arch;
use crate::axis::{Axis, Extent};
use crate::diagnostic::folded;
use crate::dtype::DType;
use crate::int_expr::IntExpr;
use crate::math::func::callable;
use crate::math::resolve::{Scope, resolve};
use crate::math::syntax::{Node, NodeKind, parse};
use crate::math::{Binary, Expr, Place, Unary};
use crate::tensor::{Role, Tensor};

fn function(word: &str) -> Option<String> {
    super::function(word, &callable().collect::<Vec<_>>())
}

/// What the first word of a row computes, here and not by its hint.
fn expected(word: &str) -> Option<fn(f64, f64, f64) -> f64> {
    Some(match word {
        "log10" => |x, _, _| x.log10(),
        "exp10" => |x, _, _| 10_f64.powf(x),
        "ldexp" => |x, y, _| x * 2_f64.powf(y),
        "square" => |x, _, _| x.powi(2),
        "cube" => |x, _, _| x.powi(3),
        "reciprocal" => |x, _, _| x.recip(),
        "cbrt" => |x, _, _| x.cbrt(),
        "hypot" => |x, y, _| x.hypot(y),
        "logaddexp" => |x, y, _| (x.exp() + y.exp()).ln(),
        "logaddexp2" => |x, y, _| (x.exp2() + y.exp2()).log2(),
        "rhypot" => |x, y, _| x.hypot(y).recip(),
        "fdim" => |x, y, _| if x > y { x - y } else { 0.0 },
        "isposinf" => |x, _, _| f64::from(u8::from(x == f64::INFINITY)),
        "isneginf" => |x, _, _| f64::from(u8::from(x == f64::NEG_INFINITY)),
        "float2half" | "half2float" | "float2bfloat16" => |x, _, _| x,
        "xlogy" => |x, y, _| if x == 0.0 { 0.0 } else { x * y.ln() },
        "logit" => |x, _, _| x.ln() - (1.0 - x).ln(),
        "tan" => |x, _, _| x.tan(),
        "sinpi" => |x, _, _| (std::f64::consts::PI * x).sin(),
        "cospi" => |x, _, _| (std::f64::consts::PI * x).cos(),
        "sinc" => |x, _, _| match std::f64::consts::PI * x {
            0.0 => 1.0,
            turned => turned.sin() / turned,
        },
        "sinh" => |x, _, _| x.sinh(),
        "cosh" => |x, _, _| x.cosh(),
        "asinh" => |x, _, _| x.asinh(),
        "acosh" => |x, _, _| x.acosh(),
        "atanh" => |x, _, _| x.atanh(),
        "deg2rad" => |x, _, _| x.to_radians(),
        "rad2deg" => |x, _, _| x.to_degrees(),
        "erfc" => |x, _, _| erfc(x),
        "normcdf" => |x, _, _| erfc(-x / 2_f64.sqrt()) / 2.0,
        "trunc" => |x, _, _| x.trunc(),
        "frac" => |x, _, _| x.fract(),
        "copysign" => |x, y, _| x.copysign(y),
        "heaviside" => |x, y, _| match x {
            0.0 => y,
            x => f64::from(u8::from(x > 0.0)),
        },
        "step" => |x, _, _| f64::from(u8::from(x >= 0.0)),
        "add" => |x, y, _| x + y,
        "sub" => |x, y, _| x - y,
        "mul" => |x, y, _| x * y,
        "div" => |x, y, _| x / y,
        "neg" => |x, _, _| -x,
        "fma" => |x, y, z| x.mul_add(y, z),
        "addcmul" => |x, y, z| y.mul_add(z, x),
        "addcdiv" => |x, y, z| x + y / z,
        "lerp" => |x, y, z| (1.0 - z) * x + z * y,
        "floordivide" => |x, y, _| (x / y).floor(),
        "clampmin" => |x, y, _| x.max(y),
        "clampmax" => |x, y, _| x.min(y),
        "saturate" => |x, _, _| x.clamp(0.0, 1.0),
        "isnan" => |x, _, _| f64::from(u8::from(x.is_nan())),
        "isinf" => |x, _, _| f64::from(u8::from(x.is_infinite())),
        "isfinite" => |x, _, _| f64::from(u8::from(x.is_finite())),
        "eq" => |x, y, _| f64::from(u8::from(x == y)),
        "ne" => |x, y, _| f64::from(u8::from(x != y)),
        "lt" => |x, y, _| f64::from(u8::from(x < y)),
        "le" => |x, y, _| f64::from(u8::from(x <= y)),
        "gt" => |x, y, _| f64::from(u8::from(x > y)),
        "ge" => |x, y, _| f64::from(u8::from(x >= y)),
        _ => return activation(word),
    })
}

/// The same of activations.
fn activation(word: &str) -> Option<fn(f64, f64, f64) -> f64> {
    Some(match word {
        "quickgelu" => |x, _, _| x / (1.0 + (-1.702 * x).exp()),
        "relu6" => |x, _, _| x.clamp(0.0, 6.0),
        "relu2" => |x, _, _| x.max(0.0).powi(2),
        "leakyrelu" => |x, y, _| x.max(0.0) + y * x.min(0.0),
        "elu" => |x, y, _| x.max(0.0) + (y * x.exp_m1()).min(0.0),
        "celu" => |x, y, _| x.max(0.0) + (y * (x / y).exp_m1()).min(0.0),
        "selu" => |x, _, _| 1.0507009873554805 * (x.max(0.0) + (1.6732632423543772 * x.exp_m1()).min(0.0)),
        "mish" => |x, _, _| x * (1.0 + x.exp()).ln().tanh(),
        "hardswish" => |x, _, _| x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
        "hardsigmoid" => |x, _, _| ((x + 3.0) / 6.0).clamp(0.0, 1.0),
        "hardtanh" => |x, _, _| x.clamp(-1.0, 1.0),
        "logsigmoid" => |x, _, _| (1.0 / (1.0 + (-x).exp())).ln(),
        "softsign" => |x, _, _| x / (1.0 + x.abs()),
        "tanhshrink" => |x, _, _| x - x.tanh(),
        "softshrink" => |x, y, _| (x - y).max(0.0) + (x + y).min(0.0),
        "hardshrink" => |x, y, _| if x > y || x < -y { x } else { 0.0 },
        "threshold" => |x, y, z| if x > y { x } else { z },
        _ => return None,
    })
}

#[test]
fn what_is_written_out_has_the_same_value() {
    let points = [-2.5, -1.0, -0.75, -0.25, 0.0, 0.125, 0.5, 0.875, 1.0, 1.5, 3.25];
    for (words, instead) in FUNCTIONS {
        let Instead::Written(text) = instead else { continue };
        let word = words.split(' ').next().unwrap_or_default();
        let expected =
            expected(word).unwrap_or_else(|| panic!("`{word}` is written out and computed by no test"));
        let expression = resolved(text);
        for x in points {
            for (y, z) in [(0.5, 0.25), (1.5, 2.0), (0.125, -1.0)] {
                let (found, wanted) = (compute(&expression, [x, y, z]), expected(x, y, z));
                let same = found == wanted || (found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3);
                assert!(
                    same || (found.is_nan() && wanted.is_nan()),
                    "{word}({x}, {y}, {z}): {found}, not {wanted}"
                );
            }
        }
    }
}

#[test]
fn nan_and_infinity_are_told_apart() {
    let of = |word: &str, x: f64| {
        let row = FUNCTIONS.iter().find(|(words, _)| words.split(' ').any(|one| one == word));
        let Some((_, Instead::Written(text))) = row else { panic!("{word}") };
        compute(&resolved(text), [x, 0.0, 0.0])
    };
    let told =
        ["isnan", "isinf", "isfinite"].map(|word| [f64::NAN, f64::INFINITY, -1.0].map(|x| of(word, x)));
    assert_eq!(told, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn words_stand_once_and_are_not_the_languages_own() {
    let mut seen = BTreeSet::new();
    let own: BTreeSet<String> = callable().map(folded).collect();
    for word in FUNCTIONS.iter().flat_map(|(words, _)| words.split(' ')) {
        assert_eq!(word, folded(word));
        assert!(seen.insert(word) && !own.contains(word), "{word}");
    }
}

/// Everything in backquotes that has a bracket or an operator is math that parses and calls functions that exist.
#[test]
fn snippets_are_math() {
    let known: BTreeSet<&str> = callable().collect();
    for text in FUNCTIONS.iter().map(|(_, instead)| instead.text()) {
        for snippet in text.split('`').skip(1).step_by(2).filter(|code| code.contains(['[', '(', '*'])) {
            if snippet.contains('"') || snippet.starts_with('*') {
                continue; // a declaration, or one operator with its right side
            }
            let assigned =
                if snippet.contains(" = ") { snippet.to_owned() } else { format!("y = {snippet}") };
            let statements = parse(&assigned).unwrap_or_else(|error| panic!("{snippet}: {error:?}"));
            let mut called = Vec::new();
            statements.iter().for_each(|statement| calls(&statement.value, &mut called));
            assert!(called.iter().all(|name| known.contains(name.as_str())), "{snippet}: {called:?}");
        }
    }
}

#[test]
fn names_with_marks_are_the_same_names() {
    for (word, text) in [
        ("__expf", "it is called `exp` here"),
        ("tanf", "write `sin(x) / cos(x)`"),
        ("SiLU", "it is called `silu` here"),
        ("Leaky_ReLU", "write `where(x > 0, x, y * x)`"),
        ("float", "write `cast(f32, x)`"),
        ("bool", "compare it: `x != 0`"),
        ("sofmax", "did you mean `softmax`?"),
    ] {
        assert_eq!(function(word).as_deref(), Some(text), "{word}");
    }
    for word in ["__nv_bfloat16", "torch.bfloat16", "bf16", "BFloat16"] {
        assert_eq!(same_dtype(word), Some(DType::Bf16), "{word}");
    }
    assert!(
        ["cutlass::half_t", "np.float16", "half"].iter().all(|word| same_dtype(word) == Some(DType::F16))
    );
}

/// No architecture is suggested for devices on which it does not run.
#[test]
fn an_architecture_is_suggested_where_it_runs() {
    for number in 50..130 {
        let on = (number / 10, number % 10);
        for word in [format!("sm_{number}a"), format!("compute_{number}"), format!("sm{number}")] {
            let text = target(&word).unwrap_or_else(|| panic!("{word} is met with silence"));
            match text.split('`').nth(1).and_then(Arch::named) {
                Some(arch) => assert!(arch.runs_on(on), "{word}: {text}"),
                None => assert!(text.starts_with("no target is for that"), "{word}: {text}"),
            }
        }
    }
    for word in ["sm90", "sm90a", "SM_90A", "compute_90a", "h100", "hopper"] {
        assert!(target(word).is_some_and(|text| text.starts_with("did you mean `sm_90a`?")), "{word}");
    }
    for word in ["sm_87", "jetson", "sm_72", "sm_101a", "sm_110", "t4", "sm_75"] {
        assert!(target(word).is_some_and(|text| text.starts_with("no target is for that")), "{word}");
    }
}

fn calls(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        NodeKind::Call(name, arguments) => {
            out.push(name.text.clone());
            arguments.iter().for_each(|argument| calls(argument, out));
        }
        NodeKind::Access(_, nodes) | NodeKind::Tuple(nodes) => nodes.iter().for_each(|node| calls(node, out)),
        NodeKind::Prefix(_, operand) => calls(operand, out),
        NodeKind::Infix(_, a, b) => [a, b].into_iter().for_each(|node| calls(node, out)),
        NodeKind::Number(_) | NodeKind::Name(_) => {}
    }
}

/// `text` of values `x`, `y` and `z`.
fn resolved(text: &str) -> Expr {
    let axes = [Axis { name: "n".to_owned(), extent: Extent::Const(4) }];
    let tensor = |name: &str, role| Tensor {
        name: name.to_owned(),
        role,
        dtype: DType::F64,
        dims: vec![IntExpr::Axis(0)],
        constant: false,
        strides: None,
        range: None,
        unique: false,
    };
    let inputs = ["x", "y", "z"].map(|name| tensor(name, Role::Input));
    let tensors: Vec<Tensor> = inputs.into_iter().chain([tensor("out", Role::Output)]).collect();
    let accumulate = DType::F64;
    let scope =
        Scope { axes: &axes, tensors: &tensors, scalars: &[], intermediates: &BTreeMap::new(), accumulate };
    // values become elements: nothing that is called has one letter
    let elements: String = words(text)
        .map(|word| if ["x", "y", "z"].contains(&word) { format!("{word}[n]") } else { word.to_owned() })
        .collect();
    let number = resolve(&format!("out[n] = {elements}"), scope);
    let math = number.or_else(|_| resolve(&format!("out[n] = where({elements}, 1, 0)"), scope));
    math.unwrap_or_else(|errors| panic!("{text}: {errors:?}")).assigns.remove(0).value
}

/// Words and what stands between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.starts_with(is_word);
        let end = rest.find(|c| is_word(c) != word).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        rest = tail;
        (!head.is_empty()).then_some(head)
    })
}

fn compute(expression: &Expr, inputs: [f64; 3]) -> f64 {
    let of = |expression: &Expr| compute(expression, inputs);
    let truth = |condition: bool| f64::from(u8::from(condition));
    match expression {
        Expr::Const(value) => *value,
        Expr::Load(Place::Tensor(at), _) => inputs[*at],
        Expr::Where(parts) => of(if of(&parts[0]) != 0.0 { &parts[1] } else { &parts[2] }),
        Expr::Cast(_, a) => of(a), // the points are exact in every type
        Expr::Unary(op, a) => unary(*op, of(a)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (of(a), of(b));
            match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
                Binary::Pow => a.powf(b),
                Binary::Max => a.max(b),
                Binary::Min => a.min(b),
                Binary::Lt => truth(a < b),
                Binary::Le => truth(a <= b),
                Binary::Gt => truth(a > b),
                Binary::Ge => truth(a >= b),
                Binary::Eq => truth(a == b),
                Binary::Ne => truth(a != b),
                Binary::Rem | Binary::And | Binary::Or => panic!("{op:?}"),
            }
        }
        other => panic!("{other:?}"),
    }
}

fn unary(op: Unary, x: f64) -> f64 {
    match op {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Exp => x.exp(),
        Unary::Exp2 => x.exp2(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Log => x.ln(),
        Unary::Log2 => x.log2(),
        Unary::Rsqrt => x.sqrt().recip(),
        Unary::Log1p => x.ln_1p(),
        Unary::Sqrt => x.sqrt(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => x.tanh(),
        Unary::Erf => erf(x),
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Relu => x.max(0.0),
        Unary::Softplus => x.exp().ln_1p(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Sign if x == 0.0 => x,
        Unary::Sign => x.signum(),
        other => panic!("{other:?}"),
    }
}

/// By its series.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// By its integral, with Simpson's rule.
fn erfc(x: f64) -> f64 {
    let (steps, end) = (4000, 9.0);
    let width = (end - x) / f64::from(steps);
    let at = |i: i32| (-(x + width * f64::from(i)).powi(2)).exp();
    let inner: f64 = (1..steps).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (at(0) + inner + at(steps)) * width / 3.0 * 2.0 / std::f64::consts::PI.sqrt()
}
