//! Which kernels of other specs a run shows.

use crate::run_log::{Banked, Content, Entry, Facts, Log, Outcome, digest};
use crate::strategy::Strategy;
use crate::strategy::branch::bank::{choose, of};
use crate::strategy::script::{Script, plan, rows, speed};

pub(super) fn banked(kernel: &str, family: &str, over_naive: f64) -> Banked {
    let source = format!("source of {kernel}");
    Banked {
        kernel: kernel.to_owned(),
        family: family.to_owned(),
        math: "y = x".to_owned(),
        digest: digest(&source),
        source,
        idea: Some("loads of 16 bytes".to_owned()),
        over_naive: Some(over_naive),
    }
}

fn names(found: &[Banked]) -> Vec<&str> {
    found.iter().map(|kernel| kernel.kernel.as_str()).collect()
}

#[test]
fn kernels_of_the_family_come_first_and_of_these_the_best() {
    let all = vec![
        banked("pool", "window", 90.0),
        banked("norm", "rowwise", 3.0),
        banked("softmax", "rowwise", 5.0),
        banked("softmax", "rowwise", 5.0),
    ];
    assert_eq!(rows().family.name(), "rowwise");
    assert_eq!(names(&choose(&rows(), all.clone(), 9)), ["softmax", "norm", "pool"], "none twice");
    assert_eq!(names(&choose(&rows(), all.clone(), 1)), ["softmax"]);
    let axes = "inputs = { x = 'f32[c, h]' }\noutputs = { y = 'f32[c, p]' }";
    let pool = plan("c = 8, h = 64, r = 3, p = 62", axes, "y[c, p] = sum(r, x[c, p + r])");
    assert_eq!(names(&choose(&pool, all, 1)), ["pool"]);
}

#[test]
fn what_was_accepted_is_banked_with_its_idea() {
    let mut run = Script::of(Strategy::Refine, rows(), &[]);
    let first = run.begun();
    assert_eq!(of(&run.plan, &run.log), None, "nothing was accepted");
    run.verdict(first, Outcome::Accepted, Facts::default());
    let found = of(&run.plan, &run.log).expect("a kernel");
    assert_eq!((found.source.as_str(), found.over_naive), ("first", Some(2.0)));
    assert_eq!((found.idea.as_deref(), found.family.as_str()), (Some("it is first"), "rowwise"));
    assert_eq!((found.digest, found.math.as_str()), (digest("first"), "y[m] = sum(k, x[m, k] * x[m, k])"));
}

#[test]
fn a_source_that_is_too_long_is_not_banked() {
    let accepted = |source: &str| {
        let mut run = Script::of(Strategy::Refine, rows(), &[]);
        run.begun();
        let last = run.answered("it", Content::Kernel(super::kernel(source, "it is long")));
        run.verdict(last, Outcome::Right, speed(0.3, 2.0, &[]));
        run.verdict(last, Outcome::Accepted, Facts::default());
        of(&run.plan, &run.log)
    };
    assert!(accepted(&"a".repeat(16 << 10)).is_some());
    assert!(accepted(&"a".repeat((16 << 10) + 1)).is_none());
}

#[test]
fn the_bank_stands_in_the_first_line_and_nothing_else_is_needed() {
    let mut run = Script::of(Strategy::Branch, rows(), &[]);
    run.log.start.bank = vec![banked("softmax", "rowwise", 5.0)];
    let text = serde_json::to_string(&run.log.start).expect("JSON");
    let start = serde_json::from_str(&text).expect("a start");
    assert_eq!(Log::new(start), run.log);
    run.log.start.bank.clear();
    assert!(
        !serde_json::to_string(&run.log.start).expect("JSON").contains("bank"),
        "logs without one stay as they are"
    );
    let entry = |text: &str| serde_json::from_str::<Entry>(text).is_ok();
    let request = r#"{"request":{"ask":"variant","about":2,"idea":1,"version":"rowwise-4","prompt":"PROMPT","bytes":9}}"#;
    assert!(entry(&request.replace("PROMPT", &"ab".repeat(32))));
}
