//! Roles and views of products, and what is none.

use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;

use super::Matmul;
use crate::plan::Plan;

const AXES: &str = "b = 2, s = 3, m = '1..=64', n = 5, k = 7, h = 4, j = 6";

fn plan(tensors: &str, math: &str) -> Plan {
    let text = format!("edition = 1\n[kernels.p]\naxes = {{ {AXES} }}\n{tensors}\nmath = '''{math}'''");
    let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
    Plan::new(&kernels[0], &Target::host())
}

/// Axis names by role, and the strides of both factors: `batch; m; n; k`, then `a` and each `b`.
fn told(tensors: &str, math: &str) -> Option<String> {
    let plan = plan(tensors, math);
    let found = Matmul::of(&plan.spec, &plan.schedule)?;
    let name = |var: &usize| plan.spec.axes[found.axis(*var)].name.clone();
    let names = |vars: &[usize]| vars.iter().map(name).collect::<Vec<_>>().join(" ");
    let axes: Vec<i64> = vec![2, 3, 64, 5, 7, 4, 6];
    let number = |e: &cutegen_spec::int_expr::IntExpr| e.eval_axes(&axes).expect("a number");
    let view = |view: &super::View| {
        let strides: Vec<String> =
            view.strides.iter().map(|(v, s)| format!("{}:{}", name(v), number(s))).collect();
        format!("{}+{} {}", plan.spec.tensors[view.tensor].name, number(&view.offset), strides.join(" "))
    };
    let n: Vec<usize> = found.n.into_iter().collect();
    let mut text =
        format!("{}; {}; {}; {}", names(&found.batch), names(&found.m), names(&n), names(&found.k));
    text += &format!(" | {}", view(found.a()));
    found.products.iter().for_each(|product| text += &format!(" | {}", view(&product.b)));
    Some(text)
}

#[test]
fn roles_and_strides_are_told() {
    let two = "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }";
    let is = |tensors: &str, math: &str, text: &str| {
        assert_eq!(told(tensors, math).as_deref(), Some(text), "{math}");
    };
    is(two, "y[m, n] = sum(k, x[m, k] * w[n, k])", "; m; n; k | x+0 m:7 k:1 | w+0 n:7 k:1");
    is(two, "y[m, n] = relu(sum(k, w[n, k] * x[m, k]))", "; m; n; k | x+0 m:7 k:1 | w+0 n:7 k:1");
    // the output decides which factor has the columns
    let turned = "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[n, m]' }";
    is(turned, "y[n, m] = sum(k, x[m, k] * w[n, k])", "; n; m; k | w+0 n:7 k:1 | x+0 m:7 k:1");
    // a sum names its variables in any order
    let deep = "inputs = { x = 'bf16[m, h, j]', w = 'bf16[n, h, j]' }\noutputs = { y = 'bf16[m, n]' }";
    for (sum, inner) in [("(h, j)", "h:6 j:1"), ("(j, h)", "j:1 h:6")] {
        let math = format!("y[m, n] = sum({sum}, x[m, h, j] * w[n, h, j])");
        is(deep, &math, &format!("; m; n; h j | x+0 m:24 {inner} | w+0 n:24 {inner}"));
    }
    // rows of two variables are one dimension, columns of two are a batch of the other
    let many = "inputs = { x = 'bf16[b, s, k]', w = 'bf16[h, n, k]' }\noutputs = { y = 'bf16[b, s, h, n]' }";
    is(
        many,
        "y[b, s, h, n] = sum(k, x[b, s, k] * w[h, n, k])",
        "h; b s; n; k | x+0 b:21 s:7 k:1 | w+0 h:35 n:7 k:1",
    );
    // rows that are not one dimension of their factor
    let apart =
        "inputs = { x = 'bf16[b, h, s, k]', w = 'bf16[h, n, k]' }\noutputs = { y = 'bf16[b, h, s, n]' }";
    is(
        apart,
        "y[b, h, s, n] = sum(k, x[b, h, s, k] * w[h, n, k])",
        "h b; s; n; k | x+0 b:84 h:21 s:7 k:1 | w+0 h:35 n:7 k:1",
    );
    let vector = "inputs = { x = 'bf16[k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[n]' }";
    is(vector, "y[n] = sum(k, x[k] * w[n, k])", "; ; n; k | x+0 k:1 | w+0 n:7 k:1");
}

#[test]
fn offsets_are_views_and_pairs_share_a_factor() {
    let gated = "inputs = { x = 'bf16[m, k]', w = 'bf16[10, k]' }\noutputs = { y = 'bf16[m, n]' }";
    let text = told(gated, "y[m, n] = silu(sum(k, x[m, k] * w[n, k])) * sum(k, x[m, k] * w[n + 5, k])");
    let wanted = "; m; n; k | x+0 m:7 k:1 | w+0 n:7 k:1 | w+35 n:7 k:1";
    assert_eq!(text.as_deref(), Some(wanted));
    let step = "inputs = { x = 'bf16[m, k]', w = 'bf16[15, k]' }\noutputs = { y = 'bf16[m, n]' }";
    let text = told(step, "y[m, n] = sum(k, x[m, k] * w[3 * n + 2, k])");
    assert_eq!(text.as_deref(), Some("; m; n; k | x+0 m:7 k:1 | w+14 n:21 k:1"));
    let padded = "inputs = { x = { type = 'bf16[m, k]', strides = ['16', 1] }, w = 'bf16[k, n]' }\noutputs = { y = 'bf16[m, n]' }";
    let text = told(padded, "y[m, n] = sum(k, x[m, k] * w[k, n])");
    assert_eq!(text.as_deref(), Some("; m; n; k | x+0 m:16 k:1 | w+0 n:1 k:5"));
}

#[test]
fn what_is_no_product_is_none() {
    let two = "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }";
    for math in [
        "y[m, n] = max(k, x[m, k] * w[n, k])",
        "y[m, n] = sum(k, x[m, k] * w[n, len(k) - 1 - k])",
        "y[m, n] = sum(k <= 3, x[m, k] * w[n, k])",
        "y[m, n] = sum(k, x[m, k] * w[n, k] * w[n, k])",
        "y[m, n] = sum(k, x[m, k] + w[n, k])",
        "y[m, n] = sum(k, x[m, k] * w[n, k] / 2)",
        "y[m, n] = sum(k, x[m, k] * w[n, k / 2])",
        "y[m, n] = sum(k, x[m, k] * w[n, k]) + sum(k, x[m, k])",
    ] {
        assert_eq!(told(two, math), None, "{math}");
    }
}
