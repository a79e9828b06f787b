//! Planting a slow-down, on models of devices whose true answer is known: noise, a first guess that is far off, waits
//! that are hidden at first, waits that come in steps.

use crate::Test;
use crate::planting::{PLANTED, Planting};

pub(crate) const TESTS: &[Test] = &[
    ("planted::two_percent_on_any_device", two_percent_on_any_device),
    ("planted::what_does_not_slow_down_is_not_verified", what_does_not_slow_down_is_not_verified),
];

const ROUNDS: usize = 6;
const CYCLE_NS: f64 = 0.54;

/// A launch that waits at its end.
#[derive(Clone, Copy, Debug)]
struct Model {
    launch_ns: f64,
    /// Of a wait, what other work hides.
    hidden_ns: f64,
    /// Waits are multiples of it.
    step_ns: f64,
    /// Largest error of a measurement.
    noise: f64,
}

impl Model {
    fn slower(&self, cycles: f64) -> f64 {
        let ns = (cycles * CYCLE_NS / self.step_ns).ceil() * self.step_ns;
        1.0 + (ns - self.hidden_ns).max(0.0) / self.launch_ns
    }

    /// What is planted, and how often it had to be measured.
    fn planted(&self, guess: f64, seed: u64) -> Option<f64> {
        let mut state = seed;
        let mut measure = |wait: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.slower(wait) + self.noise * ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0)
        };
        let mut planting = Planting::default();
        for wait in Planting::around(guess) {
            planting.note(wait, measure(wait));
        }
        (0..ROUNDS).find_map(|_| {
            let wait = planting.next();
            planting.note(wait, measure(wait));
            planting.verified().map(|(wait, _)| wait)
        })
    }
}

fn two_percent_on_any_device() {
    let plain = Model { launch_ns: 1300.0, hidden_ns: 0.0, step_ns: 0.5, noise: 0.0007 };
    let models = [
        plain,
        Model { launch_ns: 35_000.0, step_ns: 15.0, ..plain },
        Model { launch_ns: 3500.0, step_ns: 8.0, ..plain },
        Model { hidden_ns: 20.0, ..plain },
        Model { launch_ns: 3500.0, hidden_ns: 200.0, ..plain },
    ];
    for model in models {
        for off in [0.3, 0.7, 1.0, 1.6, 3.0] {
            for seed in 0..200 {
                let guess = off * 0.02 * model.launch_ns / CYCLE_NS;
                let wait =
                    model.planted(guess, seed).unwrap_or_else(|| panic!("{model:?} from {off}, {seed}"));
                let truly = model.slower(wait);
                assert!((truly - PLANTED).abs() <= 0.0025, "{model:?} from {off}, {seed}: {truly}");
            }
        }
    }
}

fn what_does_not_slow_down_is_not_verified() {
    let plain = Model { launch_ns: 1300.0, hidden_ns: 1e9, step_ns: 0.5, noise: 0.0007 };
    let coarse = Model { hidden_ns: 0.0, step_ns: 40.0, ..plain };
    for model in [plain, coarse] {
        assert_eq!(model.planted(48.0, 7), None, "{model:?}");
    }
}
