//! What the code of a host object may do, read instruction by instruction from the entry on: jumps and calls have their targets
//! in them, go to its own code or to listed functions, and never round in a circle of calls; how deep its stack may become is
//! known. What no walk reaches is never run, as long as a return goes back to where the call was.

mod calls;
mod permitted;
mod stack;

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use super::object::Image;
use calls::Function;

/// Then no more are looked for.
const PROBLEMS_MAX: usize = 8;

/// How often an instruction may be read, on average: once for each function that it belongs to, and compilers share few.
const READS_MAX: usize = 64;

/// Each thing that the code does and must not, a sentence each.
pub(super) fn problems(image: &Image) -> Vec<String> {
    let mut walk = Walk::of(image);
    let mut functions: BTreeMap<u32, Function> = BTreeMap::new();
    let mut open = vec![image.entry];
    while let Some(start) = open.pop() {
        if functions.contains_key(&start) || walk.is_over() {
            continue;
        }
        let function = walk.function(start);
        open.extend(&function.calls);
        functions.insert(start, function);
    }
    if walk.problems.is_empty() {
        walk.problems.extend(calls::problems(image.entry, &functions));
    }
    walk.problems.into_iter().collect()
}

/// What a byte of code was read as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Unread,
    Begins,
    Inside,
}

struct Walk<'a> {
    image: &'a Image,
    decoder: Decoder<'a>,
    bytes: Vec<Byte>,
    reads_left: usize,
    problems: BTreeSet<String>,
}

/// Where an instruction goes.
#[derive(Default)]
struct Ways {
    /// On, in the same function.
    on: Vec<u32>,
    /// Into another function, and back.
    call: Option<u32>,
}

impl<'a> Walk<'a> {
    fn of(image: &'a Image) -> Walk<'a> {
        let length = image.code.len();
        Walk {
            image,
            decoder: Decoder::with_ip(64, &image.code, 0, DecoderOptions::NONE),
            bytes: vec![Byte::Unread; length],
            reads_left: length.saturating_mul(READS_MAX),
            problems: BTreeSet::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.problems.len() >= PROBLEMS_MAX
    }

    /// Everything that is reached from `start` without a call.
    fn function(&mut self, start: u32) -> Function {
        let mut function = Function::default();
        let (mut open, mut seen) = (vec![start], BTreeSet::new());
        while let Some(at) = open.pop() {
            if self.is_over() || !seen.insert(at) {
                continue;
            }
            match self.step(at, &mut function) {
                Ok(on) => open.extend(on),
                Err(problem) => {
                    self.problems.insert(format!("its code {problem} at {at:#x}"));
                }
            }
        }
        function
    }

    fn step(&mut self, at: u32, function: &mut Function) -> Result<Vec<u32>, String> {
        let instruction = self.read(at)?;
        permitted::check(&instruction)?;
        self.linked(at, &instruction)?;
        function.stack += stack::taken(&instruction)?;
        let ways = self.ways(at, &instruction)?;
        function.calls.extend(ways.call);
        Ok(ways.on)
    }

    fn read(&mut self, at: u32) -> Result<Instruction, String> {
        self.reads_left = self.reads_left.checked_sub(1).ok_or("shares too much between functions")?;
        let place = at as usize;
        if place >= self.bytes.len() || self.decoder.set_position(place).is_err() {
            return Err("runs past its end".to_owned());
        }
        self.decoder.set_ip(u64::from(at));
        let instruction = self.decoder.decode();
        if instruction.is_invalid() {
            return Err("has bytes that are no instruction".to_owned());
        }
        let whole = &mut self.bytes[place..place + instruction.len()];
        let agrees = |(index, byte): (usize, &Byte)| {
            let expected = if index == 0 { Byte::Begins } else { Byte::Inside };
            *byte == Byte::Unread || *byte == expected
        };
        if !whole.iter().enumerate().all(agrees) {
            return Err("jumps into an instruction".to_owned());
        }
        whole.fill(Byte::Inside);
        whole[0] = Byte::Begins;
        Ok(instruction)
    }

    /// A linker fills in distances to functions where they are called, and to constants where they are addressed.
    fn linked(&self, at: u32, instruction: &Instruction) -> Result<(), String> {
        let branches = is_near_branch(instruction);
        let addresses = instruction.is_ip_rel_memory_operand();
        let offsets = self.decoder.get_constant_offsets(instruction);
        let place = match (branches, addresses) {
            (true, _) => Some(at + offsets.immediate_offset() as u32),
            (_, true) => Some(at + offsets.displacement_offset() as u32),
            _ => None,
        };
        let end = at + instruction.len() as u32;
        for (fix, target) in self.image.fixes.range(at.saturating_sub(3)..end) {
            if Some(*fix) != place || fix + 4 > end || target.function().is_some() != branches {
                return Err(format!("has an address in `{}` that compilers don't write", name(instruction)));
            }
        }
        Ok(())
    }

    fn ways(&self, at: u32, instruction: &Instruction) -> Result<Ways, String> {
        let next = at + instruction.len() as u32;
        let goes = |on: &[u32]| Ok(Ways { on: on.to_vec(), call: None });
        match instruction.flow_control() {
            FlowControl::Next => goes(&[next]),
            FlowControl::Return | FlowControl::Exception => goes(&[]),
            FlowControl::IndirectBranch | FlowControl::IndirectCall => {
                let what = name(instruction);
                Err(format!("has a `{what}` through a register or memory, which may lead anywhere,"))
            }
            flow if is_near_branch(instruction) => {
                let own = self.own_target(at, instruction)?;
                match flow {
                    FlowControl::Call => Ok(Ways { on: vec![next], call: own }),
                    FlowControl::ConditionalBranch => {
                        goes(&own.into_iter().chain([next]).collect::<Vec<_>>())
                    }
                    FlowControl::UnconditionalBranch => goes(own.as_slice()),
                    _ => Err(format!("has a `{}`", name(instruction))),
                }
            }
            _ => Err(format!("has a `{}`", name(instruction))),
        }
    }

    /// Where it goes inside of the code; none where a linker fills in a function's place.
    fn own_target(&self, at: u32, instruction: &Instruction) -> Result<Option<u32>, String> {
        let place = at + self.decoder.get_constant_offsets(instruction).immediate_offset() as u32;
        if self.image.fixes.contains_key(&place) {
            return Ok(None);
        }
        let target = u32::try_from(instruction.near_branch_target()).ok();
        let inside = target.filter(|target| (*target as usize) < self.image.code.len());
        inside.map(Some).ok_or_else(|| "jumps out of itself".to_owned())
    }
}

fn is_near_branch(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

/// As assemblers write it.
fn name(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

#[cfg(test)]
mod tests;
