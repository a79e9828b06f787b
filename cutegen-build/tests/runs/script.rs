//! A run with scripted answers and verdicts, and the points at which it can be killed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use cutegen_build::generate::answers;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{
    self, Candidate, Diagnostic, Digest, Entry, Facts, Judge, LogFile, Outcome, RunId, Sequence, Speed,
    Start, Verdict, digest,
};
use cutegen_build::strategy::{Awaited, Next, Strategy};
use cutegen_build::{generate::prompt, kit};
use cutegen_spec::edition::spec_file;

const SPEC: &str = "edition = 1\n[kernels.squares]\naxes = { m = '1..=512', k = '8..=512' }\ninputs = { x = 'f32[m, k]' }\n\
                    outputs = { y = 'f32[m]' }\nmath = 'y[m] = sum(k, x[m, k] * x[m, k])'\n\
                    workloads = [{ m = 512, k = 512 }]\ntargets = ['host']\n";

/// Counts points, and ends the process at one of them.
pub(crate) struct Killer {
    left: usize,
    passed: usize,
}

impl Killer {
    pub(crate) fn at(point: usize) -> Self {
        Self { left: point, passed: 0 }
    }

    /// Whether the process dies here.
    fn is_here(&mut self) -> bool {
        self.passed += 1;
        let here = self.left == 0;
        self.left = self.left.saturating_sub(1);
        here
    }

    fn point(&mut self) {
        if self.is_here() {
            kill();
        }
    }

    /// Points of an entry: before its line, within it at three places, and behind it.
    fn append(&mut self, file: &mut LogFile, entry: Entry) {
        self.point();
        let line = serde_json::to_string(&entry).expect("an entry");
        for torn in [1, line.len() / 2, line.len()] {
            if self.is_here() {
                let mut log = OpenOptions::new().append(true).open(file.path()).expect("the log");
                log.write_all(&line.as_bytes()[..torn]).expect("written");
                kill();
            }
        }
        file.append(entry).expect("written");
        self.point();
    }
}

/// As `kill -9` does.
fn kill() -> ! {
    let own = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-9", &own]).status();
    loop {
        std::thread::park();
    }
}

fn plan() -> Plan {
    Plan::all(&spec_file(SPEC, &Default::default()).into_kernels().expect("a right text")).remove(0)
}

fn name() -> RunId {
    RunId::parse("scripted").expect("a name")
}

fn start(strategy: Strategy, plan: &Plan) -> Start {
    let few: &[(&str, f64)] = match strategy {
        Strategy::Refine => &[],
        Strategy::Branch => &[("rounds", 2.0), ("ideas", 2.0), ("variants", 1.0)],
        Strategy::Islands => &[("islands", 2.0), ("stagnation", 1.0), ("requests", 9.0)],
    };
    Start {
        version: run_log::VERSION,
        run: name(),
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        key: plan.key.to_string(),
        strategy: strategy.name().to_owned(),
        prompts: prompt::VERSION,
        kit: Digest(kit::digest()),
        gate: 7,
        settings: few.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        bank: Vec::new(),
        experience: None,
    }
}

/// Begins the run in a folder, or goes on with it, to its end.
pub(crate) fn run(strategy: Strategy, folder: &Path, mut killer: Killer) {
    let plan = plan();
    let mut file = match run_log::runs(folder).expect("a folder").as_slice() {
        [] => LogFile::create(folder, start(strategy, &plan)).expect("begun"),
        _ => LogFile::open(folder, &name()).expect("opened"),
    };
    loop {
        let entry = match strategy.next(&plan, file.log()) {
            Next::Ask(question) => Entry::Request(question.request()),
            Next::Await(awaited) => {
                let Some(Awaited { request, question }) = awaited.first() else { panic!("{awaited:?}") };
                let request = *request;
                assert_eq!(
                    file.log().request(request).map(|r| r.prompt),
                    Some(digest(&question.prompt.text))
                );
                let text = answer(folder, &mut killer, (&file, request));
                let content = answers::read(&plan, file.log(), Some(request), &text);
                let by = "a script".to_owned();
                Entry::Candidate(Candidate::new(Some(request), by, text, content))
            }
            Next::Point(answer) => {
                Entry::Point(answers::point(&plan, file.log(), answer).expect("a point is missing"))
            }
            Next::Build(candidate) => Entry::Verdict(built(&file, candidate)),
            Next::Judge(candidates) => Entry::Verdict(judged(&file, candidates[0])),
            Next::Accept(candidate) => Entry::Verdict(Verdict {
                candidate,
                outcome: Outcome::Accepted,
                facts: Facts::default(),
                judge: judge(),
            }),
            Next::Done(_) => break,
        };
        killer.append(&mut file, entry);
    }
    fs::write(folder.join("points"), killer.passed.to_string()).expect("written");
}

/// Asks the script, which keeps a record of that.
fn answer(folder: &Path, killer: &mut Killer, (file, request): (&LogFile, Sequence)) -> String {
    killer.point();
    let mut asked = OpenOptions::new().append(true).create(true).open(folder.join("asked")).expect("opened");
    asked.write_all(format!("{request}\n").as_bytes()).expect("written");
    killer.point();
    let number = file.log().candidates().count();
    let answers = match Strategy::of(&file.log().start) {
        Some(Strategy::Branch) => BRANCHED,
        Some(Strategy::Islands) => POPULATED,
        Some(Strategy::Refine) | None => ANSWERS,
    };
    answers.get(number).map_or_else(|| lanes(3 + number), |write| write())
}

/// Mistakes that models make, then kernels of which some gain. One sweeps its lanes: 5 are refused, and 7 wrong.
const ANSWERS: &[fn() -> String] = &[
    || lanes(8).replace("ptr(x)", "ptr(z)"),
    || lanes(8).replace("sum = 0;", "sum = zero;"),
    || "`zero` is declared nowhere.\n".to_owned(),
    || edit("    float lanes[8] = {}, total = zero;", "    float lanes[8] = {}, sum = 0;"),
    || lanes(8).replace("at < k;", "at < k - 1;"),
    || "The tail leaves out the last element.\n".to_owned(),
    || edit("at < k - 1; ++at) sum", "at < k; ++at) sum"),
    || lanes(8).replace("  for (int64_t i", "  // rows\n  for (int64_t i"),
    || swept("5 | 7 | 16 | 32"),
    || lanes(16),
    || lanes(64),
];

/// A right kernel, ideas with a variant that is faulty at first, and ideas of which one is known and one gains.
const BRANCHED: &[fn() -> String] = &[
    || lanes(8),
    || "1. attempt 2: twice the lanes\n2. attempt 2: many lanes, predicted 3x\n".to_owned(),
    || swept("5 | 16 | 20"),
    || swept("24 | 28").replace("sum = 0;", "sum = zero;"),
    || "`zero` is declared nowhere.\n".to_owned(),
    || edit("    float lanes[LANES] = {}, sum = zero;", "    float lanes[LANES] = {}, sum = 0;"),
    || "1. the same\n2. all lanes\n".to_owned(),
    || lanes(8).replace("  for (int64_t i", "  // rows\n  for (int64_t i"),
    || lanes(32),
];

/// Two islands: a right kernel, a faulty one that its island repairs, a gain, and losses.
const POPULATED: &[fn() -> String] = &[
    || lanes(8),
    || lanes(24).replace("sum = 0;", "sum = zero;"),
    || swept("7 | 30 | 32"),
    || "`zero` is declared nowhere.\n".to_owned(),
    || edit("    float lanes[24] = {}, sum = zero;", "    float lanes[24] = {}, sum = 0;"),
];

fn lanes(count: usize) -> String {
    answered(&SOURCE.replace("LANES", &count.to_string()))
}

/// The same kernel with as many lanes as each of these says.
fn swept(counts: &str) -> String {
    let sweep = format!("// sweep: LANES = {counts}\nextern");
    answered(&SOURCE.replacen("extern", &sweep, 1))
}

fn answered(source: &str) -> String {
    format!("Hypothesis: lanes\nPredicted: 1.5x\n\n```cpp\n{source}```\n")
}

const SOURCE: &str = "// contract:\n\
    // steps = [{ entry = \"@ENTRY@\", args = [\"ptr(x)\", \"ptr(y)\", \"axis(m)\", \"axis(k)\"] }]\n\
    extern \"C\" void @ENTRY@(void** params) {\n    float lanes[LANES] = {}, sum = 0;\n\
    \x20   for (; at < k; ++at) sum += row[at] * row[at];\n  for (int64_t i = 0; i < m; ++i) {}\n}\n";

fn edit(old: &str, new: &str) -> String {
    format!("```edit\n<<<<<<< old\n{old}\n=======\n{new}\n>>>>>>> new\n```\n")
}

fn source(file: &LogFile, candidate: Sequence) -> &str {
    &file.log().kernel(candidate).expect("a kernel").source
}

fn built(file: &LogFile, candidate: Sequence) -> Verdict {
    let own = source(file, candidate);
    let is_wrong = own.contains("zero") || own.contains("LANES = 5;");
    let outcome = if is_wrong { Outcome::Refused } else { Outcome::Compiled };
    let said = Diagnostic { line: Some(4), message: "identifier \"zero\" is undefined".to_owned() };
    let facts = Facts { diagnostics: is_wrong.then_some(said).into_iter().collect(), ..Facts::default() };
    Verdict { candidate, outcome, facts, judge: None }
}

/// The more lanes, the faster, up to 32.
fn judged(file: &LogFile, candidate: Sequence) -> Verdict {
    let own = source(file, candidate);
    if own.contains("k - 1") || own.contains("LANES = 7;") {
        let facts = Facts { reason: Some("incorrect: wrong value".to_owned()), ..Facts::default() };
        return Verdict { candidate, outcome: Outcome::Wrong, facts, judge: judge() };
    }
    let micros = |source: &str| 100.0 / lanes_of(source).min(64 - lanes_of(source).min(63)) as f64;
    let over = file.log().kernels().filter(|(other, _)| *other != candidate);
    let over = over.map(|(other, kernel)| (other, micros(&kernel.source) / micros(own))).collect();
    let speed = Speed {
        workload: [("m".to_owned(), 512), ("k".to_owned(), 512)].into(),
        micros: micros(own),
        over_naive: Some(100.0 / micros(own)),
        over,
        roofline: None,
        tb_per_s: None,
        tops_per_s: None,
    };
    let facts = Facts { speed: vec![speed], ..Facts::default() };
    Verdict { candidate, outcome: Outcome::Right, facts, judge: judge() }
}

fn lanes_of(source: &str) -> usize {
    let swept = source.split_once("int LANES = ").and_then(|(_, rest)| rest.split_once(';'));
    let written = source.split_once("lanes[").and_then(|(_, rest)| rest.split_once(']'));
    swept.or(written).and_then(|(count, _)| count.parse().ok()).expect("a number")
}

fn judge() -> Option<Judge> {
    Some(Judge {
        card: "a script".to_owned(),
        batch: "one".to_owned(),
        gate: 7,
        held_ms: 1,
        place: run_log::Place::Here,
    })
}

/// The log as it is on the disk.
pub(crate) fn text(folder: &Path) -> String {
    fs::read_to_string(folder.join("scripted.jsonl")).expect("a log")
}

/// Points of a whole run.
pub(crate) fn points(folder: &Path) -> usize {
    fs::read_to_string(folder.join("points")).expect("it ended").parse().expect("a number")
}

/// Requests that the script was asked, in order.
pub(crate) fn asked(folder: &Path) -> Vec<Sequence> {
    let text = fs::read_to_string(folder.join("asked")).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// Requests whose answers are recorded.
pub(crate) fn recorded(folder: &Path) -> BTreeSet<Sequence> {
    let Ok(log) = run_log::read(folder, &name()) else { return BTreeSet::new() };
    log.candidates().filter_map(|(_, candidate)| candidate.request).collect()
}
