//! The arena's layout: where tensors and workspace lie, guards between them, and the patterns that say whether a
//! candidate wrote where it must not, or did not write where it must. Pure byte work.

use super::protocol::Region;
use crate::evaluate::rng::mix;

/// Length of every guard, in bytes.
pub const GUARD: u64 = 4096;

/// Fills outputs before the judged launch: NaN in every float type.
pub const POISON: u8 = 0xff;

/// What fills outputs before a launch: [`POISON`] before the first and every second one, else a byte that no candidate
/// can know beforehand. An element that still holds the poisons of two launches was never written.
#[must_use]
pub fn poison(seed: u64, repeat: u32) -> u8 {
    match repeat % 2 {
        0 => POISON,
        _ => (mix(seed ^ u64::from(repeat)) % u64::from(POISON)) as u8,
    }
}

/// How tensors' bases are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alignment {
    /// To 256 bytes, as allocators give.
    Allocator,
    /// To one element and no more, as a view into a larger tensor may be.
    Element,
}

/// Where pages lie that a launch cannot touch: closely beside each tensor, and further off on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// A tensor ends where they begin, but for what keeps its base a multiple of this.
    Behind(u64),
    /// A tensor begins where they end.
    Before,
}

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Bytes between fenced tensors: more than a stray read goes past an end.
const APART: u64 = 64 * PAGE;

impl std::fmt::Display for Fence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fence::Behind(_) => "behind",
            Fence::Before => "before",
        })
    }
}

/// What is to be laid out.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Its length.
    pub bytes: u64,
    /// Length of one element.
    pub element: u64,
}

/// Where everything lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// One region per extent, in order.
    pub regions: Vec<Region>,
    /// All that lies between and around the regions.
    pub guards: Vec<Region>,
    /// Length of the arena.
    pub bytes: u64,
}

/// Lays `extents` out, each between guards; `None` when the lengths overflow.
#[must_use]
pub fn layout(extents: &[(Extent, Alignment)]) -> Option<Layout> {
    let mut layout = Layout::default();
    for (extent, alignment) in extents {
        let base = layout.bytes.checked_add(GUARD)?.checked_next_multiple_of(256)?;
        let offset = match alignment {
            Alignment::Allocator => base,
            Alignment::Element => base.checked_add(extent.element)?,
        };
        layout.guards.push(Region { offset: layout.bytes, bytes: offset - layout.bytes });
        layout.regions.push(Region { offset, bytes: extent.bytes });
        layout.bytes = offset.checked_add(extent.bytes)?;
    }
    let end = layout.bytes.checked_add(GUARD)?.checked_next_multiple_of(4096)?;
    layout.guards.push(Region { offset: layout.bytes, bytes: end - layout.bytes });
    layout.bytes = end;
    Some(layout)
}

/// Lays `extents` out, each on pages of its own. Guards are what is left of those pages; what lies between them belongs to no tensor.
/// The last extent keeps the alignment that allocators give.
#[must_use]
pub fn fenced(extents: &[Extent], fence: Fence) -> Option<Layout> {
    let mut layout = Layout::default();
    for (at, extent) in extents.iter().enumerate() {
        let start = layout.bytes.checked_add(APART)?;
        let end = start.checked_add(extent.bytes)?.checked_next_multiple_of(PAGE)?;
        let offset = match fence {
            Fence::Before => start,
            Fence::Behind(_) if at + 1 == extents.len() => (end - extent.bytes) / 256 * 256,
            Fence::Behind(kept) => (end - extent.bytes) / kept * kept,
        };
        let behind = offset + extent.bytes;
        layout.regions.push(Region { offset, bytes: extent.bytes });
        layout.guards.push(Region { offset: start, bytes: offset.saturating_sub(start) });
        layout.guards.push(Region { offset: behind, bytes: end - behind });
        layout.bytes = end;
    }
    layout.bytes = layout.bytes.checked_add(APART)?;
    Some(layout)
}

/// The pages that hold any byte of this region.
#[must_use]
pub fn pages(region: Region) -> Region {
    let first = region.offset / PAGE * PAGE;
    let end = region.offset.saturating_add(region.bytes).next_multiple_of(PAGE);
    Region { offset: first, bytes: if region.bytes == 0 { 0 } else { end - first } }
}

/// Fills the guard at `offset` of the arena: 16-bit words `0x7ff1..=0x7fff` that depend on their place there, so that no
/// guard is another's copy. NaN in every float type, so that what is read out of bounds poisons what is computed from it.
pub fn fill_guard(bytes: &mut [u8], offset: u64) {
    for (byte, at) in bytes.iter_mut().zip(offset..) {
        *byte = pattern(at);
    }
}

/// The first byte of the guard at `offset` that was written.
#[must_use]
pub fn damage(bytes: &[u8], offset: u64) -> Option<usize> {
    bytes.iter().zip(offset..).position(|(byte, at)| *byte != pattern(at))
}

/// The byte of a guard at this place of the arena.
fn pattern(at: u64) -> u8 {
    let word = 0x7ff1 + mix(at / 2) % 15;
    if at.is_multiple_of(2) { word as u8 } else { (word >> 8) as u8 }
}

#[cfg(test)]
mod tests {
    use super::{Alignment, Extent, Fence, GUARD, PAGE, damage, fenced, fill_guard, layout, pages};

    #[test]
    fn fenced_regions_have_pages_of_their_own_and_touch_their_edge() {
        let extents = [10, 4096, 0, 5000, 300].map(|bytes| Extent { bytes, element: 2 });
        for fence in [Fence::Before, Fence::Behind(1), Fence::Behind(16), Fence::Behind(256)] {
            let layout = fenced(&extents, fence).expect("fits");
            for (at, region) in layout.regions.iter().enumerate().filter(|(_, region)| region.bytes > 0) {
                let own = pages(*region);
                let others =
                    layout.regions.iter().enumerate().filter(|(other, r)| *other != at && r.bytes > 0);
                for other in others.map(|(_, r)| pages(*r)) {
                    let gap = own.offset.max(other.offset) - own.offset.min(other.offset);
                    assert!(gap >= own.bytes.min(other.bytes) + 16 * PAGE, "{fence:?}: {own:?} {other:?}");
                }
                let slack = match fence {
                    Fence::Before => region.offset - own.offset,
                    Fence::Behind(_) => own.offset + own.bytes - region.offset - region.bytes,
                };
                let kept = match fence {
                    Fence::Before => 1,
                    Fence::Behind(_) if at == 4 => 256,
                    Fence::Behind(kept) => kept,
                };
                assert!(slack < kept && region.offset % kept == 0, "{fence:?}: {region:?}");
                let guarded: u64 = layout.guards[2 * at..2 * at + 2].iter().map(|guard| guard.bytes).sum();
                assert_eq!(guarded + region.bytes, own.bytes, "{fence:?}: {region:?}");
            }
        }
    }

    #[test]
    fn every_byte_is_in_one_region_or_guard() {
        let extent = |bytes, element| Extent { bytes, element };
        let extents = [
            (extent(10, 2), Alignment::Allocator),
            (extent(0, 4), Alignment::Element),
            (extent(8, 4), Alignment::Element),
        ];
        let layout = layout(&extents).expect("fits");
        let mut all: Vec<_> = layout.regions.iter().chain(&layout.guards).copied().collect();
        all.sort_by_key(|r| (r.offset, r.bytes));
        let mut end = 0;
        for region in all {
            assert_eq!(region.offset, end);
            end = region.offset + region.bytes;
        }
        assert_eq!(end, layout.bytes);
        assert!(layout.guards.iter().all(|g| g.bytes >= GUARD));
        assert_eq!(layout.regions[0].offset % 256, 0);
        assert_eq!(layout.regions[2].offset % 256, 4);
    }

    #[test]
    fn any_written_byte_shows() {
        let mut guard = vec![0; 5000];
        fill_guard(&mut guard, 4096);
        assert_eq!(damage(&guard, 4096), None);
        for at in [0, 479, 480, 4999] {
            let mut hurt = guard.clone();
            hurt[at] ^= 1;
            assert_eq!(damage(&hurt, 4096), Some(at));
        }
        assert!(f32::from_le_bytes([guard[0], guard[1], guard[2], guard[3]]).is_nan());
    }

    #[test]
    fn no_guard_is_a_copy_of_another() {
        let mut guard = vec![0; 4096];
        fill_guard(&mut guard, 0);
        for offset in (256..1 << 20).step_by(256) {
            assert!(damage(&guard, offset).is_some_and(|at| at < 64), "{offset}");
        }
    }
}
