//! How an instruction moves the stack pointer. Compilers move it by constants, and back to where they have been.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::name;

/// The largest frame that the compilers' flags allow.
pub(super) const FRAME_MAX: u64 = 64 << 10;

/// Below this the red zone is addressed, and what has been popped.
const PROBED_MIN: u64 = 4096;

/// By how many bytes it lets the stack grow.
pub(super) fn taken(instruction: &Instruction) -> Result<u64, String> {
    let taken = if moves(instruction) { moved(instruction)? } else { probed(instruction) };
    if taken > FRAME_MAX {
        return Err(format!("takes {taken} bytes of stack, at most {FRAME_MAX} in a frame,"));
    }
    Ok(taken)
}

pub(super) fn is_written(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, CondWrite | ReadCondWrite | ReadWrite | Write)
}

fn moves(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let mut used = factory.info(instruction).used_registers().iter();
    used.any(|used| used.register().full_register() == Register::RSP && is_written(used.access()))
}

fn moved(instruction: &Instruction) -> Result<u64, String> {
    let constant = immediate(instruction);
    match (instruction.mnemonic(), constant) {
        (Mnemonic::Push | Mnemonic::Call, _) => Ok(8),
        (Mnemonic::Pop | Mnemonic::Ret | Mnemonic::Leave, _) if !pops_into_itself(instruction) => Ok(0),
        (Mnemonic::Sub, Some(bytes)) => Ok(down(bytes)),
        (Mnemonic::Add, Some(bytes)) => Ok(down(bytes.saturating_neg())),
        // to a multiple: up to one less than it
        (Mnemonic::And, Some(mask)) if mask < 0 => Ok(mask.unsigned_abs() - 1),
        (Mnemonic::Lea, _) if instruction.memory_index() == Register::None => Ok(below(instruction)),
        (Mnemonic::Mov, _) if instruction.op1_kind() == OpKind::Register => Ok(0),
        _ => Err(format!("moves its stack by what it computes (`{}`)", name(instruction))),
    }
}

fn pops_into_itself(instruction: &Instruction) -> bool {
    instruction.op_count() > 0 && instruction.op0_register().full_register() == Register::RSP
}

fn immediate(instruction: &Instruction) -> Option<i64> {
    let last = instruction.op_count().checked_sub(1)?;
    instruction.try_immediate(last).ok().map(|bits| bits as i64)
}

fn down(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

/// How far below the stack pointer a `lea` points.
fn below(instruction: &Instruction) -> u64 {
    let from_stack = instruction.memory_base() == Register::RSP;
    if from_stack { down((instruction.memory_displacement64() as i64).saturating_neg()) } else { 0 }
}

/// The end of a large frame, to which a loop of `-fstack-clash-protection` goes page by page.
fn probed(instruction: &Instruction) -> u64 {
    let is_address = instruction.mnemonic() == Mnemonic::Lea && instruction.memory_index() == Register::None;
    Some(below(instruction)).filter(|bytes| is_address && *bytes >= PROBED_MIN).unwrap_or(0)
}
