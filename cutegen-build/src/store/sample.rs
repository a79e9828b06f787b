//! Sample entries for the store's unit tests.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cutegen_spec::contract::Contract;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::edition;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::key::Question;
use cutegen_spec::record::{Artifact, Kind, Record, Source, VERSION, Variant};
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;

pub(super) use super::Files;

/// The question of `y[m] = max(x[m], 0)` for m up to `bound`.
pub(super) fn question(bound: u32) -> Question {
    Question::new(&spec(bound), &Target::host())
}

/// Its spec.
pub(super) fn spec(bound: u32) -> KernelSpec {
    let text = format!(
        "edition = 1\n[kernels.relu]\naxes = {{ m = '1..={bound}' }}\ninputs = {{ x = 'f32[m]' }}\n\
         outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = relu(x[m])'\n"
    );
    edition::spec_file(&text, &Settings::default()).into_kernels().expect("right specs").remove(0)
}

/// A tuned entry for [`question`]`(64)`; entries of different `salt` have different bytes.
pub(super) fn entry(salt: u8) -> (Record, Files) {
    let mut files = Files::new();
    let variants =
        vec![variant("fast", Kind::Tuned, salt, &mut files), variant("naive", Kind::Naive, 0, &mut files)];
    let question = question(64);
    (Record { version: VERSION, key: question.key(), question, variants }, files)
}

/// As [`entry`], with the naive variant only.
pub(super) fn untuned() -> (Record, Files) {
    let (mut record, mut files) = entry(0);
    record.variants.remove(0);
    files.retain(|(name, _)| name.starts_with("naive"));
    (record, files)
}

/// As `Store::put` takes them.
pub(super) fn borrowed(files: &Files) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

/// A new empty folder, removed when the test's thread ends.
pub(super) fn folder() -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    thread_local!(static MINE: RefCell<Folders> = const { RefCell::new(Folders(Vec::new())) });
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("cutegen-store-unit-{}-{n}", process::id()));
    fs::create_dir_all(&path).expect("made");
    MINE.with_borrow_mut(|mine| mine.0.push(path.clone()));
    path
}

struct Folders(Vec<PathBuf>);

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn variant(name: &str, kind: Kind, salt: u8, files: &mut Files) -> Variant {
    let artifact: Vec<u8> = match kind {
        Kind::Tuned | Kind::Predicted => (0..=255).map(|byte: u8| byte ^ salt).collect(),
        Kind::Naive => vec![0; 256],
    };
    let source = format!("// {name} {salt}\n").into_bytes();
    let digest = ArtifactDigest::of(&artifact);
    let variant = Variant {
        name: name.to_owned(),
        kind,
        eligibility: Eligibility::default(),
        prefer: Eligibility::default(),
        tiles: Vec::new(),
        origin: "test".to_owned(),
        toolchain: "none".to_owned(),
        min_driver: None,
        shared_memory: None,
        artifact: Artifact { file: format!("{name}.o"), artifact: digest, stored: digest, bytes: 256 },
        source: Source { file: format!("{name}.cu"), digest: ArtifactDigest::of(&source) },
        contract: Contract::default(),
        evidence: None,
    };
    files.push((variant.artifact.file.clone(), artifact));
    files.push((variant.source.file.clone(), source));
    variant
}
