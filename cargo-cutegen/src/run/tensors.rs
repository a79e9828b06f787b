//! Tensors in safetensors files: read and held to the spec, written whole or not at all.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use cutegen_build::evaluate::judge::{element, user_launch};
use cutegen_build::plan::Plan;
use cutegen_spec::dtype::DType;
use cutegen_spec::tensor::{Role, Tensor};
use safetensors::tensor::{SafeTensorError, TensorView};
use safetensors::{Dtype, SafeTensors};

use super::deviation::INTEGERS;
use super::{Subject, expected};
use crate::args::With;
use crate::failure::Failure;
use crate::outfile::OutFile;

/// The user's files.
pub(super) struct Brought {
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// One tensor of them.
pub(super) struct View<'a> {
    file: &'a Path,
    pub(super) name: String,
    dtype: Dtype,
    pub(super) shape: Vec<usize>,
    data: &'a [u8],
}

/// One tensor to be written.
pub(super) struct Written {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Brought {
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let read = |path: &PathBuf| {
            let failed = |error| {
                let path = path.display();
                Failure::Usage(format!("cannot read {path}: {error}\nname a safetensors file: --in FILE"))
            };
            Ok((path.clone(), fs::read(path).map_err(failed)?))
        };
        Ok(Self { files: paths.iter().map(read).collect::<Result<_, Failure>>()? })
    }

    /// All tensors; a name in two files is an error.
    pub(super) fn views(&self) -> Result<Vec<View<'_>>, Failure> {
        let mut views: Vec<View<'_>> = Vec::new();
        for (file, bytes) in &self.files {
            let parsed = SafeTensors::deserialize(bytes).map_err(|error| unusable(file, &error))?;
            for (name, view) in parsed.tensors() {
                if let Some(other) = views.iter().find(|other| other.name == name) {
                    let (one, two) = (other.file.display(), file.display());
                    let text = format!("`{name}` is in {one} and in {two}\ngive one of them");
                    return Err(Failure::Usage(text));
                }
                let shape = view.shape().to_vec();
                views.push(View { file, name, dtype: view.dtype(), shape, data: view.data() });
            }
        }
        Ok(views)
    }
}

fn unusable(file: &Path, error: &SafeTensorError) -> Failure {
    let file = file.display();
    Failure::Usage(format!(
        "{file} is no whole safetensors file: {error}\nwrite it again, in Python with safetensors.torch.save_file"
    ))
}

/// What was brought for each input and inout, dense, by position.
pub(super) fn take(plan: &Plan, axes: &[i64], views: &[View<'_>]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let one = |tensor: &Tensor| {
        let view = views.iter().find(|view| view.name == tensor.name && tensor.role != Role::Output);
        view.map(|view| fits(plan, axes, tensor, view).map(|()| view.data.to_vec())).transpose()
    };
    plan.spec.tensors.iter().map(one).collect()
}

/// Refuses a tensor of another rank, before extents of axes are read off its shape.
pub(super) fn ranks(plan: &Plan, views: &[View<'_>]) -> Result<(), Failure> {
    let read = plan.spec.tensors.iter().filter(|tensor| tensor.role != Role::Output);
    for tensor in read {
        let Some(view) = views.iter().find(|view| view.name == tensor.name) else { continue };
        let (found, expected) = (view.shape.len(), tensor.dims.len());
        // packed elements of an odd length are one dimension of bytes
        if found == expected || (tensor.dtype.bits() < 8 && found == 1) {
            continue;
        }
        let (title, name, file) = (plan.title(), &tensor.name, view.file.display());
        let (has, takes) = (words(view.dtype, &view.shape), expected::shape(&plan.spec, tensor, None));
        let noun = if expected == 1 { "dimension" } else { "dimensions" };
        return Err(Failure::Usage(format!(
            "{title}: tensor `{name}` in {file} is {has}; the kernel takes {takes}\ngive it {expected} {noun} instead of \
             {found} before it is saved"
        )));
    }
    Ok(())
}

fn fits(plan: &Plan, axes: &[i64], tensor: &Tensor, view: &View<'_>) -> Result<(), Failure> {
    let (dtype, shape) = (stored(tensor.dtype), stored_shape(tensor, axes));
    if view.dtype == dtype && view.shape == shape {
        return Ok(());
    }
    let (title, name, file) = (plan.title(), &tensor.name, view.file.display());
    let takes = expected::shape(&plan.spec, tensor, Some(axes));
    let (wants, has) = (words(dtype, &shape), words(view.dtype, &view.shape));
    let what = if view.dtype == dtype {
        format!("give it that shape, or other extents: --axes {}", extents(plan, axes))
    } else {
        format!("convert it to {dtype} before it is saved")
    };
    Err(Failure::Usage(format!(
        "{title}: tensor `{name}` in {file} is {has}; the kernel takes {takes}, in a file {wants}\n{what}"
    )))
}

/// `m=16,n=4096`: the run-time axes as `--axes` takes them.
fn extents(plan: &Plan, axes: &[i64]) -> String {
    let run_time = plan.spec.run_time_axes();
    let texts: Vec<String> = run_time.map(|i| format!("{}={}", plan.spec.axes[i].name, axes[i])).collect();
    texts.join(",")
}

/// `F32 [16, 4096]`
fn words(dtype: Dtype, shape: &[usize]) -> String {
    format!("{dtype} {shape:?}")
}

/// The type under which a file has this one's elements. Two of 4 bits share a byte, low nibble first.
fn stored(dtype: DType) -> Dtype {
    match dtype {
        DType::F64 => Dtype::F64,
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::Bf16 => Dtype::BF16,
        DType::F8e4m3 => Dtype::F8_E4M3,
        DType::F8e5m2 => Dtype::F8_E5M2,
        DType::I8 => Dtype::I8,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::Bool => Dtype::BOOL,
        DType::U8 | DType::I4 | DType::U4 => Dtype::U8,
    }
}

/// The shape in a file: of packed elements the last extent is halved; where it is odd, there is one dimension of bytes.
fn stored_shape(tensor: &Tensor, axes: &[i64]) -> Vec<usize> {
    let extent =
        |dim: &cutegen_spec::int_expr::IntExpr| dim.eval_axes(axes).and_then(|n| usize::try_from(n).ok());
    let mut shape: Vec<usize> = tensor.dims.iter().map(|dim| extent(dim).unwrap_or(0)).collect();
    if tensor.dtype.bits() >= 8 {
        return shape;
    }
    match shape.last_mut() {
        Some(last) if last.is_multiple_of(2) => *last /= 2,
        _ => return vec![element::bytes(tensor.dtype, shape.iter().product())],
    }
    shape
}

/// What the kernel was given.
pub(super) fn inputs(subject: &Subject) -> Vec<Written> {
    let tensors = subject.plan.spec.tensors.iter().zip(&subject.given);
    let given = tensors.filter_map(|(tensor, bytes)| Some((tensor, bytes.clone()?)));
    given.map(|(tensor, data)| written(tensor, &subject.axes, stored(tensor.dtype), data)).collect()
}

/// What the kernel left, or what the reference gives: floats of that in f64, integers in their own type, and beside a
/// result of which some elements are not judged a `NAME.not_judged`, which is true there.
pub(super) fn results(subject: &Subject, with: With, folder: &Path) -> Result<Vec<Written>, Failure> {
    let results = subject.plan.spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input);
    let mut written_all = Vec::new();
    for (t, tensor) in results {
        written_all.push(result(subject, with, folder, (t, tensor))?);
        if with == With::Reference {
            let open = load(&user_launch::unjudged(folder, t))?;
            written_all.extend(open.contains(&1).then(|| mask(tensor, &subject.axes, open)));
        }
    }
    Ok(written_all)
}

/// The name of the mask beside a result.
pub(super) fn mask_name(tensor: &Tensor) -> String {
    format!("{}.not_judged", tensor.name)
}

fn mask(tensor: &Tensor, axes: &[i64], data: Vec<u8>) -> Written {
    let extent =
        |dim: &cutegen_spec::int_expr::IntExpr| dim.eval_axes(axes).and_then(|n| usize::try_from(n).ok());
    let shape = tensor.dims.iter().map(|dim| extent(dim).unwrap_or(0)).collect();
    Written { name: mask_name(tensor), dtype: Dtype::BOOL, shape, data }
}

fn result(
    subject: &Subject,
    with: With,
    folder: &Path,
    (t, tensor): (usize, &Tensor),
) -> Result<Written, Failure> {
    match with {
        With::Tuned | With::Naive => {
            let data = load(&user_launch::left(folder, 0, t))?;
            Ok(written(tensor, &subject.axes, stored(tensor.dtype), data))
        }
        With::Reference => {
            let data = load(&user_launch::exact(folder, t))?;
            Ok(if tensor.dtype.is_float() {
                written(tensor, &subject.axes, Dtype::F64, data)
            } else {
                written(tensor, &subject.axes, stored(tensor.dtype), integers(&subject.plan, tensor, &data)?)
            })
        }
    }
}

/// Dense f64 as elements of an integer type; refused where they may be the neighbours of what they stand for.
fn integers(plan: &Plan, tensor: &Tensor, exact: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut data = vec![0; element::bytes(tensor.dtype, exact.len() / 8)];
    for at in 0..exact.len() / 8 {
        let value = element::read(DType::F64, exact, at);
        if value.abs() >= INTEGERS as f64 {
            let (title, name) = (plan.title(), &tensor.name);
            return Err(Failure::Usage(format!(
                "{title}: element {at} of `{name}` is about {value:.0}, and the f64 reference has no integers of 2^53 and \
                 more\nhave the kernel compute it: --with naive"
            )));
        }
        element::write(tensor.dtype, &mut data, at, value);
    }
    Ok(data)
}

fn written(tensor: &Tensor, axes: &[i64], dtype: Dtype, data: Vec<u8>) -> Written {
    Written { name: tensor.name.clone(), dtype, shape: stored_shape(tensor, axes), data }
}

/// The bytes of a file of ours.
pub(super) fn load(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::Machine(format!("cannot read {}: {error}", path.display())))
}

/// Writes a safetensors file.
pub(super) fn write(
    file: OutFile,
    tensors: &[Written],
    metadata: HashMap<String, String>,
) -> Result<(), Failure> {
    let mut views = Vec::with_capacity(tensors.len());
    for one in tensors {
        let view = TensorView::new(one.dtype, one.shape.clone(), &one.data);
        views.push((one.name.as_str(), view.map_err(|error| file.failure(error))?));
    }
    safetensors::serialize_to_file(views, Some(metadata), file.partial()).map_err(|e| file.failure(e))?;
    file.keep()
}
