//! C++ to shared objects, by the system's compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source` to a shared object in `folder`, once; what the compiler says where it refuses.
pub(crate) fn shared(folder: &Path, name: &str, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let (text, object) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    if object.is_file() && std::fs::read_to_string(&text).is_ok_and(|text| text == source) {
        return Ok(object);
    }
    std::fs::write(&text, source).expect("it can be written");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O1", "-fPIC", "-shared", "-fno-math-errno"]).args(flags);
    let ran = command.arg("-o").arg(&object).arg(&text).arg("-lm").output().expect("c++ starts");
    if ran.status.success() {
        return Ok(object);
    }
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let errors: Vec<&str> =
        said.lines().filter_map(|line| line.split_once("error: ")).map(|e| e.1).take(3).collect();
    Err(format!("{name}: does not compile: {}", errors.join("; ")))
}

/// A shared object in `folder` from the text of a reference.
pub(crate) fn reference(folder: &Path, name: &str, source: &str) -> Result<PathBuf, String> {
    shared(folder, name, source, &["-ffp-contract=off"])
}
