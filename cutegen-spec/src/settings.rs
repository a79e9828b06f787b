//! [`Settings`]: the table `[package.metadata.cutegen]`, and the [`Mode`] of a build.

use crate::digest::DigestStart;
use crate::generators::Generators;
use crate::target::Target;

/// What a build may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Replay accepted kernels only; a miss is an error. The default.
    #[default]
    Locked,
    /// Run the loop on a miss; needs the feature `search`.
    Search,
    /// Emit wrappers without payload, for docs.rs.
    Stub,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::Locked, Mode::Search, Mode::Stub];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Locked => "locked",
            Mode::Search => "search",
            Mode::Stub => "stub",
        }
    }

    /// Reads the word of `CUTEGEN_MODE` or of the metadata key `mode`.
    pub fn parse(word: &str) -> Result<Mode, String> {
        let found = Mode::ALL.into_iter().find(|mode| mode.name() == word);
        found.ok_or_else(|| format!("unknown mode `{word}`: expected `locked`, `search` or `stub`"))
    }
}

/// Package-wide settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Targets of every kernel that names none itself.
    pub targets: Vec<Target>,
    /// Folder of spec files, relative to the package; none when kernels are inline only.
    pub specs: Option<String>,
    /// Folder of the store, relative to the package.
    pub store: String,
    /// The mode when `CUTEGEN_MODE` is not set.
    pub mode: Mode,
    /// Oldest gate revision whose evidence is trusted; an unjudged variant is below every one.
    pub min_gate: Option<u32>,
    /// Whether a release build warns of naive kernels that it links.
    pub warn_naive: bool,
    /// Digests of the host sources that no template wrote and that a person wants in the package.
    pub host_sources: Vec<DigestStart>,
    /// Kinds of generators for kernels that order none themselves.
    pub generators: Generators,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            targets: vec![Target::host()],
            specs: None,
            store: "cutegen-store".to_owned(),
            mode: Mode::Locked,
            min_gate: None,
            warn_naive: true,
            host_sources: Vec::new(),
            generators: Generators::default(),
        }
    }
}
