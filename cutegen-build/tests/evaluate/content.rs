//! What is inside an artifact. Bytes may come from a store, whose digests say that they were accepted and not what they
//! are: the gate looks for itself.

use cutegen_build::evaluate::{Check, Checks, Outcome};

use crate::Test;
use crate::bench::Bench;
use crate::kernels::SILU_MUL;

pub(crate) const TESTS: &[Test] = &[
    ("content::honest_objects_pass", honest_objects_pass),
    ("content::what_is_beside_the_entry_is_seen", what_is_beside_the_entry_is_seen),
    ("content::what_linkers_disagree_about_is_seen", what_linkers_disagree_about_is_seen),
    ("content::another_entry_is_seen", another_entry_is_seen),
];

/// Texts beside an honest kernel, and what is said of them.
const BESIDE: [(&str, &str); 5] = [
    (
        "__attribute__((constructor)) static void before() { setenv(\"CUTEGEN_SEEN\", \"1\", 1); }",
        "section `.init_array`: no constructors, destructors or thread-locals",
    ),
    ("static volatile int calls; extern \"C\" int count() { return ++calls; }", "no mutable statics"),
    ("extern \"C\" void exp2f_(float*) {}", "`exp2f_` is visible outside"),
    ("__attribute__((used)) static void out() { system(\"true\"); }", "calls `system`"),
    (
        "__attribute__((used)) static float one() { static thread_local float x = 1; return x += 1; }",
        "no constructors, destructors or thread-locals",
    ),
];

/// Assembly beside an honest kernel that linkers treat each in their own way, and what is said of it.
const MADE: [(&str, &str); 9] = [
    (".reloc ., R_X86_64_NONE; nop", "a relocation that is no distance to code or constants"),
    (".section .deplibs,\\\"MS\\\",@0x6fff4c04,1; .asciz \\\"other.o\\\"", "section `.deplibs`: only code"),
    (".section .gnu.lto_x,\\\"e\\\",@progbits; .byte 1", "section `.gnu.lto_x`: only code"),
    (".section .gnu.warning.write; .asciz \\\"said\\\"", "section `.gnu.warning.write`: only code"),
    (".section .text.one,\\\"axG\\\",@progbits,one,comdat; ret", "only code, constants"),
    (".section .rodata.x,\\\"ax\\\",@progbits; ret", "section `.rodata.x`: only code"),
    (".section .data.rel.roX,\\\"aw\\\",@progbits; .quad 1", "no mutable statics"),
    (".section __libc_atexit,\\\"a\\\",@progbits; .quad 0", "section `__libc_atexit`: only code"),
    (
        ".section .rodata.y,\\\"a\\\",@progbits; .reloc ., R_X86_64_NONE; .byte 1",
        "constants may hold numbers, not addresses",
    ),
];

fn honest_objects_pass() {
    let bench = Bench::inspecting(&SILU_MUL);
    bench.passes(&bench.candidate(SILU_MUL.honest), Checks::default());
}

fn what_is_beside_the_entry_is_seen() {
    let bench = Bench::inspecting(&SILU_MUL);
    for (beside, said) in BESIDE {
        let entry = format!("extern \"C\" void candidate(void** p) {{\n{}\n}}\n", SILU_MUL.honest);
        let candidate = bench.whole(&format!("{}\n{beside}\n{entry}", SILU_MUL.arguments), SILU_MUL.args);
        let outcome = bench.full(&candidate, Checks::default());
        let is_seen = matches!(&outcome, Outcome::Blocked(reason) if reason.contains(said));
        assert!(is_seen, "{beside}: {outcome:?}");
        bench.passes(&candidate, Checks::default().without(Check::Content));
    }
}

fn what_linkers_disagree_about_is_seen() {
    let bench = Bench::inspecting(&SILU_MUL);
    for (made, said) in MADE {
        let beside = format!("__asm__(\"{made}; .text\");");
        let entry = format!("extern \"C\" void candidate(void** p) {{\n{}\n}}\n", SILU_MUL.honest);
        let candidate = bench.whole(&format!("{}\n{beside}\n{entry}", SILU_MUL.arguments), SILU_MUL.args);
        let outcome = bench.full(&candidate, Checks::default());
        let is_seen = matches!(&outcome, Outcome::Blocked(reason) if reason.contains(said));
        assert!(is_seen, "{beside}: {outcome:?}");
    }
}

/// What is judged under one name is not linked under another.
fn another_entry_is_seen() {
    let bench = Bench::inspecting(&SILU_MUL);
    let mut candidate = bench.candidate(SILU_MUL.honest);
    candidate.contract.steps[0].entry = "other".to_owned();
    let outcome = bench.full(&candidate, Checks::default());
    let is_seen = matches!(&outcome, Outcome::Blocked(reason) if reason.contains("no function `other`"));
    assert!(is_seen, "{outcome:?}");
}
