//! What may be inside a host object: one entry, no code that runs by itself, no calls out but into libc and libm. And the form
//! of it that is judged, stored and linked, which has that and nothing else.
//!
//! Only what compilers write is let through: what linkers do with the rest differs, and an object from a store may have been
//! made by hand. What its code does once it is called is not seen here. Every other definition must be local. A weak one (a COMDAT template instance) would be merged with another
//! object's when both are linked, and what ships would no longer be what was measured.

mod callable;
mod canonical;
mod image;

use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind, SymbolSection, elf};

use callable::CALLABLE;
pub(super) use image::Image;
#[cfg(test)]
pub(super) use image::Target;

type ElfSection<'data, 'file> = object::read::elf::ElfSection64<'data, 'file, object::Endianness>;

/// What the inspection read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The symbol to call.
    pub entry: String,
    /// Functions it needs from libc and libm.
    pub undefined: Vec<String>,
    /// Bytes of code.
    pub text_bytes: u64,
}

/// What becomes of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is linked as code.
    Code,
    /// It is linked as constants.
    Constants,
    /// It stays behind.
    Beside,
}

/// Sections whose content runs before `main`, after it, or once per thread.
const SELF_RUNNING: &[&str] = &[
    ".init_array",
    ".preinit_array",
    ".fini_array",
    ".ctors",
    ".dtors",
    ".init",
    ".fini",
    ".tdata",
    ".tbss",
];

/// What a section with a place in memory may be called, and what is behind a dot after `.text` and `.rodata`.
const IN_MEMORY: &[&str] = &[
    ".text",
    ".rodata",
    ".eh_frame",
    ".data",
    ".bss",
    ".data.rel.ro",
    ".data.rel.ro.local",
    ".note.gnu.property",
];

/// The same of others; relocations are `.rela` and a name.
const BESIDE: &[&str] = &[".symtab", ".strtab", ".shstrtab", ".comment", ".note.GNU-stack", ".llvm_addrsig"];

/// Types of sections that linkers only copy, relocate or read names from. Groups, libraries to link and bytecode to
/// compile are none.
const TYPES: [elf::SectionType; 8] = [
    elf::SHT_PROGBITS,
    elf::SHT_NOBITS,
    elf::SHT_NOTE,
    elf::SHT_RELA,
    elf::SHT_SYMTAB,
    elf::SHT_STRTAB,
    elf::SHT_X86_64_UNWIND,
    elf::SectionType(0x6fff_4c03), // SHT_LLVM_ADDRSIG
];

/// Flags of sections of which the same holds.
const FLAGS: [elf::SectionFlags; 6] = [
    elf::SHF_WRITE,
    elf::SHF_ALLOC,
    elf::SHF_EXECINSTR,
    elf::SHF_MERGE,
    elf::SHF_STRINGS,
    elf::SHF_INFO_LINK,
];

/// Relocations of x86-64 that compilers ask for in code: distances of four bytes.
const RELOCATIONS: [elf::RelocationType; 2] = [elf::R_X86_64_PC32, elf::R_X86_64_PLT32];

/// All problems at once, each a sentence for the generator.
pub fn check(bytes: &[u8], entries: &[String]) -> Result<ObjectInfo, Vec<String>> {
    let (image, entry) = read(bytes, entries)?;
    Ok(info(&image, entry))
}

/// The object in the one form that is judged, stored and linked.
///
/// # Errors
/// As [`check`].
pub fn canonical(bytes: &[u8], entries: &[String]) -> Result<Vec<u8>, Vec<String>> {
    let (image, entry) = read(bytes, entries)?;
    Ok(canonical::write(&image, entry))
}

/// The same of what was read.
#[cfg(feature = "search")]
pub(super) fn written(image: &Image, entry: &str) -> Vec<u8> {
    canonical::write(image, entry)
}

/// What is linked of it.
pub(super) fn read<'a>(bytes: &[u8], entries: &'a [String]) -> Result<(Image, &'a str), Vec<String>> {
    let [entry] = entries else {
        return Err(vec![format!("a host object has one entry, not {}", entries.len())]);
    };
    let file = ElfFile64::<object::Endianness>::parse(bytes)
        .map_err(|error| vec![format!("not an ELF object: {error}")])?;
    let mut problems = header_problems(&file);
    problems.extend(file.sections().filter_map(|section| section_problem(&section)));
    problems.extend(file.symbols().filter_map(|symbol| symbol_problem(&symbol, entry)));
    if !file.symbols().any(|symbol| is_entry(&symbol, entry)) {
        problems.push(format!(
            "no function `{entry}`: declare it extern \"C\" with __attribute__((visibility(\"default\"), externally_visible))"
        ));
    }
    if problems.is_empty() { Ok((Image::read(&file, entry)?, entry)) } else { Err(problems) }
}

fn header_problems(file: &ElfFile64<'_, object::Endianness>) -> Vec<String> {
    let (header, endian) = (file.elf_header(), file.endian());
    let mut problems = Vec::new();
    if header.e_type(endian) != elf::ET_REL {
        problems.push("not a relocatable object".to_owned());
    }
    if header.e_machine(endian) != elf::EM_X86_64 {
        problems.push("not for x86-64".to_owned());
    }
    let is_table =
        |section: &ElfSection<'_, '_>| section.elf_section_header().sh_type(endian) == elf::SHT_SYMTAB;
    if file.sections().filter(is_table).count() > 1 {
        problems.push("two symbol tables, of which a linker may read the other".to_owned());
    }
    problems
}

fn section_problem<'data>(section: &impl ObjectSection<'data>) -> Option<String> {
    let Ok(name) = section.name() else { return Some("a section's name is no text".to_owned()) };
    if SELF_RUNNING.iter().any(|known| is_or_begins(name, known)) {
        return Some(format!("section `{name}`: no constructors, destructors or thread-locals"));
    }
    let object::SectionFlags::Elf { sh_type, sh_flags, .. } = section.flags() else { return None };
    if sh_flags.contains(elf::SHF_WRITE) && sh_flags.contains(elf::SHF_EXECINSTR) {
        return Some(format!("section `{name}` is writable code"));
    }
    if [".data.rel.ro", ".data.rel.ro.local"].contains(&name) && section.size() > 0 {
        return Some(format!("section `{name}`: constants may hold numbers, not addresses"));
    }
    if sh_flags.contains(elf::SHF_WRITE) && section.size() > 0 {
        return Some(format!("section `{name}`: no mutable statics, the kernel is called from many threads"));
    }
    let known = if sh_flags.contains(elf::SHF_ALLOC) {
        IN_MEMORY.contains(&name) || [".text", ".rodata"].iter().any(|known| is_or_begins(name, known))
    } else {
        BESIDE.contains(&name) || name.starts_with(".rela.")
    };
    let code = !sh_flags.contains(elf::SHF_EXECINSTR) || is_or_begins(name, ".text");
    let flags = FLAGS.iter().fold(0, |all, flag| all | flag.0);
    if known && code && TYPES.contains(&sh_type) && sh_flags.0 & !flags == 0 {
        return linked_problem(section, name, sh_type);
    }
    Some(format!("section `{name}`: only code, constants and what belongs to them may be linked"))
}

/// `.text`, `.text.unlikely`.
fn is_or_begins(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn kind_of(name: &str) -> Kind {
    match name {
        _ if is_or_begins(name, ".text") => Kind::Code,
        _ if is_or_begins(name, ".rodata") => Kind::Constants,
        _ => Kind::Beside,
    }
}

/// What is linked lies in the file, at no odd place, and only code refers to anything, by distances inside its own section.
fn linked_problem<'data>(
    section: &impl ObjectSection<'data>,
    name: &str,
    sh_type: elf::SectionType,
) -> Option<String> {
    let kind = kind_of(name);
    if kind == Kind::Beside {
        return None;
    }
    if sh_type != elf::SHT_PROGBITS {
        return Some(format!("section `{name}` has no bytes of its own"));
    }
    let align = section.align();
    if align > image::ALIGN || !(align == 0 || align.is_power_of_two()) {
        return Some(format!("section `{name}` is aligned to {align} bytes: at most {}", image::ALIGN));
    }
    if kind == Kind::Constants && section.relocations().next().is_some() {
        return Some(format!("section `{name}`: constants may hold numbers, not addresses"));
    }
    let known = |relocation: &object::Relocation| match relocation.flags() {
        object::RelocationFlags::Elf { r_type } => RELOCATIONS.contains(&r_type),
        _ => false,
    };
    let foreign = section.relocations().any(|(offset, relocation)| {
        let end = offset.checked_add(4).filter(|_| known(&relocation));
        end.is_none_or(|end| end > section.size())
    });
    foreign.then(|| format!("section `{name}` has a relocation that is no distance to code or constants"))
}

fn symbol_problem<'data>(symbol: &impl ObjectSymbol<'data>, entry: &str) -> Option<String> {
    let name = symbol.name().unwrap_or("?");
    if elf_type(symbol) == Some(elf::STT_GNU_IFUNC) {
        return Some(format!("`{name}` is chosen at load time (ifunc): declare one version"));
    }
    if symbol.kind() == SymbolKind::Tls {
        return Some(format!("`{name}` is thread-local"));
    }
    match symbol.section() {
        SymbolSection::Undefined if name.is_empty() || CALLABLE.contains(&name) => None,
        SymbolSection::Undefined => {
            Some(format!("calls `{name}`: only memcpy, memset, memmove and libm may be called"))
        }
        _ if symbol.is_local() || is_entry(symbol, entry) => None,
        _ => Some(format!("`{name}` is visible outside: make everything but `{entry}` local")),
    }
}

fn is_entry<'data>(symbol: &impl ObjectSymbol<'data>, entry: &str) -> bool {
    let defined = matches!(symbol.section(), SymbolSection::Section(_));
    let function = elf_type(symbol) == Some(elf::STT_FUNC);
    symbol.name() == Ok(entry) && defined && function && symbol.is_global() && !symbol.is_weak()
}

fn elf_type<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<elf::SymbolType> {
    match symbol.flags() {
        object::SymbolFlags::Elf { st_info, .. } => Some(st_info.st_type()),
        _ => None,
    }
}

pub(super) fn info(image: &Image, entry: &str) -> ObjectInfo {
    let undefined = image.functions().into_iter().map(str::to_owned).collect();
    ObjectInfo { entry: entry.to_owned(), undefined, text_bytes: image.code.len() as u64 }
}

#[cfg(test)]
mod tests;
