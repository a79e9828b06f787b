//! Where a product's matrices lie: several dimensions taken as one, which of two is the column, and which factor comes
//! first. Pure.

use cutegen_spec::spec::KernelSpec;

use super::plain::Plain;
use super::{Element, Matrix};
use crate::plan::matmul::View;

/// A spec at some extents.
pub(super) struct Sizes<'a> {
    pub(super) spec: &'a KernelSpec,
    /// The axis of each variable.
    pub(super) vars: &'a [usize],
    pub(super) axes: &'a [i64],
}

impl Sizes<'_> {
    fn extent(&self, var: usize) -> Option<u64> {
        u64::try_from(*self.axes.get(self.vars[var])?).ok()
    }
}

/// Variables that are one dimension of a tensor, as strides go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) extent: u64,
    /// Elements from one to the next; `None` where there is only one.
    stride: Option<u64>,
}

impl Group {
    /// `vars`, outermost first, in the memory of `view`; those that it lacks do not move. `None` where no one stride
    /// walks them.
    pub(super) fn of(sizes: &Sizes<'_>, view: &View, vars: &[usize]) -> Option<Group> {
        let mut group = Group { extent: 1, stride: None };
        for var in vars.iter().rev() {
            let extent = sizes.extent(*var)?;
            let stride = u64::try_from(view.stride(*var).eval_axes(sizes.axes)?).ok()?;
            match group.stride {
                _ if extent == 1 => {}
                None => group = Group { extent: extent.checked_mul(group.extent)?, stride: Some(stride) },
                Some(inner) if inner.checked_mul(group.extent) == Some(stride) => {
                    group.extent = group.extent.checked_mul(extent)?;
                }
                Some(_) => return None,
            }
        }
        Some(group)
    }

    /// Whether elements are neighbours along it.
    fn is_dense(self) -> bool {
        self.stride == Some(1)
    }

    fn is_single(self) -> bool {
        self.stride.is_none()
    }
}

/// A product without its types.
pub(super) struct Shape {
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    pub(super) batch: u64,
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) d: Matrix,
}

/// How matrices lie for `found`. Where the several variables of one side are not one dimension, the outermost written
/// one counts as a batch, over which the other factor stays.
pub(super) fn shape(sizes: &Sizes<'_>, found: &Plain) -> Option<Shape> {
    let batch = found.batch();
    let several = |var: &&usize| [found.left(), found.right()].iter().any(|s| s.len() > 1 && s.contains(var));
    let outermost = found.written.first().filter(several);
    batched(sizes, found, &batch).or_else(|| batched(sizes, found, &[&[*outermost?], &*batch].concat()))
}

fn batched(sizes: &Sizes<'_>, found: &Plain, batch: &[usize]) -> Option<Shape> {
    let sides = oriented(sizes, found, batch)?;
    let ([a, b], [m, n], k) = (sides.factors, &sides.free, &found.k);
    let count = |view: &View, vars: &[usize]| Some(Group::of(sizes, view, vars)?.extent);
    let shape = Shape {
        m: count(&found.d, m)?,
        n: count(&found.d, n)?,
        k: count(&found.a, k)?,
        batch: count(&found.d, batch)?,
        a: place(sizes, a, m, k, batch)?,
        b: place(sizes, b, k, n, batch)?,
        d: place(sizes, &found.d, m, n, batch)?,
    };
    let some = [shape.m, shape.n, shape.k, shape.batch].iter().all(|extent| *extent > 0);
    (some && !shape.d.transposed).then_some(shape)
}

/// The factors in the order that leaves the result column-major, each with its own written variables.
struct Sides<'a> {
    factors: [&'a View; 2],
    free: [Vec<usize>; 2],
}

/// The factor along whose variables the result's elements are neighbours comes first.
fn oriented<'a>(sizes: &Sizes<'_>, found: &'a Plain, batch: &[usize]) -> Option<Sides<'a>> {
    let free = |vars: Vec<usize>| vars.into_iter().filter(|var| !batch.contains(var)).collect::<Vec<_>>();
    let (left, right) = (free(found.left()), free(found.right()));
    let (rows, columns) = (Group::of(sizes, &found.d, &left)?, Group::of(sizes, &found.d, &right)?);
    let straight = Sides { factors: [&found.a, &found.b], free: [left.clone(), right.clone()] };
    let swapped = Sides { factors: [&found.b, &found.a], free: [right, left] };
    match (rows, columns) {
        (_, columns) if columns.is_dense() => Some(swapped),
        (rows, _) if rows.is_dense() => Some(straight),
        (_, columns) if columns.is_single() => Some(swapped),
        (rows, _) if rows.is_single() => Some(straight),
        _ => None,
    }
}

/// A matrix whose `op` has `rows` and `columns`: columns are what elements are neighbours along.
fn place(
    sizes: &Sizes<'_>,
    view: &View,
    rows: &[usize],
    columns: &[usize],
    batch: &[usize],
) -> Option<Matrix> {
    let group = |vars: &[usize]| Group::of(sizes, view, vars);
    let (rows, columns, batch) = (group(rows)?, group(columns)?, group(batch)?);
    let transposed = match (rows, columns) {
        (rows, _) if rows.is_dense() => false,
        (_, columns) if columns.is_dense() => true,
        (rows, _) if rows.is_single() => false,
        (_, columns) if columns.is_single() => true,
        _ => return None,
    };
    let (within, across) = if transposed { (columns, rows) } else { (rows, columns) };
    let ld = across.stride.unwrap_or(within.extent);
    let element = Element::of(sizes.spec.tensors[view.tensor].dtype)?;
    let batch_stride = batch.stride.unwrap_or(0);
    (ld >= within.extent).then_some(Matrix { tensor: view.tensor, element, transposed, ld, batch_stride })
}
