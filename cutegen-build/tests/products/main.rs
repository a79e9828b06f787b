//! What the product template computes, on the host in place of a GPU (`emulate.hpp`): layouts, alignments, rests, tails and each
//! kind of point are held against the reference and its bound by the gate's own comparison, in every order of warps and copies
//! that the emulator knows. `beside.rs` shows that what is wrong is seen. What this does not show: hardware arithmetic, bank
//! conflicts, speed. Needs c++ and the toolchain's headers, and is skipped without; `CUTEGEN_REQUIRE_TOOLCHAIN=1` makes that a
//! failure. `CUTEGEN_PRODUCTS=WORD` runs what has the word in its name.

mod beside;
#[path = "../rows/build.rs"]
mod build;
#[path = "../rows/judge.rs"]
mod judge;
#[path = "../objects/mod.rs"]
mod objects;
#[path = "../sample/mod.rs"]
mod sample;
#[path = "../rows/translate.rs"]
mod translate;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cutegen_build::evaluate::{Distribution, Reference, contents};
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::print;
use cutegen_build::toolchain::{Places, locate};
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;
use judge::Subject;
pub(crate) use words::DIALECT;

/// Kernel, candidate, and run-time extents at which it must be eligible and right.
type Case = (&'static str, &'static str, &'static [&'static [i64]]);

const CASES: &[Case] = &[
    // the columns have the 16 rows of the instruction; warps along k; fewer tiles of k than stages, one term, tails
    ("nt", "x8x16x256s8w1x1x4", &[&[1, 8, 8], &[8, 16, 256], &[9, 24, 264], &[3, 40, 2560]]),
    ("nt", "x8x64x128s3w2x1x2-d", &[&[1, 64, 128], &[7, 72, 1000]]),
    ("nt", "x64x64x64s3w2x2x1", &[&[64, 64, 64], &[65, 72, 264], &[37, 8, 56]]),
    // rows of the instruction are rows of y; the tile of y in several passes
    ("nt", "t64x64x64s3w2x2x1", &[&[63, 56, 136], &[65, 72, 320], &[1, 8, 8]]),
    ("nt", "t128x256x32s3w2x4x1-d", &[&[127, 264, 104]]),
    ("nt", "x8x32x256s4w1x1x4e", &[&[1, 1, 1], &[7, 31, 255], &[9, 33, 257], &[13, 37, 1031]]),
    ("nt", "t64x64x64s3w2x2x1e", &[&[1, 1, 1], &[63, 65, 63], &[67, 61, 199]]),
    ("nn", "x32x64x64s4w4x1x1", &[&[31, 56, 72], &[33, 72, 328]]),
    ("nn", "t128x192x32s4w2x4x1", &[&[129, 200, 40], &[16, 8, 8]]),
    ("nn", "t128x64x64s3w4x2x1e", &[&[131, 67, 71], &[1, 1, 1]]),
    ("tn", "x16x64x128s4w4x1x1", &[&[16, 64, 128], &[24, 72, 600]]),
    ("tn", "t64x128x64s3w2x2x1", &[&[72, 136, 67]]),
    ("tn", "x16x64x128s3w2x1x2e", &[&[17, 65, 131], &[1, 2, 3]]),
    ("tt", "x64x32x128s4w2x1x2", &[&[56, 40, 136]]),
    ("tt", "t64x64x64s4w2x2x1", &[&[72, 72, 200]]),
    ("turned", "x32x32x128s4w1x1x4", &[&[40, 33, 264]]),
    ("batched", "x16x32x256s3w2x1x4", &[&[2, 17, 40, 264]]),
    ("batched", "t64x64x64s3w2x2x1e", &[&[2, 65, 3, 67]]),
    ("rows_of_two", "x32x64x128s4w2x1x2", &[&[3, 13, 72, 17]]),
    ("padded", "t64x64x64s3w2x2x1", &[&[65, 72, 72]]),
    ("gated", "x8x64x128s3w4x1x1-d", &[&[5, 72, 264], &[8, 64, 640]]),
    ("gated", "t128x64x64s3w4x2x1", &[&[129, 72, 136]]),
    ("gated", "x8x32x256s3w1x1x4e", &[&[3, 37, 259]]),
    ("rest", "x16x64x128s3w2x1x2", &[&[2, 17, 72, 136]]),
    ("rest", "t64x64x64s3w2x2x1e", &[&[2, 65, 67, 33]]),
    ("vector", "x8x64x128s3w1x1x4", &[&[8, 8], &[136, 520]]),
    ("by_8", "x8x64x128s3w4x1x1-d", &[&[9]]),
    ("by_4", "t64x64x64s3w2x2x1-d", &[&[65]]),
    ("by_2", "x8x64x128s3w2x1x2e-d", &[&[9]]),
    ("split", "x8x16x256s4w1x1x4k8", &[&[3], &[8]]),
    ("split", "x16x16x256s3w1x1x4k8", &[&[1], &[13]]),
    ("scattered", "x8x32x256s4w1x1x4e", &[&[9, 33, 257]]),
    // scalar cores: fewer stages of work than the ring has, tails of columns and terms, several tiles of a block
    ("nt", "v1x8s3w1x8u1", &[&[1, 8, 8], &[1, 72, 2056], &[1, 88, 264]]),
    ("nt", "v8x4s6w2x4u1b2-d", &[&[1, 8, 8], &[7, 72, 1032], &[8, 104, 3080]]),
    ("nt", "v2x2s6w1x8u2", &[&[1, 8, 8], &[2, 24, 4096]]),
    ("gated", "v4x4s3w4x2u1-d", &[&[3, 72, 264], &[4, 200, 640]]),
    ("rest", "v2x4s6w8x1u1b2", &[&[2, 1, 72, 136], &[3, 2, 8, 520]]),
    ("vector", "v1x4s6w4x2u1-d", &[&[8, 8], &[136, 520], &[400, 1536]]),
    ("by_8", "v4x8s6w4x1u1", &[&[3]]),
    ("by_2k", "v8x4s6w2x4u1", &[&[1], &[8]]),
    ("split", "v1x4s6w4x2u1k8-d", &[&[1]]),
    ("split", "v4x4s6w4x2u1k8", &[&[2], &[4]]),
    ("f32_nt", "v4x4s6w2x4u1", &[&[1, 8, 16], &[4, 72, 1004]]),
    // columns run through memory
    ("nn", "v1x8l4s3w1x8u1", &[&[1, 8, 8], &[1, 200, 600]]),
    ("nn", "v8x8l8s6w1x4u1b2-d", &[&[7, 264, 72], &[8, 8, 520]]),
    ("tn", "v2x8l16s3w1x8u1", &[&[2, 264, 67]]),
    ("by_4", "v4x8l8s6w1x4u1", &[&[3]]),
];

/// All-round, order of sums, tails, NaN and infinities.
const DISTRIBUTIONS: [Distribution; 5] = [
    Distribution::Normal,
    Distribution::LargeMean,
    Distribution::OneHotLast,
    Distribution::Specials,
    Distribution::Integers,
];

/// Orders that `emulate.hpp` knows.
const ORDERS: usize = 4;

/// What each scalar is.
const SCALAR: f32 = 0.75;

fn main() -> std::process::ExitCode {
    let headers = Places::from_env().ok().and_then(|places| locate(&places).ok()).map(|t| t.header_roots);
    let Some(headers) = headers else {
        println!("skipped: no toolchain is installed");
        return u8::from(std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some()).into();
    };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (name, text) in
        [("emulate.hpp", include_str!("emulate.hpp")), ("values.hpp", include_str!("../rows/values.hpp"))]
    {
        std::fs::write(folder.join(name), text).expect("written");
    }
    let plans = plans();
    let only = std::env::var("CUTEGEN_PRODUCTS").unwrap_or_default();
    let cases =
        CASES.iter().map(|case| Test { name: format!("{} {}", case.0, case.1), what: What::Case(case) });
    let beside = beside::CHECKS
        .iter()
        .map(|(name, check)| Test { name: (*name).to_owned(), what: What::Check(*check) });
    let named = |test: &Test| test.name.contains(&only);
    let tests = sample::of(cases.chain(beside).filter(named).collect(), |test| test.name.clone());
    let (_, first) = proposed(CASES[0].0, CASES[0].1, &plans).expect("a candidate");
    build::precompile(&first, folder, &headers);
    let (queue, wrong) = (Mutex::new(tests.iter()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(test) = { queue.lock().expect("not poisoned").next() } {
                    let found = test.run(&plans, folder, &headers);
                    *wrong.lock().expect("not poisoned") += usize::from(found.is_err());
                    println!("test {} ... {}", test.name, told(&found));
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("not poisoned");
    let verdict = if wrong == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {wrong} failed; 0 ignored", tests.len() - wrong);
    u8::from(wrong > 0).into()
}

/// What a check of `beside.rs` is given: plans, a folder for its own folders, that of headers.
type Check = fn(&[Plan], &Path, &[PathBuf]) -> Result<(), String>;

enum What {
    Case(&'static Case),
    Check(Check),
}

struct Test {
    name: String,
    what: What,
}

impl Test {
    /// What is to be said of it, the share of a bound that it used.
    fn run(&self, plans: &[Plan], folder: &Path, headers: &[PathBuf]) -> Result<Option<f64>, String> {
        match self.what {
            What::Check(check) => check(plans, folder, headers).map(|()| None),
            What::Case((kernel, name, shapes)) => {
                let (plan, candidate) = proposed(kernel, name, plans)?;
                let folder = folder.join(format!("{kernel}-{name}"));
                judged(plan, &candidate, &folder, headers, shapes).map(Some)
            }
        }
    }
}

fn told(found: &Result<Option<f64>, String>) -> String {
    match found {
        Ok(None) => "ok".to_owned(),
        Ok(Some(share)) => format!("ok, at most {share:.3} of a bound"),
        Err(reason) => format!("FAILED: {reason}"),
    }
}

fn plans() -> Vec<Plan> {
    let kernels =
        spec_file(include_str!("specs.toml"), &Default::default()).into_kernels().expect("right specs");
    let target = Target::parse("sm_90a").expect("a target");
    kernels.iter().map(|spec| Plan::new(spec, &target)).collect()
}

fn plan<'a>(kernel: &str, plans: &'a [Plan]) -> &'a Plan {
    plans.iter().find(|plan| plan.spec.name.as_str() == kernel).expect("a kernel of the specs")
}

fn products(plan: &Plan) -> Vec<Candidate> {
    let all = Templates::new("none").space(plan).into_iter();
    all.filter(|candidate| candidate.name.starts_with("product-")).collect()
}

fn proposed<'a>(kernel: &str, name: &str, plans: &'a [Plan]) -> Result<(&'a Plan, Candidate), String> {
    let plan = plan(kernel, plans);
    let mut candidates = products(plan);
    let at =
        candidates.iter().position(|c| c.name.strip_prefix("product-") == Some(name)).ok_or_else(|| {
            let names: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
            format!("no such candidate among {names:?}")
        })?;
    Ok((plan, candidates.swap_remove(at)))
}

/// The largest share of a bound that an element used, at every shape and distribution, each in another order than the last.
fn judged(
    plan: &Plan,
    candidate: &Candidate,
    folder: &Path,
    headers: &[PathBuf],
    shapes: &[&[i64]],
) -> Result<f64, String> {
    std::fs::create_dir(folder).expect("a folder of its own");
    let reference = objects::shared(&print::reference::print(plan), objects::REFERENCE)?;
    let reference = Reference::load(&reference).map_err(|error| error.to_string())?;
    build::build(candidate, folder, headers)?;
    let subject = Subject { plan, candidate, reference: &reference, folder, scalar: SCALAR };
    let mut share = 0.0_f64;
    for (i, shape) in shapes.iter().enumerate() {
        let axes = subject.axes(shape)?;
        for (j, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
            let held = contents(&plan.spec, 7, &axes, distribution).map_err(|error| error.to_string())?;
            let order = (i + j) % ORDERS;
            let found = subject.judged(&axes, &held, order);
            let at = || format!("{shape:?}, {distribution:?}, order {order}");
            share = share.max(found.map_err(|reason| format!("{}: {reason}", at()))?);
        }
    }
    Ok(share)
}
