//! [`Contract`]: how an artifact is launched, as data. The search-time launcher interprets it and the emitter
//! prints it as plain Rust; both must mean the same. Arguments refer to tensors, axes and scalars by position.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::int_expr::{IntExpr, Names, Positions, positional_text};

/// The launch of one variant: steps in stream order, and the workspace they share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Contract {
    /// Parts of the caller's workspace, in order, each 256-byte aligned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<WorkspacePart>,
    /// What runs, in order.
    pub steps: Vec<Step>,
}

/// One part of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkspacePart {
    /// Size in bytes.
    pub bytes: IntExpr,
    /// What it holds before the first step.
    pub initial: Initial,
}

/// What a workspace part holds before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initial {
    /// Anything: poisoned before every judged launch.
    Undefined,
    /// Zeros, written by a memset step that is captured and timed with the rest.
    Zeroed,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arg {
    /// Address of the tensor at this position; 8 bytes.
    Ptr(usize),
    /// Extent of the axis at this position, as `int64_t`; 8 bytes.
    Axis(usize),
    /// The scalar at this position; 4 bytes for f32, 8 for f64.
    Scalar(usize),
    /// Address of the workspace part at this position; 8 bytes.
    Workspace(usize),
}

impl Contract {
    /// Offsets of the workspace parts and the total, in bytes, at these extents; `None` on overflow.
    #[must_use]
    pub fn workspace_layout(&self, axes: &[i64]) -> Option<(Vec<i64>, i64)> {
        let mut total = 0_i64;
        let mut offsets = Vec::with_capacity(self.workspace.len());
        for part in &self.workspace {
            offsets.push(total);
            let bytes = part.bytes.eval_axes(axes).filter(|b| *b >= 0)?;
            total = total.checked_add(bytes)?.checked_add(255)? / 256 * 256;
        }
        Some((offsets, total))
    }
}

impl Arg {
    /// Parses `ptr(x)`, `axis(n)`, `scalar(eps)` or `workspace(w0)`, in which `names` stand for positions.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is no argument: ptr(TENSOR), axis(AXIS), scalar(SCALAR) or workspace(wN) of the spec"
            )
        };
        let (kind, rest) = text.split_once('(').ok_or_else(unknown)?;
        let name = rest.strip_suffix(')').ok_or_else(unknown)?;
        let part = |name: &str| name.strip_prefix('w')?.parse().ok();
        let found = match kind {
            "ptr" => names.tensor(name).map(Arg::Ptr),
            "axis" => names.axis(name).map(Arg::Axis),
            "scalar" => names.scalar(name).map(Arg::Scalar),
            "workspace" => part(name).map(Arg::Workspace),
            _ => None,
        };
        found.ok_or_else(unknown)
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
    fn toml_round_trip_and_workspace_layout() {
        let text = r#"
workspace = [{ bytes = "(a0 * 4)", initial = "undefined" }, { bytes = "100", initial = "zeroed" }]
[[steps]]
entry = "k"
grid = ["ceil_div(a0, 256)", "1", "1"]
block = ["256", "1", "1"]
args = ["ptr(t0)", "axis(a0)", "scalar(s0)", "workspace(w1)"]
"#;
        let contract: Contract = toml::from_str(text).expect("parses");
        let again: Contract = toml::from_str(&toml::to_string(&contract).expect("prints")).expect("parses");
        assert_eq!(contract, again);
        assert_eq!(contract.workspace_layout(&[70]), Some((vec![0, 512], 768)));
        assert!(toml::from_str::<Contract>(&text.replace("ptr(t0)", "ptr(a0)")).is_err());
        assert!(toml::from_str::<Contract>(&text.replace("initial", "contents")).is_err());
    }
}
