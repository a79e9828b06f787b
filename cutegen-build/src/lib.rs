//! cutegen-build
pub mod emit;
pub mod plan;
pub mod print;
