//! A candidate's source becomes an artifact: guarded, compiled in another process, inspected.
//!
//! Owns the compiler worker, the zygote that forks many of them, both ends of their protocols, and the cache of their answers. Knows no spec, no GPU and no score. A source that does
//! not compile is data ([`CompileFailure`]); an [`Error`] means that this machine cannot compile at all.
//! Invariant: hostile text is read by a compiler only inside the worker, and only what passed [`guard`].

pub mod diagnostics;
pub mod guard;

mod allowed;
mod batch;
mod cache;
mod client;
mod error;
mod job;
pub(crate) mod landlock;
mod lexer;
pub(crate) mod privileges;
mod process;
mod sandbox;
pub(crate) mod sandboxed;
pub(crate) mod seccomp;
mod syscalls;
mod tool_log;
mod worker;
mod zygote;

pub use batch::{Batch, includes};
pub use cache::{CompileCache, Held};
pub use client::{RawArtifact, compile, compile_in, compile_unguarded, compile_unguarded_in, own_cubin};
pub use error::Error;
pub use job::{
    Artifact, COMPILER, CompileFailure, CompileFor, CompileJob, CompileOutcome, CompileSetup, Confinement,
    FailureReason, Forbidden, Inspected, Limits, SandboxLayers, Workers,
};
pub use worker::{WORKER_KIND, WORKER_VAR, worker_main};
pub use zygote::{ZYGOTE_KIND, zygote_main};
