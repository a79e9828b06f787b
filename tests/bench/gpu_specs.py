"""Turns what the GPU tests of specs kept into results/raw/specs_sm90a.json.

    CUTEGEN_REQUIRE_GPU=1 CUTEGEN_GPU_REPORT=FOLDER cargo test --release -p cutegen-build --features search --test gpu -- specs
    python3 tests/bench/gpu_specs.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT
"""

import json
import pathlib
import sys

import raw

COMMAND = "cargo test --release -p cutegen-build --features search --test gpu -- specs"


def agreement(kernels, bar, shows, bounded_by):
    elements, unjudged = (sum(k[key] for k in kernels) for key in ("elements", "not_judged"))
    shapes = min(k["shapes"] for k in kernels), max(k["shapes"] for k in kernels)
    note = (f"{elements / 1e6:.0f} million elements compared, {100 * unjudged / elements:.2f} % of them without a usable bound; "
            f"{shapes[0]} to {shapes[1]} shapes a kernel, every distribution")
    return {"bar": bar, "shows": shows, "unit": "kernels", "statistic": "median", "at_least": len(kernels), "note": note,
            "bounded_by": bounded_by, "samples": [sum(k["passed"] for k in kernels)]}


def main(folder, machine, commit):
    read = lambda part: json.loads((pathlib.Path(folder) / f"{part}.json").read_text())
    rows = [
        agreement(read("naive"), "naive kernels on the device inside the reference's bound",
                  "each spec's naive CUDA kernel against the CPU's f64 reference with its running error", "nothing: all agree"),
        agreement(read("naive-f64"), "naive f64 kernels on the device inside the reference's bound",
                  "the same with every value and output in f64, against a reference in long double", "nothing: all agree"),
    ]
    for row in read("large"):
        rows.append({"bar": f"naive kernel on the device, {row['kernel'].replace('_', ' ')}", "shows": f"extents {row['axes']}, graph replay", "unit": "ms",
                     "statistic": "median", "at_most": 1000, "note": "one thread computes an element of a step, or a whole row's reduction",
                     "bounded_by": "a thread's own loop over a row: latency of one load after another", "samples": [round(row["us"] / 1e3, 3)]})
    shared = {"machine": machine, "commit": commit, "command": COMMAND}
    raw.write(raw.ROOT / "results/raw/specs_sm90a.json", [{**row, **shared} for row in rows])


if __name__ == "__main__":
    main(*sys.argv[1:4])
