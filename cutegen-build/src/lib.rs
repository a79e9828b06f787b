//! cutegen-build
#[cfg(feature = "search")]
pub mod compile;
#[cfg(feature = "search")]
pub mod toolchain;
