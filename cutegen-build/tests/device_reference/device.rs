//! A reference for devices on the host: its kernels compiled as C++, launched as their contract says.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt::Write as _;

use cutegen_build::evaluate::{Call, Expected, Sampled};
use cutegen_build::print::reference::{DeviceReference, others};
use cutegen_spec::contract::{Arg, Contract, Step};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::bound::library::objects;

pub(crate) const CUDA: &str = include_str!("cuda.hpp");

type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

/// Loaded kernels.
pub(crate) struct Device {
    printed: DeviceReference,
    object: Library,
}

/// What no kernel has written.
const POISON: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// A part of the workspace. More than as much again lies behind it, so that who writes past its end is found and writes over nothing
/// else of this process.
struct Part {
    words: Vec<u64>,
    len: usize,
}

impl Part {
    fn new(bytes: i64) -> Part {
        let len = usize::try_from(bytes).expect("a size").div_ceil(8);
        Part { words: vec![POISON; 2 * len + 64], len }
    }

    fn held(&self) -> &[u64] {
        &self.words[..self.len]
    }

    fn is_whole(&self) -> bool {
        self.words[self.len..].iter().all(|word| *word == POISON)
    }
}

impl Device {
    pub(crate) fn new(printed: DeviceReference, name: &str) -> Device {
        let mut text = format!("{CUDA}\n{}", printed.source);
        let large = printed.large.iter().flat_map(|large| &large.contract.steps);
        let entries: BTreeSet<&str> =
            printed.contract.steps.iter().chain(large).map(|s| s.entry.as_str()).collect();
        for entry in entries {
            let _ = writeln!(
                text,
                "extern \"C\" void launch_{entry}(void** args, unsigned grid, unsigned block) {{ launched({entry}, args, grid, block); }}"
            );
        }
        let shared = objects::shared(&text, objects::REFERENCE);
        let shared = shared.unwrap_or_else(|error| panic!("{name}: {error}"));
        // SAFETY: our own generated code, without constructors
        let object = unsafe { Library::open(Some(&shared), RTLD_NOW | RTLD_LOCAL) };
        Device { printed, object: object.expect("it loads") }
    }

    /// How it is launched where contractions are large.
    pub(crate) fn large(&self) -> Option<&Contract> {
        self.printed.large.as_ref().map(|large| &large.contract)
    }

    /// How it is launched elsewhere.
    pub(crate) fn serial(&self) -> &Contract {
        &self.printed.contract
    }

    /// Values, bounds and further values of every result; or which step wrote past a part's end, or that two ways to a
    /// sum differ.
    pub(crate) fn call(
        &self,
        contract: &Contract,
        spec: &KernelSpec,
        call: &Call<'_>,
    ) -> Result<Vec<Expected>, String> {
        let sizes = contract.workspace.iter().map(|part| part.bytes.eval_axes(call.axes).expect("a size"));
        let mut parts: Vec<Part> = sizes.map(Part::new).collect();
        let scale = &mut parts[self.printed.parts.sum_scale].words;
        scale[0] = if call.exact { 0.0_f64 } else { 1.0 }.to_bits();
        scale[1] = Sampled::word(call.sampled).to_bits();
        let inputs: Vec<Vec<u64>> = call.inputs.iter().map(|bytes| words(bytes)).collect();
        for step in &contract.steps {
            self.launch(spec, step, call, (&inputs, &mut parts));
            if let Some(part) = parts.iter().position(|part| !part.is_whole()) {
                return Err(format!("{} writes past the end of part {part}", step.entry));
            }
        }
        if f64::from_bits(parts[self.printed.parts.crossed].words[0]) != 0.0 {
            return Err("two ways to a sum differ".to_owned());
        }
        Ok(self.results(call, &parts))
    }

    fn launch(
        &self,
        spec: &KernelSpec,
        step: &Step,
        call: &Call<'_>,
        (inputs, parts): (&[Vec<u64>], &mut [Part]),
    ) {
        let given: Vec<usize> =
            (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Output).collect();
        let value = |arg: &Arg| match arg {
            Arg::Ptr(t) => {
                let position = given.iter().position(|g| g == t).expect("no output is given");
                inputs[position].as_ptr() as u64
            }
            Arg::Axis(axis) => call.axes[*axis].cast_unsigned(),
            Arg::Scalar(s) => call.scalars[*s].parameter(),
            Arg::Workspace(part) => parts[*part].words.as_mut_ptr() as u64,
            Arg::Int(_) | Arg::Map(_) => panic!("no reference has {arg}"),
        };
        let mut values: Vec<u64> = step.args.iter().map(value).collect();
        let mut args: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        let size = |expr: &cutegen_spec::int_expr::IntExpr| expr.eval_axes(call.axes).expect("a size") as u32;
        // threads run one after another: where they wait for each other, a block has but one
        let threads = if step.entry.ends_with("_products") { 1 } else { size(&step.block[0]) };
        // SAFETY: the text above gives the symbol this type
        let launch = unsafe { self.object.get::<Launch>(format!("launch_{}", step.entry).as_bytes()) };
        // SAFETY: arguments lie as the contract has it; inputs and parts are as long as it says
        unsafe { launch.expect("it is there")(args.as_mut_ptr(), size(&step.grid[0]), threads) };
    }

    fn results(&self, call: &Call<'_>, parts: &[Part]) -> Vec<Expected> {
        let held = &self.printed.parts;
        let doubles =
            |part: usize, n: usize| parts[part].held()[..n].iter().map(|w| f64::from_bits(*w)).collect();
        let mut all: Vec<Expected> = Vec::new();
        for (result, n) in held.results.iter().zip(call.outputs) {
            let (value, bound) = (doubles(result.value, *n), doubles(result.bound, *n));
            all.push(Expected { value, bound, ..Expected::default() });
        }
        let Some(part) = held.others else { return all };
        let bytes: Vec<u8> = parts[part].held().iter().flat_map(|word| word.to_le_bytes()).collect();
        for other in others(&bytes).expect("there is room for all") {
            let result = held.results.iter().position(|r| r.tensor == other.tensor).expect("a result");
            all[result].also.entry(other.element).or_default().push(other.value);
        }
        all
    }
}

/// A copy of `bytes` that any element type may be read from.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
