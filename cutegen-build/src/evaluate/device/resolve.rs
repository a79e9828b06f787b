//! From a contract to the numbers of its launches: pure, so that what the emitter prints as Rust can be held against
//! it. A launch over a device's limits is the candidate's fault, told in words.
//!
//! Order of evaluation, which emitted code shares: cluster, block and shared memory over axes, `sm_count` and
//! `device_smem`; then the grid, which may also ask for the occupancy of that shape. A step with an empty grid has
//! nothing to do and is left out.

use cutegen_runtime::cuda::LaunchConfig;
use cutegen_spec::contract::tensor_map::{Base, Fill, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Step};
use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::{DeviceProp, IntExpr};

use crate::evaluate::wire::protocol::ScalarValue;

/// Threads of a block.
const THREADS_MAX: i64 = 1024;
/// Blocks of a cluster, where the kernel asks for more than is portable.
const CLUSTER_MAX: i64 = 16;
const BLOCK_MAX: [i64; 3] = [1024, 1024, 64];
const GRID_MAX: [i64; 3] = [(1 << 31) - 1, 65535, 65535];

/// What a launch may ask of its device.
pub trait DeviceFacts {
    /// Multiprocessors.
    fn sm_count(&self) -> u32;

    /// Bytes of shared memory that a block may ask for.
    fn smem_max(&self) -> u32;

    /// Blocks of this launch that one multiprocessor holds; `config.grid` is one cluster.
    fn blocks_per_sm(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String>;

    /// Clusters of this launch that the device holds; `config.grid` is one cluster.
    fn active_clusters(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String>;
}

/// The values that arguments refer to, by position.
#[derive(Clone, Copy, Debug)]
pub struct Bindings<'a> {
    /// Extents of the axes.
    pub axes: &'a [i64],
    /// Values of the scalars.
    pub scalars: &'a [ScalarValue],
    /// Addresses of the tensors.
    pub tensors: &'a [u64],
    /// Addresses of the workspace's parts.
    pub workspace: &'a [u64],
}

/// One launch, all numbers known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedStep {
    /// Symbol of the kernel.
    pub entry: String,
    /// Shape and attributes.
    pub config: LaunchConfig,
    /// Each parameter's value.
    pub params: Vec<Param>,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Param {
    /// A little-endian word; a value of 4 bytes is the word's first half.
    Word(u64),
    /// What a TMA descriptor is encoded from.
    Map(Mapped),
}

/// A tensor map, all numbers known. Lists are outermost dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The element type.
    pub dtype: DType,
    /// The first element.
    pub address: u64,
    /// Extents, in elements.
    pub dims: Vec<usize>,
    /// Strides, in elements.
    pub strides: Vec<usize>,
    /// Extents of a box, in elements.
    pub tile: Vec<u32>,
    /// Of so many elements along a dimension one is copied.
    pub every: Vec<u32>,
    /// Bytes of a row within which units are permuted.
    pub swizzle: u32,
    /// Bytes to which reads are widened in L2.
    pub promotion: u32,
    /// What reads outside give.
    pub fill: Fill,
}

/// All launches of a contract, in order.
///
/// # Errors
/// Why it cannot be launched, for the generator.
pub fn resolve(
    contract: &Contract,
    bindings: &Bindings<'_>,
    device: &dyn DeviceFacts,
) -> Result<Vec<ResolvedStep>, String> {
    let mut resolved = Vec::with_capacity(contract.steps.len());
    for (number, step) in contract.steps.iter().enumerate() {
        let named = |reason: String| format!("step {number} (`{}`): {reason}", step.entry);
        resolved.extend(resolve_step(step, bindings, device).map_err(named)?);
    }
    Ok(resolved)
}

/// Compares a contract's arguments with the parameters that each compiled kernel has, as (offset, size) in order.
/// `scalar_bytes` are the sizes of the spec's scalars, by position.
///
/// # Errors
/// The first difference, for the generator.
pub fn check_layout(
    contract: &Contract,
    scalar_bytes: &[u32],
    kernels: &[(String, Vec<(u32, u32)>)],
) -> Result<(), String> {
    for step in &contract.steps {
        let found = kernels.iter().find(|(entry, _)| *entry == step.entry);
        let (_, found) = found.ok_or_else(|| format!("no kernel `{}` was compiled", step.entry))?;
        let expected = layout(&step.args, scalar_bytes, found)?;
        if *found != expected {
            return Err(layout_difference(step, &expected, found));
        }
    }
    Ok(())
}

/// Bytes of a TMA descriptor, and what its address is aligned to. Where parameters begin depends on the architecture (sm_90: at
/// byte 528 of the constant bank), so that the offset of a descriptor need not be such a multiple.
const MAP: (u32, u32) = (128, 64);

/// (offset, size) of each argument, in order: naturally aligned, but for descriptors, which lie where a compiler may put them.
fn layout(args: &[Arg], scalar_bytes: &[u32], found: &[(u32, u32)]) -> Result<Vec<(u32, u32)>, String> {
    let mut end = 0_u32;
    let mut laid = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        let size = match arg {
            Arg::Ptr(_) | Arg::Axis(_) | Arg::Workspace(_) | Arg::Int(_) => 8,
            Arg::Scalar(s) => *scalar_bytes.get(*s).ok_or_else(|| unknown(arg))?,
            Arg::Map(_) => MAP.0,
        };
        let natural = end.next_multiple_of(size.clamp(1, MAP.1));
        let there = found.get(at).map(|(offset, _)| *offset);
        let may = |offset: &u32| offset.is_multiple_of(16) && (end..end + MAP.1).contains(offset);
        let offset = there.filter(|offset| matches!(arg, Arg::Map(_)) && may(offset)).unwrap_or(natural);
        laid.push((offset, size));
        end = offset + size;
    }
    Ok(laid)
}

fn layout_difference(step: &Step, expected: &[(u32, u32)], found: &[(u32, u32)]) -> String {
    let entry = &step.entry;
    if expected.len() != found.len() {
        return format!("`{entry}` takes {} parameters, its contract passes {}", found.len(), expected.len());
    }
    let at = expected.iter().zip(found).position(|(e, f)| e != f).unwrap_or(0);
    let ((offset, size), (found_offset, found_size)) = (expected[at], found[at]);
    format!(
        "`{entry}`: parameter {at} has {found_size} bytes at {found_offset}, but {} has {size} at {offset}",
        step.args[at]
    )
}

fn resolve_step(
    step: &Step,
    bindings: &Bindings<'_>,
    device: &dyn DeviceFacts,
) -> Result<Option<ResolvedStep>, String> {
    let mut config = shape(step, bindings.axes, device)?;
    let grid = grid(step, bindings.axes, device, &config)?;
    if grid.contains(&0) {
        return Ok(None);
    }
    config.grid = grid;
    clusters_fit(&config)?;
    if step.co_resident {
        all_resident(step, device, &config)?;
    }
    let number = |what: &str, expr: &IntExpr| {
        occupied(step, device, &config, &|known| value(what, expr, bindings.axes, known))
    };
    let params = step.args.iter().map(|arg| bindings.value(arg, &number)).collect::<Result<_, _>>()?;
    Ok(Some(ResolvedStep { entry: step.entry.clone(), config, params }))
}

/// All of a launch but its grid, which is one cluster.
fn shape(step: &Step, axes: &[i64], device: &dyn DeviceFacts) -> Result<LaunchConfig, String> {
    let known = |prop| match prop {
        DeviceProp::SmCount => Some(i64::from(device.sm_count())),
        DeviceProp::DeviceSmem => Some(i64::from(device.smem_max())),
        DeviceProp::MaxActiveClusters | DeviceProp::MaxBlocksPerSm => None,
    };
    let eval = |what: &str, expr: &IntExpr| value(what, expr, axes, &known);
    let cluster = dims("cluster", &step.cluster, [CLUSTER_MAX; 3], 1, &eval)?;
    let block = dims("block", &step.block, BLOCK_MAX, 1, &eval)?;
    within("blocks of a cluster", product(cluster), CLUSTER_MAX)?;
    within("threads of a block", product(block), THREADS_MAX)?;
    let smem = eval("shared memory", &step.smem)?;
    within("bytes of dynamic shared memory", smem, i64::from(device.smem_max()))?;
    let dynamic_smem = u32::try_from(smem).map_err(|_| "its shared memory is negative".to_owned())?;
    let (pdl, cooperative) = (step.pdl, step.co_resident);
    Ok(LaunchConfig { grid: cluster, block, cluster, dynamic_smem, pdl, cooperative })
}

fn grid(
    step: &Step,
    axes: &[i64],
    device: &dyn DeviceFacts,
    shape: &LaunchConfig,
) -> Result<[u32; 3], String> {
    occupied(step, device, shape, &|known| {
        dims("grid", &step.grid, GRID_MAX, 0, &|what, expr| value(what, expr, axes, known))
    })
}

/// What a device says of itself; none where it is not known.
type Known<'a> = dyn Fn(DeviceProp) -> Option<i64> + 'a;

/// What is computed from all that a device says, the occupancy of this launch among it.
fn occupied<T>(
    step: &Step,
    device: &dyn DeviceFacts,
    shape: &LaunchConfig,
    compute: &dyn Fn(&Known<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let refused = std::cell::RefCell::new(None);
    let shape = LaunchConfig { grid: shape.cluster, ..*shape };
    let asked = |answer: Result<u32, String>| match answer {
        Ok(count) => Some(i64::from(count)),
        Err(reason) => {
            refused.replace(Some(reason));
            None
        }
    };
    let known = |prop| match prop {
        DeviceProp::SmCount => Some(i64::from(device.sm_count())),
        DeviceProp::DeviceSmem => Some(i64::from(device.smem_max())),
        DeviceProp::MaxActiveClusters => asked(device.active_clusters(&step.entry, &shape)),
        DeviceProp::MaxBlocksPerSm => asked(device.blocks_per_sm(&step.entry, &shape)),
    };
    let computed = compute(&known);
    match refused.take() {
        Some(reason) => Err(reason),
        None => computed,
    }
}

type Eval<'a> = dyn Fn(&str, &IntExpr) -> Result<i64, String> + 'a;

fn dims(
    what: &str,
    exprs: &[IntExpr; 3],
    max: [i64; 3],
    min: i64,
    eval: &Eval<'_>,
) -> Result<[u32; 3], String> {
    let mut values = [0_u32; 3];
    for d in 0..3 {
        let value = eval(what, &exprs[d])?;
        let name = ["x", "y", "z"][d];
        within(&format!("{what}.{name}"), value, max[d])?;
        if value < min {
            return Err(format!("{what}.{name} = {value} is below {min}"));
        }
        values[d] = u32::try_from(value).map_err(|_| format!("{what}.{name} = {value}"))?;
    }
    Ok(values)
}

fn value(what: &str, expr: &IntExpr, axes: &[i64], known: &Known<'_>) -> Result<i64, String> {
    expr.eval(axes, &|prop| known(prop)).ok_or_else(|| format!("{what} `{expr}` cannot be computed"))
}

fn within(what: &str, value: i64, max: i64) -> Result<(), String> {
    if value > max { Err(format!("{what}: {value}, but at most {max} fit")) } else { Ok(()) }
}

fn product(dims: [u32; 3]) -> i64 {
    dims.into_iter().map(i64::from).product()
}

fn clusters_fit(config: &LaunchConfig) -> Result<(), String> {
    match (0..3).find(|d| !config.grid[*d].is_multiple_of(config.cluster[*d])) {
        Some(d) => Err(format!(
            "grid {:?} is no multiple of cluster {:?} (dimension {d})",
            config.grid, config.cluster
        )),
        None => Ok(()),
    }
}

/// Every block at once, or a spin-wait between blocks never ends.
fn all_resident(step: &Step, device: &dyn DeviceFacts, config: &LaunchConfig) -> Result<(), String> {
    let asked = LaunchConfig { grid: config.cluster, ..*config };
    let fits = if config.cluster == [1; 3] {
        i64::from(device.blocks_per_sm(&step.entry, &asked)?) * i64::from(device.sm_count())
    } else {
        i64::from(device.active_clusters(&step.entry, &asked)?) * product(config.cluster)
    };
    within("blocks that must be resident at once", product(config.grid), fits)
}

impl Bindings<'_> {
    fn value(&self, arg: &Arg, number: &Eval<'_>) -> Result<Param, String> {
        let found = match arg {
            Arg::Ptr(t) => self.tensors.get(*t).copied(),
            Arg::Axis(a) => self.axes.get(*a).map(|extent| extent.cast_unsigned()),
            Arg::Scalar(s) => self.scalars.get(*s).map(|scalar| scalar.parameter()),
            Arg::Workspace(w) => self.workspace.get(*w).copied(),
            Arg::Int(expr) => Some(number("argument", expr)?.cast_unsigned()),
            Arg::Map(map) => return self.mapped(map, number).map(Param::Map),
        };
        found.map(Param::Word).ok_or_else(|| unknown(arg))
    }

    fn mapped(&self, map: &TensorMap, number: &Eval<'_>) -> Result<Mapped, String> {
        let base = match map.base {
            Base::Tensor(t) => self.tensors.get(t),
            Base::Workspace(w) => self.workspace.get(w),
        };
        let base = base.ok_or_else(|| format!("tma({map}): its base does not exist"))?;
        let count = |expr: &IntExpr| {
            let value = number("tensor map", expr)?;
            usize::try_from(value).map_err(|_| format!("tensor map: `{expr}` is {value}"))
        };
        let counts = |exprs: &[IntExpr]| exprs.iter().map(count).collect::<Result<Vec<_>, _>>();
        let bytes = count(&map.offset)?.checked_mul(map.dtype.bytes());
        let address = bytes.and_then(|bytes| base.checked_add(bytes as u64));
        Ok(Mapped {
            dtype: map.dtype,
            address: address.ok_or_else(|| format!("tensor map: `{}` overflows", map.offset))?,
            dims: counts(&map.dims)?,
            strides: counts(&map.strides)?,
            tile: map.tile.clone(),
            every: map.every.clone(),
            swizzle: map.swizzle,
            promotion: map.promotion,
            fill: map.fill,
        })
    }
}

fn unknown(arg: &Arg) -> String {
    format!("{arg} does not exist")
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
