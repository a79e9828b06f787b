//! The statics that list what is linked: for CUDA the cubins with all that loading needs to know of them, for the
//! CPU what `explain` says.

use cutegen_spec::contract::Step;
use cutegen_spec::int_expr::{DeviceProp, IntExpr};
use cutegen_spec::record::{Kind, Variant};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use proc_macro2::TokenStream;
use quote::quote;

use super::expr::{eligibility_text, number};
use super::kernel::{Answer, Kernel, ident, once, short_target};
use super::resident::is_resident;

/// Blocks that a portable cluster has at most.
const CLUSTER_PORTABLE: i64 = 8;

/// `static NAME: KernelEntry`.
pub(super) fn kernel_entry(kernel: &Kernel<'_>) -> TokenStream {
    let (entry, title) = (&kernel.names.entry, kernel.spec.name.as_str());
    let targets = kernel.cuda.answers().iter().map(|answer| once(target(kernel.spec, answer)));
    quote! {
        static #entry: KernelEntry = KernelEntry { kernel: #title, targets: &[#(#targets),*] };
    }
}

/// What `explain` says of a variant whose blocks wait for each other.
const RESIDENT: &str = "the device holds all blocks at once";

/// What `explain` says of a variant that was tuned on this device; of a CPU evidence has no name.
pub(super) fn about(spec: &KernelSpec, variant: &Variant, tuned_on: &str) -> TokenStream {
    let name = &variant.name;
    let origin = ident(match variant.kind {
        Kind::Tuned => "Tuned",
        Kind::Predicted => "Predicted",
        Kind::Naive => "Untuned",
    });
    let eligible = match (eligibility_text(&variant.eligibility, spec), is_resident(variant)) {
        (eligible, false) => eligible,
        (eligible, true) if eligible.is_empty() => RESIDENT.to_owned(),
        (eligible, true) => format!("{eligible} and {RESIDENT}"),
    };
    let preferred = eligibility_text(&variant.prefer, spec);
    quote! {
        Variant {
            name: #name, origin: Origin::#origin, eligible: #eligible, preferred: #preferred, tuned_on: #tuned_on,
        }
    }
}

/// The name of the device that a search timed it on.
fn tuned_on(variant: &Variant) -> &str {
    match (variant.kind, variant.judged()) {
        (Kind::Tuned, Some(evidence)) => evidence.timed_on(),
        (Kind::Tuned, None) | (Kind::Predicted | Kind::Naive, _) => "",
    }
}

fn target(spec: &KernelSpec, answer: &Answer<'_>) -> TokenStream {
    let arch = short_target(answer.target);
    let variants = answer.variants().map(|(i, variant)| once(variant_entry(spec, answer, (i, variant))));
    quote!(TargetEntry { arch: #arch, variants: &[#(#variants),*] })
}

fn variant_entry(
    spec: &KernelSpec,
    answer: &Answer<'_>,
    (position, variant): (usize, &Variant),
) -> TokenStream {
    let about = once(about(spec, variant, tuned_on(variant)));
    let symbol = ident(&answer.symbols[position]);
    let compressed = variant.artifact.file.ends_with(".zst");
    let (sha256, len) = (variant.artifact.artifact.to_string(), number(variant.artifact.bytes as i64));
    let min_driver = number(i64::from(variant.min_driver.unwrap_or(0)));
    let shared_memory = number(i64::from(variant.shared_memory.unwrap_or(0)));
    let most = shared_memory_max(answer.target);
    let steps = variant.contract.steps.iter().map(|s| once(step(spec, s, most)));
    quote! {
        VariantEntry {
            about: #about,
            artifact: Artifact {
                #[doc = " SAFETY: linked from this package's archive, constant, of this length."]
                stored: unsafe_block! { &#symbol },
                compressed: #compressed,
                sha256: #sha256,
                len: #len,
            },
            min_driver: #min_driver,
            shared_memory: #shared_memory,
            steps: &[#(#steps),*],
        }
    }
}

/// What a block may ask for on the target's devices, for functions that may ask for all there is.
fn shared_memory_max(target: &Target) -> i64 {
    match target {
        Target::Cuda { arch, .. } => i64::from(arch.shared_memory_max()),
        Target::Host { .. } => 0,
    }
}

fn step(spec: &KernelSpec, step: &Step, most: i64) -> TokenStream {
    let entry = &step.entry;
    let smem = number(largest(spec, &step.smem, most).unwrap_or(most).clamp(0, most));
    let blocks = step.cluster.iter().map(|count| largest(spec, count, most).unwrap_or(i64::MAX));
    let nonportable = blocks.fold(1_i64, i64::saturating_mul) > CLUSTER_PORTABLE;
    quote!(Step { entry: #entry, dynamic_smem_max: #smem, nonportable_cluster: #nonportable })
}

/// The larger of the values at both ends of the domain.
fn largest(spec: &KernelSpec, expr: &IntExpr, shared_memory: i64) -> Option<i64> {
    use cutegen_spec::axis::{Extent, resolve};
    let device = |prop| (prop == DeviceProp::DeviceSmem).then_some(shared_memory);
    let at = |upper: bool| {
        let bind = |position: usize| match spec.axes[position].extent {
            Extent::Range { lo, hi, .. } => {
                if upper {
                    hi
                } else {
                    lo
                }
            }
            Extent::Const(_) | Extent::Derived(_) => 0,
        };
        expr.eval(&resolve(&spec.axes, &bind)?, &device)
    };
    at(true).max(at(false))
}
