//! [`Image`]: where one launch's tensors and workspace lie in the arena, and which tensor a byte of it belongs to.

use cutegen_spec::contract::{Contract, Initial, Unplaced};
use cutegen_spec::dtype::DType;
use cutegen_spec::spec::KernelSpec;

use super::case::Case;
use super::element;
use super::strided::Placed;
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::{Alignment, Extent, Fence, Layout, fenced, layout};
use crate::evaluate::wire::protocol::Region;
use crate::outcome::Place;

/// The arena of one launch.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// One region per tensor, by position.
    pub(crate) tensors: Vec<Region>,
    /// The whole workspace.
    pub(crate) workspace: Region,
    /// Length of the arena up to its end.
    pub(crate) bytes: u64,
    /// The workspace's parts.
    pub(crate) parts: Vec<Region>,
    /// Those of them that are zero before and after every launch.
    pub(crate) kept_zero: Vec<Region>,
    /// What lies between and around all of them.
    pub(crate) guards: Vec<Region>,
}

/// How tensors lie in an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lay {
    /// Between guards of a fixed length, aligned so.
    Packed(Alignment),
    /// Each on pages of its own.
    Fenced(Fence),
}

impl From<Alignment> for Lay {
    fn from(alignment: Alignment) -> Self {
        Self::Packed(alignment)
    }
}

impl From<Fence> for Lay {
    fn from(fence: Fence) -> Self {
        Self::Fenced(fence)
    }
}

impl Lay {
    fn layout(self, extents: &[Extent]) -> Option<Layout> {
        match (self, extents.split_last()) {
            (Lay::Fenced(fence), _) => fenced(extents, fence),
            (Lay::Packed(_), None) => layout(&[]),
            (Lay::Packed(alignment), Some((workspace, tensors))) => {
                let tensors = tensors.iter().map(|tensor| (*tensor, alignment));
                layout(&tensors.chain([(*workspace, Alignment::Allocator)]).collect::<Vec<_>>())
            }
        }
    }
}

/// Lays a launch out; or says why the contract's workspace has no layout at these extents.
pub(crate) fn image(
    spec: &KernelSpec,
    contract: &Contract,
    axes: &[i64],
    lay: impl Into<Lay>,
) -> Result<Result<Image, Unplaced>, Error> {
    let (parts, total) = match workspace(contract, axes) {
        Ok(placed) => placed,
        Err(unplaced) => return Ok(Err(unplaced)),
    };
    let mut extents = Vec::with_capacity(spec.tensors.len() + 1);
    for tensor in &spec.tensors {
        let (element, bytes) = (tensor.dtype.bytes() as u64, Placed::new(tensor, axes)?.bytes() as u64);
        extents.push(Extent { bytes, element });
    }
    extents.push(Extent { bytes: total, element: 1 });
    let Some(mut layout) = lay.into().layout(&extents) else {
        return Err(Error::Shape(format!("the tensors at {axes:?} fit no arena")));
    };
    let workspace = layout.regions.pop().unwrap_or_default();
    let placed = |part: &Region| Region { offset: workspace.offset + part.offset, bytes: part.bytes };
    let parts: Vec<Region> = parts.iter().map(placed).collect();
    layout.guards.extend(pads(&parts, workspace));
    let Layout { regions, guards, bytes } = layout;
    let kept_zero = contract.workspace.iter().zip(&parts);
    let kept_zero = kept_zero.filter(|(part, _)| part.initial == Initial::KeptZero);
    let kept_zero = kept_zero.map(|(_, region)| *region).collect();
    Ok(Ok(Image { tensors: regions, workspace, bytes, parts, kept_zero, guards }))
}

impl Image {
    /// The same, this many bytes further on; as many multiples of its length lie beside one another.
    pub(crate) fn further(&self, by: u64) -> Image {
        let moved = |region: &Region| Region { offset: region.offset + by, bytes: region.bytes };
        let all = |regions: &[Region]| regions.iter().map(moved).collect();
        Image {
            tensors: all(&self.tensors),
            workspace: moved(&self.workspace),
            bytes: self.bytes + by,
            parts: all(&self.parts),
            kept_zero: all(&self.kept_zero),
            guards: all(&self.guards),
        }
    }

    /// The workspace part that has this byte of the arena, and where in it.
    pub(crate) fn part(&self, at: u64) -> (usize, u64) {
        let of = |part: &Region| part.offset <= at && at < part.offset + part.bytes;
        let part = self.parts.iter().position(of).unwrap_or(0);
        (part, at - self.parts.get(part).map_or(at, |part| part.offset))
    }

    /// The workspace's regions: scratch, and what is kept zero.
    pub(crate) fn regions(&self) -> (Region, Region) {
        self.workspace.split(
            self.kept_zero.first().map_or(self.workspace.bytes, |first| first.offset - self.workspace.offset),
        )
    }

    /// The element, of the tensor closest to it, that `offset` would belong to.
    pub(crate) fn nearest<H>(&self, spec: &KernelSpec, case: &Case<H>, offset: u64) -> Place {
        let distance = |r: &Region| match offset {
            o if o < r.offset => r.offset - o,
            o => o - (r.offset + r.bytes).min(o),
        };
        let workspace = (self.workspace, "workspace", DType::U8);
        let tensors = self.tensors.iter().zip(&spec.tensors);
        let all = tensors.map(|(r, t)| (*r, t.name.as_str(), t.dtype)).chain([workspace]);
        let near = all.filter(|(r, ..)| r.bytes > 0).min_by_key(|(r, ..)| distance(r)).unwrap_or(workspace);
        let bytes = offset.cast_signed() - near.0.offset.cast_signed();
        let (axes, index) = (case.axes.clone(), vec![element::of_byte(near.2, bytes)]);
        Place { axes, distribution: case.distribution, tensor: near.1.to_owned(), index }
    }
}

/// An element of a tensor, by its number in the tensor's memory.
pub(crate) fn place<H>(spec: &KernelSpec, case: &Case<H>, tensor: usize, element: usize) -> Place {
    let tensor = &spec.tensors[tensor];
    let index = Placed::new(tensor, &case.axes).map_or_else(|_| vec![element as i64], |p| p.index(element));
    let (axes, distribution) = (case.axes.clone(), case.distribution);
    Place { axes, distribution, tensor: tensor.name.clone(), index }
}

/// Regions of the workspace's parts from its start, those that are kept zero behind all others, and its length.
pub(crate) fn workspace(contract: &Contract, axes: &[i64]) -> Result<(Vec<Region>, u64), Unplaced> {
    let layout = contract.workspace_layout(axes)?;
    let region = |(offset, place): (i64, &cutegen_spec::contract::Place)| Region {
        offset: offset.unsigned_abs(),
        bytes: place.bytes.unsigned_abs(),
    };
    let parts = layout.offsets().zip(&layout.places).map(region).collect();
    Ok((parts, layout.total().unsigned_abs()))
}

/// What lies between the parts of a workspace.
fn pads(parts: &[Region], workspace: Region) -> Vec<Region> {
    let mut parts = parts.to_vec();
    parts.sort_by_key(|part| (part.offset, part.bytes));
    let starts = parts.iter().skip(1).map(|p| p.offset).chain([workspace.offset + workspace.bytes]);
    let pad = |(part, next): (&Region, u64)| {
        let offset = part.offset + part.bytes;
        Region { offset, bytes: next - offset }
    };
    parts.iter().zip(starts).map(pad).collect()
}
