//! What `check` warns of, each kind told once with the kernels that it is about: doubts about evidence, workloads that no
//! spec declares, large workspaces. Pure.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_build::store::trust::{Doubt, extents};

use super::table::{Row, Work, size};

/// Kernels named in one warning; programs get every one in its row.
const NAMED: usize = 4;
/// More workspace than this is worth knowing before it is allocated.
const LARGE: i64 = 1 << 30;

/// Every warning, each kind with the command that ends it.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    [evidence(rows), undeclared(rows), workspaces(rows)].concat()
}

/// A line for each doubt, and the commands that end them.
fn evidence(rows: &[Row]) -> Vec<String> {
    let mut about: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        for doubt in &row.doubts {
            let variant = doubt.variant().map(|variant| format!("/{variant}")).unwrap_or_default();
            let at = doubt.at().map(|at| format!(" at {at}")).unwrap_or_default();
            let kernels = format!("{}{variant} on {}{at}", row.kernel, row.short_target());
            about.entry(doubt.to_string()).or_default().push(kernels);
        }
    }
    let mut lines: Vec<String> = about.iter().map(|(doubt, kernels)| warning(doubt, kernels)).collect();
    let has = |is: fn(&Doubt) -> bool| rows.iter().flat_map(|row| &row.doubts).any(is);
    if has(Doubt::ends_by_judging) {
        lines.push("to re-verify, where the device is: cargo cutegen verify --record".to_owned());
    }
    if has(|doubt| doubt.at().is_some()) {
        lines.push(
            "to compare there yourself: cargo cutegen run NAME --axes AXIS=N --random 1 --compare reference"
                .to_owned(),
        );
    }
    if rows.iter().any(Row::has_drifted) {
        lines.push("to time again: cargo cutegen tune --again NAME && cargo cutegen accept NAME".to_owned());
    }
    lines
}

/// Specs with run-time axes and without workloads: they are timed at a default one.
fn undeclared(rows: &[Row]) -> Vec<String> {
    let is_open = |work: &&Work| !work.is_declared && !work.axes.is_empty();
    let open = rows.iter().filter_map(|row| Some((row, row.workloads.iter().find(is_open)?)));
    // once, however many targets a kernel has
    let kernels: BTreeSet<String> =
        open.map(|(row, work)| format!("{} at {}", row.kernel, extents(&work.axes))).collect();
    if kernels.is_empty() {
        return Vec::new();
    }
    let kernels: Vec<String> = kernels.into_iter().collect();
    vec![
        warning("no workloads are declared, so only one is timed", &kernels),
        "to have others timed: workloads = [{ AXIS = N }, { AXIS = N }] in the spec".to_owned(),
    ]
}

/// Kernels with a large workspace at a workload, or else at the ends of their ranges.
fn workspaces(rows: &[Row]) -> Vec<String> {
    let (mut here, mut somewhere) = (Vec::new(), Vec::new());
    for row in rows {
        let most = row.workloads.iter().max_by_key(|work| work.workspace);
        let large = |bytes: &i64| *bytes > LARGE;
        let name = format!("{} on {}", row.kernel, row.short_target());
        if let Some((work, bytes)) = most.and_then(|work| Some((work, work.workspace.filter(large)?))) {
            here.push(format!("{name} {} at {}", size(bytes), extents(&work.axes)));
        } else if let Some(bytes) = row.most_workspace.filter(large) {
            somewhere.push(format!("{name} {}", size(bytes)));
        }
    }
    let kinds = [
        ("workspace above 1 GiB at a workload", here),
        ("workspace above 1 GiB at the largest extents of the axes", somewhere),
    ];
    let mut lines: Vec<String> = kinds
        .iter()
        .filter(|(_, kernels)| !kernels.is_empty())
        .map(|(what, kernels)| warning(what, kernels))
        .collect();
    if !lines.is_empty() {
        lines.push(
            "a workspace grows in the call that first needs it, and not while a CUDA graph is captured"
                .to_owned(),
        );
    }
    lines
}

fn warning(what: &str, kernels: &[String]) -> String {
    format!("warning: {what}: {}", some(kernels))
}

fn some(kernels: &[String]) -> String {
    let named = kernels[..kernels.len().min(NAMED)].join(", ");
    match kernels.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cutegen_build::store::trust::Doubt;

    use super::{Row, Work, lines};

    fn row(kernel: usize, doubts: Vec<Doubt>) -> Row {
        Row { kernel: format!("k{kernel}"), target: "sm_90a".to_owned(), doubts, ..Row::default() }
    }

    fn unjudged() -> Doubt {
        Doubt::NotJudged { variant: "naive".to_owned() }
    }

    #[test]
    fn a_doubt_is_told_once_however_many_kernels_it_is_about() {
        assert_eq!(lines(&[row(1, Vec::new())]), Vec::<String>::new());
        let rows: Vec<Row> = (0..9).map(|kernel| row(kernel, vec![unjudged()])).collect();
        let told =
            "k0/naive on sm_90a, k1/naive on sm_90a, k2/naive on sm_90a, k3/naive on sm_90a and 5 more";
        let judge = "to re-verify, where the device is: cargo cutegen verify --record";
        assert_eq!(lines(&rows), [format!("warning: not judged: {told}"), judge.to_owned()]);
    }

    #[test]
    fn what_compute_sanitizer_does_not_vouch_for_is_told() {
        let reason = "not run: no compute-sanitizer on this machine";
        let doubt = |sanitizer: &str| Doubt::NotSanitized {
            variant: "fast".to_owned(),
            sanitizer: sanitizer.to_owned(),
        };
        let lines = lines(&[row(1, vec![doubt(reason)]), row(2, vec![doubt(reason)])]);
        let told = format!("warning: compute-sanitizer did not come out clean ({reason}): ");
        assert_eq!(lines[0], format!("{told}k1/fast on sm_90a, k2/fast on sm_90a"));
        assert_eq!(lines[1], "to re-verify, where the device is: cargo cutegen verify --record");
    }

    #[test]
    fn drift_is_told_with_its_own_command() {
        let drift = Doubt::NotTimed { workload: BTreeMap::from([("m".to_owned(), 7), ("n".to_owned(), 9)]) };
        let lines = lines(&[row(1, vec![unjudged(), drift])]);
        assert_eq!(lines[1], "warning: workload m=7 n=9 was never timed: k1 on sm_90a");
        assert_eq!(lines[3], "to time again: cargo cutegen tune --again NAME && cargo cutegen accept NAME");
    }

    #[test]
    fn a_workload_that_was_never_judged_is_told_with_its_extents() {
        let at = |m| Doubt::WorkloadNotJudged {
            variant: "fast".to_owned(),
            workload: BTreeMap::from([("m".to_owned(), m)]),
        };
        let lines = lines(&[row(1, vec![at(4096), at(64)]), row(2, vec![at(512)])]);
        let kernels = "k1/fast on sm_90a at m=4096, k1/fast on sm_90a at m=64, k2/fast on sm_90a at m=512";
        assert_eq!(lines[0], format!("warning: judged at other shapes, and never at a workload: {kernels}"));
        assert!(lines[1].starts_with("to compare there yourself: cargo cutegen run "), "{lines:?}");
        assert_eq!(lines.len(), 2, "judging again changes nothing: {lines:?}");
        let tile = Doubt::TileNotFilled { variant: "fast".to_owned(), axis: "m".to_owned(), extent: 96 };
        let told = "judged at shapes that fill none of its tiles along an axis: k1/fast on sm_90a at m=96";
        assert_eq!(super::lines(&[row(1, vec![tile])])[0], format!("warning: {told}"));
    }

    fn work(m: i64, is_declared: bool, workspace: i64) -> Work {
        let axes = BTreeMap::from([("m".to_owned(), m)]);
        Work { axes, is_declared, workspace: Some(workspace), ..Work::default() }
    }

    #[test]
    fn a_spec_without_workloads_is_told_once_and_what_will_be_timed() {
        let of = |kernel, work| Row { workloads: vec![work], ..row(kernel, Vec::new()) };
        let fixed = Work { axes: BTreeMap::new(), ..work(1, false, 0) };
        let rows =
            [of(1, work(4096, false, 0)), of(1, work(4096, false, 0)), of(2, work(7, true, 0)), of(3, fixed)];
        let lines = lines(&rows);
        assert_eq!(lines[0], "warning: no workloads are declared, so only one is timed: k1 at m=4096");
        assert_eq!(lines[1], "to have others timed: workloads = [{ AXIS = N }, { AXIS = N }] in the spec");
        assert_eq!(lines.len(), 2, "{lines:?}");
    }

    #[test]
    fn a_large_workspace_is_told_where_it_is_needed() {
        const GIB: i64 = 1 << 30;
        let of = |kernel, bytes, most| Row {
            workloads: vec![work(16, true, 0), work(8192, true, bytes)],
            most_workspace: most,
            ..row(kernel, Vec::new())
        };
        let rows =
            [of(1, GIB + 1, Some(4 * GIB)), of(2, GIB, Some(2 * GIB)), of(3, GIB, Some(GIB)), of(4, 0, None)];
        let lines = lines(&rows);
        let here = "warning: workspace above 1 GiB at a workload: k1 on sm_90a 1.07 GB at m=8192";
        let most = "warning: workspace above 1 GiB at the largest extents of the axes: k2 on sm_90a 2.15 GB";
        assert_eq!(lines[..2], [here, most]);
        assert_eq!(lines.len(), 3, "and what that means: {lines:?}");
    }
}
