//! cutegen-build
pub mod plan;
pub mod print;
