//! A candidate of a log at the guard, the compiler and the inspection. Knows no device.

use cutegen_spec::provenance::{Provenance, Short, Word};

use crate::compile::{CompileSetup, Inspected};
use crate::generate::Candidate;
use crate::generate::proposal::Proposal;
use crate::plan::Plan;
use crate::run_log::{Facts, Kernel, Outcome, Sequence, Verdict, digest};
use crate::search::compiled::{self, Compiled};
use crate::search::error::SearchError;
use crate::search::foreign;

use super::{Run, facts, occupancy};

/// A candidate of a log as it was read again, with what compilers take.
pub(super) struct Source {
    pub(super) proposal: Proposal,
    pub(super) candidate: Candidate,
}

impl Source {
    /// Reads a candidate of a log.
    pub(super) fn of(setup: &CompileSetup, run: Run<'_>, sequence: Sequence) -> Result<Self, SearchError> {
        let Run { plan, log } = run;
        let unread =
            |detail: String| SearchError::Ours { kernel: plan.title(), what: "candidate of the log", detail };
        let kernel = log.kernel(sequence).ok_or_else(|| unread(format!("{sequence} is no kernel")))?;
        let proposal = Proposal::read(plan, &kernel.source, None).map_err(|problems| {
            unread(format!("{sequence}: {}", problems.first().map_or_else(String::new, ToString::to_string)))
        })?;
        let values = log.point(sequence).map(|point| point.values.clone()).unwrap_or_default();
        let proposal = proposal.at(plan, values.into_iter().collect());
        let toolchain = compiled::fingerprint(setup, &plan.target)?;
        let origin =
            origin(run, sequence, kernel).ok_or_else(|| unread(format!("{sequence} has no identity")))?;
        let candidate = proposal.candidate(&toolchain, &origin.to_string());
        Ok(Self { proposal, candidate })
    }

    /// Its bytes, or why it has none.
    pub(super) fn compile(
        self,
        setup: &CompileSetup,
        plan: &Plan,
    ) -> Result<Result<Compiled, Facts>, SearchError> {
        Ok(match compiled::bytes(setup, None, plan, &self.candidate)? {
            Ok(artifact) => {
                Ok(Compiled { candidate: self.candidate, artifact: *artifact, prefer: Default::default() })
            }
            Err(refusal) => Err(facts::refused(&refusal, &self.proposal, &self.candidate.contract)),
        })
    }
}

/// Where it comes from, for the record.
fn origin(run: Run<'_>, sequence: Sequence, kernel: &Kernel) -> Option<Provenance> {
    let start = &run.log.start;
    let candidate = run.log.candidate(run.log.reply(sequence))?;
    let (generator, model) = match candidate.by.split_once(", ") {
        Some((generator, model)) => (generator, Some(model.to_owned())),
        None => (candidate.by.as_str(), None),
    };
    let generator = Word::parse(generator).or_else(|| Word::parse("command"))?;
    let request = candidate.request.and_then(|request| run.log.request(request));
    Some(Provenance {
        prompt: request.and_then(|request| Word::parse(&request.version)),
        run: Word::parse(start.run.as_str()),
        candidate: Some(sequence),
        reply: Short::of(&digest(&candidate.text).to_string()),
        model,
        ..Provenance::new(generator, Short::of(&kernel.identity.to_string())?)
    })
}

/// What the compiler says.
pub(super) fn verdict(
    setup: &CompileSetup,
    run: Run<'_>,
    candidate: Sequence,
) -> Result<Verdict, SearchError> {
    let source = Source::of(setup, run, candidate)?;
    let contract = source.proposal.contract.clone();
    if let Some(refusal) = foreign::borrowed(setup, &source.candidate.source)? {
        let facts = facts::refused(&refusal, &source.proposal, &contract);
        return Ok(Verdict { candidate, outcome: Outcome::Refused, facts, judge: None });
    }
    let (outcome, facts) = match source.compile(setup, run.plan)? {
        Ok(compiled) => (
            Outcome::Compiled,
            Facts { kernels: kernels(run.plan, &compiled, &contract), ..Facts::default() },
        ),
        Err(facts) => (Outcome::Refused, facts),
    };
    Ok(Verdict { candidate, outcome, facts, judge: None })
}

/// What its kernels take of a device.
pub(super) fn kernels(
    plan: &Plan,
    compiled: &Compiled,
    contract: &cutegen_spec::contract::Contract,
) -> Vec<crate::run_log::Resources> {
    match &compiled.artifact.inspected {
        Inspected::Cubin(info) => {
            occupancy::resources(plan, &info.kernels, (&compiled.candidate.contract, contract))
        }
        Inspected::Object(_) => Vec::new(),
    }
}
