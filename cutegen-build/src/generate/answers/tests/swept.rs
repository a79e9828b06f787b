//! Answers that sweep constants, and their points one after another.

use super::{FIRST, SOURCE, candidate, plan, request};
use crate::generate::answers::{point, read};
use crate::generate::proposal::Proposal;
use crate::run_log::{Ask, Content, Diagnostic, Entry, Log, Sequence};

/// The kernel with as many threads as each of these says.
fn swept(threads: &str) -> String {
    let text = SOURCE.replace("block = [128]", "block = [THREADS]").replace("at += 128", "at += THREADS");
    text.replacen("#include", &format!("// sweep: THREADS = {threads}\n#include"), 1)
}

fn answered(text: &str) -> String {
    format!("Hypothesis: more threads\nPredicted: 1.5x\n\n```cuda\n{text}```\n")
}

/// A log whose first answer is this one.
fn log(text: &str) -> Log {
    let mut log = Log::new(super::log(&plan()).start);
    log.push(request(Ask::First, None));
    let content = read(&plan(), &log, Some(FIRST), text);
    log.push(candidate(FIRST, text, content));
    log
}

fn written(log: &mut Log, answer: Sequence) -> Vec<Content> {
    let mut contents = Vec::new();
    while let Some(point) = point(&plan(), log, answer) {
        contents.push(point.content.clone());
        log.push(Entry::Point(point));
    }
    contents
}

fn problems(text: &str) -> Vec<Diagnostic> {
    match &log(text).entries[1] {
        Entry::Candidate(candidate) => match &candidate.content {
            Content::Unreadable(problems) => problems.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_point_is_a_kernel_of_its_own() {
    let mut log = log(&answered(&swept("64 | 256")));
    let Some(Content::Sweep(sweep)) = log.content(2) else { panic!("a sweep: {:?}", log.content(2)) };
    assert_eq!((sweep.points, sweep.first_line, sweep.predicted), (2, Some(5), Some(1.5)));
    assert!(sweep.source.contains("// sweep: THREADS = 64 | 256\n"), "the source as it was replied");
    written(&mut log, 2);
    let kernels: Vec<_> = log.kernels().collect();
    assert_eq!(kernels.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [3, 4]);
    for ((at, kernel), threads) in kernels.iter().zip([64, 256]) {
        assert_eq!(log.point(*at).map(ToString::to_string), Some(format!("THREADS = {threads}")));
        assert!(
            kernel.source.contains(&format!("constexpr int THREADS = {threads};\n")),
            "{}",
            kernel.source
        );
        assert!(kernel.source.contains(&format!("block = [{threads}]")), "{}", kernel.source);
        let alone = Proposal::read(&plan(), &kernel.source, None).expect("a source of its own");
        assert_eq!((alone.identity, alone.name()), (kernel.identity.0, kernel.name.clone()));
        assert_eq!(kernel.hypothesis.as_deref(), Some("more threads"));
    }
}

#[test]
fn points_of_before_are_repeats() {
    let mut log = log(&answered(&swept("64 | 256")));
    written(&mut log, 2);
    log.push(request(Ask::First, None));
    let text = answered(&swept("256 | 32 | 64"));
    let content = read(&plan(), &log, Some(5), &text);
    log.push(candidate(5, &text, content));
    let contents = written(&mut log, 6);
    assert_eq!((&contents[0], &contents[2]), (&Content::Repeat { of: 4 }, &Content::Repeat { of: 3 }));
    assert!(matches!(contents[1], Content::Kernel(_)));
    // and so is a point that comes as a whole source
    let alone = answered(&log.kernel(8).expect("a kernel").source);
    log.push(request(Ask::First, None));
    assert_eq!(read(&plan(), &log, Some(10), &alone), Content::Repeat { of: 8 });
}

#[test]
fn an_edit_of_a_point_edits_its_own_source() {
    let mut log = log(&answered(&swept("64 | 256")));
    written(&mut log, 2);
    let asked = log.push(request(Ask::Patch, Some(4)));
    let edit = "```edit\n<<<<<<< old\nconstexpr int THREADS = 256;\n=======\n// sweep: THREADS = 256 | 512\n>>>>>>> new\n```\n";
    let Content::Sweep(sweep) = read(&plan(), &log, Some(asked), edit) else { panic!("a sweep") };
    assert_eq!(sweep.points, 2);
    assert!(sweep.source.contains("block = [256]"), "the contract of the point: {}", sweep.source);
}

#[test]
fn what_is_no_sweep_is_told_with_its_line() {
    let many: Vec<String> = (1..=25).map(|threads| threads.to_string()).collect();
    let told = problems(&answered(&swept(&many.join(" | "))));
    assert_eq!(told[0].line, Some(11), "{told:?}");
    assert!(told[0].message.contains("25 points; a text has at most 24"), "{told:?}");
    let above = swept("64 | 256").replacen("// A product", "// sweep: A = 1 | 2\n// A product", 1);
    let told = problems(&answered(&above));
    assert_eq!(told[0].line, Some(5), "{told:?}");
    assert!(told[0].message.contains("a sweep stands below the contract"), "{told:?}");
}
