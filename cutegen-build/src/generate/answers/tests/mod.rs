//! Answers that are read, by kind; [`wrong`] has those that are not, [`mutated`] those that random bytes changed.

mod mutated;
mod swept;
mod wrong;

use cutegen_spec::edition::spec_file;

use super::read;
use crate::plan::Plan;
use crate::run_log::{
    Ask, Candidate, Content, Diagnostic, Entry, Kernel, Log, Request, RunId, Sequence, Start, digest,
};

/// A kernel of 15 lines; its lines 13 and 14 are equal.
const SOURCE: &str = "\
// A product by hand.
// contract:
// steps = [{ entry = '@ENTRY@', grid = ['m'], block = [128],
//            args = ['ptr(x)', 'ptr(y)', 'axis(d)', 'scalar(scale)'] }]
// eligibility = 'd % 8 == 0'
// tiles = { d = [128] }
#include <cstdint>
extern \"C\" __global__ void @ENTRY@(const float* x, float* y, int64_t d, float scale) {
  const int64_t row = int64_t(blockIdx.x) * d;
  for (int64_t at = threadIdx.x; at < d; at += 128) {
    y[row + at] = x[row + at] * scale;  // one product
  }
  __syncthreads();
  __syncthreads();
}
";

/// Requests of [`log`].
const FIRST: Sequence = 1;
const OPTIMISE: Sequence = 3;
const WHOLE: Sequence = 4;
const DIAGNOSE: Sequence = 5;
const PATCH: Sequence = 6;
/// The kernel that these are about.
const PARENT: Sequence = 2;
/// A patch of a candidate without a kernel.
const OF_WORDS: Sequence = 8;

fn plan() -> Plan {
    let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=64', d = '8..=512' }\ninputs = { x = 'f32[m, d]' }\n\
                scalars = { scale = 'f32' }\noutputs = { y = 'f32[m, d]' }\nmath = 'y[m, d] = x[m, d] * scale'\n\
                targets = ['sm_90a']\n";
    Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
}

fn request(ask: Ask, about: Option<Sequence>) -> Entry {
    let (version, prompt) = ("general-1".to_owned(), digest("a prompt"));
    Entry::Request(Request { ask, about, idea: None, version, prompt, bytes: 8 })
}

fn candidate(request: Sequence, text: &str, content: Content) -> Entry {
    let (by, text) = ("a test".to_owned(), text.to_owned());
    Entry::Candidate(Candidate::new(Some(request), by, text, content))
}

/// A run with a kernel, and with requests of each kind that no answer has come to.
fn log(plan: &Plan) -> Log {
    let start = Start {
        version: 1,
        run: RunId::parse("a-run").expect("a name"),
        kernel: "k".to_owned(),
        target: "sm_90a".to_owned(),
        key: String::new(),
        strategy: "refine".to_owned(),
        prompts: 1,
        kit: digest(""),
        gate: 7,
        experience: None,
        bank: Vec::new(),
        settings: Default::default(),
    };
    let mut log = Log::new(start);
    log.push(request(Ask::First, None));
    log.push(candidate(FIRST, SOURCE, read(plan, &log, Some(FIRST), SOURCE)));
    for ask in [Ask::Optimise, Ask::Whole, Ask::Diagnose, Ask::Patch] {
        log.push(request(ask, Some(PARENT)));
    }
    log.push(candidate(DIAGNOSE, "words", Content::Words));
    log.push(request(Ask::Patch, Some(7)));
    log
}

fn answer(request: Sequence, text: &str) -> Content {
    let plan = plan();
    read(&plan, &log(&plan), Some(request), text)
}

fn kernel(request: Sequence, text: &str) -> Kernel {
    match answer(request, text) {
        Content::Kernel(kernel) => kernel,
        other => panic!("{other:?} of:\n{text}"),
    }
}

/// A source in a code block.
fn fenced(source: &str) -> String {
    format!("```cuda\n{source}```\n")
}

fn edit(old: &str, new: &str) -> String {
    format!("<<<<<<< old\n{old}=======\n{new}>>>>>>> new\n")
}

fn edits(text: &str) -> String {
    format!("```edit\n{text}```\n")
}

#[test]
fn a_whole_source_keeps_its_letters_and_its_place() {
    let source = SOURCE.replace("block = [128]", "block = [256]").replace("+= 128", "+= 256");
    let around = ["Hypothesis: more threads\n\n", "Predicted: 1.25x\n"];
    let text = format!("{}{}{}", around[0], fenced(&source), around[1]);
    for request in [OPTIMISE, WHOLE, PATCH, FIRST] {
        let kernel = kernel(request, &text);
        assert_eq!((&kernel.source, kernel.first_line), (&source, Some(4)));
        assert_eq!((kernel.hypothesis.as_deref(), kernel.predicted), (Some("more threads"), Some(1.25)));
        assert_eq!(kernel.name, format!("m-{}", &kernel.identity.to_string()[..8]));
    }
    let bare = kernel(FIRST, &source);
    assert_eq!(
        (bare.source, bare.first_line, bare.hypothesis, bare.predicted),
        (source, Some(1), None, None)
    );
}

#[test]
fn other_line_ends_and_empty_lines_before_a_source_are_left_out() {
    let source = SOURCE.replace("% 8", "% 4");
    let text = format!("\u{feff}Here:\n```\n\n  \n{source}```\n").replace('\n', "\r\n");
    let kernel = kernel(FIRST, &text);
    assert_eq!((kernel.source, kernel.first_line), (source, Some(5)));
}

#[test]
fn edits_change_their_lines_alone() {
    let text =
        edit("  const int64_t row = int64_t(blockIdx.x) * d;\n", "  const int64_t row = d * blockIdx.x;\n")
            + "\n"
            + &edit("  __syncthreads();\n  __syncthreads();\n", "");
    let text = format!("{}\n**Hypothesis:** no barrier\nPredicted: 2x\n", edits(&text));
    let wanted = SOURCE
        .replace("int64_t(blockIdx.x) * d", "d * blockIdx.x")
        .replace("  __syncthreads();\n  __syncthreads();\n", "");
    for request in [OPTIMISE, PATCH] {
        for text in [text.clone(), text.replace('\n', "\r\n"), text.replace("* d;\n", "* d;  \n")] {
            let kernel = kernel(request, &text);
            assert_eq!((&kernel.source, kernel.first_line), (&wanted, None));
            assert_eq!((kernel.hypothesis.as_deref(), kernel.predicted), (Some("no barrier"), Some(2.0)));
        }
    }
}

#[test]
fn a_problem_of_an_edited_source_has_a_line_of_the_answer() {
    let text = edits(&edit("// tiles = { d = [128] }\n", "// tiles = { d = [128],\n//   q = [4] }\n"));
    let told = |text: &str| match answer(PATCH, text) {
        Content::Unreadable(told) => told,
        other => panic!("{other:?}"),
    };
    let message = "`q` is no axis of the spec".to_owned();
    assert_eq!(told(&text), [Diagnostic { line: Some(6), message }]);
    let text =
        edits(&edit("// eligibility = 'd % 8 == 0'\n", "// workspace = [{ bytes = 8, initial = 'zero' }]\n"));
    assert_eq!(told(&text)[0].line, Some(5));
    let text = edits(&edit("//            args = ['ptr(x)', 'ptr(y)', 'axis(d)', 'scalar(scale)'] }]\n", ""));
    let told = told(&text);
    assert_eq!(told[0].line, Some(2), "the line at fault is the parent's");
    assert!(told[0].message.starts_with("line 5 of the edited source: missing comma"), "{told:?}");
}

#[test]
fn what_was_tried_is_a_repeat() {
    let same = Content::Repeat { of: PARENT };
    let remark = SOURCE.replace("by hand", "by another hand");
    let blanks = SOURCE.replace("  // one product", " /* a product */").replace(" = x[", "\n =  x[");
    let nothing = edits(&edit("#include <cstdint>\n", "#include <cstdint>  // for int64_t\n"));
    for text in [fenced(SOURCE), SOURCE.to_owned(), fenced(&remark), fenced(&blanks), nothing] {
        assert_eq!(answer(OPTIMISE, &text), same, "{text}");
    }
    for (from, to) in [("block = [128]", "block = [64]"), ("d % 8", "d % 4"), ("* scale;", "* (scale);")] {
        let other = fenced(&SOURCE.replace(from, to));
        assert!(matches!(answer(OPTIMISE, &other), Content::Kernel(_)), "{from}: {to}");
    }
    let contract = SOURCE.replace("block = [128]", "block = [64]").replace("  // one product", "");
    assert!(matches!(answer(OPTIMISE, &fenced(&contract)), Content::Kernel(_)), "the contract counts");
}

#[test]
fn an_answer_is_no_repeat_of_itself_and_steps_back_are_repeats() {
    let plan = plan();
    let mut log = log(&plan);
    assert_eq!(read(&plan, &log, Some(OPTIMISE), &fenced(SOURCE)), Content::Repeat { of: PARENT });
    let text = edits(&edit("  __syncthreads();\n  __syncthreads();\n", "  __syncthreads();\n"));
    let content = read(&plan, &log, Some(OPTIMISE), &text);
    let child = log.push(candidate(OPTIMISE, &text, content.clone()));
    assert_eq!(read(&plan, &log, Some(OPTIMISE), &text), content, "a replay reads what was read");
    let back = log.push(request(Ask::Optimise, Some(child)));
    let text = edits(&edit("  __syncthreads();\n", "  __syncthreads();\n\n  __syncthreads();\n"));
    assert_eq!(read(&plan, &log, Some(back), &text), Content::Repeat { of: PARENT });
    assert_eq!(read(&plan, &log, None, &fenced(SOURCE)), Content::Repeat { of: PARENT });
}

#[test]
fn a_diagnosis_is_words_whatever_it_holds() {
    for text in ["the barrier is missing", "```cuda\nint a;\n```\n```\n", SOURCE] {
        assert_eq!(answer(DIAGNOSE, text), Content::Words);
    }
}
