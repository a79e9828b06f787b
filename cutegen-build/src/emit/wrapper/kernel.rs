//! What the printers of this folder work on: one kernel with its answers on every target, and the names that its
//! wrapper uses.

use std::cell::Cell;
use std::fmt;

use cutegen_spec::axis::Extent;
use cutegen_spec::record::{Record, Variant};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::symbol::{self, Namer};
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
    /// It has, and this build carries nothing for it: on purpose, or because its triple can't.
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
    /// The function that tells whether a device holds all of its blocks, for each variant.
    pub(super) fits: Vec<Name>,
}

/// Identifiers of one wrapper.
#[derive(Debug)]
pub(super) struct Names {
    /// The function.
    pub(super) function: Name,
    /// The argument struct.
    pub(super) arguments: Name,
    /// On CUDA, the entry over raw handles and the workspace that it needs.
    pub(super) raw: Name,
    pub(super) workspace_bytes: Name,
    /// The static that lists what is linked.
    pub(super) entry: Name,
    /// Functions of emitted code alone: the choice of a variant, its workspace, its launch, the math.
    pub(super) variant: Name,
    pub(super) bytes: Name,
    pub(super) dispatch: Name,
    pub(super) fallback: Name,
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
pub(super) struct Name {
    text: String,
    /// Asked once: a name is printed many times.
    is_raw: bool,
}

impl Name {
    fn new(text: String) -> Self {
        Self { is_raw: symbol::is_raw(&text), text }
    }

    /// The identifier; of a keyword its raw form.
    pub(super) fn ident(&self) -> Ident {
        if self.is_raw { Ident::new_raw(&self.text, Span::call_site()) } else { ident(&self.text) }
    }
}

impl ToTokens for Name {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.ident().to_tokens(tokens);
    }
}

impl IdentFragment for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    let mut namer = namer(all.iter().map(|kernel| kernel.plan))?;
    let mut kernels: Vec<Kernel<'a>> = Vec::new();
    for kernel in all {
        let found = kernels.iter().position(|other| other.spec.name == kernel.plan.spec.name);
        let position = found.unwrap_or_else(|| {
            kernels.push(Kernel::bare(kernel.plan, &mut namer));
            kernels.len() - 1
        });
        let is_linked = linked.iter().any(|other| std::ptr::eq(other.plan, kernel.plan));
        let side = kernels[position].side(&kernel.plan.target);
        if !side.is_present() {
            let is_stub = !is_linked && !kernel.plan.target.is_host();
            *side = if is_stub { Side::Stub } else { Side::Answers(Vec::new()) };
        }
        if let (Side::Answers(answers), true) = (side, is_linked) {
            answers.push(answer(package, kernel, &mut namer));
        }
    }
    for kernel in &mut kernels {
        prefer_narrowed(&mut kernel.cuda);
        kernel.name_locals();
    }
    Ok(kernels)
}

/// The kernels of `plans`, without answers.
pub(in crate::emit) fn group_stubs(plans: &[Plan]) -> Result<Vec<Kernel<'_>>, Error> {
    let mut namer = namer(plans)?;
    let mut kernels: Vec<Kernel<'_>> = Vec::new();
    for plan in plans {
        let found = kernels.iter().position(|other| other.spec.name == plan.spec.name);
        let position = found.unwrap_or_else(|| {
            kernels.push(Kernel::bare(plan, &mut namer));
            kernels.len() - 1
        });
        *kernels[position].side(&plan.target) = Side::Stub;
    }
    kernels.iter_mut().for_each(Kernel::name_locals);
    Ok(kernels)
}

/// What gives the items of these kernels their names, once it is sure that users' names differ.
fn namer<'a>(plans: impl IntoIterator<Item = &'a Plan> + Clone) -> Result<Namer, Error> {
    let mut specs: Vec<&KernelSpec> = Vec::new();
    for plan in plans {
        if specs.iter().all(|spec| spec.name != plan.spec.name) {
            specs.push(&plan.spec);
        }
    }
    let collisions = symbol::collisions(&specs);
    if collisions.is_empty() {
        Ok(Namer::new(specs.iter().map(|spec| &spec.name)))
    } else {
        Err(Error::Names(collisions))
    }
}

impl<'a> Kernel<'a> {
    fn bare(plan: &'a Plan, namer: &mut Namer) -> Self {
        let names = Names::new(&plan.spec, namer);
        Self { spec: &plan.spec, plan, names, cuda: Side::Absent, host: Side::Absent }
    }

    fn side(&mut self, target: &Target) -> &mut Side<'a> {
        if target.is_host() { &mut self.host } else { &mut self.cuda }
    }

    /// Names the locals, which must hide none of the functions that bodies call by their plain name: those of `host`.
    fn name_locals(&mut self) {
        let own = [&self.names.variant, &self.names.fallback];
        let functions = self.host.answers().iter().flat_map(|answer| &answer.functions);
        let items: Vec<String> = own.into_iter().chain(functions).map(ToString::to_string).collect();
        self.names.name_locals(&items);
    }
}

fn answer<'a>(package: &Package<'_>, kernel: &EmitKernel<'a>, namer: &mut Namer) -> Answer<'a> {
    let EmitKernel { plan, record, artifacts } = *kernel;
    let blob = |v: &Variant| symbol::blob(package.name, package.version, &v.artifact.stored);
    let prefix = format!("{}_{}", plan.spec.name, word(&short_target(&plan.target)));
    let mut give = |wanted: String| Name::new(namer.give(wanted));
    let functions: Vec<Name> =
        record.variants.iter().map(|variant| give(format!("{prefix}_{}", word(&variant.name)))).collect();
    let fits = functions.iter().map(|function| give(format!("{function}_fits"))).collect();
    let symbols = record.variants.iter().map(blob).collect();
    Answer { target: &plan.target, record, artifacts, symbols, functions, fits }
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

impl Names {
    fn new(spec: &KernelSpec, namer: &mut Namer) -> Self {
        let symbol::Public { function, arguments, raw, workspace_bytes } = symbol::Public::of(&spec.name);
        let mut give = |wanted: String| Name::new(namer.give(wanted));
        let name = &spec.name;
        Self {
            entry: give(name.as_str().to_uppercase()),
            variant: give(format!("{name}_variant")),
            bytes: give(format!("{name}_bytes")),
            dispatch: give(format!("{name}_dispatch")),
            fallback: give(format!("fallback_{name}")),
            function: Name::new(function),
            arguments: Name::new(arguments),
            raw: Name::new(raw),
            workspace_bytes: Name::new(workspace_bytes),
            axes: spec.axes.iter().map(|axis| Name::new(axis.name.clone())).collect(),
            tensors: spec.tensors.iter().map(|tensor| Name::new(tensor.name.clone())).collect(),
            scalars: spec.scalars.iter().map(|scalar| Name::new(scalar.name.clone())).collect(),
            local_axes: Vec::new(),
            local_tensors: Vec::new(),
            local_scalars: Vec::new(),
        }
    }

    /// A local for each field that hides none of `items`.
    fn name_locals(&mut self, items: &[String]) {
        let fields = self.axes.iter().chain(&self.tensors).chain(&self.scalars);
        let fields: Vec<&str> = fields.map(|name| name.text.as_str()).collect();
        let mut locals = symbol::locals(&fields, items).into_iter().map(Name::new);
        self.local_axes = locals.by_ref().take(self.axes.len()).collect();
        self.local_tensors = locals.by_ref().take(self.tensors.len()).collect();
        self.local_scalars = locals.collect();
    }
}
