//! What a variant asks of the device before it is chosen: that all blocks that wait for each other are held at once, and
//! shared memory that not every device has. On a smaller device than it was tuned on the next variant is chosen.

use cutegen_spec::record::Variant;
use proc_macro2::TokenStream;
use quote::quote;

use super::args::doc;
use super::expr::number;
use super::kernel::{Answer, Kernel, once, short_target};
use super::launch::{config, device_properties};

/// Whether blocks of a launch wait for each other, which takes a device that holds them all.
pub(super) fn is_resident(variant: &Variant) -> bool {
    variant.contract.steps.iter().any(|step| step.co_resident)
}

/// Bytes of shared memory that a block can have on every device since compute capability 8.0: what 8.6 gives it.
const SHARED_MEMORY_EVERYWHERE: u32 = 99 << 10;

/// What a variant asks of the device, its open axes being in scope; none for most.
pub(super) fn condition(
    kernel: &Kernel<'_>,
    answer: &Answer<'_>,
    position: usize,
    open: &TokenStream,
) -> Option<TokenStream> {
    let (function, name) = (&kernel.names.function, &answer.fits[position]);
    let variant = &answer.record.variants[position];
    let is_large = variant.shared_memory.is_some_and(|bytes| bytes > SHARED_MEMORY_EVERYWHERE);
    let at = number(position as i64);
    let has_room = is_large.then(|| quote!(self.#function.fits(#at)));
    let is_held = is_resident(variant).then(|| quote!(self.#name(#open)));
    has_room.into_iter().chain(is_held).reduce(|all, one| quote!(#all && #one))
}

/// The functions that tell whether the device holds all blocks of such a variant.
pub(super) fn fits(kernel: &Kernel<'_>) -> Vec<TokenStream> {
    let every = kernel.cuda.answers().iter().flat_map(|a| a.variants().map(move |variant| (a, variant)));
    let waiting = every.filter(|(_, (_, variant))| is_resident(variant));
    waiting.map(|(answer, variant)| fits_one(kernel, answer, variant)).collect()
}

fn fits_one(kernel: &Kernel<'_>, answer: &Answer<'_>, (position, variant): (usize, &Variant)) -> TokenStream {
    let (name, title) = (&answer.fits[position], kernel.spec.name.as_str());
    let target = short_target(answer.target);
    let docs = doc(&[&format!(
        "Whether the device holds all blocks of variant {position} for `{target}`, `{}`, at once.",
        variant.name
    )]);
    let function = &kernel.names.function;
    let axes = kernel.open_axes().map(|i| &kernel.names.local_axes[i]);
    let device = device_properties(kernel, &variant.contract);
    let waiting = variant.contract.steps.iter().enumerate().filter(|(_, step)| step.co_resident);
    let steps = waiting.map(|(i, step)| {
        let (config, [position, i]) =
            (config(kernel, (position, i), step), [position, i].map(|n| number(n as i64)));
        once(quote!(#config self.#function.all_resident(#position, #i, &config)?;))
    });
    let [docs, device] = [docs, device].map(once);
    quote! {
        #docs
        fn #name(&self, #(#axes: usize,)*) -> bool {
            let fits = || -> Result<(), Error> {
                let check = Check::new(#title);
                #device #(#steps)*
                Ok(())
            };
            fits().is_ok()
        }
    }
}
