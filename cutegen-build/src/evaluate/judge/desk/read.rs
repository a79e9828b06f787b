//! [`Reading`]: what a desk holds, as bytes and numbers of the host. Judging never needs it: results stay where they are
//! and are compared there. A user who runs a kernel wants them.

use super::Desk;
use super::host::{HostCase, HostDesk};
use crate::evaluate::error::Error;
use crate::evaluate::judge::reference::Expected;

/// A desk whose memory can be read.
pub(in crate::evaluate) trait Reading: Desk {
    /// The copy of the region at this position.
    fn bytes(&self, left: &Self::Left, region: usize) -> Result<Vec<u8>, Error>;

    /// What each tensor must hold after a launch; none for inputs.
    fn expected(&self, held: &Self::Held) -> Result<Vec<Option<Expected>>, Error>;
}

impl Reading for HostDesk {
    fn bytes(&self, left: &Vec<Vec<u8>>, region: usize) -> Result<Vec<u8>, Error> {
        Ok(left[region].clone())
    }

    fn expected(&self, held: &HostCase) -> Result<Vec<Option<Expected>>, Error> {
        Ok(held.expected.clone())
    }
}
