//! The kit's page in parts, a header each, so that an agent reads what it needs. Text alone.

use cutegen_build::kit;
use cutegen_spec::target::Target;

/// What a header's part begins with.
const PART: &str = "\n### ";

/// What the page says of all headers, a line each, and how they are included.
pub(super) fn summary(target: &Target) -> String {
    let page = kit::reference(target);
    page.split(PART).next().unwrap_or_default().trim_end().to_owned()
}

/// The whole page.
pub(super) fn whole(target: &Target) -> String {
    kit::reference(target)
}

/// The part of a header, `kit/reduce.cuh` or `reduce.cuh`.
pub(super) fn part(target: &Target, header: &str) -> Result<String, String> {
    let page = kit::reference(target);
    let parts: Vec<(&str, &str)> =
        page.split(PART).skip(1).filter_map(|part| part.split_once('\n')).collect();
    let asked = header.trim_matches(['<', '>', ' ']);
    let is_asked = |name: &str| name == asked || name.strip_prefix("kit/") == Some(asked);
    let found = parts.iter().find(|(name, _)| is_asked(name));
    found.map(|(name, text)| format!("### {name}\n{}\n", text.trim_end())).ok_or_else(|| {
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        format!("no header `{asked}` for {target}; next: call `kit` with one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use cutegen_spec::target::Target;

    use super::{part, summary, whole};

    #[test]
    fn the_page_is_its_summary_and_its_parts() {
        let target = Target::parse("sm_90a").expect("a target");
        let head = summary(&target);
        assert!(head.contains("- kit/reduce.cuh: ") && !head.contains("###"), "{head}");
        let reduce = part(&target, "reduce.cuh").expect("a header");
        assert!(reduce.starts_with("### kit/reduce.cuh\n") && !reduce.contains("### kit/ptx"), "{reduce}");
        assert_eq!(part(&target, "<kit/reduce.cuh>"), Ok(reduce.clone()));
        assert!(whole(&target).contains(reduce.trim_end()));
        let why = part(&target, "host.hpp").expect_err("of another target");
        assert!(why.contains("no header `host.hpp` for sm_90a") && why.contains("kit/reduce.cuh"), "{why}");
    }
}
