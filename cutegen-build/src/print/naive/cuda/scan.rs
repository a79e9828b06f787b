//! Scans: a thread a row, or a block that scans pieces of 1024 elements together and carries what was before them on.

use cutegen_spec::math::{Expr, Loop, Place, ReduceOp};

use super::Cuda;
use super::blocks::{LONG, MANY, ROW};
use super::group::Group;
use crate::plan::schedule::{Direction, Step, Value};
use crate::print::naive::Fold;

/// Threads of a block, an element each at a time.
pub(super) const THREADS: i64 = 1024;

/// A scan and what is written of its results.
pub(super) struct Scanned<'a> {
    scan: &'a Step,
    last: &'a Step,
    op: ReduceOp,
    body: &'a Expr,
    over: usize,
    along: usize,
    direction: Direction,
}

impl<'a> Scanned<'a> {
    /// The scan of a group, if it is one.
    pub(super) fn of(group: &'a Group) -> Option<Self> {
        let scan = match group.held.as_slice() {
            [] => &group.last,
            [(_, step)] => step,
            _ => return None,
        };
        let Value::Scan { op, over, along, direction, body } = &scan.value else { return None };
        let (over, along, direction) = (*over, *along, *direction);
        Some(Scanned { scan, last: &group.last, op: *op, body, over, along, direction })
    }

    /// The rows.
    pub(super) fn loops(&self) -> &[Loop] {
        &self.scan.loops
    }

    /// Whether a block scans a row: a long one along memory, or one of few, whose values join in any order of brackets.
    pub(super) fn is_of_blocks(&self, cuda: &Cuda<'_>) -> bool {
        let terms = cuda.most(&[Loop::whole(self.over)]);
        let is_row = cuda.neighbours(self.body) == [self.over] && terms >= ROW;
        let is_one_of_few = terms >= LONG && cuda.most(self.loops()) <= MANY;
        self.fold(cuda).joined("a", "b").is_some() && (is_row || is_one_of_few)
    }

    fn fold(&self, cuda: &Cuda<'_>) -> Fold {
        Fold::new(self.op, self.body, &cuda.naive)
    }

    /// A thread a row.
    pub(super) fn of_thread(&self, cuda: &Cuda<'_>) -> String {
        let Scanned { over, along, direction, .. } = *self;
        let fold = self.fold(cuda);
        let store = format!("      {{\n{}      }}\n", self.store(cuda, fold.result()));
        let next = fold.next("      ", over);
        let body = if direction.exclusive { store + &next } else { next + &store };
        let text = format!(
            "{}    {} {{\n      const int64_t v{along} = v{over};\n{body}    }}\n",
            fold.start("    "),
            cuda.naive.places().scan_loop(over, direction)
        );
        cuda.each_point(self.loops(), &text)
    }

    /// A block a row.
    pub(super) fn of_block(&self, cuda: &Cuda<'_>) -> String {
        let Scanned { over, along, direction, .. } = *self;
        let fold = self.fold(cuda);
        let ty = fold.ty();
        let extent = format!("a{}", cuda.naive.plan.schedule.vars[over]);
        let at = if direction.reverse {
            format!("{extent} - 1 - (from + threadIdx.x)")
        } else {
            "from + threadIdx.x".to_owned()
        };
        let joined = |a: &str, b: &str| fold.joined(a, b).unwrap_or_default();
        // a sum of reals is carried in blocks, as a thread has it
        let (carried, carry) = if fold.is_blocked() {
            ("carried.value()", "carried.add(piece)".to_owned())
        } else {
            ("carried", format!("carried = {}", joined("carried", "piece")))
        };
        let one = format!(
            "    {start}\
             \x20   for (int64_t from = 0; from < {extent}; from += {THREADS}) {{\n      \
             const int64_t v{over} = {at};\n      const bool inside = v{over} >= 0 && v{over} < {extent};\n      \
             {ty} own = {neutral};\n      if (inside) own = {body};\n      shares[threadIdx.x] = own;\n      \
             for (unsigned back = 1; back < {THREADS}; back *= 2) {{\n        __syncthreads();\n        \
             const {ty} before = shares[threadIdx.x < back ? threadIdx.x : threadIdx.x - back];\n        \
             __syncthreads();\n        if (threadIdx.x >= back) own = {joins};\n        \
             shares[threadIdx.x] = own;\n      }}\n      __syncthreads();\n{shifted}      \
             if (inside) {{\n        const {ty} r = {result};\n        const int64_t v{along} = v{over};\n{store}      }}\n      \
             const {ty} piece = shares[{THREADS} - 1];\n      {carry};\n      __syncthreads();\n    }}\n",
            start = fold.start("").replacen(" r", " carried", 1),
            neutral = fold.neutral(),
            body = fold.body,
            joins = joined("before", "own"),
            shifted = if direction.exclusive {
                format!("      own = threadIdx.x > 0 ? shares[threadIdx.x - 1] : {};\n", fold.neutral())
            } else {
                String::new()
            },
            result = joined(carried, "own"),
            store = self.store(cuda, "r"),
        );
        let shares = format!("  __shared__ {ty} shares[{THREADS}];\n");
        shares + &cuda.each_block(self.loops(), 1, &one)
    }

    /// The statements that store an element whose prefix is `value`.
    fn store(&self, cuda: &Cuda<'_>, value: &str) -> String {
        let naive = &cuda.naive;
        match (&self.last.value, self.scan.dst) {
            (Value::Map(map), Place::Temp(temp)) => {
                let held = format!("        const auto r{temp} = {value};\n");
                held + &naive.store(self.last, &naive.stored(self.last, map), "        ")
            }
            _ => naive.store(self.last, value, "        "),
        }
    }
}
