//! `cargo cutegen`: the foreground place for what a build must not do. One file per verb; this one only dispatches.
//!
//! Exit codes: 0 done; 1 specs, lock, store or evidence disagree, or a kernel failed; 2 wrong usage; 3 the machine
//! lacks something (a toolchain, a device, a folder); 4 answers are awaited, and nothing else.

mod accept;
mod args;
mod bench;
mod bindings;
mod check;
mod evidence;
mod experience;
mod explain;
mod failure;
mod host_sources;
mod lock;
#[cfg(feature = "mcp")]
mod mcp;
mod migrate;
mod outfile;
mod output;
mod pack;
mod project;
mod propose;
mod refine;
mod replay;
mod report;
mod run;
mod runs;
mod schema;
mod skipped;
mod step;
mod toolchain;
mod tune;
mod unpack;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cargo, Verb};
use failure::Failure;

fn main() -> ExitCode {
    cutegen_build::worker::become_worker_if_asked();
    let Cargo::Cutegen(mut command) = Cargo::parse();
    command.typed = std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    let out = output::Output::new(command.json, command.place());
    match run(&command, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: &args::Command, out: &output::Output) -> Result<(), Failure> {
    match &command.verb {
        Verb::Check(verb) => check::run(command, verb, out),
        Verb::Lock(verb) => lock::run(command, verb, out),
        Verb::Tune(verb) => tune::run(command, verb, out),
        Verb::Propose(verb) => propose::run(command, verb, out),
        Verb::Refine(verb) => refine::run(command, verb, out),
        Verb::Step(verb) => step::run(command, verb, out),
        Verb::Replay(verb) => replay::run(command, verb, out),
        Verb::Experience(verb) => experience::run(command, verb, out),
        #[cfg(feature = "mcp")]
        Verb::Mcp => mcp::run(command),
        Verb::Accept(verb) => accept::run(command, verb, out),
        Verb::Verify(verb) => verify::run(command, verb, out),
        Verb::Run(verb) => run::run(command, verb, out),
        Verb::Bench(verb) => bench::run(command, verb, out),
        Verb::Report(verb) => report::run(command, verb, out),
        Verb::Toolchain(verb) => toolchain::run(verb, out),
        Verb::Pack(verb) => pack::run(command, verb, out),
        Verb::Explain(verb) => explain::run(command, verb, out),
        Verb::Schema(verb) => schema::run(verb, out),
    }
}
