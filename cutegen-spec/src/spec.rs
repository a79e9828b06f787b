//! [`KernelSpec`]: one kernel in the internal form that every edition converts to.

use std::collections::BTreeMap;

use crate::axis::Axis;
use crate::dtype::DType;
use crate::generators::Generators;
use crate::int_expr::Names;
use crate::math::Math;
use crate::name::KernelName;
use crate::target::Target;
use crate::tensor::{Role, Scalar, Tensor};
use crate::workload::Workload;

/// A checked kernel spec: every name resolved, every access proved in range.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct KernelSpec {
    /// The kernel's name.
    pub name: KernelName,
    /// Axes in declaration order.
    pub axes: Vec<Axis>,
    /// Tensors: inputs, then inout, then outputs, each in declaration order.
    pub tensors: Vec<Tensor>,
    /// Run-time scalars in declaration order.
    pub scalars: Vec<Scalar>,
    /// Named values that a kernel may round to a dtype.
    pub intermediates: BTreeMap<String, DType>,
    /// What is computed, resolved.
    pub math: Math,
    /// The math as the author wrote it, for documentation.
    pub math_text: String,
    /// How it may be computed.
    pub precision: Precision,
    /// Overrides the derived error bound.
    pub tolerance: Option<Tolerance>,
    /// Whether repeats must be bit-equal.
    pub deterministic: bool,
    /// Axis bindings that decide the score.
    pub workloads: Vec<Workload>,
    /// The smallest speed-up over the incumbents that makes a candidate acceptable.
    pub min_speedup: f64,
    /// The family the author asserts.
    pub family: Option<String>,
    /// The same math in other libraries, by library name.
    pub peers: BTreeMap<String, String>,
    /// What the author tells whoever writes kernels for it: plain text, which no answer depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Which kinds of generators a search asks, in this order.
    #[serde(default, skip_serializing_if = "Generators::is_default")]
    pub generators: Generators,
    /// Targets this kernel is built for.
    pub targets: Vec<Target>,
}

impl Names for KernelSpec {
    fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    fn tensor(&self, name: &str) -> Option<usize> {
        self.tensors.iter().position(|tensor| tensor.name == name)
    }

    fn scalar(&self, name: &str) -> Option<usize> {
        self.scalars.iter().position(|scalar| scalar.name == name)
    }

    fn dtype(&self, tensor: usize) -> Option<DType> {
        self.tensors.get(tensor).map(|tensor| tensor.dtype)
    }
}

/// How a kernel may compute. Lower precision is asked for, never found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Precision {
    /// Type of sums and of intermediate values.
    pub accumulate: DType,
    /// Type that products are formed in.
    pub multiply: Multiply,
    /// Whether approximate functions are allowed.
    pub fast_math: bool,
}

/// How products of inputs are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Multiply {
    /// From the inputs as they are.
    Native,
    /// From inputs rounded to TF32.
    Tf32,
}

impl Multiply {
    /// The word a spec uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Multiply::Native => "native",
            Multiply::Tf32 => "tf32",
        }
    }
}

/// A declared tolerance with the reason that it differs from the derived bound.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tolerance {
    /// Relative part.
    pub relative: f64,
    /// Absolute part.
    pub absolute: f64,
    /// Why the derived bound does not fit.
    pub reason: String,
}

impl KernelSpec {
    /// Positions of the tensors with this role.
    pub fn tensors_with(&self, role: Role) -> impl Iterator<Item = usize> + '_ {
        self.tensors.iter().enumerate().filter(move |(_, t)| t.role == role).map(|(i, _)| i)
    }

    /// Positions of the axes that a caller passes at run time.
    pub fn run_time_axes(&self) -> impl Iterator<Item = usize> + '_ {
        self.axes.iter().enumerate().filter(|(_, a)| a.is_run_time()).map(|(i, _)| i)
    }

    /// All extents once the run-time axes are bound by name; the error names what is missing or out of range.
    pub fn bind(&self, bindings: &BTreeMap<String, i64>) -> Result<Vec<i64>, String> {
        for axis in bindings.keys() {
            if !self.run_time_axes().any(|i| self.axes[i].name == *axis) {
                return Err(format!("`{axis}` is not a run-time axis of kernel `{}`", self.name));
            }
        }
        for i in self.run_time_axes() {
            let axis = &self.axes[i];
            let value =
                *bindings.get(&axis.name).ok_or_else(|| format!("axis `{}` is not bound", axis.name))?;
            check_in_range(axis, value)?;
        }
        crate::axis::resolve(&self.axes, &|i| bindings[&self.axes[i].name])
            .ok_or_else(|| format!("a derived axis of kernel `{}` is negative or overflows", self.name))
    }
}

fn check_in_range(axis: &Axis, value: i64) -> Result<(), String> {
    use crate::axis::Extent;
    match axis.extent {
        Extent::Range { lo, hi, multiple_of, .. } if value < lo || value > hi || value % multiple_of != 0 => {
            Err(format!("axis `{}` = {value} is outside {lo}..={hi} in steps of {multiple_of}", axis.name))
        }
        Extent::Range { .. } | Extent::Const(_) | Extent::Derived(_) => Ok(()),
    }
}
