//! What the printers of this folder work on: one kernel with its answers on every target, and the names that its
//! wrapper uses.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use cutegen_spec::axis::Extent;
use cutegen_spec::record::{Record, Variant};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::symbol;
use cutegen_spec::target::Target;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{IdentFragment, ToTokens};

use super::super::{EmitKernel, Error, Package};
use crate::plan::Plan;

/// One kernel, on all its targets.
#[derive(Debug)]
pub(in crate::emit) struct Kernel<'a> {
    pub(super) spec: &'a KernelSpec,
    pub(super) plan: &'a Plan,
    pub(super) names: Names,
    pub(super) cuda: Side<'a>,
    pub(super) host: Side<'a>,
}

/// What there is for one of the two modules.
#[derive(Debug)]
pub(super) enum Side<'a> {
    /// The kernel has no such target.
    Absent,
    /// It has, and this build carries nothing for it on purpose.
    Stub,
    /// Answers in the order in which targets are preferred; on `host` there may be none that links.
    Answers(Vec<Answer<'a>>),
}

/// The answer for one target.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) target: &'a Target,
    pub(super) record: &'a Record,
    pub(super) artifacts: &'a [Vec<u8>],
    /// The symbol of each variant's cubin.
    pub(super) symbols: Vec<String>,
    /// The wrapper's function for each variant.
    pub(super) functions: Vec<Name>,
}

/// Identifiers of one wrapper.
#[derive(Debug)]
pub(super) struct Names {
    /// The function.
    pub(super) function: Name,
    /// The argument struct.
    pub(super) arguments: Name,
    /// The static that lists what is linked.
    pub(super) entry: Name,
    /// Fields: axes (by position; constant ones have none), tensors, scalars.
    pub(super) axes: Vec<Name>,
    pub(super) tensors: Vec<Name>,
    pub(super) scalars: Vec<Name>,
    /// The same as local names of functions that have locals of their own.
    pub(super) local_axes: Vec<Name>,
    pub(super) local_tensors: Vec<Name>,
    pub(super) local_scalars: Vec<Name>,
}

/// An identifier that may go to another thread, which [`Ident`] may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

impl ToTokens for Name {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        ident(&self.0).to_tokens(tokens);
    }
}

impl IdentFragment for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Answer<'_> {
    pub(super) fn variants(&self) -> impl Iterator<Item = (usize, &Variant)> {
        self.record.variants.iter().enumerate()
    }
}

impl Side<'_> {
    pub(super) fn is_present(&self) -> bool {
        !matches!(self, Side::Absent)
    }

    pub(super) fn answers(&self) -> &[Answer<'_>] {
        match self {
            Side::Answers(answers) => answers,
            Side::Absent | Side::Stub => &[],
        }
    }
}

impl Kernel<'_> {
    /// Positions of the axes that generated functions take: those whose extent isn't known here.
    pub(super) fn open_axes(&self) -> impl Iterator<Item = usize> + '_ {
        let open = |axis: &cutegen_spec::axis::Axis| !matches!(axis.extent, Extent::Const(_));
        self.spec.axes.iter().enumerate().filter(move |(_, axis)| open(axis)).map(|(i, _)| i)
    }

    /// Positions of the axes that are computed from others at run time.
    pub(super) fn derived_axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.open_axes().filter(|i| !self.spec.axes[*i].is_run_time())
    }
}

/// Groups `all` by kernel, in order of first appearance, with what of it is `linked`.
pub(in crate::emit) fn group<'a>(
    package: &Package<'_>,
    all: &[EmitKernel<'a>],
    linked: &[EmitKernel<'a>],
) -> Result<Vec<Kernel<'a>>, Error> {
    let mut kernels: Vec<Kernel<'a>> = Vec::new();
    for kernel in all {
        let found = kernels.iter().position(|other| other.spec.name == kernel.plan.spec.name);
        let position = found.unwrap_or_else(|| {
            kernels.push(Kernel::bare(kernel.plan));
            kernels.len() - 1
        });
        let is_linked = linked.iter().any(|other| std::ptr::eq(other.plan, kernel.plan));
        let side = kernels[position].side(&kernel.plan.target);
        if !side.is_present() {
            *side = Side::Answers(Vec::new());
        }
        if let (Side::Answers(answers), true) = (side, is_linked) {
            answers.push(answer(package, kernel));
        }
    }
    for kernel in &mut kernels {
        prefer_narrowed(&mut kernel.cuda);
    }
    check_names(&kernels)?;
    Ok(kernels)
}

/// The kernels of `plans`, without answers.
pub(in crate::emit) fn group_stubs(plans: &[Plan]) -> Result<Vec<Kernel<'_>>, Error> {
    let mut kernels: Vec<Kernel<'_>> = Vec::new();
    for plan in plans {
        let found = kernels.iter().position(|other| other.spec.name == plan.spec.name);
        let position = found.unwrap_or_else(|| {
            kernels.push(Kernel::bare(plan));
            kernels.len() - 1
        });
        *kernels[position].side(&plan.target) = Side::Stub;
    }
    check_names(&kernels)?;
    Ok(kernels)
}

impl<'a> Kernel<'a> {
    fn bare(plan: &'a Plan) -> Self {
        let names = Names::new(&plan.spec);
        Self { spec: &plan.spec, plan, names, cuda: Side::Absent, host: Side::Absent }
    }

    fn side(&mut self, target: &Target) -> &mut Side<'a> {
        if target.is_host() { &mut self.host } else { &mut self.cuda }
    }
}

fn answer<'a>(package: &Package<'_>, kernel: &EmitKernel<'a>) -> Answer<'a> {
    let EmitKernel { plan, record, artifacts } = *kernel;
    let blob = |v: &Variant| symbol::blob(package.name, package.version, &record.key, &v.name);
    let prefix = format!("{}_{}", plan.spec.name, word(&short_target(&plan.target)));
    let mut functions: Vec<Name> = Vec::new();
    for (i, variant) in record.variants.iter().enumerate() {
        let plain = Name(format!("{prefix}_{}", word(&variant.name)));
        let taken = functions.contains(&plain);
        functions.push(if taken { Name(format!("{plain}_{i}")) } else { plain });
    }
    let symbols = record.variants.iter().map(blob).collect();
    Answer { target: &plan.target, record, artifacts, symbols, functions }
}

/// A target narrowed to a device is tried before the whole architecture.
fn prefer_narrowed(side: &mut Side<'_>) {
    let whole = |answer: &Answer<'_>| matches!(answer.target, Target::Cuda { device: None, .. });
    if let Side::Answers(answers) = side {
        answers.sort_by_key(whole);
    }
}

/// `sm_90a`, `sm_90a:h200` or `host`.
pub(super) fn short_target(target: &Target) -> String {
    if target.is_host() { "host".to_owned() } else { target.to_string() }
}

fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// Tokens to be interpolated once, which moves them; `quote!` would copy each.
pub(super) struct Once(Cell<TokenStream>);

/// For interpolation in one place, not in a repetition.
pub(super) fn once(tokens: TokenStream) -> Once {
    Once(Cell::new(tokens))
}

impl ToTokens for Once {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.take());
    }
}

pub(super) fn ident(text: &str) -> Ident {
    Ident::new(text, Span::call_site())
}

/// Locals and functions of generated bodies, which an axis or tensor must not hide.
const LOCALS: &str = "self stream workspace args check variant bytes order launched config params scratch cpu rt device any_zero \
                      all_aligned call sm_count max_active_clusters max_blocks_per_sm device_smem";
const LOCAL_PREFIXES: [&str; 4] = ["param_", "bound_", "part_", "fallback_"];

impl Names {
    fn new(spec: &KernelSpec) -> Self {
        let axes: Vec<&str> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
        let tensors: Vec<&str> = spec.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        let scalars: Vec<&str> = spec.scalars.iter().map(|scalar| scalar.name.as_str()).collect();
        let all: Vec<&str> = [&axes[..], &tensors[..], &scalars[..]].concat();
        let fields = |names: &[&str]| names.iter().map(|name| Name((*name).to_owned())).collect();
        let locals = |names: &[&str]| names.iter().map(|name| Name(local(name, &all))).collect();
        Self {
            function: Name(spec.name.to_string()),
            arguments: Name(symbol::argument_struct(&spec.name)),
            entry: Name(spec.name.as_str().to_uppercase()),
            axes: fields(&axes),
            tensors: fields(&tensors),
            scalars: fields(&scalars),
            local_axes: locals(&axes),
            local_tensors: locals(&tensors),
            local_scalars: locals(&scalars),
        }
    }
}

/// `name`, with as many underscores as it takes to hide nothing.
fn local(name: &str, all: &[&str]) -> String {
    let reserved = |text: &str| {
        LOCALS.split_whitespace().any(|word| word == text)
            || LOCAL_PREFIXES.iter().any(|p| text.starts_with(p))
    };
    if !reserved(name) {
        return name.to_owned();
    }
    let mut longer = format!("its_{name}");
    while all.contains(&longer.as_str()) {
        longer.push('_');
    }
    longer
}

/// Types that generated modules import.
const TYPES: &str = "Artifact Arc Bf16 CUdeviceptr CUstream Check CudaContext CudaStream CudaView CudaViewMut Device \
                     Err Error Explain Int Kernels KernelEntry LaunchConfig LoadedKernel None Ok Option Order Origin \
                     Result Self Some Step TargetEntry Variant VariantEntry Vec View ViewMut Workspace";
const FUNCTIONS: &str = "all_aligned any_zero call explain load workspace";

/// Every emitted item has a name of its own.
fn check_names(kernels: &[Kernel<'_>]) -> Result<(), Error> {
    let mut types = Taken::new(TYPES);
    let mut values = Taken::new(FUNCTIONS);
    for kernel in kernels {
        types.take(kernel, kernel.names.arguments.to_string())?;
        values_of(kernel).into_iter().try_for_each(|value| values.take(kernel, value))?;
    }
    Ok(())
}

/// Names of one of Rust's namespaces, and who has them.
struct Taken(BTreeMap<String, String>);

impl Taken {
    fn new(words: &str) -> Self {
        let every = || "every emitted module".to_owned();
        Self(words.split_whitespace().map(|word| (word.to_owned(), every())).collect())
    }

    fn take(&mut self, kernel: &Kernel<'_>, item: String) -> Result<(), Error> {
        match self.0.insert(item.clone(), format!("kernel `{}`", kernel.spec.name)) {
            Some(by) => Err(Error::NameTaken { kernel: kernel.spec.name.to_string(), item, by }),
            None => Ok(()),
        }
    }
}

fn values_of(kernel: &Kernel<'_>) -> Vec<String> {
    let name = kernel.spec.name.as_str();
    let answers = kernel.cuda.answers().iter().chain(kernel.host.answers());
    let mut values = vec![name.to_owned(), kernel.names.entry.to_string(), format!("fallback_{name}")];
    let methods = ["raw", "variant", "bytes", "dispatch", "workspace_bytes"];
    values.extend(methods.map(|suffix| format!("{name}_{suffix}")));
    values.extend(answers.flat_map(|answer| answer.functions.iter().map(ToString::to_string)));
    values
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn locals_hide_nothing() {
        assert_eq!(local("x", &["x"]), "x");
        assert_eq!(local("stream", &["stream", "its_stream"]), "its_stream_");
        assert_eq!(local("param_n", &["param_n"]), "its_param_n");
    }
}
