//! Families of small specs: the word, the roles of a contraction's axes, and the reason of what has none.

use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;

use super::{Family, Merge, Roles, Rows};
use crate::plan::Plan;

fn family(axes: &str, tensors: &str, math: &str) -> Family {
    let text = format!("edition = 1\n[kernels.k]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
    let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
    Plan::new(&kernels[0], &Target::host()).family
}

fn roles(axes: &str, tensors: &str, math: &str) -> (Roles, Vec<usize>) {
    match family(axes, tensors, math) {
        Family::Contraction { roles, operands, .. } => (roles, operands),
        other => panic!("{other:?}"),
    }
}

const MATRICES: &str =
    "inputs = { x = 'f32[b, m, k]', w = 'f32[b, n, k]' }\noutputs = { y = 'f32[b, m, n]' }";

#[test]
fn roles_are_read_off_the_indices() {
    let (found, operands) =
        roles("b = 2, m = 3, n = 5, k = 7", MATRICES, "y[b, m, n] = relu(sum(k, x[b, m, k] * w[b, n, k]))");
    assert_eq!(found, Roles { batch: vec![0], m: vec![1], n: vec![2], k: vec![3] });
    assert_eq!(operands, [0, 1]);
    let vector = "inputs = { x = 'f32[m, k]', w = 'f32[k]' }\noutputs = { y = 'f32[m]' }";
    let (found, _) = roles("m = 3, k = 7", vector, "y[m] = sum(k, x[m, k] * w[k])");
    assert_eq!(found, Roles { batch: vec![], m: vec![0], n: vec![], k: vec![1] });
}

#[test]
fn scales_and_blocks_keep_a_contraction() {
    let scaled = "inputs = { x = 'f8e4m3[m, k]', w = 'f8e4m3[n, k]', a = 'f32[m, kb]', c = 'f32[n, kb]' }\n\
                  outputs = { y = 'bf16[m, n]' }";
    let math = "y[m, n] = sum(kb, a[m, kb] * c[n, kb] * sum(ki, x[m, kb * 4 + ki] * w[n, kb * 4 + ki]))";
    let (found, operands) = roles("m = 3, n = 5, k = 16, kb = 4, ki = 4", scaled, math);
    assert_eq!(found, Roles { batch: vec![], m: vec![0], n: vec![1], k: vec![3, 4] });
    assert_eq!(operands, [0, 1], "scales are no operands");
    let gated =
        "inputs = { x = 'f32[m, k]', g = 'f32[n, k]', u = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";
    let math = "y[m, n] = silu(sum(k, x[m, k] * g[n, k])) * sum(k, x[m, k] * u[n, k])";
    assert_eq!(roles("m = 3, n = 5, k = 7", gated, math).1, [0, 1, 2]);
    let apart = math.replacen("x[m, k]", "g[m, k]", 1).replacen("g[n, k]", "u[n, k]", 1);
    let square =
        "inputs = { x = 'f32[m, k]', g = 'f32[m, k]', u = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";
    assert_eq!(
        roles("m = 3, n = 5, k = 7", square, &apart).1,
        [0, 1, 2],
        "the right operand may be the shared one"
    );
}

#[test]
fn each_shape_of_loops_has_its_word() {
    let one = |ty: &str| format!("inputs = {{ x = '{ty}' }}\noutputs = {{ y = '{ty}' }}");
    let word = |axes: &str, ty: &str, math: &str| family(axes, &one(ty), math).name();
    assert_eq!(word("m = 4", "f32[m]", "y[m] = x[len(m) - 1 - m]"), "elementwise");
    assert_eq!(word("m = 4, c = 8", "f32[m, c]", "y[m, c] = softmax(c, x[m, c])"), "rowwise");
    let groups = "s[m, g] = sum(j, x[m, g * len(j) + j]); y[m, e] = x[m, e] - s[m, e / 3]";
    assert_eq!(word("m = 4, g = 2, j = 3, e = 6", "f32[m, e]", groups), "rowwise");
    assert_eq!(word("c = 8, t = 'c'", "f32[c]", "y[c] = sum(t <= c, x[t])"), "scan");
    let pool = "inputs = { x = 'f32[h]' }\noutputs = { y = 'f32[p]' }";
    assert_eq!(family("h = '3..=99', p = 'h - 2', r = 3", pool, "y[p] = max(r, x[p + r])").name(), "window");
    let attention =
        "inputs = { q = 'f32[t, d]', k = 'f32[s, d]', v = 'f32[s, d]' }\noutputs = { o = 'f32[t, d]' }";
    let math = "p[t, s] = softmax(s, sum(d, q[t, d] * k[s, d]))\no[t, d] = sum(s, p[t, s] * v[s, d])";
    let found = family("t = 4, s = 6, d = 8", attention, math);
    assert!(found.is("general") && found.is("attention") && !found.is("fused graph"), "{found:?}");
}

#[test]
fn the_reason_names_the_axes() {
    let tensors = "inputs = { x = 'f32[b, c]' }\noutputs = { y = 'f32[c]' }";
    let found = family("b = 4, c = 8", tensors, "r[b] = max(c, x[b, c])\ny[c] = max(b, x[b, c] - r[b])");
    assert!(found.is("fused graph"), "{found:?}");
    let why = found.why_general().unwrap_or_default();
    assert!(why.contains("(c)") && why.contains("(b)"), "{why}");
}

fn rows(axes: &str, tensors: &str, math: &str) -> Rows {
    match family(axes, tensors, math) {
        Family::Rowwise { rows: Some(rows), .. } => rows,
        other => panic!("{other:?}"),
    }
}

const ROW: &str = "inputs = { x = 'f32[m, d]', w = 'f32[d]' }\noutputs = { y = 'f32[m, d]' }";

#[test]
fn rows_have_levels_and_streams() {
    let norm = rows("m = 3, d = 8", ROW, "y[m, d] = layer_norm(d, x[m, d], 1e-5) * w[d]");
    assert_eq!(norm.reductions.iter().map(|r| r.level).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(norm.streams.iter().map(|s| norm.is_of_the_row(s)).collect::<Vec<_>>(), [true, false]);
    assert_eq!((norm.sinks.len(), norm.scalars.len()), (1, 0));
    let blocks = rows(
        "m = 3, d = 256, db = 2, di = 128",
        "inputs = { x = 'bf16[m, d]' }\noutputs = { q = 'f8e4m3[m, d]', s = 'f32[m, db]' }",
        "c[m, db] = max(di, abs(x[m, db * 128 + di]))\nq[m, d] = x[m, d] / c[m, d / 128]\ns[m, db] = c[m, db]",
    );
    assert_eq!(
        (blocks.rows.len(), blocks.cols.len(), blocks.streams.len()),
        (2, 1, 1),
        "parts of an axis are rows"
    );
    assert_eq!((blocks.sinks.len(), blocks.scalars.len()), (1, 1));
    let gathered = "inputs = { x = 'f32[n, d]', id = { type = 'i32[m]', range = '0..n' } }\noutputs = { y = 'f32[m, d]' }";
    let gathered = rows("m = 3, n = 5, d = 8", gathered, "y[m, d] = softmax(d, x[id[m], d])");
    assert_eq!(gathered.streams.len(), 1, "a row by index is read along memory");
}

/// `x w` may overflow where `x s w` does not, so a maximum waits for the factor s of its row.
#[test]
fn a_factor_of_the_row_stays_in_its_largest_magnitude() {
    let math =
        "a[m, d] = rms_norm(d, x[m, d], 1e-5) * w[d]\nc[m] = max(d, abs(a[m, d]))\ny[m, d] = a[m, d] / c[m]";
    let found = rows("m = 3, d = 8", ROW, math);
    assert_eq!((found.levels(), found.reductions.len()), (2, 2));
}

#[test]
fn sums_over_a_maximum_or_a_mean_merge() {
    let merges = |math| rows("m = 3, d = 8", ROW, math).merges();
    assert!(matches!(
        merges("y[m, d] = w[d] * softmax(d, x[m, d])").as_deref(),
        Some([Merge::Exponentials { .. }])
    ));
    let norm = merges("y[m, d] = layer_norm(d, x[m, d], 1e-5) * w[d]");
    assert!(matches!(norm.as_deref(), Some([Merge::Squares { .. }])), "{norm:?}");
    assert_eq!(merges("y[m, d] = rms_norm(d, x[m, d], 1e-5) * w[d]"), None, "one level");
    let other = "t[m] = max(d, x[m, d])\ns[m] = sum(d, exp(x[m, d] * w[d] - t[m]))\ny[m, d] = x[m, d] / s[m]";
    assert_eq!(merges(other), None, "the maximum is of something else");
    let absolute =
        "u[m] = mean(d, x[m, d])\ns[m] = sum(d, abs(x[m, d] - u[m]))\ny[m, d] = x[m, d] * w[d] / s[m]";
    assert_eq!(merges(absolute), None, "not a square");
}

#[test]
fn an_alias_beside_its_axis_is_an_axis_of_its_own() {
    let square = "inputs = { x = 'f32[m, k]', w = 'f32[k, n]' }\noutputs = { y = 'f32[m, n]' }";
    let axes = "m = '1..=64', n = 'm', k = 'm'";
    let (found, operands) = roles(axes, square, "y[m, n] = sum(k, x[m, k] * w[k, n])");
    assert_eq!((found.m, found.n, found.k, operands), (vec![0], vec![1], vec![2], vec![0, 1]));
    // two names of one summed axis, which no step has both of, are one
    let gated = "y[m, n] = sum(k, x[m, k] * w[k, n]) * relu(sum(j, x[m, j] * w[j, n]))";
    let (found, _) = roles(&format!("{axes}, j = 'k'"), square, gated);
    assert_eq!(found.k, [2]);
    let causal = "inputs = { x = 'f32[b, s, t]' }\noutputs = { y = 'f32[b, s, t]' }";
    let math = "y[b, s, t] = softmax(t, where(t <= s, x[b, s, t], -inf))";
    let found = rows("b = 2, s = '1..=64', t = 's'", causal, math);
    assert_eq!((found.rows.len(), found.cols.len(), found.levels()), (2, 1, 2));
    let renamed = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }";
    let math = "y[m, d] = x[m, d] / sqrt(sum(e, x[m, e] * x[m, e]))";
    let found = family("m = 3, d = 8, e = 'd'", renamed, math);
    assert!(matches!(found, Family::Rowwise { plain: Some(_), rows: Some(_), .. }), "{found:?}");
}

#[test]
fn a_difference_that_is_no_index_is_no_window() {
    let tensors = "inputs = { x = 'f32[s, t]', b = 'f32[]' }\noutputs = { y = 'f32[s, t]' }";
    let math = "y[s, t] = softmax(t, where(t <= s, x[s, t] + b[] * (t - s), -inf))";
    assert_eq!(rows("s = '1..=64', t = 's'", tensors, math).levels(), 2);
    let read =
        "inputs = { x = 'f32[p]', id = { type = 'i32[h]', range = '0..p' } }\noutputs = { y = 'f32[p]' }";
    let found = family("h = '3..=99', p = 'h - 2', r = 3", read, "y[p] = max(r, x[id[p + r]])");
    assert_eq!(found.name(), "window", "an index inside an index");
}

#[test]
fn products_of_one_left_operand_may_have_columns_of_their_own() {
    let weights = |inputs: &str| {
        format!(
            "inputs = {{ x = 'bf16[m, k]', {inputs} }}\noutputs = {{ q = 'bf16[m, n]', kv = 'bf16[m, j]' }}"
        )
    };
    let axes = "m = 3, n = 4, j = 2, k = 8, e = 6";
    let two = "q[m, n] = sum(k, x[m, k] * a[n, k])\nkv[m, j] = sum(k, x[m, k] * c[j, k])";
    let (found, operands) = roles(axes, &weights("a = 'bf16[n, k]', c = 'bf16[j, k]'"), two);
    assert_eq!((found.m, found.n, found.k), (vec![0], vec![1, 2], vec![3]));
    assert_eq!(operands, [0, 1, 2]);
    let packed = two.replace("a[n, k]", "w[n, k]").replace("c[j, k]", "w[j + 4, k]");
    assert_eq!(family(axes, &weights("w = 'bf16[e, k]'"), &packed).name(), "contraction");
    let apart = two.replace("x[m, k] * c[j, k]", "a[m, k] * c[j, k]");
    let found = family(axes, &weights("a = 'bf16[n, k]', c = 'bf16[j, k]'"), &apart);
    assert_ne!(found.name(), "contraction", "`a` has other roles in the second");
}

#[test]
fn a_condition_on_a_table_of_integers_multiplies_nothing() {
    let tensors =
        "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]', len = 'i32[m]' }\noutputs = { y = 'bf16[m, n]' }";
    let math = "y[m, n] = sum(k, where(k < len[m], x[m, k], 0) * w[n, k])";
    assert_eq!(roles("m = 3, n = 4, k = 8", tensors, math).1, [0, 1]);
}

#[test]
fn only_a_softmax_between_contractions_is_attention() {
    let tensors =
        "inputs = { x = 'f32[b, k]', w = 'f32[n, k]', u = 'f32[j, n]' }\noutputs = { y = 'f32[b, OUT]' }";
    let is = |out: &str, math: &str| {
        family("b = 4, n = 6, k = 8, j = 5, o = 'n'", &tensors.replace("OUT", out), math).is("attention")
    };
    let score = "t[b, n] = sum(k, x[b, k] * w[n, k])";
    for (weights, softmax) in [
        ("t[b, n]", false),
        ("t[b, n] / (1 + exp(-t[b, n]))", false),
        ("exp(t[b, n])", false),
        ("softmax(n, t[b, n])", true),
        ("exp(t[b, n] / 2) / sum(o, exp(t[b, o] / 2))", true),
    ] {
        let math = format!("{score}\np[b, n] = {weights}\ny[b, j] = sum(n, p[b, n] * u[j, n])");
        assert_eq!(is("j", &math), softmax, "{weights}");
    }
    let normed = "mu[n] = mean(b, t[b, n])\nvar[n] = mean(b, (t[b, n] - mu[n]) * (t[b, n] - mu[n]))\n\
                  y[b, n] = softmax(n, (t[b, n] - mu[n]) * rsqrt(var[n] + 1e-5) + u[0, n])";
    assert!(!is("n", &format!("{score}\n{normed}")), "a batch norm, then a softmax");
    let behind = "v[b, j] = sum(n, t[b, n] * u[j, n])\ny[b, n] = log(sum(j, exp(v[b, j]))) + t[b, n]";
    assert!(!is("n", &format!("{score}\n{behind}")), "exponentials behind both products");
}
