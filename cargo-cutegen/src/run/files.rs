//! Which files a run reads and writes: each is one of its own, or inputs would be gone once it is over.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::args::Run;
use crate::failure::Failure;

/// Refuses to write what is read, and to write one file twice.
pub(super) fn distinct(verb: &Run) -> Result<(), Failure> {
    let mut taken: Vec<(&str, &Path)> = verb.input.iter().map(|path| ("--in", path.as_path())).collect();
    let written = [("--keep-inputs", &verb.keep_inputs), ("--out", &verb.out)];
    for (flag, path) in written.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))) {
        if let Some((other, same)) = taken.iter().find(|(_, other)| is_same(path, other)) {
            let (path, same) = (path.display(), same.display());
            return Err(Failure::Usage(format!(
                "{flag} {path} is the file of {other} {same}\nname another file: {flag} FILE"
            )));
        }
        taken.push((flag, path));
    }
    Ok(())
}

/// Whether two paths mean one file, whatever links lie between; it need not exist yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    place(one) == place(other) || identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = |folder: PathBuf| folder.join(path.file_name().unwrap_or(OsStr::new("")));
    let found = fs::canonicalize(path).or_else(|_| fs::canonicalize(folder).map(beside));
    found.unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::is_same;

    #[test]
    fn one_file_has_many_paths() {
        let folder = tempfile::tempdir().expect("a folder");
        let [x, soft, hard, new, beside] =
            ["x", "soft", "hard", "new", "beside"].map(|name| folder.path().join(name));
        fs::write(&x, "x").expect("written");
        fs::write(&beside, "x").expect("written");
        symlink("x", &soft).expect("linked");
        fs::hard_link(&x, &hard).expect("linked");
        symlink(".", folder.path().join("here")).expect("linked");
        let dotted = folder.path().join("here/./x");
        assert!([&x, &soft, &hard, &dotted].iter().all(|other| is_same(&x, other)));
        assert!(is_same(&new, &folder.path().join("here/new")), "that is not there yet");
        assert!(!is_same(&x, &new) && !is_same(&x, &beside));
    }
}
