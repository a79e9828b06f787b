//! What judge and runner both need of a CUDA device: a context with its stream, memory that two processes share, loaded
//! cubins and their launches, pieces of memory for the gate's own kernel. It knows no case and no verdict.

pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod piece;
pub mod resolve;
pub(crate) mod session;
