//! Lists as smaller cards dispatch them: a card whose blocks have less shared memory passes over what needs more, and the next
//! variant serves. That one is judged wherever it does. What is launched is launched here: this card holds it too.

use super::backend::MemoryBackend;
use super::candidate::{Candidate, Loadable};
use super::checker::{Checker, Scope};
use super::dispatch_predicates::Price;
use super::runner_slot::Halt;
use crate::evaluate::wire::arena::Alignment;
use crate::outcome::Correctness;

/// How bases are aligned where a list is judged.
const ALIGNMENTS: [Alignment; 2] = [Alignment::Allocator, Alignment::Element];

impl<D: MemoryBackend> Checker<D> {
    /// Judges a list as each smaller card dispatches it, at the shapes where that is another variant than here: of those that
    /// were asked, and of those that the shorter list needs.
    pub(in crate::evaluate) fn judge_on_smaller(
        &mut self,
        list: &[Loadable],
        (asked, scope): (&[(usize, Price)], &Scope),
        passed: &mut [Correctness],
    ) -> Result<(), Halt> {
        for room in self.settings.smaller.clone() {
            let fitting: Vec<usize> = (0..list.len()).filter(|at| fits(&list[*at].candidate, room)).collect();
            if fitting.len() < list.len() {
                self.judge_fitting((list, &fitting), (asked, scope), passed)?;
            }
        }
        Ok(())
    }

    /// Judges those of a list that fit where another one is dispatched on a card that holds all.
    fn judge_fitting(
        &mut self,
        (list, fitting): (&[Loadable], &[usize]),
        (asked, scope): (&[(usize, Price)], &Scope),
        passed: &mut [Correctness],
    ) -> Result<(), Halt> {
        let shorter: Vec<Loadable> = fitting.iter().map(|at| list[*at].clone()).collect();
        let variants: Vec<Candidate> = shorter.iter().map(|variant| variant.candidate.clone()).collect();
        let needed = self.asked(&variants, scope);
        let further = needed.into_iter().filter(|(shape, _)| asked.iter().all(|(known, _)| known != shape));
        // what a variant has passed on larger cards counts: it is not repeated as often again
        let mut own: Vec<Correctness> = fitting.iter().map(|at| std::mem::take(&mut passed[*at])).collect();
        for (shape, price) in asked.iter().copied().chain(further.collect::<Vec<_>>()) {
            if self.passes_over((list, fitting), shape)? {
                self.judge_shape(&shorter, (shape, price), scope, &mut own)?;
            }
        }
        fitting.iter().zip(own).for_each(|(at, own)| passed[*at] = own);
        Ok(())
    }

    /// Whether the variant that is dispatched at a shape is none of those that fit.
    fn passes_over(&self, (list, fitting): (&[Loadable], &[usize]), shape: usize) -> Result<bool, Halt> {
        let axes = self.axes(shape);
        for alignment in ALIGNMENTS {
            let chosen = self.chosen(list, &axes, alignment.into())?;
            if chosen.is_some_and(|chosen| !fitting.contains(&chosen)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// As the runtime decides it when it loads.
fn fits(variant: &Candidate, room: u32) -> bool {
    variant.shared_memory.is_none_or(|needed| needed <= room)
}
