//! Rings whose blocks share long rows, under racecheck: a search proposes only what the tool comes out clean of.

use cutegen_build::evaluate::judge::sanitize::{Sanitized, Tool};
use cutegen_build::generate;
use cutegen_build::plan::Plan;

use crate::sanitized::sanitizer;
use crate::{Test, fixtures, rows, specs};

pub(crate) const TESTS: &[Test] =
    &[("rings::racecheck_comes_out_clean_of_each", racecheck_comes_out_clean_of_each)];

/// Rows of 2,097,152 columns, shared by all multiprocessors; and those of KernelBench's instance norm.
const LONG: &str = "edition = 1
[kernels.ring_layer_norm]
axes = { m = '1..=24', d = 2097152 }
inputs = { x = 'f32[m, d]', w = 'f32[d]', b = 'f32[d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = layer_norm(d, x[m, d], 1e-5) * w[d] + b[d]'
workloads = [{ m = 24 }]
[kernels.ring_softmax]
axes = { m = '1..=24', d = '1..=2097152' }
inputs = { x = 'f32[m, d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = softmax(d, x[m, d])'
workloads = [{ m = 24, d = 2097152 }]
[kernels.ring_sum]
axes = { m = '1..=24', d = 2097152 }
inputs = { x = 'f32[m, d]' }
outputs = { y = 'f32[m]' }
math = 'y[m] = sum(d, x[m, d])'
workloads = [{ m = 24 }]
[kernels.ring_instance_norm]
axes = { b = '1..=112', c = 64, h = 512, v = 512 }
inputs = { x = 'f32[b, c, h, v]' }
outputs = { y = 'f32[b, c, h, v]' }
math = '''
mu[b, c] = mean((h, v), x[b, c, h, v])
var[b, c] = mean((h, v), (x[b, c, h, v] - mu[b, c]) * (x[b, c, h, v] - mu[b, c]))
y[b, c, h, v] = (x[b, c, h, v] - mu[b, c]) * rsqrt(var[b, c] + 1e-5)
'''
workloads = [{ b = 112 }]
";

/// Plans whose references, naive kernels and rings these tests need.
pub(crate) fn plans() -> Vec<Plan> {
    specs::plans_of(LONG)
}

/// What has a ring, of one plan.
pub(crate) fn rings(plan: &Plan) -> Vec<generate::Candidate> {
    ["rowwise-ring", "rowwise-apart"].iter().flat_map(|prefix| rows::proposed(plan, prefix)).collect()
}

fn racecheck_comes_out_clean_of_each() {
    let Some(sanitizer) = sanitizer() else { return };
    let (mut bad, mut looked) = (Vec::new(), 0);
    for plan in plans() {
        let mut judge = specs::judge_with(&plan, |settings| {
            (settings.cost_cap, settings.shapes_most) = (1 << 32, 8);
        });
        let rings = rings(&plan);
        for (ring, gate) in rings.iter().zip(fixtures::compiled(&rings)) {
            let list = std::slice::from_ref(&gate);
            let seen =
                judge.sanitize(list, &sanitizer, &[Tool::Racecheck]).expect("the machine works").remove(0);
            println!("    {:<20} {:<36} {seen:?}", plan.spec.name.as_str(), ring.name);
            match seen {
                Sanitized::Clean { .. } => looked += 1,
                // vectors for rows that no shape here has
                Sanitized::NotRun { reason } if reason.contains("eligible for none") => {}
                _ => bad.push(format!("{} {}", plan.spec.name, ring.name)),
            }
        }
    }
    assert!(bad.is_empty() && looked >= 8, "{looked} clean, not {bad:?}");
}
