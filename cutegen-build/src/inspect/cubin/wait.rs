//! What a kernel does before it waits for the kernel before it, which may still run where the launch is programmatic: read
//! off its instructions, for a compiler moves loads that it was told are of constant memory (`ld.global.nc`) ahead of
//! `griddepcontrol.wait`.
//!
//! NVIDIA documents no encodings. These are of sm_90, as `nvdisasm` 13 names what NVRTC 13.0 makes of each PTX instruction:
//! 16 bytes an instruction, the operation in the lowest 9 bits, whatever its operands are.

/// Bytes of an instruction.
const INSTRUCTION: usize = 16;
/// The bits that tell operations apart; those above say where operands come from.
const OPERATION: u16 = 0x1ff;
/// `ACQBULK`, which is `griddepcontrol.wait`.
const WAIT: u16 = 0x02e;
/// What reads or writes global memory, or may: LD LDG ST STG, ATOM ATOMG RED and their kinds, LDGMC, LDGSTS, the bulk and
/// tensor copies and reductions. Prefetches are none of them: they change nothing.
const MEMORY: [u16; 19] = [
    0x180, 0x181, 0x185, 0x186, 0x18a, 0x18b, 0x18e, 0x1a2, 0x1a3, 0x1a5, 0x1a6, 0x1a8, 0x1a9, 0x1ae, 0x1b4,
    0x1b5, 0x1b6, 0x1ba, 0x1bb,
];

/// How a kernel treats what a kernel before it may still be writing or reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It waits before it touches memory.
    First,
    /// It touches memory, then waits.
    Late,
    /// It does not wait.
    Never,
}

/// Of the instructions of a kernel, in the order of their addresses.
#[must_use]
pub fn wait(text: &[u8]) -> Wait {
    let mut operations = text
        .chunks_exact(INSTRUCTION)
        .map(|instruction| u16::from_le_bytes([instruction[0], instruction[1]]) & OPERATION);
    match operations.find(|operation| *operation == WAIT || MEMORY.contains(operation)) {
        Some(WAIT) => Wait::First,
        Some(_) if operations.any(|operation| operation == WAIT) => Wait::Late,
        _ => Wait::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::{Wait, wait};

    /// The lowest 16 bits of instructions that `nvdisasm` names so.
    const LDG: u16 = 0x7981;
    const STG: u16 = 0x7986;
    const UBLKCP: u16 = 0x73ba;
    const ACQBULK: u16 = 0x782e;
    const PREEXIT: u16 = 0x782d;
    const LDC: u16 = 0x7b82;
    const LDS: u16 = 0x7984;

    fn of(operations: &[u16]) -> Wait {
        let instruction = |operation: &u16| operation.to_le_bytes().into_iter().chain([0xff; 14]);
        wait(&operations.iter().flat_map(instruction).collect::<Vec<u8>>())
    }

    #[test]
    fn what_comes_first_counts() {
        assert_eq!(of(&[LDC, PREEXIT, LDS, ACQBULK, LDG, STG]), Wait::First);
        assert_eq!(of(&[LDC, PREEXIT, LDG, ACQBULK, LDG, STG]), Wait::Late);
        assert_eq!(of(&[UBLKCP, ACQBULK]), Wait::Late);
        assert_eq!(of(&[LDG, STG]), Wait::Never);
        assert_eq!(of(&[LDC, ACQBULK]), Wait::First);
        assert_eq!(of(&[]), Wait::Never);
    }
}
