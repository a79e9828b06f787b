//! A finalist's times against every incumbent that there is, and the rule by which they win.
//!
//! The naive kernel must be beaten, and so must what is locked; cuBLASLt and PyTorch are there to be compared with. One of
//! those that is not on this machine, or cannot do the math, is told in words.

use std::collections::BTreeSet;

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::dispatch;
use cutegen_spec::record::{Clocks, incumbent};
use cutegen_spec::tensor::Role;

use crate::evaluate::device::clocks::{Sample, Spread, Throttle};
use crate::evaluate::timing::peer::Mode;
use crate::evaluate::wire::gemm::gemm_of;
use crate::evaluate::wire::protocol::Regime;
use crate::evaluate::{Candidate, Comparison, Incumbent, Measured, Outcome, Unmeasured};
use crate::plan::family::Family;
use crate::plan::{Plan, roofline};
use crate::refine::geomean;
use crate::search::error::SearchError;
use crate::search::judging::Judging;

/// Under whose name a spec has PyTorch's expression.
const TORCH: &str = "torch";

/// What the lower end over a locked entry must exceed. One interval in forty of a kernel against its equal lies above 1,
/// and each `tune --again` times several finalists: without a margin one of them would soon replace its equal. The A/A bar
/// holds at this margin. A spec's `min-speedup` says what a tuned kernel must gain to be worth having in place of the naive
/// one; that may be much, and what is locked has gained it.
const OVER_LOCKED: f64 = 1.01;

/// A workload's times against an incumbent.
#[derive(Clone, Debug)]
pub(in crate::search) struct Timed {
    /// Position of the workload.
    pub(in crate::search) workload: usize,
    /// The member of the variant set that is dispatched there.
    pub(in crate::search) member: usize,
    /// What it was timed against.
    pub(in crate::search) incumbent: &'static str,
    /// Which one that was, in words, where its name does not say all.
    pub(in crate::search) about: Option<String>,
    /// What the incumbent computes otherwise than the spec asks.
    pub(in crate::search) differs: Option<String>,
    /// The roof of the device, microseconds.
    pub(in crate::search) roof_us: Option<f64>,
    /// In bursts of at most 50 ms: what decides.
    pub(in crate::search) burst: Comparison,
    /// Without pause for three seconds, where it is the heaviest.
    pub(in crate::search) sustained: Option<Comparison>,
    /// The card meanwhile.
    samples: Vec<Sample>,
}

/// All times of a finalist, and what it was not timed against, with the reason.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Times {
    pub(in crate::search) timed: Vec<Timed>,
    pub(in crate::search) not_timed: BTreeSet<String>,
    /// Which of these is worth timing without pause, and which variant of the set against which incumbent.
    pub(super) heaviest: Option<Heaviest>,
}

/// The timing in bursts that is worth one without pause, should the variant set win.
#[derive(Clone, Debug)]
pub(super) struct Heaviest {
    /// Its place among the timings.
    at: usize,
    against: Incumbent,
}

/// A variant of the entry that a search may replace.
#[derive(Clone, Debug)]
pub(in crate::search) struct Locked {
    pub(in crate::search) candidate: Candidate,
    /// Of its judged bytes.
    pub(in crate::search) digest: ArtifactDigest,
}

/// Times finalists of one plan.
pub(super) struct Clock<'a> {
    pub(super) plan: &'a Plan,
    pub(super) judge: &'a mut Judging,
    pub(super) workloads: &'a [Vec<i64>],
    pub(super) naive: &'a Candidate,
    /// In dispatch order; empty where nothing is locked.
    pub(super) locked: &'a [Locked],
    /// Whether PyTorch is asked.
    pub(super) peers: bool,
}

impl Clock<'_> {
    /// Every workload against every incumbent in bursts, by the variant of `list` that is dispatched there. The naive kernel is behind
    /// those that have a digest.
    pub(super) fn time(
        &mut self,
        list: &[Candidate],
        digests: &[ArtifactDigest],
    ) -> Result<Result<Times, Outcome>, SearchError> {
        let (mut times, mut lasting) = (Times::default(), Vec::new());
        for workload in 0..self.workloads.len() {
            let Some(member) = self.dispatched(list, workload) else { continue };
            for (name, against) in self.incumbents(workload, digests.get(member)) {
                match self.burst(&list[member], (name, &against), workload)? {
                    Ok(timed) => {
                        if lasts(self.plan, &against, &timed.burst) {
                            lasting.push((times.timed.len(), against));
                        }
                        times.timed.push(Timed { member, ..timed });
                    }
                    Err(unmeasured) => match told(name, unmeasured) {
                        Ok(reason) => drop(times.not_timed.insert(reason)),
                        Err(outcome) => return Ok(Err(*outcome)),
                    },
                }
            }
        }
        times.heaviest = heaviest(&times.timed, lasting);
        Ok(Ok(times))
    }

    /// Which of these variants the runtime would launch at a workload, on memory as allocators give it.
    fn dispatched<'l>(
        &self,
        list: impl IntoIterator<Item = &'l Candidate>,
        workload: usize,
    ) -> Option<usize> {
        let claims: Vec<_> = list.into_iter().map(|c| (&c.eligibility, &c.prefer)).collect();
        dispatch(&claims, &self.workloads[workload], &vec![0; self.plan.spec.tensors.len()])
    }

    /// What is to be beaten, and what is compared with.
    fn incumbents(&self, workload: usize, digest: Option<&ArtifactDigest>) -> Vec<(&'static str, Incumbent)> {
        let mut all = vec![(incumbent::NAIVE, Incumbent::Variant(self.naive.clone()))];
        let locked = self.dispatched(self.locked.iter().map(|locked| &locked.candidate), workload);
        // nothing is raced against itself
        if let Some(locked) = locked.map(|at| &self.locked[at]).filter(|l| Some(&l.digest) != digest) {
            all.push((incumbent::LOCKED, Incumbent::Variant(locked.candidate.clone())));
        }
        all.extend(libraries(self.plan, &self.workloads[workload], self.peers));
        all
    }

    fn burst(
        &mut self,
        gate: &Candidate,
        (name, against): (&'static str, &Incumbent),
        workload: usize,
    ) -> Result<Result<Timed, Unmeasured>, SearchError> {
        let axes = &self.workloads[workload];
        let roof_us = roofline::micros(self.plan, axes);
        let burst = self.judge.measure(gate, against, axes, Regime::Burst)?;
        Ok(burst.map(|burst| timed((name, workload), roof_us, burst)))
    }
}

impl Heaviest {
    /// That timing of the variant set once more, without pause, where power decides; why there is none, where that is the
    /// incumbent's.
    pub(super) fn without_pause(
        &self,
        judge: &mut Judging,
        (set, workloads): (&[Candidate], &[Vec<i64>]),
        timed: &mut [Timed],
    ) -> Result<Result<Option<String>, Outcome>, SearchError> {
        let timed = &mut timed[self.at];
        let axes = &workloads[timed.workload];
        Ok(match judge.measure(&set[timed.member], &self.against, axes, Regime::Sustained)? {
            Ok(measured) => {
                timed.lasted(measured);
                Ok(None)
            }
            Err(unmeasured) => told(timed.incumbent, unmeasured)
                .map(|reason| Some(format!("{reason}, without pause")))
                .map_err(|outcome| *outcome),
        })
    }
}

/// Other people's kernels for this math, on a device: to be compared with.
pub(in crate::search) fn libraries(plan: &Plan, axes: &[i64], peers: bool) -> Vec<(&'static str, Incumbent)> {
    let mut all = Vec::new();
    if plan.target.is_host() {
        return all;
    }
    if let Some(gemm) = gemm_of(plan, axes) {
        all.push((incumbent::CUBLASLT, Incumbent::CublasLt(gemm)));
    }
    if let Some(text) = plan.spec.peers.get(TORCH).filter(|_| peers) {
        all.push((incumbent::TORCH_EAGER, Incumbent::Torch(text.clone(), Mode::Eager)));
        all.push((incumbent::TORCH_COMPILE, Incumbent::Torch(text.clone(), compiled(plan))));
    }
    all
}

/// How PyTorch compiles its expression: it looks for the best kernels of products, as an engine would have it, but for those of
/// wide elements: those it multiplies without tensor cores, and its search took more than five minutes of the device.
fn compiled(plan: &Plan) -> Mode {
    let spec = &plan.spec;
    let is_wide = |at: usize| spec.tensors[at].dtype.bits() > 16;
    match plan.family {
        Family::Contraction { .. } if !spec.tensors_with(Role::Input).all(is_wide) => {
            Mode::CompileMaxAutotune
        }
        _ => Mode::Compile,
    }
}

/// Whether PyTorch can be asked: it has an expression, and there is a device.
pub(in crate::search) fn has_peer(plan: &Plan) -> bool {
    !plan.target.is_host() && plan.spec.peers.contains_key(TORCH)
}

/// Whether a timing without pause says anything after this one in bursts.
pub(in crate::search) fn lasts(plan: &Plan, against: &Incumbent, burst: &Comparison) -> bool {
    !plan.target.is_host() && !matches!(against, Incumbent::Torch(..)) && burst.may_last()
}

/// Of these, the workload that takes longest against the incumbent that is fastest there.
fn heaviest(timed: &[Timed], lasting: Vec<(usize, Incumbent)>) -> Option<Heaviest> {
    let burst = |at: usize| &timed[at].burst;
    let longest = lasting.iter().max_by(|a, b| burst(a.0).candidate_us.total_cmp(&burst(b.0).candidate_us));
    let workload = timed[longest?.0].workload;
    let there = lasting.into_iter().filter(|(at, _)| timed[*at].workload == workload);
    let fastest = there.min_by(|a, b| burst(a.0).incumbent_us.total_cmp(&burst(b.0).incumbent_us));
    fastest.map(|(at, against)| Heaviest { at, against })
}

/// Why a time is missing, in words, where that is the incumbent's; the naive kernel is always there.
fn told(name: &str, unmeasured: Unmeasured) -> Result<String, Box<Outcome>> {
    match unmeasured {
        Unmeasured::Candidate(outcome) => Err(outcome),
        Unmeasured::Incumbent(reason) if name == incumbent::NAIVE => {
            Err(Box::new(Outcome::Blocked(format!("the naive kernel {reason}"))))
        }
        Unmeasured::Incumbent(reason) => Ok(format!("{name}: {reason}")),
    }
}

/// A timing in bursts.
pub(in crate::search) fn timed(
    (incumbent, workload): (&'static str, usize),
    roof_us: Option<f64>,
    burst: Measured,
) -> Timed {
    let Measured { comparison, device: _, samples, about, differs } = burst;
    let (member, sustained) = (0, None);
    Timed { workload, member, incumbent, about, differs, roof_us, burst: comparison, sustained, samples }
}

impl Timed {
    /// Adds one without pause.
    pub(in crate::search) fn lasted(&mut self, measured: Measured) {
        self.sustained = Some(measured.comparison);
        self.samples.extend(measured.samples);
    }

    /// The card meanwhile; none where it did not say all of it.
    pub(in crate::search) fn clocks(&self) -> Option<Clocks> {
        clocks(&self.samples)
    }
}

/// What the record says of the card; nothing where it did not say all of it.
fn clocks(samples: &[Sample]) -> Option<Clocks> {
    let Spread { sm_mhz, memory_mhz, power_mw, throttle, .. } = Spread::of(samples);
    let ends = |(low, high): (u32, u32)| [low, high];
    let slows = throttle.into_iter().flatten().filter(|reason: &Throttle| reason.slows());
    Some(Clocks {
        sm_mhz: ends(sm_mhz?),
        mem_mhz: ends(memory_mhz?),
        watts: ends(power_mw?).map(|mw| (mw + 500) / 1000),
        throttle: slows.map(|reason| reason.to_string()).collect(),
    })
}

/// Geometric mean of the speed-ups over the naive kernel.
pub(super) fn speedup(timed: &[Timed]) -> f64 {
    over(timed, incumbent::NAIVE, |burst| burst.speedup).unwrap_or(1.0)
}

/// Whether the lower ends of the intervals, together, clear the spec's margin over the naive kernel, and [`OVER_LOCKED`]
/// over what is locked.
pub(super) fn wins(timed: &[Timed], min_speedup: f64) -> bool {
    let low = |incumbent| over(timed, incumbent, |burst| burst.low);
    low(incumbent::NAIVE).unwrap_or(1.0) > min_speedup
        && low(incumbent::LOCKED).is_none_or(|low| low > OVER_LOCKED)
}

/// Whether other bytes than the locked ones are dispatched at some workload.
pub(super) fn has_raced(timed: &[Timed]) -> bool {
    timed.iter().any(|timed| timed.incumbent == incumbent::LOCKED)
}

fn over(timed: &[Timed], incumbent: &str, figure: fn(&Comparison) -> f64) -> Option<f64> {
    let figures: Vec<f64> =
        timed.iter().filter(|t| t.incumbent == incumbent).map(|t| figure(&t.burst)).collect();
    (!figures.is_empty()).then(|| geomean(&figures))
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::target::Target;

    use super::{
        Comparison, Incumbent, Measured, Mode, Plan, Sample, Throttle, Timed, clocks, heaviest, incumbent,
        libraries, speedup, timed, wins,
    };

    fn race(incumbent: &'static str, workload: usize, low: f64) -> Timed {
        let comparison = Comparison {
            candidate_us: 10.0,
            incumbent_us: 10.5 * low,
            speedup: 1.05 * low,
            low,
            high: 1.1 * low,
            samples: 30,
            pairs: Vec::new(),
        };
        let (device, samples) = (String::new(), Vec::new());
        let measured = Measured { comparison, device, samples, about: None, differs: None };
        timed((incumbent, workload), None, measured)
    }

    #[test]
    fn products_meet_the_best_that_torch_compiles() {
        let mode = |tensors: &str, math: &str| {
            let text = format!(
                "edition = 1\n[kernels.k]\naxes = {{ m = 64, n = 64, k = 64 }}\n{tensors}\nmath = '{math}'\npeers = {{ torch = 'x' }}\n"
            );
            let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
            let plan = Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"));
            let all = libraries(&plan, &[64, 64, 64], true);
            let compiled = all.into_iter().find(|(name, _)| *name == incumbent::TORCH_COMPILE);
            match compiled.expect("it has an expression").1 {
                Incumbent::Torch(_, mode) => mode,
                other => panic!("{other:?}"),
            }
        };
        let product = "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }";
        assert_eq!(mode(product, "y[m, n] = sum(k, x[m, k] * w[n, k])"), Mode::CompileMaxAutotune);
        let wide = "inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";
        assert_eq!(mode(wide, "y[m, n] = sum(k, x[m, k] * w[n, k])"), Mode::Compile);
        let map = "inputs = { x = 'bf16[m, n]' }\noutputs = { y = 'bf16[m, n]' }";
        assert_eq!(mode(map, "y[m, n] = relu(x[m, n])"), Mode::Compile);
    }

    #[test]
    fn a_win_clears_the_naive_kernel_and_the_lock() {
        let naive = [race(incumbent::NAIVE, 0, 4.0), race(incumbent::NAIVE, 1, 1.0)];
        assert!(wins(&naive, 1.9) && !wins(&naive, 2.1), "the mean of 4 and 1 is 2");
        let with = |more: &[Timed]| [&naive, more].concat();
        let over_locked = |low| wins(&with(&[race(incumbent::LOCKED, 0, low)]), 1.9);
        assert!(over_locked(1.02), "what a spec asks over the naive kernel is not asked once more");
        assert!(!over_locked(0.99) && !over_locked(1.005), "what is locked stays, before its equal too");
        let mixed = [race(incumbent::LOCKED, 0, 1.04), race(incumbent::LOCKED, 1, 0.99)];
        assert!(wins(&with(&mixed), 1.9), "the workloads together");
        assert!(!wins(&[race(incumbent::NAIVE, 0, 4.0), race(incumbent::LOCKED, 0, 1.005)], 1.0));
        let slower = with(&[race(incumbent::CUBLASLT, 0, 0.5), race(incumbent::TORCH_EAGER, 0, 0.5)]);
        assert!(wins(&slower, 1.9), "those are shown, and decide nothing");
        assert!((speedup(&slower) - 2.1).abs() < 1e-9, "over the naive kernel alone: {}", speedup(&slower));
        assert!(!wins(&[], 1.0), "nothing was timed");
    }

    #[test]
    fn one_timing_lasts() {
        let took = |workload, candidate_us, incumbent_us| {
            let mut timed = race(incumbent::NAIVE, workload, 1.0);
            (timed.burst.candidate_us, timed.burst.incumbent_us) = (candidate_us, incumbent_us);
            timed
        };
        let timed = [took(0, 3.0, 9.0), took(1, 8.0, 90.0), took(1, 8.1, 8.5), took(2, 30.0, 40.0)];
        let all = |positions: &[usize]| {
            let any = || Incumbent::Torch(String::new(), Mode::Eager);
            heaviest(&timed, positions.iter().map(|at| (*at, any())).collect()).map(|heaviest| heaviest.at)
        };
        assert_eq!(all(&[0, 1, 2]), Some(2), "the longest workload, and what is fastest there");
        assert_eq!(all(&[0, 1, 2, 3]), Some(3));
        assert_eq!(all(&[]), None);
    }

    #[test]
    fn clocks_are_of_both_loads_and_of_a_card_that_tells_all() {
        let sample = |sm, mw, why: &[Throttle]| Sample {
            sm_mhz: Some(sm),
            memory_mhz: Some(3201),
            power_mw: Some(mw),
            temperature_c: None,
            throttle: Some(why.iter().copied().collect()),
        };
        let idle = sample(1980, 80_400, &[Throttle::GpuIdle]);
        let capped = sample(1755, 699_600, &[Throttle::SwPowerCap]);
        let seen = clocks(&[idle.clone(), capped]).expect("all of it");
        assert_eq!((seen.sm_mhz, seen.mem_mhz, seen.watts), ([1755, 1980], [3201, 3201], [80, 700]));
        assert_eq!(seen.throttle, ["power limit"], "an idle card is not held down");
        assert_eq!(clocks(&[Sample { power_mw: None, ..idle }]), None);
        assert_eq!(clocks(&[]), None);
    }
}
