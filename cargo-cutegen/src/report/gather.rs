//! What a report tells of: each kernel on each target, with what is locked of it and what its timings come to.

use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::cost::{Cost, cost};
use cutegen_build::plan::{Plan, roofline};
use cutegen_build::store::replay::replay;
use cutegen_build::store::trust::{Doubt, Workload, extents};
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::record::{Record, Timing, Variant};

use crate::check::doubted;
use crate::failure::Failure;

/// A kernel on a target.
pub(super) struct Entry {
    pub(super) plan: Plan,
    /// What is locked; else why nothing is.
    pub(super) locked: Result<Record, String>,
    /// What may be said against it.
    pub(super) doubts: Vec<String>,
    pub(super) spots: Vec<Spot>,
}

/// A locked variant at a workload that it was timed at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) variant: String,
    pub(super) at: String,
    pub(super) cost: Cost,
    /// Of a launch, by the record.
    pub(super) micros: f64,
    /// The least time on the target's device.
    pub(super) roof: Option<f64>,
}

impl Entry {
    pub(super) fn is_tuned(&self) -> bool {
        self.locked.as_ref().is_ok_and(Record::is_tuned)
    }

    /// All timings of all variants.
    pub(super) fn timings(&self) -> impl Iterator<Item = (&Variant, &Timing)> {
        let variants = self.locked.iter().flat_map(|record| &record.variants);
        let judged = variants.filter_map(|variant| Some((variant, variant.judged()?)));
        judged.flat_map(|(variant, evidence)| evidence.timings.iter().map(move |timing| (variant, timing)))
    }
}

impl Spot {
    /// Operations a byte.
    pub(super) fn intensity(&self) -> f64 {
        self.cost.flops / self.cost.bytes
    }

    /// Operations a second.
    pub(super) fn flops_per_s(&self) -> f64 {
        self.cost.flops / self.micros * 1e6
    }

    /// Bytes a second.
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.cost.bytes / self.micros * 1e6
    }
}

/// Every plan with what the store has for it.
pub(super) fn entries(project: &Project, plans: &[Plan]) -> Result<Vec<Entry>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let one = |plan: &Plan| match replay(&request(plan, project, &lock, &store)) {
        Ok(entry) => of(plan, entry.record),
        Err(error) => Entry {
            plan: plan.clone(),
            locked: Err(error.to_string()),
            doubts: Vec::new(),
            spots: Vec::new(),
        },
    };
    Ok(plans.iter().map(one).collect())
}

/// An entry of this record.
pub(super) fn of(plan: &Plan, record: Record) -> Entry {
    let words = |doubt: &Doubt| match doubt.variant() {
        Some(variant) => format!("{variant}: {doubt}"),
        None => doubt.to_string(),
    };
    let doubts = doubted(plan, &record).iter().map(words).collect();
    let mut entry = Entry { plan: plan.clone(), locked: Ok(record), doubts, spots: Vec::new() };
    let mut spots: Vec<Spot> = Vec::new();
    for (variant, timing) in entry.timings() {
        let at = extents(&timing.workload);
        if !spots.iter().any(|spot| spot.at == at && spot.variant == variant.name) {
            spots.extend(spot(plan, &variant.name, &timing.workload, timing.micros));
        }
    }
    entry.spots = spots;
    entry
}

/// None where the spec has no such workload any more.
fn spot(plan: &Plan, variant: &str, workload: &Workload, micros: f64) -> Option<Spot> {
    let axes = plan.spec.bind(workload).ok()?;
    let cost = cost(&plan.spec, &plan.schedule, &axes);
    let roof = roofline::micros(plan, &axes);
    Some(Spot { variant: variant.to_owned(), at: extents(workload), cost, micros, roof })
}
