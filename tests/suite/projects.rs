//! Which project a command is about: the nearest manifest, a member by its name, and what is said where nothing is declared.
//! A command that had nothing to do must not read as one that found all well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, write};

/// A kernel that any machine locks in a second.
const KERNEL: &str = "axes = { n = '1..=64' }\ninputs = { x = 'i64[n]' }\noutputs = { y = 'i64[n]' }\n\
                      math = 'y[n] = x[n] + 1'\n";

struct Workspace {
    folder: PathBuf,
}

impl Workspace {
    /// A virtual workspace with members `a` and `b`, which declare `add` each, and `c`, which declares nothing.
    fn new(name: &str) -> Self {
        let this = Self { folder: scratch(name) };
        this.write("Cargo.toml", "[workspace]\nresolver = '3'\nmembers = ['a', 'b', 'c']\n");
        this.member("a", &kernel("add"));
        this.member("b", &kernel("add"));
        this.member("c", "");
        this
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.folder.join(path), text);
    }

    fn member(&self, name: &str, rest: &str) {
        self.write(&format!("{name}/Cargo.toml"), &manifest(&format!("krn-{name}"), rest));
        self.write(&format!("{name}/src/lib.rs"), "//! Nothing.\n");
    }

    fn command(&self, below: &str, args: &[&str]) -> Command {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(self.folder.join(below)).args(args);
        command
    }

    /// What it says where it exits with this code.
    fn exits(&self, below: &str, args: &[&str], code: i32) -> Ran {
        let ran = run(&mut self.command(below, args));
        assert_eq!(ran.code, Some(code), "{args:?} in {below:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    /// Every file that is not one of cargo's.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(&folder).expect("a folder") {
                let path = item.expect("it can be listed").path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.retain(|path| !["Cargo.toml", "Cargo.lock", "lib.rs"].iter().any(|name| path.ends_with(name)));
        found.sort();
        found
    }
}

fn kernel(name: &str) -> String {
    format!("[package.metadata.kernels.{name}]\n{KERNEL}")
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = '{name}'\nversion = '0.1.0'\nedition = '2024'\n\n{rest}")
}

#[test]
fn a_workspace_root_names_the_members_that_declare_kernels() {
    let workspace = Workspace::new("projects-root");
    let members = "./Cargo.toml declares no kernel; members of its workspace that do: krn-a, krn-b\n";
    for args in [
        &["check"][..],
        &["lock"],
        &["lock", "add"],
        &["pack", "--out", "stray.tar.gz"],
        &["tune"],
        &["accept"],
        &["verify"],
        &["bench"],
        &["report", "--out", "stray.html"],
        &["explain", "add"],
        &["run", "add", "--random", "1", "--out", "stray.safetensors"],
    ] {
        let told = workspace.exits("", args, 2).stderr;
        assert!(told.contains(members), "{args:?}: {told}");
        let again = format!("run: cargo cutegen {} -p krn-a\n", args.join(" "));
        assert!(told.ends_with(&again), "{args:?}: {told}");
    }
    let told = workspace.exits("", &["lock", "mul"], 2).stderr;
    assert!(told.contains(members) && told.ends_with("run: cargo cutegen check --workspace\n"), "{told}");
    let told = workspace.exits("c", &["lock", "--json"], 2);
    assert!(told.stderr.ends_with("run: cargo cutegen lock --json -p krn-a\n"), "{}", told.stderr);
    assert!(told.stdout.contains("\"code\":2"), "{}", told.stdout);
    assert_eq!(workspace.files(), Vec::<PathBuf>::new(), "nothing is left");
}

#[test]
fn a_package_alone_says_where_kernels_are_declared() {
    let folder = scratch("projects-alone");
    write(&folder.join("Cargo.toml"), &manifest("alone", "[workspace]\n"));
    write(&folder.join("src/lib.rs"), "//! Nothing.\n");
    let told = |args: &[&str]| {
        let ran = run(cutegen(&folder.join("home")).current_dir(&folder).args(args));
        assert_eq!(ran.code, Some(2), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    for verb in ["check", "lock", "pack"] {
        let told = told(&[verb]);
        assert!(told.starts_with("./Cargo.toml declares no kernel\ndeclare one: "), "{told}");
    }
    write(&folder.join("specs/none.toml"), "edition = 1\n");
    let library = ["--specs", "specs", "--cache", "cache"];
    for verb in ["check", "lock", "pack"] {
        let told = told(&[&[verb][..], &library].concat());
        assert!(told.starts_with("specs declares no kernel\n"), "{told}");
    }
    assert!(!folder.join("cutegen.lock").exists() && !folder.join("cache").exists(), "no stray lock");
}

#[test]
fn the_nearest_manifest_upward_is_the_packages() {
    let workspace = Workspace::new("projects-upward");
    let told = workspace.exits("a/src", &["check"], 1).stderr;
    assert!(told.contains("not in ../cutegen.lock\nrun: cargo cutegen lock add\n"), "{told}");
    // also where a member's folder lies above others
    workspace.write("a/src/deep/er/mod.rs", "//! Nothing.\n");
    let told = workspace.exits("a/src/deep/er", &["check"], 1).stderr;
    assert!(told.contains("not in ../../../cutegen.lock\n"), "{told}");
    let nowhere = run(cutegen(&workspace.folder.join("home")).current_dir("/").arg("check"));
    assert_eq!(nowhere.code, Some(2));
    assert!(
        nowhere.stderr.starts_with("no package here: there is no Cargo.toml in this folder"),
        "{}",
        nowhere.stderr
    );
    let told = run(cutegen(&workspace.folder.join("home")).current_dir("/").args(["explain", "foo"])).stderr;
    assert!(
        told.starts_with("there is neither a kernel nor a code `foo`: no package here: there is"),
        "{told}"
    );
    let told = workspace.exits("", &["check", "--manifest-path", "a"], 2).stderr;
    assert!(told.starts_with("`a` is no Cargo.toml\n"), "{told}");
}

#[test]
fn a_member_is_named_from_anywhere_in_the_workspace() {
    install_toolchain();
    let workspace = Workspace::new("projects-member");
    for (from, place) in [("", "b/"), ("c", "/b/"), ("b/src", "../")] {
        let told = workspace.exits(from, &["check", "-p", "krn-b"], 1).stderr;
        assert!(told.contains(&format!("{place}cutegen.lock\n")), "{from}: {told}");
        assert!(told.ends_with("run: cargo cutegen lock add -p krn-b\n"), "works from {from}: {told}");
    }
    let told = workspace.exits("", &["check", "-p", "krn-d"], 2).stderr;
    let known = "no package `krn-d` in this workspace; members that declare kernels: krn-a, krn-b\n";
    assert!(told.starts_with(known), "{told}");
    let told = workspace.exits("a", &["check", "-p", "krn-c"], 2).stderr;
    assert!(told.ends_with("run: cargo cutegen check -p krn-a\n"), "{told}");

    must(&mut workspace.command("c", &["lock", "add", "-p", "krn-b"]));
    must(&mut workspace.command("", &["check", "-p", "krn-b"]));
    assert!(
        workspace.folder.join("b/cutegen.lock").is_file()
            && !workspace.folder.join("a/cutegen.lock").exists()
    );
}

#[test]
fn a_whole_workspace_is_checked() {
    install_toolchain();
    let workspace = Workspace::new("projects-whole");
    let told = workspace.exits("", &["check", "--workspace"], 1);
    for member in ["krn-a", "krn-b"] {
        assert!(told.stdout.contains(&format!("package {member}\n")), "{}", told.stdout);
        assert!(
            told.stderr.contains(&format!("run: cargo cutegen lock add -p {member}\n")),
            "{}",
            told.stderr
        );
    }
    assert!(!told.stdout.contains("krn-c"), "{}", told.stdout);
    ["krn-a", "krn-b"].iter().for_each(|name| drop(must(&mut workspace.command("", &["lock", "-p", name]))));
    must(&mut workspace.command("c", &["check", "--workspace"]));

    // a member whose last kernel went away still pins one
    workspace.member("b", "");
    let told = workspace.exits("", &["check", "--workspace"], 1).stderr;
    assert!(told.contains("b/cutegen.lock locks what no spec declares: add on host"), "{told}");
    assert!(told.ends_with("run: cargo cutegen lock --prune -p krn-b\n"), "{told}");
}

#[test]
fn a_root_package_does_not_speak_for_its_members() {
    install_toolchain();
    let workspace = Workspace::new("projects-both");
    let root = manifest("root", &format!("[workspace]\nmembers = ['a', 'b', 'c']\n\n{}", kernel("own")));
    workspace.write("Cargo.toml", &root);
    workspace.write("src/lib.rs", "//! Nothing.\n");
    must(&mut workspace.command("", &["lock"]));
    let told = must(&mut workspace.command("", &["check"])).stderr;
    assert_eq!(told, "not checked, of this workspace: krn-a, krn-b\nrun: cargo cutegen check --workspace\n");
    assert_eq!(
        must(&mut workspace.command("", &["check", "own"])).stderr,
        "",
        "that one alone was asked for"
    );
}

#[test]
fn what_no_spec_declares_stays_locked_until_it_is_pruned() {
    install_toolchain();
    let workspace = Workspace::new("projects-prune");
    let both = format!("{}\n{}", kernel("add"), kernel("mul").replace("+ 1", "* 3"));
    workspace.member("a", &both);
    must(&mut workspace.command("a", &["lock"]));
    let lock = || fs::read_to_string(workspace.folder.join("a/cutegen.lock")).expect("a lock");
    let before = lock();

    workspace.member("a", &kernel("add"));
    let undeclared = "./cutegen.lock locks what no spec declares: mul on host";
    for verb in ["lock", "check"] {
        let told = workspace.exits("a", &[verb], 1).stderr;
        assert!(told.starts_with(undeclared), "{told}");
        assert!(told.ends_with("run: cargo cutegen lock --prune\n"), "{told}");
        assert_eq!(lock(), before, "{verb} keeps it");
    }
    must(&mut workspace.command("a", &["lock", "add"]));
    assert_eq!(lock(), before, "a kernel that is named is all that is looked at");
    let told = must(&mut workspace.command("a", &["lock", "--prune"])).stdout;
    assert!(told.starts_with("mul on host") && told.ends_with(": dropped, untuned\n"), "{told}");
    assert!(lock().contains("add") && !lock().contains("mul"));

    workspace.member("a", "");
    let told = workspace.exits("a", &["lock"], 1).stderr;
    assert!(told.starts_with("./cutegen.lock locks what no spec declares: add on host"), "{told}");
    let told = must(&mut workspace.command("a", &["lock", "--prune", "--json"])).stdout;
    assert!(told.contains("\"dropped\":\"add\""), "{told}");
    assert!(!lock().contains("add"), "an empty lock: {}", lock());
    workspace.exits("a", &["lock", "--prune"], 2);
}

#[test]
fn a_table_that_nothing_reads_is_an_error() {
    let workspace = Workspace::new("projects-stray");
    for (found, right) in [
        ("package.metadata.kernel.add", "package.metadata.kernels.add"),
        ("package.metadata.kernals.add", "package.metadata.kernels.add"),
        ("package.metadata.cutegen.kernels.add", "package.metadata.kernels.add"),
    ] {
        workspace.member("a", &format!("[{found}]\n{KERNEL}"));
        for verb in ["check", "lock"] {
            let told = workspace.exits("a", &[verb], 1).stderr;
            assert!(told.starts_with(&format!("error[CG002]: nothing reads `[{found}]`\n")), "{told}");
            assert!(told.contains(&format!("expected `[{right}]`\n")), "{told}");
        }
    }
    assert_eq!(workspace.files(), Vec::<PathBuf>::new(), "nothing is left");
}

#[test]
fn a_kernel_that_is_declared_twice_names_both_places() {
    let workspace = Workspace::new("projects-twice");
    workspace.member("a", &format!("[package.metadata.cutegen]\nspecs = 'specs'\n\n{}", kernel("add")));
    workspace.write("a/specs/deep/one.toml", &format!("edition = 1\n\n[kernels.add]\n{KERNEL}"));
    let told = workspace.exits("a", &["check"], 1).stderr;
    assert!(told.contains("kernel `add` is declared in two files"), "{told}");
    assert!(told.contains("specs/deep/one.toml:3:10\n"), "{told}");
    assert!(told.contains("first declared at Cargo.toml:9\n"), "{told}");

    workspace.member("a", &format!("{}\n[kernels.add]\n{KERNEL}", kernel("add")));
    let told = workspace.exits("a", &["check"], 1).stderr;
    assert!(told.contains("Cargo.toml:12:10\n") && told.contains("first declared in line 6\n"), "{told}");
}

#[test]
fn many_kernels_that_are_not_locked_share_a_line() {
    let workspace = Workspace::new("projects-many");
    let kernels: Vec<String> = (0..13).map(|at| kernel(&format!("k{at:02}"))).collect();
    workspace.member("a", &kernels.join("\n"));
    let told = workspace.exits("", &["check", "-p", "krn-a"], 1).stderr;
    let expected = "13 kernels are not in a/cutegen.lock: k00, k01, k02, k03 and 9 more\nrun: cargo cutegen lock -p krn-a\n";
    assert_eq!(told, expected);
    let told = workspace.exits("a", &["check", "k03", "k05"], 1).stderr;
    assert!(told.ends_with("\nrun: cargo cutegen lock k03 k05\n"), "{told}");
}

#[test]
fn a_damaged_entry_that_git_does_not_have_is_locked_again() {
    install_toolchain();
    let workspace = Workspace::new("projects-damaged");
    must(&mut workspace.command("a", &["lock"]));
    for (file, what) in
        [("naive.o", "its entry cannot be used"), ("naive.cpp", "its sources cannot be trusted")]
    {
        let damaged = workspace.files().into_iter().find(|path| path.ends_with(file)).expect("a file");
        fs::write(&damaged, b"x").expect("damaged");
        let told = workspace.exits("a", &["check"], 1).stderr;
        assert!(told.contains(what), "{told}");
        let advice = told
            .split_once("  if it was never committed, run: cargo cutegen lock add\nrun: git checkout -- ");
        let entry = Path::new(advice.expect(&told).1.trim_end()).strip_prefix(".").expect("here");
        assert!(damaged.starts_with(workspace.folder.join("a").join(entry)), "{told}");
        must(&mut workspace.command("a", &["lock", "add"]));
        must(&mut workspace.command("a", &["check"]));
    }
}
