//! Ranked views over host slices, and the traits that make views of any kind of memory. A view cannot fail to
//! be made: a misfit is kept in its [`Layout`] and reported by the wrapper it is given to.

use crate::element::{Element, Integer, Packed};
use crate::layout::Layout;

/// Memory that can be looked at as a tensor: slices, vectors, and with `cuda` cudarc's device slices.
pub trait AsView {
    /// The view made.
    type View<'a, const R: usize>
    where
        Self: 'a;

    /// A dense row-major view that covers all of the memory.
    fn view<const R: usize>(&self, shape: [usize; R]) -> Self::View<'_, R>;
}

/// Memory that can be written as a tensor.
pub trait AsViewMut {
    /// The view made.
    type ViewMut<'a, const R: usize>
    where
        Self: 'a;

    /// A dense row-major view that covers all of the memory.
    fn view_mut<const R: usize>(&mut self, shape: [usize; R]) -> Self::ViewMut<'_, R>;
}

/// A tensor of rank `R` in a slice.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T, const R: usize> {
    memory: &'a [T],
    layout: Layout<R>,
}

/// A tensor of rank `R` in a slice, to be written.
#[derive(Debug)]
pub struct ViewMut<'a, T, const R: usize> {
    memory: &'a mut [T],
    layout: Layout<R>,
}

impl<T: Element> AsView for [T] {
    type View<'a, const R: usize> = View<'a, T, R>;

    fn view<const R: usize>(&self, shape: [usize; R]) -> View<'_, T, R> {
        View { memory: self, layout: Layout::row_major(shape, self.len()) }
    }
}

impl<T: Element> AsViewMut for [T] {
    type ViewMut<'a, const R: usize> = ViewMut<'a, T, R>;

    fn view_mut<const R: usize>(&mut self, shape: [usize; R]) -> ViewMut<'_, T, R> {
        let layout = Layout::row_major(shape, self.len());
        ViewMut { memory: self, layout }
    }
}

impl<T: Element> AsView for Vec<T> {
    type View<'a, const R: usize> = View<'a, T, R>;

    fn view<const R: usize>(&self, shape: [usize; R]) -> View<'_, T, R> {
        self.as_slice().view(shape)
    }
}

impl<T: Element> AsViewMut for Vec<T> {
    type ViewMut<'a, const R: usize> = ViewMut<'a, T, R>;

    fn view_mut<const R: usize>(&mut self, shape: [usize; R]) -> ViewMut<'_, T, R> {
        self.as_mut_slice().view_mut(shape)
    }
}

impl<T: Element, const R: usize> View<'_, T, R> {
    /// The same shape with these strides, in elements; the memory may be longer than what they reach.
    ///
    /// ```
    /// use cutegen_runtime::AsView;
    /// let x: Vec<i32> = (0..12).collect();
    /// let left_half = x.view([3, 2]).with_strides([4, 1]);
    /// assert_eq!(left_half.at([2, 1]), 9);
    /// ```
    #[must_use]
    pub fn with_strides(self, strides: [usize; R]) -> Self {
        Self { layout: Layout::strided(self.layout.shape(), strides, self.memory.len()), ..self }
    }

    /// Shape and strides.
    #[must_use]
    pub const fn layout(&self) -> &Layout<R> {
        &self.layout
    }

    /// The first element.
    #[must_use]
    pub const fn as_ptr(&self) -> *const T {
        self.memory.as_ptr()
    }

    /// One element.
    ///
    /// # Panics
    /// When the index is out of range. Wrappers check shapes before the first access.
    #[must_use]
    pub fn at(&self, index: [usize; R]) -> T {
        self.memory[self.layout.offset(index)]
    }
}

impl<T: Element, const R: usize> ViewMut<'_, T, R> {
    /// The same shape with these strides, in elements; the memory may be longer than what they reach.
    #[must_use]
    pub fn with_strides(self, strides: [usize; R]) -> Self {
        Self { layout: Layout::strided(self.layout.shape(), strides, self.memory.len()), ..self }
    }

    /// Shape and strides.
    #[must_use]
    pub const fn layout(&self) -> &Layout<R> {
        &self.layout
    }

    /// The first element.
    #[must_use]
    pub const fn as_mut_ptr(&mut self) -> *mut T {
        self.memory.as_mut_ptr()
    }

    /// One element.
    ///
    /// # Panics
    /// When the index is out of range. Wrappers check shapes before the first access.
    #[must_use]
    pub fn at(&self, index: [usize; R]) -> T {
        self.memory[self.layout.offset(index)]
    }

    /// Writes one element.
    ///
    /// # Panics
    /// When the index is out of range. Wrappers check shapes before the first access.
    pub fn put(&mut self, index: [usize; R], value: T) {
        self.memory[self.layout.offset(index)] = value;
    }
}

impl<T: Integer, const R: usize> View<'_, T, R> {
    /// The integers of a tensor with these extents, row by row; a packed one, which is dense, is shorter than its bytes
    /// by what its last byte has too much. The shape must have been checked, so that there are so many: a number that
    /// overflows becomes the largest, and no value passes unseen.
    pub fn integers(&self, extents: [usize; R]) -> impl Iterator<Item = i64> + '_ {
        let is_dense = self.layout.first_other_stride(&self.layout.row_major_strides()).is_none();
        let count = extents.iter().fold(1, |count: usize, extent| count.saturating_mul(*extent));
        (0..count).map(move |element| {
            let unit = element / T::VALUES;
            let at = if is_dense { unit } else { self.layout.nth(unit) };
            self.memory[at].integer(element % T::VALUES)
        })
    }
}

impl<T: Packed, const R: usize> View<'_, T, R> {
    /// The 4-bit integer number `element` of a dense row-major tensor. Its shape counts bytes; this counts their halves.
    ///
    /// # Panics
    /// When the memory has no such element. Wrappers check shapes before the first access.
    #[must_use]
    pub fn at4(&self, element: usize) -> i64 {
        self.memory[element / 2].nibble(element % 2)
    }
}

impl<T: Packed, const R: usize> ViewMut<'_, T, R> {
    /// The 4-bit integer number `element` of a dense row-major tensor. Its shape counts bytes; this counts their halves.
    ///
    /// # Panics
    /// When the memory has no such element. Wrappers check shapes before the first access.
    #[must_use]
    pub fn at4(&self, element: usize) -> i64 {
        self.memory[element / 2].nibble(element % 2)
    }

    /// Writes the 4-bit integer number `element` of a dense row-major tensor, saturated; its neighbour stays.
    ///
    /// # Panics
    /// When the memory has no such element. Wrappers check shapes before the first access.
    pub fn put4(&mut self, element: usize, value: i64) {
        let byte = &mut self.memory[element / 2];
        *byte = byte.with_nibble(element % 2, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{I4x2, U4x2};
    use crate::layout::Fault;

    #[test]
    fn views_index_row_major_and_strided() {
        let mut y = vec![0_i32; 12];
        let mut view = y.view_mut([3, 2]).with_strides([4, 1]);
        view.put([2, 1], 7);
        assert_eq!((view.at([2, 1]), view.layout().fault()), (7, None));
        assert_eq!(y[9], 7);
        assert_eq!(y.view([3, 4]).at([2, 1]), 7);
        assert_eq!(y[..4].view([2, 2]).layout().strides(), [2, 1]);
    }

    #[test]
    fn a_misfit_waits_for_the_launch() {
        let x = [0_f32; 6];
        assert_eq!(x.view([2, 4]).layout().fault(), Some(Fault::Length { expected: 8, found: 6 }));
    }

    #[test]
    fn nibbles_are_counted_across_rows() {
        let mut signed = vec![I4x2::new(1, -2), I4x2::new(3, -8), I4x2::new(7, 0)];
        let mut view = signed.view_mut([3, 1]); // three rows of two
        view.put4(3, 100);
        view.put4(4, -100);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| view.at4(i)), [1, -2, 3, 7, -8, 0]);
        assert_eq!(signed.view([3, 1]).at4(4), -8);
        let mut unsigned = vec![U4x2::new(15, 2)];
        unsigned.view_mut([1]).put4(1, -3);
        assert_eq!((unsigned.view([1]).at4(0), unsigned.view([1]).at4(1)), (15, 0));
    }

    #[test]
    fn integers_come_row_by_row() {
        let x = [0_i32, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(x.view([2, 4]).integers([2, 4]).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let columns = x.view([2, 3]).with_strides([1, 2]);
        assert_eq!(columns.integers([2, 3]).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        let packed = [I4x2::new(-1, 2), I4x2::new(3, 0)];
        assert_eq!(packed.view([2]).integers([3]).collect::<Vec<_>>(), [-1, 2, 3]);
    }

    /// 2^32 by 2^32 elements, all the same one: their number wraps to 0.
    #[test]
    fn no_value_passes_unseen_where_their_number_overflows() {
        let ids = [500_000_000_i32];
        let view = ids.view([1 << 32, 1 << 32]).with_strides([0, 0]);
        assert_eq!(view.layout().fault(), Some(Fault::TooLarge));
        assert_eq!(view.integers([1 << 32, 1 << 32]).next(), Some(500_000_000));
        assert_eq!(view.integers([usize::MAX, 0]).next(), None);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_nibble_outside_is_refused() {
        let _ = vec![I4x2::new(1, 2)].view([1]).at4(2);
    }
}
