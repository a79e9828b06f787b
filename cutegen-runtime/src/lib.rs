//! What CuTeGen's emitted wrappers speak: ranked views, launch checks, errors, and the road to a device.
//!
//! A crate whose build script calls `cutegen_build::build()` links its kernels and includes their wrappers:
//!
//! ```ignore
//! use cutegen_runtime::{AsView, AsViewMut};
//! cutegen_runtime::include_kernels!(); // pub mod kernels
//!
//! let ctx = cutegen_runtime::cuda::context(0)?; // never panics, driver or not
//! let stream = ctx.default_stream();
//! let kernels = kernels::cuda::load(&ctx)?; // checks arch, driver and digest
//! let mut workspace = kernels.workspace(&stream)?;
//! let (x, y) = (x.view([m, 4096]), y.view_mut([m, 14336]));
//! kernels.linear_gelu(&stream, &mut workspace, kernels::cuda::LinearGelu { m, x, w, b, y })?;
//! ```
//!
//! The same specs built for `host` need no feature and no device:
//!
//! ```
//! use cutegen_runtime::AsView;
//! let x = vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let x = x.view([2, 3]); // row-major; a wrong length is reported by the wrapper, with the argument's name
//! assert_eq!(x.at([1, 0]), 4.0);
//! ```
//!
//! Invariants. This crate knows nothing of specs, stores or the pipeline, and never depends on
//! `cutegen-build`. Nothing reaches a kernel unchecked except through an `unsafe` call: a raw entry, or on CUDA a
//! kernel that takes positions from memory. The feature `cuda` needs no CUDA toolkit to build; a machine without a driver
//! gets [`Error::DriverMissing`].

pub mod check;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod dispatch;
pub mod element;
mod error;
pub mod fallback;
pub mod host;
mod int;
pub mod layout;
pub mod view;

pub use element::{DType, Element};
pub use error::Error;
pub use half;
pub use int::Int;
pub use layout::Layout;
pub use view::{AsView, AsViewMut, View, ViewMut};

/// Includes the wrappers that the build script emitted, as `pub mod kernels`.
///
/// Another visibility or name can be given: `include_kernels!(pub(crate) mod gpu)`. The module holds
/// `cuda` and `host`, one for each kind of target that the specs name.
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!(pub mod kernels);
    };
    ($visibility:vis mod $name:ident) => {
        /// Kernels emitted by CuTeGen at build time.
        #[allow(unreachable_pub, reason = "what is used of emitted wrappers is up to the crate")]
        $visibility mod $name {
            include!(concat!(env!("OUT_DIR"), "/cutegen/kernels.rs"));
        }
    };
}

/// Holds the emitted CUDA wrappers. Without the feature `cuda` they don't compile, and this says why, once.
#[cfg(feature = "cuda")]
#[doc(hidden)]
#[macro_export]
macro_rules! cuda_module {
    ($($module:tt)*) => { $($module)* };
}

/// Says what is missing.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! cuda_module {
    ($($module:tt)*) => {
        ::core::compile_error!(
            "this package's kernels target CUDA, which cutegen-runtime serves with its feature `cuda`: \
             in Cargo.toml write `cutegen-runtime = { version = \"0.1\", features = [\"cuda\"] }`"
        );
    };
}

/// Pointers to kernel arguments, in the form that `cuLaunchKernel` and host entries take.
///
/// Takes names of local variables (or other places) and gives `[*mut c_void; N]`. The values are only read,
/// and must outlive the launch.
///
/// ```
/// let (n, eps) = (7_i32, 1e-5_f32);
/// let params = cutegen_runtime::params![n, eps];
/// // SAFETY: `n` lives, and is an i32.
/// assert_eq!(unsafe { *params[0].cast::<i32>() }, 7);
/// ```
#[macro_export]
macro_rules! params {
    ($($argument:expr),* $(,)?) => {
        [$((&raw const $argument).cast_mut().cast::<::core::ffi::c_void>()),*]
    };
}
