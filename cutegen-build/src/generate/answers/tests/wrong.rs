//! Wrong and hostile answers, each with the line and the message that it must give.

use super::super::{ANSWER_MAX, PROBLEMS_MAX};
use super::{DIAGNOSE, FIRST, OF_WORDS, OPTIMISE, PATCH, SOURCE, WHOLE};
use super::{answer, edit, edits, fenced, log, plan, read};
use crate::generate::proposal::BYTES_MAX;
use crate::run_log::{Content, Diagnostic, Sequence};

const SYNC: &str = "  __syncthreads();\n";
const STORE: &str = "    y[row + at] = x[row + at] * scale;  // one product\n";
const NO_CONTRACT: &str = "no contract: a comment that begins with `// contract:` says how the kernel is launched, as \
                           `docs/proposals.md` shows";
const NO_FENCE: &str =
    "no line begins with ```: the source stands in one code block, its contract at the top";
const NO_EDIT: &str = "the block holds no edit: one begins with the line `<<<<<<< old`";
const ELSEWHERE: &str = "an edit in another place: edits stand in a code block that opens with ```edit";
const OPEN_EDIT: &str = "the edit that begins here does not end with the line `>>>>>>> new`";
const EMPTY_OLD: &str = "the old text is empty: name lines of the source that it replaces";
const EMPTY: &str = "the code block is empty: it holds the whole source, its contract at the top";
const DIFF: &str = "a unified diff is not read: give edits in a block ```edit, or the whole source";
const NO_WORDS: &str = "the answer is empty: say in words why the kernel failed, and what to change";

/// The diagnostics of an answer that cannot be read.
fn unreadable(request: Sequence, text: &str) -> Vec<Diagnostic> {
    match answer(request, text) {
        Content::Unreadable(told) => told,
        other => panic!("{other:?} of:\n{text}"),
    }
}

/// Each answer gives this line and this message, and nothing else.
fn check(cases: &[(Sequence, String, u32, &str)]) {
    for (request, text, line, message) in cases {
        let wanted = Diagnostic { line: Some(*line), message: (*message).to_owned() };
        assert_eq!(unreadable(*request, text), [wanted], "{}", text.chars().take(2000).collect::<String>());
    }
}

/// The source with a change, in a code block.
fn changed(from: &str, to: &str) -> String {
    assert!(SOURCE.contains(from), "{from}");
    fenced(&SOURCE.replacen(from, to, 1))
}

#[test]
fn no_kernel() {
    let open = "the code block that begins here does not end: close it with ```";
    check(&[
        (FIRST, String::new(), 1, NO_FENCE),
        (FIRST, "I cannot write kernels.\n".to_owned(), 1, NO_FENCE),
        (FIRST, "~~~\nint a;\n~~~\n".to_owned(), 1, NO_FENCE),
        (FIRST, format!("Here:\n```cuda\n{SOURCE}"), 2, open),
        (
            FIRST,
            fenced(SOURCE) + &fenced(SOURCE),
            18,
            "4 lines begin with ```: there is one code block, or none",
        ),
        (FIRST, fenced(SOURCE) + "```\n", 18, "3 lines begin with ```: there is one code block, or none"),
        (FIRST, "Sure:\n```cuda\n```\n".to_owned(), 3, EMPTY),
        (FIRST, "```\n \n\n```\n".to_owned(), 2, EMPTY),
        (FIRST, "\n\n```cuda\nint main() {}\n```\n".to_owned(), 4, NO_CONTRACT),
        (FIRST, "// only a comment\n".to_owned(), 1, NO_CONTRACT),
        (OPTIMISE, "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n```\n".to_owned(), 2, DIFF),
        (OPTIMISE, "```\n@@ -1 +1 @@\n-a\n+b\n```\n".to_owned(), 2, DIFF),
        (DIAGNOSE, String::new(), 1, NO_WORDS),
        (DIAGNOSE, " \n\t\u{200b}\u{feff}\0\n".to_owned(), 1, NO_WORDS),
    ]);
}

#[test]
fn contracts() {
    check(&[
        (FIRST, changed("// contract:", "//"), 2, NO_CONTRACT),
        (FIRST, changed("// A product", "#pragma once\n// A product"), 2, NO_CONTRACT),
        (FIRST, changed("'@ENTRY@'", "'@ENTRY@_b'"), 2, "entry `@ENTRY@_b` is not in the source"),
        (
            FIRST,
            changed("'@ENTRY@'", "'main'"),
            2,
            "entry `main` must begin with @ENTRY@, which stands for a symbol of ours",
        ),
        (
            FIRST,
            changed("'@ENTRY@'", "'@ENTRY@(/*'"),
            2,
            "entry `@ENTRY@(/*`: letters, digits and `_` may follow @ENTRY@",
        ),
        (FIRST, changed("{ d = [128] }", "{ q = [128] }"), 7, "`q` is no axis of the spec"),
        (FIRST, changed("['m']", "['m', 1, 1, 1]"), 4, "more than three dimensions"),
        (FIRST, changed("'axis(d)'", "'workspace(w0)'"), 5, "workspace has no part w0"),
    ]);
    for (from, to, line, part) in [
        ("'ptr(x)'", "'ptr(z)'", 5, "`ptr(z)` is no argument"),
        ("'scalar(scale)'", "'scalar(alpha)'", 5, "`scalar(alpha)` is no argument"),
        ("d % 8 == 0", "d % 8 == 1", 6, "EXPR % N == 0"),
        ("[128] }", "[128", 7, ""),
        ("block = [128]", "blok = [128]", 4, "unknown field `blok`"),
        ("block = [128]", "block = ['128 +']", 4, ""),
        ("<cstdint>", "<kit/redu.cuh>", 2, "redu.cuh"),
    ] {
        let told = unreadable(FIRST, &changed(from, to));
        assert_eq!((told.len(), told[0].line), (1, Some(line)), "{told:?}");
        assert!(told[0].message.contains(part), "{told:?}");
    }
    let two = SOURCE.replace("ptr(x)", "ptr(z)").replace("{ d = ", "{ q = ");
    let lines: Vec<Option<u32>> = unreadable(FIRST, &fenced(&two)).iter().map(|told| told.line).collect();
    assert_eq!(lines, [Some(5), Some(7)]);
}

#[test]
fn too_large() {
    let large = " ".repeat(BYTES_MAX);
    let bytes = SOURCE.len() + BYTES_MAX + 1;
    let told = format!("{bytes} bytes; at most 262144 are read");
    check(&[(FIRST, fenced(&format!("{SOURCE}{large}\n")), 2, &told)]);
    let text = format!("{}{}", fenced(SOURCE), " ".repeat(ANSWER_MAX));
    let told = format!("{} bytes; an answer has at most 1048576", text.len());
    check(&[(FIRST, text.clone(), 1, &told), (DIAGNOSE, text, 1, &told)]);
}

#[test]
fn characters_that_no_source_has() {
    let told = |name: &str| format!("{name}: a source has none, so write it again without it");
    for (c, name) in [
        ('\0', "the NUL character U+0000"),
        ('\u{1b}', "the control character U+001B"),
        ('\u{7}', "the control character U+0007"),
        ('\u{9b}', "the control character U+009B"),
        ('\u{202e}', "the bidirectional control U+202E"),
        ('\u{2067}', "the bidirectional control U+2067"),
        ('\u{200d}', "the invisible character U+200D"),
    ] {
        let line = format!("// one {c} product");
        check(&[
            (FIRST, changed("// one product", &line), 12, &told(name)),
            (FIRST, changed("by hand", &format!("by {c}")), 2, &told(name)),
            (PATCH, edits(&edit(STORE, &format!("{line}\n"))), 5, &told(name)),
        ]);
    }
    let lone = told("the control character U+000D");
    check(&[(FIRST, changed("  // one product", "\r// one product"), 12, &lone)]);
}

#[test]
fn bad_edits() {
    let twice = "the old text stands 2 times in the source, at lines 13, 14";
    let unknown = "`goto out;` is not in the source, and no line is like it";
    let nearest = "`y[row + at] = x[row + at] * alpha;` is not in the source; nearest is line 11, `y[row + at] = \
                   x[row + at] * scale;  // one product`";
    let torn = "the old lines do not stand in a row: behind line 7 the source has `extern \"C\" __global__ void \
                @ENTRY@(const float* x, float* y, int64_t d, float sc...`, and the old text `}`";
    let middle = "`>>>>>>> new`, where the line `=======` must come";
    let close = "`<<<<<<< old`, where the line `>>>>>>> new` must come";
    let outside = "`int a;`, where the line `<<<<<<< old` must come";
    let marker = "`>>>>>>> updated`, where the line `>>>>>>> new` must come";
    let second = "`=======`, where the line `>>>>>>> new` must come";
    let both = "this edit and that of line 2 both change line 13 of the source: make one of them";
    let pair = [SYNC, SYNC].concat();
    check(&[
        (PATCH, edits(&edit(SYNC, "")), 2, twice),
        (PATCH, edits(&edit("  goto out;\n", "")), 3, unknown),
        (PATCH, edits(&edit(&format!("{SYNC}    y[row + at] = x[row + at] * alpha;\n"), "")), 4, nearest),
        (PATCH, edits(&edit("#include <cstdint>\n}\n", "")), 4, torn),
        (PATCH, edits(&edit("", "int a;\n")), 2, EMPTY_OLD),
        (PATCH, edits(&edit("\n  \n", "int a;\n")), 2, EMPTY_OLD),
        (PATCH, edits(&(edit(&pair, "") + &edit(&pair, SYNC))), 7, both),
        (PATCH, edits(""), 2, NO_EDIT),
        (PATCH, edits("\n\n"), 2, NO_EDIT),
        (PATCH, edits("int a;\n"), 2, outside),
        (PATCH, edits(&format!("{}int a;\n", edit(STORE, ""))), 6, outside),
        (PATCH, edits("<<<<<<< old\nint a;\n>>>>>>> new\n"), 4, middle),
        (PATCH, edits("<<<<<<< old\na\n=======\n<<<<<<< old\n"), 5, close),
        (PATCH, edits("<<<<<<< old\na\n=======\nb\n>>>>>>> updated\n"), 6, marker),
        (PATCH, edits("<<<<<<< old\na\n=======\nb\n=======\n>>>>>>> new\n"), 6, second),
        (PATCH, edits("<<<<<<< old\na\n=======\nb\n"), 2, OPEN_EDIT),
        (PATCH, edits("\n<<<<<<< old\na\n"), 3, OPEN_EDIT),
        (PATCH, fenced(&edit(STORE, "")), 2, ELSEWHERE),
        (PATCH, format!("Change this:\n{}", edit(STORE, "")), 2, ELSEWHERE),
        (FIRST, fenced(&format!("{SOURCE}{}", edit(STORE, ""))), 17, ELSEWHERE),
    ]);
    let two = unreadable(PATCH, &edits(&(edit(SYNC, "") + &edit("", "int a;\n"))));
    assert_eq!(two.iter().map(|told| told.line).collect::<Vec<_>>(), [Some(2), Some(6)]);
}

#[test]
fn edits_of_nothing() {
    let text = format!("Here:\n{}", edits(&edit(STORE, "")));
    let none = "edits, and there is no source to edit: give the whole source";
    let words = "edits, and candidate 7 has no source that was read: give the whole source";
    let whole = "edits, where a whole source is asked for: give all of it in the code block";
    check(&[
        (FIRST, text.clone(), 2, none),
        (OF_WORDS, text.clone(), 2, words),
        (WHOLE, text.clone(), 2, whole),
        (99, text.clone(), 2, none),
    ]);
    let plan = plan();
    let wanted = Diagnostic { line: Some(2), message: none.to_owned() };
    assert_eq!(read(&plan, &log(&plan), None, &text), Content::Unreadable(vec![wanted]));
}

#[test]
fn messages_are_short_and_printable() {
    let args = vec!["'ptr(\u{1b}[2J)'"; 50].join(", ");
    let line = format!("  __syncthreads(\u{1b}\u{202e}{});\n", "x".repeat(5000));
    let many = unreadable(PATCH, &edits(&edit(&line, "")));
    assert!(many[0].message.contains("__syncthreads(\\u{1b}\\u{202e}xxx"), "{many:?}");
    assert!(many[0].message.chars().count() <= 400, "{many:?}");
    let many = unreadable(FIRST, &changed("'ptr(x)'", &args.replace('\u{1b}', "z")));
    assert_eq!(many.len(), PROBLEMS_MAX + 1);
    assert_eq!(many[PROBLEMS_MAX].message, "and 30 more of these");
}
