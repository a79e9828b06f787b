//! A judging session over hand-written references and candidates, compiled with the system's C++ compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cutegen_build::evaluate::wire::protocol::{Backend, Limits};
use cutegen_build::evaluate::{
    Baseline, Candidate, Check, Checks, Judge, Outcome, Question, Settings, Workers,
};
use cutegen_build::inspect::object;
use cutegen_spec::contract::{Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;

use crate::kernels::{Kernel, PRELUDE};

/// A folder with compiled things, for one kernel.
pub(crate) struct Bench {
    kernel: &'static Kernel,
    folder: tempfile::TempDir,
    baseline: Option<Baseline>,
    /// Whether sessions look into artifacts. What other checks hold goes round this one, as it goes round the guard.
    inspects: bool,
}

impl Bench {
    pub(crate) fn new(kernel: &'static Kernel) -> Self {
        let bench =
            Self { kernel, folder: tempfile::tempdir().expect("a folder"), baseline: None, inspects: false };
        bench.compile(kernel.reference, "reference.so", &["-shared"]);
        bench
    }

    /// A bench whose sessions look into artifacts.
    pub(crate) fn inspecting(kernel: &'static Kernel) -> Self {
        Self { inspects: true, ..Self::new(kernel) }
    }

    /// A bench whose sessions trust the kernel of this body.
    pub(crate) fn trusting(kernel: &'static Kernel, body: &str, only_sums: bool) -> Self {
        let bench = Self::new(kernel);
        let baseline = Some(Baseline { candidate: bench.candidate(body), only_sums });
        Self { baseline, ..bench }
    }

    pub(crate) fn judge(&self, checks: Checks) -> Judge {
        self.judge_with(|settings| settings.checks = checks)
    }

    /// The same, with other settings.
    pub(crate) fn judge_with(&self, adjust: impl FnOnce(&mut Settings)) -> Judge {
        let question = Question {
            spec: self.spec(),
            reference: self.reference(),
            exact_integers: self.kernel.exact_integers,
            cost: Box::new(|axes| axes.iter().product::<i64>().unsigned_abs()),
            tiles: vec![16],
            scalar: None,
        };
        let mut settings = Settings::new(workers(), 0x5eed);
        // what is slow in tests is not worth judging at what it is timed at
        (settings.cost_cap, settings.large_cap) = (self.kernel.cost_cap, 0);
        settings.shapes_most = 6;
        settings.repeats = (20, 20);
        settings.deadline = Duration::from_secs(2);
        settings.baseline = self.baseline.clone();
        adjust(&mut settings);
        if !self.inspects {
            settings.checks = settings.checks.clone().without(Check::Content);
        }
        Judge::new(question, settings).expect("a session")
    }

    /// A candidate from the body of `void candidate(void** p)`, with the kernel's usual contract.
    pub(crate) fn candidate(&self, body: &str) -> Candidate {
        self.with_args(body, self.kernel.args)
    }

    pub(crate) fn with_args(&self, body: &str, args: &str) -> Candidate {
        let source =
            format!("{}\nextern \"C\" void candidate(void** p) {{\n{body}\n}}\n", self.kernel.arguments);
        self.whole(&source, args)
    }

    /// A candidate from a whole source.
    pub(crate) fn whole(&self, source: &str, args: &str) -> Candidate {
        let name = format!("{:016x}.o", fnv(&format!("{source}{args}")));
        let artifact = self.compile(source, &name, &["-c"]);
        let bytes = std::fs::read(&artifact).expect("an object");
        if let Ok(canonical) = object::canonical(&bytes, &["candidate".to_owned()]) {
            std::fs::write(&artifact, canonical).expect("written");
        }
        Candidate {
            artifact,
            contract: contract(args),
            eligibility: always(),
            prefer: always(),
            tiles: Vec::new(),
            shared_memory: None,
        }
    }

    /// The verdict of a full pass.
    pub(crate) fn full(&self, candidate: &Candidate, checks: Checks) -> Outcome {
        self.judge(checks).full(std::slice::from_ref(candidate)).expect("the machine works")
    }

    pub(crate) fn passes(&self, candidate: &Candidate, checks: Checks) {
        let outcome = self.full(candidate, checks.clone());
        assert!(matches!(outcome, Outcome::Passed { .. }), "{checks:?}: {outcome:?}");
    }

    /// The compiled reference.
    pub(crate) fn reference(&self) -> PathBuf {
        self.folder.path().join("reference.so")
    }

    pub(crate) fn spec(&self) -> KernelSpec {
        let text = format!("edition = 1\n[kernels.k]\n{}", self.kernel.spec);
        let mut kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        let mut spec = kernels.remove(0);
        (self.kernel.adjust)(&mut spec);
        spec
    }

    fn compile(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let output = self.folder.path().join(name);
        let text = output.with_extension("cpp");
        std::fs::write(&text, format!("{PRELUDE}{source}")).expect("written");
        run_compiler(&text, &output, flags);
        output
    }
}

fn run_compiler(source: &Path, output: &Path, flags: &[&str]) {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O2", "-fPIC", "-fno-jump-tables", "-ffp-contract=off"]).args(flags);
    let run = command.arg("-o").arg(output).arg(source).output().expect("c++ runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

pub(crate) fn workers() -> Workers {
    Workers {
        exe: std::env::current_exe().expect("this binary"),
        args: Vec::new(),
        env: Vec::new(),
        backend: Backend::Host,
        limits: Limits { address_space: 2 << 30, cpu_seconds: 120, files: 64, sandboxed: true },
    }
}

/// One step with these arguments; `wN:zeroed`, `wN:undefined` or `wN:kept-zero` also declares a workspace part of 1 KiB.
fn contract(args: &str) -> Contract {
    let mut contract = Contract::default();
    let mut parsed = Vec::new();
    for arg in args.split_whitespace() {
        let (arg, initial) = arg.split_once(':').unwrap_or((arg, ""));
        parsed.push(format!("\"{arg}\""));
        let initial = match initial {
            "zeroed" => Initial::Zeroed,
            "undefined" => Initial::Undefined,
            "kept-zero" => Initial::KeptZero,
            _ => continue,
        };
        contract.workspace.push(WorkspacePart { bytes: IntExpr::Const(1000), initial });
    }
    let step = format!(
        "entry = \"candidate\"\ngrid = [\"1\", \"1\", \"1\"]\nblock = [\"1\", \"1\", \"1\"]\nargs = [{}]",
        parsed.join(",")
    );
    let step: Step = toml::from_str(&step).expect("a step");
    assert_eq!(step.cluster, ones());
    contract.steps.push(step);
    contract
}

fn always() -> Eligibility {
    Eligibility::default()
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
