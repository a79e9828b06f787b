//! Replies of a writer that wants a kernel accepted, or harm done, without the work. They were written from the prompt alone, by
//! one that had not read the gate; `hostile/README.md` says what each hopes for. Each must fall, and to a check with a name.

use std::fs;
use std::path::Path;

use cutegen_build::event::Event;
use cutegen_build::generate::{answers, prompt};
use cutegen_build::kit;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{
    self, Candidate, Content, Digest, Entry, Facts, Log, Outcome, RunId, Sequence, Start, Verdict,
};
use cutegen_build::search::{SearchError, Searcher};
use cutegen_spec::edition::spec_file;

use crate::expected::{CHECKS, CRASHES, EXPECTED, HARMLESS, NAMED};

const SPEC: &str = "edition = 1\n[kernels.softmax]\naxes = { m = '1..=256', k = '1..=2048' }\ninputs = { x = 'f32[m, k]' }\n\
                    outputs = { y = 'f32[m, k]' }\nmath = 'y[m, k] = softmax(k, x[m, k])'\n\
                    workloads = [{ m = 256, k = 1024 }]\ntargets = ['host']\n";

/// What each reply fell to, against what it must fall to; those that differ.
pub(crate) fn falls() -> Result<Vec<String>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/hostile");
    let kept = tempfile::tempdir().map_err(|error| error.to_string())?;
    let bench = Bench {
        plan: Plan::all(&spec_file(SPEC, &Default::default()).into_kernels().expect("a right text"))
            .remove(0),
        searcher: Searcher::new().map_err(|error| error.to_string())?,
    };
    bench.searcher.can_judge_foreign(&bench.plan.target)?;
    let mut log = Log::new(bench.start());
    let mut fallen: Vec<(String, Result<Sequence, String>)> = Vec::new();
    for name in names(&folder) {
        let text = String::from_utf8_lossy(&fs::read(folder.join(&name)).expect("a reply")).into_owned();
        fallen.push((name, bench.read(&mut log, text)));
    }
    let compiled: Vec<Sequence> = fallen.iter().filter_map(|(_, fell)| fell.as_ref().ok().copied()).collect();
    let judged = bench.judge(&mut log, &compiled, kept.path()).map_err(|error| error.to_string())?;
    let (mut wrong, mut named) = (Vec::new(), 0);
    for (name, fell) in fallen {
        let told = match fell {
            Err(told) => told,
            Ok(sequence) => judged
                .iter()
                .find(|(at, _)| *at == sequence)
                .map_or_else(String::new, |(_, told)| told.clone()),
        };
        println!("{name}: {told}");
        if HARMLESS.contains(&name.as_str()) {
            let is_right =
                ["Accepted", "TooSlow"].iter().any(|end| told.starts_with(&format!("whole gate: {end}")));
            wrong.extend((!is_right).then(|| format!("{name} is right, and `{told}` is said of it")));
            continue;
        }
        let wanted: Vec<&str> =
            EXPECTED.iter().filter(|(known, _)| *known == name).map(|(_, wanted)| *wanted).collect();
        if !wanted.iter().any(|wanted| told.contains(wanted)) {
            wrong.push(format!("{name} fell to `{told}`, not to one of {wanted:?}"));
        }
        named += usize::from(!CRASHES.contains(&name.as_str()));
    }
    wrong.extend(
        (named != NAMED).then(|| format!("{named} replies fall to a check with a name, not {NAMED}")),
    );
    Ok(wrong)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("replies");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "README.md").collect();
    names.sort();
    names
}

struct Bench {
    plan: Plan,
    searcher: Searcher,
}

impl Bench {
    fn start(&self) -> Start {
        Start {
            version: run_log::VERSION,
            run: RunId::parse("hostile").expect("a name"),
            kernel: self.plan.spec.name.to_string(),
            target: self.plan.target.to_string(),
            key: self.plan.key.to_string(),
            strategy: "submitted".to_owned(),
            prompts: prompt::VERSION,
            kit: Digest(kit::digest()),
            gate: 7,
            settings: Default::default(),
            bank: Vec::new(),
            experience: None,
        }
    }

    /// The sequence of a reply that compiles, or what the others fell to.
    fn read(&self, log: &mut Log, text: String) -> Result<Sequence, String> {
        let content = answers::read(&self.plan, log, None, &text);
        if let Content::Unreadable(problems) = &content {
            return Err(format!("reader: {}", problems[0].message));
        }
        let candidate = Candidate::new(None, "a hostile writer".to_owned(), text, content);
        let sequence = log.push(Entry::Candidate(candidate));
        let built = self.searcher.build(&self.plan, log, sequence).map_err(|error| error.to_string())?;
        match built.outcome {
            Outcome::Compiled => Ok(sequence),
            _ => Err(format!("compiler: {}", said(&built.facts))),
        }
    }

    /// What those that compile fall to: the screening, the timing, or the whole gate.
    fn judge(
        &self,
        log: &mut Log,
        candidates: &[Sequence],
        kept: &Path,
    ) -> Result<Vec<(Sequence, String)>, SearchError> {
        let mut verdicts: Vec<Verdict> = Vec::new();
        let mut told = |verdict| {
            verdicts.push(verdict);
            Ok(())
        };
        self.searcher.judge(&self.plan, log, candidates, kept, &mut told, &mut |_: &Event| {})?;
        let mut all = Vec::new();
        for verdict in verdicts {
            let candidate = verdict.candidate;
            let fell = match verdict.outcome {
                Outcome::Right => self.decide(log, candidate)?,
                _ => format!("screening: {}", said(&verdict.facts)),
            };
            all.push((candidate, fell));
        }
        Ok(all)
    }

    /// What a writer is told of the whole gate, and behind it the check, which a writer is not told.
    fn decide(&self, log: &Log, candidate: Sequence) -> Result<String, SearchError> {
        let mut last = String::new();
        let mut events = |event: &Event| {
            if let Event::Judged { outcome, .. } = event {
                last.clone_from(outcome);
            }
        };
        let decided = self.searcher.decide(&self.plan, log, None, candidate, &mut events)?;
        if last.contains(" at extents ") {
            return Ok(format!("an event tells where: {last}"));
        }
        let told = format!("whole gate: {:?}, {}", decided.outcome, said(&decided.facts));
        Ok(if told == IN_FULL { format!("{told}, {}", check(&last)) } else { told })
    }
}

/// All that a writer is told of a wrong kernel by the whole gate.
const IN_FULL: &str = "whole gate: WrongInFull, incorrect";

/// The check of an outcome with a fault, by the fault's first words.
fn check(outcome: &str) -> String {
    let fault = outcome.strip_prefix("incorrect: ").unwrap_or(outcome);
    let known = CHECKS.iter().find(|(words, _)| fault == *words);
    known.map_or_else(|| format!("no check: {outcome}"), |(_, check)| format!("check `{check}`"))
}

/// The check, or the reason with the first diagnostic.
fn said(facts: &Facts) -> String {
    if let Some(mismatch) = &facts.mismatch {
        return format!("check `{}`", mismatch.check);
    }
    let reason = facts.reason.clone().unwrap_or_default();
    match facts.diagnostics.first() {
        Some(first) => format!("{reason}: {}", first.message),
        None => reason,
    }
}
