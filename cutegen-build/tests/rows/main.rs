//! What the rowwise templates compute, on threads of the host in place of a GPU's (`emulate.hpp`): every strategy, at
//! short, odd and long rows, is held against the reference and its bound by the gate's own comparison. What this does
//! not show: hardware arithmetic, weak memory order, speed. Needs c++ and the toolchain's headers, and is skipped
//! without; `CUTEGEN_REQUIRE_TOOLCHAIN=1` makes that a failure. `CUTEGEN_ROWS=WORD` runs the cases whose names hold it.
//! Every program is a process of its own, so that one which crashes is a failed test.

mod beside;
mod build;
mod judge;
#[path = "../objects/mod.rs"]
mod objects;
#[path = "../sample/mod.rs"]
mod sample;
mod translate;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::{Distribution, Reference, contents};
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::plan::family::Family;
use cutegen_build::print;
use cutegen_build::toolchain::{Places, locate};
use cutegen_spec::edition::spec_file;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use judge::Subject;
use translate::Dialect;

/// Kernel, candidate, and the extents of its first two axes at which it must be eligible and right.
type Case = (&'static str, &'static str, &'static [(i64, i64)]);

const CASES: &[Case] = &[
    ("any_softmax", "reg-x4t128u4q1c1-osd", &[(3, 4), (2, 1000), (2, 2048)]),
    ("any_softmax", "reg-x4t8u4q16c1-osd", &[(37, 4), (5, 128)]),
    ("any_softmax", "reg-x1t128u16q1c1-osd", &[(3, 1), (5, 7), (1, 37), (2, 131), (2, 997)]),
    ("any_softmax", "reg-x4t256u4q1c4-osd", &[(2, 12), (2, 4096), (1, 16384)]),
    ("any_softmax", "smem-x4t256u4q1c2-osd", &[(2, 4), (1, 4092), (2, 32768)]),
    ("any_softmax", "read-x1t256u8q1c1-osd", &[(2, 1), (2, 4095), (1, 4097), (1, 32769)]),
    ("any_softmax", "read-x4t1024u4q1c1b1-osd", &[(2, 4), (3, 65536), (1, 20000)]),
    ("any_softmax", "split-x1t512u8p16384m528", &[(2, 37), (2, 40001)]),
    ("any_softmax", "ring-x4t256u2k13n26", &[(2, 64), (3, 65536), (5, 20000)]),
    ("any_softmax", "ring-x4t256u2k25n26", &[(5, 65536), (7, 51216)]),
    ("any_softmax", "ring-x4t512u2k32n13h8", &[(2, 64), (6, 65536), (1, 131_072), (5, 20000)]),
    // over 32 parts of a row, and over 128
    ("longer_softmax", "split-x4t256u4p8192m1024", &[(2, 300_000), (1, 1_100_000)]),
    ("longer_argmax", "split-x4t256u4p8192m1024", &[(2, 300_000), (1, 1_100_000)]),
    ("any_softmax", "read-x4t256u2q1c1n-osd", &[(3, 4), (2, 1000), (2, 4100), (1, 6400)]),
    ("any_softmax", "read-x4t1024u2q1c1n-osd", &[(2, 4), (2, 25600)]),
    ("any_length", "read-x8t512u2q1c1n-osd", &[(3, 8), (2, 8192), (2, 25600)]),
    ("short_norm", "read-x4t512u1q1c1n-osd", &[(3, 4096)]),
    ("bf16_softmax", "reg-x8t128u4q1c1-osd", &[(3, 8), (2, 1000), (2, 4096)]),
    ("bf16_softmax", "read-x8t256u4q1c1-osd", &[(1, 4096)]),
    ("f16_softmax", "reg-x8t128u4q1c1-osd", &[(3, 8), (2, 1000)]),
    ("long_softmax", "smem-x8t512u4q1c4-osd", &[(2, 131_072)]),
    ("long_softmax", "read-x8t1024u4q1c1b1-osd", &[(4, 131_072)]),
    ("long_softmax", "split-x8t256u4p8192m1024", &[(4, 131_072)]),
    ("long_softmax", "ring-x8t512u2k8n13", &[(2, 131_072)]),
    ("long_softmax", "ring-x8t512u2k16n13h8", &[(5, 131_072)]),
    ("any_layer_norm", "reg-x8t128u4q1c1-oswd", &[(3, 8), (2, 1000), (2, 4096)]),
    ("any_layer_norm", "smem-x8t512u2q1c1-osd", &[(2, 4096), (1, 32768)]),
    ("any_layer_norm", "split-x8t256u4p8192m1024", &[(3, 8), (2, 40000), (5, 100_000)]),
    ("any_layer_norm", "read-x8t512u4q1c1b2-osd", &[(3, 8), (2, 65536)]),
    ("any_layer_norm", "ring-x8t512u2k8n13", &[(3, 32), (3, 131072)]),
    ("any_layer_norm", "ring-x8t256u2k12n13b2", &[(3, 32), (5, 131072)]),
    ("f32_layer_norm", "ring-x4t256u2k12n13b2", &[(3, 32), (5, 131072)]),
    ("f32_layer_norm", "ring-x4t256u2k16n26", &[(3, 32), (5, 131072)]),
    ("f32_layer_norm", "split-x4t512u4p16384m264", &[(3, 100_000)]),
    ("any_layer_norm", "ring-x8t256u2k32n13h8b2", &[(3, 32), (9, 65536), (1, 131_072)]),
    ("any_layer_norm", "ring-x8t256u2k16n26w8", &[(3, 32), (5, 131072), (7, 40000)]),
    ("f32_layer_norm", "ring-x4t256u2k16n26w8", &[(3, 32), (5, 131072)]),
    ("long_norm", "ring-x8t512u2k8n13w6", &[(9, 131072)]),
    ("long_norm", "ring-x8t256u2k16n26w16", &[(9, 131072)]),
    ("long_norm_fp8", "ring-x8t512u2k8n13w6", &[(5, 131072)]),
    ("long_norm_fp8", "ring-x8t256u2k16n26w16", &[(9, 131072)]),
    ("long_norm_fp8", "split-x8t256u4p8192m1024", &[(3, 131072)]),
    ("any_layer_norm", "ring-x8t256u2k13n26a13", &[(3, 32), (5, 131072), (9, 40000)]),
    ("any_layer_norm", "ring-x8t512u2k8n13a5", &[(3, 32), (5, 131072), (9, 40000)]),
    ("any_softmax", "ring-x4t256u2k13n26a13", &[(2, 64), (5, 65536), (9, 20000)]),
    ("any_softmax", "ring-x4t256u2k16n26a10", &[(2, 64), (5, 65536), (9, 20000)]),
    ("long_norm", "ring-x8t512u2k4n13w4a4", &[(5, 131072)]),
    ("long_norm", "ring-x8t512u2k8n13a5", &[(5, 131072)]),
    ("long_layer_norm", "ring-x8t512u2k6n13a6", &[(5, 131072)]),
    ("long_layer_norm", "ring-x8t256u2k16n26w10a10", &[(5, 131072)]),
    ("short_norm", "ring-x4t512u2k1n13", &[(9, 4096)]),
    ("short_norm", "ring-x4t512u2k1n13w1", &[(9, 4096)]),
    ("any_softmax", "apart-x4u2k12n53", &[(2, 64), (3, 65536), (9, 20000)]),
    ("any_softmax", "apart-x4u4k6n26", &[(2, 64), (5, 51216)]),
    ("any_layer_norm", "apart-x8u2k12n53w2", &[(3, 32), (5, 131072), (9, 40000)]),
    ("f32_layer_norm", "apart-x4u2k6n53w3", &[(3, 32), (7, 100_000)]),
    ("gated_norm", "apart-x8u1k6n53", &[(1, 8), (9, 16384), (5, 4096)]),
    ("long_norm", "apart-x8u2k8n53w4", &[(9, 131072)]),
    ("long_layer_norm", "apart-x8u2k16n53w5", &[(5, 131072)]),
    ("any_length", "read-x8t1024u4q1c1b1-osd", &[(2, 8), (2, 65536)]),
    ("any_length", "ring-x8t512u2k16n13h8", &[(1, 32), (5, 131_072)]),
    ("add_rms_norm_fp8", "reg-x8t128u4q1c1-oswd", &[(3, 8), (2, 4088)]),
    ("add_rms_norm_fp8", "reg-x1t128u16q1c1-osd", &[(2, 7), (2, 1023)]),
    ("add_rms_norm_fp8", "read-x8t256u4q1c1-osd", &[(2, 8), (1, 16384)]),
    ("quantise_blocks", "reg-x8t8u2q16c1-osd", &[(3, 2048)]),
    ("quantise_int8", "reg-x8t64u4q2c1-osd", &[(3, 2048), (1, 8)]),
    ("quantise_int8", "read-x8t256u4q1c1-osd", &[(1, 16384)]),
    ("gated_norm", "reg-x8t128u4q1c1-osd", &[(3, 1024), (1, 4096)]),
    ("gated_norm", "ring-x8t512u1k4n13", &[(1, 8), (9, 16384), (5, 4096)]),
    ("gated_norm", "read-x1t256u8q1c1-osd", &[(2, 37), (1, 4099)]),
    ("argmax", "reg-x4t256u4q1c2-osd", &[(3, 4), (2, 8192)]),
    ("argmax", "split-x4t512u4p16384m264", &[(2, 4), (2, 65536)]),
    ("argmax", "ring-x4t512u2k6n13h0", &[(2, 4), (6, 65536)]),
    ("argmax", "ring-x4t512u2k32n13h0", &[(2, 4), (6, 65536)]),
    ("cross_entropy_rows", "reg-x8t256u4q1c1-osd", &[(3, 8), (2, 8192)]),
    ("cross_entropy_rows", "ring-x8t512u2k16n13h0", &[(3, 32), (6, 65536)]),
    ("group_norm", "reg-x4t8u8q16c1-osd", &[(3, 16), (1, 16)]),
    ("masked_loss", "split-x4t256u4p8192m1024", &[(64, 2048), (1, 4)]),
    ("masked_loss", "read-x1t1024u8q1c1-osd", &[(7, 1), (3, 37)]),
    ("strided_norm", "reg-x1t128u16q1c1-osd", &[(3, 37), (2, 2047)]),
    ("gathered_norm", "reg-x8t128u4q1c1-osd", &[(5, 9)]),
    ("middle_softmax", "areg-x4t128l32u4-osd", &[(1, 4), (7, 36), (16, 128)]),
    ("middle_softmax", "areg-x1t256l64u8-osd", &[(1, 1), (31, 37), (32, 63)]),
    ("middle_softmax", "aread-x1t256l32u8-osd", &[(1, 1), (131, 31), (64, 33)]),
    ("middle_softmax", "asplit-x1t256l32u8p64m64-os", &[(1, 1), (131, 37), (4096, 5)]),
    ("middle_norm", "areg-x8t128l32u4-osd", &[(1, 8), (15, 24)]),
    ("middle_norm", "aread-x8t256l32u4-osd", &[(37, 8), (33, 264)]),
    ("middle_norm", "asplit-x8t256l32u2p64m64-os", &[(1, 8), (127, 40), (129, 8)]),
    ("middle_argmax", "aread-x1t512l128u4-osd", &[(1, 1), (37, 131)]),
    ("middle_argmax", "asplit-x4t256l32u4p256m128-os", &[(257, 4), (1031, 36)]),
    ("first_sum", "aread-x4t512l32u4-osd", &[(1, 1), (131, 7)]),
    ("first_sum", "asplit-x4t256l32u8p1024m256-os", &[(1025, 1), (4099, 3)]),
    ("pooled", "aread-x1t128l128u4-sd", &[(1, 1), (7, 5)]),
    ("batch_norm_train", "reg-x4t128u4q1c1-osd", &[(1, 1), (7, 5), (85, 3)]),
    ("batch_norm_train", "reg-x1t128u16q1c1-osd", &[(3, 2)]),
    ("batch_norm_train", "read-x4t256u4q1c1-osd", &[(131, 3)]),
    ("cross_entropy", "reg-x4t128u4q1c1-osd", &[(1, 4), (37, 1000)]),
    ("cross_entropy", "read-x1t256u8q1c1-osd", &[(1, 1), (3, 997), (131, 7)]),
    ("cross_entropy", "split-x4t256u4p8192m1024", &[(3, 16388)]),
    ("two_folds", "reg-x4t8u4q16c1-osd", &[(1, 4), (1031, 36)]),
];

/// What catches most: all-round, order of sums, tails, NaN and infinities.
const DISTRIBUTIONS: [Distribution; 5] = [
    Distribution::Normal,
    Distribution::LargeMean,
    Distribution::OneHotLast,
    Distribution::Specials,
    Distribution::Integers,
];

/// What inputs hold.
#[derive(Clone, Copy, Debug)]
enum Contents {
    Drawn(Distribution),
    /// Rows of the first input are, in turn, nothing but -inf; -inf up to the half; -inf up to the last element; and
    /// larger from element to element, so that the largest seen so far never stays.
    Edges,
}

impl Contents {
    fn of(self, spec: &KernelSpec, axes: &[i64]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let distribution = if let Contents::Drawn(drawn) = self { drawn } else { Distribution::Normal };
        let mut held = contents(spec, 7, axes, distribution).map_err(|error| error.to_string())?;
        if let (Contents::Edges, Some(bytes)) = (self, &mut held[0]) {
            let (dtype, columns) = (spec.tensors[0].dtype, axes[1] as usize);
            for at in 0..axes[0] as usize * columns {
                let (row, col) = (at / columns, at % columns);
                let least = [columns, columns / 2, columns - 1, 0][row % 4];
                let rising = 8.0 * col as f64 / columns as f64;
                let value = if row % 4 == 3 { rising } else { element::read(dtype, bytes, at) };
                element::write(dtype, bytes, at, if col < least { f64::NEG_INFINITY } else { value });
            }
        }
        Ok(held)
    }
}

/// For rows whose statistics merge, which are matrices here.
fn edges(plan: &Plan) -> Option<Contents> {
    let merges = matches!(&plan.family, Family::Rowwise { rows: Some(rows), .. } if rows.merges().is_some());
    let is_matrix = plan.spec.tensors[0].dims.len() == 2 && plan.spec.tensors[0].dtype.is_float();
    (merges && is_matrix).then_some(Contents::Edges)
}

/// No words beside those that `translate.rs` knows.
pub(crate) const DIALECT: Dialect = Dialect { names: &[], instructions: &[] };

fn main() -> std::process::ExitCode {
    let headers = Places::from_env().ok().and_then(|places| locate(&places).ok()).map(|t| t.header_roots);
    let Some(headers) = headers else {
        println!("skipped: no toolchain is installed");
        return u8::from(std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some()).into();
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in
        [("emulate.hpp", include_str!("emulate.hpp")), ("values.hpp", include_str!("values.hpp"))]
    {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let plans = plans();
    let only = std::env::var("CUTEGEN_ROWS").unwrap_or_default();
    let named = |(kernel, name, _): &&Case| format!("{kernel} {name}").contains(&only);
    let cases =
        sample::of(CASES.iter().filter(named).collect(), |(kernel, name, _)| format!("{kernel} {name}"));
    let chosen = cases.len();
    // a case without a candidate fails by itself
    if let Some((_, first)) = cases.iter().find_map(|case| proposed(case.0, case.1, &plans).ok()) {
        build::precompile(&first, folder.path(), &headers);
    }
    let (queue, wrong) = (Mutex::new(cases.iter()), Mutex::new(0));
    let beside = beside::CHECKS.iter().filter(|(name, _)| name.contains(&only));
    let (mut checked, mut refuted) = (0, 0);
    for (name, check) in beside {
        let found = check(&plans, folder.path(), &headers);
        (checked, refuted) = (checked + 1, refuted + usize::from(found.is_err()));
        println!("test {name} ... {}", found.err().map_or("ok".to_owned(), |why| format!("FAILED: {why}")));
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = { queue.lock().expect("not poisoned").next() } {
                    let found = run(case, &plans, folder.path(), &headers);
                    *wrong.lock().expect("not poisoned") += usize::from(!report(case, &found));
                }
            });
        }
    });
    let (wrong, chosen) = (wrong.into_inner().expect("not poisoned") + refuted, chosen + checked);
    let verdict = if wrong == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {wrong} failed; 0 ignored", chosen - wrong);
    u8::from(wrong > 0).into()
}

fn report((kernel, name, _): &Case, found: &Result<f64, String>) -> bool {
    match found {
        Ok(share) => println!("test {kernel} {name} ... ok, at most {share:.3} of a bound"),
        Err(reason) => println!("test {kernel} {name} ... FAILED: {reason}"),
    }
    found.is_ok()
}

fn plans() -> Vec<Plan> {
    let kernels =
        spec_file(include_str!("specs.toml"), &Default::default()).into_kernels().expect("right specs");
    let target = Target::parse("sm_90a").expect("a target");
    kernels.iter().map(|spec| Plan::new(spec, &target)).collect()
}

/// The largest share of a bound that an element of a case used.
fn run(
    (kernel, name, shapes): &Case,
    plans: &[Plan],
    folder: &Path,
    headers: &[PathBuf],
) -> Result<f64, String> {
    let (plan, candidate) = proposed(kernel, name, plans)?;
    let folder = folder.join(format!("{kernel}-{name}"));
    std::fs::create_dir(&folder).expect("a folder of its own");
    let reference = objects::shared(&print::reference::print(plan), objects::REFERENCE)?;
    let reference = Reference::load(&reference).map_err(|error| error.to_string())?;
    build::build(&candidate, &folder, headers)?;
    let subject =
        Subject { plan, candidate: &candidate, reference: &reference, folder: &folder, scalar: 1e-5 };
    let contents = DISTRIBUTIONS.into_iter().map(Contents::Drawn).chain(edges(plan));
    let mut share = 0.0_f64;
    for drawn in contents {
        for shape in *shapes {
            let at = judged(&subject, *shape, drawn);
            share = share.max(at.map_err(|reason| format!("{shape:?}, {drawn:?}: {reason}"))?);
        }
    }
    Ok(share)
}

fn proposed<'a>(kernel: &str, name: &str, plans: &'a [Plan]) -> Result<(&'a Plan, Candidate), String> {
    let plan = plans.iter().find(|plan| plan.spec.name.as_str() == kernel).ok_or("no such kernel")?;
    let mut candidates = Templates::new("none").space(plan);
    let full = format!("rowwise-{name}");
    let at = candidates.iter().position(|c| c.name == full).ok_or_else(|| {
        let names: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
        format!("no such candidate among {names:?}")
    })?;
    Ok((plan, candidates.swap_remove(at)))
}

fn judged(subject: &Subject<'_>, (rows, columns): (i64, i64), drawn: Contents) -> Result<f64, String> {
    let axes = subject.axes(&[rows, columns])?;
    subject.judged(&axes, &drawn.of(&subject.plan.spec, &axes)?, 0)
}
