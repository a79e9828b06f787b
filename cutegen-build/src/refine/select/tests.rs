//! What is tried of a space.

use std::collections::BTreeSet;

use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::target::Target;

use super::{STREAMS, UNESTIMATED, around, differs_by_a_hint, evenly, select};
use crate::generate::Candidate;
use crate::generate::template::Templates;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::refine::Trial;

const SOFTMAX: &str = "edition = 1\n[kernels.softmax]\naxes = { m = '1..=65536', d = 4096 }\n\
    inputs = { x = 'bf16[m, d]' }\noutputs = { y = 'bf16[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'\n\
    workloads = [{ m = 16 }, { m = 16384 }]\n";

fn space() -> (Plan, Vec<Candidate>) {
    space_of(SOFTMAX)
}

fn space_of(specs: &str) -> (Plan, Vec<Candidate>) {
    let kernels = spec_file(specs, &Default::default()).into_kernels().expect("right specs");
    let plan = Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"));
    let space = Templates::new("").space(&plan);
    (plan, space)
}

#[test]
fn a_few_are_selected_and_every_kind_is_among_them() {
    let (plan, space) = space();
    let selected = select(&plan, &space);
    assert!(
        space.len() > 20 && selected.len() == STREAMS.by_forecast + STREAMS.outsiders,
        "{} of {}",
        selected.len(),
        space.len()
    );
    let names: BTreeSet<&str> = selected.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), selected.len());
    let kinds: BTreeSet<&str> =
        selected.iter().filter_map(|c| Some(c.cost_features.as_ref()?.kind())).collect();
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[test]
fn what_has_no_cost_estimate_is_tried_beside_what_has_one() {
    let (plan, mut space) = space();
    let bare = |at: usize| Candidate { name: format!("m-{at:08x}"), cost_features: None, ..space[0].clone() };
    let bare: Vec<Candidate> = (0..UNESTIMATED + 3).map(bare).collect();
    let names: Vec<String> = bare.iter().take(UNESTIMATED).map(|c| c.name.clone()).collect();
    space.extend(bare);
    let selected = select(&plan, &space);
    let of_theirs: Vec<&str> =
        selected.iter().filter(|c| c.cost_features.is_none()).map(|c| c.name.as_str()).collect();
    assert_eq!(of_theirs, names, "in the order in which they were proposed");
    assert_eq!(
        selected.len(),
        STREAMS.by_forecast + STREAMS.outsiders + UNESTIMATED,
        "none takes the place of another"
    );
}

#[test]
fn one_for_any_extents_and_addresses_is_tried() {
    let odd = SOFTMAX.replace("d = 4096", "d = '1..=8192'").replace("m = 16 ", "m = 16, d = 4096 ");
    for text in [SOFTMAX.to_owned(), odd.replace("m = 16384 ", "m = 16384, d = 4096 ")] {
        let (plan, space) = space_of(&text);
        let selected = select(&plan, &space);
        let anywhere = selected.iter().filter(|c| c.eligibility == Eligibility::default()).count();
        assert!(
            anywhere > 0 && selected.len() == STREAMS.by_forecast + STREAMS.outsiders,
            "{anywhere} of {}",
            space.len()
        );
    }
}

#[test]
fn rows_too_long_for_a_block_are_tried_by_way_of_l2() {
    let (plan, space) = space_of(&SOFTMAX.replace("d = 4096", "d = 131_072"));
    let selected = select(&plan, &space);
    let kinds: BTreeSet<&str> =
        selected.iter().filter_map(|c| Some(c.cost_features.as_ref()?.kind())).collect();
    for kind in ["ring of a block, again from L2", "global memory, again from L2"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn what_differs_in_one_hint_lies_around() {
    let (plan, space) = space();
    let named = |name: &str| space.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}"));
    let best = named("rowwise-reg-x8t256u2q1c1-osd");
    for (other, expected) in [("od", true), ("sd", true), ("os", true), ("d", false), ("s", false)] {
        let other = named(&format!("rowwise-reg-x8t256u2q1c1-{other}"));
        assert_eq!(differs_by_a_hint(best, other), expected, "{}", other.name);
    }
    assert!(!differs_by_a_hint(best, named("rowwise-reg-x8t512u1q1c1-os")), "another shape");
    let history = [trial(best, 4.0), trial(named("rowwise-reg-x8t256u2q1c1-os"), 3.0)];
    let found = around(&plan, &space, &history);
    let near = found.iter().filter(|c| differs_by_a_hint(best, c)).count();
    assert_eq!(near, 2, "`os` was tried: {:?}", found.iter().map(|c| &c.name).collect::<Vec<_>>());
    assert!(found.iter().any(|c| c.shape().0 != best.shape().0), "and other shapes");
}

/// One that passed, with this speed-up at both workloads.
fn trial(candidate: &Candidate, speedup: f64) -> Trial {
    let outcome = Outcome::Passed { correctness: Default::default(), performance: None };
    let mut trial = Trial::new(candidate.clone(), outcome, 2);
    (trial.speedups, trial.again) = (vec![Some(speedup); 2], true);
    trial
}

#[test]
fn what_has_no_forecast_is_all_tried() {
    let (plan, mut space) = space();
    space.iter_mut().for_each(|candidate| candidate.cost_features = None);
    assert_eq!(select(&plan, &space).len(), space.len());
}

#[test]
fn parts_are_even() {
    let picked = |all: &[i32], count| evenly(all, count).copied().collect::<Vec<_>>();
    assert_eq!(picked(&[0, 1, 2, 3, 4, 5, 6, 7], 2), [2, 6]);
    assert_eq!(picked(&[0, 1], 4), [0, 1]);
    assert!(picked(&[], 4).is_empty());
}

/// Few rows have candidates without tensor cores among what is tried; all others are tried as without them.
#[test]
fn scalar_cores_have_turns_at_few_rows_alone() {
    let product = |workloads: &str| {
        space_of(&format!(
            "edition = 1\n[kernels.p]\naxes = {{ m = '1..=8192', n = 4096, k = 4096 }}\n\
             inputs = {{ x = 'bf16[m, k]', w = {{ type = 'bf16[n, k]', constant = true }} }}\n\
             outputs = {{ y = 'bf16[m, n]' }}\nmath = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\nworkloads = [{workloads}]\n"
        ))
    };
    let is_vector = |c: &Candidate| c.origin.contains("product_vector");
    let (plan, space) = product("{ m = 1 }, { m = 8 }");
    let selected = select(&plan, &space);
    let found: Vec<&Candidate> = selected.iter().filter(|c| is_vector(c)).collect();
    assert!(found.len() >= 4 && found.len() + 4 <= selected.len(), "{} of {}", found.len(), selected.len());
    let (plan, space) = product("{ m = 16 }, { m = 512 }, { m = 8192 }");
    let without: Vec<Candidate> = space.iter().filter(|c| !is_vector(c)).cloned().collect();
    assert!(without.len() < space.len());
    let names = |space: &[Candidate]| select(&plan, space).into_iter().map(|c| c.name).collect::<Vec<_>>();
    assert_eq!(names(&space), names(&without));
}

/// A cluster of two asks L2 for less, which counts where each row of a box is two lines. Of 3672 x 2072 x 2888 an H200 does
/// 128 x 160 in 115 us, of 2944 terms in 60.
#[test]
fn clusters_are_tried_where_rows_straddle_lines() {
    let of = |k: i64| {
        let (plan, space) = space_of(&format!(
            "edition = 1\n[kernels.p]\naxes = {{ m = 3672, n = 2072, k = {k} }}\n\
             inputs = {{ x = 'bf16[m, k]', w = 'bf16[n, k]' }}\noutputs = {{ y = 'bf16[m, n]' }}\n\
             math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'\n"
        ));
        let chosen = select(&plan, &space).into_iter().map(|c| c.name);
        chosen.filter(|name| name.contains("p128x160")).collect::<Vec<_>>()
    };
    assert_eq!(of(2944), ["product-p128x160s6w2"]);
    assert_eq!(of(2888), ["product-p128x160s6w2-m"]);
}
