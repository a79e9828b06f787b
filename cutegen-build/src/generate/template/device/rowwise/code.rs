//! The math of rows as the C++ that the rowwise templates are filled with: `struct Math`, what a row holds once for
//! all its elements, and the types of its streams. Knows no configuration.

mod held;
mod merge;
mod resume;

use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Expr, Index, Kind, Place, ReduceOp};

use crate::plan::Plan;
use crate::plan::family::{Access, MemoryOrder, Reduced, Rows, constant};
use crate::print::c::{self, Places, element};
use held::Shared;

/// What is filled in.
pub(super) struct Code {
    /// The prelude, as short as these values allow.
    pub(super) prelude: String,
    /// `using Streams = ...` and the tables beside it.
    pub(super) types: String,
    /// `struct Held` and `struct Math`.
    pub(super) math: String,
    /// Parameters of an entry, without workspace.
    pub(super) params: String,
    /// Extents that are known, as constants.
    pub(super) axes: String,
    /// Initialisers of `Math`.
    pub(super) members: String,
    /// The number of rows.
    pub(super) rows: String,
    /// Elements of a row.
    pub(super) columns: String,
}

/// Prints the math of `rows`.
pub(super) fn code(plan: &Plan, rows: &Rows, prelude: String) -> Code {
    let mut printer = Printer { plan, rows, held: Vec::new() };
    let math = printer.math();
    Code {
        prelude,
        types: printer.types(),
        math,
        params: params(plan),
        axes: known_axes(plan)
            .map(|(a, value)| format!("[[maybe_unused]] constexpr int64_t a{a} = {value};"))
            .collect::<Vec<_>>()
            .join("\n  "),
        members: members(plan, rows).into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(", "),
        rows: product(plan, &rows.rows),
        columns: product(plan, &rows.cols),
    }
}

/// The extents of variables, multiplied.
fn product(plan: &Plan, vars: &[usize]) -> String {
    let axes: Vec<String> = vars.iter().map(|v| format!("a{}", plan.schedule.vars[*v])).collect();
    if axes.is_empty() { "1".to_owned() } else { axes.join(" * ") }
}

/// Axes with one extent, and it.
fn known_axes(plan: &Plan) -> impl Iterator<Item = (usize, i64)> + '_ {
    (0..plan.spec.axes.len()).filter_map(|a| Some((a, constant(&plan.spec, &IntExpr::Axis(a))?)))
}

fn is_known(plan: &Plan, axis: usize) -> bool {
    constant(&plan.spec, &IntExpr::Axis(axis)).is_some()
}

/// Type and name of what `Math` is made of, row variables left out.
fn members(plan: &Plan, rows: &Rows) -> Vec<(String, String)> {
    let spec = &plan.spec;
    let tensors =
        spec.tensors.iter().enumerate().map(|(t, x)| (format!("{}*", element(x.dtype)), format!("t{t}")));
    let axes =
        (0..spec.axes.len()).filter(|a| !is_known(plan, *a)).map(|a| ("int64_t".to_owned(), format!("a{a}")));
    let scalars =
        spec.scalars.iter().enumerate().map(|(s, x)| (element(x.dtype).to_owned(), format!("s{s}")));
    let fold = (!rows.folds.is_empty()).then(|| ("float*".to_owned(), "fold".to_owned()));
    tensors.chain(axes).chain(scalars).chain(fold).collect()
}

/// An extent that is known comes as a parameter all the same, under another name.
fn params(plan: &Plan) -> String {
    let spec = &plan.spec;
    let tensors = spec.tensors.iter().enumerate().map(|(t, x)| format!("{}* t{t}", element(x.dtype)));
    let axes = (0..spec.axes.len())
        .map(|a| if is_known(plan, a) { format!("int64_t /* a{a} */") } else { format!("int64_t a{a}") });
    let scalars = spec.scalars.iter().enumerate().map(|(s, x)| format!("{} s{s}", element(x.dtype)));
    tensors.chain(axes).chain(scalars).collect::<Vec<_>>().join(", ")
}

struct Printer<'a> {
    plan: &'a Plan,
    rows: &'a Rows,
    held: Vec<Shared>,
}

impl Printer<'_> {
    fn types(&self) -> String {
        let dtype = |access: &Access| element(self.plan.spec.tensors[access.tensor].dtype);
        let list = |items: Vec<String>| items.join(", ");
        let streams = list(self.rows.streams.iter().map(|s| dtype(s).to_owned()).collect());
        let sinks = list(self.rows.sinks.iter().map(|(s, _)| dtype(s).to_owned()).collect());
        let ops = list(self.rows.reductions.iter().map(|r| operation(r.op).to_owned()).collect());
        let folds = list(self.rows.folds.iter().map(|r| operation(r.op).to_owned()).collect());
        let levels = list(self.rows.reductions.iter().map(|r| r.level.to_string()).collect());
        let along = list(self.rows.streams.iter().map(|s| self.rows.is_of_the_row(s).to_string()).collect());
        let used: Vec<String> = (0..=self.rows.levels())
            .map(|level| {
                let used = |s| self.rows.uses(level, s).to_string();
                format!("{{{}}}", list((0..self.rows.streams.len()).map(used).collect()))
            })
            .collect();
        format!(
            "using Streams = tuple<{streams}>;\nusing Sinks = tuple<{sinks}>;\nusing Ops = tuple<{ops}>;\n\
             using Folds = tuple<{folds}>;                   // over all rows\nconstexpr int LEVELS = {};\nconstexpr int LEVEL[] = {{{levels}}};\n\
             [[maybe_unused]] constexpr bool MERGES = {};    // whether parts of a row do level 1 by themselves\n\
             [[maybe_unused]] constexpr bool RESUMABLE = {}; // whether outputs go on from what the last level has\n\
             constexpr bool ALONG[] = {{{along}}};                // whether a stream is another one in each row\n\
             constexpr bool USED[LEVELS + 1][{}] = {{{}}};        // by a level of reductions, the last by the sinks",
            self.rows.levels(),
            self.rows.merges().is_some(),
            self.resumed().is_some(),
            self.rows.streams.len(),
            list(used)
        )
    }

    fn math(&mut self) -> String {
        let (terms, outputs, resume) = (self.terms(), self.outputs(), self.resume());
        let (pointers, finish, totals) = (self.pointers(), self.finish(), self.totals());
        let members: String =
            members(self.plan, self.rows).iter().map(|(ty, name)| format!("  {ty} {name};\n")).collect();
        let known: String = known_axes(self.plan)
            .map(|(a, value)| format!("  static constexpr int64_t a{a} = {value};\n"))
            .collect();
        let vars: String = self.rows.rows.iter().map(|v| format!("  int64_t v{v};\n")).collect();
        format!(
            "// What all elements of a row share.\nstruct Held {{\n{}}};\n\n\
             // r holds the statistics so far, v the values of the streams at column j.\n\
             struct Math {{\n{members}{known}{vars}\n{}\n{pointers}\n{}\n{terms}\n{outputs}\n{resume}\n{finish}{totals}{}}};",
            self.held_members(),
            self.row_binding(),
            self.prepare(),
            self.merges()
        )
    }

    /// What binds a thread to a row: its variables from the flat row coordinate.
    fn row_binding(&self) -> String {
        let mut text = "  CG_DEVICE void seat([[maybe_unused]] int64_t row) {\n".to_owned();
        for (position, var) in self.rows.rows.iter().enumerate().rev() {
            let axis = self.plan.schedule.vars[*var];
            text.push_str(&match position {
                0 => format!("    v{var} = row;\n"),
                _ => format!("    v{var} = row % a{axis};\n    row /= a{axis};\n"),
            });
        }
        text + "  }\n"
    }

    /// A pointer to the element of an access at column `j`, with what it declares before.
    fn pointer(&self, access: &Access) -> String {
        if self.rows.memory_order == MemoryOrder::Along && access.run == self.rows.cols.len() {
            let at_start = |var: usize| self.rows.cols.contains(&var).then_some(Index::Const(0));
            let index: Vec<Index> = access.index.iter().map(|i| i.subst(&at_start)).collect();
            let start = self.places().offset(Place::Tensor(access.tensor), &index);
            return format!("      return t{} + ({start}) + j;\n", access.tensor);
        }
        let mut named = Vec::new();
        access.index.iter().for_each(|index| index.vars(&mut named));
        let columns = self.declared(&named, "      ");
        let offset = self.places().offset(Place::Tensor(access.tensor), &access.index);
        format!("{columns}      return t{} + ({offset});\n", access.tensor)
    }

    /// `at<S>(j)`: where the element of a stream at column j lies. `sink<O>(j)`: the same of an output.
    fn pointers(&self) -> String {
        let one = |(position, access): (usize, &Access), name: &str| {
            format!("    if constexpr ({name} == {position}) {{\n{}    }}\n", self.pointer(access))
        };
        let streams: String = self.rows.streams.iter().enumerate().map(|access| one(access, "S")).collect();
        let sinks = self.rows.sinks.iter().map(|(access, _)| access).enumerate();
        let sinks: String = sinks.map(|access| one(access, "O")).collect();
        format!(
            "  template <int S>\n  CG_DEVICE auto at([[maybe_unused]] int64_t j) const {{\n{streams}  }}\n  \
             template <int O>\n  CG_DEVICE auto sink([[maybe_unused]] int64_t j) const {{\n{sinks}  }}\n"
        )
    }

    fn terms(&mut self) -> String {
        let mut texts = String::new();
        for (j, reduction) in self.rows.reductions.iter().enumerate() {
            let body = self.hoisted(&reduction.body, reduction.level);
            texts.push_str(&format!(
                "    if constexpr (J == {j}) {{\n{}      return float({});\n    }}\n",
                self.columns_of(std::slice::from_ref(&body), "      "),
                c::real(&body, self)
            ));
        }
        format!(
            "  template <int J, class V, class R>\n  CG_DEVICE float term(V const& v, R const& r, Held const& held, \
             [[maybe_unused]] int64_t j) const {{\n{texts}  }}\n"
        )
    }

    fn outputs(&mut self) -> String {
        let values: Vec<Expr> = self.rows.sinks.iter().map(|(_, value)| value.clone()).collect();
        self.outputs_of("outputs(", &values)
    }

    /// A function that gives `values`, one an output along the row.
    fn outputs_of(&mut self, head: &str, values: &[Expr]) -> String {
        let level = self.rows.levels();
        let values: Vec<Expr> = values.iter().map(|value| self.hoisted(value, level)).collect();
        let texts: Vec<String> = self
            .rows
            .sinks
            .iter()
            .zip(&values)
            .map(|((access, _), value)| self.stored(access, value))
            .collect();
        format!(
            "  template <class V, class R>\n  CG_DEVICE auto {head}V const& v, R const& r, Held const& held, \
             [[maybe_unused]] int64_t j) const {{\n{}    return cute::make_tuple({});\n  }}\n",
            self.columns_of(&values, "    "),
            texts.join(", ")
        )
    }

    fn stored(&self, access: &Access, value: &Expr) -> String {
        let kind = Kind::of(self.plan.spec.tensors[access.tensor].dtype);
        let ty = match kind {
            Kind::Real => "float",
            Kind::Int => "int64_t",
            Kind::Cond => "bool",
        };
        format!("{ty}({})", c::of_kind(value, kind, self))
    }

    /// Outputs with one element a row; their expressions are of the row, so nothing is held for them.
    fn finish(&self) -> String {
        let one = |(access, value): &(Access, Expr)| {
            let offset = self.places().offset(Place::Tensor(access.tensor), &access.index);
            format!("    cg_store(t{}[{offset}], {});\n", access.tensor, self.stored(access, value))
        };
        let texts: String = self.rows.scalars.iter().map(one).collect();
        let folded: String = self.folded();
        format!(
            "  template <class R>\n  CG_DEVICE void finish(R const& r, Held const& held) const {{\n{texts}{folded}  }}\n"
        )
    }

    /// What reductions over all rows take of this one, for a launch of their own.
    fn folded(&self) -> String {
        let place = |n: usize| match n {
            0 => format!("fold[{}]", self.row()),
            _ => format!("fold[{n} * ({}) + {}]", product(self.plan, &self.rows.rows), self.row()),
        };
        let one = |(n, fold): (usize, &Reduced)| {
            format!("    {} = float({});\n", place(n), c::real(&fold.body, self))
        };
        self.rows.folds.iter().enumerate().map(one).collect()
    }

    /// The flat row of the row variables, in their order.
    fn row(&self) -> String {
        let mut text = "0".to_owned();
        for (position, var) in self.rows.rows.iter().enumerate() {
            let axis = self.plan.schedule.vars[*var];
            text = if position == 0 { format!("v{var}") } else { format!("({text}) * a{axis} + v{var}") };
        }
        text
    }

    /// Outputs with one element in all; their expressions are of the folds.
    fn totals(&self) -> String {
        if self.rows.folds.is_empty() {
            return String::new();
        }
        let one = |(access, value): &(Access, Expr)| {
            let offset = self.places().offset(Place::Tensor(access.tensor), &access.index);
            format!("    cg_store(t{}[{offset}], {});\n", access.tensor, self.stored(access, value))
        };
        let texts: String = self.rows.totals.iter().map(one).collect();
        format!("  template <class F>\n  CG_DEVICE void total(F const& f) const {{\n{texts}  }}\n")
    }

    /// Declarations of the column variables that `exprs` name outside of streams and temporaries.
    fn columns_of(&self, exprs: &[Expr], indent: &str) -> String {
        let mut named = Vec::new();
        for expr in exprs {
            expr.visit(&mut |e| {
                let of_stream =
                    matches!(e, Expr::Load(Place::Tensor(t), index) if self.rows.stream(*t, index).is_some());
                let is_held = matches!(e, Expr::Load(Place::Temp(_), _));
                if !of_stream && !is_held {
                    e.indices().into_iter().for_each(|index| index.vars(&mut named));
                }
            });
        }
        self.declared(&named, indent)
    }

    /// Declarations of the column variables among `named`, from column `j`.
    fn declared(&self, named: &[usize], indent: &str) -> String {
        let mut text = String::new();
        let mut inner = String::new();
        for (position, var) in self.rows.cols.iter().enumerate().rev() {
            let axis = self.plan.schedule.vars[*var];
            if named.contains(var) {
                let wrapped = if position == 0 { String::new() } else { format!(" % int(a{axis})") };
                text.push_str(&format!("{indent}const int64_t v{var} = int(j){inner}{wrapped};\n"));
            }
            inner.push_str(&format!(" / int(a{axis})"));
        }
        text
    }

    fn places(&self) -> Places<'_> {
        Places { spec: &self.plan.spec, schedule: &self.plan.schedule }
    }
}

fn operation(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "Sum",
        ReduceOp::Max => "Max",
        ReduceOp::Min => "Min",
        ReduceOp::Prod => "Prod",
        ReduceOp::ArgMax => "ArgMax",
        ReduceOp::ArgMin => "ArgMin",
    }
}
