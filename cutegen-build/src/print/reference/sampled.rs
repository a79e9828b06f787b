//! Steps of which some elements are computed: what stands around their statements. `sample.hpp` has which elements those
//! are; where nothing is sampled they are all.

use cutegen_spec::math::Place;

use super::running::Running;
use crate::plan::sample::{Cut, Sample};
use crate::plan::schedule::Step;

/// A step that is cut.
pub(super) struct Sampled<'a> {
    running: Running<'a>,
    step: &'a Step,
    cut: Cut,
}

impl<'a> Sampled<'a> {
    pub(super) fn of(
        running: Running<'a>,
        sample: Option<&Sample>,
        (number, step): (usize, &'a Step),
    ) -> Option<Self> {
        sample.and_then(|sample| sample.cut(number)).map(|cut| Self { running, step, cut })
    }

    /// Whether all of its elements are gone through: an output's, which costs nothing, so that those which are left out are
    /// marked.
    pub(super) fn is_marked(&self) -> bool {
        matches!(self.step.dst, Place::Tensor(_))
    }

    /// How many points there are to go through instead of `total`.
    pub(super) fn points(&self, total: &str) -> String {
        format!("sample.points({total}, {})", self.cuts().join(", "))
    }

    /// The declaration of `rest`, the number of the i-th of them among `total`.
    pub(super) fn point(&self, total: &str, leave: &str) -> String {
        format!(
            "    int64_t rest = sample.point(i, {total}, {});\n    if (rest < 0) {leave};\n",
            self.cuts().join(", ")
        )
    }

    /// Marks an element that is left out, where its loops' variables are in scope.
    pub(super) fn mark(&self, leave: &str) -> String {
        let Place::Tensor(t) = self.step.dst else { return String::new() };
        let at = self.running.places().offset(self.step.dst, &self.step.index);
        let lines =
            self.places().map(|place| format!("{}, v{}", self.text(place), self.step.loops[place].var));
        let lines: Vec<String> = lines.collect();
        format!(
            "    if (sample.skips({})) {{\n      bound{t}[{at}] = -2;\n      {leave};\n    }}\n",
            lines.join(", ")
        )
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        [self.cut.outer].into_iter().chain(self.cut.inner)
    }

    fn cuts(&self) -> Vec<String> {
        self.places().map(|place| self.text(place)).collect()
    }

    fn text(&self, place: usize) -> String {
        let axis = self.running.plan.schedule.vars[self.step.loops[place].var];
        format!("Cut{{{axis}, a{axis}, {}}}", self.running.places().total(&self.step.loops[place + 1..]))
    }
}
