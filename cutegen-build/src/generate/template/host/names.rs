//! The expressions of the math as host templates see them: every value is a `float`. Their families have no other kinds
//! and no padded loads.

use std::collections::BTreeMap;

use cutegen_spec::math::{Expr, Index, Kind, Place};

use crate::print::c::{self, Dialect, literal};

/// How template code names what the math names.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// The index text of each loop variable.
    pub(super) vars: BTreeMap<usize, String>,
    /// The value text of each temporary: an accumulator or a row's reduction.
    pub(super) temps: BTreeMap<usize, String>,
}

impl Names {
    /// `expr` as an expression of `float`.
    #[must_use]
    pub(super) fn expr(&self, expr: &Expr) -> String {
        c::real(expr, self)
    }

    fn element(&self, index: &[Index]) -> String {
        let vars = index.iter().filter_map(Index::as_var);
        let names: Vec<&str> = vars.filter_map(|v| self.vars.get(&v)).map(String::as_str).collect();
        if names.is_empty() { "0".to_owned() } else { names.join(", ") }
    }
}

impl Dialect for Names {
    fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) => format!("to_f32(t{t}({}))", self.element(index)),
            Place::Temp(w) => self.temps.get(&w).cloned().unwrap_or_default(),
        }
    }

    fn constant(&self, value: f64) -> String {
        format!("float({})", literal(value).replace("cg_inf()", "__builtin_inff()"))
    }

    fn integer(&self, text: &str) -> String {
        format!("float({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("float(s{position})")
    }

    fn kind(&self, _: Place) -> Kind {
        Kind::Real
    }

    fn real(&self, text: &str) -> String {
        text.to_owned()
    }

    fn index(&self, index: &Index) -> String {
        c::extent(index)
    }

    fn inside(&self, _: Place, _: &[Index]) -> String {
        "true".to_owned()
    }
}
