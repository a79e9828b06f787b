//! Faults of products on tensor cores, which no tool of compute-sanitizer sees: rings, splits and clusters that give something
//! up too early, or not at all.

use cutegen_build::evaluate::Check::{Poison, Repeats, Rms, Values, WorkspacePoison};

use super::super::launch::Launch;
use super::super::products::{
    BOXES, DSMEM, RING, RING_PAIRS, ROWS_OF_16, SPLIT, SPLIT_PDL, SPLIT_WORK, dsmem, ring, split,
};
use super::kinds::{RING as OF_RING, TENSOR_CORES};
use super::row::{Caught, Off, Row};

const fn split(name: &'static str, source: &'static str, steps: &'static [Launch]) -> Row {
    Row::new((name, "S6"), &TENSOR_CORES, "", Values)
        .working(SPLIT_WORK, "", steps)
        .whole(source, steps)
        .claims(ROWS_OF_16)
}

const fn ring(name: &'static str, source: &'static str, steps: &'static [Launch]) -> Row {
    Row::new((name, "S6"), &OF_RING, "", Values).whole(source, steps).claims(BOXES)
}

pub(super) const ROWS: &[Row] = &[
    split("a split's counter is not put back", split!("#define FAULT_D\n"), SPLIT)
        .caught(Caught::Incorrect(Poison), Off::Source(split!(""))),
    split("a split without work leaves its partial sums as they were", split!("#define FAULT_E\n"), SPLIT)
        .caught(Caught::Incorrect(Values), Off::Check(WorkspacePoison)),
    split("partial sums in bf16", split!("#define FAULT_F\n"), SPLIT).behind(&[Rms]),
    split("a tail of k is dropped", split!("#define FAULT_G\n"), SPLIT).behind(&[Rms]),
    split("rows of x are read before the wait", split!("#define FAULT_H\n"), SPLIT_PDL)
        .caught(Caught::Blocked, Off::Steps(SPLIT)),
    Row::new(("half a cluster leaves while its shared memory is read", "S6"), &TENSOR_CORES, "", Values)
        .whole(dsmem!("#define FAULT_C\n"), DSMEM)
        .claims(ROWS_OF_16)
        .caught(Caught::Somehow, Off::Source(dsmem!(""))),
    ring("a slot is released before it is read", ring!("#define FAULT_A\n"), RING).behind(&[Repeats, Rms]),
    ring(
        "registers of a wgmma in flight are overwritten",
        ring!("#define FAULT_B2\n#define POINT R4\n"),
        RING,
    )
    .behind(&[Repeats, Rms, Poison]),
    ring(
        "half a cluster leaves without its last multicast",
        ring!("#define FAULT_C\n#define POINT R2\n"),
        RING_PAIRS,
    )
    .caught(Caught::Somehow, Off::Source(ring!("#define POINT R2\n"))),
];
