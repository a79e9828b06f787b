//! Each lever, with and without.

use super::script::{serial, speed};
use crate::run_log::{Ask, Banked, Outcome, Sequence, digest};
use crate::strategy::Next;
use crate::strategy::script::wrong;

/// Ids of the hints that a prompt shows.
fn shown(prompt: &str) -> Vec<String> {
    let section = prompt.split_once("# Hints\n").map_or("", |(_, rest)| rest);
    let section = section.split_once("\n# ").map_or(section, |(hints, _)| hints);
    let ids = section.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
    ids.map(|(id, _)| id.to_owned()).collect()
}

/// Prompts of the first changes of all islands, each from a kernel that memory bounds.
fn changes(settings: &[(&str, f64)]) -> Vec<String> {
    let mut run = serial(settings);
    let mut seeds: Vec<Sequence> = Vec::new();
    for source in ["int one;", "int two;", "int three;", "int four;"] {
        let (request, _) = run.requested(Ask::First, None);
        let kernel = run.kernel_for(request, source);
        let over: Vec<(Sequence, f64)> = seeds.iter().map(|seed| (*seed, 1.0)).collect();
        run.judged(kernel, Outcome::Right, speed(0.6, &over));
        seeds.push(kernel);
    }
    let prompts = seeds.iter().map(|seed| {
        let all: Vec<(Sequence, f64)> = seeds.iter().map(|seed| (*seed, 1.0)).collect();
        run.changed(*seed, &format!("int child{seed};"), &all).1
    });
    prompts.collect()
}

#[test]
fn each_island_is_shown_the_hints_of_its_role_or_all_of_them() {
    let subsets: Vec<Vec<String>> = changes(&[]).iter().map(|prompt| shown(prompt)).collect();
    let all: Vec<Vec<String>> =
        changes(&[("hint-subsets", 0.0)]).iter().map(|prompt| shown(prompt)).collect();
    let (fusion, memory) = (&subsets[0], &subsets[1]);
    assert!(!fusion.is_empty() && !memory.is_empty(), "{subsets:?}");
    assert!(fusion.iter().all(|id| !memory.contains(id)), "{subsets:?}");
    assert!(fusion.iter().all(|id| all[0].contains(id)) && all[0].len() > fusion.len(), "{all:?}");
    assert!(all.iter().all(|ids| *ids == all[0]), "{all:?}");
    let none = changes(&[("experience", 0.0)]);
    assert!(none.iter().all(|prompt| shown(prompt).is_empty() && !prompt.contains("Hints:")));
}

/// A run of one island with kernels of four cells: the prompt of a change of the slowest.
fn of_cells(settings: &[(&str, f64)]) -> (String, [Sequence; 3]) {
    let base = [("islands", 1.0), ("turns-without-gain", 99.0)];
    let mut run = serial(&[&base[..], settings].concat());
    let (plain, _) = run.seeded("int plain;", &[]);
    let (wide, _) = run.changed(plain, "float4 wide;", &[(plain, 1.5)]);
    let (staged, _) = run.changed(wide, "__shared__ float4 staged;", &[(wide, 0.9)]);
    let (fast, _) = run.changed(wide, "#include <kit/ring.cuh>", &[(wide, 1.4)]);
    let (_, prompt) = run.changed(fast, "int last;", &[(fast, 0.5)]);
    (prompt, [wide, staged, plain])
}

#[test]
fn a_prompt_shows_kernels_of_other_cells_or_none() {
    let (with, [wide, staged, plain]) = of_cells(&[]);
    assert!(with.contains("# Other kernels\n"), "{with}");
    let title = |kernel: Sequence, memory: u8, by: &str| {
        format!(
            "Attempt {kernel}, another way (memory {memory}, compute 0, parallelism 0, of 0 to 3); about {by} times"
        )
    };
    assert!(with.contains(&title(wide, 1, "0.71")) && with.contains("float4 wide;"), "{with}");
    assert!(with.contains(&title(staged, 2, "0.64")) && with.contains("__shared__ float4 staged;"), "{with}");
    assert!(!with.contains(&format!("Attempt {plain},")), "two of other cells: {with}");
    assert!(!with.contains("the best so far"), "it is the one to change");
    let (more, _) = of_cells(&[("beside", 3.0)]);
    assert!(more.contains(&title(plain, 0, "0.48")), "{more}");
    let (without, _) = of_cells(&[("archive", 0.0)]);
    assert!(!without.contains("# Other kernels") && !without.contains("another way"), "{without}");
}

/// Two islands, of which the first stagnates: what it changes then, its own kernel, and the other's.
fn stagnated(settings: &[(&str, f64)]) -> (Option<Sequence>, [Sequence; 2]) {
    let base = [("islands", 2.0), ("turns-without-gain", 99.0)];
    let mut run = serial(&[&base[..], settings].concat());
    let (own, _) = run.seeded("int own;", &[]);
    let (mut other, _) = run.seeded("float4 other;", &[(own, 1.1)]);
    for round in 0..2 {
        run.changed(own, &format!("int lost{round};"), &[(own, 0.9)]);
        other = run.changed(other, &format!("float4 gain{round};"), &[(other, 1.2)]).0;
    }
    let Next::Ask(question) = run.next() else { panic!("{:?}", run.next()) };
    (question.about, [own, other])
}

#[test]
fn an_island_that_stagnates_takes_the_best_of_another_or_goes_on() {
    let (about, [_, other]) = stagnated(&[]);
    assert_eq!(about, Some(other));
    let (about, [own, _]) = stagnated(&[("migration", 0.0)]);
    assert_eq!(about, Some(own));
    let (about, [own, _]) = stagnated(&[("stagnation", 3.0)]);
    assert_eq!(about, Some(own), "later");
}

#[test]
fn what_was_taken_is_one_of_its_own() {
    let mut run = serial(&[("islands", 2.0), ("stagnation", 1.0), ("turns-without-gain", 99.0)]);
    let (own, _) = run.seeded("int own;", &[]);
    let (other, _) = run.seeded("float4 other;", &[(own, 2.0)]);
    run.changed(own, "int lost;", &[(own, 0.9)]);
    let (better, _) = run.changed(other, "float4 better;", &[(other, 1.5)]);
    let (child, _) = run.changed(better, "float4 child;", &[(better, 1.3)]);
    run.changed(better, "float4 more;", &[(better, 1.1)]);
    // the first island goes on with what came of it
    run.requested(Ask::Optimise, Some(child));
}

fn banked(source: &str) -> Banked {
    Banked {
        kernel: "other".to_owned(),
        family: "rowwise".to_owned(),
        math: "y[m] = max(k, x[m, k])".to_owned(),
        digest: digest(source),
        source: source.to_owned(),
        idea: None,
        over_naive: Some(3.0),
    }
}

#[test]
fn first_kernels_are_asked_for_beside_verified_ones_or_alone() {
    let firsts = |settings: &[(&str, f64)]| -> Vec<String> {
        let mut run = serial(&[&[("islands", 3.0)], settings].concat());
        run.log.start.bank = vec![banked("int nearest;"), banked("int near;")];
        (0..3).map(|number| run.seeded(&format!("int own{number};"), &[]).1).collect()
    };
    let with = firsts(&[]);
    assert!(with[0].contains("int nearest;") && !with[0].contains("int near;"), "{}", with[0]);
    assert!(
        with[0].contains("A verified kernel of another computation, rowwise, which shares"),
        "{}",
        with[0]
    );
    assert!(with[1].contains("int near;") && !with[1].contains("int nearest;"), "each island has its own");
    assert!(!with[2].contains("# Other kernels"), "there are two");
    let without = firsts(&[("seeds", 0.0)]);
    assert!(without.iter().all(|prompt| !prompt.contains("# Other kernels")));
}

#[test]
fn what_failed_is_repaired_or_begun_anew() {
    let after = |settings: &[(&str, f64)], failures: usize| {
        let mut run = serial(&[&[("islands", 1.0)], settings].concat());
        let (mut request, _) = run.requested(Ask::First, None);
        for failure in 0..failures {
            let kernel = run.kernel_for(request, &format!("int a{failure};"));
            run.judged(kernel, Outcome::Wrong, wrong());
            if failure + 1 < failures {
                let (words, _) = run.requested(Ask::Diagnose, Some(kernel));
                run.answered_to(Some(words), "it is that", crate::run_log::Content::Words);
                request = run.requested(Ask::Patch, Some(kernel)).0;
            }
        }
        let Next::Ask(question) = run.next() else { panic!("{:?}", run.next()) };
        (question.ask, question.prompt.text)
    };
    assert_eq!(after(&[], 1).0, Ask::Diagnose);
    assert_eq!(after(&[], 2).0, Ask::Diagnose, "a second time");
    let (ask, prompt) = after(&[], 3);
    assert_eq!(ask, Ask::First, "two repairs are enough");
    assert!(prompt.contains("Earlier starts failed") && prompt.contains("a repair of"), "{prompt}");
    assert_eq!(after(&[("repair", 0.0)], 1).0, Ask::First);
    let (_, silent) = after(&[("repair", 0.0), ("attempt-log", 0.0)], 1);
    assert!(!silent.contains("Earlier starts failed"), "{silent}");
}
