//! Targets by the names of architectures, devices and frameworks.

use super::meant;
use crate::arch::Arch;
use crate::diagnostic::folded;

/// GPUs by other names, and what to declare for them.
const DEVICES: [(Arch, &[&str]); 8] = [
    (Arch::Sm80, &["ampere", "a100", "a800", "a30"]),
    (Arch::Sm86, &["a10", "a16", "a40", "a5000", "a6000", "rtx3080", "rtx3090"]),
    (Arch::Sm89, &["ada", "adalovelace", "lovelace", "l4", "l40", "l40s", "rtx4090", "rtx6000"]),
    (Arch::Sm90a, &["hopper", "h100", "h200", "gh200", "h800", "h20"]),
    (Arch::Sm100f, &["blackwell", "b100", "b200", "gb200", "b300", "gb300"]),
    (Arch::Sm103, &["blackwellultra"]),
    (Arch::Sm120f, &["geforce", "rtx5080", "rtx5090", "rtxpro6000"]),
    (Arch::Sm121, &["gb10", "dgxspark", "spark"]),
];
/// The CPU by other names.
const HOST: [&str; 8] = ["cpu", "x8664", "x86", "x8664v3", "amd64", "native", "avx2", "x8664unknownlinuxgnu"];
/// Architectures and devices that kernels of no target here run on: those before Ampere, and Tegra.
const OTHERS: [&str; 10] =
    ["maxwell", "pascal", "volta", "turing", "v100", "t4", "jetson", "orin", "thor", "tegra"];
/// Ways to compute that no kernel is made for.
const BACKENDS: [&str; 16] = [
    "rocm", "hip", "amdgpu", "gfx90a", "gfx942", "metal", "mps", "vulkan", "spirv", "wgpu", "webgpu",
    "opencl", "xpu", "sycl", "tpu", "npu",
];

/// Parts of triples that no host kernel is made for.
const OTHER_TRIPLES: [&str; 12] = [
    "aarch64", "arm64", "armv", "riscv", "wasm", "apple", "darwin", "windows", "msvc", "musl", "android",
    "ppc64",
];

/// What stands for the target `word`, which is none.
#[must_use]
pub fn target(word: &str) -> Option<String> {
    let plain = folded(word.split(':').next().unwrap_or(word));
    let is = |names: &[&str]| names.contains(&plain.as_str());
    if is(&["cuda", "gpu", "nvidia", "nvptx", "nvptx64", "cuda12", "cuda13"]) {
        return Some("a GPU is named by its architecture: `sm_90a` is Hopper".to_owned());
    }
    if let Some((arch, _)) = DEVICES.iter().find(|(_, names)| is(names)) {
        return Some(suggested(*arch));
    }
    if is(&HOST) {
        return Some("did you mean `host`? it is x86-64-v3 Linux".to_owned());
    }
    let number = ["sm", "compute"].iter().filter_map(|start| plain.strip_prefix(start)).find_map(by_number);
    if number.is_some() || is(&OTHERS) {
        return Some(number.unwrap_or_else(none));
    }
    if is(&BACKENDS) {
        return Some("kernels are made for GPUs of NVIDIA, such as `sm_90a`, and for `host`".to_owned());
    }
    let triple = folded(word);
    if OTHER_TRIPLES.iter().any(|part| triple.contains(part)) {
        return Some(
            "`host` is x86-64-v3 Linux with glibc; on other triples its wrappers run the fallback".to_owned(),
        );
    }
    match word.split_once(':') {
        None => meant(word, Arch::all().map(Arch::name).chain(["host"])),
        Some(_) => None,
    }
}

fn suggested(arch: Arch) -> String {
    let (major, minor) = arch.compute_capability();
    let generation = match (major, minor) {
        (8, 9) => "Ada",
        (8, _) => "Ampere",
        (9, _) => "Hopper",
        _ => "Blackwell",
    };
    format!("did you mean `{}`? it is {generation}, compute capability {major}.{minor}", arch.name())
}

fn none() -> String {
    "no target is for that: there are targets for compute capability 8.0 and newer, and none for Tegra"
        .to_owned()
}

/// For digits and at most one letter after them, as in `89` and `100a`: the architecture of that name, else the one to
/// declare for such devices.
fn by_number(text: &str) -> Option<String> {
    let digits = text.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(text);
    let number: u32 = digits.parse().ok()?;
    let named = Arch::named(&format!("sm_{text}")).filter(|arch| *arch != Arch::Sm90);
    let arch = named.or_else(|| Arch::advised((number / 10, number % 10)));
    Some(arch.map_or_else(none, suggested))
}
