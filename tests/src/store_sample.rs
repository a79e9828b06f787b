//! Entries to put: whole records with contracts, evidence and timings, of any size.

use std::collections::BTreeMap;

use cutegen_build::store::{Put, Store, StoreError};
use cutegen_spec::contract::{self, Arg, Contract, Step};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::edition;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::key::Question;
use cutegen_spec::record::{Artifact, Evidence, Kind, Record, Seeds, Source, Tile, Timing, VERSION, Variant};
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;

/// A record and its files.
pub struct Sample {
    /// The record.
    pub record: Record,
    /// Artifacts and sources by name.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Sample {
    /// The answer number `salt` to `y[m] = relu(x[m])` for m up to `bound`: a tuned variant whose artifact has
    /// `bytes` bytes, and the naive one.
    #[must_use]
    pub fn new(bound: u32, salt: u64, bytes: usize) -> Self {
        let question = question(bound);
        let mut files = Vec::new();
        let variants = vec![
            variant("fast", Kind::Tuned, &noise(salt, bytes), salt, &mut files),
            variant("naive", Kind::Naive, &noise(0, 200), 0, &mut files),
        ];
        Self { record: Record { version: VERSION, key: question.key(), question, variants }, files }
    }

    /// Puts it.
    pub fn put(&self, store: &Store) -> Result<Put, StoreError> {
        let files: Vec<(&str, &[u8])> = self.files.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
        store.put(&self.record, &files)
    }
}

fn question(bound: u32) -> Question {
    let text = format!(
        "edition = 1\n[kernels.relu]\naxes = {{ m = '1..={bound}' }}\ninputs = {{ x = 'f32[m]' }}\n\
         outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = relu(x[m])'\n"
    );
    let kernels = edition::spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
    Question::new(&kernels[0], &Target::parse("sm_90a").expect("a target"))
}

fn variant(
    name: &str,
    kind: Kind,
    artifact: &[u8],
    salt: u64,
    files: &mut Vec<(String, Vec<u8>)>,
) -> Variant {
    let source = format!("// {name}, answer {salt}\nextern \"C\" __global__ void relu() {{}}\n").into_bytes();
    let stored = zstd::bulk::compress(artifact, 1).expect("compressed");
    let variant = Variant {
        name: name.to_owned(),
        kind,
        eligibility: Eligibility::default(),
        prefer: Eligibility::parse_positional("a0 >= 8 and a0 % 8 == 0").expect("conditions"),
        origin: format!("template relu {salt}"),
        toolchain: "nvrtc 13.0.88".to_owned(),
        min_driver: Some(580),
        shared_memory: None,
        tiles: vec![Tile { axis: 0, extent: 256 }],
        artifact: Artifact {
            file: format!("{name}.cubin.zst"),
            artifact: ArtifactDigest::of(artifact),
            stored: ArtifactDigest::of(&stored),
            bytes: artifact.len() as u64,
        },
        source: Source { file: format!("{name}.cu"), digest: ArtifactDigest::of(&source) },
        contract: contract(),
        evidence: Some(evidence(salt)),
    };
    files.push((variant.artifact.file.clone(), stored));
    files.push((variant.source.file.clone(), source));
    variant
}

fn contract() -> Contract {
    let [grid, block] =
        ["ceil_div(a0, 256)", "256"].map(|x| IntExpr::parse_positional(x).expect("an expression"));
    let step = Step {
        entry: "relu".to_owned(),
        grid: [grid, IntExpr::Const(1), IntExpr::Const(1)],
        block: [block, IntExpr::Const(1), IntExpr::Const(1)],
        cluster: contract::ones(),
        smem: IntExpr::Const(0),
        args: vec![Arg::Ptr(0), Arg::Ptr(1), Arg::Axis(0)],
        pdl: false,
        co_resident: false,
    };
    Contract { workspace: Vec::new(), steps: vec![step] }
}

fn evidence(seed: u64) -> Evidence {
    Evidence {
        gate: 3,
        device: "NVIDIA H200, driver 580.95".to_owned(),
        seeds: Seeds::one(seed),
        shapes: vec!["m=64".to_owned(), "m=61".to_owned()],
        distributions: vec!["normal".to_owned(), "one-hot".to_owned()],
        elements: 125,
        worst_share: 0.25,
        repeats: 1000,
        sanitizer: "clean".to_owned(),
        timings: vec![Timing {
            workload: BTreeMap::from([("m".to_owned(), 64)]),
            micros: 2.5,
            incumbent: "naive".to_owned(),
            speedup: 1.5,
            low: 1.4,
            high: 1.6,
            samples: 40,
            ..Timing::default()
        }],
        ..Evidence::default()
    }
}

/// Bytes that look like a compressed file; the same for the same salt (SplitMix64).
#[must_use]
pub fn noise(salt: u64, bytes: usize) -> Vec<u8> {
    let word = |i: u64| {
        let mut z = (salt << 32).wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (1..).flat_map(|i| word(i).to_le_bytes()).take(bytes).collect()
}
