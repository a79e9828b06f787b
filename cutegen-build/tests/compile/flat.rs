//! The templates of sm_90a over `kernel-specs`: which specs have candidates, that what they are filled with compiles,
//! without spills, and that launches fit the device at both ends of every axis.
//!
//! The first candidate of most specs is compiled; `CUTEGEN_ALL_POINTS=1` compiles every one, `CUTEGEN_TEMPLATE_SPEC=NAME`
//! those of specs whose names start so, and `CUTEGEN_TEMPLATE_SOURCES=FOLDER` keeps the texts and contracts of all.

use std::path::Path;

use cutegen_build::compile::{Artifact, Inspected};
use cutegen_build::evaluate::device::resolve::check_layout;
use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::inspect::cubin::{CubinInfo, KernelInfo};
use cutegen_build::plan::Plan;
use cutegen_spec::axis::{Extent, resolve};
use cutegen_spec::edition::spec_file;
use cutegen_spec::int_expr::{DeviceProp, IntExpr};
use cutegen_spec::target::Target;

use crate::library;
use crate::setup::each_compiled;

pub(crate) const TESTS: &[crate::Test] = &[
    ("flat::every_flat_spec_has_candidates", every_flat_spec_has_candidates),
    ("flat::launches_fit_the_device", launches_fit_the_device),
    ("flat::candidates_compile_without_spills", candidates_compile_without_spills),
];

/// Families that this file answers for.
const FAMILIES: [&str; 2] = ["elementwise", "scan"];
/// What `kernel-specs` does not have.
const MORE: &str = include_str!("flat.toml");

/// Plans of the families, for a GPU.
pub(crate) fn plans() -> Vec<Plan> {
    let kernels = spec_file(MORE, &Default::default()).into_kernels().expect("right specs");
    let target = Target::parse("sm_90a").expect("a target");
    let specs = library::all().into_iter().map(|plan| plan.spec).chain(kernels);
    specs
        .map(|spec| Plan::new(&spec, &target))
        .filter(|plan| FAMILIES.contains(&plan.family.name()))
        .collect()
}

pub(crate) fn candidates(plan: &Plan) -> Vec<Candidate> {
    Templates::new("").space(plan)
}

fn every_flat_spec_has_candidates() {
    for plan in plans() {
        let all = candidates(&plan);
        if let Some(folder) = std::env::var_os("CUTEGEN_TEMPLATE_SOURCES") {
            all.iter().for_each(|candidate| keep(folder.as_ref(), &plan, candidate));
        }
        let (name, family) = (&plan.spec.name, plan.family.name());
        let anywhere = all.iter().filter(|candidate| candidate.eligibility.0.is_empty()).count();
        let first = all.first().map(|candidate| candidate.eligibility.to_string()).unwrap_or_default();
        println!("  {name}: {family}, {} candidates, {anywhere} for any address; first: {first}", all.len());
        assert!(anywhere >= 1, "{name}: every launch has a template");
        assert!(all.len() >= 8, "{name}: {} candidates", all.len());
    }
}

/// A candidate's text with its contract beside it.
fn keep(folder: &Path, plan: &Plan, candidate: &Candidate) {
    let path = folder.join(format!("{}.{}.cu", plan.spec.name, candidate.name));
    std::fs::write(&path, &candidate.source).expect("written");
    let contract = toml::to_string(&candidate.contract).expect("a contract prints");
    std::fs::write(path.with_extension("toml"), contract).expect("written");
}

/// An H200, with as many blocks as fit any kernel of so many threads.
pub(crate) fn device(threads: i64) -> impl Fn(DeviceProp) -> Option<i64> {
    move |prop| {
        Some(match prop {
            DeviceProp::SmCount => 132,
            DeviceProp::MaxBlocksPerSm => (2048 / threads).min(32),
            DeviceProp::MaxActiveClusters => 132,
            DeviceProp::DeviceSmem => 227 << 10,
        })
    }
}

fn launches_fit_the_device() {
    for plan in plans() {
        let all = candidates(&plan);
        for largest in [false, true] {
            let end = |axis: usize| match plan.spec.axes[axis].extent {
                Extent::Range { lo, hi, .. } => {
                    if largest {
                        hi
                    } else {
                        lo
                    }
                }
                Extent::Const(_) | Extent::Derived(_) => 1,
            };
            let axes = resolve(&plan.spec.axes, &end).expect("a shape");
            for candidate in &all {
                for step in &candidate.contract.steps {
                    let of = |e: &IntExpr| e.eval(&axes, &device(128)).expect("a number");
                    let (grid, block) = (step.grid.each_ref().map(of), step.block.each_ref().map(of));
                    let threads: i64 = block.iter().product();
                    let place =
                        format!("{} {} at {axes:?}: {grid:?} {block:?}", plan.spec.name, candidate.name);
                    assert!((32..=1024).contains(&threads), "{place}");
                    assert!((1..1 << 31).contains(&grid[0]), "{place}");
                    assert!(grid[1..].iter().all(|n| (1..=65535).contains(n)), "{place}");
                }
                let layout = candidate.contract.workspace_layout(&axes);
                assert!(layout.is_ok_and(|layout| layout.total() <= 1 << 32), "{}", candidate.name);
            }
        }
    }
}

/// Kernels of one axis are functions of one form: of these, every fourth is compiled.
fn is_sampled(at: usize, plan: &Plan) -> bool {
    plan.spec.axes.len() > 1 || at.is_multiple_of(4) || std::env::var_os("CUTEGEN_ALL_POINTS").is_some()
}

/// What of a plan is compiled here: its first candidate, or all.
fn chosen(plan: &Plan) -> Vec<Candidate> {
    let mut all = candidates(plan);
    if std::env::var_os("CUTEGEN_ALL_POINTS").is_none() {
        all.truncate(1);
    }
    all
}

fn candidates_compile_without_spills() {
    let filter = std::env::var("CUTEGEN_TEMPLATE_SPEC").unwrap_or_default();
    let wanted = plans().into_iter().filter(|plan| plan.spec.name.as_str().starts_with(&filter));
    let chosen: Vec<(Plan, Candidate)> = wanted
        .enumerate()
        .filter(|(at, plan)| is_sampled(*at, plan))
        .flat_map(|(_, plan)| chosen(&plan).into_iter().map(move |candidate| (plan.clone(), candidate)))
        .collect();
    each_compiled(&chosen, compiles);
}

fn compiles(plan: &Plan, candidate: &Candidate, artifact: &Artifact) {
    let name = format!("{}.{}", plan.spec.name, candidate.name);
    let seconds = artifact.wall_ms as f64 / 1e3;
    let Inspected::Cubin(info) = &artifact.inspected else { panic!("a cubin") };
    check_parameters(plan, candidate, info);
    for kernel in &info.kernels {
        let (registers, stack) = (kernel.registers.unwrap_or(0), kernel.stack_bytes.unwrap_or(0));
        println!("  {name}: {registers} registers, {stack} bytes of stack, {seconds:.1} s");
        assert_eq!(stack, 0, "{name} spills");
    }
    assert!(artifact.log_warnings.is_empty(), "{name}: {:?}", artifact.log_warnings);
}

fn check_parameters(plan: &Plan, candidate: &Candidate, info: &CubinInfo) {
    let laid = |kernel: &KernelInfo| {
        (kernel.name.clone(), kernel.params.iter().map(|p| (p.offset, p.size)).collect())
    };
    let kernels: Vec<_> = info.kernels.iter().map(laid).collect();
    let scalars: Vec<u32> = plan.spec.scalars.iter().map(|s| s.dtype.bits() / 8).collect();
    check_layout(&candidate.contract, &scalars, &kernels).expect("the contract's parameters");
}
