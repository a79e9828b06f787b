//! `run --with reference`: what it gives for formulas that end at infinities, for integers, and where nothing is judged.

use std::fs;

use cutegen_tests::run;
use cutegen_tests::safetensors::{as_f32s, as_f64s, f32s};

use super::Bench;

const NUMBERS: &str = "edition = 1
[kernels.silu]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = silu(x[n])'
[kernels.gelu]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = gelu(x[n])'
[kernels.root]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = pow(x[n], 0.5)'
[kernels.inverse]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]', z = 'f32[n]' }
math = 'y[n] = 1 / abs(x[n]); z[n] = 1 / relu(x[n])'
[kernels.append]
axes = { n = 6, t = '1..=6' }
inputs = { x = 'i8[t]', s = { type = 'i32[t]', range = '0..n', unique = true } }
inout = { c = 'i8[n]' }
math = 'c[s[t]] = x[t]'
[kernels.same]
axes = { n = '1..=64' }
inputs = { x = 'i64[n]' }
outputs = { y = 'bool[n]', z = 'bool[n]' }
math = 'y[n] = x[n] == 9007199254740993; z[n] = x[n] == -9223372036854775808'
[kernels.skewed]
axes = { m = '1..=8', d = '1..=8' }
inputs = { x = 'f32[m, d]' }
outputs = { y = { type = 'f32[m, d]', strides = [1, 1] } }
math = 'y[m, d] = x[m, d]'
";

fn floats(out: &cutegen_tests::safetensors::Contents, name: &str) -> Vec<f64> {
    let (dtype, _, bytes) = &out.tensors[name];
    if dtype == "F64" { as_f64s(bytes) } else { as_f32s(bytes).into_iter().map(f64::from).collect() }
}

#[test]
fn the_reference_and_the_naive_kernel_agree_where_formulas_end() {
    const INF: f32 = f32::INFINITY;
    let bench = Bench::library("numbers", NUMBERS);
    let run = |kernel: &str, x: &[f32], with: &str| {
        let given = bench.given(&[("x", ("F32", vec![x.len()], f32s(x)))]);
        bench.done(&[kernel, "--in", &given, "--with", with])
    };
    for with in ["reference", "naive"] {
        for kernel in ["silu", "gelu"] {
            let out = run(kernel, &[-INF, INF, 1.0], with);
            let y = floats(&out, "y");
            assert!(
                y[0].is_nan() && y[1] == f64::INFINITY && (0.7..0.9).contains(&y[2]),
                "{with} {kernel}: {y:?}"
            );
            let mask = out.tensors.get("y.not_judged");
            let marked =
                mask.map(|(dtype, shape, bytes)| (dtype.as_str(), shape.as_slice(), bytes.as_slice()));
            let wanted = (with == "reference").then_some(("BOOL", &[3][..], &[1, 0, 0][..]));
            assert_eq!(marked, wanted, "{with} {kernel}");
        }
        let tails = floats(&run("gelu", &[-5.5, -10.0], with), "y");
        for (found, right) in tails.iter().zip([-1.044_425_935_623_825_6e-7, -7.619_853_024_160_527e-23]) {
            assert!((found / right - 1.0).abs() < 1e-5, "{with}: {found:e} for {right:e}");
        }
        assert_eq!(floats(&run("root", &[-INF; 12], with), "y"), [f64::INFINITY; 12], "{with}");
        let inverse = run("inverse", &[-0.0, 0.0], with);
        assert_eq!([floats(&inverse, "y"), floats(&inverse, "z")], [[f64::INFINITY; 2]; 2], "{with}");
    }
    let said = bench.run(&[
        "silu",
        "--in",
        &bench.given(&[("x", ("F32", vec![1], f32s(&[-INF])))]),
        "--with",
        "reference",
    ]);
    assert!(said.stdout.contains("y: 1 elements are not judged"), "{}", said.stdout);
}

#[test]
fn integers_and_inouts_of_the_reference_are_exact() {
    let bench = Bench::library("exact", NUMBERS);
    let (x, s) = (vec![1, 3], [4_i32, 0].iter().flat_map(|s| s.to_le_bytes()).collect::<Vec<u8>>());
    let given = [
        ("x", ("I8", vec![2], x)),
        ("s", ("I32", vec![2], s)),
        ("c", ("I8", vec![6], vec![0, 1, 2, 3, 4, 5])),
    ];
    let kept = bench.done(&["append", "--in", &bench.given(&given), "--with", "reference"]);
    assert_eq!(kept.tensors["c"].2, [3, 1, 2, 3, 1, 5]);

    let numbers = [1_i64 << 53, (1 << 53) + 1, i64::MIN].iter().flat_map(|x| x.to_le_bytes()).collect();
    let given = bench.given(&[("x", ("I64", vec![3], numbers))]);
    for with in ["reference", "naive"] {
        let out = bench.done(&["same", "--in", &given, "--with", with]);
        assert_eq!([&out.tensors["y"].2, &out.tensors["z"].2], [&[0, 1, 0], &[0, 0, 1]], "{with}");
    }

    let given = bench.given(&[("x", ("F32", vec![2, 3], f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])))]);
    fs::remove_file(bench.file("out.safetensors")).expect("removed");
    let told = bench.refused(&["skewed", "--in", &given], 2);
    assert!(told.contains("elements 1 and 3 of `y` share a place by its strides [1, 1]"), "{told}");
}

const JUDGED: &str = "edition = 1
[kernels.bounded]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = tanh(silu(x[n]))'
[kernels.tolerated]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = gelu(x[n])'
tolerance = { relative = 1e-4, absolute = 1e-5, reason = 'a test' }
[kernels.halved]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = gelu(min(x[n], 0)) * 2'
[kernels.inverse]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = 1 / abs(x[n])'
[kernels.vanishing]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]', z = 'f32[n]' }
math = 'y[n] = log(x[n] - 0.1 * (x[n] * 10)); z[n] = x[n]'
";

#[test]
fn honest_naive_kernels_pass_where_bounds_are_infinite() {
    let bench = Bench::library("judged", JUDGED);
    let judged = |kernel: &str| run(&mut bench.command(&["verify", kernel]));
    for kernel in ["bounded", "tolerated", "halved", "inverse"] {
        let ran = judged(kernel);
        assert!(ran.ok, "{kernel}\n{}\n{}", ran.stdout, ran.stderr);
    }
    let ran = judged("vanishing");
    assert!(
        !ran.ok && !ran.stderr.contains("incorrect"),
        "too few tell of `y`\n{}\n{}",
        ran.stdout,
        ran.stderr
    );
}
