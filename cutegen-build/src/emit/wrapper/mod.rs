//! `kernels.rs`: typed wrappers as token streams, formatted. One module for CUDA and one for the CPU, each with what
//! its kernels share and then kernel by kernel; a kernel's text depends on nothing but that kernel, so kernels are
//! printed side by side on all cores.

mod args;
mod cuda;
mod dispatch;
mod docs;
mod domain;
mod entry;
mod expr;
mod fallback;
mod host;
pub mod kernel;
mod launch;
mod layout;
mod raw;
mod resident;
mod stub;

use proc_macro2::TokenStream;

use super::{Error, Package};
use kernel::{Kernel, Side};

/// What emitted code and cutegen-runtime agree on; when it rises is said at `cutegen_runtime::emitted_abi!`.
const ABI: u32 = 4;

const ALLOW: &str = "\
#[allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, reason = \"emitted code\")]
#[allow(unused, nonstandard_style, unreachable_pub, reason = \"emitted code\")]
#[allow(missing_copy_implementations, unused_qualifications, single_use_lifetimes, reason = \"emitted code\")]
";

/// The text of `kernels.rs`.
pub(super) fn print(package: &Package<'_>, kernels: &[Kernel<'_>]) -> Result<String, Error> {
    let mut text = header(package, kernels);
    text.push_str(&format!(
        "\nself::cutegen_runtime::emitted_abi!({ABI}, \"{}\");\n",
        env!("CARGO_PKG_VERSION")
    ));
    let cuda: Vec<&Kernel<'_>> = kernels.iter().filter(|k| k.cuda.is_present()).collect();
    let host: Vec<&Kernel<'_>> = kernels.iter().filter(|k| k.host.is_present()).collect();
    if !cuda.is_empty() {
        let body = module(cuda::shared(&cuda), &cuda, cuda::kernel)?;
        let docs = format!("/// CUDA kernels for `{}`.\n", targets(&cuda, |k| &k.cuda));
        text.push_str("\nself::cutegen_runtime::cuda_module! {\n");
        text.push_str(&indent(&format!("{docs}{ALLOW}pub mod cuda {{\n{body}}}\n")));
        text.push_str("}\n");
    }
    if !host.is_empty() {
        let body = module(host::shared(&host), &host, host::kernel)?;
        let docs = format!(
            "/// Kernels on the CPU for `{}`, over fallbacks from the math.\n",
            targets(&host, |k| &k.host)
        );
        text.push_str(&format!("\n{docs}{ALLOW}pub mod host {{\n{body}}}\n"));
    }
    Ok(text)
}

fn header(package: &Package<'_>, kernels: &[Kernel<'_>]) -> String {
    let mut text = format!(
        "// Emitted by cutegen {} for package `{}` {}.\n// Not meant to be edited: edit the kernels' specs and build.\n//\n",
        env!("CARGO_PKG_VERSION"),
        package.name,
        package.version
    );
    for kernel in kernels {
        for answer in kernel.cuda.answers().iter().chain(kernel.host.answers()) {
            text.push_str(&format!(
                "// {} on {}: key {}\n",
                kernel.spec.name, answer.target, answer.record.key
            ));
        }
        if matches!((&kernel.cuda, &kernel.host), (Side::Stub, _) | (_, Side::Stub)) {
            text.push_str(&format!("// {}: a stub, without kernels\n", kernel.spec.name));
        }
    }
    text
}

fn targets<'a>(kernels: &'a [&Kernel<'a>], side: impl Fn(&'a Kernel<'a>) -> &'a Side<'a>) -> String {
    let mut names: Vec<String> = Vec::new();
    for kernel in kernels {
        for target in &kernel.spec.targets {
            let name = target.to_string();
            let belongs = target.is_host() == std::ptr::eq(side(kernel), &raw const kernel.host);
            if belongs && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.join("`, `")
}

/// What one kernel adds to a module.
struct Pieces {
    items: Vec<TokenStream>,
    /// Methods of `Kernels`.
    methods: Vec<TokenStream>,
}

/// Formats what is shared and each kernel, and joins them, indented.
fn module(
    shared: TokenStream,
    kernels: &[&Kernel<'_>],
    print: impl Fn(&Kernel<'_>) -> Result<Pieces, Error> + Sync,
) -> Result<String, Error> {
    let mut body = layout::print(shared);
    for text in side_by_side(kernels, |kernel| print(kernel).map(join)) {
        body.push_str("\n\n");
        body.push_str(&text?);
    }
    Ok(indent(&body))
}

fn join(pieces: Pieces) -> String {
    let each = |pieces: Vec<TokenStream>| {
        let printed = pieces.into_iter().filter(|piece| !piece.is_empty()).map(layout::print);
        printed.collect::<Vec<_>>().join("\n\n")
    };
    let items = each(pieces.items);
    if pieces.methods.is_empty() {
        return items;
    }
    format!("{items}\n\nimpl Kernels {{\n{}}}", indent(&each(pieces.methods)))
}

/// `work` on each item, in order, on as many cores as there are.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = items.len().div_ceil(cores).max(1);
    if items.len() <= 2 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let start = |chunk| scope.spawn(move || Vec::from_iter(<[T]>::iter(chunk).map(work)));
        let threads: Vec<_> = items.chunks(share).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<R>>| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().flat_map(join).collect()
    })
}

fn indent(text: &str) -> String {
    let mut indented = String::with_capacity(text.len() + text.len() / 4);
    for line in text.lines() {
        if !line.is_empty() {
            indented.push_str("    ");
            indented.push_str(line);
        }
        indented.push('\n');
    }
    indented
}
