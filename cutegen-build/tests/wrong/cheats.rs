//! Kernels that break a rule of the ABI, keep state, or read and write where they may not.

use super::Corpus;

const CORPUS: Corpus = Corpus {
    text: include_str!("cheats.toml"),
    counts: [22, 5],
    open: &[("trap", "nothing is judged at 777"), ("inf_loop_777", "the same")],
};

pub(super) fn verdicts() {
    super::verdicts(&CORPUS);
}
