//! What may be inside a host object: one entry, no code that runs by itself, no calls out but into libc and libm.
//!
//! Every other definition must be local. A weak one (a COMDAT template instance) would be merged with another
//! object's when both are linked, and what ships would no longer be what was measured.

use object::read::elf::{ElfFile64, FileHeader};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind, SymbolSection, elf};

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

/// Functions of libc and libm that a candidate may call.
const CALLABLE: &[&str] = &[
    "memcpy",
    "memset",
    "memmove",
    "exp",
    "expf",
    "exp2",
    "exp2f",
    "expm1",
    "expm1f",
    "log",
    "logf",
    "log2",
    "log2f",
    "log1p",
    "log1pf",
    "log10",
    "log10f",
    "pow",
    "powf",
    "sqrt",
    "sqrtf",
    "cbrt",
    "cbrtf",
    "sin",
    "sinf",
    "cos",
    "cosf",
    "sincos",
    "sincosf",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "sinh",
    "sinhf",
    "cosh",
    "coshf",
    "erf",
    "erff",
    "erfc",
    "erfcf",
    "fmod",
    "fmodf",
    "fma",
    "fmaf",
    "floor",
    "floorf",
    "ceil",
    "ceilf",
    "round",
    "roundf",
    "trunc",
    "truncf",
    "rint",
    "rintf",
    "nearbyint",
    "nearbyintf",
    "lround",
    "lroundf",
    "llround",
    "llroundf",
    "lrint",
    "lrintf",
    "ldexp",
    "ldexpf",
    "scalbn",
    "scalbnf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fabs",
    "fabsf",
    "copysign",
    "copysignf",
    "atan",
    "atanf",
    "atan2",
    "atan2f",
    "lgamma",
    "lgammaf",
    "tgamma",
    "tgammaf",
    "_GLOBAL_OFFSET_TABLE_",
];

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

/// All problems at once, each a sentence for the generator.
pub fn check(bytes: &[u8], entries: &[String]) -> Result<ObjectInfo, Vec<String>> {
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
    if problems.is_empty() { Ok(info(&file, entry)) } else { Err(problems) }
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
    problems
}

fn section_problem<'data>(section: &impl ObjectSection<'data>) -> Option<String> {
    let name = section.name().unwrap_or("?");
    let runs =
        |known: &&str| name.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if SELF_RUNNING.iter().any(runs) {
        return Some(format!("section `{name}`: no constructors, destructors or thread-locals"));
    }
    let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
    if sh_flags.contains(elf::SHF_WRITE) && section.size() > 0 && !name.starts_with(".data.rel.ro") {
        return Some(format!("section `{name}`: no mutable statics, the kernel is called from many threads"));
    }
    if sh_flags.contains(elf::SHF_WRITE) && sh_flags.contains(elf::SHF_EXECINSTR) {
        return Some(format!("section `{name}` is writable code"));
    }
    None
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

fn info(file: &ElfFile64<'_, object::Endianness>, entry: &str) -> ObjectInfo {
    let mut undefined: Vec<String> = file
        .symbols()
        .filter(|symbol| symbol.section() == SymbolSection::Undefined)
        .filter_map(|symbol| symbol.name().ok().filter(|name| !name.is_empty()).map(str::to_owned))
        .collect();
    undefined.sort();
    let code = |section: &object::read::elf::ElfSection64<'_, '_, object::Endianness>| {
        section.kind() == object::SectionKind::Text
    };
    let text_bytes = file.sections().filter(code).map(|section| section.size()).sum();
    ObjectInfo { entry: entry.to_owned(), undefined, text_bytes }
}
