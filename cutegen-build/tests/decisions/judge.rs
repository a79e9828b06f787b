//! The scripted judge: answers what a search asks its judge process, by the names of candidates and a script's alone.
//! Whatever has a part in a decision comes from [`luck`], so the same script gives the same answers on every machine.

use std::io::{BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{
    Candidate, Comparison, Correctness, Crash, Distribution, Fault, Incumbent, Measured, Outcome, Place,
    Unmeasured,
};
use serde::{Deserialize, Serialize};

/// What a judge answers by.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    /// Part of what [`luck`] sees.
    pub(crate) name: &'static str,
    /// Candidates that are right, and faster than all others: the fastest first.
    pub(crate) fastest: &'static [&'static str],
    /// Candidates that are wrong in a full judgement, though nothing finds that before.
    pub(crate) refused: &'static [&'static str],
    /// Whether a sample takes it too.
    pub(crate) sampled: bool,
    /// Candidates of the templates, and the names that they have here; all others keep theirs.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// So many candidates are tried, from the last that was proposed on, and the judge gets a seed.
    pub(crate) given: Option<(usize, u64)>,
    /// What must come of it, where the golden file is not to say that alone.
    pub(crate) expected: Option<Expected>,
}

/// What must come of a search, by names of candidates.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    /// What the whole gate judges before the naive kernel, in this order.
    pub(crate) judged: &'static [&'static str],
    /// The variants of the answer.
    pub(crate) answer: &'static [&'static str],
}

/// In the folder of temporary files: the script, a line a field.
const SCRIPT: &str = "script";
/// Beside it: what was asked and answered, a line each.
const ASKED: &str = "asked";

/// Levels of an item, as the command writes them.
const LEVELS: usize = 2048;
/// The name of the naive kernel.
const NAIVE: &str = "naive";
/// What the naive kernel and the fastest take, microseconds, and how much more the next fastest does.
const NAIVE_US: f64 = 100.0;
const FASTEST_US: f64 = 16.0;
const STEP_US: f64 = 4.0;

impl Script {
    /// The script of this name where nothing is said: chance alone decides.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, fastest: &[], refused: &[], sampled: false, renamed: &[], given: None, expected: None }
    }

    /// Leaves it for the judge whose folder of temporary files this is.
    pub(crate) fn write(&self, folder: &Path) {
        let text = [self.name, &self.fastest.join(" "), &self.refused.join(" ")].join("\n");
        std::fs::write(folder.join(SCRIPT), text).expect("written");
    }
}

/// What a command asks. Fields that a script has no use for are left out.
#[derive(Deserialize)]
enum Request {
    Start(Start),
    Screen(Candidate),
    Full(Vec<Candidate>),
    Batch(Batch),
    Measure { candidate: Candidate, incumbent: Incumbent, axes: Vec<i64>, regime: Regime },
}

#[derive(Deserialize)]
struct Start {
    tiles: Vec<i64>,
    seed: Option<u64>,
}

#[derive(Deserialize)]
struct Batch {
    batch_reference: Candidate,
    others: Vec<Candidate>,
    axes: Vec<i64>,
    rounds: usize,
}

/// What a judge answers.
#[derive(Serialize)]
enum Response {
    Ready { seed: u64, not_watched: Option<String> },
    Judged(Box<Outcome>),
    Ranked(Vec<Result<Comparison, Outcome>>),
    Measured(Box<Result<Measured, Unmeasured>>),
    Failed(String),
}

/// Serves until the command is gone.
pub(crate) fn serve() {
    let folder = std::env::temp_dir();
    let judge = Judge::read(&folder);
    let mut requests = BufReader::new(std::io::stdin().lock());
    let mut asked = String::new();
    while let Ok(ask) = ciborium::de::from_reader_with_recursion_limit(&mut requests, LEVELS) {
        let (line, tell) = judge.answer(ask);
        asked.push_str(&format!("{line}\n"));
        std::fs::write(folder.join(ASKED), &asked).expect("written");
        let mut bytes = Vec::new();
        ciborium::into_writer(&tell, &mut bytes).expect("an answer");
        let mut replies = std::io::stdout().lock();
        replies.write_all(&bytes).and_then(|()| replies.flush()).expect("the command reads");
    }
}

struct Judge {
    script: String,
    fastest: Vec<String>,
    refused: Vec<String>,
}

impl Judge {
    fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(SCRIPT)).expect("a script");
        let [script, fastest, refused] = text.split('\n').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let names = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Self { script: script.to_owned(), fastest: names(fastest), refused: names(refused) }
    }

    /// The answer, and what the log says of it.
    fn answer(&self, ask: Request) -> (String, Response) {
        match ask {
            Request::Start(Start { tiles, seed }) => {
                let told = seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
                let ready = Response::Ready { seed: seed.unwrap_or(1), not_watched: None };
                (format!("start, tiles {tiles:?}{told}"), ready)
            }
            Request::Screen(candidate) => {
                let outcome = self.screened(&candidate);
                (format!("screen {}: {outcome}", name(&candidate)), Response::Judged(Box::new(outcome)))
            }
            Request::Full(list) => {
                let outcome = self.judged(&list);
                (
                    format!("judge {}: {outcome}", names(&list).join(" + ")),
                    Response::Judged(Box::new(outcome)),
                )
            }
            Request::Batch(batch) => self.ranked(&batch),
            Request::Measure { candidate, incumbent, axes, regime } => {
                self.measured(&candidate, &incumbent, &axes, regime)
            }
        }
    }

    /// One in eight is wrong, one in sixteen late, one in sixteen crashes.
    fn screened(&self, candidate: &Candidate) -> Outcome {
        match self.luck("screen", candidate, &[]) % 16 {
            _ if self.is_sure(candidate) => passed(std::slice::from_ref(candidate)),
            0 | 1 => Outcome::Incorrect(Fault::InputWritten { place: place() }),
            2 => Outcome::TimedOut(Duration::from_secs(2)),
            3 => Outcome::Crashed(Crash::Signal(11)),
            _ => passed(std::slice::from_ref(candidate)),
        }
    }

    /// Half of the lists that do more than the naive kernel fall: to a wrong value, which says something against what is
    /// locked, or to a time-out, which says nothing.
    fn judged(&self, list: &[Candidate]) -> Outcome {
        match self.luck("judge", &list[0], &[]) % 4 {
            _ if self.refused.contains(&name(&list[0])) => {
                Outcome::Incorrect(Fault::OutOfBounds { place: place() })
            }
            _ if self.is_sure(&list[0]) => passed(list),
            0 => Outcome::Incorrect(Fault::InputWritten { place: place() }),
            1 => Outcome::TimedOut(Duration::from_secs(2)),
            _ => passed(list),
        }
    }

    #[expect(clippy::result_large_err, reason = "what a judge answers")]
    fn ranked(&self, Batch { batch_reference, others, axes, rounds }: &Batch) -> (String, Response) {
        let rounds = match *rounds {
            usize::MAX => "all rounds".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        let mut line = format!("batch at {axes:?} against {}, {rounds}:", name(batch_reference));
        let times: Vec<_> = others.iter().map(|other| self.timed(other, batch_reference, axes)).collect();
        for (other, timed) in others.iter().zip(&times) {
            let told = timed.as_ref().map(|timed| format!("{:.3}x", timed.speedup));
            let told = told.unwrap_or_else(ToString::to_string);
            line.push_str(&format!("\n    {}: {told}", name(other)));
        }
        (line, Response::Ranked(times))
    }

    /// One in sixteen leaves other outputs when it is timed.
    #[expect(clippy::result_large_err, reason = "what a judge answers")]
    fn timed(&self, candidate: &Candidate, against: &Candidate, axes: &[i64]) -> Result<Comparison, Outcome> {
        match self.luck("time", candidate, axes) % 16 {
            0 if !self.is_sure(candidate) => {
                Err(Outcome::Incorrect(Fault::TimedOtherwise { place: place() }))
            }
            _ => Ok(comparison(self.micros(candidate, axes), self.micros(against, axes))),
        }
    }

    fn measured(
        &self,
        candidate: &Candidate,
        incumbent: &Incumbent,
        axes: &[i64],
        regime: Regime,
    ) -> (String, Response) {
        let Incumbent::Variant(against) = incumbent else {
            let reason = format!("no script has {incumbent:?}");
            return (reason.clone(), Response::Failed(reason));
        };
        let comparison = comparison(self.micros(candidate, axes), self.micros(against, axes));
        let (ours, theirs) = (name(candidate), name(against));
        let line =
            format!("measure {ours} against {theirs} at {axes:?}, {regime:?}: {:.3}x", comparison.speedup);
        let device = "host scripted".to_owned();
        let measured = Measured { comparison, device, samples: Vec::new(), about: None, differs: None };
        (line, Response::Measured(Box::new(Ok(measured))))
    }

    /// From a fifth slower than the naive kernel to 4.8 times as fast.
    fn micros(&self, candidate: &Candidate, axes: &[i64]) -> f64 {
        let name = name(candidate);
        if name == NAIVE {
            return NAIVE_US;
        }
        match self.fastest.iter().position(|fastest| *fastest == name) {
            Some(place) => FASTEST_US + STEP_US * place as f64,
            None => NAIVE_US / (0.8 + 4.0 * (self.luck("micros", candidate, axes) % 1000) as f64 / 1000.0),
        }
    }

    /// Whether no luck is against it.
    fn is_sure(&self, candidate: &Candidate) -> bool {
        let name = name(candidate);
        name == NAIVE || self.fastest.contains(&name)
    }

    fn luck(&self, what: &str, candidate: &Candidate, axes: &[i64]) -> u64 {
        luck(&format!("{} {what} {} {axes:?}", self.script, name(candidate)))
    }
}

/// A number that looks like chance and is the same for the same text: FNV-1a, its upper half.
fn luck(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) >> 32
}

/// A candidate's name, of which its file is named; a search adds digits of its digest.
fn name(candidate: &Candidate) -> String {
    let stem = candidate.artifact.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.expect("a file");
    let is_digest = |end: &str| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    match stem.rsplit_once('-') {
        Some((name, end)) if is_digest(end) => name.to_owned(),
        _ => stem,
    }
}

fn names(list: &[Candidate]) -> Vec<String> {
    list.iter().map(name).collect()
}

fn place() -> Place {
    Place { axes: vec![1], distribution: Distribution::Normal, tensor: "x".to_owned(), index: vec![0] }
}

fn passed(list: &[Candidate]) -> Outcome {
    let one = Correctness {
        shapes: vec![vec![1]],
        distributions: vec![Distribution::Normal],
        elements: 1000,
        repeats: 3,
        device: "host scripted".to_owned(),
        ..Correctness::default()
    };
    let variants = vec![one.clone(); list.len()];
    Outcome::Passed { correctness: Correctness { variants, ..one }, performance: None }
}

fn comparison(candidate_us: f64, incumbent_us: f64) -> Comparison {
    let speedup = incumbent_us / candidate_us;
    Comparison {
        candidate_us,
        incumbent_us,
        speedup,
        low: speedup * 0.99,
        high: speedup * 1.01,
        samples: 30,
        pairs: Vec::new(),
    }
}

/// Where a judge's log is.
pub(crate) fn asked(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(ASKED)).expect("a judge was asked")
}
