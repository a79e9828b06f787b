//! What a part of a row does by itself, and what puts it right: `whole`, `about` and `moved` of `struct Math`.

use super::Printer;
use crate::plan::family::Merge;
use crate::print::c;

impl Printer<'_> {
    /// Three functions: the statistics of a part as estimates of the row's, what a sum of level 1 is about, and a
    /// part's sum, about `own`, as one about `to`.
    pub(super) fn merges(&self) -> String {
        let merges = self.rows.merges().unwrap_or_default();
        let upper = (0..self.rows.reductions.len()).filter(|j| self.rows.reductions[*j].level == 1);
        let (mut whole, mut about, mut moved) = (String::new(), String::new(), String::new());
        for (j, merge) in upper.zip(&merges) {
            let (estimate, center, text) = self.merge(merge);
            // two reductions may share their first
            if !whole.contains(&estimate) {
                whole.push_str(&estimate);
            }
            about.push_str(&format!("    if constexpr (J == {j}) return float({center});\n"));
            moved.push_str(&format!("    if constexpr (J == {j}) {{\n{text}    }}\n"));
        }
        format!(
            "\n  template <class R>\n  CG_DEVICE R whole(R r, [[maybe_unused]] float share) const {{\n{whole}    return r;\n  }}\n\n  \
             template <int J, class R>\n  CG_DEVICE float about(R const& r) const {{\n{about}  }}\n  \
             template <int J, class R>\n  CG_DEVICE float moved(R const& part, float own, float to, \
             [[maybe_unused]] float length) const {{\n{moved}  }}\n"
        )
    }

    fn merge(&self, merge: &Merge) -> (String, String, String) {
        let position =
            |temp: usize| self.rows.reductions.iter().position(|r| r.temp == temp).unwrap_or_default();
        match merge {
            Merge::Exponentials { top } => {
                // a part of nothing but -inf has NaN for a sum, and adds nothing to a row that has more; a sum may
                // move often, so its exponentials are never the short ones
                let text =
                    "      return own == -cg_inf() && own != to ? 0.0f : get<J>(part) * expf(own - to);\n";
                (String::new(), format!("get<{}>(r)", position(*top)), text.to_owned())
            }
            Merge::Squares { sum, center } => {
                let k = position(*sum);
                let text = format!(
                    "      const float move = own - to;\n      \
                     return get<J>(part) + move * fmaf(move, length, 2.0f * fmaf(-length, own, get<{k}>(part)));\n"
                );
                (format!("    get<{k}>(r) *= share;\n"), c::real(center, self), text)
            }
        }
    }
}
