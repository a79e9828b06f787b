//! Texts of places and loops: indices, elements, offsets, heads of loops. What every C++ dialect spells alike.

use cutegen_spec::dtype::DType;
use cutegen_spec::int_expr::IntOp;
use cutegen_spec::math::{Index, Loop, Place};
use cutegen_spec::spec::KernelSpec;

use super::is_packed;
use crate::plan::schedule::{Direction, Schedule};
use crate::print::{int, offset};

/// Texts of indices and elements: `v0` for loop variables, `a0` extents, `t0[...]` tensors, `w0[...]` temporaries.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Whose tensors.
    pub spec: &'a KernelSpec,
    /// Whose temporaries.
    pub schedule: &'a Schedule,
}

impl Places<'_> {
    /// An index as an expression of `int64_t`.
    #[must_use]
    pub fn index(&self, index: &Index) -> String {
        match index {
            // its magnitude is no literal of C++
            Index::Const(i64::MIN) => "(int64_t(-9223372036854775807) - 1)".to_owned(),
            Index::Const(value) => format!("int64_t({value})"),
            Index::Extent(axis) => format!("a{axis}"),
            Index::Var(var) => format!("v{var}"),
            Index::Read(tensor, _) => self.position(*tensor, read(index)),
            Index::Op(op, a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                match op {
                    IntOp::Add => format!("({a} + {b})"),
                    IntOp::Sub => format!("({a} - {b})"),
                    IntOp::Mul => format!("({a} * {b})"),
                    IntOp::Div => format!("cg_floor_div({a}, {b})"),
                    IntOp::Rem => format!("cg_mod({a}, {b})"),
                    IntOp::CeilDiv => format!("cg_floor_div(({a} + {b} - 1), {b})"),
                    IntOp::Min => format!("cg_imin({a}, {b})"),
                    IntOp::Max => format!("cg_imax({a}, {b})"),
                }
            }
        }
    }

    /// An element that is an index: plain `int64_t` in every dialect.
    fn position(&self, tensor: usize, index: &[Index]) -> String {
        let (place, dtype) = (Place::Tensor(tensor), self.spec.tensors[tensor].dtype);
        if !is_packed(dtype) {
            return format!("int64_t({})", self.element(place, index));
        }
        let at = self.offset(place, index);
        let nibble = format!("((t{tensor}[({at}) / 2] >> (({at}) % 2 * 4)) & 15)");
        if dtype == DType::I4 { format!("int64_t(({nibble} ^ 8) - 8)") } else { format!("int64_t({nibble})") }
    }

    /// An element: an lvalue, but for packed types.
    #[must_use]
    pub fn element(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Tensor(t) => format!("t{t}[{}]", self.offset(place, index)),
            Place::Temp(w) => format!("w{w}[{}]", self.offset(place, index)),
        }
    }

    /// Where an element lies, in elements.
    #[must_use]
    pub fn offset(&self, place: Place, index: &[Index]) -> String {
        let indices: Vec<String> = index.iter().map(|i| self.index(i)).collect();
        if let Place::Tensor(t) = place
            && let Some(strides) = &self.spec.tensors[t].strides
        {
            let terms: Vec<String> =
                indices.iter().zip(strides).map(|(i, stride)| format!("{i} * {}", int(stride))).collect();
            return if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") };
        }
        offset(&indices, &self.dims(place))
    }

    /// Extents of each dimension.
    #[must_use]
    pub fn dims(&self, place: Place) -> Vec<String> {
        match place {
            Place::Tensor(t) => self.spec.tensors[t].dims.iter().map(int).collect(),
            Place::Temp(w) => self.schedule.temps[w].axes.iter().map(|a| format!("a{a}")).collect(),
        }
    }

    /// Elements of a tensor's memory, gaps included; 0 when it is empty.
    #[must_use]
    pub fn span(&self, tensor: usize) -> String {
        let dims = self.dims(Place::Tensor(tensor));
        let Some(strides) = &self.spec.tensors[tensor].strides else {
            return dims.iter().fold("int64_t(1)".to_owned(), |text, dim| format!("{text} * {dim}"));
        };
        let last: String = dims
            .iter()
            .zip(strides)
            .map(|(dim, stride)| format!(" + ({dim} - 1) * {}", int(stride)))
            .collect();
        let empty: Vec<String> = dims.iter().map(|dim| format!("{dim} == 0")).collect();
        let empty = if empty.is_empty() { "false".to_owned() } else { empty.join(" || ") };
        format!("({empty} ? 0 : int64_t(1){last})")
    }

    /// The value of an element; packed types are taken out of their byte.
    #[must_use]
    pub fn load(&self, place: Place, index: &[Index]) -> String {
        match place {
            Place::Temp(_) => self.element(place, index),
            Place::Tensor(t) if is_packed(self.spec.tensors[t].dtype) => {
                format!("cg_load_{}(t{t}, {})", self.spec.tensors[t].dtype, self.offset(place, index))
            }
            Place::Tensor(_) => format!("cg_load({})", self.element(place, index)),
        }
    }

    /// A condition in plain C: every index is inside its dimension.
    #[must_use]
    pub fn inside(&self, place: Place, index: &[Index]) -> String {
        let dims = self.dims(place);
        let one = |(i, dim): (&Index, &String)| {
            let i = self.index(i);
            format!("{i} >= 0 && {i} < {dim}")
        };
        let all: Vec<String> = index.iter().zip(&dims).map(one).collect();
        if all.is_empty() { "true".to_owned() } else { all.join(" && ") }
    }

    /// `first` and `end` of a loop, as `int64_t`.
    #[must_use]
    pub fn bounds(&self, l: &Loop) -> (String, String) {
        let extent = format!("a{}", self.schedule.vars[l.var]);
        let first = l.from.as_ref().map(|from| format!("cg_imax(0, {})", self.index(from)));
        let end = l.to.as_ref().map(|to| format!("cg_imin({extent}, {})", self.index(to)));
        (first.unwrap_or_else(|| "0".to_owned()), end.unwrap_or(extent))
    }

    /// The head of a `for` over a loop.
    #[must_use]
    pub fn for_loop(&self, l: &Loop) -> String {
        let (first, end) = self.bounds(l);
        let v = l.var;
        if l.to.is_none() {
            return format!("for (int64_t v{v} = {first}; v{v} < {end}; ++v{v})");
        }
        format!("for (int64_t v{v} = {first}, end{v} = {end}; v{v} < end{v}; ++v{v})")
    }

    /// The head of a `for` along a scan's axis.
    #[must_use]
    pub fn scan_loop(&self, over: usize, direction: Direction) -> String {
        let extent = self.schedule.vars[over];
        if direction.reverse {
            return format!("for (int64_t v{over} = a{extent} - 1; v{over} >= 0; --v{over})");
        }
        format!("for (int64_t v{over} = 0; v{over} < a{extent}; ++v{over})")
    }

    /// The number of points of whole loops.
    #[must_use]
    pub fn total(&self, loops: &[Loop]) -> String {
        let axes = loops.iter().map(|l| self.schedule.vars[l.var]);
        axes.fold("int64_t(1)".to_owned(), |text, a| format!("{text} * a{a}"))
    }

    /// Declarations of the loops' variables from a flat index `rest`, which is used up.
    #[must_use]
    pub fn unravel(&self, loops: &[Loop], indent: &str) -> String {
        self.unravel_of("rest", loops, indent)
    }

    /// The same from a flat index of this name.
    #[must_use]
    pub fn unravel_of(&self, rest: &str, loops: &[Loop], indent: &str) -> String {
        let one = |l: &Loop| {
            let (v, a) = (l.var, self.schedule.vars[l.var]);
            format!("{indent}const int64_t v{v} = {rest} % a{a};\n{indent}{rest} /= a{a};\n")
        };
        loops.iter().rev().map(one).collect()
    }
}

fn read(index: &Index) -> &[Index] {
    match index {
        Index::Read(_, indices) => indices,
        Index::Const(_) | Index::Extent(_) | Index::Var(_) | Index::Op(..) => &[],
    }
}
