//! `tests/bench/bars.py` on the host: that a run goes on where one stopped, that what fails is told and tried again, and
//! that its rows say what the samples say. How fast anything is, no test says.

mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_tests::results::{self, Page, Row, Verdict};
use cutegen_tests::{Ran, cutegen, cutegen_program, install_toolchain, must, run, scratch, workspace, write};
use serde_json::Value;

/// Two kernels with names of the bar table, small and for the host.
const SPECS: &str = r#"
edition = 1
[kernels.sum_4096]
axes = { m = "1..=64", d = 256 }
inputs = { x = "f32[m, d]" }
outputs = { y = "f32[m]" }
math = "y[m] = sum(d, x[m, d])"
workloads = [{ m = 16 }]
targets = ["host"]
[kernels.silu_mul]
axes = { n = "1..=65536" }
inputs = { g = "f32[n]", u = "f32[n]" }
outputs = { y = "f32[n]" }
math = "y[n] = silu(g[n]) * u[n]"
workloads = [{ n = 4096 }]
targets = ["host"]
"#;

/// A folder with specs, a cache in which they are locked, and a place for results.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        install_toolchain();
        let folder = scratch(name);
        write(&folder.join("specs/table.toml"), SPECS);
        fs::create_dir_all(folder.join("cache")).expect("a folder");
        must(cutegen(home()).arg("lock").args(library(&folder)));
        Self(folder)
    }

    fn bars(&self, arguments: &[&str]) -> Ran {
        self.with(cutegen_program(), arguments)
    }

    /// The script's `run`, with this program in the command's place.
    fn with(&self, program: &Path, arguments: &[&str]) -> Ran {
        let mut command = script();
        command.arg("run").arg(self.results()).args(library(&self.0)).arg("--program").arg(program);
        run(command.args(["--target", "host"]).args(arguments))
    }

    fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    fn file(&self, kernel: &str) -> PathBuf {
        self.results().join(format!("bench/naive/{kernel}.json"))
    }

    /// A program that is the command, but for one verb.
    fn planted(&self, verb: &str, does: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.0.join(format!("planted-{verb}"));
        let real = cutegen_program().display();
        write(&path, &format!("#!/bin/sh\n[ \"$2\" = {verb} ] || exec {real} \"$@\"\n{does}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path
    }
}

fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    // emptied: what an earlier run found would be found again without a search
    HOME.get_or_init(|| scratch("bars-home"))
}

fn library(folder: &Path) -> [std::ffi::OsString; 4] {
    ["--specs".into(), folder.join("specs").into(), "--cache".into(), folder.join("cache").into()]
}

fn script() -> Command {
    let mut command = Command::new("python3");
    command
        .arg(workspace().join("tests/bench/bars.py"))
        .env("XDG_CACHE_HOME", home())
        .env_remove("CUTEGEN_HOME");
    command
}

#[test]
fn a_run_goes_on_where_one_stopped() {
    let place = Place::new("bars-resume");
    let first = place.bars(&["--phases", "bench", "--only", "sum"]);
    assert!(
        first.ok && first.stdout.contains("bench: 1 jobs, 0 done before"),
        "{}{}",
        first.stdout,
        first.stderr
    );
    let kept = fs::read(place.file("sum_4096")).expect("its file");
    assert!(!place.file("silu_mul").exists());

    let late = place.bars(&["--phases", "bench", "--seconds", "1"]);
    assert_eq!(late.code, Some(1), "{}", late.stdout);
    assert!(
        late.stdout.contains("open: bench/naive/silu_mul.json: no time left: not begun"),
        "{}",
        late.stdout
    );

    let broken = place.planted("bench", "echo no device >&2; exit 3");
    let failed = place.with(&broken, &["--phases", "bench"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stdout);
    assert!(failed.stdout.contains("silu_mul.json: exit 3: no device"), "{}", failed.stdout);

    let rest = place.bars(&["--phases", "bench"]);
    assert!(rest.ok && rest.stdout.contains("bench: 2 jobs, 1 done before"), "{}", rest.stdout);
    assert!(rest.stdout.contains("the bar table over naive kernels     1/79"), "{}", rest.stdout);
    assert!(place.file("silu_mul").is_file());
    assert!(fs::read(place.file("sum_4096")).expect("its file") == kept, "it was not timed again");
}

#[test]
fn what_runs_out_of_time_is_killed_and_leaves_nothing() {
    let place = Place::new("bars-killed");
    let endless = place.planted("bench", "echo $$ > \"$0.pid\"; exec sleep 300");
    let began = std::time::Instant::now();
    let killed = place.with(&endless, &["--phases", "bench", "--seconds", "25", "--only", "sum"]);
    assert!(
        killed.stdout.contains("sum_4096.json: no time left: killed"),
        "{}{}",
        killed.stdout,
        killed.stderr
    );
    assert!(began.elapsed().as_secs() < 90 && !place.file("sum_4096").exists());
    let pid = fs::read_to_string(place.0.join("planted-bench.pid")).expect("it came so far");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} lives on");
}

#[test]
fn a_winner_is_accepted_before_it_is_timed() {
    let place = Place::new("bars-tune");
    let tuned = place.bars(&["--phases", "tune", "--only", "silu_mul"]);
    assert!(tuned.ok, "{}{}", tuned.stdout, tuned.stderr);
    assert!(place.results().join("tune/silu_mul.tar.gz").is_file());
    let log = fs::read_to_string(place.results().join("tune/silu_mul.log")).expect("its log");
    assert!(log.lines().any(|line| line.contains("\"event\":\"ranked\"")), "for the search clock: {log}");
    let mut check = cutegen(home());
    must(check.args(["check", "silu_mul", "--json"]).args(library(&place.0)));
    // neither a search that is done nor a kernel that is tuned is searched again
    let again = place.bars(&["--phases", "tune", "--only", "silu_mul"]);
    let told = ["tune: 1 jobs, 1 done before", "tune: 0 jobs, 0 done before"];
    assert!(again.ok && told.iter().any(|told| again.stdout.contains(told)), "{}", again.stdout);
}

#[test]
fn what_is_asked_for_wrongly_is_told() {
    let place = Place::new("bars-arguments");
    let said = |ran: &Ran| format!("{:?} {}", ran.code, ran.stderr);
    let phase = place.bars(&["--phases", "bench,tunes"]);
    assert!(
        !phase.ok && phase.stderr.contains("no phase `tunes`; there are: tune, compile, bench"),
        "{}",
        said(&phase)
    );
    let bare = place.bars(&["--phases", "sweep"]);
    assert!(!bare.ok && bare.stderr.contains("`sweep` takes a program\npack it: "), "{}", said(&bare));
    let only = place.bars(&["--only", "softmacks"]);
    assert!(
        !only.ok && only.stderr.contains("no kernel for host has `softmacks` in its name"),
        "{}",
        said(&only)
    );
    let whole = place.bars(&["--only", "=sum"]);
    assert!(
        !whole.ok && whole.stderr.contains("no kernel for host has `=sum` in its name"),
        "{}",
        said(&whole)
    );
    let program = place.with(Path::new("/no/such/program"), &[]);
    assert!(
        !program.ok && program.stderr.contains("no /no/such/program\nunpack a bundle"),
        "{}",
        said(&program)
    );
    let nothing = run(script().args(["rows", "--commit", "x"]).arg(place.0.join("nowhere")));
    assert!(
        !nothing.ok && nothing.stderr.contains("nowhere\nrun: python3 tests/bench/bars.py run"),
        "{}",
        said(&nothing)
    );
}

/// Sample files as a device would leave them, made of the host's: other names of incumbents, and times that give these
/// ratios of theirs over ours.
fn as_a_device(place: &Place, ratios: &[(&str, f64)]) {
    let text = fs::read_to_string(place.file("silu_mul")).expect("a file");
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    let one = file["kernels"][0]["times"][0].clone();
    let of = |n: i64, (name, ratio): (&str, f64)| {
        let mut times = one.clone();
        times["timing"]["incumbent"] = name.into();
        times["timing"]["workload"] = serde_json::json!({ "n": n });
        let pairs = times["pairs"].as_array_mut().expect("pairs");
        pairs.iter_mut().for_each(|pair| pair[1] = (pair[0].as_f64().expect("a time") * ratio).into());
        times
    };
    let all = [1 << 24, 1 << 28].into_iter().flat_map(|n| ratios.iter().map(move |ratio| of(n, *ratio)));
    file["kernels"][0]["times"] = all.collect();
    write(&place.results().join("bench/torch/silu_mul.json"), &file.to_string());
}

fn rows(place: &Place, more: &[&str]) -> Vec<Row> {
    let out = place.0.join("rows.json");
    must(script().arg("rows").arg(place.results()).args(["--commit", "abc", "--out"]).arg(&out).args(more));
    serde_json::from_str(&fs::read_to_string(out).expect("rows")).expect("rows as the page takes them")
}

fn judge(rows: &[Row], bar: &str) -> Verdict {
    let row = rows.iter().find(|row| row.bar == bar).unwrap_or_else(|| panic!("no row {bar}"));
    results::verdict(row, &results::figure(row, &workspace()).expect("a figure"))
}

#[test]
fn rows_follow_from_the_samples() {
    let place = Place::new("bars-rows");
    assert!(place.bars(&["--phases", "bench"]).ok);
    as_a_device(&place, &[("torch-eager", 1.9), ("torch-compile", 1.02)]);
    let found = rows(&place, &[]);
    assert_eq!(judge(&found, "SiLU * mul"), Verdict::Met);
    // one of 79 cells: no verdict
    assert_eq!(judge(&found, "the bar table over naive kernels"), Verdict::NoBar);
    assert!(
        results::render(Page::of(&found[0]), &found, &workspace())
            .expect("a page")
            .contains("silu_mul n=16777216 1.02 (torch-compile)")
    );
    // a kernel that is withdrawn has no cells, and a note is of its bar
    assert!(rows(&place, &["--without", "silu_mul"]).iter().all(|row| row.bar != "SiLU * mul"));
    let noted = rows(&place, &["--note-of", "SiLU * mul", "a note", "--note-of", "argmax", "another"]);
    let note = |row: &Row| row.note.clone().unwrap_or_default();
    assert!(noted.iter().all(|row| note(row).ends_with("a note") == (row.bar == "SiLU * mul")));
    // the better of the two decides
    as_a_device(&place, &[("torch-eager", 0.9), ("torch-compile", 1.02)]);
    assert!(
        matches!(judge(&rows(&place, &[]), "SiLU * mul"), Verdict::Missed(by) if (by - 0.08).abs() < 1e-3)
    );
    // without one of them nobody knows the better
    as_a_device(&place, &[("torch-eager", 1.9)]);
    assert!(rows(&place, &[]).iter().all(|row| row.bar != "SiLU * mul"));
}

#[test]
fn what_was_not_measured_again_stays() {
    let place = Place::new("bars-keep");
    assert!(place.bars(&["--phases", "bench", "--only", "silu_mul"]).ok);
    as_a_device(&place, &[("torch-eager", 1.5), ("torch-compile", 1.5)]);
    rows(&place, &[]);
    as_a_device(&place, &[("torch-eager", 0.5), ("torch-compile", 0.5)]);
    let file = place.results().join("bench/torch/silu_mul.json");
    let mut half: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
    half["kernels"][0]["times"].as_array_mut().expect("times").truncate(2);
    write(&file, &half.to_string());
    assert_eq!(judge(&rows(&place, &[]), "SiLU * mul"), Verdict::NoBar, "half of its cells");
    as_a_device(&place, &[("torch-eager", 1.5), ("torch-compile", 1.5)]);
    rows(&place, &[]);
    half["kernels"][0]["times"].as_array_mut().expect("times").truncate(2);
    write(&file, &half.to_string());
    let kept = rows(&place, &["--keep", "--commit", "def"]);
    assert!(matches!(judge(&kept, "SiLU * mul"), Verdict::Missed(_)), "1.5 and 0.5");
    let row = kept.iter().find(|row| row.bar == "SiLU * mul").expect("a row");
    let commits: Vec<_> = row.cells.iter().map(|cell| (cell.at.as_str(), cell.commit.as_deref())).collect();
    assert_eq!(commits, [("silu_mul n=16777216", None), ("silu_mul n=268435456", Some("abc"))]);
    assert_eq!((row.commit.as_str(), row.cells[1].against["torch-eager"][0]), ("def", 1.5));
}

#[test]
fn calls_add_up_to_all_cells_against_pytorch() {
    let place = Place::new("bars-clock");
    assert!(place.bars(&["--phases", "bench", "--only", "silu_mul"]).ok);
    as_a_device(&place, &[("torch-eager", 1.5), ("torch-compile", 1.5)]);
    let of = |phases: &str, calls: &[&str], more: &[&str]| {
        let log = |(at, end): (usize, &&str)| {
            let path = place.0.join(format!("{at}.log"));
            write(&path, &format!("bench: 3 jobs\n31 s of something\nphases: {phases}\nlanes: 4\n{end}\n"));
            path.display().to_string()
        };
        let logs: Vec<String> = calls.iter().enumerate().map(log).collect();
        let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
        let found = rows(&place, &[more, &["--logs"], &logs].concat());
        found.into_iter().find(|row| row.bar.contains("bar table") && !row.bar.contains("naive"))
    };
    let all_of = |more| of("compile,bench,copies,sweep,wrapper,example", &["900 s; all is done"], more);
    let whole = all_of(&[]).expect("a row");
    assert_eq!((whole.bar.as_str(), whole.samples[0]), ("the whole bar table", 900.0));
    assert!(whole.command.ends_with(" --groups torch --lanes 4"), "{}", whole.command);
    let of = |calls: &[&str]| of("compile,bench", calls, &[]);
    let row = of(&["400 s; run it again to go on", "101 s; all is done"]).expect("a row");
    assert_eq!(row.bar, "the bar table's cells against PyTorch");
    assert_eq!((row.samples.as_slice(), row.at_most), (&[501.0][..], Some(1500.0)));
    let note = row.note.expect("what it leaves out");
    assert!(
        note.starts_with("calls of 400, 101 s; without ") && note.contains("copies, the sweep"),
        "{note}"
    );
    let kept = all_of(&["--keep"]).expect("a row, in which the one before is");
    assert_eq!(kept.bar, "the whole bar table");
    assert!(of(&["400 s; run it again to go on"]).is_none(), "it is not whole");
    assert!(of(&[]).is_none());
}

#[test]
fn what_the_gpu_tests_kept_becomes_rows() {
    let place = Place::new("bars-reports");
    assert!(place.bars(&["--phases", "bench", "--only", "silu_mul"]).ok);
    let copies_of = |kernel: &str, count: usize, fastest: f64, more: &[&str]| {
        let time = |at: usize| {
            (format!("copy_{at:02}"), serde_json::json!([fastest + at as f64, fastest + at as f64]))
        };
        let all: serde_json::Map<String, Value> = (0..count).map(time).collect();
        let row = |bytes: f64| serde_json::json!({ "kernel": kernel, "at": "m=1", "bytes": bytes, "kernel_us": [100.0, 100.0], "copies": all });
        let report =
            serde_json::json!({ "device": "a device", "not_measured": [], "rows": [row(2e8), row(1e6)] });
        write(&place.0.join("bars_copies.json"), &report.to_string());
        let reports = place.0.display().to_string();
        rows(&place, &[&["--reports", &reports], more].concat())
    };
    let copies = |count, fastest| copies_of("k", count, fastest, &[]);
    assert_eq!(judge(&copies(20, 96.0), "of the best copy kernel"), Verdict::Met);
    assert!(matches!(judge(&copies(20, 94.0), "of the best copy kernel"), Verdict::Missed(_)));
    assert_eq!(judge(&copies(19, 96.0), "of the best copy kernel"), Verdict::NoBar, "not all twenty");
    assert!(
        matches!(judge(&copies(19, 94.0), "of the best copy kernel"), Verdict::Missed(_)),
        "by one of them"
    );
    // cells of another kernel stay, with what they say
    copies(20, 94.0);
    let both = copies_of("l", 20, 96.0, &["--keep", "--commit", "def"]);
    assert!(matches!(judge(&both, "of the best copy kernel"), Verdict::Missed(_)), "by what was kept");
    let both = copies_of("k", 20, 96.0, &["--keep", "--commit", "fed"]);
    assert_eq!(judge(&both, "of the best copy kernel"), Verdict::Met, "measured again");
    let row = both.iter().find(|row| row.bar == "of the best copy kernel").expect("a row");
    assert!(
        row.note.as_deref().is_some_and(|note| note == "1 cells measured before, at commit def"),
        "{row:?}"
    );
    let unseen = "search against a sweep that it had not seen";
    let sweep = |behind: f64, kernels: std::ops::Range<usize>, more: &[&str]| {
        let share = 1.0 + behind / 100.0;
        let one =
            |k| serde_json::json!({ "kernel": format!("k{k}"), "points": 120, "tried": 20, "share": share });
        let found: Vec<_> = kernels.map(one).collect();
        let report = serde_json::json!({ "found": found, "rows": [], "not_measured": [] });
        write(&place.0.join("bars_sweep.json"), &report.to_string());
        let reports = place.0.display().to_string();
        rows(&place, &[&["--reports", &reports], more].concat())
    };
    assert_eq!(judge(&sweep(1.9, 0..8, &[]), unseen), Verdict::Met);
    assert!(matches!(judge(&sweep(2.5, 0..8, &[]), unseen), Verdict::Missed(_)));
    assert_eq!(judge(&sweep(1.0, 0..7, &[]), unseen), Verdict::NoBar);
    // what is swept later says nothing of kernels that were before: a miss of theirs stays, until they are swept again
    sweep(2.5, 0..2, &[]);
    let later = sweep(1.0, 1..3, &["--keep", "--commit", "def"]);
    assert!(matches!(judge(&later, unseen), Verdict::Missed(_)));
    let row = later.iter().find(|row| row.bar == unseen).expect("a row");
    let of: Vec<_> = row.of.iter().map(|(kernel, commit)| (kernel.as_str(), commit.as_str())).collect();
    assert_eq!(
        (of, &row.samples[..]),
        (vec![("k0", "abc"), ("k1", "def"), ("k2", "def")], &[2.5, 1.0, 1.0][..])
    );
    let again = sweep(1.0, 0..1, &["--keep", "--commit", "fed"]);
    assert_eq!(judge(&again, unseen), Verdict::NoBar, "three kernels that miss nothing");
    sweep(2.5, 8..9, &["--keep"]);
    let enough = sweep(1.0, 0..8, &["--keep", "--commit", "fed"]);
    assert_eq!(judge(&enough, unseen), Verdict::Met, "a row by itself, of one search");
}

#[test]
fn of_kernels_with_one_name_the_worse_counts() {
    let place = Place::new("bars-named");
    assert!(place.bars(&["--phases", "bench", "--only", "silu_mul"]).ok);
    let one = |share| serde_json::json!({ "kernel": "k", "points": 120, "tried": 20, "share": share });
    let report = serde_json::json!({ "found": [one(1.03), one(1.0)], "rows": [], "not_measured": [] });
    write(&place.0.join("bars_sweep.json"), &report.to_string());
    let all = rows(&place, &["--reports", &place.0.display().to_string()]);
    let row = all.iter().find(|row| row.bar == "search against a sweep that it had not seen").expect("a row");
    assert_eq!(row.samples, [3.0]);
}
