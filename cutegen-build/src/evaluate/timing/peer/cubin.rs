//! [`Cubin`]: a candidate of ours as the peer worker launches it: the A/A cell of the two code paths. The worker fills
//! in the addresses; everything else is resolved here, by what the runner resolves with.

use std::path::{Path, PathBuf};

use cutegen_runtime::cuda::LaunchConfig;
use cutegen_spec::contract::{Arg, Contract, Initial, Step};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;
use serde::Serialize;

use super::protocol::Ready;
use crate::evaluate::device::resolve::{self, Bindings, DeviceFacts, ResolvedStep, resolve};
use crate::evaluate::wire::protocol::ScalarValue;

/// A cubin and its launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Cubin {
    file: PathBuf,
    /// Names of all tensors, by position.
    order: Vec<String>,
    outputs: Vec<Written>,
    workspace_bytes: i64,
    /// Offset and length of each part that is zeroed before a launch.
    zeroed: Vec<(i64, i64)>,
    steps: Vec<Launch>,
}

/// A tensor that the kernel writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Written {
    name: String,
    dtype: String,
    shape: Vec<i64>,
    bytes: i64,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Launch {
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    smem: u32,
    params: Vec<Param>,
    /// What the worker does not do, in words; empty for none.
    unusual: String,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Param {
    /// The address of the tensor at this position.
    Tensor(usize),
    /// An address in the workspace, by its offset.
    Workspace(i64),
    /// A value, by its bits.
    Word(u64),
}

impl Cubin {
    /// The launches of `contract` at these extents, on the device that the worker found. Only specs whose tensors are
    /// inputs and dense outputs.
    pub fn of(
        spec: &KernelSpec,
        file: &Path,
        contract: &Contract,
        axes: &[i64],
        scalars: &[ScalarValue],
        ready: &Ready,
    ) -> Result<Self, String> {
        let layout = contract.workspace_layout(axes).map_err(|unplaced| unplaced.to_string())?;
        let (offsets, workspace_bytes) = (layout.offsets().collect::<Vec<_>>(), layout.total());
        let parts = contract.workspace.iter().zip(offsets.iter().zip(&layout.places));
        let zeroed = parts.filter(|(part, _)| part.initial == Initial::Zeroed);
        let zeroed = zeroed.map(|(_, (offset, place))| (*offset, place.bytes)).collect();
        let nowhere = (vec![0; spec.tensors.len()], vec![0; offsets.len()]);
        let bindings = Bindings { axes, scalars, tensors: &nowhere.0, workspace: &nowhere.1 };
        let mut steps = Vec::new();
        for step in &contract.steps {
            let alone = Contract { workspace: contract.workspace.clone(), steps: vec![step.clone()] };
            let resolved = resolve(&alone, &bindings, &Facts(ready))?;
            steps.extend(resolved.into_iter().map(|resolved| launch(step, resolved, &offsets)));
        }
        let order = spec.tensors.iter().map(|t| t.name.clone()).collect();
        let outputs = results(spec, axes)?;
        Ok(Self { file: file.to_owned(), order, outputs, workspace_bytes, zeroed, steps })
    }
}

fn launch(step: &Step, resolved: ResolvedStep, offsets: &[i64]) -> Launch {
    let ResolvedStep { entry, config, params } = resolved;
    let has_maps = step.args.iter().any(|arg| matches!(arg, Arg::Map(_)));
    let param = |(arg, value): (&Arg, resolve::Param)| match (arg, value) {
        (Arg::Ptr(tensor), _) => Param::Tensor(*tensor),
        (Arg::Workspace(part), _) => Param::Workspace(offsets[*part]),
        (_, resolve::Param::Word(word)) => Param::Word(word),
        (_, resolve::Param::Map(_)) => Param::Word(0), // said to be unusual, so that none launches it
    };
    let params = step.args.iter().zip(params).map(param).collect();
    let unusual = if has_maps { "tensor maps" } else { unusual(&config) }.to_owned();
    Launch { entry, grid: config.grid, block: config.block, smem: config.dynamic_smem, params, unusual }
}

fn unusual(config: &LaunchConfig) -> &'static str {
    match config {
        LaunchConfig { pdl: true, .. } => "programmatic dependent launch",
        LaunchConfig { cooperative: true, .. } => "co-resident blocks",
        LaunchConfig { cluster: [1, 1, 1], .. } => "",
        LaunchConfig { .. } => "clusters",
    }
}

fn results(spec: &KernelSpec, axes: &[i64]) -> Result<Vec<Written>, String> {
    let written = spec.tensors.iter().filter(|t| t.role != Role::Input);
    let result = |tensor: &cutegen_spec::tensor::Tensor| {
        if tensor.role == Role::Inout || tensor.strides.is_some() {
            return Err(format!("`{}` is an inout or has strides", tensor.name));
        }
        let shape = tensor.dims.iter().map(|dim| dim.eval_axes(axes)).collect::<Option<_>>();
        let (Some(shape), Some(bytes)) = (shape, tensor.bytes(axes)) else {
            return Err(format!("`{}` has no size", tensor.name));
        };
        Ok(Written { name: tensor.name.clone(), dtype: tensor.dtype.name().to_owned(), shape, bytes })
    };
    written.map(result).collect()
}

/// What the worker knows of its device; it cannot ask how many blocks fit.
struct Facts<'a>(&'a Ready);

impl DeviceFacts for Facts<'_> {
    fn sm_count(&self) -> u32 {
        self.0.sm_count
    }

    fn smem_max(&self) -> u32 {
        self.0.smem_max
    }

    fn blocks_per_sm(&self, _: &str, _: &LaunchConfig) -> Result<u32, String> {
        Err("the peer worker knows no occupancy".to_owned())
    }

    fn active_clusters(&self, _: &str, _: &LaunchConfig) -> Result<u32, String> {
        Err("the peer worker knows no occupancy".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Cubin;
    use crate::evaluate::timing::peer::Ready;
    use crate::evaluate::wire::protocol::ScalarValue;
    use cutegen_spec::contract::Contract;
    use cutegen_spec::edition::spec_file;

    const SPEC: &str = "edition = 1\n[kernels.k]\naxes = { m = '1..=9999' }\ninputs = { x = 'f32[m]' }\n\
                        scalars = { s = 'f32' }\noutputs = { y = 'f16[m]' }\nmath = 'y[m] = s * x[m]'";
    const CONTRACT: &str = r#"
[[workspace]]
bytes = "100"
initial = "undefined"
[[workspace]]
bytes = "a0"
initial = "zeroed"
[[steps]]
entry = "first"
grid = ["ceil_div(a0, 256)", "1", "1"]
block = ["256", "1", "1"]
smem = "1024"
args = ["ptr(t1)", "ptr(t0)", "scalar(s0)", "axis(a0)", "workspace(w1)"]
"#;

    fn cubin(contract: &str) -> Result<Cubin, String> {
        let spec = spec_file(SPEC, &Default::default()).kernels.remove(0);
        let contract: Contract = toml::from_str(contract).expect("a contract");
        let ready = Ready { sm_count: 132, smem_max: 232_448, ..Ready::default() };
        let scalars = [ScalarValue::F32(2.0_f32.to_bits())];
        Cubin::of(&spec, "k.cubin".as_ref(), &contract, &[1000], &scalars, &ready)
    }

    #[test]
    fn launches_are_resolved_but_for_addresses() {
        let said = serde_json::to_value(cubin(CONTRACT).expect("launches")).expect("prints");
        let expected = r#"{
            "file": "k.cubin", "order": ["x", "y"], "workspace-bytes": 1280, "zeroed": [[256, 1000]],
            "outputs": [{ "name": "y", "dtype": "f16", "shape": [1000], "bytes": 2000 }],
            "steps": [{ "entry": "first", "grid": [4, 1, 1], "block": [256, 1, 1], "smem": 1024, "unusual": "",
                "params": [{ "tensor": 1 }, { "tensor": 0 }, { "word": 1073741824 }, { "word": 1000 }, { "workspace": 256 }] }]
        }"#;
        assert_eq!(said, serde_json::from_str::<serde_json::Value>(expected).expect("JSON"));
    }

    #[test]
    fn what_the_worker_does_not_launch_is_named() {
        let said = serde_json::to_value(cubin(&format!("{CONTRACT}pdl = true")).expect("launches"));
        assert_eq!(said.expect("prints")["steps"][0]["unusual"], "programmatic dependent launch");
        let asks = CONTRACT.replace("ceil_div(a0, 256)", "max_blocks_per_sm * sm_count");
        let said = cubin(&asks).expect_err("it cannot ask the device");
        assert!(said.contains("occupancy"), "{said}");
    }
}
