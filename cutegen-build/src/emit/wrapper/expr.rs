//! Integer expressions and conditions of a contract as Rust over [`Int`], which answers as
//! [`cutegen_spec::int_expr::IntExpr::eval`] does, and as text for people.
//!
//! [`Int`]: https://docs.rs/cutegen-runtime

use std::collections::BTreeMap;

use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::spec::KernelSpec;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::domain::fold;
use super::kernel::{Name, ident};

/// How axes and addresses are spelled where an expression stands.
pub(super) struct Scope<'a> {
    pub(super) spec: &'a KernelSpec,
    /// A `usize` for each axis, by position.
    pub(super) axes: &'a [Name],
    /// A `u64` for each tensor, by position.
    pub(super) addresses: &'a [Name],
}

impl Scope<'_> {
    /// An expression of type `Int`. Properties of the device are locals of their own name.
    pub(super) fn int(&self, expr: &IntExpr) -> TokenStream {
        self.folded(&fold(expr, &self.spec.axes))
    }

    /// The value, where it is the same for every launch.
    pub(super) fn constant(&self, expr: &IntExpr) -> Option<i64> {
        fold(expr, &self.spec.axes).eval_axes(&[])
    }

    /// Whether a launch is eligible; none when every launch is.
    pub(super) fn holds(&self, eligibility: &Eligibility) -> Option<TokenStream> {
        let conditions = eligibility.0.iter().map(|condition| self.condition(condition));
        conditions.reduce(|all, one| quote!(#all && #one))
    }

    fn folded(&self, expr: &IntExpr) -> TokenStream {
        match expr {
            IntExpr::Const(value) => {
                let value = number(*value);
                quote!(Int::new(#value))
            }
            IntExpr::Axis(axis) => match self.axes.get(*axis) {
                Some(name) => quote!(Int::from(#name)),
                None => quote!(Int::unknown()),
            },
            IntExpr::Device(prop) => {
                let name = ident(prop.name());
                quote!(#name)
            }
            IntExpr::Op(op, a, b) => self.operation(*op, a, b),
        }
    }

    fn operation(&self, op: IntOp, a: &IntExpr, b: &IntExpr) -> TokenStream {
        let (full_a, full_b) = (self.folded(a), self.folded(b));
        let left = if is_infix(a) { quote!((#full_a)) } else { full_a.clone() };
        let right = match b {
            IntExpr::Const(value) if *value >= 0 => number(*value),
            _ if is_infix(b) => quote!((#full_b)),
            _ => full_b.clone(),
        };
        match op {
            IntOp::Add => quote!(#left + #right),
            IntOp::Sub => quote!(#left - #right),
            IntOp::Mul => quote!(#left * #right),
            IntOp::Div => quote!(#left / #right),
            IntOp::Rem => quote!(#left % #right),
            IntOp::CeilDiv => quote!(Int::ceil_div(#full_a, #full_b)),
            IntOp::Min => quote!(Int::min(#full_a, #full_b)),
            IntOp::Max => quote!(Int::max(#full_a, #full_b)),
        }
    }

    fn condition(&self, condition: &Condition) -> TokenStream {
        // A condition that asks for the device has no answer, as in `Eligibility::holds`.
        let int = |expr: &IntExpr| if asks_device(expr) { quote!(Int::unknown()) } else { self.int(expr) };
        match condition {
            Condition::Divides { expr, by } => {
                let (expr, by) = (int(expr), number(*by));
                quote!(Int::is_multiple_of(#expr, #by))
            }
            Condition::AtLeast { expr, bound } => {
                let (expr, bound) = (int(expr), number(*bound));
                quote!(Int::is_at_least(#expr, #bound))
            }
            Condition::AtMost { expr, bound } => {
                let (expr, bound) = (int(expr), number(*bound));
                quote!(Int::is_at_most(#expr, #bound))
            }
            Condition::Aligned { tensor, bytes } => {
                let bytes = Literal::u64_unsuffixed(*bytes);
                match self.addresses.get(*tensor) {
                    Some(address) => quote!(all_aligned(#bytes, &[#address])),
                    None => quote!(false),
                }
            }
        }
    }
}

fn is_infix(expr: &IntExpr) -> bool {
    matches!(expr, IntExpr::Op(IntOp::Add | IntOp::Sub | IntOp::Mul | IntOp::Div | IntOp::Rem, ..))
}

fn asks_device(expr: &IntExpr) -> bool {
    match expr {
        IntExpr::Device(_) => true,
        IntExpr::Const(_) | IntExpr::Axis(_) => false,
        IntExpr::Op(_, a, b) => asks_device(a) || asks_device(b),
    }
}

/// A literal without a suffix; a negative one is an operator and a literal.
pub(super) fn number(value: i64) -> TokenStream {
    let magnitude = Literal::u64_unsuffixed(value.unsigned_abs());
    if value < 0 { quote!(-#magnitude) } else { quote!(#magnitude) }
}

/// An expression as a person writes it, with the spec's names.
pub(super) fn text(expr: &IntExpr, spec: &KernelSpec) -> String {
    let inner = |e: &IntExpr| if is_infix(e) { format!("({})", text(e, spec)) } else { text(e, spec) };
    match expr {
        IntExpr::Const(value) => value.to_string(),
        IntExpr::Axis(axis) => spec.axes.get(*axis).map_or_else(|| format!("a{axis}"), |a| a.name.clone()),
        IntExpr::Device(prop) => prop.name().to_owned(),
        IntExpr::Op(op, a, b) => match op {
            IntOp::Add => format!("{} + {}", inner(a), inner(b)),
            IntOp::Sub => format!("{} - {}", inner(a), inner(b)),
            IntOp::Mul => format!("{} * {}", inner(a), inner(b)),
            IntOp::Div => format!("{} / {}", inner(a), inner(b)),
            IntOp::Rem => format!("{} % {}", inner(a), inner(b)),
            IntOp::CeilDiv => format!("ceil_div({}, {})", text(a, spec), text(b, spec)),
            IntOp::Min => format!("min({}, {})", text(a, spec), text(b, spec)),
            IntOp::Max => format!("max({}, {})", text(a, spec), text(b, spec)),
        },
    }
}

/// An eligibility as a person writes it; empty for `true`. Tensors of one alignment are said together.
pub(super) fn eligibility_text(eligibility: &Eligibility, spec: &KernelSpec) -> String {
    let mut conditions: Vec<String> = Vec::new();
    let mut aligned: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for condition in &eligibility.0 {
        match condition {
            Condition::Divides { expr, by } => {
                let factor =
                    if is_infix(expr) { format!("({})", text(expr, spec)) } else { text(expr, spec) };
                conditions.push(format!("{factor} % {by} == 0"));
            }
            Condition::AtLeast { expr, bound } => conditions.push(format!("{} >= {bound}", text(expr, spec))),
            Condition::AtMost { expr, bound } => conditions.push(format!("{} <= {bound}", text(expr, spec))),
            Condition::Aligned { tensor, bytes } => {
                let name = spec.tensors.get(*tensor).map_or("?", |tensor| tensor.name.as_str());
                aligned.entry(*bytes).or_default().push(name);
            }
        }
    }
    let aligned =
        aligned.iter().map(|(bytes, names)| format!("{} aligned to {bytes} bytes", names.join(", ")));
    conditions.extend(aligned);
    conditions.join(" and ")
}
