"""Makes rows of results/raw/wrapper_h200.json from what the example's `overhead` printed.

    cargo run --release -p example-app --bin overhead > FILE
    python3 tests/bench/wrapper.py FILE COMMIT
"""

import pathlib
import sys

import raw

MOST = 1.10
COMMAND = "cargo run --release -p example-app --bin overhead"
TRACKED = "event tracking on"


def row(case, calls):
    """The bar is for one stream; what cudarc's events cost beside it is told, and has none."""
    name, wrapper, alone = case["case"], case["wrapper_ns"], case["raw_ns"]
    events = f"cudarc's events: one recorded {calls['an event recorded']:.0f} ns, one waited for {calls['an event waited for']:.0f} ns"
    bounded_by = events if TRACKED in name else f"checks, the choice of a variant, and the context made current: {calls['the context made current']:.0f} ns"
    return {"bar": f"wrapper, {name}", "shows": "a launch through the emitted wrapper against cuLaunchKernelEx with the same function, grid, block and parameters",
            "unit": "x", "statistic": "median", **({} if TRACKED in name else {"at_most": MOST}),
            "note": f"{wrapper:.0f} ns against {alone:.0f} ns; blocks of 200 launches, alternated in one process, one ratio for each four", "bounded_by": bounded_by,
            "command": COMMAND, "samples": case["ratios"]}


def main(path, commit):
    lines = raw.said(pathlib.Path(path).read_text())
    device = next(line for line in lines if "device" in line)
    calls = {line["call"]: line["ns"] for line in lines if "call" in line}
    machine = f"{device['device']}, driver {device['driver']}, on {device['cpu']}"
    rows = [{**row(line, calls), "machine": machine, "commit": commit} for line in lines if "case" in line]
    assert rows, "no case was measured"
    raw.write(raw.ROOT / "results/raw/wrapper_h200.json", rows)


if __name__ == "__main__":
    main(*sys.argv[1:3])
