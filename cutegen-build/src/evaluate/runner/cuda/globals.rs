//! [`Globals`]: a loaded module's global memory, read before and after a launch. A kernel that changes it keeps state:
//! results to serve again, a count of its launches. Constants lie there too, so it is compared and not forbidden.

use crate::compile::cubin_check::{self, GlobalSection};
use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::runner::Stop;

/// Where the sections of global memory lie.
pub(super) struct Globals {
    sections: Vec<(String, u64, usize)>,
}

impl Globals {
    /// Finds the sections through one symbol of each.
    pub(super) fn of(image: &[u8], loaded: &Loaded) -> Result<Self, Stop> {
        let found = cubin_check::globals(image).map_err(Stop::Refused)?;
        let place = |section: GlobalSection| {
            let address = loaded.global(&section.symbol)?;
            Ok((section.name, address - section.offset, section.bytes as usize))
        };
        Ok(Self { sections: found.into_iter().map(place).collect::<Result<_, Stop>>()? })
    }

    /// What they hold.
    pub(super) fn read(&self) -> Result<Vec<Vec<u8>>, Stop> {
        self.sections.iter().map(|(_, at, bytes)| crate::evaluate::cuda::memory::read_at(*at, *bytes)).collect()
    }

    /// The section that holds something else than `before`.
    pub(super) fn changed(&self, before: &[Vec<u8>]) -> Result<Option<String>, Stop> {
        let after = self.read()?;
        let differs = self.sections.iter().zip(before.iter().zip(&after)).find(|(_, (b, a))| a != b);
        Ok(differs.map(|((name, ..), _)| name.clone()))
    }
}
