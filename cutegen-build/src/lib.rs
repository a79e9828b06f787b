//! cutegen-build
pub mod store;
