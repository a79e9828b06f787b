//! What was emitted, linked and run: numbers on every element, errors that types can't catch, and two versions of
//! one package in one binary.

use cutegen_build::emit::{self, Package};
use cutegen_spec::lock::{self, Lock};
use cutegen_spec::record::{self, Record};
use cutegen_spec::target::DEFAULT_TRIPLE;
use cutegen_tests::{must, workspace};

use super::fixture::{
    Answered, Crates, PACKAGE, compile, example_plans, manifest, plans, runtime_dependency, untuned,
};
use super::golden::{everything, example};

/// Emits `answered` for `package` into the crates' folder, host kernels compiled.
pub(super) fn emitted(crates: &Crates, package: &Package<'_>, answered: Vec<Answered>) -> std::path::PathBuf {
    let out = crates.folder.join(format!("out-{}-{}", package.name, package.version));
    let ready = |one: Answered| if one.plan.target.is_host() { compile(one, &out.join("src")) } else { one };
    let answered: Vec<Answered> = answered.into_iter().map(ready).collect();
    let kernels: Vec<_> = answered.iter().map(Answered::emit).collect();
    emit::emit(package, &kernels, &out).expect("emits").lib_dir
}

/// Every kernel of the example by its linked kernel and by the math, against loops written here in f64.
const NUMBERS: &str = r#"//! Numbers.
use cutegen_runtime::{AsView, AsViewMut};
use half::bf16;
use numbers_math as math;
cutegen_runtime::include_kernels!();

struct Draw(u64);
impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f64 / (1_u64 << 23) as f64 - 1.0
    }
    fn tensor(&mut self, n: usize) -> Vec<bf16> {
        (0..n).map(|_| bf16::from_f64(self.next())).collect()
    }
}

/// Half a unit of bf16, and what a sum of `terms` in f32 may lose.
fn compare(what: &str, got: &[bf16], expected: &[(f64, f64)], sums: f64) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, (value, terms))) in got.iter().zip(expected).enumerate() {
        let bound = value.abs() / 256.0 + terms * sums + 1e-30;
        assert!((got.to_f64() - value).abs() <= bound, "{what}[{i}] = {got} is not {value}");
    }
}

fn silu(x: f64) -> f64 { x / (1.0 + (-x).exp()) }

/// What one thread loaded, others call.
fn shared<T: Send + Sync>() {}

fn main() {
    let mut draw = Draw(7);
    let mut workspace = kernels::host::workspace();
    let mut other = math::kernels::host::workspace();
    std::hint::black_box(kernels::cuda::load as fn(_) -> _);
    shared::<kernels::cuda::Kernels>();

    let (m, d, f, eps) = (5, 512, 1408, 1e-5_f32);
    let (x, w) = (draw.tensor(m * d), draw.tensor(d));
    let expected: Vec<(f64, f64)> = (0..m * d).map(|i| {
        let row = &x[i / d * d..][..d];
        let square = row.iter().map(|v| v.to_f64().powi(2)).sum::<f64>() / d as f64;
        let value = x[i].to_f64() / (square + f64::from(eps)).sqrt() * w[i % d].to_f64();
        (value, value.abs())
    }).collect();
    let (mut y, mut z) = (vec![bf16::NAN; m * d], vec![bf16::NAN; m * d]);
    kernels::host::rms_norm(&mut workspace, kernels::host::RmsNorm {
        m, x: x.view([m, d]), w: w.view([d]), y: y.view_mut([m, d]), eps }).expect("runs");
    math::kernels::host::rms_norm(&mut other, math::kernels::host::RmsNorm {
        m, x: x.view([m, d]), w: w.view([d]), y: z.view_mut([m, d]), eps }).expect("runs");
    compare("rms_norm", &y, &expected, 1e-5);
    compare("rms_norm by math", &z, &expected, 1e-12);

    let (wg, wu) = (draw.tensor(f * d), draw.tensor(f * d));
    let dot = |row: &[bf16], col: &[bf16]| row.iter().zip(col).map(|(a, b)| a.to_f64() * b.to_f64()).sum::<f64>();
    let expected: Vec<(f64, f64)> = (0..m * f).map(|i| {
        let row = &x[i / f * d..][..d];
        let (g, u) = (dot(row, &wg[i % f * d..][..d]), dot(row, &wu[i % f * d..][..d]));
        (silu(g) * u, d as f64)
    }).collect();
    let (mut h, mut z) = (vec![bf16::NAN; m * f], vec![bf16::NAN; m * f]);
    kernels::host::gate_up(&mut workspace, kernels::host::GateUp {
        m, x: x.view([m, d]), wg: wg.view([f, d]), wu: wu.view([f, d]), h: h.view_mut([m, f]) }).expect("runs");
    math::kernels::host::gate_up(&mut other, math::kernels::host::GateUp {
        m, x: x.view([m, d]), wg: wg.view([f, d]), wu: wu.view([f, d]), h: z.view_mut([m, f]) }).expect("runs");
    compare("gate_up", &h, &expected, 1e-5);
    compare("gate_up by math", &z, &expected, 1e-12);

    let (w, r) = (draw.tensor(d * f), draw.tensor(m * d));
    let expected: Vec<(f64, f64)> = (0..m * d).map(|i| {
        let (row, col) = (&h[i / d * f..][..f], &w[i % d * f..][..f]);
        let terms = row.iter().zip(col).map(|(a, b)| (a.to_f64() * b.to_f64()).abs()).sum::<f64>();
        (dot(row, col) + r[i].to_f64(), terms)
    }).collect();
    let (mut y, mut z) = (vec![bf16::NAN; m * d], vec![bf16::NAN; m * d]);
    kernels::host::down_residual(&mut workspace, kernels::host::DownResidual {
        m, h: h.view([m, f]), w: w.view([d, f]), r: r.view([m, d]), y: y.view_mut([m, d]) }).expect("runs");
    math::kernels::host::down_residual(&mut other, math::kernels::host::DownResidual {
        m, h: h.view([m, f]), w: w.view([d, f]), r: r.view([m, d]), y: z.view_mut([m, d]) }).expect("runs");
    compare("down_residual", &y, &expected, 1e-5);
    compare("down_residual by math", &z, &expected, 1e-12);

    let n = 4099;
    let (g, u) = (draw.tensor(n), draw.tensor(n));
    let expected: Vec<(f64, f64)> = (0..n).map(|i| (silu(g[i].to_f64()) * u[i].to_f64(), 1.0)).collect();
    let (mut y, mut z) = (vec![bf16::NAN; n], vec![bf16::NAN; n]);
    kernels::host::silu_mul(&mut workspace, kernels::host::SiluMul {
        n, g: g.view([n]), u: u.view([n]), y: y.view_mut([n]) }).expect("runs");
    math::kernels::host::silu_mul(&mut other, math::kernels::host::SiluMul {
        n, g: g.view([n]), u: u.view([n]), y: z.view_mut([n]) }).expect("runs");
    compare("silu_mul", &y, &expected, 1e-6);
    compare("silu_mul by math", &z, &expected, 1e-12);

    let ours: Vec<&str> = kernels::host::explain().iter().map(|k| k.variants[0].name).collect();
    let theirs: Vec<&str> = math::kernels::host::explain().iter().map(|k| k.variants[0].name).collect();
    println!("{ours:?} {theirs:?}");
    println!("{}{}", kernels::host::explain()[0], math::kernels::host::explain()[0]);
}
"#;

#[test]
fn linked_kernels_and_the_math_compute_the_same_right_numbers() {
    let mut crates = Crates::new("numbers");
    let linked = emitted(&crates, &PACKAGE, example());
    let foreign = Package { name: "numbers-math", triple: "x86_64-unknown-linux-musl", ..PACKAGE };
    let math = emitted(&crates, &foreign, example());
    let runtime = runtime_dependency("\"cuda\"");
    let dependencies = format!("{runtime}numbers-math = {{ path = \"../numbers-math\" }}\n");
    let main = [("src/main.rs", NUMBERS)];
    crates.member("numbers", &manifest("numbers", "0.1.0", &dependencies), &main, Some(&linked));
    let lib = [("src/lib.rs", "//! The math alone.\ncutegen_runtime::include_kernels!();\n")];
    crates.member("numbers-math", &manifest("numbers-math", "0.1.0", &runtime), &lib, Some(&math));
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "numbers"]));
    let names = r#"["naive", "naive", "naive", "naive"] ["math", "math", "math", "math"]"#;
    assert_eq!(ran.stdout.lines().next(), Some(names));
    for said in
        ["rms_norm for x86-64-v3 on ", "  1. naive  untuned   always\n", "  1. math  fallback  always\n"]
    {
        assert!(ran.stdout.contains(said), "{}\ndoes not say {said}", ran.stdout);
    }
}

/// Calls with one thing wrong each, and what is said.
const MISUSE: &str = r#"//! Misuse.
use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::host::{Everything, everything};
cutegen_runtime::include_kernels!();

/// Extents, the step of `z`, and how many elements two tensors lack in memory.
#[derive(Clone, Copy)]
struct Call { m: usize, stream: usize, k: usize, z: usize, stride: usize, check_lacks: usize, z_lacks: usize }

const RIGHT: Call = Call { m: 8, stream: 3, k: 512, z: 16, stride: 1, check_lacks: 0, z_lacks: 0 };

fn attempt(call: Call) -> Result<(Vec<f32>, Vec<f64>), Error> {
    let Call { m, stream, k, z: twice, stride, check_lacks, z_lacks } = call;
    let check = vec![1.0_f32; m * k];
    let w = vec![bf16::ONE; stream * 512];
    let (mut y, mut z) = (vec![f32::NAN; m * stream], vec![f64::NAN; (twice * stride).max(1)]);
    let held = if stride == 1 { twice } else { z.len() - z_lacks };
    let z_view = z[..held].view_mut([twice]).with_strides([stride]);
    everything(&mut kernels::host::workspace(), Everything {
        m, stream, check: check[..m * k - check_lacks].view([m, k]), w: w.view([stream, 512]),
        y: y.view_mut([m, stream]), z: z_view, eps: 0.5, args: 2.5,
    })?;
    Ok((y, z))
}

fn said(call: Call) -> String {
    attempt(call).map_or_else(|error| error.to_string(), |_| "fine".to_owned())
}

fn main() {
    let (y, z) = attempt(RIGHT).expect("runs");
    assert!(y.iter().all(|v| *v == 512.5) && z.iter().all(|v| *v == 2.5), "{y:?} {z:?}");
    let (y, z) = attempt(Call { stream: 0, ..RIGHT }).expect("one output is empty");
    assert!(y.is_empty() && z.iter().all(|v| *v == 2.5), "{z:?}");
    println!("{}", said(Call { m: 12, z: 24, ..RIGHT }));
    println!("{}", said(Call { m: 0, z: 0, ..RIGHT }));
    println!("{}", said(Call { m: 4104, z: 8208, ..RIGHT }));
    println!("{}", said(Call { stream: 65, ..RIGHT }));
    println!("{}", said(Call { k: 511, ..RIGHT }));
    println!("{}", said(Call { z: 17, ..RIGHT }));
    println!("{}", said(Call { stride: 2, ..RIGHT }));
    println!("{}", said(Call { check_lacks: 1, ..RIGHT }));
    println!("{}", said(Call { stride: 3, z_lacks: 3, ..RIGHT }));
}
"#;

#[test]
fn what_types_cannot_catch_is_said_at_the_call() {
    let mut crates = Crates::new("misuse");
    let linked = emitted(&crates, &Package { name: "misuse", ..PACKAGE }, everything());
    let main = [("src/main.rs", MISUSE)];
    crates.member(
        "misuse",
        &manifest("misuse", "0.1.0", &runtime_dependency("\"cuda\"")),
        &main,
        Some(&linked),
    );
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "misuse"]));
    let expected = [
        "everything: axis `m` is 12, no multiple of the declared 8;",
        "everything: axis `m` is 0, outside the declared 8..=4096;",
        "everything: axis `m` is 4104, outside the declared 8..=4096;",
        "everything: axis `stream` is 65, outside the declared 0..=64;",
        "everything: dimension 1 of argument `check` is 511 where the axes give 512;",
        "everything: dimension 0 of argument `z` is 17 where the axes give 16;",
        "everything: argument `z` has stride 2 in dimension 0 where the kernel was built for 1;",
        "everything: argument `check` has 4095 elements where its view needs 4096;",
        "everything: argument `z` has 45 elements where its view needs 46;",
    ];
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\nis not {expected}");
    }
}

/// Tensors that strides of zero make as large as one likes: of one index, of one row.
const ENDLESS: &str = r#"
[kernels.gather]
axes    = { a = "1..=4294967296", b = "1..=4294967296", v = "1..=64" }
inputs  = { table = "f32[v]", ids = { type = "i32[a, b]", strides = [0, 0], range = "0..v" } }
outputs = { y = "f32[v]" }
math    = "y[v] = table[v] + sum((a, b), table[ids[a, b]])"

[kernels.roots]
axes    = { a = "1..=4294967296", b = "1..=4294967296", c = "1..=4", v = "1..=64" }
inputs  = { table = "f32[v]", x = { type = "f32[a, b, c]", strides = [0, 0, 1] } }
outputs = { y = "f32[v]" }
math    = "y[v] = table[v] + sum((a, b), sqrt(sum(c, x[a, b, c])))"
"#;

/// Squares of growing extents, what is said of each on a line.
const SQUARES: &str = r#"//! More than there can be.
use cutegen_runtime::{AsView, AsViewMut};
cutegen_runtime::include_kernels!();

macro_rules! squares {
    ($host:path) => {{
        use $host as host;
        let (table, mut y) = (vec![0.5_f32; 10], vec![0.0_f32; 10]);
        let mut workspace = host::workspace();
        for id in [3, 500_000_000] {
            for n in [4, 1 << 32] {
                let ids = [id];
                let (ids, table) = (ids.view([n, n]).with_strides([0, 0]), table.view([10]));
                let args = host::Gather { a: n, b: n, v: 10, table, ids, y: y.view_mut([10]) };
                let said = host::gather(&mut workspace, args);
                println!("{}", said.map_or_else(|error| error.to_string(), |()| format!("{}", y[0])));
            }
        }
        for n in [4, 1 << 30, 1 << 31, 1 << 32] {
            let x = vec![1.0_f32];
            let (x, table) = (x.view([n, n, 1]).with_strides([0, 0, 1]), table.view([10]));
            let args = host::Roots { a: n, b: n, c: 1, v: 10, table, x, y: y.view_mut([10]) };
            let said = host::roots(&mut workspace, args);
            println!("{}", said.map_or_else(|error| error.to_string(), |()| format!("{}", y[0])));
        }
    }};
}

fn main() {
    squares!(crate::kernels::host);
    squares!(endless_math::kernels::host);
}
"#;

/// An extent or a size that overflows is an error of the call, with overflow checks and without.
#[test]
fn what_overflows_is_an_error_of_the_call() {
    let mut crates = Crates::new("endless");
    let plans = || plans(ENDLESS).into_iter().map(untuned).collect::<Vec<_>>();
    let linked = emitted(&crates, &Package { name: "endless", ..PACKAGE }, plans());
    let foreign = Package { name: "endless-math", triple: "x86_64-unknown-linux-musl", ..PACKAGE };
    let math = emitted(&crates, &foreign, plans());
    let runtime = runtime_dependency("");
    let dependencies = format!("{runtime}endless-math = {{ path = \"../endless-math\" }}\n");
    let main = [("src/main.rs", SQUARES)];
    crates.member("endless", &manifest("endless", "0.1.0", &dependencies), &main, Some(&linked));
    let lib = [("src/lib.rs", "//! The math alone.\ncutegen_runtime::include_kernels!();\n")];
    crates.member("endless-math", &manifest("endless-math", "0.1.0", &runtime), &lib, Some(&math));
    let gathered = [
        "8.5",
        "gather: the extents of argument `ids` overflow the address space;",
        "gather: element 0 of argument `ids` is 500000000, outside the declared 0..10;",
        "gather: the extents of argument `ids` overflow the address space;",
    ];
    let rooted = |large: &'static str, huge: &'static str| {
        ["16.5", large, huge, "roots: the extents of argument `x` overflow the address space;"]
    };
    let linked = rooted("roots: a workspace of ", "roots: `workspace` comes out negative or overflows");
    let math = rooted("roots: a temporary of ", "roots: a temporary of ");
    let expected = [gathered, linked, gathered, math].concat();
    for profile in ["dev", "release"] {
        let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "endless", "--profile", profile]));
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{profile}: {lines:#?}");
        for (line, expected) in lines.iter().zip(&expected) {
            assert!(line.starts_with(expected), "{profile}: {line}\nis not {expected}");
        }
    }
}

fn library(scale: u32) -> String {
    format!(
        "[kernels.scale]\naxes = {{ n = '1..=64' }}\ninputs = {{ x = 'f32[n]' }}\noutputs = {{ y = 'f32[n]' }}\n\
         math = 'y[n] = x[n] * {scale}'\ntargets = ['host', 'sm_90a']\n\
         [kernels.shift]\naxes = {{ n = '1..=64' }}\ninputs = {{ x = 'f32[n]' }}\noutputs = {{ y = 'f32[n]' }}\n\
         math = 'y[n] = x[n] + 1'\ntargets = ['host', 'sm_90a']\n\
         [kernels.shift_too]\naxes = {{ i = '1..=64' }}\ninputs = {{ a = 'f32[i]' }}\noutputs = {{ b = 'f32[i]' }}\n\
         math = 'b[i] = a[i] + 1'\ntargets = ['host', 'sm_90a']\n"
    )
}

const VERSIONS: &str = r#"//! Two versions of one package.
use cutegen_runtime::{AsView, AsViewMut};

macro_rules! both {
    ($dep:ident) => {{
        std::hint::black_box($dep::kernels::cuda::load as fn(_) -> _);
        use $dep::kernels::host::{Scale, Shift, ShiftToo, scale, shift, shift_too, workspace};
        let x = [3.0_f32, 5.0];
        let (mut a, mut b, mut c) = ([0.0_f32; 2], [0.0_f32; 2], [0.0_f32; 2]);
        scale(&mut workspace(), Scale { n: 2, x: x.view([2]), y: a.view_mut([2]) }).expect("runs");
        shift(&mut workspace(), Shift { n: 2, x: x.view([2]), y: b.view_mut([2]) }).expect("runs");
        shift_too(&mut workspace(), ShiftToo { i: 2, a: x.view([2]), b: c.view_mut([2]) }).expect("runs");
        (a, b, c)
    }};
}

fn main() {
    println!("{:?} {:?}", both!(old), both!(new));
}
"#;

/// `scale` has differing keys in the two versions, `shift` and `shift_too` one key in both, and in each of them.
#[test]
fn two_versions_of_one_package_link_together() {
    let mut crates = Crates::new("versions");
    let runtime = runtime_dependency("\"cuda\"");
    for (version, scale) in [("0.1.0", 2), ("0.2.0", 10)] {
        let package = Package { name: "dep", version, triple: DEFAULT_TRIPLE, host: DEFAULT_TRIPLE };
        let out = emitted(&crates, &package, plans(&library(scale)).into_iter().map(untuned).collect());
        let lib = [("src/lib.rs", "//! A library of kernels.\ncutegen_runtime::include_kernels!();\n")];
        crates.member(&format!("dep-{version}"), &manifest("dep", version, &runtime), &lib, Some(&out));
        crates.exclude(&format!("dep-{version}"));
    }
    let dependencies = format!(
        "{runtime}old = {{ package = \"dep\", path = \"../dep-0.1.0\" }}\n\
         new = {{ package = \"dep\", path = \"../dep-0.2.0\" }}\n"
    );
    crates.member("app", &manifest("app", "0.1.0", &dependencies), &[("src/main.rs", VERSIONS)], None);
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "app"]));
    let expected = "([6.0, 10.0], [4.0, 6.0], [4.0, 6.0]) ([30.0, 50.0], [4.0, 6.0], [4.0, 6.0])";
    assert_eq!(ran.stdout.trim(), expected);
}

/// The example's kernel for CUDA on slices, whole and part, dispatched and raw, against f64; where there is no
/// device, that it is said.
const DEVICE: &str = r#"//! On a device.
use cutegen_runtime::cuda::{context, cudarc::driver::DevicePtr, cudarc::driver::DevicePtrMut};
use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::cuda::{SiluMul, load};
cutegen_runtime::include_kernels!();

fn compare(y: &[bf16], g: &[bf16], u: &[bf16]) {
    for i in 0..y.len() {
        let x = g[i].to_f64();
        let expected = x / (1.0 + (-x).exp()) * u[i].to_f64();
        let bound = expected.abs() / 256.0 + 1e-6;
        assert!((y[i].to_f64() - expected).abs() <= bound, "y[{i}] = {} is not {expected}", y[i]);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = match context(0) {
        Ok(ctx) => ctx,
        Err(Error::DriverMissing { .. } | Error::NoDevice { .. } | Error::DriverTooOld { .. }) => {
            println!("no device");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let stream = ctx.new_stream()?;
    let kernels = load(&ctx)?;
    let mut workspace = kernels.workspace(&stream)?;
    for n in [1_usize, 777, 65_539, 1 << 22] {
        let draw = |i: usize, k: usize| bf16::from_f64(((i * k % 4001) as f64 - 2000.0) / 500.0);
        let g: Vec<bf16> = (0..n + 1).map(|i| draw(i, 37)).collect();
        let u: Vec<bf16> = (0..n + 1).map(|i| draw(i, 101)).collect();
        let (on_g, on_u) = (stream.clone_htod(&g)?, stream.clone_htod(&u)?);
        let mut on_y = stream.clone_htod(&vec![bf16::NAN; n])?;
        // one element on: aligned to 2 bytes only
        for at in [0, 1] {
            let (g_part, u_part) = (on_g.slice(at..at + n), on_u.slice(at..at + n));
            let args = SiluMul { n, g: g_part.view([n]), u: u_part.view([n]), y: on_y.view_mut([n]) };
            kernels.silu_mul(&stream, &mut workspace, args)?;
            compare(&stream.clone_dtoh(&on_y)?, &g[at..], &u[at..]);
            stream.memset_zeros(&mut on_y)?;
            {
                let ((g_at, _g), (u_at, _u)) = (g_part.device_ptr(&stream), u_part.device_ptr(&stream));
                let (y_at, _y) = on_y.device_ptr_mut(&stream);
                assert_eq!(kernels.silu_mul_workspace_bytes(n, g_at, u_at, y_at), 0);
                // SAFETY: as the typed call, on the same memory.
                unsafe { kernels.silu_mul_raw(stream.cu_stream(), 0, 0, n, g_at, u_at, y_at)? };
            }
            compare(&stream.clone_dtoh(&on_y)?, &g[at..], &u[at..]);
        }
        let wrong = SiluMul { n: n + 1, g: on_g.view([n + 1]), u: on_u.view([n + 1]), y: on_y.view_mut([n]) };
        assert!(kernels.silu_mul(&stream, &mut workspace, wrong).is_err());
    }
    println!("right on {}", kernels.explain()[0]);
    Ok(())
}
"#;

/// The entry that the example's lock pins, as a build replays it.
fn locked(name: &str, target: &str) -> Answered {
    let root = workspace().join("example-app");
    let read =
        |path: std::path::PathBuf| std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = |path| String::from_utf8(read(path)).expect("text");
    let lock = Lock::parse(&text(root.join(lock::FILE))).expect("a lock");
    let key = lock.get(name, target).expect("locked").key.to_string();
    let entry = root.join("cutegen-store/v1").join(&key[..2]).join(&key);
    let record = Record::parse(&text(entry.join(record::FILE))).expect("a record");
    let artifacts = record.variants.iter().map(|v| read(entry.join(&v.artifact.file))).collect();
    let mut plans = example_plans().into_iter();
    let plan = plans.find(|plan| plan.spec.name.as_str() == name && plan.target.to_string() == target);
    Answered { plan: plan.expect("declared"), record, artifacts }
}

/// What an engine has already: half's types in device memory.
const HALF_SLICES: &str = "cudarc = { version = \"0.19\", default-features = false, features = [\"f16\"] }\n";

#[test]
fn the_example_runs_on_a_device_where_there_is_one() {
    let mut crates = Crates::new("device");
    let linked = emitted(&crates, &PACKAGE, vec![locked("silu_mul", "sm_90a")]);
    let main = [("src/main.rs", DEVICE)];
    crates.member(
        "device",
        &manifest("device", "0.1.0", &format!("{}{HALF_SLICES}", runtime_dependency("\"cuda\""))),
        &main,
        Some(&linked),
    );
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "device"]));
    assert!(
        ran.stdout.starts_with("no device") || ran.stdout.starts_with("right on silu_mul"),
        "{}",
        ran.stdout
    );
    println!("{}", ran.stdout.trim());
}
