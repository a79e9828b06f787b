//! Kernels that are wrong at some shapes or for some values.

use super::Corpus;

const CORPUS: Corpus = Corpus {
    text: include_str!("values-and-shapes.toml"),
    counts: [64, 18],
    open: &[
        ("gemm_k300", "one extent of many"),
        ("idx16", "right: no index of the domain needs a 17th bit"),
        ("amax_negzero", "right: its keys of both zeros are equal, and the first of equals wins"),
    ],
};

pub(super) fn verdicts() {
    super::verdicts(&CORPUS);
}
