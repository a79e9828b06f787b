//! Replies that sweep constants: one request, a kernel for each choice of values, one batch, and the fastest right one goes on.

use std::process::Stdio;
use std::time::Duration;

use cutegen_tests::write;

use super::all;
use super::script::{Library, decided, fenced, lanes, loses};

/// A point is a candidate of its own. Of the sweep, 5 and 7 lanes are wrong, 2 are slower than 32.
const DECISIONS: &[&str] = &[
    "first",
    "kernel",
    "compiled 2",
    "right 2",
    "optimise about 2",
    "sweep",
    "point of 6: kernel",
    "point of 6: kernel",
    "point of 6: kernel",
    "point of 6: kernel",
    "compiled 7",
    "compiled 8",
    "compiled 9",
    "compiled 10",
    "wrong 7",
    "wrong 9",
    "right 8",
    "right 10",
    "optimise about 10",
    "kernel",
    "compiled 20",
    "right 20",
    "accepted 10",
];

/// Sums of squares in as many lanes as each of these says; an odd number leaves out a row's last element.
fn swept(counts: &str) -> String {
    let sweep = format!("// sweep: LANES = {counts}\n#include");
    let text = lanes(4).replace("lanes[4]", "lanes[LANES]").replace("+ 4 <=", "+ LANES <=");
    let text = text.replace("at += 4", "at += LANES").replace("lane < 4", "lane < LANES");
    let text = text.replace("for (; at < k; ++at)", "for (; at < k - LANES % 2; ++at)");
    format!(
        "Hypothesis: more lanes hide latency.\nPredicted: 2x\n\n{}",
        fenced(&text.replacen("#include", &sweep, 1))
    )
}

fn answers() -> Vec<String> {
    vec![fenced(&lanes(4)), swept("5 | 2 | 7 | 32"), loses("1.1x", 3)]
}

const SETTINGS: [&str; 2] = ["--set", "rounds-without-gain=1"];

#[test]
fn a_run_goes_on_from_the_fastest_right_point() {
    let library = Library::with("refine-sweep", &answers());
    let ran = cutegen_tests::run(&mut library.refining_with(&SETTINGS));
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    assert_eq!(library.asked(), [1, 2, 3], "points are no requests");
    let prompt = library.prompt(3);
    for told in [
        "constexpr int LANES = 32;",
        "attempt 10 from 2: More",
        "point 7 of attempt 6, LANES = 5: wrong: check values",
        "point 8 of attempt 6, LANES = 2: right",
    ] {
        assert!(prompt.to_lowercase().contains(&told.to_lowercase()), "no {told} in\n{prompt}");
    }
    let log = library.log();
    let batch = |line: usize| {
        let entry: serde_json::Value =
            serde_json::from_str(log.lines().nth(line).expect("a line")).expect("JSON");
        entry["verdict"]["judge"]["batch"].as_str().expect("a batch").to_owned()
    };
    assert_eq!([15, 16, 17, 18].map(batch), [15; 4].map(batch), "all points are judged in one batch");
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
    let report = library.command(&["report", "--run", &library.log_path().display().to_string()]);
    assert!(all(&report).contains("| 5 | 10 | LANES = 32 | accepted |"), "{}", all(&report));
    let accepted = library.command(&["accept", "squares"]);
    assert!(accepted.stdout.contains("constexpr int LANES = 32;\n"), "{}", all(&accepted));
}

#[test]
fn a_kill_between_points_changes_no_decision_and_no_answer_is_asked_for_again() {
    let library = Library::with("refine-sweep-killed", &answers());
    let mut child =
        library.refining_with(&SETTINGS).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    while !library.log().contains("{\"point\":") {
        assert!(child.try_wait().expect("waits").is_none(), "it ended without a point");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("is killed");
    child.wait().expect("ends");
    // as a kill within the third point's line leaves it
    let (path, log) = (library.log_path(), library.log());
    let lines: Vec<&str> = log.split_inclusive('\n').take(9).collect();
    let torn = lines.get(8).map_or("{\"point\":{\"of\"", |line| &line[..line.len() / 2]);
    write(&path, &format!("{}{torn}", lines[..lines.len().min(8)].concat()));
    library.forbid_below(2);
    let ran = library.refine();
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    assert!(library.command(&["replay"]).ok);
}

#[test]
fn a_reply_with_too_many_points_or_one_above_the_contract_is_asked_for_whole() {
    let many: Vec<String> = (1..=25).map(|count| count.to_string()).collect();
    let above = format!("// sweep: A = 1 | 2\n{}", lanes(4));
    let answers = [swept(&many.join(" | ")), fenced(&above), fenced(&lanes(4))];
    let library = Library::with("refine-sweep-unreadable", &answers);
    let ran = cutegen_tests::run(&mut library.refining_with(&["--set", "requests=3"]));
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let decided = decided(&library.log());
    assert_eq!(
        decided[..6],
        ["first", "unreadable", "whole about 2", "unreadable", "whole about 4", "kernel"]
    );
    assert!(library.prompt(2).contains("25 points; a text has at most 24"), "{}", library.prompt(2));
    assert!(library.prompt(3).contains("a sweep stands below the contract"), "{}", library.prompt(3));
}

const ON_GPU: &str = r#"// contract:
// steps = [{ entry = "@ENTRY@", grid = ["m"], block = [32], smem = "STAGES * 65536", args = ["ptr(x)", "ptr(y)", "axis(k)"] }]
// sweep: STAGES = 1 | 4
#include <cstdint>
extern "C" __global__ void @ENTRY@(const float* x, float* y, int64_t k) {
  float sum = 0;
  for (int64_t at = 0; at < k; ++at) sum += x[blockIdx.x * k + at] * x[blockIdx.x * k + at];
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
"#;

#[test]
fn a_point_without_room_in_shared_memory_is_recorded_and_not_compiled() {
    let library = Library::with("refine-sweep-room", &[fenced(ON_GPU)]);
    let spec = library.folder.join("specs/squares.toml");
    let text = std::fs::read_to_string(&spec).expect("a spec");
    write(&spec, &text.replace("\"host\"", "\"sm_90a\""));
    let ran = library.refine();
    let decided = decided(&library.log());
    assert!(decided.len() >= 6, "{}", all(&ran));
    let began = ["first", "sweep", "point of 2: kernel", "point of 2: kernel", "compiled 3", "refused 4"];
    assert_eq!(decided[..6], began, "{}", all(&ran));
    let room = "262144 bytes of shared memory, and a block of sm_90a has";
    assert!(library.log().contains(room), "{}", library.log());
}
