//! What kernels take of a multiprocessor, and how many of their blocks fit it. Figures of compute capability 9.0: CUDA C++
//! Programming Guide, "Technical Specifications per Compute Capability".

use cutegen_spec::contract::{Contract, Step};

use crate::inspect::cubin::KernelInfo;
use crate::plan::Plan;
use crate::run_log::Resources;

const REGISTERS: u32 = 65_536;
const REGISTERS_UNIT: u32 = 256; // of a warp
const THREADS: u32 = 2048;
const BLOCKS: u32 = 32;
const SHARED: u64 = 228 << 10;
const SHARED_OWN: u64 = 1 << 10; // of the system, a block
const WARP: u32 = 32;

/// Of each kernel, under the entry that its contract names; `symbols` has what was derived for that.
pub(super) fn resources(
    plan: &Plan,
    kernels: &[KernelInfo],
    (symbols, entries): (&Contract, &Contract),
) -> Vec<Resources> {
    let axes = plan.spec.workloads.first().and_then(|workload| plan.spec.bind(&workload.axes).ok());
    let mut all = Vec::new();
    for (symbol, named) in symbols.steps.iter().zip(&entries.steps) {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == symbol.entry) else { continue };
        all.push(Resources {
            entry: named.entry.clone(),
            registers: kernel.registers,
            local_bytes: kernel.stack_bytes,
            shared_bytes: kernel.static_smem_bytes,
            blocks_per_sm: axes.as_ref().and_then(|axes| blocks(kernel, symbol, axes)),
        });
    }
    all
}

/// Blocks that fit a multiprocessor; none where the contract cannot be evaluated.
fn blocks(kernel: &KernelInfo, step: &Step, axes: &[i64]) -> Option<u32> {
    let extents = step.block.iter().map(|extent| extent.eval_axes(axes));
    let threads: i64 = extents.collect::<Option<Vec<i64>>>()?.into_iter().product();
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0)?;
    let dynamic = u64::try_from(step.smem.eval_axes(axes)?).ok()?;
    Some(fitting(threads, kernel.registers?, kernel.static_smem_bytes + dynamic))
}

/// Blocks of so many threads, registers a thread and bytes of shared memory.
fn fitting(threads: u32, registers: u32, shared: u64) -> u32 {
    let warps = threads.div_ceil(WARP);
    let of_warp = (registers * WARP).next_multiple_of(REGISTERS_UNIT).max(REGISTERS_UNIT);
    let by_shared = u32::try_from(SHARED / (shared + SHARED_OWN)).unwrap_or(u32::MAX);
    (THREADS / (warps * WARP)).min(REGISTERS / of_warp / warps).min(by_shared).min(BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn blocks_fit_as_the_occupancy_calculator_says() {
        // values of cudaOccupancyMaxActiveBlocksPerMultiprocessor on compute capability 9.0
        for (threads, registers, shared, blocks) in [
            (256, 32, 0, 8),
            (256, 64, 0, 4),
            (256, 40, 0, 6),
            (128, 168, 0, 2 + 1),
            (1024, 64, 0, 1),
            (1024, 65, 0, 0),
            (32, 16, 0, 32),
            (128, 32, 100 << 10, 2),
            (128, 32, 227 << 10, 1),
            (33, 32, 0, 32),
        ] {
            assert_eq!(fitting(threads, registers, shared), blocks, "{threads} {registers} {shared}");
        }
    }
}
