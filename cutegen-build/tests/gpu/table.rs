//! The bar table: its kernels, and what is locked for them. `CUTEGEN_BARS` names the folder of `specs/` and `cache/`,
//! else it is `tests/bars` of this checkout.

use std::path::{Path, PathBuf};

use cutegen_build::plan::Plan;
use cutegen_build::store::{Entry, Store};

use crate::specs;

/// All kernels.
pub(crate) fn plans() -> Vec<Plan> {
    let files = walkdir::WalkDir::new(folder().join("specs")).sort_by_file_name().into_iter();
    let paths = files.map(|entry| entry.expect("readable").into_path());
    let texts = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| std::fs::read_to_string(path).expect("readable"));
    texts.flat_map(|text| specs::read(&text)).map(|spec| specs::plan(&spec)).collect()
}

/// What is locked for a plan.
pub(crate) fn entry(plan: &Plan) -> Entry {
    let found = Store::new(folder().join("cache")).get(&plan.key).hit();
    found.unwrap_or_else(|| panic!("{}: nothing is locked", plan.title()))
}

/// The folder of specs and cache.
fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bars");
    std::env::var_os("CUTEGEN_BARS").map_or(here, PathBuf::from)
}
