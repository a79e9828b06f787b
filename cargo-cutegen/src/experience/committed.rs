//! A file as the last commit has it. Git says so; where it says nothing, the file is not committed.

use std::path::Path;
use std::process::{Command, Stdio};

/// The text of a file in the last commit of its repository. No filter and no program of the repository runs for it.
pub(super) fn text(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name()?.to_str()?;
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["cat-file", "blob", &format!("HEAD:./{name}")]);
    // a blob that is not here is not fetched, by whatever the repository names
    git.env("GIT_NO_LAZY_FETCH", "1");
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}
