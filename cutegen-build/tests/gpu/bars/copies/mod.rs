//! Locked kernels of the bar table against twenty kernels that only read and write as many bytes, all raced in one run
//! over one rotation: how near each is to what the memory gives.

mod kernels;
mod race;
mod subject;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cutegen_build::evaluate::{Distribution, Lease, contents};
use cutegen_build::inspect::cubin;
use cutegen_build::plan::Plan;
use cutegen_runtime::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use cutegen_runtime::cuda::{CudaContext, Device, LaunchConfig};

use super::budget::Budget;
use super::{keep, leased, median};
use crate::{fixtures, table};
use kernels::{ALL, Kernel, Streams};
use race::{Action, Memory, Module, Program, Track};
use subject::{Cell, Parts};

/// Less traffic is not what this bar is about.
const BYTES_LEAST: f64 = 128e6;
/// Blocks of each program.
const ROUNDS: usize = 30;
/// How often a rotation covers the cache.
const CACHES: usize = 3;
const SLOTS_LEAST: usize = 3;
/// What of a copy's result is looked at, at either end.
const SEEN: usize = 1 << 16;
const SHARE_LEAST: f64 = 0.95;

/// One cell.
#[derive(serde::Serialize)]
struct Row {
    kernel: String,
    at: String,
    variant: String,
    bytes: f64,
    kernel_us: Vec<f64>,
    copies: BTreeMap<&'static str, Vec<f64>>,
}

/// Sources of the copies, which have no other test of their own.
pub(crate) fn sources() -> impl Iterator<Item = String> {
    Streams::ALL.into_iter().map(Streams::source)
}

/// All twenty, for all streams that the table has: by the compiler that candidates have, and without spills.
pub(crate) fn copies_compile() {
    race::check_bursts();
    for streams in Streams::ALL {
        let image = std::fs::read(fixtures::own_cubin(&streams.source(), &[])).expect("readable");
        let info = cubin::read(&image).expect("a cubin");
        assert_eq!(info.kernels.len(), ALL.len(), "{streams:?}");
        for kernel in &ALL {
            let found = info.kernels.iter().find(|found| found.name == kernel.name).expect("its entry");
            assert_eq!(found.stack_bytes.unwrap_or(0), 0, "{} spills over {streams:?}", kernel.name);
            assert_eq!((found.params.len(), found.threads_max), (12, Some([kernel.threads, 1, 1])));
            assert!(found.static_smem_bytes + u64::from(kernel.smem()) <= 227 << 10, "{}", kernel.name);
        }
    }
    // each cell of the table has streams that there are copies for
    for plan in table::plans() {
        for cell in subject::cells(&plan) {
            let parts = cell.parts();
            assert!(
                Streams::ALL.contains(&parts.streams),
                "{} {}: {:?}",
                plan.title(),
                cell.at,
                parts.streams
            );
            let moved =
                parts.read.iter().chain(&parts.small_read).chain(&parts.written).chain(&parts.small_written);
            let moved: f64 = moved.map(|t| cell.bytes(*t) as f64).sum();
            assert!(
                (moved / cell.traffic() - 1.0).abs() < 0.001,
                "{} {}: the same bytes",
                plan.title(),
                cell.at
            );
        }
    }
}

/// A device, and the copies loaded for each kind of streams that is asked for.
struct Stand {
    device: Device,
    /// Others prepare on it meanwhile, and wait while it times.
    lease: Lease,
    /// The same in words.
    words: String,
    cache: usize,
    track: Track,
    modules: BTreeMap<Streams, Module>,
}

impl Stand {
    fn new(context: &Arc<CudaContext>, streams: BTreeSet<Streams>) -> Self {
        let device = Device::of(context).expect("its properties");
        let cache = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).expect("an attribute");
        let modules = streams.into_iter().map(|streams| {
            let image = std::fs::read(fixtures::own_cubin(&streams.source(), &[])).expect("readable");
            (streams, Module::load(&image))
        });
        Self {
            words: format!("{}, {}, driver {}", device.name, device.arch(), device.driver),
            cache: usize::try_from(cache).expect("a size"),
            track: Track::new(),
            modules: modules.collect(),
            lease: leased(context),
            device,
        }
    }

    fn row(&self, entry: &cutegen_build::store::Entry, variant: usize, cell: &Cell<'_>) -> Row {
        let parts = cell.parts();
        let drawn = contents(&cell.plan.spec, 0xc0b1e5, &cell.axes, Distribution::Normal).expect("drawn");
        let shared = self.lease.shared();
        let rotation = self.rotation(cell, &drawn);
        let sink = Memory::new(4);
        let facts = (self.device.sm_count, self.device.smem_max);
        let (ours, workspace) = subject::program((entry, variant), cell, &rotation, facts);
        let copies = ALL.iter().map(|copy| self.copy(copy, cell, &parts, &rotation, &sink));
        let programs: Vec<Program> = std::iter::once(ours).chain(copies).collect();
        for (copy, program) in ALL.iter().zip(&programs[1..]) {
            self.track.once(program);
            moved(copy, &parts, &rotation[0]);
        }
        drop(shared);
        let alone = self.lease.alone();
        let mut times = self.track.race(&programs, ROUNDS, 0xc0b1e5);
        // freed before another may time
        drop((programs, workspace, rotation, sink));
        drop(alone);
        let kernel_us = times.remove(0);
        Row {
            kernel: cell.plan.spec.name.to_string(),
            at: cell.at.clone(),
            variant: entry.record.variants[variant].name.clone(),
            bytes: cell.traffic(),
            kernel_us,
            copies: ALL.iter().map(|copy| copy.name).zip(times).collect(),
        }
    }

    /// Slots of tensors: every one holds what was drawn.
    fn rotation(&self, cell: &Cell<'_>, drawn: &[Option<Vec<u8>>]) -> Vec<Vec<Memory>> {
        let all: usize = (0..drawn.len()).map(|t| cell.bytes(t)).sum();
        let slot = |_| {
            let tensor = |(t, held): (usize, &Option<Vec<u8>>)| {
                let memory = Memory::new(cell.bytes(t));
                held.iter().for_each(|held| memory.write(held));
                memory
            };
            drawn.iter().enumerate().map(tensor).collect()
        };
        (0..(CACHES * self.cache).div_ceil(all.max(1)).max(SLOTS_LEAST)).map(slot).collect()
    }

    fn copy(
        &self,
        copy: &Kernel,
        cell: &Cell<'_>,
        parts: &Parts,
        rotation: &[Vec<Memory>],
        sink: &Memory,
    ) -> Program {
        let function = self.modules[&parts.streams].function(copy.name);
        let config = LaunchConfig {
            grid: [copy.blocks(parts.length as i64, self.device.sm_count), 1, 1],
            block: [copy.threads, 1, 1],
            dynamic_smem: copy.smem(),
            ..LaunchConfig::default()
        };
        let slot = |tensors: &Vec<Memory>| {
            let address = |list: &[usize], at: usize| list.get(at).map_or(0, |t| tensors[*t].at);
            let small = |list: &[usize], at: usize| {
                list.get(at).map_or([0, 0], |t| [tensors[*t].at, cell.bytes(*t) as u64])
            };
            let streams = [&parts.read, &parts.written].map(|list| [address(list, 0), address(list, 1)]);
            let beside =
                [small(&parts.small_read, 0), small(&parts.small_read, 1), small(&parts.small_written, 0)];
            let params =
                [&streams.concat()[..], &[parts.length as u64], &beside.concat()[..], &[sink.at]].concat();
            let action = Action::Launch { function, config, params };
            action.prepare();
            vec![action]
        };
        rotation.iter().map(slot).collect()
    }
}

/// Whether both ends of what a copy wrote are what it read.
fn moved(copy: &Kernel, parts: &Parts, slot: &[Memory]) {
    let Streams { writes, per, .. } = parts.streams;
    let seen = SEEN.min(parts.length);
    for from in [0, parts.length - seen] {
        let read = |t: usize, unit: usize| slot[t].read(unit * parts.length + from, seen);
        let units = parts.read.iter().flat_map(|t| (0..per).map(move |unit| (*t, unit)));
        let held: Vec<Vec<u8>> = units.map(|(t, unit)| read(t, unit)).collect();
        for (number, t) in parts.written.iter().enumerate() {
            let wanted = match (copy.moves_the_first() || writes == 2, number) {
                (true, 0) => held[0].clone(),
                (true, _) => held[held.len() - 1].clone(),
                (false, _) => (0..seen).map(|at| held.iter().fold(0, |all, one| all ^ one[at])).collect(),
            };
            assert!(slot[*t].read(from, seen) == wanted, "{} moves something else", copy.name);
        }
    }
}

/// The shapes that this bar is about.
fn large(plan: &Plan) -> Vec<Cell<'_>> {
    subject::cells(plan).into_iter().filter(|cell| cell.traffic() >= BYTES_LEAST).collect()
}

/// Our speed over the fastest copy's, and which one that is.
fn against_best(row: &Row) -> (f64, &'static str) {
    let share = |(name, times): (&&'static str, &Vec<f64>)| {
        (median(times.iter().zip(&row.kernel_us).map(|(copy, ours)| copy / ours)), *name)
    };
    row.copies.iter().map(share).min_by(|a, b| a.0.total_cmp(&b.0)).expect("copies")
}

pub(super) fn kernels_are_as_fast_as_copies() {
    let budget = Budget::of_environment();
    let context = cutegen_runtime::cuda::context(0).expect("a device");
    context.bind_to_thread().expect("its context");
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    let plans = budget.chosen(table::plans());
    let stand = Stand::new(&context, plans.iter().flat_map(large).map(|cell| cell.parts().streams).collect());
    for plan in &plans {
        let entry = table::entry(plan);
        for cell in &large(plan) {
            match subject::chosen(&entry, cell) {
                Some(variant) if budget.has_time() => {
                    let row = stand.row(&entry, variant, cell);
                    let (share, best) = against_best(&row);
                    println!("    {} {}: {share:.3} of {best}, {}", row.kernel, row.at, row.variant);
                    rows.push(row);
                }
                Some(_) => left.push(format!("{} {}", plan.spec.name, cell.at)),
                None => left.push(format!("{} {}: untuned", plan.spec.name, cell.at)),
            }
            keep("copies", &serde_json::json!({ "device": stand.words, "rows": rows, "not_measured": left }));
        }
    }
    println!("    {} cells; not measured: {left:?}", rows.len());
    assert!(
        !rows.is_empty(),
        "no tuned kernel was chosen: accept some into tests/bars/cache, or set CUTEGEN_BARS"
    );
    let short: Vec<String> = rows
        .iter()
        .filter(|row| against_best(row).0 < SHARE_LEAST)
        .map(|row| format!("{} {}", row.kernel, row.at))
        .collect();
    assert!(short.is_empty(), "below {SHARE_LEAST} of the fastest copy: {short:?}");
}
