//! Kernels that break a rule of the ABI, keep state, or read and write where they may not.

use super::Corpus;

const CORPUS: Corpus = Corpus {
    text: include_str!("cheats.toml"),
    counts: [22, 5],
    open: &[
        ("oob_read_after", "reads outside tensors are not looked for"),
        ("oob_read_before", "the same"),
        ("vec_tail_overread", "the same"),
        ("mxcsr_ftz", "control words are not compared"),
        ("stack_4MB", "frames have no limit"),
        ("stack_7MB", "the same"),
        ("stack_state_counter", "dead stack memory survives launches"),
        ("rows_stack_cache", "the same"),
        ("trap", "nothing is judged at 777"),
        ("inf_loop_777", "the same"),
        ("write_input_same", "inputs are compared, not protected"),
        ("sleep_state_poke", "the caller's frames are readable"),
    ],
};

pub(super) fn verdicts() {
    super::verdicts(&CORPUS);
}
