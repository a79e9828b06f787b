//! Targets by the names of architectures, devices and frameworks.

use super::meant;
use crate::diagnostic::folded;

/// GPUs by other names that have compute capability 9.0.
const HOPPER: [&str; 9] =
    ["hopper", "h100", "h200", "gh200", "h800", "h20", "sm90", "compute90", "compute90a"];
/// The CPU by other names.
const HOST: [&str; 8] = ["cpu", "x8664", "x86", "x8664v3", "amd64", "native", "avx2", "x8664unknownlinuxgnu"];
/// Architectures and devices that kernels of no target here run on.
const OTHERS: [&str; 24] = [
    "volta",
    "turing",
    "ampere",
    "ada",
    "adalovelace",
    "lovelace",
    "blackwell",
    "v100",
    "t4",
    "a10",
    "a100",
    "a800",
    "l4",
    "l40",
    "l40s",
    "b100",
    "b200",
    "gb200",
    "rtx3090",
    "rtx4090",
    "rtx5090",
    "rtx6000",
    "jetson",
    "orin",
];
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
    const ONLY: &str =
        "`sm_90a`, Hopper, is the only GPU architecture of this version, and its kernels run on no other";
    let plain = folded(word.split(':').next().unwrap_or(word));
    let is = |names: &[&str]| names.contains(&plain.as_str());
    if is(&["cuda", "gpu", "nvidia", "nvptx", "nvptx64", "cuda12", "cuda13"]) {
        return Some("a GPU is named by its architecture: `sm_90a` is Hopper".to_owned());
    }
    if is(&HOPPER) {
        return Some("did you mean `sm_90a`? it is Hopper, compute capability 9.0".to_owned());
    }
    if is(&HOST) {
        return Some("did you mean `host`? it is x86-64-v3 Linux".to_owned());
    }
    let architecture = ["sm", "compute"].iter().filter_map(|start| plain.strip_prefix(start));
    if is(&OTHERS) || architecture.into_iter().any(is_number) {
        return Some(ONLY.to_owned());
    }
    if is(&BACKENDS) {
        return Some("kernels are made for `sm_90a`, which is Hopper, and for `host`".to_owned());
    }
    let triple = folded(word);
    if OTHER_TRIPLES.iter().any(|part| triple.contains(part)) {
        return Some(
            "`host` is x86-64-v3 Linux with glibc; on other triples its wrappers run the fallback".to_owned(),
        );
    }
    match word.split_once(':') {
        None => meant(word, ["host", "sm_90a"]),
        Some(_) => None,
    }
}

/// Digits, and at most one letter after them, as in `89` and `100a`, but no slip of `90a`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(text);
    digits != "90" && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
