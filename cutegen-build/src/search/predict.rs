//! Predict: an entry for a GPU that is not here. The cost estimate's pick of each bucket is compiled, guarded and inspected as a
//! search's candidates are, and stands before the naive kernel. Nothing is launched: builds pass a prediction over until a
//! gate run has passed it. Knows no store and no lock.

use cutegen_spec::record::{Kind, Record};

use super::compiled::{self, Attempt, Compiled};
use super::entry;
use super::error::SearchError;
use super::final_evaluation::{Found, IncumbentVerdict};
use crate::compile::CompileSetup;
use crate::generate::template::Templates;
use crate::generate::{self, Candidate};
use crate::plan::Plan;
use crate::refine::{self, Member};
use crate::store::Files;

/// What a kernel can be locked to without a device.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The entry's record.
    pub record: Record,
    /// Its artifacts and sources.
    pub files: Files,
    /// Why nothing is predicted though a template fills the spec.
    pub not_predicted: Option<String>,
}

/// The naive kernel alone.
pub(super) fn untuned(setup: &CompileSetup, plan: &Plan) -> Result<Locked, SearchError> {
    entry_of(plan, vec![naive(setup, plan)?])
}

/// The picks with the naive kernel behind them; the naive kernel alone where there are none, or one of them has no bytes.
pub(super) fn predicted(setup: &CompileSetup, plan: &Plan) -> Result<Locked, SearchError> {
    let naive = naive(setup, plan)?;
    match picks(setup, plan)? {
        Ok(picks) => entry_of(plan, picks.into_iter().chain([naive]).collect()),
        Err(why) => Ok(Locked { not_predicted: Some(why), ..entry_of(plan, vec![naive])? }),
    }
}

fn naive(setup: &CompileSetup, plan: &Plan) -> Result<Compiled, SearchError> {
    let naive = generate::naive::candidate(plan, &compiled::fingerprint(setup, &plan.target)?);
    compiled::must_compile(setup, plan, naive)
}

/// What the cost estimate picks, compiled, in dispatch order; or why one of them has no bytes.
fn picks(setup: &CompileSetup, plan: &Plan) -> Result<Result<Vec<Compiled>, String>, SearchError> {
    let toolchain = compiled::fingerprint(setup, &plan.target)?;
    let space = Templates::new(toolchain).of_parts(refine::select).space(plan);
    let (candidates, members): (Vec<Candidate>, Vec<Member>) =
        refine::predicted(plan, &space).into_iter().unzip();
    let candidates: Vec<Candidate> =
        candidates.into_iter().map(|candidate| Candidate { kind: Kind::Predicted, ..candidate }).collect();
    Ok(all_of(compiled::alone(setup, plan, &candidates)?, members))
}

/// All of these, each with where it is preferred: without one of them its bucket would have another pick than the estimate's.
fn all_of(attempts: Vec<Attempt>, members: Vec<Member>) -> Result<Vec<Compiled>, String> {
    let pick = |(attempt, member): (Attempt, Member)| match attempt {
        Ok(compiled) => Ok(Compiled { prefer: member.prefer, ..compiled }),
        Err((candidate, outcome)) => Err(format!("`{}`: {outcome}", candidate.name)),
    };
    attempts.into_iter().zip(members).map(pick).collect()
}

fn entry_of(plan: &Plan, variants: Vec<Compiled>) -> Result<Locked, SearchError> {
    let found = Found {
        variants: variants.into_iter().map(|compiled| (compiled, None)).collect(),
        verdict: IncumbentVerdict::Open,
        finals: Vec::new(),
    };
    let (record, files) = entry::build(plan, &found)?;
    Ok(Locked { record, files, not_predicted: None })
}

#[cfg(test)]
mod tests {
    use super::{Member, all_of};
    use crate::generate::Candidate;
    use crate::outcome::Outcome;

    #[test]
    fn a_pick_that_does_not_compile_is_told_and_no_other_takes_its_place() {
        let member = |name: &str| Member { name: name.to_owned(), prefer: Default::default() };
        let failed =
            Err((Candidate::bare("wide"), Outcome::CompileFailed("line 7: no such type".to_owned())));
        let told = all_of(vec![failed], vec![member("wide")]).expect_err("it has no bytes");
        assert!(told.starts_with("`wide`: ") && told.contains("line 7: no such type"), "{told}");
        assert!(all_of(Vec::new(), Vec::new()).is_ok_and(|none| none.is_empty()));
    }
}
