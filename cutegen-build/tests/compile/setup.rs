//! What the tests share: a located toolchain, a worker that is this binary, jobs.

use std::env;
use std::sync::Mutex;
use std::time::Duration;

use cutegen_build::compile::{
    Artifact, Batch, CompileCache, CompileFailure, CompileFor, CompileJob, CompileOutcome, CompileSetup,
    Limits, Workers, compile, compile_in,
};
use cutegen_build::generate::Candidate;
use cutegen_build::plan::Plan;
use cutegen_build::toolchain::{Group, Places, Toolchain, folder_of, install, locate};

pub(crate) fn is_required() -> bool {
    env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some()
}

pub(crate) fn is_available() -> bool {
    let places = places();
    if env::var_os("CUTEGEN_TEST_INSTALL").is_some() && places.explicit.is_none() {
        install(Group::Compile, &folder_of(Group::Compile, &places), &mut |line| println!("{line}"))
            .expect("an index answers");
    }
    locate(&places).is_ok_and(|toolchain| toolchain.nvrtc.is_some() && toolchain.cxx.is_some())
}

pub(crate) fn places() -> Places {
    Places::from_env().expect("a home folder")
}

pub(crate) fn toolchain() -> Toolchain {
    locate(&places()).expect("main checked that there is one")
}

pub(crate) fn setup() -> CompileSetup {
    setup_with(toolchain(), Limits::default())
}

pub(crate) fn setup_with(toolchain: Toolchain, limits: Limits) -> CompileSetup {
    let workers = Workers::current().expect("this program has a path");
    CompileSetup { toolchain, workers, limits, cache: CompileCache::off() }
}

/// Limits a hostile source reaches soon.
pub(crate) fn tight() -> Limits {
    Limits {
        wall: Duration::from_secs(20),
        cpu: Duration::from_secs(10),
        memory_bytes: 3 << 30,
        output_bytes: 4 << 20,
        ..Limits::default()
    }
}

pub(crate) fn cuda(source: &str, entries: &[&str]) -> CompileJob {
    job(source, entries, CompileFor::Cuda { arch: "sm_90a".into() })
}

pub(crate) fn host(source: &str, entry: &str) -> CompileJob {
    job(
        source,
        &[entry],
        CompileFor::Host { triple: "x86_64-unknown-linux-gnu".into(), level: "x86-64-v3".into() },
    )
}

fn job(source: &str, entries: &[&str], compile_for: CompileFor) -> CompileJob {
    CompileJob {
        source: source.into(),
        entries: entries.iter().map(|&entry| entry.into()).collect(),
        compile_for,
    }
}

pub(crate) fn compiled(job: &CompileJob, setup: &CompileSetup) -> Artifact {
    artifact(compile(job, setup).expect("the machine can compile"))
}

fn artifact(outcome: CompileOutcome) -> Artifact {
    match outcome {
        CompileOutcome::Compiled(artifact) => *artifact,
        CompileOutcome::Failed(failure) => panic!("{failure:#?}"),
    }
}

/// Every candidate compiled in a fork of one zygote, on all cores; all are for one architecture. What a fork gives is what a worker of its own gives:
/// `zygote::forks_give_a_workers_bytes` compares them.
pub(crate) fn each_compiled(
    candidates: &[(Plan, Candidate)],
    check: impl Fn(&Plan, &Candidate, &Artifact) + Sync,
) {
    let Some((plan, first)) = candidates.first() else { return };
    let batch = Batch::start(&setup(), arch(plan), &first.source).expect("a zygote");
    let queue = Mutex::new(candidates.iter());
    let work = || {
        while let Some((plan, candidate)) = { queue.lock().expect("not poisoned").next() } {
            let outcome = compile_in(&batch, &of_plan(plan, candidate)).expect("the machine can compile");
            match outcome {
                CompileOutcome::Compiled(artifact) => check(plan, candidate, &artifact),
                CompileOutcome::Failed(failure) => {
                    panic!("{} for {}, {}: {failure:#?}", plan.spec.name, arch(plan), candidate.name)
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// What compiles a candidate for sm_90a.
pub(crate) fn of_candidate(candidate: &Candidate) -> CompileJob {
    of(candidate, "sm_90a")
}

/// What compiles a candidate for the plan's architecture.
fn of_plan(plan: &Plan, candidate: &Candidate) -> CompileJob {
    of(candidate, arch(plan))
}

fn of(candidate: &Candidate, arch: &str) -> CompileJob {
    let entries: Vec<&str> = candidate.contract.steps.iter().map(|step| step.entry.as_str()).collect();
    job(&candidate.source, &entries, CompileFor::Cuda { arch: arch.into() })
}

fn arch(plan: &Plan) -> &'static str {
    plan.target.arch().expect("a GPU").name()
}

pub(crate) fn failed(job: &CompileJob, setup: &CompileSetup) -> CompileFailure {
    match compile(job, setup).expect("the machine can compile") {
        CompileOutcome::Compiled(_) => panic!("it compiled"),
        CompileOutcome::Failed(failure) => failure,
    }
}
