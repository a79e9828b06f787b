//! What may be said against an entry's evidence: [`doubts`], which `check` warns of, and [`hold_to`], the package's
//! `min-gate`, below which nothing is linked. Reads records only; bytes and seals are checked before.

use std::collections::BTreeMap;
use std::fmt;

use cutegen_spec::record::{Evidence, GATE, Record, Variant};
use cutegen_spec::target::Target;
use serde::Serialize;

/// Extents of the run-time axes, by name.
pub type Workload = BTreeMap<String, i64>;

/// Something to be said against an entry's evidence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "doubt")]
pub enum Doubt {
    /// No device has judged the variant.
    NotJudged {
        /// The variant.
        variant: String,
    },
    /// It was picked by a cost estimate, and no gate has judged it: builds pass it over.
    Predicted {
        /// The variant.
        variant: String,
    },
    /// A gate that this program does not know judged it, or timed it: no evidence here.
    UnknownGate {
        /// The variant.
        variant: String,
        /// That gate's revision.
        gate: u32,
    },
    /// An earlier gate judged it.
    OlderGate {
        /// The variant.
        variant: String,
        /// That gate's revision.
        gate: u32,
    },
    /// compute-sanitizer has not come out clean, on a target that it is for.
    NotSanitized {
        /// The variant.
        variant: String,
        /// What the evidence says instead.
        sanitizer: String,
    },
    /// The variant that a workload gets was judged at other shapes only.
    WorkloadNotJudged {
        /// The variant.
        variant: String,
        /// The workload.
        workload: Workload,
    },
    /// No shape at which the variant was judged fills one of its tiles.
    TileNotFilled {
        /// The variant.
        variant: String,
        /// The axis, by name.
        axis: String,
        /// What the tile spans of it.
        extent: i64,
    },
    /// The spec declares a workload that nothing was timed at.
    NotTimed {
        /// The workload.
        workload: Workload,
    },
    /// The entry was timed at a workload that the spec does not declare any more.
    NotDeclared {
        /// The workload.
        workload: Workload,
    },
}

/// An entry whose evidence is below a package's `min-gate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BelowGate {
    /// The kernel.
    pub kernel: String,
    /// Its target.
    pub target: String,
    /// The package's `min-gate`.
    pub min: u32,
    /// Variants below it, with the gate that judged each.
    pub variants: Vec<(String, Option<u32>)>,
}

/// All that is to be said against the evidence of `record` for `target`, by a program of this gate, when these `workloads`
/// are declared. An untuned entry is timed at none.
#[must_use]
pub fn doubts(record: &Record, target: &Target, workloads: &[Workload], gate: u32) -> Vec<Doubt> {
    let judged = record.variants.iter().flat_map(|variant| match &variant.evidence {
        None if !variant.is_dispatched() => vec![Doubt::Predicted { variant: variant.name.clone() }],
        None => vec![Doubt::NotJudged { variant: variant.name.clone() }],
        Some(evidence) if evidence.latest_gate() > gate => {
            vec![Doubt::UnknownGate { variant: variant.name.clone(), gate: evidence.latest_gate() }]
        }
        Some(evidence) => {
            let older = || Doubt::OlderGate { variant: variant.name.clone(), gate: evidence.gate };
            let older = (evidence.gate < gate).then(older);
            older.into_iter().chain(unsanitized(variant, evidence, target)).collect()
        }
    });
    judged.chain(drift(record, workloads)).collect()
}

/// Host code is not compute-sanitizer's.
fn unsanitized(variant: &Variant, evidence: &Evidence, target: &Target) -> Option<Doubt> {
    let sanitizer = evidence.sanitizer.clone();
    let is_open = !target.is_host() && !evidence.is_sanitized();
    is_open.then(|| Doubt::NotSanitized { variant: variant.name.clone(), sanitizer })
}

fn drift(record: &Record, declared: &[Workload]) -> Vec<Doubt> {
    if !record.is_tuned() {
        return Vec::new();
    }
    let evidence = record.variants.iter().filter_map(Variant::judged);
    let mut timed: Vec<&Workload> =
        evidence.flat_map(|evidence| &evidence.timings).map(|timing| &timing.workload).collect();
    timed.sort_unstable();
    timed.dedup();
    let new = declared.iter().filter(|workload| !timed.contains(workload));
    let new = new.map(|workload| Doubt::NotTimed { workload: workload.clone() });
    let gone = timed.iter().filter(|workload| !declared.contains(workload));
    new.chain(gone.map(|workload| Doubt::NotDeclared { workload: (*workload).clone() })).collect()
}

/// Whether every variant that builds dispatch among was judged by gate `min` or a later one that this program knows. One
/// that nothing has judged was not.
pub fn hold_to(min: Option<u32>, kernel: &str, target: &str, record: &Record) -> Result<(), BelowGate> {
    let Some(min) = min else { return Ok(()) };
    let is_below = |variant: &&Variant| variant.judged().is_none_or(|evidence| evidence.gate < min);
    let gate = |evidence: &Evidence| if evidence.is_known() { evidence.gate } else { evidence.latest_gate() };
    let below = record.variants.iter().filter(|variant| variant.is_dispatched()).filter(is_below);
    let variants: Vec<_> = below.map(|v| (v.name.clone(), v.evidence.as_ref().map(gate))).collect();
    if variants.is_empty() {
        return Ok(());
    }
    Err(BelowGate { kernel: kernel.to_owned(), target: target.to_owned(), min, variants })
}

/// Whether one of the shapes that were judged is that of the workload.
#[must_use]
pub fn has_judged(evidence: &Evidence, workload: &Workload) -> bool {
    evidence
        .shapes
        .iter()
        .map(|shape| by_axis(shape))
        .any(|shape| workload.iter().all(|(axis, extent)| shape.get(axis.as_str()) == Some(extent)))
}

/// Whether one of the shapes that were judged is as long as this along the axis.
#[must_use]
pub fn has_filled(evidence: &Evidence, axis: &str, extent: i64) -> bool {
    evidence.shapes.iter().any(|shape| by_axis(shape).get(axis).is_some_and(|judged| *judged >= extent))
}

/// A shape of evidence, `m = 7, n = 64`.
fn by_axis(shape: &str) -> BTreeMap<&str, i64> {
    let axes = shape.split(", ").filter_map(|axis| axis.split_once(" = "));
    axes.filter_map(|(axis, extent)| Some((axis, extent.parse().ok()?))).collect()
}

/// `m=7 n=64`
#[must_use]
pub fn extents(workload: &Workload) -> String {
    let axes: Vec<String> = workload.iter().map(|(axis, extent)| format!("{axis}={extent}")).collect();
    axes.join(" ")
}

impl Doubt {
    /// The variant, when it is about one.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        match self {
            Doubt::NotJudged { variant }
            | Doubt::Predicted { variant }
            | Doubt::UnknownGate { variant, .. }
            | Doubt::OlderGate { variant, .. }
            | Doubt::NotSanitized { variant, .. }
            | Doubt::WorkloadNotJudged { variant, .. }
            | Doubt::TileNotFilled { variant, .. } => Some(variant),
            Doubt::NotTimed { .. } | Doubt::NotDeclared { .. } => None,
        }
    }

    /// Where, when it is about a variant at one workload or tile: `m=96`.
    #[must_use]
    pub fn at(&self) -> Option<String> {
        match self {
            Doubt::WorkloadNotJudged { workload, .. } => Some(extents(workload)),
            Doubt::TileNotFilled { axis, extent, .. } => Some(format!("{axis}={extent}")),
            Doubt::NotJudged { .. }
            | Doubt::Predicted { .. }
            | Doubt::UnknownGate { .. }
            | Doubt::OlderGate { .. }
            | Doubt::NotSanitized { .. }
            | Doubt::NotTimed { .. }
            | Doubt::NotDeclared { .. } => None,
        }
    }

    /// Whether judging again ends it. What the gate cannot afford it cannot afford again.
    #[must_use]
    pub fn ends_by_judging(&self) -> bool {
        match self {
            Doubt::NotJudged { .. }
            | Doubt::Predicted { .. }
            | Doubt::UnknownGate { .. }
            | Doubt::OlderGate { .. }
            | Doubt::NotSanitized { .. } => true,
            Doubt::WorkloadNotJudged { .. }
            | Doubt::TileNotFilled { .. }
            | Doubt::NotTimed { .. }
            | Doubt::NotDeclared { .. } => false,
        }
    }
}

/// Without the variant's name and its workload, so that one line can say it of many.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NotJudged { .. } => f.write_str("not judged"),
            Doubt::Predicted { .. } => f.write_str("predicted and never judged, so the naive kernel runs"),
            Doubt::UnknownGate { gate, .. } => {
                write!(f, "judged or timed by gate {gate}, later than gate {GATE}: no evidence here")
            }
            Doubt::OlderGate { gate, .. } => write!(f, "judged by gate {gate}, older than gate {GATE}"),
            // a tool's report has many lines
            Doubt::NotSanitized { sanitizer, .. } => {
                write!(
                    f,
                    "compute-sanitizer did not come out clean ({})",
                    sanitizer.lines().next().unwrap_or("nothing said")
                )
            }
            Doubt::WorkloadNotJudged { .. } => f.write_str("judged at other shapes, and never at a workload"),
            Doubt::TileNotFilled { .. } => {
                f.write_str("judged at shapes that fill none of its tiles along an axis")
            }
            Doubt::NotTimed { workload } => write!(f, "workload {} was never timed", extents(workload)),
            Doubt::NotDeclared { workload } => {
                write!(f, "workload {} was timed and is not declared any more", extents(workload))
            }
        }
    }
}

impl BelowGate {
    /// Which variants, without the way out.
    #[must_use]
    pub fn why(&self) -> String {
        let Self { kernel, target, min, variants } = self;
        let line = |(variant, gate): &(String, Option<u32>)| match gate {
            Some(gate) if *gate > GATE => {
                format!(
                    "\n  {variant}: judged or timed by gate {gate}, later than gate {GATE}: no evidence here"
                )
            }
            Some(gate) => format!("\n  {variant}: judged by gate {gate}"),
            None => format!("\n  {variant}: not judged, which is below every gate"),
        };
        let variants: String = variants.iter().map(line).collect();
        format!("kernel `{kernel}` for {target}: its evidence is below min-gate = {min}{variants}")
    }
}

impl fmt::Display for BelowGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, target, min, .. } = self;
        writeln!(f, "{}", self.why())?;
        if *min > GATE {
            writeln!(f, "  this version of CuTeGen judges by gate {GATE}")?;
            return f
                .write_str("in a newer checkout of it, run: cargo install --locked --path cargo-cutegen");
        }
        write!(f, "run: cargo cutegen verify {kernel} --target {target} --record")
    }
}

impl std::error::Error for BelowGate {}

#[cfg(test)]
mod tests {
    use cutegen_spec::record::{Evidence, GATE, Kind, Record, TimedBy, Timing};
    use cutegen_spec::target::Target;

    use super::{Doubt, Workload, has_filled, has_judged, hold_to};
    use crate::store::sample;

    fn at(m: i64) -> Workload {
        Workload::from([("m".to_owned(), m)])
    }

    fn judged(gate: u32, timed: &[i64]) -> Option<Evidence> {
        let timing = |m: &i64| Timing { workload: at(*m), ..Timing::default() };
        let (timings, sanitizer) = (timed.iter().map(timing).collect(), "clean: memcheck".to_owned());
        Some(Evidence { gate, timings, sanitizer, ..Evidence::default() })
    }

    fn doubts(record: &Record, workloads: &[Workload], gate: u32) -> Vec<Doubt> {
        super::doubts(record, &Target::parse("sm_90a").expect("a target"), workloads, gate)
    }

    /// A tuned entry whose variants, `fast` and `naive`, were judged so.
    fn record(fast: Option<Evidence>, naive: Option<Evidence>) -> Record {
        let (mut record, _) = sample::entry(1);
        record.variants[0].evidence = fast;
        record.variants[1].evidence = naive;
        record
    }

    #[test]
    fn each_doubt_has_its_cause() {
        let name = |name: &str| name.to_owned();
        let fresh = record(judged(2, &[7, 64]), judged(2, &[]));
        assert_eq!(doubts(&fresh, &[at(64), at(7)], 2), []);
        let old = doubts(&fresh, &[at(64), at(7)], 3);
        let older = |variant| Doubt::OlderGate { variant: name(variant), gate: 2 };
        assert_eq!(old, [older("fast"), older("naive")]);
        let half = record(judged(2, &[7]), None);
        let drifted = [Doubt::NotJudged { variant: name("naive") }, Doubt::NotTimed { workload: at(64) }];
        assert_eq!(doubts(&half, &[at(7), at(64)], 2), drifted);
        let gone = [Doubt::NotTimed { workload: at(9) }, Doubt::NotDeclared { workload: at(7) }];
        assert_eq!(doubts(&record(judged(2, &[7]), judged(2, &[])), &[at(9)], 2), gone);
        // what was never searched was never to be timed
        let (untuned, _) = sample::untuned();
        assert_eq!(doubts(&untuned, &[at(9)], 2), [Doubt::NotJudged { variant: name("naive") }]);
    }

    /// Whoever writes a record can write any number.
    #[test]
    fn a_gate_that_is_not_known_is_no_evidence() {
        let by = |gate| Some(TimedBy { gate, device: "NVIDIA H200".to_owned() });
        let judged_later = judged(u32::MAX, &[7]);
        let timed_later = judged(GATE, &[7]).map(|old| Evidence { timed_by: by(u32::MAX), ..old });
        let timed_before = judged(GATE, &[7]).map(|old| Evidence { timed_by: by(2), ..old });
        for later in [judged_later, timed_later] {
            let forged = record(later, judged(GATE, &[]));
            let doubt = Doubt::UnknownGate { variant: "fast".to_owned(), gate: u32::MAX };
            let untimed = Doubt::NotTimed { workload: at(7) };
            assert_eq!(doubts(&forged, &[at(7)], GATE), [doubt, untimed], "its timings do not count either");
            assert_eq!(forged.variants[0].judged(), None);
            let below = hold_to(Some(1), "relu", "host", &forged).expect_err("not judged");
            assert_eq!(below.variants, [("fast".to_owned(), Some(u32::MAX))]);
            assert!(below.why().ends_with("no evidence here"), "{}", below.why());
        }
        let kept = record(timed_before, judged(GATE, &[]));
        assert_eq!(
            (doubts(&kept, &[at(7)], GATE), hold_to(Some(GATE), "relu", "host", &kept)),
            (vec![], Ok(()))
        );
    }

    #[test]
    fn a_workload_is_judged_where_all_its_extents_are_one_shape() {
        let shapes = ["m = 1, n = 64, k = 128", "m = 40, n = 96, k = 128"].map(str::to_owned).to_vec();
        let evidence = Evidence { shapes, ..Evidence::default() };
        let at = |m, n| Workload::from([("m".to_owned(), m), ("n".to_owned(), n)]);
        assert!(has_judged(&evidence, &at(40, 96)) && has_judged(&evidence, &Workload::new()));
        for other in [at(1, 96), at(4, 96), at(40, 960)] {
            assert!(!has_judged(&evidence, &other), "{other:?}");
        }
        assert!(has_filled(&evidence, "m", 40) && has_filled(&evidence, "n", 64));
        assert!(!has_filled(&evidence, "m", 41) && !has_filled(&evidence, "other", 1));
    }

    #[test]
    fn on_a_device_compute_sanitizer_is_to_be_clean() {
        let of = |sanitizer: &str| Evidence {
            sanitizer: sanitizer.to_owned(),
            ..judged(2, &[7]).expect("judged")
        };
        for clean in ["clean", "clean: memcheck, racecheck, initcheck, synccheck"] {
            assert_eq!(doubts(&record(Some(of(clean)), Some(of(clean))), &[at(7)], 2), []);
        }
        for open in ["not run: memcheck ended with None\nand so on", "cleaner", ""] {
            let both = record(Some(of("clean")), Some(of(open)));
            let doubt = Doubt::NotSanitized { variant: "naive".to_owned(), sanitizer: open.to_owned() };
            assert_eq!(doubts(&both, &[at(7)], 2), std::slice::from_ref(&doubt));
            assert_eq!(doubt.to_string().lines().count(), 1, "a warning is a line");
            assert_eq!(super::doubts(&both, &Target::host(), &[at(7)], 2), [], "host code");
            assert_eq!(hold_to(Some(2), "relu", "sm_90a", &both), Ok(()), "min-gate is about the gate");
            let old = doubts(&both, &[at(7)], 3);
            assert_eq!((old.len(), old.last()), (3, Some(&doubt)), "each is said: {old:?}");
        }
    }

    #[test]
    fn a_predicted_variant_is_doubted_until_it_is_judged_and_holds_no_build_up() {
        let predicted = |fast, naive| {
            let mut record = record(fast, naive);
            record.variants[0].kind = Kind::Predicted;
            record
        };
        let open = predicted(None, judged(GATE, &[]));
        let doubt = Doubt::Predicted { variant: "fast".to_owned() };
        assert_eq!(doubts(&open, &[at(7)], GATE), std::slice::from_ref(&doubt), "nothing was to be timed");
        assert!(doubt.ends_by_judging() && doubt.to_string().ends_with("the naive kernel runs"));
        assert_eq!(hold_to(Some(GATE), "relu", "sm_86", &open), Ok(()), "it is not linked");
        let passed = predicted(judged(GATE, &[]), judged(GATE, &[]));
        assert_eq!(doubts(&passed, &[at(7)], GATE), []);
        let old = predicted(judged(1, &[]), judged(GATE, &[]));
        let below = hold_to(Some(GATE), "relu", "sm_86", &old).expect_err("it is linked");
        assert_eq!(below.variants, [("fast".to_owned(), Some(1))]);
    }

    #[test]
    fn a_variant_below_the_gate_or_unjudged_is_held() {
        let both = record(judged(1, &[]), judged(2, &[]));
        assert_eq!(hold_to(None, "relu", "host", &record(None, None)), Ok(()));
        assert_eq!(hold_to(Some(1), "relu", "host", &both), Ok(()));
        let below = hold_to(Some(2), "relu", "host", &both).expect_err("gate 1");
        assert_eq!(below.variants, [("fast".to_owned(), Some(1))]);
        let unjudged = hold_to(Some(1), "relu", "host", &record(judged(1, &[]), None)).expect_err("unjudged");
        assert_eq!(
            unjudged.to_string(),
            "kernel `relu` for host: its evidence is below min-gate = 1\n  naive: not judged, which is below \
             every gate\nrun: cargo cutegen verify relu --target host --record"
        );
        let future =
            hold_to(Some(GATE + 1), "relu", "host", &record(judged(GATE, &[]), judged(GATE + 1, &[])));
        assert_eq!(
            future.expect_err("nothing here can reach it").to_string(),
            format!(
                "kernel `relu` for host: its evidence is below min-gate = {0}\n  fast: judged by gate {GATE}\n  \
                 naive: judged or timed by gate {0}, later than gate {GATE}: no evidence here\n  this version of CuTeGen judges by gate {GATE}\nin a newer checkout of it, run: \
                 cargo install --locked --path cargo-cutegen",
                GATE + 1
            )
        );
    }
}
