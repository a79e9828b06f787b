//! CuTeGen's build-script library: a line of math in TOML becomes a tuned, verified kernel behind a typed Rust
//! function.
//!
//! ```no_run
//! // the whole `main` of build.rs
//! cutegen_build::build();
//! ```
//!
//! By default a build only *replays*: it looks every kernel up in the package's `cutegen.lock` and `cutegen-store/`,
//! verifies the bytes and emits them with typed wrappers into `OUT_DIR/cutegen/`. It opens no socket, starts no
//! process but the archiver, and needs neither GPU nor CUDA. Kernels are found beforehand with `cargo cutegen tune`
//! and committed with `cargo cutegen accept`.
//!
//! The feature `search` adds the loop that finds kernels: generate, compile, evaluate, refine. [`pipeline`] shows
//! all stages in order.

pub mod cargo;
pub mod discover;
pub mod emit;
pub mod env;
pub mod error;
pub mod event;
pub mod inspect;
pub mod pipeline;
pub mod plan;
pub mod print;
pub mod render;
pub mod store;
mod warnings;

#[cfg(feature = "search")]
pub mod accept;
#[cfg(feature = "search")]
pub mod ask;
#[cfg(feature = "search")]
pub mod compile;
#[cfg(feature = "search")]
pub mod evaluate;
#[cfg(feature = "search")]
pub mod experience;
#[cfg(feature = "search")]
pub mod generate;
#[cfg(feature = "search")]
pub mod home;
#[cfg(feature = "search")]
pub mod kit;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "search")]
pub mod outcome;
#[cfg(feature = "search")]
pub mod refine;
#[cfg(feature = "search")]
pub mod run_log;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "search")]
pub mod strategy;
#[cfg(feature = "search")]
pub mod toolchain;
#[cfg(feature = "search")]
pub mod worker;

use render::command::placed;

/// What a build says of a package that calls [`build`] for nothing.
const NO_KERNEL: &str = "this package declares no kernel, so there is nothing in `kernels`; declare one as \
                         [package.metadata.kernels.NAME], or in a file under `specs`";

/// A build script's whole `main`.
///
/// Prints what cargo must know. On failure it prints `cargo::error=` lines, each ending with the next command, and
/// returns: cargo then fails the build and shows just those lines.
pub fn build() {
    #[cfg(feature = "search")]
    worker::become_worker_if_asked();
    match cargo::Build::from_env() {
        Ok(build) => report(&build, pipeline::run(&build, &mut event::Silent)),
        Err(error) => cargo::print_error(&error.to_string()),
    }
}

fn report(build: &cargo::Build, result: Result<pipeline::Built, Vec<error::Error>>) {
    let place = format!(" -p {}", build.package);
    match result {
        Ok(built) => {
            if built.project.specs.is_empty() {
                cargo::print_warning(NO_KERNEL);
            }
            let warnings = built.project.warnings.iter().chain(&built.warnings);
            warnings.for_each(|warning| cargo::print_warning(&placed(warning, &place)));
            let mut read = built.project.sources.clone();
            read.extend([built.project.lock, built.project.store, build.manifest_dir.join("build.rs")]);
            cargo::print_reruns(&read);
            cargo::print_wrappers(&built.emitted.rust_file);
            if let Some(library) = &built.emitted.lib_name {
                cargo::print_link(&built.emitted.lib_dir, library, &built.emitted.system_libs);
            }
        }
        Err(errors) => error::told(errors).iter().for_each(|text| cargo::print_error(&placed(text, &place))),
    }
}
