//! [`Globals`]: a loaded module's global memory, read before and after a launch. A kernel that changes it keeps state:
//! results to serve again, a count of its launches. Constants lie there too, so it is compared and not forbidden.

use cutegen_runtime::cuda::CUdeviceptr;

use crate::compile::cubin_check;
use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::memory::read_at;
use crate::evaluate::runner::Stop;

/// Variables that lie no farther apart are read together: drivers give each 256 bytes, and headers bring a thousand, which
/// take 10 ms to read one by one.
const CLOSE: u64 = 256;
/// Small ones share an allocation of the driver's. Larger ones may have their own, across whose end nothing is read.
const SMALL: u64 = 1024;

/// Where a module's variables lie, in as few pieces as that takes.
pub(super) struct Globals {
    variables: Vec<(CUdeviceptr, u64, String)>,
    pieces: Vec<(CUdeviceptr, u64)>,
}

/// What the variables held, and what lay between them.
pub(super) type Held = Vec<Vec<u8>>;

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
        let all = || variables.iter().map(|(at, bytes, _)| (*at, *bytes));
        let joined = pieces(all());
        // a driver may have put other allocations between them
        let is_readable = |(at, bytes): &(u64, u64)| read_at(*at, *bytes as usize).is_ok();
        let pieces = if joined.iter().all(is_readable) { joined } else { all().collect() };
        Ok(Self { variables, pieces })
    }

    /// What they hold.
    pub(super) fn read(&self) -> Result<Held, Stop> {
        self.pieces.iter().map(|(at, bytes)| read_at(*at, *bytes as usize)).collect()
    }

    /// The first variable that holds something else than `before`.
    pub(super) fn changed(&self, before: &Held) -> Result<Option<String>, Stop> {
        let after = self.read()?;
        if *before == after {
            return Ok(None);
        }
        let is_other = |(at, bytes, _): &&(CUdeviceptr, u64, String)| {
            self.inside(before, *at, *bytes) != self.inside(&after, *at, *bytes)
        };
        Ok(self.variables.iter().find(is_other).map(|(.., name)| name.clone()))
    }

    /// A variable's bytes. What lies between variables is nobody's here.
    fn inside<'a>(&self, held: &'a Held, at: CUdeviceptr, bytes: u64) -> Option<&'a [u8]> {
        let piece = self.pieces.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        let from = (at - self.pieces[piece].0) as usize;
        held[piece].get(from..from + bytes as usize)
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
    use super::{Globals, pieces};

    #[test]
    fn close_ranges_are_one() {
        let ranges = [(1000, 8), (1000, 1), (1256, 4), (1600, 4), (4096, 1), (4098, 5000), (9100, 1)];
        let joined = [(1000, 260), (1600, 4), (4096, 1), (4098, 5000), (9100, 1)];
        assert_eq!(pieces(ranges.into_iter()), joined);
    }

    #[test]
    fn a_variable_is_found_by_its_bytes_and_gaps_are_nobodys() {
        let variables = [(1000, 8, "a"), (1256, 4, "b"), (9000, 2, "c")];
        let globals = Globals {
            variables: variables.map(|(at, bytes, name)| (at, bytes, name.to_owned())).to_vec(),
            pieces: vec![(1000, 260), (9000, 2)],
        };
        let held = vec![(0..=255).chain(0..4).collect::<Vec<u8>>(), vec![7, 8]];
        assert_eq!(
            globals.inside(&held, 1256, 4),
            Some(&[0, 1, 2, 3][..]),
            "the 256th byte starts at 0 again"
        );
        assert_eq!(globals.inside(&held, 9000, 2), Some(&[7, 8][..]));
        assert_eq!(globals.inside(&held, 1000, 8), Some(&[0, 1, 2, 3, 4, 5, 6, 7][..]));
    }
}
