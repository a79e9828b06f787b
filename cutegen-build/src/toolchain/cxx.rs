//! The host C++ compiler: which one, which version, which flags. Runs it only to ask for its version.
//!
//! Flags fix what distributions vary (stack protector, CET, fortify), so that one version gives one object.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::Error;

/// The largest frame of a host kernel.
const FRAME_BYTES_MAX: u32 = 64 << 10;

/// A compiler that answered.
#[derive(Debug, Clone)]
pub struct Cxx {
    /// The program, as a path without symbolic links where it could be resolved.
    pub program: PathBuf,
    /// Whose flags it takes.
    pub family: CxxFamily,
    /// Its version, such as `12.2.0`.
    pub version: String,
}

/// Compilers whose flags differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CxxFamily {
    /// GCC.
    Gcc,
    /// Clang. It has no `-fwhole-program`: objects with leftover template instances are refused.
    Clang,
}

impl CxxFamily {
    /// As in a fingerprint.
    pub fn name(self) -> &'static str {
        match self {
            CxxFamily::Gcc => "g++",
            CxxFamily::Clang => "clang++",
        }
    }
}

/// The first of `programs` that tells its version.
pub fn find_cxx(programs: &[PathBuf]) -> Result<Cxx, Error> {
    programs.iter().find_map(|program| ask(program)).ok_or_else(|| Error::NoCxx { tried: programs.to_vec() })
}

/// The flags of every host object we store, header search aside.
///
/// `-fwhole-program` makes template instances that were not inlined local: as COMDAT they would be merged with
/// another object's at link time, and what ships would not be what was measured.
pub fn host_flags(family: CxxFamily, level: &str, header_roots: &[PathBuf]) -> Vec<String> {
    let fixed = [
        "-std=c++17",
        "-O3",
        "-fPIC",
        "-fno-exceptions",
        "-fno-rtti",
        "-ffp-contract=fast",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fvisibility=hidden",
        "-DNDEBUG",
        "-fno-stack-protector",
        "-fstack-clash-protection",
        "-fno-jump-tables",
        "-Werror=alloca",
        "-Werror=vla",
        "-fcf-protection=none",
        "-U_FORTIFY_SOURCE",
        "-fno-ident",
        "-fno-threadsafe-statics",
        "-fno-diagnostics-show-caret",
        "-fdiagnostics-color=never",
    ];
    let mut flags: Vec<String> = fixed.map(str::to_owned).into();
    flags.push(format!("-march={level}"));
    match family {
        CxxFamily::Gcc => {
            flags.extend(["-fwhole-program", "-frandom-seed=kernel", "-fmax-errors=40"].map(str::to_owned))
        }
        CxxFamily::Clang => flags.push("-ferror-limit=40".to_owned()),
    }
    flags.extend(frame_flags(family));
    flags.push("-Ishim".to_owned());
    for (index, root) in header_roots.iter().enumerate() {
        flags.push(format!("-ffile-prefix-map={}=/headers/{index}", root.display()));
        flags.extend(["-isystem".to_owned(), root.display().to_string()]);
    }
    flags
}

/// A larger frame is an error: a thread of Rust has 2 MiB of stack, whoever calls the kernel, and a page behind it that faults.
fn frame_flags(family: CxxFamily) -> Vec<String> {
    match family {
        CxxFamily::Gcc => vec![format!("-Werror=frame-larger-than={FRAME_BYTES_MAX}")],
        CxxFamily::Clang => {
            vec![format!("-Wframe-larger-than={FRAME_BYTES_MAX}"), "-Werror=frame-larger-than".to_owned()]
        }
    }
}

/// Writes the `iostream` that goes before the real one, which would leave a constructor in each object.
pub fn write_shim(dir: &Path) -> Result<(), Error> {
    let shim = dir.join("shim");
    fs::create_dir_all(&shim).map_err(Error::io("creating", &shim))?;
    let path = shim.join("iostream");
    fs::write(&path, include_str!("../../shim/iostream")).map_err(Error::io("writing", &path))
}

fn ask(program: &Path) -> Option<Cxx> {
    let banner = printed_by(program, "--version")?;
    let family = if banner.contains("clang") { CxxFamily::Clang } else { CxxFamily::Gcc };
    let version = match family {
        CxxFamily::Gcc => printed_by(program, "-dumpfullversion")?,
        CxxFamily::Clang => printed_by(program, "-dumpversion")?,
    };
    Some(Cxx { program: resolved(program), family, version: version.trim().to_owned() })
}

fn printed_by(program: &Path, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A path without links when one was given; a bare name stays one, and `PATH` finds it.
fn resolved(program: &Path) -> PathBuf {
    if program.components().count() < 2 {
        return program.to_owned();
    }
    program.canonicalize().unwrap_or_else(|_| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_compiler_names_what_was_tried() {
        let error = find_cxx(&["/nonexistent/c++".into()]).expect_err("no such program").to_string();
        assert!(
            error.contains("/nonexistent/c++") && error.ends_with("`cargo cutegen toolchain show`"),
            "{error}"
        );
    }

    #[test]
    fn flags_name_the_level_once_and_no_machine() {
        let flags = host_flags(CxxFamily::Gcc, "x86-64-v3", &[]);
        assert_eq!(flags.iter().filter(|flag| flag.starts_with("-march=")).count(), 1);
        assert!(!flags.iter().any(|flag| flag.contains("native")), "{flags:?}");
    }
}
