//! Further right values of a device's results: the records that its kernels append to a part of their workspace.

use std::fmt;

/// Records that the part has room for.
pub const OTHERS_MAX: usize = 1 << 20;

/// Bytes of a record: position of a tensor, element of its memory, both `i64`, and a value in f64.
pub(super) const RECORD_BYTES: usize = 24;

/// One more right value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Other {
    /// The tensor, by position.
    pub tensor: usize,
    /// Which element of its memory.
    pub element: usize,
    /// What is as right as the first value.
    pub value: f64,
}

/// More values were right than [`OTHERS_MAX`]: the part lacks some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// How many there are.
    pub found: u64,
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} indices may be right beside the best, more than {OTHERS_MAX}", self.found)
    }
}

impl std::error::Error for Overflow {}

/// The records of a part, in order of tensors, elements and values. The part's first word counts them, and they start
/// a record's length behind it; a judge may read that word first and no more than it says.
pub fn others(part: &[u8]) -> Result<Vec<Other>, Overflow> {
    let found = part.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let held = part.len().saturating_sub(RECORD_BYTES) / RECORD_BYTES;
    let records = usize::try_from(found).ok().filter(|count| *count <= held).ok_or(Overflow { found })?;
    let mut all: Vec<Other> = part.chunks_exact(RECORD_BYTES).skip(1).take(records).map(record).collect();
    all.sort_by(|a, b| (a.tensor, a.element).cmp(&(b.tensor, b.element)).then(a.value.total_cmp(&b.value)));
    Ok(all)
}

fn record(bytes: &[u8]) -> Other {
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    Other { tensor: word(0) as usize, element: word(8) as usize, value: f64::from_bits(word(16)) }
}

#[cfg(test)]
mod tests {
    use super::{Other, Overflow, RECORD_BYTES, others};

    fn part(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn records_come_back_in_order() {
        let bytes = part(&[2, 9, 9, 1, 7, 5.0_f64.to_bits(), 1, 3, 4.0_f64.to_bits(), 8, 8, 8]);
        let other = |element, value| Other { tensor: 1, element, value };
        assert_eq!(others(&bytes), Ok(vec![other(3, 4.0), other(7, 5.0)]));
    }

    #[test]
    fn what_found_no_place_is_an_overflow() {
        let mut bytes = vec![0; 3 * RECORD_BYTES];
        bytes[0] = 3;
        assert_eq!(others(&bytes), Err(Overflow { found: 3 }));
    }
}
