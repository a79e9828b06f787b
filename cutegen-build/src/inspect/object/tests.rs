//! Objects that no compiler writes, as linkers read them.

use object::write::{Object, Relocation, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectSection as _, ObjectSymbol as _,
    RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};

use super::check;

const ENTRY: &str = "cutegen_0123456789abcdef";

/// What is said of [`object_of`].
fn problems(more: impl Fn(&mut Object<'_>, SymbolId)) -> Vec<String> {
    check(&object_of(more), &[ENTRY.to_owned()]).err().unwrap_or_default()
}

/// Sixteen bytes of code under [`ENTRY`], a call of `expf`, and what `more` adds.
fn object_of(more: impl Fn(&mut Object<'_>, SymbolId)) -> Vec<u8> {
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
    object.write().expect("an object")
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
    let refused = ["section `.text` has a relocation that is no distance to code or constants"];
    assert_eq!(relocated(12, elf::R_X86_64_PLT32), [""; 0]);
    for offset in [13, 16, 1 << 40, u64::MAX] {
        assert_eq!(relocated(offset, elf::R_X86_64_PLT32), refused, "{offset}");
    }
    assert_eq!(relocated(8, elf::R_X86_64_64), refused, "an address for a register");
    assert_eq!(relocated(0, elf::R_X86_64_GOTPCREL), refused, "an address of a function");
    assert_eq!(relocated(0, elf::R_X86_64_GOTPC32), refused, "it leads to the table of all libraries");
}

#[test]
fn a_relocation_refers_to_the_whole_of_a_function_and_is_alone() {
    let at = |places: &[(u64, i64)]| {
        problems(|object, symbol| {
            let text = object.section_id(StandardSection::Text);
            let flags = RelocationFlags::Elf { r_type: elf::R_X86_64_PLT32 };
            for (offset, addend) in places {
                let relocation = Relocation { offset: *offset, symbol, addend: *addend, flags };
                object.add_relocation(text, relocation).expect("added");
            }
        })
    };
    assert_eq!(at(&[(0, -4), (4, -4)]), [""; 0]);
    assert_eq!(at(&[(2, 0)]), ["its code refers to a part of `expf` at 0x2"]);
    assert_eq!(at(&[(2, -4), (2, -4)]), ["its code refers to two things at 0x2"]);
    assert_eq!(at(&[(2, -4), (5, -4)]), ["two of its relocations write the same bytes"]);
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    let named = problems(|object, _| {
        let section = object.add_section(Vec::new(), b".init_array.\xff".to_vec(), object::SectionKind::Data);
        object.append_section_data(section, &[0; 8], 8);
    });
    assert_eq!(named, ["a section's name is no text"]);
}

/// Two pieces of code and two of constants, with unwind tables beside, become one of each.
#[test]
fn a_canonical_object_has_what_is_linked_and_nothing_else() {
    let bytes = object_of(|object, callee| {
        let text = object.section_id(StandardSection::Text);
        let mut section = |name: &[u8], kind, bytes: &[u8], align| {
            let section = object.add_section(Vec::new(), name.to_vec(), kind);
            object.append_section_data(section, bytes, align);
            object.section_symbol(section)
        };
        let cold = section(b".text.unlikely", SectionKind::Text, &[0x90, 0x90, 0xc3], 8);
        section(b".rodata.cst4", SectionKind::ReadOnlyData, &[1, 2, 3, 4], 4);
        let eight = section(b".rodata.cst8", SectionKind::ReadOnlyData, &[5; 8], 8);
        section(b".eh_frame", SectionKind::ReadOnlyData, &[0; 24], 8);
        for (offset, symbol, addend, r_type) in [
            (9, eight, 3, elf::R_X86_64_PC32),
            (1, callee, -4, elf::R_X86_64_PC32),
            (5, cold, 2 - 4, elf::R_X86_64_PLT32),
        ] {
            let flags = RelocationFlags::Elf { r_type };
            object.add_relocation(text, Relocation { offset, symbol, addend, flags }).expect("added");
        }
    });
    let entries = [ENTRY.to_owned()];
    let canonical = super::canonical(&bytes, &entries).expect("read");
    assert_eq!(super::canonical(&canonical, &entries).expect("read again"), canonical);
    let file = object::File::parse(&*canonical).expect("an object");
    let names: Vec<&str> = file.sections().map(|section| section.name().expect("a name")).collect();
    let all = [".text", ".rela.text", ".rodata", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab"];
    assert_eq!(names, all);
    let data = |name: &str| file.section_by_name(name).expect(name).data().expect("bytes").to_vec();
    // the cold code begins at 16, two on from there it is 13 from the end of the four bytes at 5
    let code = [&[0x90][..], &[0; 4], &9i32.to_le_bytes(), &[0; 4], &[0x90; 3], &[0x90, 0x90, 0xc3]].concat();
    assert_eq!(data(".text"), code);
    assert_eq!(data(".rodata"), [1, 2, 3, 4, 0, 0, 0, 0, 5, 5, 5, 5, 5, 5, 5, 5]);
    let text = file.section_by_name(".text").expect("code");
    let relocations: Vec<(u64, String, i64)> = text
        .relocations()
        .map(|(offset, relocation)| {
            let object::RelocationTarget::Symbol(index) = relocation.target() else { panic!("a symbol") };
            let symbol = file.symbol_by_index(index).expect("there");
            (offset, symbol.name().expect("a name").to_owned(), relocation.addend())
        })
        .collect();
    assert_eq!(relocations, [(1, "expf".to_owned(), -4), (9, String::new(), 11)]);
    let entry = file.symbol_by_name(ENTRY).expect("the entry");
    assert_eq!((entry.address(), entry.size(), entry.is_global()), (0, 16, true));
}
