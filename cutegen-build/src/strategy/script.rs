//! [`Script`]: a log that a test writes step by step, each step checked against what its strategy wants before it.

use std::collections::BTreeMap;

use cutegen_spec::edition::spec_file;

use crate::plan::Plan;
use crate::run_log::{
    self, Ask, Candidate, Content, Diagnostic, Entry, Facts, Judge, Kernel, Log, Mismatch, Outcome, Place,
    RunId, Sequence, Speed, Start, TileCoordinate, Verdict,
};
use crate::strategy::{Awaited, Next, Strategy};

/// A run under way.
pub(super) struct Script {
    pub plan: Plan,
    pub log: Log,
}

/// A plan of this math.
pub(super) fn plan(axes: &str, tensors: &str, math: &str) -> Plan {
    let text = format!(
        "edition = 1\n[kernels.one]\ntargets = ['sm_90a']\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''"
    );
    let kernels = spec_file(&text, &Default::default()).into_kernels().expect("a right text");
    Plan::all(&kernels).remove(0)
}

/// Rows.
pub(super) fn rows() -> Plan {
    let tensors = "inputs = { x = 'f32[m, k]' }\noutputs = { y = 'f32[m]' }\nworkloads = [{ m = 4096 }]";
    plan("m = '1..=4096', k = 1024", tensors, "y[m] = sum(k, x[m, k] * x[m, k])")
}

/// Times over the naive kernel, and over others.
pub(super) fn speed(roofline: f64, over_naive: f64, over: &[(Sequence, f64)]) -> Facts {
    let speed = Speed {
        workload: [("m".to_owned(), 4096)].into(),
        micros: 10.0,
        over_naive: Some(over_naive),
        over: over.iter().copied().collect(),
        roofline: Some(roofline),
        tb_per_s: Some(1.5),
        tops_per_s: None,
    };
    let profile: BTreeMap<String, f64> = [("dram__throughput".to_owned(), 55.0)].into();
    Facts { speed: vec![speed], profile, ..Facts::default() }
}

/// What a compiler says.
pub(super) fn refused(message: &str) -> Facts {
    Facts { diagnostics: vec![Diagnostic { line: Some(2), message: message.to_owned() }], ..Facts::default() }
}

/// A wrong element, at the end of a tile.
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
        tile: vec![TileCoordinate { axis: "m".to_owned(), extent: 64, tile: 1, within: 63 }],
        check: "values".to_owned(),
        region: Some("every last element of a tile".to_owned()),
    };
    Facts { mismatch: Some(mismatch), ..Facts::default() }
}

impl Script {
    pub(super) fn new(plan: Plan, settings: &[(&str, f64)]) -> Self {
        Self::of(Strategy::Refine, plan, settings)
    }

    pub(super) fn of(strategy: Strategy, plan: Plan, settings: &[(&str, f64)]) -> Self {
        let start = Start {
            version: run_log::VERSION,
            run: RunId::parse("a-run").expect("a name"),
            kernel: "one".to_owned(),
            target: "sm_90a".to_owned(),
            key: plan.key.to_string(),
            strategy: strategy.name().to_owned(),
            prompts: 2,
            kit: run_log::digest("kit"),
            gate: 7,
            experience: None,
            bank: Vec::new(),
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        Self { plan, log: Log::new(start) }
    }

    pub(super) fn next(&self) -> Next {
        let strategy = Strategy::of(&self.log.start).expect("one of ours");
        strategy.next(&self.plan, &self.log)
    }

    /// This is asked next; the prompt. The request stands in the log then.
    #[track_caller]
    pub(super) fn asked(&mut self, ask: Ask, about: Option<Sequence>) -> String {
        let Next::Ask(question) = self.next() else { panic!("{:?} and no question", self.next()) };
        assert_eq!((question.ask, question.about), (ask, about));
        let sequence = self.log.push(Entry::Request(question.request()));
        let awaited = Awaited { request: sequence, question: question.clone() };
        assert_eq!(self.next(), Next::Await(vec![awaited]), "byte for byte");
        question.prompt.text
    }

    /// An answer to the last entry, or a text that was not asked for.
    pub(super) fn answered(&mut self, text: &str, content: Content) -> Sequence {
        let last = Sequence::try_from(self.log.entries.len()).expect("short");
        let request = self.log.request(last).map(|_| last);
        let (by, text) = ("a test".to_owned(), text.to_owned());
        self.log.push(Entry::Candidate(Candidate { request, by, text, content, took_ms: None }))
    }

    /// A kernel with this source.
    pub(super) fn kernel(&mut self, source: &str) -> Sequence {
        let identity = run_log::digest(source);
        let kernel = Kernel {
            name: "m-00000000".to_owned(),
            identity,
            source: source.to_owned(),
            first_line: Some(1),
            hypothesis: Some(format!("it is {source}")),
            predicted: Some(1.5),
            hints: Vec::new(),
        };
        self.answered(source, Content::Kernel(kernel))
    }

    pub(super) fn unreadable(&mut self, text: &str) -> Sequence {
        let problem = Diagnostic { line: None, message: "no contract".to_owned() };
        self.answered(text, Content::Unreadable(vec![problem]))
    }

    /// Words, and the request for the change that follows them; its prompt.
    #[track_caller]
    pub(super) fn diagnosed(&mut self, kernel: Sequence) -> [String; 2] {
        let first = self.asked(Ask::Diagnose, Some(kernel));
        self.answered("the tail is read twice", Content::Words);
        [first, self.asked(Ask::Patch, Some(kernel))]
    }

    pub(super) fn verdict(&mut self, candidate: Sequence, outcome: Outcome, facts: Facts) {
        let judge =
            Judge { card: "H200".to_owned(), batch: "1".to_owned(), gate: 7, held_ms: 1, place: Place::Here };
        let judge = Some(judge).filter(|_| !matches!(outcome, Outcome::Refused | Outcome::Compiled));
        self.log.push(Entry::Verdict(Verdict { candidate, outcome, facts, judge }));
    }

    /// A compiler refuses it.
    #[track_caller]
    pub(super) fn refuse(&mut self, kernel: Sequence, message: &str) {
        assert_eq!(self.next(), Next::Build(kernel));
        self.verdict(kernel, Outcome::Refused, refused(message));
    }

    /// It compiles, and a judge says this.
    #[track_caller]
    pub(super) fn judged(&mut self, kernel: Sequence, outcome: Outcome, facts: Facts) {
        assert_eq!(self.next(), Next::Build(kernel));
        self.verdict(kernel, Outcome::Compiled, Facts::default());
        assert_eq!(self.next(), Next::Judge(vec![kernel]));
        self.verdict(kernel, outcome, facts);
    }

    /// A first kernel that is right.
    #[track_caller]
    pub(super) fn begun(&mut self) -> Sequence {
        self.asked(Ask::First, None);
        let kernel = self.kernel("first");
        self.judged(kernel, Outcome::Right, speed(0.3, 2.0, &[]));
        kernel
    }

    /// A round from this kernel whose child is so much faster than the best; its prompt, and the child.
    #[track_caller]
    pub(super) fn round(&mut self, parent: Sequence, best: Sequence, by: f64) -> (String, Sequence) {
        let prompt = self.asked(Ask::Optimise, Some(parent));
        let child = self.kernel(&format!("child {}", self.log.entries.len()));
        self.judged(child, Outcome::Right, speed(0.4, 2.0, &[(best, by), (parent, by)]));
        (prompt, child)
    }
}
