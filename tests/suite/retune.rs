//! Tuning again: what is locked stays unless it is beaten, whether the package or the user's store has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

    /// Every file of the lock and its store.
    fn locked(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.folder.join("cache"))
    }
}

pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).expect("readable"))),
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
        let library = Library { home: library.folder.join(home), folder: library.folder.clone() };
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
