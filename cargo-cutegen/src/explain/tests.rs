//! Pages against codes, and each page's examples against the reader. `UPDATE_GOLDEN=1` writes the messages that the
//! reader gives now into the pages.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::render;
use cutegen_spec::diagnostic::{CODES, Code};
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::hint::same_dtype;
use cutegen_spec::settings::Settings;

use super::page::{PAGES, find, is_code};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors")
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let paged: Vec<Code> = PAGES.iter().map(|page| page.code).collect();
    assert_eq!(paged, CODES);
    let mut files: Vec<String> = fs::read_dir(folder())
        .expect("docs/errors is a folder")
        .map(|item| item.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files, CODES.map(|code| format!("{code}.md")));
    for page in &PAGES {
        assert!(page.text.starts_with(&format!("# {}: {}\n\n", page.code, page.title())), "{}", page.code);
    }
}

#[test]
fn wrong_examples_give_their_code_and_right_ones_nothing() {
    for page in &PAGES {
        assert_eq!(codes(page.text, "wrong"), [page.code], "{} wrong", page.code);
        assert_eq!(codes(page.text, "right"), [], "{} right", page.code);
    }
}

#[test]
fn messages_on_pages_are_the_real_ones() {
    for page in &PAGES {
        let wrong = block(page.text, "```toml wrong\n").unwrap_or_default();
        let error = &spec_file(wrong, &Settings::default()).errors[0];
        let message = format!("{}\n", render::error(Path::new("kernels.toml"), wrong, error));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let file = folder().join(format!("{}.md", page.code));
            fs::write(file, with_message(page.text, &message)).expect("written");
            continue;
        }
        let shown = block(page.text, "```text\n");
        assert_eq!(shown, Some(message.as_str()), "{}; UPDATE_GOLDEN=1 rewrites it", page.code);
    }
}

/// Rows of "Often meant": in the page's right example, the left math gives the page's code and the right one nothing.
#[test]
fn what_is_often_meant_is_wrong_and_right() {
    let mut rows = 0;
    for page in &PAGES {
        let right = block(page.text, "```toml right\n").unwrap_or_default();
        let (_, meant) = page.text.split_once("## Often meant\n").unwrap_or_default();
        for row in meant.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            let [wrong, write] = cells.as_slice() else { panic!("{}: {row}", page.code) };
            assert_eq!(codes_with(right, wrong), [page.code], "{wrong}");
            assert_eq!(codes_with(right, write), [], "{write}");
            rows += 1;
        }
    }
    assert!(rows >= 20, "{rows}");
}

/// The codes of `spec` with other math.
fn codes_with(spec: &str, math: &str) -> Vec<Code> {
    let line = spec.lines().find(|line| line.starts_with("math ")).expect("every example has math");
    let text = spec.replace(line, &format!("math = '{math}'"));
    spec_file(&text, &Settings::default()).errors.iter().map(|error| error.code).collect()
}

#[test]
fn the_page_of_tensors_lists_every_dtype() {
    let page = find("CG005").expect("a page").text;
    let (_, table) = page.split_once("| dtype |").expect("a table");
    for dtype in DType::ALL {
        let row = table.lines().find(|row| row.contains(&format!("`{dtype}`")));
        let (_, others) =
            row.unwrap_or_default().trim_end_matches(" |").rsplit_once("| ").unwrap_or_default();
        assert!(!others.is_empty(), "{dtype}");
    }
    let rows = table.lines().filter(|row| row.starts_with("| `"));
    for (own, other) in rows.filter_map(|row| row.split_once(" | ")) {
        for name in other.trim_end_matches(" |").split(", ").filter(|name| *name != "fp8") {
            let dtype = same_dtype(name).map(|dtype| format!("`{dtype}`")).unwrap_or_default();
            assert!(own.contains(&dtype) && !dtype.is_empty(), "{name} is {dtype}");
        }
    }
}

#[test]
fn codes_are_found_by_any_spelling() {
    for word in ["CG012", "cg012", "12", "CG12", " 012"] {
        assert!(is_code(word), "{word}");
        assert_eq!(find(word).map(|page| page.code), Ok(Code(12)), "{word}");
    }
    let told = |word| find(word).err().unwrap_or_default();
    assert_eq!(told("CG08"), "there is no code `CG08`\nrun: cargo cutegen explain");
    assert_eq!(told("9999"), "there is no code `9999`\nrun: cargo cutegen explain");
    assert!(!["", "cg", "cg12x", "rms_norm"].into_iter().any(is_code));
}

/// The codes of the errors in the page's example of this kind.
fn codes(page: &str, kind: &str) -> Vec<Code> {
    let text = block(page, &format!("```toml {kind}\n")).expect("a page has both examples");
    let document = spec_file(text, &Settings::default());
    assert!(!document.errors.is_empty() || document.kernels.len() == 1, "one kernel, or an error");
    document.errors.iter().map(|error| error.code).collect()
}

/// The text of the fenced block that `opens` with this line.
fn block<'a>(page: &'a str, opens: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(opens)?;
    rest.split_once("```\n").map(|(text, _)| text)
}

/// The page with `message` between the wrong example and the right one.
fn with_message(page: &str, message: &str) -> String {
    let wrong = block(page, "```toml wrong\n").unwrap_or_default();
    let (head, _) = page.split_once(wrong).unwrap_or((page, ""));
    let (_, tail) = page.split_once("## Right\n").unwrap_or((page, ""));
    format!("{head}{wrong}```\n\n```text\n{message}```\n\n## Right\n{tail}")
}
