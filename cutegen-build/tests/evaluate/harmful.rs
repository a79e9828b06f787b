//! Candidates that take their runner down, or try to speak for it. Each costs one runner; the session goes on.

use std::time::{Duration, Instant};

use cutegen_build::evaluate::{Checks, Crash, Outcome};
use cutegen_spec::contract::{Initial, WorkspacePart};
use cutegen_spec::int_expr::IntExpr;

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_SILU;
use crate::kernels::SILU_MUL;

pub(crate) const TESTS: &[Test] = &[
    ("harmful::each_gets_its_outcome", each_gets_its_outcome),
    ("harmful::cannot_be_loaded", cannot_be_loaded),
    ("harmful::absurd_workspaces", absurd_workspaces),
    ("harmful::forged_replies", forged_replies),
];

fn each_gets_its_outcome() {
    let bench = Bench::new(&SILU_MUL);
    let mut judge = bench.judge(Checks::default());
    let honest = bench.candidate(HONEST_SILU);
    let crash = |signal: i32| Outcome::Crashed(Crash::Signal(signal));
    let constructor = "__attribute__((constructor)) static void early() { for (;;) __asm__ volatile(\"\"); }
      extern \"C\" void candidate(void**) {}";
    let table = [
        ("segmentation fault", bench.candidate("*(volatile int*)8 = 1;"), crash(11)),
        ("far out of bounds", bench.candidate("Y[1ll << 40] = 1;"), crash(11)),
        ("abort", bench.candidate("abort();"), crash(6)),
        ("exit", bench.candidate("_Exit(0);"), Outcome::Crashed(Crash::Exit(0))),
        ("endless loop", bench.candidate("for (;;) __asm__ volatile(\"\");"), late()),
        ("endless loop on load", bench.whole(constructor, ""), late()),
        (
            "endless allocation",
            bench.candidate("for (;;) { volatile char* c = (char*)malloc(1 << 26); c[0] = 1; }"),
            crash(11),
        ),
    ];
    for (name, candidate, expected) in &table {
        let start = Instant::now();
        let outcome = judge.screen(candidate).expect("the machine works");
        println!("    {name}: {outcome} after {:.1?}", start.elapsed());
        assert_eq!(&outcome, expected, "{name}");
        assert!(start.elapsed() < Duration::from_secs(4));
        assert!(
            matches!(judge.screen(&honest), Ok(Outcome::Passed { .. })),
            "the session goes on after {name}"
        );
    }
}

fn late() -> Outcome {
    Outcome::TimedOut(Duration::from_secs(2))
}

fn cannot_be_loaded() {
    let bench = Bench::new(&SILU_MUL);
    let blocked = |candidate| match bench.full(&candidate, Checks::default()) {
        Outcome::Blocked(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert!(blocked(bench.whole("extern \"C\" void other(void**) {}", "")).contains("no entry `candidate`"));
    let undefined = "void elsewhere(); extern \"C\" void candidate(void**) { elsewhere(); }";
    assert!(blocked(bench.whole(undefined, "")).contains("cannot be loaded"));
    assert!(blocked(bench.with_args("", "ptr(t7)")).contains("ptr(t7)"));
    let mut garbage = bench.candidate(HONEST_SILU);
    garbage.artifact = garbage.artifact.with_extension("txt.o");
    std::fs::write(&garbage.artifact, "no object").expect("written");
    assert!(matches!(bench.full(&garbage, Checks::default()), Outcome::CompileFailed(_)));
    garbage.artifact = garbage.artifact.with_extension("absent");
    assert!(bench.judge(Checks::default()).full(&[garbage]).is_err(), "a missing file is ours");
}

/// More workspace than a runner can have ends the candidate and not the session; more tensors are the spec's.
fn absurd_workspaces() {
    let bench = Bench::new(&SILU_MUL);
    let honest = bench.candidate(HONEST_SILU);
    let asks = |bytes: i64| {
        let mut greedy = honest.clone();
        greedy
            .contract
            .workspace
            .push(WorkspacePart { bytes: IntExpr::Const(bytes), initial: Initial::Undefined });
        greedy
    };
    let is_blocked =
        |outcome: &Outcome| matches!(outcome, Outcome::Blocked(why) if why.contains("bytes of workspace"));
    let mut judge = bench.judge(Checks::default());
    for bytes in [1 << 30, 1 << 40, i64::MAX - 4096] {
        let greedy = asks(bytes);
        for judged in [judge.screen(&greedy), judge.full(&[greedy.clone(), honest.clone()])] {
            let outcome = judged.expect("the machine works");
            assert!(is_blocked(&outcome), "{bytes}: {outcome}");
        }
        assert!(matches!(judge.screen(&honest), Ok(Outcome::Passed { .. })), "the session goes on");
        let axes = [64, 64];
        let others = [greedy.clone(), greedy.clone(), greedy.clone(), honest.clone()];
        let ranked = judge.batch(&honest, &others, &axes, 2).expect("works");
        let blocked = ranked.iter().filter(|r| matches!(r, Err(outcome) if is_blocked(outcome))).count();
        assert!(blocked == 3 && ranked[3].is_ok(), "{ranked:?}");
        let timed = judge.compare(&greedy, &honest, &axes).expect("works");
        assert!(matches!(&timed, Err(outcome) if is_blocked(outcome)), "{timed:?}");
    }
    // an arena of tensors alone that is too long is nobody's outcome
    let mut narrow = bench.judge_with(|settings| settings.workers.limits.address_space = 8 << 10);
    assert!(narrow.screen(&honest).is_err() && narrow.screen(&asks(1 << 40)).is_err());
}

/// A candidate that writes into every descriptor can claim neither a pass nor a broken machine.
fn forged_replies() {
    let bench = Bench::new(&SILU_MUL);
    let forge = |line: &str| {
        let body = format!(
            "const char* s = {line:?}; for (int fd = 100; fd < 200; ++fd) write(fd, s, strlen(s)); for (;;) pause();"
        );
        let source = format!("#include <unistd.h>\nextern \"C\" void candidate(void** p) {{ {body} }}");
        bench.full(&bench.whole(&source, "ptr(t2)"), Checks::default())
    };
    for line in ["{\"failed\":\"out of memory\"}\n", "nonsense\n", "{\"ready\":{}}\n"] {
        let outcome = forge(line);
        println!("    {line:?}: {outcome}");
        assert!(matches!(outcome, Outcome::Crashed(Crash::Protocol(_))), "{outcome:?}");
    }
    let done = "{\"done\":{\"differing-repeats\":0}}\n";
    let outcome = forge(&done.repeat(40));
    println!("    forged results: {outcome}");
    assert!(!matches!(outcome, Outcome::Passed { .. }));
}
