//! cutegen-build

#[cfg(feature = "search")]
pub mod evaluate;
