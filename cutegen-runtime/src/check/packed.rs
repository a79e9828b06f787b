//! Shapes of packed tensors, two values to a byte. A view counts bytes, so its last extent is half of the declared one;
//! kernels count values through the whole tensor, so no row may end inside a byte.

use super::Check;
use crate::error::Error;
use crate::layout::Layout;

impl Check {
    /// A view of a packed tensor fits its memory and has the extents that the axes give, the last one halved.
    ///
    /// # Errors
    /// As [`Check::shape`]; [`Error::PackedShape`] for the last extent, and [`Error::PackedOdd`] where more than one
    /// row has an odd number of values.
    pub fn packed<const R: usize>(
        self,
        argument: &'static str,
        layout: &Layout<R>,
        values: [usize; R],
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        let Some((&last, outer)) = values.split_last() else { return self.shape(argument, layout, values) };
        let rows = outer.iter().fold(1_usize, |rows, extent| rows.saturating_mul(*extent));
        if !last.is_multiple_of(2) && rows > 1 {
            return Err(Error::PackedOdd { kernel, argument, values: last });
        }
        self.fits(argument, layout)?;
        let (mut expected, bytes) = (values, last.div_ceil(2));
        expected[R - 1] = bytes;
        let found = layout.shape()[R - 1];
        let outer_fits = layout.shape()[..R - 1] == expected[..R - 1];
        if outer_fits && found != bytes {
            return Err(Error::PackedShape { kernel, argument, values: last, expected: bytes, found });
        }
        self.shape(argument, layout, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<const R: usize>(shape: [usize; R], values: [usize; R]) -> String {
        let layout = Layout::row_major(shape, shape.iter().product());
        let checked = Check::new("k").packed("w", &layout, values);
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn the_last_extent_counts_bytes() {
        assert_eq!(said([3, 4], [3, 8]), "");
        assert_eq!(said([4], [7]), "");
        assert_eq!((said([], []), said([0, 4], [0, 7]), said([1, 4], [1, 7])), <_>::default());
        let error = said([3, 8], [3, 8]);
        assert!(
            error.starts_with("k: the last extent of argument `w` is 8 where 8 values take 4 bytes"),
            "{error}"
        );
        assert!(
            said([2, 4], [3, 8]).starts_with("k: dimension 0 of argument `w` is 2 where the axes give 3;")
        );
    }

    #[test]
    fn a_row_ends_at_a_byte() {
        let error = said([3, 4], [3, 7]);
        assert!(error.starts_with("k: rows of argument `w` have 7 values"), "{error}");
    }
}
