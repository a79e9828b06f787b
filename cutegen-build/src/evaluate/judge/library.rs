//! A library's product judged as a candidate is: at every shape and distribution, by every check that asks nothing of its
//! code. An incumbent that is wrong is no incumbent, and a gate that rejects it would be wrong itself.

use cutegen_spec::contract::{Contract, Initial, WorkspacePart};
use cutegen_spec::int_expr::IntExpr;

use super::backend::MemoryBackend;
use super::checker::{CaseId, Checker, PATIENCE, Reach, Scope, verdict};
use super::image::image;
use super::runner_slot::{Halt, Launchable};
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::Alignment;
use crate::evaluate::wire::gemm::Gemm;
use crate::evaluate::wire::protocol::{Code, WORKSPACE_BYTES};
use crate::outcome::{Correctness, Outcome};

impl<D: MemoryBackend> Checker<D> {
    /// See [`Judge::full_product`](super::Judge::full_product).
    pub(in crate::evaluate) fn full_product(
        &mut self,
        product: &dyn Fn(&[i64]) -> Option<Gemm>,
    ) -> Result<Outcome, Error> {
        let distributions = self.distributions().collect();
        let (shapes, repeats) = (self.shapes().len(), self.settings.repeats.1);
        let reach = Reach::Shapes;
        let scope = Scope { shapes, reach, distributions, least: repeats, repeats, patience: PATIENCE };
        self.runner.replace_worker();
        self.runner.with_cublaslt = true;
        let judged = self.judge_product(product, &scope);
        self.runner.replace_worker();
        self.runner.with_cublaslt = false;
        verdict(judged)
    }

    fn judge_product(
        &mut self,
        product: &dyn Fn(&[i64]) -> Option<Gemm>,
        scope: &Scope,
    ) -> Result<Correctness, Halt> {
        let mut passed = Correctness::default();
        let mut lacking = None;
        for shape in 0..scope.shapes {
            let Some(gemm) = product(&self.axes(shape)) else { continue };
            let what = Launchable { code: Code::CublasLt(gemm), contract: contract() };
            match self.judge_product_at(&what, shape, scope, &mut passed) {
                // what the library does not offer at these extents is not judged at them
                Err(Halt::Outcome(outcome)) if matches!(*outcome, Outcome::Blocked(_)) => {
                    lacking = Some(outcome);
                }
                judged => judged?,
            }
        }
        match lacking {
            Some(outcome) if passed.shapes.is_empty() => Err(Halt::Outcome(outcome)),
            _ => Ok(passed),
        }
    }

    fn judge_product_at(
        &mut self,
        what: &Launchable,
        shape: usize,
        scope: &Scope,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let image = image(&self.spec, &what.contract, &self.axes(shape), Alignment::Allocator)?;
        let Ok(image) = image else { return Ok(()) };
        for distribution in &scope.distributions {
            let id = CaseId { shape, distribution: *distribution, alignment: Alignment::Allocator };
            self.judge_on((what, &image), id, (scope, None), passed)?;
        }
        Ok(())
    }
}

/// The workspace that the library gets.
fn contract() -> Contract {
    let bytes = IntExpr::Const(WORKSPACE_BYTES.cast_signed());
    Contract { workspace: vec![WorkspacePart { bytes, initial: Initial::Undefined }], steps: Vec::new() }
}
