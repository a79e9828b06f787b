//! README's figures. Its table of families has how many committed kernels are tuned on each target, as the locks of this
//! repository say, and how much slower their naive kernels are, as `results/` says; of products too it has what stands there.

use std::collections::BTreeMap;
use std::path::Path;

use cutegen_build::plan::Plan;
use cutegen_spec::edition::{manifest, spec_file};
use cutegen_spec::lock::{Lock, State};
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_tests::{results, workspace};

/// Committed kernels of one family on one target.
#[derive(Debug, Default)]
struct Count {
    tuned: usize,
    all: usize,
    /// How much slower the naive kernel is, for each workload that was timed.
    slower: Vec<f64>,
}

type Counts = BTreeMap<(String, bool), Count>;

/// Of each kernel and target, whether it is the host: how much slower its naive kernel is, for each workload that was timed.
type Slower = BTreeMap<(String, bool), Vec<f64>>;

/// What `tests/bench/slower.py` made of timings.
fn slower() -> Slower {
    let mut slower = Slower::new();
    for row in results::read(&workspace()).expect("raw files") {
        let Some(target) = row.bar.strip_prefix("naive kernels, ") else { continue };
        for cell in &row.cells {
            let kernel = cell.at.split(' ').next().expect("a kernel").to_owned();
            let timed = cell.against.values().map(|ratios| results::median(ratios));
            slower.entry((kernel, target == "host")).or_default().extend(timed);
        }
    }
    slower
}

/// The spec files below a folder.
fn below(folder: &Path) -> Vec<KernelSpec> {
    let mut found = Vec::new();
    for item in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = item.path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.extension().is_some_and(|end| end == "toml") {
            let text = std::fs::read_to_string(&path).expect("a spec file");
            found.extend(spec_file(&text, &Settings::default()).into_kernels().expect("right specs"));
        }
    }
    found
}

fn add(counts: &mut Counts, slower: &mut Slower, specs: &[KernelSpec], lock: &Path) {
    let lock = Lock::parse(&std::fs::read_to_string(lock).expect("a lock")).expect("a lock");
    for locked in &lock.kernels {
        let target = Target::parse(&locked.target).expect("a target");
        let spec =
            specs.iter().find(|spec| spec.name.as_str() == locked.name).expect("what is locked is declared");
        let family = Plan::new(spec, &target).family.name().to_owned();
        let count = counts.entry((family, target.is_host())).or_default();
        count.all += 1;
        count.tuned += usize::from(locked.state == State::Tuned);
        if let Some(timed) = slower.remove(&(locked.name.clone(), target.is_host())) {
            count.slower.extend(timed);
        }
    }
}

fn counts() -> Counts {
    let root = workspace();
    let mut counts = Counts::new();
    let example = std::fs::read_to_string(root.join("example-app/Cargo.toml")).expect("a manifest");
    let example = manifest(&example).into_kernels().expect("right specs");
    let mut slower = slower();
    for (specs, lock) in [
        (below(&root.join("tests/bars/specs")), "tests/bars/cache/cutegen.lock"),
        (example, "example-app/cutegen.lock"),
        (below(&root.join("kernel-specs")), "cache/cutegen.lock"),
    ] {
        add(&mut counts, &mut slower, &specs, &root.join(lock));
    }
    assert!(slower.is_empty(), "timed, and not locked: {:?}", slower.keys());
    counts
}

/// Two digits, or all before the point.
fn short(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// What the table says of these kernels: how many are tuned, and how much slower naive ones are.
fn cells(count: &Count) -> [String; 2] {
    let mut sorted = count.slower.clone();
    sorted.sort_by(f64::total_cmp);
    let slower = match sorted[..] {
        [] => "not known".to_owned(),
        [first, .., last] if sorted.len() > 4 => {
            format!("{} ({} to {})", short(results::median(&sorted)), short(first), short(last))
        }
        _ => short(results::median(&sorted)),
    };
    let (tuned, all) = (count.tuned, count.all);
    let word = if tuned == 0 { "**naive**" } else { "tuned" };
    [format!("{word}, {tuned} of {all}"), slower]
}

/// The line of a family: README may say more than a number where there is none.
fn line(counts: &Counts, family: &str) -> [[String; 2]; 2] {
    let none = Count::default();
    [false, true].map(|host| cells(counts.get(&(family.to_owned(), host)).unwrap_or(&none)))
}

#[test]
fn the_table_of_families_is_what_locks_and_results_say() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("README.md");
    let counts = counts();
    let mut wrong = Vec::new();
    for family in ["elementwise", "rowwise", "scan", "contraction", "window", "general"] {
        let shown = readme.lines().find(|line| line.starts_with(&format!("| {family}"))).expect("the family");
        let shown: Vec<&str> = shown.split('|').map(str::trim).collect();
        let wanted = line(&counts, family).concat();
        let is_said = |(wanted, shown): (&String, &&str)| wanted == "not known" || wanted == shown;
        if !wanted.iter().zip(&shown[2..6]).all(is_said) {
            wrong.push(format!("{family}: {}", wanted.join(" | ")));
        }
    }
    assert!(wrong.is_empty(), "README.md should have\n{}", wrong.join("\n"));
}

#[test]
fn what_is_said_of_products_is_what_was_measured() {
    let rows = results::read(&workspace()).expect("raw files");
    let us = |bar: &str| {
        let row = rows.iter().find(|row| row.bar == bar).unwrap_or_else(|| panic!("no row {bar}"));
        results::median(&row.samples)
    };
    let ours = us("Llama 3 8B's MLP block with naive products, tokens: 512");
    let product = |name: &str| us(&format!("cuBLASLt, the fastest of its heuristics: gemm_bf16 {name}_m512"));
    let theirs = product("gateup8b") + product("down8b");
    let tuned = rows.iter().filter(|row| row.bar.starts_with("products with six weights"));
    let cells = tuned.flat_map(|row| row.cells.iter().flat_map(|cell| cell.against.values()));
    let mut ratios: Vec<f64> = cells.map(|samples| results::median(samples)).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("README.md");
    let readme = readme.replace('\n', " ");
    for said in [
        format!("tuned products are {least:.2} to {most:.2} times as fast"),
        format!("takes {:.0} ms on an H200 with naive products", ours / 1e3),
        format!("take {:.2} ms", theirs / 1e3),
        format!("| {:.0}, against cuBLASLt |", ours / theirs),
    ] {
        assert!(readme.contains(&said), "README.md should have: {said}");
    }
}

#[test]
fn another_lock_or_timing_makes_another_table() {
    let mut counts = counts();
    let before = line(&counts, "rowwise");
    let count = counts.get_mut(&("rowwise".to_owned(), false)).expect("kernels");
    count.tuned -= 1;
    count.slower.retain(|slower| *slower > 50.0);
    let after = line(&counts, "rowwise");
    assert!(before[0][0] != after[0][0] && before[0][1] != after[0][1] && before[1] == after[1], "{after:?}");
}
