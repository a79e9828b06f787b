//! Kernels on the CPU: what it can execute, how an entry is called, scratch memory. Knows no CUDA.

mod call;
pub mod cpu;
mod workspace;

pub use call::{Entry, call};
pub use workspace::Workspace;
