//! What was meant by names and calls that are not what they should be: the help lines that need to know the names in
//! scope and the text. Words of other languages are [`crate::hint`]'s.

use std::ops::Range;

use super::assign::names_in;
use super::{Resolved, Resolver};
use crate::diagnostic::{Diagnostic, SYNTAX, UNDECLARED};
use crate::hint;
use crate::int_expr::IntExpr;
use crate::math::func::{PRELUDE, REDUCTIONS, callable};
use crate::math::syntax::{Name, Node, NodeKind};
use crate::math::{Kind, Place};

/// Longer texts are not repeated in a message.
const REPEATED: usize = 60;

impl Resolver<'_> {
    pub(super) fn undeclared(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let known = self.scope.tensors.iter().map(|t| t.name.as_str());
        let known = known.chain(self.math.temps.iter().map(|t| t.name.as_str()));
        let known = known.chain(self.scope.scalars.iter().map(|s| s.name.as_str()));
        let known = known.chain(self.scope.axes.iter().map(|a| a.name.as_str()));
        let message = format!("`{name}` is not declared");
        let error = Diagnostic::new(UNDECLARED, span.clone(), message, "no such name here");
        if self.assigned.contains(name) {
            return error.help("a value is read after its assignment: move that up");
        }
        if callable().any(|function| function == name) {
            return error.help(format!("a function takes its arguments in parentheses: `{name}(...)`"));
        }
        let help =
            hint::constant(name).or_else(|| hint::meant(name, known.filter(|known| !known.is_empty())));
        error.help(help.unwrap_or_else(|| {
            "declare it under `inputs`, `scalars` or `axes`, or assign it on a line before".to_owned()
        }))
    }

    pub(super) fn no_axis(&self, name: &str, span: &Range<usize>) -> Diagnostic {
        let error =
            Diagnostic::new(UNDECLARED, span.clone(), format!("`{name}` is no axis"), "expected an axis");
        if let Some(element) = self.element_of(name) {
            return error
                .help(format!("an axis stands here, and elements are read by brackets: `{element}`"));
        }
        let axes: Vec<&str> = self.scope.axes.iter().map(|axis| axis.name.as_str()).collect();
        let help = hint::meant(name, axes.iter().copied());
        error.help(help.unwrap_or_else(|| hint::declare_axis(&axes)))
    }

    /// How an element of the tensor or temporary `name` is written, if it is one.
    pub(super) fn element_of(&self, name: &str) -> Option<String> {
        let dims = match self.place(name)? {
            Place::Tensor(tensor) => self.dims_text(&self.scope.tensors[tensor]),
            Place::Temp(temp) => {
                let axes = self.math.temps[temp].axes.iter().map(|axis| self.scope.axes[*axis].name.as_str());
                axes.collect::<Vec<_>>().join(", ")
            }
        };
        Some(if dims.is_empty() { name.to_owned() } else { format!("{name}[{dims}]") })
    }

    /// `error` of a call whose first argument is no axis.
    pub(super) fn axis_first(&self, error: Diagnostic, name: &Name, arguments: &[Node]) -> Diagnostic {
        let word = name.text.as_str();
        let takes_axis = REDUCTIONS.contains(&word) || PRELUDE.contains(&word);
        let written = arguments.first().is_some_and(|first| matches!(first.kind, NodeKind::Name(_)));
        if error.help.is_some() || !takes_axis || (written && arguments.len() > 1) {
            return error;
        }
        let mut names = Vec::new();
        arguments.iter().for_each(|argument| names_in(argument, &mut names));
        let mut axes = names.iter().filter_map(|name| self.axis(name));
        let axis = if PRELUDE.contains(&word) {
            axes.rfind(|axis| self.in_scope(*axis).is_some())
        } else {
            axes.find(|axis| self.in_scope(*axis).is_none())
        };
        let axis = axis.map_or("k", |axis| self.scope.axes[axis].name.as_str());
        error.help(format!("the axis comes first: `{word}({axis}, ...)`"))
    }

    /// A bound where `softmax` or a norm takes a whole axis; `None` for what is no bound.
    pub(super) fn bounded(&self, name: &Name, over: &Node, body: &Node) -> Option<Diagnostic> {
        let bounds = match &over.kind {
            NodeKind::Tuple(items) => items.as_slice(),
            _ => std::slice::from_ref(over),
        };
        let axis_of = |bound: &Node| match &bound.kind {
            NodeKind::Infix("<=" | "<" | ">=" | ">", left, _) => match &left.kind {
                NodeKind::Name(axis) => Some(axis.clone()),
                _ => None,
            },
            _ => None,
        };
        let axis = bounds.iter().map(axis_of).collect::<Option<Vec<_>>>()?.into_iter().next()?;
        let word = &name.text;
        let condition = bounds.iter().map(|bound| self.source(bound)).collect::<Vec<_>>().join(" and ");
        let help = if word.ends_with("softmax") {
            format!("mask what is outside: `{word}({axis}, where({condition}, {}, -inf))`", self.source(body))
        } else {
            format!("write it out, with means that have the bound: `mean({}, ...)`", self.source(over))
        };
        let message = format!("`{word}` runs over a whole axis and takes no bound");
        Some(Diagnostic::new(SYNTAX, over.span.clone(), message, "expected an axis").help(help))
    }

    /// The index at `position` of an element, or why it is none: with the way to pick an element by a computed index.
    pub(super) fn index_at(
        &mut self,
        (place, name): (Place, &Name),
        indices: &[Node],
        position: usize,
    ) -> Resolved<crate::math::Index> {
        let index = self.index(&indices[position]);
        index.map_err(|error| match self.picked(place, name, indices, position) {
            Some(help) => error.help(help),
            None => error,
        })
    }

    fn picked(&self, place: Place, name: &Name, indices: &[Node], position: usize) -> Option<String> {
        let at = match &indices[position].kind {
            NodeKind::Name(computed) => computed,
            NodeKind::Access(computed, _) => &computed.text,
            NodeKind::Call(call, _) if matches!(call.text.as_str(), "argmax" | "argmin") => {
                return Some("assign it to a name first, and compare an axis with that".to_owned());
            }
            _ => return None,
        };
        let Some(Place::Temp(_)) = self.place(at) else { return None };
        let (reduce, elsewhere) = match self.kind_of(place) {
            Kind::Real => ("max", "-inf"),
            Kind::Int => ("sum", "0"),
            Kind::Cond => return None,
        };
        let axis = self.axis_at(place, position)?;
        let free = self.in_scope(axis).is_none();
        let axis = self.scope.axes[axis].name.as_str();
        let (over, declared) = if free {
            (axis.to_owned(), String::new())
        } else {
            (format!("{axis}2"), format!(", with an axis `{axis}2 = \"{axis}\"`"))
        };
        let at = self.source(&indices[position]);
        let mut texts: Vec<String> = indices.iter().map(|index| self.source(index)).collect();
        texts[position].clone_from(&over);
        let element = format!("{}[{}]", name.text, texts.join(", "));
        Some(format!(
            "pick the element where they are equal: `{reduce}({over}, where({over} == {at}, {element}, {elsewhere}))`{declared}"
        ))
    }

    /// The axis that a dimension is, if it is one.
    fn axis_at(&self, place: Place, dimension: usize) -> Option<usize> {
        match place {
            Place::Temp(temp) => self.math.temps[temp].axes.get(dimension).copied(),
            Place::Tensor(tensor) => match self.scope.tensors[tensor].dims.get(dimension)? {
                IntExpr::Axis(axis) => Some(*axis),
                _ => None,
            },
        }
    }

    /// What stands at `node`, or dots for what is too long to be repeated.
    fn source(&self, node: &Node) -> String {
        match self.text.get(node.span.clone()) {
            Some(text) if text.len() <= REPEATED && !text.contains('\n') => text.to_owned(),
            _ => "...".to_owned(),
        }
    }
}
