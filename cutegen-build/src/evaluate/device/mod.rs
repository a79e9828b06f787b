//! What judge and runner both need of a CUDA device: a context with its stream, memory that two processes share, loaded
//! cubins and their launches. It knows no case and no verdict.

pub mod clocks;
pub(crate) mod error;
pub(crate) mod launch;
pub(crate) mod memory;
pub mod resolve;
pub(crate) mod session;
mod tensor_map;
pub mod waits;
