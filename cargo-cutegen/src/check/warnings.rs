//! What `check` warns of: doubts about evidence, each told once with the kernels that it is about. Pure.

use std::collections::BTreeMap;

use super::table::Row;

/// Kernels named in one warning; programs get every one in its row.
const NAMED: usize = 4;

/// A line for each doubt, and the command that ends them.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    let mut about: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        for doubt in &row.doubts {
            let variant = doubt.variant().map(|variant| format!("/{variant}")).unwrap_or_default();
            let who = format!("{}{variant} on {}", row.kernel, row.short_target());
            about.entry(doubt.to_string()).or_default().push(who);
        }
    }
    let mut lines: Vec<String> =
        about.iter().map(|(doubt, who)| format!("warning: {doubt}: {}", some(who))).collect();
    if !lines.is_empty() {
        lines.push("to judge again, where the device is: cargo cutegen verify --record".to_owned());
    }
    if rows.iter().any(Row::has_drifted) {
        lines.push("to time again: cargo cutegen tune --again NAME && cargo cutegen accept NAME".to_owned());
    }
    lines
}

fn some(who: &[String]) -> String {
    let named = who[..who.len().min(NAMED)].join(", ");
    match who.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cutegen_build::store::trust::Doubt;

    use super::{Row, lines};

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
        let judge = "to judge again, where the device is: cargo cutegen verify --record";
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
        assert_eq!(lines[1], "to judge again, where the device is: cargo cutegen verify --record");
    }

    #[test]
    fn drift_is_told_with_its_own_command() {
        let drift = Doubt::NotTimed { workload: BTreeMap::from([("m".to_owned(), 7), ("n".to_owned(), 9)]) };
        let lines = lines(&[row(1, vec![unjudged(), drift])]);
        assert_eq!(lines[1], "warning: workload m=7 n=9 was never timed: k1 on sm_90a");
        assert_eq!(lines[3], "to time again: cargo cutegen tune --again NAME && cargo cutegen accept NAME");
    }
}
