//! Replay of decisions: whether a log gives the prompts and decisions that it has, with no compiler and no device.

use std::fmt;

use super::{Next, Strategy};
use crate::generate::{answers, prompt};
use crate::kit;
use crate::plan::Plan;
use crate::run_log::{
    Candidate, Content, Digest, Entry, Kernel, Log, Outcome, Point, Request, Sequence, Verdict,
};

/// Where a log gives something else than it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// The entry.
    pub step: Sequence,
    /// What differs.
    pub why: String,
}

/// Whether the prompts of a log were compared with this program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// They are the same, byte for byte.
    Same,
    /// Their texts are of another version, so they were not compared.
    OfVersion(u32),
}

impl Prompts {
    /// How the prompts of a log can be compared.
    fn of(log: &Log) -> Self {
        match log.start.prompts {
            prompt::VERSION => Self::Same,
            version => Self::OfVersion(version),
        }
    }
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "diverged at step {}: {}", self.step, self.why)
    }
}

/// A run with the strategy that takes its decisions.
#[derive(Clone, Copy)]
struct Run<'a> {
    strategy: Strategy,
    plan: &'a Plan,
}

impl Run<'_> {
    fn next(self, before: &Log) -> Next {
        self.strategy.next(self.plan, before)
    }
}

/// Takes every decision of the log again, and reads every answer again. Prompts are compared where they are of this program's
/// version, identities where the kit is this program's. Where no strategy of ours decided, nothing was asked.
///
/// # Errors
/// The first entry that is not what the log before it gives.
pub fn decisions(plan: &Plan, log: &Log) -> Result<Prompts, Diverged> {
    let Some(strategy) = Strategy::of(&log.start) else { return Ok(Prompts::Same) };
    let (run, prompts) = (Run { strategy, plan }, Prompts::of(log));
    let mut before = Log::new(log.start.clone());
    for (step, entry) in (1..).zip(&log.entries) {
        let found = match entry {
            Entry::Request(request) => requested(run, (&before, prompts), request),
            Entry::Candidate(candidate) => answered(run, &before, candidate),
            Entry::Point(point) => pointed(run, &before, point),
            Entry::Verdict(verdict) => judged(run, &before, verdict),
        };
        found.map_err(|why| Diverged { step, why })?;
        before.push(entry.clone());
    }
    Ok(prompts)
}

/// Every prompt of the log, byte for byte, with the sequence of its request.
#[must_use]
pub fn prompts(plan: &Plan, log: &Log) -> Vec<(Sequence, String)> {
    let Some(strategy) = Strategy::of(&log.start) else { return Vec::new() };
    let mut before = Log::new(log.start.clone());
    let mut all = Vec::new();
    for (step, entry) in (1..).zip(&log.entries) {
        if let (Entry::Request(_), Next::Ask(question)) = (entry, strategy.next(plan, &before)) {
            all.push((step, question.prompt.text));
        }
        before.push(entry.clone());
    }
    all
}

fn requested(run: Run<'_>, (before, prompts): (&Log, Prompts), request: &Request) -> Result<(), String> {
    let question = match run.next(before) {
        Next::Ask(question) => question,
        other => return Err(format!("a request, where {} is next", named(&other))),
    };
    let asked = question.request();
    let again = match prompts {
        Prompts::Same => asked,
        // texts of another number may have had other classes
        Prompts::OfVersion(other) => Request {
            version: prompt::of_number(&request.version, other),
            prompt: request.prompt,
            bytes: request.bytes,
            ..asked
        },
    };
    if again == *request { Ok(()) } else { Err(format!("{request:?}, where the log gives {again:?}")) }
}

fn answered(run: Run<'_>, before: &Log, candidate: &Candidate) -> Result<(), String> {
    if let Some(request) = candidate.request {
        let next = run.next(before);
        let is_taken = match &next {
            Next::Await(awaited) => awaited.iter().any(|awaited| awaited.request == request),
            // where there is no device, further answers are taken meanwhile
            Next::Judge(_) | Next::Accept(_) => {
                run.strategy.awaited(run.plan, before).iter().any(|awaited| awaited.request == request)
            }
            Next::Ask(_) | Next::Point(_) | Next::Build(_) | Next::Done(_) => false,
        };
        if !is_taken {
            return Err(format!("an answer to {request}, where {} is next", named(&next)));
        }
    }
    let again = answers::read(run.plan, before, candidate.request, &candidate.text);
    reads_as(before, again, &candidate.content)
}

fn pointed(run: Run<'_>, before: &Log, point: &Point) -> Result<(), String> {
    match run.next(before) {
        Next::Point(answer) if answer == point.of => {}
        other => return Err(format!("a point of {}, where {} is next", point.of, named(&other))),
    }
    let again = answers::point(run.plan, before, point.of).ok_or("its answer has no such point by now")?;
    if again.values != point.values {
        return Err(format!("the point {point}, where its answer gives {again}"));
    }
    reads_as(before, again.content, &point.content)
}

/// Whether a text reads as it was read; identities are compared where the kit is this program's.
fn reads_as(before: &Log, again: Content, recorded: &Content) -> Result<(), String> {
    let is_of_this_kit = before.start.kit == Digest(kit::digest());
    let again = if is_of_this_kit { again } else { as_identified(again, recorded) };
    if again == *recorded { Ok(()) } else { Err("its answer reads otherwise by now".to_owned()) }
}

/// A kernel by the identity and the name that it had, which hold the digest of the kit that it was written for.
fn as_identified(again: Content, recorded: &Content) -> Content {
    match (again, recorded) {
        (Content::Kernel(again), Content::Kernel(was)) => {
            Content::Kernel(Kernel { identity: was.identity, name: was.name.clone(), ..again })
        }
        (again, _) => again,
    }
}

fn judged(run: Run<'_>, before: &Log, verdict: &Verdict) -> Result<(), String> {
    let next = run.next(before);
    let fits = |outcomes: &[Outcome]| outcomes.contains(&verdict.outcome);
    let is_next = match &next {
        Next::Build(candidate) => {
            *candidate == verdict.candidate && fits(&[Outcome::Refused, Outcome::Compiled])
        }
        Next::Judge(candidates) => {
            let outcomes = [Outcome::Refused, Outcome::Wrong, Outcome::Crashed, Outcome::Right];
            candidates.contains(&verdict.candidate) && fits(&outcomes)
        }
        Next::Accept(candidate) => {
            let outcomes = [Outcome::Refused, Outcome::WrongInFull, Outcome::TooSlow, Outcome::Accepted];
            *candidate == verdict.candidate && fits(&outcomes)
        }
        Next::Ask(_) | Next::Await(..) | Next::Point(_) | Next::Done(_) => false,
    };
    if is_next {
        return Ok(());
    }
    Err(format!("{:?} of candidate {}, where {} is next", verdict.outcome, verdict.candidate, named(&next)))
}

fn named(next: &Next) -> String {
    match next {
        Next::Ask(question) => format!("a request ({:?})", question.ask),
        Next::Await(awaited) => {
            format!("an answer to {}", list(awaited.iter().map(|awaited| awaited.request)))
        }
        Next::Point(answer) => format!("a point of {answer}"),
        Next::Build(candidate) => format!("the compilation of {candidate}"),
        Next::Judge(candidates) => format!("the screening of {}", list(candidates.iter().copied())),
        Next::Accept(candidate) => format!("the whole gate for {candidate}"),
        Next::Done(stop) => format!("the end ({stop:?})"),
    }
}

fn list(of: impl Iterator<Item = Sequence>) -> String {
    of.map(|sequence| sequence.to_string()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::*;
    use crate::run_log::{Ask, RunId, Start, digest};

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.one]\ntargets = ['sm_90a']\naxes = { m = '1..=64', k = 64 }\n\
                    inputs = { x = 'f32[m, k]' }\noutputs = { y = 'f32[m]' }\nworkloads = [{ m = 64 }]\n\
                    math = 'y[m] = sum(k, x[m, k] * x[m, k])'\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    /// A request, an answer without a kernel, and the request for it as a whole.
    fn log(plan: &Plan) -> Log {
        let start = Start {
            version: crate::run_log::VERSION,
            run: RunId::parse("a-run").expect("a name"),
            kernel: "one".to_owned(),
            target: "sm_90a".to_owned(),
            key: plan.key.to_string(),
            strategy: "refine".to_owned(),
            prompts: prompt::VERSION,
            kit: digest("kit"),
            gate: 7,
            settings: Default::default(),
            bank: Vec::new(),
            experience: None,
        };
        let mut log = Log::new(start);
        ask(plan, &mut log);
        let (by, text) = ("a test".to_owned(), "here is no kernel".to_owned());
        let content = answers::read(plan, &log, Some(1), &text);
        log.push(Entry::Candidate(Candidate::new(Some(1), by, text, content)));
        ask(plan, &mut log);
        log
    }

    fn ask(plan: &Plan, log: &mut Log) {
        let Next::Ask(question) = Strategy::Refine.next(plan, log) else { panic!("something else is next") };
        log.push(Entry::Request(question.request()));
    }

    /// The log with its last request changed.
    fn changed(log: &Log, change: fn(&mut Request)) -> Log {
        let mut log = log.clone();
        let Some(Entry::Request(request)) = log.entries.last_mut() else { panic!("a request is last") };
        change(request);
        log
    }

    /// The log as texts of version 1 would have made it.
    fn older(log: &Log) -> Log {
        let mut log = log.clone();
        log.start.prompts = 1;
        for entry in &mut log.entries {
            if let Entry::Request(request) = entry {
                (request.version, request.prompt) = ("rowwise-1".to_owned(), digest("another text"));
                request.bytes = 12;
            }
        }
        log
    }

    #[test]
    fn prompts_of_this_version_are_compared() {
        let (plan, log) = (plan(), log(&plan()));
        assert_eq!(decisions(&plan, &log), Ok(Prompts::Same));
        let changes: [fn(&mut Request); 3] = [
            |request| request.prompt = digest("another text"),
            |request| request.bytes += 1,
            |request| request.version = "rowwise-1".to_owned(),
        ];
        for change in changes {
            let found = decisions(&plan, &changed(&log, change)).expect_err("another prompt");
            assert_eq!(found.step, 3, "{found}");
        }
    }

    #[test]
    fn of_prompts_of_another_version_decisions_alone_are_compared() {
        let plan = plan();
        let log = older(&log(&plan));
        assert_eq!(decisions(&plan, &log), Ok(Prompts::OfVersion(1)));
        let changes: [fn(&mut Request); 4] = [
            |request| request.ask = Ask::Patch,
            |request| request.about = Some(1),
            |request| request.about = None,
            |request| request.version = "rowwise-2".to_owned(),
        ];
        for change in changes {
            let found = decisions(&plan, &changed(&log, change)).expect_err("another decision");
            assert_eq!(found.step, 3, "{found}");
        }
        let mut other = log;
        let Some(Entry::Candidate(candidate)) = other.entries.get_mut(1) else { panic!("an answer") };
        candidate.content = crate::run_log::Content::Words;
        assert_eq!(decisions(&plan, &other).expect_err("another answer").step, 2);
    }

    /// A log whose one answer is a kernel, changed.
    fn answered_by_a_kernel(plan: &Plan, kit: Digest, change: fn(&mut Kernel)) -> Log {
        let text = "// contract:\n// steps = [{ entry = '@ENTRY@', args = ['ptr(x)', 'ptr(y)', 'axis(m)'] }]\n\
                    extern \"C\" __global__ void @ENTRY@(const float* x, float* y, int64_t m) {}\n";
        let (by, text) = ("a test".to_owned(), text.to_owned());
        let mut log = Log::new(Start { kit, ..log(plan).start });
        ask(plan, &mut log);
        let mut content = answers::read(plan, &log, Some(1), &text);
        let Content::Kernel(kernel) = &mut content else { panic!("a kernel: {content:?}") };
        change(kernel);
        log.push(Entry::Candidate(Candidate::new(Some(1), by, text, content)));
        log
    }

    #[test]
    fn identities_are_compared_where_the_kit_is_this_programs() {
        let (plan, mine, other) = (plan(), Digest(kit::digest()), digest("another kit"));
        let is_same = |kit: Digest, change: fn(&mut Kernel)| {
            decisions(&plan, &answered_by_a_kernel(&plan, kit, change)).is_ok()
        };
        let identified: fn(&mut Kernel) =
            |kernel| (kernel.identity, kernel.name) = (digest("it"), "m-12345678".to_owned());
        let written: fn(&mut Kernel) = |kernel| kernel.source.push(' ');
        assert!(is_same(mine, |_| ()) && !is_same(mine, identified));
        assert!(is_same(other, identified) && !is_same(mine, written) && !is_same(other, written));
    }
}
