//! How long compiled references take, as JSON: softmax over a vocabulary, and causal attention.
//!
//! ```sh
//! cargo run --release -p cutegen-build --features search --example reference_speed
//! ```

use std::process::Command;
use std::time::Instant;

use cutegen_build::evaluate::Distribution;
use cutegen_build::evaluate::judge::inputs::{Request, draw};
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::evaluate::{Call, Reference};
use cutegen_build::plan::Plan;
use cutegen_build::print;
use cutegen_spec::axis;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::tensor::Role;

/// As a search compiles references.
const FLAGS: [&str; 6] = ["-std=c++17", "-O3", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno"];

const SPECS: &str = r#"edition = 1
[kernels.softmax]
axes    = { m = "1..=16", d = 151936 }
inputs  = { x = "f32[m, d]" }
outputs = { y = "f32[m, d]" }
math    = "y[m, d] = softmax(d, x[m, d])"

[kernels.attention]
axes    = { b = "1..=8", s = "1..=2048", t = "s", h = "1..=64", d = 128 }
inputs  = { q = "bf16[b, s, h, d]", k = "bf16[b, t, h, d]", v = "bf16[b, t, h, d]" }
outputs = { y = "bf16[b, s, h, d]" }
scalars = { scale = "f32" }
math    = """
score[b, h, s, t] = sum(d, q[b, s, h, d] * k[b, t, h, d]) * scale
top[b, h, s] = max(t <= s, score[b, h, s, t])
e[b, h, s, t] = exp(score[b, h, s, t] - top[b, h, s])
total[b, h, s] = sum(t <= s, e[b, h, s, t])
y[b, s, h, d] = sum(t <= s, e[b, h, s, t] * v[b, t, h, d]) / total[b, h, s]
"""
"#;

/// Name, position of the kernel, the run-time axes in order.
const RUNS: [(&str, usize, &[i64]); 3] = [
    ("softmax of 1 row of 151936", 0, &[1]),
    ("softmax of 16 rows of 151936", 0, &[16]),
    ("causal attention, 2048 positions, 1 head of 128", 1, &[1, 2048, 1]),
];

const REPEATS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernels = spec_file(SPECS, &Settings::default()).into_kernels();
    let plans = Plan::all(&kernels.map_err(|errors| format!("{errors:?}"))?);
    let folder = tempfile::tempdir()?;
    let mut lines = Vec::new();
    for (name, kernel, extents) in RUNS {
        let plan = &plans[kernel];
        let reference = compiled(plan, folder.path())?;
        let seconds = timed(plan, &reference, extents)?;
        lines.push(serde_json::json!({ "reference": name, "seconds": seconds }));
    }
    println!("{}", serde_json::to_string_pretty(&lines)?);
    Ok(())
}

fn compiled(plan: &Plan, folder: &std::path::Path) -> Result<Reference, Box<dyn std::error::Error>> {
    let name = plan.spec.name.as_str();
    let (source, object) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    std::fs::write(&source, print::reference::print(plan))?;
    let ran = Command::new("c++").args(FLAGS).arg("-o").arg(&object).arg(&source).arg("-lm").output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into());
    }
    Ok(Reference::load(&object)?)
}

/// What each of some calls took, in seconds.
fn timed(
    plan: &Plan,
    reference: &Reference,
    extents: &[i64],
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let spec = &plan.spec;
    let order: Vec<usize> = spec.run_time_axes().collect();
    let bind = |axis: usize| order.iter().position(|a| *a == axis).map_or(0, |at| extents[at]);
    let axes = axis::resolve(&spec.axes, &bind).ok_or("no such shape")?;
    let sizes: Vec<usize> = spec
        .tensors
        .iter()
        .map(|t| t.elements(&axes).map(|n| n as usize))
        .collect::<Option<_>>()
        .ok_or("too large")?;
    let inputs: Vec<usize> = spec.tensors_with(Role::Input).collect();
    let drawn = inputs.iter().map(|t| {
        let request = Request {
            seed: 1,
            position: *t,
            inputs: inputs.len(),
            dtype: spec.tensors[*t].dtype,
            elements: sizes[*t],
            row: sizes[*t],
            terms: 1,
            most: 100,
            range: None,
            is_unique: false,
        };
        draw(Distribution::Normal, &request)
    });
    let contents: Vec<Vec<u8>> = drawn.collect::<Result<_, _>>()?;
    let outputs: Vec<usize> = spec.tensors_with(Role::Output).map(|t| sizes[t]).collect();
    let scalars: Vec<ScalarValue> =
        spec.scalars.iter().map(|_| ScalarValue::F32(0.088_f32.to_bits())).collect();
    let call = Call {
        inputs: &contents,
        axes: &axes,
        scalars: &scalars,
        outputs: &outputs,
        exact: false,
        sampled: None,
    };
    Ok((0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            let _ = reference.call(&call);
            start.elapsed().as_secs_f64()
        })
        .collect())
}
