//! Which instructions a kernel may have: arithmetic up to AVX-512, as compilers write it, and what does no harm. An allow-list
//! of extensions, so that what is unknown is refused: system calls, random numbers and transactions are in none of them.

use iced_x86::{Code, CpuidFeature, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register};

use super::name;
use super::stack::is_written;

/// Extensions that the levels x86-64 to x86-64-v4 have, and hints, caches and clocks.
const EXTENSIONS: [CpuidFeature; 39] = [
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::X64,
    CpuidFeature::CX8,
    CpuidFeature::CMPXCHG16B,
    CpuidFeature::CMOV,
    CpuidFeature::FPU,
    CpuidFeature::FPU287,
    CpuidFeature::FPU387,
    CpuidFeature::MMX,
    CpuidFeature::SSE,
    CpuidFeature::SSE2,
    CpuidFeature::SSE3,
    CpuidFeature::SSSE3,
    CpuidFeature::SSE4_1,
    CpuidFeature::SSE4_2,
    CpuidFeature::POPCNT,
    CpuidFeature::AVX,
    CpuidFeature::AVX2,
    CpuidFeature::BMI1,
    CpuidFeature::BMI2,
    CpuidFeature::F16C,
    CpuidFeature::FMA,
    CpuidFeature::LZCNT,
    CpuidFeature::MOVBE,
    CpuidFeature::AVX512F,
    CpuidFeature::AVX512BW,
    CpuidFeature::AVX512CD,
    CpuidFeature::AVX512DQ,
    CpuidFeature::AVX512VL,
    CpuidFeature::MULTIBYTENOP,
    CpuidFeature::PAUSE,
    CpuidFeature::PREFETCHW,
    CpuidFeature::CLFSH,
    CpuidFeature::TSC,
    CpuidFeature::CET_IBT,
];

/// Whether a kernel may have it, wherever it leads.
pub(super) fn check(instruction: &Instruction) -> Result<(), String> {
    let known = instruction.cpuid_features().iter().all(|feature| EXTENSIONS.contains(feature));
    let has = || Err(format!("has a `{}`", name(instruction)));
    if !known || instruction.is_privileged() || enters_the_system(instruction) {
        return has();
    }
    if [Register::FS, Register::GS].contains(&instruction.segment_prefix()) {
        return Err("reads what belongs to a thread".to_owned());
    }
    let mut factory = InstructionInfoFactory::new();
    let segments = factory.info(instruction).used_registers().iter();
    if segments.into_iter().any(|used| used.register().is_segment_register() && is_written(used.access())) {
        return has();
    }
    Ok(())
}

/// Interrupts and far returns. What traps because the kernel gives up, `ud2`, is a compiler's.
fn enters_the_system(instruction: &Instruction) -> bool {
    match instruction.flow_control() {
        FlowControl::Interrupt | FlowControl::XbeginXabortXend => true,
        FlowControl::Return => instruction.code() != Code::Retnq,
        FlowControl::Exception => instruction.mnemonic() != Mnemonic::Ud2,
        _ => false,
    }
}
