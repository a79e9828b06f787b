//! Kernels that are wrong at some shapes or for some values.

use super::Corpus;

const CORPUS: Corpus = Corpus {
    text: include_str!("values-and-shapes.toml"),
    counts: [64, 18],
    open: &[
        ("n_mod5", "small shapes alone have extents between powers of two"),
        ("n_gt40000_lt65536", "small shapes alone have extents between powers of two"),
        ("n_4097_65535", "small shapes alone have extents between powers of two"),
        ("tail_dropped_1024", "small shapes alone have extents between powers of two"),
        ("tail_dropped_256", "small shapes alone have extents between powers of two"),
        ("gemm_k_even_not_pow2", "small shapes alone have extents between powers of two"),
        ("gemm_mn_both_gt_300", "small shapes alone have extents between powers of two"),
        ("gemm_mn_ge_200_k_ge_300", "small shapes alone have extents between powers of two"),
        ("gemm_m_ne_n_large", "small shapes alone have extents between powers of two"),
        ("rows_tail512", "small shapes alone have extents between powers of two"),
        ("soft_tail256", "small shapes alone have extents between powers of two"),
        ("amax_tail", "small shapes alone have extents between powers of two"),
        ("cum_block1024_tail", "small shapes alone have extents between powers of two"),
        ("gather_v20000", "small shapes alone have extents between powers of two"),
        ("big_2e19", "nothing is judged above the cap but workloads"),
        ("big_idx20bit", "nothing is judged above the cap but workloads"),
        ("n_eq_256_512", "not every power of two is judged"),
        ("n1000", "one extent of many"),
        ("gemm_k300", "one extent of many"),
        ("idx16", "right: no index of the domain needs a 17th bit"),
        ("big_5000", "magnitudes are about 1, or some 64 times that"),
        ("mid_4_to_50", "magnitudes are about 1, or some 64 times that"),
        ("tiny_1e-9", "magnitudes are about 1, or some 64 times that"),
        ("overflow_large", "magnitudes are about 1, or some 64 times that"),
        ("div_large_den", "magnitudes are about 1, or some 64 times that"),
        ("sq_overflow", "magnitudes are about 1, or some 64 times that"),
        ("ftz_in", "one input has special values"),
        ("inf_minus_inf", "one input has special values"),
        ("div_by_inf", "one input has special values"),
        ("amax_negzero", "no row has zeros of both signs"),
        ("i64_as_i32", "integers are of up to 100"),
        ("i64_as_i8", "integers are of up to 100"),
        ("i64_as_f32", "integers are of up to 100"),
        ("i32mul_as_i16", "integers are of up to 100"),
        ("i32mul_as_f32", "integers are of up to 100"),
        ("sum64_as_i32", "integers are of up to 100"),
        ("sum64_as_f32", "integers are of up to 100"),
        ("scale_abs", "scalars are positive and small"),
        ("scale_clamp1.1", "scalars are positive and small"),
        ("scale_zero", "scalars are positive and small"),
        ("alloca_unbounded", "frames have no limit"),
        ("recursion", "frames have no limit"),
    ],
};

pub(super) fn verdicts() {
    super::verdicts(&CORPUS);
}
