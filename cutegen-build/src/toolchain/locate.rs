//! Finds a usable toolchain: the folder the user names, else the one we installed. Nothing else is searched.
//!
//! A folder without NVRTC (a bundle) may borrow the system's, if that is the pinned version; its file digest then
//! is part of the fingerprint. Never decides by what happens to be found whether a build searches.

use std::path::{Path, PathBuf};

use super::cxx::{Cxx, find_cxx};
use super::error::Error;
use super::install::{folder_of, sha256_file};
use super::lock::{Group, Pinned, lock};
use super::nvjitlink::NvJitLink;
use super::nvrtc::Nvrtc;
use super::places::Places;
use super::stamp::Stamp;

/// Compilers and headers that were found, all of them checked to be there.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The folder the headers come from.
    pub dir: PathBuf,
    /// Its stamp.
    pub stamp: Stamp,
    /// Include folders, in search order.
    pub header_roots: Vec<PathBuf>,
    /// NVRTC; a machine that only tunes `host` needs none.
    pub nvrtc: Option<NvrtcLibrary>,
    /// Why there is no NVRTC, one line per place looked at.
    pub nvrtc_rejected: Vec<String>,
    /// The host compiler, where one answers.
    pub cxx: Option<Cxx>,
}

/// An NVRTC on disk.
#[derive(Debug, Clone)]
pub struct NvrtcLibrary {
    /// `libnvrtc.so`.
    pub library: PathBuf,
    /// `libnvrtc-builtins.so`, opened first.
    pub builtins: PathBuf,
    /// Major, minor and, where the digest is the pinned one, patch.
    pub version: String,
    /// SHA-256 of the library.
    pub sha256: String,
    /// What links its code; where there is none NVRTC makes cubins itself, with every variable of the headers.
    pub linker: Option<LinkerLibrary>,
}

/// An nvJitLink on disk.
#[derive(Debug, Clone)]
pub struct LinkerLibrary {
    /// `libnvJitLink.so`.
    pub library: PathBuf,
    /// Major, minor and, where the digest is the pinned one, patch.
    pub version: String,
    /// SHA-256 of the library.
    pub sha256: String,
}

/// Looks in the named folder, then in the installed one.
pub fn locate(places: &Places) -> Result<Toolchain, Error> {
    let (dir, stamp) = stamped_folder(places)?;
    stamp.check(&dir)?;
    let mut nvrtc_rejected = Vec::new();
    let nvrtc = match own_nvrtc(&dir, &stamp) {
        Some(nvrtc) => Some(nvrtc),
        None => system_nvrtc(places, &mut nvrtc_rejected),
    };
    Ok(Toolchain {
        header_roots: stamp.header_roots.iter().map(|root| dir.join(root)).collect(),
        nvrtc,
        nvrtc_rejected,
        cxx: find_cxx(&places.cxx).ok(),
        dir,
        stamp,
    })
}

impl Toolchain {
    /// NVRTC, or the error that tells how to get one.
    pub fn need_nvrtc(&self) -> Result<&NvrtcLibrary, Error> {
        let pinned = lock().nvrtc.version.clone();
        self.nvrtc.as_ref().ok_or_else(|| Error::NoNvrtc { pinned, rejected: self.nvrtc_rejected.clone() })
    }

    /// The host compiler, or the error that tells how to get one.
    pub fn need_cxx(&self) -> Result<&Cxx, Error> {
        self.cxx.as_ref().ok_or_else(|| Error::NoCxx { tried: vec!["g++".into(), "c++".into()] })
    }

    /// The same without what links NVRTC's code: how cubins were made before there was one.
    #[must_use]
    pub fn without_linker(mut self) -> Self {
        self.nvrtc.iter_mut().for_each(|nvrtc| nvrtc.linker = None);
        self
    }

    /// Names all that makes a cubin's bytes: `nvrtc 13.0.88 (sha256:...), nvjitlink 13.0.88 (sha256:...), cutlass ...`.
    pub fn cuda_fingerprint(&self) -> Result<String, Error> {
        let nvrtc = self.need_nvrtc()?;
        let named =
            |name: &str, version: &str, sha256: &str| format!("{name} {version} (sha256:{})", &sha256[..16]);
        let compiler = named("nvrtc", &nvrtc.version, &nvrtc.sha256);
        let linker = nvrtc.linker.as_ref().map(|linker| named("nvjitlink", &linker.version, &linker.sha256));
        let parts: Vec<String> =
            [compiler].into_iter().chain(linker).chain([self.headers_fingerprint()]).collect();
        Ok(parts.join(", "))
    }

    /// Names all that makes a host object's bytes: `g++ 12.2.0, cutlass 4.2.0.0, ...`.
    pub fn host_fingerprint(&self) -> Result<String, Error> {
        let cxx = self.need_cxx()?;
        Ok(format!("{} {}, {}", cxx.family.name(), cxx.version, self.headers_fingerprint()))
    }

    fn headers_fingerprint(&self) -> String {
        let short = [
            ("cutlass", "nvidia-cutlass"),
            ("cccl", "nvidia-cuda-cccl"),
            ("runtime", "nvidia-cuda-runtime"),
            ("crt", "nvidia-cuda-crt"),
        ];
        let version = |package: &str| self.stamp.packages.get(package).map_or("?", String::as_str);
        short.map(|(name, package)| format!("{name} {}", version(package))).join(", ")
    }
}

fn stamped_folder(places: &Places) -> Result<(PathBuf, Stamp), Error> {
    let dir = places.explicit.clone().unwrap_or_else(|| folder_of(Group::Compile, places));
    match Stamp::read(&dir)? {
        Some(stamp) if stamp.lock == lock().digest(Group::Compile) => Ok((dir, stamp)),
        Some(stamp) => Err(Error::damaged(
            &dir,
            format!("it holds what lock {} pins, not {}", stamp.lock, lock().digest(Group::Compile)),
        )),
        None => Err(Error::NotInstalled { searched: vec![dir] }),
    }
}

fn own_nvrtc(dir: &Path, stamp: &Stamp) -> Option<NvrtcLibrary> {
    let stamped = stamp.nvrtc.as_ref()?;
    Some(NvrtcLibrary {
        library: dir.join(&stamped.library),
        builtins: dir.join(&stamped.builtins),
        version: version_label(&lock().nvrtc, &stamped.sha256),
        sha256: stamped.sha256.clone(),
        linker: Some(LinkerLibrary {
            library: dir.join(&stamped.linker.library),
            version: version_label(&lock().nvjitlink, &stamped.linker.sha256),
            sha256: stamped.linker.sha256.clone(),
        }),
    })
}

fn system_nvrtc(places: &Places, rejected: &mut Vec<String>) -> Option<NvrtcLibrary> {
    let (major, minor) = lock().nvrtc.major_minor()?;
    for folder in &places.cuda_libs {
        let library = folder.join(format!("libnvrtc.so.{major}"));
        let builtins = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
        let linker = folder.join(format!("libnvJitLink.so.{major}"));
        match borrow_linker(linker).and_then(|linker| borrow(library, builtins, linker, (major, minor))) {
            Ok(nvrtc) => return Some(nvrtc),
            Err(reason) => rejected.push(format!("{}: {reason}", folder.display())),
        }
    }
    None
}

fn borrow(
    library: PathBuf,
    builtins: PathBuf,
    linker: LinkerLibrary,
    pinned: (i32, i32),
) -> Result<NvrtcLibrary, String> {
    if !library.is_file() || !builtins.is_file() {
        return Err(format!("no libnvrtc {}.{} with its builtins", pinned.0, pinned.1));
    }
    let version = Nvrtc::open(&library, &builtins)
        .and_then(|nvrtc| nvrtc.version())
        .map_err(|error| error.to_string())?;
    if version != pinned {
        return Err(format!("it is NVRTC {}.{}", version.0, version.1));
    }
    let (sha256, _) = sha256_file(&library).map_err(|error| error.to_string())?;
    let version = version_label(&lock().nvrtc, &sha256);
    Ok(NvrtcLibrary { library, builtins, version, sha256, linker: Some(linker) })
}

fn borrow_linker(library: PathBuf) -> Result<LinkerLibrary, String> {
    let pinned = &lock().nvjitlink;
    if !library.is_file() {
        return Err(format!("no nvJitLink {}", pinned.version));
    }
    let version =
        NvJitLink::open(&library).and_then(|linker| linker.version()).map_err(|error| error.to_string())?;
    if Some(version) != pinned.major_minor() {
        return Err(format!("its linker is nvJitLink {}.{}", version.0, version.1));
    }
    let (sha256, _) = sha256_file(&library).map_err(|error| error.to_string())?;
    Ok(LinkerLibrary { library, version: version_label(pinned, &sha256), sha256 })
}

/// Neither library tells its patch number, its digest does.
fn version_label(pinned: &Pinned, sha256: &str) -> String {
    if sha256 == pinned.library_sha256 {
        return pinned.version.clone();
    }
    pinned.major_minor().map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(explicit: Option<PathBuf>, home: &Path) -> Places {
        Places { explicit, home: home.to_owned(), cuda_libs: vec![home.join("cuda")], cxx: Vec::new() }
    }

    fn bundle(dir: &Path, lock_digest: &str) {
        std::fs::create_dir_all(dir.join("include")).expect("a folder in a temp dir");
        let stamp = Stamp {
            edition: 1,
            lock: lock_digest.to_owned(),
            header_roots: vec!["include".into()],
            packages: [("nvidia-cutlass".to_owned(), "4.2.0.0".to_owned())].into(),
            nvrtc: None,
        };
        stamp.write(dir).expect("a stamp in a temp dir");
    }

    #[test]
    fn absent_toolchain_names_the_command() {
        let home = tempfile::tempdir().expect("a temp dir");
        let error = locate(&places(None, home.path())).expect_err("nothing is installed");
        assert!(error.to_string().ends_with("run `cargo cutegen toolchain install`"), "{error}");
    }

    #[test]
    fn bundle_without_nvrtc_serves_the_host_only() {
        let home = tempfile::tempdir().expect("a temp dir");
        let dir = home.path().join("bundle");
        bundle(&dir, &lock().digest(Group::Compile));
        let toolchain = locate(&places(Some(dir), home.path())).expect("headers suffice");
        assert!(toolchain.headers_fingerprint().starts_with("cutlass 4.2.0.0"));
        let error = toolchain.need_nvrtc().expect_err("there is none").to_string();
        assert!(
            error.contains("no NVRTC 13.0.88") && error.contains("cuda: no nvJitLink 13.0.88"),
            "{error}"
        );
    }

    #[test]
    fn bundle_of_another_lock_is_refused() {
        let home = tempfile::tempdir().expect("a temp dir");
        let dir = home.path().join("bundle");
        bundle(&dir, "0123456789abcdef");
        let error = locate(&places(Some(dir), home.path())).expect_err("another lock").to_string();
        assert!(error.contains("0123456789abcdef"), "{error}");
    }

    #[test]
    fn stamp_whose_files_are_gone_or_outside_is_refused() {
        let home = tempfile::tempdir().expect("a temp dir");
        let dir = home.path().join("bundle");
        bundle(&dir, &lock().digest(Group::Compile));
        let stamp = Stamp::read(&dir).expect("readable").expect("there");
        for (root, word) in [("gone", "missing"), ("../outside", "leaves")] {
            let bad = Stamp { header_roots: vec![root.into()], ..stamp.clone() };
            let error = bad.check(&dir).expect_err("a bad root").to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
