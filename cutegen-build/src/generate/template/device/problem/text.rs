//! The text of `struct Problem`: arguments, extents, the loads and values of a vector and of an element, stores.

use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Kind, Place};

use super::laid::{Laid, Reach, Window};
use super::{Problem, Slot, pointer};
use crate::print::c::{self, element};

/// What a template is filled with.
pub(in super::super) struct Text {
    /// `struct Problem`.
    pub(in super::super) problem: String,
    /// The kernel's parameters.
    pub(in super::super) params: String,
    /// Initialisers of the struct's members, in order.
    pub(in super::super) members: String,
}

impl Laid<'_> {
    /// The texts; workspace parts of these element types follow the other parameters.
    pub(in super::super) fn text(&self, parts: &[&str]) -> Text {
        self.text_with(parts, "")
    }

    /// The same with `more` members.
    pub(in super::super) fn text_with(&self, parts: &[&str], more: &str) -> Text {
        let problem = self.problem;
        let blocks = [self.types(), self.places(), self.loads(), problem.values_text(), self.store_text()];
        let blocks = blocks.join("\n") + more;
        let arguments = self.arguments(&blocks);
        Text {
            problem: format!("struct Problem {{\n{arguments}\n{blocks}}};\n"),
            params: self.params(parts),
            members: self.members().into_iter().map(|(_, from)| from).collect::<Vec<_>>().join(", "),
        }
    }

    fn params(&self, parts: &[&str]) -> String {
        let (nest, spec) = (self.problem.nest, &self.problem.nest.spec);
        let tensors = (0..spec.tensors.len()).map(|t| format!("{} t{t}", pointer(nest, t)));
        let axes = (0..nest.arguments()).map(|a| format!("int64_t a{a}"));
        let scalars = spec.scalars.iter().enumerate().map(|(s, x)| format!("{} s{s}", element(x.dtype)));
        let parts = parts.iter().enumerate().map(|(w, ty)| format!("{ty}* w{w}"));
        tensors.chain(axes).chain(scalars).chain(parts).collect::<Vec<_>>().join(", ")
    }

    /// Members of the struct that an argument gives: declaration and initialiser.
    fn members(&self) -> Vec<(String, String)> {
        let (nest, spec) = (self.problem.nest, &self.problem.nest.spec);
        let tensors =
            (0..spec.tensors.len()).map(|t| (format!("{} t{t};", pointer(nest, t)), format!("t{t}")));
        let axes = (0..nest.arguments()).filter(|a| nest.extent(*a).is_none());
        let axes = axes.map(|a| (format!("Integer a{a};"), format!("Integer(a{a})")));
        let scalars = spec.scalars.iter().enumerate();
        let scalars = scalars.map(|(s, x)| (format!("{} s{s};", element(x.dtype)), format!("s{s}")));
        tensors.chain(axes).chain(scalars).collect()
    }

    /// Members, the extents of rows and columns, and constant extents where `used`.
    fn arguments(&self, used: &str) -> String {
        let nest = self.problem.nest;
        let int = |expr: &IntExpr| crate::print::int(expr);
        let extents = format!(
            "\n  CG_DEVICE Integer rows() const {{ return {}; }}\n  CG_DEVICE Integer columns() const {{ return {}; }}\n",
            int(&nest.rows()),
            int(&nest.columns())
        );
        let named = |axis: &usize| names(&extents, *axis) || names(used, *axis);
        let constants = (0..nest.arguments()).filter(named).filter_map(|a| Some((a, nest.extent(a)?)));
        let constants = constants.map(|(a, value)| format!("  static constexpr Integer a{a} = {value};"));
        let members = self.members().into_iter().map(|(declared, _)| format!("  {declared}"));
        members.chain(constants).collect::<Vec<_>>().join("\n") + "\n" + &extents
    }

    fn types(&self) -> String {
        let problem = self.problem;
        let outer = &problem.nest.vars[..problem.nest.vars.len() - 1];
        let vars: String = outer.iter().map(|var| format!("Integer v{var}, ")).collect::<String>();
        let vars = vars.replace(", ", "; ");
        let mut text = format!(
            "  // Loop variables, and the place of a vector (or an element) in its row.\n  struct At {{ {vars}Integer q; }};\n"
        );
        text.push_str(&format!("  struct Values {{ {}}};\n", problem.members_of_values()));
        let results = problem.nest.outputs.iter().enumerate();
        let results: String = results
            .map(|(n, o)| format!("{} y{n}; ", value_type(Kind::of(problem.dtype(o.tensor)))))
            .collect();
        text.push_str(&format!("  struct Results {{ {results}}};\n"));
        text.push_str(&format!("  struct Vector {{\n{}  }};\n", self.registers()));
        let own = |(at, slot): (usize, &Slot)| format!("{} x{at}; ", element(problem.dtype(slot.tensor)));
        let own: String = problem.slots.iter().enumerate().map(own).collect();
        text + &format!("  struct Element {{ {own}}};\n")
    }

    /// Members of `Vector`, each with its shape.
    fn registers(&self) -> String {
        let name = |tensor: usize| &self.problem.nest.spec.tensors[tensor].name;
        let mut text = String::new();
        for (at, window) in self.used() {
            let (size, access, ty) =
                (window.size(), self.access(window), element(self.problem.dtype(window.tensor)));
            text.push_str(&format!(
                "    Window<{ty}, {size}, {access}> w{at};  // {}: ({access}, {})\n",
                name(window.tensor),
                size / access
            ));
        }
        for (at, slot) in self.scattered() {
            let ty = element(self.problem.dtype(slot.tensor));
            text.push_str(&format!(
                "    {ty} x{at}[{}];  // {}: a lane each\n",
                self.width,
                name(slot.tensor)
            ));
        }
        text
    }

    fn scattered(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let slots = self.problem.slots.iter().enumerate();
        slots.filter(|(at, _)| matches!(self.reaches[*at], Reach::Scattered))
    }

    /// Where things lie: loop variables of a row, columns of lanes, addresses and integers of an element.
    fn places(&self) -> String {
        let (problem, nest) = (self.problem, self.problem.nest);
        let mut text = String::from(
            "  CG_DEVICE At at([[maybe_unused]] Integer row, Integer q) const {\n    At at;\n    at.q = q;\n",
        );
        let outer = &nest.vars[..nest.vars.len() - 1];
        for (depth, var) in outer.iter().enumerate().rev() {
            let axis = nest.axes[*var];
            text.push_str(&match depth {
                0 => format!("    at.v{var} = row;\n"),
                _ => format!("    at.v{var} = remainder(row, a{axis});\n    row = quotient(row, a{axis});\n"),
            });
        }
        text.push_str("    return at;\n  }\n");
        text.push_str(
            "  CG_DEVICE static At lane(At at, int j) {\n    at.q = at.q * VEC + j;\n    return at;\n  }\n",
        );
        let one = nest.vectors(1, &[]);
        for (at, slot) in problem.slots.iter().enumerate() {
            let address = one.address(Place::Tensor(slot.tensor), &slot.index);
            let address = address.map_or_else(String::new, |lanes| lanes.text());
            text.push_str(&member("auto", &format!("address{at}"), &format!("t{} + {address}", slot.tensor)));
            if slot.padded {
                let dims = &nest.spec.tensors[slot.tensor].dims;
                let inside = slot.index.iter().zip(dims).filter_map(|(index, dim)| one.inside(index, dim));
                let inside: Vec<String> = inside.collect();
                text.push_str(&member("bool", &format!("inside{at}"), &inside.join(" && ")));
            }
        }
        for (at, index) in problem.integers.iter().enumerate() {
            let value = one.of(index).map_or_else(String::new, |lanes| lanes.text());
            text.push_str(&member("int64_t", &format!("integer{at}"), &value));
        }
        text
    }

    fn loads(&self) -> String {
        let problem = self.problem;
        let mut text = String::from(
            "  CG_DEVICE void load([[maybe_unused]] Vector& r, [[maybe_unused]] At const& at) const {\n",
        );
        for (at, window) in self.used() {
            let how = self.how(at, window);
            let address = window.lanes.text_at(window.low);
            text.push_str(&format!("    r.w{at}.template load<{how}>(t{} + {address});\n", window.tensor));
        }
        let own = |at: usize, slot: &Slot, to: &str, place: &str| {
            let ty = element(problem.dtype(slot.tensor));
            let value = format!("*address{at}({place})");
            let value = if slot.padded { format!("inside{at}({place}) ? {value} : {ty}{{}}") } else { value };
            format!("{to} = {value};\n")
        };
        for (at, slot) in self.scattered() {
            let statement = own(at, slot, &format!("r.x{at}[j]"), "lane(at, j)");
            text.push_str(&format!("    CUTE_UNROLL\n    for (int j = 0; j < VEC; ++j) {statement}"));
        }
        text.push_str("  }\n  CG_DEVICE void load([[maybe_unused]] Element& r, [[maybe_unused]] At const& at) const {\n");
        for (at, slot) in problem.slots.iter().enumerate() {
            text.push_str(&format!("    {}", own(at, slot, &format!("r.x{at}"), "at")));
        }
        text.push_str("  }\n");
        text + &self.values_of("Vector", "int j", "lane(at, j)") + &self.values_of("Element", "", "at")
    }

    /// Hints are for what a launch reads once; and what it also writes must not go through the read-only path.
    fn how(&self, at: usize, window: &Window) -> &'static str {
        let problem = self.problem;
        let once = |reach: &Reach, slot: &Slot| {
            matches!(reach, Reach::Window { window, .. } if *window == at) && problem.is_used_once(slot)
        };
        let once = self.reaches.iter().zip(&problem.slots).any(|(reach, slot)| once(reach, slot));
        if once && !problem.nest.writes(window.tensor) { "LOAD" } else { "Load::CACHED" }
    }

    /// `values` of a vector's lane or of an element.
    fn values_of(&self, ty: &str, lane: &str, place: &str) -> String {
        let problem = self.problem;
        let comma = if lane.is_empty() { "" } else { ", [[maybe_unused]] " };
        let mut text = format!(
            "  CG_DEVICE Values values([[maybe_unused]] {ty} const& r, [[maybe_unused]] At const& at{comma}{lane}) const {{\n    Values x;\n"
        );
        for (at, slot) in problem.slots.iter().enumerate() {
            let value = match (&self.reaches[at], lane.is_empty()) {
                (_, true) => format!("to_value(r.x{at})"),
                (Reach::Scattered, _) => format!("to_value(r.x{at}[j])"),
                (Reach::Window { window, picks }, _) => {
                    let picks: Vec<i64> = picks.iter().map(|pick| pick - self.windows[*window].low).collect();
                    let (declared, pick) = pick(at, &picks);
                    text.push_str(&declared);
                    format!("r.w{window}.value({pick})")
                }
            };
            text.push_str(&format!("    x.x{at} = {value};\n"));
            if slot.padded {
                text.push_str(&format!("    x.p{at} = inside{at}({place});\n"));
            }
        }
        for at in 0..problem.integers.len() {
            text.push_str(&format!("    x.i{at} = integer{at}({place});\n"));
        }
        text + "    return x;\n  }\n"
    }

    fn store_text(&self) -> String {
        let problem = self.problem;
        let one = problem.nest.vectors(1, &[]);
        let mut vector =
            String::from("  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {\n");
        let mut single = String::from("  CG_DEVICE void store(Results const& y, At const& at) const {\n");
        for (n, output) in problem.nest.outputs.iter().enumerate() {
            let ty = element(problem.dtype(output.tensor));
            let address = one.address(Place::Tensor(output.tensor), &output.index);
            let address = address.map_or_else(String::new, |lanes| lanes.text());
            single.push_str(&format!("    put(t{}[{address}], y.y{n});\n", output.tensor));
            vector.push_str(&match &self.stores[n] {
                Some(window) => format!(
                    "    Window<{ty}, {width}, {access}> w{n};  // {name}: ({access}, {count})\n    \
                     w{n}.fill([&](int j) {{ return y[j].y{n}; }});\n    \
                     w{n}.template store<STORE>(t{tensor} + {address});\n",
                    width = self.width,
                    access = self.access(window),
                    count = self.width / self.access(window),
                    name = problem.nest.spec.tensors[output.tensor].name,
                    tensor = output.tensor,
                    address = window.lanes.text_at(window.low),
                ),
                None => format!(
                    "    CUTE_UNROLL\n    for (int j = 0; j < VEC; ++j) put_at{n}(y[j], lane(at, j));\n"
                ),
            });
            if self.stores[n].is_none() {
                let scatter = format!(
                    "  CG_DEVICE void put_at{n}(Results const& y, At const& at) const {{ put(t{}[{address}], y.y{n}); }}\n",
                    output.tensor
                );
                vector.insert_str(0, &scatter);
            }
        }
        format!("{vector}  }}\n{single}  }}\n")
    }
}

impl Problem<'_> {
    fn members_of_values(&self) -> String {
        let loads = self.slots.iter().enumerate();
        let loads =
            loads.map(|(at, slot)| format!("{} x{at}; ", value_type(Kind::of(self.dtype(slot.tensor)))));
        let padded = self.slots.iter().enumerate().filter(|(_, slot)| slot.padded);
        let padded = padded.map(|(at, _)| format!("bool p{at}; "));
        let integers = (0..self.integers.len()).map(|at| format!("int64_t i{at}; "));
        loads.chain(padded).chain(integers).collect()
    }

    /// The math: a scan's terms, and the results.
    fn values_text(&self) -> String {
        let mut text = String::new();
        if let Some((kind, body)) = self.body {
            let (ty, value) = (value_type(kind), c::of_kind(body, kind, self));
            text.push_str(&format!(
                "  CG_DEVICE {ty} term([[maybe_unused]] Values const& x) const {{ return {value}; }}\n"
            ));
        }
        let given: String =
            self.given.iter().map(|own| format!(", {} {}", value_type(own.kind), own.name)).collect();
        text.push_str(&format!(
            "  CG_DEVICE Results results([[maybe_unused]] Values const& x{given}) const {{\n    Results y;\n"
        ));
        for (n, output) in self.nest.outputs.iter().enumerate() {
            let value = c::of_kind(&output.value, Kind::of(self.dtype(output.tensor)), self);
            text.push_str(&format!("    y.y{n} = {value};\n"));
        }
        text + "    return y;\n  }\n"
    }
}

/// The C++ type of a value.
pub(in super::super) fn value_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Real => "float",
        Kind::Int => "int64_t",
        Kind::Cond => "bool",
    }
}

fn member(ty: &str, name: &str, value: &str) -> String {
    format!("  CG_DEVICE {ty} {name}([[maybe_unused]] At const& at) const {{ return {value}; }}\n")
}

/// Whether a text uses the extent of an axis.
fn names(text: &str, axis: usize) -> bool {
    let name = format!("a{axis}");
    let whole = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    text.match_indices(&name)
        .any(|(at, _)| whole(text[..at].chars().next_back()) && whole(text[at + name.len()..].chars().next()))
}

/// Which element of its window lane `j` takes: an expression, with a table where there is no shorter one.
fn pick(at: usize, picks: &[i64]) -> (String, String) {
    let in_order = picks.iter().enumerate().all(|(j, pick)| *pick == j as i64 + picks[0]);
    if picks.iter().all(|pick| *pick == picks[0]) {
        return (String::new(), picks[0].to_string());
    }
    if in_order {
        let shift = if picks[0] == 0 { "j".to_owned() } else { format!("j + {}", picks[0]) };
        return (String::new(), shift);
    }
    let table: Vec<String> = picks.iter().map(ToString::to_string).collect();
    let declared = format!("    constexpr int picks{at}[VEC] = {{{}}};\n", table.join(", "));
    (declared, format!("picks{at}[j]"))
}
