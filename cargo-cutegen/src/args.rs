//! The command line.

mod runs;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use cutegen_spec::digest::DigestStart;
use cutegen_spec::generators::Generators;
use cutegen_spec::record::incumbent;

use crate::bindings::Binding;
pub(crate) use runs::{Begin, Experience, How, Preset, Refine, Replay, Step};

/// Incumbents that `bench` knows.
const AGAINST: [&str; 4] =
    [incumbent::NAIVE, incumbent::CUBLASLT, incumbent::TORCH_EAGER, incumbent::TORCH_COMPILE];

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
    /// Cargo.toml of the package; the nearest one, here or in a folder above, unless given
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "specs")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// A package of that one's workspace, by its name
    #[arg(long, short, global = true, value_name = "NAME", conflicts_with = "specs")]
    pub(crate) package: Option<String>,
    /// A folder of spec files without a package; needs --cache
    #[arg(long, global = true, value_name = "DIR", requires = "cache")]
    pub(crate) specs: Option<PathBuf>,
    /// The lock and store of --specs
    #[arg(long, global = true, value_name = "DIR", requires = "specs")]
    pub(crate) cache: Option<PathBuf>,
    /// One JSON value a line on standard output instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// All of these as they were typed, from the verb on.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Say whether specs, lock and store agree; offline, no GPU
    Check(Check),
    /// Compile and lock the naive kernel of whatever is not locked
    Lock(Lock),
    /// Search for fast kernels on this machine; winners go to the user store
    Tune(Tune),
    /// Submit a kernel of your own: the gate judges it, and what is accepted goes to the user store
    Propose(Propose),
    /// Have a language model, a program or a person write a kernel and improve it, step by step
    Refine(Refine),
    /// Go on with runs: do what this machine can, and list what they wait for
    Step(Step),
    /// Check that the log of a run gives the prompts and decisions that it has
    Replay(Replay),
    /// Write what ended runs say of hints into cutegen-experience.toml, for review
    Experience(Experience),
    /// Serve coding agents over the Model Context Protocol: they propose kernels, the gate judges them
    #[cfg(feature = "mcp")]
    Mcp,
    /// Bring winners into the package: store and lock
    Accept(Accept),
    /// Re-verify locked kernels, or rebuild them to the same bytes
    Verify(Verify),
    /// Launch a locked kernel, the naive one or the f64 reference on tensors of your own
    Run(Run),
    /// Time locked kernels again, against their incumbents
    Bench(Bench),
    /// One HTML page of what is locked: roofline, speed-ups, evidence; or a run's log as Markdown
    Report(Report),
    /// Compilers and headers, in a folder of their own
    Toolchain(Toolchain),
    /// One bundle that tunes and verifies on a machine with no Rust and no network
    Pack(Pack),
    /// Say what a diagnostic's code such as CG012 means, or how a locked kernel was judged and timed
    Explain(Explain),
    /// Print the JSON Schema of a spec file, for editors
    Schema(Schema),
}

impl Command {
    /// Kernels that it names.
    pub(crate) fn kernels(&self) -> &[String] {
        match &self.verb {
            Verb::Check(Check { select, .. })
            | Verb::Lock(Lock { select, .. })
            | Verb::Tune(Tune { select, .. })
            | Verb::Accept(Accept { select, .. })
            | Verb::Verify(Verify { select, .. })
            | Verb::Bench(Bench { select, .. })
            | Verb::Step(Step { select, .. })
            | Verb::Replay(Replay { select, .. })
            | Verb::Experience(Experience { select })
            | Verb::Report(Report { select, .. }) => &select.kernels,
            Verb::Run(Run { kernel, .. })
            | Verb::Propose(Propose { kernel, .. })
            | Verb::Refine(Refine { kernel, .. }) => std::slice::from_ref(kernel),
            Verb::Explain(Explain { word, .. }) => word.as_slice(),
            Verb::Toolchain(_) | Verb::Pack(_) | Verb::Schema(_) => &[],
            #[cfg(feature = "mcp")]
            Verb::Mcp => &[],
        }
    }

    /// The same command on a package of the workspace.
    pub(crate) fn again_for(&self, package: &str) -> String {
        let mut words: Vec<String> = vec!["cargo".to_owned(), "cutegen".to_owned()];
        let mut typed = self.typed.iter();
        while let Some(word) = typed.next() {
            match word.as_str() {
                "-p" | "--package" => drop(typed.next()),
                word if word.starts_with("-p") || word.starts_with("--package=") => {}
                word => words.push(quoted(word)),
            }
        }
        words.extend(["-p".to_owned(), quoted(package)]);
        words.join(" ")
    }

    /// The arguments that name the project, as they were given, for commands in messages.
    pub(crate) fn place(&self) -> String {
        let path = |path: &Option<PathBuf>| path.as_deref().map(|path: &Path| path.display().to_string());
        let named = [
            ("--manifest-path", path(&self.manifest_path)),
            ("-p", self.package.clone()),
            ("--specs", path(&self.specs)),
            ("--cache", path(&self.cache)),
        ];
        let given = named.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
        given.map(|(flag, value)| format!(" {flag} {}", quoted(&value))).collect()
    }
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Which kernels a verb is about.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Kernels; all unless named
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Only this target, such as `host`; `sm_90a` means its devices too, as in `sm_90a:h200`
    #[arg(long)]
    pub(crate) target: Option<String>,
}

impl Select {
    /// Whether it leaves nothing out.
    pub(crate) fn is_all(&self) -> bool {
        self.kernels.is_empty() && self.target.is_none()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Every package of the workspace that declares kernels, or still locks some
    #[arg(long, conflicts_with_all = ["package", "specs", "kernels", "target"])]
    pub(crate) workspace: bool,
    /// Fail also on kernels that no search has tuned
    #[arg(long)]
    pub(crate) tuned: bool,
    /// Fail also on kernels that only an older gate has judged, or nothing; the package's own setting, if that is higher
    #[arg(long, value_name = "GATE", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_gate: Option<u32>,
    /// A host source that no template wrote and that is wanted, by its SHA-256; of a package, its setting `host-sources`
    #[arg(long, value_name = "DIGEST", value_parser = DigestStart::parse, requires = "specs")]
    pub(crate) host_source: Vec<DigestStart>,
}

#[derive(Debug, Args)]
pub(crate) struct Lock {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Drop from the lock what no spec declares any more; without it that stays, and is told
    #[arg(long)]
    pub(crate) prune: bool,
    /// Make anew what is locked: naive kernels from the math, host variants from their sources; other cubins stay
    #[arg(long)]
    pub(crate) renew: bool,
    /// Predict nothing: lock naive kernels alone, also for GPUs that are not here
    #[arg(long)]
    pub(crate) naive_only: bool,
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
    /// Kinds of generators, template and model, in the order in which they are asked, in place of what specs say: the next one
    /// where no kernel meets the spec's `accept`. A model is asked by --endpoint, --preset or PROGRAM
    #[arg(long, value_name = "KIND,KIND", value_parser = Generators::parse)]
    pub(crate) generators: Option<Generators>,
    /// How many times faster a kernel has to be in a range of an axis to get a variant of its own there; 1.02 unless given
    #[arg(long, value_name = "RATIO", value_parser = at_least_one)]
    pub(crate) worth: Option<f64>,
    /// Sets of variants that are judged whole, the best of which wins; 3 unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) finalists: Option<u8>,
    /// Do not skip kernels that no template fills: judge their naive kernels, as `verify --record` does
    #[arg(long)]
    pub(crate) judge_naive: bool,
    /// Search for nothing and send nothing: print what a new run of `refine` with these flags would ask --endpoint first, where that
    /// would go and what it may cost
    #[arg(long, requires = "endpoint", conflicts_with_all = ["results", "again", "peers", "judge_naive"])]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) begin: Begin,
    #[command(flatten)]
    pub(crate) how: How,
}

/// A ratio of speeds that gains something, or nothing.
fn at_least_one(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if ratio >= 1.0 && ratio.is_finite() {
        Ok(ratio)
    } else {
        Err(format!("{text} is below 1: give a ratio such as 1.05"))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Propose {
    /// The kernel
    #[arg(value_name = "KERNEL")]
    pub(crate) kernel: String,
    /// Its source, or a reply with one code block: CUDA C++ for a GPU, C++ for `host`, the contract in a comment at the top
    #[arg(long, value_name = "FILE", required_unless_present = "prompt")]
    pub(crate) source: Option<PathBuf>,
    /// Only write to this file the prompt from which a language model or a person writes the source
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "contract", "by", "results", "peers"])]
    pub(crate) prompt: Option<PathBuf>,
    /// The contract as a TOML file, in place of that comment
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// On this target; needed where the kernel has several
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// What wrote it, for the record
    #[arg(long, value_name = "NAME", value_parser = named)]
    pub(crate) by: Option<String>,
    /// Time it against PyTorch too, where `peers` names an expression; needs python3 with torch
    #[arg(long)]
    pub(crate) peers: bool,
    /// Also write what is accepted to this file, for `accept` on another machine
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

/// At most 80 printable characters, for records.
fn named(text: &str) -> Result<String, String> {
    let is_short = (1..=80).contains(&text.chars().count());
    if is_short && text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        return Ok(text.to_owned());
    }
    Err("1 to 80 printable characters".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Accept {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Winners that `tune --results` wrote on another machine
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// Take this host source, which no template wrote: its SHA-256, at least 16 hex digits
    #[arg(long, value_name = "DIGEST", value_parser = DigestStart::parse)]
    pub(crate) host_source: Vec<DigestStart>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) select: Select,
    /// Compile each stored source and compare with the locked digest; needs no GPU
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Leave out what this file lists as rebuilt by the same toolchain
    #[arg(long, value_name = "FILE", requires = "rebuild")]
    pub(crate) known: Option<PathBuf>,
    /// Write that list, with what was rebuilt now, to this file
    #[arg(long, value_name = "FILE", requires = "rebuild")]
    pub(crate) write_known: Option<PathBuf>,
    /// Write what was judged into the records, as fresh evidence; bytes, keys and lock stay
    #[arg(long, conflicts_with = "rebuild")]
    pub(crate) record: bool,
    /// Also write those entries to this file, for `accept` on another machine
    #[arg(long, value_name = "FILE", requires = "record")]
    pub(crate) results: Option<PathBuf>,
    /// Leave out what this program's gate has recorded already; FILE gets it all the same
    #[arg(long, requires = "record")]
    pub(crate) resume: bool,
    /// Judge so many kernels at a time; one that does not pass beside others is re-verified alone
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "rebuild", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Begin no kernel once so many seconds have passed; those that are begun are finished
    #[arg(long, value_name = "SECONDS", conflicts_with = "rebuild")]
    pub(crate) deadline: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The kernel
    #[arg(value_name = "KERNEL")]
    pub(crate) kernel: String,
    /// On this target; `host` unless given, or the only one that the kernel has
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Extents of the run-time axes, `m=16,n=4096`; as the tensors have them unless given
    #[arg(long, value_name = "AXIS=N", value_delimiter = ',')]
    pub(crate) axes: Vec<Binding<i64>>,
    /// A safetensors file with inputs, under their names in the spec
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: Vec<PathBuf>,
    /// Where outputs and inouts go, as a safetensors file
    #[arg(long, value_name = "FILE", required_unless_present = "compare")]
    pub(crate) out: Option<PathBuf>,
    /// What computes them
    #[arg(long, value_enum, default_value = "tuned")]
    pub(crate) with: With,
    /// The value of a scalar, `eps=1e-5`
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) scalar: Vec<Binding<f64>>,
    /// Draw inputs and scalars that are not given, as the gate draws its normal ones
    #[arg(long, value_name = "SEED")]
    pub(crate) random: Option<u64>,
    /// Write the inputs to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) keep_inputs: Option<PathBuf>,
    /// Say how far the results are from those of another
    #[arg(long, value_enum)]
    pub(crate) compare: Option<Compare>,
}

/// What computes a kernel's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum With {
    /// The locked variant that the runtime would dispatch
    Tuned,
    /// The locked naive kernel
    Naive,
    /// The f64 reference: floats are written in f64
    Reference,
}

/// What results are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compare {
    /// The locked naive kernel
    Naive,
    /// The f64 reference, with the gate's bound
    Reference,
}

impl With {
    /// Its word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            With::Tuned => "tuned",
            With::Naive => "naive",
            With::Reference => "reference",
        }
    }
}

impl Compare {
    /// Its word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compare::Naive => "naive",
            Compare::Reference => "reference",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) select: Select,
    /// At these extents instead of the declared workloads, `m=16,n=4096`
    #[arg(long, value_name = "AXIS=N", value_delimiter = ',')]
    pub(crate) axes: Vec<Binding<i64>>,
    /// Also against PyTorch, where `peers` names an expression; needs python3 with torch
    #[arg(long)]
    pub(crate) peers: bool,
    /// Only against these, such as `torch-eager,torch-compile`; names of PyTorch imply --peers
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = PossibleValuesParser::new(AGAINST))]
    pub(crate) against: Vec<String>,
    /// On a device, also for three seconds without pause
    #[arg(long)]
    pub(crate) sustained: bool,
    /// Also write every sample to this JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) select: Select,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// The lines that `tune --json` printed, for the history of a search
    #[arg(long, value_name = "FILE")]
    pub(crate) trials: Vec<PathBuf>,
    /// What `bench --results` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Vec<PathBuf>,
    /// Instead of a page, print the run whose log this is: its steps, score, and how kernels changed, as Markdown
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernels", "target", "out", "trials", "results"])]
    pub(crate) run: Option<PathBuf>,
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
    /// Say what the compile cache holds: candidates that searches need not compile again
    Cache {
        /// Remove it
        #[arg(long)]
        clear: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The bundle, a .tar.gz
    #[arg(long, value_name = "FILE", default_value = "cutegen-pack.tar.gz")]
    pub(crate) out: PathBuf,
    /// Take NVRTC and nvJitLink along, for nodes without them
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

#[cfg(test)]
mod tests;
