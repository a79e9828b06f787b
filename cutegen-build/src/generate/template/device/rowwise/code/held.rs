//! What all elements of a row share: subexpressions that are computed once a row, before a level of reductions or the
//! outputs, and how the rest names them.

use cutegen_spec::math::{Binary, Expr, Index, Kind, Place};

use super::Printer;
use crate::plan::family::Reduced;
use crate::print::c::{self, Dialect, literal};

/// Temporaries from here on stand for what a row holds.
const HELD: usize = 1 << 32;

/// The temporary that stands for what outputs go on from.
pub(super) const RESUMED: usize = HELD - 1;

/// One value that all elements of a row share.
pub(super) struct Shared {
    level: usize,
    expr: Expr,
    is_divisor: bool,
}

impl Printer<'_> {
    pub(super) fn held_members(&self) -> String {
        let one = |(k, held): (usize, &Shared)| {
            format!("  {} h{k};\n", if held.is_divisor { "Divisor" } else { "float" })
        };
        self.held.iter().enumerate().map(one).collect()
    }

    pub(super) fn prepare(&self) -> String {
        let one = |(k, held): (usize, &Shared)| {
            let text = c::real(&held.expr, self);
            let value = if held.is_divisor { format!("Divisor({text})") } else { text };
            format!("    if constexpr (P == {}) held.h{k} = {value};\n", held.level)
        };
        let texts: String = self.held.iter().enumerate().map(one).collect();
        format!(
            "  template <int P, class R>\n  CG_DEVICE void prepare(R const& r, Held& held) const {{\n{texts}  }}\n"
        )
    }

    /// `expr` with what is the same for all elements of a row taken out, to be computed before `level`.
    pub(super) fn hoisted(&mut self, expr: &Expr, level: usize) -> Expr {
        if self.is_shared(expr) {
            let leaf = matches!(
                expr,
                Expr::Const(_) | Expr::Scalar(_) | Expr::Int(_) | Expr::Load(Place::Temp(_), _)
            );
            let real = self.kind_of(expr) == Kind::Real;
            return if leaf || !real { expr.clone() } else { self.hold(expr, level, false) };
        }
        if let Expr::Binary(Binary::Div, a, b) = expr
            && self.is_shared(b)
            && self.kind_of(b) == Kind::Real
        {
            let (a, b) = (self.hoisted(a, level), self.hold(b, level, true));
            return a.binary(Binary::Div, b);
        }
        match expr {
            Expr::Load(..) => expr.clone(),
            _ => {
                let children: Vec<Expr> =
                    expr.children().into_iter().map(|e| self.hoisted(e, level)).collect();
                let mut next = children.into_iter();
                expr.map_children(&mut |child| next.next().unwrap_or_else(|| child.clone()))
            }
        }
    }

    pub(super) fn kind_of(&self, expr: &Expr) -> Kind {
        expr.kind(&|place| Dialect::kind(self, place))
    }

    pub(super) fn is_shared(&self, expr: &Expr) -> bool {
        expr.free_vars().iter().all(|var| self.rows.rows.contains(var))
    }

    fn hold(&mut self, expr: &Expr, level: usize, is_divisor: bool) -> Expr {
        let same = |held: &Shared| (held.level, &held.expr, held.is_divisor) == (level, expr, is_divisor);
        let k = self.held.iter().position(same).unwrap_or_else(|| {
            self.held.push(Shared { level, expr: expr.clone(), is_divisor });
            self.held.len() - 1
        });
        Expr::Load(Place::Temp(HELD + k), Vec::new())
    }
}

impl Dialect for Printer<'_> {
    fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Temp(t) if t >= HELD => format!("held.h{}", t - HELD),
            Place::Temp(RESUMED) => "own".to_owned(),
            Place::Temp(t) => {
                let at = |reductions: &[Reduced]| reductions.iter().position(|r| r.temp == t);
                if let Some(f) = at(&self.rows.folds) {
                    return format!("get<{f}>(f)");
                }
                let text = format!("get<{}>(r)", at(&self.rows.reductions).unwrap_or_default());
                if self.kind(place) == Kind::Int { format!("int64_t({text}.at)") } else { text }
            }
            Place::Tensor(t) => match self.rows.stream(t, index) {
                Some(s) => format!("get<{s}>(v)"),
                None => self.places().load(place, index),
            },
        }
    }

    fn kind(&self, place: Place) -> Kind {
        match place {
            Place::Temp(t) if t >= RESUMED => Kind::Real,
            _ => self.plan.schedule.kind(&self.plan.spec, place),
        }
    }

    fn constant(&self, value: f64) -> String {
        format!("float({})", literal(value))
    }

    fn integer(&self, text: &str) -> String {
        format!("int64_t({text})")
    }

    fn real(&self, text: &str) -> String {
        format!("float({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("float(s{position})")
    }

    fn index(&self, index: &Index) -> String {
        self.places().index(index)
    }

    fn inside(&self, place: Place, index: &[Index]) -> String {
        self.places().inside(place, index)
    }
}
