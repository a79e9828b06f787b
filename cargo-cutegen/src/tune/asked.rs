//! The kind `model`: a run of `tune`'s own for one kernel. It ends as soon as a kernel meets the spec's `accept`, or as its strategy
//! ends it. A run that was cut short is gone on with; one that is over is not repeated unasked.

use cutegen_build::discover::Project;
use cutegen_build::generate::Candidate;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, RunId, Start};
use cutegen_build::search::{BY_TEMPLATE, Searcher};
use cutegen_build::strategy::{ENOUGH, Next, Strategy};

use super::kinds::Best;
use crate::args::Tune;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::advance::Asking;
use crate::runs::generator::Generator;
use crate::runs::{Runs, failed, warm};
use crate::{refine, step};

/// What the names of such runs begin with.
const STEM: &str = "tune-";

/// What asks.
pub(super) struct Model<'a> {
    project: &'a Project,
    verb: &'a Tune,
    runs: Runs,
    generator: Generator,
    by: String,
}

/// What a run of `tune` has come to by now.
enum Stage {
    UnderWay,
    Over,
}

impl<'a> Model<'a> {
    /// As the command line says.
    pub(super) fn of(project: &'a Project, verb: &'a Tune) -> Result<Self, Failure> {
        let generator = Generator::of(&verb.how)?;
        let by = generator.name(verb.how.model.as_deref());
        Ok(Self { project, verb, runs: Runs::of(project), generator, by })
    }

    /// Asks for a kernel, from the fastest of templates where that is in no store. The best that is right.
    pub(super) fn ask(
        &self,
        searcher: &Searcher,
        plan: &Plan,
        fastest: Option<&Candidate>,
        out: &Output,
    ) -> Result<Option<Best>, Failure> {
        let Some(run) = self.run(plan, out)? else { return Ok(None) };
        if let Some(candidate) = fastest {
            let mut file = self.runs.open(plan, &run)?;
            warm::enter_this(plan, &mut file, (BY_TEMPLATE, candidate), out)?;
        }
        let Self { project, runs, .. } = self;
        let how = &self.verb.how;
        let stepping = step::Stepping { project, runs, how, results: None, deadline: None };
        let asking = Asking::Of(&self.generator, &self.by);
        let told = step::one(&stepping, (searcher, asking), (plan, &run), out)?;
        let Some(told) = told else { return Ok(None) };
        out.news(&told.text(), &told);
        Ok(told.best().map(|(name, over_naive)| Best { name: name.to_owned(), over_naive }))
    }

    /// The run to go on with, or a new one; none where one like it is over.
    fn run(&self, plan: &Plan, out: &Output) -> Result<Option<RunId>, Failure> {
        let numbered = |number: u32| RunId::parse(&format!("{STEM}{number}")).map_err(Failure::Usage);
        let (taken, mut number) = (self.runs.names(plan)?, 1);
        let start = refine::settled(plan, numbered(number)?, &self.verb.begin)?;
        let start = Start { settings: with_enough(plan, &start), ..start };
        let (mut over, mut name) = (None, numbered(number)?);
        while taken.contains(&name) {
            match self.stage(plan, &Start { run: name.clone(), ..start.clone() })? {
                Some(Stage::UnderWay) => return Ok(Some(name)),
                Some(Stage::Over) => over = Some(name),
                None => {}
            }
            number += 1;
            name = numbered(number)?;
        }
        if let Some(over) = over.filter(|_| !self.verb.again) {
            out.note(&format!(
                "{}: run {over} is over, and is not repeated; another one: cargo cutegen tune {} --again",
                plan.title(),
                plan.spec.name
            ));
            return Ok(None);
        }
        refine::begin((self.project, &self.runs), plan, Start { run: name.clone(), ..start }, out)?;
        Ok(Some(name))
    }

    /// Where the run of this name stands; none where it was begun otherwise.
    fn stage(&self, plan: &Plan, start: &Start) -> Result<Option<Stage>, Failure> {
        let log = run_log::read(&self.runs.of_plan(plan), &start.run).map_err(failed)?;
        // what it shows of others may have changed since
        let was = Start { bank: Vec::new(), experience: None, ..log.start.clone() };
        if was != *start {
            return Ok(None);
        }
        Ok(Strategy::of(&log.start).map(|strategy| match strategy.next(plan, &log) {
            Next::Done(_) => Stage::Over,
            Next::Ask(_)
            | Next::Await(_)
            | Next::Point(_)
            | Next::Build(_)
            | Next::Judge(_)
            | Next::Accept(_) => Stage::UnderWay,
        }))
    }
}

/// The settings with what is enough by the spec, unless the command line says another number.
fn with_enough(plan: &Plan, start: &Start) -> std::collections::BTreeMap<String, f64> {
    let mut settings = start.settings.clone();
    settings.entry(ENOUGH.to_owned()).or_insert(plan.spec.min_speedup);
    settings
}
