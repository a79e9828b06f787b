//! Buckets: where another candidate is clearly faster than the best of all at some workloads, several share a run-time
//! axis, each preferred in a range of it; behind them stands one that is eligible anywhere. Pure.

use std::collections::BTreeMap;

use cutegen_spec::axis::Extent;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;

use super::{Trial, geomean, ranked};

/// Kernels of an answer at most, apart from one that is eligible anywhere and the naive one.
const MOST: usize = 3;
/// The same of products: each range of rows has its own. With one that is eligible anywhere they are as many as the gate judges
/// in a minute.
const MOST_OF_PRODUCTS: usize = 7;

/// A candidate of an answer, and where it is preferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The candidate's name.
    pub name: String,
    /// Where it goes before those behind it.
    pub prefer: Eligibility,
}

/// Workloads next to each other along an axis.
#[derive(Clone, Debug)]
struct Run<'a> {
    /// The largest extent that belongs to it; none of the last.
    upper: Option<i64>,
    there: Vec<usize>,
    fastest: &'a Trial,
}

impl Run<'_> {
    /// How fast it is at each of its workloads.
    fn speeds(&self) -> Vec<(usize, f64)> {
        self.there.iter().map(|workload| (*workload, self.fastest.at(*workload).unwrap_or(0.0))).collect()
    }
}

/// The candidates that answer together, in the order in which they are dispatched: the best of all is last, and it alone
/// where no axis parts the workloads to a gain, but for one that stands [`anywhere`]. Where others claim what it does
/// and are faster in every range, the last of those has its place. None where nothing was timed everywhere.
///
/// Another candidate in a range of its own has to be `worth` times as fast there.
///
/// An axis that declares buckets is parted at their bounds, another in the geometric middle of two workloads.
#[must_use]
pub fn variant_set(spec: &KernelSpec, workloads: &[Vec<i64>], history: &[Trial], worth: f64) -> Vec<Member> {
    let Some(best) = ranked(history).first().copied() else { return Vec::new() };
    // of axes that part them alike the first, which is no function of another, is taken
    let splits = (0..spec.axes.len()).rev().map(|axis| split(axis, spec, workloads, (history, best, worth)));
    let gain = |members: &Vec<Member>| speedup(workloads, history, members);
    let mut members = splits.max_by(|a, b| gain(a).total_cmp(&gain(b))).unwrap_or_default();
    let is_whole = members.last().is_some_and(|last| last.prefer == Eligibility::default());
    if !is_whole {
        members.push(Member { name: best.candidate.name.clone(), prefer: Eligibility::default() });
    }
    members.extend(anywhere(history, &members));
    members
}

/// What runs where none of these members is eligible, at other extents or addresses: the fastest that always is, unless
/// the naive kernel is as fast. None where one of them is eligible anywhere.
#[must_use]
pub fn anywhere(history: &[Trial], members: &[Member]) -> Option<Member> {
    let is_anywhere = |trial: &&Trial| trial.candidate.eligibility == Eligibility::default();
    let mut all = ranked(history).into_iter().filter(is_anywhere);
    let is_member = |trial: &Trial| members.iter().any(|member| member.name == trial.candidate.name);
    if all.clone().any(is_member) {
        return None;
    }
    let found = all.find(|trial| trial.speedup().is_some_and(|speedup| speedup > 1.0))?;
    Some(Member { name: found.candidate.name.clone(), prefer: Eligibility::default() })
}

/// What goes before the best along this axis; the last is preferred anywhere where the best would never be dispatched.
fn split(
    axis: usize,
    spec: &KernelSpec,
    workloads: &[Vec<i64>],
    (history, best, worth): (&[Trial], &Trial, f64),
) -> Vec<Member> {
    let most = if best.candidate.is_product() { MOST_OF_PRODUCTS } else { MOST };
    let declared = match &spec.axes[axis].extent {
        Extent::Range { buckets, .. } => buckets.as_slice(),
        _ => &[],
    };
    let groups = groups(axis, declared, workloads);
    let all = groups.into_iter().map(|(upper, there)| {
        let fastest = fastest(&there, history, (best, worth));
        Run { upper, there, fastest }
    });
    let mut runs = fewest(joined(all.collect()), (history, best, worth));
    while of_others(&runs, best).count() > most {
        runs = with_one_less(runs, best);
    }
    let members = |runs: &[Run<'_>]| -> Vec<Member> {
        let of_run = |(low, run): (Option<i64>, &Run<'_>)| Member {
            name: run.fastest.candidate.name.clone(),
            prefer: between(axis, low, run.upper),
        };
        of_others(runs, best).map(of_run).collect()
    };
    let mut found = members(&runs);
    let eligible = |member: &Member| {
        let trial = history.iter().find(|trial| trial.candidate.name == member.name);
        trial.map_or_else(Eligibility::default, |trial| trial.candidate.eligibility.clone())
    };
    let claims: Vec<_> = found.iter().map(|member| (eligible(member), member.prefer.clone())).collect();
    match found.last_mut() {
        Some(last) if leave_nothing(&claims, &best.candidate.eligibility) => {
            last.prefer = Eligibility::default();
        }
        _ => {
            while of_others(&runs, best).count() > most - 1 {
                runs = with_one_less(runs, best);
            }
            found = members(&runs);
        }
    }
    found
}

/// Runs that have another candidate than the best, each with the lowest extent that belongs to it; none of the first.
fn of_others<'a, 'h>(
    runs: &'a [Run<'h>],
    best: &'a Trial,
) -> impl Iterator<Item = (Option<i64>, &'a Run<'h>)> {
    let lows = [None].into_iter().chain(runs.iter().map(|run| run.upper.map(|upper| upper + 1)));
    lows.zip(runs).filter(|(_, run)| run.fastest.candidate.name != best.candidate.name)
}

/// Neighbours of one candidate as one run.
fn joined(runs: Vec<Run<'_>>) -> Vec<Run<'_>> {
    let mut all: Vec<Run<'_>> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if last.fastest.candidate.name == run.fastest.candidate.name => {
                last.upper = run.upper;
                last.there.extend(run.there);
            }
            _ => all.push(run),
        }
    }
    all
}

/// As few candidates as lose less at each workload, beside the fastest there, than what makes another kernel worth it.
fn fewest<'a>(mut runs: Vec<Run<'a>>, (history, best, worth): (&'a [Trial], &'a Trial, f64)) -> Vec<Run<'a>> {
    let before: BTreeMap<usize, f64> = runs.iter().flat_map(Run::speeds).collect();
    let fastest = |workload: usize| {
        let timed = history.iter().filter(|trial| trial.again).filter_map(|trial| trial.at(workload));
        timed.fold(0.0, f64::max)
    };
    let is_close = |(workload, speed): (usize, f64)| {
        before.get(&workload) == Some(&speed) || speed * worth >= fastest(workload)
    };
    while of_others(&runs, best).count() > 0 {
        let less = with_one_less(runs.clone(), best);
        if !less.iter().flat_map(Run::speeds).all(is_close) {
            break;
        }
        runs = less;
    }
    runs
}

/// The run that loses least by it has its neighbour's candidate, or the best of all.
fn with_one_less<'a>(mut runs: Vec<Run<'a>>, best: &'a Trial) -> Vec<Run<'a>> {
    let loss = |run: &Run<'_>, other: &Trial| -> f64 {
        let of = |trial: &Trial, workload: &usize| trial.at(*workload).map_or(f64::NEG_INFINITY, f64::ln);
        run.there.iter().map(|workload| of(run.fastest, workload) - of(other, workload)).sum()
    };
    let others = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| runs.get(at));
        let beside = before.into_iter().chain(runs.get(at + 1)).map(|run| run.fastest);
        beside.chain([best]).map(move |other| (at, other))
    };
    let is_best = |run: &Run<'_>| run.fastest.candidate.name == best.candidate.name;
    let moves = (0..runs.len()).filter(|at| !is_best(&runs[*at])).flat_map(others);
    let least = moves.min_by(|a, b| loss(&runs[a.0], a.1).total_cmp(&loss(&runs[b.0], b.1)));
    if let Some((at, other)) = least {
        runs[at].fastest = other;
    }
    joined(runs)
}

/// Whether kernels that claim this, as (eligible, preferred), leave nothing to one that is eligible as `behind` says: all of
/// its claim is theirs, and they are preferred in ranges of one axis that meet.
#[must_use]
pub fn leave_nothing(claims: &[(Eligibility, Eligibility)], behind: &Eligibility) -> bool {
    let is_theirs =
        |(eligible, _): &(Eligibility, Eligibility)| eligible.0.iter().all(|c| behind.0.contains(c));
    let ranges: Option<Vec<_>> = claims.iter().map(|(_, prefer)| range(prefer)).collect();
    let Some(mut ranges) = ranges.filter(|_| claims.iter().all(is_theirs)) else { return false };
    ranges.sort_by_key(|(_, low, _)| *low);
    let ends = ranges.first().zip(ranges.last());
    let meets = |pair: &[(&IntExpr, Option<i64>, Option<i64>)]| {
        pair[0].0 == pair[1].0 && pair[0].2.is_some_and(|high| pair[1].1 == Some(high + 1))
    };
    ends.is_some_and(|(first, last)| first.1.is_none() && last.2.is_none()) && ranges.windows(2).all(meets)
}

/// What an expression must be at least and at most.
fn range(prefer: &Eligibility) -> Option<(&IntExpr, Option<i64>, Option<i64>)> {
    match prefer.0.as_slice() {
        [Condition::AtMost { expr, bound }] => Some((expr, None, Some(*bound))),
        [Condition::AtLeast { expr, bound }] => Some((expr, Some(*bound), None)),
        [Condition::AtLeast { expr, bound: low }, Condition::AtMost { expr: same, bound: high }] => {
            (expr == same).then_some((expr, Some(*low), Some(*high)))
        }
        _ => None,
    }
}

/// The workloads by their extent of the axis or its bucket, ascending, and the largest extent that is like theirs.
fn groups(axis: usize, buckets: &[i64], workloads: &[Vec<i64>]) -> Vec<(Option<i64>, Vec<usize>)> {
    let mut extents: Vec<i64> = workloads.iter().map(|axes| axes[axis]).collect();
    extents.sort_unstable();
    extents.dedup();
    let uppers: Vec<i64> = match buckets {
        [] => extents.windows(2).map(|pair| middle(pair[0], pair[1])).collect(),
        declared => declared.to_vec(),
    };
    let group = |extent: i64| uppers.iter().find(|upper| extent <= **upper).copied();
    let all = uppers.iter().copied().map(Some).chain([None]);
    let of = |upper| (0..workloads.len()).filter(|w| group(workloads[*w][axis]) == upper).collect::<Vec<_>>();
    let mut groups: Vec<_> =
        all.map(|upper| (upper, of(upper))).filter(|(_, there)| !there.is_empty()).collect();
    if let Some((upper, _)) = groups.last_mut() {
        *upper = None; // no workload says what is beyond
    }
    groups
}

/// What is fastest at these workloads: the best of all, unless another is clearly faster.
fn fastest<'a>(there: &[usize], history: &'a [Trial], (best, worth): (&'a Trial, f64)) -> &'a Trial {
    let speedup = |trial: &Trial| {
        let all: Option<Vec<f64>> = there.iter().map(|workload| trial.at(*workload)).collect();
        all.map(|all| geomean(&all))
    };
    let timed = history.iter().filter(|trial| trial.again).filter_map(|trial| Some((speedup(trial)?, trial)));
    let clearly = speedup(best).unwrap_or(1.0) * worth;
    let fastest = timed.max_by(|a, b| a.0.total_cmp(&b.0));
    fastest.filter(|(speedup, _)| *speedup > clearly).map_or(best, |(_, trial)| trial)
}

/// The geometric mean of these members' speed-ups, at each workload of what is preferred there, else of the best of all.
#[must_use]
pub fn speedup(workloads: &[Vec<i64>], history: &[Trial], members: &[Member]) -> f64 {
    let trial = |name: &str| history.iter().find(|trial| trial.candidate.name == name);
    let best = ranked(history).first().copied();
    let at = |(workload, axes): (usize, &Vec<i64>)| {
        let preferred = members.iter().find(|member| member.prefer.holds(axes, &[]));
        let trial = preferred.and_then(|member| trial(&member.name)).or(best);
        trial.and_then(|trial| trial.at(workload)).unwrap_or(1.0)
    };
    geomean(&workloads.iter().enumerate().map(at).collect::<Vec<f64>>())
}

/// The geometric middle of two extents, which belongs to the lower one.
fn middle(low: i64, high: i64) -> i64 {
    ((low as f64 * high as f64).sqrt() as i64).clamp(low, high - 1)
}

fn between(axis: usize, low: Option<i64>, high: Option<i64>) -> Eligibility {
    let expr = || IntExpr::Axis(axis);
    let low = low.map(|bound| Condition::AtLeast { expr: expr(), bound });
    let high = high.map(|bound| Condition::AtMost { expr: expr(), bound });
    Eligibility(low.into_iter().chain(high).collect())
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::eligibility::Eligibility;
    use cutegen_spec::spec::KernelSpec;

    use super::variant_set;
    use crate::refine::sample::trial;

    /// Rows 16, 2048 and 16384 of two widths that do not vary.
    fn rows() -> Vec<Vec<i64>> {
        vec![vec![16, 4096], vec![2048, 4096], vec![16384, 4096]]
    }

    /// Rows and columns, with buckets of the rows.
    fn spec(buckets: &str) -> KernelSpec {
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = {{ range = '1..=65536'{buckets} }}, d = '1..=65536' }}\n\
             inputs = {{ x = 'f32[m, d]' }}\noutputs = {{ y = 'f32[m, d]' }}\nmath = 'y[m, d] = x[m, d]'\n"
        );
        spec_file(&text, &Default::default()).into_kernels().expect("right specs").remove(0)
    }

    fn told(workloads: &[Vec<i64>], history: &[super::Trial]) -> Vec<(String, String)> {
        told_by(&spec(""), workloads, history)
    }

    fn told_by(spec: &KernelSpec, workloads: &[Vec<i64>], history: &[super::Trial]) -> Vec<(String, String)> {
        variant_set(spec, workloads, history, 1.03)
            .into_iter()
            .map(|m| (m.name, m.prefer.to_string()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(name, prefer)| ((*name).to_owned(), (*prefer).to_owned())).collect()
    }

    #[test]
    fn one_that_is_fastest_everywhere_stays_alone() {
        let history = [trial("a", &[4.0, 4.0, 4.0]), trial("b", &[4.1, 3.0, 3.0])];
        assert_eq!(told(&rows(), &history), pairs(&[("a", "true")]), "2.5 % is not worth a kernel");
        assert_eq!(told(&rows(), &[]), []);
    }

    #[test]
    fn who_is_eligible_anywhere_stands_behind_those_who_are_not() {
        let mut history = [
            trial("slow", &[1.5, 1.5, 1.5]),
            trial("slower", &[1.2, 1.2, 1.2]),
            trial("vectors", &[4.0, 4.0, 4.0]),
            trial("few", &[6.0, 2.0, 2.0]),
        ];
        let whole = Eligibility::parse_positional("a1 % 4 == 0 and t0 aligned 16").expect("parses");
        (history[2].candidate.eligibility, history[3].candidate.eligibility) = (whole.clone(), whole);
        let behind = pairs(&[("few", "a0 <= 181"), ("vectors", "true"), ("slow", "true")]);
        assert_eq!(told(&rows(), &history), behind);
        let naive_is_as_fast = [trial("one", &[0.9, 1.0, 1.1]), history[2].clone()];
        assert_eq!(told(&rows(), &naive_is_as_fast), pairs(&[("vectors", "true")]));
    }

    #[test]
    fn who_is_faster_in_a_range_is_preferred_there() {
        let history = [trial("wide", &[2.0, 4.0, 4.0]), trial("few", &[3.0, 2.0, 1.0])];
        // sqrt(16 * 2048) is 181.02
        assert_eq!(told(&rows(), &history), pairs(&[("few", "a0 <= 181"), ("wide", "true")]));
        let top = [trial("wide", &[4.0, 4.0, 2.0]), trial("many", &[1.0, 2.0, 3.0])];
        assert_eq!(told(&rows(), &top), pairs(&[("many", "a0 >= 5793"), ("wide", "true")]));
        let middle = [trial("wide", &[4.0, 2.0, 4.0]), trial("mid", &[1.0, 3.0, 1.0])];
        assert_eq!(told(&rows(), &middle), pairs(&[("mid", "a0 >= 182 and a0 <= 5792"), ("wide", "true")]));
    }

    #[test]
    fn who_is_never_dispatched_is_no_member() {
        let workloads = [vec![16, 4096], vec![16384, 4096]];
        let mut history = [trial("best", &[4.0, 4.0]), trial("few", &[5.0, 3.0]), trial("many", &[3.0, 5.0])];
        assert_eq!(told(&workloads, &history), pairs(&[("few", "a0 <= 512"), ("many", "true")]));
        let whole = Eligibility::parse_positional("a1 % 4 == 0").expect("parses");
        history[1].candidate.eligibility = whole;
        let still = pairs(&[("few", "a0 <= 512"), ("many", "a0 >= 513"), ("best", "true")]);
        assert_eq!(told(&workloads, &history), still, "a smaller claim leaves it something");
        history[0].candidate.eligibility = history[1].candidate.eligibility.clone();
        assert_eq!(
            told(&workloads, &history)[..2],
            pairs(&[("few", "a0 <= 512"), ("many", "true")]),
            "a larger claim"
        );
    }

    #[test]
    fn one_that_does_not_claim_all_can_have_its_range() {
        let history = [trial("wide", &[2.0, 4.0, 4.0]), trial("few", &[3.0, 0.0, 0.0])];
        assert_eq!(told(&rows(), &history), pairs(&[("few", "a0 <= 181"), ("wide", "true")]));
        let first_look = [trial("wide", &[2.0, 4.0, 4.0]), trial("luck", &[3.0, 2.0, 1.0])];
        assert_eq!(told(&rows(), &first_look), pairs(&[("wide", "true")]), "that was a glance");
    }

    #[test]
    fn neighbours_share_a_kernel_that_is_close_to_the_fastest_of_each() {
        let history = [
            trial("wide", &[2.0, 2.0, 4.0]),
            trial("few", &[4.0, 3.92, 1.0]),
            trial("some", &[3.6, 4.0, 1.0]),
        ];
        let told = |worth: f64| {
            let set = variant_set(&spec(""), &rows(), &history, worth);
            set.into_iter().map(|m| m.name).collect::<Vec<_>>()
        };
        assert_eq!(told(1.03), ["few", "wide"], "2 % at the second is not worth a kernel");
        assert_eq!(told(1.01), ["few", "some", "wide"]);
        assert_eq!(told(3.0), ["wide"]);
    }

    #[test]
    fn what_is_too_much_goes_where_least_is_lost() {
        let workloads: Vec<Vec<i64>> = [1, 4, 16, 64, 256].map(|rows| vec![rows, 4096]).into();
        let history = [
            trial("wide", &[3.0, 3.0, 3.0, 3.0, 3.0]),
            trial("one", &[4.0, 1.0, 1.0, 1.0, 1.0]),
            trial("four", &[3.9, 4.0, 1.0, 1.0, 1.0]),
            trial("some", &[1.0, 1.0, 3.3, 1.0, 1.0]),
            trial("more", &[1.0, 1.0, 1.0, 3.2, 1.0]),
            trial("most", &[1.0, 1.0, 1.0, 1.0, 6.0]),
        ];
        let kept = pairs(&[("four", "a0 <= 8"), ("most", "a0 >= 129"), ("wide", "true")]);
        assert_eq!(told(&workloads, &history), kept, "the first two would lose more");
    }

    #[test]
    fn declared_buckets_part_where_they_say() {
        let spec = spec(", buckets = [64, 1024, 8192]");
        let history = [trial("wide", &[2.0, 4.0, 4.0]), trial("few", &[3.0, 2.0, 1.0])];
        assert_eq!(told_by(&spec, &rows(), &history), pairs(&[("few", "a0 <= 64"), ("wide", "true")]));
        let history = [trial("wide", &[4.0, 4.0, 2.0]), trial("many", &[1.0, 2.0, 3.0])];
        assert_eq!(told_by(&spec, &rows(), &history), pairs(&[("many", "a0 >= 8193"), ("wide", "true")]));
        // 100 and 900 lie in one bucket: they get one answer
        let workloads = [vec![100, 1], vec![900, 1], vec![4096, 1]];
        let history = [trial("wide", &[2.0, 4.0, 4.0]), trial("few", &[3.0, 2.0, 1.0])];
        assert_eq!(told_by(&spec, &workloads, &history), pairs(&[("wide", "true")]));
    }

    #[test]
    fn the_axis_that_gains_most_parts_them() {
        let workloads = [vec![16, 64], vec![16, 8192], vec![4096, 64], vec![4096, 8192]];
        let history = [trial("a", &[4.0, 2.0, 4.0, 2.0]), trial("b", &[1.0, 4.0, 1.0, 3.5])];
        assert_eq!(told(&workloads, &history), pairs(&[("b", "a1 >= 725"), ("a", "true")]));
    }
}
