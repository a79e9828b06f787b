//! [`Script`]: a log that a test writes step by step, each step checked against what its strategy wants before it.

use std::collections::BTreeMap;

use cutegen_spec::edition::spec_file;

use crate::plan::Plan;
use crate::run_log::{
    self, Ask, Candidate, Content, Diagnostic, Entry, Facts, Judge, Kernel, Log, Mismatch, Number, Outcome,
    Place, Point, RunId, Sequence, Speed, Start, Sweep, TileCoordinate, Verdict,
};
use crate::strategy::{Awaited, Next, Question, Strategy};

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
        found: Some(Number(1.5)),
        expected: Some(Number(0.75)),
        bound: Some(1e-5),
        ratio: Some(2.0),
        tile: vec![TileCoordinate { axis: "m".to_owned(), extent: 64, tile: 1, within: 63 }],
        check: "values".to_owned(),
        region: Some("every last element of a tile".to_owned()),
    };
    Facts { mismatch: Some(mismatch), ..Facts::default() }
}

/// A kernel of this source.
fn kernel(source: &str) -> Kernel {
    Kernel {
        name: "m-00000000".to_owned(),
        identity: run_log::digest(source),
        source: source.to_owned(),
        first_line: Some(1),
        hypothesis: Some(format!("it is {source}")),
        predicted: Some(1.5),
        hints: Vec::new(),
    }
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

    /// The question that is next; it stands in the log then.
    #[track_caller]
    pub(super) fn question(&mut self) -> (Sequence, Question) {
        let Next::Ask(question) = self.next() else { panic!("{:?} and no question", self.next()) };
        let request = self.log.push(Entry::Request(question.request()));
        (request, question)
    }

    /// This is asked next; the prompt. The request stands in the log then, and is awaited alone.
    #[track_caller]
    pub(super) fn asked(&mut self, ask: Ask, about: Option<Sequence>) -> String {
        let (request, question) = self.question();
        assert_eq!((question.ask, question.about), (ask, about));
        let text = question.prompt.text.clone();
        assert_eq!(self.next(), Next::Await(vec![Awaited { request, question }]), "byte for byte");
        text
    }

    /// An answer to the last entry, or a text that was not asked for.
    pub(super) fn answered(&mut self, text: &str, content: Content) -> Sequence {
        let last = Sequence::try_from(self.log.entries.len()).expect("short");
        let request = self.log.request(last).map(|_| last);
        self.answered_to(request, text, content)
    }

    /// An answer to a request, whatever came after it.
    pub(super) fn answered_to(
        &mut self,
        request: Option<Sequence>,
        text: &str,
        content: Content,
    ) -> Sequence {
        let (by, text) = ("a test".to_owned(), text.to_owned());
        self.log.push(Entry::Candidate(Candidate::new(request, by, text, content)))
    }

    /// A kernel with this source.
    pub(super) fn kernel(&mut self, source: &str) -> Sequence {
        self.answered(source, Content::Kernel(kernel(source)))
    }

    /// The same for a request.
    pub(super) fn kernel_for(&mut self, request: Sequence, source: &str) -> Sequence {
        self.answered_to(Some(request), source, Content::Kernel(kernel(source)))
    }

    /// An answer with so many points, which are written.
    #[track_caller]
    pub(super) fn sweep(&mut self, request: Option<Sequence>, source: &str, points: u32) -> Vec<Sequence> {
        let Kernel { hypothesis, predicted, hints, first_line, .. } = kernel(source);
        let source = source.to_owned();
        let text = source.clone();
        let content = Content::Sweep(Sweep { source, points, first_line, hypothesis, predicted, hints });
        let answer = self.answered_to(request, &text, content);
        (0..points)
            .map(|at| self.point(answer, at, Content::Kernel(kernel(&format!("{text} at {at}")))))
            .collect()
    }

    /// The next point of an answer.
    #[track_caller]
    pub(super) fn point(&mut self, answer: Sequence, at: u32, content: Content) -> Sequence {
        assert_eq!(self.next(), Next::Point(answer));
        let values = [("AT".to_owned(), i64::from(at))].into();
        self.log.push(Entry::Point(Point { of: answer, values, content }))
    }

    /// All points are compiled, and then judged in one batch; those that are refused have no part in it.
    #[track_caller]
    pub(super) fn swept(&mut self, points: &[Sequence], came: &[(Outcome, Facts)]) {
        let all = points.iter().copied().zip(came.iter().cloned());
        let (refused, judged): (Vec<_>, Vec<_>) = all.partition(|(_, came)| came.0 == Outcome::Refused);
        for point in points {
            assert_eq!(self.next(), Next::Build(*point));
            match refused.iter().find(|(refused, _)| refused == point) {
                Some((point, came)) => self.verdict(*point, Outcome::Refused, came.1.clone()),
                None => self.verdict(*point, Outcome::Compiled, Facts::default()),
            }
        }
        for (at, (point, (outcome, facts))) in judged.iter().enumerate() {
            let rest = judged[at..].iter().map(|(point, _)| *point).collect();
            assert_eq!(self.next(), Next::Judge(rest), "nothing is decided within a batch");
            self.verdict(*point, *outcome, facts.clone());
        }
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

    /// What is next at every prefix of the log: it is decided alike twice, is what the log goes on with, and nothing that is
    /// recorded is asked for again.
    #[track_caller]
    pub(super) fn decided_at_every_prefix(&self) -> Vec<Next> {
        let count = self.log.entries.len();
        let at = |length: usize| {
            let prefix = Log { start: self.log.start.clone(), entries: self.log.entries[..length].to_vec() };
            let run = Self { plan: self.plan.clone(), log: prefix };
            let decided = run.next();
            assert_eq!(decided, run.next());
            let goes_on = self.log.entries.get(length).is_none_or(|entry| fits(&decided, entry));
            assert!(goes_on, "{length}: {decided:?}");
            run.holds(&decided, &self.log);
            let is_end = matches!(decided, Next::Accept(_) | Next::Done(_));
            assert!(!is_end || length + 1 >= count, "{length} of {count}");
            decided
        };
        (0..=count).map(at).collect()
    }

    /// What was decided on this log, which that one goes on.
    #[track_caller]
    fn holds(&self, decided: &Next, whole: &Log) {
        match decided {
            Next::Ask(question) => {
                assert_eq!(whole.request(self.log.entries.len() as u32 + 1), Some(&question.request()));
            }
            Next::Await(awaited) => {
                assert!(!awaited.is_empty());
                for awaited in awaited {
                    assert!(self.log.answer(awaited.request).is_none());
                    assert_eq!(whole.request(awaited.request), Some(&awaited.question.request()));
                }
            }
            Next::Point(answer) => assert!(self.log.candidate(*answer).is_some()),
            Next::Build(kernel) => assert!(self.log.verdict(*kernel).is_none()),
            Next::Judge(kernels) => {
                let outcome = |kernel: &u32| self.log.verdict(*kernel).map(|verdict| verdict.outcome);
                assert!(kernels.iter().all(|kernel| outcome(kernel) == Some(Outcome::Compiled)));
            }
            Next::Accept(_) | Next::Done(_) => {}
        }
    }
}

/// Whether an entry is what was decided; what is submitted always is.
fn fits(decided: &Next, entry: &Entry) -> bool {
    match (entry, decided) {
        (Entry::Request(_), Next::Ask(_)) => true,
        (Entry::Candidate(candidate), Next::Await(awaited)) => {
            candidate.request.is_none_or(|request| awaited.iter().any(|awaited| awaited.request == request))
        }
        (Entry::Point(point), Next::Point(answer)) => point.of == *answer,
        (Entry::Verdict(verdict), Next::Build(kernel) | Next::Accept(kernel)) => verdict.candidate == *kernel,
        (Entry::Verdict(verdict), Next::Judge(kernels)) => kernels.contains(&verdict.candidate),
        _ => false,
    }
}
