"""How much slower naive kernels are than the tuned ones of the same specs: rows of results/raw/naive.json, one a target.

    cargo cutegen bench --target sm_90a --against naive --results FOLDER/NAME.json --specs ... --cache ...   # a file a spec or more
    python3 tests/bench/slower.py FOLDER COMMIT                                                              # at home

A cell is the naive kernel's time over the tuned one's, of neighbouring blocks. README's table takes its columns from these rows.
"""

import pathlib
import sys

import raw
from bar_table import at, samples, short

PATH = raw.ROOT / "results/raw/naive.json"
COMMAND = "cargo cutegen bench --target {} --against naive"


def rows(folder, commit):
    """A row for each machine that was timed."""
    machines = {}
    for (kernel, workload), against in sorted(samples(folder).items()):
        sample = against.get("naive")
        if sample:
            machines.setdefault(sample.device, []).append({"at": at(kernel, dict(workload)), "against": {"naive": short(sample.ratios)}})
    for machine, cells in machines.items():
        target = "sm_90a" if "sm_90" in machine else "host"
        yield {"bar": f"naive kernels, {target}", "shows": "how many times slower the naive kernel is than the tuned one of the same spec", "unit": "times",
               "bounded_by": "scalar loads and arithmetic, one thread an element", "command": COMMAND.format(target), "commit": commit, "machine": machine, "cells": cells}


def main(folder, commit):
    found = list(rows(pathlib.Path(folder), commit))
    assert found, "nothing was timed against the naive kernel"
    raw.write(PATH, raw.merged(raw.read(PATH), found))


if __name__ == "__main__":
    main(*sys.argv[1:3])
