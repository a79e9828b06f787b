//! What a selection names, and what is said of one that names nothing.

use cutegen_build::discover::Project;

use super::sample::library;
use super::{select, select_or_none};
use crate::args::Select;
use crate::failure::Failure;

fn asking(kernels: &[&str], target: Option<&str>) -> Select {
    Select {
        kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
        target: target.map(str::to_owned),
    }
}

fn selected(project: &Project, kernels: &[&str], target: Option<&str>) -> Vec<String> {
    let plans = select(project, &asking(kernels, target)).expect("something");
    plans.iter().map(|plan| format!("{} {}", plan.spec.name, super::short(&plan.target))).collect()
}

/// The message of a selection that is wrong usage.
fn refused(project: &Project, kernels: &[&str], target: Option<&str>) -> String {
    match select(project, &asking(kernels, target)) {
        Err(Failure::Usage(text)) => text,
        other => panic!("{:?}", other.map(|plans| plans.len())),
    }
}

#[test]
fn an_architecture_means_its_devices_too() {
    let (_folder, project) = library(&[
        ("both", r#""sm_90a", "sm_90a:h200""#),
        ("cpu", r#""host""#),
        ("narrow", r#""sm_90a:h200", "host""#),
    ]);
    let of = |target| selected(&project, &[], Some(target));
    assert_eq!(of("sm_90a"), ["both sm_90a", "both sm_90a:h200", "narrow sm_90a:h200"]);
    assert_eq!(of("sm_90a:h200"), ["both sm_90a:h200", "narrow sm_90a:h200"]);
    assert_eq!(of("host"), ["cpu host", "narrow host"]);
    assert_eq!(of("host:x86_64-unknown-linux-gnu:x86-64-v3"), of("host"));
    assert_eq!(selected(&project, &["narrow"], Some("sm_90a")), ["narrow sm_90a:h200"]);
    assert_eq!(selected(&project, &[], None).len(), 5);
}

#[test]
fn a_selection_of_nothing_is_wrong_usage() {
    let (_folder, project) = library(&[("a", r#""host""#), ("b", r#""host", "sm_90a:h200""#)]);
    assert_eq!(
        refused(&project, &["a"], Some("sm_90a")),
        "kernel `a` is not declared for `sm_90a`; declared targets: host\nrun: cargo cutegen check a"
    );
    assert_eq!(
        refused(&project, &[], Some("sm_90a:h100")),
        "no kernel is declared for `sm_90a:h100`; declared targets: host, sm_90a:h200\nrun: cargo cutegen check"
    );
    assert_eq!(
        refused(&project, &["a", "b"], Some("sm_90a:h100")),
        "none of `a`, `b` is declared for `sm_90a:h100`; declared targets: host, sm_90a:h200\n\
         run: cargo cutegen check a b"
    );
    assert_eq!(
        refused(&project, &["a", "b"], Some("sm_90a:h200")),
        "kernel `a` is not declared for `sm_90a:h200`; declared targets: host, sm_90a:h200\n\
         run: cargo cutegen check a b",
        "not in silence"
    );
    assert!(refused(&project, &[], Some("sm_70")).starts_with("unknown target `sm_70`"));
    assert_eq!(refused(&project, &["c"], Some("host")), "no kernel `c`; there are: a, b");
}

#[test]
fn a_project_without_kernels_has_only_its_lock_to_look_after() {
    let (_folder, project) = library(&[]);
    assert!(refused(&project, &[], None).ends_with(" declares no kernel\nrun: cargo cutegen lock --prune"));
    assert!(refused(&project, &[], Some("host")).contains(" declares no kernel\n"));
    assert_eq!(select_or_none(&project, &asking(&[], None)).map(|plans| plans.len()).ok(), Some(0));
    assert!(select_or_none(&project, &asking(&[], Some("host"))).is_err());
}
