//! From what a compiler or a judge says to the facts of a verdict: lines of the source before flattening, names where a fault
//! has positions, and where in its tile a wrong element lies.

use std::collections::BTreeMap;

use cutegen_spec::contract::Contract;
use cutegen_spec::int_expr::IntExpr;

use crate::compile::CompileFailure;
use crate::evaluate::judge::sanitize::Tool;
use crate::evaluate::{self, Checks, Fault, Place, Spread};
use crate::generate::answers::borrowed::Borrowed;
use crate::generate::proposal::Proposal;
use crate::kit::Origin;
use crate::plan::Plan;
use crate::run_log::{Diagnostic, Facts, Mismatch, Number, Outcome, TileCoordinate};
use crate::search::compiled::Refusal;

/// The most characters of one message; a template's instantiations can fill pages.
const MESSAGE_MAX: usize = 600;
/// The most diagnostics that are kept.
const DIAGNOSTICS_MAX: usize = 24;
/// The largest period of wrong elements that is told.
const PERIOD_MAX: u64 = 64;

/// Why a candidate has no bytes. `symbols` has what was derived for the entries of the proposal.
pub(super) fn refused(refusal: &Refusal, proposal: &Proposal, symbols: &Contract) -> Facts {
    let mut facts = match refusal {
        Refusal::Contract(reason) => Facts { reason: Some(reason.clone()), ..Facts::default() },
        Refusal::Compile(failure) => Facts {
            reason: Some(failure.summary().to_owned()),
            diagnostics: diagnostics(failure, proposal),
            ..Facts::default()
        },
        Refusal::Borrowed(borrowed) => Facts {
            reason: Some(Borrowed::REASON.to_owned()),
            diagnostics: vec![placed(u32::try_from(borrowed.line).ok(), borrowed.to_string(), proposal)],
            ..Facts::default()
        },
    };
    let named = |text: &mut String| {
        for (symbol, entry) in symbols.steps.iter().zip(&proposal.contract.steps) {
            *text = text.replace(&symbol.entry, &entry.entry);
        }
    };
    facts.reason.iter_mut().for_each(named);
    facts.diagnostics.iter_mut().for_each(|said| named(&mut said.message));
    facts
}

fn diagnostics(failure: &CompileFailure, proposal: &Proposal) -> Vec<Diagnostic> {
    let said = failure.said().into_iter().take(DIAGNOSTICS_MAX);
    said.map(|(line, message)| placed(line, message, proposal)).collect()
}

/// By the line of the source before flattening; a header of the kit is named.
fn placed(line: Option<u32>, message: String, proposal: &Proposal) -> Diagnostic {
    let message: String = message.chars().take(MESSAGE_MAX).collect();
    match line.map(|line| proposal.origin(line)) {
        Some(Origin::Body { line }) => Diagnostic { line: Some(line), message },
        Some(other) => Diagnostic { line: None, message: format!("{other}: {message}") },
        None => Diagnostic { line: None, message },
    }
}

/// What the whole gate says of a candidate that it found wrong: a sanitizer's finding stands apart.
pub(super) fn in_full(said: &str) -> Facts {
    let found = |tool: &Tool| said.strip_prefix(tool.name()).is_some_and(|rest| rest.starts_with(": "));
    if !Tool::ALL.iter().any(found) {
        return Facts { reason: Some(said.to_owned()), ..Facts::default() };
    }
    let sanitizer = said.lines().map(str::to_owned).collect();
    Facts { reason: Some("compute-sanitizer found something".to_owned()), sanitizer, ..Facts::default() }
}

/// What a judge says of a candidate, in a word and in facts.
pub(super) fn judged(plan: &Plan, outcome: &evaluate::Outcome, tiles: &[(usize, i64)]) -> (Outcome, Facts) {
    let reason = Some(outcome.to_string());
    let facts = Facts { reason, ..Facts::default() };
    match outcome {
        evaluate::Outcome::Passed { .. } => (Outcome::Right, Facts::default()),
        evaluate::Outcome::Incorrect(fault) => {
            (Outcome::Wrong, Facts { mismatch: Some(mismatch(plan, fault, tiles)), ..facts })
        }
        evaluate::Outcome::CompileFailed(_) | evaluate::Outcome::Blocked(_) => (Outcome::Refused, facts),
        evaluate::Outcome::Crashed(_) | evaluate::Outcome::TimedOut(_) => (Outcome::Crashed, facts),
    }
}

/// The first wrong element.
fn mismatch(plan: &Plan, fault: &Fault, tiles: &[(usize, i64)]) -> Mismatch {
    let place = fault.place();
    let (found, expected, bound) = match fault {
        Fault::Value { found, expected, bound, .. } => (Some(*found), Some(*expected), finite(*bound)),
        Fault::NonFinite { found, expected, .. } => (Some(*found), Some(*expected), None),
        Fault::NotRepeatable { first, found, .. } => (Some(*found), Some(*first), None),
        Fault::Rms { .. }
        | Fault::Unwritten { .. }
        | Fault::Touched { .. }
        | Fault::OutOfBounds { .. }
        | Fault::InputWritten { .. }
        | Fault::StateKept { .. }
        | Fault::Pages { .. }
        | Fault::RegisterChanged { .. }
        | Fault::NotZero { .. }
        | Fault::TimedOtherwise { .. }
        | Fault::TooFast { .. } => (None, None, None),
    };
    let check = Checks::default().named().find(|(check, _)| *check == fault.check());
    Mismatch {
        tensor: place.tensor.clone(),
        index: place.index.clone(),
        axes: extents(plan, &place.axes),
        inputs: place.distribution.to_string(),
        ratio: found.zip(expected).map(|(found, expected)| found / expected).and_then(finite),
        found: found.map(Number),
        expected: expected.map(Number),
        bound,
        tile: coordinates(plan, place, tiles),
        check: check.map_or("", |(_, name)| name).to_owned(),
        region: region(plan, fault),
    }
}

/// What else is wrong: how many elements of the tensor, up to which, and whether all between them are.
fn region(plan: &Plan, fault: &Fault) -> Option<String> {
    let (Fault::Value { place, spread, .. } | Fault::NonFinite { place, spread, .. }) = fault else {
        return None;
    };
    let (first, Spread { elements, last }) = (&place.index, spread);
    let tensor = plan.spec.tensors.iter().find(|tensor| tensor.name == place.tensor);
    let all = tensor.and_then(|tensor| tensor.elements(&place.axes)).and_then(|all| u64::try_from(all).ok());
    let count = *elements;
    if count < 2 || first == last {
        return Some("this element alone".to_owned());
    }
    if all == Some(count) {
        return Some(format!("all {count} elements are wrong"));
    }
    let of = all.map_or_else(String::new, |all| format!(" of {all}"));
    Some(match block(first, last).map(|block| (block / count, block % count)) {
        Some((1, 0)) => format!("{count}{of} elements are wrong, every one from {first:?} to {last:?}"),
        Some((share @ 2..=PERIOD_MAX, 0)) => {
            format!("{count}{of} elements are wrong, as many as one in {share} from {first:?} to {last:?}")
        }
        _ => format!("{count}{of} elements are wrong, the last of them {last:?}"),
    })
}

/// Elements of the block between two corners; none where a dimension runs backwards, as from one row's end into the next.
fn block(first: &[i64], last: &[i64]) -> Option<u64> {
    let sides =
        first.iter().zip(last).map(|(from, to)| u64::try_from(to - from + 1).ok().filter(|side| *side > 0));
    sides.product()
}

/// JSON has no other numbers, and a ratio of others says nothing.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// Extents by the name of their axis.
pub(super) fn extents(plan: &Plan, axes: &[i64]) -> BTreeMap<String, i64> {
    plan.spec.axes.iter().zip(axes).map(|(axis, extent)| (axis.name.to_string(), *extent)).collect()
}

/// Where in its tiles an element lies: of dimensions that are one axis with a tile.
fn coordinates(plan: &Plan, place: &Place, tiles: &[(usize, i64)]) -> Vec<TileCoordinate> {
    let tensor = plan.spec.tensors.iter().find(|tensor| tensor.name.as_str() == place.tensor);
    let dims = tensor.map_or(&[][..], |tensor| tensor.dims.as_slice());
    let tiled = dims.iter().zip(&place.index).flat_map(|(dim, index)| {
        let IntExpr::Axis(axis) = dim else { return Vec::new() };
        let own = tiles.iter().filter(|(tiled, extent)| tiled == axis && *extent > 0);
        own.map(|(_, extent)| TileCoordinate {
            axis: plan.spec.axes[*axis].name.to_string(),
            extent: *extent,
            tile: index / extent,
            within: index % extent,
        })
        .collect()
    });
    tiled.collect()
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::{in_full, judged};
    use crate::evaluate::{self, Distribution, Fault, Place, Spread};
    use crate::plan::Plan;
    use crate::run_log::{Number, Outcome, TileCoordinate};

    fn plan() -> Plan {
        let text = "edition = 1\n[kernels.k]\naxes = { m = '1..=64', n = '1..=512' }\ninputs = { x = 'f32[m, n]' }\n\
                    outputs = { y = 'f32[m, n]' }\nmath = 'y[m, n] = x[m, n]'\ntargets = ['host']\n";
        Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    fn wrong(found: f64) -> evaluate::Outcome {
        let place = Place {
            axes: vec![7, 300],
            distribution: Distribution::Cancelling,
            tensor: "y".to_owned(),
            index: vec![2, 133],
        };
        let spread = Spread { elements: 3, last: vec![2, 135] };
        evaluate::Outcome::Incorrect(Fault::Value { place, found, expected: -2.0, bound: 1e-7, spread })
    }

    #[test]
    fn a_wrong_element_has_its_place_in_the_tile_and_its_ratio() {
        let (outcome, facts) = judged(&plan(), &wrong(-4.0), &[(1, 64), (0, 4)]);
        let told = facts.mismatch.expect("a mismatch");
        let at =
            |axis: &str, extent, tile, within| TileCoordinate { axis: axis.to_owned(), extent, tile, within };
        assert_eq!((outcome, told.ratio, told.check.as_str()), (Outcome::Wrong, Some(2.0), "values"));
        assert_eq!(told.tile, [at("m", 4, 0, 2), at("n", 64, 2, 5)]);
        assert_eq!(
            told.region.as_deref(),
            Some("3 of 2100 elements are wrong, every one from [2, 133] to [2, 135]")
        );
        assert_eq!((told.axes["m"], told.axes["n"], told.inputs.as_str()), (7, 300, "cancelling"));
    }

    #[test]
    fn wrong_elements_have_a_pattern() {
        let region = |elements, [row, column]: [i64; 2]| {
            let evaluate::Outcome::Incorrect(Fault::Value { mut place, found, expected, bound, .. }) =
                wrong(-4.0)
            else {
                panic!("a value")
            };
            (place.axes, place.index) = (vec![8, 256], vec![0, 128]);
            let spread = Spread { elements, last: vec![row, column] };
            let fault = Fault::Value { place, found, expected, bound, spread };
            judged(&plan(), &evaluate::Outcome::Incorrect(fault), &[]).1.mismatch.and_then(|told| told.region)
        };
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(region(1, [0, 128]), told("this element alone"));
        let tail = "1024 of 2048 elements are wrong, every one from [0, 128] to [7, 255]";
        assert_eq!(region(1024, [7, 255]), told(tail));
        let fourths = "256 of 2048 elements are wrong, as many as one in 4 from [0, 128] to [7, 255]";
        assert_eq!(region(256, [7, 255]), told(fourths));
        assert_eq!(region(2048, [7, 255]), told("all 2048 elements are wrong"));
        let none = "100 of 2048 elements are wrong, the last of them";
        assert_eq!(region(100, [7, 255]), told(&format!("{none} [7, 255]")));
        assert_eq!(region(100, [7, 3]), told(&format!("{none} [7, 3]")), "from one row's end into the next");
    }

    #[test]
    fn what_a_sanitizer_found_stands_apart() {
        let said = "racecheck: hazard: write of 4 bytes at 0x10 in shared memory\nby thread (3, 0, 0)";
        let facts = in_full(said);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            (facts.sanitizer, facts.reason.as_deref()),
            (
                lines.iter().map(|line| (*line).to_owned()).collect(),
                Some("compute-sanitizer found something")
            )
        );
        let other = in_full("racecheck says nothing of it");
        assert_eq!(
            (other.sanitizer.len(), other.reason.as_deref()),
            (0, Some("racecheck says nothing of it"))
        );
    }

    #[test]
    fn values_are_told_in_short() {
        let (_, facts) = judged(&plan(), &wrong(5_131.638_671_875), &[]);
        let reason = facts.reason.expect("a reason");
        assert!(reason.ends_with("found 5131.639, expected -2 +- 1.00e-7"), "{reason}");
    }

    #[test]
    fn special_values_are_kept_and_have_no_ratio() {
        let (_, facts) = judged(&plan(), &wrong(f64::INFINITY), &[]);
        let told = facts.mismatch.clone().expect("a mismatch");
        assert_eq!((told.found, told.expected), (Some(Number(f64::INFINITY)), Some(Number(-2.0))));
        assert_eq!(told.ratio, None);
        assert!(facts.reason.is_some_and(|reason| reason.contains("inf")));
    }
}
