//! [`Reading`]: what a backend holds, as bytes and numbers of the host. Judging never needs it: results stay where they are
//! and are compared there. A user who runs a kernel wants them.

use super::MemoryBackend;
use super::host::{HostBackend, HostCase};
use crate::evaluate::error::Error;
use crate::evaluate::judge::reference::Expected;

/// A backend whose memory can be read.
pub(in crate::evaluate) trait Reading: MemoryBackend {
    /// The copy of the region at this position.
    fn bytes(&self, left: &Self::Left, region: usize) -> Result<Vec<u8>, Error>;

    /// What each tensor must hold after a launch; none for inputs.
    fn expected(&self, held: &Self::Held) -> Result<Vec<Option<Expected>>, Error>;
}

impl Reading for HostBackend {
    fn bytes(&self, left: &Vec<Vec<u8>>, region: usize) -> Result<Vec<u8>, Error> {
        Ok(left[region].clone())
    }

    fn expected(&self, held: &HostCase) -> Result<Vec<Option<Expected>>, Error> {
        Ok(held.expected.clone())
    }
}
