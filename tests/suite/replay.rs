//! What a replaying build promises its user: no network and no process but the archiver, few crates, docs.rs without
//! lock and store, a source tree that is only read, and a program that is right on a GPU or says what is missing.

mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_tests::{Ran, cargo, cargo_outside, must, outside_target, run, scratch, workspace, write};

/// The most crates that a user's build may gain from ours.
const CRATES_MAX: usize = 45;

const LIB: &str = "//! The example's kernels, outside its workspace.\ncutegen_runtime::include_kernels!();\n";

/// A crate outside the workspace with the example's kernels.
struct Outside {
    folder: PathBuf,
}

impl Outside {
    /// With lock and store, or without both.
    fn new(name: &str, accepted: bool) -> Outside {
        let folder = scratch(name);
        let example = workspace().join("example-app");
        let text = fs::read_to_string(example.join("Cargo.toml")).expect("a manifest");
        let kernels = text.find("[package.metadata.kernels.").expect("kernels");
        write(&folder.join("Cargo.toml"), &format!("{}{}", head(name), &text[kernels..]));
        write(&folder.join("src/lib.rs"), LIB);
        fs::copy(example.join("build.rs"), folder.join("build.rs")).expect("copied");
        if accepted {
            must(Command::new("cp").arg("-r").arg(example.join("cutegen-store")).arg(&folder));
            fs::copy(example.join("cutegen.lock"), folder.join("cutegen.lock")).expect("copied");
        }
        Outside { folder }
    }

    fn cargo(&self, verb: &str) -> Command {
        let mut command = cargo_outside(&self.folder);
        command.args([verb, "--offline"]).env("CUTEGEN_MODE", "locked");
        command
    }
}

fn head(name: &str) -> String {
    let root = workspace();
    format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         cutegen-runtime = {{ path = {:?}, features = [\"cuda\"] }}\n\n[build-dependencies]\n\
         cutegen-build = {{ path = {:?} }}\n\n",
        root.join("cutegen-runtime"),
        root.join("cutegen-build"),
    )
}

/// The crate with lock and store, built once.
fn built() -> &'static Outside {
    static BUILT: OnceLock<Outside> = OnceLock::new();
    BUILT.get_or_init(|| {
        let outside = Outside::new("replay-locked", true);
        must(&mut outside.cargo("build"));
        outside
    })
}

/// The newest file of that name in a crate's build folders.
fn of_build_script(name: &str, file: &str) -> PathBuf {
    let folders = fs::read_dir(outside_target().join("debug/build")).expect("a build folder");
    let is_ours = |path: &PathBuf| {
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        folder.rsplit_once('-').is_some_and(|(before, _)| before == name) && path.join(file).exists()
    };
    let ours = folders.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours);
    let newest = ours.max_by_key(|path| fs::metadata(path.join(file)).and_then(|m| m.modified()).ok());
    newest.expect("a build folder with that file").join(file)
}

/// Whether a program can be started; where not, a test says `skipped`, or fails when `required` is set.
fn installed(program: &str, required: &str) -> bool {
    if Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return true;
    }
    assert!(std::env::var_os(required).is_none(), "{program} is not installed");
    println!("skipped: {program} is not installed");
    false
}

/// The build script by itself, as cargo starts it, with an empty OUT_DIR.
fn script_under_strace(outside: &Outside, log: &Path) -> Ran {
    let out = scratch("replay-strace-out");
    let triple = "x86_64-unknown-linux-gnu";
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=network,process", "-o"]).arg(log);
    command.arg(of_build_script("replay-locked", "build-script-build"));
    command.current_dir(&outside.folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("CARGO_MANIFEST_DIR", &outside.folder).env("OUT_DIR", out);
    command.env("CARGO_PKG_NAME", "replay-locked").env("CARGO_PKG_VERSION", "0.1.0");
    run(command.env("TARGET", triple).env("HOST", triple))
}

#[test]
fn replay_opens_no_socket_and_starts_only_the_archiver() {
    if !installed("strace", "CUTEGEN_REQUIRE_STRACE") {
        return;
    }
    let outside = built();
    let log = workspace().join("target/suite/replay-strace.txt");
    let ran = script_under_strace(outside, &log);
    assert!(ran.ok, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("cargo::rustc-link-lib=static=cutegen_"), "{}", ran.stdout);
    let trace = fs::read_to_string(&log).expect("a trace");
    // not socketpair(): std hears of a failed start of the archiver through one, and it reaches nobody else
    for call in ["socket(", "connect(", "bind("] {
        let found: Vec<&str> = trace.lines().filter(|line| line.contains(call)).collect();
        assert!(found.is_empty(), "{found:?}");
    }
    let started: Vec<&str> = trace.lines().filter_map(program).collect();
    let (script, rest) = started.split_first().expect("the script itself");
    assert!(script.ends_with("/build-script-build"), "{trace}");
    assert!(rest.iter().any(|path| path.ends_with("/ar")), "the trace sees no archiver:\n{trace}");
    let others: Vec<&&str> = rest.iter().filter(|path| !path.ends_with("/ar")).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// The program of a line of a trace that starts one.
fn program(line: &str) -> Option<&str> {
    let (_, call) = line.split_once("execve(\"").or_else(|| line.split_once("execveat("))?;
    call.split('"').next()
}

#[test]
fn replay_depends_on_few_crates() {
    let tree = ["tree", "--locked", "-p", "cutegen-build", "-e", "normal,build", "--prefix", "none"];
    let ran = must(cargo().current_dir(workspace()).args(tree));
    let mut crates: Vec<&str> = ran.stdout.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    crates.sort_unstable();
    crates.dedup();
    assert!(crates.len() <= CRATES_MAX, "{} crates:\n{}", crates.len(), crates.join("\n"));
    println!("{} crates", crates.len());
}

#[test]
fn docs_rs_needs_neither_lock_nor_store() {
    let outside = Outside::new("replay-docs", false);
    let unlocked = run(&mut outside.cargo("build"));
    assert!(!unlocked.ok && unlocked.stderr.contains("run: cargo cutegen lock"), "{}", unlocked.stderr);
    must(outside.cargo("build").env("DOCS_RS", "1"));
    let said = fs::read_to_string(of_build_script("replay-docs", "output")).expect("what the script said");
    assert!(!said.contains("rustc-link"), "{said}");
    must(outside.cargo("doc").arg("--no-deps").env("DOCS_RS", "1"));
    for page in ["host/fn.silu_mul.html", "host/struct.SiluMul.html", "cuda/struct.SiluMul.html"] {
        let path = outside_target().join("doc/replay_docs/kernels").join(page);
        assert!(path.is_file(), "no {page}");
    }
}

/// Permissions would not do: root ignores them. A mount does, and where none can be had, nothing may have changed.
#[test]
fn a_build_only_reads_the_source_tree() {
    let folder = built().folder.clone();
    let before = listing(&folder);
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && cd \"$1\" && shift\n\
                  if touch written 2>&1; then exit 9; fi\nexec \"$@\"";
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
    let probe = unshare.args(["mount -t tmpfs tmpfs \"$0\""]).arg(scratch("replay-mount")).output();
    let mut command = Command::new("unshare");
    if probe.is_ok_and(|output| output.status.success()) {
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script, "sh"]).arg(&folder);
    } else {
        println!("no mount namespace: only compared");
        command = Command::new("env");
        command.current_dir(&folder);
    }
    let mut build = built().cargo("build");
    build.env_remove("CUTEGEN_MODE"); // another environment than before: the script runs again
    for (name, value) in build.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = must(command.arg(build.get_program()).args(build.get_args()).arg("--locked"));
    assert!(ran.stderr.contains("Compiling replay-locked"), "nothing was built: {}", ran.stderr);
    assert_eq!(listing(&folder), before);
}

/// Every file with its size and time.
fn listing(folder: &Path) -> String {
    must(Command::new("find").arg(folder).args(["-printf", "%P %s %T@\n"])).stdout
}

/// Right on every part, where there is a device. Elsewhere it says what is missing, and with `CUTEGEN_REQUIRE_GPU` this
/// fails.
#[test]
fn the_gpu_program_is_right_or_says_what_is_missing() {
    let gpu = ["run", "--quiet", "--locked", "--release", "-p", "example-app", "--bin", "gpu"];
    let ran = run(cargo().current_dir(workspace()).args(gpu));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    if ran.code == Some(3) {
        assert!(std::env::var_os("CUTEGEN_REQUIRE_GPU").is_none(), "{}", ran.stderr);
        assert!(["driver", "device"].iter().any(|word| ran.stderr.contains(word)), "{}", ran.stderr);
        println!("skipped: {}", ran.stderr.trim());
        return;
    }
    assert!(ran.ok, "{}{}", ran.stdout, ran.stderr);
    for part in ["lengths", "order", "block", "replays"] {
        assert!(ran.stdout.contains(&format!("{part}: right")), "{}", ran.stdout);
    }
}
