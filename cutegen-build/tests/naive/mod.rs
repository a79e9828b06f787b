//! The preludes of the naive kernels by numbers: each is compiled as host C++, accumulating in f32 and in f64, and
//! everything that it computes is held against slow definitions in Rust. The CUDA prelude needs a few lines of shim
//! for that, and no GPU.

mod expect;

use std::path::Path;
use std::process::Command;

use cutegen_build::compile::guard::{self, Language};
use cutegen_build::inspect;
use cutegen_build::print::{
    self,
    naive::{CUDA_PRELUDE as CUDA, HOST_PRELUDE as HOST},
};
use cutegen_spec::int_expr::IntExpr;

const CHECKS: &str = include_str!("checks.cpp");
const SHIM: &str = include_str!("cuda_shim.hpp");
const HEADERS: &str = "#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\n#include <initializer_list>\n";

fn compile(source: &str, folder: &Path, flags: &[&str]) {
    let (text, output) = (folder.join("k.cpp"), folder.join("k"));
    std::fs::write(&text, source).expect("written");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O2", "-Wall", "-Werror", "-ffp-contract=off"]).args(flags);
    let run = command.arg("-o").arg(output).arg(text).output().expect("c++ runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Every line that the checks print over `prelude`.
fn lines(prelude: &str, acc: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let source = format!("{HEADERS}using acc = {acc};\n{prelude}\n{CHECKS}");
    compile(&source, folder.path(), &["-Wno-unused-function"]);
    let run = Command::new(folder.path().join("k")).output().expect("it runs");
    assert!(run.status.success());
    String::from_utf8(run.stdout).expect("text")
}

fn agrees(prelude: &str) {
    for acc in ["float", "double"] {
        let printed = lines(prelude, acc);
        let wrong: Vec<String> = printed.lines().filter_map(expect::disagrees).collect();
        assert!(wrong.is_empty(), "{acc}: {} lines, first {:#?}", wrong.len(), &wrong[..wrong.len().min(9)]);
        assert!(printed.lines().count() > 400_000, "{}", printed.lines().count());
    }
}

#[test]
fn host_agrees_with_the_definitions() {
    agrees(HOST);
}

#[test]
fn cuda_agrees_with_the_definitions() {
    agrees(&format!("{SHIM}{CUDA}"));
}

#[test]
fn a_wrong_prelude_is_found() {
    let planted = [
        ("& 15) << 4", "& 7) << 4"),
        ("3, -6, 0x7eu)", "3, -6, 0x7du)"),
        ("(bits >> drop & 1u)", "1u"),
        ("- (a % b < 0 ? 1 : 0)", "- 0"),
        ("(bits - beyond) | 1u", "(bits - beyond)"),
    ];
    for (right, wrong) in planted {
        assert!(HOST.contains(right), "{right}");
        let printed = lines(&HOST.replace(right, wrong), "double");
        assert!(printed.lines().any(|line| expect::disagrees(line).is_some()), "{wrong}");
    }
}

#[test]
fn the_guard_lets_both_pass() {
    assert_eq!(guard::check(HOST, Language::Host), []);
    assert_eq!(guard::check(CUDA, Language::Cuda), []);
}

/// Dimensions and strides as texts, by the program that a kernel is: rounded down where C++ would round to zero.
#[test]
fn extents_round_down_below_zero() {
    let texts = [
        "(a0 - 5) / 2 + 4",
        "(a0 - 7) % 4",
        "ceil_div(a0 - 9, 4) + 3",
        "max(a0 - 6, -3) / 2 + 2",
        "a0 / 3 % 2",
    ];
    let axis = |name: &str| name.strip_prefix('a')?.parse().ok();
    let exprs = texts.map(|text| IntExpr::parse(text, &axis).expect("an expression"));
    let printed: Vec<String> = exprs.iter().map(print::int).collect();
    let (calls, plain) = (printed.iter().filter(|t| t.contains("cg_")).count(), &printed[4]);
    assert_eq!((calls, plain.as_str()), (4, "((a0 / 3) % 2)"), "{printed:?}");
    let lines: String =
        printed.iter().map(|t| format!("    std::printf(\"%lld \", (long long)({t}));\n")).collect();
    let main = format!("int main() {{\n  for (int64_t a0 = 1; a0 < 20; ++a0) {{\n{lines}  }}\n}}\n");
    let folder = tempfile::tempdir().expect("a folder");
    let source = format!("{HEADERS}using acc = float;\n{HOST}\n{main}");
    compile(&source, folder.path(), &["-Wno-unused-function"]);
    let run = Command::new(folder.path().join("k")).output().expect("it runs");
    let found = String::from_utf8(run.stdout).expect("text");
    let found: Vec<i64> = found.split_whitespace().map(|word| word.parse().expect("an integer")).collect();
    let expected = (1..20).flat_map(|a0| exprs.iter().map(move |e| e.eval_axes(&[a0]).expect("a value")));
    assert_eq!(found, expected.collect::<Vec<_>>(), "{printed:?}");
}

/// What a host object may import is a short list; every function of the prelude stays inside it.
#[test]
fn host_objects_stay_importable() {
    let names =
        ["abs exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tanh erf sigmoid silu gelu gelu_tanh relu"];
    let calls = names.iter().flat_map(|n| n.split(' ')).chain(["softplus", "floor", "ceil", "round", "sign"]);
    let body: String = calls.map(|name| format!("  x[0] = cg_{name}(x[0] + x[1]);\n")).collect();
    let entry =
        "extern \"C\" __attribute__((visibility(\"default\"), externally_visible)) void k(acc* x, f16* y)";
    for (acc, level) in [("float", "x86-64"), ("double", "x86-64-v3")] {
        let folder = tempfile::tempdir().expect("a folder");
        let stores = "  cg_store(y[0], cg_pow(x[0], cg_cast_f8e4m3(x[1])));\n";
        let source = format!("{HEADERS}using acc = {acc};\n{HOST}\n{entry} {{\n{body}{stores}}}\n");
        compile(&source, folder.path(), &["-c", "-fPIC", &format!("-march={level}"), "-Wno-unused-function"]);
        let object = std::fs::read(folder.path().join("k")).expect("compiled");
        let checked = inspect::object::check(&object, &["k".to_owned()]);
        assert!(checked.is_ok(), "{checked:?}");
    }
}
