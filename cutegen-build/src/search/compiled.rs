//! Candidates to artifacts: which compiler a target means, and many candidates at once.

use std::path::{Path, PathBuf};
use std::thread::Scope;

use cutegen_spec::arch::Arch;
use cutegen_spec::axis::{self, Axis, Extent};
use cutegen_spec::contract::{Contract, Step};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::DeviceProp;
use cutegen_spec::record::Variant;
use cutegen_spec::target::Target;
use serde::{Deserialize, Serialize};

use super::error::SearchError;
use super::ordered::{self, Ordered};
use crate::compile::sandboxed::sandboxed;
use crate::compile::{
    Artifact, Batch, CompileFailure, CompileFor, CompileJob, CompileOutcome, CompileSetup, Inspected,
    compile, compile_in, own_cubin,
};
use crate::env;
use crate::evaluate::device::waits::{check_waits, takes_constants};
use crate::evaluate::{self, Outcome};
use crate::generate::Candidate;
use crate::generate::answers::borrowed::Borrowed;
use crate::inspect::cubin::Param;
use crate::plan::Plan;
use crate::print;

/// A candidate's bytes, or what became of it instead.
pub(super) type Attempt = Result<Compiled, (Candidate, Outcome)>;

/// A candidate with its bytes, also as a file that runners can open.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) candidate: Candidate,
    pub(super) artifact: Artifact,
    /// Where it goes before those behind it.
    pub(super) prefer: Eligibility,
}

impl Compiled {
    /// As the gate takes it, its artifact written into `folder`.
    pub(super) fn for_gate(&self, plan: &Plan, folder: &Path) -> Result<evaluate::Candidate, SearchError> {
        // a runner may have a module of that name loaded, with other bytes
        let digest = ArtifactDigest::of(&self.artifact.bytes).to_string();
        let path = folder.join(format!("{}-{}.artifact", self.candidate.name, &digest[..16]));
        std::fs::write(&path, &self.artifact.bytes)
            .map_err(|error| SearchError::File(path.clone(), error))?;
        Ok(evaluate::Candidate {
            artifact: path,
            contract: self.candidate.contract.clone(),
            eligibility: self.candidate.eligibility.clone(),
            prefer: self.prefer.clone(),
            tiles: self.candidate.tiles.clone(),
            shared_memory: self.shared_memory(plan),
        })
    }
}

/// Tiles of a stored variant, as the gate takes them.
pub(super) fn tiles_of(variant: &Variant) -> Vec<(usize, i64)> {
    variant.tiles.iter().map(|tile| (tile.axis, tile.extent)).collect()
}

/// A stored variant as a candidate again, for compilers.
#[must_use]
pub fn stored(variant: &Variant, source: &[u8]) -> Candidate {
    Candidate {
        name: variant.name.clone(),
        kind: variant.kind,
        origin: variant.origin.clone(),
        source: String::from_utf8_lossy(source).into_owned(),
        contract: variant.contract.clone(),
        eligibility: variant.eligibility.clone(),
        tiles: tiles_of(variant),
        cost_features: None,
    }
}

/// The compiler that a target means.
pub(super) fn compile_for(target: &Target) -> CompileFor {
    match target {
        Target::Cuda { arch, .. } => CompileFor::Cuda { arch: arch.name().to_owned() },
        Target::Host { triple, level } => {
            CompileFor::Host { triple: triple.clone(), level: level.name().to_owned() }
        }
    }
}

/// What will compile for `target`, in words.
pub(super) fn fingerprint(setup: &CompileSetup, target: &Target) -> Result<String, SearchError> {
    Ok(match target {
        Target::Cuda { .. } => setup.toolchain.cuda_fingerprint()?,
        Target::Host { .. } => setup.toolchain.host_fingerprint()?,
    })
}

/// The device that kernels for a GPU target are judged on here: one that runs them and that they are meant for.
pub(super) fn cuda_device(target: &Target) -> Result<cutegen_runtime::cuda::Device, String> {
    let device = device()?;
    if target.runs_on(&device.name, device.capability) {
        return Ok(device);
    }
    let own = Arch::advised(device.capability).map(|arch| format!("; a target for it is `{}`", arch.name()));
    Err(format!("{target} does not run on {} ({}){}", device.name, device.arch(), own.unwrap_or_default()))
}

/// The device of this machine.
pub(super) fn device() -> Result<cutegen_runtime::cuda::Device, String> {
    let context = cutegen_runtime::cuda::context(0).map_err(|error| error.to_string())?;
    cutegen_runtime::cuda::Device::of(&context).map_err(|error| error.to_string())
}

/// The process whose forks compile a search's candidates for a GPU. It starts on the headers of the first at once; host
/// compilers have none.
pub(super) fn batch(
    setup: &CompileSetup,
    plan: &Plan,
    candidates: &[Candidate],
) -> Result<Option<Batch>, SearchError> {
    match (compile_for(&plan.target), candidates.first()) {
        (CompileFor::Cuda { arch }, Some(first)) => Ok(Some(Batch::start(setup, &arch, &first.source)?)),
        (CompileFor::Host { .. }, _) | (_, None) => Ok(None),
    }
}

/// Why a candidate has no bytes that may be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The guard, the compiler or the inspection refused it.
    Compile(CompileFailure),
    /// Its kernels take other parameters than its contract says, or do not wait as it promises; or no block has the shared memory
    /// that it asks for.
    Contract(String),
    /// No template wrote it, and it repeats a header of the toolchain.
    Borrowed(Borrowed),
}

impl Refusal {
    fn outcome(self) -> Outcome {
        match self {
            Self::Compile(failure) => Outcome::CompileFailed(words(&failure)),
            Self::Contract(reason) => Outcome::Blocked(reason),
            Self::Borrowed(borrowed) => Outcome::Blocked(borrowed.to_string()),
        }
    }
}

/// Compiles one candidate, in a process of its own where there is no batch.
pub(super) fn one(
    setup: &CompileSetup,
    batch: Option<&Batch>,
    plan: &Plan,
    candidate: Candidate,
) -> Result<Attempt, SearchError> {
    let compiled = bytes(setup, batch, plan, &candidate)?;
    Ok(match compiled {
        Ok(artifact) => Ok(Compiled { candidate, artifact: *artifact, prefer: Eligibility::default() }),
        Err(refusal) => Err((candidate, refusal.outcome())),
    })
}

/// Why no launch has room for a contract: it asks for more shared memory than a block has on the target, whatever the extents.
fn too_large(target: &Target, contract: &Contract) -> Option<String> {
    let room = i64::from(target.arch()?.shared_memory_max());
    let smem = contract.steps.iter().filter_map(|step| step.smem.eval_axes(&[])).max()?;
    (smem > room).then(|| format!("{smem} bytes of shared memory, and a block of {target} has {room}"))
}

/// A candidate's bytes, which take what its contract says; or why there are none. A contract that fits nowhere is not compiled.
pub(super) fn bytes(
    setup: &CompileSetup,
    batch: Option<&Batch>,
    plan: &Plan,
    candidate: &Candidate,
) -> Result<Result<Box<Artifact>, Refusal>, SearchError> {
    if let Some(reason) = too_large(&plan.target, &candidate.contract) {
        return Ok(Err(Refusal::Contract(reason)));
    }
    let job = CompileJob {
        source: candidate.source.clone(),
        entries: candidate.contract.steps.iter().map(|step| step.entry.clone()).collect(),
        compile_for: compile_for(&plan.target),
    };
    let outcome = match batch {
        Some(batch) => compile_in(batch, &job),
        None => compile(&job, setup),
    };
    Ok(match outcome? {
        CompileOutcome::Compiled(artifact) => {
            keeps(plan, candidate, &artifact).map(|()| artifact).map_err(Refusal::Contract)
        }
        CompileOutcome::Failed(failure) => Err(Refusal::Compile(failure)),
    })
}

fn pairs(params: &[Param]) -> Vec<(u32, u32)> {
    params.iter().map(|param| (param.offset, param.size)).collect()
}

/// A failure in words: the reason, and the first few things that the compiler said of the candidate.
pub(super) fn words(failure: &CompileFailure) -> String {
    let said =
        failure.diagnostics.iter().take(3).map(|d| format!("; line {}: {}", d.line.unwrap_or(0), d.message));
    format!("{:?}{}", failure.reason, said.collect::<String>())
}

/// A cubin's own parameter layout must be the contract's, and who may overlap the kernel before it must wait for it.
fn keeps(plan: &Plan, candidate: &Candidate, artifact: &Artifact) -> Result<(), String> {
    match &artifact.inspected {
        Inspected::Object(_) => Ok(()),
        Inspected::Cubin(info) => {
            let scalars: Vec<u32> = plan.spec.scalars.iter().map(|scalar| scalar.dtype.bits() / 8).collect();
            let kernels: Vec<(String, Vec<(u32, u32)>)> =
                info.kernels.iter().map(|kernel| (kernel.name.clone(), pairs(&kernel.params))).collect();
            evaluate::device::resolve::check_layout(&candidate.contract, &scalars, &kernels)?;
            let may_read = |step: &Step| takes_constants(step, &plan.spec.tensors);
            check_waits(&candidate.contract, &info.kernels, &may_read)
        }
    }
}

/// Compiles a candidate of ours that has to compile.
pub(super) fn must_compile(
    setup: &CompileSetup,
    plan: &Plan,
    candidate: Candidate,
) -> Result<Compiled, SearchError> {
    let ours = |detail| SearchError::Ours { kernel: plan.title(), what: "naive kernel", detail };
    one(setup, None, plan, candidate)?.map_err(|(_, outcome)| ours(outcome.to_string()))
}

/// Candidates that all cores are compiling.
pub(super) type Compiling = Ordered<Result<Attempt, SearchError>>;

/// Starts compiling candidates. What has no reader any more is left.
pub(super) fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    setup: &'env CompileSetup,
    batch: Option<&'env Batch>,
    plan: &'env Plan,
    candidates: &'env [Candidate],
) -> Compiling {
    ordered::start(scope, candidates.len(), move |at| one(setup, batch, plan, candidates[at].clone()))
}

/// Compiles candidates, each by a process of its own.
pub(super) fn alone(
    setup: &CompileSetup,
    plan: &Plan,
    candidates: &[Candidate],
) -> Result<Vec<Attempt>, SearchError> {
    std::thread::scope(|scope| start(scope, setup, None, plan, candidates).collect())
}

/// The file of the gate's kernels.
pub(super) const KERNELS: &str = "gate.cubin";
/// The file of the reference on a device.
pub(super) const REFERENCE: &str = "reference.cubin";
/// The file of the reference on the host.
pub(super) const ON_HOST: &str = "reference.so";

/// Cubins of ours.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DeviceFiles {
    /// The gate's kernels.
    pub(super) kernels: PathBuf,
    /// The printed reference, where it can be one.
    pub(super) reference: Option<PathBuf>,
}

/// What the judge launches itself on a device: the gate's kernels, and the printed reference where it can be one.
pub(super) fn on_device(
    setup: &CompileSetup,
    plan: &Plan,
    arch: Arch,
    folder: &Path,
) -> Result<DeviceFiles, SearchError> {
    let cubin = |name: &str, source: &str, options: &[&str]| {
        let (path, bytes) = (folder.join(name), own_cubin(setup, arch.name(), source, options)?);
        std::fs::write(&path, bytes).map_err(|error| SearchError::File(path.clone(), error))?;
        Ok::<_, SearchError>(path)
    };
    let printed = print::reference::print_cuda(plan);
    let (kernels, reference) = std::thread::scope(|scope| {
        let kernels = scope.spawn(|| cubin(KERNELS, evaluate::KERNELS, &evaluate::OPTIONS));
        let reference = printed.map(|p| cubin(REFERENCE, &p.source, &p.options)).transpose();
        (kernels.join(), reference)
    });
    let panicked = |_| SearchError::Ours {
        kernel: plan.title(),
        what: "compile thread",
        detail: "it panicked".to_owned(),
    };
    Ok(DeviceFiles { kernels: kernels.map_err(panicked)??, reference: reference? })
}

/// The f64 reference as a shared object in `folder`. It is our own text: it runs in the judge's process.
pub(super) fn reference(setup: &CompileSetup, plan: &Plan, folder: &Path) -> Result<PathBuf, SearchError> {
    let cxx = setup.toolchain.need_cxx()?;
    let (source, shared) = (folder.join("reference.cpp"), folder.join(ON_HOST));
    std::fs::write(&source, print::reference::print(plan))
        .map_err(|e| SearchError::File(source.clone(), e))?;
    let mut command = sandboxed(&cxx.program, &[], folder);
    command.args(["-std=c++17", "-O3", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-o"]);
    let output = command.arg(&shared).arg(&source).arg("-lm").output();
    let output = output.map_err(|error| SearchError::File(cxx.program.clone(), error))?;
    if output.status.success() {
        return Ok(shared);
    }
    let detail = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(SearchError::Ours { kernel: plan.title(), what: "reference", detail })
}

impl Compiled {
    /// The oldest driver branch that loads the cubin, from its ELF's ABI version.
    pub(super) fn min_driver(&self) -> Option<u32> {
        match &self.artifact.inspected {
            Inspected::Object(_) => None,
            Inspected::Cubin(info) => Some(if info.abi_version >= 8 { 580 } else { 525 }),
        }
    }

    /// The most shared memory that a block of the cubin needs.
    pub(super) fn shared_memory(&self, plan: &Plan) -> Option<u32> {
        let Inspected::Cubin(info) = &self.artifact.inspected else { return None };
        let needed = self.candidate.contract.steps.iter().map(|step| {
            let kernel = info.kernels.iter().find(|kernel| kernel.name == step.entry)?;
            let dynamic = dynamic(step, &plan.spec.axes, &self.candidate.eligibility)?;
            u32::try_from(kernel.static_smem_bytes.cast_signed().checked_add(dynamic)?).ok()
        });
        needed.collect::<Option<Vec<u32>>>()?.into_iter().max()
    }
}

/// The most dynamic shared memory that a step asks for, however little a device has: of what it takes by that, nothing.
fn dynamic(step: &Step, axes: &[Axis], eligibility: &Eligibility) -> Option<i64> {
    let device = |prop| (prop == DeviceProp::DeviceSmem).then_some(0);
    let least = |axis: usize| match axes[axis].extent {
        Extent::Range { lo, .. } => lo,
        Extent::Const(_) | Extent::Derived(_) => 0,
    };
    let at = |extents: Option<Vec<i64>>| step.smem.eval(&extents?, &device);
    Some(at(eligibility.largest(axes))?.max(at(axis::resolve(axes, &least))?))
}

/// Where the vendor's libraries lie, besides where the loader looks.
pub(super) fn vendor_folders() -> Vec<PathBuf> {
    let home = env::variable_os("CUDA_HOME").map(PathBuf::from);
    let homes = home.into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    homes.flat_map(|home| ["lib64", "lib"].map(|folder| home.join(folder))).collect()
}

/// Runner processes for the plan's target.
pub(super) fn run_workers(setup: &CompileSetup, plan: &Plan) -> evaluate::Workers {
    let backend = match plan.target {
        Target::Host { .. } => evaluate::wire::protocol::Backend::Host,
        Target::Cuda { .. } => evaluate::wire::protocol::Backend::Cuda,
    };
    // runners must see the device that the judge sees
    let passed = match plan.target {
        Target::Host { .. } => &[][..],
        Target::Cuda { .. } => &["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH"],
    };
    evaluate::Workers {
        exe: setup.workers.exe.clone(),
        args: setup.workers.args.clone(),
        env: passed.iter().filter_map(|name| Some(((*name).into(), env::variable_os(name)?))).collect(),
        backend,
        limits: evaluate::wire::protocol::Limits::host(),
    }
}

#[cfg(test)]
mod tests {
    use super::{dynamic, too_large};
    use cutegen_spec::contract::Contract;
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::eligibility::Eligibility;
    use cutegen_spec::target::Target;

    fn contract(smem: &str) -> Contract {
        let steps = format!(
            "[[steps]]\nentry = 'k'\ngrid = ['1', '1', '1']\nblock = ['1', '1', '1']\nargs = []\nsmem = '{smem}'"
        );
        toml::from_str(&steps).expect("a contract")
    }

    #[test]
    fn a_contract_that_fits_no_block_is_refused_before_a_compiler_sees_it() {
        let is_refused = |target: &str, smem: &str| {
            let target = Target::parse(target).expect("a target");
            too_large(&target, &contract(smem)).is_some()
        };
        let most = (227 << 10).to_string();
        assert!(!is_refused("sm_90a", &most) && is_refused("sm_90a", &format!("{most} + 1")));
        assert!(is_refused("sm_86", &most) && !is_refused("host", &most));
        // what depends on extents or on the device is for a launch to say
        assert!(!is_refused("sm_90a", "a0 * 1048576") && !is_refused("sm_90a", "device_smem * 2"));
    }

    #[test]
    fn shared_memory_is_the_most_over_what_a_variant_is_eligible_for() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '8..=4096' }\ninputs = { x = 'f32[m]' }\n\
                    outputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m] + 1'";
        let spec = spec_file(text, &Default::default()).kernels.remove(0);
        let of = |smem: &str, eligible: &str| {
            let contract = contract(smem);
            let eligibility = Eligibility::parse_positional(eligible).expect("conditions");
            dynamic(&contract.steps[0], &spec.axes, &eligibility)
        };
        assert_eq!(of("102400", "true"), Some(102_400));
        assert_eq!([of("a0 * 4", "true"), of("a0 * 4", "a0 <= 1000")], [Some(16_384), Some(4000)]);
        assert_eq!(of("65536 / a0", "true"), Some(8192));
        assert_eq!(of("min(device_smem, 166912)", "true"), Some(0), "it takes what there is");
    }
}
