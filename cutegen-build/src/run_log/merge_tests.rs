//! Merging two copies of a run: a union of verdicts, in any order, as often as one likes.

use super::sample::*;
use super::*;

/// Three copies of one run, in folders of their own.
struct Copies {
    folders: [tempfile::TempDir; 3],
}

impl Copies {
    fn new() -> Self {
        let folders = std::array::from_fn(|_| tempfile::tempdir().expect("a folder"));
        let copies = Self { folders };
        for folder in &copies.folders {
            drop(written(folder.path(), "a-1", &[request(), candidate(kernel()), candidate(Content::Words)]));
        }
        copies
    }

    fn open(&self, copy: usize) -> LogFile {
        LogFile::open(self.folders[copy].path(), &self.run()).expect("a log")
    }

    fn log(&self, copy: usize) -> Log {
        read(self.folders[copy].path(), &self.run()).expect("a log")
    }

    fn run(&self) -> RunId {
        RunId::parse("a-1").expect("a name")
    }

    fn add(&self, copy: usize, entries: &[Entry]) {
        let mut file = self.open(copy);
        for entry in entries {
            file.append(entry.clone()).expect("appended");
        }
    }

    fn merge(&self, home: usize, other: usize) -> Merged {
        merge(&mut self.open(home), &self.log(other)).expect("merged")
    }

    /// The verdicts of a copy as lines, without their order and where they were reached.
    fn verdicts(&self, copy: usize) -> Vec<String> {
        let log = self.log(copy);
        let line = |verdict: &Verdict| serde_json::to_string(verdict).expect("JSON").replace(MARK, "");
        let mut lines: Vec<String> = log.verdicts().map(|(_, verdict)| line(verdict)).collect();
        lines.sort();
        lines
    }
}

#[test]
fn a_merge_is_a_union_in_both_orders_and_once() {
    let copies = Copies::new();
    let shared = verdict(2, Outcome::Compiled);
    copies.add(0, &[shared.clone(), full_verdict()]);
    copies.add(1, &[verdict(2, Outcome::Right), shared, verdict(3, Outcome::Refused)]);
    let before = copies.log(0).entries;
    // the third has neither: it takes both, in the other order
    assert_eq!(copies.merge(2, 1), Merged { new: 3, known: 0 });
    assert_eq!(copies.merge(2, 0), Merged { new: 1, known: 1 });
    assert_eq!(copies.merge(0, 1), Merged { new: 2, known: 1 });
    assert_eq!(copies.merge(1, 0), Merged { new: 1, known: 3 });
    let union = copies.verdicts(0);
    assert_eq!(union.len(), 4);
    assert_eq!((copies.verdicts(1), copies.verdicts(2)), (union.clone(), union));
    assert_eq!(copies.log(0).entries[..before.len()], before, "what was there keeps its sequence");
    for (home, other) in [(0, 1), (1, 0), (2, 0), (0, 0)] {
        let text = copies.log(home);
        assert_eq!(copies.merge(home, other), Merged { new: 0, known: 4 });
        assert_eq!(copies.log(home), text);
    }
}

/// How a line says that its verdict was reached elsewhere.
const MARK: &str = ",\"place\":\"elsewhere\"";

#[test]
fn a_verdict_from_elsewhere_is_marked_for_good() {
    let copies = Copies::new();
    copies.add(0, &[full_verdict()]);
    let places = |copy: usize| -> Vec<Option<Place>> {
        let log = copies.log(copy);
        log.verdicts().map(|(_, verdict)| verdict.judge.as_ref().map(|judge| judge.place)).collect()
    };
    assert!(!copies.log(0).is_merged());
    copies.merge(1, 0);
    assert_eq!((places(0), places(1)), (vec![Some(Place::Here)], vec![Some(Place::Elsewhere)]));
    assert!(copies.log(1).is_merged());
    let text = std::fs::read_to_string(copies.open(1).path()).expect("a log");
    assert_eq!(text.matches(MARK).count(), 1, "{text}");
    // what comes back to where it was reached is known there
    assert_eq!(copies.merge(0, 1), Merged { new: 0, known: 1 });
    assert_eq!(places(0), [Some(Place::Here)]);
}

#[test]
fn a_verdict_that_is_there_twice_comes_once() {
    let copies = Copies::new();
    copies.add(1, &[verdict(2, Outcome::Right), verdict(2, Outcome::Right)]);
    assert_eq!(copies.merge(0, 1), Merged { new: 1, known: 1 });
}

#[test]
fn points_that_were_written_elsewhere_come_with_their_verdicts() {
    let copies = Copies::new();
    let answer = candidate(swept());
    let points = [point(4, &[("T", 2)], kernel()), point(4, &[("T", 4)], kernel())];
    (0..3).for_each(|copy| copies.add(copy, std::slice::from_ref(&answer)));
    copies.add(
        1,
        &[points[0].clone(), points[1].clone(), verdict(5, Outcome::Compiled), verdict(6, Outcome::Refused)],
    );
    assert_eq!(copies.merge(0, 1), Merged { new: 2, known: 0 });
    assert_eq!(copies.log(0).entries[4..6], points);
    assert_eq!(copies.merge(0, 1), Merged { new: 0, known: 2 });
    // a copy that was torn between them
    copies.add(2, &points[..1]);
    assert_eq!(copies.merge(2, 1), Merged { new: 2, known: 0 });
    assert_eq!(copies.log(2).entries, copies.log(0).entries);
    assert_eq!(copies.merge(1, 0), Merged { new: 0, known: 2 });
    // where something else stands in a point's place, nothing is taken
    let others = Copies::new();
    others.add(0, &[answer.clone(), verdict(2, Outcome::Compiled)]);
    others.add(1, &[answer, points[0].clone(), verdict(5, Outcome::Compiled)]);
    let before = others.log(0);
    let error = merge(&mut others.open(0), &others.log(1)).expect_err("another place").to_string();
    assert!(error.contains("candidate 5 is another one there"), "{error}");
    assert_eq!(others.log(0), before);
}

#[test]
fn numbers_of_a_timing_stay_the_same_verdict() {
    let copies = Copies::new();
    let Entry::Verdict(mut timed) = full_verdict() else { panic!("a verdict") };
    // neighbours of one another, which a parser that is only nearly right takes for each other
    let times = (0..64).map(|more| f64::from_bits(1.234_567_8e-5_f64.to_bits() + more));
    timed.facts.profile = (0..).zip(times).map(|(at, time): (u32, f64)| (at.to_string(), time)).collect();
    copies.add(1, &[Entry::Verdict(timed)]);
    assert_eq!(copies.merge(0, 1), Merged { new: 1, known: 0 });
    assert_eq!(copies.merge(1, 0), Merged { new: 0, known: 1 });
}

#[test]
fn another_run_or_candidate_is_refused_whole() {
    let copies = Copies::new();
    let mut good = copies.log(1);
    good.push(verdict(2, Outcome::Right));
    let none = |what: &dyn Fn(&mut Log), said: &str| {
        let (before, mut other) = (copies.log(0), good.clone());
        what(&mut other);
        let error = merge(&mut copies.open(0), &other).expect_err("refused").to_string();
        assert!(error.contains(said), "{error}");
        assert_eq!(copies.log(0), before, "nothing is appended");
    };
    none(&|log| log.start.run = RunId::parse("a-2").expect("a name"), "the other log is of a-2 for softmax");
    none(&|log| log.start.kit = digest("another kit"), "the other log is of a-1");
    none(&|log| log.start.settings.clear(), "the other log is of a-1");
    let add = |log: &mut Log, candidate| {
        log.push(verdict(candidate, Outcome::Refused));
    };
    let told = "line 6: candidate 3 is another one there";
    let other = |log: &mut Log| {
        log.entries[2] = candidate(kernel());
        log.push(verdict(3, Outcome::Refused));
    };
    none(&other, told);
    // the request has the sequence 1, and nothing has 9
    none(&|log| add(log, 1), "candidate 1 is another one there");
    none(&|log| add(log, 9), "candidate 9 is another one there");
    none(&|log| add(log, 0), "candidate 0 is another one there");
    assert_eq!(merge(&mut copies.open(0), &good).expect("merged").new, 1, "the good one is taken");
}
