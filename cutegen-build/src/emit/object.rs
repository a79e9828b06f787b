//! What the archive holds: one relocatable object with every stored cubin as read-only data under the symbol that
//! the wrappers name, and the host kernels' own objects, byte for byte, once it has seen what is in them. Pure: values in,
//! bytes out.

use std::collections::BTreeMap;
use std::path::Path;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::record::Variant;
use cutegen_spec::symbol;
use cutegen_spec::target::Target;
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

use super::{EmitKernel, Error, Package};
use crate::inspect;
use crate::store::LAYOUT;

/// Enough for the driver, and for copies by whole vectors.
const ALIGN: u64 = 16;

/// What is to be archived.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    /// Cubins by symbol, with their digests.
    pub(super) blobs: BTreeMap<String, (&'a [u8], ArtifactDigest)>,
    /// Host objects by digest.
    pub(super) objects: BTreeMap<String, &'a [u8]>,
}

/// Sorts the artifacts of `kernels`; those of one digest are one.
pub(super) fn collect<'a>(package: &Package<'_>, kernels: &[EmitKernel<'a>]) -> Result<Content<'a>, Error> {
    let mut content = Content::default();
    let mut entries = BTreeMap::new();
    for kernel in kernels {
        for (variant, bytes) in kernel.record.variants.iter().zip(kernel.artifacts) {
            if kernel.plan.target.is_host() {
                let entry = entry_of(kernel, variant, bytes)?;
                let stored = variant.artifact.stored;
                if entries.insert(entry, stored).is_some_and(|other| other != stored) {
                    return Err(Error::SymbolTaken { symbol: entry.to_owned() });
                }
                content.objects.insert(stored.to_string(), bytes);
                continue;
            }
            let symbol = symbol::blob(package.name, package.version, &variant.artifact.stored);
            match content.blobs.insert(symbol.clone(), (bytes, variant.artifact.stored)) {
                Some((_, other)) if other != variant.artifact.stored => {
                    return Err(Error::SymbolTaken { symbol });
                }
                Some(_) | None => {}
            }
        }
    }
    Ok(content)
}

/// Whether every host object of an answer may be linked, and has code as compilers write it.
///
/// # Errors
/// As [`emit`](super::emit) has them, and [`Error::Content`] for what its code does.
#[cfg(feature = "search")]
pub fn linkable(kernel: &EmitKernel<'_>) -> Result<(), Error> {
    if !kernel.plan.target.is_host() {
        return Ok(());
    }
    let mut objects = kernel.record.variants.iter().zip(kernel.artifacts);
    objects.try_for_each(|(variant, bytes)| {
        entry_of(kernel, variant, bytes)?;
        inspect::judged(bytes, &entries_of(variant)).map_err(foreign(kernel, variant)).map(drop)
    })
}

fn entries_of(variant: &Variant) -> Vec<String> {
    variant.contract.steps.iter().map(|step| step.entry.clone()).collect()
}

fn foreign(kernel: &EmitKernel<'_>, variant: &Variant) -> impl Fn(Vec<String>) -> Error {
    let kernel = format!("{}, variant `{}`", kernel.plan.title(), variant.name);
    move |problems| Error::Content { kernel: kernel.clone(), problems }
}

/// The entry of a host object, which may hold nothing else that runs or that others see: it is linked into the user's
/// program, whoever vouches for it.
fn entry_of<'a>(kernel: &EmitKernel<'a>, variant: &'a Variant, bytes: &[u8]) -> Result<&'a str, Error> {
    let foreign = foreign(kernel, variant);
    if inspect::object::canonical(bytes, &entries_of(variant)).map_err(&foreign)? != bytes {
        return Err(not_canonical(kernel, variant));
    }
    let entry = variant.contract.steps.first().map_or("", |step| step.entry.as_str());
    if is_ours(entry) { Ok(entry) } else { Err(foreign(vec![format!("its entry is called `{entry}`")])) }
}

fn not_canonical(kernel: &EmitKernel<'_>, variant: &Variant) -> Error {
    let key = kernel.record.key.to_string();
    Error::NotCanonical {
        kernel: format!("{}, variant `{}`", kernel.plan.title(), variant.name),
        path: Path::new(LAYOUT).join(&key[..2]).join(&key).join(&variant.artifact.file),
    }
}

/// `cutegen_` and 16 hex digits: no name that a program or a library has.
fn is_ours(entry: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    entry.strip_prefix("cutegen_").is_some_and(|rest| rest.len() == 16 && rest.bytes().all(is_hex))
}

/// The object that holds the cubins, for a triple.
pub(super) fn write(triple: &str, content: &Content<'_>) -> Result<Vec<u8>, Error> {
    let architecture =
        architecture(triple).ok_or_else(|| Error::Internal(format!("no object for {triple}")))?;
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    for (symbol, (bytes, _)) in &content.blobs {
        add(&mut object, symbol, bytes);
    }
    // Without this section a linker takes the object for one that needs an executable stack.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write().map_err(|error| Error::Internal(error.to_string()))
}

fn add<'a>(object: &mut Object<'a>, symbol: &str, bytes: &'a [u8]) {
    let name = format!(".rodata.{symbol}").into_bytes();
    let section = object.add_section(Vec::new(), name, SectionKind::ReadOnlyData);
    object.set_section_data(section, bytes, ALIGN);
    object.add_symbol(Symbol {
        name: symbol.as_bytes().to_vec(),
        value: 0,
        size: bytes.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
}

/// Whether a build for `triple` links kernels for `target`: a host kernel is of one triple, and a cubin is wrapped in an
/// ELF object.
#[must_use]
pub fn carries(triple: &str, target: &Target) -> bool {
    match target {
        Target::Cuda { .. } => architecture(triple).is_some(),
        Target::Host { triple: compiled, .. } => compiled == triple,
    }
}

fn architecture(triple: &str) -> Option<Architecture> {
    let elf = !["apple", "windows", "wasm", "uefi"].iter().any(|word| triple.contains(word));
    match triple.split('-').next() {
        Some("x86_64") if elf => Some(Architecture::X86_64),
        Some("aarch64") if elf => Some(Architecture::Aarch64),
        _ => None,
    }
}
