//! Tuning again: what is locked is re-verified and stays unless it is beaten or refused, whether the package or the
//! user's store has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_build::store::{Entry, Store};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::{GATE, Record};
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, write};

const SPEC: &str = r#"
edition = 1
[kernels.norm]
axes = { m = "1..=64", d = 96 }
inputs = { x = "f32[m, d]" }
outputs = { y = "f32[m, d]" }
scalars = { eps = "f32" }
math = "y[m, d] = rms_norm(d, x[m, d], eps)"
workloads = [{ m = 32 }]
"#;

struct Library {
    folder: PathBuf,
    home: PathBuf,
}

impl Library {
    fn new(name: &str) -> Self {
        install_toolchain();
        let folder = scratch(name);
        let this = Self { home: folder.join("home"), folder };
        this.says("");
        this
    }

    /// What the spec says besides; its key stays.
    fn says(&self, more: &str) {
        write(&self.folder.join("specs/norm.toml"), &format!("{SPEC}{more}"));
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = cutegen(&self.home);
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        command
    }

    fn tune_again(&self) -> Ran {
        run(&mut self.command(&["tune", "--again"]))
    }

    /// The same project, tuned by another user.
    fn of(&self, home: &str) -> Library {
        Library { home: self.folder.join(home), folder: self.folder.clone() }
    }

    fn plan(&self) -> Plan {
        let project = Project::library(&self.folder.join("specs"), &self.folder.join("cache"));
        Plan::all(&project.expect("a project").specs).remove(0)
    }

    fn entry(&self) -> Entry {
        let store = Store::new(self.folder.join("cache"));
        store.get_full(&self.plan().key).hit().expect("an entry")
    }

    /// Every file of the lock and its store.
    fn locked(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.folder.join("cache"))
    }
}

pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(&path))
        } else {
            drop(found.insert(path.clone(), std::fs::read(&path).expect("readable")))
        }
    }
    found
}

#[test]
fn what_is_locked_stays_unless_it_is_beaten() {
    let library = Library::new("retune");
    must(&mut library.command(&["tune"]));
    must(&mut library.command(&["accept"]));
    must(&mut library.command(&["check", "--tuned"]));
    let locked = library.locked();

    // no kernel is that much faster than the naive one
    library.says("accept = { min-speedup = 1000000 }\n");
    for home in ["home", "another-home"] {
        let library = library.of(home);
        let again = library.tune_again();
        assert!(
            again.ok && again.stderr.contains("what is locked stays"),
            "{}\n{}",
            again.stdout,
            again.stderr
        );
        must(&mut library.command(&["accept"]));
        assert_eq!(library.locked(), locked, "{home}");
    }
}

/// Puts an entry's variants into a store, under this record's question.
fn put(store: &Store, record: &Record, entry: &Entry) {
    let mut files: Vec<(&str, &[u8])> = Vec::new();
    for (at, variant) in record.variants.iter().enumerate() {
        files.push((&variant.artifact.file, &entry.artifacts[at]));
        files.push((&variant.source.file, &entry.sources[at]));
    }
    store.put(record, &files).expect("written");
}

#[test]
fn what_stays_is_judged_by_the_gate_of_today() {
    let library = Library::new("retune-gate");
    must(&mut library.command(&["tune"]));
    must(&mut library.command(&["accept"]));
    // under a name that no search has, so that it can only stay
    let mut entry = library.entry();
    let mut old = entry.record.clone();
    for variant in &mut old.variants {
        variant.evidence.as_mut().expect("judged").gate = 1;
    }
    let first = &mut old.variants[0];
    entry.sources[0].extend(b"// mine\n");
    (first.name, first.source.file, first.artifact.file) =
        ("mine".to_owned(), "mine.cpp".to_owned(), "mine.o".to_owned());
    first.source.digest = ArtifactDigest::of(&entry.sources[0]);
    put(&Store::new(library.home.join("cutegen/store")), &old, &entry);
    must(&mut library.command(&["accept"]));

    let library = library.of("another-home");
    let again = library.tune_again();
    assert!(again.ok && again.stderr.contains("locked; passed"), "{}\n{}", again.stdout, again.stderr);
    must(&mut library.command(&["accept"]));
    let fresh = library.entry().record;
    let gates = fresh.variants.iter().map(|variant| variant.evidence.as_ref().map(|evidence| evidence.gate));
    assert!(gates.eq(fresh.variants.iter().map(|_| Some(GATE))), "{fresh:?}");
    if again.stderr.contains("what is locked stays, re-verified") {
        assert_eq!(fresh.variants[0].name, "mine", "nobody beat it");
    }
}

#[test]
fn what_the_gate_refuses_need_not_be_beaten() {
    let (library, wrong) = (Library::new("retune-wrong"), Library::new("retune-wrong-math"));
    write(&wrong.folder.join("specs/norm.toml"), &SPEC.replace("= rms_norm", "= 1.01 * rms_norm"));
    must(&mut wrong.command(&["tune"]));
    must(&mut wrong.command(&["accept"]));
    // as fast as the right one, under its question
    let (plan, entry) = (library.plan(), wrong.entry());
    let record = Record { key: plan.key, question: plan.question, ..entry.record.clone() };
    put(&Store::new(library.home.join("cutegen/store")), &record, &entry);
    must(&mut library.command(&["accept"]));
    assert!(!run(&mut library.command(&["verify"])).ok, "it is wrong");

    let library = library.of("another-home");
    let again = library.tune_again();
    assert!(again.ok && again.stderr.contains("what is locked is refused: "), "{}", again.stderr);
    must(&mut library.command(&["accept"]));
    must(&mut library.command(&["check", "--tuned"]));
    must(&mut library.command(&["verify"]));
}
