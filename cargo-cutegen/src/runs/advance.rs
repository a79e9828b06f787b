//! [`Advance`]: takes the steps of one run that this machine can take, and says what the run waits for.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cutegen_build::generate::answers;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Candidate, Entry, LogFile, Sequence, Verdict, digest};
use cutegen_build::search::{SearchError, Searcher};
use cutegen_build::store;
use cutegen_build::strategy::{Awaited, Next, Question, Stop, Strategy};

use super::exchange::Exchange;
use super::failed;
use super::generator::{Answer, Asked, Generator};
use crate::failure::Failure;
use crate::output::Output;

/// One run on its way.
pub(crate) struct Advance<'a> {
    pub(crate) searcher: &'a Searcher,
    pub(crate) plan: &'a Plan,
    pub(crate) strategy: Strategy,
    pub(crate) file: LogFile,
    /// What judging needs of ours.
    pub(crate) kept: PathBuf,
    /// Prompts and answers.
    pub(crate) exchange: PathBuf,
    /// What is locked and to be beaten.
    pub(crate) locked: Option<store::Entry>,
    pub(crate) asking: Asking<'a>,
    /// After it no step begins that takes long.
    pub(crate) deadline: Option<Instant>,
    pub(crate) out: &'a Output,
}

/// Whether generators are asked.
#[derive(Clone, Copy)]
pub(crate) enum Asking<'a> {
    /// Yes, this one, of this name.
    Of(&'a Generator, &'a str),
    /// No: requests are another machine's to make.
    Nothing,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// Answers are awaited, in any order.
    Replies(Vec<(Sequence, Exchange)>),
    /// A request is to be made, which this command does not.
    Request,
    /// A device is awaited; this machine lacks it.
    Verdicts(Unjudged),
    /// The deadline has passed before a step that takes long.
    Late,
    /// It is at its end.
    Done(Stop),
}

/// What a device is awaited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unjudged {
    pub(crate) candidates: Vec<Sequence>,
    /// Why this machine cannot judge them.
    pub(crate) why: String,
    /// Answers that are awaited besides.
    pub(crate) open: Vec<(Sequence, Exchange)>,
}

impl Advance<'_> {
    /// Takes steps until there is none that this machine can take.
    pub(crate) fn run(&mut self) -> Result<Stand, Failure> {
        loop {
            let next = self.strategy.next(self.plan, self.file.log());
            if self.is_late() && self.takes_long(&next) {
                return Ok(Stand::Late);
            }
            if let Some(stand) = self.step(next)? {
                return Ok(stand);
            }
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether a step compiles, judges or asks something that answers while one waits. A batch is one step: it is judged whole.
    fn takes_long(&self, next: &Next) -> bool {
        match next {
            Next::Build(_) | Next::Judge(_) | Next::Accept(_) => true,
            Next::Await(_) => {
                matches!(self.asking, Asking::Of(generator, _) if !matches!(generator, Generator::Exchange))
            }
            Next::Ask(_) | Next::Point(_) | Next::Done(_) => false,
        }
    }

    /// Takes one step, or says what it waits for.
    fn step(&mut self, next: Next) -> Result<Option<Stand>, Failure> {
        match next {
            Next::Ask(question) => self.request(&question),
            Next::Await(awaited) => Ok(self.answers(&awaited)?.map(Stand::Replies)),
            Next::Point(answer) => self.point(answer).map(|()| None),
            Next::Build(candidate) => {
                let verdict = self.searcher.build(self.plan, self.file.log(), candidate);
                self.take(verdict).map(|()| None)
            }
            Next::Judge(candidates) => self.on_device(&candidates, Self::judge),
            Next::Accept(candidate) => self.on_device(&[candidate], Self::decide),
            Next::Done(stop) => Ok(Some(Stand::Done(stop))),
        }
    }

    fn request(&mut self, question: &Question) -> Result<Option<Stand>, Failure> {
        if matches!(self.asking, Asking::Nothing) {
            return Ok(Some(Stand::Request));
        }
        self.file.append(Entry::Request(question.request())).map_err(failed)?;
        Ok(None)
    }

    /// Takes the first answer that there is by now, else what is open. Each question is put before one waits: answers come in
    /// any order.
    fn answers(&mut self, awaited: &[Awaited]) -> Result<Option<Vec<(Sequence, Exchange)>>, Failure> {
        let mut open = Vec::new();
        for Awaited { request, question } in awaited {
            let exchange = Exchange::of(&self.exchange, *request);
            let answer = match self.asking {
                Asking::Of(generator, by) => {
                    self.asked(*request, question, (generator, &exchange))?.map(|answer| (answer, by))
                }
                Asking::Nothing => None,
            };
            match answer {
                Some((answer, by)) => return self.answered(*request, answer, by).map(|()| None),
                None => open.push((*request, exchange)),
            }
        }
        Ok(Some(open))
    }

    fn asked(
        &self,
        request: Sequence,
        question: &Question,
        (generator, exchange): (&Generator, &Exchange),
    ) -> Result<Option<Answer>, Failure> {
        self.same_prompt(request, question)?;
        let folder = self.file.path().parent().unwrap_or(Path::new(".")).to_owned();
        let asked = Asked { run: &self.file.log().start.run, folder: &folder, request, question };
        generator.answer(exchange, &asked)
    }

    fn answered(&mut self, request: Sequence, answer: Answer, by: &str) -> Result<(), Failure> {
        answer.note.iter().for_each(|note| self.out.note(note));
        let content = answers::read(self.plan, self.file.log(), Some(request), &answer.text);
        let took_ms = answer.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let by = answer.by.unwrap_or_else(|| by.to_owned());
        let Answer { text, usage, sent_bytes, .. } = answer;
        let candidate = Candidate { request: Some(request), by, text, content, took_ms, usage, sent_bytes };
        self.file.append(Entry::Candidate(candidate)).map(drop).map_err(failed)
    }

    /// Writes the next point of an answer.
    fn point(&mut self, answer: Sequence) -> Result<(), Failure> {
        let point = answers::point(self.plan, self.file.log(), answer).ok_or_else(|| {
            let (run, path) = (&self.file.log().start.run, self.file.path().display());
            Failure::Disagreement(format!(
                "{path}: answer {answer} of {run} has other points by now\nsee where: cargo cutegen replay --run {run}"
            ))
        })?;
        self.file.append(Entry::Point(point)).map(drop).map_err(failed)
    }

    /// A prompt is a function of the log: where it gives another one, the log or this program is not what it was.
    fn same_prompt(&self, request: Sequence, question: &Question) -> Result<(), Failure> {
        let recorded = self.file.log().request(request).map(|recorded| recorded.prompt);
        if recorded == Some(digest(&question.prompt.text)) {
            return Ok(());
        }
        let (run, path) = (&self.file.log().start.run, self.file.path().display());
        Err(Failure::Disagreement(format!(
            "{path}: request {request} of {run} gives another prompt by now\nsee where: cargo cutegen replay --run {run}"
        )))
    }

    /// Has this machine's device judge, where it has one. Where not, what a device needs of ours is compiled here, and further
    /// answers are taken: one trip to a device is for all of them.
    fn on_device(
        &mut self,
        candidates: &[Sequence],
        judge: fn(&mut Self, &[Sequence]) -> Result<(), Failure>,
    ) -> Result<Option<Stand>, Failure> {
        match self.searcher.can_judge_foreign(&self.plan.target) {
            Ok(()) => judge(self, candidates).map(|()| None),
            Err(why) => {
                let awaited = self.strategy.awaited(self.plan, self.file.log());
                let Some(open) = self.answers(&awaited)? else { return Ok(None) };
                self.searcher.prepare(self.plan, &self.kept).map_err(|error| self.failure(&error))?;
                Ok(Some(Stand::Verdicts(Unjudged { candidates: candidates.to_vec(), why, open })))
            }
        }
    }

    fn judge(&mut self, candidates: &[Sequence]) -> Result<(), Failure> {
        let (plan, log) = (self.plan, self.file.log().clone());
        let mut refused = None;
        let mut told = |verdict: Verdict| {
            // what could not be written once is not followed by what can
            if refused.is_none() {
                refused = self.file.append(Entry::Verdict(verdict)).err();
            }
            Ok(())
        };
        let mut events = self.out.reporter();
        let judged = self.searcher.judge(plan, &log, candidates, &self.kept, &mut told, &mut events);
        drop(events);
        if let Some(error) = refused {
            return Err(failed(error));
        }
        judged.map_err(|error| self.failure(&error))
    }

    fn decide(&mut self, candidates: &[Sequence]) -> Result<(), Failure> {
        for candidate in candidates {
            self.accept(*candidate)?;
        }
        Ok(())
    }

    fn accept(&mut self, candidate: Sequence) -> Result<(), Failure> {
        let mut events = self.out.reporter();
        let log = self.file.log();
        let verdict = self.searcher.decide(self.plan, log, self.locked.as_ref(), candidate, &mut events);
        drop(events);
        self.take(verdict)
    }

    fn take(&mut self, verdict: Result<Verdict, SearchError>) -> Result<(), Failure> {
        let verdict = verdict.map_err(|error| self.failure(&error))?;
        self.file.append(Entry::Verdict(verdict)).map(drop).map_err(failed)
    }

    fn failure(&self, error: &SearchError) -> Failure {
        Failure::search(&self.plan.title(), error)
    }
}
