//! Kernels that must pass: texts over several types, and the naive kernels of all specs.

use std::fmt::Write as _;

use cutegen_build::evaluate::Candidate;
use cutegen_spec::eligibility::Eligibility;

use super::launch::{Launch, contract};
use super::products::{self, dsmem, ring, split};
use super::subjects::{self as of, Subject};
use crate::{fixtures, specs};

/// A text at one set of types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Honest {
    /// The text's name.
    pub(crate) text: &'static str,
    pub(crate) source: &'static str,
    pub(crate) subject: &'static Subject,
    /// Of inputs, outputs, sums.
    pub(crate) types: [&'static str; 3],
    pub(crate) workspace: &'static [(&'static str, &'static str)],
    pub(crate) steps: &'static [Launch],
    pub(crate) claim: &'static str,
    /// What stands for `READY` and `DONE`.
    pub(crate) overlap: [&'static str; 2],
}

const PRELUDE: &str = include_str!("texts/prelude.cuh");
const PRELUDE_F8: &str = include_str!("texts/prelude_f8.cuh");

/// What stands before a text of these words.
pub(crate) fn prelude(words: &str) -> String {
    let eight_bits = if words.contains("f8e4m3") { PRELUDE_F8 } else { "" };
    format!("{PRELUDE}{eight_bits}")
}

macro_rules! texts {
    ($($name:ident)*) => { $(#[expect(non_upper_case_globals, reason = "the name of its file")]
        const $name: (&str, &str) = (stringify!($name), include_str!(concat!("texts/", stringify!($name), ".cu")));)* };
}
texts!(elementwise elementwise_vector elementwise_early softmax_online softmax_tree rms_norm variance_two_pass variance_warp
    variance_welford sum_kahan sum_pairwise sum_warp sum_cluster scan_thread scan_block scan_warp gemm_plain gemm_lanes
    gemm_tiled gemm_split gemm_counted gemm_atomic gemm_dp4a gemm_wmma);

macro_rules! product_texts {
    ($($name:ident = $source:expr;)*) => { $(#[expect(non_upper_case_globals, reason = "the name of its text")]
        const $name: (&str, &str) = (stringify!($name), $source);)* };
}
product_texts! {
    product_split = split!("");
    product_dsmem = dsmem!("");
    product_ring = ring!("");
    product_ring_in_registers = ring!("#define POINT R4\n");
    product_ring_in_pairs = ring!("#define POINT R2\n");
}

const EACH: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1")];
const EACH_PDL: &[Launch] = &[EACH[0].with("pdl = true")];
const EACH_VECTOR: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 1024)", "t0 t1 t2 a0 a1")];
const EACH_VECTOR_16: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 2048)", "t0 t1 t2 a0 a1")];
const THREAD_A_ROW: &[Launch] = &[Launch::flat("ceil_div(a0, 256)", "t0 t1 a0 a1")];
const WARP_A_ROW: &[Launch] = &[Launch::flat("ceil_div(a0, 8)", "t0 t1 a0 a1")];
const NORM: &[Launch] = &[Launch::flat("ceil_div(a0, 8)", "t0 t1 t2 a0 a1 s0")];
const HALF_BLOCK_A_ROW: &[Launch] = &[Launch::of("candidate", ["a0", "1"], ["128", "1"], "t0 t1 a0 a1")];
const BLOCK_A_ROW: &[Launch] = &[Launch::of("candidate", ["a0", "1"], ["256", "1"], "t0 t1 a0 a1")];
const CLUSTER_A_ROW: &[Launch] = &[Launch::of("candidate", ["a0 * 2", "1"], ["128", "1"], "t0 t1 a0 a1")
    .with("cluster = [\"2\", \"1\", \"1\"]")];
const PLAIN: &[Launch] = &[Launch::flat("ceil_div(a0 * a1, 256)", "t0 t1 t2 a0 a1 a2")];
const TILED: &[Launch] =
    &[Launch::of("candidate", ["ceil_div(a1, 16)", "ceil_div(a0, 16)"], ["16", "16"], "t0 t1 t2 a0 a1 a2")];
const WARP_A_TILE: &[Launch] =
    &[Launch::of("candidate", ["a1 / 16", "a0 / 16"], ["32", "1"], "t0 t1 t2 a0 a1 a2")];
const SPLIT: &[Launch] = &[
    Launch::of("candidate", ["ceil_div(a0 * a1, 256)", "4"], ["256", "1"], "t0 t1 w0 a0 a1 a2"),
    Launch::of("candidate_sum", ["ceil_div(a0 * a1, 256)", "1"], ["256", "1"], "w0 t2 a0 a1"),
];
const COUNTED: &[Launch] =
    &[Launch::of("candidate", ["ceil_div(a0 * a1, 256)", "4"], ["256", "1"], "t0 t1 t2 w0 w1 a0 a1 a2")];
const SPLIT_PDL: &[Launch] = &[SPLIT[0], SPLIT[1].with("pdl = true")];
const ATOMIC: &[Launch] = &[
    Launch::of("candidate", ["ceil_div(a0 * a1, 256)", "8"], ["256", "1"], "t0 t1 w0 a0 a1 a2"),
    Launch::of("candidate_copy", ["ceil_div(a0 * a1, 256)", "1"], ["256", "1"], "w0 t2 a0 a1"),
];

const fn honest(
    (text, source): (&'static str, &'static str),
    subject: &'static Subject,
    types: [&'static str; 3],
    steps: &'static [Launch],
) -> Honest {
    let overlap = ["", ""];
    Honest { text, source, subject, types, workspace: &[], steps, claim: "true", overlap }
}

impl Honest {
    const fn claims(self, claim: &'static str) -> Self {
        Self { claim, ..self }
    }

    const fn in_workspace(self, workspace: &'static [(&'static str, &'static str)]) -> Self {
        Self { workspace, ..self }
    }

    /// The last step starts early, and waits.
    const fn overlapping(self) -> Self {
        let wait = "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")";
        let go = "asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\")";
        Self { overlap: [wait, go], ..self }
    }
}

const F32: [&str; 3] = ["f32"; 3];
const F16: [&str; 3] = ["f16", "f16", "f32"];
const BF16: [&str; 3] = ["bf16", "bf16", "f32"];
const F16_F32: [&str; 3] = ["f16", "f32", "f32"];
const BF16_F32: [&str; 3] = ["bf16", "f32", "f32"];
const F8: [&str; 3] = ["f8e4m3", "bf16", "f32"];
const I8: [&str; 3] = ["i8", "i32", "i32"];
const FOUR_PARTS: &[(&str, &str)] = &[("16 * a0 * a1", "undefined")];
const COUNTED_PARTS: &[(&str, &str)] =
    &[("16 * a0 * a1", "undefined"), ("4 * ceil_div(a0 * a1, 256)", "kept-zero")];
const ONE_ZEROED: &[(&str, &str)] = &[("4 * a0 * a1", "zeroed")];
const VECTORS: &str = "(a0 * a1) % 4 == 0 and t0 aligned 16 and t1 aligned 16 and t2 aligned 16";
const VECTORS_16: &str = "(a0 * a1) % 8 == 0 and t0 aligned 16 and t1 aligned 16 and t2 aligned 16";
const TILES: &str = "a0 % 16 == 0 and a1 % 16 == 0 and a2 % 16 == 0 and t0 aligned 32 and t1 aligned 32";
const WORDS: &str = "a2 % 4 == 0 and t0 aligned 4 and t1 aligned 4";

/// Every text at every set of types.
pub(crate) const TEXTS: &[Honest] = &[
    honest(elementwise, &of::SILU_F32, F32, EACH),
    honest(elementwise, &of::SILU_F16, F16, EACH),
    honest(elementwise, &of::SILU_BF16, BF16, EACH),
    honest(elementwise_vector, &of::SILU_F32, F32, EACH_VECTOR).claims(VECTORS),
    honest(elementwise_vector, &of::SILU_F16, F16, EACH_VECTOR_16).claims(VECTORS_16),
    honest(elementwise_vector, &of::SILU_BF16, BF16, EACH_VECTOR_16).claims(VECTORS_16),
    honest(elementwise_early, &of::SILU_OF_WEIGHTS, BF16, EACH_PDL).overlapping(),
    honest(softmax_online, &of::SOFTMAX_F32, F32, WARP_A_ROW),
    honest(softmax_online, &of::SOFTMAX_F16, F16, WARP_A_ROW),
    honest(softmax_online, &of::SOFTMAX_BF16, BF16, WARP_A_ROW),
    honest(softmax_tree, &of::SOFTMAX_F32, F32, HALF_BLOCK_A_ROW),
    honest(softmax_tree, &of::SOFTMAX_BF16, BF16, HALF_BLOCK_A_ROW),
    honest(rms_norm, &of::NORM_F32, F32, NORM),
    honest(rms_norm, &of::NORM_F16, F16, NORM),
    honest(rms_norm, &of::NORM_BF16, BF16, NORM),
    honest(variance_two_pass, &of::VARIANCE_F32, F32, THREAD_A_ROW),
    honest(variance_warp, &of::VARIANCE_F32, F32, WARP_A_ROW),
    honest(variance_welford, &of::VARIANCE_F32, F32, THREAD_A_ROW),
    honest(sum_kahan, &of::SUM_F32, F32, THREAD_A_ROW),
    honest(sum_kahan, &of::SUM_BF16, BF16_F32, THREAD_A_ROW),
    honest(sum_pairwise, &of::SUM_F32, F32, BLOCK_A_ROW),
    honest(sum_pairwise, &of::SUM_F16, F16_F32, BLOCK_A_ROW),
    honest(sum_warp, &of::SUM_F32, F32, WARP_A_ROW),
    honest(sum_warp, &of::SUM_BF16, BF16_F32, WARP_A_ROW),
    honest(sum_cluster, &of::SUM_F32, F32, CLUSTER_A_ROW),
    honest(sum_cluster, &of::SUM_BF16, BF16_F32, CLUSTER_A_ROW),
    honest(scan_thread, &of::SCAN_F32, F32, THREAD_A_ROW),
    honest(scan_block, &of::SCAN_F32, F32, BLOCK_A_ROW),
    honest(scan_warp, &of::SCAN_F32, F32, WARP_A_ROW),
    honest(gemm_plain, &of::GEMM_F32, F32, PLAIN),
    honest(gemm_plain, &of::GEMM_F16, F16, PLAIN),
    honest(gemm_plain, &of::GEMM_BF16, BF16_F32, PLAIN),
    honest(gemm_plain, &of::GEMM_F8, F8, PLAIN),
    honest(gemm_plain, &of::GEMM_I8, I8, PLAIN),
    honest(gemm_lanes, &of::GEMM_F32, F32, PLAIN),
    honest(gemm_lanes, &of::GEMM_BF16, BF16_F32, PLAIN),
    honest(gemm_tiled, &of::GEMM_F32, F32, TILED),
    honest(gemm_tiled, &of::GEMM_F16, F16, TILED),
    honest(gemm_tiled, &of::GEMM_BF16, BF16_F32, TILED),
    honest(gemm_tiled, &of::GEMM_F8, F8, TILED),
    honest(gemm_tiled, &of::GEMM_I8, I8, TILED),
    honest(gemm_split, &of::GEMM_F32, F32, SPLIT).in_workspace(FOUR_PARTS),
    honest(gemm_split, &of::GEMM_BF16, BF16_F32, SPLIT).in_workspace(FOUR_PARTS),
    honest(gemm_split, &of::GEMM_BF16, BF16_F32, SPLIT_PDL).in_workspace(FOUR_PARTS).overlapping(),
    honest(gemm_split, &of::GEMM_LONG, F32, SPLIT).in_workspace(FOUR_PARTS),
    honest(gemm_counted, &of::GEMM_F32, F32, COUNTED).in_workspace(COUNTED_PARTS),
    honest(gemm_plain, &of::GEMM_LONG, F32, PLAIN),
    honest(gemm_atomic, &of::GEMM_I8, I8, ATOMIC).in_workspace(ONE_ZEROED),
    honest(gemm_dp4a, &of::GEMM_I8, I8, PLAIN).claims(WORDS),
    honest(product_split, &of::GEMM_BF16, BF16_F32, products::SPLIT)
        .in_workspace(products::SPLIT_WORK)
        .claims(products::ROWS_OF_16),
    honest(product_split, &of::GEMM_BF16, BF16_F32, products::SPLIT_PDL)
        .in_workspace(products::SPLIT_WORK)
        .claims(products::ROWS_OF_16)
        .overlapping(),
    honest(product_dsmem, &of::GEMM_BF16, BF16_F32, products::DSMEM).claims(products::ROWS_OF_16),
    honest(product_ring, &of::GEMM_RING, BF16, products::RING).claims(products::BOXES),
    honest(product_ring_in_registers, &of::GEMM_RING, BF16, products::RING).claims(products::BOXES),
    honest(product_ring_in_pairs, &of::GEMM_RING, BF16, products::RING_PAIRS).claims(products::BOXES),
    honest(gemm_wmma, &of::GEMM_BF16, BF16_F32, WARP_A_TILE).claims(TILES),
    honest(gemm_wmma, &of::GEMM_F16, F16, WARP_A_TILE).claims(TILES),
];

impl Honest {
    pub(crate) fn name(&self) -> String {
        let overlap = if self.overlap[0].is_empty() { "" } else { ", overlapped" };
        format!("{} for {}{overlap}", self.text, self.subject.name)
    }

    /// The text with its types, as one kernel; entries begin with `prefix` in the place of `candidate`.
    pub(crate) fn kernel(&self, text: &str, prefix: &str) -> String {
        let body: Vec<&str> = text.lines().filter(|line| !line.starts_with("#include")).collect();
        let body = body.join("\n").replace("candidate", prefix);
        format!(
            "namespace in_{prefix} {{\n{}\n}}\n",
            body.replace("READY", self.overlap[0]).replace("DONE", self.overlap[1])
        )
    }

    /// What stands before all kernels of its module.
    pub(crate) fn head(&self) -> String {
        let mut head = prelude(self.types[0]);
        for line in self.source.lines().filter(|line| line.starts_with("#include")) {
            writeln!(head, "{line}").expect("a string grows");
        }
        let [t, u, a] = self.types;
        head + &format!("typedef {t} T;\ntypedef {u} U;\ntypedef {a} A;\n")
    }

    pub(crate) fn module(&self) -> (String, Vec<String>) {
        (self.head() + &self.kernel(self.source, "candidate"), self.entries("candidate"))
    }

    pub(crate) fn entries(&self, prefix: &str) -> Vec<String> {
        self.steps.iter().map(|step| step.entry.replace("candidate", prefix)).collect()
    }

    pub(crate) fn candidate(&self) -> Candidate {
        self.candidate_in(&self.module(), "candidate")
    }

    /// The kernel of this prefix in a compiled module.
    pub(crate) fn candidate_in(&self, (source, entries): &(String, Vec<String>), prefix: &str) -> Candidate {
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        Candidate {
            artifact: fixtures::cubin(source, &entries),
            contract: contract(self.workspace, self.steps, |entry| entry.replace("candidate", prefix)),
            eligibility: Eligibility::parse_positional(self.claim).expect("a claim"),
            prefer: Eligibility::default(),
            tiles: Vec::new(),
            shared_memory: None,
        }
    }
}

/// The naive kernel of a spec.
pub(crate) fn naive(subject: &Subject) -> Candidate {
    let (source, entries, contract) = specs::printed(&subject.plan());
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let artifact = fixtures::cubin(&source, &entries);
    Candidate {
        artifact,
        contract,
        eligibility: Eligibility::default(),
        prefer: Eligibility::default(),
        tiles: Vec::new(),
        shared_memory: None,
    }
}
