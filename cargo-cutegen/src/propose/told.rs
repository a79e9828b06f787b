//! [`Told`]: what became of a submitted kernel, for people and for programs.

use std::collections::BTreeMap;

use cutegen_build::compile::CompileFailure;
use cutegen_build::generate::answers::borrowed::Borrowed;
use cutegen_build::generate::proposal::Proposal;
use cutegen_build::inspect::cubin::KernelInfo;
use cutegen_build::kit::Origin;
use cutegen_build::plan::Plan;
use cutegen_build::search::{ProposalVerdict, Refusal, Speeds, Submitted};
use cutegen_spec::contract::Contract;
use serde::Serialize;

use crate::failure::Failure;

/// A submitted kernel and its place in a file.
pub(crate) struct Source<'a> {
    pub(crate) proposal: &'a Proposal,
    /// The line of the file at which it begins.
    pub(crate) first: usize,
    /// With the symbols that were derived.
    pub(crate) symbols: &'a Contract,
}

/// A verdict. Fields that do not apply are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Told {
    kernel: String,
    target: String,
    /// The name of ours.
    candidate: String,
    /// What it has of the constants that its text sweeps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    point: BTreeMap<String, i64>,
    verdict: Word,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Of the compiler and the guard, with lines of the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Line>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<Resources>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speedups: Vec<Speedup>,
    /// The geometric mean over the naive kernel by the whole gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup: Option<f64>,
}

/// In one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Refused,
    NotJudged,
    Wrong,
    TooSlow,
    Accepted,
}

#[derive(Debug, Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Resources {
    entry: String,
    registers: Option<u32>,
    stack_bytes: Option<u32>,
    static_shared_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Speedup {
    workload: BTreeMap<String, i64>,
    /// Over the naive kernel, by its batch.
    speedup: Option<f64>,
}

/// What became of each point of a text.
pub(crate) fn all<'a>(plan: &Plan, became: impl Iterator<Item = (Source<'a>, Submitted)>) -> Vec<Told> {
    let mut all: Vec<Told> = became.map(|(source, submitted)| Told::of(plan, &source, submitted)).collect();
    if all.iter().any(Told::is_accepted) {
        let slower = all.iter_mut().filter(|told| told.verdict == Word::TooSlow);
        slower.for_each(|told| told.reason = Some("right, and another point is faster".to_owned()));
    }
    all
}

/// Success where a point was accepted, or one that compiles could not be judged here.
pub(crate) fn end(all: &[Told]) -> Result<(), Failure> {
    let is_success = |told: &Told| matches!(told.verdict, Word::Accepted | Word::NotJudged);
    let Some(Told { kernel, target, candidate, .. }) = all.first().filter(|_| !all.iter().any(is_success))
    else {
        return Ok(());
    };
    let what = match all.len() {
        1 => format!("{candidate} is not accepted"),
        count => format!("none of {count} points is accepted"),
    };
    Err(Failure::Disagreement(format!(
        "{kernel} on {target}: {what}\nrun: cargo cutegen propose {kernel} --source FILE"
    )))
}

impl Told {
    fn of(plan: &Plan, source: &Source<'_>, submitted: Submitted) -> Self {
        let mut told = Self {
            kernel: plan.spec.name.as_str().to_owned(),
            target: plan.target.to_string(),
            candidate: source.proposal.name(),
            point: source.proposal.values.iter().cloned().collect(),
            verdict: Word::Refused,
            reason: None,
            diagnostics: Vec::new(),
            kernels: Vec::new(),
            speedups: Vec::new(),
            speedup: None,
        };
        match submitted {
            Submitted::Refused(refusal) => told.refused(&refusal),
            Submitted::NotJudged { kernels, why } => {
                (told.verdict, told.reason) = (Word::NotJudged, Some(why));
                told.kernels = kernels.iter().map(resources).collect();
            }
            Submitted::Judged { kernels, verdict } => {
                told.kernels = kernels.iter().map(resources).collect();
                told.judged(verdict);
            }
        }
        told.diagnostics.iter_mut().for_each(|said| said.place(source));
        told.name_entries(source);
        told
    }

    /// Puts the entries of the proposal in place of the symbols that were derived for them.
    fn name_entries(&mut self, source: &Source<'_>) {
        let reasons = self.reason.iter_mut();
        let messages = self.diagnostics.iter_mut().map(|said| &mut said.message);
        let entries = self.kernels.iter_mut().map(|kernel| &mut kernel.entry);
        for text in reasons.chain(messages).chain(entries) {
            for (symbol, entry) in source.symbols.steps.iter().zip(&source.proposal.contract.steps) {
                *text = text.replace(&symbol.entry, &entry.entry);
            }
        }
    }

    fn refused(&mut self, refusal: &Refusal) {
        match refusal {
            Refusal::Contract(reason) => self.reason = Some(reason.clone()),
            Refusal::Compile(failure) => {
                self.reason = Some(failure.summary().to_owned());
                self.diagnostics = lines(failure);
            }
            Refusal::Borrowed(borrowed) => {
                self.reason = Some(Borrowed::REASON.to_owned());
                let line = u32::try_from(borrowed.line).ok();
                self.diagnostics = vec![Line { line, message: borrowed.to_string() }];
            }
        }
    }

    fn judged(&mut self, verdict: ProposalVerdict) {
        let (word, reason, speeds) = match verdict {
            ProposalVerdict::Wrong(outcome) => (Word::Wrong, Some(outcome.to_string()), None),
            ProposalVerdict::WrongInFull(kind) => {
                let reason = format!("{kind}, in the whole gate; its shapes and inputs are not told");
                (Word::Wrong, Some(reason), None)
            }
            ProposalVerdict::TooSlow(speeds) => {
                let reason = "right, and no faster than what there is by the margin of its spec".to_owned();
                (Word::TooSlow, Some(reason), Some(speeds))
            }
            ProposalVerdict::Accepted(speeds) => (Word::Accepted, None, Some(speeds)),
        };
        (self.verdict, self.reason) = (word, reason);
        if let Some(Speeds { at, by_gate }) = speeds {
            self.speedups = at.into_iter().map(|(workload, speedup)| Speedup { workload, speedup }).collect();
            self.speedup = by_gate;
        }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        self.verdict == Word::Accepted
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut lines = vec![self.headline()];
        lines.extend(self.diagnostics.iter().map(Line::text));
        lines.extend(self.kernels.iter().map(Resources::text));
        lines.extend(self.speedups.iter().map(Speedup::text));
        if self.is_accepted() {
            lines.push(format!("next: cargo cutegen accept {} --target {}", self.kernel, self.target));
        }
        lines.join("\n")
    }

    fn headline(&self) -> String {
        let word = match self.verdict {
            Word::Refused => "refused",
            Word::NotJudged => "compiled, not judged",
            Word::Wrong => "wrong",
            Word::TooSlow => "not accepted",
            Word::Accepted => "accepted into the user store",
        };
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let speedup = self.speedup.map(|times| format!(", {times:.2}x the naive kernel")).unwrap_or_default();
        let values: Vec<String> =
            self.point.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let point = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        format!("{} on {}: {}{point}: {word}{speedup}{reason}", self.kernel, self.target, self.candidate)
    }
}

impl Line {
    /// The line of the file, whose line `first` is line 1 of the proposal.
    fn place(&mut self, source: &Source<'_>) {
        let Some(line) = self.line.take() else { return };
        match source.proposal.origin(line) {
            Origin::Body { line } => self.line = u32::try_from(line as usize + source.first - 1).ok(),
            other => self.message = format!("{other}: {}", self.message),
        }
    }

    fn text(&self) -> String {
        match self.line {
            Some(line) => format!("  line {line}: {}", self.message),
            None => format!("  {}", self.message),
        }
    }
}

impl Resources {
    fn text(&self) -> String {
        let count = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let (registers, stack) = (count(self.registers), count(self.stack_bytes));
        let shared = self.static_shared_bytes;
        format!(
            "  {}: {registers} registers, {stack} bytes of local memory, {shared} of static shared memory",
            self.entry
        )
    }
}

impl Speedup {
    fn text(&self) -> String {
        let axes: Vec<String> =
            self.workload.iter().map(|(axis, extent)| format!("{axis}={extent}")).collect();
        let speedup =
            self.speedup.map_or_else(|| "not timed".to_owned(), |times| format!("{times:.2}x naive"));
        format!("  {}: {speedup}", axes.join(" "))
    }
}

fn resources(kernel: &KernelInfo) -> Resources {
    Resources {
        entry: kernel.name.clone(),
        registers: kernel.registers,
        stack_bytes: kernel.stack_bytes,
        static_shared_bytes: kernel.static_smem_bytes,
    }
}

fn lines(failure: &CompileFailure) -> Vec<Line> {
    failure.said().into_iter().map(|(line, message)| Line { line, message }).collect()
}
