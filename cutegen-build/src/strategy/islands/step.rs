//! [`Step`]: the requests of one turn of an island, from a first kernel, a change or a failed kernel to what comes of it, and where
//! they stand. Knows entries of the log, and no prompt.

use crate::run_log::{Ask, Content, Log, Sequence};
use crate::strategy::points;

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// A kernel from nothing.
    Seed,
    /// A change of this kernel.
    Change {
        /// That one.
        parent: Sequence,
    },
    /// A kernel that failed.
    Repair {
        /// That one.
        of: Sequence,
    },
}

/// Requests of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub island: usize,
    pub aim: Aim,
    /// In order; at least one.
    pub requests: Vec<Sequence>,
    /// The answer to the last request.
    pub answer: Option<Sequence>,
}

/// What is to be asked next in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// The same as that request, whose answer repeats this attempt.
    Again { request: Sequence, repeated: Sequence },
    /// This answer as a whole source.
    Whole(Sequence),
    /// The change to this kernel that the words on it describe.
    Patch(Sequence),
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// An answer is awaited.
    Awaits,
    /// It goes on so.
    Open(Move),
    /// It is over; with the kernel that came of it, if any.
    Over(Option<Sequence>),
}

impl Step {
    /// What a request opens that goes on with no step.
    pub(super) fn opened(island: usize, request: Sequence, aim: Aim) -> Self {
        Self { island, aim, requests: vec![request], answer: None }
    }

    /// The request that waits, or was answered last.
    pub(super) fn last(&self) -> Sequence {
        *self.requests.last().expect("a step begins with a request")
    }

    pub(super) fn stand(&self, log: &Log) -> Stand {
        let last = self.last();
        let Some(answer) = self.answer else { return Stand::Awaits };
        let asked = log.request(last);
        if let Some((Ask::Diagnose, Some(of))) = asked.map(|request| (request.ask, request.about)) {
            return Stand::Open(Move::Patch(of));
        }
        let is_corrected = self.corrections(log) > 0;
        let kernel = points::chosen(log, answer);
        match log.content(kernel) {
            Some(Content::Kernel(_)) => Stand::Over(Some(kernel)),
            // until all of its points were seen
            Some(Content::Sweep(_)) => Stand::Awaits,
            // each of these is asked for once more
            _ if is_corrected => Stand::Over(None),
            Some(Content::Repeat { of }) => Stand::Open(Move::Again { request: last, repeated: *of }),
            Some(Content::Words | Content::Ideas(_) | Content::Unreadable(_)) | None => {
                Stand::Open(Move::Whole(answer))
            }
        }
    }

    /// Requests that correct an answer: all but the first, and but the change behind a diagnosis.
    fn corrections(&self, log: &Log) -> usize {
        let words = self
            .requests
            .iter()
            .filter(|request| log.request(**request).is_some_and(|request| request.ask == Ask::Diagnose));
        self.requests.len() - 1 - words.count().min(self.requests.len() - 1)
    }
}
