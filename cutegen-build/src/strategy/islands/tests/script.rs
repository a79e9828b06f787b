//! [`Script`]: a log that a test writes step by step, each step checked against what `next` wants before it.

use cutegen_spec::edition::spec_file;

use crate::experience::{Library, SEED, fitting};
use crate::plan::Plan;
use crate::run_log::{
    self, Ask, Candidate, Content, Entry, Facts, Frozen, Judge, Kernel, Log, Mismatch, Outcome, Place, RunId,
    Sequence, Speed, Start, Verdict,
};
use crate::strategy::Next;
use crate::strategy::islands::next;

/// A run under way.
pub(super) struct Script {
    pub plan: Plan,
    pub log: Log,
}

fn rows() -> Plan {
    let text = "edition = 1\n[kernels.one]\ntargets = ['sm_90a']\naxes = { m = '1..=4096', k = 1024 }\n\
                inputs = { x = 'f32[m, k]' }\noutputs = { y = 'f32[m]' }\nworkloads = [{ m = 4096 }]\n\
                math = 'y[m] = sum(k, x[m, k] * x[m, k])'\n";
    Plan::all(&spec_file(text, &Default::default()).into_kernels().expect("a right text")).remove(0)
}

/// Times over others, at a share of the roofline.
pub(super) fn speed(roofline: f64, over: &[(Sequence, f64)]) -> Facts {
    let speed = Speed {
        workload: [("m".to_owned(), 4096)].into(),
        micros: 10.0,
        over_naive: None,
        over: over.iter().copied().collect(),
        roofline: Some(roofline),
        tb_per_s: Some(1.5),
        tops_per_s: None,
    };
    Facts { speed: vec![speed], ..Facts::default() }
}

/// A wrong element.
pub(super) fn wrong() -> Facts {
    let mismatch = Mismatch {
        tensor: "y".to_owned(),
        index: vec![127],
        axes: [("m".to_owned(), 129)].into(),
        inputs: "normal".to_owned(),
        found: Some(1.5),
        expected: Some(0.75),
        bound: Some(1e-5),
        ratio: Some(2.0),
        tile: Vec::new(),
        check: "values".to_owned(),
        region: None,
    };
    Facts { mismatch: Some(mismatch), ..Facts::default() }
}

impl Script {
    /// A run with the hints that ship.
    pub(super) fn new(settings: &[(&str, f64)]) -> Self {
        let plan = rows();
        let hints = fitting(&Library::read(SEED).expect("the library that ships").hints, &plan);
        let start = Start {
            version: run_log::VERSION,
            run: RunId::parse("a-run").expect("a name"),
            kernel: "one".to_owned(),
            target: "sm_90a".to_owned(),
            key: plan.key.to_string(),
            strategy: "islands".to_owned(),
            prompts: 4,
            kit: run_log::digest("kit"),
            gate: 7,
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            experience: Some(Frozen { library: run_log::digest(SEED), hints }),
            bank: Vec::new(),
        };
        Self { plan, log: Log::new(start) }
    }

    /// One step at a time.
    pub(super) fn serial(settings: &[(&str, f64)]) -> Self {
        Self::new(&[&[("parallel", 1.0)], settings].concat())
    }

    pub(super) fn next(&self) -> Next {
        next(&self.plan, &self.log)
    }

    /// This is asked next; its request, and its prompt.
    #[track_caller]
    pub(super) fn asked(&mut self, ask: Ask, about: Option<Sequence>) -> (Sequence, String) {
        let Next::Ask(question) = self.next() else { panic!("{:?} and no question", self.next()) };
        assert_eq!((question.ask, question.about), (ask, about));
        let request = self.log.push(Entry::Request(question.request()));
        (request, question.prompt.text)
    }

    pub(super) fn answered(&mut self, request: Sequence, text: &str, content: Content) -> Sequence {
        let (by, text) = ("a test".to_owned(), text.to_owned());
        self.log.push(Entry::Candidate(Candidate {
            request: Some(request),
            by,
            text,
            content,
            took_ms: None,
        }))
    }

    /// A kernel with this source.
    pub(super) fn kernel(&mut self, request: Sequence, source: &str) -> Sequence {
        let kernel = Kernel {
            name: "m-00000000".to_owned(),
            identity: run_log::digest(source),
            source: source.to_owned(),
            first_line: Some(1),
            hypothesis: Some(format!("it is {source}")),
            predicted: None,
            hints: Vec::new(),
        };
        self.answered(request, source, Content::Kernel(kernel))
    }

    pub(super) fn verdict(&mut self, candidate: Sequence, outcome: Outcome, facts: Facts) {
        let (card, batch) = ("H200".to_owned(), "1".to_owned());
        let judge = Judge { card, batch, gate: 7, held_ms: 1, place: Place::Here };
        let judge = Some(judge).filter(|_| !matches!(outcome, Outcome::Refused | Outcome::Compiled));
        self.log.push(Entry::Verdict(Verdict { candidate, outcome, facts, judge }));
    }

    /// It compiles, and a judge says this.
    #[track_caller]
    pub(super) fn judged(&mut self, kernel: Sequence, outcome: Outcome, facts: Facts) {
        assert_eq!(self.next(), Next::Build(kernel));
        self.verdict(kernel, Outcome::Compiled, Facts::default());
        assert_eq!(self.next(), Next::Judge(vec![kernel]));
        self.verdict(kernel, outcome, facts);
    }

    /// A first kernel of the island whose turn it is, so much faster than those that are named; the kernel, and the prompt.
    #[track_caller]
    pub(super) fn seeded(&mut self, source: &str, over: &[(Sequence, f64)]) -> (Sequence, String) {
        let (request, prompt) = self.asked(Ask::First, None);
        let kernel = self.kernel(request, source);
        self.judged(kernel, Outcome::Right, speed(0.3, over));
        (kernel, prompt)
    }

    /// A change of this kernel, so much faster than those that are named.
    #[track_caller]
    pub(super) fn changed(
        &mut self,
        parent: Sequence,
        source: &str,
        over: &[(Sequence, f64)],
    ) -> (Sequence, String) {
        let (request, prompt) = self.asked(Ask::Optimise, Some(parent));
        let kernel = self.kernel(request, source);
        self.judged(kernel, Outcome::Right, speed(0.3, over));
        (kernel, prompt)
    }
}
