//! The compilers and headers that turn a candidate into bytes: pinned, installed, found, named.
//!
//! Owns `toolchain.lock.toml` and the folder it installs into. Knows nothing of kernels, jobs or workers.
//! Invariant: everything that can alter a compiled byte has a name in [`Toolchain::cuda_fingerprint`] or
//! [`Toolchain::host_fingerprint`]; where a file lies is never part of it.

mod cxx;
mod dynamic;
mod error;
mod headers;
mod install;
mod locate;
mod lock;
mod nvjitlink;
mod nvrtc;
mod places;
mod stamp;

pub use cxx::{Cxx, CxxFamily, find_cxx, host_flags, write_shim};
pub use error::Error;
pub use headers::{HeaderFile, header_files, headers_digest};
pub use install::{Installed, folder_of, install};
pub use locate::{LinkerLibrary, NvrtcLibrary, Toolchain, locate};
pub use lock::{Group, Lock, Package, lock};
pub use nvjitlink::{LinkFailure, Linked, NvJitLink};
pub use nvrtc::{Nvrtc, NvrtcFailure, NvrtcOutput, Output, cuda_options, use_headers};
pub use places::Places;
pub use stamp::{STAMP_FILE, Stamp};
