//! Sweeps in runs of each strategy: one attempt, one kernel that comes of it, and the same decisions at every prefix.

use crate::run_log::{Ask, Content, Facts, Outcome, Sequence};
use crate::strategy::script::{Script, refused, rows, speed, wrong};
use crate::strategy::{Next, Strategy, credit, points};

/// Points of which the third is the best: it is right and fastest.
fn came(parent: Sequence, by: [f64; 2]) -> [(Outcome, Facts); 4] {
    [
        (Outcome::Refused, refused("too much shared memory")),
        (Outcome::Wrong, wrong()),
        (Outcome::Right, speed(0.4, 2.0 * by[0], &[(parent, by[0])])),
        (Outcome::Right, speed(0.4, 2.0 * by[1], &[(parent, by[1])])),
    ]
}

/// A first kernel, a round whose sweep gains, one whose sweep is wrong and is fixed, and one that loses.
fn refining() -> (Script, Vec<Sequence>) {
    let mut run = Script::new(rows(), &[("rounds-without-gain", 2.0)]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let request = run.log.entries.len() as u32;
    let swept = run.sweep(Some(request), "tiles", 4);
    run.swept(&swept, &came(first, [1.5, 1.2]));
    let best = swept[2];
    let told = run.asked(Ask::Optimise, Some(best));
    for line in [
        format!(
            "attempt {best} from {first}: it is tiles at 2 (predicted 1.50); right, 1.500 times attempt {first}"
        ),
        format!("point {} of attempt {}, AT = 0: refused before it ran: too much", swept[0], swept[0] - 1),
        format!("point {} of attempt {}, AT = 1: wrong: check values", swept[1], swept[0] - 1),
        format!("point {} of attempt {}, AT = 3: right, 1.200 times attempt {first}", swept[3], swept[0] - 1),
        "tiles at 2\nend ".to_owned(),
    ] {
        assert!(told.contains(&line), "no {line} in\n{told}");
    }
    let request = run.log.entries.len() as u32;
    let failed = run.sweep(Some(request), "ring", 3);
    let crashed = (Outcome::Crashed, Facts::default());
    run.swept(&failed, &[(Outcome::Refused, refused("a fault")), crashed, (Outcome::Wrong, wrong())]);
    let [diagnose, _] = run.diagnosed(failed[2]);
    assert!(diagnose.contains("ring at 2") && diagnose.contains("y[127]: found 1.5"), "{diagnose}");
    let fixed = run.kernel("fixed");
    run.judged(fixed, Outcome::Right, speed(0.4, 2.0, &[(best, 0.5)]));
    run.round(best, best, 0.5);
    assert_eq!(run.next(), Next::Accept(best));
    run.verdict(best, Outcome::Accepted, Facts::default());
    (run, swept)
}

#[test]
fn a_sweep_is_one_attempt_and_its_fastest_right_point_comes_of_it() {
    let (run, swept) = refining();
    let requests = run.log.entries.iter().filter(|entry| matches!(entry, crate::run_log::Entry::Request(_)));
    assert_eq!(
        requests.count(),
        6,
        "a first kernel, two sweeps, words, a fix and a round: points are no requests"
    );
    assert_eq!(points::chosen(&run.log, swept[0] - 1), swept[2]);
    run.decided_at_every_prefix();
}

#[test]
fn of_points_that_are_not_right_the_first_that_got_furthest_stands() {
    use Outcome::{Crashed, Refused, Wrong};
    let of = |outcomes: &[Outcome]| {
        let mut run = Script::new(rows(), &[]);
        run.asked(Ask::First, None);
        let swept = run.sweep(Some(1), "tiles", outcomes.len() as u32);
        let came: Vec<_> = outcomes.iter().map(|outcome| (*outcome, Facts::default())).collect();
        run.swept(&swept, &came);
        let Next::Ask(question) = run.next() else { panic!("{:?}", run.next()) };
        run.asked(Ask::Diagnose, question.about);
        run.decided_at_every_prefix();
        question.about.expect("a point") - swept[0]
    };
    assert_eq!(of(&[Refused, Crashed, Wrong, Wrong]), 2);
    assert_eq!(of(&[Refused, Crashed, Crashed]), 1);
    assert_eq!(of(&[Refused, Refused]), 0);
}

#[test]
fn points_that_were_tried_are_neither_built_nor_judged() {
    let mut run = Script::new(rows(), &[]);
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let sweep = |run: &mut Script| {
        let content = crate::run_log::Sweep {
            source: "tiles".to_owned(),
            points: 2,
            first_line: None,
            hypothesis: None,
            predicted: None,
            hints: Vec::new(),
        };
        let answer = run.answered("tiles", Content::Sweep(content));
        run.point(answer, 0, Content::Repeat { of: first });
        run.point(answer, 1, Content::Repeat { of: first });
    };
    sweep(&mut run);
    let again = run.asked(Ask::Optimise, Some(first));
    assert!(again.contains(&format!("the kernel of attempt {first} again")), "{again}");
    let request = run.log.entries.len() as u32;
    let swept = run.sweep(Some(request), "other", 2);
    run.swept(&swept, &[(Outcome::Wrong, wrong()), (Outcome::Right, speed(0.4, 3.0, &[(first, 1.5)]))]);
    run.asked(Ask::Optimise, Some(swept[1]));
    run.decided_at_every_prefix();
}

#[test]
fn what_the_whole_gate_says_of_the_point_changes_no_choice() {
    let (mut run, swept) = refining();
    run.verdict(swept[2], Outcome::WrongInFull, Facts::default());
    run.verdict(swept[3], Outcome::Right, speed(0.4, 9.0, &[]));
    assert_eq!(points::chosen(&run.log, swept[0] - 1), swept[2]);
    let Next::Ask(question) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!((question.ask, question.about), (Ask::Diagnose, Some(swept[2])), "it is repaired");
}

#[test]
fn an_answer_is_credited_once_by_its_best_point() {
    use crate::experience::{Library, fitting};
    let text = "edition = 1\n[[hint]]\nid = 'h1'\ntrigger = ['memory', 'latency', 'instruction']\nhint = 'Read less.'\n";
    let mut run = Script::new(rows(), &[]);
    let hints = fitting(&Library::read(text).expect("a library").hints, &run.plan);
    let id = hints[0].id.clone();
    run.log.start.experience = Some(crate::run_log::Frozen { library: crate::run_log::digest(text), hints });
    let first = run.begun();
    run.asked(Ask::Optimise, Some(first));
    let request = run.log.entries.len() as u32;
    let content = crate::run_log::Sweep {
        source: "tiles".to_owned(),
        points: 4,
        first_line: None,
        hypothesis: None,
        predicted: None,
        hints: vec![id.clone()],
    };
    let answer = run.answered_to(Some(request), "tiles", Content::Sweep(content));
    let swept: Vec<Sequence> = (0..4)
        .map(|at| {
            let kernel = crate::run_log::Kernel {
                name: "m-00000000".to_owned(),
                identity: crate::run_log::digest(&at.to_string()),
                source: format!("tiles at {at}"),
                first_line: None,
                hypothesis: None,
                predicted: None,
                hints: vec![id.clone()],
            };
            run.point(answer, at, Content::Kernel(kernel))
        })
        .collect();
    run.swept(&swept, &came(first, [1.5, 1.2]));
    let credits = credit::of(&run.plan, &run.log).credits;
    assert_eq!(credits.len(), 1, "{credits:?}");
    assert_eq!((&credits[0].hint, credits[0].is_win, credits[0].gain), (&id, true, Some(1.5)));
}

#[test]
fn a_variant_of_branch_may_sweep() {
    let settings = [("rounds", 1.0), ("ideas", 2.0), ("variants", 1.0), ("variant-fixes", 1.0)];
    let mut run = Script::of(Strategy::Branch, rows(), &settings);
    let first = run.begun();
    run.question();
    let idea = |text: &str| crate::run_log::Idea { text: text.to_owned(), about: None, predicted: None };
    run.answered("ideas", Content::Ideas(vec![idea("tiles"), idea("a ring")]));
    let (one, _) = run.question();
    let (two, _) = run.question();
    let swept = run.sweep(Some(two), "ring", 4);
    // each point is compiled at once; no batch is judged before the other variant is there
    let came = came(first, [1.5, 1.2]);
    for (point, (outcome, facts)) in swept.iter().zip(&came) {
        assert_eq!(run.next(), Next::Build(*point));
        match outcome {
            Outcome::Refused => run.verdict(*point, Outcome::Refused, facts.clone()),
            _ => run.verdict(*point, Outcome::Compiled, Facts::default()),
        }
    }
    let Next::Await(awaited) = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!(awaited.iter().map(|awaited| awaited.request).collect::<Vec<_>>(), [one]);
    let other = run.sweep(Some(one), "tiles", 2);
    for point in &other {
        run.refuse(*point, "a fault");
    }
    // its correction is asked for at once: the refusals of all of its points are known
    let [_, patch] = run.diagnosed(other[0]);
    assert!(patch.contains("tiles at 0"), "{patch}");
    let fixed = run.kernel("fixed");
    run.refuse(fixed, "another fault");
    for (at, point) in swept.iter().enumerate().skip(1) {
        assert_eq!(run.next(), Next::Judge(swept[at..].to_vec()));
        run.verdict(*point, came[at].0, came[at].1.clone());
    }
    assert_eq!(run.next(), Next::Accept(swept[2]));
    run.verdict(swept[2], Outcome::Accepted, Facts::default());
    run.decided_at_every_prefix();
}

#[test]
fn steps_of_islands_may_sweep() {
    let settings = [("islands", 2.0), ("parallel", 1.0), ("migration", 0.0), ("turns-without-gain", 1.0)];
    let mut run = Script::of(Strategy::Islands, rows(), &settings);
    let (request, _) = run.question();
    let seeds = run.sweep(Some(request), "int one;", 2);
    run.swept(&seeds, &[(Outcome::Wrong, wrong()), (Outcome::Right, speed(0.3, 2.0, &[]))]);
    let (request, _) = run.question();
    let failed = run.sweep(Some(request), "int two;", 2);
    run.swept(&failed, &[(Outcome::Crashed, Facts::default()), (Outcome::Wrong, wrong())]);
    let (request, question) = run.question();
    assert_eq!((question.ask, question.about), (Ask::Optimise, Some(seeds[1])));
    let swept = run.sweep(Some(request), "float4 three;", 4);
    run.swept(&swept, &came(seeds[1], [1.5, 1.2]));
    let (request, question) = run.question();
    assert_eq!(
        (question.ask, question.about),
        (Ask::Diagnose, Some(failed[1])),
        "what got furthest is repaired"
    );
    run.answered_to(Some(request), "the tail is read twice", Content::Words);
    let (request, _) = run.question();
    let repaired = run.kernel_for(request, "int four;");
    run.judged(repaired, Outcome::Right, speed(0.3, 1.0, &[(swept[2], 0.5)]));
    let (request, question) = run.question();
    assert_eq!(
        (question.ask, question.about),
        (Ask::Optimise, Some(swept[2])),
        "the best point is its elite"
    );
    let told = question.prompt.text;
    let line = format!(
        "point {} of attempt {}, AT = 3: right, 1.200 times attempt {}",
        swept[3],
        swept[0] - 1,
        seeds[1]
    );
    assert!(told.contains(&line), "no {line} in\n{told}");
    let lost = run.kernel_for(request, "int five;");
    run.judged(lost, Outcome::Right, speed(0.3, 1.0, &[(swept[2], 0.5)]));
    assert_eq!(run.next(), Next::Accept(swept[2]));
    run.verdict(swept[2], Outcome::Accepted, Facts::default());
    run.decided_at_every_prefix();
}
