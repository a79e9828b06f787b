//! Which module may import which: between crates, and between the stages of the pipeline. Edit the two tables here, and
//! ARCHITECTURE.md with them.

use super::Finding;
use super::imports::{imports, module};
use super::source::{is_test, line_of, mask, shipped};

/// Which of our crates a package's manifest and sources may name.
const CRATES: &[(&str, &[&str])] = &[
    ("cutegen-spec", &[]),
    ("cutegen-runtime", &["cutegen-spec"]),
    ("cutegen-build", &["cutegen-spec", "cutegen-runtime"]),
    ("cargo-cutegen", &["cutegen-spec", "cutegen-build"]),
    ("example-app", &["cutegen-build", "cutegen-runtime"]),
    ("tests", &["cutegen-spec", "cutegen-build", "cutegen-runtime", "cargo-cutegen"]),
];

/// Dependencies that a package has only under a feature, so that the light build stays light.
const OPTIONAL: &[(&str, &str)] = &[("cutegen-build", "cutegen-runtime")];

/// Modules of cutegen-build that any other may name. They name none themselves.
const FOUNDATION: &[&str] = &["env", "event"];

/// Modules of cutegen-build that see the whole pipeline, and that no stage may name. `error` gathers each stage's own
/// error for callers of the crate; `worker` is the door by which a child enters a stage.
const WHOLE: &[&str] = &["lib", "error", "pipeline", "worker"];

/// Modules that ask outside of the machine's own tools. A build script asks nothing, so [`WHOLE`] does not know them.
const ASKING: &[&str] = &["ask", "model"];

/// Modules of cutegen-build in the order that data flows. A row names what its module may import besides
/// [`FOUNDATION`], always rows above it.
const STAGES: &[(&str, &[&str])] = &[
    ("cargo", &[]),
    ("home", &[]),
    ("toolchain", &["home"]),
    ("render", &[]),
    ("discover", &["render"]),
    ("plan", &[]),
    ("print", &["plan"]),
    ("inspect", &[]),
    ("kit", &[]),
    ("experience", &["plan"]),
    ("run_log", &["experience"]),
    ("ask", &[]),
    ("model", &[]),
    ("generate", &["toolchain", "plan", "print", "kit", "experience", "run_log"]),
    ("strategy", &["plan", "kit", "experience", "run_log", "generate"]),
    ("compile", &["toolchain", "plan", "generate", "inspect"]),
    ("outcome", &[]),
    ("evaluate", &["toolchain", "plan", "print", "inspect", "generate", "compile", "outcome"]),
    ("refine", &["plan", "generate", "outcome"]),
    ("store", &["plan"]),
    ("accept", &["home", "discover", "plan", "store"]),
    ("emit", &["plan", "print", "inspect", "store"]),
    ("warnings", &["cargo", "plan", "emit"]),
    (
        "search",
        &[
            "home",
            "toolchain",
            "plan",
            "print",
            "inspect",
            "kit",
            "run_log",
            "generate",
            "strategy",
            "compile",
            "evaluate",
            "refine",
            "store",
            "accept",
            "emit",
        ],
    ),
];

/// Folders of `evaluate`, each the code of one process or of several, with the other folders that it may import. What
/// lies beside them joins them.
const PROCESSES: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("device", &["wire"]),
    ("judge", &["wire", "device"]),
    ("timing", &["wire", "device", "judge"]),
    ("runner", &["wire", "device"]),
];

/// Stages that a folder of `evaluate` must not know, although others of it may.
const APART: &[(&str, &[&str])] =
    &[("judge", &["compile"]), ("timing", &["compile"]), ("wire", &["compile"])];

/// A manifest depends only on crates of its row, and optionally where [`OPTIONAL`] says so.
pub(super) fn manifest(path: &str, text: &str) -> Vec<Finding> {
    let Some(package) = path.strip_suffix("/Cargo.toml") else { return Vec::new() };
    let Some(allowed) = row(CRATES, package) else { return Vec::new() };
    let mut section = "";
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim();
        }
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        if !section.ends_with("dependencies]") || row(CRATES, name).is_none() {
            continue;
        }
        if !allowed.contains(&name) {
            findings.push(Finding::new(index + 1, format!("{package} must not depend on {name}")));
        } else if OPTIONAL.contains(&(package, name)) && !line.contains("optional = true") {
            findings.push(Finding::new(index + 1, format!("{name} must stay optional in {package}")));
        }
    }
    findings
}

/// A source file names only crates of its package's row.
pub(super) fn crates(path: &str, text: &str) -> Vec<Finding> {
    let Some((package, _)) = path.split_once('/') else { return Vec::new() };
    let (true, Some(allowed)) = (path.ends_with(".rs"), row(CRATES, package)) else { return Vec::new() };
    let code = mask(text);
    let foreign =
        CRATES.iter().map(|(name, _)| *name).filter(|name| *name != package && !allowed.contains(name));
    let used = foreign.flat_map(|name| {
        let hits = code
            .match_indices(&format!("{}::", name.replace('-', "_")))
            .map(|(at, _)| at)
            .collect::<Vec<_>>();
        hits.into_iter().map(move |at| (name, at))
    });
    used.map(|(name, at)| Finding::new(line_of(&code, at), format!("{package} must not know {name}")))
        .collect()
}

/// A module of cutegen-build imports only what its row allows.
pub(super) fn stages(path: &str, text: &str) -> Vec<Finding> {
    let Some(inner) = path.strip_prefix("cutegen-build/src/") else { return Vec::new() };
    let module = inner.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if !inner.ends_with(".rs") || is_test(path) {
        return Vec::new();
    }
    if WHOLE.contains(&module) {
        let asking = targets(path, text).into_iter().filter(|(_, names)| ASKING.contains(&names[0].as_str()));
        let told = |(line, names): (usize, Vec<String>)| {
            Finding::new(
                line,
                format!("`{module}` must not know `{}`: a build script asks nothing", names[0]),
            )
        };
        return asking.map(told).collect();
    }
    let allowed = match row(STAGES, module) {
        Some(allowed) => allowed,
        None if FOUNDATION.contains(&module) => &[],
        None => {
            return vec![Finding::new(
                1,
                format!("module `{module}` has no row in tests/suite/tidy/layering.rs"),
            )];
        }
    };
    let alien = targets(path, text).into_iter().map(|(line, mut names)| (line, names.swap_remove(0)));
    let alien = alien.filter(|(_, name)| {
        name != module && !FOUNDATION.contains(&name.as_str()) && !allowed.contains(&name.as_str())
    });
    let told = |(line, name)| Finding::new(line, format!("`{module}` must not know `{name}`"));
    let mut found: Vec<Finding> = alien.map(told).collect();
    found.dedup();
    found
}

/// A file in a folder of `evaluate` imports only what the folder's rows allow.
pub(super) fn processes(path: &str, text: &str) -> Vec<Finding> {
    let inner = path.strip_prefix("cutegen-build/src/evaluate/").and_then(|inner| inner.split_once('/'));
    let Some((folder, _)) = inner.filter(|_| path.ends_with(".rs") && !is_test(path)) else {
        return Vec::new();
    };
    let Some(allowed) = row(PROCESSES, folder) else {
        let lacks = format!("folder `{folder}` has no row in tests/suite/tidy/layering.rs");
        return vec![Finding::new(1, lacks)];
    };
    let apart = row(APART, folder).unwrap_or_default();
    let alien = |names: &[String]| match names {
        [stage, name, ..] if stage == "evaluate" => {
            row(PROCESSES, name).is_some() && name != folder && !allowed.contains(&name.as_str())
        }
        [stage, ..] => apart.contains(&stage.as_str()),
        [] => false,
    };
    let found = targets(path, text).into_iter().filter(|(_, names)| alien(names));
    let told = |(line, names): (usize, Vec<String>)| {
        let name = if names[0] == "evaluate" { &names[1] } else { &names[0] };
        Finding::new(line, format!("`evaluate/{folder}` must not know `{name}`"))
    };
    found.map(told).collect()
}

/// Modules that two of these tables name. One that may be imported by all and may import all closes a circle.
fn in_two(tables: &[&[&'static str]]) -> Vec<&'static str> {
    let mut names = tables.concat();
    names.sort_unstable();
    let pairs = names.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs.map(|pair| pair[0]).collect()
}

fn row(table: &[(&str, &'static [&'static str])], name: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(key, _)| *key == name).map(|(_, allowed)| *allowed)
}

/// Where the paths of a file lead: names from the crate's root that begin with a module, each with its line.
fn targets(path: &str, text: &str) -> Vec<(usize, Vec<String>)> {
    let Some((_, module)) = module(path) else { return Vec::new() };
    let mut found = imports(&shipped(text), &module);
    let is_module = |name: &String| name.starts_with(|c: char| c.is_ascii_lowercase());
    found.retain(|(_, names)| names.first().is_some_and(is_module));
    found.sort();
    found.dedup_by_key(|(line, names)| (*line, names.iter().take(2).cloned().collect::<Vec<_>>()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_no_cycle() {
        for table in [CRATES, STAGES, PROCESSES] {
            for (index, (name, allowed)) in table.iter().enumerate() {
                let above = |other: &&str| table[..index].iter().any(|(earlier, _)| earlier == other);
                assert!(allowed.iter().all(above), "{name} may import a row that isn't above it");
            }
        }
    }

    #[test]
    fn a_module_is_a_foundation_a_stage_or_a_whole() {
        let stages: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        assert_eq!(in_two(&[FOUNDATION, &stages, WHOLE]), [""; 0]);
        let planted = [FOUNDATION, &["error"]].concat();
        assert_eq!(in_two(&[&planted, &stages, WHOLE]), ["error"]);
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let on = |line: &str| format!("[package]\nname = \"x\"\n\n[dependencies]\n{line}\n");
        let build = on("cutegen-build = { workspace = true }");
        assert_eq!(manifest("cutegen-runtime/Cargo.toml", &build).len(), 1);
        assert_eq!(manifest("cutegen-spec/Cargo.toml", &build.replace("[dep", "[dev-dep")).len(), 1);
        assert_eq!(manifest("cutegen-runtime/Cargo.toml", &on("cutegen-spec.workspace = true")), []);
    }

    #[test]
    fn a_required_runtime_in_build_is_found() {
        let on = |tail: &str| format!("[dependencies]\ncutegen-runtime = {{ workspace = true{tail} }}\n");
        assert_eq!(manifest("cutegen-build/Cargo.toml", &on("")).len(), 1);
        assert_eq!(manifest("cutegen-build/Cargo.toml", &on(", optional = true")), []);
    }

    #[test]
    fn a_crate_named_against_the_direction_is_found() {
        let text = "//! cutegen_build::build is only mentioned\nuse cutegen_build::plan;\n";
        assert_eq!(
            crates("cutegen-runtime/src/x.rs", text),
            [Finding::new(2, "cutegen-runtime must not know cutegen-build")]
        );
        assert_eq!(crates("cargo-cutegen/src/x.rs", text), []);
    }

    #[test]
    fn a_stage_that_looks_ahead_is_found() {
        let ahead = "use crate::{event::Event, plan::Plan, evaluate::{Judge, plan}};\n";
        assert_eq!(
            stages("cutegen-build/src/generate/model.rs", ahead),
            [Finding::new(1, "`generate` must not know `evaluate`")]
        );
        assert_eq!(stages("cutegen-build/src/search/mod.rs", ahead), []);
        assert_eq!(stages("cutegen-build/src/event.rs", "fn f() -> crate::plan::Plan {}").len(), 1);
        assert_eq!(stages("cutegen-build/src/pipeline.rs", ahead), []);
    }

    #[test]
    fn a_build_script_that_asks_is_found() {
        for (module, asked) in [("pipeline", "model::client::Client"), ("lib", "ask::Program")] {
            let path = format!("cutegen-build/src/{module}.rs");
            assert_eq!(stages(&path, &format!("use crate::{asked};\n")).len(), 1, "{module}");
            assert_eq!(stages(&path, "pub mod model;\nuse crate::emit::emit;\n"), [], "{module}");
        }
        assert_eq!(stages("cutegen-build/src/search/mod.rs", "use crate::model::wire::Wire;\n").len(), 1);
    }

    #[test]
    fn a_stage_that_names_the_gathered_error_is_found() {
        let found = stages("cutegen-build/src/accept.rs", "use crate::error::Error;\n");
        assert_eq!(found, [Finding::new(1, "`accept` must not know `error`")]);
    }

    /// Each of the boundaries that a process or a pure stage has.
    #[test]
    fn an_import_across_a_boundary_is_found() {
        let inside =
            |folder: &str, text: &str| processes(&format!("cutegen-build/src/evaluate/{folder}/x.rs"), text);
        let runner = "use crate::evaluate::runner::cublaslt::CublasLt;\n";
        for folder in ["judge", "device", "wire", "timing"] {
            assert_eq!(inside(folder, runner).len(), 1, "{folder}");
            assert_eq!(
                inside(folder, &runner.replace("crate::evaluate", "super::super")).len(),
                1,
                "{folder}"
            );
        }
        assert_eq!(inside("runner", runner), []);
        assert_eq!(inside("judge", "use crate::evaluate::timing::Timer;\n").len(), 1);
        assert_eq!(inside("judge", "use crate::compile::sandboxed::sandboxed;\n").len(), 1);
        assert_eq!(inside("runner", "use crate::compile::seccomp;\n"), []);
        assert_eq!(inside("judge", "use crate::evaluate::judge::runner_slot::Halt;\n"), []);
        assert_eq!(inside("helpers", "").len(), 1, "a folder without a row");
        let on = |module: &str, stage: &str| {
            stages(&format!("cutegen-build/src/{module}/x.rs"), &format!("use crate::{stage}::T;\n")).len()
        };
        assert_eq!((on("refine", "evaluate"), on("emit", "generate"), on("plan", "generate")), (1, 1, 1));
        assert_eq!((on("refine", "outcome"), on("emit", "store")), (0, 0));
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        assert_eq!(stages("cutegen-build/src/helpers/mod.rs", "").len(), 1);
    }

    #[test]
    fn macros_types_and_tests_are_no_stages() {
        let text = "use crate::Build;\ncrate::log!();\n$crate::emit::x();\n#[cfg(test)]\nmod t { use crate::emit::x; }\n";
        assert_eq!(stages("cutegen-build/src/plan.rs", text), []);
    }
}
