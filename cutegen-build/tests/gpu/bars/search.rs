//! Sessions as a search opens them: the settings of a judge process, for kernels of `kernel-specs`.

use std::rc::Rc;

use cutegen_build::evaluate::wire::protocol::Limits;
use cutegen_build::evaluate::{Baseline, Candidate, Floor, Judge, Settings, Workers};
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::sums::{exact_integers, only_sums};
use cutegen_build::plan::{Plan, roofline};
use cutegen_build::refine;

use crate::{bench, fixtures, specs};

/// A plan with its naive kernel.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) family: String,
    pub(super) plan: Plan,
    pub(super) naive: Candidate,
}

impl Subject {
    pub(super) fn new(plan: Plan) -> Self {
        let (name, family) = (plan.spec.name.to_string(), plan.family.name().to_owned());
        Self { name, family, naive: specs::candidate(&plan), plan }
    }

    /// Extents of the declared workloads.
    pub(super) fn workloads(&self) -> impl Iterator<Item = Vec<i64>> + '_ {
        let spec = &self.plan.spec;
        spec.workloads.iter().filter_map(|workload| spec.bind(&workload.axes).ok())
    }

    /// So many of the candidates that a search would try first, compiled; none where no template fits.
    pub(super) fn tried_first(&self, count: usize) -> Vec<Candidate> {
        let space = Templates::new("").space(&self.plan);
        let mut first = refine::select(&self.plan, &space);
        first.truncate(count);
        fixtures::compiled(&first)
    }

    pub(super) fn judge(&self) -> Judge {
        let (mut question, device) = specs::question(&self.plan);
        question.exact_integers = exact_integers(&self.plan);
        question.tiles = tiles(&self.plan);
        let workers = Workers { limits: Limits::host(), ..bench::workers() };
        let mut settings = Settings::new(workers, 0x5ea_2c4);
        settings.baseline =
            Some(Baseline { candidate: self.naive.clone(), only_sums: only_sums(&self.plan) });
        settings.device = Some(device);
        settings.floor = roofline::floor(&self.plan).map(|floor| Floor(Rc::from(floor)));
        Judge::new(question, settings).expect("a session")
    }
}

/// Tile extents of all that a search would try first.
fn tiles(plan: &Plan) -> Vec<i64> {
    let proposals = Templates::new("").space(plan);
    let mut tiles: Vec<i64> = proposals.iter().flat_map(|c| &c.tiles).map(|(_, extent)| *extent).collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}
