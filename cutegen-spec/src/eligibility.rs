//! [`Eligibility`]: the launches for which a variant is right. Re-checked at run time before every launch.

use std::fmt;

use crate::axis::{self, Axis};
use crate::int_expr::{IntExpr, Names, Positions, positional_text};

/// Conditions that all must hold; none means always eligible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eligibility(pub Vec<Condition>);

/// One condition of an eligibility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `expr % by == 0`
    Divides {
        /// The divided expression.
        expr: IntExpr,
        /// The divisor.
        by: i64,
    },
    /// `expr >= bound`
    AtLeast {
        /// The compared expression.
        expr: IntExpr,
        /// The smallest allowed value.
        bound: i64,
    },
    /// `expr <= bound`
    AtMost {
        /// The compared expression.
        expr: IntExpr,
        /// The largest allowed value.
        bound: i64,
    },
    /// The base address of the tensor at this position is a multiple of `bytes`.
    Aligned {
        /// Position of the tensor.
        tensor: usize,
        /// Required alignment in bytes, a power of two.
        bytes: u64,
    },
}

impl Eligibility {
    /// Whether it holds for axis extents and tensor base addresses (both by position).
    #[must_use]
    pub fn holds(&self, axes: &[i64], addresses: &[u64]) -> bool {
        self.0.iter().all(|condition| condition.holds(axes, addresses))
    }

    /// The largest extents of the axes at which it can hold: each run-time axis ends where the domain ends, or where a
    /// condition on that axis alone does. `None` when a derived axis cannot be computed there.
    #[must_use]
    pub fn largest(&self, axes: &[Axis]) -> Option<Vec<i64>> {
        let bounds = |axis: usize| {
            self.0.iter().filter_map(move |condition| match condition {
                Condition::AtMost { expr: IntExpr::Axis(of), bound } if *of == axis => Some(*bound),
                Condition::Divides { .. }
                | Condition::AtLeast { .. }
                | Condition::AtMost { .. }
                | Condition::Aligned { .. } => None,
            })
        };
        let domain = axis::largest(axes)?;
        axis::resolve(axes, &|axis| bounds(axis).fold(domain[axis], i64::min).max(0))
    }

    /// Parses `true` or conditions joined by ` and `, in which `names` stand for positions.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        if text.trim() == "true" {
            return Ok(Self::default());
        }
        text.split(" and ").map(|one| Condition::parse(one, names)).collect::<Result<_, _>>().map(Self)
    }

    /// Parses the positional form that [`fmt::Display`] prints.
    pub fn parse_positional(text: &str) -> Result<Self, String> {
        Self::parse(text, &Positions)
    }
}

/// The variant that a launch gets, given what each claims as (eligible, preferred): the first that is eligible and
/// preferred, else the first that is eligible. Judging, explaining and emitted dispatch all mean this.
#[must_use]
pub fn dispatch(claims: &[(&Eligibility, &Eligibility)], axes: &[i64], addresses: &[u64]) -> Option<usize> {
    let eligible = |v: &usize| claims[*v].0.holds(axes, addresses);
    let preferred = |v: &usize| eligible(v) && claims[*v].1.holds(axes, addresses);
    (0..claims.len()).find(preferred).or_else(|| (0..claims.len()).find(eligible))
}

impl Condition {
    fn holds(&self, axes: &[i64], addresses: &[u64]) -> bool {
        match self {
            Condition::Divides { expr, by } => expr.eval_axes(axes).is_some_and(|v| v.rem_euclid(*by) == 0),
            Condition::AtLeast { expr, bound } => expr.eval_axes(axes).is_some_and(|v| v >= *bound),
            Condition::AtMost { expr, bound } => expr.eval_axes(axes).is_some_and(|v| v <= *bound),
            Condition::Aligned { tensor, bytes } => addresses.get(*tensor).is_some_and(|a| a % bytes == 0),
        }
    }

    fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<i64>().map_err(|_| format!("`{text}` is no integer"));
        let expr = |text: &str| IntExpr::parse(text, &|name| names.axis(name));
        if let Some((left, bound)) = text.split_once(">=") {
            return Ok(Self::AtLeast { expr: expr(left)?, bound: number(bound)? });
        }
        if let Some((left, bound)) = text.split_once("<=") {
            return Ok(Self::AtMost { expr: expr(left)?, bound: number(bound)? });
        }
        if let Some((tensor, bytes)) = text.split_once(" aligned ") {
            let tensor = names.tensor(tensor.trim()).ok_or_else(|| format!("`{tensor}` is no tensor"))?;
            let bytes = u64::try_from(number(bytes)?).ok().filter(|b| b.is_power_of_two());
            let bytes = bytes.ok_or_else(|| format!("`{text}` needs a power of two"))?;
            return Ok(Self::Aligned { tensor, bytes });
        }
        let (left, zero) = text.split_once("==").ok_or_else(|| format!("`{text}` is no condition"))?;
        let (left, by) = left.rsplit_once('%').ok_or_else(|| format!("`{text}` is no divisibility"))?;
        match (number(zero)?, number(by)?) {
            (0, by) if by > 0 => Ok(Self::Divides { expr: expr(left)?, by }),
            _ => Err(format!("`{text}` must read `EXPR % N == 0` with positive N")),
        }
    }
}

impl Condition {
    /// The condition with tensors and axes as these name them.
    #[must_use]
    pub fn text(&self, tensor: &dyn Fn(usize) -> String, axis: &dyn Fn(usize) -> String) -> String {
        match self {
            Condition::Divides { expr, by } => format!("{} % {by} == 0", expr.text(axis)),
            Condition::AtLeast { expr, bound } => format!("{} >= {bound}", expr.text(axis)),
            Condition::AtMost { expr, bound } => format!("{} <= {bound}", expr.text(axis)),
            Condition::Aligned { tensor: at, bytes } => format!("{} aligned {bytes}", tensor(*at)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|tensor| format!("t{tensor}"), &|axis| format!("a{axis}")))
    }
}

impl fmt::Display for Eligibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("true");
        }
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(" and "))
    }
}

positional_text!(Eligibility);

#[cfg(test)]
mod tests {
    use super::{Eligibility, dispatch};

    #[test]
    fn round_trips_and_judges() {
        let text = "a0 % 8 == 0 and (a0 * a1) >= 64 and a1 <= 512 and t1 aligned 16";
        let eligibility = Eligibility::parse_positional(text).expect("parses");
        assert_eq!(eligibility.to_string(), text);
        assert!(eligibility.holds(&[16, 4], &[1, 32]));
        for (axes, addresses) in
            [([12, 8], [0, 32]), ([8, 4], [0, 32]), ([16, 513], [0, 32]), ([16, 4], [0, 8])]
        {
            assert!(!eligibility.holds(&axes, &addresses), "{axes:?} {addresses:?}");
        }
        assert!(Eligibility::parse_positional("true").is_ok_and(|e| e.holds(&[], &[])));
        for bad in ["", "a0", "a0 % 0 == 0", "a0 % 8 == 1", "t0 aligned 3"] {
            assert!(Eligibility::parse_positional(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_largest_extents_end_where_a_condition_does() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=4096', n = '1..=512', p = 'm * 2' }\n\
                    inputs = { x = 'f32[m, n]' }\noutputs = { y = 'f32[p]' }\nmath = 'y[p] = x[0, 0]'\n";
        let spec = crate::edition::spec_file(text, &Default::default()).kernels.remove(0);
        for (condition, largest) in [
            ("true", [4096, 512, 8192]),
            ("a0 <= 64 and a0 <= 128", [64, 512, 128]),
            ("a1 <= 1000 and a0 >= 8 and t0 aligned 16", [4096, 512, 8192]),
            // which of two extents is the smaller one is not known
            ("(a0 * a1) <= 64 and a0 % 8 == 0", [4096, 512, 8192]),
            ("a0 <= 0", [0, 512, 0]),
        ] {
            let eligibility = Eligibility::parse_positional(condition).expect("parses");
            assert_eq!(eligibility.largest(&spec.axes), Some(largest.to_vec()), "{condition}");
        }
    }

    #[test]
    fn preferred_first_then_eligible_then_none() {
        let parse = |text| Eligibility::parse_positional(text).expect("parses");
        let variants = [
            (parse("a0 % 8 == 0"), parse("a0 >= 64")),
            (parse("t0 aligned 16"), parse("a0 <= 32")),
            (parse("a0 >= 2"), parse("a0 >= 999")),
        ];
        let pick = |m: i64, address: u64| {
            let list: Vec<_> = variants.iter().map(|(e, p)| (e, p)).collect();
            dispatch(&list, &[m], &[address])
        };
        assert_eq!(pick(64, 0), Some(0), "eligible and preferred");
        assert_eq!(pick(16, 0), Some(1), "preferred beats order");
        assert_eq!(pick(16, 2), Some(0), "the misaligned one is not eligible");
        assert_eq!(pick(33, 2), Some(2), "eligible is enough");
        assert_eq!(pick(1, 2), None);
    }
}
