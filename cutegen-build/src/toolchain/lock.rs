//! The pinned packages: `toolchain.lock.toml` as data, embedded so that every copy of this crate agrees.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde::Deserialize;

/// Packages installed together into one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Headers, NVRTC and nvJitLink.
    Compile,
    /// NumPy and SciPy, which only tests use.
    Test,
}

/// The whole lock.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    #[expect(dead_code, reason = "read so that a later edition is refused by name")]
    edition: u32,
    /// The pinned NVRTC.
    pub nvrtc: Pinned,
    /// The pinned nvJitLink.
    pub nvjitlink: Pinned,
    group: BTreeMap<String, Vec<Package>>,
}

/// A library that makes the cubins that we store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pinned {
    /// Major, minor and patch.
    pub version: String,
    /// SHA-256 of the library in the pinned wheel.
    pub library_sha256: String,
}

/// One pip package.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its name on the index.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// Hashes of the wheels that may be installed.
    pub sha256: Vec<String>,
}

/// The lock this crate was built with.
pub fn lock() -> &'static Lock {
    static LOCK: OnceLock<Lock> = OnceLock::new();
    LOCK.get_or_init(|| {
        toml::from_str(include_str!("../../toolchain.lock.toml"))
            .expect("the embedded lock parses: a test reads it")
    })
}

impl Group {
    /// The key in the lock.
    pub fn name(self) -> &'static str {
        match self {
            Group::Compile => "compile",
            Group::Test => "test",
        }
    }
}

impl Lock {
    /// The packages of a group, in the order of the lock.
    pub fn packages(&self, group: Group) -> &[Package] {
        self.group.get(group.name()).map_or(&[], Vec::as_slice)
    }

    /// The group as a pip requirements file.
    pub fn requirements(&self, group: Group) -> String {
        let mut text = String::new();
        for package in self.packages(group) {
            let _ = write!(text, "{}=={}", package.name, package.version);
            for hash in &package.sha256 {
                let _ = write!(text, " --hash=sha256:{hash}");
            }
            text.push('\n');
        }
        text
    }

    /// Names the group's folder: the first 16 hex digits of blake3 over its requirements.
    pub fn digest(&self, group: Group) -> String {
        blake3::hash(self.requirements(group).as_bytes()).to_hex()[..16].to_owned()
    }
}

impl Pinned {
    /// What it answers when it is asked.
    pub fn major_minor(&self) -> Option<(i32, i32)> {
        let mut parts = self.version.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_lock_pins_every_package_by_hash() {
        for group in [Group::Compile, Group::Test] {
            assert!(!lock().packages(group).is_empty(), "{} is empty", group.name());
            for package in lock().packages(group) {
                assert!(!package.sha256.is_empty(), "{} has no hash", package.name);
                assert!(package.sha256.iter().all(|hash| hash.len() == 64), "{}", package.name);
            }
        }
        assert_eq!([&lock().nvrtc, &lock().nvjitlink].map(Pinned::major_minor), [Some((13, 0)); 2]);
    }

    #[test]
    fn requirements_are_pip_lines_with_hashes() {
        let text = lock().requirements(Group::Compile);
        assert!(text.lines().all(|line| line.contains("==") && line.contains(" --hash=sha256:")), "{text}");
    }

    #[test]
    fn groups_have_different_folders() {
        assert_ne!(lock().digest(Group::Compile), lock().digest(Group::Test));
    }
}
