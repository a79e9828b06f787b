//! Random inputs to everything that reads text: no panic, no overflow of a thread's default stack, no blow-up of time
//! or memory. Each subject runs in a child of this binary under a memory limit; its input lies in a file before it is
//! tried, so that what kills the child is known.
//!
//! `CUTEGEN_FUZZ_SECONDS` of processor time a subject (default 30), `CUTEGEN_FUZZ_SEED` (a number or `random`, default 1),
//! `CUTEGEN_FUZZ_SUBJECTS=reader,plan`;
//! `CUTEGEN_FUZZ_INPUT=FILE` tries one input.

mod corpus;
mod grammar;
mod mutate;
mod shapes;
mod subjects;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mutate::Random;
use subjects::Subject;

/// Kibibytes of address space of a child.
const MEMORY: u64 = 1 << 20;
/// Processor time of one input. Unoptimised code is an order slower.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

static TRIED: AtomicU64 = AtomicU64::new(0);
/// Whether the child has used its time.
static ENOUGH: AtomicBool = AtomicBool::new(false);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, subject, seed, seconds, input] = arguments.as_slice()
        && flag == "--child"
    {
        let number = |text: &str| text.parse().expect("a number");
        return child(subject, number(seed), Duration::from_secs(number(seconds)), Path::new(input));
    }
    let seconds = variable("CUTEGEN_FUZZ_SECONDS").and_then(|text| text.parse().ok()).unwrap_or(30);
    let seed = match variable("CUTEGEN_FUZZ_SEED").as_deref() {
        // the same every time: a suite that fails by chance stops people who changed something else
        None => 1,
        Some("random") => random_seed(),
        Some(text) => text.parse().expect("a number or `random`"),
    };
    let chosen = variable("CUTEGEN_FUZZ_SUBJECTS");
    let folder = tempfile::tempdir().expect("a folder");
    println!("seed {seed}, {seconds} s a subject");
    let is_chosen =
        |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|chosen| chosen == name));
    let survived: Vec<bool> = std::thread::scope(|scope| {
        let subjects = subjects::ALL.iter().filter(|subject| is_chosen(subject.name));
        let children =
            subjects.map(|subject| scope.spawn(|| survives(subject, seed, seconds, folder.path())));
        let children: Vec<_> = children.collect();
        children.into_iter().map(|child| child.join().expect("no panic")).collect()
    });
    let failed = survived.iter().filter(|survived| !**survived).count();
    let passed = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {passed}. {} passed; {failed} failed; 0 ignored", survived.len() - failed);
    exit(i32::from(failed > 0));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn random_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| now.as_nanos() as u64)
}

/// Runs a child over one subject and says how it ended.
fn survives(subject: &Subject, seed: u64, seconds: u64, folder: &Path) -> bool {
    let input = folder.join(subject.name);
    let program = std::env::current_exe().expect("this binary");
    let status = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$@\""), "sh"])
        .arg(program)
        .args(["--child", subject.name, &seed.to_string(), &seconds.to_string()])
        .arg(&input)
        .status()
        .expect("it starts");
    if !status.success() {
        let text = std::fs::read(&input).unwrap_or_default();
        let kept = std::env::temp_dir().join(format!("cutegen-fuzz-{}-{seed}", subject.name));
        std::fs::write(&kept, &text).expect("written");
        let shown: String = String::from_utf8_lossy(&text).chars().take(3000).collect();
        println!("{}: {status}, seed {seed}, input {}:\n{shown}", subject.name, kept.display());
    }
    status.success()
}

fn child(name: &str, seed: u64, time: Duration, input: &Path) {
    let subject = subjects::ALL.iter().find(|subject| subject.name == name).expect("a subject");
    let path = input.to_path_buf();
    // a thread has the stack that tests and build scripts give theirs at least
    let worker = std::thread::spawn(move || work(subject, seed, &path));
    let (mut last, mut spent) = (0, processor_time());
    while !worker.is_finished() {
        std::thread::sleep(Duration::from_millis(20));
        let (tried, now) = (TRIED.load(Ordering::Relaxed), processor_time());
        ENOUGH.store(now >= time, Ordering::Relaxed);
        if tried != last {
            (last, spent) = (tried, now);
        } else if now.saturating_sub(spent) > LIMIT {
            println!("{name}: input {tried} takes more than {LIMIT:?}");
            exit(3);
        }
    }
    exit(i32::from(worker.join().is_err()));
}

/// User and system time of this process.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: u64 =
        fields.get(11..13).unwrap_or_default().iter().filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn work(subject: &Subject, seed: u64, path: &PathBuf) {
    let mut random = Random(seed);
    let corpus = corpus::of(subject);
    let (mut fixed, mut accepted) = (corpus.clone(), 0_u64);
    if let Some(file) = variable("CUTEGEN_FUZZ_INPUT") {
        fixed = vec![String::from_utf8_lossy(&std::fs::read(file).expect("an input")).into_owned()];
    }
    fixed.extend((subject.fixed)());
    for text in fixed {
        accepted += u64::from(attempt(subject, &text, path));
    }
    while !ENOUGH.load(Ordering::Relaxed) {
        let text = (subject.next)(&corpus, &mut random);
        accepted += u64::from(attempt(subject, &text, path));
    }
    println!("{}: {} inputs, {accepted} accepted", subject.name, TRIED.load(Ordering::Relaxed));
}

/// Tries one input; whether it was accepted. A panic ends the process, with the input made smaller.
fn attempt(subject: &Subject, text: &str, path: &PathBuf) -> bool {
    std::fs::write(path, text).expect("written");
    TRIED.fetch_add(1, Ordering::Relaxed);
    if let Ok(accepted) = catch_unwind(AssertUnwindSafe(|| (subject.try_one)(text))) {
        return accepted;
    }
    std::panic::set_hook(Box::new(|_| {}));
    std::fs::write(path, smaller(subject, text)).expect("written");
    exit(4);
}

/// Leaves out lines, then characters, while it still panics.
fn smaller(subject: &Subject, text: &str) -> String {
    let end = Instant::now() + Duration::from_secs(10);
    let mut pieces: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for fine in [false, true] {
        if fine {
            pieces = pieces.concat().chars().map(String::from).collect();
        }
        let mut at = 0;
        while at < pieces.len() && Instant::now() < end {
            let piece = pieces.remove(at);
            let text = pieces.concat();
            TRIED.fetch_add(1, Ordering::Relaxed);
            if catch_unwind(AssertUnwindSafe(|| (subject.try_one)(&text))).is_ok() {
                pieces.insert(at, piece);
                at += 1;
            }
        }
    }
    pieces.concat()
}
