//! Where on this machine a toolchain may lie. The only file of the toolchain that asks for variables.

use std::path::{Path, PathBuf};

use super::error::Error;
use crate::{env, home};

/// Folders and programs to consider, resolved once.
#[derive(Debug, Clone)]
pub struct Places {
    /// A folder named by the user (`CUTEGEN_TOOLCHAIN`): a bundle's, usually.
    pub explicit: Option<PathBuf>,
    /// The user's CuTeGen folder; toolchains are installed below it.
    pub home: PathBuf,
    /// Folders that may hold a CUDA installation's `libnvrtc` and `libnvJitLink`.
    pub cuda_libs: Vec<PathBuf>,
    /// C++ compilers to try, best first.
    pub cxx: Vec<PathBuf>,
}

impl Places {
    /// Reads `CUTEGEN_TOOLCHAIN`, `CUDA_HOME` and `CXX`, and what [`home::data`] asks for.
    pub fn from_env() -> Result<Places, Error> {
        Ok(Places {
            explicit: path_var("CUTEGEN_TOOLCHAIN"),
            home: home::data(env::variable_os).map_err(Error::Home)?,
            cuda_libs: cuda_libs(path_var("CUDA_HOME")),
            cxx: path_var("CXX").map_or_else(default_cxx, |program| vec![program]),
        })
    }

    /// The folder that holds every installed toolchain.
    pub fn toolchains(&self) -> PathBuf {
        self.home.join("toolchain")
    }
}

fn cuda_libs(cuda_home: Option<PathBuf>) -> Vec<PathBuf> {
    let installations = cuda_home.into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    installations.flat_map(|root| [root.join("lib64"), root.join("targets/x86_64-linux/lib")]).collect()
}

fn default_cxx() -> Vec<PathBuf> {
    ["g++", "c++"].map(|program| Path::new(program).to_owned()).into()
}

/// An empty variable counts as unset.
fn path_var(name: &str) -> Option<PathBuf> {
    env::variable_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
