//! Generate: what proposes candidates. A candidate is one source text with its launch contract; configuration is
//! source text, never a compiler flag. Generators don't know whether a candidate is right or fast: the judge does.

pub mod answers;
pub mod naive;
pub mod prompt;
pub mod proposal;
pub mod template;

use cutegen_spec::contract::Contract;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::record::Kind;

use crate::plan::Plan;

/// A proposed kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Unique within the search; file names derive from it.
    pub name: String,
    /// Tuned or naive.
    pub kind: Kind,
    /// Who proposed it, with which parameters.
    pub origin: String,
    /// The whole source: only CuTe, CUDA and standard headers remain included.
    pub source: String,
    /// How it is launched.
    pub contract: Contract,
    /// Launches for which it claims to be right.
    pub eligibility: Eligibility,
    /// Tile extents per axis position, for choosing shapes around them.
    pub tiles: Vec<(usize, i64)>,
    /// What a cost estimate of its time is made from; none where all candidates are tried.
    pub cost_features: Option<CostFeatures>,
}

/// What is known of a kernel's speed before it is compiled, by what bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostFeatures {
    /// Memory, which is read and written in streams.
    Stream(StreamFeatures),
    /// Tiles of a matrix product.
    Product(ProductFeatures),
}

impl CostFeatures {
    /// Of one kind are those that differ in numbers alone.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stream(features) => features.kind,
            Self::Product(features) => features.kind,
        }
    }

    /// Letters at the end of the name: choices that a cost estimate does not tell apart.
    #[must_use]
    pub fn hints(&self) -> &str {
        match self {
            Self::Stream(features) => &features.hints,
            Self::Product(features) => &features.hints,
        }
    }
}

impl From<StreamFeatures> for CostFeatures {
    fn from(features: StreamFeatures) -> Self {
        Self::Stream(features)
    }
}

/// What multiplies matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `mma.sync` of a warp, operands in registers; a block has one tile.
    MmaSync,
    /// `wgmma` of a warpgroup, operands in shared memory; blocks stay for many tiles.
    Wgmma,
    /// FMAs of scalar cores, weights in a ring that goes on through all tiles of a block.
    Fma,
}

/// What the time of a matrix product is estimated from. Extents are in axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductFeatures {
    /// What multiplies.
    pub instruction: Instruction,
    /// Of one kind are those that differ in numbers alone.
    pub kind: &'static str,
    /// Products of the batch, rows, columns, and terms of a sum.
    pub extents: [IntExpr; 4],
    /// Rows, columns and terms of a tile.
    pub tile: [i64; 3],
    /// Sums that share a factor.
    pub products: i64,
    /// Tiles of k in shared memory at once.
    pub stages: i64,
    /// Threads of a block.
    pub threads: i64,
    /// Registers of a thread, about.
    pub registers: i64,
    /// Bytes that a block's warps read from shared memory for a tile of k.
    pub smem_reads: i64,
    /// Bytes of an element of the factors.
    pub element_bytes: i64,
    /// Bytes of a copy from memory, the narrower of both factors.
    pub access_bytes: i64,
    /// Products of a tile of k: several where elements are sums of planes.
    pub passes: i64,
    /// What a block asks L2 for.
    pub fetched: Fetched,
    /// Parts of k that blocks share.
    pub splits: i64,
    /// Whether blocks have equal shares of the k of all tiles.
    pub stream_k: bool,
    /// Letters at the end of the name: choices that a cost estimate does not tell apart.
    pub hints: String,
}

/// What a block asks L2 for of a tile of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All of the tile, in whole lines.
    Tile,
    /// By TMA, from a factor whose rows do not begin at lines of 128 bytes.
    Straddling {
        /// Rows of the first factor and of the second; blocks of a cluster have shares of what they share.
        rows: [i64; 2],
        /// Lines of a box's row, of either.
        lines: [i64; 2],
        /// Tiles of a cluster along rows of y and along columns.
        cluster: [i64; 2],
    },
}

/// What the time of a kernel that streams its tensors is estimated from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFeatures {
    /// Of one kind are those that differ in numbers alone.
    pub kind: &'static str,
    /// Bytes that a thread asks memory for before it waits for any.
    pub in_flight: i64,
    /// Registers of a thread, about.
    pub registers: i64,
    /// How often the threads of a block wait for one another, for each row or tile.
    pub block_barriers: i64,
    /// How often inputs are read, all steps together, in percent.
    pub reads_percent: i64,
    /// What the block of a row with the longest part of it moves, in percent of their mean.
    pub longest_percent: i64,
    /// Whether what is read again is still in L2, however much there is in all.
    pub in_l2: bool,
    /// Whether a launch loads behind its reductions what does not wait for them.
    pub late: bool,
    /// Steps at the end that move next to nothing.
    pub tail_steps: usize,
    /// Letters at the end of the name: choices that a cost estimate does not tell apart.
    pub hints: String,
}

#[cfg(test)]
impl Candidate {
    /// One of this name that has nothing else.
    pub(crate) fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: Kind::Tuned,
            origin: String::new(),
            source: String::new(),
            contract: Contract::default(),
            eligibility: Eligibility::default(),
            tiles: Vec::new(),
            cost_features: None,
        }
    }
}

impl Candidate {
    /// Whether it is estimated as a matrix product.
    #[must_use]
    pub fn is_product(&self) -> bool {
        matches!(self.cost_features, Some(CostFeatures::Product(_)))
    }

    /// The name without hints, and those.
    #[must_use]
    pub fn shape(&self) -> (&str, &str) {
        let hints = self.cost_features.as_ref().map_or("", CostFeatures::hints);
        let shape = self.name.strip_suffix(hints).and_then(|shape| shape.strip_suffix('-'));
        (shape.filter(|_| !hints.is_empty()).unwrap_or(&self.name), hints)
    }
}

/// The letters of the hints that are on.
fn hints(all: &[(bool, char)]) -> String {
    all.iter().filter_map(|(on, letter)| on.then_some(*letter)).collect()
}

/// A name of a shape and hints, which [`Candidate::shape`] takes apart.
fn hinted(shape: String, hints: &str) -> String {
    if hints.is_empty() { shape } else { format!("{shape}-{hints}") }
}

/// What a generator may learn from what was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feedback {
    /// Rounds finished.
    pub round: usize,
    /// Each trial so far: the candidate's name and its outcome in words.
    pub tried: Vec<(String, String)>,
}

/// What a generator answers when it is asked for candidates.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The next candidates, at least one.
    Candidates(Vec<Candidate>),
    /// It has no more ideas.
    Exhausted,
    /// It did not answer, and why. It may have ideas, and may be asked again.
    Failed(String),
}

impl Answer {
    /// These candidates; none means that there are no more ideas.
    #[must_use]
    pub fn of(candidates: Vec<Candidate>) -> Self {
        if candidates.is_empty() { Self::Exhausted } else { Self::Candidates(candidates) }
    }
}

/// Proposes candidates for a plan, given what is known so far.
pub trait Generator {
    /// Its kind, for messages and records: `template`, `submitted`.
    fn name(&self) -> &'static str;

    /// The next candidates.
    fn propose(&mut self, plan: &Plan, feedback: &Feedback) -> Answer;
}

/// The placeholder for the entry symbol in printed and template sources.
pub const ENTRY: &str = "@ENTRY@";

/// Puts the entry symbol in place of [`ENTRY`]. It is derived from the source and the compiler, so equal symbols in
/// two linked objects mean equal bytes.
#[must_use]
pub fn name_entry(source: &str, contract: &Contract, toolchain: &str) -> (String, Contract) {
    let identity = format!("{}\n{toolchain}\n{source}", source.len());
    let symbol = format!("cutegen_{}", &ArtifactDigest::of(identity.as_bytes()).to_string()[..16]);
    let mut contract = contract.clone();
    for step in &mut contract.steps {
        step.entry = step.entry.replace(ENTRY, &symbol);
    }
    (source.replace(ENTRY, &symbol), contract)
}
