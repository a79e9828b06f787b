//! What a build that succeeds warns of, a line each: kernels that its triple leaves out, naive kernels in a release build, and
//! those for which a build script asks no model. Prints nothing; one line holds all kernels, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use cutegen_spec::generators::GeneratorKind;
use cutegen_spec::settings::{Mode, Settings};
use cutegen_spec::target::Target;

use crate::cargo::Build;
use crate::emit::{EmitKernel, carries};

/// The most kernels that a line names.
const NAMED_MAX: usize = 8;

/// One kernel on one target.
struct Answer<'a> {
    kernel: &'a str,
    target: &'a Target,
    is_naive: bool,
    /// Whether its spec has a model asked.
    asks_model: bool,
}

/// What the user of a build of these kernels should know.
pub(crate) fn of(
    build: &Build,
    (mode, settings): (Mode, &Settings),
    kernels: &[EmitKernel<'_>],
) -> Vec<String> {
    let answers = kernels.iter().map(|EmitKernel { plan, record, .. }| Answer {
        kernel: plan.spec.name.as_str(),
        target: &plan.target,
        is_naive: !record.is_tuned() && !record.is_predicted(),
        asks_model: plan.spec.generators.has(GeneratorKind::Model),
    });
    let (carried, others): (Vec<_>, Vec<_>) = answers.partition(|one| carries(&build.triple, one.target));
    let naive = if build.release && settings.warn_naive { naive(&carried) } else { None };
    let not_asked = if mode == Mode::Search { not_asked(&carried) } else { None };
    left_out(&build.triple, &others).into_iter().chain(naive).chain(not_asked).collect()
}

/// Kernels of which templates have nothing, where a spec has a model asked: that is for the command.
fn not_asked(carried: &[Answer<'_>]) -> Option<String> {
    let open = carried.iter().filter(|one| one.is_naive && one.asks_model);
    let named: Vec<String> = open.map(|one| format!("{} ({})", one.kernel, short(one.target))).collect();
    (!named.is_empty()).then(|| {
        let more = named.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "templates have nothing that meets `accept` for {}{more}; a build script asks no model: run `cargo cutegen tune` \
             with --endpoint NAME, --preset NAME or -- PROGRAM",
            named[..named.len().min(NAMED_MAX)].join(", "),
        )
    })
}

/// `built for aarch64-apple-darwin: the math itself, a slow fallback, serves 2 kernels on the CPU; .. `
fn left_out(triple: &str, others: &[Answer<'_>]) -> Option<String> {
    let count = |host: bool| others.iter().filter(|one| one.target.is_host() == host).count();
    let host = format!("the math itself, a slow fallback, serves {} on the CPU", kernels(count(true)));
    let cuda = format!("stubs, which fail to load, stand for {} on CUDA", kernels(count(false)));
    let parts = [(count(true), host), (count(false), cuda)];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
    (!parts.is_empty()).then(|| format!("built for {triple}: {}", parts.join("; ")))
}

/// `2 of 13 kernels are naive in this release build: attention (sm_90a), norm (host, sm_90a); ..`
fn naive(carried: &[Answer<'_>]) -> Option<String> {
    let mut untuned: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in carried.iter().filter(|one| one.is_naive) {
        untuned.entry(one.kernel).or_default().push(short(one.target));
    }
    let all: BTreeSet<&str> = carried.iter().map(|one| one.kernel).collect();
    let named =
        untuned.iter().take(NAMED_MAX).map(|(name, targets)| format!("{name} ({})", targets.join(", ")));
    let named: Vec<String> = named.collect();
    let more = untuned.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!untuned.is_empty()).then(|| {
        format!(
            "{} of {} are naive in this release build: {}{more}; run `cargo cutegen tune`, or silence this with \
             `warn-naive = false` under [package.metadata.cutegen]",
            untuned.len(),
            kernels(all.len()),
            named.join(", "),
        )
    })
}

fn kernels(count: usize) -> String {
    if count == 1 { "1 kernel".to_owned() } else { format!("{count} kernels") }
}

/// The word of a spec for a target, without triple, level and device.
fn short(target: &Target) -> &str {
    match target {
        Target::Host { .. } => "host",
        Target::Cuda { arch, .. } => arch.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, left_out, naive, not_asked};
    use cutegen_spec::target::Target;

    #[test]
    fn a_hundred_naive_kernels_are_one_line() {
        let host = Target::host();
        let names: Vec<String> = (0..100).map(|i| format!("k{i:03}")).collect();
        let answer = |(i, name)| Answer { kernel: name, target: &host, is_naive: i > 0, asks_model: false };
        let answers: Vec<Answer<'_>> = names.iter().map(String::as_str).enumerate().map(answer).collect();
        let line = naive(&answers).expect("99 are naive");
        assert!(
            line.starts_with("99 of 100 kernels are naive in this release build: k001 (host), k002 (host), ")
        );
        assert!(line.contains("k008 (host) and 91 more; run `cargo cutegen tune`"), "{line}");
        assert!(!line.contains('\n') && !line.contains("k009") && line.len() < 400, "{line}");
        assert_eq!(naive(&answers[..1]), None);
    }

    #[test]
    fn a_model_that_a_build_script_does_not_ask_is_told_where_templates_have_nothing() {
        let host = Target::host();
        let of = |is_naive, asks_model| Answer { kernel: "k", target: &host, is_naive, asks_model };
        assert_eq!(not_asked(&[of(true, false), of(false, true)]), None);
        assert_eq!(
            not_asked(&[of(true, true), of(false, true)]).as_deref(),
            Some(
                "templates have nothing that meets `accept` for k (host); a build script asks no model: run \
                 `cargo cutegen tune` with --endpoint NAME, --preset NAME or -- PROGRAM"
            )
        );
        let line = not_asked(&[(); 20].map(|()| of(true, true))).expect("none is tuned");
        assert!(line.contains("k (host) and 12 more; a build script"), "{line}");
    }

    #[test]
    fn what_is_left_out_is_counted_by_kind() {
        let (host, cuda) = (Target::host(), Target::parse("sm_90a").expect("a target"));
        let answer = |target| Answer { kernel: "k", target, is_naive: false, asks_model: false };
        assert_eq!(left_out("t", &[]), None);
        assert_eq!(
            left_out("t", &[answer(&host), answer(&host), answer(&cuda)]).as_deref(),
            Some(
                "built for t: the math itself, a slow fallback, serves 2 kernels on the CPU; stubs, which fail to load, \
                 stand for 1 kernel on CUDA"
            )
        );
    }
}
