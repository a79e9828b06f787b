//! `bench`: what is locked, timed once more on this machine under the gate's protocol. Nothing is stored but the file of
//! samples that is asked for.

pub(crate) mod results;
mod table;

use std::collections::BTreeMap;

use cutegen_build::discover::Project;
use cutegen_build::pipeline::request;
use cutegen_build::plan::cost::cost;
use cutegen_build::plan::{Plan, roofline};
use cutegen_build::search::{self, Searcher};
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::record::incumbent;

use crate::args::{Bench, Command};
use crate::bindings::by_name;
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::project;
use crate::skipped::Skipped;
use results::{Kernel, Results, Roof, Times};

/// Incumbents in a worker of their own.
const TORCH: [&str; 2] = [incumbent::TORCH_EAGER, incumbent::TORCH_COMPILE];

/// Times every selected kernel that this machine can run; fails when one of them cannot be timed, once all others are.
pub(crate) fn run(command: &Command, verb: &Bench, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plans = project::select(&project, &verb.select)?;
    let axes = by_name(&verb.axes).map_err(|text| Failure::Usage(format!("--axes: {text}")))?;
    let mut kept = Kept::new(verb.results.as_deref())?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    let (mut failed, mut results) = (Failures::default(), Results::new());
    for (plan, entry) in chosen(&project, plans, verb, &searcher, (&mut failed, out))? {
        match one(&searcher, &plan, &entry, &axes, verb, out) {
            Ok(kernel) => {
                results.kernels.push(kernel);
                kept.write(|file| results.write(file));
            }
            Err(failure) => {
                out.note(&failure.to_string());
                failed.add(failure);
            }
        }
    }
    if results.kernels.is_empty() && failed.is_empty() {
        kept.write(|file| results.write(file));
    }
    let kernels = &results.kernels;
    out.table(&table::title(kernels), &table::lines(kernels), kernels);
    table::remarks(kernels).iter().for_each(|text| out.remark(text));
    kept.end((&mut failed, out));
    kernels.iter().flat_map(Kernel::failures).for_each(|failure| failed.add(failure));
    failed.end("")
}

/// Times one kernel.
fn one(
    searcher: &Searcher,
    plan: &Plan,
    entry: &Entry,
    axes: &BTreeMap<String, i64>,
    verb: &Bench,
    out: &Output,
) -> Result<Kernel, Failure> {
    let what = search::Bench {
        workloads: workloads(plan, axes, &verb.select.kernels)?,
        peers: verb.peers || verb.against.iter().any(|name| TORCH.contains(&name.as_str())),
        only: verb.against.iter().cloned().collect(),
        sustained: verb.sustained,
    };
    let benched = searcher.bench(plan, entry, &what, &mut out.reporter());
    Ok(kernel(plan, benched.map_err(|error| Failure::machine_at(&plan.title(), error))?))
}

/// Of the selected kernels those that this machine can run, with what is locked of them; without names only tuned ones.
fn chosen(
    project: &Project,
    plans: Vec<Plan>,
    verb: &Bench,
    searcher: &Searcher,
    (failed, out): (&mut Failures, &Output),
) -> Result<Vec<(Plan, Entry)>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let (mut chosen, mut refused, mut untuned) = (Vec::new(), Skipped::default(), 0);
    for plan in plans {
        if let Err(reason) = searcher.can_judge(&plan.target) {
            refused.add(plan.title(), format!("skipped: {reason}"));
            continue;
        }
        match replay(&request(&plan, project, &lock, &store)) {
            Err(error) => failed.add(Failure::project(error)),
            Ok(entry) if verb.select.kernels.is_empty() && !entry.record.is_tuned() => untuned += 1,
            Ok(entry) => chosen.push((plan, entry.dispatched())),
        }
    }
    if chosen.is_empty() && !refused.is_empty() && failed.is_empty() {
        return Err(Failure::Machine(refused.lines().join("\n")));
    }
    refused.lines().iter().for_each(|text| out.note(text));
    if untuned > 0 {
        out.note(&format!("{untuned} untuned kernels are left out; name those that you want timed"));
    }
    Ok(chosen)
}

/// The declared workloads, or the one that is given.
fn workloads(
    plan: &Plan,
    given: &BTreeMap<String, i64>,
    named: &[String],
) -> Result<Vec<BTreeMap<String, i64>>, Failure> {
    if !given.is_empty() {
        return match plan.spec.bind(given) {
            Ok(_) => Ok(vec![given.clone()]),
            Err(reason) => Err(Failure::Usage(format!("{}: --axes: {reason}", plan.title()))),
        };
    }
    let declared: Vec<_> = plan.spec.workloads.iter().map(|workload| workload.axes.clone()).collect();
    if declared.is_empty() && !named.is_empty() && plan.spec.run_time_axes().next().is_some() {
        let title = plan.title();
        return Err(Failure::Usage(format!("{title} declares no workload\ngive one: --axes AXIS=N")));
    }
    Ok(declared)
}

/// Times with what they are measured by.
fn kernel(plan: &Plan, benched: search::Benched) -> Kernel {
    let times = benched.times.into_iter().map(|times| {
        let work =
            plan.spec.bind(&times.timing.workload).ok().map(|axes| cost(&plan.spec, &plan.schedule, &axes));
        let roof = work.and_then(|work| roofline::roof(plan, &work)).map(|(roof, device)| Roof {
            micros: roof.micros,
            bound: roof.bound.name().to_owned(),
            device: device.device.to_owned(),
        });
        Times {
            variant: times.variant,
            bytes: work.map_or(0.0, |work| work.bytes),
            flops: work.map_or(0.0, |work| work.flops),
            roof,
            timing: times.timing,
            pairs: times.pairs,
            sustained_pairs: times.sustained_pairs,
        }
    });
    Kernel {
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        key: plan.key.to_string(),
        family: plan.family.name().to_owned(),
        device: benched.device,
        seed: benched.seed,
        times: times.collect(),
        not_timed: benched.not_timed,
        not_watched: benched.not_watched,
        failed: benched.failed,
    }
}
