//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Cargo calls `cargo-cutegen cutegen ...`.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo")]
pub(crate) enum Cargo {
    /// Tuned, verified GPU kernels from math in TOML
    Cutegen(Command),
}

/// `cargo cutegen`
#[derive(Debug, Args)]
#[command(version, about, long_about = None)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Cargo.toml of the package; the one of the current folder unless given
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// A folder of spec files without a package; needs --cache
    #[arg(long, global = true, value_name = "DIR", requires = "cache")]
    pub(crate) specs: Option<PathBuf>,
    /// The lock and store of --specs
    #[arg(long, global = true, value_name = "DIR", requires = "specs")]
    pub(crate) cache: Option<PathBuf>,
    /// One JSON value a line on standard output instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Say whether specs, lock and store agree; offline, no GPU
    Check(Check),
    /// Compile and lock the naive kernel of whatever is not locked
    Lock(Select),
    /// Search for fast kernels on this machine; winners go to the user store
    Tune(Tune),
    /// Bring winners into the package: store and lock
    Accept(Accept),
    /// Judge locked kernels again, or rebuild them to the same bytes
    Verify(Verify),
    /// Compilers and headers, in a folder of their own
    Toolchain(Toolchain),
    /// One bundle that tunes and verifies on a machine with no Rust and no network
    Pack(Pack),
    /// Say what a diagnostic's code such as CG012 means, or how a locked kernel was judged and timed
    Explain(Explain),
    /// Print the JSON Schema of a spec file, for editors
    Schema(Schema),
}

/// Which kernels a verb is about.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Kernels; all unless named
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Only this target, such as `host` or `sm_90a`
    #[arg(long)]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Fail also on kernels that no search has tuned
    #[arg(long)]
    pub(crate) tuned: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Also write the winners to this file, for `accept` on another machine
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// Search again although the user store has an answer
    #[arg(long)]
    pub(crate) again: bool,
    /// Time finalists against PyTorch too, where `peers` names an expression; needs python3 with torch
    #[arg(long)]
    pub(crate) peers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Accept {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Winners that `tune --results` wrote on another machine
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Compile each stored source and compare with the locked digest; needs no GPU
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Write what was judged into the records, as fresh evidence; bytes, keys and lock stay
    #[arg(long, conflicts_with = "rebuild")]
    pub(crate) record: bool,
    /// Also write those entries to this file, for `accept` on another machine
    #[arg(long, value_name = "FILE", requires = "record")]
    pub(crate) results: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Toolchain {
    #[command(subcommand)]
    pub(crate) action: ToolchainAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolchainAction {
    /// Install the pinned pip packages into their own folder
    Install {
        /// Also what only the tests need
        #[arg(long)]
        tests: bool,
    },
    /// Say what is found and where
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The bundle, a .tar.gz
    #[arg(long, value_name = "FILE", default_value = "cutegen-pack.tar.gz")]
    pub(crate) out: PathBuf,
    /// Take NVRTC along, for nodes without one
    #[arg(long)]
    pub(crate) with_nvrtc: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A diagnostic's code, or a kernel; without it, all codes are listed
    #[arg(value_name = "CODE or KERNEL")]
    pub(crate) word: Option<String>,
    /// Of a kernel, only this target
    #[arg(long, requires = "word")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of Cargo.toml, with its tables under package.metadata, instead
    #[arg(long)]
    pub(crate) cargo: bool,
}
