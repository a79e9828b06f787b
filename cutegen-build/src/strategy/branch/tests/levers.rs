//! Each setting and lever, with and without.

use super::begun;
use crate::experience::{Library, SEED, fitting};
use crate::run_log::{Ask, Content, Facts, Frozen, Outcome, digest};
use crate::strategy::script::{Script, rows, speed, wrong};
use crate::strategy::{Next, Stop, Strategy};

#[test]
fn ideas_that_were_tried_are_told_or_not() {
    for (value, is_told) in [(1.0, true), (0.0, false)] {
        let (mut run, first) = begun(&[("ideas-tried", value), ("ideas", 1.0)]);
        run.round_of(first, &[(None, "keep rows in registers")], &[0.9, 1.2]);
        let (_, question) = run.question();
        let prompt = question.prompt.text;
        assert_eq!(prompt.contains("# What was tried"), is_told, "{prompt}");
        assert_eq!(prompt.contains("round 1, idea 1 for attempt 2: keep rows in registers"), is_told);
        assert_eq!(prompt.contains("is right, 1.200 times attempt 2"), is_told);
    }
}

#[test]
fn hints_are_in_prompts_for_variants_and_fixes_or_not() {
    for (value, is_told) in [(1.0, true), (0.0, false)] {
        let mut run =
            Script::of(Strategy::Branch, rows(), &[("experience", value), ("ideas", 1.0), ("variants", 1.0)]);
        let hints = fitting(&Library::read(SEED).expect("the library that ships").hints, &run.plan);
        run.log.start.experience = Some(Frozen { library: digest(SEED), hints });
        run.begun();
        run.ideas(&[(None, "keep rows in registers")]);
        let (_, variants) = run.variants();
        let kernel = run.kernel("a");
        run.judged(kernel, Outcome::Wrong, wrong());
        let [diagnose, patch] = run.diagnosed(kernel);
        for prompt in [&variants[0], &diagnose] {
            assert_eq!(prompt.contains("\n# Hints\n"), is_told, "{prompt}");
            assert_eq!(prompt.contains("Hints: none"), is_told, "how they are cited");
        }
        assert_eq!(diagnose.contains("is a tail"), is_told, "for what was seen: {diagnose}");
        assert!(!patch.contains("# Hints"), "another step made words of them");
    }
}

#[test]
fn slower_kernels_seed_the_next_round_or_the_best_alone() {
    for (value, seeds) in [(1.0, 3), (0.0, 1)] {
        let (mut run, first) = begun(&[("keep-slower", value), ("ideas", 2.0)]);
        let round = run.round_of(first, &[(None, "one"), (None, "two")], &[1.5, 0.7, 1.4, 0.6]);
        let [best, slow, twin, slower] = [0, 1, 2, 3].map(|place: usize| round.kernels[place]);
        let (_, question) = run.question();
        let shown = [best, first, slow]
            .map(|kernel| question.prompt.text.contains(&format!("## Attempt {kernel}\n")));
        assert_eq!(shown.iter().filter(|shown| **shown).count(), seeds);
        assert!(shown[0] && question.about == Some(best));
        for other in [twin, slower] {
            assert!(
                !question.prompt.text.contains(&format!("## Attempt {other}\n")),
                "one kernel of an idea"
            );
        }
        // an idea for a kernel that is no seed is for the best
        let idea = |about, text: &str| crate::run_log::Idea { text: text.to_owned(), about, predicted: None };
        run.answered("ideas", Content::Ideas(vec![idea(Some(slow), "one"), idea(Some(99), "two")]));
        let (asked, _) = run.variants();
        assert_eq!([asked[0].2, asked[1].2], [if seeds == 3 { slow } else { best }, best]);
    }
}

#[test]
fn too_slow_a_kernel_is_no_seed_and_there_are_as_many_as_the_setting_says() {
    let shown = |settings: &[(&str, f64)]| {
        let (mut run, first) = begun(&[settings, &[("ideas", 2.0), ("variants", 1.0)]].concat());
        let round = run.round_of(first, &[(None, "one"), (None, "two")], &[1.5, 0.6]);
        let (_, question) = run.question();
        [first, round.kernels[0], round.kernels[1]]
            .map(|kernel| question.prompt.text.contains(&format!("## Attempt {kernel}\n")))
    };
    assert_eq!(shown(&[]), [true, true, true]);
    assert_eq!(shown(&[("slowest", 0.5)]), [true, true, false], "0.6 of 1.5 is 0.4");
    assert_eq!(shown(&[("seeds", 1.0)]), [false, true, false]);
}

#[test]
fn kernels_of_other_specs_are_shown_or_not() {
    for (value, is_shown) in [(1.0, true), (0.0, false)] {
        let (mut run, first) = begun(&[("bank", value), ("ideas", 1.0), ("variants", 1.0)]);
        run.log.start.bank = vec![super::bank::banked("softmax", "rowwise", 3.0)];
        let round = run.round_of(first, &[(None, "one")], &[1.5]);
        for prompt in [&round.prompt, &round.variants[0]] {
            assert_eq!(prompt.contains("# Fast kernels of other computations"), is_shown, "{prompt}");
            assert_eq!(prompt.contains("source of softmax"), is_shown);
            assert_eq!(prompt.contains("family rowwise, 3.00 times its naive kernel"), is_shown);
        }
    }
}

#[test]
fn a_share_of_the_roofline_is_enough() {
    let reached = |share: f64| {
        let (mut run, first) = begun(&[("roofline-share", share), ("ideas", 1.0), ("variants", 1.0)]);
        run.round_of(first, &[(None, "one")], &[1.5]);
        matches!(run.next(), Next::Accept(_))
    };
    assert!(reached(0.39) && !reached(0.41));
}

#[test]
fn rounds_ideas_and_variants_are_as_many_as_the_settings_say() {
    for (rounds, ideas, variants) in [(1.0, 1.0, 1.0), (2.0, 3.0, 2.0)] {
        let settings = [("rounds", rounds), ("ideas", ideas), ("variants", variants)];
        let (mut run, first) = begun(&settings);
        for _ in 0..rounds as usize {
            let kernels = (ideas * variants) as usize;
            run.round_of(first, &[(None, "one"), (None, "two"), (None, "three")], &vec![0.9; kernels]);
        }
        assert_eq!(run.next(), Next::Accept(first), "nothing was faster than the first");
    }
}

#[test]
fn a_spent_budget_ends_a_round_with_what_it_has() {
    // one for the first kernel, one for ideas, three of the six variants
    let (mut run, first) = begun(&[("requests", 5.0)]);
    let round = run.round_of(first, &[(None, "one"), (None, "two"), (None, "three")], &[0.9, 1.3, 1.1]);
    assert_eq!(round.asked.iter().map(|(_, idea, _)| *idea).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(run.next(), Next::Accept(round.kernels[1]));
    run.verdict(round.kernels[1], Outcome::TooSlow, Facts::default());
    assert_eq!(run.next(), Next::Done(Stop::Budget));
    let (run, first) = begun(&[("requests", 2.0)]);
    assert_eq!(run.next(), Next::Accept(first), "ideas alone are worth nothing");
}

#[test]
fn variants_are_corrected_as_often_as_the_setting_says() {
    for (fixes, is_corrected) in [(0.0, false), (1.0, true)] {
        let settings = [("variant-fixes", fixes), ("ideas", 1.0), ("variants", 1.0), ("rounds", 1.0)];
        let (mut run, first) = begun(&settings);
        run.ideas(&[(None, "one")]);
        let (asked, _) = run.variants();
        let kernel = run.kernel_for(asked[0].0, "a fault");
        run.fails(kernel);
        match run.next() {
            Next::Ask(question) => assert_eq!((question.ask, is_corrected), (Ask::Diagnose, true)),
            other => assert_eq!((other, is_corrected), (Next::Accept(first), false)),
        }
    }
}

#[test]
fn kernels_of_two_batches_are_compared_by_way_of_one_that_both_had() {
    let (mut run, first) = begun(&[("ideas", 1.0), ("variants", 1.0), ("rounds", 2.0)]);
    let one = run.round_of(first, &[(None, "one")], &[1.5]).kernels[0];
    run.ideas(&[(None, "two")]);
    let (asked, _) = run.variants();
    let two = run.kernel_for(asked[0].0, "two");
    run.compiled(two);
    // by the naive kernel it is the fastest, by the batch it loses
    run.verdict(two, Outcome::Right, speed(0.4, 99.0, &[(one, 0.9), (first, 9.0)]));
    assert_eq!(run.next(), Next::Accept(one));
}
