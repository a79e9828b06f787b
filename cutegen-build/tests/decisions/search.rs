//! One search of one kernel in this process, with what `cargo cutegen` does around it: the project, the user's store,
//! the acceptance of what was found.

use std::fmt::Write as _;
use std::path::Path;

use cutegen_build::accept;
use cutegen_build::discover::Project;
use cutegen_build::event::Event;
use cutegen_build::generate::template::Templates;
use cutegen_build::generate::{Answer, Candidate, Feedback, Generator};
use cutegen_build::plan::Plan;
use cutegen_build::refine::{self, Strategy, Trial};
use cutegen_build::search::{Budget, SearchConfig, Searcher};
use cutegen_build::store::change::Change;
use cutegen_build::store::{Entry, Store};

use crate::judge::{self, Expected, Script};
use crate::told::Told;

/// The kernels, by name: two workloads each, so that one variant need not be the fastest at both.
const SPECS: [(&str, &str); 5] = [
    ("elementwise", ELEMENTWISE),
    ("kinds", ELEMENTWISE),
    ("given", ELEMENTWISE),
    (
        "rowwise",
        r#"
axes = { m = "1..=64", n = 96 }
inputs = { x = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
scalars = { eps = "f32" }
math = "y[m, n] = rms_norm(n, x[m, n], eps)"
"#,
    ),
    (
        "contraction",
        r#"
axes = { m = "1..=64", n = 96, k = 80 }
inputs = { x = "f32[m, k]", w = "f32[n, k]", b = "f32[n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = relu(sum(k, x[m, k] * w[n, k]) + b[n])"
"#,
    ),
];

const ELEMENTWISE: &str = r#"
axes = { m = "1..=64", n = 96 }
inputs = { x = "f32[m, n]", g = "f32[m, n]" }
outputs = { y = "f32[m, n]" }
math = "y[m, n] = silu(x[m, n]) * g[m, n]"
"#;

/// A compiler was not in time.
pub(crate) struct Late;
/// In what is said of that.
const LATE: &str = "does not compile: TimedOut";

/// Searches, accepts what was found, and leaves what was decided in the folder of temporary files.
pub(crate) fn run(kernel: &str, script: &Script, folder: &Path) -> Result<(), Late> {
    let project = project(kernel, folder);
    let plan = Plan::all(&project.specs).remove(0);
    let mut decisions = format!("## {kernel}, script `{}`\n\n", script.name);
    decisions.push_str(&proposals(&plan, script));
    let searcher = Searcher::new().expect("a toolchain");
    let locked = Store::new(&project.store).get_full(&plan.key).hit();
    let mut events = String::new();
    let mut report = |event: &Event| events.push_str(&line(event));
    let found = if script.renamed.is_empty() && script.given.is_none() {
        searcher.search(&plan, locked.as_ref(), &mut report)
    } else {
        let toolchain = searcher.fingerprint(&plan.target).expect("a compiler");
        let renaming = Renaming { templates: Templates::new(toolchain), names: script.renamed };
        let config = configured(SearchConfig::of(vec![Box::new(renaming)]), script);
        searcher.search_with(&plan, locked.as_ref(), config, &mut report)
    };
    let failed = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
    if [&events, &failed].iter().any(|text| text.contains(LATE)) {
        return Err(Late);
    }
    let (entry, asked) = (found.expect("a search"), judge::asked(&std::env::temp_dir()));
    script.expected.iter().for_each(|expected| is_as_expected(expected, &asked, &entry));
    write!(decisions, "\n### Asked of the judge\n\n{asked}").expect("text");
    write!(decisions, "\n### Events\n\n{events}").expect("text");
    let mut change = Change::begin(&Store::new(&project.store), &project.lock).expect("a lock");
    accept::accept(&plan, searcher.store(), &mut change).expect("accepted");
    change.write().expect("written");
    decisions.push_str(&answer(&entry));
    let lock = std::fs::read_to_string(&project.lock).expect("a lock");
    write!(decisions, "\n### Lock\n\n{lock}\n").expect("text");
    Told::write(&std::env::temp_dir(), &decisions, &entry);
    Ok(())
}

/// What a script gives a search besides its generator.
fn configured<'a>(config: SearchConfig<'a>, script: &Script) -> SearchConfig<'a> {
    let Some((candidates, seed)) = script.given else { return config };
    let budget = Budget { candidates, ..Budget::default() };
    SearchConfig { strategy: Box::new(Backwards), budget, seed: Some(seed), ..config }
}

/// Tries what was proposed from the last on.
struct Backwards;

impl Strategy for Backwards {
    fn first(&self, _: &Plan, space: &[Candidate]) -> Vec<Candidate> {
        space.iter().rev().cloned().collect()
    }

    fn next(&self, _: &Plan, _: &[Candidate], _: &[Trial]) -> Vec<Candidate> {
        Vec::new()
    }
}

fn project(kernel: &str, folder: &Path) -> Project {
    let (specs, cache) = (folder.join("specs"), folder.join("cache"));
    let (_, spec) = SPECS.iter().find(|(name, _)| *name == kernel).expect("a spec");
    let text = format!(
        "edition = 1\n[kernels.{kernel}]{spec}workloads = [{{ m = 8 }}, {{ m = 64 }}]\ntargets = [\"host\"]\n"
    );
    std::fs::create_dir_all(&specs).expect("a folder");
    std::fs::create_dir_all(&cache).expect("a folder");
    std::fs::write(specs.join("kernel.toml"), text).expect("written");
    Project::library(&specs, &cache).expect("a project")
}

/// Proposes what templates do, by other names: a kind is the words that a name begins with.
struct Renaming {
    templates: Templates,
    names: &'static [(&'static str, &'static str)],
}

impl Generator for Renaming {
    fn name(&self) -> &'static str {
        "renaming"
    }

    fn propose(&mut self, plan: &Plan, feedback: &Feedback) -> Answer {
        match self.templates.propose(plan, feedback) {
            Answer::Candidates(candidates) => Answer::Candidates(renamed(candidates, self.names)),
            answer @ (Answer::Exhausted | Answer::Failed(_)) => answer,
        }
    }
}

fn renamed(candidates: Vec<Candidate>, names: &[(&str, &str)]) -> Vec<Candidate> {
    let new = |name: &str| names.iter().find(|(old, _)| *old == name).map(|(_, new)| (*new).to_owned());
    candidates.into_iter().map(|c| Candidate { name: new(&c.name).unwrap_or(c.name), ..c }).collect()
}

fn is_as_expected(Expected { judged, answer }: &Expected, asked: &str, entry: &Entry) {
    let sets = asked.lines().filter_map(|line| line.strip_prefix("judge ")?.split_once(" + naive: "));
    assert_eq!(sets.map(|(set, _)| set).collect::<Vec<_>>(), *judged);
    let variants = entry.record.variants.iter().map(|variant| variant.name.as_str());
    assert_eq!(variants.collect::<Vec<_>>(), *answer);
}

fn proposals(plan: &Plan, script: &Script) -> String {
    let space = renamed(Templates::new("").space(plan), script.renamed);
    let selected = refine::select(plan, &space);
    let names = |candidates: &[Candidate]| {
        let lines = candidates.iter().map(|c| format!("{} {:?} {}\n", c.name, c.tiles, c.eligibility));
        lines.collect::<String>()
    };
    format!("### Proposed\n\n{}\n### Selected\n\n{}", names(&space), names(&selected))
}

/// An event without the seconds that it took.
fn line(event: &Event) -> String {
    match event {
        Event::SearchStarted { key, candidates, .. } => format!("started {key}, {candidates} candidates\n"),
        Event::Tried { candidate, outcome, speedup, number, of, .. } => {
            let speedup = speedup.map_or("not timed".to_owned(), |speedup| format!("{speedup:.4}x"));
            format!("tried {number} of {of}: {candidate}: {outcome}, {speedup}\n")
        }
        Event::Ranked { candidates, .. } => format!("ranked {candidates}\n"),
        Event::Judged { candidate, outcome, .. } => format!("judged {candidate}: {outcome}\n"),
        Event::Found { variant, speedup, .. } => format!("found {variant}: {speedup:.4}x\n"),
        Event::Note { text } => format!("note: {text}\n"),
        // how far it is, and what the system gives, is no decision
        Event::Progress { .. } | Event::NotEnforced { .. } => String::new(),
    }
}

/// The entry, as far as it was decided.
fn answer(entry: &Entry) -> String {
    let mut text = "\n### Answer\n".to_owned();
    for variant in &entry.record.variants {
        write!(text, "\n{} ({:?}), {}\n", variant.name, variant.kind, variant.origin).expect("text");
        writeln!(text, "eligible: {}\npreferred: {}", variant.eligibility, variant.prefer).expect("text");
        let timings = variant.evidence.iter().flat_map(|evidence| &evidence.timings);
        for timing in timings {
            let (workload, incumbent) = (&timing.workload, &timing.incumbent);
            writeln!(text, "{workload:?} against {incumbent}: {:.4}x", timing.speedup).expect("text");
        }
    }
    text
}
