//! [`IntExpr`]: integer expressions over axes and device properties. Derived axes, strides, launch grids and
//! eligibility all speak it. Axes enter by position, printed `a0`, `a1`, so that renaming an axis changes nothing.

use std::collections::BTreeSet;
use std::fmt;

use crate::dtype::DType;

/// What a launch may ask of the device it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceProp {
    /// Streaming multiprocessors of the device.
    SmCount,
    /// Clusters of the step's shape that fit at once.
    MaxActiveClusters,
    /// Blocks of the step's shape that fit on one multiprocessor.
    MaxBlocksPerSm,
    /// Opt-in shared memory per block, in bytes.
    DeviceSmem,
}

impl DeviceProp {
    const ALL: [DeviceProp; 4] = [
        DeviceProp::SmCount,
        DeviceProp::MaxActiveClusters,
        DeviceProp::MaxBlocksPerSm,
        DeviceProp::DeviceSmem,
    ];

    /// The word a contract uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DeviceProp::SmCount => "sm_count",
            DeviceProp::MaxActiveClusters => "max_active_clusters",
            DeviceProp::MaxBlocksPerSm => "max_blocks_per_sm",
            DeviceProp::DeviceSmem => "device_smem",
        }
    }
}

/// A binary operation. Division floors; the remainder is never negative; both need a positive divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum IntOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, floored.
    Div,
    /// `a % b`, non-negative.
    Rem,
    /// `ceil_div(a, b)`
    CeilDiv,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntExpr {
    /// A literal.
    Const(i64),
    /// The extent of the axis at this position.
    Axis(usize),
    /// A property of the device.
    Device(DeviceProp),
    /// An operation on two expressions.
    Op(IntOp, Box<IntExpr>, Box<IntExpr>),
}

impl IntExpr {
    /// `op(a, b)`.
    #[must_use]
    pub fn op(op: IntOp, a: IntExpr, b: IntExpr) -> IntExpr {
        IntExpr::Op(op, Box::new(a), Box::new(b))
    }

    /// The value under `axes` (extents by position) and `device`; `None` on overflow, a non-positive divisor,
    /// an unknown axis or a property that `device` does not know.
    pub fn eval(&self, axes: &[i64], device: &dyn Fn(DeviceProp) -> Option<i64>) -> Option<i64> {
        match self {
            IntExpr::Const(value) => Some(*value),
            IntExpr::Axis(axis) => axes.get(*axis).copied(),
            IntExpr::Device(prop) => device(*prop),
            IntExpr::Op(op, a, b) => op.apply(a.eval(axes, device)?, b.eval(axes, device)?),
        }
    }

    /// Adds the positions of the axes that occur to `out`.
    pub fn axes(&self, out: &mut BTreeSet<usize>) {
        match self {
            IntExpr::Const(_) | IntExpr::Device(_) => {}
            IntExpr::Axis(axis) => {
                out.insert(*axis);
            }
            IntExpr::Op(_, a, b) => {
                a.axes(out);
                b.axes(out);
            }
        }
    }

    /// How many operations it holds.
    #[must_use]
    pub fn operations(&self) -> usize {
        match self {
            IntExpr::Const(_) | IntExpr::Axis(_) | IntExpr::Device(_) => 0,
            IntExpr::Op(_, a, b) => 1 + a.operations() + b.operations(),
        }
    }

    /// The value under `axes` alone.
    #[must_use]
    pub fn eval_axes(&self, axes: &[i64]) -> Option<i64> {
        self.eval(axes, &|_| None)
    }

    /// The expression with axes as `axis` names them.
    #[must_use]
    pub fn text(&self, axis: &dyn Fn(usize) -> String) -> String {
        let (op, a, b) = match self {
            IntExpr::Const(value) => return value.to_string(),
            IntExpr::Axis(position) => return axis(*position),
            IntExpr::Device(prop) => return prop.name().to_owned(),
            IntExpr::Op(op, a, b) => (op, a.text(axis), b.text(axis)),
        };
        match op {
            IntOp::Add => format!("({a} + {b})"),
            IntOp::Sub => format!("({a} - {b})"),
            IntOp::Mul => format!("({a} * {b})"),
            IntOp::Div => format!("({a} / {b})"),
            IntOp::Rem => format!("({a} % {b})"),
            IntOp::CeilDiv => format!("ceil_div({a}, {b})"),
            IntOp::Min => format!("min({a}, {b})"),
            IntOp::Max => format!("max({a}, {b})"),
        }
    }

    /// Parses `text`; `axis` resolves a name to an axis position.
    pub fn parse(text: &str, axis: &dyn Fn(&str) -> Option<usize>) -> Result<IntExpr, String> {
        let mut parser = Parser { rest: text, axis, depth: 0, operators: 0 };
        let expr = parser.sum()?;
        match parser.peek() {
            None => Ok(expr),
            Some(c) => Err(format!("unexpected `{c}` in integer expression `{text}`")),
        }
    }

    /// Parses the positional form that [`fmt::Display`] prints.
    pub fn parse_positional(text: &str) -> Result<IntExpr, String> {
        Self::parse(text, &|name| Positions.axis(name))
    }
}

/// What names in expressions, conditions and arguments stand for: positions in a spec.
pub trait Names {
    /// The axis of this name.
    fn axis(&self, name: &str) -> Option<usize>;
    /// The tensor of this name.
    fn tensor(&self, name: &str) -> Option<usize>;
    /// The scalar of this name.
    fn scalar(&self, name: &str) -> Option<usize>;
    /// The elements of the tensor at a position, where they are known.
    fn dtype(&self, _tensor: usize) -> Option<DType> {
        None
    }
}

/// Positions as names, as records have them: `a0`, `t1`, `s2`.
pub struct Positions;

impl Names for Positions {
    fn axis(&self, name: &str) -> Option<usize> {
        name.strip_prefix('a')?.parse().ok()
    }

    fn tensor(&self, name: &str) -> Option<usize> {
        name.strip_prefix('t')?.parse().ok()
    }

    fn scalar(&self, name: &str) -> Option<usize> {
        name.strip_prefix('s')?.parse().ok()
    }
}

impl IntOp {
    /// `a op b`; `None` on overflow or a divisor that is not positive.
    #[must_use]
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            IntOp::Add => a.checked_add(b),
            IntOp::Sub => a.checked_sub(b),
            IntOp::Mul => a.checked_mul(b),
            IntOp::Div => (b > 0).then(|| a.div_euclid(b)),
            IntOp::Rem => (b > 0).then(|| a.rem_euclid(b)),
            IntOp::CeilDiv => (b > 0).then(|| a.checked_add(b - 1).map(|s| s.div_euclid(b))).flatten(),
            IntOp::Min => Some(a.min(b)),
            IntOp::Max => Some(a.max(b)),
        }
    }
}

impl fmt::Display for IntExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|axis| format!("a{axis}")))
    }
}

/// Most operators of an expression: a long chain is as deep a tree as nested brackets.
const MAX_OPERATORS: usize = 1024;
/// Deepest nesting: what is printed of a chain nests, too.
const MAX_DEPTH: usize = 256;

/// Recursive descent over `+ -`, `* / %`, atoms.
struct Parser<'a> {
    rest: &'a str,
    axis: &'a dyn Fn(&str) -> Option<usize>,
    depth: usize,
    operators: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.eat(wanted) { Ok(()) } else { Err(format!("expected `{wanted}` before `{}`", self.rest)) }
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(format!("integer expression nests deeper than {MAX_DEPTH} levels"))
    }

    /// Takes an operator of one character.
    fn operator(&mut self) -> Result<(), String> {
        self.rest = &self.rest[1..];
        self.operators += 1;
        if self.operators <= MAX_OPERATORS {
            return Ok(());
        }
        Err(format!("integer expression has more than {MAX_OPERATORS} operators"))
    }

    fn sum(&mut self) -> Result<IntExpr, String> {
        self.deeper()?;
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Some('+') => IntOp::Add,
                Some('-') => IntOp::Sub,
                _ => break,
            };
            self.operator()?;
            left = IntExpr::op(op, left, self.product()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<IntExpr, String> {
        let mut left = self.atom()?;
        loop {
            let op = match self.peek() {
                Some('*') => IntOp::Mul,
                Some('/') => IntOp::Div,
                Some('%') => IntOp::Rem,
                _ => return Ok(left),
            };
            self.operator()?;
            left = IntExpr::op(op, left, self.atom()?);
        }
    }

    fn atom(&mut self) -> Result<IntExpr, String> {
        if self.eat('(') {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(inner);
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('-') => {
                self.rest = &self.rest[1..];
                self.deeper()?;
                let operand = self.atom()?;
                self.depth -= 1;
                Ok(match operand {
                    IntExpr::Const(value) => IntExpr::Const(-value),
                    other => IntExpr::op(IntOp::Sub, IntExpr::Const(0), other),
                })
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.word(),
            Some(c) => Err(format!("expected a number, an axis or `(`, found `{c}`")),
            None => Err("expected a number, an axis or `(`, found the end".to_owned()),
        }
    }

    fn take(&mut self, keep: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn number(&mut self) -> Result<IntExpr, String> {
        let digits = self.take(|c| c.is_ascii_digit() || c == '_').replace('_', "");
        digits.parse().map(IntExpr::Const).map_err(|_| format!("`{digits}` does not fit an i64"))
    }

    fn word(&mut self) -> Result<IntExpr, String> {
        let word = self.take(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        let call = match word.as_str() {
            "ceil_div" => Some(IntOp::CeilDiv),
            "min" => Some(IntOp::Min),
            "max" => Some(IntOp::Max),
            _ => None,
        };
        if let (Some(op), Some('(')) = (call, self.peek()) {
            self.operator()?;
            let a = self.sum()?;
            self.expect(',')?;
            let b = self.sum()?;
            self.expect(')')?;
            return Ok(IntExpr::op(op, a, b));
        }
        if let Some(axis) = (self.axis)(&word) {
            return Ok(IntExpr::Axis(axis));
        }
        DeviceProp::ALL
            .into_iter()
            .find(|prop| prop.name() == word)
            .map(IntExpr::Device)
            .ok_or_else(|| format!("`{word}` is neither an axis nor a device property"))
    }
}

macro_rules! positional_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse_positional(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
positional_text!(IntExpr);
pub(crate) use positional_text;

#[cfg(test)]
mod tests {
    use super::IntExpr;

    fn eval(text: &str) -> Option<i64> {
        IntExpr::parse_positional(text).ok()?.eval_axes(&[10, 3])
    }

    #[test]
    fn evaluates_by_its_own_rules() {
        assert_eq!(eval("a0 / a1 * 2 + 1"), Some(7));
        assert_eq!(eval("(a0 + 4 - 11) / 4 + 1"), Some(1));
        assert_eq!(eval("(0 - a0) / 4"), Some(-3));
        assert_eq!(eval("(0 - a0) % 4"), Some(2));
        assert_eq!(eval("ceil_div(a0, a1)"), Some(4));
        assert_eq!(eval("min(a0, 4) + max(a1, 7)"), Some(11));
        assert_eq!(eval("a0 / 0"), None);
        assert_eq!(eval("a0 * 9223372036854775807"), None);
        assert_eq!(eval("a2"), None);
    }

    #[test]
    fn prints_what_it_parses_and_refuses_nonsense() {
        let text = "ceil_div((a0 * 4), sm_count)";
        assert_eq!(IntExpr::parse_positional(text).map(|e| e.to_string()), Ok(text.to_owned()));
        for bad in ["", "1 +", "a0 a1", "foo", "(1", "99999999999999999999", &"(".repeat(999)] {
            assert!(IntExpr::parse_positional(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn refuses_what_is_too_deep_to_walk() {
        let times = |text: &str, n: usize| format!("{}a0", text.repeat(n));
        for piece in ["-", "a0 + ", "a0 * ", "a0 - a1 * ", "min(a0, "] {
            assert!(IntExpr::parse_positional(&times(piece, 100_000)).is_err(), "{piece}");
        }
        assert!(IntExpr::parse_positional(&times("a0 + ", 1024)).is_ok());
        assert!(IntExpr::parse_positional(&times("a0 + ", 1025)).is_err());
    }
}
