//! Kernels of the bar table as they are locked: their shapes, and the programs that the runtime would launch.

use std::collections::BTreeMap;

use cutegen_build::evaluate::device::resolve::{Bindings, DeviceFacts, Param, resolve};
use cutegen_build::plan::{Plan, cost::cost};
use cutegen_build::store::Entry;
use cutegen_runtime::cuda::{CUfunction, LaunchConfig, launch};
use cutegen_spec::contract::Initial;
use cutegen_spec::record::Kind;
use cutegen_spec::tensor::Role;

use super::kernels::Streams;
use super::race::{Action, Memory, Module, Program};

/// One shape of a kernel, by bytes of its tensors.
pub(super) struct Cell<'a> {
    pub(super) plan: &'a Plan,
    pub(super) axes: Vec<i64>,
    /// `m=16`.
    pub(super) at: String,
    /// By tensor.
    bytes: Vec<usize>,
}

/// All shapes of a kernel.
pub(super) fn cells(plan: &Plan) -> Vec<Cell<'_>> {
    let cell = |workload: &cutegen_spec::workload::Workload| {
        let axes = plan.spec.bind(&workload.axes).expect("a declared workload");
        let bytes = |tensor: &cutegen_spec::tensor::Tensor| {
            usize::try_from(tensor.bytes(&axes).expect("a size")).expect("a size")
        };
        let bytes = plan.spec.tensors.iter().map(bytes).collect();
        Cell { plan, bytes, at: cutegen_build::store::trust::extents(&workload.axes), axes }
    };
    plan.spec.workloads.iter().map(cell).collect()
}

/// Tensors of a cell by what copies do with them, by position.
pub(super) struct Parts {
    pub(super) streams: Streams,
    /// Read as streams, and written as such.
    pub(super) read: Vec<usize>,
    pub(super) written: Vec<usize>,
    /// Read and written beside them: at most two, and one.
    pub(super) small_read: Vec<usize>,
    pub(super) small_written: Vec<usize>,
    /// Bytes of a written stream, or of the read one where there is none.
    pub(super) length: usize,
}

impl Cell<'_> {
    /// Bytes that the math must move.
    pub(super) fn traffic(&self) -> f64 {
        cost(&self.plan.spec, &self.plan.schedule, &self.axes).bytes
    }

    /// Streams are as long as the longest of their side; what is below an eighth of the longest is small.
    pub(super) fn parts(&self) -> Parts {
        let of = |role: Role| move |t: &usize| self.plan.spec.tensors[*t].role == role;
        let longest = self.bytes.iter().copied().max().unwrap_or(0);
        let is_stream = |t: &usize| self.bytes[*t] * 8 > longest;
        let split = |role| (0..self.bytes.len()).filter(of(role)).partition::<Vec<usize>, _>(is_stream);
        let ((read, small_read), (written, small_written)) = (split(Role::Input), split(Role::Output));
        let length = self.bytes[*written.first().unwrap_or(&read[0])];
        let streams = Streams { reads: read.len(), writes: written.len(), per: self.bytes[read[0]] / length };
        assert!(read.iter().all(|t| self.bytes[*t] == length * streams.per), "reads of one length");
        assert!(written.iter().all(|t| self.bytes[*t] == length), "writes of one length");
        assert!(small_read.len() <= 2 && small_written.len() <= 1, "{}: room for small tensors", self.at);
        Parts { streams, read, written, small_read, small_written, length }
    }

    pub(super) fn bytes(&self, tensor: usize) -> usize {
        self.bytes[tensor]
    }
}

/// The functions of a loaded variant, and what its contract may ask of the device.
struct Facts {
    functions: BTreeMap<String, CUfunction>,
    sm_count: u32,
    smem_max: u32,
}

impl Facts {
    fn ask(
        &self,
        entry: &str,
        config: &LaunchConfig,
        question: unsafe fn(
            CUfunction,
            &LaunchConfig,
        ) -> Result<u32, cutegen_runtime::cuda::cudarc::driver::DriverError>,
    ) -> Result<u32, String> {
        let function = *self.functions.get(entry).ok_or("no such entry")?;
        Action::Launch { function, config: *config, params: Vec::new() }.prepare();
        // SAFETY: the function is live, and its context current.
        unsafe { question(function, config) }.map_err(|error| error.to_string())
    }
}

impl DeviceFacts for Facts {
    fn sm_count(&self) -> u32 {
        self.sm_count
    }

    fn smem_max(&self) -> u32 {
        self.smem_max
    }

    fn blocks_per_sm(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String> {
        self.ask(entry, config, launch::max_blocks_per_sm)
    }

    fn active_clusters(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String> {
        self.ask(entry, config, launch::max_active_clusters)
    }
}

/// The variant that the runtime would dispatch here; none where that is the naive kernel.
pub(super) fn chosen(entry: &Entry, cell: &Cell<'_>) -> Option<usize> {
    let at = entry.record.choose(&cell.axes, &vec![256; cell.bytes.len()])?;
    (entry.record.variants[at].kind != Kind::Naive).then_some(at)
}

/// Its launches over the rotation, with the memory of its workspace.
pub(super) fn program(
    (entry, variant): (&Entry, usize),
    cell: &Cell<'_>,
    rotation: &[Vec<Memory>],
    (sm_count, smem_max): (u32, u32),
) -> (Program, Vec<Memory>) {
    assert!(cell.plan.spec.scalars.is_empty(), "the bar table has no scalars");
    let stored = &entry.record.variants[variant];
    let contract = &stored.contract;
    let limit = usize::try_from(stored.artifact.bytes).expect("a size");
    let image = zstd::bulk::decompress(&entry.artifacts[variant], limit).expect("a stored cubin");
    let module = Module::load(&image);
    let functions = contract.steps.iter().map(|s| (s.entry.clone(), module.function(&s.entry))).collect();
    let facts = Facts { functions, sm_count, smem_max };
    let sizes = contract.workspace.iter().map(|part| part.bytes.eval_axes(&cell.axes).expect("a size"));
    let workspace: Vec<Memory> =
        sizes.map(|bytes| Memory::new(usize::try_from(bytes).expect("a size"))).collect();
    let parts: Vec<u64> = workspace.iter().map(|part| part.at).collect();
    let slot = |tensors: &Vec<Memory>| {
        let tensors: Vec<u64> = tensors.iter().map(|tensor| tensor.at).collect();
        let bindings = Bindings { axes: &cell.axes, scalars: &[], tensors: &tensors, workspace: &parts };
        let cleared =
            contract.workspace.iter().zip(&workspace).filter(|(part, _)| part.initial != Initial::Undefined);
        let cleared = cleared.map(|(_, memory)| memory.cleared());
        let steps = resolve(contract, &bindings, &facts).expect("it resolves");
        let launches = steps.into_iter().map(|step| {
            let function = facts.functions[&step.entry];
            let action = Action::Launch { function, config: step.config, params: words(step.params) };
            action.prepare();
            action
        });
        cleared.chain(launches).collect()
    };
    (rotation.iter().map(slot).collect(), workspace)
}

/// Parameters of a kernel that has no descriptors.
fn words(params: Vec<Param>) -> Vec<u64> {
    let word = |param| match param {
        Param::Word(word) => word,
        Param::Map(map) => panic!("no copy kernel has {map:?}"),
    };
    params.into_iter().map(word).collect()
}
