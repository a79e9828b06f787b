//! Sums of products as tiles: a block computes 64 x 64 elements of a sum over `left * right`, of which one factor knows no
//! column and the other no row. Tiles of both go through shared memory; any expression may be a factor, so a convolution
//! is a product over pixels and channels.

use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::{Binary, Expr, Kind, Loop, ReduceOp};

use super::group::Group;
use super::{Cuda, Reduction};
use crate::plan::sums::is_product;
use crate::print::c;

/// Threads of a block, each with 4 x 4 elements.
pub(super) const THREADS: i64 = 256;
/// Rows, and columns, of a block.
const SIDE: i64 = 64;
/// Terms that are in shared memory at a time.
const DEPTH: i64 = 16;
/// Terms that are added one after another before their sum is.
const BLOCK: i64 = 128;
/// A side that can never have as many elements is not worth a tile.
const LEAST: f64 = 16.0;
/// Most terms of a sum that is in blocks once, unless its factors are elements, as in a contraction.
const TERMS: f64 = 65536.0;

/// What the loops of a group are to its products.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tile<'a> {
    /// Loops of both factors.
    batch: Vec<Loop>,
    /// Loops of the rows' factor alone.
    rows: Vec<Loop>,
    /// Loops of the columns' factor alone, the last one among them.
    cols: Vec<Loop>,
    /// The factors of each sum, rows' and columns'.
    factors: Vec<[&'a Expr; 2]>,
}

impl<'a> Tile<'a> {
    /// Of a group whose reductions are all sums of such products, with the same rows and columns.
    pub(super) fn of(cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'a>]) -> Option<Self> {
        let mut all = reductions.iter().map(|reduction| Tile::of_one(cuda, &group.last.loops, reduction));
        let mut tile = all.next()??;
        let kind = |r: &Reduction<'_>| r.fold(&cuda.naive).kind;
        for other in all {
            let other = other.filter(|o| (&o.rows, &o.cols) == (&tile.rows, &tile.cols))?;
            tile.factors.extend(other.factors);
        }
        let large = |loops: &[Loop]| cuda.most(loops) >= LEAST;
        let alike = reductions.iter().all(|r| kind(r) == kind(&reductions[0]));
        (alike && large(&tile.rows) && large(&tile.cols)).then_some(tile)
    }

    /// Of one sum of products over whole loops.
    fn of_one(cuda: &Cuda<'_>, loops: &[Loop], reduction: &Reduction<'a>) -> Option<Self> {
        let Expr::Binary(Binary::Mul, a, b) = reduction.body else { return None };
        let whole = loops.iter().chain(reduction.over).all(Loop::is_whole);
        let short = is_product(reduction.body) || cuda.most(reduction.over) <= TERMS;
        let last = loops.last()?.var;
        if reduction.op != ReduceOp::Sum || !whole || !short {
            return None;
        }
        let (left, right) = if b.free_vars().contains(&last) { (a, b) } else { (b, a) };
        let (of_left, of_right) = (left.free_vars(), right.free_vars());
        let chosen = |is: &dyn Fn(bool, bool) -> bool| -> Vec<Loop> {
            let is = |l: &&Loop| is(of_left.contains(&l.var), of_right.contains(&l.var));
            loops.iter().filter(is).cloned().collect()
        };
        let tile = Tile {
            batch: chosen(&|left, right| left == right),
            rows: chosen(&|left, right| left && !right),
            cols: chosen(&|left, right| right && !left),
            factors: vec![[left.as_ref(), right.as_ref()]],
        };
        (!tile.rows.is_empty() && !tile.cols.is_empty()).then_some(tile)
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self, cuda: &Cuda<'_>) -> IntExpr {
        let side = |loops: &[Loop]| IntExpr::op(IntOp::CeilDiv, cuda.points(loops), IntExpr::Const(SIDE));
        let tiles = IntExpr::op(IntOp::Mul, side(&self.rows), side(&self.cols));
        IntExpr::op(IntOp::Mul, tiles, cuda.points(&self.batch))
    }

    /// The text of the kernel.
    pub(super) fn body(&self, cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'_>]) -> String {
        let places = cuda.naive.places();
        let sums = reductions.iter().zip(&self.factors).map(|(r, factors)| self.sum(cuda, r, factors));
        let ty = reductions.first().map_or("acc", |r| r.fold(&cuda.naive).ty());
        let held = reductions
            .iter()
            .map(|r| format!("        const {ty} r{temp} = sums{temp}[p][q];\n", temp = r.temp));
        format!(
            "  __shared__ __align__(16) {ty} left[{DEPTH}][{SIDE} + 4], right[{DEPTH}][{SIDE} + 4];\n  \
             const int64_t rows = {rows}, cols = {cols};\n  \
             const int64_t down = (rows + {SIDE} - 1) / {SIDE}, across = (cols + {SIDE} - 1) / {SIDE};\n  \
             const int64_t total = down * across * {batch};\n  \
             const int x = threadIdx.x % 16, y = threadIdx.x / 16;\n  \
             for (int64_t i = blockIdx.x; i < total; i += gridDim.x) {{\n    \
             const int64_t col0 = i % across * {SIDE}, row0 = i / across % down * {SIDE};\n    \
             const int64_t batch = i / across / down;\n{of_batch}{sums}#pragma unroll\n    \
             for (int p = 0; p < 4; ++p) {{\n#pragma unroll\n      for (int q = 0; q < 4; ++q) {{\n        \
             const int64_t row = row0 + y * 4 + p, col = col0 + x * 4 + q;\n        \
             if (row >= rows || col >= cols) continue;\n{of_rows}{of_cols}{held}{finish}      }}\n    }}\n  }}\n",
            rows = places.total(&self.rows),
            cols = places.total(&self.cols),
            batch = places.total(&self.batch),
            of_batch = cuda.unravel("batch", &self.batch, "    "),
            of_rows = cuda.unravel("row", &self.rows, "        "),
            of_cols = cuda.unravel("col", &self.cols, "        "),
            sums = sums.collect::<String>(),
            held = held.collect::<String>(),
            finish = cuda.finish(group, "        "),
        )
    }

    /// The statements that compute one sum of a block's tile.
    fn sum(&self, cuda: &Cuda<'_>, reduction: &Reduction<'_>, factors: &[&Expr; 2]) -> String {
        let (temp, fold) = (reduction.temp, reduction.fold(&cuda.naive));
        let (ty, kind) = (fold.ty(), fold.kind);
        let [left, right] = factors;
        let left = Side { name: "left", factor: left, outer: &self.rows, at: "row" };
        let right = Side { name: "right", factor: right, outer: &self.cols, at: "col" };
        let [left, right] = [left, right].map(|side| load(cuda, reduction.over, &side, (kind, ty)));
        format!(
            "    {ty} sums{temp}[4][4] = {{}};\n    {{\n      const int64_t count = {};\n      \
             for (int64_t from = 0; from < count; from += {BLOCK}) {{\n        {ty} parts[4][4] = {{}};\n        \
             const int64_t to = cg_imin(count, from + {BLOCK});\n        \
             for (int64_t first = from; first < to; first += {DEPTH}) {{\n          __syncthreads();\n{left}{right}          \
             __syncthreads();\n#pragma unroll\n          \
             for (int k = 0; k < {DEPTH}; ++k) {{\n            {ty} a[4], b[4];\n#pragma unroll\n            \
             for (int p = 0; p < 4; ++p) a[p] = left[k][y * 4 + p], b[p] = right[k][x * 4 + p];\n#pragma unroll\n            \
             for (int p = 0; p < 4; ++p)\n#pragma unroll\n              \
             for (int q = 0; q < 4; ++q) parts[p][q] = parts[p][q] + a[p] * b[q];\n          }}\n        }}\n#pragma unroll\n        \
             for (int p = 0; p < 4; ++p)\n#pragma unroll\n          \
             for (int q = 0; q < 4; ++q) sums{temp}[p][q] = sums{temp}[p][q] + parts[p][q];\n      }}\n    }}\n",
            cuda.naive.places().total(reduction.over),
        )
    }
}

/// One factor of the sum, whose tile lies in shared memory.
struct Side<'a> {
    /// Of its tile.
    name: &'a str,
    factor: &'a Expr,
    /// The loops of its rows or columns.
    outer: &'a [Loop],
    /// Of their position.
    at: &'a str,
}

/// The statements that fill one side's tile; neighbouring threads read neighbours in memory.
fn load(cuda: &Cuda<'_>, over: &[Loop], side: &Side<'_>, (kind, ty): (Kind, &str)) -> String {
    let Side { name, factor, outer, at } = *side;
    let near = cuda.neighbours(factor);
    let is_near = |loops: &[Loop]| loops.iter().any(|l| near.contains(&l.var));
    let (k, i) = if is_near(over) && !is_near(outer) {
        (format!("e % {DEPTH}"), format!("e / {DEPTH}"))
    } else {
        (format!("e / {SIDE}"), format!("e % {SIDE}"))
    };
    format!(
        "#pragma unroll\n          for (int e = threadIdx.x; e < {DEPTH} * {SIDE}; e += {THREADS}) {{\n            \
         const int k = {k}, i = {i};\n            const int64_t term = first + k, {at} = {at}0 + i;\n            \
         {ty} value = 0;\n            if (term < count && {at} < {at}s) {{\n{}{}              value = {};\n            }}\n            \
         {name}[k][i] = value;\n          }}\n",
        cuda.unravel(at, outer, "              "),
        cuda.unravel("term", over, "              "),
        c::of_kind(factor, kind, &cuda.naive)
    )
}
