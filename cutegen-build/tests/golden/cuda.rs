//! The naive kernels and the f64 references for CUDA compile with the pinned NVRTC, behind the guard as candidates do.

use cutegen_build::compile::{
    CompileFor, CompileJob, CompileOutcome, CompileSetup, Limits, Workers, compile as compile_job,
};
use cutegen_build::plan::Plan;
use cutegen_build::print::naive::{self, Printed};
use cutegen_build::toolchain::locate;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

use crate::cases::{Library, places};
use crate::parallel;

const ARCH: &str = "sm_90a";

/// Both sources of every kernel.
pub(crate) fn compile(library: &Library) -> Vec<String> {
    let setup = CompileSetup {
        toolchain: locate(&places()).expect("main checked that there is one"),
        workers: Workers::current().expect("this program has a path"),
        limits: Limits::default(),
    };
    let target = Target::parse(ARCH).expect("a target");
    let found = parallel::each(&library.kernels, |kernel| of_kernel(kernel.spec(), &target, &setup));
    found.concat()
}

fn of_kernel(spec: &KernelSpec, target: &Target, setup: &CompileSetup) -> Vec<String> {
    let plan = Plan::new(spec, target);
    let sources = [("naive", naive::print(&plan)), ("reference", naive::print_reference(&plan))];
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
        CompileOutcome::Compiled(_) => None,
        CompileOutcome::Failed(failure) => {
            let first = failure.diagnostics.first().map(|d| format!("line {:?}: {}", d.line, d.message));
            Some(format!("{:?} {}", failure.reason, first.unwrap_or_default()))
        }
    }
}
