//! `verify` and `check` on the committed kernels, without a GPU: stored sources compile to the locked bytes, and what
//! was tampered with is found, also when every digest beside it was made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::inspect;
use cutegen_build::store::Store;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use cutegen_tests::{Ran, cutegen, install_toolchain, run, scratch, workspace, write};

const GPU: &str = "sm_90a";
/// A committed kernel for a GPU, and the file of its naive variant.
const KERNEL: &str = "silu_mul";
const SOURCE: &str = "naive.cu";
const SEAL: &str = "# sha256 of the lines below: ";

fn lock_of(folder: &Path) -> Lock {
    Lock::parse(&fs::read_to_string(folder.join("cutegen.lock")).expect("a lock")).expect("parses")
}

/// Kernels of the example that are locked for a GPU.
fn gpu_kernels() -> usize {
    lock_of(&workspace().join("example-app")).kernels.iter().filter(|k| k.target == GPU).count()
}

/// Variants of the example that are locked for a GPU, of the kernels that `which` picks.
fn gpu_variants(which: impl Fn(&Locked) -> bool) -> usize {
    let lock = lock_of(&workspace().join("example-app"));
    let count = lock.kernels.iter().filter(|k| k.target == GPU && which(k)).map(|k| k.variants.len()).sum();
    assert!(count > 1, "tuned and naive ones are locked");
    count
}

/// A copy of the example's kernels that a test may damage.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    fn of_example(name: &str) -> Copy {
        let folder = scratch(name);
        let example = workspace().join("example-app");
        for file in ["Cargo.toml", "cutegen.lock"] {
            fs::copy(example.join(file), folder.join(file)).expect("copied");
        }
        copy_folder(&example.join("cutegen-store"), &folder.join("cutegen-store"));
        Copy { folder }
    }

    fn run(&self, args: &[&str]) -> Ran {
        on(&self.folder, args)
    }

    /// The stored entry of [`KERNEL`] on the target whose name starts so.
    fn entry(&self, target: &str) -> PathBuf {
        let lock = lock_of(&self.folder);
        let is_it = |k: &&Locked| k.name == KERNEL && k.target.starts_with(target);
        let key = lock.kernels.iter().find(is_it).expect("locked").key.to_string();
        self.folder.join("cutegen-store/v1").join(&key[..2]).join(key)
    }

    /// Edits the record of an entry and seals it again, as an author could.
    fn forge(&self, target: &str, edit: impl Fn(&str) -> String) {
        let path = self.entry(target).join("record.toml");
        let text = fs::read_to_string(&path).expect("a record");
        let (seal, body) = text.split_once('\n').expect("a seal");
        assert!(seal.starts_with(SEAL), "{seal}");
        let edited = edit(body);
        assert_ne!(edited, body, "nothing was edited");
        write(&path, &format!("{SEAL}{}\n{edited}", ArtifactDigest::of(edited.as_bytes())));
    }

    /// Has the lock pin the record that lies there, as an author could.
    fn pin(&self, target: &str) {
        let text = fs::read_to_string(self.entry(target).join("record.toml")).expect("a record");
        let record = Record::parse(&text).expect("parses");
        let mut lock = lock_of(&self.folder);
        let target = lock.kernels.iter().find(|k| k.key == record.key).expect("locked").target.clone();
        lock.set(Locked::pin(KERNEL, &target, &record));
        write(&self.folder.join("cutegen.lock"), &lock.to_toml().expect("prints"));
    }

    /// Puts an object of other text in the place of the host's naive one, and makes every digest again.
    fn forge_object(&self, change: impl Fn(&str) -> String) {
        let host = self.entry("host");
        let honest = fs::read(host.join("naive.o")).expect("an object");
        let text = fs::read_to_string(host.join("naive.cpp")).expect("a source");
        let changed = change(&text);
        assert_ne!(changed, text, "nothing was edited");
        let [source, object] = ["forged.cpp", "forged.o"].map(|name| self.folder.join(name));
        write(&source, &changed);
        let flags = ["-std=c++17", "-O1", "-fPIC", "-fno-exceptions", "-fno-rtti", "-c", "-o"];
        let built = Command::new("c++").args(flags).arg(&object).arg(&source).status();
        assert!(built.expect("c++ runs").success());
        let forged = fs::read(&object).expect("an object");
        let record = Record::parse(&fs::read_to_string(host.join("record.toml")).expect("a record"));
        let naive = record.expect("parses").variants.pop().expect("the naive kernel, last");
        let entries: Vec<String> = naive.contract.steps.into_iter().map(|step| step.entry).collect();
        let forged = inspect::object::canonical(&forged, &entries).unwrap_or(forged);
        fs::write(host.join("naive.o"), &forged).expect("written");
        let [was, is] = [&honest, &forged].map(|bytes| ArtifactDigest::of(bytes).to_string());
        let sizes = [&honest, &forged].map(|bytes| format!("bytes = {}\n", bytes.len()));
        self.forge("host", |record| record.replace(&was, &is).replace(&sizes[0], &sizes[1]));
        self.pin("host");
    }

    /// Changes one token of the stored naive source; gives back the digests before and after.
    fn change_a_token(&self) -> [String; 2] {
        let path = self.entry(GPU).join(SOURCE);
        let text = fs::read_to_string(&path).expect("a source");
        let edited = text.replace(")) * cg_load(", ")) + cg_load(");
        assert_eq!(differing(&text, &edited), 1, "one token, one place");
        write(&path, &edited);
        [text, edited].map(|text| ArtifactDigest::of(text.as_bytes()).to_string())
    }
}

fn differing(one: &str, other: &str) -> usize {
    assert_eq!(one.len(), other.len());
    one.bytes().zip(other.bytes()).filter(|(a, b)| a != b).count()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copied");
        }
    }
}

/// `cargo cutegen` on the package in a folder.
fn on(folder: &Path, args: &[&str]) -> Ran {
    let home = workspace().join("target/suite/verify-home");
    run(cutegen(&home).args(args).arg("--manifest-path").arg(folder.join("Cargo.toml")))
}

fn exits(ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
}

fn has_gpu() -> bool {
    Path::new("/dev/nvidiactl").exists()
}

#[test]
fn stored_gpu_sources_compile_to_the_locked_bytes() {
    install_toolchain();
    let ran = on(&workspace().join("example-app"), &["verify", "--rebuild", "--target", GPU]);
    exits(&ran, 0);
    let rebuilt = ran.stdout.lines().filter(|line| line.ends_with("rebuilt to the locked bytes"));
    assert_eq!(rebuilt.count(), gpu_variants(|_| true), "{}", ran.stdout);
    assert!(!ran.stdout.contains("host"), "--target leaves host entries out:\n{}", ran.stdout);
}

#[test]
fn what_a_list_has_is_not_rebuilt_and_all_else_is() {
    install_toolchain();
    let copy = Copy::of_example("verify-known");
    let list = copy.folder.join("known.txt");
    let [known, write] = ["--known", "--write-known"].map(|flag| [flag, list.to_str().expect("text")]);
    let verb = ["verify", "--rebuild", "--target", GPU, KERNEL];
    let all = gpu_variants(|k| k.name == KERNEL);
    let compiled = |ran: &Ran| ran.stdout.matches("rebuilt to the locked bytes").count();
    let ran = copy.run(&[&verb[..], &write].concat());
    exits(&ran, 0);
    assert_eq!(compiled(&ran), all, "{}", ran.stdout);
    let ran = copy.run(&[&verb[..], &known].concat());
    exits(&ran, 0);
    assert_eq!(compiled(&ran), 0, "{}", ran.stdout);
    assert!(
        ran.stderr.contains(&format!("{all} variants are listed as rebuilt, 0 are not")),
        "{}",
        ran.stderr
    );
    // another source with digests that agree is another line: only a compiler can tell, and it is asked
    let [was, is] = copy.change_a_token();
    copy.forge(GPU, |record| record.replace(&was, &is));
    copy.pin(GPU);
    let ran = copy.run(&[&verb[..], &known].concat());
    exits(&ran, 1);
    assert!(ran.stderr.contains("naive: differs: sha256 "), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("{} variants are listed as rebuilt, 1 are not", all - 1)));
    let missing = copy.run(&[&verb[..], &["--known", "no-such-list"]].concat());
    exits(&missing, 2);
    assert!(missing.stderr.ends_with("name a list: --known FILE\n"), "{}", missing.stderr);
}

#[test]
fn cubins_from_before_there_was_a_linker_are_rebuilt() {
    install_toolchain();
    let (specs, cache) = (workspace().join("tests/bars/specs"), workspace().join("tests/bars/cache"));
    let (lock, store) = (lock_of(&cache), Store::new(&cache));
    let variants = |locked: &Locked| store.get(&locked.key).hit().expect("an entry").record.variants;
    let is_older = |locked: &&Locked| variants(locked).iter().any(|v| !v.toolchain.contains("nvjitlink"));
    let older = lock.kernels.iter().find(is_older).expect("one that NVRTC alone made");
    let mut command = cutegen(&scratch("verify-unlinked"));
    command.args(["verify", "--rebuild", &older.name, "--specs"]).arg(specs).arg("--cache").arg(cache);
    let ran = run(&mut command);
    exits(&ran, 0);
    let rebuilt = ran.stdout.matches("rebuilt to the locked bytes").count();
    assert_eq!(rebuilt, variants(older).len(), "{}", ran.stdout);
}

#[test]
fn a_changed_source_alone_is_refused() {
    install_toolchain();
    let copy = Copy::of_example("verify-changed-alone");
    copy.change_a_token();
    let ran = copy.run(&["check"]);
    exits(&ran, 1);
    assert!(
        ran.stderr.contains("its sources cannot be trusted") && ran.stderr.contains(SOURCE),
        "{}",
        ran.stderr
    );
    let ran = copy.run(&["verify", "--rebuild", "--target", GPU, KERNEL]);
    exits(&ran, 1);
    assert!(ran.stderr.contains(SOURCE), "{}", ran.stderr);
    assert!(!ran.stdout.contains("rebuilt to the locked bytes"), "{}", ran.stdout);
}

#[test]
fn a_changed_source_with_every_digest_made_again_is_found() {
    install_toolchain();
    let copy = Copy::of_example("verify-forged-source");
    let [was, is] = copy.change_a_token();
    copy.forge(GPU, |record| record.replace(&was, &is));
    exits(&copy.run(&["check"]), 1); // the lock pins the source
    copy.pin(GPU);
    exits(&copy.run(&["check"]), 0); // nothing but a compiler can tell
    let ran = copy.run(&["verify", "--rebuild", "--target", GPU, KERNEL]);
    exits(&ran, 1);
    assert!(ran.stderr.contains("naive: differs: sha256 "), "{}", ran.stderr);
    let others = gpu_variants(|k| k.name == KERNEL) - 1;
    assert_eq!(ran.stdout.matches("rebuilt to the locked bytes").count(), others, "{}", ran.stdout);
}

#[test]
fn bytes_that_are_launched_otherwise_are_found_where_the_math_says_how() {
    install_toolchain();
    let copy = Copy::of_example("verify-forged-launch");
    copy.forge(GPU, |record| {
        let (before, after) = record.rsplit_once("\"ptr(t0)\"").expect("an argument");
        format!("{before}\"ptr(t1)\"{after}")
    });
    exits(&copy.run(&["check"]), 1); // the lock pins the launch
    copy.pin(GPU);
    exits(&copy.run(&["check"]), 0);
    let list = copy.folder.join("known.txt").display().to_string();
    for args in [&["--write-known", &list][..], &["--known", &list]] {
        let ran = copy.run(&[&["verify", "--rebuild", "--target", GPU, KERNEL], args].concat());
        exits(&ran, 1);
        let told = "`naive` is not launched as the naive kernel that is printed from the math";
        assert!(ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_changed_artifact_with_every_digest_made_again_is_found() {
    install_toolchain();
    let copy = Copy::of_example("verify-forged-artifact");
    // another sum, compiled: a file that may be linked, under digests that all agree
    copy.forge_object(|source| source.replacen(" * ", " + ", 1));
    exits(&copy.run(&["check"]), 0);
    let ran = copy.run(&["verify", "--rebuild", "--target", "host", KERNEL]);
    // who has another compiler than the record's learns nothing
    let is_here = !ran.stderr.contains("not rebuilt: it needs g++ ");
    exits(&ran, if is_here { 1 } else { 3 });
    assert_eq!(ran.stderr.contains("differs: sha256 "), is_here, "{}", ran.stderr);
}

#[test]
fn an_object_with_more_than_a_kernel_is_refused_whatever_its_digests_say() {
    install_toolchain();
    let copy = Copy::of_example("verify-forged-object");
    let constructor = "__attribute__((constructor)) static void before() { asm volatile(\"\"); }";
    copy.forge_object(|source| format!("{source}\n{constructor}\n"));
    let ran = copy.run(&["check", "--target", "host", KERNEL]);
    exits(&ran, 1);
    let said = "section `.init_array`: no constructors, destructors or thread-locals";
    assert!(ran.stderr.contains("may not be linked") && ran.stderr.contains(said), "{}", ran.stderr);
    for verb in [&["verify"][..], &["verify", "--record"]] {
        let ran = copy.run(&[verb, &["--target", "host", KERNEL]].concat());
        exits(&ran, 1);
        assert!(ran.stderr.contains("blocked: its artifact") && ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn a_compiler_that_is_not_here_is_reported() {
    install_toolchain();
    let copy = Copy::of_example("verify-no-compiler");
    copy.forge("host", |record| {
        let line = |line: &str| match line.strip_prefix("toolchain = \"g++ ") {
            Some(rest) => format!("toolchain = \"g++ 1.2.3-{rest}\n"),
            None => format!("{line}\n"),
        };
        record.lines().map(line).collect()
    });
    let ran = copy.run(&["verify", "--rebuild", KERNEL]);
    exits(&ran, 3);
    let reported = ran.stderr.lines().filter(|line| line.contains("not rebuilt: it needs g++ 1.2.3-"));
    assert_eq!(reported.count(), 2, "{}", ran.stderr);
    let all = gpu_variants(|k| k.name == KERNEL);
    assert_eq!(ran.stdout.matches("rebuilt to the locked bytes").count(), all, "{}", ran.stdout);
    exits(&copy.run(&["verify", "--rebuild", "--target", GPU]), 0);
}

#[test]
fn without_a_gpu_nothing_is_judged() {
    install_toolchain();
    if has_gpu() {
        println!("skipped: there is a GPU");
        return;
    }
    let ran = on(&workspace().join("example-app"), &["verify", "--target", GPU]);
    exits(&ran, 3);
    for told in [&ran.stdout, &ran.stderr] {
        let not_judged: Vec<&str> = told.lines().filter(|line| line.contains(": not judged: ")).collect();
        let many = format!("{} kernels (", gpu_kernels());
        assert!(not_judged.len() == 1 && not_judged[0].starts_with(&many), "{told}");
    }
}

#[test]
fn a_selection_of_nothing_is_wrong_usage() {
    let example = workspace().join("example-app");
    for verb in ["check", "lock", "tune", "accept", "verify", "bench", "report"] {
        let ran = on(&example, &[verb, "rms_norm", "--target", GPU]);
        exits(&ran, 2);
        let told = "kernel `rms_norm` is not declared for `sm_90a`; declared targets: host\nrun: cargo cutegen check";
        assert!(ran.stderr.starts_with(told) && ran.stdout.is_empty(), "{verb}: {}", ran.stderr);
    }
}

#[test]
fn committed_kernels_check() {
    let example = workspace().join("example-app");
    exits(&on(&example, &["check"]), 0);
    exits(&on(&example, &["check", "--tuned"]), 0);
    exits(&library(&workspace().join("kernel-specs"), &workspace().join("cache")), 0);
}

fn library(specs: &Path, cache: &Path) -> Ran {
    let mut command = cutegen(&workspace().join("target/suite/verify-home"));
    run(command.arg("check").arg("--specs").arg(specs).arg("--cache").arg(cache))
}

#[test]
fn check_names_the_field_that_moved() {
    let copy = Copy::of_example("check-moved");
    let manifest = copy.folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let edited = text.replace("y[n] = silu(g[n]) * u[n]", "y[n] = silu(g[n]) + u[n]");
    assert_eq!(differing(&text, &edited), 1);
    write(&manifest, &edited);
    let ran = copy.run(&["check"]);
    exits(&ran, 1);
    assert!(ran.stderr.contains("math"), "{}", ran.stderr);
    assert!(ran.stderr.contains("run: cargo cutegen "), "{}", ran.stderr);
    exits(&copy.run(&["check", "rms_norm"]), 0);

    let specs = scratch("check-moved-specs");
    copy_folder(&workspace().join("kernel-specs"), &specs);
    let spec = specs.join("norm/rms_norm.toml");
    let text = fs::read_to_string(&spec).expect("a spec");
    write(&spec, &text.replace(", eps) * w[d]", ", eps) + w[d]"));
    let ran = library(&specs, &workspace().join("cache"));
    exits(&ran, 1);
    assert!(ran.stderr.contains("rms_norm") && ran.stderr.contains("math"), "{}", ran.stderr);
}

#[test]
fn check_tuned_fails_on_what_no_search_has_tuned() {
    install_toolchain();
    let copy = Copy::of_example("check-untuned");
    let manifest = copy.folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let added = "\n[package.metadata.kernels.twice]\naxes = { n = \"1..=64\" }\ninputs = { x = \"f32[n]\" }\n\
                 outputs = { y = \"f32[n]\" }\nmath = \"y[n] = x[n] + x[n]\"\nworkloads = [{ n = 64 }]\n";
    // what is only locked has been judged by no gate
    let trusting: Vec<&str> = text.lines().filter(|line| !line.starts_with("min-gate")).collect();
    write(&manifest, &format!("{}\n{added}", trusting.join("\n")));
    let missing = copy.run(&["check"]);
    exits(&missing, 1);
    assert!(missing.stderr.contains("run: cargo cutegen lock twice"), "{}", missing.stderr);
    exits(&copy.run(&["lock", "twice"]), 0);
    exits(&copy.run(&["check"]), 0);
    let untuned = copy.run(&["check", "--tuned", "twice"]);
    exits(&untuned, 1);
    assert!(untuned.stderr.contains("run: cargo cutegen tune twice"), "{}", untuned.stderr);
}

#[test]
fn the_gate_passes_an_honest_sum_of_squares() {
    install_toolchain();
    let folder = scratch("verify-squares");
    let spec = "edition = 1\n[kernels.squares]\naxes = { m = '1..=64', k = '1..=512' }\ninputs = { x = 'f32[m, k]' }\n\
                outputs = { y = 'f32[m]' }\nmath = 'y[m] = sum(k, x[m, k] * x[m, k])'\ntargets = ['host']\n";
    write(&folder.join("specs/squares.toml"), spec);
    for verb in ["lock", "verify"] {
        let mut command = cutegen(&folder.join("home"));
        exits(&run(command.current_dir(&folder).args([verb, "--specs", "specs", "--cache", "cache"])), 0);
    }
}
