//! What a log answers when it is asked: the entry of a place, the kernels, the verdicts on one. Each walks the entries; nothing is kept.

use super::{Candidate, Content, Entry, Kernel, Log, Point, Request, Sequence, Verdict};
use crate::experience::Hint;

impl Log {
    /// The entry of a sequence.
    #[must_use]
    pub fn at(&self, sequence: Sequence) -> Option<&Entry> {
        self.entries.get((sequence as usize).checked_sub(1)?)
    }

    /// The request of a sequence.
    #[must_use]
    pub fn request(&self, sequence: Sequence) -> Option<&Request> {
        match self.at(sequence)? {
            Entry::Request(request) => Some(request),
            Entry::Candidate(_) | Entry::Point(_) | Entry::Verdict(_) => None,
        }
    }

    /// The candidate of a sequence.
    #[must_use]
    pub fn candidate(&self, sequence: Sequence) -> Option<&Candidate> {
        match self.at(sequence)? {
            Entry::Candidate(candidate) => Some(candidate),
            Entry::Request(_) | Entry::Point(_) | Entry::Verdict(_) => None,
        }
    }

    /// The point of a sequence.
    #[must_use]
    pub fn point(&self, sequence: Sequence) -> Option<&Point> {
        match self.at(sequence)? {
            Entry::Point(point) => Some(point),
            Entry::Request(_) | Entry::Candidate(_) | Entry::Verdict(_) => None,
        }
    }

    /// What a candidate or a point holds.
    #[must_use]
    pub fn content(&self, sequence: Sequence) -> Option<&Content> {
        match self.at(sequence)? {
            Entry::Candidate(candidate) => Some(&candidate.content),
            Entry::Point(point) => Some(&point.content),
            Entry::Request(_) | Entry::Verdict(_) => None,
        }
    }

    /// The kernel of a candidate or a point, where it is readable and new.
    #[must_use]
    pub fn kernel(&self, sequence: Sequence) -> Option<&Kernel> {
        match self.content(sequence)? {
            Content::Kernel(kernel) => Some(kernel),
            Content::Sweep(_)
            | Content::Words
            | Content::Ideas(_)
            | Content::Repeat { .. }
            | Content::Unreadable(_) => None,
        }
    }

    /// All kernels with their sequences, points among them.
    pub fn kernels(&self) -> impl Iterator<Item = (Sequence, &Kernel)> {
        let all = 1..=Sequence::try_from(self.entries.len()).unwrap_or(Sequence::MAX);
        all.filter_map(|sequence| Some((sequence, self.kernel(sequence)?)))
    }

    /// The points of an answer that were written so far, with their sequences.
    pub fn points(&self, answer: Sequence) -> impl Iterator<Item = (Sequence, &Point)> {
        (1..).zip(&self.entries).filter_map(move |(sequence, entry)| match entry {
            Entry::Point(point) if point.of == answer => Some((sequence, point)),
            Entry::Request(_) | Entry::Candidate(_) | Entry::Point(_) | Entry::Verdict(_) => None,
        })
    }

    /// The answer that a candidate is, or that a point is of.
    #[must_use]
    pub fn reply(&self, sequence: Sequence) -> Sequence {
        self.point(sequence).map_or(sequence, |point| point.of)
    }

    /// What was asked when a candidate came, or the answer that a point is of.
    #[must_use]
    pub fn asked(&self, sequence: Sequence) -> Option<&Request> {
        self.request(self.candidate(self.reply(sequence))?.request?)
    }

    /// All candidates with their sequences.
    pub fn candidates(&self) -> impl Iterator<Item = (Sequence, &Candidate)> {
        (1..).zip(&self.entries).filter_map(|(sequence, entry)| match entry {
            Entry::Candidate(candidate) => Some((sequence, candidate)),
            Entry::Request(_) | Entry::Point(_) | Entry::Verdict(_) => None,
        })
    }

    /// All verdicts with their sequences.
    pub fn verdicts(&self) -> impl Iterator<Item = (Sequence, &Verdict)> {
        (1..).zip(&self.entries).filter_map(|(sequence, entry)| match entry {
            Entry::Verdict(verdict) => Some((sequence, verdict)),
            Entry::Request(_) | Entry::Candidate(_) | Entry::Point(_) => None,
        })
    }

    /// The last verdict on a candidate.
    #[must_use]
    pub fn verdict(&self, candidate: Sequence) -> Option<&Verdict> {
        self.verdicts()
            .filter(|(_, verdict)| verdict.candidate == candidate)
            .last()
            .map(|(_, verdict)| verdict)
    }

    /// Whether a verdict came from another machine.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.verdicts().any(|(_, verdict)| verdict.judge.as_ref().is_some_and(|judge| !judge.place.is_here()))
    }

    /// The hints that prompts may show.
    #[must_use]
    pub fn hints(&self) -> &[Hint] {
        self.start.experience.as_ref().map_or(&[], |frozen| &frozen.hints)
    }

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, request: Sequence) -> Option<(Sequence, &Candidate)> {
        self.candidates().find(|(_, candidate)| candidate.request == Some(request))
    }
}
