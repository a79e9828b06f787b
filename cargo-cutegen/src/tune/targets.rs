//! Which declared targets `tune` takes where none is named: those of this machine's card. Of the card it knows name and
//! compute capability.

use cutegen_build::plan::Plan;
use cutegen_build::search::Card;
use cutegen_spec::arch::Arch;

use crate::project::short;

/// The plans that run on this card, and by title why others do not. Where one target of a kernel does, nothing is said of
/// those for other cards.
pub(super) fn taken(plans: Vec<Plan>, card: &Card) -> (Vec<Plan>, Vec<(String, String)>) {
    let runs = |plan: &Plan| plan.target.is_host() || plan.target.runs_on(&card.name, card.capability);
    let served: Vec<String> = plans
        .iter()
        .filter(|plan| !plan.target.is_host() && runs(plan))
        .map(|plan| plan.spec.name.to_string())
        .collect();
    let (taken, others): (Vec<Plan>, Vec<Plan>) = plans.into_iter().partition(runs);
    let unserved = others.iter().filter(|plan| !served.iter().any(|name| name == plan.spec.name.as_str()));
    let refused = unserved.map(|plan| (plan.title(), reason(plan, card))).collect();
    (taken, refused)
}

/// Why a kernel has no target for the card, with the line that adds one.
fn reason(plan: &Plan, card: &Card) -> String {
    let (major, minor) = card.capability;
    let here = format!("skipped: none of its targets runs on {} (sm_{major}{minor})", card.name);
    let Some(arch) = Arch::advised(card.capability) else {
        return format!(
            "{here}, and none can: targets are for compute capability 8.0 and newer, and not for Tegra"
        );
    };
    let declared = plan.spec.targets.iter().map(short).chain([arch.name().to_owned()]);
    let declared: Vec<String> = declared.map(|target| format!("\"{target}\"")).collect();
    format!("{here}; declare one: targets = [{}]", declared.join(", "))
}

#[cfg(test)]
mod tests {
    use cutegen_build::plan::Plan;
    use cutegen_build::search::Card;
    use cutegen_spec::edition::spec_file;

    use super::taken;
    use crate::project::short;

    /// Titles that are taken of a kernel, and what is said of others.
    fn of(targets: &str, name: &str, capability: (u32, u32)) -> (Vec<String>, Vec<String>) {
        let text = format!(
            "edition = 1\n[kernels.k]\naxes = {{ m = 8 }}\ninputs = {{ x = 'f32[m]' }}\n\
             outputs = {{ y = 'f32[m]' }}\nmath = 'y[m] = x[m] + 1'\ntargets = [{targets}]"
        );
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        let card = Card { name: name.to_owned(), capability };
        let (taken, refused) = taken(Plan::all(&kernels), &card);
        let titles = taken.iter().map(|plan| short(&plan.target)).collect();
        (titles, refused.into_iter().map(|(title, reason)| format!("{title}: {reason}")).collect())
    }

    #[test]
    fn targets_of_this_card_are_taken_and_those_of_others_pass_in_silence() {
        let all = "'host', 'sm_80', 'sm_90', 'sm_90a', 'sm_90a:h200', 'sm_120f'";
        let (taken, said) = of(all, "NVIDIA H100 80GB HBM3", (9, 0));
        assert_eq!(taken, ["host", "sm_90", "sm_90a"]);
        assert_eq!(said, [""; 0]);
        assert_eq!(of(all, "NVIDIA A10", (8, 6)).0, ["host", "sm_80"]);
    }

    #[test]
    fn a_kernel_without_a_target_for_this_card_is_told_the_line_to_add() {
        let (taken, said) = of("'host', 'sm_90a'", "NVIDIA A10", (8, 6));
        assert_eq!(taken, ["host"]);
        assert_eq!(
            said,
            ["k on sm_90a: skipped: none of its targets runs on NVIDIA A10 (sm_86); declare one: \
              targets = [\"host\", \"sm_90a\", \"sm_80\"]"]
        );
        let (_, said) = of("'sm_80'", "Orin", (8, 7));
        assert!(
            said[0].ends_with(
                "and none can: targets are for compute capability 8.0 and newer, and not for Tegra"
            )
        );
    }
}
