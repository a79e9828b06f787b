//! Filling a template: placeholders `@NAME@`, and the expressions of the math as template code sees them.

use std::collections::BTreeMap;

use cutegen_spec::math::{Expr, Index, Kind, Place};

use crate::print::c::{self, Dialect, literal};

/// A template's text with every placeholder replaced. A placeholder without a block stays, for the next filling.
#[must_use]
pub(super) fn fill(template: &str, blocks: &[(&str, &str)]) -> String {
    blocks.iter().fold(template.to_owned(), |text, (name, block)| text.replace(&format!("@{name}@"), block))
}

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

impl TemplateCode for Names {
    const INFINITY: &'static str = "__builtin_inff()";

    fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) => format!("to_f32(t{t}({}))", self.element(index)),
            Place::Temp(w) => self.temps.get(&w).cloned().unwrap_or_default(),
        }
    }

    fn integer(&self, text: &str) -> String {
        format!("float({text})")
    }

    fn scalar(&self, position: usize) -> String {
        format!("float(s{position})")
    }
}

/// The dialect of template code: every value a `float`. Templates' families have no other kinds and no padded loads.
pub(super) trait TemplateCode {
    /// What stands for an infinity.
    const INFINITY: &'static str;
    /// The value of an element.
    fn load(&self, place: Place, index: &[Index]) -> String;
    /// An integer as a value.
    fn integer(&self, text: &str) -> String;
    /// A scalar argument as a value.
    fn scalar(&self, position: usize) -> String;
}

impl<T: TemplateCode> Dialect for T {
    fn load(&self, place: Place, index: &[Index]) -> String {
        TemplateCode::load(self, place, index)
    }

    fn constant(&self, value: f64) -> String {
        format!("float({})", literal(value).replace("cg_inf()", T::INFINITY))
    }

    fn integer(&self, text: &str) -> String {
        TemplateCode::integer(self, text)
    }

    fn scalar(&self, position: usize) -> String {
        TemplateCode::scalar(self, position)
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

/// `constexpr` lines of a configuration.
#[must_use]
pub(super) fn config(values: &[(&str, i64)], flags: &[(&str, bool)]) -> String {
    let values = values.iter().map(|(name, value)| format!("constexpr int {name} = {value};"));
    let flags = flags.iter().map(|(name, value)| format!("constexpr bool {name} = {value};"));
    values.chain(flags).collect::<Vec<_>>().join("\n")
}
