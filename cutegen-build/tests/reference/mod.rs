//! The reference's running errors against brute force: C++ programs over its prelude, compiled by the system's
//! compiler for both accumulation types and for fast math. Each rule of the prelude is also weakened, and a check
//! must then report it: one that never fired proves nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use cutegen_build::print::reference::PRELUDE;

use crate::sample;

const SHARED: &str = include_str!("check.hpp");
const ELEMENTS: &str = include_str!("elements.cpp");
const FAULTS: &str = include_str!("faults.cpp");
const FUNCTIONS: &str = include_str!("functions.cpp");
const REDUCTIONS: &str = include_str!("reductions.cpp");
const STEPS: &str = include_str!("steps.cpp");

/// What the printer defines before the prelude.
#[derive(Clone, Copy)]
enum Precision {
    F32,
    F64,
    Fast,
}

impl Precision {
    const ALL: [Precision; 3] = [Precision::F32, Precision::F64, Precision::Fast];

    fn definitions(self) -> String {
        let (real, scalar, unit, underflow, max) = match self {
            Precision::F32 | Precision::Fast => ("double", "float", "0x1p-24", "0x1p-150", "__FLT_MAX__"),
            Precision::F64 => ("long double", "double", "0x1p-53", "0x1p-1074", "__DBL_MAX__"),
        };
        let fast = matches!(self, Precision::Fast);
        format!(
            "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <vector>\n\
             using real = {real};\nusing scalar_t = {scalar};\n\
             static constexpr double U_ACC = {unit}, ETA_ACC = {underflow}, ACC_MAX = {max};\n\
             static constexpr int CHAIN = 512, LONGEST = 4096, DRIFTING = 131072;\n\
             static constexpr bool FAST_MATH = {fast};\n"
        )
    }
}

/// The prelude without its own definitions of the precision.
fn prelude() -> &'static str {
    &PRELUDE[PRELUDE.find("// Running error analysis").expect("the prelude says what it is")..]
}

/// Compiles and runs the checks; what failed, by line.
fn failures(precision: Precision, prelude: &str, checks: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, program) = (folder.path().join("checks.cpp"), folder.path().join("checks"));
    fs::write(&source, format!("{}{prelude}\n{SHARED}{checks}", precision.definitions()))
        .expect("it can be written");
    compile(&source, &program);
    let ran = Command::new(&program).output().expect("it starts");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let failed: Vec<String> =
        text.lines().filter(|line| line.starts_with("FAILED ")).map(str::to_owned).collect();
    assert_eq!(ran.status.code(), Some(i32::from(!failed.is_empty())), "{text}");
    failed
}

fn compile(source: &Path, program: &Path) {
    let flags =
        ["-std=c++17", "-O1", "-Wall", "-Wno-unused-function", "-ffp-contract=off", "-fno-math-errno"];
    let compiled =
        Command::new("c++").args(flags).arg(source).arg("-o").arg(program).output().expect("c++ starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    assert!(compiled.stderr.is_empty(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

fn holds(checks: &str) {
    for precision in Precision::ALL {
        let failed = failures(precision, prelude(), checks);
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}

#[test]
fn functions_and_operators_stay_inside_their_errors() {
    holds(FUNCTIONS);
}

#[test]
fn every_code_is_read_and_rounded_to_as_defined() {
    holds(ELEMENTS);
}

#[test]
fn steps_accept_what_is_reachable_and_are_sharp_where_decided() {
    holds(STEPS);
}

#[test]
fn reductions_hold_in_every_order() {
    holds(REDUCTIONS);
}

#[test]
fn plausible_faults_leave_the_bound() {
    holds(FAULTS);
}

/// A rule made wrong: its text, what stands there instead, and the check that must notice.
struct Weakened {
    rule: &'static str,
    by: &'static str,
    checks: &'static str,
    noticed: &'static str,
}

const fn weakened(
    rule: &'static str,
    by: &'static str,
    checks: &'static str,
    noticed: &'static str,
) -> Weakened {
    Weakened { rule, by, checks, noticed }
}

const WEAKENED: &[Weakened] = &[
    // errors that are not handed on
    weakened("node(a.v + b.v, a.e + b.e, 1)", "node(a.v + b.v, a.e, 1)", FUNCTIONS, "add"),
    weakened("mag(a.v) * b.e + mag(b.v) * a.e + a.e * b.e", "mag(a.v) * b.e", FUNCTIONS, "mul"),
    weakened("(size - b.e))", "size)", FUNCTIONS, "div"),
    weakened(
        "node(v, reach(a) == 0 ? 0 : hull(v, f(a.v - a.e), f(a.v + a.e)), k)",
        "node(v, 0, k)",
        FUNCTIONS,
        "exp",
    ),
    weakened("(U_ACC * (size + e) + CG_ETA)", "CG_ETA", FUNCTIONS, "mul"),
    weakened("k * (U_ACC * (size + e) + CG_ETA)", "k * U_ACC * (size + e)", FUNCTIONS, "mul"),
    weakened("pole = right >= 0 && y.v < 0", "pole = false", FUNCTIONS, "pow of a whole exponent"),
    weakened("s.v < 4 / ACC_MAX ? s.e + mag(s.v) : s.e", "s.e", FUNCTIONS, "sigmoid"),
    weakened(
        "VE(v, is_infinite(v) || v != v ? known(e) : cg_inf())",
        "VE(v, cg_inf())",
        FUNCTIONS,
        "a mask of -inf",
    ),
    weakened("is_infinite(v) || v != v ? known(e)", "is_infinite(v) ? known(e)", FUNCTIONS, "a sure NaN"),
    // what is not judged, and must stay so
    weakened(
        "if (!is_judged(a)) return VE(v, a.e);\n  return node(v, reach",
        "return node(v, reach",
        FUNCTIONS,
        "what is not judged",
    ),
    weakened("a.e < 2 || !is_judged(a) ? a.e : 2", "a.e < 2 ? a.e : 2", FUNCTIONS, "what is not judged"),
    weakened("if (!is_judged(x) || !is_judged(y)) return cg_inf();", "", FUNCTIONS, "what is not judged"),
    weakened("if (!(larger < cg_inf())) return", "if (larger < 0) return", FUNCTIONS, "what is not judged"),
    weakened(
        "is_judged(a) && e < cg_inf() ? VE(a.v, e) : a",
        "VE(a.v, known(e))",
        FUNCTIONS,
        "what is not judged",
    ),
    weakened("(x != x && v != v) ? 0", "false ? 0", FUNCTIONS, "a sure NaN"),
    // zeros and tails
    weakened(
        "VE(std::fabs(a.v), is_open_zero(a) ? 0 : a.e)",
        "VE(a.v < 0 ? -a.v : a.v, a.e)",
        FUNCTIONS,
        "abs of -0",
    ),
    weakened(
        "larger == 0 && std::copysign(1.0, a.v)",
        "larger < 0 && std::copysign(1.0, a.v)",
        FUNCTIONS,
        "a zero of either sign",
    ),
    weakened("is_open_zero(a) ? 0 : a.e; }\n\n", "a.e; }\n\n", FUNCTIONS, "a zero of either sign"),
    weakened(
        "either(written, constant(0.5) * a * cg_erfc(-(a * root)))",
        "written",
        FUNCTIONS,
        "a tail of gelu",
    ),
    weakened(
        "is_infinite(b.v)) && is_sure_of_zero(a) && is_sure_of_zero(b) ? 0",
        "is_infinite(b.v)) ? 0",
        FUNCTIONS,
        "a factor that may be 0 beside an infinity",
    ),
    weakened(
        "if (e < cg_inf()) return e;\n",
        "if (e == e) return e;\n",
        FUNCTIONS,
        "an infinity times an inexact literal",
    ),
    // steps that deny what is reachable, or doubt what is decided
    weakened(
        "return VE(v, reach(a) == 0 ? 0 : hull(v, f(a.v - a.e), f(a.v + a.e)));\n}\nstatic inline VE cg_floor",
        "return VE(v, 0);\n}\nstatic inline VE cg_floor",
        STEPS,
        "floor",
    ),
    weakened("|| mag(a.v - b.v) > a.e + b.e", "|| mag(a.v - b.v) > a.e", STEPS, "lt"),
    weakened("(reach(a) == 0 && reach(b) == 0) || mag(a.v - b.v) > a.e + b.e", "false", STEPS, "lt"),
    weakened("if (c.sure) return taken;\n  const double", "const double", STEPS, "where"),
    weakened("apart(other.v, taken.v) + other.e", "other.e", STEPS, "where"),
    weakened("|| (a.sure && !a.v)", "", STEPS, "and"),
    weakened("between(r, 0, wide(b.v) + b.e - 1)", "integer(r, a.e)", STEPS, "irem"),
    // elements
    weakened("(nibble(base, element) ^ 8) - 8", "nibble(base, element)", ELEMENTS, "i4"),
    weakened("std::nearbyint(x / step)", "std::round(x / step)", ELEMENTS, "f8e4m3"),
    weakened("bits == 0x7f ?", "bits >= 0x78 ?", ELEMENTS, "f8e4m3"),
    weakened("round(a.v - a.e), round(a.v + a.e)", "v, v", ELEMENTS, "bf16"),
    // reductions
    weakened("REPEAT = 0.875", "REPEAT = 0.75", REDUCTIONS, "a one-hot variance, last"),
    weakened("DRIFT = 2", "DRIFT = 0", REDUCTIONS, "a lattice and a constant"),
    weakened(
        "const double counts = t.v != 0 ? 1.0 : 0.0",
        "const double counts = 1",
        REDUCTIONS,
        "one-hot inputs",
    ),
    weakened("!(magnitude + e <= ACC_MAX)", "magnitude != magnitude", REDUCTIONS, "a sum that may overflow"),
    weakened(
        "magnitude += finite_size(t.v)",
        "magnitude += mag(t.v)",
        REDUCTIONS,
        "a sum of what is not finite",
    ),
    weakened(
        "return size < cg_inf() ? size : 0.0;",
        "return size < 0 ? size : 0.0;",
        REDUCTIONS,
        "a sum that may overflow",
    ),
    weakened(
        "(drift > rounding ? drift : rounding) + n * CG_ETA",
        "0 * drift + rounding",
        REDUCTIONS,
        "a sum of products that underflow",
    ),
    weakened("double(n - 1) * U_ACC", "0", REDUCTIONS, "prod"),
    weakened("overflows && flushes", "false", REDUCTIONS, "an infinity that may meet 0"),
    weakened("overflows && flushes", "infinite && flushes", REDUCTIONS, "a 0 behind what overflows"),
    weakened(" && !(infinite && zero)", "", REDUCTIONS, "0 times infinity"),
    weakened("double(n) * CG_ETA * large : 0", "0 : 0", REDUCTIONS, "a product that may underflow"),
    weakened("magnitude + e > limit", "size_of(v) > limit", REDUCTIONS, "a sum beyond its limit"),
    weakened("up > floor || (up == floor && index <= surest)", "up >= floor", REDUCTIONS, "argmax"),
    weakened(
        "T v = sign < 0 ? t.v : -t.v, low = v - t.e",
        "T v = sign < 0 ? t.v : -t.v, low = v",
        REDUCTIONS,
        "argmax",
    ),
    // a bound that faults no longer leave
    weakened(
        "2 * std::sqrt(length) + drifting / 8",
        "200 * std::sqrt(length) + drifting * 20",
        FAULTS,
        "a sum kept in bf16",
    ),
    weakened("shared > CHAIN ? shared : CHAIN", "shared > CHAIN ? n : n", REDUCTIONS, "a long sum"),
    weakened("n > length ? alike * length / n : alike", "alike", REDUCTIONS, "a long sum of equals"),
    weakened("added % CHAIN == 0", "added == 0", REDUCTIONS, "a long sum of equals"),
    weakened("added % LONGEST == 0", "added == 0", REDUCTIONS, "a row of several threads"),
    weakened("length < DRIFTING ? length : DRIFTING", "length", REDUCTIONS, "a long contraction"),
    weakened("return CG_FAST ? approximate : standard;", "return approximate;", FAULTS, "tanh.approx"),
];

#[test]
fn a_weakened_rule_is_noticed() {
    let taken = sample::of(WEAKENED.iter().collect(), |w| format!("{} by {}", w.rule, w.by));
    let halves = taken.chunks(taken.len().div_ceil(2));
    let survivors: Vec<String> = std::thread::scope(|scope| {
        let survivors = |half: &[&Weakened]| half.iter().filter_map(|w| survives(w)).collect::<Vec<_>>();
        let threads: Vec<_> = halves.map(|half| scope.spawn(move || survivors(half))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}

fn survives(Weakened { rule, by, checks, noticed }: &Weakened) -> Option<String> {
    assert_eq!(prelude().matches(rule).count(), 1, "{rule}: is once in the prelude");
    let failed = failures(Precision::F32, &prelude().replace(rule, by), checks);
    let seen = failed.iter().any(|line| line.starts_with(&format!("FAILED {noticed} ")));
    (!seen).then(|| format!("{rule}: nothing about {noticed} when it is {by}\n{}", failed.join("\n")))
}
