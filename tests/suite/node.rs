//! `tests/bench/node.py` with programs that say what they were started with: that each job starts what it names and nothing else,
//! that what an older gate judged is found, and that what fails is told. What the programs measure is theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{Ran, must, run, scratch, workspace, write};

/// Prints its own name, its arguments and two variables on one line; as `cargo-cutegen` it leaves results, and as any `gpu --prepare`
/// the folder that it is told of. A kernel `broken` fails.
const PROGRAM: &str = r#"#!/bin/sh
echo "$(basename "$0") $* only=$CUTEGEN_BARS_ONLY device=$CUDA_VISIBLE_DEVICES"
[ "$1" = --prepare ] && mkdir -p "$2"
[ "$3" = broken ] && exit 3
while [ $# -gt 1 ]; do [ "$1" = --results ] && echo results > "$2"; shift; done
exit 0
"#;

/// Two kernels of the target and one of another, with their gates.
const LOCK: &str = r#"
[[kernel]]
name = "fresh"
target = "sm_90a"
key = "aa"
[[kernel]]
name = "aged"
target = "sm_90a"
key = "bb"
[[kernel]]
name = "elsewhere"
target = "host"
key = "cc"
"#;
const GATES: [(&str, u32); 3] = [("aa", 6), ("bb", 5), ("cc", 1)];

/// A packed folder and a place for what is run from it.
struct Pack(PathBuf);

impl Pack {
    fn new(name: &str) -> Self {
        let pack = Self(scratch(name));
        let folder = pack.0.join("pack");
        for program in ["gpu", "runtime", "overhead", "example"] {
            executable(&folder.join(program));
        }
        for script in ["node.py", "raw.py"] {
            write(
                &folder.join(script),
                &fs::read_to_string(workspace().join("tests/bench").join(script)).expect("a script"),
            );
        }
        write(&folder.join("about.json"), r#"{"commit": "planted", "gate": 6}"#);
        for (set, lock) in
            [("specs", "cache/cutegen.lock"), ("bars", "cache/cutegen.lock"), ("example", "cutegen.lock")]
        {
            pack.bundle(set, lock);
        }
        pack
    }

    fn bundle(&self, set: &str, lock: &str) {
        let bundle = self.0.join(set).join("cutegen-pack");
        executable(&bundle.join("cargo-cutegen"));
        write(&bundle.join("project").join(lock), LOCK);
        for (key, gate) in GATES {
            let record = format!("[[variants]]\n[variants.evidence]\ngate = {gate}\njudge-seconds = 1.0\n");
            write(&bundle.join("project/store").join(key).join("record.toml"), &record);
        }
        let archive = self.0.join("pack").join(format!("{set}.tar.gz"));
        must(Command::new("tar").arg("czf").arg(archive).arg("-C").arg(self.0.join(set)).arg("cutegen-pack"));
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new("python3");
        command.arg(self.0.join("pack/node.py")).arg("run").env("CUDA_VISIBLE_DEVICES", "0,1");
        run(command
            .arg("--work")
            .arg(self.0.join("work"))
            .arg("--out")
            .arg(self.0.join("out"))
            .args(arguments))
    }

    /// What a job's program printed.
    fn log(&self, job: &str) -> String {
        let path = self.0.join("out/log").join(format!("{job}.log"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

fn executable(path: &Path) {
    write(path, PROGRAM);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn each_job_starts_what_it_names() {
    let pack = Pack::new("node-jobs");
    let ran = pack.run(&[
        "--seconds",
        "60",
        "overhead",
        "gpu:products+sanitized@sum",
        "tune:bars/sum_4096",
        "verify:example/older",
    ]);
    assert!(ran.ok && ran.stdout.contains("0 not done"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        pack.log("overhead"),
        "overhead  only= device=0\n",
        "the processor's programs run first, on one device"
    );
    assert!(pack.log("gpu-products-sanitized-sum").starts_with("gpu products sanitized only=sum device="));
    let tuned = pack.log("tune-bars-sum_4096");
    assert!(
        tuned.starts_with("cargo-cutegen cutegen tune sum_4096 --target sm_90a --again --json --results "),
        "{tuned}"
    );
    let judged = pack.log("verify-example-aged");
    assert!(
        judged.starts_with("cargo-cutegen cutegen verify aged --target sm_90a --record --results "),
        "{judged}"
    );
    let jobs = fs::read_to_string(pack.0.join("out/log/jobs.txt")).expect("jobs");
    assert_eq!(
        jobs.lines().filter(|line| line.contains("done, ")).count(),
        5,
        "four, and what prepares: {jobs}"
    );
    let of_kernel = |kernel: &str| jobs.contains(&format!("example/{kernel}: "));
    assert!(of_kernel("aged") && !of_kernel("fresh") && !of_kernel("elsewhere"), "{jobs}");
    let kept = must(Command::new("tar").arg("tzf").arg(pack.0.join("out/kept.tar.gz")));
    for part in ["tune/bars.sum_4096.tar.gz", "verify/example.aged.tar.gz", "log/jobs.txt"] {
        assert!(kept.stdout.contains(part), "{part} is not in\n{}", kept.stdout);
    }
}

#[test]
fn what_fails_or_is_no_job_is_told() {
    let pack = Pack::new("node-fails");
    let failed = pack.run(&["--seconds", "60", "tune:specs/broken", "verify:specs/sum"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    assert!(
        failed.stdout.contains("tune:specs/broken: 3, ") && failed.stdout.contains("1 not done"),
        "{}",
        failed.stdout
    );
    for job in ["gpu", "gpu:", "tune:other/sum", "verify:specs"] {
        let refused = pack.run(&[job]);
        assert!(
            !refused.ok && refused.stderr.contains(&format!("no job `{job}`")),
            "{job}: {}",
            refused.stderr
        );
    }
    let late = pack.run(&["--seconds", "1", "tune:specs/sum"]);
    assert!(late.code == Some(1) && late.stdout.contains("not begun, no time left"), "{}", late.stdout);
}
