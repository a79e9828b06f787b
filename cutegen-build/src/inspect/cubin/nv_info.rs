//! The records of a cubin's `.nv.info` sections: format byte, attribute byte, then a value whose form the first tells.

pub(super) const MAX_THREADS: u8 = 0x05;
pub(super) const REQUIRED_THREADS: u8 = 0x10;
pub(super) const FRAME_SIZE: u8 = 0x11;
pub(super) const REGISTER_COUNT: u8 = 0x2f;
pub(super) const CLUSTER_DIMENSIONS: u8 = 0x3d;
const PARAM: u8 = 0x17;
const PARAM_V2: u8 = 0x45;

/// Where a parameter lies in the constant bank.
///
/// Alignments above 16 hold for the bank's address, not for the offset: the first parameter of sm_90 lies at 528,
/// so a 64-aligned tensor map that follows 28 bytes is at offset 48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Param {
    /// From the first parameter.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// One record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attribute<'data> {
    pub(super) code: u8,
    data: &'data [u8],
}

/// Every record, or the offset at which the section is cut off.
pub(super) fn attributes(section: &[u8]) -> Result<Vec<Attribute<'_>>, usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < section.len() {
        let header = section.get(at..at + 4).ok_or(at)?;
        let length = match header[0] {
            0x04 => usize::from(u16::from_le_bytes([header[2], header[3]])),
            _ => 0,
        };
        let data =
            if length == 0 { &header[2..4] } else { section.get(at + 4..at + 4 + length).ok_or(at)? };
        found.push(Attribute { code: header[1], data });
        at += 4 + length;
    }
    Ok(found)
}

/// A parameter record's ordinal and place.
pub(super) fn param(attribute: &Attribute<'_>) -> Option<(u32, Param)> {
    let word = attribute.word(4)?;
    let (ordinal, offset) = (word & 0xffff, word >> 16);
    let size = match attribute.code {
        PARAM => attribute.word(8)? >> 18,
        PARAM_V2 => attribute.word(8)? & 0xffff,
        _ => return None,
    };
    Some((ordinal, Param { offset, size }))
}

impl Attribute<'_> {
    /// A symbol's index and a number for it.
    pub(super) fn pair(&self) -> Option<(u32, u32)> {
        Some((self.word(0)?, self.word(4)?))
    }

    /// Three numbers.
    pub(super) fn triple(&self) -> Option<[u32; 3]> {
        Some([self.word(0)?, self.word(4)?, self.word(8)?])
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_each_form_are_stepped_over() {
        let section = [
            0x03, 0x19, 0x0c, 0x00, // a half word
            0x04, 0x17, 0x0c, 0x00, 0, 0, 0, 0, 1, 0, 8, 0, 0x00, 0xf0, 0x11,
            0x00, // parameter 1 at 8, four bytes
            0x01, 0x2a, 0x00, 0x00, // no value
        ];
        let found = attributes(&section).expect("whole");
        assert_eq!(found.len(), 3);
        assert_eq!(param(&found[1]), Some((1, Param { offset: 8, size: 4 })));
        assert_eq!(param(&found[0]), None);
    }

    #[test]
    fn cut_off_sections_say_where() {
        assert_eq!(attributes(&[0x04, 0x17, 0x0c, 0x00, 1]).err(), Some(0));
        assert_eq!(attributes(&[0x01, 0x2a, 0, 0, 9]).err(), Some(4));
    }
}
