//! What the names in a spec's math mean, a line for each that C does not define, or defines otherwise. It reads the text as its
//! author wrote it, for that is what a prompt shows.

/// Names that are called, with what they are.
const CALLS: [(&str, &str); 24] = [
    ("softmax", "`softmax(a, e)` = exp(e - M) / sum(a, exp(e - M)), M = max(a, e)"),
    ("log_softmax", "`log_softmax(a, e)` = (e - M) - log(sum(a, exp(e - M))), M = max(a, e)"),
    ("rms_norm", "`rms_norm(a, e, eps)` = e * rsqrt(mean(a, e * e) + eps)"),
    (
        "layer_norm",
        "`layer_norm(a, e, eps)` = (e - u) * rsqrt(mean(a, (e - u) * (e - u)) + eps), u = mean(a, e)",
    ),
    ("mean", "`mean(a, e)` = sum(a, e) / the number of terms"),
    ("prod", "`prod(a, e)` is the product, 1 of no terms"),
    (
        "argmax",
        "`argmax(a, e)` is the index of the largest: the lowest among equals, the first NaN if there is one",
    ),
    (
        "argmin",
        "`argmin(a, e)` is the index of the smallest: the lowest among equals, the first NaN if there is one",
    ),
    ("max", "`max` is NaN if anything in it is, -inf of no terms"),
    ("min", "`min` is NaN if anything in it is, inf of no terms"),
    ("clamp", "`clamp(x, lo, hi)` = min(max(x, lo), hi), NaN kept"),
    ("sigmoid", "`sigmoid(x)` = 1 / (1 + exp(-x))"),
    ("silu", "`silu(x)` = x * sigmoid(x), sigmoid(x) = 1 / (1 + exp(-x))"),
    ("gelu", "`gelu(x)` = x * (1 + erf(x / sqrt(2))) / 2"),
    ("gelu_tanh", "`gelu_tanh(x)` = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2"),
    ("relu", "`relu(x)` = max(x, 0), NaN kept"),
    ("softplus", "`softplus(x)` = log(1 + exp(x))"),
    ("rsqrt", "`rsqrt(x)` = 1 / sqrt(x)"),
    ("sign", "`sign(x)` is -1, 0 or 1; NaN stays"),
    ("round", "`round(x)` is the nearest whole number, halves to even: C's `rint`"),
    ("where", "`where(c, x, y)` is x where c holds, else y; the other one is not looked at"),
    (
        "cast",
        "`cast(T, x)` is x rounded to T, and must be: halves to even, 8-bit floats saturate; to integers toward zero, \
              saturating, 0 of NaN",
    ),
    ("pad", "`pad(x[i], v)` is x[i] where i lies inside x, else v"),
    ("len", "`len(a)` is the extent of axis a"),
];
/// Operators whose meaning in indices is not C's.
const SIGNS: [(char, &str); 2] = [
    ('/', "`/` in indices rounds down, of negative numbers too"),
    ('%', "`%` is never negative: a - b * floor(a / b)"),
];

/// The lines for what stands in a math.
pub(super) fn told(math: &str) -> Vec<&'static str> {
    let called = names(math);
    let calls = CALLS.iter().filter(|(name, _)| called.contains(name)).map(|(_, line)| *line);
    let signs = SIGNS.iter().filter(|(sign, _)| match sign {
        '/' => in_brackets(math).any(|c| c == '/'),
        sign => math.contains(*sign),
    });
    calls.chain(signs.map(|(_, line)| *line)).collect()
}

/// Names before a parenthesis.
fn names(math: &str) -> Vec<&str> {
    let before = math.match_indices('(').map(|(at, _)| math[..at].trim_end());
    before
        .map(|text| text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .collect()
}

/// What stands in brackets.
fn in_brackets(math: &str) -> impl Iterator<Item = char> {
    let mut depth = 0_i32;
    math.chars().filter(move |c| {
        depth += i32::from(*c == '[') - i32::from(*c == ']');
        depth > 0
    })
}

#[cfg(test)]
mod tests {
    use super::{CALLS, told};
    use cutegen_spec::math::Unary;

    #[test]
    fn what_the_math_uses_is_told_and_nothing_else() {
        let math = "t[m] = sum(k, x[m, k / 2] % 3)\ny[m] = silu (t[m]) / 2 + max_of[m] * gelu_tanh(1)";
        let lines = told(math);
        let starts = ["`silu(x)`", "`gelu_tanh(x)`", "`/` in indices", "`%` is"];
        assert_eq!(lines.len(), starts.len(), "{lines:?}");
        assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
        assert_eq!(told("y[m] = sum(k, x[m, k]) / 2"), [""; 0], "outside of brackets it is C's");
        assert_eq!(told("y[m] = max(k, x[m, k])").len(), 1);
    }

    #[test]
    fn names_that_are_not_told_are_those_of_c() {
        let of_c = [
            "abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "sin", "cos", "tanh", "erf",
            "floor", "ceil", "neg", "not",
        ];
        let told = |name: &str| CALLS.iter().any(|(known, _)| *known == name);
        for (_, name) in Unary::ALL {
            assert!(told(name) != of_c.contains(&name), "{name}");
        }
        assert!(["softmax", "log_softmax", "layer_norm", "rms_norm"].into_iter().all(told));
    }
}
