//! Inputs that blow up a careless reader: deep, long, wide, and doubling.

fn kernel(axes: &str, math: &str) -> String {
    format!(
        "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', c = 8, {axes} }}\ninputs = {{ x = 'f32[m, c]' }}\n\
         outputs = {{ y = 'f32[m, c]' }}\nmath = '''\n{math}\n'''\n"
    )
}

fn each(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect()
}

/// `f(f(f(inner)))`
fn nested(n: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

/// Every shape.
pub(super) fn all() -> Vec<String> {
    [depths(), chains(), doublings(), crowds(), texts()].concat()
}

fn value(text: &str) -> String {
    kernel("", &format!("y[m, c] = {text}"))
}

fn depths() -> Vec<String> {
    let deep = |open: &str, close: &str| value(&nested(90, open, "x[m, c]", close));
    vec![
        // inline tables inside each other, as the TOML parser follows them
        format!("edition = 1\n{}", "inputs = { [kernels.k]\n".repeat(2000)),
        deep("softmax(c, ", ")"),
        deep("layer_norm(c, ", ", 1e-5)"),
        deep("rms_norm(c, x[m, c], ", ")"),
        deep("max(1, ", ")"),
        deep("where(x[m, c] > 0, 1, ", ")"),
        deep("-(", ")"),
        deep("cast(bf16, ", ")"),
        value(&format!("{}x[m, c]", "-".repeat(90))),
        value(&nested(100_000 / 2, "(", "x[m, c]", ")").chars().take(60_000).collect::<String>()),
        value(&format!("where({}x[m, c] > 0, 1.0, 2.0)", "not ".repeat(90))),
        value(&format!("x[m, {}]", nested(90, "min(c, ", "c", ")"))),
        value(&format!("x[m, {}]", nested(90, "(", "c", " + c) / 2"))),
        value(&format!("x[m, {}]", nested(90, "max(min(c, 7), ", "c", ")"))),
        value(&format!("x[m, {}]", nested(90, "(", "c", " + 1) % 8"))),
        value(&format!("x[m, {}]", nested(30, "(", "c", " * c + m) % 8"))),
    ]
}

fn chains() -> Vec<String> {
    let terms = |op: &str, n: usize| value(&vec!["x[m, c]"; n].join(op));
    vec![
        terms(" + ", 250),
        terms(" * ", 250),
        terms(" - ", 5000),
        value(&format!("x[m, {}]", vec!["c"; 250].join(" - c + "))),
        value(&format!("({})", vec!["x[m, c]"; 5000].join(", "))),
        value(&format!("sum(({}), 1.0)", vec!["c"; 5000].join(", "))),
        value(&format!("max({})", vec!["x[m, c]"; 5000].join(", "))),
        kernel("t = 8", &format!("y[m, c] = sum(({}), x[m, t])", vec!["t <= c"; 400].join(", "))),
        kernel(
            "t = 8",
            &format!("y[m, c] = mean(({}), x[m, t])", ["t <= c", "t > c - 3"].repeat(100).join(", ")),
        ),
    ]
}

fn doublings() -> Vec<String> {
    let temps = |n: usize, step: &dyn Fn(usize) -> String| {
        kernel("", &format!("a0[m, c] = x[m, c]\n{}y[m, c] = a{n}[m, c]", each(n, step)))
    };
    let axes = |n: usize, step: &dyn Fn(usize) -> String| {
        let last = format!("p{n}");
        let axes = format!("p0 = 'm', {}", each(n, step));
        format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', {axes} }}\ninputs = {{ x = 'f32[{last}]' }}\n\
             outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = x[m] + x[{last} - 1 - m]'\n"
        )
        .replace(&format!("x[{last} -"), &format!("x[len({last}) -"))
    };
    vec![
        temps(200, &|i| format!("a{}[m, c] = a{i}[m, c] + a{i}[m, c]\n", i + 1)),
        temps(200, &|i| format!("a{}[m, c] = exp(a{i}[m, c])\n", i + 1)),
        temps(254, &|i| format!("a{}[m, c] = a{i}[m, c]\n", i + 1)),
        temps(200, &|i| format!("a{}[m, c] = a{i}[m, (c + c) / 2]\n", i + 1)),
        temps(200, &|i| format!("a{}[m, c] = a{i}[min(m, m), min(c, c)]\n", i + 1)),
        temps(200, &|i| format!("a{}[m, c] = pad(a{i}[m, c + c], 0) + pad(a{i}[m, c - 1], 1)\n", i + 1)),
        temps(60, &|i| format!("a{}[m, c] = softmax(c, a{i}[m, c] + a{i}[m, c])\n", i + 1)),
        temps(200, &|i| format!("a{}[m, c] = where(a{i}[m, c] > 0, a{i}[m, c], a{i}[c, c])\n", i + 1)),
        axes(60, &|i| format!("p{} = 'p{i} + p{i}', ", i + 1)),
        axes(30, &|i| format!("p{} = 'p{i} + p{i}', ", i + 1)),
        axes(60, &|i| format!("p{} = 'p{i} * p{i}', ", i + 1)),
        axes(60, &|i| format!("p{} = 'max(p{i}, p{i} + 1)', ", i + 1)),
        axes(60, &|i| format!("p{} = '(p{i} + p{i} + 1) / 2', ", i + 1)),
        axes(250, &|i| format!("p{} = 'p{i}', ", i + 1)),
    ]
}

fn crowds() -> Vec<String> {
    let plain =
        "axes = { m = 4 }\ninputs = { x = 'f32[m]' }\noutputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m]'\n";
    let product = "m * c * m + c";
    let wide = [product; 8].join(", ");
    let at = ["(m * len(c) + c) * len(m)"; 8].join(", ");
    vec![
        format!("edition = 1\n{}", each(10_000, |i| format!("[kernels.k{i}]\n{plain}"))),
        format!("edition = 1\n{}", each(10_000, |i| format!("[kernels.K{i}]\n{plain}"))),
        kernel(&each(250, |i| format!("a{i} = '1..=64', ")), "y[m, c] = x[m, c] + sum(a7, a7 + 0.5)"),
        kernel(&each(100_000, |i| format!("a{i} = 'm', ")), "y[m, c] = x[m, c]"),
        kernel(&format!("t = '{}'", vec!["m"; 100_000].join(" + ")), "y[m, c] = x[m, c]"),
        kernel(&format!("t = '{}m'", "-".repeat(100_000)), "y[m, c] = x[m, c]"),
        kernel(&format!("t = '{}'", vec!["m"; 65].join(" + ")), "y[m, c] = x[m, c]"),
        format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', c = 8 }}\ninputs = {{ x = 'f32[{wide}]' }}\n\
             outputs = {{ y = 'f32[m, c]' }}\nmath = 'y[m, c] = x[{at}]'\n"
        ),
        kernel(
            "",
            &format!(
                "{}y[m, c] = {}",
                each(255, |i| format!("a{i}[m] = sum(c, x[m, c] + {i})\n")),
                vec_of("a", 200)
            ),
        ),
        kernel("", &each(300, |i| format!("a{i}[m] = 1\n"))),
    ]
}

fn vec_of(name: &str, n: usize) -> String {
    let reads: Vec<String> = (0..n).map(|i| format!("{name}{i}[m]")).collect();
    reads.join(" + ")
}

fn texts() -> Vec<String> {
    let spaces = " ".repeat(70_000);
    vec![
        String::new(),
        value(&format!("x[m, c] {spaces}")),
        value(&vec!["x[m, c]"; 7000].join(";")),
        value(&"9".repeat(60_000)),
        value(&format!("{}[m, c]", "x".repeat(60_000))),
        value("1e999999999999 * x[m, 99999999999999999999]"),
        kernel("t = 99999999999999999999999", "y[m, c] = x[m, c]"),
        kernel("t = '0..=99999999999999999999999'", "y[m, c] = x[m, c]"),
        kernel("t = '9223372036854775807 * 9223372036854775807 + m'", "y[m, c] = x[m, c] + sum(t, t)"),
        value("x[m, c * 9007199254740991 * 9007199254740991 * 9007199254740991]"),
        format!("edition = 1\n{} = 1\n", vec!["a"; 50_000].join(".")),
        format!("edition = 1\nkernels.{}.math = 1\n", vec!["a"; 50_000].join(".")),
        format!("edition = 1\nx = {}\n", "[".repeat(50_000)),
        format!("edition = 1\nx = {}\n", "{a=".repeat(50_000)),
        format!("edition = 1\n[{}]\n", vec!["a"; 50_000].join(".")),
    ]
}
