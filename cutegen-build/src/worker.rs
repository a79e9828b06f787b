//! The hidden door of worker processes. Workers are this very program re-executed with `CUTEGEN_WORKER` set: the
//! command, or a build script whose `main` calls `cutegen_build::build()` first.

use crate::{compile, evaluate, search};

/// Becomes the worker that `CUTEGEN_WORKER` names and never returns, or does nothing.
///
/// A program that starts searches must call this before anything else in its `main`.
pub fn become_worker_if_asked() {
    let Some(kind) = crate::env::variable(compile::WORKER_VAR) else { return };
    match kind.as_str() {
        compile::WORKER_KIND => compile::worker_main(),
        compile::ZYGOTE_KIND => compile::zygote_main(),
        evaluate::RUN => std::process::exit(evaluate::runner::main()),
        evaluate::RUN_APART => std::process::exit(evaluate::runner::main_apart()),
        evaluate::JUDGE => std::process::exit(search::judge_main()),
        kind => {
            crate::cargo::print_error(&format!("{} = {kind} names no worker", compile::WORKER_VAR));
            std::process::exit(70);
        }
    }
}
