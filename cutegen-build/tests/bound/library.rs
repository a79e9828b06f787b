//! Every spec of `kernel-specs/`, its reference compiled, and the shapes that tests can afford.

use std::path::{Path, PathBuf};

use cutegen_build::evaluate::{Budget, Reference, shapes};
use cutegen_build::plan::{Plan, cost};
use cutegen_build::print;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

#[path = "../objects/mod.rs"]
pub(crate) mod objects;

/// One plan of each kernel, in order of files.
pub(crate) fn all() -> Vec<Plan> {
    below("kernel-specs")
}

/// The same of another folder of this repository.
pub(crate) fn below(folder: &str) -> Vec<Plan> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut plans = Vec::new();
    for file in files(&root) {
        let text = std::fs::read_to_string(&file).expect("a spec can be read");
        let kernels = spec_file(&text, &Settings::default()).into_kernels();
        let kernels = kernels.unwrap_or_else(|errors| panic!("{}: {errors:?}", file.display()));
        plans.extend(kernels.iter().map(|spec| Plan::new(spec, &spec.targets[0])));
    }
    plans
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of specs") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Compiles and loads the reference of a plan.
pub(crate) fn reference(plan: &Plan) -> Reference {
    let shared = objects::shared(&print::reference::print(plan), objects::REFERENCE);
    let shared = shared.unwrap_or_else(|error| panic!("{}: {error}", plan.spec.name));
    Reference::load(&shared).expect("it loads")
}

/// Shapes of at most `cap` multiply-adds and elements: one off every tile, and the smallest.
pub(crate) fn telling_shapes(plan: &Plan, cap: u64) -> Vec<Vec<i64>> {
    let work = |axes: &[i64]| {
        let cost = cost::cost(&plan.spec, &plan.schedule, axes);
        (cost.flops + cost.bytes) as u64
    };
    let mut chosen = shapes(&plan.spec, &Budget { cost: &work, cap, most: 3, tiles: &[] });
    chosen.drain(1..chosen.len().max(2) - 1);
    chosen
}
