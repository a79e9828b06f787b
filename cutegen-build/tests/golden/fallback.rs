//! The CPU fallbacks as one crate over the runtime's views, run on the cases. They compute in f64, so each element is
//! NumPy's value with one rounding to its type.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::evaluate::judge::element;
use cutegen_build::print::c::is_packed;
use cutegen_build::print::fallback;
use cutegen_spec::dtype::DType;
use cutegen_spec::tensor::Role;

use crate::cases::{Case, Kernel, Library, results};
use crate::{parallel, reference, workspace};

/// Reads and writes tensors; followed by a function per kernel and `run`, which finds one by its name.
const PROGRAM: &str = include_str!("fallback_main.rs.in");

/// Every element of every case.
pub(crate) fn fallbacks(library: &Library) -> Vec<String> {
    let program = match built(library) {
        Ok(program) => program,
        Err(said) => return said.lines().take(40).map(str::to_owned).collect(),
    };
    parallel::each(&library.kernels, |kernel| of_kernel(kernel, &program, library.folder.path())).concat()
}

fn of_kernel(kernel: &Kernel, program: &Path, folder: &Path) -> Vec<String> {
    let calls: String = kernel.cases().map(|case| call(kernel, &case)).collect();
    let list = folder.join(format!("{}.calls", kernel.name()));
    fs::write(&list, calls).expect("it can be written");
    let ran = Command::new(program).arg(&list).output().expect("it starts");
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let panic = said.lines().filter(|line| !line.is_empty()).take(2).collect::<Vec<_>>().join(" ");
        return vec![format!("{}: {panic}", kernel.name())];
    }
    kernel.cases().flat_map(|case| wrong(kernel, &case)).collect()
}

/// The line that calls a kernel: its name, the case's folder, extents, scalars, and each tensor's name with its dims.
fn call(kernel: &Kernel, case: &Case) -> String {
    let numbers = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let scalars = case.scalars.iter().map(|s| s.value().to_bits().cast_signed()).collect::<Vec<_>>();
    let folder = case.folder.display();
    let mut line = format!("{}\t{folder}\t{}\t{}", kernel.name(), numbers(&case.axes), numbers(&scalars));
    for tensor in &kernel.spec().tensors {
        let mut dims: Vec<i64> =
            tensor.dims.iter().map(|dim| dim.eval_axes(&case.axes).expect("an extent")).collect();
        if is_packed(tensor.dtype) {
            dims = vec![tensor.bytes(&case.axes).expect("a size")];
        }
        let _ = write!(line, "\t{}\t{}", tensor.name, numbers(&dims));
    }
    line + "\n"
}

/// The first wrong element of each result.
fn wrong(kernel: &Kernel, case: &Case) -> Vec<String> {
    let one = |t: usize| {
        let (tensor, golden) = (&kernel.spec().tensors[t], case.golden[t].as_ref()?);
        let bytes = fs::read(case.folder.join(format!("{}.fallback", tensor.name))).expect("a result");
        let slack = reference::slack(tensor.dtype, golden);
        let is_right =
            |e: usize| is_rounded(tensor.dtype, element::read(tensor.dtype, &bytes, e), golden[e], slack);
        let at = (0..golden.len()).find(|e| !is_right(*e))?;
        let (found, numpy) = (element::read(tensor.dtype, &bytes, at), golden[at]);
        Some(format!("{}: `{}`[{at}] is {found:e}, by NumPy {numpy:e}", case.label, tensor.name))
    };
    results(kernel.spec()).filter_map(one).collect()
}

/// Whether `found` is `value` rounded once; 8-bit floats saturate, others may overflow.
fn is_rounded(dtype: DType, found: f64, value: f64, slack: f64) -> bool {
    if !dtype.is_float() {
        return found == value;
    }
    let largest = dtype.max_finite();
    let value =
        if matches!(dtype, DType::F8e4m3 | DType::F8e5m2) { value.clamp(-largest, largest) } else { value };
    let most = dtype.unit_roundoff() * value.abs() + dtype.underflow() + slack.max(1e-9 * value.abs());
    found == value || (found - value).abs() <= most
}

/// The program that holds every fallback; what cargo says where it cannot be built.
fn built(library: &Library) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden-fallbacks");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let runtime = workspace().join("cutegen-runtime");
    let manifest = format!(
        "[package]\nname = \"fallbacks\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         cutegen-runtime = {{ path = {runtime:?} }}\n\n[profile.dev]\nopt-level = 1\ndebug = false\n\
         overflow-checks = true\n"
    );
    let functions: String = library.kernels.iter().map(function).collect();
    let arm = |kernel: &Kernel| format!("        \"{0}\" => fallback_{0}(call).unwrap(),\n", kernel.name());
    let arms: String = library.kernels.iter().map(arm).collect();
    let run = format!(
        "fn run(call: &Call) {{\n    match call.kernel.as_str() {{\n{arms}        other => panic!(\"{{other}}\"),\n    }}\n}}\n"
    );
    write(&folder.join("Cargo.toml"), &manifest);
    write(&folder.join("src/main.rs"), &format!("{PROGRAM}\n{functions}\n{run}"));
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("a lock");
    write(&folder.join("Cargo.lock"), &lock);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--offline"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    let start = std::time::Instant::now();
    let ran = cargo.env_remove("RUSTFLAGS").output().expect("cargo starts");
    println!("  fallbacks built ({:.1} s)", start.elapsed().as_secs_f32());
    if ran.status.success() {
        Ok(folder.join("target/debug/fallbacks"))
    } else {
        Err(String::from_utf8_lossy(&ran.stderr).into_owned())
    }
}

/// Writes a file that differs.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).expect("it can be written");
    }
}

fn function(kernel: &Kernel) -> String {
    let spec = kernel.spec();
    let mut text = format!("fn fallback_{}(call: &Call) -> Result<(), Error> {{\n", kernel.name());
    let _ = writeln!(text, "    let check = Check::new({:?});", kernel.name());
    for i in 0..spec.axes.len() {
        let _ = writeln!(text, "    let a{i} = call.axes[{i}];");
    }
    for (i, scalar) in spec.scalars.iter().enumerate() {
        let _ = writeln!(text, "    let s{i} = call.scalars[{i}] as {};", element_of(scalar.dtype));
    }
    for (t, tensor) in spec.tensors.iter().enumerate() {
        let ty = element_of(tensor.dtype);
        let rank = if is_packed(tensor.dtype) { 1 } else { tensor.dims.len() };
        let _ = match tensor.role {
            Role::Input => writeln!(
                text,
                "    let m{t} = call.read::<{ty}>({t}); let t{t} = &m{t}.view(call.dims::<{rank}>({t}));"
            ),
            Role::Inout => writeln!(
                text,
                "    let mut m{t} = call.read::<{ty}>({t}); let t{t} = &mut m{t}.view_mut(call.dims::<{rank}>({t}));"
            ),
            Role::Output => writeln!(
                text,
                "    let mut m{t} = call.poisoned::<{ty}>({t}); let t{t} = &mut m{t}.view_mut(call.dims::<{rank}>({t}));"
            ),
        };
    }
    text.push_str(&fallback::print(&kernel.plan));
    for t in results(spec) {
        let _ = writeln!(text, "    call.write({t}, &m{t});");
    }
    text + "    Ok(())\n}\n\n"
}

fn element_of(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "f64",
        DType::F32 => "f32",
        DType::F16 => "f16",
        DType::Bf16 => "bf16",
        DType::F8e4m3 => "F8E4M3",
        DType::F8e5m2 => "F8E5M2",
        DType::I8 => "i8",
        DType::U8 => "u8",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::Bool => "bool",
        DType::I4 => "I4x2",
        DType::U4 => "U4x2",
    }
}
