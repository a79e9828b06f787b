//! Phases that take the programs of `node.py pack`, planted here: how kernels are shared out, what counts as done, and how many
//! are at work side by side. That who times is alone, the tests of the lease say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cutegen_tests::{Ran, cutegen, must, run, scratch, write};
use serde_json::{Value, json};

use super::{Place, SPECS, home, library, rows, script};

/// The program of the GPU tests, but for what it does with `kernels`, which it was asked for.
const GPU: &str = "#!/usr/bin/env python3
import json, os, pathlib, sys, time
folder, part = pathlib.Path(os.environ['CUTEGEN_GPU_REPORT']), sys.argv[1].split('::')[1]
kernels = [name.removeprefix('=') for name in os.environ['CUTEGEN_BARS_ONLY'].split(',')]
def say(text):
    with open(pathlib.Path(__file__).with_name('calls'), 'a') as out: print(text, file=out)
def row(kernel, m):
    return {'kernel': kernel, 'at': f'm={m}', 'bytes': 2e8, 'kernel_us': [1.0], 'copies': {f'c{n}': [1.0] for n in range(20)}}
def keep(rows, left=()):
    folder.mkdir(parents=True, exist_ok=True)
    report = {'device': 'a device', 'rows': rows, 'found': [1], 'not_measured': list(left)}
    (folder / f'bars_{part}.json').write_text(json.dumps(report))
";

/// It measures everything: `k02` has two cells.
const HONEST: &str = "
say(','.join(kernels))
keep([row(kernel, m) for kernel in kernels for m in range(1 + (kernel == 'k02'))])";

fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// A table of planted kernels, each with so many cells against copies; all that its command does is to say so, and to leave an
/// empty file for `bench`.
struct Planted(Place);

impl Planted {
    fn new(name: &str, kernels: &[(String, usize)]) -> Self {
        let folder = scratch(name);
        let said = kernels.iter().map(|(kernel, cells)| {
            let mut workloads = vec![json!({ "bytes": 1e6 })];
            workloads.resize(1 + cells, json!({ "bytes": 2e8 }));
            format!(
                "{}\n",
                json!({ "kernel": kernel, "state": "tuned", "family": "rowwise", "workloads": workloads })
            )
        });
        write(&folder.join("check.jsonl"), &said.collect::<String>());
        for part in ["specs", "cache"] {
            fs::create_dir_all(folder.join(part)).expect("a folder");
        }
        let check = format!("[ \"$2\" = check ] && exec cat {}", folder.join("check.jsonl").display());
        let bench = "while [ \"$1\" != --results ]; do shift; done; echo '{\"kernels\": []}' > \"$2\"";
        program(&folder.join("command"), &format!("#!/bin/sh\n{check}\n{bench}\n"));
        Self(Place(folder))
    }

    fn gpu(&self, does: &str) {
        program(&self.0.0.join("programs/gpu"), &format!("{GPU}{does}\n"));
        let _ = fs::remove_file(self.0.0.join("programs/calls"));
    }

    /// What it said since it was planted.
    fn calls(&self) -> Vec<String> {
        let said = fs::read_to_string(self.0.0.join("programs/calls")).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }

    fn go(&self, arguments: &[&str]) -> Ran {
        let folder = &self.0.0;
        let mut command = script();
        command.arg("run").arg(self.0.results()).args(library(folder));
        command.arg("--program").arg(folder.join("command")).arg("--programs").arg(folder.join("programs"));
        command.args(["--gpus", "0", "--groups", "torch"]).args(arguments);
        run(command.env("TMPDIR", folder))
    }

    fn report(&self, job: &str) -> PathBuf {
        self.0.results().join(format!("reports/copies/{job}/bars_copies.json"))
    }

    /// How many cells each kernel has on the results page.
    fn cells(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let all = rows(&self.0, &[]);
        let row = all.iter().find(|row| row.bar == "of the best copy kernel").expect("a row");
        for cell in &row.cells {
            let kernel = cell.at.split(' ').next().expect("a kernel");
            *counts.entry(kernel.to_owned()).or_default() += 1;
        }
        counts
    }
}

fn kernels(count: usize) -> Vec<(String, usize)> {
    (0..count).map(|at| (format!("k{at:02}"), 1 + usize::from(at == 2))).collect()
}

/// A report of a kernel with one cell.
fn report_of(kernel: &str) -> Value {
    let copies: BTreeMap<String, [f64; 1]> = (0..20).map(|at| (format!("c{at}"), [1.0])).collect();
    let row = json!({ "kernel": kernel, "at": "m=0", "bytes": 2e8, "kernel_us": [1.0], "copies": copies });
    json!({ "device": "a device", "rows": [row], "not_measured": [] })
}

#[test]
fn copies_of_some_kernels_share_a_process_and_are_not_measured_again() {
    let mut all = kernels(26);
    let wanted: BTreeMap<String, usize> = all.iter().cloned().collect();
    all.push(("small".to_owned(), 0));
    let place = Planted::new("bars-copies", &all);
    write(&place.report("k03"), &report_of("k03").to_string());
    place.gpu(HONEST);
    let ran = place.go(&["--phases", "copies"]);
    assert!(ran.ok && ran.stdout.contains("copies: 4 jobs, 1 done before"), "{}{}", ran.stdout, ran.stderr);
    let calls = place.calls();
    let mut asked: Vec<&str> = calls.iter().flat_map(|call| call.split(',')).collect();
    asked.sort_unstable();
    let open: Vec<&String> = wanted.keys().filter(|kernel| *kernel != "k03").collect();
    assert_eq!(asked, open);
    assert_eq!((calls.len(), place.cells()), (3, wanted.clone()), "both layouts are read");

    place.gpu("sys.exit(3)");
    let again = place.go(&["--phases", "copies"]);
    assert!(again.ok && again.stdout.contains("copies: 4 jobs, 4 done before"), "{}", again.stdout);
    fs::remove_dir_all(place.report("k00-and-7-more").parent().expect("a folder")).expect("removed");
    place.gpu(HONEST);
    let rest = place.go(&["--phases", "copies"]);
    assert!(rest.ok && rest.stdout.contains("copies: 4 jobs, 3 done before"), "{}", rest.stdout);
    assert_eq!((place.calls().len(), place.cells()), (1, wanted));
}

#[test]
fn what_a_job_lacks_is_said_and_the_rest_of_it_stays() {
    let place = Planted::new("bars-copies-lack", &kernels(12));
    place.gpu("keep([row(kernel, 0) for kernel in kernels if kernel != 'k05'], ['k07 m=0'])");
    let ran = place.go(&["--phases", "copies"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let said = "open: reports/copies/k00-and-11-more: not measured: k07 m=0, k02, k05\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    for lacks in ["k00-and-11-more", "k02", "k05", "k07"] {
        assert!(!place.report(lacks).exists(), "{lacks}");
    }
    assert_eq!(place.cells().into_values().collect::<Vec<_>>(), [1; 9], "each once");

    place.gpu(HONEST);
    let rest = place.go(&["--phases", "copies"]);
    assert!(rest.ok && rest.stdout.contains("copies: 10 jobs, 9 done before"), "{}", rest.stdout);
    assert_eq!(place.calls(), ["k02,k05,k07"]);
    assert_eq!(place.cells(), kernels(12).into_iter().collect());
}

#[test]
fn what_a_job_that_is_killed_has_measured_stays() {
    let place = Planted::new("bars-copies-killed", &kernels(4));
    place.gpu("keep([row(kernel, 0) for kernel in kernels[:3]])\ntime.sleep(300)");
    let ran = place.go(&["--phases", "copies", "--seconds", "14"]);
    let said = "k00-and-3-more: no time left: killed; not measured: k02, k03\n";
    assert!(!ran.ok && ran.stdout.contains(said), "{}{}", ran.stdout, ran.stderr);
    place.gpu(HONEST);
    assert!(place.go(&["--phases", "copies"]).ok);
    assert_eq!(place.calls(), ["k02,k03"]);
}

/// The most that were at work at once, by what they said as they began and ended.
fn at_once(said: &[String]) -> i32 {
    let (mut count, mut most) = (0, 0);
    for line in said {
        count += if line == "begins" { 1 } else { -1 };
        most = most.max(count);
    }
    most
}

/// Sweeps have no size, and of three groups of copies, each about as large as another, two have room on a device.
#[test]
fn as_many_prepare_on_a_device_as_are_asked_for_and_have_room() {
    let place = Planted::new("bars-lanes", &kernels(26));
    let report = HONEST.replace("say", "str");
    let most =
        [("sweep", "4", 4), ("sweep", "1", 1), ("copies", "4", 2), ("copies", "2", 2), ("copies", "1", 1)];
    for (phase, lanes, most) in most {
        let _ = fs::remove_dir_all(place.0.results());
        place.gpu(&format!("say('begins')\ntime.sleep(0.5)\nsay('ends')\n{report}"));
        let ran = place.go(&["--phases", phase, "--lanes", lanes]);
        assert!(ran.ok, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(at_once(&place.calls()), most, "{phase} by {lanes}");
    }
}

#[test]
fn nothing_is_compiled_ahead_in_vain() {
    let place = Planted::new("bars-compile", &kernels(2));
    let go = |phases: &str| place.go(&["--phases", phases]).stdout;
    // without PyTorch it fails: that it is begun is what counts
    let first = go("compile,bench");
    assert!(first.contains("compile: 1 jobs") && first.contains("bench: 2 jobs, 0 done before"), "{first}");
    let whole = go("compile,bench");
    assert!(whole.contains("compile: passed over: no job of `bench` over PyTorch is open\n"), "{whole}");
    assert!(whole.contains("phases: compile,bench\n") && whole.contains(" s; all is done"), "{whole}");
    fs::remove_file(place.0.results().join("bench/torch/k01.json")).expect("it was there");
    assert!(go("compile,bench").contains("compile: 1 jobs"), "one is open");
    place.gpu(HONEST);
    let alone = go("compile,copies");
    assert!(alone.contains("compile: passed over: `bench` is not among the phases\n"), "{alone}");
}

/// What a phase of theirs leaves, and when it counts as done.
#[test]
fn measurements_of_other_programs_go_on_where_they_stopped() {
    let place = Place::new("bars-programs");
    let specs = SPECS.replace("[{ m = 16 }]", "[{ m = 64 }]").replace("d = 256", "d = 1000000");
    write(&place.0.join("specs/table.toml"), &specs);
    must(cutegen(home()).arg("lock").args(library(&place.0)));
    let programs = place.0.join("programs");
    let plant = |name: &str, does: &str| program(&programs.join(name), &format!("#!/bin/sh\n{does}\n"));
    let given = programs.display().to_string();
    let go = |phases: &str| place.bars(&["--phases", phases, "--programs", &given]);
    let reports = |rows: &str, left: &str, code: i32| {
        format!(
            "mkdir -p $CUTEGEN_GPU_REPORT; echo '{{\"device\": \"d\", \"rows\": [{rows}], \"found\": [1], \
             \"not_measured\": [{left}]}}' > $CUTEGEN_GPU_REPORT/bars_${{1#bars::}}.json; exit {code}"
        )
    };
    let row = "{\"kernel\": \"sum_4096\"}";
    let copies = place.results().join("reports/copies/sum_4096/bars_copies.json");
    for (rows, left, code, says) in [
        ("", "", 1, "sum_4096: not measured: sum_4096\n"),
        (row, "\"sum_4096 m=64\"", 0, "sum_4096: not measured: sum_4096 m=64\n"),
        (row, "", 2, "exit 2"),
    ] {
        plant("gpu", &reports(rows, left, code));
        let ran = go("copies");
        assert!(
            !ran.ok && ran.stdout.contains("copies: 1 jobs, 0 done before"),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(ran.stdout.contains(says) && !copies.exists(), "{}", ran.stdout);
    }
    plant("gpu", "exit 1");
    assert!(go("copies").stdout.contains("sum_4096: exit 1"), "what an earlier command left is not its own");
    plant("gpu", &reports(row, "", 1));
    let missed = go("copies");
    assert!(missed.ok && copies.is_file(), "a bar that is missed is measured: {}", missed.stdout);
    plant("gpu", "exit 3");
    assert!(go("copies").stdout.contains("copies: 1 jobs, 1 done before"));
    plant("gpu", &reports("", "", 0));
    plant("overhead", "echo what it printed");
    plant("example", "echo it; exit 1");
    let rest = go("sweep,wrapper,example");
    assert!(rest.stdout.contains("sweep: 8 jobs") && rest.stdout.contains("phases: sweep,wrapper,example\n"));
    assert!(rest.stdout.contains("open: example/example.txt: exit 1"), "{}", rest.stdout);
    let printed = fs::read_to_string(place.results().join("wrapper/wrapper.txt")).expect("its file");
    assert_eq!(printed, "what it printed\n");
}
