//! The rowwise templates on the device: every candidate of a few kernels at short, odd and long rows and odd leading
//! extents, one table. `rows::every_candidate_is_right` judges, `rows::shared_rings_repeat` launches what waits for other blocks again and again, `rows::speeds`
//! times at the sizes of issue 5's bars.

use cutegen_build::evaluate::Outcome;
use cutegen_build::generate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;

use crate::{Test, fixtures, specs};

pub(crate) const TESTS: &[Test] = &[
    ("rows::every_candidate_is_right", every_candidate_is_right),
    ("rows::shared_rings_repeat", shared_rings_repeat),
    ("rows::speeds", speeds),
];

/// Rows of 1, 7, 37, 131, 1000, 4095, 4096, 4097, 32768 and 131072 elements, as workloads: these are always judged.
macro_rules! ranged {
    ($name:literal, $rest:literal) => {
        concat!(
            "[kernels.", $name, "]\naxes = { m = '1..=64', d = '1..=131072' }\n", $rest,
            "workloads = [{ m = 3, d = 1 }, { m = 5, d = 7 }, { m = 37, d = 37 }, { m = 7, d = 131 }, { m = 3, d = 1000 }, \
             { m = 5, d = 4095 }, { m = 7, d = 4096 }, { m = 3, d = 4097 }, { m = 3, d = 32768 }, { m = 2, d = 131072 }]\n"
        )
    };
}

const RANGED: &str = concat!(
    "edition = 1\n",
    ranged!(
        "rows_softmax",
        "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'\n"
    ),
    ranged!(
        "rows_layer_norm",
        "inputs = { x = 'bf16[m, d]', w = 'bf16[d]', b = 'bf16[d]' }\noutputs = { y = 'bf16[m, d]' }\n\
         scalars = { eps = 'f32' }\nmath = 'y[m, d] = layer_norm(d, x[m, d], eps) * w[d] + b[d]'\n"
    ),
    ranged!(
        "rows_norm_fp8",
        "inputs = { x = 'bf16[m, d]', r = 'bf16[m, d]' }\noutputs = { s = 'bf16[m, d]', q = 'f8e4m3[m, d]', scale = 'f32[m]' }\n\
         scalars = { eps = 'f32' }\nmath = '''\na[m, d] = cast(bf16, x[m, d] + r[m, d])\ns[m, d] = a[m, d]\n\
         n[m, d] = rms_norm(d, a[m, d], eps)\nt[m] = max(max(d, abs(n[m, d])) / 448, 1e-12)\nq[m, d] = n[m, d] / t[m]\n\
         scale[m] = t[m]\n'''\n"
    ),
    ranged!(
        "rows_across",
        "inputs = { x = 'f32[d, m]' }\noutputs = { y = 'f32[d, m]' }\nmath = 'y[d, m] = softmax(d, x[d, m])'\n"
    ),
    ranged!(
        "rows_across_last",
        "inputs = { x = 'bf16[d, m]' }\noutputs = { y = 'f32[m]', i = 'i32[m]' }\nmath = '''\ny[m] = sum(d, x[d, m])\n\
         i[m] = argmax(d, x[d, m])\n'''\n"
    ),
    ranged!(
        "rows_folded",
        "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[]' }\nmath = '''\ntop[m] = max(d, x[m, d])\n\
         y[] = mean(m, top[m] + log(sum(d, exp(x[m, d] - top[m]))))\n'''\n"
    ),
    ranged!(
        "rows_argmax",
        "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'i32[m]' }\nmath = 'y[m] = argmax(d, x[m, d])'\n"
    ),
);

/// Issue 5's sizes; the last is KernelBench's layer norm, a row to all multiprocessors.
const TIMED: &str = "edition = 1
[kernels.timed_softmax]
axes = { m = '1..=65536', d = '1024..=131072' }
inputs = { x = 'bf16[m, d]' }
outputs = { y = 'bf16[m, d]' }
math = 'y[m, d] = softmax(d, x[m, d])'
workloads = [{ m = 16, d = 4096 }, { m = 16384, d = 4096 }, { m = 16384, d = 8192 }, { m = 4096, d = 32768 }, { m = 4096, d = 131072 }]
[kernels.timed_layer_norm]
axes = { m = '1..=64', d = '65536..=4194304' }
inputs = { x = 'f32[m, d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = layer_norm(d, x[m, d], 1e-5)'
workloads = [{ m = 16, d = 4194304 }]
";

/// Rows that all multiprocessors share, in slices of whole chunks and not.
const SHARED: &str = "edition = 1
[kernels.shared_layer_norm]
axes = { m = '1..=16', d = 4194304 }
inputs = { x = 'f32[m, d]', w = 'f32[d]', b = 'f32[d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = layer_norm(d, x[m, d], 1e-5) * w[d] + b[d]'
workloads = [{ m = 16 }]
";

fn ranged() -> Vec<Plan> {
    specs::read(RANGED).iter().map(specs::plan).collect()
}

fn shared() -> Vec<Plan> {
    specs::read(SHARED).iter().map(specs::plan).collect()
}

fn timed() -> Vec<Plan> {
    specs::read(TIMED).iter().map(specs::plan).collect()
}

/// Plans whose references and naive kernels these tests need.
pub(crate) fn plans() -> Vec<Plan> {
    [ranged(), shared(), timed()].concat()
}

/// What the templates propose for a plan under names that begin so.
pub(crate) fn proposed(plan: &Plan, prefix: &str) -> Vec<generate::Candidate> {
    let mut found = Templates::new("pinned").space(plan);
    found.retain(|candidate| candidate.name.starts_with(prefix));
    found
}

/// All that are row-wise.
fn rowwise(plan: &Plan) -> Vec<generate::Candidate> {
    let found = proposed(plan, "rowwise-");
    assert!(found.len() >= 10, "{}: {} candidates", plan.spec.name, found.len());
    found
}

fn every_candidate_is_right() {
    let (mut failed, mut judged) = (Vec::new(), 0);
    for plan in ranged() {
        let mut judge = specs::judge_with(&plan, |settings| {
            (settings.cost_cap, settings.shapes_most, settings.repeats) = (1 << 32, 14, (4, 4));
            settings.screening = (14, usize::MAX);
        });
        let candidates = rowwise(&plan);
        for (candidate, gate) in candidates.iter().zip(fixtures::compiled(&candidates)) {
            let outcome = judge.screen(&gate).expect("the machine works");
            let said = match &outcome {
                Outcome::Passed { correctness, .. } => {
                    format!(
                        "right, {} shapes, {:.3} of a bound",
                        correctness.shapes.len(),
                        correctness.worst_share
                    )
                }
                _ => outcome.to_string(),
            };
            println!("    {:<16} {:<36} {said}", plan.spec.name.as_str(), candidate.name);
            match outcome {
                Outcome::Passed { .. } => judged += 1,
                // vectors for rows that are shorter than any of those here with whole vectors
                Outcome::Blocked(reason) if reason.contains("eligible for none") => {}
                _ => failed.push(candidate.name.clone()),
            }
        }
    }
    assert!(failed.is_empty() && judged >= 40, "{judged} judged, failed {failed:?}");
}

/// Blocks that meet through global memory leave the same bits 200 times, at 16 rows in a launch, and again when they are
/// timed side by side.
fn shared_rings_repeat() {
    let (mut failed, mut judged) = (Vec::new(), 0);
    for plan in shared() {
        let mut judge = specs::judge_with(&plan, |settings| {
            (settings.cost_cap, settings.shapes_most, settings.repeats) = (1 << 40, 2, (200, 200));
        });
        let mut rings = rowwise(&plan);
        rings.retain(|candidate| candidate.contract.steps.iter().any(|step| step.co_resident));
        let gates = fixtures::compiled(&rings);
        for (ring, gate) in rings.iter().zip(&gates) {
            let outcome = judge.full(std::slice::from_ref(gate)).expect("the machine works");
            println!("    {:<36} {outcome}", ring.name);
            judged += 1;
            if !matches!(outcome, Outcome::Passed { .. }) {
                failed.push(ring.name.clone());
            }
        }
        let axes = plan.spec.bind(&plan.spec.workloads[0].axes).expect("inside the domain");
        let timed = judge.batch(&gates[0], &gates, &axes, usize::MAX).expect("the machine works");
        for (ring, timed) in rings.iter().zip(timed) {
            match timed {
                Ok(timed) => println!("    {:<36} {:.1} us", ring.name, timed.candidate_us),
                Err(outcome) => {
                    println!("    {:<36} timed: {outcome}", ring.name);
                    failed.push(format!("{} when it is timed", ring.name));
                }
            }
        }
    }
    assert!(failed.is_empty() && judged >= 4, "{judged} judged, failed {failed:?}");
}

/// Against the first eligible candidate; bytes are each element read and written once.
fn speeds() {
    for plan in timed() {
        let mut judge =
            specs::judge_with(&plan, |settings| (settings.cost_cap, settings.shapes_most) = (1, 1));
        let bytes = 2 * plan.spec.tensors[0].dtype.bytes() as i64;
        for workload in &plan.spec.workloads {
            let axes = plan.spec.bind(&workload.axes).expect("inside the domain");
            let tensors = vec![0; plan.spec.tensors.len()];
            let eligible: Vec<_> =
                rowwise(&plan).into_iter().filter(|c| c.eligibility.holds(&axes, &tensors)).collect();
            let gates = fixtures::compiled(&eligible);
            for (candidate, gate) in eligible.iter().zip(&gates) {
                let timed = judge.compare(gate, &gates[0], &axes).expect("the machine works");
                let said = match timed {
                    Ok(timed) => {
                        let rate = (bytes * axes.iter().product::<i64>()) as f64 / timed.candidate_us / 1e6;
                        format!("{:9.1} us {rate:6.2} TB/s", timed.candidate_us)
                    }
                    Err(outcome) => outcome.to_string(),
                };
                println!("    {axes:?} {:<36} {said}", candidate.name);
            }
        }
    }
}
