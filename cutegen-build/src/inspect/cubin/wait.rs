//! What a kernel does before it waits for the kernel before it, which may still run where the launch is programmatic: read
//! off its instructions, along every path from its beginning. A compiler moves loads that it was told are of constant
//! memory (`ld.global.nc`) ahead of `griddepcontrol.wait`; and each warp role has to wait by itself.
//!
//! All that may run counts: both sides of a branch, what a predicate may skip. A wait counts only where no predicate guards
//! it. Control flow that cannot be followed counts as a store. Which tensor a load reads is not looked for.

mod sass;

use std::collections::BTreeSet;
use std::fmt;

use sass::{Effect, Instruction, instructions};

/// Between a call and the constant that is its return address, instructions at most.
const RETURN_ADDRESS: usize = 8;

/// How a kernel treats what a kernel before it may still be writing or reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// On every path it waits before it touches global memory.
    First,
    /// On some path it reads global memory first: right only of what no kernel writes.
    Ahead(Access),
    /// On some path it writes global memory first, or does what cannot be followed.
    Late(Access),
    /// It does not wait.
    Never,
}

/// An instruction that comes before the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// What it is, in words.
    pub what: &'static str,
    /// Its place among the kernel's instructions, in bytes, as `nvdisasm` prints it.
    pub at: usize,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.what, self.at)
    }
}

/// Of the instructions of a kernel, which begins at `entry` in them.
#[must_use]
pub fn wait(text: &[u8], entry: usize) -> Wait {
    let code = instructions(text);
    if !code.iter().any(|instruction| instruction.operation() == sass::WAIT) {
        return Wait::Never;
    }
    let mut walk = Walk::new(&code);
    walk.go(entry);
    while let Some(at) = walk.ahead.pop() {
        walk.step(at);
    }
    match (walk.writes, walk.reads) {
        (Some(first), _) => Wait::Late(first),
        (None, Some(first)) => Wait::Ahead(first),
        (None, None) => Wait::First,
    }
}

/// Through all that some thread may run before it waits.
struct Walk<'a> {
    code: &'a [Instruction],
    /// Where threads meet again, by the number of their barrier.
    meetings: BTreeSet<(u8, usize)>,
    seen: BTreeSet<usize>,
    ahead: Vec<usize>,
    /// Where functions come back to that are called before the wait.
    returns: BTreeSet<usize>,
    comes_back: Returned,
    reads: Option<Access>,
    writes: Option<Access>,
}

/// Whether a function comes back without having waited.
#[derive(PartialEq, Eq)]
enum Returned {
    NotYet,
    Unwaited,
}

impl<'a> Walk<'a> {
    fn new(code: &'a [Instruction]) -> Self {
        Self {
            code,
            meetings: code.iter().filter_map(Instruction::gathers).collect(),
            seen: BTreeSet::new(),
            ahead: Vec::new(),
            returns: BTreeSet::new(),
            comes_back: Returned::NotYet,
            reads: None,
            writes: None,
        }
    }

    fn go(&mut self, at: usize) {
        if self.seen.insert(at) {
            self.ahead.push(at);
        }
    }

    fn step(&mut self, at: usize) {
        let place = at / sass::BYTES;
        let Some(instruction) = self.code.get(place).filter(|instruction| instruction.at == at) else {
            return self.cannot_follow("a jump out of its code", at);
        };
        let next = at + sass::BYTES;
        match instruction.effect() {
            Effect::Waits | Effect::Ends => {}
            Effect::Passes => self.go(next),
            Effect::Reads(what) => {
                first(&mut self.reads, what, at);
                self.go(next);
            }
            Effect::Writes(what) => first(&mut self.writes, what, at),
            Effect::Jumps(Some(to)) => self.go(to),
            Effect::MayJump(Some(to)) => {
                self.go(to);
                self.go(next);
            }
            Effect::Calls(Some(to)) if self.passes_return_address(place, next) => self.call(to, next),
            Effect::Returns => self.come_back(),
            Effect::Converges(barrier) if self.meetings.contains(&(barrier, next)) => self.go(next),
            Effect::Calls(_) => self.cannot_follow("a call that cannot be followed", at),
            Effect::Jumps(None) | Effect::MayJump(None) | Effect::Converges(_) => {
                self.cannot_follow("a branch that cannot be followed", at);
            }
            Effect::Unknown => self.cannot_follow("an instruction that cannot be followed", at),
        }
    }

    fn cannot_follow(&mut self, what: &'static str, at: usize) {
        first(&mut self.writes, what, at);
    }

    /// Whether the function called comes back behind the call.
    fn passes_return_address(&self, place: usize, next: usize) -> bool {
        let before = &self.code[place.saturating_sub(RETURN_ADDRESS)..place];
        before.iter().any(|instruction| instruction.constant() == Some(next))
    }

    fn call(&mut self, to: usize, next: usize) {
        self.go(to);
        self.returns.insert(next);
        if self.comes_back == Returned::Unwaited {
            self.go(next);
        }
    }

    /// To behind every call that is reached, whichever was made.
    fn come_back(&mut self) {
        self.comes_back = Returned::Unwaited;
        for next in self.returns.clone() {
            self.go(next);
        }
    }
}

fn first(kept: &mut Option<Access>, what: &'static str, at: usize) {
    if kept.is_none_or(|earlier| at < earlier.at) {
        *kept = Some(Access { what, at });
    }
}

#[cfg(test)]
#[path = "wait/tests.rs"]
mod tests;
