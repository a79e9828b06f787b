//! The naive kernels for `host`, compiled and run on the cases: every element inside the reference's bound.

use std::ffi::c_void;

use cutegen_build::evaluate::judge::compare::{self, Before};
use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::wire::arena::POISON;
use cutegen_build::print::naive::{self, Printed};
use cutegen_spec::contract::Arg;
use libloading::os::unix::{Library as Object, RTLD_LOCAL, RTLD_NOW};

use crate::cases::{Case, Kernel, Library, results};
use crate::{objects, parallel, reference};

const ENTRY: &str = "golden_naive";

const FLAGS: &[&str] = &[
    "-fno-math-errno",
    "-march=x86-64-v3",
    "-ffp-contract=fast",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wall",
    "-Werror",
    "-Wno-unused-function",
    "-Wno-unused-variable",
];

type Entry = unsafe extern "C" fn(*mut *mut c_void);

/// Every element of every case.
pub(crate) fn host(library: &Library) -> Vec<String> {
    let found =
        parallel::each(&library.sampled(), |kernel| of_kernel(kernel).unwrap_or_else(|error| vec![error]));
    found.concat()
}

fn of_kernel(kernel: &Kernel) -> Result<Vec<String>, String> {
    let text = cutegen_build::print::reference::print(&kernel.plan);
    let reference = reference::load(kernel.name(), &text)?;
    let printed = naive::print(&kernel.plan);
    let source = printed.source.replace("@ENTRY@", ENTRY);
    let object = objects::shared(&source, FLAGS).map_err(|error| format!("{}: {error}", kernel.name()))?;
    // SAFETY: generated code without constructors.
    let object = unsafe { Object::open(Some(&object), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
    // SAFETY: the printer gives the entry this type.
    let entry = unsafe { object.get::<Entry>(ENTRY.as_bytes()) }.map_err(|e| e.to_string())?;
    let mut wrong = Vec::new();
    for case in kernel.cases() {
        let memory = launch(*entry, kernel, &printed, &case);
        let expected = reference::call(&reference, &case);
        for (t, expected) in results(kernel.spec()).zip(&expected) {
            let tensor = &kernel.spec().tensors[t];
            let compared = compare::compare(tensor.dtype, &memory[t], expected);
            let before = match case.contents[t].as_slice() {
                [] => Before::Poison(POISON),
                contents => Before::Contents(contents),
            };
            let named = format!("{}: `{}`", case.label, tensor.name);
            let touched = compare::touched(tensor.dtype, &memory[t], before, expected);
            wrong.extend(compared.wrong.map(|w| format!("{named}: {w:?}")));
            wrong.extend(touched.map(|e| format!("{named}: element {e} is not addressed, and written")));
        }
    }
    Ok(wrong)
}

/// Memory of every tensor after a launch.
fn launch(entry: Entry, kernel: &Kernel, printed: &Printed, case: &Case) -> Vec<Vec<u8>> {
    let spec = kernel.spec();
    let words = |bytes: usize| vec![u64::from_ne_bytes([POISON; 8]); bytes.div_ceil(8) + 1];
    let mut memory: Vec<Vec<u64>> = Vec::new();
    for (t, contents) in case.contents.iter().enumerate() {
        let elements = case.golden[t].as_ref().map_or(0, Vec::len);
        let bytes = contents.len().max(element::bytes(spec.tensors[t].dtype, elements));
        let mut held = words(bytes);
        for (word, chunk) in held.iter_mut().zip(contents.chunks(8)) {
            let mut bytes = word.to_ne_bytes();
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(bytes);
        }
        memory.push(held);
    }
    let sizes = printed.contract.workspace.iter().map(|part| part.bytes.eval_axes(&case.axes));
    let mut parts: Vec<Vec<u64>> = sizes.map(|bytes| words(bytes.expect("a size") as usize)).collect();
    let mut values: Vec<u64> = Vec::new();
    for arg in &printed.contract.steps[0].args {
        values.push(match arg {
            Arg::Ptr(t) => memory[*t].as_mut_ptr() as u64,
            Arg::Axis(axis) => case.axes[*axis].cast_unsigned(),
            Arg::Scalar(s) => case.scalars[*s].parameter(),
            Arg::Workspace(part) => parts[*part].as_mut_ptr() as u64,
            Arg::Int(_) | Arg::Map(_) => panic!("no naive kernel has {arg}"),
        });
    }
    let mut params: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
    // SAFETY: parameters lie as the contract has it; memory and workspace are as long as the spec says and outlive it.
    unsafe { entry(params.as_mut_ptr()) };
    memory.iter().map(|words| words.iter().flat_map(|word| word.to_ne_bytes()).collect()).collect()
}
