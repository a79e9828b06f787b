//! cutegen-build

#[cfg(feature = "search")]
pub mod compile;
#[cfg(feature = "search")]
pub mod evaluate;
#[cfg(feature = "search")]
pub mod toolchain;
