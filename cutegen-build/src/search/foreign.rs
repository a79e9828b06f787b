//! What kernels have to keep that no template wrote, beside the gate: where they may run, and whose lines they may have. On a GPU a
//! runner's process is what they reach; on `host` they are machine code of the CPU, and run in a whole sandbox or not at all.

use cutegen_spec::target::Target;

use super::Searcher;
use super::compiled::Refusal;
use super::error::SearchError;
use crate::compile::CompileSetup;
use crate::compile::landlock::{Access, Ruleset};
use crate::compile::seccomp::{Confine, Filter};
use crate::event::{Event, Reporter};
use crate::generate::Candidate;
use crate::generate::answers::borrowed::Index;
use crate::plan::Plan;
use crate::toolchain::header_files;

impl Searcher {
    /// Whether this machine can judge kernels for `target` that no template wrote: [`Self::can_judge`], and on `host` Landlock and
    /// seccomp. The error says what is missing.
    pub fn can_judge_foreign(&self, target: &Target) -> Result<(), String> {
        self.can_judge(target)?;
        if !target.is_host() || confines() {
            return Ok(());
        }
        Err("a kernel for `host` that no template wrote runs only where the system has Landlock and seccomp"
            .to_owned())
    }

    /// Of kernels that no template wrote those that may run here: all or none, and why none.
    pub(super) fn confined(
        &self,
        plan: &Plan,
        found: Vec<Candidate>,
        events: &mut dyn Reporter,
    ) -> Vec<Candidate> {
        let Err(why) = self.can_judge_foreign(&plan.target) else { return found };
        for candidate in &found {
            let text = format!("{}: {} is left out: {why}", plan.title(), candidate.name);
            events.report(&Event::Note { text });
        }
        Vec::new()
    }
}

/// Why a source is refused that has lines in a row of a header of the toolchain: they are under that header's licence.
pub(super) fn borrowed(setup: &CompileSetup, source: &str) -> Result<Option<Refusal>, SearchError> {
    let headers = header_files(&setup.toolchain)?;
    let texts = headers.iter().filter_map(|header| {
        let name = header.relative.display().to_string();
        Some((name, std::fs::read_to_string(&header.source).ok()?))
    });
    Ok(Index::of(texts).find(source).map(Refusal::Borrowed))
}

/// Whether the system has what a runner is confined by. It is asked, since what confined a compiler may have been another system.
fn confines() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has_seccomp = status.lines().any(|line| line.starts_with("Seccomp:"));
    has_seccomp && Filter::new(Confine::Candidate).is_ok() && Ruleset::new(&Access::default()).is_ok()
}
