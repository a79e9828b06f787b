//! The naive kernels for CUDA by numbers: run on the host over a few lines that stand for a GPU, on every kernel of the
//! library and on what their special forms must get right, at special values, ties, masks and odd extents. Every element
//! lies inside the reference's bound, and nothing beside the results is written.

mod emulated;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cutegen_build::evaluate::judge::compare::{self, Before};
use cutegen_build::evaluate::judge::inputs::draw_scalar;
use cutegen_build::evaluate::{Call, Distribution, Reference, contents};
use cutegen_build::plan::Plan;
use cutegen_build::print::naive::{self, Printed};
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use crate::bound::library;
use crate::sample;
use emulated::{Emulated, Memory};

const SPECS: &str = include_str!("specs.toml");
const OTHERS: &str = include_str!("../device_reference/specs.toml");
const FUNCTIONS: &str = include_str!("../../../tests/golden/specs/functions.toml");

/// Multiply-adds and elements at a shape.
const CAP: u64 = 1 << 14;

const DISTRIBUTIONS: [Distribution; 6] = [
    Distribution::Normal,
    Distribution::Specials,
    Distribution::PairedSpecials,
    Distribution::OneHotLast,
    Distribution::LargeMean,
    Distribution::LogUniform,
];

/// What no kernel has written.
const POISON: u8 = 0xa5;

/// The first element of a kernel that is wrong, at any shape and distribution; or how many were judged.
fn judged(plan: &Plan, printed: Printed, shapes: &[Vec<i64>]) -> Result<u64, String> {
    let name = plan.spec.name.as_str();
    let (reference, kernel) = (library::reference(plan), Emulated::new(printed, name));
    let mut elements = 0;
    for (seed, axes) in shapes.iter().enumerate() {
        for distribution in DISTRIBUTIONS {
            let found = case(plan, (&reference, &kernel), axes, (distribution, seed as u64));
            elements += found.map_err(|e| format!("{name} at {axes:?}, {distribution}: {e}"))?;
        }
    }
    Ok(elements)
}

fn case(
    plan: &Plan,
    (reference, kernel): (&Reference, &Emulated),
    axes: &[i64],
    (distribution, seed): (Distribution, u64),
) -> Result<u64, String> {
    let spec = &plan.spec;
    let drawn = contents(spec, seed, axes, distribution).expect("inputs can be drawn");
    let inputs: Vec<Vec<u8>> = drawn.iter().flatten().cloned().collect();
    let scalar = |(i, s)| draw_scalar(distribution, seed, i, s);
    let scalars: Vec<_> = spec.scalars.iter().enumerate().map(scalar).collect();
    let results = || spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input);
    let outputs: Vec<usize> = results().map(|(_, t)| t.span(axes).expect("a size") as usize).collect();
    let call =
        Call { inputs: &inputs, axes, scalars: &scalars, outputs: &outputs, exact: false, sampled: None };
    let sizes: Vec<usize> = spec.tensors.iter().map(|t| t.bytes(axes).expect("a size") as usize).collect();
    let parts = kernel.parts(axes);
    let given =
        drawn.iter().zip(&sizes).map(|(drawn, bytes)| words(drawn.as_deref().unwrap_or_default(), *bytes));
    let mut memory =
        Memory { tensors: given.collect(), parts: parts.iter().map(|bytes| words(&[], *bytes)).collect() };
    kernel.run(&call, &mut memory);
    let mut elements = 0;
    for ((t, tensor), expected) in results().zip(&reference.call(&call)) {
        let held: Vec<u8> = memory.tensors[t].iter().flat_map(|word| word.to_le_bytes()).collect();
        let before = drawn[t].as_deref().map_or(Before::Poison(POISON), Before::Contents);
        let compared = compare::compare(tensor.dtype, &held, expected);
        compared.wrong.map_or(Ok(()), |wrong| Err(format!("`{}`: {wrong:?}", tensor.name)))?;
        let touched = compare::touched(tensor.dtype, &held, before, expected);
        touched.map_or(Ok(()), |e| Err(format!("`{}`: element {e} is written over", tensor.name)))?;
        elements += expected.value.len() as u64 - compared.not_judged;
    }
    let held = memory.tensors.iter().chain(&memory.parts).zip(sizes.iter().chain(&parts));
    let ends = held.into_iter().all(|(held, bytes)| is_untouched(held, *bytes));
    if ends { Ok(elements) } else { Err("it writes past an end".to_owned()) }
}

const END: u64 = u64::from_ne_bytes([POISON; 8]);

/// Whether what lies behind so many bytes is as `words` left it.
fn is_untouched(held: &[u64], bytes: usize) -> bool {
    held.iter().flat_map(|word| word.to_ne_bytes()).skip(bytes).all(|byte| byte == POISON)
}

/// Memory of so many bytes that holds `contents`, and more than as much behind it: what writes past an end is found and
/// harms nothing else.
fn words(contents: &[u8], bytes: usize) -> Vec<u64> {
    let mut held = vec![END; 2 * bytes.div_ceil(8) + 4096];
    for (word, chunk) in held.iter_mut().zip(contents.chunks(8)) {
        let mut bytes = word.to_ne_bytes();
        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(bytes);
    }
    held
}

/// What is wrong with the kernels of these plans.
fn wrong(plans: &[Plan]) -> Vec<String> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run = || {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let judged = judged(plan, naive::print(plan), &shapes(plan));
            match judged {
                Ok(0) => found.lock().expect("no plan panicked").push(format!("{}: none", plan.spec.name)),
                Ok(_) => {}
                Err(wrong) => found.lock().expect("no plan panicked").push(wrong),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    found.into_inner().expect("no plan panicked")
}

/// The kernels of a text, for a GPU.
fn plans(text: &str) -> Vec<Plan> {
    let kernels = spec_file(text, &Settings::default()).into_kernels().expect("right specs");
    kernels.iter().map(on_cuda).collect()
}

/// A sample of them.
fn some(text: &str) -> Vec<Plan> {
    sample::of(plans(text), |plan| plan.spec.name.to_string())
}

fn on_cuda(spec: &cutegen_spec::spec::KernelSpec) -> Plan {
    Plan::new(spec, &Target::parse("sm_90a").expect("a target"))
}

fn all_right(plans: &[Plan]) {
    let wrong = wrong(plans);
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), plans.len(), wrong.join("\n"));
}

#[test]
fn the_library_is_right() {
    let all = sample::of(library::all(), |plan| plan.spec.name.to_string());
    all_right(&all.iter().map(|plan| on_cuda(&plan.spec)).collect::<Vec<_>>());
}

#[test]
fn every_function_is_right() {
    all_right(&some(FUNCTIONS));
}

#[test]
fn strides_scatter_packing_ties_and_bounds_are_right() {
    all_right(&some(OTHERS));
}

#[test]
fn special_forms_are_right() {
    all_right(&some(SPECS));
}

/// Shapes that fill more than a tile, a block or a piece of a scan, and leave some over. Other specs have the usual ones.
const SHAPES: &[(&str, &[i64])] = &[
    ("tiled", &[2, 129, 67, 300]),
    ("gated", &[80, 70, 40]),
    ("grouped", &[5, 4, 300]),
    ("row", &[3, 5001]),
    ("long_row", &[2, 20_011]),
    ("total", &[130, 77]),
    ("extremes", &[37, 131]),
    ("few_columns", &[9001, 2]),
    ("chosen_row", &[3, 2001]),
    ("crowded", &[2, 9001]),
    ("leaders", &[2, 9001]),
    ("normed", &[3, 1000]),
    ("prefixes", &[2, 2500, 2500]),
    ("suffixes", &[2, 2500, 2500]),
];

fn shapes(plan: &Plan) -> Vec<Vec<i64>> {
    let own = SHAPES.iter().filter(|(name, _)| *name == plan.spec.name.as_str());
    own.map(|(_, axes)| axes.to_vec()).chain(library::telling_shapes(plan, CAP)).collect()
}

/// What a spec's kernel must hold and how many parts of workspace it has.
const FORMS: &[(&str, &[&str], usize)] = &[
    ("tiled", &["left[16][64 + 4]"], 0),
    ("gated", &["sums0[4][4]", "sums1[4][4]"], 0),
    ("convolution", &["left[16][64 + 4]"], 0),
    ("grouped", &["cg_of_block<256>"], 0),
    ("transposed", &["continue;", "return r.value();"], 0),
    ("row", &["cg_of_block<256>"], 0),
    ("long_row", &["cg_of_cluster<1024, 8>"], 0),
    ("total", &["cg_of_cluster<1024, 8>"], 0),
    ("extremes", &["cg_of_cluster<1024, 8>"], 0),
    ("columns", &["cg_sum r;"], 0),
    ("few_columns", &["cg_of_cluster<1024, 8>"], 0),
    ("leaders", &["cg_better<true>", "cg_better<false>"], 0),
    ("masked_row", &["cg_of_block<256>"], 1),
    ("chosen_row", &["cg_of_block<256>"], 0),
    ("crowded", &["cg_of_cluster<1024, 8>"], 0),
    ("turned", &["cg_sum r;"], 1),
    ("shifted", &["cg_sum r;"], 1),
    ("normed", &["cg_of_block<256>"], 2),
    ("prefixes", &["carried.add(piece)"], 0),
    ("suffixes", &["shares[threadIdx.x - 1]"], 0),
    ("short_prefixes", &["for (int64_t v"], 0),
];

#[test]
fn forms_are_chosen_by_the_math() {
    let plans = plans(SPECS);
    for (name, texts, parts) in FORMS {
        let plan = plans.iter().find(|p| p.spec.name.as_str() == *name).expect("a spec");
        let printed = naive::print(plan);
        let kernels = printed.source.split_once("extern \"C\"").expect("kernels").1;
        let missing: Vec<_> = texts.iter().filter(|text| !kernels.contains(**text)).collect();
        assert!(missing.is_empty(), "{name} has no {missing:?}\n{kernels}");
        assert_eq!(printed.contract.workspace.len(), *parts, "{name}\n{kernels}");
    }
    assert!(plans.iter().all(|p| FORMS.iter().any(|(name, ..)| p.spec.name.as_str() == *name)));
}

/// A fault in the kernels of a spec: what stands there, and what instead.
const PLANTED: &[(&str, &str, &str)] = &[
    ("tiled", "term < count && row", "row"),
    ("tiled", "row >= rows || col >= cols", "row >= rows"),
    ("tiled", "from += 128", "from += 144"),
    ("gated", "right[k][x * 4 + p]", "right[k][x * 4]"),
    ("row", "left = THREADS / 2", "left = THREADS / 4"),
    ("long_row", "block = 1; block < BLOCKS", "block = 2; block < BLOCKS"),
    ("long_row", "blockIdx.x % 8 * 1024", "blockIdx.x % 8 * 1023"),
    ("leaders", "a.at < b.at", "a.at > b.at"),
    ("leaders", "nan_a != nan_b", "false"),
    ("leaders", "!a.any || !b.any", "false"),
    ("masked_row", "const int64_t first = 0", "const int64_t first = 1"),
    ("prefixes", "carried.add(piece)", "carried.add(own)"),
    ("suffixes", "shares[threadIdx.x - 1]", "shares[threadIdx.x]"),
    ("transposed", "continue;", "break;"),
    ("chosen_row", "int64_t(3)", "int64_t(4)"),
    ("crowded", "cg_better<false>", "cg_better<true>"),
];

#[test]
fn a_planted_fault_is_found() {
    let plans = plans(SPECS);
    let survives = |(name, right, wrong): &&(&str, &str, &str)| {
        let plan = plans.iter().find(|p| p.spec.name.as_str() == *name).expect("a spec");
        let printed = naive::print(plan);
        assert!(printed.source.contains(right), "{name}: no `{right}` in\n{}", printed.source);
        let planted = Printed { source: printed.source.replace(right, wrong), ..printed };
        judged(plan, planted, &shapes(plan)).is_ok()
    };
    let planted = sample::of(PLANTED.iter().collect(), |(name, right, _)| format!("{name} without {right}"));
    let survivors: Vec<_> = planted.into_iter().filter(survives).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
}
