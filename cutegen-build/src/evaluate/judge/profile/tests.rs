//! Texts as Nsight Compute 2025.3 writes them. What is read in them.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Profiled, Watched, located, metrics, said, under};
use crate::evaluate::wire::protocol::{Backend, Limits};
use crate::evaluate::wire::worker::Workers;

/// A memory-bound kernel in base units. Progress lines stand before the table and behind it.
const ONE: &str = r#"==PROF== Connected to process 4711 (/usr/bin/cutegen)
==PROF== Profiling "cutegen_silu" - 0: 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum","l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum","launch__registers_per_thread","launch__shared_mem_per_block_dynamic","launch__shared_mem_per_block_static","lts__t_sector_hit_rate.pct","smsp__average_warp_latency_per_inst_issued.ratio","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_drain_per_issue_active.ratio","smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio","smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
"","","","","","","","","","","","byte","byte","%","ns","sector/request","","","sector","register/thread","byte/block","byte/block","%","cycle","inst","inst","inst","inst","inst","inst","inst"
"0","4711","cutegen","127.0.0.1","cutegen_silu","1","7","(256, 1, 1)","(131072, 1, 1)","0","9.0","134,231,552","51,380,224","88.412345","66,912","2","0","12","1,000,000","18","1,024","512","33.3","40","0.2","2","n/a","3","30","1","2.5"
==PROF== Report written
"#;

/// Two steps in scaled units, without separated thousands. One kernel is printed with its parameters.
const TWO: &str = r#"ID,"Kernel Name","dram__bytes_read.sum","gpu__time_duration.sum","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","Mbyte","us","%"
0,"split(const __nv_bfloat16 *, ""odd"" , long)",67.25,20.5,71.04
==PROF== Profiling "merge"
1,"merge","1.5","3","nan"
"2","merge","0.5","2","12"
"#;

fn contract(entries: &[&str]) -> cutegen_spec::contract::Contract {
    let step = |entry: &&str| {
        format!(
            "[[steps]]\nentry = \"{entry}\"\ngrid = [\"1\", \"1\", \"1\"]\nblock = [\"32\", \"1\", \"1\"]\nargs = []\n"
        )
    };
    toml::from_str(&entries.iter().map(step).collect::<String>()).expect("a contract")
}

fn ended(report: &str, answer: Option<&str>) -> Watched {
    Watched::Ended { answer: answer.map(str::to_owned), status: Some(0), report: report.to_owned() }
}

fn facts(report: &str, entries: &[&str]) -> BTreeMap<String, f64> {
    match said(ended(report, None), &contract(entries)) {
        Profiled::Metrics(facts) => facts,
        Profiled::NotRun { reason } => panic!("{reason}"),
    }
}

fn reason(watched: Watched) -> String {
    match said(watched, &contract(&["k"])) {
        Profiled::NotRun { reason } => reason,
        Profiled::Metrics(facts) => panic!("{facts:?}"),
    }
}

#[test]
fn metrics_have_our_names_and_units() {
    let found = facts(ONE, &["cutegen_silu"]);
    let wanted = [
        ("dram-percent", 88.41),
        ("dram-read-mb", 134.2),
        ("dram-write-mb", 51.38),
        ("l2-hit-percent", 33.3),
        ("local-mb", 32.0),
        ("registers-a-thread", 18.0),
        ("sectors-a-load", 2.0),
        ("shared-bank-conflicts", 12.0),
        ("shared-kb-a-block", 1.536),
        ("stall-drain-percent", 5.0),
        ("stall-lg-throttle-percent", 7.5),
        ("stall-long-scoreboard-percent", 75.0),
        ("stall-wait-percent", 6.25),
        ("time-us", 66.91),
    ];
    let wanted: BTreeMap<String, f64> = wanted.map(|(name, value)| (name.to_owned(), value)).into();
    assert_eq!(found, wanted);
}

#[test]
fn launches_of_several_steps_are_named_by_their_entries() {
    let found = facts(TWO, &["split", "merge", "merge"]);
    let wanted = [
        ("split.dram-read-mb", 67.25),
        ("split.time-us", 20.5),
        ("split.occupancy-percent", 71.04),
        ("merge.dram-read-mb", 1.5),
        ("merge.time-us", 3.0),
        ("merge#2.dram-read-mb", 0.5),
        ("merge#2.time-us", 2.0),
        ("merge#2.occupancy-percent", 12.0),
    ];
    let wanted: BTreeMap<String, f64> = wanted.map(|(name, value)| (name.to_owned(), value)).into();
    assert_eq!(found, wanted);
}

#[test]
fn what_does_not_run_says_why() {
    let permission = "==PROF== Connected to process 1 (x)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have \
        permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions see x\n";
    let told = reason(ended(permission, None));
    assert!(told.contains("ERR_NVGPUCTRPERM: this user may not read"), "{told}");
    let told =
        reason(ended("==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n", None));
    assert_eq!(told, "ended with 0 and no metrics: No kernels were profiled.");
    let told = reason(Watched::NotStarted {
        reason: "did not start: it ended".to_owned(),
        report: "==ERROR== The application returned an error code (1).\n".to_owned(),
    });
    assert_eq!(told, "did not start: it ended: The application returned an error code (1).");
    assert_eq!(
        reason(Watched::Ended { answer: None, status: None, report: String::new() }),
        "ended not in time and no metrics"
    );
    let crashed = reason(ended(ONE, Some("Crashed(Signal(11))")));
    assert_eq!(crashed, "answered Crashed(Signal(11))", "a launch that did not end has no metrics");
    // a table that was cut off, and one without a kernel's name
    let header = ONE.lines().find(|line| line.starts_with("\"ID\"")).expect("a header");
    for report in
        [header.to_owned(), format!("{header}\n\"0\",\"4711\",\"cutegen"), ONE.replace("Kernel Name", "Name")]
    {
        assert_eq!(reason(ended(&report, None)), "ended with 0 and no metrics");
    }
}

#[test]
fn a_runner_is_started_with_clocks_as_they_are_and_its_entries_alone() {
    let workers = Workers {
        exe: "/x/cutegen".into(),
        args: vec!["worker".to_owned()],
        env: vec![("LD_LIBRARY_PATH".into(), "/lib".into())],
        backend: Backend::Cuda,
        limits: Limits::host(),
    };
    let ncu = Path::new("/opt/ncu");
    let started = under(&workers, ncu, &contract(&["split", "merge"]), Path::new("/tmp/f/3.ncu.csv"));
    assert_eq!(started.exe, ncu);
    let args = started.args.join(" ");
    for part in [
        "--csv --page raw",
        "--log-file /tmp/f/3.ncu.csv ",
        "--clock-control none",
        "--target-processes all",
        "--kernel-name regex:^(split|merge)$ --launch-count 2",
    ] {
        assert!(args.contains(part), "{part}: {args}");
    }
    assert!(args.ends_with(" /x/cutegen worker"), "{args}");
    let asked = metrics::asked().join(",");
    assert!(args.contains(&format!("--metrics {asked} ")) && !asked.contains(' '), "{args}");
    let variable =
        |name: &str| started.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str());
    assert_eq!([variable("TMPDIR"), variable("HOME")], [Some("/tmp/f".as_ref()); 2]);
    assert!(variable("PATH").is_some() && variable("LD_LIBRARY_PATH").is_some());
}

#[test]
fn it_is_located_on_the_path_first_and_of_packages_the_latest() {
    let folder = tempfile::tempdir().expect("a folder");
    let [bin, home, usual, packaged] = ["bin", "home", "usual", "opt"].map(|name| folder.path().join(name));
    let make = |folder: &Path| {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join("ncu"), "").expect("written");
        folder.join("ncu").canonicalize().ok()
    };
    let find = || located(Some(bin.as_os_str()), Some(home.as_os_str()), [&usual, &packaged]);
    assert_eq!(find(), None);
    let (older, newer) = (make(&packaged.join("2025.3.1")), make(&packaged.join("2025.10.0")));
    assert!(older.is_some());
    assert_eq!(find(), newer, "by numbers, not by letters");
    for folder in [usual.join("bin"), home.join("bin"), bin.clone()] {
        let made = make(&folder);
        assert_eq!(find(), made);
    }
}
