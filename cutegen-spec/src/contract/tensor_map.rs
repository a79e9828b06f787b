//! [`TensorMap`]: what a TMA descriptor says of a tensor, as a contract has it. The launcher and the emitted wrapper encode it
//! at each launch; nothing is kept from one launch to the next.

use std::fmt;

use crate::dtype::DType;
use crate::int_expr::{IntExpr, Names};

/// Dimensions of a descriptor, at most.
pub const RANK_MAX: usize = 5;
/// Elements of a box along a dimension, at most.
const BOX_MAX: u32 = 256;
/// Elements from one that is copied to the next, at most.
const EVERY_MAX: u32 = 8;

/// A tensor that TMA copies box by box (PTX ISA, "Tensor memory access"). Lists are outermost dimension first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorMap {
    /// Where the tensor lies.
    pub base: Base,
    /// Its elements.
    pub dtype: DType,
    /// Elements from there to the first.
    pub offset: IntExpr,
    /// Extents, in elements.
    pub dims: Vec<IntExpr>,
    /// Strides, in elements; the innermost is 1.
    pub strides: Vec<IntExpr>,
    /// Extents of a box, in elements.
    pub tile: Vec<u32>,
    /// Of so many elements along a dimension one is copied.
    pub every: Vec<u32>,
    /// Bytes of a row within which 16-byte units are permuted in shared memory: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Bytes to which reads are widened in L2: 0, 64, 128 or 256.
    pub promotion: u32,
    /// What reads outside of the tensor give.
    pub fill: Fill,
}

/// Where a mapped tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// The tensor at this position.
    Tensor(usize),
    /// The workspace part at this position.
    Workspace(usize),
}

/// What reads outside of the tensor give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zero,
    /// NaNs.
    Nan,
}

impl TensorMap {
    /// Reads what stands between `tma(` and `)`.
    pub(super) fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        let mut parts = split(text).into_iter();
        let base = parts.next().unwrap_or_default();
        let mut read = Fields { names, fields: parts.map(field).collect::<Result<_, _>>()? };
        let dims = read.numbers("dims")?.ok_or("a tensor map needs `dims = [...]`")?;
        let strides = read.numbers("strides")?.ok_or("a tensor map needs `strides = [...]`")?;
        let tile = read.constants("box")?.ok_or("a tensor map needs `box = [...]`")?;
        let every = read.constants("every")?.unwrap_or_else(|| vec![1; dims.len()]);
        let offset = read.take("offset").map(|text| read.number(&text)).transpose()?;
        let (base, dtype) = read.base(base)?;
        let map = Self {
            base,
            dtype,
            offset: offset.unwrap_or(IntExpr::Const(0)),
            dims,
            strides,
            tile,
            every,
            swizzle: read.one_of("swizzle", &[0, 32, 64, 128])?,
            promotion: read.one_of("promotion", &[0, 64, 128, 256])?,
            fill: read.fill()?,
        };
        match read.fields.first() {
            Some((key, _)) => Err(format!(
                "`{key}` is no field of a tensor map: dims, strides, box, every, offset, swizzle, promotion, fill or type"
            )),
            None => map.checked(),
        }
    }

    /// What no launch can have.
    fn checked(self) -> Result<Self, String> {
        let rank = self.dims.len();
        if rank == 0 || rank > RANK_MAX {
            return Err(format!("a tensor map of {rank} dimensions: there are 1 to {RANK_MAX}"));
        }
        for (name, length) in
            [("strides", self.strides.len()), ("box", self.tile.len()), ("every", self.every.len())]
        {
            if length != rank {
                return Err(format!("`{name}` has {length} numbers for {rank} dimensions"));
            }
        }
        if self.strides[rank - 1] != IntExpr::Const(1) {
            return Err(format!("the innermost stride is 1, not {}", self.strides[rank - 1]));
        }
        for (name, numbers, most) in [("box", &self.tile, BOX_MAX), ("every", &self.every, EVERY_MAX)] {
            if let Some(wrong) = numbers.iter().find(|number| **number == 0 || **number > most) {
                return Err(format!("`{name}` has {wrong}: TMA takes 1 to {most}"));
            }
        }
        match self.refused() {
            Some(why) => Err(why),
            None => Ok(self),
        }
    }

    /// What TMA does not take of such elements.
    fn refused(&self) -> Option<String> {
        let bits = u64::from(self.dtype.bits());
        if bits < 8 {
            return Some(format!("elements of {bits} bits have no address"));
        }
        let row = u64::from(*self.tile.last()?) * bits / 8;
        if !row.is_multiple_of(16) {
            return Some(format!("a row of its box has {row} bytes, which is no multiple of 16"));
        }
        let span = u64::from(self.swizzle);
        (span > 0 && row > span)
            .then(|| format!("a row of its box has {row} bytes, more than a swizzle of {span} permutes"))
    }

    /// Every expression.
    pub fn numbers(&self) -> impl Iterator<Item = &IntExpr> {
        [&self.offset].into_iter().chain(&self.dims).chain(&self.strides)
    }

    /// What stands between `tma(` and `)`, with names as `base` and `axis` have them.
    #[must_use]
    pub fn text(&self, base: &dyn Fn(Base) -> String, axis: &dyn Fn(usize) -> String) -> String {
        let list = |numbers: &[IntExpr]| numbers.iter().map(|n| n.text(axis)).collect::<Vec<_>>().join(", ");
        let constants = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let mut text = format!("{}, type = {}", base(self.base), self.dtype.name());
        if self.offset != IntExpr::Const(0) {
            text += &format!(", offset = {}", self.offset.text(axis));
        }
        text += &format!(", dims = [{}], strides = [{}]", list(&self.dims), list(&self.strides));
        text += &format!(", box = [{}]", constants(&self.tile));
        if self.every.iter().any(|every| *every != 1) {
            text += &format!(", every = [{}]", constants(&self.every));
        }
        for (name, bytes) in [("swizzle", self.swizzle), ("promotion", self.promotion)] {
            if bytes != 0 {
                text += &format!(", {name} = {bytes}");
            }
        }
        text + if self.fill == Fill::Nan { ", fill = nan" } else { "" }
    }
}

impl fmt::Display for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = |base| match base {
            Base::Tensor(at) => format!("t{at}"),
            Base::Workspace(at) => format!("w{at}"),
        };
        f.write_str(&self.text(&base, &|axis| format!("a{axis}")))
    }
}

/// Fields that are still to be read, by name.
struct Fields<'a> {
    names: &'a dyn Names,
    fields: Vec<(String, String)>,
}

impl Fields<'_> {
    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.fields.iter().position(|(name, _)| name == key)?;
        Some(self.fields.remove(at).1)
    }

    fn number(&self, text: &str) -> Result<IntExpr, String> {
        IntExpr::parse(text, &|name| self.names.axis(name))
    }

    fn list(&mut self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let inside = inside.ok_or_else(|| format!("`{key} = {text}` is no list in brackets"))?;
        Ok(Some(split(inside).into_iter().map(str::to_owned).collect()))
    }

    fn numbers(&mut self, key: &str) -> Result<Option<Vec<IntExpr>>, String> {
        let list = self.list(key)?;
        list.map(|list| list.iter().map(|text| self.number(text)).collect()).transpose()
    }

    fn constants(&mut self, key: &str) -> Result<Option<Vec<u32>>, String> {
        let constant = |text: &String| {
            text.parse().map_err(|_| format!("`{key}` has `{text}`: its numbers are constants"))
        };
        self.list(key)?.map(|list| list.iter().map(constant).collect()).transpose()
    }

    fn one_of(&mut self, key: &str, known: &[u32]) -> Result<u32, String> {
        let Some(text) = self.take(key) else { return Ok(0) };
        let found = text.parse().ok().filter(|bytes| known.contains(bytes));
        found.ok_or_else(|| format!("`{key} = {text}`: it is one of {known:?}"))
    }

    fn fill(&mut self) -> Result<Fill, String> {
        match self.take("fill").as_deref() {
            None | Some("zero") => Ok(Fill::Zero),
            Some("nan") => Ok(Fill::Nan),
            Some(other) => Err(format!("`fill = {other}`: it is zero or nan")),
        }
    }

    /// A tensor has its own dtype where names know it; anything else says it.
    fn base(&mut self, name: &str) -> Result<(Base, DType), String> {
        let said = self.take("type").map(|name| DType::parse(&name).ok_or(format!("`{name}` is no dtype")));
        let said = said.transpose()?;
        let part = || name.strip_prefix('w').and_then(|part| part.parse().ok()).map(Base::Workspace);
        let tensor = self.names.tensor(name);
        let base = tensor.map(Base::Tensor).or_else(part);
        let base = base.ok_or_else(|| format!("`{name}` is no tensor and no workspace part"))?;
        let own = tensor.and_then(|at| self.names.dtype(at));
        match (said, own) {
            (Some(said), Some(own)) if said.bits() != own.bits() => Err(format!(
                "`{name}` has elements of {}, which {} is not as wide as",
                own.name(),
                said.name()
            )),
            (said, own) => {
                let dtype = said.or(own).ok_or_else(|| format!("`{name}` needs `type = DTYPE`"))?;
                Ok((base, dtype))
            }
        }
    }
}

fn field(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is no `field = value`"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Parts between the commas that stand in no bracket, trimmed.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::{Base, Fill, TensorMap};
    use crate::dtype::DType;
    use crate::int_expr::{IntExpr, Positions};

    fn read(text: &str) -> Result<TensorMap, String> {
        TensorMap::parse(text, &Positions)
    }

    #[test]
    fn what_is_printed_reads_the_same() {
        let whole = "t1, type = f16, offset = (a0 * 2), dims = [a0, 4096], strides = [ceil_div(a1, 8), 1], \
                     box = [128, 64], every = [2, 1], swizzle = 128, promotion = 256, fill = nan";
        let map = read(whole).expect("a map");
        assert_eq!(map.to_string(), whole);
        assert_eq!((map.base, map.tile.as_slice(), map.fill), (Base::Tensor(1), &[128, 64][..], Fill::Nan));
        assert_eq!(map.numbers().count(), 5);
        let short = read("w0,type=bf16,dims=[4],strides=[1],box=[8]").expect("a map");
        assert_eq!(
            (short.base, short.dtype, short.offset),
            (Base::Workspace(0), DType::Bf16, IntExpr::Const(0))
        );
    }

    #[test]
    fn a_tensor_of_a_spec_has_its_own_type() {
        let text = "edition = 1\n[kernels.k]\naxes = { m = 8 }\ninputs = { x = 'bf16[m]' }\n\
                    outputs = { y = 'bf16[m]' }\nmath = 'y[m] = x[m]'\n";
        let spec = crate::edition::spec_file(text, &Default::default()).kernels.remove(0);
        let of = |text: &str| TensorMap::parse(text, &spec);
        let map = of("x, dims = [m], strides = [1], box = [8]").expect("a map");
        assert_eq!((map.base, map.dtype), (Base::Tensor(0), DType::Bf16));
        let raw = of("x, type = f16, dims = [m], strides = [1], box = [8]").expect("as wide");
        assert_eq!(raw.dtype, DType::F16);
        assert!(
            of("x, type = f32, dims = [m], strides = [1], box = [8]").expect_err("wider").contains("bf16")
        );
    }

    #[test]
    fn what_no_launch_can_have_is_named() {
        for (text, word) in [
            ("strides = [1], box = [8]", "dims"),
            ("dims = [4], strides = [1]", "box"),
            ("dims = [4], strides = [1, 1], box = [8]", "`strides` has 2"),
            ("dims = [4, 4], strides = [1, 2], box = [8, 8]", "innermost"),
            ("dims = [4], strides = [1], box = [257]", "1 to 256"),
            ("dims = [4], strides = [1], box = [8], every = [9]", "1 to 8"),
            ("dims = [4], strides = [1], box = [8], swizzle = 16", "[0, 32, 64, 128]"),
            ("dims = [4], strides = [1], box = [a0]", "constants"),
            ("dims = [4], strides = [1], box = [8], pitch = 3", "`pitch`"),
            ("dims = [1,1,1,1,1,1], strides = [1,1,1,1,1,1], box = [1,1,1,1,1,8]", "6 dimensions"),
            // rows of a box
            ("dims = [4], strides = [1], box = [7]", "14 bytes"),
            ("dims = [4], strides = [1], box = [128], swizzle = 128", "256 bytes"),
        ] {
            let said = read(&format!("t0, type = bf16, {text}")).expect_err(text);
            assert!(said.contains(word), "{text}: {said}");
        }
        let of = |base: &str| read(&format!("{base}, dims = [4], strides = [1], box = [64]"));
        for (base, word) in
            [("w0", "type = DTYPE"), ("y", "`y`"), ("t0, type = i4", "4 bits"), ("t0, type = q8", "`q8`")]
        {
            let said = of(base).expect_err(base);
            assert!(said.contains(word), "{base}: {said}");
        }
    }
}
