//! Records and locks that an author changed and sealed again, digests and all: what no lock pins would be linked. Each
//! package is locked by the program itself; a build is asked as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_build::cargo::Build;
use cutegen_build::event::Silent;
use cutegen_build::pipeline;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::{Kind, Record};
use cutegen_spec::settings::Mode;
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace, write};

use crate::migrate::{entry_of, exits, forge, lock_text, on, unpacked};

/// Naive kernels alone. `axpy` has three tensors to swap, `soft` has workspace; each for the host and for a device.
const MANIFEST: &str = r#"[package]
name = "resealed"
version = "0.1.0"
edition = "2024"

[package.metadata.cutegen]
targets = ["host", "sm_90a"]

[package.metadata.kernels.axpy]
axes = { n = "1..=64" }
inputs = { x = "f32[n]", z = "f32[n]" }
outputs = { y = "f32[n]" }
math = "y[n] = 2 * x[n] + z[n]"

[package.metadata.kernels.soft]
axes = { m = "1..=8", n = "1..=64" }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = softmax(n, x[m, n])"
"#;

/// A package whose kernels are locked by the program.
struct Package(PathBuf);

impl Package {
    fn new(name: &str) -> Self {
        static LOCKED: OnceLock<PathBuf> = OnceLock::new();
        let locked = LOCKED.get_or_init(|| {
            install_toolchain();
            let folder = scratch("resealed");
            write(&folder.join("Cargo.toml"), MANIFEST);
            let package = Self(folder);
            exits(&package.run(&["lock", "--naive-only"]), 0);
            package.0
        });
        let package = Self(scratch(&format!("resealed-{name}")));
        must(Command::new("cp").arg("-rT").arg(locked).arg(&package.0));
        package
    }

    fn run(&self, args: &[&str]) -> Ran {
        let home = workspace().join("target/suite/resealed-home");
        run(cutegen(&home).args(args).arg("--manifest-path").arg(self.0.join("Cargo.toml")))
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.0.join("cutegen.lock")).expect("a lock")
    }

    /// The entry of a kernel for a target whose name starts so.
    fn entry(&self, kernel: &str, target: &str) -> PathBuf {
        let key = key_of(&self.lock(), kernel, target);
        self.0.join("cutegen-store/v1").join(&key[..2]).join(key)
    }

    /// Edits the lock.
    fn pin(&self, edit: impl Fn(&str) -> String) {
        let lock = self.lock();
        let edited = edit(&lock);
        assert_ne!(edited, lock, "nothing was edited");
        write(&self.0.join("cutegen.lock"), &edited);
    }

    /// Puts other bytes in the place of a stored artifact, under digests of the file that all agree.
    fn store_instead(&self, entry: &Path, file: &str, bytes: &[u8]) {
        let honest = fs::read(entry.join(file)).expect("an artifact");
        fs::write(entry.join(file), bytes).expect("written");
        let [was, is] = [&honest, bytes].map(|bytes| ArtifactDigest::of(bytes).to_string());
        let stored =
            |text: &str| text.replacen(&format!("stored = \"{was}\""), &format!("stored = \"{is}\""), 1);
        forge(entry, stored);
        self.pin(stored);
    }

    /// Nothing takes it: not `check`, not `verify --rebuild`, not a build.
    fn refused(&self, kernel: &str, why: &str) {
        let checked = self.run(&["check", kernel]);
        exits(&checked, 1);
        assert!(checked.stderr.contains(why), "{why}: {}", checked.stderr);
        let rebuilt = self.run(&["verify", "--rebuild", kernel]);
        exits(&rebuilt, 1);
        assert!(rebuilt.stderr.contains(why), "{why}: {}", rebuilt.stderr);
        let errors = self.build().expect_err("a build that fails");
        assert!(errors.contains(why), "{why}: {errors}");
    }

    /// A replaying build, without cargo around it.
    fn build(&self) -> Result<(), String> {
        let triple = "x86_64-unknown-linux-gnu".to_owned();
        let build = Build {
            manifest_dir: self.0.clone(),
            out_dir: scratch(&format!("{}-out", self.0.file_name().expect("a name").display())),
            package: "resealed".to_owned(),
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
        pipeline::run(&build, &mut Silent).map(drop).map_err(told)
    }
}

/// The key of a kernel on a target whose name starts so, in a lock of any version.
pub(super) fn key_of(lock: &str, kernel: &str, target: &str) -> String {
    let table = format!("name = \"{kernel}\"\ntarget = \"{target}");
    let key = lock.split_once(&table).and_then(|(_, rest)| rest.split_once("key = \""));
    key.expect("locked").1[..64].to_owned()
}

const NOT_PINNED: &str = "its entry is whole, but not the one that";

#[test]
fn what_is_not_forged_is_taken() {
    let package = Package::new("honest");
    exits(&package.run(&["check"]), 0);
    exits(&package.run(&["verify", "--rebuild"]), 0);
    package.build().expect("linked");
}

/// A29: outputs go where inputs are.
#[test]
fn arguments_in_another_order() {
    for target in ["host", "sm_90a"] {
        let package = Package::new("arguments");
        forge(&package.entry("axpy", target), |record| {
            record.replace("ptr(t0)", "ptr(t9)").replace("ptr(t2)", "ptr(t0)").replace("ptr(t9)", "ptr(t2)")
        });
        package.refused("axpy", NOT_PINNED);
    }
}

/// A30: a kernel writes behind the end of what it is given.
#[test]
fn less_workspace() {
    for target in ["host", "sm_90a"] {
        let package = Package::new("workspace");
        forge(&package.entry("soft", target), |record| {
            record.replacen("bytes = \"(4 * a0)\"", "bytes = \"0\"", 1)
        });
        package.refused("soft", NOT_PINNED);
    }
}

/// A31: a kernel is launched at addresses and extents that it is not right for; and what else of it is pinned.
#[test]
fn a_wider_eligibility() {
    install_toolchain();
    let store = unpacked("resealed-eligibility").join("example");
    exits(&on(&store, &["lock"]), 0); // an older program has nothing to do
    let entry = entry_of(&store, &key_of(&lock_text(&store), "silu_mul", "sm_90a"));
    let honest = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let line = |start: &str| honest.lines().find(|line| line.starts_with(start)).expect("a line").to_owned();
    for (from, to) in [
        (line("eligibility = "), "eligibility = \"true\"".to_owned()),
        (line("prefer = \"a"), "prefer = \"true\"".to_owned()),
        (line("origin = "), format!("{}\ntiles = [\"a0 by 8\"]", line("origin = "))),
    ] {
        forge(&entry, |record| record.replacen(&from, &to, 1));
        for verb in [&["check", "silu_mul"][..], &["verify", "--rebuild", "silu_mul", "--target", "sm_90a"]] {
            let ran = on(&store, verb);
            exits(&ran, 1);
            assert!(
                ran.stderr.contains("silu_mul") && !ran.stdout.contains("rebuilt to"),
                "{to}: {}",
                ran.stderr
            );
        }
        write(&entry.join("record.toml"), &honest);
    }
    exits(&on(&store, &["check", "silu_mul"]), 0);
}

/// A32: what is linked is not what was judged.
#[test]
fn a_host_object_called_compressed() {
    let package = Package::new("compressed");
    let entry = package.entry("axpy", "host");
    let source = fs::read_to_string(entry.join("naive.cpp")).expect("a source");
    let [cpp, object] = ["other.cpp", "other.o"].map(|name| package.0.join(name));
    write(&cpp, &source.replacen(" * ", " - ", 1));
    let flags = ["-std=c++17", "-O1", "-fPIC", "-fno-exceptions", "-fno-rtti", "-c", "-o"];
    must(Command::new("c++").args(flags).arg(&object).arg(&cpp));
    package.store_instead(&entry, "naive.o", &fs::read(&object).expect("an object"));
    fs::rename(entry.join("naive.o"), entry.join("naive.o.zst")).expect("renamed");
    forge(&entry, |record| record.replacen("\"naive.o\"", "\"naive.o.zst\"", 1));
    package.refused("axpy", "`naive` is for the host, whose objects are not compressed");
    fs::rename(entry.join("naive.o.zst"), entry.join("naive.o")).expect("renamed");
    forge(&entry, |record| record.replacen("\"naive.o.zst\"", "\"naive.o\"", 1));
    package.refused("axpy", "`naive` is not compressed, yet its two digests differ");
}

/// A33: a file that no driver gets to see, or another cubin than the judged one.
#[test]
fn a_cubin_of_other_bytes() {
    let package = Package::new("cubin");
    let [axpy, soft] = ["axpy", "soft"].map(|kernel| package.entry(kernel, "sm_90a"));
    let other = fs::read(soft.join("naive.cubin.zst")).expect("a cubin");
    package.store_instead(&axpy, "naive.cubin.zst", b"not even zstd");
    package.refused("axpy", "does not inflate to");
    let package = Package::new("other-cubin");
    package.store_instead(&axpy_of(&package), "naive.cubin.zst", &other);
    package.refused("axpy", "inflate");
}

fn axpy_of(package: &Package) -> PathBuf {
    package.entry("axpy", "sm_90a")
}

/// A34: room for as many bytes would be made in the user's program.
#[test]
fn more_bytes_than_there_is_memory() {
    for target in ["sm_90a", "host"] {
        let package = Package::new("bytes");
        let length = |line: &&str| line.starts_with("bytes = ") && !line.contains('"');
        forge(&package.entry("axpy", target), |record| {
            let honest = record.lines().find(length).expect("a length").to_owned();
            record.replacen(&honest, "bytes = 9000000000000000000", 1)
        });
        package.refused("axpy", "has 9000000000000000000 bytes, more than the 67108864 allowed");
    }
}

/// A35: the naive kernel twice, the first of them called tuned.
#[test]
fn a_naive_kernel_called_tuned() {
    let package = Package::new("twice");
    let entry = package.entry("axpy", "host");
    for end in ["o", "cpp"] {
        fs::copy(entry.join(format!("naive.{end}")), entry.join(format!("fast.{end}"))).expect("copied");
    }
    let is_old = package.lock().contains("version = 1\n");
    let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let mut record = Record::parse_old(&text).expect("parses");
    let mut fast = record.variants[0].clone();
    fast.kind = Kind::Tuned;
    (fast.name, fast.artifact.file, fast.source.file) = ("fast".into(), "fast.o".into(), "fast.cpp".into());
    record.variants.insert(0, fast.clone());
    record.version = if is_old { 1 } else { record.version };
    forge(&entry, |_| record.to_toml().expect("prints"));
    let table = format!(
        "name = \"fast\"\nartifact = \"{0}\"\nstored = \"{0}\"\n{1}",
        fast.artifact.stored,
        if is_old { String::new() } else { format!("variant = \"{}\"\n", fast.digest()) }
    );
    package.pin(|lock| {
        let untuned = "state = \"untuned\"\n\n[[kernel.variants]]\n";
        lock.replacen(
            untuned,
            &format!("state = \"tuned\"\n\n[[kernel.variants]]\n{table}\n[[kernel.variants]]\n"),
            1,
        )
    });
    exits(&package.run(&["check", "--tuned", "axpy", "--target", "host"]), 1);
    package.refused("axpy", "variants `fast` and `naive` are one kernel, called naive and not");
}

/// A36: what is locked as tuned is not.
#[test]
fn another_state() {
    let package = Package::new("state");
    package.pin(|lock| lock.replacen("state = \"untuned\"", "state = \"tuned\"", 1));
    package.refused("axpy", "differs in: state");
}
