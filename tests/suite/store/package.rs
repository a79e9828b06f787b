//! A library of specs with its lock, its store and results to accept, in a folder that goes with it: what the tests of
//! kills, faults and races work on. Its entries are the example's for the host, so nothing is compiled.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::store::{Lookup, Store, lock_file};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use cutegen_tests::{Ran, cutegen, must, run, workspace, write};
use tempfile::TempDir;

/// `twin` asks what `silu_mul` asks; `twice` is in no store.
pub(super) const SPECS: &str = "edition = 1
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
[kernels.twice]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = x[n] + x[n]'
";

/// Every file below a folder with its bytes, by its name there.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

pub(super) struct Package {
    folder: TempDir,
}

impl Package {
    /// Nothing is locked. Results: `tuned.tgz` with what the example has for `silu_mul` and `z_norm`, `naive.tgz` with the
    /// naive variants of those alone, `silu.tgz` and `norm.tgz` with one kernel each.
    pub(super) fn new() -> Self {
        let package = Self { folder: tempfile::tempdir().expect("a folder") };
        write(&package.path("specs/some.toml"), SPECS);
        for kernel in ["silu_mul", "rms_norm"] {
            copy(&example_entry(kernel), &package.results("tuned", kernel));
            copy(&example_entry(kernel), &package.results("naive", kernel));
            keep_naive(&package.results("naive", kernel));
        }
        for (file, folder, kernels) in [
            ("tuned", "tuned", &["silu_mul", "rms_norm"][..]),
            ("naive", "naive", &["silu_mul", "rms_norm"]),
            ("silu", "tuned", &["silu_mul"]),
            ("norm", "tuned", &["rms_norm"]),
        ] {
            let mut tar = Command::new("tar");
            tar.arg("czf").arg(package.path(&format!("{file}.tgz"))).arg("-C").arg(package.path(folder));
            must(tar.args(kernels.iter().map(|kernel| format!("v1/{}", place(kernel)))));
        }
        package
    }

    /// The same files in another folder.
    pub(super) fn of(files: &Files) -> Self {
        let package = Self { folder: tempfile::tempdir().expect("a folder") };
        for (name, bytes) in files {
            let path = package.folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below")).expect("made");
            fs::write(path, bytes).expect("written");
        }
        package
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn store(&self) -> Store {
        Store::new(self.path("cache"))
    }

    pub(super) fn lock(&self) -> Lock {
        lock_file::read(&self.path("cache/cutegen.lock")).expect("a whole lock")
    }

    /// The command on this library; `args` with `@NAME` for a file of it.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&self.path("home"));
        command.current_dir(self.folder.path());
        for arg in args {
            match arg.strip_prefix('@') {
                Some(name) => command.arg(self.path(name)),
                None => command.arg(arg),
            };
        }
        command.arg("--specs").arg(self.path("specs")).arg("--cache").arg(self.path("cache"));
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        run(&mut self.command(args))
    }

    pub(super) fn done(&self, args: &[&str]) -> Ran {
        must(&mut self.command(args))
    }

    /// All of it.
    pub(super) fn files(&self) -> Files {
        let mut files = Files::new();
        collect(self.folder.path(), self.folder.path(), &mut files);
        files
    }

    /// Lock and store, remains of killed writers included, the lock of writers left out.
    pub(super) fn cache(&self) -> Files {
        let mut files = self.files();
        files.retain(|name, _| name.starts_with("cache") && !name.ends_with(".lock"));
        files.extend(self.files().remove_entry(Path::new("cache/cutegen.lock")));
        files
    }

    /// What the store has for each locked kernel.
    pub(super) fn entry(&self, locked: &Locked) -> Option<Record> {
        match self.store().get_full(&locked.key) {
            Lookup::Hit(entry) => Some(entry.record),
            Lookup::Miss | Lookup::Corrupt(_) => None,
        }
    }

    fn results(&self, of: &str, kernel: &str) -> PathBuf {
        self.path(of).join("v1").join(place(kernel))
    }
}

/// The folder of an example's kernel for the host, below `v1`.
pub(super) fn place(kernel: &str) -> String {
    let lock = lock_file::read(&workspace().join("example-app/cutegen.lock")).expect("a lock");
    let is_it = |k: &&Locked| k.name == kernel && k.target.starts_with("host");
    let key = lock.kernels.iter().find(is_it).expect("locked").key.to_string();
    format!("{}/{key}", &key[..2])
}

fn example_entry(kernel: &str) -> PathBuf {
    workspace().join("example-app/cutegen-store/v1").join(place(kernel))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for file in fs::read_dir(from).expect("an entry") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
}

/// Another answer to the same question: the naive kernel alone.
fn keep_naive(entry: &Path) {
    let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let body = text.split_once('\n').expect("a seal").1;
    let mut record = Record::parse(body).expect("parses");
    assert!(record.variants.len() > 1, "it is tuned");
    for variant in record.variants.drain(..record.variants.len() - 1) {
        fs::remove_file(entry.join(&variant.artifact.file)).expect("removed");
        fs::remove_file(entry.join(&variant.source.file)).expect("removed");
    }
    seal(&entry.join("record.toml"), &record.to_toml().expect("prints"));
}

/// Writes a record under its seal, as an author could.
pub(super) fn seal(path: &Path, body: &str) {
    write(path, &format!("# sha256 of the lines below: {}\n{body}", ArtifactDigest::of(body.as_bytes())));
}

fn collect(root: &Path, folder: &Path, files: &mut Files) {
    for item in fs::read_dir(folder).expect("a folder") {
        let path = item.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below").to_path_buf();
            files.insert(name, fs::read(&path).expect("reads"));
        }
    }
}

/// Runs a command that may hang or eat memory: within a minute and 8 GiB, or the test fails.
pub(super) fn patiently(command: &mut Command) -> Ran {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 8388608; exec timeout -s KILL 60 \"$@\"", "limited"]);
    limited.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    run(&mut limited)
}
