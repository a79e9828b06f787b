"""Makes rows of results/raw/wrapper_h200.json from what the example's `overhead` printed, in one run or several.

    cargo run --release -p example-app --bin overhead > FILE
    python3 tests/bench/wrapper.py COMMIT FILE...
"""

import pathlib
import statistics
import sys

import raw

MOST = 1.10
COMMAND = "cargo run --release -p example-app --bin overhead"
TRACKED = "event tracking on"


def row(name, cases, calls):
    """A case of all runs. The bar is for one stream; what cudarc's events cost beside it is told, and has none."""
    told = ", ".join(f"{case['wrapper_ns']:.0f} ns against {case['raw_ns']:.0f} ns ({statistics.median(case['ratios']):.2f})" for case in cases)
    events = f"cudarc's events: one recorded {calls['an event recorded']:.0f} ns, one waited for {calls['an event waited for']:.0f} ns"
    bounded_by = events if TRACKED in name else f"checks, the choice of a variant, and the context made current: {calls['the context made current']:.0f} ns"
    return {"bar": f"wrapper, {name}", "shows": "a launch through the emitted wrapper against cuLaunchKernelEx with the same function, grid, block and parameters",
            "unit": "x", "statistic": "median", **({} if TRACKED in name else {"at_most": MOST}),
            "note": f"{'by run, each on a machine of its own' if len(cases) > 1 else 'one run'}: {told}; blocks of 200 launches, alternated in one process, one ratio for each four", "bounded_by": bounded_by,
            "command": COMMAND, "samples": [ratio for case in cases for ratio in case["ratios"]]}


def main(commit, *paths):
    lines = [line for path in paths for line in raw.said(pathlib.Path(path).read_text())]
    device = next(line for line in lines if "device" in line)
    calls = {line["call"]: line["ns"] for line in lines if "call" in line}  # of the last run
    machine = f"{device['device']}, driver {device['driver']}, on {device['cpu']}"
    cases = {}
    for line in lines:
        if "case" in line:
            cases.setdefault(line["case"], []).append(line)
    rows = [{**row(name, runs, calls), "machine": machine, "commit": commit} for name, runs in cases.items()]
    assert rows, "no case was measured"
    raw.write(raw.ROOT / "results/raw/wrapper_h200.json", rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
