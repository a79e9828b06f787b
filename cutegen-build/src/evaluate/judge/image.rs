//! [`Image`]: where one launch's tensors and workspace lie in the arena, and which tensor a byte of it belongs to.

use cutegen_spec::contract::Contract;
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

/// Lays a launch out; `Ok(None)` when the contract's workspace has no size at these extents.
pub(crate) fn image(
    spec: &KernelSpec,
    contract: &Contract,
    axes: &[i64],
    lay: impl Into<Lay>,
) -> Result<Option<Image>, Error> {
    let Some((parts, total)) = workspace(contract, axes) else { return Ok(None) };
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
    Ok(Some(Image { tensors: regions, workspace, bytes, parts, guards }))
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
            guards: all(&self.guards),
        }
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

/// Regions of the workspace's parts from its start, and its length.
pub(crate) fn workspace(contract: &Contract, axes: &[i64]) -> Option<(Vec<Region>, u64)> {
    let (offsets, total) = contract.workspace_layout(axes)?;
    let region = |(part, offset): (&cutegen_spec::contract::WorkspacePart, i64)| {
        let bytes = u64::try_from(part.bytes.eval_axes(axes)?).ok()?;
        Some(Region { offset: offset.unsigned_abs(), bytes })
    };
    let parts: Option<Vec<Region>> = contract.workspace.iter().zip(offsets).map(region).collect();
    Some((parts?, u64::try_from(total).ok()?))
}

/// What lies between the parts of a workspace.
fn pads(parts: &[Region], workspace: Region) -> Vec<Region> {
    let starts = parts.iter().skip(1).map(|p| p.offset).chain([workspace.offset + workspace.bytes]);
    let pad = |(part, next): (&Region, u64)| {
        let offset = part.offset + part.bytes;
        Region { offset, bytes: next - offset }
    };
    parts.iter().zip(starts).map(pad).collect()
}
