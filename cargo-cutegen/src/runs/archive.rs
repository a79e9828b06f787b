//! What a node brings home: logs with their new verdicts, what naive kernels came to on its card, and the entries that it
//! accepted, in one archive. `step --merge` takes the verdicts in, `accept --results` the entries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cutegen_build::plan::Plan;
use cutegen_build::run_log::{self, Merged, RunId};
use cutegen_build::store::Store;

use super::{FOLDER, KEPT, Runs, failed};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::pack;
use crate::unpack::read_results;

/// Writes the logs of these runs, and the entries of their plans that are in the store.
pub(crate) fn write(
    store: &Store,
    runs: &Runs,
    done: &[(&Plan, RunId)],
    file: OutFile,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| file.failure(error);
    let mut tar = pack::open(&file);
    let mut keys = Vec::new();
    let mut naive = BTreeSet::new();
    for (plan, run) in done {
        naive.extend(known(&runs.kept(plan)).into_iter().map(|path| (plan.key.short(), path)));
        let name = format!("{run}.jsonl");
        let inside = Path::new(FOLDER).join(plan.key.short()).join(&name);
        tar.append_path_with_name(runs.of_plan(plan).join(&name), inside).map_err(failed)?;
        if !keys.contains(&plan.key) && store.entry_dir(&plan.key).is_dir() {
            keys.push(plan.key);
        }
    }
    for (key, path) in &naive {
        let inside = path.iter().rev().take(2).collect::<Vec<_>>();
        let inside: PathBuf = inside.into_iter().rev().collect();
        let name = Path::new(FOLDER).join(key).join(KEPT).join(inside);
        tar.append_path_with_name(path, name).map_err(failed)?;
    }
    keys.iter().try_for_each(|key| pack::append_entry(&mut tar, store, key)).map_err(failed)?;
    pack::close(tar).map_err(failed)?;
    file.keep()
}

/// Takes in the verdicts of an archive: what each run of these plans got.
pub(crate) fn merge(runs: &Runs, plans: &[Plan], file: &Path) -> Result<Vec<(RunId, Merged)>, Failure> {
    let folder = read_results(file)?;
    let there = |plan: &Plan| folder.path().join(FOLDER).join(plan.key.short());
    let mut all = Vec::new();
    for plan in plans {
        learn(&there(plan).join(KEPT), &runs.kept(plan));
        for run in run_log::runs(&there(plan)).map_err(failed)? {
            let log = run_log::read(&there(plan), &run).map_err(failed)?;
            let mut home = runs.open(plan, &run)?;
            all.push((run, run_log::merge(&mut home, &log).map_err(failed)?));
        }
    }
    if all.is_empty() {
        let file = file.display();
        return Err(Failure::Usage(format!(
            "{file} has no run of these kernels\nname another file: --merge FILE"
        )));
    }
    Ok(all)
}

/// What naive kernels came to, by gate and card: files of `kept`.
fn known(kept: &Path) -> Vec<PathBuf> {
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let is_known = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("naive-") && name.ends_with(".json")
    };
    files(kept).iter().flat_map(|gate| files(gate)).filter(is_known).collect()
}

/// Takes over what naive kernels came to elsewhere, so that no card times one twice. What cannot be copied is measured again.
fn learn(there: &Path, kept: &Path) {
    for path in known(there) {
        let Ok(inside) = path.strip_prefix(there) else { continue };
        let home = kept.join(inside);
        if home.parent().is_some_and(Path::is_dir) && !home.exists() {
            let _measured_again = std::fs::copy(&path, &home);
        }
    }
}
