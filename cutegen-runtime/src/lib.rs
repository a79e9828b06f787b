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
//! let kernels = kernels::cuda::load(&ctx)?; // checks arch and driver
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
mod emitted;
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
/// `host` and, with the feature `cuda` of this crate, `cuda`: one for each kind of target that the specs name. This crate may
/// have another name in Cargo.toml, or be reached through another crate.
///
/// Wrappers compile in a crate that forbids `unsafe_code`. They allow themselves other lints, which a crate that *forbids*
/// one of those refuses: kernels then go into a crate of their own, with their build script.
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!(pub mod kernels);
    };
    ($visibility:vis mod $name:ident) => {
        /// Kernels emitted by CuTeGen at build time.
        #[allow(unreachable_pub, reason = "what is used of emitted wrappers is up to the crate")]
        #[allow(unexpected_cfgs, reason = "where the module `cuda` is absent, its cfg names the feature it takes")]
        $visibility mod $name {
            use $crate as cutegen_runtime; // whatever this crate is called here
            include!(env!(
                "CUTEGEN_KERNELS",
                "no kernels were emitted: build.rs must call `cutegen_build::build()`, and Cargo.toml must name \
                 `cutegen-build` under [build-dependencies]"
            ));
        }
    };
}

/// Holds the emitted CUDA wrappers, where this crate has the feature `cuda`.
#[cfg(feature = "cuda")]
#[doc(hidden)]
#[macro_export]
macro_rules! cuda_module {
    ($($module:tt)*) => { $($module)* };
}

/// Leaves the module `cuda` out. To a crate that names it all the same, rustc says which feature it is gated behind:
/// no crate has a feature with a slash in its name, so the text is only what a manifest has to say.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! cuda_module {
    ($($module:tt)*) => {
        #[cfg(feature = "cutegen-runtime/cuda")]
        pub mod cuda {}
    };
}

/// Stops the build where wrappers were emitted for another version of this crate.
///
/// The number is that of what emitted code and this crate agree on. It rises with each change after which wrappers of an
/// earlier cutegen-build no longer compile against this crate, or mean something else: a renamed or removed item,
/// another signature, another meaning of a contract's fields. Additions leave it. The emitter has the same number in
/// `cutegen-build/src/emit/wrapper/mod.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! emitted_abi {
    (4, $emitter:literal) => {};
    ($other:tt, $emitter:literal) => {
        ::core::compile_error!(::core::concat!(
            "cutegen-build ",
            $emitter,
            " emits wrappers for another cutegen-runtime than this crate depends on: \
             in Cargo.toml give `cutegen-build` and `cutegen-runtime` the same version"
        ));
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
