//! [`Watch`]: the card while something is timed on it, if anything reads its state here.

use crate::evaluate::device::clocks::{CardId, Clocks, Sample};

/// A card under watch, or why it is not.
pub(super) enum Watch {
    /// There is no card.
    Nothing,
    /// There is one.
    Card(Clocks),
    /// There is one that cannot be read.
    Blind(String),
}

impl Watch {
    pub(super) fn open(card: Option<&CardId>) -> Self {
        match card.map(Clocks::open) {
            None => Watch::Nothing,
            Some(Ok(clocks)) => Watch::Card(clocks),
            Some(Err(reason)) => Watch::Blind(reason),
        }
    }

    /// Notes the card's state now.
    pub(super) fn look(&self, samples: &mut Vec<Sample>) {
        if let Watch::Card(clocks) = self {
            samples.push(clocks.sample());
        }
    }

    /// Why a card is not watched.
    pub(super) fn missing(&self) -> Option<&str> {
        match self {
            Watch::Blind(reason) => Some(reason),
            Watch::Nothing | Watch::Card(_) => None,
        }
    }
}
