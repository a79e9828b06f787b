//! The road to Nsight Compute, with a shell script in its place: pipes and the arena's descriptor reach the runner through
//! another process, whose table is read, and without a table there are no metrics.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cutegen_build::evaluate::Checks;
use cutegen_build::evaluate::judge::profile::Profiled;

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_SILU;
use crate::kernels::SILU_MUL;

pub(crate) const TESTS: &[Test] =
    &[("profiler::a_runner_below_ncu_is_launched_once", a_runner_below_ncu_is_launched_once)];

/// Takes the arguments of `ncu`, runs what follows them, and then this.
fn script(folder: &tempfile::TempDir, end: &str) -> PathBuf {
    let path = folder.path().join("ncu");
    let text = format!(
        "#!/bin/sh\nwhile :; do case \"$1\" in --csv) shift;; --log-file) log=$2; shift 2;; --*) shift 2;; *) break;; esac; done\n\
         \"$@\"\nstatus=$?\n{end}\n"
    );
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    path
}

fn a_runner_below_ncu_is_launched_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(&SILU_MUL);
    let mut judge = bench.judge(Checks::default());
    let mut ask = |body: &str, axes: [i64; 2], end: &str| {
        let ncu = script(&folder, end);
        judge.profile(&bench.candidate(body), &axes, &ncu).expect("the machine works")
    };
    let table = "printf '==PROF== Profiling \"candidate\"\\n\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\\n\
                 \"\",\"\",\"byte\"\\n\"0\",\"candidate\",\"2,500,000\"\\n' > $log; exit $status";
    let metrics = Profiled::Metrics([("dram-read-mb".to_owned(), 2.5)].into());
    assert_eq!(ask(HONEST_SILU, [33, 65], table), metrics);
    let not_run = |profiled: Profiled, why: &str| match profiled {
        Profiled::NotRun { reason } => assert!(reason.contains(why), "{reason}"),
        Profiled::Metrics(metrics) => panic!("{metrics:?}"),
    };
    not_run(ask(HONEST_SILU, [33, 65], "exit 0"), "no metrics");
    let refused = "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > $log; exit 0";
    not_run(ask(HONEST_SILU, [33, 65], refused), "ERR_NVGPUCTRPERM");
    not_run(ask("abort();", [33, 65], table), "Crashed");
    not_run(ask(HONEST_SILU, [1 << 15, 1 << 16], table), "bytes");
    let nowhere = folder.path().join("none");
    let unstarted = judge.profile(&bench.candidate(HONEST_SILU), &[33, 65], &nowhere);
    not_run(unstarted.expect("the machine works"), "none");
}
