//! Files that results name are there: those of the commands that measure a row again, and those that programs of runs read.

use std::fs;
use std::path::{Path, PathBuf};

use cutegen_tests::workspace;

use super::rows;

/// Folders of the workspace whose files are named.
const FOLDERS: [&str; 9] = [
    "cargo-cutegen",
    "cutegen-build",
    "cutegen-runtime",
    "cutegen-spec",
    "docs",
    "example-app",
    "kernel-specs",
    "results",
    "tests",
];

/// Words of a text that are paths of the workspace, whatever leads up to it.
fn named(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_./-".contains(c)));
    let paths = words.map(|word| word.trim_start_matches(['.', '/']).trim_end_matches(['.', '/', '-']));
    let is_ours = |word: &&str| word.split_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder));
    paths.filter(is_ours).map(str::to_owned).collect()
}

/// What a command names and is not there: a path of the workspace, or a script of the folder that it names before.
fn gone(command: &str) -> Vec<String> {
    let mut gone: Vec<String> =
        named(command).into_iter().filter(|path| !workspace().join(path).exists()).collect();
    if let Some((folder, scripts)) = command.split_once(": ") {
        let is_script = |word: &&str| word.ends_with(".py") || word.ends_with(".sh");
        let beside = scripts.split(' ').filter(is_script).map(|script| format!("{folder}/{script}"));
        gone.extend(beside.filter(|path| !workspace().join(path).exists()));
    }
    gone
}

#[test]
fn files_that_commands_name_are_there() {
    let rows = rows();
    let count: usize = rows.iter().map(|row| named(&row.command).len()).sum();
    assert!(count > 100, "{count} paths are named");
    for row in &rows {
        assert_eq!(gone(&row.command), [""; 0], "{}", row.bar);
    }
    let planted = "python3 tests/bench/gone.py FOLDER; results/runs/products/wgmma/template.py";
    assert_eq!(gone(planted), ["tests/bench/gone.py"]);
    assert_eq!(
        gone("results/runs/products/wgmma: template.py and gone.sh small"),
        ["results/runs/products/wgmma/gone.sh"]
    );
}

/// Programs and pages below a folder.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).expect("a folder").flatten().map(|item| item.path());
    let ends =
        |path: &Path| path.extension().is_some_and(|end| ["md", "py", "sh"].iter().any(|one| end == *one));
    items
        .flat_map(|path| if path.is_dir() { texts(&path) } else { vec![path] })
        .filter(|path| ends(path))
        .collect()
}

#[test]
fn what_programs_of_runs_read_is_there() {
    let found = texts(&workspace().join("results/runs"));
    assert!(found.iter().any(|path| path.ends_with("wgmma/template.py")), "{found:?}");
    for path in found {
        let text = fs::read_to_string(&path).expect("a text");
        let code = named(&text).into_iter().filter(|path| !path.starts_with("results/"));
        let gone: Vec<String> = code.filter(|path| !workspace().join(path).exists()).collect();
        assert!(gone.is_empty(), "{} names {gone:?}", path.display());
    }
}
