//! `tests/bench/products/` with a program that screens nothing: that drawn shapes are what the bars say, that a job goes on where
//! another ended, and that a row is made of all its cells or not at all. What the true program measures is its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_tests::results::{self, Row};
use cutegen_tests::{must, scratch, workspace, write};
use serde_json::Value;

/// Says of each kernel that it was 1.2 times as fast; of `commit_a01` nothing.
const SCREEN: &str = r#"#!/bin/sh
[ "$2" = commit_a01 ] && { echo "planted failure"; exit 1; }
echo '{"seed":1,"device":"planted card","space":9,"tried":[],"seconds":1.0,"spent":[1,1,1],"workloads":[{"workload":{},"name":"product-x",
"cublaslt":{"times":{"candidate_us":10.0,"incumbent_us":12.0,"speedup":1.2,"low":1.1,"high":1.3,"samples":2,"pairs":[[10,12],[10,12]]},
"about":null,"differs":null},"swept":null}]}' > "$3"
"#;

/// Says of each kernel that a search found something.
const TUNE: &str = r#"#!/bin/sh
while [ "$1" != --results ]; do shift; done
echo results > "$2"
echo '{"event":"tuned","digest":"of something else"}'
"#;

fn folder() -> PathBuf {
    workspace().join("tests/bench/products")
}

/// What a Python text prints, with the scripts at hand.
fn python(text: &str) -> Value {
    let text = format!("import json, sys; sys.path.insert(0, {:?}); {text}", folder());
    let ran = must(Command::new("python3").args(["-B", "-c", &text]));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// A packed folder whose programs are planted.
fn packed(name: &str) -> PathBuf {
    let (root, pack) = (scratch(name), scratch(name).join("pack"));
    let texts = "import shapes; t = shapes.sets(shapes.seed_of('abc')); print(json.dumps({k: 'edition = 1\\n\\n' + '\\n'.join(v.values()) for k, v in t.items()}))";
    for (set, text) in python(texts).as_object().expect("sets") {
        write(&root.join(format!("cutegen-pack/project/specs/{set}.toml")), text.as_str().expect("a text"));
    }
    let command = root.join("cutegen-pack/cargo-cutegen");
    write(&command, TUNE);
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).expect("set");
    fs::create_dir_all(&pack).expect("made");
    must(Command::new("tar").current_dir(&root).args(["czf", "pack/bundle.tar.gz", "cutegen-pack"]));
    for script in ["run.py", "shapes.py", "../raw.py"] {
        let to = pack.join(Path::new(script).file_name().expect("a name"));
        fs::copy(folder().join(script), to).expect("copied");
    }
    write(&pack.join("about.json"), r#"{"commit": "planted", "digest": "abc", "gate": []}"#);
    write(&pack.join("screen"), SCREEN);
    fs::set_permissions(pack.join("screen"), fs::Permissions::from_mode(0o755)).expect("set");
    pack
}

fn run(pack: &Path, out: &str, more: &[&str]) -> (Value, PathBuf) {
    run_job(pack, "commit", out, more)
}

fn run_job(pack: &Path, job: &str, out: &str, more: &[&str]) -> (Value, PathBuf) {
    let root = pack.parent().expect("a folder");
    let mut command = Command::new("python3");
    command.arg("-B").arg(pack.join("run.py")).args([job, "--out"]).arg(root.join(out));
    must(command.arg("--work").arg(root.join("work")).args(more));
    let file = fs::read_dir(root.join(out)).expect("a folder").flatten().map(|item| item.path());
    let file = file.filter(|path| path.extension().is_some_and(|end| end == "json")).max().expect("a file");
    (serde_json::from_str(&fs::read_to_string(&file).expect("read")).expect("JSON"), file)
}

fn names(file: &Value) -> Vec<&str> {
    file["cells"].as_object().expect("cells").keys().map(String::as_str).collect()
}

#[test]
fn drawn_shapes_are_log_uniform_and_a_third_has_no_multiple_of_eight() {
    let drawn =
        python("import shapes; print(json.dumps([shapes.drawn(1), shapes.drawn(1), shapes.drawn(2)]))");
    assert!(drawn[0] == drawn[1] && drawn[0] != drawn[2]);
    for shapes in [&drawn[0], &drawn[2]].map(|all| all.as_array().expect("shapes")) {
        let extents = |letter: char| -> Vec<i64> {
            let mine = shapes.iter().filter(|shape| shape[0].as_str().is_some_and(|n| n.starts_with(letter)));
            mine.flat_map(|shape| (1..4).map(|at| shape[at].as_i64().expect("an extent"))).collect()
        };
        let (aligned, others) = (extents('a'), extents('u'));
        assert_eq!((aligned.len(), others.len()), (3 * 67, 3 * 33));
        assert!(aligned.iter().all(|e| e % 8 == 0) && others.iter().all(|e| e % 8 != 0));
        let all = [aligned, others].concat();
        assert!(all.iter().all(|extent| (64..=8193).contains(extent)));
        let below = all.iter().filter(|extent| **extent < 724).count();
        assert!((120..=180).contains(&below), "half below the geometric middle: {below} of 300");
    }
    let gated = python(
        "import shapes; print(json.dumps([len(set(shapes.gated(7))), shapes.gated(7) == shapes.gated(7)]))",
    );
    assert_eq!(gated, serde_json::json!([10, true]));
}

#[test]
fn a_job_goes_on_where_another_ended_and_a_row_has_all_cells() {
    let pack = packed("products-bench");
    let (first, one) = run(&pack, "one", &["--part", "1/2"]);
    let (second, two) = run(&pack, "two", &["--part", "2/2"]);
    assert_eq!((names(&first).len(), names(&second).len()), (50, 49));
    assert!(names(&first).iter().all(|name| !names(&second).contains(name)));
    let failed = [&first, &second].map(|file| file["failed"].get("commit_a01").is_some());
    assert!(failed.iter().any(|failed| *failed));
    let root = pack.parent().expect("a folder");
    let done = root.join("one");
    let (third, _) = run(&pack, "three", &["--done", done.to_str().expect("text")]);
    assert_eq!(names(&third), names(&second), "what is done is not measured again");

    let rows = |paths: &[PathBuf], plant: &str| {
        let paths: Vec<String> = paths.iter().map(|path| format!("{path:?}")).collect();
        python(&format!(
            "import rows; jobs, said = rows.merged([{}]); {plant}; print(json.dumps([*rows.rows(jobs), said]))",
            paths.join(",")
        ))
    };
    let files = [one, two];
    let lacking = rows(&files, "pass");
    let bars: Vec<&Value> = lacking[0].as_array().expect("rows").iter().map(|row| &row["at_least"]).collect();
    assert_eq!(bars, [1.15], "only the row that lacks none");
    assert!(
        lacking[1][0].as_str().is_some_and(|said| said.ends_with("not measured: commit_a01")),
        "{lacking}"
    );
    let whole = rows(&files, "c = jobs['commit']['cells']; c['commit_a01'] = c['commit_a00']");
    assert_eq!(whole[0][0]["at_least"], 1.05);
    assert_eq!(whole[0][1]["at_least"], 1.15);
    let cells = |row: usize| whole[0][row]["cells"].as_array().expect("cells").len();
    assert_eq!((cells(0), cells(1)), (67, 33));
    assert_eq!(whole[0][0]["cells"][0]["against"]["cublaslt"], serde_json::json!([1.1, 1.2, 1.3]));

    let other =
        fs::read_to_string(&files[0]).expect("read").replacen(r#""digest":"abc""#, r#""digest":"abd""#, 1);
    write(&root.join("other/commit.json"), &other);
    let mixed = rows(&[files[1].clone(), root.join("other/commit.json")], "pass");
    assert!(mixed[2][0].as_str().is_some_and(|said| said.contains("another digest")), "{mixed}");
}

#[test]
fn what_was_tuned_of_another_text_is_tuned_again() {
    let pack = packed("products-tuned");
    let root = pack.parent().expect("a folder");
    let tuned = |file: &Value| -> Vec<String> {
        file["tuned"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default()
    };
    let (first, path) = run_job(&pack, "sm90", "one", &[]);
    let names = tuned(&first);
    assert!(names.len() == 5 && names.contains(&"sm90_nt".to_owned()), "{first}");
    assert!(root.join("one/sm90.tar").is_file());
    // as if its text had been another one, and as files were before they had digests
    let mut older = first.clone();
    older["tuned"]["sm90_nt"]["digest"] = "0123456789ab".into();
    older["tuned"]["sm90_swiglu"].as_object_mut().expect("an event").remove("digest");
    write(&path, &older.to_string());
    let done = root.join("one");
    let (second, _) = run_job(&pack, "sm90", "two", &["--done", done.to_str().expect("text")]);
    assert_eq!(tuned(&second), ["sm90_nt", "sm90_swiglu"]);
    assert_eq!(second["tuned"]["sm90_nt"], first["tuned"]["sm90_nt"], "the digest is that of the text");
    let log = fs::read_to_string(root.join("two/log.txt")).expect("a log");
    assert!(log.ends_with("sm90: 2 tuned, 0 not begun, 3 done before\n"), "{log}");
}

/// Files of the other jobs, with ratios that a reader can check.
const OTHERS: &str = "
import rows, shapes
times = {'candidate_us': 10.0, 'incumbent_us': 12.0, 'speedup': 1.2, 'low': 1.1, 'high': 1.3, 'pairs': [[10.0, 12.0], [10.0, 12.0]]}
about = {'digest': 'abc', 'commit': 'planted'}
against = {'times': times, 'about': None, 'differs': None}
winner = lambda workload, swept: {'workload': workload, 'name': 'x', 'cublaslt': against, 'swept': swept}
tried = [{'name': 'x', 'searched': True}, {'name': 'y', 'searched': False}]
cell = lambda winners: {'device': 'planted card', 'tried': tried, 'workloads': winners}
sets = shapes.sets(shapes.seed_of('abc'))
jobs = {
  'mma': {'job': 'mma', 'about': about, 'peak': {'points': [{'tflops': [1, 800.0, 900]}, {'tflops': [1, 700.0, 900]}]},
          'cells': {name: cell([winner({'m': m}, None) for m in shapes.ROWS]) for name in sets['mma']}},
  'sweep': {'job': 'sweep', 'about': about, 'cells': {name: cell([winner({}, ('y', against) if at else None)]) for at, name in enumerate(sets['sweep'])}},
  'ranged': {'job': 'ranged', 'about': about, 'cells': {f'ranged_{name}': cell([winner({'m': m}, None) for m in shapes.RANGED]) for name in shapes.WEIGHTS}
     | {'ranged_any': cell([winner({'m': m, 'n': n, 'k': k}, None) for n, k in shapes.WEIGHTS.values() for m in shapes.RANGED])}},
  'squares': {'job': 'squares', 'about': about, 'cells': {name: cell([winner({}, None)]) for name in sets['squares']}},
}
";

#[test]
fn every_job_has_its_rows_and_what_lacks_a_cell_has_none() {
    let rows =
        |plant: &str| python(&format!("exec({OTHERS:?}); {plant}; print(json.dumps(rows.rows(jobs)))"));
    let made = rows("pass");
    assert_eq!(made[1], serde_json::json!([]));
    let made: Vec<Row> = serde_json::from_value(made[0].clone()).expect("rows");
    let figures = made.iter().map(|row| (row, results::figure(row, &workspace()).expect("a figure")));
    let seen: Vec<(f64, Option<f64>, Option<f64>)> =
        figures.map(|(row, figure)| (figure.judged, row.at_least, row.worst_at_least)).collect();
    let near = |seen: f64, wanted: f64| assert!((seen - wanted).abs() < 1e-3, "{seen} for {wanted}");
    near(seen[0].0, 1.2); // mma.sync up to 128 rows
    assert_eq!((made[0].cells.len(), made[1].cells.len(), seen[1].1), (24, 12, Some(0.85)));
    let share: f64 = 2.0 * 512.0 * 6144.0 * 4096.0 / 10.0 * 1e-6 / 800.0;
    let qkv = made[1].cells.iter().find(|cell| cell.at == "qkv m=512").expect("a cell");
    near(qkv.against["the peak"][0], (share * 1e4).round() / 1e4);
    near(seen[2].0, 1.2_f64.powf(7.0 / 8.0)); // one winner was the fastest of the sweep itself
    assert_eq!((made[2].cells.len(), seen[2].2), (8, Some(0.98)));
    near(seen[3].0, 1.0);
    assert_eq!((made[3].cells.len(), seen[3].1), (24, Some(0.926)));
    let squares: Vec<&str> = made[4].cells.iter().chain(&made[5].cells).map(|cell| &*cell.at).collect();
    let wanted = ["nn 1024", "nt 1024", "nn 2048", "nt 2048", "nn 4096", "nt 4096", "nn 8192", "nt 8192"];
    assert_eq!((squares.as_slice(), made[5].cells.len()), (&wanted[..], 2));
    assert_eq!(
        (seen[4].1, seen[4].2, seen[5].1, seen[5].2),
        (Some(1.03), Some(0.95), Some(0.97), Some(0.92))
    );
    let slower = rows(
        "jobs['ranged']['cells']['ranged_any']['workloads'][0]['cublaslt'] = {'times': times | {'speedup': 0.6}}",
    );
    assert_eq!(slower[0][3]["cells"][0]["against"]["an entry of the weight"], serde_json::json!([0.5]));

    let wrong = rows(
        "del jobs['ranged']['cells']['ranged_qkv']; jobs['mma']['peak'] = None; jobs['sweep']['cells'].popitem(); jobs['squares']['cells'].popitem()",
    );
    assert_eq!(wrong[0].as_array().map(Vec::len), Some(0), "{wrong}");
    assert_eq!(wrong[1].as_array().map(Vec::len), Some(4), "{wrong}");
}

/// A search counts where its answer was timed, as that of a naive kernel alone never was.
#[test]
fn drawn_shapes_that_passed_are_counted_by_their_results() {
    let searched = workspace().join("results/runs/products/searched");
    let folder = scratch("drawn-shapes");
    fs::create_dir_all(folder.join("gate")).expect("made");
    for name in ["commit_a00", "commit_u90"] {
        let file = format!("gate/{name}.tar.gz");
        fs::copy(searched.join(&file), folder.join(&file)).expect("copied");
    }
    let naive = "import io, tarfile; text = b\"[[variants]]\\nname = 'naive'\\n\"; entry = tarfile.TarInfo('record.toml'); entry.size = len(text)";
    let plant = format!(
        "tarfile.open({:?}, 'w:gz').addfile(entry, io.BytesIO(text))",
        folder.join("gate/commit_a26.tar.gz")
    );
    let gate = |of: &Path| {
        python(&format!(
            "import pathlib, searched; {naive}; {plant}; print(json.dumps(list(searched.gate(pathlib.Path({of:?})))))"
        ))
    };
    assert_eq!(gate(&folder)[0]["samples"], serde_json::json!([2]));
    assert_eq!(gate(&searched)[0]["samples"], serde_json::json!([10]));
}

#[test]
fn kernels_of_the_twelve_that_lack_are_named() {
    let searched = workspace().join("results/runs/products/searched");
    let folder = scratch("kernelbench-lacks");
    fs::create_dir_all(folder.join("kernelbench")).expect("made");
    let there = "kernelbench/kb01_square_matmul.tar.gz";
    fs::copy(searched.join(there), folder.join(there)).expect("copied");
    let row = python(&format!(
        "import pathlib, searched; print(json.dumps(next(searched.kernelbench(pathlib.Path({folder:?})))))"
    ));
    let missing: Vec<&str> =
        row["missing"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(missing.len() == 11 && missing.contains(&"kb87_pointwise2d"), "{missing:?}");
    assert_eq!(row["cells"].as_array().map(Vec::len), Some(1));
}

/// The roof of a product is the one that records have, on the card that it is of.
#[test]
fn roofs_are_those_of_committed_records() {
    let compare = "
import pathlib, roof, searched
folder = pathlib.Path(FOLDER)
pairs = [(roof.micros('NVIDIA H200, sm_90', t['workload']['m'], n, k), t['roof-micros'])
         for name, (n, k) in searched.WEIGHTS.items() for t in searched.timings(folder / f'{name}.tar.gz') if t['incumbent'] == 'cublaslt']
half = roof.share('NVIDIA H200, sm_90', (512, 6144, 4096), 2 * roof.micros('NVIDIA H200', 512, 6144, 4096))
print(json.dumps([[len(pairs), sum(abs(a / b - 1) > 1e-9 for a, b in pairs)], half, roof.share('another card', (1, 1, 1), 1.0)]))
";
    let folder = format!("{:?}", workspace().join("results/runs/products/searched"));
    let found = python(&format!("exec({:?})", compare.replace("FOLDER", &folder)));
    assert_eq!(found, serde_json::json!([[42, 0], { "roof": 0.5 }, {}]));
}
