//! What one kernel's error leaves of a `tune`, `bench` or `verify` of several: the others' results, and an exit code that
//! says the worst.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::store::{Store, lock_file};
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::{GATE, Record};
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, write};

/// No template fills integers, so a search of these takes a second.
const SPECS: &str = "edition = 1
[kernels.first]
axes = { n = '1..=64' }
inputs = { x = 'i64[n]' }
outputs = { y = 'i64[n]' }
math = 'y[n] = x[n] + 1'
workloads = [{ n = 64 }]
[kernels.second]
axes = { n = '1..=64' }
inputs = { x = 'i64[n]' }
outputs = { y = 'i64[n]' }
math = 'y[n] = x[n] + 2'
workloads = [{ n = 64 }]
";

struct Library {
    folder: PathBuf,
}

impl Library {
    /// Both kernels, locked.
    fn new(name: &str) -> Self {
        install_toolchain();
        let this = Self { folder: scratch(name) };
        write(&this.folder.join("specs/two.toml"), SPECS);
        must(&mut this.command(&["lock"]));
        this
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        command
    }

    fn fails(&self, args: &[&str], code: i32) -> Ran {
        let ran = run(&mut self.command(args));
        assert_eq!(ran.code, Some(code), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    /// The folder of the first kernel's entry in a store.
    fn entry(&self, store: &str) -> PathBuf {
        let lock = fs::read_to_string(self.folder.join("cache/cutegen.lock")).expect("a lock");
        let lock = Lock::parse(&lock).expect("parses");
        let [first, second] = ["first", "second"].map(|name| {
            let locked = lock.kernels.iter().find(|kernel| kernel.name == name).expect("locked");
            locked.key.to_string()
        });
        assert_ne!(first[..2], second[..2], "each has a folder of its own");
        self.folder.join(store).join("v1").join(&first[..2]).join(&first)
    }

    fn damage(&self, file: &str) {
        fs::write(self.entry("cache").join(file), b"x").expect("there");
    }
}

#[test]
fn a_kernel_that_cannot_be_stored_leaves_the_others_tuned() {
    let library = Library::new("session-tune");
    let entry = library.entry("home/cutegen/store");
    write(entry.parent().expect("a folder"), "in the way of a folder");
    let ran = library.fails(&["tune", "--judge-naive", "--results", "tuned.tar.gz"], 3);
    let told = ran.stderr.split_once("not tuned:\nfirst on host").expect(&ran.stderr);
    assert!(told.0.contains("second on host") && told.0.contains("in the user store: naive"), "{}", told.0);
    assert!(!told.1.contains("second"), "{}", told.1);
    let lines: Vec<&str> = told.0.lines().filter(|line| line.starts_with("second on host")).collect();
    let why =
        ": no template fills this: tensor `x` is i64: those of the host want floats of 16 bits and more";
    assert!(lines[0].ends_with(why), "{lines:?}");
    assert!(lines[1].contains(": nothing but the naive kernel, after "), "{lines:?}");
    assert!(!told.0.contains("ranked 0") && !told.0.contains(": , "), "{}", told.0);
    let ran = must(&mut library.command(&["check", "second"]));
    assert!(ran.stdout.contains(&format!("second on host{why}")), "{}", ran.stdout);
    must(&mut library.command(&["accept", "second", "--results", "tuned.tar.gz"]));
    must(&mut library.command(&["check"]));
}

#[test]
fn results_that_cannot_be_written_are_told_before_anything_is_done() {
    let library = Library::new("session-results");
    for verb in [&["tune"][..], &["verify", "--record"], &["bench", "first"]] {
        let ran = library.fails(&[verb, &["--results", "no/such/x"]].concat(), 3);
        assert!(ran.stderr.starts_with("cannot write no/such/x") && ran.stdout.is_empty(), "{}", ran.stderr);
    }
    assert!(!library.folder.join("home/cutegen/store").exists(), "nothing was tuned");
}

#[test]
fn an_entry_that_is_damaged_leaves_the_others_verified() {
    let library = Library::new("session-verify");
    library.damage("naive.cpp");
    let ran = library.fails(&["verify", "--record", "--results", "judged.tar.gz"], 1);
    assert!(
        ran.stdout.contains("second on host") && ran.stdout.contains("1 variants passed"),
        "{}",
        ran.stdout
    );
    let told = ran.stderr.split_once("not verified:\nkernel `first` for host").expect(&ran.stderr).1;
    assert!(told.contains("its entry cannot be used") && told.contains("naive.cpp"), "{told}");
    assert!(told.contains(&entry_below(&library, "cache")), "{told}");
    must(&mut library.command(&["accept", "second", "--results", "judged.tar.gz"]));
}

/// As messages name it: the command runs in the library's folder.
fn entry_below(library: &Library, store: &str) -> String {
    let entry = library.entry(store);
    let below = entry.strip_prefix(&library.folder).map(Path::to_path_buf).unwrap_or(entry);
    below.display().to_string()
}

#[test]
fn an_entry_that_is_damaged_leaves_the_others_timed() {
    let library = Library::new("session-bench");
    library.damage("naive.o");
    let ran = library.fails(&["bench", "first", "second", "--results", "bench.json"], 1);
    assert!(ran.stdout.contains("second host") && !ran.stdout.contains("first"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("kernel `first`") && ran.stderr.contains("its entry cannot be used"),
        "{}",
        ran.stderr
    );
    let results = fs::read_to_string(library.folder.join("bench.json")).expect("written");
    assert!(results.contains("\"kernel\":\"second\""), "{results}");
}

#[test]
fn an_incumbent_that_was_asked_for_is_told_where_there_is_none() {
    let library = Library::new("session-against");
    let ran = must(&mut library.command(&["bench", "second", "--against", "cublaslt,torch-eager"]));
    for told in ["cublaslt: it is timed on devices only", "torch-eager: it is timed on devices only"] {
        assert!(ran.stdout.contains(&format!("second: not timed against {told}")), "{}", ran.stdout);
    }
    let ran = must(&mut library.command(&["bench", "second", "--against", "naive"]));
    let line = ran.stdout.lines().find(|line| line.starts_with("second host")).expect(&ran.stdout);
    assert!(line.contains("nothing: it is the naive kernel") && !line.contains('x'), "no ratio: {line}");
    assert!(!ran.stdout.contains("not timed"), "{}", ran.stdout);
}

impl Library {
    /// The gate that judged each kernel's record in the lock's store.
    fn gates(&self) -> [Option<u32>; 2] {
        let lock = lock_file::read(&self.folder.join("cache/cutegen.lock")).expect("a lock");
        ["first", "second"].map(|name| {
            let locked = lock.kernels.iter().find(|kernel| kernel.name == name).expect("locked");
            let entry = Store::new(self.folder.join("cache")).get_full(&locked.key).hit().expect("whole");
            entry.record.variants[0].evidence.as_ref().map(|evidence| evidence.gate)
        })
    }

    /// Locks for `first` what is locked for `second`: whole, and wrong.
    fn swap(&self) {
        let (store, path) = (Store::new(self.folder.join("cache")), self.folder.join("cache/cutegen.lock"));
        let mut lock = lock_file::read(&path).expect("a lock");
        let [first, second] = ["first", "second"].map(|name| {
            let locked = lock.kernels.iter().find(|kernel| kernel.name == name).expect("locked");
            (store.get_full(&locked.key).hit().expect("whole"), locked.target.clone())
        });
        let wrong = Record { variants: second.0.record.variants.clone(), ..first.0.record.clone() };
        let files = [
            (wrong.variants[0].artifact.file.as_str(), second.0.artifacts[0].as_slice()),
            (wrong.variants[0].source.file.as_str(), second.0.sources[0].as_slice()),
        ];
        store.put(&wrong, &files).expect("put");
        lock.set(Locked::pin("first", &first.1, &wrong));
        lock_file::write(&path, &lock).expect("written");
    }
}

#[test]
fn records_that_a_deadline_cut_short_are_gone_on_with() {
    let library = Library::new("session-resume");
    let late = library.fails(&["verify", "--record", "--deadline", "0", "--results", "r.tgz"], 3);
    assert!(late.stdout.starts_with("2 kernels (first on host"), "{}", late.stdout);
    let go_on = "not begun before the deadline\ngo on: cargo cutegen verify --record --resume";
    assert!(late.stdout.contains(go_on), "{}", late.stdout);
    assert_eq!(library.gates(), [None, None]);

    must(&mut library.command(&["verify", "--record", "first"]));
    assert_eq!(library.gates(), [Some(GATE), None]);
    let rest = ["verify", "--record", "--resume", "--jobs", "2", "--deadline", "600", "--results", "r.tgz"];
    let ran = must(&mut library.command(&rest));
    let told: Vec<&str> = ran.stdout.lines().collect();
    assert!(told.len() == 1 && told[0].starts_with("second on host"), "{}", ran.stdout);
    assert!(ran.stderr.contains(&format!("kernels recorded by gate {GATE} already: 1")), "{}", ran.stderr);
    assert_eq!(library.gates(), [Some(GATE); 2]);
    let again = must(&mut library.command(&rest));
    assert_eq!(again.stdout, "");

    // both are in the results, the one that an earlier call recorded too
    let home = Library::new("session-resume-home");
    must(&mut home.command(&["accept", "--results", library.folder.join("r.tgz").to_str().expect("text")]));
    assert_eq!(home.gates(), [Some(GATE); 2]);
}

#[test]
fn a_kernel_is_held_wrong_only_once_it_is_judged_alone() {
    let library = Library::new("session-lanes");
    library.swap();
    let ran = library.fails(&["verify", "--record", "--jobs", "2"], 1);
    assert!(ran.stderr.starts_with("kernels re-verified alone: 1\n"), "{}", ran.stderr);
    let wrong: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("first on host")).collect();
    assert!(wrong.len() == 1 && wrong[0].ends_with("its record stays as it was"), "{}", ran.stdout);
    assert_eq!(library.gates(), [None, Some(GATE)], "the other is recorded");
}
