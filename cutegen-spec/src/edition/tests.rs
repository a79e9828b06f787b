//! Edition 1 end to end: the three places, and errors with their place.

use super::{manifest, spec_file};
use crate::settings::Settings;

const LINEAR: &str = r#"
axes    = { m = "1..=8192", n = 64, k = 32 }
inputs  = { x = "bf16[m, k]", w = { type = "bf16[n, k]", constant = true }, b = "bf16[n]" }
outputs = { y = "bf16[m, n]" }
math    = "y[m, n] = gelu_tanh(sum(k, x[m, k] * w[n, k]) + b[n])"
"#;

fn errors(text: &str) -> Vec<String> {
    let document = spec_file(text, &Settings::default());
    document
        .errors
        .iter()
        .map(|e| format!("{} {} @ {}", e.code, e.message, text.get(e.span.clone()).unwrap_or("?")))
        .collect()
}

#[test]
fn the_three_places_mean_the_same() {
    let file = spec_file(&format!("edition = 1\n[kernels.linear]{LINEAR}"), &Settings::default());
    let metadata = manifest(&format!("[package]\nname = 'a'\n[package.metadata.kernels.linear]{LINEAR}"));
    let top = manifest(&format!("[package]\nname = 'a'\n[kernels.linear]{LINEAR}"));
    assert_eq!(file.errors, []);
    assert_eq!(file.kernels, metadata.kernels);
    assert_eq!(file.kernels, top.kernels);
    assert_eq!(file.kernels[0].tensors.len(), 4);
    assert_eq!(top.warnings.len(), 1);
    assert!(metadata.warnings.is_empty());
}

#[test]
fn instructions_are_plain_and_short() {
    let with = |value: &str| format!("edition = 1\n[kernels.linear]{LINEAR}instructions = {value}\n");
    let read = |value: &str| spec_file(&with(value), &Settings::default()).kernels.remove(0).instructions;
    assert_eq!(read("' Keep m in registers.\\n'"), Some("Keep m in registers.\\n".to_owned()));
    assert_eq!(read("\"one\\n\\ttwo \""), Some("one\n\ttwo".to_owned()));
    assert_eq!(read("' '"), None);
    assert_eq!(read(&format!("'{}'", "\u{fc}".repeat(2000))).map(|text| text.chars().count()), Some(2000));
    for bad in ["7", "\"a\\u001b[2J\"", "\"a\\u202eb\"", &format!("'{}'", "a".repeat(2001))] {
        let found = errors(&with(bad));
        assert!(found.len() == 1 && found[0].starts_with("CG"), "{bad}: {found:?}");
    }
}

#[test]
fn several_errors_with_their_places() {
    let text = format!(
        "edition = 1\n[kernels.a]{}\n[kernels.b]{}\n[kernels.Bad]{LINEAR}",
        LINEAR.replace("gelu_tanh", "gelu_tahn"),
        LINEAR.replace("x[m, k] *", "x[k, m] *"),
    );
    let found = errors(&text);
    assert_eq!(found[0], "CG011 `gelu_tahn` is no function @ gelu_tahn");
    assert_eq!(found[1], "CG016 this index leaves `x`: it reaches 31 at m = 1 @ k");
    assert!(found[2].starts_with("CG003 `Bad` cannot name a kernel"), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn one_wrong_kernel_keeps_the_right_ones_back() {
    let with = |bias: &str| {
        let other = LINEAR.replace("+ b[n]", bias);
        spec_file(&format!("edition = 1\n[kernels.a]{LINEAR}\n[kernels.b]{other}"), &Settings::default())
    };
    assert_eq!(with("").kernels.len(), 1);
    assert_eq!(with("").into_kernels(), Err(with("").errors));
    assert_eq!(with("+ b[n]").into_kernels().map(|kernels| kernels.len()), Ok(2));
}

#[test]
fn schema_errors_say_what_was_expected() {
    let of = |from: &str, to: &str| errors(&format!("edition = 1\n[kernels.a]{}", LINEAR.replace(from, to)));
    assert_eq!(of("math    =", "maths ="), ["CG002 unknown key `maths` @ maths"]);
    assert!(of("bf16[n]", "bf17[n]")[0].starts_with("CG005 unknown dtype `bf17`"));
    assert!(of("bf16[n]", "bool[n]")[0].starts_with("CG015 a condition stands where"));
    assert!(of("sum(k", "sum(n")[0].contains("already bound"));
    assert!(of("w[n, k]) ", "w[k, n]) ")[0].starts_with("CG016"));
    assert!(of("+ b[n]", "")[0].starts_with("CG013 input `b` is never read"));
    let axis = of("1..=8192", "9..=1");
    assert!(axis[0].starts_with("CG004") && axis.len() == 1, "{axis:?}");
    assert!(errors("kernels = 1")[0].contains("names no edition"));
    assert!(errors("edition = 1\n[kernels")[0].starts_with("CG001"));
}

/// Names and places of what is warned of in `LINEAR` with these axes beside its own.
fn unused(axes: &str, math: &str) -> Vec<String> {
    let kernel = LINEAR.replace("k = 32", &format!("k = 32, {axes}")).replace("+ b[n]", math);
    let text = format!("edition = 1\n[kernels.a]{kernel}");
    let document = spec_file(&text, &Settings::default());
    assert_eq!(document.errors, []);
    document
        .warnings
        .iter()
        .map(|warning| format!("{} @ {}", warning.message, &text[warning.span.clone()]))
        .collect()
}

#[test]
fn an_axis_that_nothing_has_is_warned_of() {
    assert_eq!(unused("zz = '1..=7'", "+ b[n]"), ["axis `zz` is never used @ zz"]);
    // what is only computed from falls with what it computes
    let chain = ["axis `c` is never used @ c", "axis `c1` is never used @ c1"];
    assert_eq!(unused("c = '1..=7', c1 = 'c + 1'", "+ b[n]"), chain);
    for (axes, math) in [
        ("t = 'm'", "+ b[n] + sum(t <= m, 0.5 * t)"),
        ("h = '1..=7', t = 'h * 2'", "+ b[n] + sum(t, 0.5 * t)"),
        ("h = '1..=7'", "+ b[n] * len(h)"),
    ] {
        assert_eq!(unused(axes, math), [""; 0], "{axes}");
    }
}

#[test]
fn strides_and_ranges_use_their_axes() {
    let text = "edition = 1\n[kernels.a]\naxes = { m = 4, v = '1..=9', ld = '4..=64', t = 8 }\n\
                inputs = { x = { type = 'f32[m, m]', strides = ['ld', 1] }, i = { type = 'i32[m]', range = '0..v' }, \
                w = 'f32[v]' }\noutputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m, m] + w[i[m]]'";
    let document = spec_file(text, &Settings::default());
    let warned: Vec<&str> = document.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!((document.errors, warned), (vec![], vec!["axis `t` is never used"]));
}

/// Names that mean something by themselves in the math are refused, whatever would have them.
#[test]
fn words_of_the_math_name_nothing() {
    for word in ["inf", "and", "or", "not"] {
        let declared = [
            LINEAR.replace("b = ", &format!("{word} = ")).replace("+ b[n]", &format!("+ {word}[n]")),
            LINEAR.replace("n = 64", &format!("{word} = 64")),
            format!("{LINEAR}scalars = {{ {word} = 'f32' }}"),
        ];
        for kernel in declared {
            let found = errors(&format!("edition = 1\n[kernels.a]{kernel}"));
            assert!(found[0].starts_with(&format!("CG003 `{word}` cannot name")), "{word}: {found:?}");
        }
    }
    let assigned = LINEAR.replace("math    = \"y", "math    = \"inf[n] = b[n]; y");
    let found = errors(&format!("edition = 1\n[kernels.a]{assigned}"));
    assert!(found[0].starts_with("CG013 `inf` is a word of the math @ inf"), "{found:?}");
}

/// Names of functions are free: a function stands before parentheses, and a value does not.
#[test]
fn names_of_functions_name_values() {
    use crate::math::func::callable;
    let canonical = |from: &str, to: &str| {
        let head = "edition = 1\n[kernels.a]\naxes = { m = 4, A = 8, u = 'A' }\ninputs = { T = 'f32[m, A]', \
                    v = 'f32[A]' }\nscalars = { S = 'f32' }\noutputs = { y = 'f32[m, A]' }\n\
                    math = 'y[m, A] = max(u, T[m, u]) + exp(T[m, A]) * S + len(A) * A + v[max(A, A)]'";
        let text = head.replace(from, to).replace('T', "t").replace('A', "a").replace('S', "s");
        spec_file(&text, &Settings::default()).into_kernels().map(|kernels| kernels[0].math.canonical())
    };
    let plain = canonical("T", "t").expect("a right spec");
    for word in callable() {
        for named in ["T", "A", "S"] {
            assert_eq!(canonical(named, word).as_ref(), Ok(&plain), "{named} named {word}");
        }
    }
}

#[test]
fn a_run_time_axis_is_not_named_as_a_key_of_workloads() {
    let of = |extent: &str| {
        let kernel = LINEAR
            .replace("n = 64", &format!("weight = {extent}"))
            .replace("n]", "weight]")
            .replace("n, k]", "weight, k]");
        errors(&format!("edition = 1\n[kernels.a]{kernel}"))
    };
    assert_eq!(of("'1..=64'"), ["CG003 `weight` cannot name a run-time axis @ weight"]);
    assert_eq!(of("64"), [""; 0]);
}

#[test]
fn prelude_equals_the_written_out_form() {
    let head = "edition = 1\n[kernels.a]\naxes = { m = 4, d = 8 }\ninputs = { x = 'f32[m, d]' }\n\
                outputs = { y = 'f32[m, d]' }\nscalars = { eps = 'f32' }\nmath = ";
    let canonical = |math: &str| {
        let kernels =
            spec_file(&format!("{head}'{math}'"), &Settings::default()).into_kernels().expect("right specs");
        kernels[0].math.canonical()
    };
    assert_eq!(
        canonical("y[m, d] = rms_norm(d, x[m, d], eps)"),
        "t1[v0:a0, v1:a1] = mul(t0[v0:a0, v1:a1], rsqrt(add(div(sum(v2:a1, mul(t0[v0:a0, v2:a1], \
         t0[v0:a0, v2:a1])), len(a1)), s0)))\n"
    );
}
