//! Objects that no compiler writes, as linkers read them.

use object::write::{Object, Relocation, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolKind, SymbolScope, elf,
};

use super::check;

const ENTRY: &str = "cutegen_0123456789abcdef";

/// Sixteen bytes of code under [`ENTRY`], a call of `expf`, and what `more` adds.
fn problems(more: impl Fn(&mut Object<'_>, SymbolId)) -> Vec<String> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.section_id(StandardSection::Text);
    object.append_section_data(text, &[0x90; 16], 16);
    let symbol = |name: &str, section| Symbol {
        name: name.as_bytes().to_vec(),
        value: 0,
        size: 16,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    object.add_symbol(symbol(ENTRY, SymbolSection::Section(text)));
    let callee = object.add_symbol(symbol("expf", SymbolSection::Undefined));
    more(&mut object, callee);
    let bytes = object.write().expect("an object");
    check(&bytes, &[ENTRY.to_owned()]).err().unwrap_or_default()
}

fn relocated(offset: u64, r_type: elf::RelocationType) -> Vec<String> {
    problems(|object, symbol| {
        let text = object.section_id(StandardSection::Text);
        let flags = RelocationFlags::Elf { r_type };
        object.add_relocation(text, Relocation { offset, symbol, addend: -4, flags }).expect("added");
    })
}

#[test]
fn relocations_stay_in_their_section_and_are_known() {
    let refused = ["section `.text` has a relocation that compilers don't write"];
    assert_eq!(relocated(12, elf::R_X86_64_PLT32), [""; 0]);
    for offset in [13, 16, 1 << 40, u64::MAX] {
        assert_eq!(relocated(offset, elf::R_X86_64_PLT32), refused, "{offset}");
    }
    assert_eq!((relocated(8, elf::R_X86_64_64), relocated(9, elf::R_X86_64_64).len()), (Vec::new(), 1));
    assert_eq!(relocated(0, elf::R_X86_64_GOTPC32), refused, "it leads to the table of all libraries");
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    let named = problems(|object, _| {
        let section = object.add_section(Vec::new(), b".init_array.\xff".to_vec(), object::SectionKind::Data);
        object.append_section_data(section, &[0; 8], 8);
    });
    assert_eq!(named, ["a section's name is no text"]);
}
