//! How many of a `tune`'s kernels got faster, and what became of the others: its last line. Pure.

use serde::Serialize;

/// What a kernel's search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A tuned entry that is not the locked one.
    Faster,
    /// The locked entry.
    Stays,
    /// Nothing but the naive kernel.
    Naive,
}

/// How many kernels came to what.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event", rename = "tuned")]
pub(super) struct Counts {
    of: usize,
    faster: usize,
    stays: usize,
    naive: usize,
    pub(super) no_template: usize,
    pub(super) not_here: usize,
    pub(super) failed: usize,
    /// How many the package's store has not.
    new: usize,
}

impl Counts {
    /// Nothing yet, of so many.
    pub(super) fn among(of: usize) -> Self {
        Self { of, ..Self::default() }
    }

    /// One more; `is_new` where the package's store has another entry or none.
    pub(super) fn add(&mut self, turn: Turn, is_new: bool) {
        *match turn {
            Turn::Faster => &mut self.faster,
            Turn::Stays => &mut self.stays,
            Turn::Naive => &mut self.naive,
        } += 1;
        self.new += usize::from(is_new);
    }

    /// Whether any kernel had its turn.
    pub(super) fn has_turns(&self) -> bool {
        self.faster + self.stays + self.naive > 0
    }

    /// `1 of 13 faster, 12 have no template; next: cargo cutegen accept`
    pub(super) fn told(&self) -> String {
        let verb = |count, one: &'static str, more: &'static str| if count == 1 { one } else { more };
        let others = [
            (self.stays, verb(self.stays, "stays as locked", "stay as locked")),
            (
                self.naive,
                verb(
                    self.naive,
                    "has nothing faster than its naive kernel",
                    "have nothing faster than their naive kernels",
                ),
            ),
            (self.no_template, verb(self.no_template, "has no template", "have no template")),
            (self.not_here, "cannot be judged on this machine"),
            (self.failed, "failed"),
        ];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others: String = others.map(|(count, what)| format!(", {count} {what}")).collect();
        let next = if self.new > 0 { "; next: cargo cutegen accept" } else { "" };
        format!("{} of {} faster{others}{next}", self.faster, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Turn};

    #[test]
    fn every_kernel_is_counted_once() {
        let mut counts = Counts { of: 13, no_template: 12, ..Counts::default() };
        counts.add(Turn::Faster, true);
        assert_eq!(counts.told(), "1 of 13 faster, 12 have no template; next: cargo cutegen accept");
        let mut counts = Counts { of: 6, no_template: 1, not_here: 2, failed: 1, ..Counts::default() };
        counts.add(Turn::Stays, false);
        counts.add(Turn::Naive, false);
        assert_eq!(
            counts.told(),
            "0 of 6 faster, 1 stays as locked, 1 has nothing faster than its naive kernel, 1 has no template, \
             2 cannot be judged on this machine, 1 failed"
        );
    }
}
