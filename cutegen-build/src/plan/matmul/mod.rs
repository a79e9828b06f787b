//! [`Matmul`]: kernels that are matrix products with an elementwise rest: which loop variables are batch, rows, columns and
//! summed, and where the factors lie. Templates of devices read this one description. Symbolic: it knows no tile, no
//! instruction and no device.

mod view;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use cutegen_spec::axis::{Axis, largest};
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::math::{Binary, Expr, Index, Loop, Place, ReduceOp, as_vars};
use cutegen_spec::spec::KernelSpec;

use super::schedule::{Schedule, Step, Value};
pub use view::View;
use view::mul;

/// `sum over k of a[batch, m, k] * b[batch, n, k]`, one such sum or several that share `a`; and maps of the sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// Loop variables of the outputs that choose a product of the batch. A factor may ignore some.
    pub batch: Vec<usize>,
    /// Those of the rows, one dimension of `a`; none where there is a single row.
    pub m: Vec<usize>,
    /// That of the columns; outputs are contiguous along it where they can be. None where there is a single column.
    pub n: Option<usize>,
    /// Summed variables, one dimension of every factor.
    pub k: Vec<usize>,
    /// The sums.
    pub products: Vec<Product>,
    /// The axis of each variable.
    axes: Vec<usize>,
    /// How many steps come before the maps.
    sums: usize,
}

/// One sum of products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The temporary that holds it in the schedule.
    pub sum: usize,
    /// The factor with the rows.
    pub a: View,
    /// The factor with the columns.
    pub b: View,
}

/// The most sums that share a factor.
const PRODUCTS_MAX: usize = 2;

impl Matmul {
    /// The products that `schedule` is, if it is sums of products of two tensors over the same loops, then maps of them.
    #[must_use]
    pub fn of(spec: &KernelSpec, schedule: &Schedule) -> Option<Matmul> {
        let is_sum = |step: &&Step| matches!(step.value, Value::Reduce { op: ReduceOp::Sum, .. });
        let sums = schedule.steps.iter().take_while(is_sum).count();
        let (sums, maps) = schedule.steps.split_at(sums);
        let is_map = |step: &Step| matches!((&step.value, step.dst), (Value::Map(_), Place::Tensor(_)));
        if sums.is_empty() || sums.len() > PRODUCTS_MAX || maps.is_empty() || !maps.iter().all(is_map) {
            return None;
        }
        let vars = maps[0].vars();
        let (mut k, mut products) = (None, Vec::new());
        for step in sums {
            let found = Summed::of(spec, schedule, step, maps)?;
            let over = k.get_or_insert_with(|| found.over.clone());
            products.push(found.over_vars(schedule, over)?);
        }
        let roles = Roles::of(&vars, &k?, columns(spec, &maps[0]), products)?;
        roles.grouped(spec, schedule, sums.len())
    }

    /// The maps, which read the sums.
    #[must_use]
    pub fn maps<'a>(&self, schedule: &'a Schedule) -> &'a [Step] {
        &schedule.steps[self.sums..]
    }

    /// The factor that all sums share.
    #[must_use]
    pub fn a(&self) -> &View {
        &self.products[0].a
    }

    /// Products of the batch, in axes.
    #[must_use]
    pub fn batches(&self) -> IntExpr {
        self.extent(&self.batch)
    }

    /// Rows of a product.
    #[must_use]
    pub fn rows(&self) -> IntExpr {
        self.extent(&self.m)
    }

    /// Columns of a product.
    #[must_use]
    pub fn columns(&self) -> IntExpr {
        self.n.map_or(IntExpr::Const(1), |var| IntExpr::Axis(self.axes[var]))
    }

    /// Terms of a sum.
    #[must_use]
    pub fn terms(&self) -> IntExpr {
        self.extent(&self.k)
    }

    /// The axis that a variable runs over.
    #[must_use]
    pub fn axis(&self, var: usize) -> usize {
        self.axes[var]
    }

    /// Whether these variables, outermost first, are one dimension of a view.
    #[must_use]
    pub fn is_one_dimension(&self, axes: &[Axis], view: &View, vars: &[usize]) -> bool {
        view.is_one_dimension(axes, &self.axes, vars)
    }

    fn extent(&self, vars: &[usize]) -> IntExpr {
        vars.iter().fold(IntExpr::Const(1), |all, var| mul(all, IntExpr::Axis(self.axes[*var])))
    }
}

/// A sum of products in its own variables, those that it keeps renamed to those of the maps.
struct Summed {
    temp: usize,
    over: Vec<usize>,
    factors: [View; 2],
}

impl Summed {
    fn of(spec: &KernelSpec, schedule: &Schedule, step: &Step, maps: &[Step]) -> Option<Summed> {
        let (Place::Temp(temp), Value::Reduce { over, body, .. }) = (step.dst, &step.value) else {
            return None;
        };
        if !over.iter().chain(&step.loops).all(Loop::is_whole) {
            return None;
        }
        let (own, outer) = (step.vars(), read_at(schedule, temp, maps)?);
        let renamed = |var: usize| own.iter().position(|v| *v == var).map_or(var, |at| outer[at]);
        let Expr::Binary(Binary::Mul, left, right) = body else { return None };
        let view = |factor: &Expr| {
            let Expr::Load(Place::Tensor(tensor), index) = factor else { return None };
            Some(View::of(*tensor, &spec.tensors[*tensor], index)?.renamed(&renamed))
        };
        let factors = [view(left)?, view(right)?];
        Some(Summed { temp, over: over.iter().map(|l| l.var).collect(), factors })
    }

    /// The same summed over `vars`, if these run over the same axes.
    fn over_vars(self, schedule: &Schedule, vars: &[usize]) -> Option<(usize, [View; 2])> {
        let axes = |vars: &[usize]| vars.iter().map(|var| schedule.vars[*var]).collect::<Vec<_>>();
        if axes(&self.over) != axes(vars) {
            return None;
        }
        let to = |var: usize| self.over.iter().position(|v| *v == var).map_or(var, |at| vars[at]);
        Some((self.temp, self.factors.map(|view| view.renamed(&to))))
    }
}

/// The variables of the first map at which all maps read a temporary: each of them, once.
fn read_at(schedule: &Schedule, temp: usize, maps: &[Step]) -> Option<Vec<usize>> {
    let vars = maps[0].vars();
    let (mut found, mut same): (Option<Vec<usize>>, bool) = (None, true);
    for map in maps {
        let own = map.vars();
        let to = |var: usize| own.iter().position(|v| *v == var).and_then(|at| vars.get(at).copied());
        map.value.expr().visit(&mut |expr| {
            if let Expr::Load(Place::Temp(read), index) = expr
                && *read == temp
            {
                let at = as_vars(index).and_then(|at| at.into_iter().map(to).collect::<Option<Vec<_>>>());
                same &= at.is_some() && found.as_ref().is_none_or(|found| Some(found) == at.as_ref());
                found = at;
            }
        });
    }
    let found = found.filter(|found| same && found.len() == schedule.temps[temp].axes.len())?;
    let each: BTreeSet<usize> = found.iter().copied().collect();
    (each == vars.iter().copied().collect() && found.len() == vars.len()).then_some(found)
}

/// The variable along which the elements of a map's output are neighbours.
fn columns(spec: &KernelSpec, map: &Step) -> Option<usize> {
    let Place::Tensor(tensor) = map.dst else { return None };
    let strides = spec.tensors[tensor].stride_exprs();
    let dense = |(index, stride): (&Index, IntExpr)| index.as_var().filter(|_| stride == IntExpr::Const(1));
    map.index.iter().zip(strides).rev().find_map(dense)
}

/// Variables by the factors that they move.
struct Roles {
    batch: Vec<usize>,
    m: Vec<usize>,
    n: Vec<usize>,
    k: Vec<usize>,
    products: Vec<Product>,
}

impl Roles {
    /// Of sums over `k` at `vars`, of which `columns` is to be one of the columns, if it is in one factor alone.
    fn of(
        vars: &[usize],
        k: &[usize],
        columns: Option<usize>,
        sums: Vec<(usize, [View; 2])>,
    ) -> Option<Roles> {
        let moves = |view: &View| -> BTreeSet<usize> { view.strides.keys().copied().collect() };
        let first: [BTreeSet<usize>; 2] = [moves(&sums[0].1[0]), moves(&sums[0].1[1])];
        let is_column_of =
            |at: usize| columns.is_some_and(|var| first[at].contains(&var) && !first[1 - at].contains(&var));
        let last_of = |at: usize| {
            vars.last().is_some_and(|var| first[at].contains(var) && !first[1 - at].contains(var))
        };
        let right = usize::from(is_column_of(1) || (!is_column_of(0) && !last_of(0)));
        let (rows, cols) = (&first[1 - right], &first[right]);
        let products = sums.into_iter().map(|(sum, [x, y])| {
            let straight = moves(&x) == *rows && moves(&y) == *cols;
            let crossed = moves(&y) == *rows && moves(&x) == *cols;
            match (straight && (right == 1 || !crossed), crossed) {
                (true, _) => Some(Product { sum, a: x, b: y }),
                (false, true) => Some(Product { sum, a: y, b: x }),
                (false, false) => None,
            }
        });
        let products = products.collect::<Option<Vec<_>>>()?;
        let shared = products.iter().all(|product| product.a == products[0].a);
        let summed = k.iter().all(|var| rows.contains(var) && cols.contains(var));
        let kept = vars.iter().all(|var| rows.contains(var) || cols.contains(var));
        let within = |var: &&usize| vars.contains(var) || k.contains(var);
        let known = rows.iter().chain(cols).all(|var| within(&var));
        let of =
            |chosen: &dyn Fn(&usize) -> bool| vars.iter().copied().filter(|v| chosen(v)).collect::<Vec<_>>();
        (shared && summed && kept && known).then(|| Roles {
            batch: of(&|v| rows.contains(v) && cols.contains(v)),
            m: of(&|v| rows.contains(v) && !cols.contains(v)),
            n: of(&|v| cols.contains(v) && !rows.contains(v)),
            k: k.to_vec(),
            products,
        })
    }

    /// Summed variables, outermost in `a` first: a sum may name them in any order.
    fn in_memory_order(&mut self, axes: &[Axis]) {
        let (a, largest) = (&self.products[0].a, largest(axes));
        let stride = |var: &usize| largest.as_ref().and_then(|axes| a.stride(*var).eval_axes(axes));
        self.k.sort_by_key(|var| Reverse(stride(var)));
    }

    /// One dimension for each role: what is none for a factor counts as batch, over which the other factor stays.
    fn grouped(mut self, spec: &KernelSpec, schedule: &Schedule, sums: usize) -> Option<Matmul> {
        let axes: &[Axis] = &spec.axes;
        let is_one = |view: &View, vars: &[usize]| view.is_one_dimension(axes, &schedule.vars, vars);
        self.in_memory_order(axes);
        let all_one = self.products.iter().all(|p| is_one(&p.a, &self.k) && is_one(&p.b, &self.k));
        if !all_one {
            return None;
        }
        while !is_one(&self.products[0].a, &self.m) {
            self.batch.push(self.m.remove(0));
        }
        let n = self.n.pop();
        self.batch.append(&mut self.n);
        Some(Matmul {
            batch: self.batch,
            m: self.m,
            n,
            k: self.k,
            products: self.products,
            axes: schedule.vars.clone(),
            sums,
        })
    }
}

#[cfg(test)]
mod tests;
