//! What mutations start from: every spec, page and entry of this workspace.

use std::path::{Path, PathBuf};

use super::subjects::Subject;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The corpus of a subject, in a fixed order.
pub(super) fn of(subject: &Subject) -> Vec<String> {
    let mut texts = Vec::new();
    for (folder, extension) in subject.corpus {
        let files = walkdir::WalkDir::new(root().join(folder)).sort_by_file_name().into_iter().flatten();
        for file in files.filter(|file| file.file_name().to_string_lossy().ends_with(extension)) {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            if *extension == ".md" {
                texts.extend(blocks(&text));
            } else {
                texts.push(text);
            }
        }
    }
    assert!(!texts.is_empty(), "{} has no corpus", subject.name);
    texts
}

/// The fenced blocks of TOML on a page.
fn blocks(page: &str) -> Vec<String> {
    let parts = page.split("```toml").skip(1);
    let inside = parts.filter_map(|part| part.split_once('\n')?.1.split_once("```").map(|(text, _)| text));
    inside.map(str::to_owned).collect()
}
