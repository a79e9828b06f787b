//! `accept`, on committed entries: all that was selected or nothing, and what a kill leaves is mended by accepting again.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::Record;
use cutegen_tests::{Ran, cutegen, must, run, scratch, workspace, write};

/// `twin` asks what `silu_mul` asks.
const SPECS: &str = "edition = 1
[kernels.silu_mul]
axes = { n = '1..=1073741824' }
inputs = { g = 'bf16[n]', u = 'bf16[n]' }
outputs = { y = 'bf16[n]' }
math = 'y[n] = silu(g[n]) * u[n]'
[kernels.twin]
axes = { n = '1..=1073741824' }
inputs = { g = 'bf16[n]', u = 'bf16[n]' }
outputs = { y = 'bf16[n]' }
math = 'y[n] = silu(g[n]) * u[n]'
[kernels.z_norm]
axes = { m = '1..=2048', d = 512 }
inputs = { x = 'bf16[m, d]', w = { type = 'bf16[d]', constant = true } }
outputs = { y = 'bf16[m, d]' }
scalars = { eps = 'f32' }
math = 'y[m, d] = rms_norm(d, x[m, d], eps) * w[d]'
";

/// A library that nothing is locked in, and a folder of results that the example's store gave.
struct Library {
    folder: PathBuf,
}

impl Library {
    fn new(name: &str, results: &[&str]) -> Self {
        let this = Self { folder: scratch(name) };
        write(&this.folder.join("specs/some.toml"), SPECS);
        for kernel in results {
            let (from, to) = (workspace().join("example-app/cutegen-store"), this.folder.join("results"));
            let entry = format!("v1/{}", entry_of(kernel));
            fs::create_dir_all(to.join(&entry)).expect("made");
            for file in fs::read_dir(from.join(&entry)).expect("an entry") {
                let file = file.expect("a file");
                fs::copy(file.path(), to.join(&entry).join(file.file_name())).expect("copied");
            }
        }
        this.pack();
        this
    }

    /// Makes the results file.
    fn pack(&self) {
        let results = self.folder.join("results");
        must(
            Command::new("tar").current_dir(&self.folder).args(["czf", "r.tgz", "-C"]).arg(results).arg("v1"),
        );
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = cutegen(&self.folder.join("home"));
        run(command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]))
    }

    fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert!(ran.ok, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    /// The message of an `accept` that must fail and change nothing.
    fn refused(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(1), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.is_empty(), "nothing was accepted: {}", ran.stdout);
        assert!(!self.folder.join("cache").exists(), "nothing was written");
        assert!(ran.stderr.starts_with("nothing is accepted:\n"), "{}", ran.stderr);
        ran.stderr.trim_end().to_owned()
    }

    fn lock(&self) -> PathBuf {
        self.folder.join("cache/cutegen.lock")
    }
}

/// The two folders of a kernel's entry for the host in the example's store.
fn entry_of(kernel: &str) -> String {
    let name = if kernel == "z_norm" { "rms_norm" } else { kernel };
    let lock = fs::read_to_string(workspace().join("example-app/cutegen.lock")).expect("a lock");
    let lock = Lock::parse(&lock).expect("parses");
    let is_it = |k: &&cutegen_spec::lock::Locked| k.name == name && k.target.starts_with("host");
    let key = lock.kernels.iter().find(is_it).expect("locked").key.to_string();
    format!("{}/{key}", &key[..2])
}

#[test]
fn all_that_was_selected_is_accepted_or_nothing() {
    let library = Library::new("accept-whole", &["silu_mul"]);
    let told = library.refused(&["accept", "silu_mul", "z_norm", "--results", "r.tgz"]);
    assert!(told.contains("there is no result for z_norm on host"), "{told}");
    assert!(
        told.ends_with(
            "in r.tgz\nrun: cargo cutegen tune z_norm --results r.tgz --specs specs --cache cache"
        ),
        "{told}"
    );

    let library = Library::new("accept-corrupt", &["silu_mul", "z_norm"]);
    let source = library.folder.join("results/v1").join(entry_of("z_norm")).join("naive.cpp");
    let whole = fs::read(&source).expect("a source");
    fs::write(&source, "x").expect("damaged");
    library.pack();
    let told = library.refused(&["accept", "--results", "r.tgz"]);
    assert!(told.contains("z_norm on host") && told.contains("its result cannot be used"), "{told}");
    assert!(told.ends_with("run: cargo cutegen tune z_norm --again --specs specs --cache cache"), "{told}");

    fs::write(&source, whole).expect("mended");
    library.pack();
    let ran = library.done(&["accept", "--results", "r.tgz"]);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
    library.done(&["check", "--tuned"]);
    let again = library.done(&["accept", "--results", "r.tgz"]);
    assert_eq!(again.stdout, "nothing new: 3 accepted already\n");
    let again = library.done(&["accept", "z_norm", "--results", "r.tgz", "--json"]);
    assert_eq!(again.stdout, "{\"already\":1}\n");
}

#[test]
fn what_a_kill_leaves_is_mended_by_accepting_again() {
    let library = Library::new("accept-killed", &["silu_mul", "z_norm"]);
    library.done(&["accept", "--results", "r.tgz"]);
    let lock = fs::read(library.lock()).expect("a lock");
    // killed before the lock was written
    fs::remove_file(library.lock()).expect("removed");
    for verb in [&["check", "z_norm"][..], &["run", "z_norm", "--random", "1", "--axes", "m=2", "--out", "y"]]
    {
        let ran = library.run(verb);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let next = "run: cargo cutegen accept z_norm --specs specs --cache cache";
        assert!(ran.stderr.trim_end().ends_with(next), "{}", ran.stderr);
        assert!(!ran.stderr.contains("cutegen lock"), "{}", ran.stderr);
    }
    // as the message says, without the file
    let none = library.run(&["accept"]);
    assert!(
        none.code == Some(1) && none.stderr.contains("no result for any kernel"),
        "only what is named: {}",
        none.stderr
    );
    for name in ["z_norm", "silu_mul", "twin"] {
        library.done(&["accept", name]);
    }
    assert_eq!(fs::read(library.lock()).expect("a lock"), lock);
    let again = library.run(&["accept", "z_norm"]);
    assert!(again.stderr.contains("there is no result for z_norm"), "it is pinned: {}", again.stderr);
}

#[test]
fn kernels_of_one_question_are_pinned_together() {
    let library = Library::new("accept-twins", &["silu_mul"]);
    library.done(&["accept", "--results", "r.tgz"]);
    library.done(&["check", "silu_mul", "twin"]);

    // another answer to the same question: the naive kernel alone
    let entry = library.folder.join("results/v1").join(entry_of("silu_mul"));
    let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let mut record = Record::parse(&text).expect("parses");
    for variant in record.variants.drain(..record.variants.len() - 1) {
        fs::remove_file(entry.join(&variant.artifact.file)).expect("removed");
        fs::remove_file(entry.join(&variant.source.file)).expect("removed");
    }
    let body = record.to_toml().expect("prints");
    let seal = ArtifactDigest::of(body.as_bytes());
    write(&entry.join("record.toml"), &format!("# sha256 of the lines below: {seal}\n{body}"));
    library.pack();
    library.done(&["accept", "silu_mul", "--results", "r.tgz"]);
    library.done(&["check", "silu_mul", "twin"]);
}
