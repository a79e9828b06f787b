//! Rules on files as files: module docs, lengths, declarations, artefacts, machine paths.

use super::Finding;
use super::source::is_generated;
use super::tree::File;

/// A longer file holds two ideas.
const LINES_MAX: usize = 500;
/// The median says how the tree reads; the longest file only says that one got away.
const MEDIAN_MAX: usize = 151;

/// The first line of a Rust file says what the file owns.
pub(super) fn module_doc(path: &str, text: &str) -> Vec<Finding> {
    if !path.ends_with(".rs") || is_generated(path, text) || text.starts_with("//!") {
        return Vec::new();
    }
    vec![Finding::new(1, "opens without a `//!` module doc")]
}

/// No Rust file is longer than [`LINES_MAX`].
pub(super) fn length(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    if !path.ends_with(".rs") || is_generated(path, text) || lines <= LINES_MAX {
        return Vec::new();
    }
    vec![Finding::new(lines, format!("{lines} lines, more than {LINES_MAX}: split it by idea"))]
}

/// Half of all Rust files are shorter than [`MEDIAN_MAX`].
pub(super) fn median_length(files: &[File]) -> Vec<String> {
    let written =
        files.iter().filter(|file| file.path.ends_with(".rs") && !is_generated(&file.path, &file.text));
    let mut lengths: Vec<usize> = written.map(|file| file.text.lines().count()).collect();
    lengths.sort_unstable();
    match lengths.get(lengths.len() / 2) {
        Some(median) if *median >= MEDIAN_MAX => vec![format!("the median Rust file has {median} lines")],
        _ => Vec::new(),
    }
}

/// Every file of the suite is a module of it: an undeclared one is never compiled, and its tests never fail.
pub(super) fn declared(files: &[File]) -> Vec<String> {
    let suite =
        files.iter().filter(|file| file.path.starts_with("tests/suite/") && file.path.ends_with(".rs"));
    suite.filter_map(|file| undeclared(&file.path, files)).collect()
}

fn undeclared(path: &str, files: &[File]) -> Option<String> {
    let stem = path.strip_suffix(".rs")?;
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    let (folder, name) = stem.rsplit_once('/')?;
    if stem == "tests/suite/main" {
        return None;
    }
    let parents = match folder {
        "tests/suite" => vec!["tests/suite/main.rs".to_owned()],
        _ => vec![format!("{folder}.rs"), format!("{folder}/mod.rs")],
    };
    let declares = |file: &File| {
        let is_declaration =
            |line: &str| line.trim_start_matches("pub(super) ").trim() == format!("mod {name};");
        parents.contains(&file.path) && file.text.lines().any(is_declaration)
    };
    (!files.iter().any(declares)).then(|| format!("{path}: no `mod {name};` in {}", parents.join(" or ")))
}

/// What runs leave behind, by the end of the path.
const ARTEFACTS: &[&str] = &[
    ".log",
    ".pid",
    ".out",
    ".pyc",
    ".profraw",
    ".ncu-rep",
    ".nsys-rep",
    ".tmp",
    ".bak",
    ".orig",
    ".rej",
    ".swp",
    "/perf.data",
    "/core",
    "/.DS_Store",
    ".rs.bk",
];
/// Compiled files: only a store commits them, or a test that is handed one.
const COMPILED: &[&str] = &[".o", ".a", ".so", ".cubin", ".cubin.zst", ".ptx", ".rlib"];

/// Nothing that a run wrote is in the tree, but for accepted kernels in a store.
pub(super) fn artefact(path: &str, _text: &str) -> Vec<Finding> {
    let rooted = format!("/{path}");
    let ends = |table: &[&str]| table.iter().any(|end| rooted.ends_with(end));
    let stored = ["/cache/", "/cutegen-store/", "/tests/"].iter().any(|folder| rooted.contains(folder));
    if ends(ARTEFACTS) || (ends(COMPILED) && !stored) {
        return vec![Finding::new(1, "left by a run; it belongs under target/")];
    }
    Vec::new()
}

/// First components of absolute paths that exist on one machine only.
const MACHINE_ROOTS: &[&str] = &["root", "work", "home", "Users"];
/// A user whom tests may invent.
const NOBODY: &str = "/home/me/";

/// No text names a folder of the machine it was written on; Cargo.lock is cargo's.
pub(super) fn machine_path(path: &str, text: &str) -> Vec<Finding> {
    if path == "Cargo.lock" {
        return Vec::new();
    }
    let names_machine = |line: &str| {
        let line = line.replace(NOBODY, "");
        MACHINE_ROOTS.iter().any(|root| {
            let needle = format!("/{root}/");
            let mut hits = line.match_indices(&needle).map(|(at, _)| &line[..at]);
            hits.any(|before| !before.ends_with(|c: char| c.is_alphanumeric() || "_.-~}>)*/".contains(c)))
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| names_machine(line));
    lines.map(|(index, _)| Finding::new(index + 1, "names a folder of one machine")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_module_doc_is_found() {
        assert_eq!(module_doc("a/src/b.rs", "use std::fs;\n").len(), 1);
        assert_eq!(module_doc("a/src/b.rs", "//! Doc.\n"), []);
        assert_eq!(module_doc("tests/golden/x/kernels.rs", "pub mod cuda {}\n"), []);
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(length("a/src/b.rs", &"x\n".repeat(501)).len(), 1);
        assert_eq!(length("a/src/b.rs", &"x\n".repeat(500)), []);
    }

    #[test]
    fn a_long_median_is_found() {
        let tree = |lengths: &[usize]| -> Vec<File> {
            lengths.iter().map(|length| File::planted("a/src/b.rs", &"x\n".repeat(*length))).collect()
        };
        assert_eq!(median_length(&tree(&[10, 151, 400])).len(), 1);
        assert!(median_length(&tree(&[10, 150, 400])).is_empty());
    }

    #[test]
    fn an_undeclared_suite_file_is_found() {
        let main = "//! Doc.\nmod known;\n// mod commented;\n";
        let tree = |path| [File::planted("tests/suite/main.rs", main), File::planted(path, "//! Doc.")];
        assert!(declared(&tree("tests/suite/known.rs")).is_empty());
        assert!(declared(&tree("tests/suite/known/mod.rs")).is_empty());
        assert_eq!(declared(&tree("tests/suite/commented.rs")).len(), 1);
        assert_eq!(declared(&tree("tests/suite/known/inner.rs")).len(), 1);
    }

    #[test]
    fn run_artefacts_are_found() {
        for path in ["tune.log", "example-app/core", "cutegen-build/kernel.cubin", "a/b.profraw"] {
            assert_eq!(artefact(path, "").len(), 1, "{path}");
        }
        for path in [
            "cache/v1/ab/abcd/naive.cubin.zst",
            "example-app/cutegen-store/v1/ab/x/naive.o",
            "a/tests/x.ptx",
            "src/core.rs",
        ] {
            assert_eq!(artefact(path, ""), [], "{path}");
        }
    }

    #[test]
    fn machine_paths_are_found() {
        for root in MACHINE_ROOTS {
            let line = format!("include \"/{root}/someone/x.h\"");
            assert_eq!(machine_path("a.cu", &line).len(), 1, "{line}");
            assert_eq!(machine_path("Cargo.lock", &line), []);
        }
        let relative = ["frame", "target", "$dir"].map(|parent| format!("{parent}/{}/x", "work")).join("\n");
        assert_eq!(machine_path("a.md", &relative), []);
        assert_eq!(machine_path("a.rs", &format!("open(\"{NOBODY}x.h\")")), []);
    }
}
