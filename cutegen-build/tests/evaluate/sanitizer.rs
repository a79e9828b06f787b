//! The road to compute-sanitizer, with a shell script in its place: pipes and the arena's descriptor reach the runner
//! through another process, and its exit status and log are believed.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cutegen_build::evaluate::Checks;
use cutegen_build::evaluate::judge::sanitize::{Sanitized, Tool};

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_SILU;
use crate::kernels::SILU_MUL;

pub(crate) const TESTS: &[Test] = &[
    ("sanitizer::a_runner_below_another_process", a_runner_below_another_process),
    (
        "sanitizer::a_process_looks_at_all_and_another_says_whose_it_is",
        a_process_looks_at_all_and_another_says_whose_it_is,
    ),
    ("sanitizer::what_is_found_once_clears_no_candidate", what_is_found_once_clears_no_candidate),
];

fn script(folder: &tempfile::TempDir, name: &str, end: &str) -> PathBuf {
    let path = folder.path().join(name);
    let text = format!(
        "#!/bin/sh\nwhile :; do case \"$1\" in --log-file) log=$2; shift 2;; --*) shift 2;; *) break;; esac; done\n\
         \"$@\"\nstatus=$?\n{end}\n"
    );
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    path
}

fn a_runner_below_another_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(&SILU_MUL);
    let mut judge = bench.judge(Checks::default());
    let mut ask = |body: &str, end: &str| {
        let sanitizer = script(&folder, "sanitizer", end);
        judge
            .sanitize(&[bench.candidate(body)], &sanitizer, &[Tool::Memcheck])
            .expect("the machine works")
            .remove(0)
    };
    let clean = "echo '========= ERROR SUMMARY: 0 errors' > $log; exit $status";
    assert_eq!(ask(HONEST_SILU, clean), Sanitized::Clean { tools: vec![Tool::Memcheck] });
    let found = "echo '========= ERROR SUMMARY: 2 errors' > $log; exit 86";
    assert!(matches!(ask(HONEST_SILU, found), Sanitized::Errors { tool: Tool::Memcheck, .. }));
    let silent = ask(HONEST_SILU, "exit 0");
    assert!(matches!(silent, Sanitized::NotRun { .. }), "no summary is no clearance: {silent:?}");
    let crashed = ask("abort();", clean);
    assert!(matches!(crashed, Sanitized::NotRun { .. }), "{crashed:?}");
    // racecheck finds something where memcheck, before it, does not come through
    let sanitizer = script(
        &folder,
        "one-finds",
        "case $log in *memcheck*) exit 1;; esac; echo '========= ERROR SUMMARY: 2 errors' > $log; exit 86",
    );
    let (honest, tools) = (bench.candidate(HONEST_SILU), [Tool::Memcheck, Tool::Racecheck]);
    let found = judge.sanitize(&[honest], &sanitizer, &tools).expect("the machine works").remove(0);
    assert!(matches!(found, Sanitized::Errors { tool: Tool::Racecheck, .. }), "{found:?}");
}

fn a_process_looks_at_all_and_another_says_whose_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(&SILU_MUL);
    let mut judge = bench.judge(Checks::default());
    let started = folder.path().join("started");
    let end = format!(
        "echo >> {}; errors=0; [ $status = 0 ] || {{ errors=2; status=86; }}\n\
         echo \"========= ERROR SUMMARY: $errors errors\" > $log; exit $status",
        started.display()
    );
    let sanitizer = script(&folder, "sanitizer", &end);
    let [honest, crashing] = [HONEST_SILU, "abort();"].map(|body| bench.candidate(body));
    let mut ask = |list: &[_]| {
        std::fs::write(&started, "").expect("written");
        let said = judge.sanitize(list, &sanitizer, &[Tool::Memcheck, Tool::Initcheck]);
        let processes = std::fs::read_to_string(&started).expect("read").lines().count();
        (said.expect("the machine works"), processes)
    };
    let clean = Sanitized::Clean { tools: vec![Tool::Memcheck, Tool::Initcheck] };
    let (said, processes) = ask(&[honest.clone(), honest.clone(), honest.clone()]);
    assert_eq!((said, processes), (vec![clean.clone(); 3], 2), "a process a tool");
    let (said, processes) = ask(&[honest.clone(), crashing.clone(), honest]);
    assert_eq!([&said[0], &said[2]], [&clean; 2]);
    assert!(matches!(said[1], Sanitized::Errors { tool: Tool::Memcheck, .. }), "{:?}", said[1]);
    assert_eq!(processes, 2 + 2 * 3, "and one for each where that is not clean");
    let (said, processes) = ask(&[crashing]);
    assert!(matches!(said[..], [Sanitized::Errors { .. }]) && processes == 2, "it is known whose it is");
}

/// A tool that finds something in its first process alone.
fn what_is_found_once_clears_no_candidate() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(&SILU_MUL);
    let mut judge = bench.judge(Checks::default());
    let once = folder.path().join("once");
    let mut ask = |first: &str| {
        let _ = std::fs::remove_file(&once);
        let end = format!(
            "echo '========= ERROR SUMMARY: 0 errors' > $log; [ -e {0} ] || {{ touch {0}; {first}; }}; exit 0",
            once.display()
        );
        let list = [bench.candidate(HONEST_SILU), bench.candidate(HONEST_SILU)];
        let said = judge.sanitize(&list, &script(&folder, "sanitizer", &end), &[Tool::Racecheck]);
        said.expect("the machine works")
    };
    let said = ask("echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error)' > $log; exit 86");
    let says = |said: &Sanitized| matches!(said, Sanitized::NotRun { reason } if reason.contains("in none of them alone"));
    assert!(said.iter().all(says), "{said:?}");
    let said = ask("rm $log; exit 1");
    assert_eq!(
        said,
        vec![Sanitized::Clean { tools: vec![Tool::Racecheck] }; 2],
        "a tool that broke down found nothing"
    );
}
