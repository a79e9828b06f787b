//! The scan template's space: named points.

/// One point of the template's space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) name: &'static str,
    /// Warps of a row.
    pub(super) warps: i64,
    /// Rows of a block.
    pub(super) rows: i64,
    pub(super) unroll: i64,
    /// Bytes of a vector in the tensor that takes most per lane; none where a vector is one element.
    pub(super) vec_bytes: Option<i64>,
    /// Tiles of a chunk, where a row is cut into chunks.
    pub(super) chunk: Option<i64>,
    pub(super) load: &'static str,
    pub(super) streaming: bool,
}

/// `w8r1u4v16-os`: warps of a row, rows of a block, unroll, vector bytes (`e`: single elements); `x2`: chunks of two
/// tiles; loads once, streaming stores.
pub(super) const POINTS: [&str; 36] = [
    "w1r4u2v16-os",
    "w1r4u4v16-os",
    "w1r8u4v16-os",
    "w1r4u8v16-os",
    "w1r8u8v16-os",
    "w2r2u2v16-os",
    "w2r4u4v16-os",
    "w2r2u8v16-os",
    "w4r1u1v16-os",
    "w4r1u2v16-os",
    "w4r1u2v16",
    "w4r2u2v16-os",
    "w4r1u4v16-os",
    "w4r2u4v16-os",
    "w4r1u8v16-os",
    "w4r1u8v16",
    "w8r1u1v16-os",
    "w8r1u2v16-os",
    "w8r1u2v16",
    "w8r1u4v16-os",
    "w8r1u4v16",
    "w8r1u4v16-o",
    "w16r1u1v16-os",
    "w16r1u2v16-os",
    "w16r1u2v16",
    "w32r1u1v16-os",
    "w32r1u1v16",
    "w4r1u2v16x1",
    "w8r1u1v16x1",
    "w8r1u2v16x1",
    "w8r1u4v16x1",
    "w8r1u4v16x4",
    "w16r1u2v16x1",
    "w1r4u4e",
    "w8r1u4e",
    "w8r1u4ex8",
];

impl Point {
    /// Reads a name of [`POINTS`].
    pub(super) fn parse(name: &'static str) -> Option<Self> {
        let (shape, flags) = name.split_once('-').unwrap_or((name, ""));
        let (shape, chunk) = match shape.split_once('x') {
            Some((shape, chunk)) => (shape, Some(chunk.parse().ok()?)),
            None => (shape, None),
        };
        let (warps, rest) = shape.strip_prefix('w')?.split_once('r')?;
        let (rows, rest) = rest.split_once('u')?;
        let (unroll, vec_bytes) = match rest.strip_suffix('e') {
            Some(unroll) => (unroll, None),
            None => rest.split_once('v').map(|(unroll, bytes)| (unroll, bytes.parse().ok()))?,
        };
        Some(Self {
            name,
            warps: warps.parse().ok()?,
            rows: rows.parse().ok()?,
            unroll: unroll.parse().ok()?,
            vec_bytes,
            chunk,
            load: if flags.contains('o') { "ONCE" } else { "CACHED" },
            streaming: flags.contains('s'),
        })
    }

    pub(super) fn hints(self) -> &'static str {
        self.name.split_once('-').map_or("", |(_, hints)| hints)
    }

    pub(super) fn threads(self) -> i64 {
        32 * self.warps * self.rows
    }

    /// Vectors of a tile.
    pub(super) fn tile(self) -> i64 {
        32 * self.warps * self.unroll
    }
}

#[cfg(test)]
mod tests {
    use super::{POINTS, Point};

    #[test]
    fn every_name_is_a_point() {
        for name in POINTS {
            let point = Point::parse(name).expect(name);
            assert!(point.threads() <= 1024 && point.warps * point.unroll <= 32, "{point:?}");
            assert!(point.chunk.is_none() || point.rows == 1, "a chunk is of one row: {point:?}");
        }
    }
}
