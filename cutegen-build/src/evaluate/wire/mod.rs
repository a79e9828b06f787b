//! What both processes have: the messages of the pipe, the memory that they share, and how a process is started. It must
//! not know what is judged.

pub mod arena;
pub mod gemm;
pub mod memory;
pub(in crate::evaluate) mod process;
pub mod protocol;
pub(in crate::evaluate) mod worker;
