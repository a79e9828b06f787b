//! The linked bytes: one object that a linker and a loader read as meant, host objects untouched, and what can't be
//! emitted refused with its name.

use std::collections::BTreeMap;
use std::path::Path;

use cutegen_build::emit::{self, Error, Package};
use cutegen_build::print::naive;
use cutegen_spec::symbol;
use cutegen_tests::scratch;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags};

use super::fixture::{Answered, PACKAGE, built, compile, plans, untuned};
use super::golden::{everything, example};

fn emitted(name: &str, package: &Package<'_>, answered: &[Answered]) -> Result<emit::Emitted, Error> {
    let kernels: Vec<_> = answered.iter().map(Answered::emit).collect();
    emit::emit(package, &kernels, &scratch(name))
}

fn members(folder: &Path, prefix: &str) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder.join("objects")).expect("members");
    let named = files.map(|file| file.expect("a file").path());
    let those =
        named.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)));
    those.map(|path| std::fs::read(path).expect("a member")).collect()
}

/// Section flag of ELF: in memory; not writable and not executable without flags of their own.
const ALLOC: u64 = 2;

fn flags<'a>(section: &impl object::ObjectSection<'a>) -> u64 {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0,
        other => panic!("{other:?} is not ELF"),
    }
}

#[test]
fn cubins_lie_in_one_object_as_aligned_read_only_data() {
    let answered = everything();
    let emitted = emitted("emit-object", &PACKAGE, &answered).expect("emits");
    let bytes = members(&emitted.lib_dir, "cubins-");
    let file = object::File::parse(bytes[0].as_slice()).expect("an object");
    let mut expected: BTreeMap<String, &[u8]> = BTreeMap::new();
    for one in answered.iter().filter(|one| !one.plan.target.is_host()) {
        for (variant, bytes) in one.record.variants.iter().zip(&one.artifacts) {
            let name = symbol::blob(PACKAGE.name, PACKAGE.version, &variant.artifact.stored);
            expected.insert(name, bytes);
        }
    }
    assert_eq!(expected.len(), 2, "both targets have one naive kernel");
    for (name, bytes) in &expected {
        let symbol = file.symbols().find(|s| s.name() == Ok(name.as_str())).expect("a symbol");
        let section = file.section_by_index(symbol.section_index().expect("defined")).expect("a section");
        let data = section.data().expect("data");
        let at = usize::try_from(symbol.address()).expect("small");
        assert_eq!(&data[at..at + bytes.len()], *bytes, "{name}");
        assert_eq!(symbol.size(), bytes.len() as u64);
        assert!(symbol.is_global() && section.align() >= 16 && symbol.address() % 16 == 0);
        assert_eq!(flags(&section), ALLOC, "{name}");
    }
    let stack = file.section_by_name(".note.GNU-stack").expect("or the stack becomes executable");
    assert_eq!((flags(&stack), stack.size()), (0, 0));
}

#[test]
fn host_objects_are_archived_once_and_byte_for_byte() {
    let one = "axes = { n = '1..=64' }\ninputs = { x = 'f32[n]' }\noutputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n] + 1'";
    let text = format!("[kernels.first]\n{one}\n[kernels.second]\n{one}\n");
    let folder = scratch("emit-host-object-src");
    let answered: Vec<Answered> = plans(&text).into_iter().map(|p| compile(untuned(p), &folder)).collect();
    let emitted = emitted("emit-host-object", &PACKAGE, &answered).expect("emits");
    assert_eq!(members(&emitted.lib_dir, "host-"), [answered[0].artifacts[0].clone()]);
    assert_eq!(members(&emitted.lib_dir, "cubins-"), Vec::<Vec<u8>>::new());
    let archive = std::fs::read(emitted.lib_dir.join("libcutegen_example_app_0_1_0.a")).expect("an archive");
    let inside =
        archive.windows(answered[0].artifacts[0].len()).filter(|w| *w == answered[0].artifacts[0]).count();
    assert_eq!(inside, 1);
    assert_eq!(emitted.system_libs, ["m"]);
}

#[test]
fn members_follow_the_kernels() {
    let folder = scratch("emit-members");
    let all = example();
    let kernels: Vec<_> = all.iter().map(Answered::emit).collect();
    let first = emit::emit(&PACKAGE, &kernels, &folder).expect("emits");
    assert_eq!(members(&first.lib_dir, "host-").len(), 4);
    let fewer = emit::emit(&PACKAGE, &kernels[..1], &folder).expect("emits");
    assert_eq!(members(&fewer.lib_dir, "host-").len(), 1, "members of the earlier build are gone");
    assert_eq!(members(&fewer.lib_dir, "cubins-").len(), 0);
    let none = emit::emit(&PACKAGE, &[], &folder).expect("emits");
    assert_eq!(none.lib_name, None);
}

#[test]
fn a_host_object_that_may_not_be_linked_is_refused() {
    let one = |math: &str| {
        format!(
            "axes = {{ n = '1..=64' }}\ninputs = {{ x = 'f32[n]' }}\noutputs = {{ y = 'f32[n]' }}\nmath = 'y[n] = {math}'"
        )
    };
    let text = format!("[kernels.first]\n{}\n[kernels.second]\n{}\n", one("x[n] + 1"), one("x[n] + 2"));
    let folder = scratch("emit-foreign-src");
    let answered: Vec<Answered> = plans(&text).into_iter().map(|p| compile(untuned(p), &folder)).collect();
    let refusal = |change: &dyn Fn(&mut Vec<Answered>)| {
        let mut answered = answered.clone();
        change(&mut answered);
        emitted("emit-foreign", &PACKAGE, &answered).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refusal(&|_| {}), "");
    // what one record calls its own is another's
    let other = refusal(&|all| all[0].artifacts = all[1].artifacts.clone());
    assert!(other.starts_with("first on host:") && other.contains("no function `cutegen_"), "{other}");
    let noise = refusal(&|all| all[1].artifacts = vec![b"no object".to_vec()]);
    assert!(noise.starts_with("second on host:") && noise.contains("not an ELF object"), "{noise}");
    // a name that a library has would be taken for the library's
    let write = refusal(&|all| {
        let source = naive::print(&all[0].plan).source.replace("@ENTRY@", "write");
        all[0].record.variants[0].contract.steps[0].entry = "write".to_owned();
        all[0] = built(all[0].clone(), &source, &folder);
    });
    assert!(write.contains("its entry is called `write`"), "{write}");
    // two objects under one name: a linker would take either
    let twice = refusal(&|all| {
        let taken = all[0].record.variants[0].contract.clone();
        let source = naive::print(&all[1].plan).source.replace("@ENTRY@", &taken.steps[0].entry);
        all[1].record.variants[0].contract = taken;
        all[1] = built(all[1].clone(), &source, &folder);
    });
    assert!(twice.starts_with("two different artifacts are called `cutegen_"), "{twice}");
}

#[test]
fn what_cannot_be_emitted_is_named() {
    let kernel = |name: &str| {
        format!(
            "[kernels.{name}]\naxes = {{ n = '1..=64' }}\ninputs = {{ x = 'f32[n]' }}\noutputs = {{ y = 'f32[n]' }}\n\
             math = 'y[n] = x[n]'\ntargets = ['sm_90a']\n"
        )
    };
    let refusal = |names: &[&str], change: &dyn Fn(&mut Answered)| {
        let text: String = names.iter().map(|name| kernel(name)).collect();
        let mut answered: Vec<Answered> = plans(&text).into_iter().map(untuned).collect();
        answered.iter_mut().for_each(change);
        emitted("emit-refused", &PACKAGE, &answered).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let nothing = |_: &mut Answered| {};
    assert_eq!(refusal(&["fine", "also_fine"], &nothing), "");
    assert!(refusal(&["a_b", "a__b"], &nothing).contains("`a_b` and `a__b` would both emit `AB`"));
    assert!(refusal(&["error"], &nothing).contains("would emit `Error`"));
    assert!(refusal(&["a", "a_raw"], &nothing).contains("would both emit `a_raw`"));
    let missing = |one: &mut Answered| one.artifacts.clear();
    assert!(refusal(&["a"], &missing).contains("a record of 1 variants with 0 artifacts"));
    let beyond = |one: &mut Answered| {
        one.record.variants[0].contract.steps[0].args.push(cutegen_spec::contract::Arg::Workspace(7));
    };
    assert!(refusal(&["a"], &beyond).contains("there is no workspace(w7)"));
    let keeps = |bytes: &str| {
        let bytes = cutegen_spec::int_expr::IntExpr::parse_positional(bytes).expect("an expression");
        let initial = cutegen_spec::contract::Initial::KeptZero;
        let part = cutegen_spec::contract::WorkspacePart { bytes, initial };
        refusal(&["a"], &|one: &mut Answered| one.record.variants[0].contract.workspace = vec![part.clone()])
    };
    assert_eq!(keeps("a0 * 16384"), "", "64 of them are a mebibyte");
    assert!(
        keeps("a0 * 16385").contains("it may keep 1048832 bytes of workspace zero, more than the 1048576")
    );
    assert!(keeps("4096 / (a0 - 1)").contains("nothing bounds `(4096 / (a0 - 1))`"));
    let circular = |one: &mut Answered| {
        let smem = &mut one.record.variants[0].contract.steps[0].smem;
        *smem = cutegen_spec::int_expr::IntExpr::Device(cutegen_spec::int_expr::DeviceProp::MaxBlocksPerSm);
    };
    assert!(refusal(&["a"], &circular).contains("asks for the occupancy it decides"));
}
