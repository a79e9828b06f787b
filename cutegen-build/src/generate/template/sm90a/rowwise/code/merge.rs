//! What a part of a row does by itself, and what puts it right: `whole` and `moved` of `struct Math`.

use super::Printer;
use crate::plan::family::Merge;
use crate::print::c;

impl Printer<'_> {
    /// Two functions: the statistics of a part as estimates of the row's, and a part's sum of level 1 as one over
    /// the row.
    pub(super) fn merges(&self) -> String {
        let merges = self.rows.merges().unwrap_or_default();
        let upper = (0..self.rows.reductions.len()).filter(|j| self.rows.reductions[*j].level == 1);
        let (mut whole, mut moved) = (String::new(), String::new());
        for (j, merge) in upper.zip(&merges) {
            let (estimate, text) = self.merge(merge);
            // two reductions may share their first
            if !whole.contains(&estimate) {
                whole.push_str(&estimate);
            }
            moved.push_str(&format!("    if constexpr (J == {j}) {{\n{text}    }}\n"));
        }
        format!(
            "\n  template <class R>\n  CG_DEVICE R whole(R r, [[maybe_unused]] float share) const {{\n{whole}    return r;\n  }}\n\n  \
             template <int J, class R>\n  CG_DEVICE float moved(R const& part, R const& all, [[maybe_unused]] float length, \
             [[maybe_unused]] float share) const {{\n{moved}  }}\n"
        )
    }

    fn merge(&self, merge: &Merge) -> (String, String) {
        let position =
            |temp: usize| self.rows.reductions.iter().position(|r| r.temp == temp).unwrap_or_default();
        match merge {
            Merge::Exponentials { top } => {
                let k = position(*top);
                // a part of nothing but -inf has NaN for a sum, and adds nothing to a row that has more
                let text = format!(
                    "      const float own = get<{k}>(part), top = get<{k}>(all);\n      \
                     return own == -cg_inf() && own != top ? 0.0f : get<J>(part) * cg_exp(own - top);\n"
                );
                (String::new(), text)
            }
            Merge::Squares { sum, center } => {
                let k = position(*sum);
                let text = format!(
                    "      const auto center = [&](R const& r) {{ return float({}); }};\n      \
                     const float own = center(whole(part, share)), move = own - center(all);\n      \
                     return get<J>(part) + move * fmaf(move, length, 2.0f * fmaf(-length, own, get<{k}>(part)));\n",
                    c::real(center, self)
                );
                (format!("    get<{k}>(r) *= share;\n"), text)
            }
        }
    }
}
