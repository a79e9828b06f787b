//! What a wrapper checks before a launch. Pure: numbers in, a named error out.

use crate::error::Error;
use crate::int::Int;
use crate::layout::{Fault, Layout};

mod packed;
mod values;

/// Blocks along x, and along y and z, that a grid may have.
const GRID_MAX: [usize; 3] = [i32::MAX as usize, 65_535, 65_535];

/// The checks of one kernel's wrapper.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    kernel: &'static str,
}

/// The bytes that an argument may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

impl Extent {
    /// Of a tensor at `address` whose elements take `element_bytes`.
    #[must_use]
    #[inline]
    pub fn of<const R: usize>(address: u64, layout: &Layout<R>, element_bytes: usize) -> Self {
        Self { start: address, end: address.saturating_add(layout.bytes(element_bytes)) }
    }

    /// Whether both touch a byte.
    #[must_use]
    #[inline]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl Check {
    /// Checks that report this kernel's name.
    #[must_use]
    #[inline]
    pub const fn new(kernel: &'static str) -> Self {
        Self { kernel }
    }

    /// An axis lies in its declared range.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`], [`Error::AxisNotMultiple`].
    #[inline]
    pub fn axis(
        self,
        axis: &'static str,
        found: usize,
        lo: usize,
        hi: usize,
        multiple_of: usize,
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        if found < lo || found > hi {
            return cold(move || Error::AxisOutOfRange { kernel, axis, found, lo, hi });
        }
        if multiple_of > 1 && !found.is_multiple_of(multiple_of) {
            return cold(move || Error::AxisNotMultiple { kernel, axis, found, multiple_of });
        }
        Ok(())
    }

    /// A view fits its memory and has the extents that the axes give.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`], and [`Error::ViewLength`] or [`Error::ViewTooLarge`] for a view that
    /// never fitted its memory.
    #[inline]
    pub fn shape<const R: usize>(
        self,
        argument: &'static str,
        layout: &Layout<R>,
        expected: [usize; R],
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        self.fits(argument, layout)?;
        match layout.first_other_extent(&expected) {
            Some(dimension) => {
                let (expected, found) = (expected[dimension], layout.shape()[dimension]);
                cold(move || Error::ShapeMismatch { kernel, argument, dimension, expected, found })
            }
            None => Ok(()),
        }
    }

    /// A view fits its memory.
    #[inline]
    fn fits<const R: usize>(self, argument: &'static str, layout: &Layout<R>) -> Result<(), Error> {
        let kernel = self.kernel;
        let Some(fault) = layout.fault() else { return Ok(()) };
        cold(move || match fault {
            Fault::Length { expected, found } | Fault::OutOfBounds { expected, found } => {
                Error::ViewLength { kernel, argument, expected, found }
            }
            Fault::TooLarge => Error::ViewTooLarge { kernel, argument },
        })
    }

    /// A view is dense and row-major.
    ///
    /// # Errors
    /// [`Error::NotContiguous`].
    #[inline]
    pub fn row_major<const R: usize>(self, argument: &'static str, layout: &Layout<R>) -> Result<(), Error> {
        let (kernel, expected) = (self.kernel, layout.row_major_strides());
        match layout.first_other_stride(&expected) {
            Some(dimension) => {
                let (expected, found) = (expected[dimension], layout.strides()[dimension]);
                cold(move || Error::NotContiguous { kernel, argument, dimension, expected, found })
            }
            None => Ok(()),
        }
    }

    /// A view has exactly the declared strides, wherever an extent is above 1.
    ///
    /// # Errors
    /// [`Error::StrideMismatch`].
    #[inline]
    pub fn strides<const R: usize>(
        self,
        argument: &'static str,
        layout: &Layout<R>,
        expected: [usize; R],
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        match layout.first_other_stride(&expected) {
            Some(dimension) => {
                let (expected, found) = (expected[dimension], layout.strides()[dimension]);
                cold(move || Error::StrideMismatch { kernel, argument, dimension, expected, found })
            }
            None => Ok(()),
        }
    }

    /// No two indices of an output share an element. Only strided outputs can fail.
    ///
    /// # Errors
    /// [`Error::Overlap`] of the output with itself.
    pub fn injective<const R: usize>(self, argument: &'static str, layout: &Layout<R>) -> Result<(), Error> {
        if layout.is_injective() {
            return Ok(());
        }
        Err(Error::Overlap { kernel: self.kernel, argument, other: argument })
    }

    /// A pointer is aligned. For a variant's eligibility, use [`all_aligned`] and fall through instead.
    ///
    /// # Errors
    /// [`Error::Misaligned`].
    pub fn aligned(self, argument: &'static str, address: u64, needed: usize) -> Result<(), Error> {
        if all_aligned(needed, &[address]) {
            return Ok(());
        }
        Err(Error::Misaligned { kernel: self.kernel, argument, needed, address })
    }

    /// No output shares a byte with another output or with an input. Address ranges are compared, so
    /// interleaved tensors count as overlapping.
    ///
    /// # Errors
    /// [`Error::Overlap`].
    #[inline(always)]
    pub fn disjoint<const O: usize, const I: usize>(
        self,
        outputs: [(&'static str, Extent); O],
        inputs: [(&'static str, Extent); I],
    ) -> Result<(), Error> {
        for (i, &(argument, extent)) in outputs.iter().enumerate() {
            for &(other, against) in outputs[i + 1..].iter().chain(&inputs) {
                if extent.overlaps(&against) {
                    return cold(move || Error::Overlap { kernel: self.kernel, argument, other });
                }
            }
        }
        Ok(())
    }

    /// A grid in the type that launches take.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`].
    #[inline]
    pub fn grid(self, blocks: [usize; 3]) -> Result<[u32; 3], Error> {
        if (0..3).any(|d| blocks[d] > GRID_MAX[d]) {
            return cold(move || Error::GridTooLarge { kernel: self.kernel, blocks });
        }
        Ok(blocks.map(|count| count as u32))
    }

    /// A grid, block or cluster as a contract computes it, in the type that launches take.
    ///
    /// # Errors
    /// [`Error::GridTooLarge`], also where a count is negative or overflows.
    #[inline]
    pub fn blocks(self, counts: [Int; 3]) -> Result<[u32; 3], Error> {
        self.grid(counts.map(Int::bytes))
    }

    /// An extent or a number of bytes as a contract computes it.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    #[inline]
    pub fn count(self, what: &'static str, value: Int) -> Result<usize, Error> {
        let count = value.value().and_then(|value| usize::try_from(value).ok());
        count.ok_or(Error::Overflow { kernel: self.kernel, what })
    }

    /// A number that a contract passes to a kernel.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    #[inline]
    pub fn int(self, what: &'static str, value: Int) -> Result<i64, Error> {
        value.value().ok_or(Error::Overflow { kernel: self.kernel, what })
    }

    /// An address so many bytes behind another.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    #[inline]
    pub fn address(self, what: &'static str, base: u64, bytes: usize) -> Result<u64, Error> {
        base.checked_add(bytes as u64).ok_or(Error::Overflow { kernel: self.kernel, what })
    }

    /// Zeros for these extents: a temporary of a fallback.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], also where the extents multiply to more than any memory.
    pub fn zeros<T: Copy + Default>(self, extents: &[usize]) -> Result<Vec<T>, Error> {
        let count = extents.iter().fold(1, |n: usize, extent| n.saturating_mul(*extent));
        let mut zeros = Vec::new();
        zeros.try_reserve_exact(count).map_err(|_| {
            let bytes = count.saturating_mul(size_of::<T>());
            Error::OutOfMemory { kernel: self.kernel, what: "a temporary", bytes }
        })?;
        zeros.resize(count, T::default());
        Ok(zeros)
    }

    /// Dynamic shared memory as a contract computes it.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    #[inline]
    pub fn smem(self, bytes: Int) -> Result<u32, Error> {
        let count = bytes.value().and_then(|value| u32::try_from(value).ok());
        count.ok_or(Error::Overflow { kernel: self.kernel, what: "shared memory" })
    }

    /// Blocks that wait for each other are all resident at once.
    ///
    /// # Errors
    /// [`Error::NotCoResident`].
    pub fn co_resident(self, grid: [u32; 3], blocks_per_sm: u32, sm_count: u32) -> Result<(), Error> {
        let product =
            |counts: &[u32]| counts.iter().fold(1, |n: usize, count| n.saturating_mul(*count as usize));
        let (needed, found) = (product(&grid), product(&[blocks_per_sm, sm_count]));
        if needed > found || needed == usize::MAX {
            return Err(Error::NotCoResident { kernel: self.kernel, needed, found });
        }
        Ok(())
    }
}

/// What a check found wrong. Apart, so that a call which finds nothing runs through as few lines of code as it can.
#[cold]
#[inline(never)]
pub(crate) fn cold<T>(wrong: impl FnOnce() -> Error) -> Result<T, Error> {
    Err(wrong())
}

/// True where an axis is empty: the wrapper has nothing to do and returns `Ok`.
#[must_use]
#[inline]
pub const fn any_zero(axes: &[usize]) -> bool {
    let mut i = 0;
    while i < axes.len() {
        if axes[i] == 0 {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether all addresses are multiples of `bytes`.
#[must_use]
#[inline]
pub fn all_aligned(bytes: usize, addresses: &[u64]) -> bool {
    addresses.iter().all(|address| address.is_multiple_of(bytes as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: Check = Check::new("k");

    fn message(result: Result<(), Error>) -> String {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn axes_are_bounded_and_divided() {
        assert_eq!(message(CHECK.axis("m", 8192, 1, 8192, 1)), "");
        assert!(
            message(CHECK.axis("m", 0, 1, 8192, 1)).contains("axis `m` is 0, outside the declared 1..=8192")
        );
        assert!(message(CHECK.axis("m", 8193, 1, 8192, 1)).contains("is 8193"));
        assert_eq!(message(CHECK.axis("m", 24, 1, 64, 8)), "");
        assert!(message(CHECK.axis("m", 20, 1, 64, 8)).contains("no multiple of the declared 8"));
    }

    #[test]
    fn shapes_name_the_first_dimension_that_differs() {
        assert_eq!(message(CHECK.shape("x", &Layout::row_major([2, 3], 6), [2, 3])), "");
        let error = message(CHECK.shape("x", &Layout::row_major([2, 3], 6), [2, 4]));
        assert!(error.starts_with("k: dimension 1 of argument `x` is 3 where the axes give 4;"), "{error}");
        let error = message(CHECK.shape("x", &Layout::row_major([2, 4], 6), [2, 4]));
        assert!(error.starts_with("k: argument `x` has 6 elements where its view needs 8;"), "{error}");
    }

    #[test]
    fn strides_are_compared_where_they_matter() {
        let padded = Layout::strided([2, 3], [8, 1], 16);
        let error = message(CHECK.row_major("x", &padded));
        assert!(error.contains("stride 8 in dimension 0 where the kernel was built for 3"), "{error}");
        assert_eq!(message(CHECK.strides("x", &padded, [8, 1])), "");
        let error = message(CHECK.strides("x", &padded, [9, 1]));
        assert!(error.contains("stride 8 in dimension 0 where the declared strides give 9"), "{error}");
        assert!(message(CHECK.injective("y", &Layout::strided([2, 3], [0, 1], 3))).contains("two indices"));
    }

    #[test]
    fn overlap_is_by_bytes_touched() {
        let at = |address, layout: &Layout<1>| Extent::of(address, layout, 2);
        let eight = Layout::row_major([8], 8);
        let (x, y) = (at(0x100, &eight), at(0x110, &eight));
        assert_eq!(message(CHECK.disjoint([("y", y)], [("x", x)])), "");
        assert!(
            message(CHECK.disjoint([("y", at(0x10e, &eight))], [("x", x)]))
                .contains("`y` shares memory with `x`")
        );
        assert!(message(CHECK.disjoint([("y", y), ("z", y)], [])).contains("`z`"));
        assert_eq!(message(CHECK.disjoint([("y", y)], [("x", x), ("w", x)])), ""); // inputs may share
        let spread = at(0x100, &Layout::strided([2], [64], 65));
        assert_eq!(spread.end, 0x100 + 65 * 2);
    }

    #[test]
    fn grids_have_limits() {
        assert_eq!(CHECK.grid([7, 1, 1]).ok(), Some([7, 1, 1]));
        assert!(CHECK.grid([1, 65_536, 1]).is_err());
        assert!(message(CHECK.co_resident([133, 1, 1], 1, 132)).contains("133 blocks must be resident"));
        assert_eq!(message(CHECK.co_resident([132, 2, 1], 2, 132)), "");
        let wraps = [1 << 31, 1 << 31, 4]; // 2^64 blocks
        assert!(CHECK.co_resident(wraps, 1, 132).is_err());
    }

    #[test]
    fn contract_numbers_that_make_no_sense_are_named() {
        assert_eq!(CHECK.blocks([Int::new(7), Int::new(1), Int::new(1)]).ok(), Some([7, 1, 1]));
        assert!(CHECK.blocks([Int::new(1), Int::new(-1), Int::new(1)]).is_err());
        assert_eq!((CHECK.count("p", Int::new(3)).ok(), CHECK.smem(Int::new(9)).ok()), (Some(3), Some(9)));
        let error = CHECK.count("p", Int::new(1) - 2).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("k: `p` comes out negative or overflows")));
        assert!(CHECK.smem(Int::unknown()).is_err());
    }

    #[test]
    fn temporaries_are_counted_before_they_are_allocated() {
        assert_eq!(CHECK.zeros::<f64>(&[2, 3]).ok(), Some(vec![0.0; 6]));
        assert_eq!(CHECK.zeros::<bool>(&[]).ok(), Some(vec![false]));
        assert_eq!(CHECK.zeros::<i64>(&[1 << 32, 1 << 32, 0]).ok(), Some(Vec::new()));
        for extents in [[1 << 32, 1 << 32], [usize::MAX, 1], [1 << 60, 1]] {
            let said = CHECK.zeros::<i64>(&extents).map_err(|error| error.to_string());
            assert!(said.is_err_and(|text| text.starts_with("k: a temporary of ")), "{extents:?}");
        }
    }

    #[test]
    fn alignment_and_empty_axes() {
        assert!(message(CHECK.aligned("x", 0x108, 16)).contains("at 0x108 isn't aligned to 16"));
        assert!(all_aligned(16, &[0x100, 0x110]));
        assert!(any_zero(&[4, 0]) && !any_zero(&[4, 1]) && !any_zero(&[]));
    }
}
