//! What integers hold that a kernel takes for positions: the declared range, and no value twice. Where it fails, the
//! kernel would reach outside its memory, or write an element from two places at once.

use std::collections::HashMap;

use super::Check;
use crate::error::Error;
use crate::int::Int;

impl Check {
    /// Every value lies in `from..to`.
    ///
    /// # Errors
    /// [`Error::ValueOutOfRange`] for the first that doesn't; [`Error::Overflow`] where an end has no value.
    pub fn within(
        self,
        argument: &'static str,
        values: impl IntoIterator<Item = i64>,
        from: Int,
        to: Int,
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        let (Some(from), Some(to)) = (from.value(), to.value()) else {
            return Err(Error::Overflow { kernel, what: argument });
        };
        let mut values = values.into_iter().enumerate();
        match values.find(|(_, value)| !(from..to).contains(value)) {
            Some((element, value)) => {
                Err(Error::ValueOutOfRange { kernel, argument, element, value, from, to })
            }
            None => Ok(()),
        }
    }

    /// No two values are equal. Stops at the first that repeats, so it never keeps more than the memory holds, however
    /// often strides of zero bring the same element.
    ///
    /// # Errors
    /// [`Error::ValueRepeated`].
    pub fn distinct(
        self,
        argument: &'static str,
        values: impl IntoIterator<Item = i64>,
    ) -> Result<(), Error> {
        let mut seen = HashMap::new();
        for (other, value) in values.into_iter().enumerate() {
            if let Some(element) = seen.insert(value, other) {
                return Err(Error::ValueRepeated { kernel: self.kernel, argument, element, other, value });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: Check = Check::new("k");

    fn said(result: Result<(), Error>) -> String {
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn the_first_value_outside_is_named() {
        let within =
            |values: &[i64]| said(CHECK.within("ids", values.iter().copied(), Int::new(-1), Int::new(4)));
        assert_eq!((within(&[-1, 0, 3]), within(&[])), <_>::default());
        assert!(
            within(&[0, 4, 9])
                .starts_with("k: element 1 of argument `ids` is 4, outside the declared -1..4;")
        );
        assert!(within(&[i64::MIN]).contains("is -9223372036854775808, outside"));
        assert!(CHECK.within("ids", [0], Int::new(0), Int::unknown()).is_err());
    }

    #[test]
    fn values_that_repeat_are_named_with_both_places() {
        assert_eq!(said(CHECK.distinct("slot", [5, 3, 4])), "");
        let error = said(CHECK.distinct("slot", [5, 3, 9, 3, 5]));
        assert!(error.starts_with("k: elements 1 and 3 of argument `slot` are both 3,"), "{error}");
        let endless = said(CHECK.distinct("slot", std::iter::repeat(7)));
        assert!(endless.starts_with("k: elements 0 and 1 of argument `slot` are both 7,"), "{endless}");
    }
}
