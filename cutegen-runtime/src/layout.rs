//! Shape and strides of a view, without its memory. Built once, from lengths the caller had; what is wrong
//! with it is remembered and reported at the launch, where the kernel's and the argument's name are known.

/// Extents and strides, in elements, of a tensor of rank `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const R: usize> {
    shape: [usize; R],
    strides: [usize; R],
    fault: Option<Fault>,
}

/// Why a layout doesn't fit the memory it was put over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A row-major view must cover its memory exactly.
    Length {
        /// The product of the extents.
        expected: usize,
        /// Elements in the memory.
        found: usize,
    },
    /// A strided view reaches past the end of its memory.
    OutOfBounds {
        /// One more than the largest element offset.
        expected: usize,
        /// Elements in the memory.
        found: usize,
    },
    /// The extents or strides overflow the address space, or count more elements than a kernel can.
    TooLarge,
}

impl<const R: usize> Layout<R> {
    /// A dense row-major layout over memory of `len` elements.
    #[must_use]
    #[inline]
    pub fn row_major(shape: [usize; R], len: usize) -> Self {
        let fault = match product(&shape) {
            Some(expected) if expected == len => None,
            Some(expected) => Some(Fault::Length { expected, found: len }),
            None => Some(Fault::TooLarge),
        };
        Self { shape, strides: row_major_strides(&shape), fault }
    }

    /// A layout with given strides over memory of `len` elements.
    #[must_use]
    #[inline]
    pub fn strided(shape: [usize; R], strides: [usize; R], len: usize) -> Self {
        let fault = match (product(&shape), reach(&shape, &strides)) {
            (Some(_), Some(expected)) if expected <= len => None,
            (Some(_), Some(expected)) => Some(Fault::OutOfBounds { expected, found: len }),
            (None, _) | (_, None) => Some(Fault::TooLarge),
        };
        Self { shape, strides, fault }
    }

    /// Extents, outermost first.
    #[must_use]
    #[inline]
    pub const fn shape(&self) -> [usize; R] {
        self.shape
    }

    /// Distances between neighbours along each dimension, in elements.
    #[must_use]
    #[inline]
    pub const fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// What is wrong, if anything is.
    #[must_use]
    #[inline]
    pub const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Number of elements addressed.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        product(&self.shape).unwrap_or(usize::MAX)
    }

    /// True where an extent is zero.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// One more than the largest element offset: the memory that a kernel may touch, in elements.
    #[must_use]
    #[inline]
    pub fn reach(&self) -> usize {
        reach(&self.shape, &self.strides).unwrap_or(usize::MAX)
    }

    /// The same in bytes, of elements that take `element` of them.
    #[must_use]
    #[inline]
    pub fn bytes(&self, element: usize) -> u64 {
        (self.reach() as u64).saturating_mul(element as u64)
    }

    /// The first dimension whose extent isn't `expected`.
    #[must_use]
    #[inline]
    pub fn first_other_extent(&self, expected: &[usize; R]) -> Option<usize> {
        (0..R).find(|&d| self.shape[d] != expected[d])
    }

    /// The first dimension whose stride isn't `expected`, with that stride. Extents below 2 have no stride.
    #[must_use]
    #[inline]
    pub fn first_other_stride(&self, expected: &[usize; R]) -> Option<usize> {
        (0..R).find(|&d| !self.is_empty() && self.shape[d] > 1 && self.strides[d] != expected[d])
    }

    /// Strides of a dense row-major tensor of this shape.
    #[must_use]
    #[inline]
    pub fn row_major_strides(&self) -> [usize; R] {
        row_major_strides(&self.shape)
    }

    /// Whether no two indices share an element, by a test that never says yes wrongly: sorted by stride,
    /// each dimension steps over all that the smaller ones reach.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        let mut order: [usize; R] = std::array::from_fn(|d| d);
        order.sort_unstable_by_key(|&d| self.strides[d]);
        let mut reach = 1_usize;
        self.is_empty()
            || order.into_iter().filter(|&d| self.shape[d] > 1).all(|d| {
                let clear = self.strides[d] >= reach;
                reach = reach.saturating_add((self.shape[d] - 1).saturating_mul(self.strides[d]));
                clear
            })
    }

    /// The offset of element number `element`, counted row by row, of which there must be so many. One that overflows, in
    /// a layout with a fault, is larger than any memory.
    #[must_use]
    pub fn nth(&self, element: usize) -> usize {
        let mut rest = element;
        (0..R).rev().fold(0, |sum, d| {
            let index = rest % self.shape[d];
            rest /= self.shape[d];
            step(sum, index, self.strides[d])
        })
    }

    /// The element offset of an index. One that overflows, in a layout with a fault, is larger than any memory.
    ///
    /// # Panics
    /// When the index is out of range.
    #[must_use]
    pub fn offset(&self, index: [usize; R]) -> usize {
        (0..R).fold(0, |sum, d| {
            assert!(index[d] < self.shape[d], "index {index:?} lies in shape {:?}", self.shape);
            step(sum, index[d], self.strides[d])
        })
    }
}

#[inline]
fn step(sum: usize, index: usize, stride: usize) -> usize {
    sum.saturating_add(index.saturating_mul(stride))
}

/// The number of elements, none where a kernel's 64-bit integers don't count so far. Strides of zero let a view of one
/// element have any number of them.
#[inline]
fn product(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let product = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    product.filter(|count| i64::try_from(*count).is_ok())
}

#[inline]
fn reach(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let last = shape.iter().zip(strides).try_fold(0_usize, |sum, (&extent, &stride)| {
        (extent - 1).checked_mul(stride).and_then(|step| sum.checked_add(step))
    })?;
    last.checked_add(1)
}

#[inline]
fn row_major_strides<const R: usize>(shape: &[usize; R]) -> [usize; R] {
    let mut strides = [1_usize; R];
    for d in (1..R).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d]);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_major_covers_its_memory_exactly() {
        let layout = Layout::row_major([2, 3, 4], 24);
        assert_eq!((layout.strides(), layout.fault(), layout.reach()), ([12, 4, 1], None, 24));
        assert_eq!(layout.offset([1, 2, 3]), 23);
        assert!((0..24).all(|element| layout.nth(element) == element));
        assert_eq!(Layout::row_major([2, 3], 7).fault(), Some(Fault::Length { expected: 6, found: 7 }));
        assert_eq!(Layout::row_major([usize::MAX, 2], 7).fault(), Some(Fault::TooLarge));
        assert_eq!(Layout::row_major([usize::MAX, 0, 2], 0).fault(), None);
        assert_eq!(Layout::row_major([], 1).len(), 1);
    }

    #[test]
    fn strides_may_leave_gaps_but_not_the_memory() {
        let padded = Layout::strided([2, 3], [10, 1], 13);
        assert_eq!((padded.fault(), [0, 2, 3, 5].map(|i| padded.nth(i))), (None, [0, 2, 10, 12]));
        assert_eq!(
            Layout::strided([2, 3], [10, 1], 12).fault(),
            Some(Fault::OutOfBounds { expected: 13, found: 12 })
        );
        assert_eq!(Layout::strided([3, 3], [usize::MAX, 1], 12).fault(), Some(Fault::TooLarge));
        assert_eq!(Layout::strided([0, 3], [usize::MAX, 1], 0).fault(), None);
    }

    /// Memory of one element can be called any number of them by strides of zero; kernels count in 64-bit integers.
    #[test]
    fn more_elements_than_can_be_counted_are_too_many() {
        let repeated = |shape: [usize; 2]| Layout::strided(shape, [0, 0], 1);
        assert_eq!(repeated([1 << 31, 1 << 31]).fault(), None);
        for shape in [[1 << 32, 1 << 32], [1 << 32, 1 << 31], [usize::MAX, 2], [1 << 63, 1]] {
            assert_eq!(repeated(shape).fault(), Some(Fault::TooLarge), "{shape:?}");
        }
        assert_eq!(repeated([usize::MAX, 0]).fault(), None);
    }

    /// A view with a fault can still be looked into: what it can't reach is never another element.
    #[test]
    fn offsets_that_overflow_are_outside() {
        let layout = Layout::strided([3, 1 << 33], [1 << 63, 1 << 32], 8);
        assert_eq!(layout.fault(), Some(Fault::TooLarge));
        assert_eq!([layout.offset([2, 0]), layout.offset([0, 1 << 32])], [usize::MAX; 2]);
        assert_eq!(layout.nth(2 << 33), usize::MAX);
    }

    #[test]
    fn strides_of_extents_below_two_do_not_matter() {
        let layout = Layout::strided([1, 4], [999, 1], 4);
        assert_eq!(layout.first_other_stride(&layout.row_major_strides()), None);
        let column = Layout::strided([4, 1], [8, 1], 25);
        assert_eq!(column.first_other_stride(&column.row_major_strides()), Some(0));
    }

    #[test]
    fn aliasing_strides_are_found() {
        assert!(Layout::strided([4, 8], [8, 1], 32).is_injective());
        assert!(Layout::strided([8, 4], [1, 8], 32).is_injective()); // transposed
        assert!(!Layout::strided([4, 8], [0, 1], 8).is_injective()); // broadcast
        assert!(!Layout::strided([4, 8], [7, 1], 29).is_injective()); // sliding window
        assert!(Layout::strided([1, 8], [0, 1], 8).is_injective());
    }
}
