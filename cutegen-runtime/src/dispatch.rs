//! What `explain()` says: which variants of a kernel there are, in the order in which dispatch tries them.
//! Data and its print-out; the choice itself is plain Rust in the emitted file.

use std::fmt;

/// How a variant came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Won a search, judged and timed.
    Tuned,
    /// Picked by a cost estimate, judged and never timed.
    Predicted,
    /// Compiled from the math as it stands, correct on the whole domain.
    Untuned,
    /// Scalar Rust printed from the math; `host` only.
    Fallback,
}

/// One variant, as the record describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name in the record.
    pub name: &'static str,
    /// How it came to be.
    pub origin: Origin,
    /// Where it may run, as a condition on axes and alignment; empty for everywhere.
    pub eligible: &'static str,
    /// Where it is tried first; empty for everywhere it is eligible.
    pub preferred: &'static str,
    /// The device that its time was measured on; empty where evidence names none, as on a CPU.
    pub tuned_on: &'static str,
}

/// A kernel's variants on one device, in dispatch order. Prints as a short table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// The kernel.
    pub kernel: &'static str,
    /// The target dispatched to.
    pub target: &'static str,
    /// The device or CPU at hand.
    pub device: String,
    /// Variants, first tried first.
    pub variants: Vec<Variant>,
    /// Those that are passed over here.
    pub left_out: Vec<LeftOut>,
    /// Other targets that run here.
    pub passed_over: Vec<PassedOver>,
}

/// A variant whose blocks need more shared memory than the device gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name in the record.
    pub name: &'static str,
    /// Bytes that a block needs.
    pub needed: u32,
    /// Bytes that a block can have.
    pub found: u32,
}

/// A target that the device runs too, and that another one goes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The target.
    pub target: &'static str,
    /// Why.
    pub why: Why,
}

/// Why another target goes before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The best that it has came to be in this way, and the other one has better.
    Origin(Origin),
    /// The other one is made for fewer devices, or newer ones.
    Fit,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(f, "is {origin}"),
            Self::Fit => f.write_str("fits the device less"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tuned => "tuned",
            Self::Predicted => "predicted",
            Self::Untuned => "untuned",
            Self::Fallback => "fallback",
        })
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} for {} on {}", self.kernel, self.target, self.device)?;
        let width = self.variants.iter().map(|variant| variant.name.len()).max().unwrap_or(0);
        for (i, variant) in self.variants.iter().enumerate() {
            write!(f, "  {}. {:width$}  {:9} ", i + 1, variant.name, variant.origin)?;
            match (variant.eligible, variant.preferred) {
                ("", "") => f.write_str("always")?,
                (eligible, "") => write!(f, "where {eligible}")?,
                ("", preferred) => write!(f, "preferred for {preferred}")?,
                (eligible, preferred) => write!(f, "preferred for {preferred}, where {eligible}")?,
            }
            match (variant.origin, variant.tuned_on) {
                (Origin::Tuned, "") => writeln!(f, "; tuned for {}", self.target)?,
                (Origin::Predicted, _) => writeln!(f, "; by a cost estimate, never timed")?,
                (Origin::Untuned | Origin::Fallback, "") => writeln!(f)?,
                (_, device) if device == self.device => writeln!(f, "; tuned on this device")?,
                (_, device) => writeln!(f, "; tuned on {device}, not on this one")?,
            }
        }
        for LeftOut { name, needed, found } in &self.left_out {
            writeln!(f, "  left out: {name} needs {needed} bytes of shared memory a block, of {found} here")?;
        }
        for PassedOver { target, why } in &self.passed_over {
            writeln!(f, "  passed over: {target} runs here too, and {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_in_dispatch_order() {
        let naive =
            Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" };
        let vector = Variant {
            name: "vector8",
            origin: Origin::Tuned,
            eligible: "n % 8 == 0",
            preferred: "n >= 4096",
            tuned_on: "NVIDIA H200",
        };
        let explain = |device: &str| Explain {
            kernel: "silu_mul",
            target: "sm_90a",
            device: device.to_owned(),
            variants: vec![vector, naive],
            left_out: Vec::new(),
            passed_over: Vec::new(),
        };
        assert_eq!(
            explain("NVIDIA H200").to_string(),
            "silu_mul for sm_90a on NVIDIA H200\n\
             \x20 1. vector8  tuned     preferred for n >= 4096, where n % 8 == 0; tuned on this device\n\
             \x20 2. naive    untuned   always\n"
        );
        let left_out = vec![LeftOut { name: "ring", needed: 166_912, found: 101_376 }];
        let smaller = Explain { variants: vec![naive], left_out, ..explain("NVIDIA L40S") };
        assert_eq!(
            smaller.to_string(),
            "silu_mul for sm_90a on NVIDIA L40S\n\
             \x20 1. naive  untuned   always\n\
             \x20 left out: ring needs 166912 bytes of shared memory a block, of 101376 here\n"
        );
        assert!(explain("NVIDIA H100").to_string().contains("tuned on NVIDIA H200, not on this one"));
        let on_a_cpu = Explain {
            kernel: "silu_mul",
            target: "x86-64-v3",
            device: "x86-64-v4".to_owned(),
            variants: vec![Variant { eligible: "", preferred: "", tuned_on: "", ..vector }, naive],
            left_out: Vec::new(),
            passed_over: Vec::new(),
        };
        assert_eq!(
            on_a_cpu.to_string(),
            "silu_mul for x86-64-v3 on x86-64-v4\n\
             \x20 1. vector8  tuned     always; tuned for x86-64-v3\n\
             \x20 2. naive    untuned   always\n"
        );
    }
    #[test]
    fn says_what_is_predicted_and_which_targets_are_passed_over() {
        let of = |name, origin| Variant { name, origin, eligible: "", preferred: "", tuned_on: "" };
        let passed = |target, why| PassedOver { target, why };
        let explain = Explain {
            kernel: "silu_mul",
            target: "sm_86",
            device: "NVIDIA A10".to_owned(),
            variants: vec![of("vector8", Origin::Predicted), of("naive", Origin::Untuned)],
            left_out: Vec::new(),
            passed_over: vec![passed("sm_86:a10", Why::Origin(Origin::Untuned)), passed("sm_80", Why::Fit)],
        };
        assert_eq!(
            explain.to_string(),
            "silu_mul for sm_86 on NVIDIA A10\n\
             \x20 1. vector8  predicted always; by a cost estimate, never timed\n\
             \x20 2. naive    untuned   always\n\
             \x20 passed over: sm_86:a10 runs here too, and is untuned\n\
             \x20 passed over: sm_80 runs here too, and fits the device less\n"
        );
    }
}
