//! What `include_kernels!` meets in a crate: no build script, one that does not call `build()`, wrappers of another
//! version, and a runtime with and without its feature `cuda`.

use cutegen_tests::{Ran, must, run, workspace};

use super::fixture::{Crates, manifest, runtime_dependency};

const INCLUDE: &str = "//! A user's crate.\ncutegen_runtime::include_kernels!();\n";

/// The example's wrappers, for CUDA and for the CPU.
fn wrappers() -> String {
    std::fs::read_to_string(workspace().join("tests/golden/example_app.rs")).expect("golden")
}

/// A crate that includes `wrappers`, if any, checked; the lines of its errors.
fn checked(name: &str, files: &[(&str, &str)], wrappers: Option<&str>) -> (Ran, Vec<String>) {
    let mut crates = Crates::new(name);
    let emitted = crates.folder.join("emitted");
    let emitted = wrappers.map(|text| {
        cutegen_tests::write(&emitted.join("kernels.rs"), text);
        emitted.as_path()
    });
    crates.member(name, &manifest(name, "0.1.0", &runtime_dependency("")), files, emitted);
    let ran = run(&mut crates.cargo(&["check", "--quiet"]));
    let errors = ran.stderr.lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect();
    (ran, errors)
}

/// One error, and it says what to do.
fn says_once(said: (Ran, Vec<String>), what: &str) {
    let (ran, errors) = said;
    let told = matches!(errors.as_slice(), [first, last] if first.contains(what) && last.contains("could not compile"));
    assert!(!ran.ok && told, "{}", ran.stderr);
}

#[test]
fn a_crate_without_a_build_script_is_told_to_call_build() {
    let said = checked("no-script", &[("src/lib.rs", INCLUDE)], None);
    says_once(said, "build.rs must call `cutegen_build::build()`");
}

#[test]
fn a_build_script_that_calls_nothing_is_told_to_call_build() {
    let files = [("src/lib.rs", INCLUDE), ("build.rs", "//! Calls nothing.\nfn main() {}\n")];
    says_once(checked("idle-script", &files, None), "build.rs must call `cutegen_build::build()`");
}

#[test]
fn wrappers_of_another_version_are_refused_with_both_names() {
    let other = wrappers().replace("emitted_abi!(4, \"0.1.0\")", "emitted_abi!(5, \"0.2.0\")");
    assert_ne!(other, wrappers());
    let (ran, errors) = checked("other-version", &[("src/lib.rs", INCLUDE)], Some(&other));
    assert!(!ran.ok);
    for part in ["cutegen-build 0.2.0", "give `cutegen-build` and `cutegen-runtime` the same version"] {
        assert!(errors[0].contains(part), "{}", ran.stderr);
    }
}

/// Calls both modules, the one for CUDA behind a feature of its own.
const OPTIONAL: &str = "//! An engine whose CUDA is optional.
#![deny(warnings)]
cutegen_runtime::include_kernels!();

/// What the CPU has.
pub fn on_the_cpu() -> usize {
    kernels::host::explain().len()
}

/// What a device has.
#[cfg(feature = \"cuda\")]
pub fn on_a_device(kernels: &kernels::cuda::Kernels) -> usize {
    kernels.explain().len()
}
";

#[test]
fn cuda_can_be_an_optional_feature_of_a_crate() {
    let mut crates = Crates::new("optional-cuda");
    let emitted = crates.folder.join("emitted");
    cutegen_tests::write(&emitted.join("kernels.rs"), &wrappers());
    let manifest = manifest("optional-cuda", "0.1.0", &runtime_dependency(""));
    let manifest = format!("{manifest}\n[features]\ncuda = [\"cutegen-runtime/cuda\"]\n");
    crates.member("optional-cuda", &manifest, &[("src/lib.rs", OPTIONAL)], Some(&emitted));
    must(&mut crates.cargo(&["check", "--quiet"]));
    must(&mut crates.cargo(&["check", "--quiet", "--features", "cuda"]));
}

#[test]
fn naming_cuda_without_the_feature_names_the_feature() {
    let lib = format!("{INCLUDE}\n/// Forgot the feature.\npub use kernels::cuda::Kernels;\n");
    let (ran, errors) = checked("forgot-cuda", &[("src/lib.rs", &lib)], Some(&wrappers()));
    assert!(!ran.ok && errors.len() == 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("gated behind the `cutegen-runtime/cuda` feature"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}
