//! Helpers shared by the suite.

pub mod store_sample;
