//! Faults planted on the device. Each gets its outcome, costs at most one runner, and the session goes on.

use cutegen_build::evaluate::{Candidate, Crash, Fault, Judge, Outcome};

use crate::Test;
use crate::bench::{self, HONEST, PRELUDE, STEP};

pub(crate) const TESTS: &[Test] = &[
    ("faults::honest_passes_in_full", honest_passes_in_full),
    ("faults::each_gets_its_outcome", each_gets_its_outcome),
    ("faults::what_cannot_be_launched_is_blocked", what_cannot_be_launched_is_blocked),
    ("faults::other_parameters_are_blocked", other_parameters_are_blocked),
];

struct Planted {
    name: &'static str,
    /// The kernel's body, after `i`.
    body: &'static str,
    /// Code before the kernel.
    head: &'static str,
    is_right: fn(&Outcome) -> bool,
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "out of bounds by one",
        head: "",
        body: "if (i <= m * n) y[i] = one(x[i], g[i]);",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::OutOfBounds { .. })),
    },
    Planted {
        name: "writes nothing",
        head: "",
        body: "",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::Unwritten { .. })),
    },
    Planted {
        name: "skips the tail",
        head: "",
        body: "if (i < m * n / 8 * 8) y[i] = one(x[i], g[i]);",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::Unwritten { .. })),
    },
    Planted {
        name: "computes once per module",
        head: "__device__ int done[1 << 16];",
        body: "if (i < m * n && !done[i & 65535]) { y[i] = one(x[i], g[i]); done[i & 65535] = 1; }",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::StateKept { .. })),
    },
    Planted {
        name: "writes an input",
        head: "",
        body: "if (i < m * n) { y[i] = one(x[i], g[i]); const_cast<bf16*>(x)[i] = y[i]; }",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::InputWritten { .. })),
    },
    Planted {
        name: "takes one operand for the other",
        head: "",
        body: "if (i < m * n) y[i] = one(g[i], x[i]);",
        is_right: |o| matches!(o, Outcome::Incorrect(Fault::Value { .. } | Fault::NonFinite { .. })),
    },
    Planted {
        name: "null pointer",
        head: "",
        body: "if (i < m * n) *(volatile int*)nullptr = 1;",
        is_right: |o| matches!(o, Outcome::Crashed(Crash::Device(reason)) if reason.contains("ILLEGAL_ADDRESS")),
    },
    Planted {
        name: "misaligned access",
        head: "",
        body: "if (i < m * n) *(volatile int*)((char*)y + 1) = 1;",
        is_right: |o| matches!(o, Outcome::Crashed(Crash::Device(reason)) if reason.contains("MISALIGNED")),
    },
    Planted {
        name: "trap",
        head: "",
        body: "asm volatile(\"trap;\");",
        is_right: |o| matches!(o, Outcome::Crashed(Crash::Device(_))),
    },
    Planted {
        name: "hang",
        head: "",
        body: "for (volatile int spin = 0;; ++spin) {}",
        is_right: |o| matches!(o, Outcome::TimedOut(_)),
    },
];

impl Planted {
    fn source(&self) -> String {
        let kernel = "extern \"C\" __global__ void candidate(PARAMETERS) {\n  const long long i = INDEX;\n";
        format!("{PRELUDE}{}\n{kernel}  (void)i;\n  {}\n}}\n", self.head, self.body)
    }
}

/// The candidate with this fault.
pub(crate) fn planted(name: &str) -> Candidate {
    candidate(find(name))
}

/// Judges the candidate with this fault, which gets its outcome.
pub(crate) fn falls(judge: &mut Judge, name: &str) {
    let (planted, start) = (find(name), std::time::Instant::now());
    let outcome = judge.screen(&candidate(planted)).expect("the machine works");
    println!("    {name}: {outcome} after {:.1?}", start.elapsed());
    assert!((planted.is_right)(&outcome), "{name}: {outcome:?}");
}

fn find(name: &str) -> &'static Planted {
    PLANTED.iter().find(|planted| planted.name == name).expect("a planted fault")
}

fn candidate(planted: &Planted) -> Candidate {
    bench::candidate(&planted.source(), &["candidate"], STEP)
}

pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    let planted = PLANTED.iter().map(Planted::source);
    planted.chain([format!("{PRELUDE}{HONEST}"), narrow()]).map(|source| (source, vec!["candidate"]))
}

fn honest_passes_in_full() {
    let outcome = bench::judge().full(&[bench::honest()]).expect("the machine works");
    println!("    {outcome}");
    assert!(matches!(outcome, Outcome::Passed { .. }));
}

fn each_gets_its_outcome() {
    let mut judge = bench::judge();
    for planted in PLANTED {
        falls(&mut judge, planted.name);
        bench::passes(&mut judge, &bench::honest());
    }
}

/// Contracts that do not fit kernel or device.
fn what_cannot_be_launched_is_blocked() {
    let mut judge = bench::judge();
    let table = [
        (STEP.replace("block = [\"256\"", "block = [\"2048\""), "block.x"),
        (STEP.replace("ceil_div(a0 * a1, 256)\", \"1\"", "1\", \"70000\""), "grid.y"),
        (format!("{STEP}smem = \"300000\"\n"), "dynamic shared memory"),
        (
            format!("{STEP}cluster = [\"3\", \"1\", \"1\"]\n").replace("ceil_div(a0 * a1, 256)", "4"),
            "no multiple",
        ),
        (STEP.replace("\"candidate\"", "\"other\""), "no kernel `other`"),
        (STEP.replace("ptr(t1)", "ptr(t9)"), "ptr(t9)"),
        (
            format!("{STEP}co-resident = true\n").replace("ceil_div(a0 * a1, 256)", "1000000"),
            "resident at once",
        ),
    ];
    for (contract, expected) in table {
        let candidate = bench::candidate(&format!("{PRELUDE}{HONEST}"), &["candidate"], &contract);
        match judge.screen(&candidate).expect("the machine works") {
            Outcome::Blocked(reason) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{expected}: {other:?}"),
        }
        bench::passes(&mut judge, &bench::honest());
    }
}

/// The honest kernel with axes as `int`: right by chance, as arguments are words.
fn narrow() -> String {
    format!("{PRELUDE}{HONEST}").replace("long long m, long long n", "int m, int n")
}

fn other_parameters_are_blocked() {
    let candidate = bench::candidate(&narrow(), &["candidate"], STEP);
    match bench::judge().screen(&candidate).expect("the machine works") {
        Outcome::Blocked(reason) => assert!(reason.contains("parameter 3 has 4 bytes"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
