//! Reading what a device's backend holds.

use super::{CudaBackend, CudaCase, Left};
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::read::Reading;
use crate::evaluate::judge::reference::Expected;

impl Reading for CudaBackend {
    fn bytes(&self, left: &Left, region: usize) -> Result<Vec<u8>, Error> {
        left.bytes(region)
    }

    fn expected(&self, held: &CudaCase) -> Result<Vec<Option<Expected>>, Error> {
        held.expected.iter().map(|one| one.as_ref().map(super::case::Expectation::all).transpose()).collect()
    }
}
