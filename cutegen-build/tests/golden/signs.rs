//! A wrong sign in any function of the language turns a case red: operators, functions and reductions are made wrong in
//! the schedule before the reference is printed, calls that are expanded when a spec is read in the spec's text.

use std::collections::BTreeMap;

use cutegen_build::plan::schedule::Value;
use cutegen_build::plan::{Plan, cost};
use cutegen_build::print;
use cutegen_spec::edition::spec_file;
use cutegen_spec::math::Expr;
use cutegen_spec::math::func::{Binary, PRELUDE, ReduceOp, Unary};
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;

use crate::cases::{Kernel, Library, spec_folders};
use crate::{parallel, reference, sample};

/// Calls of which a schedule holds nothing, or something else.
const EXPANDED: [&str; 6] = ["mean", "clamp", "where", "cast", "pad", "len"];

/// How many kernels are tried until one notices.
const TRIED: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Plant {
    Unary(Unary),
    Binary(Binary),
    Reduce(ReduceOp),
    Call(&'static str),
}

/// Every plant, and the cases that notice it.
pub(crate) fn planted(library: &Library) -> Vec<String> {
    let mut cheap: Vec<&Kernel> = library.kernels.iter().collect();
    cheap.sort_by_key(|kernel| flops(kernel));
    let found = parallel::each(&sample::of(plants(), |plant| format!("{plant:?}")), |plant| {
        noticed(*plant, &cheap).err()
    });
    found.into_iter().flatten().collect()
}

fn plants() -> Vec<Plant> {
    use Binary::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Pow, Rem, Sub};
    let unary = Unary::ALL.into_iter().map(|(op, _)| Plant::Unary(op));
    let binary = [Add, Sub, Mul, Div, Max, Min, Pow, Rem, Lt, Le, Gt, Ge, Eq, Ne, And, Or];
    let reduce = ["sum", "prod", "max", "min", "argmax", "argmin"].into_iter().filter_map(ReduceOp::parse);
    let calls = PRELUDE.into_iter().chain(EXPANDED).map(Plant::Call);
    unary.chain(binary.map(Plant::Binary)).chain(reduce.map(Plant::Reduce)).chain(calls).collect()
}

fn flops(kernel: &Kernel) -> u64 {
    let case = kernel.cases().next();
    case.map_or(u64::MAX, |case| cost::cost(kernel.spec(), &kernel.plan.schedule, &case.axes).flops as u64)
}

/// The first kernel to notice the plant; an error where none does.
fn noticed(plant: Plant, kernels: &[&Kernel]) -> Result<String, String> {
    let changed = match plant {
        Plant::Call(name) => from_texts(name),
        Plant::Unary(_) | Plant::Binary(_) | Plant::Reduce(_) => BTreeMap::new(),
    };
    let with = |kernel: &&&Kernel| match plant {
        Plant::Call(_) => changed.get(kernel.name()).cloned().filter(|plan| differs(plan, &kernel.plan)),
        _ => in_schedule(&kernel.plan, plant),
    };
    let users = kernels.iter().filter_map(|kernel| Some((*kernel, with(&kernel)?))).take(TRIED);
    let mut tried = Vec::new();
    for (kernel, plan) in users {
        if is_red(kernel, &plan, &format!("{plant:?}"))? {
            return Ok(kernel.name().to_owned());
        }
        tried.push(kernel.name());
    }
    Err(match tried.as_slice() {
        [] => format!("{plant:?}: no kernel uses it"),
        tried => format!("{plant:?}: its sign may be wrong in {}", tried.join(", ")),
    })
}

fn is_red(kernel: &Kernel, plan: &Plan, plant: &str) -> Result<bool, String> {
    let text = print::reference::print(plan);
    let wrong = reference::load(&format!("{} with {plant}", kernel.name()), &text)?;
    let is_red = |case| !reference::differences(kernel, &case, &reference::call(&wrong, &case)).is_empty();
    Ok(kernel.cases().any(is_red))
}

fn differs(a: &Plan, b: &Plan) -> bool {
    a.spec.math.canonical() != b.spec.math.canonical()
}

/// The kernels whose text is right TOML and right math when every `name(` becomes `-name(`.
fn from_texts(name: &str) -> BTreeMap<String, Plan> {
    let files = spec_folders().into_iter().flat_map(|folder| {
        let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
        files.filter(|file| file.path().extension().is_some_and(|e| e == "toml"))
    });
    let mut plans = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(file.path()).expect("a spec file");
        let document = spec_file(&negated(&text, name), &Settings::default());
        let all = document.kernels.iter().map(|spec| Plan::new(spec, &Target::host()));
        plans.extend(all.map(|plan| (plan.spec.name.as_str().to_owned(), plan)));
    }
    plans
}

/// `softmax(` as `-softmax(`, but `log_softmax(` as it is.
fn negated(text: &str, name: &str) -> String {
    let call = format!("{name}(");
    let mut parts = text.split(&call);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_inside = changed.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        changed.push_str(if is_inside { "" } else { "-" });
        changed.push_str(&call);
        changed.push_str(part);
    }
    changed
}

/// The plan with the plant in its schedule, if the schedule has a place for it.
fn in_schedule(plan: &Plan, plant: Plant) -> Option<Plan> {
    let mut wrong = plan.clone();
    for step in &mut wrong.schedule.steps {
        let reduces = |op: ReduceOp| matches!(plant, Plant::Reduce(planted) if planted == op);
        let body = |op: ReduceOp, body: &Expr| {
            let body = in_expr(body, plant);
            if reduces(op) { negative(body) } else { body }
        };
        step.value = match step.value.clone() {
            Value::Map(expr) => Value::Map(in_expr(&expr, plant)),
            Value::Reduce { op, over, body: b } => Value::Reduce { op, over, body: body(op, &b) },
            Value::Scan { op, over, along, direction, body: b } => {
                Value::Scan { op, over, along, direction, body: body(op, &b) }
            }
        };
    }
    (wrong.schedule != plan.schedule).then_some(wrong)
}

fn in_expr(expr: &Expr, plant: Plant) -> Expr {
    let expr = expr.map_children(&mut |child| in_expr(child, plant));
    match (&expr, plant) {
        (Expr::Unary(Unary::Not, _), Plant::Unary(Unary::Not)) => opposite(expr),
        (Expr::Unary(op, _), Plant::Unary(planted)) if *op == planted => negative(expr),
        (Expr::Binary(op, ..), Plant::Binary(planted)) if *op == planted => {
            let is_condition = op.compares() || matches!(op, Binary::And | Binary::Or);
            if is_condition { opposite(expr) } else { negative(expr) }
        }
        _ => expr,
    }
}

fn negative(expr: Expr) -> Expr {
    Expr::Unary(Unary::Neg, Box::new(expr))
}

fn opposite(expr: Expr) -> Expr {
    Expr::Unary(Unary::Not, Box::new(expr))
}
