//! What the outputs go on from: the costliest part of their math that the last level of reductions has for each element
//! as well, such as the exponential of a softmax. `resumed` of `struct Math` is that part, `resume` are the outputs from
//! it. Knows not where it is held between the two.

use cutegen_spec::math::{Binary, Expr, Kind, Place, Unary};

use super::Printer;
use super::held::RESUMED;
use crate::print::c;

/// Least instructions that holding an element in a register of its own is to save.
const WORTH: usize = 3;

impl Printer<'_> {
    /// Of all parts that outputs and the last level's bodies have in common.
    pub(super) fn resumed(&self) -> Option<Expr> {
        let last = self.rows.levels().checked_sub(1)?;
        let mut parts = Vec::new();
        for reduced in self.rows.reductions.iter().filter(|r| r.level == last) {
            reduced.body.visit(&mut |part| parts.push(part));
        }
        let mut best: Option<(usize, &Expr)> = None;
        for (_, value) in &self.rows.sinks {
            value.visit(&mut |part| {
                let cost = self.cost(part);
                let better = cost >= WORTH && best.is_none_or(|(most, _)| cost > most);
                if better && self.kind_of(part) == Kind::Real && parts.contains(&part) {
                    best = Some((cost, part));
                }
            });
        }
        best.map(|(_, part)| part.clone())
    }

    /// About how many instructions an element takes.
    fn cost(&self, expr: &Expr) -> usize {
        if self.is_shared(expr) {
            return 0;
        }
        let own = match expr {
            Expr::Unary(Unary::Neg | Unary::Abs, _) => 0,
            Expr::Unary(..) | Expr::Binary(Binary::Pow, ..) => 8,
            _ => 1,
        };
        own + expr.children().into_iter().map(|child| self.cost(child)).sum::<usize>()
    }

    pub(super) fn resume(&mut self) -> String {
        let part = self.resumed();
        let level = self.rows.levels().saturating_sub(1);
        let own = part.as_ref().map_or(Expr::Const(0.0), |part| self.hoisted(part, level));
        let values: Vec<Expr> =
            self.rows.sinks.iter().map(|(_, value)| self.going_on(value, &part)).collect();
        format!(
            "  template <class V, class R>\n  CG_DEVICE float resumed(V const& v, R const& r, Held const& held, \
             [[maybe_unused]] int64_t j) const {{\n{}    return float({});\n  }}\n{}",
            self.columns_of(std::slice::from_ref(&own), "    "),
            c::real(&own, self),
            self.outputs_of("resume([[maybe_unused]] float own, ", &values)
        )
    }

    /// `expr` from `part` on, which is named by a column so that it is not taken for the row's.
    fn going_on(&self, expr: &Expr, part: &Option<Expr>) -> Expr {
        match part {
            Some(part) if expr == part => {
                let columns = self.rows.cols.iter().map(|var| cutegen_spec::math::Index::Var(*var));
                Expr::Load(Place::Temp(RESUMED), columns.collect())
            }
            _ => expr.map_children(&mut |child| self.going_on(child, part)),
        }
    }
}
