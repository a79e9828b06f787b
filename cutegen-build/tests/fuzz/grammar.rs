//! Specs that are mostly right: axes, tensors and expressions drawn by their kinds.

use super::mutate::Random;

const AXES: &[&str] = &[
    "m = \"1..=64\"",
    "n = { range = \"16..=64\", multiple-of = 16 }",
    "c = 8",
    "d = 8",
    "t = \"c\"",
    "p = \"m + 2\"",
    "q = \"(m + 3) / 2\"",
    "z = \"0..=5\"",
];
const NAMES: &[&str] = &["m", "n", "c", "d", "t", "p", "q", "z"];
const REAL: &[&str] = &["f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"];
const INT: &[&str] = &["i8", "u8", "i32", "i64", "i4", "u4"];

struct Spec<'a> {
    random: &'a mut Random,
    /// Axes that are bound around the current expression.
    bound: Vec<&'static str>,
    temps: Vec<(String, Vec<&'static str>)>,
    fuel: usize,
}

/// A spec file with one kernel.
pub(super) fn spec(random: &mut Random) -> String {
    let mut spec = Spec { random, bound: Vec::new(), temps: Vec::new(), fuel: 40 };
    let mut math = String::new();
    for i in 0..spec.random.below(5) {
        let axes = spec.some_axes();
        spec.bound.clone_from(&axes);
        spec.fuel = 30;
        let value = spec.real();
        math.push_str(&format!("u{i}[{}] = {value}\n", axes.join(", ")));
        spec.temps.push((format!("u{i}"), axes));
    }
    let out = spec.some_axes();
    spec.bound.clone_from(&out);
    spec.fuel = 60;
    let (dtype, value) = match spec.random.below(6) {
        0 => ("bool", spec.condition()),
        1 => (spec.random.one(INT), spec.integer()),
        2 => (spec.random.one(INT), format!("cast(i32, {})", spec.real())),
        _ => (spec.random.one(REAL), spec.real()),
    };
    let unread: Vec<String> = spec.temps.iter().map(|(name, axes)| reread(name, axes)).collect();
    let tail: String = unread.iter().map(|sum| format!(" + 0 * {sum}")).collect();
    let value = if REAL.contains(&dtype) {
        format!("{value}{tail} + 0 * sum((m, c), x[m, c] * a[m, c] * g[i[m], c])")
    } else {
        value
    };
    let value = if spec.bound.contains(&"m") || spec.bound.contains(&"c") {
        value.replace("sum((m, c), x[m, c] * a[m, c] * g[i[m], c])", "x[0, 0] * a[0, 0] * g[i[0], 0]")
    } else {
        value
    };
    let out = out.join(", ");
    let real = spec.random.one(REAL);
    format!(
        "edition = 1\n[kernels.k]\naxes = {{ {} }}\ninputs = {{ x = \"{real}[m, c]\", a = \"i8[m, c]\", g = \"f32[c, d]\", \
         i = {{ type = \"i32[m]\", range = \"0..c\" }} }}\noutputs = {{ y = \"{dtype}[{out}]\" }}\nscalars = {{ eps = \
         \"f32\" }}\nmath = '''\n{math}y[{out}] = {value}\n'''\n",
        AXES.join(", ")
    )
}

fn reread(name: &str, axes: &[&str]) -> String {
    let zeros = vec!["0"; axes.len()].join(", ");
    format!("pad({name}[{zeros}], 0)")
}

impl Spec<'_> {
    fn some_axes(&mut self) -> Vec<&'static str> {
        let mut axes = Vec::new();
        for _ in 0..self.random.below(4) {
            let axis = self.random.one(NAMES);
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        axes
    }

    fn spent(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel == 0
    }

    fn index(&mut self) -> String {
        let axis = if self.bound.is_empty() { "0" } else { self.bound[self.random.below(self.bound.len())] };
        match self.random.below(6) {
            0 => format!("{axis} % 8"),
            1 => format!("({axis} + 1) / 2"),
            2 => format!("min({axis}, 3)"),
            3 => format!("i[0] - {axis}"),
            _ => axis.to_owned(),
        }
    }

    fn leaf(&mut self) -> String {
        let (a, b) = (self.index(), self.index());
        match self.random.below(8) {
            0 => "eps".to_owned(),
            1 => "1.5".to_owned(),
            2 => format!("pad(g[{a}, {b}], 0.5)"),
            3 if !self.temps.is_empty() => {
                let (name, axes) = self.temps[self.random.below(self.temps.len())].clone();
                let direct = axes.iter().all(|axis| self.bound.contains(axis));
                if direct { format!("{name}[{}]", axes.join(", ")) } else { reread(&name, &axes) }
            }
            4 => "g[c, d]".replace('c', "i[0]").replace('d', "3"),
            5 => a,
            _ => format!("pad(x[{a}, {b}], 0)"),
        }
    }

    fn real(&mut self) -> String {
        if self.spent() {
            return "0.25".to_owned();
        }
        match self.random.below(12) {
            0 => format!(
                "{}({})",
                self.random.one(&["exp", "log", "tanh", "gelu", "sqrt", "abs", "floor", "sign"]),
                self.real()
            ),
            1 | 2 => format!("({} {} {})", self.real(), self.random.one(&["+", "-", "*", "/"]), self.real()),
            3 => format!("where({}, {}, {})", self.condition(), self.real(), self.real()),
            4 => format!("max({}, {})", self.real(), self.real()),
            5 => format!("cast({}, {})", self.random.one(REAL), self.real()),
            6 | 7 => self.reduction(&["sum", "max", "min", "prod", "mean"]),
            8 if !self.bound.is_empty() => {
                let axis = self.bound[self.random.below(self.bound.len())];
                match self.random.below(3) {
                    0 => format!("softmax({axis}, {})", self.real()),
                    1 => format!("rms_norm({axis}, {}, eps)", self.real()),
                    _ => format!("layer_norm({axis}, {}, 1e-5)", self.real()),
                }
            }
            _ => self.leaf(),
        }
    }

    fn reduction(&mut self, of: &[&'static str]) -> String {
        let free: Vec<&str> = NAMES.iter().copied().filter(|axis| !self.bound.contains(axis)).collect();
        let Some(axis) = free.get(self.random.below(free.len().max(1))).copied() else { return self.leaf() };
        let word = self.random.one(of);
        let over = match self.random.below(4) {
            0 => format!("{axis} <= {}", self.index()),
            1 => format!("({axis} <= {}, {axis} > {} - 3)", self.index(), self.index()),
            _ => axis.to_owned(),
        };
        let axis = NAMES.iter().copied().find(|name| *name == axis).unwrap_or("m");
        self.bound.push(axis);
        let body = self.real();
        self.bound.pop();
        format!("{word}({over}, {body})")
    }

    fn integer(&mut self) -> String {
        if self.spent() {
            return "1".to_owned();
        }
        match self.random.below(6) {
            0 => format!("({} {} {})", self.integer(), self.random.one(&["+", "-", "*"]), self.integer()),
            1 => format!("{} % 7", self.index()),
            2 => "a[0, 0]".to_owned(),
            3 => self.reduction(&["argmax", "argmin"]),
            4 => format!("abs({})", self.integer()),
            _ => self.index(),
        }
    }

    fn condition(&mut self) -> String {
        if self.spent() {
            return "1 < 2".to_owned();
        }
        match self.random.below(4) {
            0 => format!("({} and {})", self.condition(), self.condition()),
            1 => format!("(not {})", self.condition()),
            2 => format!("({} {} {})", self.integer(), self.random.one(&["<", "==", "!="]), self.integer()),
            _ => format!("({} {} {})", self.real(), self.random.one(&["<", ">="]), self.real()),
        }
    }
}
