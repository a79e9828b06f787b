//! How long something must wait so that it takes a given share longer: a line through a few measurements, then
//! corrections along it until one of them is close enough. It must not know what is measured, or how.

/// What is planted, slow over plain.
pub(crate) const PLANTED: f64 = 1.02;
/// How far a measurement that verifies it may be off: the rest of what passes for 2 % is left to the next ones.
const CLOSE: f64 = 0.0015;
/// Below it a wait may have been hidden, and says nothing of what a longer one adds.
const EXPOSED: f64 = 1.005;

/// Measured waits, the last one last: each with how much slower it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planting {
    points: Vec<(f64, f64)>,
}

impl Planting {
    /// Waits to begin with, around a guess of the right one.
    pub(crate) fn around(guess: f64) -> [f64; 3] {
        [0.5 * guess, guess, 2.0 * guess]
    }

    /// Notes what a wait was measured to do.
    pub(crate) fn note(&mut self, wait: f64, slower: f64) {
        self.points.push((wait, slower));
    }

    /// The last measurement, if it verifies its wait.
    pub(crate) fn verified(&self) -> Option<(f64, f64)> {
        self.points.last().copied().filter(|(_, slower)| (slower - PLANTED).abs() <= CLOSE)
    }

    /// The wait to measure next: from the last one along the slope of all. Longer than any before where nothing shows
    /// yet.
    pub(crate) fn next(&self) -> f64 {
        let longest = self.points.iter().map(|(wait, _)| *wait).fold(0.0, f64::max);
        let (Some((wait, slower)), Some(slope)) = (self.points.last(), self.slope()) else {
            return 2.0 * longest;
        };
        (wait + (PLANTED - slower) / slope).clamp(0.25 * wait, 4.0 * longest)
    }

    /// What a little more of waiting adds: least squares over the measurements in which waiting shows.
    fn slope(&self) -> Option<f64> {
        let shown = || self.points.iter().filter(|(_, slower)| *slower >= EXPOSED);
        let count = shown().count() as f64;
        let (wait, slower) = shown().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let (wait, slower) = (wait / count, slower / count);
        let (both, square) = shown().fold((0.0, 0.0), |sum, point| {
            let away = point.0 - wait;
            (sum.0 + away * (point.1 - slower), sum.1 + away * away)
        });
        Some(both / square).filter(|slope| slope.is_finite() && *slope > 0.0)
    }
}
