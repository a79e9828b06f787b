//! [`Session`]: what a `verify` has seen so far, and where that goes: lines, records, results, and what is held against
//! kernels in the end. Judges nothing.

use std::time::{Duration, Instant};

use cutegen_build::discover::Project;
use cutegen_build::pipeline::trust;
use cutegen_build::plan::Plan;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::digest::CacheKey;
use cutegen_spec::record::{GATE, Record};
use serde::Serialize;

use super::{Kernel, Seen, whole_entry};
use crate::failure::{Failure, Failures};
use crate::outfile::Kept;
use crate::output::Output;
use crate::pack;
use crate::skipped::Skipped;

/// Results are written anew once this many times the seconds have passed that writing them took.
const SELDOM: u32 = 10;

/// What is known of a kernel or a variant now.
pub(super) enum Verdict {
    /// Shown to be right.
    Right(String),
    /// Not shown to be right.
    Wrong(String),
    /// Nothing: this machine cannot judge it.
    NotJudged(String),
}

/// One verdict, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line {
    kernel: String,
    ok: bool,
    verdict: String,
}

/// What was seen so far, and where that goes.
pub(super) struct Session<'a> {
    project: &'a Project,
    store: &'a Store,
    out: &'a Output,
    kept: Kept<'a>,
    /// When results were written last, and how long that took.
    written: Option<(Instant, Duration)>,
    recorded: Vec<CacheKey>,
    failed: Failures,
    skipped: Skipped,
}

impl<'a> Session<'a> {
    pub(super) fn new((project, store): (&'a Project, &'a Store), kept: Kept<'a>, out: &'a Output) -> Self {
        let (recorded, failed, skipped) = (Vec::new(), Failures::default(), Skipped::default());
        Self { project, store, out, kept, written: None, recorded, failed, skipped }
    }

    /// The pinned entries, but for what `is_done`, which belongs to the results, and what cannot be read, which is told.
    pub(super) fn kernels(
        &mut self,
        plans: Vec<Plan>,
        is_done: impl Fn(&Plan, &Record) -> bool,
    ) -> Result<Vec<Kernel>, Failure> {
        let lock = lock_file::read(&self.project.lock).map_err(Failure::project)?;
        let mut kernels = Vec::new();
        for plan in plans {
            match whole_entry(self.project, &lock, self.store, &plan) {
                Ok(entry) if is_done(&plan, &entry.record) => self.recorded.push(plan.key),
                Ok(entry) => kernels.push((plan, entry)),
                Err(failure) => not_seen(&plan, failure, (&mut self.failed, self.out)),
            }
        }
        if !self.recorded.is_empty() {
            self.out.note(&format!("kernels recorded by gate {GATE} already: {}", self.recorded.len()));
            self.write();
        }
        Ok(kernels)
    }

    /// Writes and tells what was seen of a kernel.
    pub(super) fn take(&mut self, (plan, entry): &Kernel, seen: Result<Seen, Failure>) {
        let mut below = trust(plan, self.project, &entry.record).err();
        let verdict = match seen {
            Ok(Seen::NotJudged(why)) => Ok(Verdict::NotJudged(why)),
            Ok(Seen::Passed(outcome)) => Ok(Verdict::Right(outcome)),
            Ok(Seen::Refused(outcome)) => Ok(Verdict::Wrong(outcome)),
            Ok(Seen::Fresh(record)) => {
                below = trust(plan, self.project, &record).err();
                self.record(plan, entry, &record)
            }
            Err(failure) => Err(failure),
        };
        match verdict {
            Ok(Verdict::NotJudged(why)) => self.leave(plan, &why),
            Ok(verdict) => verdict.tell(plan, (&mut self.failed, self.out)),
            Err(failure) => return not_seen(plan, failure, (&mut self.failed, self.out)),
        }
        below.into_iter().for_each(|below| self.failed.add(Failure::project(below)));
    }

    /// Replaces the entry's record.
    fn record(&mut self, plan: &Plan, entry: &Entry, record: &Record) -> Result<Verdict, Failure> {
        let written = self.store.restate(entry, record);
        written.map_err(|error| Failure::machine_at(&plan.title(), error))?;
        self.recorded.push(plan.key);
        let is_due = self.written.is_none_or(|(at, took)| at.elapsed() > took * SELDOM);
        if is_due {
            self.write();
        }
        let variants = record.variants.len();
        Ok(Verdict::Right(format!("judged by gate {GATE} and recorded: {variants} variants passed")))
    }

    /// Says that nothing is known of a kernel, for programs now and for people at the end.
    pub(super) fn leave(&mut self, plan: &Plan, why: &str) {
        self.out.value(&Line { kernel: plan.title(), ok: false, verdict: why.to_owned() });
        self.skipped.add(plan.title(), why.to_owned());
    }

    /// Writes the results so far.
    fn write(&mut self) {
        let began = Instant::now();
        let (store, recorded) = (self.store, &self.recorded);
        self.kept.write(|file| pack::write_results(store, recorded, file));
        self.written = Some((Instant::now(), began.elapsed()));
    }

    pub(super) fn end(mut self) -> Result<(), Failure> {
        if !self.recorded.is_empty() {
            self.write();
        }
        for line in self.skipped.lines() {
            self.out.remark(&line);
            self.failed.add(Failure::Machine(line));
        }
        self.kept.end((&mut self.failed, self.out));
        self.failed.end("not verified:\n")
    }
}

/// Prints that nothing was seen of a kernel, and why.
pub(super) fn not_seen(plan: &Plan, failure: Failure, (failed, out): (&mut Failures, &Output)) {
    let line = Line { kernel: plan.title(), ok: false, verdict: failure.to_string() };
    out.result(&line.verdict, &line);
    failed.add(failure);
}

impl Verdict {
    /// Prints it, and keeps what it says against the kernel.
    pub(super) fn tell(self, plan: &Plan, (failed, out): (&mut Failures, &Output)) {
        let line = Line { kernel: plan.title(), ok: self.is_right(), verdict: self.text().to_owned() };
        let text = format!("{}: {}", line.kernel, line.verdict);
        out.result(&text, &line);
        match self {
            Verdict::Right(_) => {}
            Verdict::Wrong(_) => failed.add(Failure::Disagreement(text)),
            Verdict::NotJudged(_) => failed.add(Failure::Machine(text)),
        }
    }

    fn is_right(&self) -> bool {
        matches!(self, Verdict::Right(_))
    }

    fn text(&self) -> &str {
        match self {
            Verdict::Right(text) | Verdict::Wrong(text) | Verdict::NotJudged(text) => text,
        }
    }
}
