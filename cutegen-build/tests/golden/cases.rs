//! The kernels of the library and their cases, which the pinned NumPy and SciPy compute into a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::discover::Project;
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::plan::Plan;
use cutegen_build::plan::family::Family;
use cutegen_build::toolchain::{Group, Places, folder_of, locate};
use cutegen_spec::axis;
use cutegen_spec::dtype::DType;
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;
use serde_json::Value;

use crate::{parallel, sample, workspace};

const KERNELS_MIN: usize = 60;
const IN_FAMILIES_MIN: usize = 45;
const CASES_MIN: usize = 3;

/// Kernels with their cases.
pub(crate) struct Library {
    pub(crate) kernels: Vec<Kernel>,
    /// Where this run may write; removed at its end.
    pub(crate) folder: tempfile::TempDir,
}

/// A kernel with the folders of its cases.
pub(crate) struct Kernel {
    pub(crate) plan: Plan,
    cases: Vec<PathBuf>,
}

/// One case: what a launch is given, and what NumPy says comes of it.
pub(crate) struct Case {
    /// Kernel and number.
    pub(crate) label: String,
    /// Where its files lie, inputs and inouts as `NAME.bin`.
    pub(crate) folder: PathBuf,
    /// Extents of all axes.
    pub(crate) axes: Vec<i64>,
    /// Values of all scalars.
    pub(crate) scalars: Vec<ScalarValue>,
    /// Memory of each tensor before the launch, by position; empty for outputs.
    pub(crate) contents: Vec<Vec<u8>>,
    /// What each inout and output holds after it, not rounded; none for inputs.
    pub(crate) golden: Vec<Option<Vec<f64>>>,
}

impl Library {
    /// Reads the specs and computes the cases; `None` without the toolchain.
    pub(crate) fn computed() -> Option<Library> {
        locate(&places()).ok().filter(|toolchain| toolchain.nvrtc.is_some() && toolchain.cxx.is_some())?;
        if !packages().join("scipy").is_dir() {
            return None;
        }
        let specs = spec_folders().into_iter().flat_map(|folder| specs(&folder));
        let plans = specs.map(|spec| Plan::new(&spec, &Target::host()));
        let mut kernels: Vec<Kernel> = plans.map(|plan| Kernel { plan, cases: Vec::new() }).collect();
        let start = std::time::Instant::now();
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let wrong = python(&[folder.path().join("cases").as_os_str().to_str().expect("unicode")]);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for kernel in &mut kernels {
            kernel.cases = folders(&folder.path().join("cases"), kernel.name());
        }
        println!("  cases computed ({:.1} s)", start.elapsed().as_secs_f32());
        Some(Library { kernels, folder })
    }

    /// The kernels that a part takes.
    pub(crate) fn sampled(&self) -> Vec<&Kernel> {
        sample::of(self.kernels.iter().collect(), |kernel| kernel.name().to_owned())
    }
}

impl Kernel {
    pub(crate) fn name(&self) -> &str {
        self.plan.spec.name.as_str()
    }

    pub(crate) fn spec(&self) -> &KernelSpec {
        &self.plan.spec
    }

    /// Its cases, the smallest first, each read when it is asked for.
    pub(crate) fn cases(&self) -> impl Iterator<Item = Case> {
        self.cases.iter().map(|folder| Case::read(&self.plan.spec, folder))
    }
}

impl Case {
    fn read(spec: &KernelSpec, folder: &Path) -> Case {
        let text = fs::read_to_string(folder.join("case.json")).expect("a case");
        let about: Value = serde_json::from_str(&text).expect("json");
        let file = |role: &str, name: &str| {
            let file = about[role][name].as_str().unwrap_or_else(|| panic!("{text}: no `{name}` in {role}"));
            fs::read(folder.join(file)).expect("a tensor")
        };
        let contents = spec.tensors.iter().map(|tensor| match tensor.role {
            Role::Output => Vec::new(),
            Role::Input => file("inputs", &tensor.name),
            Role::Inout => file("inouts", &tensor.name),
        });
        let golden = spec.tensors.iter().map(|tensor| {
            let is_result = tensor.role != Role::Input;
            is_result.then(|| doubles(&file("outputs", &tensor.name)))
        });
        Case {
            label: folder.file_name().expect("a name").to_string_lossy().into_owned(),
            folder: folder.to_owned(),
            axes: extents(spec, &about["axes"]),
            scalars: spec.scalars.iter().map(|s| scalar(s.dtype, &about["scalars"][&s.name])).collect(),
            contents: contents.collect(),
            golden: golden.collect(),
        }
    }

    /// Contents of inputs and inouts, and elements of inouts and outputs, as a reference takes them.
    pub(crate) fn call(&self) -> (Vec<Vec<u8>>, Vec<usize>) {
        let given = self.contents.iter().zip(&self.golden);
        let inputs = given.filter(|(held, golden)| golden.is_none() || !held.is_empty());
        (inputs.map(|(held, _)| held.clone()).collect(), self.golden.iter().flatten().map(Vec::len).collect())
    }
}

/// The positions of tensors with results.
pub(crate) fn results(spec: &KernelSpec) -> impl Iterator<Item = usize> {
    (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input)
}

/// The library, and beside it specs of what no kernel of the library uses.
pub(crate) fn spec_folders() -> [PathBuf; 2] {
    ["kernel-specs", "tests/golden/specs"].map(|folder| workspace().join(folder))
}

/// The kernels of a folder.
fn specs(folder: &Path) -> Vec<KernelSpec> {
    let project = Project::library(folder, folder);
    project.unwrap_or_else(|error| panic!("{error}")).specs
}

pub(crate) fn places() -> Places {
    Places::from_env().expect("a home folder")
}

/// The folder of NumPy and SciPy.
fn packages() -> PathBuf {
    folder_of(Group::Test, &places())
}

/// What `golden.py` says is wrong.
fn python(arguments: &[&str]) -> Vec<String> {
    let script = workspace().join("tests/golden/python/golden.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(arguments).env("PYTHONPATH", packages());
    let ran = command.output().expect("python3 starts");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if ran.status.success() { Vec::new() } else { said.lines().map(str::to_owned).collect() }
}

/// NumPy gives what it gave when the values were committed, and the cases fit the specs.
pub(crate) fn check(_: &Library) -> Vec<String> {
    let folders = spec_folders();
    let covers = folders.iter().map(|folder| folder.to_str().expect("unicode"));
    let covers: Vec<&str> = ["--covers"].into_iter().chain(covers).collect();
    parallel::each(&[vec!["--check"], covers], |arguments| python(arguments)).concat()
}

/// The library is as large as it is said to be, most of it in families, and each kernel has its cases.
pub(crate) fn kernels_and_families(library: &Library) -> Vec<String> {
    let general = library.kernels.iter().filter(|k| matches!(k.plan.family, Family::General { .. })).count();
    let (all, cases) = (library.kernels.len(), library.kernels.iter().map(|k| k.cases.len()).sum::<usize>());
    println!("  {all} kernels, {} in families, {cases} cases", all - general);
    let few = library.kernels.iter().filter(|k| k.cases.len() < CASES_MIN);
    let mut wrong: Vec<String> = few.map(|k| format!("{}: {} cases", k.name(), k.cases.len())).collect();
    if all < KERNELS_MIN || all - general < IN_FAMILIES_MIN {
        wrong.push(format!("fewer than {KERNELS_MIN} kernels, {IN_FAMILIES_MIN} of them in families"));
    }
    let strided = library.kernels.iter().filter(|k| k.spec().tensors.iter().any(|t| t.strides.is_some()));
    wrong.extend(strided.map(|k| format!("{}: the cases are dense", k.name())));
    wrong
}

fn folders(cases: &Path, kernel: &str) -> Vec<PathBuf> {
    (0..).map(|number| cases.join(format!("{kernel}.{number}"))).take_while(|f| f.is_dir()).collect()
}

fn extents(spec: &KernelSpec, bound: &Value) -> Vec<i64> {
    let bind = |axis: usize| bound[&spec.axes[axis].name].as_i64().expect("the axis is bound");
    axis::resolve(&spec.axes, &bind).expect("every axis has an extent")
}

fn scalar(dtype: DType, value: &Value) -> ScalarValue {
    let value = value.as_f64().expect("a number");
    match dtype {
        DType::F64 => ScalarValue::F64(value.to_bits()),
        _ => ScalarValue::F32((value as f32).to_bits()),
    }
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    let one = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().expect("whole elements"));
    bytes.chunks(8).map(one).collect()
}
