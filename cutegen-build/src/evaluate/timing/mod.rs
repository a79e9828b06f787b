//! Timing a candidate against an incumbent, in the judge's process. `blocks` times both in a runner, `batch` many
//! candidates at once, and `torch` what lives in a process of its own.

mod batch;
mod blocks;
pub(in crate::evaluate) mod incumbent;
pub mod peer;
mod rotation;
mod torch;
mod vendor;
mod watch;

use std::rc::Rc;

use incumbent::Unmeasured;
use peer::{Peer, Python, Starting};
use torch::Given;
use watch::Watch;

use crate::evaluate::device::clocks::CardId;
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::MemoryBackend;
use crate::evaluate::judge::checker::Checker;
use crate::evaluate::judge::content::Contents;
use crate::evaluate::judge::runner_slot::Halt;
use crate::outcome::Outcome;

/// What timings need besides what is judged with: the card's clocks, inputs that were drawn, a peer.
pub(super) struct Timer<D: MemoryBackend> {
    /// Inputs of the slots of shapes that were timed last: drawing them anew for every comparison would take most of it.
    drawn: Vec<Drawn<D>>,
    /// What a peer was given last.
    given: Option<Given>,
    /// The slots that were drawn last, for a peer, and their seed.
    contents: Option<(u64, Vec<Rc<Contents>>)>,
    watch: Watch,
    /// The peer worker, once one was needed.
    peer: Option<Peer>,
    /// One that was started ahead of that.
    starting: Option<Starting>,
}

/// Inputs of a rotation's slots.
struct Drawn<D: MemoryBackend> {
    /// What they were drawn from.
    seed: u64,
    bytes: usize,
    held: Rc<D::Drawn>,
}

impl<D: MemoryBackend> Timer<D> {
    /// Nothing was timed yet.
    pub(super) fn new(card: Option<&CardId>) -> Self {
        let (drawn, watch) = (Vec::new(), Watch::open(card));
        Self { drawn, given: None, contents: None, watch, peer: None, starting: None }
    }

    /// See [`Judge::expect_peer`](super::Judge::expect_peer).
    pub(super) fn expect_peer(&mut self, python: Option<&Python>) {
        if self.peer.is_none() && self.starting.is_none() {
            // one that cannot be started is tried again, and told, when it is needed
            self.starting = python.and_then(|python| Starting::begin(python).ok());
        }
    }

    /// Why the card's state is not read, where there is a card.
    pub(super) fn not_watched(&self) -> Option<String> {
        self.watch.missing().map(str::to_owned)
    }
}

/// A timing: what is launched and how it is timed.
pub(super) struct Timing<'a, D: MemoryBackend> {
    pub(super) checker: &'a mut Checker<D>,
    pub(super) timer: &'a mut Timer<D>,
}

/// Which timing of a session this is. Each has inputs of its own, so that what won once must win again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// While candidates are ranked.
    Ranking,
    /// Of a finalist, in a new process and on new inputs.
    Final,
}

/// Why a timing ended early.
enum Halted {
    Unmeasured(Unmeasured),
    Error(Error),
}

impl Halted {
    fn incumbent(reason: String) -> Self {
        Halted::Unmeasured(Unmeasured::Incumbent(reason))
    }
}

impl From<Halt> for Halted {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Outcome(outcome) => Halted::Unmeasured(Unmeasured::Candidate(outcome)),
            Halt::Error(error) => Halted::Error(error),
        }
    }
}

impl From<Outcome> for Halted {
    fn from(outcome: Outcome) -> Self {
        Halt::from(outcome).into()
    }
}

impl From<Error> for Halted {
    fn from(error: Error) -> Self {
        Halted::Error(error)
    }
}
