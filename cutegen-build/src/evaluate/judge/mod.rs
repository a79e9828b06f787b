//! The judge's process: draws inputs, computes references, fills and reads memory, compares, and keeps the verdict. It
//! never loads candidate code, and must not know the runner, a compiler or how anything is timed.

pub(in crate::evaluate) mod backend;
pub(in crate::evaluate) mod baseline;
pub(in crate::evaluate) mod candidate;
pub(in crate::evaluate) mod case;
pub(in crate::evaluate) mod checker;
pub(in crate::evaluate) mod checks;
pub mod compare;
pub(in crate::evaluate) mod content;
pub(in crate::evaluate) mod dispatch_predicates;
pub mod element;
pub(in crate::evaluate) mod image;
pub mod inputs;
pub(in crate::evaluate) mod instrumented;
pub(in crate::evaluate) mod integers;
pub(in crate::evaluate) mod lease;
pub(in crate::evaluate) mod library;
pub(in crate::evaluate) mod magnitude;
pub(in crate::evaluate) mod octaves;
pub(in crate::evaluate) mod probes;
pub mod profile;
pub(in crate::evaluate) mod reference;
pub mod rms;
pub(in crate::evaluate) mod runner_slot;
pub(in crate::evaluate) mod sampling;
pub mod sanitize;
pub(in crate::evaluate) mod shapes;
pub(in crate::evaluate) mod smaller;
pub(in crate::evaluate) mod strided;
pub mod user_launch;
