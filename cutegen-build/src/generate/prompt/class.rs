//! [`Class`]: kernels that have advice and an example of their own, and the kit's headers that serve them. It knows no step of
//! a strategy.

use cutegen_spec::arch::Feature;

use super::text_for;
use crate::plan::family::{self, Family};
use crate::plan::{Plan, cost, sums};

/// Kernels that have advice of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Window,
    Rowwise,
    Contraction,
    Attention,
    FusedGraph,
    General,
}

/// Of tensor cores.
const PRODUCTS: [&str; 3] = ["kit/mma.cuh", "kit/product.cuh", "kit/wgmma.cuh"];
const ATTENTION: &str = "kit/attention.cuh";
/// The share of operations from which on sums of products dominate.
const PRODUCTS_SHARE: f64 = 0.5;

impl Class {
    pub(super) fn of(plan: &Plan) -> Self {
        match &plan.family {
            Family::Window => Self::Window,
            Family::Rowwise { .. } | Family::Scan { .. } => Self::Rowwise,
            Family::Contraction { .. } => Self::Contraction,
            Family::General { class: family::Class::Attention, .. } => Self::Attention,
            Family::General { class: family::Class::FusedGraph, .. } => Self::FusedGraph,
            Family::Elementwise { .. } => Self::General,
        }
    }

    /// What a prompt's version begins with.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Rowwise => "rowwise",
            Self::Contraction => "contraction",
            Self::Attention => "attention",
            Self::FusedGraph => "fused-graph",
            Self::General => "general",
        }
    }

    /// What is known to work; of products too where they are most of the work.
    pub(super) fn advice(self, plan: &Plan) -> String {
        let own = self.own_advice(plan);
        if self.is_of_products(plan) {
            own.to_owned() + Self::Contraction.own_advice(plan)
        } else {
            own.to_owned()
        }
    }

    /// Whether a class without products has a kernel that they dominate, as a norm before a small head.
    fn is_of_products(self, plan: &Plan) -> bool {
        let first = plan.spec.workloads.first().and_then(|workload| plan.spec.bind(&workload.axes).ok());
        let share = first.map_or(0.0, |axes| cost::of_products(plan, &axes));
        matches!(self, Self::Rowwise | Self::General) && share >= PRODUCTS_SHARE
    }

    fn own_advice(self, plan: &Plan) -> &'static str {
        let texts = match self {
            Self::Window => [include_str!("window.md"), include_str!("window_host.md")],
            Self::Rowwise => [include_str!("rowwise.md"), include_str!("rowwise_host.md")],
            Self::Contraction => [include_str!("contraction.md"), include_str!("contraction_host.md")],
            Self::Attention => [include_str!("attention.md"), include_str!("attention_host.md")],
            Self::FusedGraph => [include_str!("fused_graph.md"), include_str!("fused_graph_host.md")],
            Self::General => [include_str!("general.md"), include_str!("general_host.md")],
        };
        text_for(plan, texts)
    }

    /// A kernel of another computation, with its contract.
    pub(super) fn example(self, plan: &Plan) -> &'static str {
        let of_gpu = match self {
            Self::Window if sums::multiplies(plan) => include_str!("example_contraction.md"),
            _ if self.is_of_products(plan) => include_str!("example_contraction.md"),
            Self::Window | Self::Rowwise | Self::General => include_str!("example.md"),
            Self::Contraction => include_str!("example_contraction.md"),
            Self::Attention => include_str!("example_attention.md"),
            Self::FusedGraph => include_str!("example_fused_graph.md"),
        };
        let of_host = match self {
            Self::Contraction => include_str!("example_contraction_host.md"),
            _ if self.is_of_products(plan) => include_str!("example_contraction_host.md"),
            Self::Window | Self::Rowwise | Self::Attention | Self::FusedGraph | Self::General => {
                include_str!("example_host.md")
            }
        };
        text_for(plan, [of_gpu, of_host])
    }

    /// Headers that a prompt leaves out: what does not serve the class, or is not there for the target.
    pub(super) fn left_out(self, plan: &Plan) -> Vec<&'static str> {
        let of_class: &[&[&str]] = match self {
            Self::Window => &[&[ATTENTION, "kit/scan.cuh", "kit/online_softmax.cuh"]],
            Self::Contraction => &[&[ATTENTION, "kit/scan.cuh", "kit/online_softmax.cuh", "kit/ring.cuh"]],
            Self::Attention => &[&["kit/scan.cuh", "kit/ring.cuh"]],
            Self::FusedGraph => &[&[ATTENTION, "kit/scan.cuh", "kit/ring.cuh"]],
            Self::Rowwise | Self::General if self.is_of_products(plan) => &[&[ATTENTION]],
            Self::Rowwise | Self::General => &[&PRODUCTS, &[ATTENTION]],
        };
        let arch = plan.target.arch();
        let lacks = |feature: Feature| !arch.is_some_and(|arch| arch.has(feature));
        let mut found: Vec<&str> = of_class.concat();
        found.extend(lacks(Feature::Wgmma).then_some("kit/wgmma.cuh"));
        found.extend(lacks(Feature::Bulk).then_some("kit/ring.cuh"));
        found.extend(lacks(Feature::Pdl).then_some("kit/launch.cuh"));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{CLASSES, of};
    use super::super::{Prompt, VERSION, kit, of_number, proposal};

    /// The longest prompt for a first kernel.
    const BYTES_MOST: usize = 26 << 10;

    #[test]
    fn classes_have_prompts_of_their_own() {
        for target in ["sm_90a", "host"] {
            let asked: Vec<_> = CLASSES.iter().map(|(_, kernel)| of(*kernel, target, "")).collect();
            let asked: Vec<_> = asked.iter().map(|plan| proposal(plan, &kit(plan))).collect();
            for (prompt, (class, _)) in asked.iter().zip(CLASSES) {
                println!("{target} {class}: {} bytes", prompt.text.len());
                assert_eq!(prompt.version, of_number(&prompt.version, VERSION));
                assert!(prompt.version.starts_with(&format!("{class}-")), "{}", prompt.version);
                assert!(prompt.text.len() <= BYTES_MOST, "{class}: {} bytes", prompt.text.len());
            }
            let advice =
                asked.iter().filter_map(|prompt| prompt.text.split("# What is known to work").nth(1));
            let distinct: std::collections::BTreeSet<&str> = advice.collect();
            assert_eq!(distinct.len(), CLASSES.len(), "{target}");
        }
    }

    #[test]
    fn a_prompt_tells_of_the_headers_that_serve_its_class() {
        let told = |class: &str, target: &str, header: &str| {
            let (_, kernel) = CLASSES.into_iter().find(|(name, _)| *name == class).expect("a class");
            kit(&of(kernel, target, "")).contains(&format!("\n### kit/{header}.cuh\n"))
        };
        for class in ["contraction", "attention", "fused-graph", "window"] {
            assert!(told(class, "sm_90a", "product") && told(class, "sm_90a", "wgmma"), "{class}");
            assert!(told(class, "sm_80", "product") && !told(class, "sm_80", "wgmma"), "{class}");
        }
        for class in ["rowwise", "general"] {
            assert!(!told(class, "sm_90a", "product") && told(class, "sm_90a", "ring"), "{class}");
            assert!(!told(class, "sm_80", "ring"), "{class}: bulk copies");
        }
        assert!(told("attention", "sm_90a", "attention") && !told("contraction", "sm_90a", "attention"));
    }

    #[test]
    fn rows_whose_work_is_a_product_are_told_of_products() {
        let head = [
            "b = '1..=16', v = 64, n = 32",
            "x = 'bf16[b, v]', w = 'bf16[n, v]', g = 'bf16[v]'",
            "y = 'f32[b, n]'",
            "t[b, v] = rms_norm(v, x[b, v], 1e-5) * g[v]\ny[b, n] = sum(v, t[b, v] * w[n, v])",
        ];
        let of_head = |target: &str| of(head, target, "");
        let Prompt { version, text, .. } = proposal(&of_head("sm_90a"), &kit(&of_head("sm_90a")));
        assert!(version.starts_with("rowwise-") && text.len() <= BYTES_MOST, "{version}");
        for part in
            ["### kit/product.cuh", "### kit/wgmma.cuh", "128 by 128 by 64 over 8 warps", "A row that fits"]
        {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!kit(&of_head("sm_80")).contains("### kit/wgmma.cuh"));
    }
}
