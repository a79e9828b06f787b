//! A judging session as `search` opens one, for kernels of one spec: printed reference, naive kernel as baseline, the
//! gate's own settings.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use cutegen_build::compile::{
    CompileCache, CompileFor, CompileJob, CompileOutcome, CompileSetup, Limits, Workers as CompileWorkers,
    compile,
};
use cutegen_build::evaluate::wire::protocol::{Backend, Limits as RunnerLimits};
use cutegen_build::evaluate::{
    Baseline, Candidate, Judge, Linker, Outcome, Question, Sampling, Settings, Workers,
};
use cutegen_build::generate::{self, ENTRY, name_entry};
use cutegen_build::plan::sample::Sample;
use cutegen_build::plan::sums::{exact_integers, only_sums};
use cutegen_build::plan::{Plan, cost};
use cutegen_build::print;
use cutegen_build::toolchain::{Places, locate};
use cutegen_spec::contract::Contract;
use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

use super::Labelled;

const SPECS: &str = include_str!("specs.toml");

/// What the bodies are written with.
const PRELUDE: &str = "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <immintrin.h>\n\
                       #define PTR(T, i) (*(T**)params[i])\n#define VAL(T, i) (*(T*)params[i])\n";

/// What a compiler must keep of an entry.
const VISIBLE: &str = "__attribute__((visibility(\"default\"), externally_visible))";

pub(super) struct Bench {
    plan: Plan,
    setup: CompileSetup,
    folder: tempfile::TempDir,
    judge: Judge,
}

impl Bench {
    pub(super) fn new(spec: &str) -> Self {
        let specs = spec_file(SPECS, &Default::default()).into_kernels().expect("right specs");
        let spec = specs.into_iter().find(|found| found.name.as_str() == spec).expect("a spec of that name");
        Self::with(&spec, &|_| {})
    }

    /// The only spec of a text, judged by other settings.
    pub(super) fn of(text: &str, set: &dyn Fn(&mut Settings)) -> Self {
        let mut specs = spec_file(text, &Default::default()).into_kernels().expect("right specs");
        Self::with(&specs.remove(0), set)
    }

    fn with(spec: &KernelSpec, set: &dyn Fn(&mut Settings)) -> Self {
        let plan = Plan::new(spec, &Target::host());
        let toolchain = locate(&Places::from_env().expect("a home folder")).expect("there is one");
        let workers = CompileWorkers::current().expect("this program has a path");
        let setup =
            CompileSetup { toolchain, workers, limits: Limits::default(), cache: CompileCache::off() };
        let folder = tempfile::tempdir().expect("a folder");
        let judge = session(&plan, &setup, (folder.path(), set));
        Self { plan, setup, folder, judge }
    }

    /// What the gate says of a kernel.
    pub(super) fn judged(&mut self, kernel: &Labelled) -> Outcome {
        let source = format!(
            "{PRELUDE}{}\nextern \"C\" {VISIBLE} void {ENTRY}(void** params) {{\n{}\n}}\n",
            kernel.before, kernel.body
        );
        let mut contract = print::naive::print(&self.plan).contract;
        contract.workspace.clear();
        contract.steps[0].args = print::all_args(&self.plan.spec, 0);
        let name = self.folder.path().join(format!("{}.o", kernel.name));
        match candidate(&self.setup, (&source, &contract), name) {
            Ok(candidate) => self.judge.full(&[candidate]).expect("the machine works"),
            Err(refused) => *refused,
        }
    }
}

/// A session as `search::judging` opens it, with a seed that is known.
fn session(plan: &Plan, setup: &CompileSetup, (folder, set): (&Path, &dyn Fn(&mut Settings))) -> Judge {
    let judged = plan.clone();
    let question = Question {
        spec: plan.spec.clone(),
        reference: reference(plan, setup, folder),
        exact_integers: exact_integers(plan),
        cost: Box::new(move |axes: &[i64]| cost::judging(&judged, axes)),
        tiles: Vec::new(),
        scalar: None,
    };
    let naive = generate::naive::candidate(plan, "c++");
    let naive = candidate(setup, (&naive.source, &naive.contract), folder.join("naive.o"));
    let workers = Workers {
        exe: std::env::current_exe().expect("this binary"),
        args: Vec::new(),
        env: Vec::new(),
        backend: Backend::Host,
        limits: RunnerLimits::host(),
    };
    let seed = std::env::var("CUTEGEN_WRONG_SEED").ok();
    let seed = seed.map_or(0x5eed, |seed| seed.parse().expect("CUTEGEN_WRONG_SEED is a number"));
    let mut settings = Settings::new(workers, seed);
    settings.linker = Linker(setup.toolchain.need_cxx().expect("there is one").program.clone());
    let candidate = naive.expect("the naive kernel compiles");
    settings.baseline = Some(Baseline { candidate, only_sums: only_sums(plan) });
    settings.sampling = sampling(plan);
    set(&mut settings);
    Judge::new(question, settings).expect("a session")
}

/// What sampled references cost.
fn sampling(plan: &Plan) -> Option<Sampling> {
    let sample = Sample::of(&plan.spec, &plan.schedule)?;
    let plan = plan.clone();
    let price = move |axes: &[i64], share| cost::judging_sample(&plan, &sample, axes, share);
    Some(Sampling(Rc::new(price)))
}

/// The printed reference as a shared object.
fn reference(plan: &Plan, setup: &CompileSetup, folder: &Path) -> PathBuf {
    let (source, shared) = (folder.join("reference.cpp"), folder.join("reference.so"));
    std::fs::write(&source, print::reference::print(plan)).expect("written");
    let mut command = Command::new(&setup.toolchain.need_cxx().expect("there is one").program);
    command.args(["-std=c++17", "-O3", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-o"]);
    let made = command.arg(&shared).arg(&source).arg("-lm").status().expect("c++ runs");
    assert!(made.success(), "the reference of {} does not compile", plan.spec.name);
    shared
}

/// A source with its contract as the gate takes it, or what becomes of it instead.
fn candidate(
    setup: &CompileSetup,
    (source, contract): (&str, &Contract),
    artifact: PathBuf,
) -> Result<Candidate, Box<Outcome>> {
    let (source, contract) = name_entry(source, contract, "c++");
    let compile_for =
        CompileFor::Host { triple: "x86_64-unknown-linux-gnu".into(), level: "x86-64-v3".into() };
    let entries = vec![contract.steps[0].entry.clone()];
    match compile(&CompileJob { source, entries, compile_for }, setup).expect("the machine can compile") {
        CompileOutcome::Compiled(compiled) => std::fs::write(&artifact, &compiled.bytes).expect("written"),
        CompileOutcome::Failed(failure) => {
            return Err(Box::new(Outcome::CompileFailed(format!("{:?}", failure.reason))));
        }
    }
    let always = Eligibility::default;
    let (eligibility, prefer) = (always(), always());
    Ok(Candidate { artifact, contract, eligibility, prefer, tiles: Vec::new(), shared_memory: None })
}
