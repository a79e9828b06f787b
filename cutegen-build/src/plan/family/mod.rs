//! [`Family`]: what a kernel's loops look like, and why it is in no faster family, in words.

mod alias;
mod attention;
pub(crate) mod contraction;
mod rows;
mod shape;
mod simple;

use cutegen_spec::spec::KernelSpec;

use super::schedule::{Schedule, Value};
use alias::Identity;
pub use contraction::Roles;
pub(super) use contraction::products;
pub use rows::{Access, MemoryOrder, Merge, Reduced, Rows, constant};
use shape::Reduction;
pub use simple::{Contraction, Elementwise, Operand, Rowwise, lacking};

/// What a kernel's loops look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// Sums of products, then an elementwise epilogue.
    Contraction {
        /// What its axes are to it.
        roles: Roles,
        /// The tensors that are multiplied, scales left out.
        operands: Vec<usize>,
        /// What the present templates fill, if they can.
        plain: Option<Contraction>,
    },
    /// No reduction.
    Elementwise {
        /// What the present templates fill, if they can.
        plain: Option<Elementwise>,
    },
    /// Every reduction runs whole over the same axes, all else is elementwise in the rest; or some then run over all of
    /// the rest.
    Rowwise {
        /// The reduced axes.
        over: Vec<usize>,
        /// What the `host` templates fill, if they can.
        plain: Option<Rowwise>,
        /// What the templates of devices fill, if they can.
        rows: Option<Rows>,
    },
    /// A reduction of every prefix along an axis.
    Scan {
        /// The axis.
        along: usize,
    },
    /// A reduction over accesses whose index mixes a free and a reduced axis: convolution, pooling.
    Window,
    /// Anything else: the naive kernel only.
    General {
        /// What it resembles.
        class: Class,
        /// Why it is in no faster family.
        why: String,
    },
}

/// What a kernel of no family resembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Two contractions around a softmax over the axis they share.
    Attention,
    /// Several reductions of different shapes.
    FusedGraph,
}

impl Family {
    /// The word a spec's `family` asserts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Family::Contraction { .. } => "contraction",
            Family::Elementwise { .. } => "elementwise",
            Family::Rowwise { .. } => "rowwise",
            Family::Scan { .. } => "scan",
            Family::Window => "window",
            Family::General { .. } => "general",
        }
    }

    /// Whether a spec that asserts `word` means this: `attention` and `fused graph` are classes of `general`.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        let class = match self {
            Family::General { class: Class::Attention, .. } => "attention",
            Family::General { class: Class::FusedGraph, .. } => "fused graph",
            other => other.name(),
        };
        word == self.name() || word == class
    }

    /// Why it is in no faster family, when it is in none.
    #[must_use]
    pub fn why_general(&self) -> Option<&str> {
        match self {
            Family::General { why, .. } => Some(why),
            Family::Contraction { .. }
            | Family::Elementwise { .. }
            | Family::Rowwise { .. }
            | Family::Scan { .. }
            | Family::Window => None,
        }
    }
}

/// Finds the family of a schedule.
#[must_use]
pub fn classify(spec: &KernelSpec, schedule: &Schedule) -> Family {
    let identity = &Identity::of(spec, schedule);
    let reductions: Vec<Reduction> =
        schedule.steps.iter().filter_map(|step| Reduction::of(spec, schedule, identity, step)).collect();
    if reductions.is_empty() {
        return Family::Elementwise { plain: simple::elementwise(spec, schedule) };
    }
    let scan = schedule.steps.iter().find_map(|step| match &step.value {
        Value::Scan { along, .. } => Some(schedule.vars[*along]),
        Value::Map(_) | Value::Reduce { .. } => None,
    });
    if let Some(along) = scan
        && reductions.iter().all(|r| r.is_scan || (r.is_whole && r.over == [identity.axis(along)]))
    {
        return Family::Scan { along };
    }
    if let Some((roles, operands)) = contraction::roles(spec, schedule, identity) {
        return Family::Contraction { roles, operands, plain: simple::contraction(spec, schedule) };
    }
    if reductions.iter().all(|r| r.is_whole && !r.slides && r.over == reductions[0].over) {
        let over = reductions[0].over.clone();
        let (plain, rows) = (simple::rowwise(spec, schedule, identity), rows::rows(spec, schedule, identity));
        return Family::Rowwise { over, plain, rows };
    }
    if reductions.iter().all(|r| r.is_whole && !r.slides)
        && let Some(rows) = rows::rows(spec, schedule, identity)
    {
        return Family::Rowwise { over: reductions[0].over.clone(), plain: None, rows: Some(rows) };
    }
    if reductions.iter().all(|r| r.is_whole && r.slides) {
        return Family::Window;
    }
    let class =
        if attention::is_attention(schedule, identity) { Class::Attention } else { Class::FusedGraph };
    Family::General { class, why: why(spec, &reductions, class) }
}

/// The first thing that keeps a kernel out of the faster families.
fn why(spec: &KernelSpec, reductions: &[Reduction], class: Class) -> String {
    let names = |axes: &[usize]| {
        let names: Vec<&str> = axes.iter().map(|a| spec.axes[*a].name.as_str()).collect();
        format!("({})", names.join(", "))
    };
    if class == Class::Attention {
        return "two contractions enclose a softmax over the axis they share: attention, for which there is no family yet"
            .to_owned();
    }
    if let Some(bounded) = reductions.iter().find(|r| !r.is_whole && !r.is_scan) {
        return format!(
            "a reduction over {} stops at a bound, and what it sums depends on the bound's axis: not a scan",
            names(&bounded.over)
        );
    }
    if reductions.iter().any(|r| r.is_scan) {
        return "a scan and reductions over other axes stand side by side".to_owned();
    }
    let first = &reductions[0];
    match reductions.iter().find(|r| r.over != first.over || r.slides != first.slides) {
        Some(other) if other.slides != first.slides => {
            "windows and whole reductions stand side by side".to_owned()
        }
        Some(other) => format!(
            "one reduction runs over {}, another over {}, and they are not contractions that share an operand",
            names(&first.over),
            names(&other.over)
        ),
        None => "its reductions are neither contractions, rows, scans nor windows".to_owned(),
    }
}

#[cfg(test)]
mod tests;
