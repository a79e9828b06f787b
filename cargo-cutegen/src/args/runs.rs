//! The command line of the verbs that begin runs and go on with them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cutegen_build::strategy::Strategy;

use super::Select;

#[derive(Debug, Args)]
pub(crate) struct Refine {
    /// The kernel
    #[arg(value_name = "KERNEL")]
    pub(crate) kernel: String,
    /// On this target; needed where the kernel has several
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// The run's name; KERNEL-1, KERNEL-2 and so on unless given. A run of this name is gone on with
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) begin: Begin,
    #[command(flatten)]
    pub(crate) how: How,
}

/// How a new run begins.
#[derive(Debug, Args)]
pub(crate) struct Begin {
    /// What decides on the requests of a new run: refine, one kernel step by step, unless given; or branch, rounds of ideas
    /// with several kernels each; or islands, populations with roles of their own
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    pub(crate) strategy: Option<Strategy>,
    /// A setting of a new run, such as requests=12; the strategy's page in docs lists them
    #[arg(long, value_name = "NAME=NUMBER", value_parser = setting)]
    pub(crate) set: Vec<(String, f64)>,
}

impl Begin {
    /// Whether it leaves all to the defaults.
    pub(crate) fn is_default(&self) -> bool {
        self.strategy.is_none() && self.set.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Step {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Only this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Judge what waits for a device, ask for nothing, and write all verdicts and winners to this file, for --merge at home
    #[arg(long, value_name = "FILE", conflicts_with = "merge")]
    pub(crate) results: Option<PathBuf>,
    /// Begin with nothing further that takes long after so many seconds: no request of a program, compile, batch or whole gate
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<u64>,
    /// First take in what --results wrote on another machine
    #[arg(long, value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// What answers, and what else is timed.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Ask a known program; its command line must be installed and logged in
    #[arg(long, value_enum, conflicts_with = "command")]
    pub(crate) preset: Option<Preset>,
    /// Ask the language model of this endpoint of your config.toml, within its limits; docs/model.md has the file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["preset", "command"])]
    pub(crate) endpoint: Option<String>,
    /// The model: handed to --preset or --endpoint, and kept in the log either way
    #[arg(long, value_name = "NAME", value_parser = super::named)]
    pub(crate) model: Option<String>,
    /// Time what the whole gate judges against PyTorch too
    #[arg(long)]
    pub(crate) peers: bool,
    /// Seconds that a program may take to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) answer_seconds: u32,
    /// A variable of the environment that PROGRAM gets too, such as that of a key
    #[arg(long, value_name = "NAME")]
    pub(crate) pass: Vec<String>,
    /// A program that answers: the prompt on its standard input, the answer on its standard output. `refine` and `step` without a
    /// program leave prompts and answers as files
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<String>,
}

/// Programs whose command lines are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// `claude`
    Claude,
    /// `codex`
    Codex,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Only this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Compile and judge every candidate again, as far as this machine can
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Experience {
    #[command(flatten)]
    pub(crate) select: Select,
}

fn strategy(text: &str) -> Result<Strategy, String> {
    let names = || Strategy::all().map(Strategy::name).collect::<Vec<_>>().join(", ");
    Strategy::named(text).ok_or_else(|| format!("no strategy `{text}`; there are: {}", names()))
}

fn setting(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("`{text}` is no NAME=NUMBER");
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    if number.is_finite() { Ok((name.to_owned(), number)) } else { Err(wrong()) }
}
