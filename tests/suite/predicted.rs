//! Predictions: what `lock` writes for GPUs that are not here, what a build makes of it before and after a gate run has passed it,
//! and what it refuses. Needs the toolchain, and no GPU: evidence is put into records by hand, as `verify --record` writes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_build::cargo::Build;
use cutegen_build::event::Silent;
use cutegen_build::pipeline;
use cutegen_spec::lock::{Lock, State};
use cutegen_spec::record::{GATE, Kind, Record};
use cutegen_spec::settings::Mode;
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace, write};

use crate::migrate::{exits, forge};
use crate::resealed::key_of;

/// `scale` is filled by a template at two workloads; `odd` by none.
const MANIFEST: &str = r#"[package]
name = "predicted"
version = "0.1.0"
edition = "2024"

[package.metadata.cutegen]
targets = ["host", "sm_86", "sm_90"]

[package.metadata.kernels.scale]
axes = { m = "1..=4096", n = 64 }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = 2 * x[m, n]"
workloads = [{ m = 16 }, { m = 4096 }]

[package.metadata.kernels.odd]
axes = { n = "1..=64" }
inputs = { x = "f64[n]" }
outputs = { y = "f64[n]" }
math = "y[n] = x[n] + 1"
targets = ["sm_86"]
workloads = [{ n = 64 }]
"#;

const A10: &str = "NVIDIA A10, sm_86, driver 580 (CUDA 13.0)";

/// A package that the program has locked, without a GPU.
struct Package(PathBuf);

impl Package {
    /// Nothing is locked.
    fn empty(name: &str) -> Self {
        install_toolchain();
        let package = Self(scratch(name));
        write(&package.0.join("Cargo.toml"), MANIFEST);
        package
    }

    /// A copy of one that was locked, with what `lock` said.
    fn locked(name: &str) -> (Self, &'static str) {
        static LOCKED: OnceLock<(PathBuf, String)> = OnceLock::new();
        let (folder, said) = LOCKED.get_or_init(|| {
            let package = Self::empty("predicted");
            let ran = package.run(&["lock"]);
            exits(&ran, 0);
            (package.0, ran.stdout)
        });
        let package = Self(scratch(&format!("predicted-{name}")));
        must(Command::new("cp").arg("-rT").arg(folder).arg(&package.0));
        (package, said)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let home = workspace().join("target/suite/predicted-home");
        // as on a machine without a GPU
        let mut command = cutegen(&home);
        command.env("CUDA_VISIBLE_DEVICES", "");
        run(command.args(args).arg("--manifest-path").arg(self.0.join("Cargo.toml")))
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.0.join("cutegen.lock")).expect("a lock")
    }

    fn state(&self, kernel: &str, target: &str) -> State {
        Lock::parse(&self.lock()).expect("a lock").get(kernel, target).expect("locked").state
    }

    fn entry(&self, kernel: &str, target: &str) -> PathBuf {
        let key = key_of(&self.lock(), kernel, target);
        self.0.join("cutegen-store/v1").join(&key[..2]).join(key)
    }

    fn record(&self, kernel: &str, target: &str) -> Record {
        let text = fs::read_to_string(self.entry(kernel, target).join("record.toml")).expect("a record");
        Record::parse(&text).expect("parses")
    }

    /// Gives every variant of an entry evidence, as a gate run on this device leaves it.
    fn judged(&self, kernel: &str, target: &str, device: &str, gate: u32) {
        let evidence = format!(
            "[variants.evidence]\ngate = {gate}\ndevice = \"{device}\"\nseed = 7\nshapes = [\"m = 16, n = 64\", \"m = 4096, \
             n = 64\"]\ndistributions = [\"normal\"]\nelements = 64\nworst-share = 0.5\nrepeats = 1000\nsanitizer = \"clean\"\n\n"
        );
        forge(&self.entry(kernel, target), |text| {
            let mut parts = text.split("[[variants]]\n");
            let head = parts.next().expect("a head").to_owned();
            parts.fold(head, |text, part| format!("{text}[[variants]]\n{}\n\n{evidence}", part.trim_end()))
        });
    }

    /// The manifest of a replaying build, without cargo around it: what it links, in dispatch order.
    fn linked(&self) -> Result<String, String> {
        let triple = "x86_64-unknown-linux-gnu".to_owned();
        let out_dir = scratch(&format!("{}-out", self.0.file_name().expect("a name").display()));
        let build = Build {
            manifest_dir: self.0.clone(),
            out_dir,
            package: "predicted".to_owned(),
            version: "0.1.0".to_owned(),
            triple: triple.clone(),
            host: triple,
            mode: Some(Mode::Locked),
            docs_rs: false,
            release: false,
        };
        let told = |errors: Vec<cutegen_build::error::Error>| {
            errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let built = pipeline::run(&build, &mut Silent).map_err(told)?;
        let wrappers = fs::read_to_string(&built.emitted.rust_file).expect("wrappers");
        assert_eq!(wrappers.contains("Origin::Predicted"), self.is_dispatched(), "wrappers say what runs");
        Ok(fs::read_to_string(&built.emitted.manifest).expect("a manifest"))
    }

    fn is_dispatched(&self) -> bool {
        ["sm_86", "sm_90"].iter().any(|target| self.record("scale", target).dispatched().is_predicted())
    }

    /// Kinds of what a build links for a kernel on a target, in dispatch order.
    fn kinds(&self, kernel: &str, target: &str) -> Vec<String> {
        let manifest = self.linked().expect("builds");
        let head = format!("name = \"{kernel}\"\ntarget = \"{target}\"\n");
        let of = manifest.split("[[kernel]]\n").find(|table| table.starts_with(&head)).expect("emitted");
        of.lines()
            .filter_map(|line| Some(line.strip_prefix("kind = \"")?.trim_end_matches('"').to_owned()))
            .collect()
    }
}

#[test]
fn lock_predicts_for_gpus_that_are_not_here() {
    let (package, said) = Package::locked("lock");
    for target in ["sm_86", "sm_90"] {
        let record = package.record("scale", target);
        let (naive, picks) = record.variants.split_last().expect("variants");
        assert_eq!((package.state("scale", target), naive.kind), (State::Predicted, Kind::Naive));
        assert!(!picks.is_empty() && picks.iter().all(|pick| pick.kind == Kind::Predicted));
        assert!(
            record.variants.iter().all(|variant| variant.evidence.is_none()),
            "nothing was judged or timed"
        );
        let names: Vec<&str> = picks.iter().map(|pick| pick.name.as_str()).collect();
        let told = format!("scale on {target}: locked, predicted {}; ", names.join(", "));
        let next = format!("cargo cutegen verify --record scale --target {target}");
        assert!(said.contains(&told) && said.contains(&next), "{told}{said}");
    }
    for (kernel, target) in [("odd", "sm_86"), ("scale", "host:x86_64-unknown-linux-gnu:x86-64-v3")] {
        assert_eq!(package.state(kernel, target), State::Untuned, "{said}");
    }
}

#[test]
fn locking_again_changes_nothing_and_locking_elsewhere_gives_the_same_bytes() {
    let (package, _) = Package::locked("again");
    let (lock, record) = (package.lock(), package.record("scale", "sm_86"));
    let again = package.run(&["lock"]);
    exits(&again, 0);
    assert_eq!((again.stdout.as_str(), package.lock()), ("", lock.clone()));
    let other = Package::empty("predicted-second-machine");
    exits(&other.run(&["lock"]), 0);
    assert_eq!(other.lock(), lock);
    assert_eq!(other.record("scale", "sm_86"), record);
    exits(&other.run(&["verify", "--rebuild"]), 0);
    exits(&other.run(&["lock", "--renew"]), 0);
    assert_eq!(other.lock(), lock, "what is as it is made today stays");
}

#[test]
fn naive_kernels_alone_are_locked_where_that_is_asked_for() {
    let package = Package::empty("predicted-naive-only");
    exits(&package.run(&["lock", "--naive-only"]), 0);
    for target in ["sm_86", "sm_90"] {
        assert_eq!(package.state("scale", target), State::Untuned);
        assert_eq!(package.record("scale", target).variants.len(), 1);
    }
}

#[test]
fn the_naive_kernel_runs_until_a_gate_run_has_passed_the_prediction() {
    let (package, _) = Package::locked("judged");
    let pick = package.record("scale", "sm_86").variants[0].name.clone();
    let check = |args: &[&str]| package.run(&[&["check", "scale", "--target", "sm_86"], args].concat());
    let doubt =
        format!("warning: predicted and never judged, so the naive kernel runs: scale/{pick} on sm_86");
    let checked = check(&[]);
    exits(&checked, 0);
    assert!(checked.stdout.contains(&doubt), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("where the device is: cargo cutegen verify --record"),
        "{}",
        checked.stdout
    );
    let untuned = check(&["--tuned"]);
    exits(&untuned, 1);
    assert!(untuned.stderr.contains("is predicted\nrun: cargo cutegen tune scale"), "{}", untuned.stderr);
    assert_eq!(package.kinds("scale", "sm_86"), ["naive"]);

    let lock = package.lock();
    package.judged("scale", "sm_86", A10, GATE);
    assert_eq!(package.lock(), lock, "evidence moves no lock");
    let checked = check(&["--min-gate", &GATE.to_string()]);
    exits(&checked, 0);
    assert!(!checked.stdout.contains("warning: "), "{}", checked.stdout);
    let kinds = package.kinds("scale", "sm_86");
    assert_eq!(
        (kinds.first().map(String::as_str), kinds.len()),
        (Some("predicted"), package.record("scale", "sm_86").variants.len())
    );
    assert_eq!(package.kinds("scale", "sm_90"), ["naive"], "each target has its own evidence");
    let explained = package.run(&["explain", "scale", "--target", "sm_86"]);
    exits(&explained, 0);
    assert!(explained.stdout.starts_with("scale on sm_86: predicted, key "), "{}", explained.stdout);
}

/// Evidence that is none: of a device that does not run the target, or of a gate that is not known here.
#[test]
fn what_is_no_evidence_dispatches_nothing() {
    let (package, _) = Package::locked("elsewhere");
    package.judged("scale", "sm_86", A10, GATE + 1);
    assert_eq!(package.kinds("scale", "sm_86"), ["naive"]);
    let (package, _) = Package::locked("other-card");
    package.judged("scale", "sm_86", "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)", GATE);
    let told = package.linked().expect_err("no build");
    assert!(told.contains("is for sm_86, and was judged on NVIDIA H200"), "{told}");
    // the same kernel as sm_90 is judged there
    let (package, _) = Package::locked("hopper");
    package.judged("scale", "sm_90", "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)", GATE);
    assert_eq!(package.kinds("scale", "sm_90")[0], "predicted");
}

#[test]
fn a_prediction_that_calls_itself_tuned_is_refused() {
    let (package, _) = Package::locked("forged");
    forge(&package.entry("scale", "sm_86"), |text| text.replace("kind = \"predicted\"", "kind = \"tuned\""));
    let why = "its entry is whole, but not the one that";
    let told = package.linked().expect_err("no build");
    assert!(told.contains(why), "{told}");
    let checked = package.run(&["check", "scale"]);
    exits(&checked, 1);
    assert!(checked.stderr.contains(why), "{}", checked.stderr);
    // nor does a lock that says so take it
    let (package, _) = Package::locked("forged-lock");
    let path = Path::new(&package.0).join("cutegen.lock");
    write(&path, &package.lock().replace("state = \"predicted\"", "state = \"tuned\""));
    assert!(package.linked().expect_err("no build").contains(why));
}
