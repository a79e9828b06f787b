//! A block an element, or a cluster of them where rows are long: each thread has its share of what is reduced, and a
//! tree joins the shares.

use cutegen_spec::math::Loop;

use super::group::Group;
use super::{Cuda, Reduction, threads};

/// Terms from which on a block reduces a row that lies in memory as it is reduced.
pub(super) const ROW: f64 = 256.0;
/// Neighbours in memory that make it such a row.
const NEIGHBOURS: f64 = 32.0;
/// Terms from which on a block reduces what lies apart, where elements are fewer than [`MANY`].
pub(super) const LONG: f64 = 4096.0;
/// Elements that keep a device busy with a thread each.
pub(super) const MANY: f64 = 16384.0;
/// Terms from which on a cluster of blocks reduces them.
const LONGER: f64 = 65536.0;

/// Who has a share of an element.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    pub(super) blocks: i64,
    pub(super) threads: i64,
}

/// How many blocks and threads reduce an element, if not one thread does.
pub(super) fn shares(cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'_>]) -> Option<Shares> {
    let terms = reductions.iter().map(|r| cuda.most(r.over)).fold(0.0, f64::max);
    // a thread skips what a condition leaves out, which is worth more unless a row lies in memory
    let fits = |r: &Reduction<'_>| {
        let flat = r.over.iter().all(Loop::is_whole) || r.over.len() == 1;
        flat && (is_row(cuda, r) || threads::guarded(cuda, r).0.is_empty())
    };
    let is_worth = if reductions.iter().any(|r| is_row(cuda, r)) {
        terms >= ROW
    } else {
        terms >= LONG && cuda.most(&group.last.loops) <= MANY
    };
    let shares = if terms >= LONGER {
        Shares { blocks: if cuda.has_clusters() { 8 } else { 1 }, threads: 1024 }
    } else {
        Shares { blocks: 1, threads: 256 }
    };
    (is_worth && reductions.iter().all(fits)).then_some(shares)
}

/// Whether neighbouring threads read neighbours.
fn is_row(cuda: &Cuda<'_>, reduction: &Reduction<'_>) -> bool {
    let near = cuda.neighbours(reduction.body);
    let own: Vec<Loop> = reduction.over.iter().filter(|l| near.contains(&l.var)).cloned().collect();
    !near.is_empty() && own.len() == near.len() && cuda.most(&own) >= NEIGHBOURS
}

/// Every element by its blocks.
pub(super) fn body(cuda: &Cuda<'_>, group: &Group, reductions: &[Reduction<'_>], shares: Shares) -> String {
    let all: String = reductions.iter().map(|reduction| one(cuda, reduction, shares)).collect();
    let first = if shares.blocks > 1 {
        format!("threadIdx.x == 0 && blockIdx.x % {} == 0", shares.blocks)
    } else {
        "threadIdx.x == 0".to_owned()
    };
    let finish = format!("    if ({first}) {{\n{}    }}\n", cuda.finish(group, "      "));
    cuda.each_block(&group.last.loops, shares.blocks, &(all + &finish))
}

/// The statements that compute one reduction.
fn one(cuda: &Cuda<'_>, reduction: &Reduction<'_>, shares: Shares) -> String {
    let fold = reduction.fold(&cuda.naive);
    let (ty, temp) = (fold.ty(), reduction.temp);
    let of = match shares.blocks {
        1 => format!("cg_of_block<{}>", shares.threads),
        more => format!("cg_of_cluster<{}, {more}>", shares.threads),
    };
    let own = own(cuda, reduction, shares);
    match fold.joined("a", "b") {
        Some(joined) => format!(
            "    const {ty} own{temp} = [&] {{\n{own}      return {};\n    }}();\n    \
             const {ty} r{temp} = {of}(own{temp}, []({ty} a, {ty} b) -> {ty} {{ return {joined}; }});\n",
            fold.result()
        ),
        None => {
            let leader = format!("cg_leader<{ty}>");
            let largest = reduction.op == cutegen_spec::math::ReduceOp::ArgMax;
            format!(
                "    const {leader} own{temp} = [&] {{\n{own}      return {leader}{{best, r, any}};\n    }}();\n    \
                 const int64_t r{temp} = {of}(own{temp}, []({leader} a, {leader} b) {{ \
                 return cg_better<{largest}>(a, b); }}).at;\n"
            )
        }
    }
}

/// The statements that reduce a thread's share: what neighbouring threads have lies beside each other. A sum of reals is
/// one of blocks of 128.
fn own(cuda: &Cuda<'_>, reduction: &Reduction<'_>, shares: Shares) -> String {
    let fold = reduction.fold(&cuda.naive);
    let step = shares.blocks * shares.threads;
    let rank = match shares.blocks {
        1 => "threadIdx.x".to_owned(),
        more => format!("blockIdx.x % {more} * {} + threadIdx.x", shares.threads),
    };
    let (first, end) = match reduction.over {
        [one] => cuda.naive.places().bounds(one),
        several => ("0".to_owned(), cuda.naive.places().total(several)),
    };
    let head = format!("      const int64_t first = {first} + int64_t({rank}), end = {end};\n");
    let term = cuda.unravel("j", reduction.over, "        ");
    if !fold.is_blocked() {
        let next = fold.next("        ", reduction.at());
        return format!(
            "{head}{}#pragma unroll 8\n      for (int64_t j = first; j < end; j += {step}) {{\n{term}{next}      }}\n",
            fold.start("      ")
        );
    }
    format!(
        "{head}{}      for (int64_t from = first; from < end; from += 128 * {step}) {{\n        \
         const int64_t to = cg_imin(end, from + 128 * {step});\n        acc block = 0;\n#pragma unroll 8\n        \
         for (int64_t j = from; j < to; j += {step}) {{\n{}          block = block + {};\n        }}\n        \
         r.add(block);\n      }}\n",
        fold.start("      "),
        cuda.unravel("j", reduction.over, "          "),
        fold.body
    )
}
