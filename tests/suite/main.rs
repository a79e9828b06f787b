//! The suite.

mod store;
