//! What the spaces promise without a compiler: every shape has a candidate, launches stay within limits, conditions are
//! those of the layout.

use std::collections::BTreeSet;

use cutegen_spec::edition::spec_file;
use cutegen_spec::int_expr::DeviceProp;
use cutegen_spec::target::Target;

use crate::generate::Candidate;
use crate::plan::Plan;
use crate::plan::family::Family;

fn plan(kernel: &str) -> Plan {
    let kernels = spec_file(&format!("edition = 1\n[kernels.k]\n{kernel}"), &Default::default())
        .into_kernels()
        .expect("right specs");
    Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"))
}

fn candidates(plan: &Plan) -> Vec<Candidate> {
    let Family::Rowwise { rows: Some(rows), .. } = &plan.family else { panic!("{:?}", plan.family) };
    super::candidates(plan, rows, usize::MAX)
}

const SOFTMAX: &str = "axes = { m = '1..=65536', d = '1..=1048576' }\ninputs = { x = 'bf16[m, d]' }\n\
                       outputs = { y = 'bf16[m, d]' }\nmath = 'y[m, d] = softmax(d, x[m, d])'";

#[test]
fn any_length_has_a_candidate_even_misaligned() {
    let all = candidates(&plan(SOFTMAX));
    for d in [1, 7, 37, 131, 1000, 4095, 4096, 4097, 32768, 131_072, 1_048_576] {
        let by = |address: u64| all.iter().filter(|c| c.eligibility.holds(&[3, d], &[address; 2])).count();
        assert!(by(2) >= 1, "{d}");
        assert!(by(256) >= if d % 8 == 0 { 8 } else { 1 }, "{d}: {}", by(256));
    }
}

#[test]
fn launches_stay_within_limits_wherever_they_are_eligible() {
    let device = |prop: DeviceProp| (prop == DeviceProp::SmCount).then_some(132);
    for candidate in candidates(&plan(SOFTMAX)) {
        for m in [1, 16, 65536] {
            for d in [1, 8, 1000, 4096, 32768, 131_072, 1_048_576] {
                let axes = [m, d];
                if !candidate.eligibility.holds(&axes, &[0; 2]) {
                    continue;
                }
                for step in &candidate.contract.steps {
                    let of = |e: &cutegen_spec::int_expr::IntExpr| e.eval(&axes, &device).expect("a size");
                    let (grid, block, cluster) =
                        (of(&step.grid[0]), of(&step.block[0]), of(&step.cluster[0]));
                    let name = format!("{} at {axes:?}", candidate.name);
                    assert!((1..1 << 31).contains(&grid) && grid % cluster == 0, "{name}: grid {grid}");
                    assert!(
                        (32..=1024).contains(&block) && cluster <= 16,
                        "{name}: block {block}, cluster {cluster}"
                    );
                    assert!(of(&step.smem) <= 212 << 10, "{name}: {} bytes", of(&step.smem));
                    assert!(!step.co_resident || grid <= 264, "{name}: {grid} resident blocks");
                }
            }
        }
    }
}

/// What the source is configured with.
fn constant(candidate: &Candidate, name: &str) -> i64 {
    let constant = format!("constexpr int {name} = ");
    let at = candidate.source.split(&constant).nth(1).expect("a constant");
    at.split(';').next().and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn names_are_unique_and_spaces_have_a_size() {
    let fixed = SOFTMAX.replace("'1..=1048576'", "4096");
    // rows of one length have all hints
    for (kernel, least, most) in [(SOFTMAX, 20, 56), (fixed.as_str(), 100, 200)] {
        let all = candidates(&plan(kernel));
        let names: BTreeSet<&str> = all.iter().map(|c| c.name.as_str()).collect();
        assert!(names.len() == all.len() && (least..=most).contains(&all.len()), "{}: {names:?}", all.len());
        let sources: BTreeSet<String> = all.iter().map(|c| c.source.replace(&c.name, "")).collect();
        assert!(sources.len() == all.len() || kernel == SOFTMAX, "{} sources", sources.len());
    }
}

#[test]
fn hints_are_of_one_shape() {
    let all = candidates(&plan(&SOFTMAX.replace("'1..=1048576'", "4096")));
    let with = |shape: &str| -> BTreeSet<&str> {
        all.iter()
            .map(crate::generate::Candidate::shape)
            .filter(|(s, _)| *s == shape)
            .map(|(_, h)| h)
            .collect()
    };
    let every = BTreeSet::from(["", "d", "o", "od", "os", "osd", "s", "sd"]);
    assert_eq!(with("rowwise-reg-x8t256u2q1c1"), every);
    assert_eq!(with("rowwise-smem-x8t256u2q1c1"), BTreeSet::from(["o", "od", "os", "osd"]), "bulk copies");
}

#[test]
fn conditions_follow_strides_and_parts() {
    let says = |kernel: &str, word: &str| {
        let all = candidates(&plan(kernel));
        let found = all.iter().find(|c| c.name.contains(word)).unwrap_or_else(|| panic!("{word}"));
        found.eligibility.to_string()
    };
    let padded = "axes = { m = '1..=64', d = '1..=8192', ld = '1..=8192' }\n\
                  inputs = { x = { type = 'f32[m, d]', strides = ['ld', 1] } }\noutputs = { y = 'f32[m, d]' }\n\
                  math = '''\nn[m] = sum(d, abs(x[m, d]))\ny[m, d] = x[m, d] / n[m]\n'''";
    assert_eq!(
        says(padded, "reg-x4t256u4q1c1"),
        "a1 % 4 == 0 and a2 % 4 == 0 and t0 aligned 16 and t1 aligned 16 and a1 <= 4096"
    );
    assert!(!says(padded, "reg-x1t").contains('%'), "elements need no alignment");
    let gated = "axes = { m = '1..=64', d = 4096 }\ninputs = { x = 'f16[m, 2 * d]' }\noutputs = { y = 'f16[m, d]' }\n\
                 math = '''\nn[m] = sum(d, abs(x[m, d]))\ny[m, d] = x[m, d] * x[m, d + len(d)] / n[m]\n'''";
    assert_eq!(says(gated, "reg-x8t128u4q1c1"), "t0 aligned 16 and t1 aligned 16");
}

#[test]
fn rows_across_memory_and_rows_in_pieces_have_candidates() {
    let kinds = |kernel: &str| -> BTreeSet<String> {
        let homes = candidates(&plan(kernel)).into_iter();
        homes.filter_map(|c| c.name.split('-').nth(1).map(str::to_owned)).collect()
    };
    let across = "axes = { b = '1..=64', d = 256, n = 255 }\ninputs = { x = 'f32[b, d, n]' }\n\
                  outputs = { y = 'f32[b, n]' }\nmath = 'y[b, n] = sum(d, x[b, d, n])'";
    assert_eq!(kinds(across), BTreeSet::from(["aread".to_owned(), "asplit".to_owned()]));
    assert!(candidates(&plan(across)).iter().all(|c| c.name.contains("-x1t")), "255 has no vectors");
    let first =
        across.replace("y[b, n]", "y[d, n]").replace("f32[b, n]", "f32[d, n]").replace("sum(d,", "sum(b,");
    let first = candidates(&plan(&first));
    assert!(first.iter().any(|c| c.name.contains("-x4t")), "256 x 255 neighbours have");
    let pieces = "axes = { b = '1..=64', c = 8, h = 32 }\ninputs = { x = 'f32[b, c, h]' }\n\
                  outputs = { y = 'f32[b, c, h]' }\n\
                  math = '''\ns[c] = sum((b, h), x[b, c, h])\ny[b, c, h] = x[b, c, h] / s[c]\n'''";
    let pieces = kinds(pieces);
    assert!(pieces.contains("reg") && !pieces.contains("smem") && !pieces.contains("ring"), "{pieces:?}");
    // written across what is read along
    let turned = "axes = { d = 64, n = 8 }\ninputs = { x = 'f32[n, d]' }\noutputs = { y = 'f32[d, n]' }\n\
                  math = 'y[d, n] = softmax(d, x[n, d])'";
    assert!(candidates(&plan(turned)).iter().all(|c| c.eligibility.0.is_empty()), "single elements");
    let short = "axes = { b = '1..=64', h = 7, v = 7 }\ninputs = { x = 'f32[b, h, v]' }\n\
                 outputs = { y = 'f32[b]' }\nmath = 'y[b] = mean((h, v), x[b, h, v])'";
    assert!(candidates(&plan(short)).iter().filter(|c| c.name.contains("reg-x1t")).count() >= 6);
}

#[test]
fn rows_that_are_folded_have_one_launch_more() {
    let loss = "axes = { b = '1..=64', c = 512 }\ninputs = { x = 'f32[b, c]' }\noutputs = { y = 'f32[]' }\n\
                math = '''\nn[b] = sqrt(sum(c, x[b, c] * x[b, c]))\ny[] = mean(b, n[b])\n'''";
    for candidate in candidates(&plan(loss)) {
        let last = candidate.contract.steps.last().expect("a step");
        assert!(last.entry.ends_with("_fold") && last.pdl, "{}", candidate.name);
        let part = candidate.contract.workspace.last().expect("a part");
        assert_eq!(part.bytes.eval_axes(&[7, 512]), Some(28), "a float a row");
    }
}

#[test]
fn what_no_template_streams_is_left_alone() {
    for kernel in [
        "axes = { m = 4, d = 64 }\ninputs = { x = 'f64[m, d]' }\noutputs = { y = 'f64[m]' }\nmath = 'y[m] = sum(d, x[m, d])'",
        "axes = { m = 4, d = 64 }\ninputs = { x = 'i32[m, d]' }\noutputs = { y = 'i32[m]' }\nmath = 'y[m] = sum(d, x[m, d])'",
    ] {
        let plan = plan(kernel);
        assert!(matches!(plan.family, Family::Rowwise { rows: None, .. }), "{kernel}: {:?}", plan.family);
    }
}

#[test]
fn weights_that_only_reductions_use_stay_in_no_registers() {
    let held = |math: &str| -> Vec<i64> {
        let axes = "axes = { m = '1..=64', d = 131072 }";
        let inputs = "inputs = { x = 'bf16[m, d]', w = 'bf16[d]', b = 'bf16[d]' }";
        let kernel = format!("{axes}\n{inputs}\noutputs = {{ y = 'bf16[m, d]' }}\nmath = '''\n{math}\n'''");
        let all = candidates(&plan(&kernel));
        let held = all.iter().filter_map(|c| c.name.strip_prefix("rowwise-ring-x8t256u2k16n26w"));
        let plain = held.filter(|chunks| !chunks.contains('a')); // those that look ahead have the same
        plain.map(|chunks| chunks.parse().expect("a number")).collect()
    };
    let none = held("s[m] = sum(d, abs(x[m, d] * w[d] + b[d]))\ny[m, d] = x[m, d] * s[m]");
    let one = held("s[m] = sum(d, abs(x[m, d] * w[d]))\ny[m, d] = x[m, d] * s[m] + b[d]");
    let both = held("s[m] = sum(d, abs(x[m, d]))\ny[m, d] = x[m, d] * s[m] * w[d] + b[d]");
    assert!(none.is_empty(), "no output uses any: {none:?}");
    assert_eq!((one.len(), both.len()), (1, 1));
    assert!(one[0] > both[0], "chunks of one stream: {one:?}; of two: {both:?}");
}

#[test]
fn a_ring_looks_ahead_where_one_pass_tells_all() {
    let ahead = |math: &str| -> Vec<Candidate> {
        let kernel = format!(
            "axes = {{ m = '1..=64', d = '8192..=131072' }}\ninputs = {{ x = 'f32[m, d]' }}\n\
             outputs = {{ y = 'f32[m, d]' }}\nmath = '''\n{math}\n'''"
        );
        let looks =
            |c: &Candidate| c.source.contains("NEXT_CHUNKS = ") && !c.source.contains("NEXT_CHUNKS = 0;");
        candidates(&plan(&kernel)).into_iter().filter(looks).collect()
    };
    let twice = "s[m] = sum(d, x[m, d])\nt[m] = sum(d, abs(x[m, d] - s[m]))\ny[m, d] = x[m, d] * t[m]";
    assert!(ahead(twice).is_empty(), "the second sum needs the first of the whole row");
    let merging = ahead("y[m, d] = softmax(d, x[m, d])");
    assert!(!merging.is_empty());
    for candidate in merging {
        // alone with its row, too, a block polls what it published a row before
        let bytes = candidate.contract.workspace[0].bytes.eval_axes(&[5, 8192]);
        assert_eq!(bytes, Some(5 * 8 * 2), "{}", candidate.name);
        let of = |name| constant(&candidate, name);
        let [slice, next, stages] = ["SLICE_CHUNKS", "NEXT_CHUNKS", "STAGES"].map(of);
        assert!(next <= slice && slice + next <= stages, "{}", candidate.name);
    }
}

#[test]
fn reduction_and_epilogue_warps_share_a_block_s_registers() {
    let specialised = |math: &str| -> Vec<Candidate> {
        let kernel = format!(
            "axes = {{ m = '1..=64', d = 131072 }}\ninputs = {{ x = 'bf16[m, d]', w = 'bf16[d]' }}\n\
             outputs = {{ y = 'bf16[m, d]' }}\nmath = '''\n{math}\n'''"
        );
        candidates(&plan(&kernel)).into_iter().filter(|c| c.name.contains("-apart-")).collect()
    };
    let twice = "s[m] = sum(d, x[m, d])\nt[m] = sum(d, abs(x[m, d] - s[m]))\ny[m, d] = x[m, d] * t[m] * w[d]";
    assert!(specialised(twice).is_empty(), "a row would have to be reduced twice");
    let (late, early) = (
        "y[m, d] = rms_norm(d, x[m, d], 1e-5) * w[d]",
        "s[m] = sum(d, abs(x[m, d] * w[d]))\ny[m, d] = x[m, d] * s[m]",
    );
    for (math, epilogue, reduction) in [(late, true, false), (early, false, true)] {
        let all = specialised(math);
        assert!(all.len() >= 3, "{math}: {}", all.len());
        for candidate in all {
            let of = |name| constant(&candidate, name);
            let registers = [("REGISTERS", 256), ("SEEN_REGISTERS", 128), ("PRODUCER_REGISTERS", 128)];
            let all: i64 = registers.map(|(name, threads)| of(name) * threads).iter().sum();
            assert!(all <= of("LAUNCH_REGISTERS") * 512, "{}: a thread would wait for ever", candidate.name);
            assert_eq!(of("WEIGHT_CHUNKS") > 0, epilogue, "{}", candidate.name);
            let all = if reduction && of("SLICE_CHUNKS") <= 8 { of("SLICE_CHUNKS") } else { 0 };
            assert_eq!(of("SEEN_CHUNKS"), all, "{}: all or none", candidate.name);
            assert!(
                2 * of("SLICE_CHUNKS") <= of("STAGES") * 5 / 4,
                "{}: room for the next row",
                candidate.name
            );
        }
    }
}
