//! Rules on panics and `unsafe` in shipped code. Edit the table of audited files here.

use super::Finding;
use super::source::{is_shipped, is_test, lines_with, mask, shipped};

/// Habits that turn a user's mistake into a panic; `expect` with its reason is for invariants.
const PANICS: &[&str] = &[".unwrap()", ".unwrap_err()", "todo!", "unimplemented!", "dbg!"];

/// Files and folders that may say `unsafe`; the emitter prints it.
const UNSAFE_OWNERS: &[&str] = &[
    "cutegen-runtime/src/host/",
    "cutegen-runtime/src/cuda/",
    "cutegen-runtime/src/emitted.rs",
    "cutegen-build/src/toolchain/dynamic.rs",
    "cutegen-build/src/toolchain/nvjitlink.rs",
    "cutegen-build/src/toolchain/nvrtc.rs",
    "cutegen-build/src/compile/",
    "cutegen-build/src/evaluate/",
    "cutegen-build/src/emit/",
    // the end of a program's group
    "cutegen-build/src/ask/group.rs",
    // the call that exchanges two names
    "cutegen-build/src/store/exchange.rs",
    // captures, two streams, a raw launch to compare with
    "example-app/src/bin/",
    "tests/",
];

/// Shipped code names no panic of [`PANICS`].
pub(super) fn panics(path: &str, text: &str) -> Vec<Finding> {
    if !is_shipped(path) {
        return Vec::new();
    }
    let code = shipped(text);
    let hits =
        PANICS.iter().flat_map(|word| lines_with(&code, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| Finding::new(line, format!("`{word}` in library code"))).collect()
}

/// `unsafe` stands only in [`UNSAFE_OWNERS`].
pub(super) fn unsafe_place(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with(".rs") || is_test(path) || UNSAFE_OWNERS.iter().any(|owner| path.starts_with(owner)) {
        return Vec::new();
    }
    let lines = lines_with(&shipped(text), "unsafe").into_iter();
    lines.map(|line| Finding::new(line, "`unsafe` outside the audited files")).collect()
}

/// Above the statement of each `unsafe` block or impl stands a comment with `SAFETY:`; in tokens to be emitted, which
/// hold no comments, the doc attribute that is emitted as one.
pub(super) fn unsafe_reason(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with(".rs") || path.starts_with("tests/golden/") {
        return Vec::new();
    }
    let code = mask(text);
    let (code, text): (Vec<&str>, Vec<&str>) = (code.lines().collect(), text.lines().collect());
    let opens = |line: &&str| {
        ["unsafe {", "unsafe_block! {", "unsafe impl"].iter().any(|word| !lines_with(line, word).is_empty())
    };
    let blocks = code.iter().enumerate().filter(|(_, line)| opens(line)).map(|(index, _)| index);
    let bare = blocks.filter(|index| !is_explained(*index, &code, &text));
    bare.map(|index| Finding::new(index + 1, "`unsafe` without a `// SAFETY:` comment above it")).collect()
}

fn is_explained(block: usize, code: &[&str], text: &[&str]) -> bool {
    let says =
        |index: usize| ["// SAFETY:", "#[doc = \" SAFETY:"].iter().any(|word| text[index].contains(word));
    if says(block) {
        return true;
    }
    for index in (0..block).rev() {
        let line = code[index].trim_end();
        if says(index) {
            return true;
        }
        // a comment line goes on looking, and so does a statement that hasn't ended
        let ended = line.ends_with([';', '{', '}', ',']);
        if ended || text[index].trim().is_empty() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_panic_is_found() {
        for word in PANICS {
            let text = format!("fn f() {{ x{word} }}")
                .replace("xtodo", "todo")
                .replace("xuni", "uni")
                .replace("xdbg", "dbg");
            assert_eq!(panics("cutegen-build/src/x.rs", &text).len(), 1, "{word}");
            assert_eq!(panics("cutegen-build/src/x/tests.rs", &text), []);
        }
        assert_eq!(panics("cutegen-build/src/x.rs", "//! `.unwrap()`\nfn f() { x.unwrap_or(1) }"), []);
    }

    #[test]
    fn unsafe_outside_the_table_is_found() {
        let text = "fn f() { unsafe { g() } }";
        assert_eq!(unsafe_place("cutegen-build/src/plan.rs", text).len(), 1);
        assert_eq!(unsafe_place("example-app/src/main.rs", text).len(), 1);
        assert_eq!(unsafe_place("cutegen-runtime/src/cuda/launch.rs", text), []);
        assert_eq!(unsafe_place("cutegen-build/src/plan.rs", "#![forbid(unsafe_code)] // unsafe"), []);
    }

    #[test]
    fn an_unexplained_unsafe_block_is_found() {
        for text in [
            "fn f() {\n    unsafe { g() }\n}",
            "// SAFETY: for another statement\nlet a = 1;\nlet b = unsafe { g() };",
            "// SAFETY: too far\n\nunsafe impl Send for X {}",
            "let text = \"SAFETY:\"; unsafe { g() }",
        ] {
            assert_eq!(unsafe_reason("cutegen-build/src/x.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn an_explained_unsafe_block_passes() {
        for text in [
            "// SAFETY: g has no precondition\nunsafe { g() }",
            "// SAFETY: g has no precondition,\n// and never had\nlet a =\n    unsafe { g() };",
            "type F = unsafe extern \"C\" fn();",
        ] {
            assert_eq!(unsafe_reason("cutegen-build/src/x.rs", text), [], "{text}");
        }
    }
}
