//! The files of the working tree, read once. Knows which folders hold no sources, and nothing about rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One file: its path from the workspace root with `/`, and its text (empty for a binary file).
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    /// A file of a planted tree.
    #[cfg(test)]
    pub(super) fn planted(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }
}

/// Folders that .gitignore names too, or that belong to git itself.
const SKIPPED: &[&str] = &[".git", "target", ".toolchain", "pack", "__pycache__"];

/// Every file, ordered by path.
pub(super) fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = root();
        let mut files = Vec::new();
        walk(&root, &root, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the suite's package lies in the workspace")
        .to_owned()
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace is readable") {
        let entry = entry.expect("a folder of the workspace is readable");
        let (path, name) = (entry.path(), entry.file_name());
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let kind = entry.file_type().expect("a file of the workspace has a type");
        if kind.is_dir() {
            walk(root, &path, files);
        } else if kind.is_file() {
            let relative = path.strip_prefix(root).expect("the walk stays below the root");
            // other tests may be writing beside us: a file that is gone by now is no file of the tree
            let Ok(bytes) = fs::read(&path) else { continue };
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    }
}

#[test]
fn the_walk_sees_sources_and_no_build_output() {
    let paths: Vec<&str> = files().iter().map(|file| file.path.as_str()).collect();
    assert!(
        paths.contains(&"Cargo.toml") && paths.contains(&"tests/suite/main.rs") && paths.contains(&".ci/run")
    );
    assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
}
