//! What judge and peer worker say to each other: one JSON object a line on the worker's stdin and stdout, bulk data in
//! files of a folder that both see (one in shared memory, where there is one). `worker.py` beside this file is the
//! other end. Scalars travel as bits; no message carries a bound, a seed or a reference.

use std::path::PathBuf;

use cutegen_spec::dtype::DType;
use serde::{Deserialize, Serialize};

/// Judge to worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Request<'a> {
    /// Sent once, first.
    Start {
        /// What expressions run on.
        device: Device,
    },
    /// Forget what was prepared, and prepare this.
    Prepare(&'a Prepare),
    /// Time one block of what is prepared.
    Block {},
}

/// What expressions run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The CPU: blocks are no captured graphs, and their times say nothing of a device.
    Cpu,
    /// The first NVIDIA device that is visible.
    Cuda,
}

/// What a block is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Prepare {
    /// What is launched.
    pub what: What,
    /// The inputs.
    pub tensors: Vec<Tensor>,
    /// The scalars.
    pub scalars: Vec<Scalar>,
    /// Whether products of f32 may be of inputs rounded to TF32.
    pub tf32: bool,
    /// Slots of the rotation: the contents of the files in turn, each slot in memory of its own.
    pub slots: u32,
    /// Launches of a block, over the slots in turn.
    pub launches: u32,
    /// Where the outputs' files go.
    pub folder: PathBuf,
}

/// What is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// An expression over the inputs' and scalars' names, and `torch`.
    Expression {
        /// As a spec's `peers` has it.
        text: String,
        /// How it is run.
        mode: Mode,
    },
    /// A cubin of ours.
    Cubin(super::cubin::Cubin),
}

/// How an expression is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// As it stands.
    Eager,
    /// Through `torch.compile`.
    Compile,
    /// Through `torch.compile` in mode `max-autotune-no-cudagraphs`; the graph is ours.
    CompileMaxAutotune,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Tensor {
    /// Its name in the expression.
    pub name: String,
    /// A spec's word.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Its memory in each slot that the judge drew, gaps included.
    pub files: Vec<PathBuf>,
}

/// A scalar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scalar {
    /// Its name in the expression.
    pub name: String,
    /// `f32` or `f64`.
    pub dtype: &'static str,
    /// Its bits, in the low end of the word.
    pub bits: u64,
}

/// Worker to judge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) enum Reply {
    /// It takes requests.
    Ready(Ready),
    /// This machine lacks something.
    Absent(String),
    /// A block is prepared.
    Prepared(Prepared),
    /// A block was timed.
    Block {
        /// Nanoseconds.
        ns: u64,
    },
    /// It cannot be done as asked; the worker goes on.
    Refused(String),
}

/// What the worker found when it started; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Ready {
    /// Version of Python.
    pub python: String,
    /// Version of PyTorch.
    pub torch: String,
    /// Version of the CUDA that PyTorch was built for.
    pub cuda: String,
    /// Version of Triton.
    pub triton: String,
    /// The device in words.
    pub device: String,
    /// Bytes of its L2 cache.
    pub l2_bytes: u64,
    /// Its multiprocessors.
    pub sm_count: u32,
    /// Bytes of shared memory that a block may ask for.
    pub smem_max: u32,
    /// Folders of NVIDIA's libraries that came with PyTorch: cuBLASLt may be found there.
    pub library_folders: Vec<PathBuf>,
}

/// A prepared block.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Prepared {
    /// What one launch on the first slot gave.
    pub outputs: Vec<Output>,
    /// Launches of a block.
    pub launches: u32,
    /// Whether the captured launches leave the same bytes in the first slot as one that is not captured.
    pub same_when_captured: bool,
    /// How long preparing took, compilation included.
    pub took_ms: u64,
}

/// What one launch gave.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Its elements in row-major order.
    pub file: PathBuf,
    /// A spec's word where there is one, else the library's.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<i64>,
}

impl Output {
    /// Its element type, where a spec has a word for it.
    #[must_use]
    pub fn element(&self) -> Option<DType> {
        DType::parse(&self.dtype)
    }
}
