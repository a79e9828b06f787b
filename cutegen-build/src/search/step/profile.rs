//! A right candidate under Nsight Compute, where this machine has it: facts for the next candidate. A profile that does not run
//! is none; it never changes a verdict.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::env;
use crate::evaluate::Candidate;
use crate::evaluate::judge::profile::{Profiled, locate};
use crate::plan::Plan;
use crate::search::judging::Judging;

/// Nsight Compute for the candidates of a batch.
pub(super) struct Profiler {
    /// None where there is none, or it did not come through for one of the batch: it would cost its deadline again.
    program: Option<PathBuf>,
    /// Why it did not come through.
    not_run: Option<String>,
    /// Extents of the first workload.
    axes: Vec<i64>,
    /// As the tensors of a launch are aligned: as far as it goes.
    addresses: Vec<u64>,
}

impl Profiler {
    /// The one of this machine, where kernels of the plan run on a device.
    pub(super) fn here(plan: &Plan) -> Self {
        let first = plan.spec.workloads.first().and_then(|workload| plan.spec.bind(&workload.axes).ok());
        let (path, home) = (env::variable_os("PATH"), env::variable_os("CUDA_HOME"));
        let found = || locate(path.as_deref(), home.as_deref());
        let program = if plan.target.is_host() { None } else { first.as_ref().and_then(|_| found()) };
        let (axes, addresses) = (first.unwrap_or_default(), vec![0; plan.spec.tensors.len()]);
        Self { program, not_run: None, axes, addresses }
    }

    /// Why candidates of the batch have no profile, where one was tried and did not come through.
    pub(super) fn note(&self, plan: &Plan) -> Option<String> {
        let why = self.not_run.as_ref()?;
        Some(format!("{}: candidates are not profiled: {why}", plan.title()))
    }

    /// What it says of a right candidate, whose steps have these entries in its own contract; nothing where it does not run.
    pub(super) fn facts(
        &mut self,
        judge: &mut Judging,
        candidate: &Candidate,
        entries: &[String],
    ) -> BTreeMap<String, f64> {
        let takes = candidate.eligibility.holds(&self.axes, &self.addresses);
        let Some(program) = self.program.as_ref().filter(|_| takes) else { return BTreeMap::new() };
        let profiled = judge.profile(candidate, &self.axes, program);
        let metrics = self.metrics(profiled.map_err(|error| error.to_string()));
        let symbols = candidate.contract.steps.iter().map(|step| step.entry.as_str());
        named(metrics, &symbols.zip(entries.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    /// What it measured. Where it did not come through, it is not asked again, and the reason is kept.
    fn metrics(&mut self, profiled: Result<Profiled, String>) -> BTreeMap<String, f64> {
        let why = match profiled {
            Ok(Profiled::Metrics(metrics)) => return metrics,
            Ok(Profiled::NotRun { reason }) | Err(reason) => reason,
        };
        (self.program, self.not_run) = (None, Some(why));
        BTreeMap::new()
    }
}

/// The same, where each launch has the name that its entry has in the candidate's own contract, not the one derived for it.
fn named(metrics: BTreeMap<String, f64>, entries: &[(&str, &str)]) -> BTreeMap<String, f64> {
    let own = |launch: &str| {
        let (symbol, again) = launch.split_at(launch.find('#').unwrap_or(launch.len()));
        let entry =
            entries.iter().find(|(derived, _)| *derived == symbol).map_or(symbol, |(_, entry)| *entry);
        format!("{entry}{again}")
    };
    let renamed = metrics.into_iter().map(|(name, value)| match name.split_once('.') {
        Some((launch, metric)) => (format!("{}.{metric}", own(launch)), value),
        None => (name, value),
    });
    renamed.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cutegen_spec::edition::spec_file;

    use super::{Profiled, Profiler, named};
    use crate::plan::Plan;

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=64' }\ninputs = { x = 'f32[m]' }\n\
                    outputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m]'\ntargets = ['sm_90a']\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    #[test]
    fn why_nothing_was_profiled_is_told_and_nothing_is_asked_again() {
        let new =
            || Profiler { program: Some("ncu".into()), not_run: None, axes: vec![64], addresses: vec![0; 2] };
        let mut profiler = new();
        let measured = metrics(&["waves"]);
        assert_eq!(profiler.metrics(Ok(Profiled::Metrics(measured.clone()))), measured);
        assert!(profiler.program.is_some() && profiler.note(&plan()).is_none());
        let reason = "ERR_NVGPUCTRPERM: no right to counters".to_owned();
        assert!(profiler.metrics(Ok(Profiled::NotRun { reason: reason.clone() })).is_empty());
        let note = profiler.note(&plan()).expect("a note");
        assert!(note.ends_with(&format!("candidates are not profiled: {reason}")), "{note}");
        assert!(profiler.program.is_none());
        let mut profiler = new();
        assert!(profiler.metrics(Err("the judge ended".to_owned())).is_empty());
        assert!(profiler.note(&plan()).is_some_and(|note| note.ends_with("the judge ended")));
    }

    fn metrics(names: &[&str]) -> BTreeMap<String, f64> {
        (1_u8..).zip(names).map(|(value, name)| ((*name).to_owned(), f64::from(value))).collect()
    }

    #[test]
    fn launches_have_the_names_of_the_candidate_s_own_contract() {
        let entries = [("cutegen_ab12_0", "split"), ("cutegen_ab12_1", "merge")];
        let derived =
            ["cutegen_ab12_0.time-us", "cutegen_ab12_1.time-us", "cutegen_ab12_1#2.time-us", "waves"];
        let own = ["split.time-us", "merge.time-us", "merge#2.time-us", "waves"];
        assert_eq!(named(metrics(&derived), &entries), metrics(&own));
        assert_eq!(named(metrics(&["other.waves"]), &entries), metrics(&["other.waves"]));
    }
}
