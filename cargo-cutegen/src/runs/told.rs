//! [`Told`]: where a run stands, for people and for programs.

use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Log, Outcome, Sequence, Verdict};
use cutegen_build::strategy::{Stop, Strategy};
use serde::Serialize;

use super::advance::{Stand, Unjudged};
use super::exchange::Exchange;

/// Where a run stands. Fields that do not apply are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Told {
    kernel: String,
    target: String,
    run: String,
    state: State,
    /// Of the first request or candidate that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<Sequence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    /// The other requests, or candidates, that it waits for; they need nothing of each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Other>,
    /// Candidates that wait for a device while answers are awaited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unjudged: Vec<Sequence>,
    /// Why it waits or has ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    requests: usize,
    candidates: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<Best>,
}

/// What a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Answers.
    Reply,
    /// A request, which is another machine's to make.
    Request,
    /// Verdicts, of a device that this machine lacks.
    Verdict,
    /// The next command: the time of this one is up.
    Deadline,
    /// Nothing: it is at its end.
    Done,
}

/// Another request or candidate that a run waits for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Other {
    sequence: Sequence,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
}

/// The fastest right candidate.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Best {
    candidate: Sequence,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_naive: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roofline: Option<f64>,
    accepted: bool,
    /// Whether the whole gate found it no faster than what is to be beaten.
    too_slow: bool,
}

impl Told {
    pub(crate) fn of(plan: &Plan, log: &Log, stand: &Stand) -> Self {
        let mut told = Self {
            kernel: plan.spec.name.to_string(),
            target: plan.target.to_string(),
            run: log.start.run.to_string(),
            state: State::Request,
            sequence: None,
            prompt: None,
            reply: None,
            others: Vec::new(),
            unjudged: Vec::new(),
            reason: None,
            requests: (1..)
                .map_while(|at| log.at(at).map(|_| at))
                .filter(|at| log.request(*at).is_some())
                .count(),
            candidates: log.kernels().count(),
            best: best(plan, log),
        };
        match stand {
            Stand::Request => {}
            Stand::Replies(open) => told.wait(State::Reply, open.iter().map(Other::reply)),
            Stand::Verdicts(Unjudged { candidates, why, open }) => {
                told.reason = Some(why.clone());
                if open.is_empty() {
                    told.wait(State::Verdict, candidates.iter().map(|candidate| Other::verdict(*candidate)));
                } else {
                    told.unjudged.clone_from(candidates);
                    told.wait(State::Reply, open.iter().map(Other::reply));
                }
            }
            Stand::Late => (told.state, told.reason) = (State::Deadline, Some("the time is up".to_owned())),
            Stand::Done(stop) => (told.state, told.reason) = (State::Done, Some(stopped(*stop).to_owned())),
        }
        told
    }

    /// The first has the fields of its own.
    fn wait(&mut self, state: State, mut waiting: impl Iterator<Item = Other>) {
        self.state = state;
        if let Some(Other { sequence, prompt, reply }) = waiting.next() {
            (self.sequence, self.prompt, self.reply) = (Some(sequence), prompt, reply);
        }
        self.others = waiting.collect();
    }

    /// The fastest right candidate, with its speed-up over the naive kernel.
    pub(crate) fn best(&self) -> Option<(&str, f64)> {
        let best = self.best.as_ref()?;
        Some((&best.name, best.over_naive?))
    }

    /// Whether an answer is what it waits for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state == State::Reply
    }

    /// Why this machine has no device for it, where it waits for one.
    pub(crate) fn lacks(&self) -> Option<&str> {
        let is_waiting = self.state == State::Verdict || !self.unjudged.is_empty();
        self.reason.as_deref().filter(|_| is_waiting)
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { kernel, target, run, .. } = self;
        let mut lines = vec![format!("{kernel} on {target}, {run}: {}{}", self.waits(), self.so_far())];
        let first = (&self.prompt, &self.reply);
        let others = self.others.iter().map(|other| (&other.prompt, &other.reply));
        for files in std::iter::once(first).chain(others) {
            if let (Some(prompt), Some(reply)) = files {
                lines.push(format!("  prompt: {prompt}\n  answer: {reply}"));
            }
        }
        if self.best.as_ref().is_some_and(|best| best.accepted) {
            lines.push(format!("next: cargo cutegen accept {kernel} --target {target}"));
        }
        if self.state == State::Deadline {
            lines.push(format!("next: cargo cutegen step --run {run}"));
        }
        lines.join("\n")
    }

    fn waits(&self) -> String {
        let others = self.others.iter().map(|other| other.sequence);
        let all: Vec<Sequence> = self.sequence.into_iter().chain(others).collect();
        let why = self.reason.as_deref();
        match self.state {
            State::Reply => {
                let device = why.map(|why| format!("; {}", for_device(&self.unjudged, why)));
                format!("{}{}", for_answers(&all), device.unwrap_or_default())
            }
            State::Request => "a request is next".to_owned(),
            State::Verdict => for_device(&all, why.unwrap_or_default()),
            State::Deadline => why.unwrap_or_default().to_owned(),
            State::Done => format!("done: {}", why.unwrap_or_default()),
        }
    }

    fn so_far(&self) -> String {
        let Self { requests, candidates, .. } = self;
        let best = self.best.as_ref().map(Best::text).unwrap_or_default();
        format!("; {requests} requests, {candidates} kernels{best}")
    }
}

/// That requests wait for answers.
fn for_answers(requests: &[Sequence]) -> String {
    match requests {
        [one] => format!("request {one} awaits an answer"),
        _ => format!("requests {} await answers", listed(requests)),
    }
}

/// That candidates wait for a device.
fn for_device(candidates: &[Sequence], why: &str) -> String {
    let (plural, verb) = if candidates.len() > 1 { ("s", "") } else { ("", "s") };
    format!("candidate{plural} {} wait{verb} for a device ({why})", listed(candidates))
}

fn listed(all: &[Sequence]) -> String {
    all.iter().map(Sequence::to_string).collect::<Vec<_>>().join(", ")
}

impl Other {
    fn reply((sequence, files): &(Sequence, Exchange)) -> Self {
        let shown = |path: &std::path::Path| Some(path.display().to_string());
        Self { sequence: *sequence, prompt: shown(&files.prompt), reply: shown(&files.reply) }
    }

    fn verdict(sequence: Sequence) -> Self {
        Self { sequence, prompt: None, reply: None }
    }
}

impl Best {
    fn text(&self) -> String {
        let naive = self.over_naive.map(|times| format!(", {times:.2}x naive")).unwrap_or_default();
        let roofline = self.roofline.map(|share| format!(", {share:.2} of the roofline")).unwrap_or_default();
        let accepted = match (self.accepted, self.too_slow) {
            (true, _) => ", accepted",
            (false, true) => ", not accepted: it does not beat what it has to",
            (false, false) => "",
        };
        format!("; best: {}{naive}{roofline}{accepted}", self.name)
    }
}

/// The accepted one, else the best by the run's strategy, with its last times.
fn best(plan: &Plan, log: &Log) -> Option<Best> {
    let of = |(_, verdict): (Sequence, &Verdict)| {
        (verdict.outcome == Outcome::Accepted).then_some(verdict.candidate)
    };
    let accepted = log.verdicts().filter_map(of).last();
    let candidate = accepted.or_else(|| Strategy::of(&log.start)?.best(plan, log))?;
    let right = log.verdicts().map(|(_, verdict)| verdict);
    let right = right.filter(|verdict| verdict.candidate == candidate && verdict.outcome.is_right());
    let timed = right.filter(|verdict| verdict.facts.over_naive().is_some()).last();
    let last = log.verdict(candidate)?;
    Some(Best {
        candidate,
        name: log.kernel(candidate)?.name.clone(),
        over_naive: timed.and_then(|verdict| verdict.facts.over_naive()),
        roofline: timed.and_then(|verdict| verdict.facts.roofline()),
        accepted: last.outcome == Outcome::Accepted,
        too_slow: last.outcome == Outcome::TooSlow,
    })
}

fn stopped(stop: Stop) -> &'static str {
    match stop {
        Stop::Roofline => "it reached the share of the roofline that is enough",
        Stop::NoGain => "further rounds brought no gain",
        Stop::Budget => "it made as many requests as it may",
        Stop::Rounds => "all of its rounds are over",
        Stop::Enough => "a kernel is as fast over the naive one as was asked",
        Stop::NoKernel => "no start gave a kernel that is right",
    }
}
