//! The CPU fallback of a kernel as a function: the math in f64, printed by [`crate::print::fallback`], over the
//! positional names that it expects.

use cutegen_spec::tensor::Role;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::expr::number;
use super::kernel::Kernel;
use crate::emit::Error;
use crate::print;

/// `fn fallback_NAME(args, extents)`.
pub(super) fn function(kernel: &Kernel<'_>) -> Result<TokenStream, Error> {
    let (spec, names) = (kernel.spec, &kernel.names);
    let (name, arguments, title) = (&names.fallback, &names.arguments, spec.name.as_str());
    let statements: TokenStream = print::fallback::print(kernel.plan)
        .parse()
        .map_err(|error| Error::Internal(format!("fallback of {}: {error}", spec.name)))?;
    let extents: Vec<_> = (0..spec.axes.len()).map(|i| format_ident!("a{i}")).collect();
    let count = number(extents.len() as i64);
    let tensors = spec.tensors.iter().zip(&names.tensors).enumerate().map(|(i, (tensor, field))| {
        let view = format_ident!("t{i}");
        match tensor.role {
            Role::Input => quote!(let #view = &args.#field;),
            Role::Inout | Role::Output => quote!(let #view = &mut args.#field;),
        }
    });
    let scalars = names.scalars.iter().enumerate().map(|(i, field)| {
        let local = format_ident!("s{i}");
        quote!(let #local = args.#field;)
    });
    Ok(quote! {
        /// The math, in f64, rounded where the spec rounds.
        fn #name(args: &mut #arguments<'_>, [#(#extents),*]: [usize; #count]) -> Result<(), Error> {
            let check = Check::new(#title);
            #(#tensors)* #(#scalars)*
            #statements
            Ok(())
        }
    })
}
