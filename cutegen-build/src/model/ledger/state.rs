//! [`State`]: what the lines of a ledger come to.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Amount, LedgerError, Line, Over};

/// All reservations of a ledger.
#[derive(Debug, Default)]
pub(super) struct State {
    all: BTreeMap<u64, Held>,
}

/// A reservation.
#[derive(Debug)]
struct Held {
    run: String,
    request: String,
    reserved: Amount,
    /// What was booked, and whether the request was lost.
    booked: Option<(Amount, bool)>,
    over: Option<Over>,
}

impl State {
    pub(super) fn of(path: &Path, whole: &str) -> Result<Self, LedgerError> {
        let mut state = Self::default();
        for (number, line) in (1..).zip(whole.lines()) {
            let wrong = |why: String| LedgerError::Line(path.to_owned(), number, why);
            let line = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            state.take(line).map_err(|why| wrong(why.to_owned()))?;
        }
        Ok(state)
    }

    fn take(&mut self, line: Line) -> Result<(), &'static str> {
        match line {
            Line::Reserved { id, run, request, amount } => {
                let held = Held { run, request, reserved: amount, booked: None, over: None };
                if self.all.insert(id, held).is_some() {
                    return Err("this number was reserved before");
                }
            }
            Line::Booked { id, amount, is_lost, over, .. } => {
                let held = self.all.get_mut(&id).ok_or("nothing was reserved under this number")?;
                if held.booked.replace((amount, is_lost)).is_some() {
                    return Err("this number was booked before");
                }
                held.over = over;
            }
        }
        Ok(())
    }

    /// A number that no reservation has.
    pub(super) fn next(&self) -> u64 {
        self.all.last_key_value().map_or(1, |(id, _)| id.saturating_add(1))
    }

    pub(super) fn spent(&self) -> Amount {
        let amounts = self.all.values().map(|held| held.booked.map_or(held.reserved, |(amount, _)| amount));
        amounts.fold(Amount::default(), |all, one| Amount {
            tokens: all.tokens.saturating_add(one.tokens),
            micro_dollars: all.micro_dollars.saturating_add(one.micro_dollars),
        })
    }

    /// How often a request was sent and its fate is unknown. An open reservation is one of them.
    pub(super) fn lost(&self, run: &str, request: &str) -> usize {
        let same = self.all.values().filter(|held| held.run == run && held.request == request);
        same.filter(|held| held.booked.is_none_or(|(_, is_lost)| is_lost)).count()
    }

    /// Of a run, what was reported beyond its reservation. Lines of older programs do not say so, but their amounts do.
    pub(super) fn over(&self, run: &str) -> Option<Over> {
        self.all.values().filter(|held| held.run == run).find_map(|held| {
            let (booked, _) = held.booked?;
            held.over.or_else(|| Over::between(booked, held.reserved))
        })
    }
}
