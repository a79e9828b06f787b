//! Workspace of a launch: its parts, what they hold before the first step, and where they lie. There are two regions. No
//! launch relies on what an earlier one left in scratch. The other region is zero before and after every launch, so that
//! all kernels of a caller's workspace share it. Must not know how either is allocated.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Contract;
use crate::int_expr::IntExpr;

/// The most bytes that a kernel keeps zero: counters, not tensors.
pub const KEPT_ZERO_MAX: i64 = 1 << 20;

/// What each part is aligned to.
const ALIGN: i64 = 256;

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
    /// Zeros, which the launch before left there; this one leaves zeros as well. A kernel that may start early touches
    /// them behind its wait only.
    KeptZero,
}

impl Initial {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Initial::Undefined => "undefined",
            Initial::Zeroed => "zeroed",
            Initial::KeptZero => "kept-zero",
        }
    }

    /// The region that such parts lie in.
    #[must_use]
    pub fn region(self) -> Region {
        match self {
            Initial::Undefined | Initial::Zeroed => Region::Scratch,
            Initial::KeptZero => Region::KeptZero,
        }
    }
}

/// A region of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// What no launch relies on.
    Scratch,
    /// What is zero between launches.
    KeptZero,
}

/// A part at some extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region that it lies in.
    pub region: Region,
    /// From the region's start; a multiple of 256.
    pub offset: i64,
    /// Its size.
    pub bytes: i64,
}

/// Where the parts of a workspace lie at some extents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Each part, in order.
    pub places: Vec<Place>,
    /// Size of the scratch region.
    pub bytes: i64,
    /// Size of the region that is kept zero.
    pub kept_zero_bytes: i64,
}

/// Why a workspace has no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// A part has no size, or all are beyond 64 bits.
    Size,
    /// So many bytes are to be kept zero.
    KeptZero(i64),
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => f.write_str("its workspace has no size"),
            Self::KeptZero(bytes) => write!(
                f,
                "its workspace keeps {bytes} bytes zero, more than the {KEPT_ZERO_MAX} that a kernel may keep"
            ),
        }
    }
}

impl Layout {
    /// Size of both regions, the one that is kept zero behind the other.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.bytes.saturating_add(self.kept_zero_bytes)
    }

    /// The offset of each part where the region that is kept zero lies behind the other.
    pub fn offsets(&self) -> impl Iterator<Item = i64> {
        self.places.iter().map(|place| match place.region {
            Region::Scratch => place.offset,
            Region::KeptZero => self.bytes + place.offset,
        })
    }

    /// Adds a part behind those of its region.
    fn add(&mut self, part: &WorkspacePart, axes: &[i64]) -> Option<()> {
        let region = part.initial.region();
        let bytes = part.bytes.eval_axes(axes).filter(|bytes| *bytes >= 0)?;
        let end = match region {
            Region::Scratch => &mut self.bytes,
            Region::KeptZero => &mut self.kept_zero_bytes,
        };
        self.places.push(Place { region, offset: *end, bytes });
        *end = end.checked_add(padded(bytes)?)?;
        Some(())
    }
}

impl Contract {
    /// Where the workspace parts lie at these extents.
    pub fn workspace_layout(&self, axes: &[i64]) -> Result<Layout, Unplaced> {
        let mut layout = Layout::default();
        for part in &self.workspace {
            layout.add(part, axes).ok_or(Unplaced::Size)?;
        }
        if layout.kept_zero_bytes > KEPT_ZERO_MAX {
            return Err(Unplaced::KeptZero(layout.kept_zero_bytes));
        }
        layout.bytes.checked_add(layout.kept_zero_bytes).ok_or(Unplaced::Size)?;
        Ok(layout)
    }
}

/// What a part of this size takes in its region; `None` beyond 64 bits.
#[must_use]
pub fn padded(bytes: i64) -> Option<i64> {
    Some(bytes.checked_add(ALIGN - 1)? / ALIGN * ALIGN)
}

#[cfg(test)]
mod tests {
    use super::{Initial, KEPT_ZERO_MAX, Unplaced, WorkspacePart};
    use crate::contract::Contract;
    use crate::int_expr::IntExpr;

    fn contract(parts: &[(&str, Initial)]) -> Contract {
        let part = |(bytes, initial): &(&str, Initial)| WorkspacePart {
            bytes: IntExpr::parse_positional(bytes).expect("an expression"),
            initial: *initial,
        };
        Contract { workspace: parts.iter().map(part).collect(), steps: Vec::new() }
    }

    #[test]
    fn what_is_kept_zero_lies_in_a_region_of_its_own() {
        use Initial::{KeptZero, Undefined, Zeroed};
        let contract =
            contract(&[("a0 * 4", Undefined), ("8", KeptZero), ("100", Zeroed), ("300", KeptZero)]);
        let layout = contract.workspace_layout(&[70]).expect("a layout");
        let offsets: Vec<i64> = layout.places.iter().map(|place| place.offset).collect();
        assert_eq!((offsets.as_slice(), layout.bytes), ([0, 0, 512, 256].as_slice(), 768));
        assert_eq!((layout.kept_zero_bytes, layout.total()), (768, 1536));
        assert_eq!(layout.offsets().collect::<Vec<_>>(), [0, 768, 512, 1024]);
        let sizes: Vec<i64> = layout.places.iter().map(|place| place.bytes).collect();
        assert_eq!(sizes, [280, 8, 100, 300]);
    }

    #[test]
    fn a_kernel_keeps_a_mebibyte_zero_and_no_more() {
        let kept = |bytes: &str| contract(&[(bytes, Initial::KeptZero)]).workspace_layout(&[]);
        assert_eq!(kept("1048576").map(|layout| layout.kept_zero_bytes), Ok(KEPT_ZERO_MAX));
        let refused = kept("1048577").expect_err("too much");
        assert_eq!(refused, Unplaced::KeptZero(KEPT_ZERO_MAX + 256));
        assert_eq!(
            refused.to_string(),
            "its workspace keeps 1048832 bytes zero, more than the 1048576 that a kernel may keep"
        );
        let scratch = contract(&[("1048577", Initial::Zeroed)]).workspace_layout(&[]);
        assert_eq!(scratch.map(|layout| (layout.bytes, layout.kept_zero_bytes)), Ok((1_048_832, 0)));
    }

    #[test]
    fn what_has_no_size_has_no_layout() {
        for bytes in ["0 - 1", "9223372036854775807", "a1"] {
            let layout = contract(&[(bytes, Initial::Undefined)]).workspace_layout(&[4]);
            assert_eq!(layout, Err(Unplaced::Size), "{bytes}");
        }
    }
}
