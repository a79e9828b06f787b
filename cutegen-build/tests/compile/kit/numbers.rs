//! What the kit's headers compute, against plain loops in double. Their own text runs over `emulated.hpp`, without a GPU.
//! Only `ptx*.cuh` have stand-ins, for tensor cores those of `emulated_matrices.hpp`. A device must show the PTX itself,
//! approximations of its hardware, weak memory order, proxies of memory, and speed.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use cutegen_build::kit::{self, flatten};
use cutegen_spec::target::Target;

use super::{flat, including, target};
use crate::setup::toolchain;

const EMULATED: &str = include_str!("emulated.hpp");
/// Before every program: what counts its checks.
const CHECKS: &str = include_str!("checks.hpp");
const TENSOR_CORES: &str = include_str!("emulated_matrices.hpp");
const PRODUCT_CHECKS: &str = include_str!("product_checks.hpp");
const GATHERED_CHECKS: &str = include_str!("gathered_checks.hpp");
const ATTENTION_CHECKS: &str = include_str!("attention_checks.hpp");
const REDUCTIONS: Program =
    Program { headers: &["vector", "reduce", "online_softmax"], texts: &[include_str!("reductions.cpp")] };

const COPIES: Program =
    Program { headers: &["ring", "pipeline", "scan"], texts: &[include_str!("copies.cpp")] };

const PRODUCTS: Program = Program {
    headers: &["product"],
    texts: &[PRODUCT_CHECKS, GATHERED_CHECKS, include_str!("products.cpp")],
};

const ATTENTION: Program = Program {
    headers: &["attention"],
    texts: &[PRODUCT_CHECKS, ATTENTION_CHECKS, include_str!("attention.cpp")],
};

const WARPGROUPS: Program = Program {
    headers: &["wgmma"],
    texts: &[PRODUCT_CHECKS, GATHERED_CHECKS, ATTENTION_CHECKS, include_str!("wgmma.cpp")],
};

/// What stands in a header, and what instead: each must be found by a program of checks.
const PLANTED: &[(Program, &str, &str)] = &[
    (
        REDUCTIONS,
        "  x = lane < warps ? slots[lane] : Op::none();\n  __syncthreads();\n",
        "  x = lane < warps ? slots[lane] : Op::none();\n",
    ),
    (REDUCTIONS, "  __syncthreads();\n  x = lane < warps", "  x = lane < warps"),
    (REDUCTIONS, "lane < warps ? slots[lane] : Op::none()", "slots[lane]"),
    (REDUCTIONS, "b.index < a.index))", "b.index > a.index))"),
    (REDUCTIONS, "b_nan ? !a_nan :", "b_nan ? false :"),
    (REDUCTIONS, "from == -infinity() ? 0.0f : exp", "exp"),
    (REDUCTIONS, "is_finite ? a.mean", "true ? a.mean"),
    (REDUCTIONS, "delta * (delta * (a.n * part))", "delta * (delta * part)"),
    (
        REDUCTIONS,
        "x = (lane & mask) != 0 ? Op::join(other, x) : Op::join(x, other);",
        "x = Op::join(x, other);",
    ),
    (REDUCTIONS, "count >= N && is_aligned<N>(from)", "count >= N"),
    (REDUCTIONS, "i < count ? to_f32(from[i]) : fill", "to_f32(from[i])"),
    (COPIES, "ptx_barrier_wait(barriers.empty[turn.stage], (turn.round & 1) ^ 1);", ""),
    (COPIES, "ptx_barrier_wait(barriers.full[turn.stage], turn.round & 1);", ""),
    (
        COPIES,
        "ptx_barrier_expect(barriers.full[turn.stage], bytes);",
        "ptx_barrier_expect(barriers.full[turn.stage], 0);",
    ),
    (COPIES, "ptx_copies_wait<LATER>()", "ptx_copies_wait<LATER + 1>()"),
    (COPIES, "x + N <= plane.width &&", "x < plane.width &&"),
    (COPIES, "is_aligned<N>(to) && is_aligned<N>(from + x)", "is_aligned<N>(to)"),
    (COPIES, "? from[x + e] : fill", "? from[x + e] : T()"),
    (COPIES, "x = Op::join(below, x);", "x = Op::join(x, below);"),
    (
        COPIES,
        "  __syncthreads();\n  const typename Op::State previous",
        "  const typename Op::State previous",
    ),
    (PRODUCTS, "piece % WIDTH ^ line / (8 / WIDTH) % WIDTH", "piece % WIDTH"),
    (PRODUCTS, "(of_lane ^ 16 * (piece % WIDTH))", "(of_lane + 16 * (piece % WIDTH))"),
    (PRODUCTS, "      if (i > 0) __syncthreads();\n", ""),
    (
        PRODUCTS,
        "          wait_loads<STAGES - 2>();\n          __syncthreads();",
        "          __syncthreads();",
    ),
    (PRODUCTS, "          __syncthreads();\n          slot = slot", "          slot = slot"),
    (PRODUCTS, "left <= 0 ? 0 : left < VECTOR<T> ? left * int(sizeof(T)) : 16);", "left <= 0 ? 0 : 16);"),
    (PRODUCTS, "fragments[0] = fragments[1];", "fragments[0] = fragments[0];"),
    (PRODUCTS, "      ring.put(next, tile + STAGES - 1);\n", ""),
    (PRODUCTS, "in_batch % in_group % rows", "in_batch % in_group % group"),
    (PRODUCTS, "in ? line.bytes : 0", "line.bytes"),
    (PRODUCTS, "      sum = 0.0f;\n", ""),
    (PRODUCTS, "      after(tile);\n", ""),
    (WARPGROUPS, "IS_STEP<After> ? 0 : 1", "1"),
    (ATTENTION, "base = to == -infinity() ? 0.0f : to", "base = to"),
    (ATTENTION, "if (!all && !scores.sees(row, key)) x = -infinity();", ""),
    (ATTENTION, "(!all || P_PARTS > 1) && holds_special", "false && holds_special"),
    (ATTENTION, "if (!scores.sees(first_row + warp_row() + i * 8 + lane / 4, first_key + t)) continue;", ""),
    (ATTENTION, "state.sum[i][h] * by[i][h] + sum", "state.sum[i][h] + sum"),
    (ATTENTION, "if (!__any_sync(0xffffffffu, grows)) return;", "return;"),
    (ATTENTION, "rest[0] -= to_f32(pair[0])", "rest[0] = 0.0f"),
    (
        ATTENTION,
        "    Products<Attention>::arrive();\n    __syncthreads();\n",
        "    Products<Attention>::arrive();\n",
    ),
    (ATTENTION, "ptx_exp2(top - base)", "1.0f"),
    (WARPGROUPS, "IS_STEP<After> ? 0 : 1", "2"),
    (WARPGROUPS, "arrived<STAGES - 3>();", "arrived<STAGES - 2>();"),
    (WARPGROUPS, "    ptx_wgmma_wait<0>();\n    ptx_wgmma_hold<COUNT>(d);", "    ptx_wgmma_hold<COUNT>(d);"),
    (WARPGROUPS, "warp / 4 * (R * 64) + i * 64 + warp % 4 * 16", "warp * (R * 16) + i * 16"),
    (WARPGROUPS, "column / 64 * (Tile::LINES * 128) + line * 128", "column / 64 * 128 + line * 128"),
    (WARPGROUPS, "k), k > 0);", "k), true);"),
];

/// A program of checks over headers.
#[derive(Clone, Copy)]
struct Program {
    headers: &'static [&'static str],
    texts: &'static [&'static str],
}

/// The program's checks over headers in which `was` stands as `now`: what they print, or what was wrong.
fn checked(program: Program, (was, now): (&str, &str), folder: &Path) -> Result<String, String> {
    let names = program.headers.iter().map(|name| format!("kit/{name}.cuh"));
    let names: Vec<String> = names.collect();
    let source = without_ptx(&including(names.iter().map(String::as_str)));
    assert!(source.contains(was), "no `{was}` in the headers");
    let checks = program.texts.join("\n");
    run(&format!("{EMULATED}\n{TENSOR_CORES}\n{}\n{checks}", source.replace(was, now)), &[], folder)
}

/// A source with its headers, but for the block and for what is PTX.
fn without_ptx(body: &str) -> String {
    let source = flat(body);
    let source = source.strip_prefix(kit::includes(&target())).expect("the block").to_owned();
    let is_ptx = |header: &&kit::Header| header.name.starts_with("kit/ptx");
    let source = kit::headers(&target()).iter().filter(is_ptx).fold(source, |text, ptx| {
        let lines = ptx.text.lines().map(|line| if line.starts_with("#include <kit/") { "" } else { line });
        text.replace(&lines.flat_map(|line| [line, "\n"]).collect::<String>(), "")
    });
    assert!(!source.contains("asm "), "what is not PTX has no assembly");
    source
}

/// Runs a kernel of a prompt, whose entry is called `kernel`, under a program of checks.
pub(super) fn kernel_is_right(source: &str, program: &str) {
    const SHARED: &str = "extern __shared__ __align__(1024) unsigned char memory[];";
    assert!(source.contains(SHARED));
    let source = without_ptx(&source.replace("@ENTRY@", "kernel"));
    let source = source.replace(SHARED, "unsigned char* const memory = emulated_memory;");
    let (headers, body) = source.split_at(source.find("// contract:").expect("a contract"));
    let memory = "static unsigned char* emulated_memory;";
    let folder = tempfile::tempdir().expect("a folder");
    let text = [EMULATED, TENSOR_CORES, headers, PRODUCT_CHECKS, memory, body, program].join("\n");
    right(run(&text, &[], folder.path()));
}

/// What a C++ program prints, as an error where it says that something is wrong.
fn run(source: &str, flags: &[&str], folder: &Path) -> Result<String, String> {
    let (text, run) = (folder.join("kit.cpp"), folder.join("kit"));
    std::fs::write(&text, format!("{CHECKS}\n{source}")).expect("written");
    let roots = toolchain().header_roots.into_iter().map(|root| format!("-I{}", root.display()));
    let always = ["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off", "-o"];
    let mut compiler = Command::new("c++");
    let built =
        compiler.args(always).arg(&run).arg(&text).args(roots).args(flags).output().expect("c++ starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&run).output().expect("it starts");
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    if ran.status.success() { Ok(said) } else { Err(said) }
}

fn right(said: Result<String, String>) {
    let said = said.unwrap_or_else(|said| panic!("{said}"));
    println!("  {said}");
    let count: u32 = said.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a count");
    assert!(count > 1000, "{said}");
}

pub(crate) fn reductions_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(REDUCTIONS, ("", ""), folder.path()));
}

pub(crate) fn copies_and_prefixes_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(COPIES, ("", ""), folder.path()));
}

pub(crate) fn products_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(PRODUCTS, ("", ""), folder.path()));
}

pub(crate) fn attention_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(ATTENTION, ("", ""), folder.path()));
}

pub(crate) fn warpgroups_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    right(checked(WARPGROUPS, ("", ""), folder.path()));
}

/// As it is, and with two faults.
pub(crate) fn host_numbers_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = flatten("#include <kit/host.hpp>\n", &Target::host()).expect("known headers").source;
    let with = |was: &str, now: &str| {
        assert!(source.contains(was), "no `{was}`");
        let text = source.replace(was, now) + include_str!("host.cpp");
        run(&text, &["-march=x86-64-v3"], folder.path())
    };
    right(with("", ""));
    assert!(with("BLOCK = 256", "BLOCK = 1 << 30").is_err(), "long chains");
    assert!(with("0x7fff + (word >> 16 & 1)", "0x8000").is_err(), "ties away from zero");
}

pub(crate) fn planted_faults_are_found() {
    let queue = Mutex::new(PLANTED.iter());
    let work = || {
        let folder = tempfile::tempdir().expect("a folder");
        while let Some((program, was, now)) = { queue.lock().expect("not poisoned").next() } {
            let found = checked(*program, (was, now), folder.path());
            println!("  {now}: {}", found.as_ref().err().map_or("not found", String::as_str));
            assert!(found.is_err(), "`{was}` as `{now}` is not found");
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
}
