//! Settings of a strategy as a log's first line has them: counts, shares, and levers, which are on or off.

use crate::run_log::Start;

/// Whether something is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lever {
    /// It is, unless the log says otherwise.
    On,
    /// It is not.
    Off,
}

impl Lever {
    /// The lever of this name; 0 is off.
    pub(super) fn of(start: &Start, name: &str) -> Self {
        if start.setting(name, 1.0) == 0.0 { Self::Off } else { Self::On }
    }

    pub(super) fn is_on(self) -> bool {
        self == Self::On
    }
}

/// A whole number; a negative one, or none, is zero.
pub(super) fn count(start: &Start, name: &str, default: usize) -> usize {
    start.setting(name, default as f64).clamp(0.0, 1e6) as usize
}
