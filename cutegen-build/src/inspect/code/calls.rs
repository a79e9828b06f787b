//! The calls of functions: no circle, and a stack that is deep enough for the longest chain. Works without recursion of its own, since
//! code may be made by hand.

use std::collections::{BTreeMap, BTreeSet};

/// Half of what a runner gives a kernel; libraries have the rest.
const STACK_MAX: u64 = 128 << 10;

/// A return address.
const CALL_BYTES: u64 = 8;

/// What was read of one.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// Where those begin that it calls.
    pub(super) calls: BTreeSet<u32>,
    /// All that it takes of the stack, as if it never gave anything back.
    pub(super) stack: u64,
}

/// What is wrong with functions that all are reached from `entry`.
pub(super) fn problems(entry: u32, functions: &BTreeMap<u32, Function>) -> Option<String> {
    let mut callers: BTreeMap<u32, usize> = BTreeMap::new();
    for callee in functions.values().flat_map(|function| &function.calls) {
        *callers.entry(*callee).or_default() += 1;
    }
    let mut deepest: BTreeMap<u32, u64> = BTreeMap::new();
    let mut ready: Vec<u32> = Vec::from_iter((!callers.contains_key(&entry)).then_some(entry));
    let mut most = 0;
    while let Some(at) = ready.pop() {
        let Some(function) = functions.get(&at) else { continue };
        let depth = deepest.get(&at).copied().unwrap_or(0).saturating_add(function.stack);
        most = most.max(depth);
        for callee in &function.calls {
            let below = deepest.entry(*callee).or_default();
            *below = (*below).max(depth.saturating_add(CALL_BYTES));
            if let Some(left) = callers.get_mut(callee) {
                *left -= 1;
                ready.extend((*left == 0).then_some(*callee));
            }
        }
        callers.remove(&at);
    }
    let waiting: BTreeSet<u32> =
        callers.into_iter().filter(|(_, left)| *left > 0).map(|(at, _)| at).collect();
    if let Some(at) = in_circle(functions, &waiting) {
        return Some(format!(
            "the function at {at:#x} of its code calls itself, or others that do: no recursion"
        ));
    }
    (most > STACK_MAX)
        .then(|| format!("its calls may take {most} bytes of stack one in another: at most {STACK_MAX}"))
}

/// One that calls itself, of those that wait for a caller: each has one among them, so going back ends in a circle.
fn in_circle(functions: &BTreeMap<u32, Function>, waiting: &BTreeSet<u32>) -> Option<u32> {
    let calls = |at: &u32| functions.get(at).into_iter().flat_map(|function| &function.calls);
    let callers: BTreeMap<u32, u32> =
        waiting.iter().flat_map(|at| calls(at).map(|callee| (*callee, *at))).collect();
    let mut at = *waiting.first()?;
    for _ in 0..waiting.len() {
        at = *callers.get(&at)?;
    }
    Some(at)
}
