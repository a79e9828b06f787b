//! What the templates of sm_90a compute, without a GPU: their text compiled for the host over `emulated.hpp`, with plain
//! C++ for what is PTX, launched as the contract says and held against the reference within its bound. Timing, races and
//! the hardware's approximations are a device's to judge.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use cutegen_build::evaluate::judge::compare::compare;
use cutegen_build::evaluate::judge::inputs::draw_scalar;
use cutegen_build::evaluate::{Call, Distribution, Expected, Reference, contents};
use cutegen_build::generate::Candidate;
use cutegen_build::plan::Plan;
use cutegen_spec::axis::{Extent, resolve};
use cutegen_spec::contract::{Arg, Step};
use cutegen_spec::eligibility::dispatch;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::tensor::Role;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::flat::{candidates, device, plans};
use crate::library::{reference, telling_shapes};
use crate::setup::toolchain;

pub(crate) const TESTS: &[crate::Test] = &[
    ("emulated::templates_are_right", templates_are_right),
    ("emulated::planted_faults_are_found", planted_faults_are_found),
];

const GPU: &str = include_str!("emulated.hpp");

/// Kernels, each with the candidate that is run.
const CASES: [(&str, &str); 11] = [
    ("swiglu_packed", "elementwise-v16u2t128"),
    ("rope_interleaved", "elementwise-v16u1t128"),
    ("quantise_fp8", "elementwise-v16u1t256-os"),
    ("i32_clip", "elementwise-e4t256"),
    ("shift_padded", "elementwise-v16u2t256-osp"),
    ("kv_append", "elementwise-v16u1t128"),
    ("cumsum_masked", "scan-w8r1u2v16-os"),
    ("cumsum_bf16", "scan-w4r1u2v16x1"),
    ("count_before", "scan-w1r4u4e"),
    ("cumprod", "scan-w2r2u2v16-os"),
    ("gelu_bf16", "elementwise-v16u1t128-os"),
];

/// A case, what stands in its text, and what instead.
const PLANTED: [(usize, &str, &str); 4] = [
    (0, " + 1792)", " + 1784)"),
    (1, "{1, 0, 3, 2", "{1, 0, 2, 3"),
    (7, "carry = carried(w0, chunk);", ""),
    (9, "if (own > 0) before[u]", "if (own > 1) before[u]"),
];

const DISTRIBUTIONS: [Distribution; 4] =
    [Distribution::Normal, Distribution::Specials, Distribution::Uniform, Distribution::OneHotLast];

/// PTX, and what it computes.
const PTX: [(&str, &str); 12] = [
    ("float cg_ex2_approx(", "return std::exp2(x);"),
    ("float cg_rcp_approx(", "return 1.0f / x;"),
    ("float cg_max(float", "return a != a || b != b ? NAN : (a > b ? a : b);"),
    ("float cg_min(float", "return a != a || b != b ? NAN : (a < b ? a : b);"),
    ("uint32_t unpack_e4m3(", "return halves_of(e4m3(pair & 255), e4m3(pair >> 8));"),
    ("uint32_t unpack_e5m2(", "return halves_of(e5m2(pair & 255), e5m2(pair >> 8));"),
    ("uint16_t pack_e4m3(", "return f8_code(low, e4m3, 0x7e) | f8_code(high, e4m3, 0x7e) << 8;"),
    ("uint16_t pack_e5m2(", "return f8_code(low, e5m2, 0x7b) | f8_code(high, e5m2, 0x7b) << 8;"),
    ("void after_the_last_kernel(", ""),
    ("struct LoadOnce", "static void copy(S const& src, S& dst) { dst = src; }"),
    ("struct LoadHinted", "static void copy(S const& src, S& dst) { dst = src; }"),
    ("struct StoreStreaming", "static void copy(S const& src, S& dst) { dst = src; }"),
];

/// What the copies keep of their traits.
const REGISTERS: &str = "using SRegisters = S const[1]; using DRegisters = S[1];";

const HALVES: &str = "static uint32_t halves_of(float low, float high) {\n  const __half2 pair = __floats2half2_rn(low, \
                      high);\n  uint32_t word;\n  std::memcpy(&word, &pair, 4);\n  return word;\n}\n";

type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

/// A candidate on the host.
struct Emulated {
    candidate: Candidate,
    object: Library,
}

impl Emulated {
    fn new(candidate: Candidate, name: &str, folder: &Path) -> Self {
        let mut text = format!("{GPU}\n#include <cuda_fp16.h>\n{HALVES}\n{}", on_host(&candidate.source));
        for Step { entry, .. } in &candidate.contract.steps {
            let head =
                format!("extern \"C\" void launch_{entry}(void** args, unsigned grid, unsigned block)");
            let _ = writeln!(text, "{head} {{ launched({entry}, args, grid, block); }}");
        }
        let (source, shared) =
            (folder.join(format!("{name}.gpu.cpp")), folder.join(format!("{name}.gpu.so")));
        std::fs::write(&source, text).expect("it can be written");
        let roots = toolchain().header_roots.into_iter().map(|root| format!("-I{}", root.display()));
        let flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-DNDEBUG", "-o"];
        let ran = Command::new("c++").args(flags).arg(&shared).arg(&source).args(roots).output();
        let ran = ran.expect("c++ starts");
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        // SAFETY: our own generated code, whose constructors are those of empty vectors
        let object = unsafe { Library::open(Some(&shared), RTLD_NOW | RTLD_LOCAL) };
        Self { candidate, object: object.expect("it loads") }
    }

    fn launch(&self, axes: &[i64], scalars: &[u64], tensors: &mut [Memory]) {
        let contract = &self.candidate.contract;
        let bytes = |part: &IntExpr| part.eval_axes(axes).expect("a size") as usize;
        let mut parts: Vec<Memory> =
            contract.workspace.iter().map(|part| Memory::new(&vec![0xff; bytes(&part.bytes)])).collect();
        for step in &contract.steps {
            let mut value = |arg: &Arg| match arg {
                Arg::Ptr(tensor) => tensors[*tensor].address(),
                Arg::Axis(axis) => axes[*axis].cast_unsigned(),
                Arg::Scalar(scalar) => scalars[*scalar],
                Arg::Workspace(part) => parts[*part].address(),
                Arg::Int(number) => number.eval_axes(axes).expect("a number of axes").cast_unsigned(),
                Arg::Map(_) => panic!("a CPU has no tensor maps"),
            };
            let mut values: Vec<u64> = step.args.iter().map(&mut value).collect();
            let mut args: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
            let size = |expr: &IntExpr| expr.eval(axes, &device(256)).expect("a size") as u32;
            // SAFETY: the text above gives the symbol this type
            let launch = unsafe { self.object.get::<Launch>(format!("launch_{}", step.entry).as_bytes()) };
            let launch = launch.expect("it is there");
            // SAFETY: arguments lie as the contract has it; tensors and parts are as long as it says
            unsafe { launch(args.as_mut_ptr(), size(&step.grid[0]), size(&step.block[0])) };
        }
        assert!(parts.iter().all(Memory::is_guarded), "a write beyond the workspace");
    }
}

/// The bytes of a tensor between guards, at an address that is a multiple of 64.
struct Memory {
    words: Vec<u64>,
    first: usize,
    bytes: usize,
}

const GUARD: u64 = 0xa5a5_a5a5_a5a5_a5a5;

impl Memory {
    fn new(contents: &[u8]) -> Self {
        let mut words = vec![GUARD; contents.len().div_ceil(8) + 32];
        let first = 8 + (words.as_ptr() as usize).wrapping_neg() % 64 / 8;
        for (word, chunk) in words[first..].iter_mut().zip(contents.chunks(8)) {
            let mut bytes = GUARD.to_le_bytes();
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(bytes);
        }
        Self { words, first, bytes: contents.len() }
    }

    fn address(&mut self) -> u64 {
        self.words[self.first..].as_mut_ptr() as u64
    }

    fn read(&self) -> Vec<u8> {
        let all = self.words[self.first..].iter().flat_map(|word| word.to_le_bytes());
        all.take(self.bytes).collect()
    }

    fn is_guarded(&self) -> bool {
        let behind = self.words[self.first..].iter().flat_map(|word| word.to_le_bytes()).skip(self.bytes);
        self.words[..self.first].iter().all(|word| *word == GUARD)
            && behind.into_iter().all(|byte| byte == 0xa5)
    }
}

/// The first element that is wrong at any shape and distribution, and how many were judged.
fn judged(plan: &Plan, emulated: &Emulated, reference: &Reference) -> Result<u64, String> {
    let mut elements = 0;
    for axes in shapes(plan) {
        for distribution in DISTRIBUTIONS {
            let found = one(plan, emulated, reference, (&axes, distribution));
            elements += found.map_err(|e| format!("{} at {axes:?}, {distribution}: {e}", plan.spec.name))?;
        }
    }
    Ok(elements)
}

/// Elements of all tensors of a shape.
const ELEMENTS_MAX: i64 = 1 << 19;

/// Telling shapes, and one at which vectors are whole and long rows have chunks.
fn shapes(plan: &Plan) -> Vec<Vec<i64>> {
    let spec = &plan.spec;
    let even = resolve(&spec.axes, &|axis| match spec.axes[axis].extent {
        Extent::Range { lo, hi, .. } => if hi > 100_000 { 2056 } else { 8 }.clamp(lo, hi),
        Extent::Const(_) | Extent::Derived(_) => 1,
    });
    let elements = |axes: &[i64]| spec.tensors.iter().filter_map(|t| t.span(axes)).sum::<i64>();
    let all = telling_shapes(plan, 1 << 16).into_iter().chain(even);
    all.filter(|axes| elements(axes) <= ELEMENTS_MAX).collect()
}

fn one(
    plan: &Plan,
    emulated: &Emulated,
    reference: &Reference,
    (axes, distribution): (&[i64], Distribution),
) -> Result<u64, String> {
    let spec = &plan.spec;
    let drawn = contents(spec, 5, axes, distribution).expect("inputs can be drawn");
    let before: Vec<Vec<u8>> = drawn
        .iter()
        .zip(&spec.tensors)
        .map(|(drawn, tensor)| {
            drawn.clone().unwrap_or_else(|| vec![0xff; tensor.bytes(axes).expect("a size") as usize])
        })
        .collect();
    let mut tensors: Vec<Memory> = before.iter().map(|bytes| Memory::new(bytes)).collect();
    let addresses: Vec<u64> = tensors.iter_mut().map(Memory::address).collect();
    let eligibility = &emulated.candidate.eligibility;
    if dispatch(&[(eligibility, eligibility)], axes, &addresses).is_none() {
        return Ok(0);
    }
    let scalars: Vec<_> =
        spec.scalars.iter().enumerate().map(|(i, s)| draw_scalar(distribution, 5, i, s)).collect();
    let words: Vec<u64> = scalars.iter().map(|scalar| scalar.parameter()).collect();
    emulated.launch(axes, &words, &mut tensors);
    let inputs: Vec<Vec<u8>> = drawn.into_iter().flatten().collect();
    let results: Vec<usize> =
        (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input).collect();
    let outputs: Vec<usize> =
        results.iter().map(|t| spec.tensors[*t].span(axes).expect("a size") as usize).collect();
    let expected = reference.call(&Call {
        inputs: &inputs,
        axes,
        scalars: &scalars,
        outputs: &outputs,
        exact: false,
        sampled: None,
    });
    for (tensor, memory) in tensors.iter().enumerate() {
        if !memory.is_guarded() || (!results.contains(&tensor) && memory.read() != before[tensor]) {
            return Err(format!("tensor {tensor} was written where it must not be"));
        }
    }
    let mut elements = 0;
    for (tensor, expected) in results.into_iter().zip(&expected) {
        elements += right(plan, tensor, (&before[tensor], &tensors[tensor].read()), expected)?;
    }
    Ok(elements)
}

/// Every element within its bound, and the others as they were.
fn right(
    plan: &Plan,
    tensor: usize,
    (before, after): (&[u8], &[u8]),
    expected: &Expected,
) -> Result<u64, String> {
    let dtype = plan.spec.tensors[tensor].dtype;
    let compared = compare(dtype, after, expected);
    let size = dtype.bytes();
    let element = |at: usize| at * size..(at + 1) * size;
    let touched = (0..expected.value.len())
        .find(|at| !expected.is_written(*at) && before[element(*at)] != after[element(*at)]);
    match (compared.wrong, touched) {
        (Some(wrong), _) => Err(format!("tensor {tensor}: {wrong:?}")),
        (None, Some(at)) => Err(format!("tensor {tensor}: element {at} was touched")),
        (None, None) => Ok(compared.judged),
    }
}

/// A template's text with C++ in place of PTX.
fn on_host(source: &str) -> String {
    PTX.iter().fold(source.to_owned(), |text, (head, body)| {
        let kept = if head.starts_with("struct") { REGISTERS } else { "" };
        with_body(&text, head, &format!("{kept} {body}"))
    })
}

/// The text with another body behind the first `head`.
fn with_body(text: &str, head: &str, body: &str) -> String {
    let at = text.find(head).unwrap_or_else(|| panic!("no `{head}`"));
    let open = at + text[at..].find('{').expect("a body");
    let mut depth = 0;
    let close = text[open..].char_indices().find(|(_, c)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth == 0
    });
    let close = open + close.expect("its end").0;
    format!("{}{{ {body} {}", &text[..open], &text[close..])
}

fn case((name, point): (&str, &str)) -> (Plan, Candidate) {
    let plan = plans().into_iter().find(|plan| plan.spec.name.as_str() == name).expect("a spec");
    let candidate = candidates(&plan).into_iter().find(|candidate| candidate.name == point);
    (plan, candidate.expect("a candidate"))
}

/// `work` for each number below `end`, in two threads.
fn each(end: usize, work: impl Fn(usize) + Sync) {
    let queue = Mutex::new(0..end);
    let next = || queue.lock().expect("not poisoned").next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) = next() {
                    work(at);
                }
            });
        }
    });
}

fn templates_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    each(CASES.len(), |at| {
        let (plan, candidate) = case(CASES[at]);
        let emulated = Emulated::new(candidate, CASES[at].0, folder.path());
        let elements = judged(&plan, &emulated, &reference(&plan)).expect("it is right");
        println!("  {} {}: {elements} elements", CASES[at].0, CASES[at].1);
        assert!(elements > 0, "{}: nothing was judged", CASES[at].0);
    });
}

fn planted_faults_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    each(PLANTED.len(), |at| {
        let (case_at, was, now) = PLANTED[at];
        let (plan, mut candidate) = case(CASES[case_at]);
        assert!(candidate.source.contains(was), "no `{was}` in {}", candidate.name);
        candidate.source = candidate.source.replace(was, now);
        let emulated = Emulated::new(candidate, &format!("planted{at}"), folder.path());
        let found = judged(&plan, &emulated, &reference(&plan));
        println!("  {now}: {}", found.as_ref().err().map_or("not found", String::as_str));
        assert!(found.is_err(), "{}: `{was}` as `{now}` is not found", plan.spec.name);
    });
}
