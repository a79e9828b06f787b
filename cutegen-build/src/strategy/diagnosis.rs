//! [`of`]: what was seen of a kernel as one of six classes. It reads outcome, roofline, times, registers and local memory. No
//! profiler has a say: any machine that judges can say it.

use crate::experience::{Hint, Role, Trigger, retrieved};
use crate::plan::roofline::{self, Bound};
use crate::plan::{Plan, cost};
use crate::run_log::{Facts, Log, Outcome, Speed};

/// The share of the roofline from which on its bound is the kernel's.
const NEAR: f64 = 0.5;
/// Below so many microseconds a launch on a GPU is mostly start and end.
const SHORT: f64 = 8.0;
/// So many registers a thread leave few warps to switch to.
const REGISTERS: u32 = 128;
/// What a thread of a CPU moves at least that memory bounds.
const HOST_TB_PER_S: f64 = 0.008;
/// What a thread of a CPU computes at least that its instructions bound.
const HOST_TOPS_PER_S: f64 = 0.02;
/// Operations that take this share of the time for bytes are not free.
const OPERATIONS: f64 = 0.3;

/// What was seen of a kernel; nothing where no judge has seen it.
#[must_use]
pub fn of(plan: &Plan, outcome: Outcome, facts: &Facts) -> Option<Trigger> {
    match outcome {
        Outcome::Compiled => None,
        Outcome::Refused => Some(Trigger::Compile),
        Outcome::Crashed => Some(Trigger::Runtime),
        Outcome::Wrong | Outcome::WrongInFull if !facts.sanitizer.is_empty() => Some(Trigger::Runtime),
        Outcome::Wrong | Outcome::WrongInFull => Some(Trigger::Mismatch),
        Outcome::Right | Outcome::TooSlow | Outcome::Accepted => right(plan, facts),
    }
}

/// The hints of a run for what was seen of a kernel; those of one role, or of all.
pub(super) fn hints(
    plan: &Plan,
    log: &Log,
    (outcome, facts): (Outcome, &Facts),
    role: Option<Role>,
) -> Vec<Hint> {
    let found = of(plan, outcome, facts).map(|seen| retrieved(log.hints(), seen, role));
    found.into_iter().flatten().cloned().collect()
}

/// What takes the time of a right kernel at its worst workload; nothing where it was not timed.
fn right(plan: &Plan, facts: &Facts) -> Option<Trigger> {
    let worst = facts.speed.iter().min_by(|a, b| {
        let share = |speed: &Speed| speed.roofline.unwrap_or(1.0);
        share(a).total_cmp(&share(b))
    })?;
    if plan.target.is_host() {
        return Some(on_host(worst));
    }
    let kernels = &facts.kernels;
    if kernels.iter().any(|kernel| kernel.local_bytes.is_some_and(|bytes| bytes > 0)) {
        return Some(Trigger::Instruction);
    }
    let (bound, operations) = roof(plan, worst);
    let by_roof = match bound {
        Bound::Memory if operations < OPERATIONS => Trigger::Memory,
        Bound::Memory | Bound::Compute => Trigger::Instruction,
    };
    let is_alone = kernels.iter().any(|kernel| {
        kernel.blocks_per_sm.is_some_and(|blocks| blocks <= 1)
            || kernel.registers.is_some_and(|registers| registers >= REGISTERS)
    });
    let is_near = worst.roofline.is_some_and(|share| share >= NEAR);
    Some(if is_near && bound == Bound::Memory {
        Trigger::Memory
    } else if !is_near && (is_alone || worst.micros < SHORT) {
        Trigger::Latency
    } else {
        by_roof
    })
}

/// What bounds the roofline at a workload, and the time of its operations as a share of that of its bytes.
fn roof(plan: &Plan, speed: &Speed) -> (Bound, f64) {
    let Ok(axes) = plan.spec.bind(&speed.workload) else { return (Bound::Memory, 0.0) };
    let work = cost::cost(&plan.spec, &plan.schedule, &axes);
    let Some((roof, device)) = roofline::roof(plan, &work) else { return (Bound::Memory, 0.0) };
    let bytes = work.bytes / device.bytes_per_s(work.read());
    (roof.bound, work.flops / device.flops_per_s(roofline::unit(plan)) / bytes)
}

/// A CPU has no roofline here: a thread that neither moves nor computes much waits.
fn on_host(speed: &Speed) -> Trigger {
    if speed.tb_per_s.is_some_and(|rate| rate >= HOST_TB_PER_S) {
        Trigger::Memory
    } else if speed.tops_per_s.is_some_and(|rate| rate >= HOST_TOPS_PER_S) {
        Trigger::Instruction
    } else {
        Trigger::Latency
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::experience::Trigger::{self, Compile, Instruction, Latency, Memory, Mismatch, Runtime};
    use crate::plan::Plan;
    use crate::run_log::{Facts, Outcome, Resources, Speed};
    use cutegen_spec::edition::spec_file;

    fn plan(target: &str, k: u32) -> Plan {
        let text = format!(
            "edition = 1\n[kernels.one]\ntargets = ['{target}']\naxes = {{ m = '1..=8192', n = {k}, k = {k} }}\n\
             inputs = {{ x = 'f32[m, k]', w = 'f32[n, k]' }}\noutputs = {{ y = 'f32[m, n]' }}\nworkloads = [{{ m = 8192 }}]\n\
             math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\n"
        );
        Plan::all(&spec_file(&text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    /// Of a kernel with this share, time, registers, local memory and blocks.
    fn facts(share: f64, micros: f64, [registers, local, blocks]: [u32; 3]) -> Facts {
        let speed = Speed {
            workload: [("m".to_owned(), 8192)].into(),
            micros,
            over_naive: None,
            over: [].into(),
            roofline: Some(share),
            tb_per_s: Some(0.01),
            tops_per_s: Some(0.02),
        };
        let kernel = Resources {
            entry: "@ENTRY@".to_owned(),
            registers: Some(registers),
            local_bytes: Some(local),
            shared_bytes: 0,
            blocks_per_sm: Some(blocks),
        };
        Facts { speed: vec![speed], kernels: vec![kernel], ..Facts::default() }
    }

    #[test]
    fn what_fails_is_of_the_class_of_its_failure() {
        let (plan, none) = (plan("sm_90a", 8), Facts::default());
        let raced = Facts { sanitizer: vec!["race on shared memory".to_owned()], ..Facts::default() };
        for (outcome, facts, seen) in [
            (Outcome::Compiled, &none, None),
            (Outcome::Refused, &none, Some(Compile)),
            (Outcome::Crashed, &none, Some(Runtime)),
            (Outcome::Wrong, &none, Some(Mismatch)),
            (Outcome::WrongInFull, &none, Some(Mismatch)),
            (Outcome::Wrong, &raced, Some(Runtime)),
            (Outcome::Right, &none, None),
        ] {
            assert_eq!(of(&plan, outcome, facts), seen, "{outcome:?}");
        }
    }

    #[test]
    fn what_is_right_is_bound_by_what_takes_its_time() {
        // with k = 8 bytes bound the roofline by far, with 2048 operations do
        for (k, facts, seen) in [
            (8, facts(0.8, 50.0, [32, 0, 8]), Memory),
            (8, facts(0.3, 50.0, [32, 0, 8]), Memory),
            (8, facts(0.3, 50.0, [32, 0, 1]), Latency),
            (8, facts(0.3, 50.0, [168, 0, 3]), Latency),
            (8, facts(0.3, 5.0, [32, 0, 8]), Latency),
            (8, facts(0.8, 5.0, [32, 0, 8]), Memory),
            (8, facts(0.8, 50.0, [32, 40, 8]), Instruction),
            (2048, facts(0.7, 900.0, [200, 0, 1]), Instruction),
            (2048, facts(0.2, 900.0, [200, 0, 1]), Latency),
            (2048, facts(0.2, 900.0, [64, 0, 4]), Instruction),
        ] {
            assert_eq!(of(&plan("sm_90a", k), Outcome::Right, &facts), Some(seen), "{k} {facts:?}");
        }
    }

    #[test]
    fn a_cpu_moves_computes_or_waits() {
        let of_rate = |bytes: Option<f64>, operations: Option<f64>| -> Option<Trigger> {
            let mut facts = facts(0.5, 50.0, [0, 0, 0]);
            (facts.speed[0].tb_per_s, facts.speed[0].tops_per_s) = (bytes, operations);
            facts.speed[0].roofline = None;
            of(&plan("host", 8), Outcome::Right, &facts)
        };
        assert_eq!(of_rate(Some(0.009), Some(0.001)), Some(Memory));
        assert_eq!(of_rate(Some(0.001), Some(0.03)), Some(Instruction));
        assert_eq!(of_rate(Some(0.001), Some(0.001)), Some(Latency));
        assert_eq!(of_rate(None, None), Some(Latency));
    }
}
