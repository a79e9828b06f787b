//! A user's crate outside the workspace, from its first `[kernels]` section to a running program, as the README
//! tells it: the locked build that fails with a command, tune and accept, the build that links, and nothing rerun.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::{
    Ran, cargo_outside, cutegen, install_toolchain, must, outside_target, run, scratch, workspace, write,
};

const KERNEL: &str = r#"
axes      = { m = "1..=64", d = 96 }
inputs    = { x = "f32[m, d]", w = { type = "f32[d]", constant = true } }
outputs   = { y = "f32[m, d]" }
scalars   = { eps = "f32" }
math      = "y[m, d] = rms_norm(d, x[m, d], eps) * w[d]"
workloads = [{ m = 32 }]
"#;

/// Prints the largest error against f64, computed here and not by us.
const MAIN: &str = r#"
use cutegen_runtime::{AsView, AsViewMut};
cutegen_runtime::include_kernels!();

fn main() {
    let (m, d, eps) = (7_usize, 96_usize, 1e-5_f32);
    let x: Vec<f32> = (0..m * d).map(|i| ((i * 37 % 101) as f32 - 50.0) / 25.0).collect();
    let w: Vec<f32> = (0..d).map(|i| 1.0 + (i % 7) as f32 / 8.0).collect();
    let mut y = vec![f32::NAN; m * d];
    let mut workspace = kernels::host::workspace();
    let args = kernels::host::Norm { m, eps, x: x.view([m, d]), w: w.view([d]), y: y.view_mut([m, d]) };
    kernels::host::norm(&mut workspace, args).expect("launches");
    let mut worst = 0.0_f64;
    for i in 0..m {
        let row = &x[i * d..(i + 1) * d];
        let square = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / d as f64;
        for j in 0..d {
            let expected = f64::from(row[j]) / (square + f64::from(eps)).sqrt() * f64::from(w[j]);
            worst = worst.max((f64::from(y[i * d + j]) - expected).abs() / expected.abs().max(1e-3));
        }
    }
    assert!(worst < 1e-5, "relative error {worst}");
    let mut again = vec![f32::NAN; m * d];
    on_threads(&x, &w, &mut again, eps).expect("launches");
    assert!(y.iter().zip(&again).all(|(y, again)| (y - again).abs() <= 1e-6 * y.abs()), "{y:?}\n{again:?}");
    println!("right, runs {}", kernels::host::explain()[0].variants[0].name);
}
"#;

struct UserCrate {
    folder: PathBuf,
    home: PathBuf,
    package: &'static str,
}

impl UserCrate {
    fn new(package: &'static str) -> Self {
        install_toolchain();
        let folder = scratch(package);
        let this = Self { home: folder.join("home"), folder: folder.join("user"), package };
        this.manifest(KERNEL, false);
        write(
            &this.folder.join("build.rs"),
            "//! Replays the kernels.\nfn main() {\n    cutegen_build::build();\n}\n",
        );
        write(&this.folder.join("src/main.rs"), &format!("{MAIN}\n{}", on_threads()));
        this
    }

    fn manifest(&self, kernel: &str, search: bool) {
        let root = workspace();
        let features = if search { ", features = [\"search\"]" } else { "" };
        let text = format!(
            "[package]\nname = {:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             cutegen-runtime = {{ path = {:?} }}\n\n[build-dependencies]\ncutegen-build = {{ path = {:?}{features} }}\n\n\
             [package.metadata.kernels.norm]{kernel}",
            self.package,
            root.join("cutegen-runtime"),
            root.join("cutegen-build"),
        );
        write(&self.folder.join("Cargo.toml"), &text);
    }

    fn cargo(&self, args: &[&str], mode: &str) -> Ran {
        run(cargo_outside(&self.folder)
            .args(args)
            .arg("--offline")
            .env("XDG_CACHE_HOME", &self.home)
            .env("CUTEGEN_MODE", mode))
    }

    fn cutegen(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&self.home);
        command.current_dir(&self.folder).args(args);
        command
    }

    fn lock(&self) -> String {
        std::fs::read_to_string(self.folder.join("cutegen.lock")).expect("a lock")
    }

    /// The artifact digests in the newest `manifest.toml` of its build script.
    fn manifest_digests(&self) -> Vec<String> {
        let builds = std::fs::read_dir(outside_target().join("debug/build")).expect("a build folder");
        let is_ours = |folder: &Path| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.rsplit_once('-').is_some_and(|(package, _)| package == self.package)
        };
        let ours = builds.filter_map(|entry| Some(entry.ok()?.path())).filter(|folder| is_ours(folder));
        let newest = ours
            .map(|folder| folder.join("out/cutegen/manifest.toml"))
            .filter(|path| path.exists())
            .max_by_key(|path| std::fs::metadata(path).and_then(|m| m.modified()).ok())
            .expect("a manifest");
        let text = std::fs::read_to_string(newest).expect("readable");
        text.lines().filter(|line| line.contains("artifact")).map(str::to_owned).collect()
    }
}

/// The guide's function of that name, for the kernel of this crate and blocks of two rows.
fn on_threads() -> String {
    let guide = std::fs::read_to_string(workspace().join("docs/guide.md")).expect("the guide");
    let from = guide.find("fn on_threads(").expect("how to use several threads");
    let code = guide[from..].split("```").next().expect("the end of its block");
    let ours = [("64 * 4096", "2 * 96"), ("4096", "96"), ("rms_norm", "norm"), ("RmsNorm", "Norm")];
    ours.iter().fold(code.to_owned(), |code, (theirs, ours)| code.replace(theirs, ours))
}

/// Whether nothing of the crate was built again.
fn fresh(ran: &Ran) -> bool {
    !ran.stderr.contains("Compiling user-")
}

fn key_of(lock: &str) -> &str {
    lock.lines().find(|line| line.starts_with("key")).expect("a key")
}

#[test]
fn from_a_section_to_a_running_program() {
    let user = UserCrate::new("user-crate");

    let unlocked = user.cargo(&["build"], "locked");
    assert!(!unlocked.ok);
    assert!(unlocked.stderr.contains("run: cargo cutegen lock norm -p user-crate\n"), "{}", unlocked.stderr);
    assert!(!unlocked.stderr.contains("panicked"), "{}", unlocked.stderr);

    let manifest = user.folder.join("Cargo.toml");
    let right = std::fs::read_to_string(&manifest).expect("a manifest");
    write(&manifest, &right.replace("metadata.kernels.norm", "metadata.kernel.norm"));
    let strayed = user.cargo(&["build"], "locked");
    assert!(
        !strayed.ok && strayed.stderr.contains("nothing reads `[package.metadata.kernel.norm]`"),
        "{}",
        strayed.stderr
    );
    assert!(strayed.stderr.contains("expected `[package.metadata.kernels.norm]`"), "{}", strayed.stderr);
    write(&manifest, &right);

    must(&mut user.cutegen(&["tune"]));
    must(&mut user.cutegen(&["accept"]));
    must(&mut user.cutegen(&["check"]));

    let ran = user.cargo(&["run"], "locked");
    assert!(ran.ok && ran.stdout.contains("right, runs "), "{}\n{}", ran.stdout, ran.stderr);
    let again = user.cargo(&["build"], "locked");
    assert!(again.ok && fresh(&again), "{}", again.stderr);

    let key = key_of(&user.lock()).to_owned();
    user.manifest(&KERNEL.replace("axes ", "# a comment\naxes "), false);
    let commented = user.cargo(&["run"], "locked");
    assert!(commented.ok, "{}", commented.stderr);
    must(&mut user.cutegen(&["lock"]));
    assert_eq!(key_of(&user.lock()), key);

    user.manifest(&KERNEL.replace("* w[d]", "+ w[d]"), false);
    let moved = user.cargo(&["build"], "locked");
    assert!(!moved.ok && moved.stderr.contains("math"), "{}", moved.stderr);
    let stale = run(&mut user.cutegen(&["check"]));
    assert_eq!(stale.code, Some(1), "{}", stale.stderr);

    packed_elsewhere(&user);
}

/// The packed crate, unpacked where there is no workspace, builds offline.
fn packed_elsewhere(user: &UserCrate) {
    user.manifest(KERNEL, false);
    let packed = user.cargo(&["package", "--allow-dirty", "--no-verify", "--list"], "locked");
    assert!(packed.ok, "{}", packed.stderr);
    for needed in ["cutegen.lock", "cutegen-store/", "build.rs"] {
        assert!(packed.stdout.contains(needed), "{needed} is not packed:\n{}", packed.stdout);
    }
    let elsewhere = scratch("user-crate-unpacked");
    for file in packed.stdout.lines().filter(|f| !f.ends_with(".orig") && *f != ".cargo_vcs_info.json") {
        let from = user.folder.join(file);
        if from.is_file() {
            let to = elsewhere.join(file);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            std::fs::copy(from, to).expect("copied");
        }
    }
    let there = UserCrate { home: elsewhere.join("no-home"), folder: elsewhere, package: user.package };
    let ran = there.cargo(&["run"], "locked");
    assert!(ran.ok && ran.stdout.contains("right, runs "), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn search_in_the_build_script() {
    let user = UserCrate::new("user-searches");
    let without = user.cargo(&["build"], "search");
    assert!(!without.ok && without.stderr.contains("features = [\"search\"]"), "{}", without.stderr);

    // nothing is that fast, and a build script asks no model
    let unmet = format!(
        "{KERNEL}accept = {{ min-speedup = 1000000 }}\nsearch = {{ generators = [\"template\", \"model\"] }}\n"
    );
    user.manifest(&unmet, true);
    let ran = user.cargo(&["build"], "search");
    let told = "templates have nothing that meets `accept` for norm (host); a build script asks no model";
    assert!(ran.ok && ran.stderr.contains(told), "{}\n{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("run `cargo cutegen tune -p user-searches` with --endpoint NAME"),
        "{}",
        ran.stderr
    );

    user.manifest(KERNEL, true);
    let ran = user.cargo(&["run"], "search");
    assert!(ran.ok && ran.stdout.contains("right, runs "), "{}\n{}", ran.stdout, ran.stderr);
    assert!(
        !user.folder.join("cutegen.lock").exists(),
        "a build script writes only OUT_DIR and the user store"
    );
    let again = user.cargo(&["build"], "search");
    assert!(again.ok && fresh(&again), "{}", again.stderr);
    let searched = user.manifest_digests();

    must(&mut user.cutegen(&["accept"]));
    let locked = user.cargo(&["run"], "locked");
    assert!(locked.ok, "{}", locked.stderr);
    let replayed = user.manifest_digests();
    assert_eq!(searched, replayed);
}
