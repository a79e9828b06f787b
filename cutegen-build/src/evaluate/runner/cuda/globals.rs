//! [`Globals`]: a loaded module's global memory, read before and after a launch. A kernel that changes it keeps state:
//! results to serve again, a count of its launches. Constants lie there too, so it is compared and not forbidden.

use cutegen_runtime::cuda::CUdeviceptr;

use crate::compile::cubin_check;
use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::memory::read_at;
use crate::evaluate::runner::Stop;

/// Variables that lie closer are read together: what is between them is alignment.
const CLOSE: u64 = 16;
/// Small ones share an allocation of the driver's. Larger ones may have their own, across whose end nothing is read.
const SMALL: u64 = 1024;

/// Where a module's variables lie, in as few pieces as that takes.
pub(super) struct Globals {
    variables: Vec<(CUdeviceptr, u64, String)>,
    pieces: Vec<(CUdeviceptr, u64)>,
}

impl Globals {
    /// Looks all variables up.
    pub(super) fn of(image: &[u8], loaded: &Loaded) -> Result<Self, Stop> {
        let mut variables = Vec::new();
        for symbol in cubin_check::globals(image).map_err(Stop::Refused)? {
            if let Some((at, bytes)) = loaded.global(&symbol)? {
                variables.push((at, bytes, symbol));
            }
        }
        variables.sort();
        let pieces = pieces(variables.iter().map(|(at, bytes, _)| (*at, *bytes)));
        Ok(Self { variables, pieces })
    }

    /// What they hold.
    pub(super) fn read(&self) -> Result<Vec<Vec<u8>>, Stop> {
        self.pieces.iter().map(|(at, bytes)| read_at(*at, *bytes as usize)).collect()
    }

    /// The first variable that holds something else than `before`.
    pub(super) fn changed(&self, before: &[Vec<u8>]) -> Result<Option<String>, Stop> {
        let after = self.read()?;
        for ((at, _), (before, after)) in self.pieces.iter().zip(before.iter().zip(&after)) {
            if let Some(byte) = before.iter().zip(after).position(|(b, a)| b != a) {
                return Ok(Some(self.name(at + byte as u64)));
            }
        }
        Ok(None)
    }

    fn name(&self, at: CUdeviceptr) -> String {
        let behind = self.variables.partition_point(|(start, ..)| *start <= at);
        self.variables.get(behind.wrapping_sub(1)).map(|(.., name)| name.clone()).unwrap_or_default()
    }
}

/// Sorted ranges, joined where they lie close.
fn pieces(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    let mut was_small = false;
    for (at, bytes) in ranges {
        let is_small = bytes <= SMALL;
        match joined.last_mut() {
            Some((start, length)) if is_small && was_small && at <= *start + *length + CLOSE => {
                *length = (*length).max(at + bytes - *start);
            }
            _ => joined.push((at, bytes)),
        }
        was_small = is_small;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn close_ranges_are_one() {
        let ranges = [(100, 8), (100, 1), (112, 4), (200, 4), (4096, 1), (4098, 5000), (9100, 1)];
        let joined = [(100, 16), (200, 4), (4096, 1), (4098, 5000), (9100, 1)];
        assert_eq!(pieces(ranges.into_iter()), joined);
    }
}
