//! C++ texts as shared objects, by the system's compiler. A text is compiled once for all tests: its object lies below the
//! target folder, named by the digest of text, flags and compiler, so that groups which ask for one reference share it.
//! The headers that texts begin with are read once in the same way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cutegen_spec::digest::ArtifactDigest;

/// What references are compiled with.
pub(crate) const REFERENCE: &[&str] = &["-ffp-contract=off", "-fno-math-errno"];

/// The shared object of `source`; what the compiler says where it refuses.
pub(crate) fn shared(source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let words = [&["-std=c++17", "-O1", "-fPIC", "-shared"], flags].concat();
    made(&words, source, |folder| {
        let (text, object) = (folder.join("source.cpp"), folder.join(OBJECT));
        std::fs::write(&text, source).expect("it can be written");
        let begin = begin(source, &words)?;
        compile(&words, &[Path::new("-include"), &begin, Path::new("-o"), &object, &text])
    })
    .map(|folder| folder.join(OBJECT))
}

const OBJECT: &str = "object.so";

/// The header that a source begins with, precompiled.
fn begin(source: &str, words: &[&str]) -> Result<PathBuf, String> {
    let begin = includes(source);
    let folder = made(words, &begin, |folder| {
        let header = folder.join(HEADER);
        std::fs::write(&header, &begin).expect("it can be written");
        compile(words, &[Path::new("-x"), Path::new("c++-header"), &header])
    });
    folder.map(|folder| folder.join(HEADER))
}

const HEADER: &str = "begin.hpp";

/// The lines with which a text includes headers before it says anything else.
pub(crate) fn includes(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.take_while(|line| line.starts_with("#include")).flat_map(|line| [line, "\n"]).collect()
}

/// The folder of what `make` makes of a text, made unless it is there: whole or not at all, since others may want the same.
fn made(
    words: &[&str],
    text: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects");
    let digest = ArtifactDigest::of(format!("{}\n{}\n{text}", compiler(), words.join(" ")).as_bytes());
    let folder = all.join(digest.to_string());
    if folder.is_dir() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&all).expect("a folder");
    let unfinished = tempfile::tempdir_in(&all).expect("a folder");
    make(unfinished.path())?;
    match std::fs::rename(unfinished.path(), &folder) {
        Err(error) if !folder.is_dir() => panic!("{}: {error}", folder.display()),
        _ => Ok(folder),
    }
}

fn compile(words: &[&str], more: &[&Path]) -> Result<(), String> {
    let ran = Command::new("c++").args(words).args(more).output().expect("c++ starts");
    if ran.status.success() { Ok(()) } else { Err(errors(&String::from_utf8_lossy(&ran.stderr))) }
}

fn errors(said: &str) -> String {
    let errors = said.lines().filter_map(|line| line.split_once("error: ")).map(|e| e.1);
    format!("does not compile: {}", errors.take(3).collect::<Vec<_>>().join("; "))
}

/// Which compiler it is.
fn compiler() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let ran = Command::new("c++").arg("--version").output().expect("c++ starts");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    })
}
