//! Every spec of `kernel-specs/`, its reference compiled, and what is drawn for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::evaluate::inputs::draw_scalar;
use cutegen_build::evaluate::protocol::ScalarValue;
use cutegen_build::evaluate::{Budget, Call, Distribution, Expected, Reference, contents, shapes};
use cutegen_build::plan::sums::only_sums;
use cutegen_build::plan::{Plan, cost};
use cutegen_build::print;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::tensor::Role;

/// Multiply-adds and elements of the reference at a shape.
const CAP: u64 = 1 << 21;

/// One plan of each kernel, in order of files.
pub(crate) fn all() -> Vec<Plan> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    let mut plans = Vec::new();
    for file in files(&root) {
        let text = std::fs::read_to_string(&file).expect("a spec can be read");
        let document = spec_file(&text, &Settings::default());
        assert_eq!(document.errors, [], "{}", file.display());
        plans.extend(document.kernels.iter().map(|spec| Plan::new(spec, &spec.targets[0])));
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
pub(crate) fn reference(plan: &Plan, folder: &Path) -> Reference {
    let name = plan.spec.name.to_string();
    let (source, shared) = (folder.join(format!("{name}.cpp")), folder.join(format!("{name}.so")));
    std::fs::write(&source, print::reference::print(plan)).expect("it can be written");
    let flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-o"];
    let compiled = Command::new("c++").args(flags).arg(&shared).arg(&source).output().expect("c++ starts");
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    Reference::load(&shared).expect("it loads")
}

/// Shapes that can be afforded: one off every tile, and the smallest.
pub(crate) fn telling_shapes(plan: &Plan) -> Vec<Vec<i64>> {
    let work = |axes: &[i64]| {
        let cost = cost::cost(&plan.spec, &plan.schedule, axes);
        (cost.flops + cost.bytes) as u64
    };
    let mut chosen = shapes(&plan.spec, &Budget { cost: &work, cap: CAP, most: 3, tiles: &[] });
    chosen.drain(1..chosen.len().max(2) - 1);
    chosen
}

/// Inputs and what they must give.
pub(crate) struct Drawn {
    pub(crate) axes: Vec<i64>,
    pub(crate) distribution: Distribution,
    pub(crate) contents: Vec<Option<Vec<u8>>>,
    pub(crate) scalars: Vec<f64>,
    /// By position among the spec's tensors.
    pub(crate) expected: Vec<Option<Expected>>,
}

/// Draws inputs and asks the reference.
pub(crate) fn draw(
    plan: &Plan,
    reference: &Reference,
    axes: &[i64],
    distribution: Distribution,
    seed: u64,
) -> Drawn {
    let spec = &plan.spec;
    let contents = contents(spec, seed, axes, distribution).expect("inputs can be drawn");
    let scalar = |(i, s)| draw_scalar(distribution, seed, i, s);
    let scalars: Vec<ScalarValue> = spec.scalars.iter().enumerate().map(scalar).collect();
    let results: Vec<usize> =
        (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input).collect();
    let spans: Vec<usize> =
        results.iter().map(|t| spec.tensors[*t].span(axes).expect("it has a size") as usize).collect();
    let inputs: Vec<Vec<u8>> = contents.iter().flatten().cloned().collect();
    let small = spec.tensors.iter().all(|t| t.range.is_none() && !t.unique);
    let exact = small && only_sums(plan) && distribution == Distribution::Integers;
    let call = Call { inputs: &inputs, axes, scalars: &scalars, outputs: &spans, exact };
    let mut expected = vec![None; spec.tensors.len()];
    results.iter().zip(reference.call(&call)).for_each(|(t, e)| expected[*t] = Some(e));
    let scalars = scalars.iter().map(number).collect();
    Drawn { axes: axes.to_vec(), distribution, contents, scalars, expected }
}

fn number(value: &ScalarValue) -> f64 {
    match value {
        ScalarValue::F32(bits) => f64::from(f32::from_bits(*bits)),
        ScalarValue::F64(bits) => f64::from_bits(*bits),
    }
}
