//! What may be inside compiled bytes that end in a user's program. Pure: bytes in, problems out. Who asks is the compiler's
//! client for what has just been compiled, the gate for what it judges, and `emit` for what it links.

pub mod object;
