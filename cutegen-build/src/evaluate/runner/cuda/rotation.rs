//! The rotation of a timing: enough copies of the job's slots that no launch finds its data in the L2 cache.
//!
//! The judge fills some slots. Where they are small beside the cache, the runner repeats the arena's whole image on
//! the device: same inputs, outputs of their own, same misalignment. All programs rotate over the same inputs. The
//! workspace is not rotated: a caller reuses it launch after launch.
//!
//! Replicas are checked through the arena. What the judge reads after a timing is each slot's outputs, from the first
//! replica that differs from the slot itself if one does: when the judge finds them right, all are.

use std::collections::BTreeSet;
use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_runtime::cuda::cudarc::driver::result;

use super::memory::{Allocation, Placed, Together, differs, failed};
use super::session::{Session, machine};
use crate::evaluate::memory::SharedMemory;
use crate::evaluate::protocol::{Job, Region};
use crate::evaluate::runner::Stop;

/// How often a rotation covers the cache.
const CACHES: u64 = 3;
/// Most slots of a rotation: below 45 KB a slot, launches may still find data in an H200's cache.
const SLOTS_MAX: u64 = 4096;
/// Alignment of a replica's image.
const STRIDE: u64 = 4096;

/// The replicas of a job's arena.
pub(super) struct Rotation {
    base: CUdeviceptr,
    base_bytes: u64,
    extra: Option<Allocation>,
    stride: u64,
    count: u64,
}

/// One image of the arena.
pub(super) struct Replica {
    tensors: CUdeviceptr,
    workspace: CUdeviceptr,
    bytes: u64,
}

impl Rotation {
    /// Replicates the filled arena.
    pub(super) fn new(session: &Rc<Session>, base: &Together, job: &Job) -> Result<Self, Stop> {
        let stride = job.arena_bytes.next_multiple_of(STRIDE).max(STRIDE);
        let wanted = replicas(job, session.cache_bytes()?);
        let (free, _) = result::mem_get_info().map_err(machine("cuMemGetInfo"))?;
        let room = free as u64 / 10 * 8 / stride;
        let count = wanted.min(1 + room);
        let extra = match count {
            0 | 1 => None,
            count => Some(Allocation::new(session, (count - 1) * stride)?),
        };
        if let Some(extra) = &extra {
            for replica in 0..count - 1 {
                extra.copy_from(replica * stride, base.memory(), job.arena_bytes)?;
            }
        }
        let base_at = base.memory().base();
        Ok(Self { base: base_at, base_bytes: job.arena_bytes, extra, stride, count })
    }

    /// Where regions lie in each image, the arena's own first.
    pub(super) fn replicas(&self) -> impl Iterator<Item = Replica> + '_ {
        (0..self.count.max(1)).map(|number| {
            let tensors = match (number, &self.extra) {
                (0, _) | (_, None) => self.base,
                (number, Some(extra)) => extra.base() + (number - 1) * self.stride,
            };
            Replica { tensors, workspace: self.base, bytes: self.base_bytes }
        })
    }

    /// Puts regions of replicas that differ from the arena into it.
    pub(super) fn fold_differences(&self, job: &Job, arena: &mut SharedMemory) -> Result<(), Stop> {
        let Some(extra) = &self.extra else { return Ok(()) };
        let mut rest: Vec<Region> = regions(job);
        for replica in 0..self.count - 1 {
            let mut found = Vec::new();
            for region in &rest {
                if let Some(bytes) = differs(extra, replica * self.stride, arena, *region)? {
                    found.push((*region, bytes));
                }
            }
            for (region, bytes) in found {
                arena.slice_mut(region).map_err(failed)?.copy_from_slice(&bytes);
                rest.retain(|other| *other != region);
            }
        }
        Ok(())
    }
}

impl Placed for Replica {
    fn tensor(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        within(region, self.bytes).map(|offset| self.tensors + offset)
    }

    fn workspace(&self, region: Region) -> Result<CUdeviceptr, Stop> {
        within(region, self.bytes).map(|offset| self.workspace + offset)
    }
}

fn within(region: Region, bytes: u64) -> Result<u64, Stop> {
    match region.end() {
        Some(end) if end <= bytes => Ok(region.offset),
        _ => Err(Stop::Failed(format!("{region:?} lies outside the arena"))),
    }
}

/// How many images make a rotation that covers the cache for every program.
fn replicas(job: &Job, cache_bytes: u64) -> u64 {
    let touched = job.programs.iter().map(|program| {
        let distinct: BTreeSet<_> = program.slots.iter().flatten().map(|r| (r.offset, r.bytes)).collect();
        distinct.into_iter().map(|(_, bytes)| bytes).sum::<u64>()
    });
    let touched = touched.min().unwrap_or(0).max(1);
    let slots = job.programs.iter().map(|p| p.slots.len() as u64).max().unwrap_or(1).max(1);
    (CACHES * cache_bytes).div_ceil(touched).clamp(1, (SLOTS_MAX / slots).max(1))
}

/// All regions of tensors, once.
fn regions(job: &Job) -> Vec<Region> {
    let slots = job.programs.iter().flat_map(|program| program.slots.iter().flatten());
    let distinct: BTreeSet<_> = slots.filter(|r| r.bytes > 0).map(|r| (r.offset, r.bytes)).collect();
    distinct.into_iter().map(|(offset, bytes)| Region { offset, bytes }).collect()
}

#[cfg(test)]
mod tests {
    use super::{replicas, within};
    use crate::evaluate::protocol::{Action, Format, Job, Program, Region, Run};

    fn job(slots: Vec<Vec<Region>>) -> Job {
        let (contract, workspace) = (cutegen_spec::contract::Contract::default(), Region::default());
        let program = Program { artifact: "k".into(), format: Format::Cubin, contract, slots, workspace };
        let action = Action::Run(Run { repeats: 1, reload: false });
        Job { arena_bytes: 1 << 30, axes: vec![], scalars: vec![], programs: vec![program], action }
    }

    #[test]
    fn rotations_cover_the_cache_three_times() {
        let slot = |offset, bytes| vec![Region { offset, bytes }, Region { offset: offset + bytes, bytes }];
        let cache = 60 << 20;
        assert_eq!(replicas(&job(vec![slot(0, 100 << 20)]), cache), 1);
        assert_eq!(replicas(&job(vec![slot(0, 10 << 20)]), cache), 9);
        assert_eq!(replicas(&job(vec![slot(0, 10 << 20), slot(20 << 20, 10 << 20)]), cache), 5);
        assert_eq!(replicas(&job(vec![slot(0, 8)]), cache), 4096, "no more than the most");
        assert_eq!(replicas(&job(vec![vec![]]), cache), 4096, "nothing is touched");
    }

    #[test]
    fn regions_outside_the_arena_have_no_address() {
        assert_eq!(within(Region { offset: 8, bytes: 8 }, 16), Ok(8));
        assert!(within(Region { offset: 9, bytes: 8 }, 16).is_err());
    }
}
