//! Host sources that no template wrote. They run with the rights of the program that links them, so a person names each by its
//! digest: as it is accepted, and in the package's metadata, which `check` demands. Knows no store.

use cutegen_build::discover::Project;
use cutegen_build::plan::Plan;
use cutegen_spec::digest::DigestStart;
use cutegen_spec::provenance::is_foreign;
use cutegen_spec::record::{Record, Variant};

use crate::project::short;

/// Where the package lists them.
const PLACE: &str = "Cargo.toml, under [package.metadata.cutegen]";

/// Variants whose host source no template wrote, and that are not `listed`.
pub(crate) fn unlisted<'a>(plan: &Plan, record: &'a Record, listed: &[DigestStart]) -> Vec<&'a Variant> {
    let is_listed = |variant: &Variant| listed.iter().any(|start| start.begins(&variant.source.digest));
    let is_open = |variant: &&Variant| is_foreign(&variant.origin) && !is_listed(variant);
    let all: &[Variant] = if plan.target.is_host() { &record.variants } else { &[] };
    all.iter().filter(is_open).collect()
}

/// What `check` says of a locked entry with such variants.
pub(crate) fn problem(project: &Project, plan: &Plan, record: &Record) -> Option<String> {
    let open = unlisted(plan, record, &project.settings.host_sources);
    if open.is_empty() {
        return None;
    }
    let lines: Vec<String> = open.iter().map(|variant| told(variant)).collect();
    let (title, next) = (plan.title(), to_list(project, &open));
    Some(format!(
        "{title}: no template wrote this host source, and nothing lists it\n{}\n{next}",
        lines.join("\n")
    ))
}

/// What to do so that `check` takes these.
pub(crate) fn to_list(project: &Project, open: &[&Variant]) -> String {
    let new = open.iter().map(|variant| variant.source.digest.to_string());
    if project.package.is_none() {
        let flags: Vec<String> = new.map(|digest| format!("--host-source {digest}")).collect();
        return format!("read it, then name it\nrun: cargo cutegen check {}", flags.join(" "));
    }
    let listed = project.settings.host_sources.iter().map(ToString::to_string).chain(new);
    let quoted: Vec<String> = listed.map(|digest| format!("\"{digest}\"")).collect();
    format!(
        "read it, then add to {PLACE}:\n  host-sources = [{}]\nrun: cargo cutegen check",
        quoted.join(", ")
    )
}

/// What `accept` says of an entry that has such variants.
pub(crate) fn refusal(plan: &Plan, open: &[&Variant]) -> String {
    let lines: Vec<String> = open.iter().map(|variant| told(variant)).collect();
    let flags: Vec<String> =
        open.iter().map(|variant| format!(" --host-source {}", variant.source.digest)).collect();
    format!(
        "{}: no template wrote this host source; it runs with all rights of your program\n{}\nread it above, then accept it \
         by its digest\nrun: cargo cutegen accept {} --target {}{}",
        plan.title(),
        lines.join("\n"),
        plan.spec.name,
        short(&plan.target),
        flags.concat()
    )
}

fn told(variant: &Variant) -> String {
    format!("  {}, {}: sha256 {}", variant.source.file, variant.origin, variant.source.digest)
}
