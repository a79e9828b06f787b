//! A crate that has both our runtime and candle's cudarc: cargo unifies the features of the one cudarc, and the union
//! must compile where no CUDA is installed.

use std::path::Path;
use std::process::Command;

use cutegen_tests::{cargo_outside, must, run, scratch, workspace, write};

/// The features by which candle-core 0.11 asks for cudarc 0.19; it switches the default ones off.
const CANDLE: &[&str] = &[
    "std",
    "cublas",
    "cublaslt",
    "curand",
    "driver",
    "nvrtc",
    "f16",
    "f8",
    "cuda-version-from-build-system",
    "dynamic-linking",
];

#[test]
fn the_runtime_compiles_beside_candles_cudarc() {
    let folder = scratch("candle");
    write(&folder.join("Cargo.toml"), &manifest());
    write(&folder.join("src/lib.rs"), "pub use cudarc::driver::CudaSlice;\npub use cutegen_runtime::cuda;\n");
    let offline = run(command(&folder).arg("--offline"));
    if !offline.ok {
        must(&mut command(&folder));
    }
    let tree = must(cargo_outside(&folder).args(["tree", "--offline", "--prefix", "none"]));
    let mut cudarcs: Vec<&str> = tree.stdout.lines().filter(|line| line.starts_with("cudarc v")).collect();
    cudarcs.iter_mut().for_each(|line| *line = line.trim_end_matches(" (*)"));
    cudarcs.dedup();
    assert_eq!(cudarcs.len(), 1, "one cudarc, or nothing was unified: {}", tree.stdout);
}

fn manifest() -> String {
    format!(
        "[package]\nname = \"beside-candle\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\ncutegen-runtime = {{ path = {:?}, features = [\"cuda\"] }}\n\
         cudarc = {{ version = \"0.19\", default-features = false, features = {CANDLE:?} }}\n",
        workspace().join("cutegen-runtime"),
    )
}

fn command(folder: &Path) -> Command {
    let mut command = cargo_outside(folder);
    command.arg("check");
    command
}
