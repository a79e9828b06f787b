//! The rules of STYLE.md and ARCHITECTURE.md that neither rustfmt nor clippy can hold.
//!
//! A rule is a function from a file's path and text to findings, or from all files where one file can't tell. Each
//! has a test over the tree, here, and a test beside it that plants a violation: a rule that never fired proves
//! nothing.

mod commits;
mod cycles;
mod docs;
mod imports;
mod layering;
mod parameters;
mod purity;
mod safety;
mod shape;
mod source;
mod tree;
mod words;

use tree::{File, files};

/// One violation, at a line of the file that was looked at.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    what: String,
}

impl Finding {
    fn new(line: usize, what: impl Into<String>) -> Finding {
        Finding { line, what: what.into() }
    }
}

/// A rule that one file decides.
type FileRule = fn(path: &str, text: &str) -> Vec<Finding>;

/// A rule that needs to see every file; each finding names its own.
type TreeRule = fn(files: &[File]) -> Vec<String>;

fn hold(rule: FileRule) {
    let of = |file: &File| {
        let found = rule(&file.path, &file.text).into_iter();
        found.map(|finding| format!("{}:{}: {}", file.path, finding.line, finding.what)).collect::<Vec<_>>()
    };
    report(files().iter().flat_map(of).collect());
}

fn hold_all(rule: TreeRule) {
    report(rule(files()));
}

fn report(found: Vec<String>) {
    assert!(found.is_empty(), "{} found:\n{}\n", found.len(), found.join("\n"));
}

#[test]
fn every_rust_file_opens_with_its_module_doc() {
    hold(shape::module_doc);
}

#[test]
fn no_rust_file_is_too_long() {
    hold(shape::length);
}

#[test]
fn the_median_rust_file_is_short() {
    hold_all(shape::median_length);
}

#[test]
fn no_function_has_too_many_parameters() {
    hold(parameters::parameters);
}

#[test]
fn every_suite_file_is_declared() {
    hold_all(shape::declared);
}

#[test]
fn no_run_artefact_is_committed() {
    hold(shape::artefact);
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    hold(shape::machine_path);
}

#[test]
fn manifests_depend_in_one_direction() {
    hold(layering::manifest);
}

#[test]
fn crates_import_in_one_direction() {
    hold(layering::crates);
}

#[test]
fn pipeline_stages_import_in_one_direction() {
    hold(layering::stages);
}

#[test]
fn processes_import_in_one_direction() {
    hold(layering::processes);
}

#[test]
fn doc_comments_get_no_longer_sentences() {
    hold_all(words::sentences);
}

#[test]
fn banned_words_are_in_no_name_or_doc_comment() {
    hold(words::banned);
}

#[test]
fn folders_form_no_circle() {
    hold_all(cycles::folders);
}

#[test]
fn effects_stay_in_the_files_that_own_them() {
    hold(purity::confined);
}

#[test]
fn pure_modules_do_no_input_or_output() {
    hold(purity::pure);
}

#[test]
fn commits_say_what_to_do() {
    hold_all(commits::subjects);
}

#[test]
fn library_code_does_not_panic_by_habit() {
    hold(safety::panics);
}

#[test]
fn unsafe_stays_in_the_audited_files() {
    hold(safety::unsafe_place);
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    hold(safety::unsafe_reason);
}

#[test]
fn the_documents_exist() {
    hold_all(docs::documents_exist);
}

#[test]
fn documents_name_paths_that_exist() {
    hold_all(docs::paths_exist);
}

#[test]
fn short_documents_stay_short() {
    hold(docs::short);
}

#[test]
fn documents_know_the_gate_s_revision() {
    hold_all(docs::revisions);
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    hold(docs::changelog);
}

#[test]
fn the_readme_marks_the_commands_that_ci_runs() {
    hold(docs::readme_commands);
}

#[test]
fn kernels_in_documents_are_kernels() {
    hold_all(docs::shown_kernels);
}

#[test]
fn just_recipes_are_the_ci_steps() {
    hold_all(docs::recipes);
}
