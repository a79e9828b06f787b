//! [`Tally`]: what became of all evaluations.

use std::collections::BTreeMap;

/// Counts, and a line for each surprise.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Honest evaluations, each over every distribution.
    pub(crate) honest: usize,
    /// Those that the gate rejects.
    pub(crate) rejected: Vec<String>,
    /// Mutants that change a bit somewhere.
    pub(crate) mutants: usize,
    /// Those that the gate accepts.
    pub(crate) accepted: Vec<String>,
    /// Mutants whose outputs equal those of the kernel that they were made of, bit by bit on every case.
    pub(crate) unchanged: Vec<String>,
    /// Rejected mutants by the check that they fell to.
    pub(crate) by: BTreeMap<String, usize>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.honest += other.honest;
        self.mutants += other.mutants;
        self.rejected.extend(other.rejected);
        self.accepted.extend(other.accepted);
        self.unchanged.extend(other.unchanged);
        other.by.into_iter().for_each(|(check, count)| *self.by.entry(check).or_default() += count);
    }

    /// A mutant that fell to `check`.
    pub(crate) fn caught(&mut self, check: &str) {
        self.mutants += 1;
        *self.by.entry(check.to_owned()).or_default() += 1;
    }

    /// A mutant that passed everywhere.
    pub(crate) fn passed(&mut self, mutant: String, is_unchanged: bool) {
        if is_unchanged {
            self.unchanged.push(mutant);
        } else {
            self.mutants += 1;
            self.accepted.push(mutant);
        }
    }

    pub(crate) fn words(&self) -> String {
        let Tally { honest, rejected, mutants, accepted, unchanged, by } = self;
        let (rejected, accepted, unchanged) = (rejected.len(), accepted.len(), unchanged.len());
        let by: Vec<String> = by.iter().map(|(check, count)| format!("{check} {count}")).collect();
        format!(
            "{honest} honest evaluations, {rejected} rejected; {mutants} mutants, {accepted} accepted ({}); \
             {unchanged} more changed no bit",
            by.join(", ")
        )
    }
}
