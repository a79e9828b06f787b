//! What must not compile, with what the compiler says; the wrappers are the committed ones of the example.

/// `TRYBUILD=overwrite` rewrites what is said.
#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/right.rs");
    for wrong in [
        "missing_field",
        "misnamed_field",
        "wrong_dtype",
        "wrong_rank",
        "shared_output",
        "same_output_twice",
        "input_is_output",
        "missing_workspace",
        "wrong_kernel",
        "host_memory",
        "raw_is_unsafe",
        "positions_are_unsafe",
    ] {
        cases.compile_fail(format!("ui/{wrong}.rs"));
    }
}
