//! Scripted logs, and what `branch` makes of each of their entries.

mod bank;
mod levers;
mod walk;

use crate::run_log::{Ask, Content, Facts, Idea, Kernel, Outcome, Sequence};
use crate::strategy::script::{Script, refused, rows, speed};
use crate::strategy::{Next, Strategy};

/// A run whose first kernel is right, twice as fast as the naive one.
fn begun(settings: &[(&str, f64)]) -> (Script, Sequence) {
    let mut run = Script::of(Strategy::Branch, rows(), settings);
    let first = run.begun();
    (run, first)
}

impl Script {
    /// Ideas are asked for, and come with these attempts and predictions; the prompt.
    #[track_caller]
    fn ideas(&mut self, ideas: &[(Option<Sequence>, &str)]) -> String {
        let (_, question) = self.question();
        assert_eq!((question.ask, question.idea), (Ask::Ideas, None));
        let idea = |(about, text): &(Option<Sequence>, &str)| Idea {
            text: (*text).to_owned(),
            about: *about,
            predicted: Some(1.3),
        };
        self.answered("ideas", Content::Ideas(ideas.iter().map(idea).collect()));
        question.prompt.text
    }

    /// All variants are asked for before one is awaited: of each its request, idea and seed, and the prompts.
    #[track_caller]
    fn variants(&mut self) -> (Vec<(Sequence, u32, Sequence)>, Vec<String>) {
        let (mut asked, mut prompts) = (Vec::new(), Vec::new());
        while let Next::Ask(_) = self.next() {
            let (request, question) = self.question();
            assert_eq!(question.ask, Ask::Variant);
            asked.push((request, question.idea.expect("an idea"), question.about.expect("a seed")));
            prompts.push(question.prompt.text);
        }
        (asked, prompts)
    }

    /// It compiles.
    #[track_caller]
    fn compiled(&mut self, kernel: Sequence) {
        assert_eq!(self.next(), Next::Build(kernel));
        self.verdict(kernel, Outcome::Compiled, Facts::default());
    }

    /// A compiler refuses it.
    #[track_caller]
    fn fails(&mut self, kernel: Sequence) {
        assert_eq!(self.next(), Next::Build(kernel));
        self.verdict(kernel, Outcome::Refused, refused("a fault"));
    }

    /// One batch: these are so much faster than that one.
    #[track_caller]
    fn batch(&mut self, than: Sequence, kernels: &[(Sequence, f64)]) {
        let all: Vec<Sequence> = kernels.iter().map(|(kernel, _)| *kernel).collect();
        assert_eq!(self.next(), Next::Judge(all));
        for (place, (kernel, by)) in kernels.iter().enumerate() {
            self.verdict(*kernel, Outcome::Right, speed(0.4, 2.0, &[(than, *by)]));
            let rest: Vec<Sequence> = kernels[place + 1..].iter().map(|(kernel, _)| *kernel).collect();
            assert!(
                rest.is_empty() || self.next() == Next::Judge(rest),
                "the rest of the batch is still to come"
            );
        }
    }

    /// A round without failures: each variant's kernel is so much faster than `than`, in the order of the requests.
    #[track_caller]
    fn round_of(&mut self, than: Sequence, ideas: &[(Option<Sequence>, &str)], speeds: &[f64]) -> Round {
        let prompt = self.ideas(ideas);
        let (asked, variants) = self.variants();
        assert_eq!(asked.len(), speeds.len(), "{asked:?}");
        let mut kernels = Vec::new();
        for ((request, ..), by) in asked.iter().zip(speeds) {
            let kernel = self.kernel_for(*request, &format!("kernel of {request}"));
            self.compiled(kernel);
            kernels.push((kernel, *by));
        }
        self.batch(than, &kernels);
        Round { prompt, variants, asked, kernels: kernels.into_iter().map(|(kernel, _)| kernel).collect() }
    }
}

/// What a round asked, and the kernels that came of it.
struct Round {
    prompt: String,
    variants: Vec<String>,
    /// Request, idea and seed of each variant.
    asked: Vec<(Sequence, u32, Sequence)>,
    kernels: Vec<Sequence>,
}

/// A kernel for a log of another spec.
fn kernel(source: &str, hypothesis: &str) -> Kernel {
    Kernel {
        name: "m-00000001".to_owned(),
        identity: crate::run_log::digest(source),
        source: source.to_owned(),
        first_line: Some(1),
        hypothesis: Some(hypothesis.to_owned()),
        predicted: None,
        hints: Vec::new(),
    }
}
