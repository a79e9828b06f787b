//! What the points of products are, and what they ask of a launch.

use std::collections::BTreeSet;

use cutegen_spec::edition::spec_file;
use cutegen_spec::eligibility::Condition;
use cutegen_spec::target::Target;

use super::candidates;
use super::mma_sync::points;
use crate::generate::{Candidate, CostFeatures, Fetched};
use crate::plan::Plan;

fn space(axes: &str, tensors: &str, math: &str) -> Vec<Candidate> {
    let text = format!("edition = 1\n[kernels.p]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
    let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
    let plan = Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"));
    candidates(&plan, usize::MAX)
}

const NT: &str = "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }";
const PRODUCT: &str = "y[m, n] = sum(k, x[m, k] * w[n, k])";

fn constant(source: &str, name: &str) -> String {
    let line = source.lines().find(|line| line.contains(&format!(" {name} = "))).expect("a constant");
    line.split(" = ").nth(1).expect("a value").trim_end_matches(';').to_owned()
}

#[test]
fn every_point_has_its_name_and_both_sides_have_some() {
    for products in [1, 2] {
        let points = points(products, 227 << 10);
        let names: BTreeSet<String> = points.iter().map(|point| point.name()).collect();
        assert_eq!(names.len(), points.len());
        assert!(points.iter().any(|point| point.swap) && points.iter().any(|point| !point.swap));
        assert!(points.iter().filter(|point| point.smem(products) <= 99 << 10).count() > points.len() / 4);
        assert!(points.iter().all(|point| point.smem(products) <= 163 << 10 && point.threads() <= 256));
    }
}

/// The widest copies that extents allow, and what they ask.
#[test]
fn copies_are_as_wide_as_rows_allow() {
    let access = |k: &str| {
        let all = space(&format!("m = '1..=64', n = 64, k = {k}"), NT, PRODUCT);
        let first = &all[0];
        let aligned = |tensor: usize| {
            first.eligibility.0.iter().find_map(|condition| match condition {
                Condition::Aligned { tensor: of, bytes } if *of == tensor => Some(*bytes),
                _ => None,
            })
        };
        (constant(&first.source, "A_ACCESS"), constant(&first.source, "B_ACCESS"), aligned(0), aligned(1))
    };
    let of = |bytes: &str, aligned: Option<u64>| (bytes.to_owned(), bytes.to_owned(), aligned, aligned);
    assert_eq!(access("64"), of("16", Some(16)));
    assert_eq!(access("60"), of("8", Some(8)));
    assert_eq!(access("62"), of("4", Some(4)));
    assert_eq!(access("61"), of("2", None));
}

/// Single elements pass through registers, which some points have not.
#[test]
fn copies_through_registers_have_them() {
    let has = |k: &str, name: &str| {
        let all = space(&format!("m = '1..=64', n = 64, k = {k}"), NT, PRODUCT);
        all.iter().any(|candidate| candidate.name.starts_with(name))
    };
    let (large, small) = ("product-t128x256x32s3w2x4x1", "product-t64x64x64s3w2x2x1");
    assert!(has("64", large) && has("64", small));
    assert!(!has("61", large) && has("61", small));
}

/// Run-time extents become conditions, and some points have none.
#[test]
fn ranged_extents_are_conditions() {
    let all = space("m = '1..=64', n = '1..=64', k = '1..=64'", NT, PRODUCT);
    let text = all[0].eligibility.to_string();
    assert!(text.contains("a2 % 8 == 0") && text.contains("a1 % 8 == 0"), "{text}");
    let anywhere: Vec<&Candidate> = all.iter().filter(|c| c.eligibility.0.is_empty()).collect();
    assert!(!anywhere.is_empty() && anywhere.len() < all.len());
    assert!(anywhere.iter().all(|c| constant(&c.source, "VEC") == "1"));
}

#[test]
fn layouts_and_pairs_are_told() {
    let tn = "inputs = { x = 'f16[k, m]', w = 'f16[k, n]' }\noutputs = { y = 'f32[m, n]' }";
    let all = space("m = 64, n = 64, k = 64", tn, "y[m, n] = sum(k, x[k, m] * w[k, n])");
    let source = &all[0].source;
    assert_eq!(
        (constant(source, "A_K_MAJOR"), constant(source, "B_K_MAJOR")),
        ("false".into(), "false".into())
    );
    assert!(source.contains("using T = f16;"), "{source}");
    let gated = "inputs = { x = 'bf16[m, k]', w = 'bf16[128, k]' }\noutputs = { y = 'bf16[m, n]' }";
    let math = "y[m, n] = silu(sum(k, x[m, k] * w[n, k])) * sum(k, x[m, k] * w[n + len(n), k])";
    let all = space("m = 64, n = 64, k = 64", gated, math);
    assert_eq!(constant(&all[0].source, "PRODUCTS"), "2");
    assert!(all[0].source.contains("source(t1 + ((a1 * a2))"), "an offset");
}

/// A batch lies rows times columns apart: of these, columns are enough.
#[test]
fn rows_of_a_batch_may_be_any() {
    let tensors = "inputs = { x = 'bf16[b, m, k]', w = 'bf16[b, n, k]' }\noutputs = { y = 'bf16[b, m, n]' }";
    let math = "y[b, m, n] = sum(k, x[b, m, k] * w[b, n, k])";
    let all = space("b = '1..=8', m = '1..=64', n = '1..=64', k = '1..=64'", tensors, math);
    let text = all[0].eligibility.to_string();
    assert!(text.contains("a2 % 8 == 0") && text.contains("a3 % 8 == 0") && !text.contains("a1"), "{text}");
}

/// One loader serves both factors of a pair: these lie alike.
#[test]
fn a_pair_of_two_layouts_is_left_out() {
    let pair = |v: &str, at: &str| {
        let tensors = format!(
            "inputs = {{ x = 'bf16[m, k]', w = 'bf16[n, k]', v = '{v}' }}\noutputs = {{ y = 'bf16[m, n]' }}"
        );
        let math = format!("y[m, n] = sum(k, x[m, k] * w[n, k]) * sum(k, x[m, k] * v[{at}])");
        space("m = 64, n = '1..=64', k = '1..=64'", &tensors, &math).len()
    };
    assert!(pair("bf16[n, k]", "n, k") > 0);
    assert_eq!(pair("bf16[k, n]", "k, n"), 0);
}

#[test]
fn what_the_instruction_has_not_is_left_out() {
    let none =
        |tensors: &str| assert!(space("m = 64, n = 64, k = 64", tensors, PRODUCT).is_empty(), "{tensors}");
    none("inputs = { x = 'f8e4m3[m, k]', w = 'f8e4m3[n, k]' }\noutputs = { y = 'f32[m, n]' }");
    none(
        "inputs = { x = { type = 'f32[m, k]', strides = [256, 2] }, w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }",
    );
    none("inputs = { x = 'bf16[m, k]', w = 'f16[n, k]' }\noutputs = { y = 'bf16[m, n]' }");
    none(
        "inputs = { x = 'bf16[m, k]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }\nprecision = { accumulate = 'f64' }",
    );
}

fn wgmma(all: &[Candidate]) -> Vec<&Candidate> {
    all.iter().filter(|candidate| candidate.origin.contains("product_wgmma")).collect()
}

/// TMA copies whole rows of 16 bytes from addresses that are multiples of that.
#[test]
fn wgmma_is_for_factors_that_tma_reaches() {
    let of = |k: &str| wgmma(&space(&format!("m = '1..=64', n = 64, k = {k}"), NT, PRODUCT)).len();
    assert!(of("64") > 50 && of("'1..=64'") > 50);
    assert_eq!((of("60"), of("61")), (0, 0));
    let all = space("m = '1..=64', n = '1..=64', k = '1..=64'", NT, PRODUCT);
    let text = wgmma(&all)[0].eligibility.to_string();
    assert_eq!(text, "t0 aligned 16 and a2 % 8 == 0 and t1 aligned 16 and t2 aligned 16 and a1 % 8 == 0");
}

#[test]
fn wgmma_points_have_their_names_and_fit() {
    let all = space("m = 64, n = 4096, k = 4096", NT, PRODUCT);
    let all = wgmma(&all);
    let names: BTreeSet<&String> = all.iter().map(|candidate| &candidate.name).collect();
    assert_eq!(names.len(), all.len());
    for candidate in all {
        let smem = candidate.contract.steps[0].smem.eval_axes(&[]).expect("a constant");
        let blocks: i64 = constant(&candidate.source, "BLOCKS").parse().expect("a number");
        assert!(blocks * (smem + 1024) <= 228 << 10, "{}", candidate.name);
        assert_eq!(constant(&candidate.source, "SMEM"), smem.to_string());
        let is_split = constant(&candidate.source, "SPLIT") == "true";
        assert_eq!(candidate.contract.workspace.len(), if is_split { 2 } else { 0 });
    }
}

/// What is a cast alone leaves by TMA; all else has math, and vectors.
#[test]
fn casts_of_sums_are_stored_by_tma() {
    let by_tma = |outputs: &str, math: &str| {
        let tensors = format!("inputs = {{ x = 'bf16[m, k]', w = 'bf16[n, k]' }}\noutputs = {{ {outputs} }}");
        let all = space("m = 64, n = 64, k = 64", &tensors, math);
        let first = wgmma(&all)[0];
        let maps = first.contract.steps[0].args.iter().filter(|arg| arg.to_string().starts_with("tma("));
        (constant(&first.source, "TMA_STORE"), maps.count())
    };
    let (yes, no) = (("true".to_owned(), 3), ("false".to_owned(), 2));
    assert_eq!(by_tma("y = 'bf16[m, n]'", PRODUCT), yes);
    assert_eq!(by_tma("y = 'f16[m, n]'", PRODUCT), yes);
    assert_eq!(by_tma("y = 'f32[m, n]'", PRODUCT), no);
    assert_eq!(by_tma("y = 'bf16[m, n]'", "y[m, n] = relu(sum(k, x[m, k] * w[n, k]))"), no);
    assert_eq!(by_tma("y = 'bf16[n, m]'", "y[n, m] = sum(k, x[m, k] * w[n, k])"), yes);
}

/// Where rows run through memory, a box is a swizzle wide, and tiles of 8 rows have none.
#[test]
fn wgmma_layouts_are_told() {
    let tn = "inputs = { x = 'f16[b, k, m]', w = 'f16[k, n]' }\noutputs = { y = 'f32[b, m, n]' }";
    let all = space("b = 3, m = 64, n = 64, k = 64", tn, "y[b, m, n] = sum(k, x[b, k, m] * w[k, n])");
    let all = wgmma(&all);
    assert!(all.iter().all(|candidate| !candidate.name.contains("x8s")));
    let of = all.iter().find(|candidate| candidate.name.starts_with("product-x64x32s")).expect("a point");
    let args: Vec<String> = of.contract.steps[0].args.iter().map(ToString::to_string).collect();
    let map = "dims = [a0, a3, a1], strides = [(a1 * a3), a1, 1], box = [1, 64, 32], swizzle = 64";
    assert!(args[0].contains(map), "{}", args[0]);
    assert!(args[1].contains("dims = [1, a3, a2], strides = [a2, a2, 1], box = [1, 64, 64]"), "{}", args[1]);
    let flags = ["A_BATCHED", "B_BATCHED"].map(|flag| constant(&of.source, flag));
    assert_eq!(flags, ["true", "false"]);
    assert!(of.source.contains("MMA_64x32x16_F32F16F16_SS") && of.source.contains("Major::MN"));
}

/// Where rows begin anywhere in a line of L2, a box has parts of two lines of each row: less is fetched ahead, and clusters ask less.
#[test]
fn rows_that_straddle_lines_are_told() {
    let of = |k: i64| {
        let all = space(&format!("m = 512, n = 640, k = {k}"), NT, PRODUCT);
        let all = wgmma(&all);
        let fetched = |name: &str| {
            let found = all.iter().find(|candidate| candidate.name == name).expect("a point");
            match &found.cost_features {
                Some(CostFeatures::Product(features)) => features.fetched,
                other => panic!("{other:?}"),
            }
        };
        let map = all[0].contract.steps[0].args[0].to_string();
        (
            map.contains("promotion = 128"),
            ["", "-m", "-n"].map(|hint| fetched(&format!("product-g128x256s4w2{hint}"))),
        )
    };
    let straddling = |rows, cluster| Fetched::Straddling { rows, lines: [2, 2], cluster };
    let apart =
        [straddling([128, 256], [1, 1]), straddling([128, 128], [2, 1]), straddling([64, 256], [1, 2])];
    assert_eq!(of(2888), (true, apart));
    assert_eq!(of(2944), (false, [Fetched::Tile; 3]));
}

/// Planes of long lines are padded, so that no box straddles two.
#[test]
fn planes_of_long_lines_are_padded_to_lines() {
    let tensors = "inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";
    let all = space("m = '1..=100', n = 61, k = 577", tensors, PRODUCT);
    let first = wgmma(&all)[0];
    let bytes = first.contract.workspace[0].bytes.eval_axes(&[5, 61, 577]);
    assert_eq!(bytes, Some(4 * 2 * 5 * 640));
    let map = first.contract.steps[1].args[0].to_string();
    assert!(map.contains("dims = [(1 * 4), a0, a2], strides = [(a0 * (ceil_div(a2, 64) * 64))"), "{map}");
}

/// f32 factors are cut into planes of bf16 first, of any length and address.
#[test]
fn f32_factors_are_planes() {
    let tensors = "inputs = { x = 'f32[m, k]', w = 'f32[k, n]' }\noutputs = { y = 'f32[m, n]' }";
    let all = space("m = '1..=100', n = 61, k = 67", tensors, "y[m, n] = sum(k, x[m, k] * w[k, n])");
    let mut all = wgmma(&all);
    all.retain(|candidate| candidate.contract.workspace.len() == 2); // blocks that share k have partial sums, too
    assert!(!all.is_empty() && all.iter().all(|candidate| candidate.eligibility.0.is_empty()));
    let contract = &all[0].contract;
    let bytes: Vec<i64> =
        contract.workspace.iter().map(|part| part.bytes.eval_axes(&[5, 61, 67]).expect("a size")).collect();
    assert_eq!(bytes, [4 * 2 * 5 * 72, 4 * 2 * 67 * 64]);
    let [cut, product] = contract.steps.as_slice() else { panic!("two steps") };
    assert!(cut.entry.ends_with("_planes") && product.entry == cut.entry.trim_end_matches("_planes"));
    let maps: Vec<String> = product.args.iter().map(ToString::to_string).collect();
    let lines =
        "dims = [(1 * 4), a0, a2], strides = [(a0 * (ceil_div(a2, 8) * 8)), (ceil_div(a2, 8) * 8), 1]";
    assert!(maps[0].contains(lines), "{}", maps[0]);
    assert!(maps[1].starts_with("tma(w1, type = bf16, dims = [(1 * 4), a2, a1]"), "{}", maps[1]);
    assert_eq!(constant(&all[0].source, "PLANES"), "true");
}

#[test]
fn planes_leave_room_for_columns_of_a_batch() {
    let has_192 = |w: &str, factor: &str| {
        let all = space(
            "b = 8, m = 512, n = 512, k = 512",
            &format!("inputs = {{ x = 'f32[b, m, k]', w = 'f32[{w}]' }}\noutputs = {{ y = 'f32[b, m, n]' }}"),
            &format!("y[b, m, n] = sum(k, x[b, m, k] * w[{factor}])"),
        );
        wgmma(&all).iter().any(|candidate| candidate.name.contains("g128x192"))
    };
    assert!(has_192("k, n", "k, n") && has_192("b, n, k", "b, n, k"));
    assert!(!has_192("b, k, n", "b, k, n"));
}

/// Elements that lie nowhere beside each other pass through registers, and so do their addresses.
#[test]
fn scattered_factors_leave_room_for_addresses() {
    let has = |strides: &str, name: &str| {
        let x = format!("{{ type = 'bf16[m, k]', strides = {strides} }}");
        let tensors = format!("inputs = {{ x = {x}, w = 'bf16[n, k]' }}\noutputs = {{ y = 'bf16[m, n]' }}");
        let all = space("m = '1..=512', n = '1..=512', k = '1..=511'", &tensors, PRODUCT);
        all.iter().any(|candidate| candidate.name == name)
    };
    let tight = "product-t128x64x64s3w2x2x1";
    assert!(has("['2 * k', 1]", tight) && !has("['2 * k', 2]", tight));
    assert!(has("['2 * k', 2]", "product-t64x64x64s3w2x2x1"));
}

fn vector(all: &[Candidate]) -> Vec<&Candidate> {
    all.iter().filter(|candidate| candidate.origin.contains("product_vector")).collect()
}

/// Each point takes half a multiprocessor at most, and the ring is what the launch gives it.
#[test]
fn vector_points_have_their_names_and_half_a_multiprocessor() {
    let all = space("m = '1..=64', n = 4096, k = 4096", NT, PRODUCT);
    let all = vector(&all);
    let names: BTreeSet<&String> = all.iter().map(|candidate| &candidate.name).collect();
    assert_eq!(names.len(), all.len());
    for candidate in all {
        let step = &candidate.contract.steps[0];
        let [smem, threads] =
            [&step.smem, &step.block[0]].map(|expr| expr.eval_axes(&[]).expect("a constant"));
        assert!(smem <= 112 << 10 && threads <= 512, "{}", candidate.name);
        let number = |name: &str| constant(&candidate.source, name).parse::<i64>().expect("a number");
        let pieces = ["PRODUCTS", "COLUMNS", "UNROLL", "STAGES"].map(number).iter().product::<i64>();
        let tile = ["ROWS", "WARPS_N", "COLUMNS", "WARPS_K"].map(number).iter().product::<i64>();
        assert_eq!((smem, number("SMEM")), (16 * pieces * threads + 8 * tile, smem), "{}", candidate.name);
        assert!(smem > 32 << 10, "{}: few bytes on their way", candidate.name);
        assert_eq!(candidate.contract.workspace.len(), if number("SPLITS") > 1 { 2 } else { 0 });
    }
}

/// A launch has no more rows than a point, and only points for as few as that are there.
#[test]
fn vector_points_are_for_few_rows() {
    let rows = |axis: &str| -> Vec<(String, bool)> {
        let all = space(&format!("m = {axis}, n = 4096, k = 4096"), NT, PRODUCT);
        let of = |c: &&Candidate| {
            let bound = format!("a0 <= {}", constant(&c.source, "ROWS"));
            (constant(&c.source, "ROWS"), c.eligibility.to_string().contains(&bound))
        };
        vector(&all).iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let of = |all: &[(&str, bool)]| {
        all.iter().map(|(rows, bound)| ((*rows).to_owned(), *bound)).collect::<Vec<_>>()
    };
    assert_eq!(rows("'1..=64'"), of(&[("1", true), ("2", true), ("4", true), ("8", true)]));
    assert_eq!(rows("'1..=3'"), of(&[("1", true), ("2", true), ("4", false)]));
    assert_eq!(rows("'3..=64'"), of(&[("4", true), ("8", true)]));
    assert_eq!(rows("5"), of(&[("8", false)]));
    assert_eq!(rows("9"), of(&[]));
    assert_eq!(rows("'9..=64'"), of(&[]));
}

/// Asynchronous copies have 4 bytes at least, and go along what runs through memory.
#[test]
fn vector_points_copy_as_wide_as_rows_allow() {
    let of = |n: &str, k: &str, tensors: &str, math: &str| {
        let all = space(&format!("m = 1, n = {n}, k = {k}"), tensors, math);
        let found = vector(&all);
        found.first().map(|c| (constant(&c.source, "A_ACCESS"), constant(&c.source, "B_ACCESS")))
    };
    let both = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(of("64", "64", NT, PRODUCT), both("16", "16"));
    assert_eq!(of("64", "60", NT, PRODUCT), both("8", "8"));
    assert_eq!(of("61", "62", NT, PRODUCT), both("4", "4"));
    assert_eq!(of("64", "61", NT, PRODUCT), None);
    let nn = "inputs = { x = 'bf16[m, k]', w = 'bf16[k, n]' }\noutputs = { y = 'bf16[m, n]' }";
    let math = "y[m, n] = sum(k, x[m, k] * w[k, n])";
    assert_eq!(of("60", "64", nn, math), both("16", "8"));
    assert_eq!(of("61", "64", nn, math), None);
    let f32 = NT.replace("bf16", "f32");
    assert_eq!(of("64", "61", &f32, PRODUCT), both("4", "4"));
}

/// Weights come before the wait where no launch writes them, and nothing else does.
#[test]
fn vector_points_load_constants_ahead() {
    let ahead = |w: &str| {
        let tensors = format!("inputs = {{ x = 'bf16[m, k]', w = {w} }}\noutputs = {{ y = 'bf16[m, n]' }}");
        let all = space("m = 1, n = 64, k = 64", &tensors, PRODUCT);
        constant(&vector(&all)[0].source, "B_AHEAD")
    };
    assert_eq!(ahead("'bf16[n, k]'"), "false");
    assert_eq!(ahead("{ type = 'bf16[n, k]', constant = true }"), "true");
}

/// 34 tiles of 128 rows and columns: three blocks share the k of each to fill a card, with 8 tiles of k or more.
#[test]
fn blocks_share_k_where_tiles_of_known_rows_do_not_fill_a_card() {
    let parts = |axes: &str, prefix: &str| -> Vec<i64> {
        let all = space(axes, NT, PRODUCT);
        let of = |name: &str| name.strip_prefix(prefix)?.strip_prefix('-')?.parse().ok();
        all.iter().filter_map(|candidate| of(&candidate.name)).collect()
    };
    let tile = "product-g128x128s6w2k";
    assert_eq!(parts("m = 4256, n = 128, k = 2200", tile), [3, 4]);
    assert_eq!(parts("m = 4256, n = 4096, k = 2200", tile), [0; 0], "tiles alone are too many");
    assert_eq!(parts("m = '1..=4256', n = 4096, k = 4096", tile), [4, 6, 8], "rows are one tile");
}
