//! Host objects that no compiler writes, made by an assembler or by hand, each as the stored object of a kernel: code that runs by
//! itself, definitions that linkers merge, notes that they interpret. A build and `check` refuse each. What a compiler may
//! write in good faith is refused as stored, and leaves nothing behind in the form that is judged and linked.

use std::path::Path;
use std::process::Command;

use cutegen_build::emit::{self, linkable};
use cutegen_build::inspect::object as inspected;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_tests::{must, scratch, write};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use super::fixture::{Answered, PACKAGE, plans, untuned};

/// What becomes of one.
enum Verdict {
    /// No kernel may hold it, in these words.
    Refused(&'static str),
    /// It is not stored, and the object that is written of what is linked has nothing of it.
    LeftBehind,
    /// It is a kernel's own: the object that is written has it too.
    Plain,
}
use Verdict::{LeftBehind, Plain, Refused};

const ONLY: &str = "only code, constants and what belongs to them may be linked";
const SELF: &str = "no constructors, destructors or thread-locals";
const STATIC: &str = "no mutable statics";
const VISIBLE: &str = "is visible outside";
const CALLS: &str = "only memcpy, memset, memmove and libm may be called";
const RELOCATION: &str = "has a relocation that is no distance to code or constants";

/// Assembly behind the entry's, by the number in the list of attacks.
const MADE: &[(&str, &str, Verdict)] = &[
    ("O1 .init_array", ".section .init_array,\"aw\",@init_array; .quad own", Refused(SELF)),
    ("O2 .init_array.N", ".section .init_array.00001,\"aw\",@init_array; .quad own", Refused(SELF)),
    ("O3 .ctors", ".section .ctors,\"aw\",@progbits; .quad own", Refused(SELF)),
    ("O4 .init", ".section .init,\"ax\",@progbits; call own", Refused(SELF)),
    ("O5 .fini_array", ".section .fini_array,\"aw\",@fini_array; .quad own", Refused(SELF)),
    ("O6 .preinit_array", ".section .preinit_array,\"aw\",@preinit_array; .quad own", Refused(SELF)),
    (
        "O7 global ifunc",
        ".globl pick; .type pick,@gnu_indirect_function; pick: ret",
        Refused("chosen at load time"),
    ),
    ("O8 local ifunc", ".type pick,@gnu_indirect_function; pick: ret", Refused("chosen at load time")),
    ("O9 weak malloc", ".weak malloc; .type malloc,@function; malloc: ret", Refused(VISIBLE)),
    ("O10 malloc", ".globl malloc; .type malloc,@function; malloc: ret", Refused(VISIBLE)),
    ("O11 weak memcpy", ".weak memcpy; .type memcpy,@function; memcpy: ret", Refused(VISIBLE)),
    ("O12 memcpy", ".globl memcpy; .type memcpy,@function; memcpy: ret", Refused(VISIBLE)),
    ("O13 weak expf", ".weak expf; .type expf,@function; expf: ret", Refused(VISIBLE)),
    ("O14 expf", ".globl expf; .type expf,@function; expf: ret", Refused(VISIBLE)),
    ("O15 common", ".comm shared,8,8", Refused(VISIBLE)),
    ("O16 lcomm", ".lcomm kept,8", Refused(STATIC)),
    ("O17 thread-local", ".section .tbss,\"awT\",@nobits; own_tls: .zero 4", Refused(SELF)),
    ("O18 COMDAT", ".section .text.one,\"axG\",@progbits,one,comdat; .weak one; one: ret", Refused(VISIBLE)),
    ("O19 linkonce", ".section .gnu.linkonce.t.one,\"ax\",@progbits; .weak one; one: ret", Refused(ONLY)),
    ("O20 unique", ".data; .globl one; .type one,@gnu_unique_object; one: .quad 1", Refused(VISIBLE)),
    ("O21 .data", ".data; .quad 1", Refused(STATIC)),
    ("O22 .bss", ".bss; .zero 8", Refused(STATIC)),
    ("O23 writable code", ".section .text.w,\"awx\",@progbits; ret", Refused("is writable code")),
    ("O24 system", ".text; call system@PLT", Refused(CALLS)),
    ("O25 dlopen", ".text; call dlopen@PLT", Refused(CALLS)),
    ("O26 weak system", ".weak system; .text; call system@PLT", Refused(CALLS)),
    ("O27 weak dlopen", ".weak dlopen; .text; call dlopen@PLT", Refused(CALLS)),
    ("O28 .gnu.warning", ".section .gnu.warning.write,\"\",@progbits; .asciz \"said\"", Refused(ONLY)),
    ("O29 .deplibs", ".section .deplibs,\"MS\",@0x6fff4c04,1; .asciz \"other.o\"", Refused(ONLY)),
    ("O30 bytecode", ".section .gnu.lto_x,\"e\",@progbits; .byte 1", Refused(ONLY)),
    ("O31 debug", ".section .debug_info,\"\",@progbits; .long 1", Refused(ONLY)),
    ("O32 versions", ".globl other; other: ret; .symver other,other@@V1", Refused(VISIBLE)),
    ("O33 second global", ".globl other; .type other,@function; other: ret", Refused(VISIBLE)),
    ("O34 split stack", ".section .note.GNU-split-stack,\"\",@progbits", Refused(ONLY)),
    ("O35 .interp", ".section .interp,\"a\",@progbits; .asciz \"/tmp/x\"", Refused(ONLY)),
    ("O36 .dynamic", ".section .dynamic,\"aw\",@progbits; .quad 1, 2", Refused(STATIC)),
    ("O37 .got", ".section .got,\"aw\",@progbits; .quad own", Refused(STATIC)),
    ("O38 IRELATIVE", ".text; .reloc ., R_X86_64_IRELATIVE, own; .quad 0", Refused(RELOCATION)),
    ("O39 COPY", ".text; .reloc ., R_X86_64_COPY, own; .quad 0", Refused(RELOCATION)),
    ("O40 retain", ".section .text.r,\"axR\",@progbits; ret", Refused(ONLY)),
    ("O41 exclude", ".section .text.e,\"axe\",@progbits; ret", Refused(ONLY)),
    ("O42 link order", ".section .text.o,\"axo\",@progbits,.text; ret", Refused(ONLY)),
    ("O43 absolute", ".globl fixed; .set fixed, 4096", Refused(VISIBLE)),
    ("O44 __start_", ".text; lea __start_own(%rip), %rax", Refused(CALLS)),
    ("O45 hidden", ".globl own_too; .hidden own_too; own_too: ret", Refused(VISIBLE)),
    (
        "O46 .data.rel.ro",
        ".section .data.rel.ro,\"aw\",@progbits; .quad own",
        Refused("constants may hold numbers, not addresses"),
    ),
    ("O47 merged numbers", ".section .rodata.cst8,\"aM\",@progbits,8; .quad 7", LeftBehind),
    ("O47 merged text", ".section .rodata.str1.1,\"aMS\",@progbits,1; .asciz \"x\"", LeftBehind),
    ("O48 a personality", "UNWIND", LeftBehind),
    ("O49 plain", "", Plain),
    ("O50 no word of the stack", "NO STACK NOTE", LeftBehind),
    (
        "O51 a note that asks for a processor",
        ".section .note.gnu.property,\"a\",@note; .p2align 3; .long 4, 16, 5; .asciz \"GNU\"; .long 0xc0008002, 4, 8, 0",
        LeftBehind,
    ),
    ("O52 alignment of a gigabyte", "ALIGN 30", Refused("is aligned to 1073741824 bytes: at most 64")),
    ("O53 alignment of 2^62", "ALIGN 62", Refused("is aligned to 4611686018427387904 bytes: at most 64")),
    ("O54 .bss of 6 GB", ".bss; .zero 6000000000", Refused(STATIC)),
    (
        "O55 constants that are not in the file",
        ".section .rodata,\"a\",@nobits; .zero 64",
        Refused("has no bytes of its own"),
    ),
    ("O56 unwind tables of the whole program", "EH FRAME", LeftBehind),
];

/// Where a personality of the object's own stands: code of the kernel's that a panic elsewhere would run.
const UNWIND: &str = ".section .eh_frame,\"a\",@unwind; .long 20, 0; .byte 1; .asciz \"zP\"; .byte 1, 120, 16, 5, 27; .long own - .; .p2align 3; \
                      .long 20, 32; .long own - .; .long 8, 0, 0";

#[test]
fn each_is_refused_where_it_is_stored() {
    let folder = scratch("emit-crafted");
    let one = "[kernels.k]\naxes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\noutputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n]'\n";
    let answered = untuned(plans(one).into_iter().next().expect("a kernel"));
    let mut wrong = Vec::new();
    for (name, made, verdict) in MADE {
        let bytes = assembled(&answered, made, &folder);
        wrong.extend(
            unexpected(&stored(&answered, bytes), verdict, &folder).map(|why| format!("{name}: {why}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(MADE.len(), 57, "all 56, and two of one number");
}

fn entry(answered: &Answered) -> String {
    answered.record.variants[0].contract.steps[0].entry.clone()
}

/// The entry with a local function beside it, and what `made` says.
fn assembled(answered: &Answered, made: &str, folder: &Path) -> Vec<u8> {
    let entry = entry(answered);
    let note = if made == "NO STACK NOTE" { "" } else { ".section .note.GNU-stack,\"\",@progbits" };
    let more = match made {
        "NO STACK NOTE" => String::new(),
        "UNWIND" => UNWIND.to_owned(),
        "EH FRAME" => (0..4096).fold(UNWIND.to_owned(), |all, at| {
            format!("{all}\n.long 12, . - .eh_frame; .long {at} * 256; .long 256")
        }),
        align if align.starts_with("ALIGN") => String::new(),
        more => more.to_owned(),
    };
    let text = format!(
        ".text\n.globl {entry}\n.type {entry},@function\n{entry}: ret\n.size {entry}, . - {entry}\nown: ret\n{more}\n{note}\n"
    );
    let [source, output] = ["made.s", "made.o"].map(|name| folder.join(name));
    write(&source, &text);
    must(Command::new("c++").args(["-c", "-o"]).arg(&output).arg(&source));
    let mut bytes = std::fs::read(&output).expect("an object");
    if let Some(power) = made.strip_prefix("ALIGN ") {
        align_code(&mut bytes, 1 << power.parse::<u32>().expect("a number"));
    }
    bytes
}

/// Writes another alignment into the header of the section of code.
fn align_code(bytes: &mut [u8], align: u64) {
    let section = {
        let file = object::File::parse(&*bytes).expect("an object");
        file.section_by_name(".text").expect("code").index().0
    };
    let table = u64::from_le_bytes(bytes[40..48].try_into().expect("eight bytes")) as usize;
    let at = table + 64 * section + 48;
    bytes[at..at + 8].copy_from_slice(&align.to_le_bytes());
}

fn stored(answered: &Answered, bytes: Vec<u8>) -> Answered {
    let mut answered = answered.clone();
    let digest = ArtifactDigest::of(&bytes);
    let artifact = &mut answered.record.variants[0].artifact;
    (artifact.artifact, artifact.stored, artifact.bytes) = (digest, digest, bytes.len() as u64);
    answered.artifacts = vec![bytes];
    answered
}

/// What is not as it should be.
fn unexpected(answered: &Answered, verdict: &Verdict, folder: &Path) -> Option<String> {
    let entries = [entry(answered)];
    let kernel = answered.emit();
    let built = emit::emit(&PACKAGE, &[kernel], &folder.join("out")).err().map(|error| error.to_string());
    let checked = linkable(&kernel).err().map(|error| error.to_string());
    let canonical = inspected::canonical(&answered.artifacts[0], &entries);
    let renew = "run `cargo cutegen lock --renew`";
    let names = |said: &Option<String>, words: &str| {
        said.as_ref().is_some_and(|said| {
            said.starts_with("k on host:") && said.contains("variant `naive`: ") && said.contains(words)
        })
    };
    let refused = |words: &str| names(&built, words) && names(&checked, words);
    let fine = match (verdict, &canonical) {
        (Refused(words), Err(problems)) => refused(words) && problems.iter().any(|said| said.contains(words)),
        (LeftBehind, Ok(canonical)) => refused(renew) && holds_nothing_else(canonical, &entries[0]),
        (Plain, Ok(canonical)) => {
            refused(renew) && {
                let kept = stored(answered, canonical.clone());
                emit::emit(&PACKAGE, &[kept.emit()], &folder.join("out")).is_ok()
                    && linkable(&kept.emit()).is_ok()
            }
        }
        _ => false,
    };
    let said = canonical.map(|bytes| bytes.len());
    (!fine).then(|| format!("{said:?}; a build: {built:?}; check: {checked:?}"))
}

/// Eight sections of which none is merged, asks for anything or runs, and one name.
fn holds_nothing_else(canonical: &[u8], entry: &str) -> bool {
    let file = object::File::parse(canonical).expect("an object");
    let sections: Vec<(&str, u64)> =
        file.sections().map(|section| (section.name().expect("a name"), section.align())).collect();
    let known = [
        (".text", 64),
        (".rela.text", 8),
        (".rodata", 64),
        (".note.GNU-stack", 1),
        (".symtab", 8),
        (".strtab", 1),
        (".shstrtab", 1),
    ];
    let named = file.symbols().filter_map(|symbol| symbol.name().ok()).filter(|name| !name.is_empty());
    let text = file.section_by_name(".text").expect("code");
    sections == known && named.eq([entry]) && text.relocations().next().is_none()
}
