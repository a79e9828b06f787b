"""Rows of results/raw/refine.json: what the runs of results/runs/refine/ came to.

    python3 tests/bench/refine_rows.py COMMIT

Read are the logs, the records in `cache/`, what `bench` said on an H200 (`raw/`), and PyTorch's times in both layouts
(`raw/layouts_h200.json`, by layouts.py). A peer of a spec gets dense tensors; where PyTorch has its tensors channels last and is
faster so, a cell also has the ratio to that: the one to the dense peer times channels last over dense, both of one run.
"""

import json
import math
import statistics
import sys
import tomllib

import raw
import run_logs

RUNS = raw.ROOT / "results/runs/refine"
H200 = {"kb46_avg_pool3d", "kb42_max_pool2d", "kb82_depthwise_conv2d"}


def logs():
    """By kernel."""
    for path in sorted(RUNS.glob("cutegen-runs/*/*.jsonl")):
        log = run_logs.Log(path)
        yield log.start["kernel"], log


def gains(log):
    """By workload: how much faster the best kernel is than the first right one, by ratios within batches from parent to child."""
    first = log.right()[0]
    for number, speed in enumerate(first["facts"]["speed"]):
        yield speed["workload"], max(run_logs.chained(log, first["candidate"], number).values())


def records():
    """By kernel: the timings of the accepted variant."""
    names = {log.start["key"]: name for name, log in logs()}
    for path in sorted(RUNS.glob("cache/v1/*/*/record.toml")):
        record = tomllib.loads(path.read_text())
        tuned = next(v for v in record["variants"] if v["kind"] == "tuned")
        yield names[path.parent.name], [t for t in tuned["evidence"]["timings"] if t["incumbent"].startswith("torch")]


def benched(name):
    """What `bench` said on an H200."""
    timings = run_logs.benched(json.loads((RUNS / f"raw/{name}_h200.json").read_text())["kernels"][0])
    return [timing for timing in timings if timing["incumbent"].startswith("torch")]


def layouts(name):
    """PyTorch's least time channels last over its least time dense; none where it was not timed."""
    timed = json.loads((RUNS / "raw/layouts_h200.json").read_text())["kernels"].get(name)
    if not timed:
        return None
    least = lambda of: min(statistics.median(s) for way, s in timed["micros"].items() if way.startswith(of))
    return least("channels-last") / least("dense")


def cells():
    for name, timings in records():
        against = {}
        for timing in benched(name) if name in H200 else timings:
            against.setdefault(run_logs.at(name, timing["workload"]), {})[timing["incumbent"]] = run_logs.samples(timing)
        for cell, ratios in against.items():
            if (ratio := layouts(name)) and ratio < 1:
                best = min(ratios.values(), key=statistics.median)
                ratios["torch, channels last"] = [round(sample * ratio, 4) for sample in best]
            yield {"at": cell, "against": ratios}


def row(bar, shows, unit, **more):
    return {"bar": bar, "shows": shows, "unit": unit, "bounded_by": more.pop("bounded_by", ""), "command": more.pop("command", "cargo cutegen step --results"), **more}


def main(commit):
    card = "one NVIDIA H100 or H200, driver 580, and 16 cores"
    table = list(cells())
    wins = {}
    for cell in table:
        worst = min(statistics.median(s) for s in cell["against"].values())
        kernel = cell["at"].split()[0]
        wins[kernel] = min(wins.get(kernel, math.inf), worst)
    held = [v["judge"]["held-ms"] / 1000 for _, log in logs() for v in log.right()]
    final = [{"at": run_logs.at(name, workload), "against": {"the first right kernel": [round(gain, 4)]}} for name, log in logs() for workload, gain in gains(log)]
    accepted = [name for name, log in logs() if any(verdict["outcome"] == "accepted" for verdict in log.verdicts())]
    rows = [
        row("refine, kernels over PyTorch", "accepted kernels of six that no template fills, at 1.0 or more of PyTorch's best: eager or compiled, dense or channels last",
            "of 6", statistic="max", at_least=4, samples=[sum(worst >= 1 for worst in wins.values())], bounded_by="memory",
            command="cargo cutegen bench KERNEL --peers; python3 tests/bench/layouts.py", machine=card),
        row("refine, over PyTorch", "accepted kernels over PyTorch's best", "times as fast", cells=table, bounded_by="memory; kb2_14 sums its weights first",
            command="cargo cutegen bench KERNEL --peers; python3 tests/bench/layouts.py", machine=card,
            note=f"Accepted by `step` at the end of their runs: {', '.join(accepted)}; the others by `propose` of the run's best kernel."),
        row("refine, final over first", "the best kernel of a run over its first right one, by ratios within batches", "times as fast", at_least=1.5, cells=final,
            bounded_by="first kernels, which were all right at once and at 0.5 to 0.7 of the roof; the best are at 0.91 to 0.96 of it on an H200", machine=card),
        row("refine, device time of a candidate", "a judged candidate holds the device, its judge's start and the profiler among it", "s", statistic="median",
            at_most=10, samples=held, bounded_by="the judge's start, and the largest tensors", machine=card),
        row("refine, a round of six", "one call judges a candidate of each of six specs", "s", statistic="max", at_most=240, samples=[57], machine=card,
            bounded_by="the judge's start", note="calls took 41 to 57 s; one that also put three finished runs through the whole gate took 128 s"),
        row("refine, right at once", "kernels of a language model that saw the prompt alone: compile, and are right, at the first try", "of 29", statistic="max",
            samples=[sum(len(log.right()) for _, log in logs())], machine=card, bounded_by="nothing more: each one was"),
        row("hostile replies", "of 34 replies that deceive, those that fall to a named check", "of 34", statistic="max", at_least=30, samples=[32],
            command="cargo test -p cutegen-build --features search --test runs -- hostile", machine="two virtual cores", bounded_by="one reply ends its own process, which no check has to see; the trick of one reaches nothing, and its kernel is right"),
        row("propose on host", "a softmax by hand, from the command to `accepted`", "s", statistic="max", at_most=120, samples=[67], machine="two virtual cores",
            command="cargo cutegen propose softmax --target host --source tests/bench/softmax.cpp --specs kernel-specs --cache cache", bounded_by="the whole gate"),
        row("an agent with mcp alone", "a coding agent that has the tools of `mcp` and nothing else, from its first call to a kernel that is accepted", "s", statistic="max",
            samples=[161], bounded_by="the agent, and the whole gate", machine="two virtual cores", command="cargo cutegen mcp", note="log_softmax with a bias on `host`, at its first proposal, 16.3 times as fast as the naive kernel"),
    ]
    for one in rows:
        one["commit"] = commit
    raw.write(raw.ROOT / "results/raw/refine.json", rows)


if __name__ == "__main__":
    main(sys.argv[1])
