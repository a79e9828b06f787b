//! The one object in which a kernel is judged, stored and linked: written by us, from what was read in a compiler's. The same
//! image gives the same bytes, whatever compiler, linker or crate there is.
//!
//! Eight sections, always these, in this order. Nothing in it runs by itself, nothing is merged, and no note asks a linker for
//! anything but a stack that is not executable.

use object::elf;

use super::image::{ALIGN, Image, Target};

/// Sections by their numbers.
const NAMES: [&str; 8] =
    ["", ".text", ".rela.text", ".rodata", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab"];
const TEXT: u16 = 1;
const CONSTANTS: u16 = 3;
const SYMBOLS: u32 = 5;
const STRINGS: u32 = 6;
const NAMES_AT: u16 = 7;

/// Symbols: one that is none, the constants, the entry, then functions of libraries.
const CONSTANTS_SYMBOL: u64 = 1;
const ENTRY_SYMBOL: u32 = 2;

const HEADER_BYTES: u64 = 64;
const SYMBOL_BYTES: u64 = 24;
const RELOCATION_BYTES: u64 = 24;

/// A section with its bytes.
#[derive(Default)]
struct Section {
    r#type: u32,
    flags: u64,
    bytes: Vec<u8>,
    link: u32,
    info: u32,
    align: u64,
    each: u64,
}

/// An object of `image` under the name `entry`.
pub(super) fn write(image: &Image, entry: &str) -> Vec<u8> {
    let functions = image.functions();
    let (symbols, strings) = symbols(image, entry, &functions);
    let in_memory = elf::SHF_ALLOC.0;
    let sections = [
        Section::default(),
        Section {
            flags: in_memory | elf::SHF_EXECINSTR.0,
            align: ALIGN,
            ..plain(elf::SHT_PROGBITS, image.code.clone())
        },
        Section {
            flags: elf::SHF_INFO_LINK.0,
            link: SYMBOLS,
            info: u32::from(TEXT),
            each: RELOCATION_BYTES,
            align: 8,
            ..plain(elf::SHT_RELA, relocations(image, &functions))
        },
        Section { flags: in_memory, align: ALIGN, ..plain(elf::SHT_PROGBITS, image.constants.clone()) },
        plain(elf::SHT_PROGBITS, Vec::new()),
        Section {
            link: STRINGS,
            info: ENTRY_SYMBOL, // the first that is not local
            each: SYMBOL_BYTES,
            align: 8,
            ..plain(elf::SHT_SYMTAB, symbols)
        },
        plain(elf::SHT_STRTAB, strings),
        plain(elf::SHT_STRTAB, text(&NAMES[1..])),
    ];
    assemble(&sections)
}

fn plain(r#type: elf::SectionType, bytes: Vec<u8>) -> Section {
    Section { r#type: r#type.0, bytes, align: 1, ..Section::default() }
}

/// Names one after another, each behind a zero.
fn text(names: &[&str]) -> Vec<u8> {
    let ended = names.iter().flat_map(|name| name.bytes().chain([0]));
    [0].into_iter().chain(ended).collect()
}

/// Where a name stands in [`text`].
fn place_of(names: &[&str], at: usize) -> u32 {
    1 + names[..at].iter().map(|name| name.len() as u32 + 1).sum::<u32>()
}

fn symbols(image: &Image, entry: &str, functions: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let names: Vec<&str> = std::iter::once(entry).chain(functions.iter().copied()).collect();
    let global = |r#type: elf::SymbolType| elf::STB_GLOBAL.0 << 4 | r#type.0;
    let mut out = Vec::new();
    symbol(&mut out, 0, 0, 0, (0, 0));
    symbol(&mut out, 0, elf::STB_LOCAL.0 << 4 | elf::STT_SECTION.0, CONSTANTS, (0, 0));
    let (at, bytes) = (u64::from(image.entry), u64::from(image.entry_bytes));
    symbol(&mut out, place_of(&names, 0), global(elf::STT_FUNC), TEXT, (at, bytes));
    for index in 1..names.len() {
        symbol(&mut out, place_of(&names, index), global(elf::STT_NOTYPE), 0, (0, 0));
    }
    (out, text(&names))
}

fn symbol(out: &mut Vec<u8>, name: u32, info: u8, section: u16, (value, size): (u64, u64)) {
    out.extend(name.to_le_bytes());
    out.extend([info, elf::STV_DEFAULT.0]);
    out.extend(section.to_le_bytes());
    out.extend(value.to_le_bytes());
    out.extend(size.to_le_bytes());
}

fn relocations(image: &Image, functions: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, target) in &image.fixes {
        let (symbol, r#type, addend) = match target {
            Target::Function(name) => {
                let index = functions.iter().position(|known| known == name).unwrap_or_default();
                (u64::from(ENTRY_SYMBOL) + 1 + index as u64, elf::R_X86_64_PLT32, -4)
            }
            Target::Constant(place) => (CONSTANTS_SYMBOL, elf::R_X86_64_PC32, i64::from(*place)),
        };
        out.extend(u64::from(*at).to_le_bytes());
        out.extend((symbol << 32 | u64::from(r#type.0)).to_le_bytes());
        out.extend(addend.to_le_bytes());
    }
    out
}

/// Header, sections in their order, and the table of sections behind them.
fn assemble(sections: &[Section]) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES as usize];
    let mut table = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        if number > 0 {
            out.resize(out.len().next_multiple_of(section.align as usize), 0);
        }
        let offset = if number == 0 { 0 } else { out.len() as u64 };
        let name = if number == 0 { 0 } else { place_of(&NAMES[1..], number - 1) };
        table.extend(name.to_le_bytes());
        table.extend(section.r#type.to_le_bytes());
        table.extend(section.flags.to_le_bytes());
        table.extend(0u64.to_le_bytes()); // no address before it is linked
        table.extend(offset.to_le_bytes());
        table.extend((section.bytes.len() as u64).to_le_bytes());
        table.extend(section.link.to_le_bytes());
        table.extend(section.info.to_le_bytes());
        table.extend(section.align.to_le_bytes());
        table.extend(section.each.to_le_bytes());
        out.extend_from_slice(&section.bytes);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let header = header(out.len() as u64);
    out[..header.len()].copy_from_slice(&header);
    out.extend(table);
    out
}

fn header(table_at: u64) -> Vec<u8> {
    let mut out = b"\x7fELF".to_vec();
    out.extend([elf::ELFCLASS64.0, elf::ELFDATA2LSB.0, elf::EV_CURRENT.0]);
    out.resize(16, 0); // the system's own interface
    out.extend(elf::ET_REL.0.to_le_bytes());
    out.extend(elf::EM_X86_64.0.to_le_bytes());
    out.extend(u32::from(elf::EV_CURRENT.0).to_le_bytes());
    out.extend([0; 16]); // no address to begin at, no segments
    out.extend(table_at.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    for half in [HEADER_BYTES as u16, 0, 0, HEADER_BYTES as u16, NAMES.len() as u16, NAMES_AT] {
        out.extend(half.to_le_bytes());
    }
    out
}
