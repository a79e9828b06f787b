//! What a search tries of a space holds what is within 2 % of the best of all points, by recorded timings: of sixteen kernels of
//! `kernel-specs/` and eleven of `tests/bars/`. The cost estimate's constants were chosen with every other of them. Without what lies
//! around the fastest four are behind, and one with a single shape around it. Some timings are from before rows
//! were read again from L1 (of those points nothing is known there), and those of `bars/rms_norm_fp8_131072` from before a ring's
//! weights served statistics: its rings are faster now. The file says which is of when.

use std::collections::BTreeMap;

use cutegen_build::generate::Candidate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::refine;
use cutegen_spec::edition::spec_file;
use cutegen_spec::target::Target;

use crate::library;

pub(crate) const TESTS: &[crate::Test] = &[
    ("choices::what_is_tried_holds_what_is_fast", what_is_tried_holds_what_is_fast),
    ("choices::what_is_tried_of_products_holds_what_is_fast", what_is_tried_of_products_holds_what_is_fast),
];

/// Microseconds by kernel, extents and candidate.
type Timings = BTreeMap<String, BTreeMap<Vec<i64>, BTreeMap<String, f64>>>;

fn recorded() -> Timings {
    let (mut all, mut at) = (Timings::new(), (String::new(), Vec::new()));
    for line in include_str!("choices/sweep_h200.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.trim().split_once(' ').expect("two words");
        if line.starts_with(' ') {
            let there = all.entry(at.0.clone()).or_default().entry(at.1.clone()).or_default();
            there.insert(name.to_owned(), rest.parse().expect("a number"));
        } else {
            at =
                (name.to_owned(), rest.split(',').map(|extent| extent.parse().expect("an extent")).collect());
        }
    }
    all
}

fn what_is_tried_holds_what_is_fast() {
    let (mut recorded, mut behind) = (recorded(), Vec::new());
    let target = Target::parse("sm_90a").expect("a target");
    let of_bars =
        library::below("tests/bars/specs").into_iter().map(|plan| (format!("bars/{}", plan.spec.name), plan));
    let of_library = library::all().into_iter().map(|plan| (plan.spec.name.to_string(), plan));
    for (name, host) in of_library.chain(of_bars) {
        let Some(timings) = recorded.remove(&name) else { continue };
        let plan = Plan::new(&host.spec, &target);
        let space = Templates::new("").space(&plan);
        let workloads: Vec<Vec<i64>> = timings.keys().cloned().collect();
        let speeds = |candidate: &Candidate| -> Vec<Option<f64>> {
            timings.values().map(|there| Some(1.0 / there.get(&candidate.name)?)).collect()
        };
        // lest new names empty this test
        let timed = space.iter().filter(|c| speeds(c).iter().all(Option::is_some)).count();
        assert!(4 * timed >= 3 * space.len(), "{name}: {timed} of {} points are timed", space.len());
        let (share, tried) = refine::shortfall(&plan, &space, &workloads, speeds);
        println!("  {name}: {tried} of {} points come within {:.1} %", space.len(), 100.0 * (share - 1.0));
        if share > 1.02 {
            behind.push(name);
        }
    }
    assert!(recorded.is_empty() && behind.is_empty(), "behind {behind:?}, not there {:?}", recorded.keys());
}

/// What is behind, and by how much: a split over a cluster that overlaps the next launch gains more than hints do elsewhere; and
/// points that were timed last of 320, when the card ran faster. Timed in turn, they are ahead by 1.2 %.
const BEHIND: [(&str, f64); 2] = [("sweep_128_4096_14336", 1.05), ("sweep_2048_6144_4096", 1.08)];

/// The same of products of eight shapes, by a sweep of 320 points each.
fn what_is_tried_of_products_holds_what_is_fast() {
    const SWEPT: &str = include_str!("../../../results/runs/products/measured/sweep.json");
    let swept: serde_json::Value = serde_json::from_str(SWEPT).expect("what was measured");
    let target = Target::parse("sm_90a").expect("a target");
    let mut behind = Vec::new();
    for (name, cell) in swept["cells"].as_object().expect("cells") {
        let extents: Vec<&str> = name.split('_').skip(1).collect();
        let [m, n, k] = extents[..] else { panic!("{name} has no three extents") };
        let text = format!(
            "edition = 1\n[kernels.p]\naxes = {{ m = {m}, n = {n}, k = {k} }}\n\
             inputs = {{ x = 'bf16[m, k]', w = 'bf16[n, k]' }}\noutputs = {{ y = 'bf16[m, n]' }}\n\
             math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\nworkloads = [{{}}]"
        );
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels[0], &target);
        let tried = cell["tried"].as_array().expect("points").iter();
        let timed: BTreeMap<&str, f64> = tried
            .filter_map(|point| Some((point["name"].as_str()?, point["speedups"][0].as_f64()?)))
            .collect();
        let speeds = |candidate: &Candidate| vec![timed.get(candidate.name.as_str()).copied()];
        let mut space = Templates::new("").space(&plan);
        space.retain(|candidate| timed.contains_key(candidate.name.as_str()));
        assert!(space.len() >= 300, "{name}: {} points are timed", space.len());
        let workload = extents.iter().map(|extent| extent.parse().expect("an extent")).collect();
        let (share, tried) = refine::shortfall(&plan, &space, &[workload], speeds);
        println!("  {name}: {tried} of {} points come within {:.1} %", space.len(), 100.0 * (share - 1.0));
        let most = BEHIND.iter().find(|(of, _)| of == name).map_or(1.02, |(_, most)| *most);
        if share > most {
            behind.push(name);
        }
    }
    assert!(behind.is_empty(), "behind {behind:?}");
}
