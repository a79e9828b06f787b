//! Launches of a candidate's program, held against the reference and its bound by the gate's own comparison.

use std::path::Path;
use std::process::Command;

use cutegen_build::evaluate::judge::{compare, element};
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::evaluate::{Call, Expected, Reference};
use cutegen_build::generate::Candidate;
use cutegen_build::plan::Plan;
use cutegen_spec::contract::{Arg, Initial, Step};
use cutegen_spec::int_expr::{DeviceProp, IntExpr};
use cutegen_spec::tensor::Role;

/// A candidate whose program is built.
pub(crate) struct Subject<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) candidate: &'a Candidate,
    pub(crate) reference: &'a Reference,
    /// Where the program lies.
    pub(crate) folder: &'a Path,
    /// What each scalar is.
    pub(crate) scalar: f32,
}

/// Blocks of a resident launch at a time, in place of a device's multiprocessors.
const MULTIPROCESSORS: i64 = 4;

impl Subject<'_> {
    /// All axes, of those that are known at run time, which are in order; 64 where there are more.
    pub(crate) fn axes(&self, run_time: &[i64]) -> Result<Vec<i64>, String> {
        let spec = &self.plan.spec;
        let mut given = run_time.iter().copied();
        let mut bound = vec![0; spec.axes.len()];
        spec.axes.iter().zip(&mut bound).filter(|(axis, _)| axis.is_run_time()).for_each(|(_, extent)| {
            *extent = given.next().unwrap_or(64);
        });
        let axes = cutegen_spec::axis::resolve(&spec.axes, &|a| bound[a]).expect("extents");
        if self.candidate.eligibility.holds(&axes, &vec![0; spec.tensors.len()]) {
            return Ok(axes);
        }
        Err(format!("not eligible: {}", self.candidate.eligibility))
    }

    /// The largest share of a bound that an element used. `order` is for the emulator, where it has a choice.
    pub(crate) fn judged(&self, axes: &[i64], held: &[Option<Vec<u8>>], order: usize) -> Result<f64, String> {
        let spec = &self.plan.spec;
        let scalars = vec![ScalarValue::F32(self.scalar.to_bits()); spec.scalars.len()];
        let outputs: Vec<usize> =
            (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role == Role::Output).collect();
        let elements: Vec<usize> =
            outputs.iter().map(|t| spec.tensors[*t].span(axes).expect("a size") as usize).collect();
        let inputs: Vec<Vec<u8>> = held.iter().flatten().cloned().collect();
        let call = Call {
            inputs: &inputs,
            axes,
            scalars: &scalars,
            outputs: &elements,
            exact: false,
            sampled: None,
        };
        let expected = self.reference.call(&call);
        self.launch(axes, held, order)?;
        let mut share = 0.0_f64;
        for (t, expected) in outputs.iter().zip(&expected) {
            share = share.max(self.compared(*t, expected)?);
        }
        Ok(share)
    }

    fn compared(&self, tensor: usize, expected: &Expected) -> Result<f64, String> {
        let declared = &self.plan.spec.tensors[tensor];
        let bytes = std::fs::read(self.folder.join(tensor.to_string())).expect("the program wrote it");
        let compared = compare::compare(declared.dtype, &bytes, expected);
        match compared.wrong {
            Some(wrong) => Err(format!("{}: {wrong:?}", declared.name)),
            None if compared.judged == 0 && compared.not_judged == 0 => Err("nothing was judged".to_owned()),
            None => Ok(compared.worst_share),
        }
    }

    /// Runs the program on buffers in files, by position of the argument; outputs and workspace begin as 0xff.
    fn launch(&self, axes: &[i64], held: &[Option<Vec<u8>>], order: usize) -> Result<(), String> {
        let device = |prop: DeviceProp| (prop == DeviceProp::SmCount).then_some(MULTIPROCESSORS);
        let value = |expr: &IntExpr| expr.eval(axes, &device).expect("a size");
        let (folder, contract) = (self.folder, &self.candidate.contract);
        let mut command = Command::new("timeout");
        command.arg("300").arg(folder.join("kernel")).arg(folder).env("EMU_ORDER", order.to_string());
        for (i, arg) in contract.steps[0].args.iter().enumerate() {
            match arg {
                Arg::Ptr(t) => {
                    let declared = &self.plan.spec.tensors[*t];
                    let size = element::bytes(declared.dtype, declared.span(axes).expect("a size") as usize);
                    let bytes = held[*t].clone().unwrap_or_else(|| vec![0xff; size]);
                    std::fs::write(folder.join(i.to_string()), bytes).expect("written");
                }
                Arg::Workspace(w) => {
                    let part = &contract.workspace[*w];
                    let fill = if part.initial != Initial::Undefined { 0 } else { 0xff };
                    std::fs::write(folder.join(i.to_string()), vec![fill; value(&part.bytes) as usize])
                        .expect("written");
                }
                Arg::Axis(a) => {
                    command.arg(axes[*a].to_string());
                }
                Arg::Int(_) | Arg::Map(_) => panic!("no kernel that is emulated has {arg}"),
                Arg::Scalar(_) => {
                    command.arg(self.scalar.to_bits().to_string());
                }
            }
        }
        command.env("EMU_GRID_Y", value(&contract.steps[0].grid[1]).to_string());
        for step in &contract.steps {
            command.args(sizes(step, &value).map(|size| size.to_string()));
        }
        let ran = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.success() { Ok(()) } else { Err(format!("{}: {said}", ran.status)) }
    }
}

/// Blocks, threads, blocks that run together, bytes of shared memory.
fn sizes(step: &Step, value: &dyn Fn(&IntExpr) -> i64) -> [i64; 4] {
    let grid = value(&step.grid[0]) * value(&step.grid[1]);
    let together = if step.co_resident { grid } else { value(&step.cluster[0]) };
    [grid, value(&step.block[0]), together, value(&step.smem)]
}
