//! The naive kernels for CUDA compile with the pinned NVRTC, behind the guard as candidates do, and so do those of the
//! same specs in f64; the references with bounds as our own text, and keep what they compute in registers.

use cutegen_build::compile::{
    CompileCache, CompileFor, CompileJob, CompileOutcome, CompileSetup, Inspected, Limits, Workers,
    compile as compile_job, own_cubin,
};
use cutegen_build::inspect::cubin::{self, KernelInfo};
use cutegen_build::plan::Plan;
use cutegen_build::print::naive::{self, Printed};
use cutegen_build::print::reference::{self, DeviceReference};
use cutegen_build::toolchain::locate;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use crate::cases::{Library, places};
use crate::{parallel, sample};

const ARCH: &str = "sm_90a";

/// Bytes of local memory that a thread of a reference may use: what the compiler's slow path of `sin` and `cos` of large
/// doubles takes.
const STACK_MAX: u32 = 64;

/// Bytes of shared memory that a kernel may declare.
const SHARED_MAX: u64 = 48 << 10;

/// What the special forms of naive kernels have in them.
const FORMS: &str = include_str!("../naive_cuda/specs.toml");

/// Every kernel as its spec asks, and in f64.
pub(crate) fn compile(library: &Library) -> Vec<String> {
    let (setup, target) = setup();
    let forms = spec_file(FORMS, &Settings::default()).into_kernels().expect("right specs");
    let forms = sample::of(forms.iter().collect(), |spec| spec.name.to_string());
    let library = library.sampled();
    let all: Vec<&KernelSpec> = library.iter().map(|kernel| kernel.spec()).chain(forms).collect();
    parallel::each(&all, |spec| of_kernel(spec, &target, &setup)).concat()
}

/// The reference with bounds of every kernel that has one for devices.
pub(crate) fn device_references(library: &Library) -> Vec<String> {
    let (setup, target) = setup();
    let found = parallel::each(&library.sampled(), |kernel| {
        let plan = Plan::new(kernel.spec(), &target);
        let is_wide = plan.spec.precision.accumulate == DType::F64;
        match reference::print_cuda(&plan) {
            Some(printed) => wrong_with(&printed, &setup),
            None if is_wide => None,
            None => Some("it has no reference for devices".to_owned()),
        }
        .map(|wrong| format!("{}: {wrong}", kernel.name()))
    });
    found.into_iter().flatten().collect()
}

fn wrong_with(printed: &DeviceReference, setup: &CompileSetup) -> Option<String> {
    let cubin = match own_cubin(setup, ARCH, &printed.source, &printed.options) {
        Ok(cubin) => cubin,
        Err(error) => return Some(error.to_string()),
    };
    let large = printed.large.iter().flat_map(|large| &large.contract.steps);
    let mut entries: Vec<String> =
        printed.contract.steps.iter().chain(large).map(|step| step.entry.clone()).collect();
    entries.sort();
    entries.dedup();
    let info = match cubin::check(&cubin, &entries) {
        Ok(info) => info,
        Err(problems) => return Some(problems.join("; ")),
    };
    let is_large = |kernel: &&KernelInfo| kernel.stack_bytes.is_none_or(|bytes| bytes > STACK_MAX);
    let params = |kernel: &KernelInfo| kernel.params.len();
    let fits = |kernel: &KernelInfo| params(kernel) == printed.contract.steps[0].args.len();
    if !info.kernels.iter().all(fits) {
        return Some("its parameters are not the contract's".to_owned());
    }
    info.kernels.iter().find(is_large).map(|kernel| format!("{kernel:?}"))
}

fn setup() -> (CompileSetup, Target) {
    let setup = CompileSetup {
        toolchain: locate(&places()).expect("main checked that there is one"),
        workers: Workers::current().expect("this program has a path"),
        limits: Limits::default(),
        cache: CompileCache::off(),
    };
    (setup, Target::parse(ARCH).expect("a target"))
}

/// A spec that accumulates in f64 and has outputs of f64 for those of other floats.
fn widened(spec: &KernelSpec) -> KernelSpec {
    let mut wide = spec.clone();
    wide.precision.accumulate = DType::F64;
    let outputs = wide.tensors.iter_mut().filter(|t| t.role == Role::Output && t.dtype.is_float());
    outputs.for_each(|tensor| tensor.dtype = DType::F64);
    wide
}

fn of_kernel(spec: &KernelSpec, target: &Target, setup: &CompileSetup) -> Vec<String> {
    let sources = [("naive", spec.clone()), ("naive in f64", widened(spec))];
    let sources = sources.map(|(what, spec)| (what, naive::print(&Plan::new(&spec, target))));
    let failed = sources.iter().filter_map(|(what, printed)| refused(printed, setup).map(|e| (what, e)));
    failed.map(|(what, error)| format!("{}: {what}: {error}", spec.name)).collect()
}

/// What the compiler has against a source.
fn refused(printed: &Printed, setup: &CompileSetup) -> Option<String> {
    let named = |text: &str| text.replace("@ENTRY@", "golden");
    let job = CompileJob {
        source: named(&printed.source),
        entries: printed.contract.steps.iter().map(|step| named(&step.entry)).collect(),
        compile_for: CompileFor::Cuda { arch: ARCH.to_owned() },
    };
    match compile_job(&job, setup).expect("the machine can compile") {
        CompileOutcome::Compiled(artifact) => {
            let Inspected::Cubin(info) = artifact.inspected else { return Some("it is no cubin".to_owned()) };
            let is_large = |kernel: &&KernelInfo| kernel.static_smem_bytes > SHARED_MAX;
            info.kernels.iter().find(is_large).map(|kernel| format!("shared memory: {kernel:?}"))
        }
        CompileOutcome::Failed(failure) => {
            let first = failure.diagnostics.first().map(|d| format!("line {:?}: {}", d.line, d.message));
            Some(format!("{:?} {}", failure.reason, first.unwrap_or_default()))
        }
    }
}
