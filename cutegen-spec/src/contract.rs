//! [`Contract`]: how an artifact is launched, as data. The search-time launcher interprets it and the emitter
//! prints it as plain Rust; both must mean the same. Arguments refer to tensors, axes and scalars by position.

pub mod tensor_map;
mod workspace;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::int_expr::{IntExpr, Names, Positions, positional_text};
use tensor_map::TensorMap;

pub use workspace::{Initial, KEPT_ZERO_MAX, Layout, Place, Region, Unplaced, WorkspacePart, padded};

/// The launch of one variant: steps in stream order, and the workspace they share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Contract {
    /// Parts of the caller's workspace, in the order of their regions, each 256-byte aligned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<WorkspacePart>,
    /// What runs, in order.
    pub steps: Vec<Step>,
}

/// One kernel launch. On `host`, grid and block are 1 and the entry is called once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// Symbol of the entry point inside the artifact.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [IntExpr; 3],
    /// Threads in x, y, z.
    pub block: [IntExpr; 3],
    /// Blocks per cluster in x, y, z; all 1 when the kernel uses none.
    #[serde(default = "ones", skip_serializing_if = "is_ones")]
    pub cluster: [IntExpr; 3],
    /// Dynamic shared memory in bytes.
    #[serde(default = "zero", skip_serializing_if = "is_zero")]
    pub smem: IntExpr,
    /// The kernel's parameters, in order.
    pub args: Vec<Arg>,
    /// Programmatic dependent launch: may start before the previous kernel ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pdl: bool,
    /// All blocks must be resident at once; the launcher checks occupancy.
    #[serde(default, skip_serializing_if = "is_false")]
    pub co_resident: bool,
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arg {
    /// Address of the tensor at this position; 8 bytes.
    Ptr(usize),
    /// Extent of the axis at this position, as `int64_t`; 8 bytes.
    Axis(usize),
    /// The scalar at this position; 4 bytes for f32, 8 for f64.
    Scalar(usize),
    /// Address of the workspace part at this position; 8 bytes.
    Workspace(usize),
    /// A number that is computed at each launch, as `int64_t`; 8 bytes. One cubin so serves many extents and settings.
    Int(IntExpr),
    /// A TMA descriptor, as `const __grid_constant__ CUtensorMap`; 128 bytes, aligned to 64.
    Map(Box<TensorMap>),
}

impl Arg {
    /// Parses `ptr(x)`, `axis(n)`, `scalar(eps)`, `workspace(w0)`, `int(ceil_div(n, 64))` or
    /// `tma(x, dims = [m, 64], strides = [64, 1], box = [64, 64])`, in which `names` stand for positions.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is no argument: ptr(TENSOR), axis(AXIS), scalar(SCALAR), workspace(wN), int(EXPRESSION) or tma(...) of the spec"
            )
        };
        let (kind, rest) = text.split_once('(').ok_or_else(unknown)?;
        let name = rest.strip_suffix(')').ok_or_else(unknown)?;
        let part = |name: &str| name.strip_prefix('w')?.parse().ok();
        match kind {
            "int" => return IntExpr::parse(name, &|axis| names.axis(axis)).map(Arg::Int),
            "tma" => return TensorMap::parse(name, names).map(|map| Arg::Map(Box::new(map))),
            _ => {}
        }
        let found = match kind {
            "ptr" => names.tensor(name).map(Arg::Ptr),
            "axis" => names.axis(name).map(Arg::Axis),
            "scalar" => names.scalar(name).map(Arg::Scalar),
            "workspace" => part(name).map(Arg::Workspace),
            _ => None,
        };
        found.ok_or_else(unknown)
    }

    /// Every expression that it is computed from.
    pub fn numbers(&self) -> impl Iterator<Item = &IntExpr> {
        let number = if let Arg::Int(number) = self { Some(number) } else { None };
        let map = if let Arg::Map(map) = self { Some(map) } else { None };
        number.into_iter().chain(map.into_iter().flat_map(|map| map.numbers()))
    }

    fn parse_positional(text: &str) -> Result<Self, String> {
        Self::parse(text, &Positions)
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Ptr(i) => write!(f, "ptr(t{i})"),
            Arg::Axis(i) => write!(f, "axis(a{i})"),
            Arg::Scalar(i) => write!(f, "scalar(s{i})"),
            Arg::Workspace(i) => write!(f, "workspace(w{i})"),
            Arg::Int(number) => write!(f, "int({number})"),
            Arg::Map(map) => write!(f, "tma({map})"),
        }
    }
}

positional_text!(Arg);

/// `[1, 1, 1]`.
#[must_use]
pub fn ones() -> [IntExpr; 3] {
    [IntExpr::Const(1), IntExpr::Const(1), IntExpr::Const(1)]
}

fn is_ones(value: &[IntExpr; 3]) -> bool {
    *value == ones()
}

fn zero() -> IntExpr {
    IntExpr::Const(0)
}

fn is_zero(value: &IntExpr) -> bool {
    *value == zero()
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::Contract;

    #[test]
    fn toml_round_trip() {
        let text = r#"
workspace = [{ bytes = "(a0 * 4)", initial = "undefined" }, { bytes = "100", initial = "zeroed" }, { bytes = "8", initial = "kept-zero" }]
[[steps]]
entry = "k"
grid = ["ceil_div(a0, 256)", "1", "1"]
block = ["256", "1", "1"]
args = ["ptr(t0)", "axis(a0)", "scalar(s0)", "workspace(w1)", "int((a0 / 64))", "tma(w0, type = bf16, dims = [a0, 64], strides = [64, 1], box = [64, 64], swizzle = 128)"]
"#;
        let contract: Contract = toml::from_str(text).expect("parses");
        let again: Contract = toml::from_str(&toml::to_string(&contract).expect("prints")).expect("parses");
        assert_eq!(contract, again);
        assert!(toml::from_str::<Contract>(&text.replace("ptr(t0)", "ptr(a0)")).is_err());
        assert!(toml::from_str::<Contract>(&text.replace("initial", "contents")).is_err());
    }
}
