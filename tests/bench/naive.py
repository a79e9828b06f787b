"""Naive CUDA kernels beside what libraries have: products beside cuBLASLt, long rows and columns beside PyTorch, under the gate's protocol.

    cargo cutegen lock --specs tests/bench/naive --cache FOLDER/cache                              # needs no GPU
    python3 tests/bench/naive.py FOLDER --program CARGO_CUTEGEN [--json results/raw/naive_h100.json]   # on a GPU, with torch

A cell is a library's time over the naive kernel's. Bars say how far a naive kernel may fall behind.
"""

import argparse
import pathlib
import re
import statistics
import subprocess

import raw
from bar_table import at, samples, short

SPECS = pathlib.Path(__file__).resolve().parent / "naive"
COMMAND = "python3 tests/bench/naive.py FOLDER --program CARGO_CUTEGEN"
# by row: begins of names, who is timed beside, the least speed, and what bounds it
ROWS = {
    "naive products, f32": (("product_f32", "product_turned_f32", "product_across_f32"), "cublaslt", 1 / 5, "scalar multiply-adds, and addresses in 64 bits where extents come at run time: tiles of 64 x 64 in shared memory"),
    "naive products, bf16": (("product_bf16", "product_turned_bf16"), "cublaslt", 1 / 60, "scalar multiply-adds and addresses in 64 bits: no tensor cores"),
    "naive long rows": (("sum_", "max_", "argmax_", "softmax_", "layer_norm_", "cumsum"), "torch-eager", 1 / 20, "one cluster of 8 blocks an element, whatever the device has"),
}


def bench(folder, program):
    """Has the program time every kernel beside its library."""
    out = folder / "bench/naive/all.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    # untuned kernels are timed where they are named; what a library has no form for is told, and is exit code 1 where a kernel fails
    names = re.findall(r"^\[kernels\.(\w+)\]", (SPECS / "specs.toml").read_text(), re.MULTILINE)
    subprocess.run([program, "cutegen", "bench", *names, "--specs", SPECS, "--cache", folder / "cache", "--against", "cublaslt,torch-eager", "--results", out], check=True)


def rows(folder, commit):
    found = samples(folder)
    for bar, (names, library, least, bound) in ROWS.items():
        cells = [(at(kernel, dict(workload)), against[library]) for (kernel, workload), against in sorted(found.items())
                 if kernel.startswith(names) and library in against]
        if not cells:
            raise SystemExit(f"{bar}: nothing was timed beside {library}")
        yield {"bar": bar, "shows": f"speed of the naive kernel over {library}", "unit": "times", "worst_at_least": least, "bounded_by": bound,
               "command": COMMAND, "commit": commit, "machine": cells[0][1].device,
               "cells": [{"at": place, "against": {library: short(sample.ratios)}} for place, sample in cells]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, help="cargo-cutegen; without it, what was timed before is taken")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    args = parser.parse_args()
    if args.program:
        bench(args.folder, args.program.resolve())
    made = list(rows(args.folder, raw.commit()))
    for row in made:
        medians = {cell["at"]: statistics.median(next(iter(cell["against"].values()))) for cell in row["cells"]}
        print(row["bar"], *(f"\n  {place:44} {speed:.3f}" for place, speed in medians.items()), f"\n  at least {row['worst_at_least']:.3f}")
    if args.json:
        raw.write(args.json, made)


if __name__ == "__main__":
    main()
