//! Contracts to launches: numbers, limits, and what a launch over them says.

use cutegen_runtime::cuda::LaunchConfig;
use cutegen_spec::contract::Contract;
use cutegen_spec::contract::tensor_map::Fill;
use cutegen_spec::dtype::DType;

use super::{Bindings, DeviceFacts, Mapped, Param, ResolvedStep, check_layout, resolve};
use crate::evaluate::wire::protocol::ScalarValue;

/// An H200 on which every kernel has the same occupancy.
struct Fake;

impl DeviceFacts for Fake {
    fn sm_count(&self) -> u32 {
        132
    }

    fn smem_max(&self) -> u32 {
        232_448
    }

    fn blocks_per_sm(&self, entry: &str, config: &LaunchConfig) -> Result<u32, String> {
        if entry == "broken" { Err("no occupancy".to_owned()) } else { Ok(2048 / config.threads()) }
    }

    fn active_clusters(&self, _: &str, config: &LaunchConfig) -> Result<u32, String> {
        assert_eq!(config.grid, config.cluster);
        Ok(132 / config.cluster.iter().product::<u32>())
    }
}

fn contract(step: &str) -> Contract {
    let text = format!("[[steps]]\nentry = \"k\"\nblock = [\"256\", \"1\", \"1\"]\nargs = []\n{step}");
    toml::from_str(&text).expect("parses")
}

fn steps(step: &str, axes: &[i64]) -> Result<Vec<ResolvedStep>, String> {
    let bindings = Bindings { axes, scalars: &[], tensors: &[], workspace: &[] };
    resolve(&contract(step), &bindings, &Fake)
}

fn grid(step: &str, axes: &[i64]) -> Result<[u32; 3], String> {
    steps(step, axes).map(|steps| steps[0].config.grid)
}

#[test]
fn grids_follow_axes_and_the_device() {
    assert_eq!(grid(r#"grid = ["ceil_div(a0, 256)", "a1", "1"]"#, &[1000, 3]), Ok([4, 3, 1]));
    assert_eq!(grid(r#"grid = ["sm_count * max_blocks_per_sm", "1", "1"]"#, &[]), Ok([132 * 8, 1, 1]));
    let clustered = "grid = [\"2 * max_active_clusters\", \"1\", \"1\"]\ncluster = [\"2\", \"1\", \"1\"]";
    assert_eq!(grid(clustered, &[]), Ok([132, 1, 1]));
    assert_eq!(steps(r#"grid = ["ceil_div(a0, 256)", "1", "1"]"#, &[0]), Ok(vec![]), "nothing to do");
}

#[test]
fn what_does_not_fit_is_told_in_words() {
    let one = r#"grid = ["1", "1", "1"]"#;
    let cases = [
        (r#"grid = ["1", "70000", "1"]"#.to_owned(), "grid.y: 70000, but at most 65535 fit"),
        (r#"grid = ["0 - 1", "1", "1"]"#.to_owned(), "grid.x = -1 is below 0"),
        (format!("{one}\nsmem = \"device_smem + 1\""), "dynamic shared memory: 232449"),
        (format!("{one}\nsmem = \"0 - 4\""), "negative"),
        (format!("{one}\ncluster = [\"2\", \"1\", \"1\"]"), "no multiple of cluster"),
        (format!("{one}\ncluster = [\"16\", \"2\", \"1\"]"), "blocks of a cluster: 32"),
        (r#"grid = ["a7", "1", "1"]"#.to_owned(), "`a7` cannot be computed"),
        (format!("{one}\nsmem = \"max_blocks_per_sm\""), "cannot be computed"),
        (
            "grid = [\"2000\", \"1\", \"1\"]\nco-resident = true".to_owned(),
            "resident at once: 2000, but at most 1056",
        ),
    ];
    for (step, expected) in cases {
        let reason = steps(&step, &[]).expect_err(&step);
        assert!(reason.starts_with("step 0 (`k`): ") && reason.contains(expected), "{reason}");
    }
    let threads = contract(one).steps[0].clone();
    let mut wide = contract(one);
    wide.steps[0].block = [threads.block[0].clone(), threads.block[0].clone(), threads.block[1].clone()];
    let bindings = Bindings { axes: &[], scalars: &[], tensors: &[], workspace: &[] };
    let reason = resolve(&wide, &bindings, &Fake).expect_err("65536 threads");
    assert!(reason.contains("threads of a block: 65536, but at most 1024 fit"), "{reason}");
    wide = contract(r#"grid = ["max_blocks_per_sm", "1", "1"]"#);
    wide.steps[0].entry = "broken".to_owned();
    assert!(resolve(&wide, &bindings, &Fake).expect_err("asked").contains("no occupancy"));
}

fn mixed() -> Contract {
    let text = r#"
[[steps]]
entry = "k"
grid = ["1", "1", "1"]
block = ["1", "1", "1"]
args = ["ptr(t1)", "scalar(s0)", "axis(a0)", "workspace(w0)", "scalar(s1)"]
"#;
    toml::from_str(text).expect("parses")
}

#[test]
fn parameters_are_the_arguments_values() {
    let scalars = [ScalarValue::F32(1.5_f32.to_bits()), ScalarValue::F64(0.1_f64.to_bits())];
    let bindings = Bindings { axes: &[-1], scalars: &scalars, tensors: &[0, 4096], workspace: &[512] };
    let steps = resolve(&mixed(), &bindings, &Fake).expect("resolves");
    let expected = vec![4096, u64::from(1.5_f32.to_bits()), u64::MAX, 512, 0.1_f64.to_bits()];
    assert_eq!(steps[0].params, expected.into_iter().map(Param::Word).collect::<Vec<_>>());
    let missing = Bindings { tensors: &[0], ..bindings };
    assert!(resolve(&mixed(), &missing, &Fake).expect_err("no t1").contains("ptr(t1) does not exist"));
}

/// A descriptor of every second row, and a number that asks for the occupancy.
fn computed(m: i64, tensors: &[u64]) -> Result<Vec<ResolvedStep>, String> {
    let mut contract = contract(r#"grid = ["a0", "1", "1"]"#);
    let args = [
        "tma(t1, type = bf16, offset = a0 * 8, dims = [a0 / 2, 64], strides = [256, 1], box = [32, 64], every = [2, 1], swizzle = 128, promotion = 256, fill = nan)",
        "int(sm_count * max_blocks_per_sm - a0)",
    ];
    let parse = |text: &&str| cutegen_spec::contract::Arg::parse(text, &cutegen_spec::int_expr::Positions);
    contract.steps[0].args = args.iter().map(parse).collect::<Result<_, _>>().expect("arguments");
    resolve(&contract, &Bindings { axes: &[m], scalars: &[], tensors, workspace: &[] }, &Fake)
}

#[test]
fn numbers_and_tensor_maps_are_computed_at_each_launch() {
    let steps = computed(10, &[0, 4096]).expect("resolves");
    let mapped = Mapped {
        dtype: DType::Bf16,
        address: 4096 + 160,
        dims: vec![5, 64],
        strides: vec![256, 1],
        tile: vec![32, 64],
        every: vec![2, 1],
        swizzle: 128,
        promotion: 256,
        fill: Fill::Nan,
    };
    assert_eq!(steps[0].params, [Param::Map(mapped), Param::Word(132 * 8 - 10)]);
    assert!(computed(10, &[0]).expect_err("no t1").contains("its base does not exist"));
    assert!(computed(i64::MAX / 8 + 1, &[0, 0]).expect_err("too long").contains("grid.x"));
    assert!(computed(1 << 30, &[0, u64::MAX]).expect_err("past the end").contains("overflows"));
    assert_eq!(computed(0, &[0, 4096]), Ok(vec![]), "a launch of nothing computes nothing");
}

#[test]
fn a_descriptor_has_128_bytes_where_a_compiler_may_put_it() {
    let mut contract = mixed();
    let map = "tma(t0, type = f32, dims = [4], strides = [1], box = [4])";
    let parse = |text| cutegen_spec::contract::Arg::parse(text, &cutegen_spec::int_expr::Positions);
    contract.steps[0].args =
        ["axis(a0)", map, "int(a0)"].map(parse).map(|arg| arg.expect("an argument")).to_vec();
    let compiled = |params: &[(u32, u32)]| vec![("k".to_owned(), params.to_vec())];
    // sm_90 has it at byte 576 of the bank, as NVRTC 13.0 compiles it; other architectures elsewhere
    assert_eq!(check_layout(&contract, &[], &compiled(&[(0, 8), (48, 128), (176, 8)])), Ok(()));
    assert_eq!(check_layout(&contract, &[], &compiled(&[(0, 8), (64, 128), (192, 8)])), Ok(()));
    let overlapping = check_layout(&contract, &[], &compiled(&[(0, 8), (0, 128), (128, 8)]));
    assert!(overlapping.expect_err("over the axis").contains("parameter 1"));
    let short = check_layout(&contract, &[], &compiled(&[(0, 8), (48, 64), (112, 8)]));
    assert!(short.expect_err("no descriptor").contains("has 64 bytes at 48"));
    let reason =
        check_layout(&contract, &[], &compiled(&[(0, 8), (128, 128), (256, 8)])).expect_err("aligned to 128");
    assert!(reason.contains("parameter 1 has 128 bytes at 128, but tma(t0"), "{reason}");
}

#[test]
fn layouts_are_compared_with_what_was_compiled() {
    let compiled = |params: &[(u32, u32)]| vec![("k".to_owned(), params.to_vec())];
    let right = [(0, 8), (8, 4), (16, 8), (24, 8), (32, 8)];
    assert_eq!(check_layout(&mixed(), &[4, 8], &compiled(&right)), Ok(()));
    let narrow = [(0, 8), (8, 4), (12, 4), (16, 8), (24, 8)]; // `int m` where the contract passes int64_t
    let reason = check_layout(&mixed(), &[4, 8], &compiled(&narrow)).expect_err("narrow");
    assert_eq!(reason, "`k`: parameter 2 has 4 bytes at 12, but axis(a0) has 8 at 16");
    let reason = check_layout(&mixed(), &[4, 8], &compiled(&right[..4])).expect_err("short");
    assert_eq!(reason, "`k` takes 4 parameters, its contract passes 5");
    assert!(check_layout(&mixed(), &[4, 8], &[]).is_err());
    assert!(check_layout(&mixed(), &[4], &compiled(&right)).is_err());
}
