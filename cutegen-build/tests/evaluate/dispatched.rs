//! Lists of variants: each is judged where it is the one dispatched, as often as a finalist is, and passes for nothing
//! that another did.

use cutegen_build::evaluate::{Candidate, Check, Checks, Correctness, Fault, Outcome};
use cutegen_spec::eligibility::Eligibility;

use crate::Test;
use crate::bench::Bench;
use crate::bodies::HONEST_SILU;
use crate::kernels::SILU_MUL;

pub(crate) const TESTS: &[Test] = &[
    ("dispatched::a_narrow_claim_is_judged", narrow),
    ("dispatched::who_serves_nothing_is_blocked", nowhere),
    ("dispatched::an_end_of_a_preference_is_judged", ends),
    ("dispatched::edges_of_its_own_tiles_are_judged", tiles),
    ("dispatched::a_fallback_may_be_idle", fallback),
    ("dispatched::each_member_has_its_own_coverage", coverage),
    ("dispatched::each_member_repeats", repeats),
    ("dispatched::what_a_smaller_card_dispatches_is_judged", smaller),
    ("dispatched::edges_that_only_a_smaller_card_meets_are_judged", smaller_edges),
    ("dispatched::a_variant_that_only_smaller_cards_dispatch_is_not_idle", smaller_only),
];

const ZEROS: &str = "for (int64_t i = 0; i < SIZE; ++i) Y[i] = 0;";

fn parse(text: &str) -> Eligibility {
    Eligibility::parse_positional(text).expect("parses")
}

fn claiming(bench: &Bench, body: &str, [eligible, preferred]: [&str; 2]) -> Candidate {
    Candidate { eligibility: parse(eligible), prefer: parse(preferred), ..bench.candidate(body) }
}

fn judged(bench: &Bench, list: &[Candidate]) -> Outcome {
    bench.judge(Checks::default()).full(list).expect("the machine works")
}

fn passed(outcome: Outcome) -> Correctness {
    let Outcome::Passed { correctness, .. } = outcome else { panic!("{outcome}") };
    correctness
}

/// No shape that is judged anyway has it dispatched.
fn narrow() {
    let bench = Bench::new(&SILU_MUL);
    let honest = bench.candidate(HONEST_SILU);
    for claim in ["a0 % 777 == 0", "a0 % 88 == 0 and a0 % 35 == 0", "(a0 * a1) % 997 == 0 and a1 <= 3"] {
        let zeros = claiming(&bench, ZEROS, [claim, "true"]);
        match judged(&bench, &[zeros, honest.clone()]) {
            Outcome::Incorrect(fault) => assert_eq!(fault.check(), Check::Values, "{claim}: {fault}"),
            outcome => panic!("{claim}: {outcome}"),
        }
        let right = claiming(&bench, HONEST_SILU, [claim, "true"]);
        let passed = passed(judged(&bench, &[right, honest.clone()]));
        assert!(!passed.variants[0].shapes.is_empty(), "{claim}");
    }
}

/// Nor does the domain: nothing is known of it, and whoever stands behind it does not answer for it.
fn nowhere() {
    let bench = Bench::new(&SILU_MUL);
    let (honest, claim) = (bench.candidate(HONEST_SILU), ["a0 % 7777 == 0", "true"]);
    let zeros = claiming(&bench, ZEROS, claim);
    let said = |list: &[Candidate]| match judged(&bench, list) {
        Outcome::Blocked(reason) => reason,
        outcome => panic!("{outcome}"),
    };
    assert_eq!(said(&[zeros.clone(), honest]), "variant 1 of 2 is dispatched at none of the test shapes");
    assert_eq!(said(&[zeros]), "is eligible for none of the test shapes");
}

/// It is preferred up to 90 rows, and wrong at the last of them.
fn ends() {
    let bench = Bench::new(&SILU_MUL);
    let body = format!("if (VAL(int64_t, 3) == 90) {{ {ZEROS} return; }} {HONEST_SILU}");
    let (wrong, honest) = (claiming(&bench, &body, ["true", "a0 <= 90"]), bench.candidate(HONEST_SILU));
    match judged(&bench, &[wrong, honest]) {
        Outcome::Incorrect(Fault::Value { place, .. }) => assert_eq!(place.axes[0], 90),
        outcome => panic!("{outcome}"),
    }
}

/// Wrong an element beyond its second tile. The shapes of all candidates pass it.
fn tiles() {
    let bench = Bench::new(&SILU_MUL);
    let body = format!("if (VAL(int64_t, 4) == 193) {{ {ZEROS} return; }} {HONEST_SILU}");
    let honest = bench.candidate(HONEST_SILU);
    let wrong = Candidate { tiles: vec![(0, 6), (1, 192)], ..bench.candidate(&body) };
    match judged(&bench, &[wrong.clone(), honest.clone()]) {
        Outcome::Incorrect(Fault::Value { place, .. }) => assert_eq!(place.axes, [7, 193]),
        outcome => panic!("{outcome}"),
    }
    passed(judged(&bench, &[Candidate { tiles: Vec::new(), ..wrong }, honest]));
}

/// As the naive kernel is behind one that is eligible everywhere. One that is not last may not be idle.
fn fallback() {
    let bench = Bench::new(&SILU_MUL);
    let honest = bench.candidate(HONEST_SILU);
    let passed = passed(judged(&bench, &[honest.clone(), honest.clone()]));
    assert!(passed.variants[1].shapes.is_empty() && passed.variants[1].repeats == 0, "{passed:?}");
    let outcome = judged(&bench, &[honest.clone(), honest.clone(), honest]);
    assert!(matches!(&outcome, Outcome::Blocked(reason) if reason.contains("variant 2 of 3")), "{outcome}");
}

fn coverage() {
    let bench = Bench::new(&SILU_MUL);
    let few = claiming(&bench, HONEST_SILU, ["true", "a0 <= 16"]);
    let passed = passed(judged(&bench, &[few, bench.candidate(HONEST_SILU)]));
    let [few, other] = passed.variants.as_slice() else { panic!("{passed:?}") };
    assert!(few.shapes.len() >= 3 && few.shapes.iter().all(|axes| axes[0] <= 16), "{few:?}");
    assert!(other.shapes.len() >= 3 && other.shapes.iter().all(|axes| axes[0] > 16), "{other:?}");
    assert_eq!((few.elements + other.elements, few.repeats, other.repeats), (passed.elements, 20, 20));
    assert_eq!(few.shapes.len() + other.shapes.len(), passed.shapes.len());
    let own = passed.of_variant(0);
    assert_eq!((&own.shapes, own.elements, own.repeats), (&few.shapes, few.elements, 20));
}

/// Wrong after 300 launches, at shapes that are not the first of the list.
fn repeats() {
    let bench = Bench::new(&SILU_MUL);
    let body = format!("static int count; {HONEST_SILU} if (++count > 300) Y[0] = 0;");
    let (late, honest) = (claiming(&bench, &body, ["a0 <= 16", "true"]), bench.candidate(HONEST_SILU));
    let mut judge = bench.judge_with(|settings| settings.repeats = (20, 1000));
    let outcome = judge.full(&[late, honest.clone()]).expect("the machine works");
    match &outcome {
        Outcome::Incorrect(fault) => assert_eq!(fault.check(), Check::Repeats, "{outcome}"),
        _ => panic!("{outcome}"),
    }
    let right = claiming(&bench, HONEST_SILU, ["a0 <= 16", "true"]);
    let passed = passed(judge.full(&[right, honest]).expect("the machine works"));
    let repeats: Vec<u32> = passed.variants.iter().map(|variant| variant.repeats).collect();
    assert_eq!(repeats, [1000, 1000]);
}

/// What a block has on the smaller card, and on this one.
const ROOMS: [u32; 2] = [99 << 10, 163 << 10];

fn judged_on(bench: &Bench, smaller: &[u32], list: &[Candidate]) -> Outcome {
    let mut judge = bench.judge_with(|settings| settings.smaller = smaller.to_vec());
    judge.full(list).expect("the machine works")
}

fn needing(bytes: u32, candidate: Candidate) -> Candidate {
    Candidate { shared_memory: Some(bytes), ..candidate }
}

/// The second is wrong exactly where the first is preferred, which a smaller card passes over. Of a list that is judged here
/// alone no case would find it.
fn smaller() {
    let bench = Bench::new(&SILU_MUL);
    let first = needing(ROOMS[1], claiming(&bench, HONEST_SILU, ["true", "a0 <= 16"]));
    let body = format!("if (VAL(int64_t, 3) <= 16) {{ {ZEROS} return; }} {HONEST_SILU}");
    let (wrong, right) = (needing(ROOMS[0], bench.candidate(&body)), bench.candidate(HONEST_SILU));
    let list = [first.clone(), wrong];
    match judged_on(&bench, &ROOMS[..1], &list) {
        Outcome::Incorrect(fault) => assert_eq!(fault.check(), Check::Values, "{fault}"),
        outcome => panic!("{outcome}"),
    }
    passed(judged_on(&bench, &[], &list));
    passed(judged_on(&bench, &ROOMS[1..], &list));
    let alone = passed(judged_on(&bench, &[], &[first.clone(), right.clone()]));
    let both = passed(judged_on(&bench, &ROOMS[..1], &[first, right]));
    assert_eq!(both.variants[0], alone.variants[0], "the first is judged as before");
    let has = |axes: &Vec<i64>| both.variants[1].shapes.contains(axes);
    assert!(alone.shapes.iter().all(has) && alone.variants[1].shapes.len() < alone.shapes.len());
}

/// Wrong an element beyond its second tile, where only a smaller card dispatches it.
fn smaller_edges() {
    let bench = Bench::new(&SILU_MUL);
    let first = needing(ROOMS[1], claiming(&bench, HONEST_SILU, ["true", "a0 <= 64"]));
    let body =
        format!("if (VAL(int64_t, 3) <= 64 && VAL(int64_t, 4) == 193) {{ {ZEROS} return; }} {HONEST_SILU}");
    let second = Candidate { tiles: vec![(0, 6), (1, 192)], ..bench.candidate(&body) };
    let list = [first, second];
    match judged_on(&bench, &ROOMS[..1], &list) {
        Outcome::Incorrect(Fault::Value { place, .. }) => assert_eq!(place.axes[1], 193),
        outcome => panic!("{outcome}"),
    }
    passed(judged_on(&bench, &[], &list));
}

/// Between one that a large card takes everywhere and the last.
fn smaller_only() {
    let bench = Bench::new(&SILU_MUL);
    let honest = || bench.candidate(HONEST_SILU);
    let list = [needing(ROOMS[1], honest()), needing(ROOMS[0], honest()), honest()];
    let passed = passed(judged_on(&bench, &ROOMS[..1], &list));
    assert!(!passed.variants[1].shapes.is_empty() && passed.variants[2].shapes.is_empty());
    let outcome = judged_on(&bench, &[], &list);
    assert!(matches!(&outcome, Outcome::Blocked(reason) if reason.contains("variant 2 of 3")), "{outcome}");
}
