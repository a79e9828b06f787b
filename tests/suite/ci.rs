//! `.ci/since-full` in a repository of its own: a part's whole run stands while what only it tests in full is as it was.
//! `.ci/mcp-client` with Pythons that can and cannot install.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{Ran, must, run, scratch, workspace, write};

/// A repository with the script and with every path that it guards.
fn repository(name: &str) -> PathBuf {
    let folder = scratch(name);
    let script = fs::read_to_string(workspace().join(".ci/since-full")).expect("the script");
    write(&folder.join(".ci/since-full"), &script);
    for path in guarded(&script) {
        let is_folder = !path.ends_with(".rs");
        write(&folder.join(if is_folder { format!("{path}/mod.rs") } else { path }), "");
    }
    git(&folder, &["init", "-q"]);
    git(&folder, &["config", "user.name", "test"]);
    git(&folder, &["config", "user.email", "test@example.org"]);
    commit(&folder);
    folder
}

fn guarded(script: &str) -> Vec<String> {
    let words = script.split_whitespace().filter_map(|word| word.strip_prefix("$BUILD/"));
    let paths: Vec<String> = words.map(|path| format!("cutegen-build/src/{path}")).collect();
    assert!(paths.len() > 10, "{paths:?}");
    paths
}

fn git(folder: &Path, args: &[&str]) -> String {
    must(Command::new("git").current_dir(folder).args(args)).stdout.trim().to_owned()
}

fn commit(folder: &Path) -> String {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "tests: change"]);
    git(folder, &["rev-parse", "HEAD"])
}

const PARTS: [&str; 4] = ["numbers", "gate", "suite", "rebuild"];

/// Says that every part of `commit` went through a whole run, with what is here.
fn record(folder: &Path, commit: &str) {
    let part = |part: &&str| {
        let files =
            must(Command::new("bash").current_dir(folder).args([".ci/since-full", "--files", part])).stdout;
        let files = files.trim();
        format!("[{part}]\ncommit = \"{commit}\"\nfiles = \"{files}\"\ntotals = \"9 passed, 0 failed\"\n")
    };
    write(&folder.join(".ci/full.toml"), &PARTS.iter().map(part).collect::<String>());
}

fn stale(folder: &Path) -> String {
    must(Command::new("bash").current_dir(folder).args([".ci/since-full", "--stale"]))
        .stdout
        .trim()
        .to_owned()
}

fn since_full(folder: &Path) -> Ran {
    run(Command::new("bash").current_dir(folder).arg(".ci/since-full"))
}

#[test]
fn a_whole_run_stands_until_what_it_tests_differs() {
    let folder = repository("ci-since-full");
    let ran = since_full(&folder);
    assert!(
        ran.code == Some(1) && ran.stdout.contains("suite: no whole run is in .ci/full.toml"),
        "{}",
        ran.stdout
    );
    record(&folder, &git(&folder, &["rev-parse", "HEAD"]));
    commit(&folder);
    write(&folder.join("cutegen-build/src/search/mod.rs"), "// elsewhere\n");
    commit(&folder);
    let ran = since_full(&folder);
    assert_eq!((ran.code, ran.stdout.contains("2 commits ago: 9 passed, 0 failed")), (Some(0), true));
    assert_eq!(stale(&folder), "");
    for (path, parts) in [
        ("compile/guard.rs", "gate\nrebuild"),
        ("evaluate/runner/sandbox.rs", "gate"),
        ("inspect/x.rs", "gate\nrebuild"),
        ("store/x.rs", "suite\nrebuild"),
        ("print/x.rs", "numbers\nrebuild"),
        ("emit/x.rs", "suite"),
    ] {
        let before = git(&folder, &["rev-parse", "HEAD"]);
        write(&folder.join("cutegen-build/src").join(path), "// touched\n");
        let touching = commit(&folder);
        let ran = since_full(&folder);
        assert!(ran.code == Some(1) && ran.stdout.contains(&touching[..7]), "{path}: {}", ran.stdout);
        assert!(ran.stdout.ends_with("run: .ci/full, then commit what it writes\n"), "{}", ran.stdout);
        assert_eq!(stale(&folder), parts, "{path}");
        let standing = PARTS.iter().filter(|part| !parts.contains(*part)).count();
        assert_eq!(ran.stdout.matches("ago: 9 passed").count(), standing, "{path}: {}", ran.stdout);
        // undone by a later commit, it is what the whole run tested
        git(&folder, &["revert", "--no-edit", &touching]);
        assert_eq!(stale(&folder), "", "{path}");
        git(&folder, &["reset", "-q", "--hard", &before]);
    }
    assert_eq!(since_full(&folder).code, Some(0));
}

#[test]
fn many_commits_warn_and_no_history_is_needed() {
    let folder = repository("ci-since-full-many");
    record(&folder, &git(&folder, &["rev-parse", "HEAD"]));
    for _ in 0..201 {
        commit(&folder);
    }
    let ran = since_full(&folder);
    let warned = ran.stdout.contains("warning: 201 commits since the last whole run of suite");
    assert_eq!((ran.code, warned), (Some(0), true), "{}", ran.stdout);
    record(&folder, "0123456789012345678901234567890123456789");
    let ran = since_full(&folder);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("suite: some commits ago: 9 passed"),
        "{}",
        ran.stdout
    );
    write(&folder.join("cutegen-build/src/emit/x.rs"), "// touched\n");
    commit(&folder);
    let ran = since_full(&folder);
    assert!(ran.code == Some(1) && ran.stdout.contains("not in this history"), "{}", ran.stdout);
    assert_eq!(stale(&folder), "suite");
    fs::remove_dir_all(folder.join("cutegen-build/src/print")).expect("removed");
    let ran = since_full(&folder);
    assert!(ran.code == Some(1) && ran.stdout.contains("print is guarded"), "a moved path is found");
}

/// What `.ci/mcp-client` says with this script as `python3`, and whether it leaves an environment.
fn mcp_client(folder: &Path, python: &str) -> (Ran, bool) {
    let (program, into) = (folder.join("bin/python3"), folder.join("client"));
    write(&program, &format!("#!/bin/sh\n{python}\n"));
    must(Command::new("chmod").arg("+x").arg(&program));
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").expect("a path"));
    let ran = run(Command::new(workspace().join(".ci/mcp-client")).arg(&into).env("PATH", path));
    (ran, into.join("bin/python").exists())
}

/// Makes an environment in its third argument, whose pip does this.
fn makes(pip: &str) -> String {
    format!(
        "mkdir -p $3/bin; printf '#!/bin/sh\\nexit 0\\n' > $3/bin/python; printf '#!/bin/sh\\n{pip}\\n' > $3/bin/pip; \
         chmod +x $3/bin/*"
    )
}

#[test]
fn a_client_that_pip_cannot_have_is_said_to_be_missing() {
    let folder = scratch("ci-mcp-client");
    for python in ["exit 1", &makes("exit 1")] {
        let (ran, is_there) = mcp_client(&folder, python);
        assert_eq!((ran.code, is_there), (Some(0), false), "{ran:?}");
        assert!(ran.stdout.starts_with("not run: the official client against `mcp`"), "{ran:?}");
    }
    let (ran, is_there) = mcp_client(&folder, &makes("exit 0"));
    assert_eq!((ran.code, is_there, ran.stdout.as_str()), (Some(0), true, ""), "{ran:?}");
    // what is there with the same pins is not made again
    let (ran, is_there) = mcp_client(&folder, "exit 1");
    assert_eq!((ran.code, is_there, ran.stdout.as_str()), (Some(0), true, ""), "{ran:?}");
    write(&folder.join("client/requirements.txt"), "mcp==1.0.0\n");
    let (_, is_there) = mcp_client(&folder, "exit 1");
    assert!(!is_there, "other pins are another client");
}
