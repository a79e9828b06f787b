//! What is found for predicates that no usual shape meets.

use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::{Eligibility, dispatch};
use cutegen_spec::spec::KernelSpec;

use super::{MOST, MOST_EACH, Needed, Price, needed};
use crate::evaluate::judge::shapes::{Budget, shapes};

fn spec(axes: &str) -> KernelSpec {
    let text = format!(
        "edition = 1\n[kernels.k]\naxes = {axes}\ninputs = {{ x = \"f32[m, n]\" }}\n\
         outputs = {{ y = \"f32[m, n]\" }}\nmath = \"y[m, n] = x[m, n]\"\nworkloads = [{{ m = 64, n = 64 }}]\n"
    );
    let mut document = spec_file(&text, &Default::default());
    assert_eq!(document.errors, []);
    document.kernels.remove(0)
}

const WIDE: &str = "{ m = \"1..=8192\", n = \"1..=4096\" }";

fn parsed(predicates: &[(&str, &str)]) -> Vec<(Eligibility, Eligibility)> {
    let parse = |text| Eligibility::parse_positional(text).expect("parses");
    predicates.iter().map(|(eligible, preferred)| (parse(eligible), parse(preferred))).collect()
}

/// What is judged anyway, and what is judged for these predicates.
fn of(axes: &str, cap: u64, predicates: &[(&str, &str)]) -> (Vec<Vec<i64>>, Vec<Needed>) {
    let (spec, predicates) = (spec(axes), parsed(predicates));
    let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
    let budget = Budget { cost: &cost, cap, most: 14, tiles: &[128] };
    let known = shapes(&spec, &budget);
    let predicates: Vec<_> = predicates.iter().map(|(eligible, preferred)| (eligible, preferred)).collect();
    let more = needed(&spec, (&budget, cap << 8, &|_| false), (&predicates, &[]), [&known, &[]]);
    (known, more)
}

/// How many of these shapes each variant serves.
fn served(predicates: &[(&str, &str)], shapes: &[Vec<i64>]) -> Vec<usize> {
    let predicates = parsed(predicates);
    let list: Vec<_> = predicates.iter().map(|(eligible, preferred)| (eligible, preferred)).collect();
    let by = |variant| shapes.iter().filter(|axes| dispatch(&list, axes, &[0, 0]) == Some(variant)).count();
    (0..predicates.len()).map(by).collect()
}

/// Without the derived shapes each of these is served nowhere.
#[test]
fn whoever_can_be_dispatched_is() {
    for predicate in [
        "a0 % 777 == 0",
        "(a0 * a1) % 777 == 0 and a1 <= 2",
        "(a0 + 5) % 777 == 0",
        "a0 % 88 == 0 and a0 % 35 == 0",
        "a0 % 88 == 0 and a0 % 35 == 0 and a1 % 26 == 0 and a1 % 33 == 0",
        "a0 >= 5000 and a0 <= 5001",
        "(a0 - a1) >= 3 and (a0 - a1) <= 3",
    ] {
        let predicates = [(predicate, "true"), ("true", "true")];
        let (known, more) = of(WIDE, 1 << 23, &predicates);
        assert_eq!(served(&predicates, &known)[0], 0, "{predicate} needs no shape of its own");
        let axes: Vec<_> = more.iter().map(|needed| needed.axes.clone()).collect();
        assert!(served(&predicates, &axes)[0] > 0, "{predicate}: {more:?}");
        assert!(more.iter().all(|needed| needed.price == Price::Affordable), "{predicate}: {more:?}");
    }
}

#[test]
fn ends_of_preference_and_one_beyond() {
    let predicates =
        [("a1 % 8 == 0", "a0 <= 90"), ("a1 % 8 == 0", "a0 >= 91 and a0 <= 1448"), ("true", "true")];
    let (known, more) = of(WIDE, 1 << 23, &predicates);
    let all: Vec<_> = known.into_iter().chain(more.iter().map(|needed| needed.axes.clone())).collect();
    for (wanted, variant) in [(90, 0), (91, 1), (1448, 1), (1449, 2)] {
        let there: Vec<_> = all.iter().filter(|axes| axes[0] == wanted).cloned().collect();
        assert!(served(&predicates, &there)[variant] > 0, "{wanted}: {there:?}");
    }
    assert!(more.len() <= MOST, "{more:?}");
}

/// With 32 shapes for the whole list the last variants had none.
#[test]
fn eight_variants_are_each_judged_at_the_ends_of_their_ranges() {
    let text = |at: i64| {
        let (low, high, first) = (1 + at * 900, (at + 1) * 900, 100 + at * 37);
        let within = format!("a0 >= {low} and a0 <= {high} and a1 >= {first} and a1 <= {}", first + 700);
        (format!("(a0 + a1) % {} == 0", 101 + at), within)
    };
    let texts: Vec<(String, String)> = (0..8).map(text).collect();
    let predicates: Vec<_> = texts.iter().map(|(e, p)| (e.as_str(), p.as_str())).collect();
    let (known, more) = of(WIDE, 1 << 23, &predicates);
    assert!(more.len() > MOST && more.len() <= MOST_EACH * 8, "{}", more.len());
    let all: Vec<_> = known.into_iter().chain(more.iter().map(|needed| needed.axes.clone())).collect();
    assert!(served(&predicates, &all).iter().all(|count| *count > 0), "{:?}", served(&predicates, &all));
}

/// Among the shapes of all candidates there are only edges of the smallest tiles.
#[test]
fn edges_of_its_own_tiles() {
    let spec = spec(WIDE);
    let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
    let tiles = [8, 16, 24, 32, 48, 64, 96, 128, 192];
    let budget = Budget { cost: &cost, cap: 1 << 20, most: 14, tiles: &tiles };
    let known = shapes(&spec, &budget);
    assert!(known.iter().all(|axes| ![191, 192, 193].contains(&axes[0])), "{known:?}");
    let of = |predicate: &str| {
        let predicates = parsed(&[(predicate, "true"), ("true", "true")]);
        let predicates: Vec<_> =
            predicates.iter().map(|(eligible, preferred)| (eligible, preferred)).collect();
        let own: [&[(usize, i64)]; 2] = [&[(0, 192), (1, 96)], &[]];
        let more = needed(&spec, (&budget, 1 << 20, &|_| false), (&predicates, &own), [&known, &[]]);
        let edges = more.into_iter().filter(|needed| needed.price == Price::Edge);
        edges.map(|needed| needed.axes).collect::<Vec<_>>()
    };
    let alone = [[193, 96], [191, 96], [192, 97], [192, 95]];
    assert_eq!(of("true"), [&[[192, 96], [193, 97], [191, 95]][..], &alone].concat());
    let some = of("a1 % 8 == 0");
    for wanted in [[192, 96], [193, 96], [191, 96], [192, 104], [192, 88]] {
        assert!(some.contains(&wanted.to_vec()), "{wanted:?} in {some:?}");
    }
}

/// An element more than a tile is a tile again where extents are multiples: a step more is its edge.
#[test]
fn edges_are_steps_away() {
    let spec = spec("{ m = \"1..=8192\", n = { range = \"64..=4032\", multiple-of = 16 } }");
    let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
    let budget = Budget { cost: &cost, cap: 1 << 20, most: 14, tiles: &[] };
    let predicates = parsed(&[("true", "true")]);
    let predicates: Vec<_> = predicates.iter().map(|(eligible, preferred)| (eligible, preferred)).collect();
    let own: [&[(usize, i64)]; 1] = [&[(0, 192), (1, 96)]];
    let more = needed(&spec, (&budget, 1 << 20, &|_| false), (&predicates, &own), [&[], &[]]);
    let edges: Vec<_> = more.into_iter().filter(|n| n.price == Price::Edge).map(|n| n.axes).collect();
    assert_eq!(edges, [[192, 96], [193, 112], [191, 80], [193, 96], [191, 96], [192, 112], [192, 80]]);
}

/// Two whole tiles of each axis, and two with a part of a third, which the variant itself serves.
#[test]
fn tiles_are_filled_twice() {
    let of = |axes: &str, predicate: &str, cap: u64, judged: &[Vec<i64>]| {
        let (spec, predicates) = (spec(axes), parsed(&[(predicate, "true"), ("true", "true")]));
        let cost = |s: &[i64]| s.iter().product::<i64>().unsigned_abs();
        let budget = Budget { cost: &cost, cap, most: 14, tiles: &[] };
        let predicates: Vec<_> =
            predicates.iter().map(|(eligible, preferred)| (eligible, preferred)).collect();
        let own: [&[(usize, i64)]; 2] = [&[(0, 192), (1, 96)], &[]];
        let more = needed(&spec, (&budget, cap, &|_| false), (&predicates, &own), [&[], judged]);
        let twice = more.into_iter().filter(|needed| needed.price == Price::Octave);
        twice.map(|needed| needed.axes).collect::<Vec<_>>()
    };
    assert_eq!(of(WIDE, "true", 1 << 20, &[]), [[384, 192], [448, 224]]);
    let judged = [vec![1001, 999], vec![384, 192]];
    assert!(of(WIDE, "true", 1 << 20, &judged).is_empty(), "both are judged anyway");
    assert_eq!(of(WIDE, "a1 % 32 == 0", 1 << 20, &judged), [[448, 224]], "999 columns are not its own");
    let one_by_one = of(WIDE, "true", 44_000, &[]);
    assert_eq!(one_by_one, [[384, 96], [192, 192], [448, 96], [192, 224]], "dear at once");
    let steps = "{ m = \"1..=8192\", n = { range = \"64..=4032\", multiple-of = 64 } }";
    assert_eq!(of(steps, "true", 1 << 20, &[]), [[384, 192], [448, 256]]);
    let constant = "{ m = \"1..=8192\", n = \"64..=64\" }";
    assert_eq!(of(constant, "true", 1 << 20, &[]), [[384, 64], [448, 64]]);
}

#[test]
fn dear_shapes_only_for_who_has_no_other() {
    let predicates = [("a0 >= 8000", "true"), ("true", "true")];
    let (_, more) = of("{ m = \"1..=8192\", n = \"64..=64\" }", 1 << 12, &predicates);
    assert_eq!(more, [Needed { axes: vec![8000, 64], price: Price::Large }]);
    let (_, more) = of("{ m = \"1..=8192\", n = \"64..=64\" }", 1 << 10, &predicates);
    assert_eq!(more, [], "more than anybody can afford");
}

#[test]
fn nothing_where_the_domain_has_nothing_or_all_is_there() {
    let (_, nowhere) =
        of("{ m = \"1..=500\", n = \"64..=96\" }", 1 << 23, &[("a0 % 777 == 0", "true"), ("true", "true")]);
    assert_eq!(nowhere, []);
    let (_, everywhere) = of(WIDE, 1 << 23, &[("true", "true"), ("true", "true")]);
    assert_eq!(everywhere, []);
}
