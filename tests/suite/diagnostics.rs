//! What the command says of specs that are wrong in the words of other libraries, and of what is declared for nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{Ran, cutegen, run, scratch, workspace, write};

/// A folder of specs, and nothing locked.
fn specs(name: &str, text: &str) -> PathBuf {
    let folder = scratch(&format!("diagnostics-{name}"));
    write(&folder.join("specs/one.toml"), text);
    folder
}

fn check(folder: &Path) -> Ran {
    let mut command: Command = cutegen(&workspace().join("target/suite/diagnostics-home"));
    command.args(["check", "--specs"]).arg(folder.join("specs")).arg("--cache").arg(folder.join("cache"));
    run(&mut command)
}

/// All that `check` says of `math` over `x = f32[m, c]`, with more lines of the kernel.
fn told(name: &str, math: &str, lines: &str) -> String {
    let folder = specs(
        name,
        &format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', c = 8 }}\ninputs = {{ x = 'f32[m, c]' }}\n\
             outputs = {{ y = 'f32[m, c]' }}\nmath = '''{math}'''\n{lines}"
        ),
    );
    let ran = check(&folder);
    assert!(!ran.ok, "{}{}", ran.stdout, ran.stderr);
    ran.stderr
}

#[test]
fn no_other_function_or_target_is_suggested() {
    let log10 = told("log10", "y[m, c] = log10(x[m, c])", "");
    assert!(log10.contains("write `0.4342944819032518 * log(x)`") && !log10.contains("log1p"), "{log10}");
    let tan = told("tan", "y[m, c] = tan(x[m, c])", "");
    assert!(tan.contains("write `sin(x) / cos(x)`") && !tan.contains("tanh"), "{tan}");
    let volta = told("volta", "y[m, c] = x[m, c]", "targets = ['sm_70']");
    assert!(volta.contains("compute capability 8.0 and newer") && !volta.contains("did you mean"), "{volta}");
    for (name, math, text) in [
        ("power", "y[m, c] = x[m, c]^2", "a power is `pow(x, 2)`, and a square `x * x`"),
        ("stars", "y[m, c] = x[m, c]**2", "a power is `pow(x, 2)`, and a square `x * x`"),
        ("comment", "y[m, c] = x[m, c] # same", "math has no comments"),
        ("if", "y[m, c] = if x[m, c] > 0 then x[m, c] else 0", "`where(c, x, y)`"),
        ("swish", "y[m, c] = swish(x[m, c])", "it is called `silu` here"),
        ("topk", "y[m, c] = topk(x[m, c], 2)", "`argmax(e, where(e == i[t], -inf, x[t, e]))`"),
    ] {
        let stderr = told(name, math, "");
        assert!(stderr.contains(text), "{math}\n{stderr}");
    }
}

#[test]
fn what_was_meant_is_written_with_the_users_own_names() {
    let masked = told("masked", "y[m, c] = softmax(c <= m, 0.5 * x[m, c])", "");
    assert!(masked.contains("`softmax(c, where(c <= m, 0.5 * x[m, c], -inf))`"), "{masked}");
    let picked = told("picked", "i[m] = argmax(c, x[m, c]); t[m] = x[m, i[m]]; y[m, c] = t[m]", "");
    assert!(picked.contains("`max(c, where(c == i[m], x[m, c], -inf))`"), "{picked}");
    let scalar = told("scalar", "y[m, c] = pos * x[m, c]", "scalars = { pos = 'i32' }");
    assert!(scalar.contains("`inputs = { pos = \"i32[]\" }`"), "{scalar}");
    let ignored = told("ignored", "y[m, c] = inf * x[m, c]", "scalars = { inf = 'f32' }");
    assert!(ignored.contains("`inf` cannot name a scalar"), "{ignored}");
}

#[test]
fn one_dtype_and_one_axis_are_underlined() {
    let tensor = |name: &str, x: &str| {
        let folder = specs(
            name,
            &format!(
                "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64' }}\ninputs = {{ x = '{x}' }}\n\
                 outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = 1'\n"
            ),
        );
        check(&folder).stderr
    };
    let half = tensor("half", "half[m]");
    for text in ["  ^^^^ expected one of f64, f32, f16, bf16,", "did you mean `f16`?"] {
        assert!(half.contains(text), "{text}\n{half}");
    }
    let axis = tensor("axis", "f32[m, d]");
    for text in ["  ^ no such axis", "declare it under `axes`; there are: m"] {
        assert!(axis.contains(text), "{text}\n{axis}");
    }
}

#[test]
fn an_axis_for_nothing_is_warned_of() {
    let folder = specs(
        "unused",
        "edition = 1\n[kernels.k]\naxes = { m = '1..=64', zz = '1..=7' }\ninputs = { x = 'f32[m]' }\n\
         outputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m]'\n",
    );
    let ran = check(&folder);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("warning[CG013]: axis `zz` is never used"), "{said}");
}
