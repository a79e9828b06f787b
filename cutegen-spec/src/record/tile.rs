//! [`Tile`]: how far a block of a kernel reaches along an axis, which is where its edges are to be judged.

use std::fmt;

use crate::int_expr::positional_text;

/// The most that a tile may span: edges around it are counted without overflow.
const MOST: i64 = 1 << 40;

/// The extent of a tile along one axis: `a0 by 128`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Position of the axis.
    pub axis: usize,
    /// Extent of the tile, 1 or more.
    pub extent: i64,
}

impl Tile {
    fn parse_positional(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no tile: expected aN by EXTENT");
        let (axis, extent) = text.split_once(" by ").ok_or_else(unknown)?;
        let axis = axis.strip_prefix('a').and_then(|axis| axis.parse().ok()).ok_or_else(unknown)?;
        let extent = extent.parse().ok().filter(|extent| (1..=MOST).contains(extent)).ok_or_else(unknown)?;
        Ok(Self { axis, extent })
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{} by {}", self.axis, self.extent)
    }
}

positional_text!(Tile);

#[cfg(test)]
mod tests {
    use super::Tile;

    #[test]
    fn reads_what_it_prints_and_nothing_that_overflows() {
        let tile = Tile { axis: 3, extent: 128 };
        assert_eq!((tile.to_string().as_str(), Tile::parse_positional("a3 by 128")), ("a3 by 128", Ok(tile)));
        for bad in ["a3", "3 by 128", "a3 by 0", "a3 by -1", "a by 1", "a3 by 9223372036854775807", "b3 by 1"]
        {
            assert!(Tile::parse_positional(bad).is_err(), "{bad}");
        }
    }
}
