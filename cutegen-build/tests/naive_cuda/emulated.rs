//! A naive kernel for CUDA on the host: its printed text as C++, threads as fibers, launched as its contract says.

use std::ffi::c_void;
use std::fmt::Write as _;

use cutegen_build::evaluate::Call;
use cutegen_build::print::naive::Printed;
use cutegen_spec::contract::{Arg, Step};
use cutegen_spec::int_expr::IntExpr;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::bound::library::objects;

const HEADERS: &str = "#include <pthread.h>\n#include <ucontext.h>\n#include <cmath>\n#include <cstddef>\n#include <cstdint>\n\
    #include <cstring>\n#include <functional>\n#include <memory>\n#include <thread>\n#include <utility>\n#include <vector>\n";
const SHIM: &str = include_str!("../naive/cuda_shim.hpp");
const DEVICE: &str = include_str!("emulated.hpp");

/// Shared memory is this object's alone, so that all of it lies together in every thread.
const FLAGS: &[&str] = &[
    "-fno-math-errno",
    "-march=x86-64-v3",
    "-ffp-contract=fast",
    "-pthread",
    "-fvisibility=hidden",
    "-fno-gnu-unique",
];

type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32, u32);

/// Loaded kernels.
pub(crate) struct Emulated {
    printed: Printed,
    object: Library,
}

/// Tensors and workspace of a launch, in whole words.
pub(crate) struct Memory {
    pub(crate) tensors: Vec<Vec<u64>>,
    pub(crate) parts: Vec<Vec<u64>>,
}

impl Emulated {
    pub(crate) fn new(printed: Printed, name: &str) -> Emulated {
        let text = on_host(&printed);
        let shared = objects::shared(&text, FLAGS).unwrap_or_else(|error| panic!("{name}: {error}"));
        // SAFETY: generated code without constructors
        let object = unsafe { Library::open(Some(&shared), RTLD_NOW | RTLD_LOCAL) };
        Emulated { printed, object: object.expect("it loads") }
    }

    /// Bytes of every part of the workspace.
    pub(crate) fn parts(&self, axes: &[i64]) -> Vec<usize> {
        let bytes = |part: &IntExpr| part.eval_axes(axes).expect("a size") as usize;
        self.printed.contract.workspace.iter().map(|part| bytes(&part.bytes)).collect()
    }

    /// Runs all steps.
    pub(crate) fn run(&self, call: &Call<'_>, memory: &mut Memory) {
        self.printed.contract.steps.iter().for_each(|step| self.launch(step, call, memory));
    }

    fn launch(&self, step: &Step, call: &Call<'_>, memory: &mut Memory) {
        let mut values: Vec<u64> = Vec::new();
        for arg in &step.args {
            values.push(match arg {
                Arg::Ptr(t) => memory.tensors[*t].as_mut_ptr() as u64,
                Arg::Axis(axis) => call.axes[*axis].cast_unsigned(),
                Arg::Scalar(s) => call.scalars[*s].parameter(),
                Arg::Workspace(part) => memory.parts[*part].as_mut_ptr() as u64,
                Arg::Int(_) | Arg::Map(_) => panic!("no naive kernel has {arg}"),
            });
        }
        let mut args: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        let size = |expr: &IntExpr| expr.eval_axes(call.axes).expect("a size") as u32;
        // SAFETY: `on_host` gives the symbol this type
        let launch = unsafe { self.object.get::<Launch>(format!("launch_{}", entry(step)).as_bytes()) };
        let launch = launch.expect("it is there");
        let (grid, block, cluster) = (size(&step.grid[0]), size(&step.block[0]), size(&step.cluster[0]));
        // SAFETY: arguments lie as the contract has it; tensors and workspace are as long as it says and outlive it
        unsafe { launch(args.as_mut_ptr(), grid, block, cluster) };
    }
}

fn entry(step: &Step) -> String {
    step.entry.replace("@ENTRY@", "naive")
}

/// The source as C++, with a function that launches each kernel.
fn on_host(printed: &Printed) -> String {
    let source = printed.source.replace("@ENTRY@", "naive");
    let own = source.lines().filter(|line| !line.starts_with("#include"));
    let own: String = own.flat_map(|line| [line, "\n"]).collect();
    let mut text = format!("{HEADERS}{SHIM}{DEVICE}{own}");
    for step in &printed.contract.steps {
        let entry = entry(step);
        let body = own.split("extern \"C\"").find(|kernel| kernel.contains(&format!(" {entry}(")));
        let waits = body.is_some_and(|body| body.contains("__syncthreads") || body.contains("cg_of_"));
        let _ = writeln!(
            text,
            "extern \"C\" __attribute__((visibility(\"default\"))) void launch_{entry}(void** args, unsigned grid, unsigned block, unsigned blocks) {{ \
             launched({entry}, args, grid, block, blocks, {waits}); }}"
        );
    }
    text
}
