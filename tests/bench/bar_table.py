"""The bars of tests/bars/: which cells each is over, and what samples say of them: a table for people, rows for results/raw/.

Reads the files that bars.py keeps; what the GPU tests `bars::copies` and `bars::sweep` kept is read the same way. A ratio is
theirs over ours, of two neighbouring blocks; a cell counts by the median of its ratios against the best of its incumbents. A bar
with a cell that was not measured has no verdict but where what was measured misses it.
"""

import json
import math
import pathlib
import re
import statistics
import typing

import raw
import search_clock

RAW = raw.ROOT / "results/raw/bars_h200.json"
SHAPES = [(16, 4096), (2048, 4096), (16384, 4096), (16384, 8192), (4096, 32768), (4096, 131072)]
BEST, COMPILED = ("torch-eager", "torch-compile"), ("torch-compile",)
COMMAND = "python3 tests/bench/bars.py run FOLDER --bundle cutegen-pack"
GPU = "cargo test --release -p cutegen-build --features search --test gpu --"
BYTES_LEAST, COPIES, SWEPT, POINTS = 128e6, 20, 8, 100
SHARE_LEAST = 0.95
TABLE_S = 25 * 60
# what the clock of `--phases compile,bench --groups torch` leaves out
CLOCKED = "without the cells against naive kernels, searches, copies, the sweep, the wrapper and the example"
# rows of that clock and of the whole one, in which the first is
PARTLY, ENTIRE = "the bar table's cells against PyTorch", "the whole bar table"
# what has a bar
WHOLE = "compile,bench,copies,sweep,wrapper,example"
SWEEP_MOST = 2
NAMED = 6  # cells that a note lists


class Bar(typing.NamedTuple):
    name: str
    cells: list  # of (kernel, workload)
    against: tuple = BEST
    at_least: float | None = None  # the geometric mean
    worst_at_least: float | None = None  # every cell


def rows(*ops):
    return [(f"{op}_{d}", {"m": m}) for op in ops for m, d in SHAPES]


def flat(*ops):
    return [(op, {"n": n}) for op in ops for n in (1 << 24, 1 << 28)]


BARS = [
    Bar("softmax, bf16", rows("softmax_bf16"), BEST, 1.8, 1.0),
    Bar("softmax, f32", rows("softmax_f32"), BEST, 1.8, 1.0),
    Bar("layer norm", rows("layer_norm"), BEST, 1.4, 1.0),
    Bar("rms norm", rows("rms_norm"), BEST, 1.12, 1.0),
    Bar("add + rms norm", rows("add_rms_norm"), BEST, 1.12, 1.0),
    Bar("layer norm of 16 huge rows", [("layer_norm_huge", {"m": 16})], COMPILED, 2.2),
    Bar("gelu, silu, tanh, bf16", flat("gelu_bf16", "silu_bf16", "tanh_bf16"), BEST, 1.0),
    Bar("SiLU * mul", flat("silu_mul"), BEST, 0.98),
    Bar("pointwise, f32", flat("relu_f32", "gelu_f32", "new_gelu_f32", "softsign_f32"), BEST, 0.98),
    Bar("rms norm + fp8 rows", rows("rms_norm_fp8"), COMPILED, 1.7),
    Bar("reductions", rows("sum", "max"), BEST, 1.3, 0.95),
    Bar("argmax", [("argmax_131072", {"m": 4096})], BEST, 1.3, 0.95),
    Bar("cumsum", rows("cumsum"), BEST, 1.3, 0.95),
    Bar("cross-entropy", [("cross_entropy_131072", {"m": 4096})], BEST, 1.3, 0.95),
    Bar("log-softmax", rows("log_softmax"), BEST, 1.3, 0.95),
]
NAIVE = Bar("the bar table over naive kernels", [cell for bar in BARS for cell in bar.cells], ("naive",))


class Sample(typing.NamedTuple):
    """A cell against one incumbent."""
    ratios: list
    device: str
    of_roof: float | None
    differs: str | None


def key(kernel, workload):
    return kernel, tuple(sorted(workload.items()))


def samples(folder):
    """By cell and incumbent: what `bench` has left in the folder."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("bench/*/*.json")):
        for kernel in json.loads(path.read_text())["kernels"]:
            for times in kernel["times"]:
                timing, roof = times["timing"], times.get("roof")
                incumbent = "naive" if timing["incumbent"] == "itself" else timing["incumbent"]
                of_roof = roof["micros"] / timing["micros"] if roof else None
                sample = Sample([theirs / ours for ours, theirs in times["pairs"]], kernel["device"], of_roof, timing.get("differs"))
                found.setdefault(key(kernel["kernel"], timing["workload"]), {})[incumbent] = sample
    return found


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def at(kernel, workload):
    return f"{kernel} {' '.join(f'{axis}={extent}' for axis, extent in sorted(workload.items()))}"


def kept(rows, found):
    """Adds to `found` the cells of earlier rows that it lacks; the commits of those, by cell."""
    commits = {}
    for row in rows:
        for cell in row.get("cells", ()):
            kernel, *workload = cell["at"].split()
            place = key(kernel, {axis: int(extent) for axis, extent in (pair.split("=") for pair in workload if "=" in pair)})
            if place not in found:
                found[place] = {name: Sample(ratios, row["machine"], None, None) for name, ratios in cell["against"].items()}
                commits[cell["at"]] = cell.get("commit", row["commit"])
    return commits


class Measured:
    """What there is of one bar."""

    def __init__(self, bar, found, commits=()):
        self.bar, self.cells, self.missing = bar, [], []
        self.commits = dict(commits)
        for kernel, workload in bar.cells:
            there = found.get(key(kernel, workload), {})
            if all(name in there for name in bar.against):
                self.cells.append((at(kernel, workload), {name: there[name] for name in bar.against}))
            else:
                self.missing.append(at(kernel, workload))
        self.speeds = [min(statistics.median(s.ratios) for s in against.values()) for _, against in self.cells]

    def is_new(self):
        return any(place not in self.commits for place, _ in self.cells)

    def worst(self):
        place = min(range(len(self.cells)), key=self.speeds.__getitem__)
        return self.speeds[place], self.cells[place][0]

    def limits(self):
        """The bars that these cells can answer: all of them, or the floor that one of them already misses."""
        both = {"at_least": self.bar.at_least, "worst_at_least": self.bar.worst_at_least}
        if self.missing:
            both["at_least"] = None
            if both["worst_at_least"] and self.worst()[0] >= both["worst_at_least"]:
                both["worst_at_least"] = None
        return {name: limit for name, limit in both.items() if limit is not None}


def text(found):
    """A line for each bar."""
    lines = [f"{'bar':<34}{'cells':>7}{'geomean':>9}{'of':>6}{'worst':>8}{'of':>6}  at"]
    shown = lambda value: f"{value:.2f}" if value is not None else "-"
    for measured in (Measured(bar, found) for bar in [*BARS, NAIVE]):
        bar, count = measured.bar, f"{len(measured.cells)}/{len(measured.bar.cells)}"
        mean, (worst, place) = (geomean(measured.speeds), measured.worst()) if measured.cells else (None, (None, ""))
        lines.append(f"{bar.name:<34}{count:>7}{shown(mean):>9}{shown(bar.at_least):>6}{shown(worst):>8}{shown(bar.worst_at_least):>6}  {place}")
    return "\n".join(lines)


def short(ratios):
    return [float(f"{ratio:.4g}") for ratio in ratios]


def speed_row(measured):
    bar, all_samples = measured.bar, [s for _, against in measured.cells for s in against.values()]
    roofs = sorted(s.of_roof for s in all_samples if s.of_roof)
    older = {place: measured.commits[place] for place, _ in measured.cells if place in measured.commits}
    bound = f"memory: the cells run at {100 * roofs[0]:.0f} to {100 * roofs[-1]:.0f} % of the roofline" if roofs else "not known: this machine has no roofline on record"
    differs = sorted({f"{place}: {name} {s.differs}" for place, against in measured.cells for name, s in against.items() if s.differs})
    many = f" and {len(measured.missing) - NAMED} more" if len(measured.missing) > NAMED else ""
    said = [f"not answered in full: not measured: {', '.join(measured.missing[:NAMED])}{many}"] * bool(measured.missing) + differs
    said += [f"measured before, at commit {', '.join(sorted(set(older.values())))}: {', '.join(older)}"] * bool(older)
    whom = f"the better of {' and '.join(bar.against)} in each cell" if len(bar.against) > 1 else bar.against[0]
    return {"bar": bar.name, "shows": f"our speed over {whom}, under the gate's protocol", "unit": "times",
            **measured.limits(), "bounded_by": bound, "command": COMMAND, "machine": all_samples[0].device, "note": "; ".join(said),
            "cells": [{"at": place, **({"commit": older[place]} if place in older else {}), "against": {name: short(s.ratios) for name, s in against.items()}} for place, against in measured.cells]}


def copy_row(report, before):
    """Our speed over the three fastest of the copies in each cell: the fastest decides. With the cells of an earlier row that this report
    lacks."""
    cells, few = [], sorted({len(row["copies"]) for row in report["rows"]})
    for row in report["rows"]:
        if row["bytes"] < BYTES_LEAST:
            continue
        ratios = {name: [copy / ours for ours, copy in zip(row["kernel_us"], times)] for name, times in row["copies"].items()}
        fastest = sorted(ratios, key=lambda name: statistics.median(ratios[name]))[:3]
        cells.append({"at": f"{row['kernel']} {row['at']}", "against": {name: short(ratios[name]) for name in fastest}})
    if not cells:
        return None
    whole = not report["not_measured"] and few == [COPIES]
    missing = "" if whole else f"not answered in full: copies a cell {few}, not measured {report['not_measured']}"
    measured = {cell["at"] for cell in cells}
    older = [{"commit": row["commit"], **cell} for row in before if row["bar"] == "of the best copy kernel" for cell in row["cells"] if cell["at"] not in measured]
    cells += older
    commits = ", ".join(sorted({cell["commit"] for cell in older}))
    missing = "; ".join(filter(None, [missing, f"{len(older)} cells measured before, at commit {commits}" if older else ""]))
    slowest = min(min(statistics.median(ratios) for ratios in cell["against"].values()) for cell in cells)
    return {"bar": "of the best copy kernel", "shows": "from 128 MB of traffic up: our speed over the fastest of 20 kernels that only read and write as many bytes, in the same run",
            "unit": "times", **({"worst_at_least": SHARE_LEAST} if whole or slowest < SHARE_LEAST else {}), "bounded_by": "memory: the fastest copy is what it gives", "command": f"{GPU} bars::copies",
            "machine": report["device"], "note": missing, "cells": cells}


def sweep_row(report, machine, commit, before):
    """Kernels with enough points, and those that an earlier row has and this report lacks, unless it is enough by itself: what an older
    search left behind says nothing of this one."""
    behind = {}
    for found in (f for f in report["found"] if f["points"] >= POINTS):  # one of each library may have this name
        behind[found["kernel"]] = max(0.02, behind.get(found["kernel"], 0), float(f"{100 * (found['share'] - 1):.3g}"))
    before = [] if len(behind) >= SWEPT else before
    told = ", ".join(f"{f['kernel']} {100 * (f['share'] - 1):.1f} % by {f['tried']} of {f['points']}" for f in report["found"])
    row = {"bar": "search against a sweep that it had not seen", "shows": "how much slower the fastest that a search tries is than the fastest legal point, over all workloads",
           "unit": "%", "statistic": "max", "bounded_by": "what the model ranks too low to be tried", "command": f"{GPU} bars::sweep", "machine": machine, "note": told}
    rows = search_clock.joined(row, behind, commit, before)
    if not rows:
        return None
    [row] = rows
    swept = len(row["samples"])
    # a few kernels can miss a bar over more of them; they cannot meet it
    is_answered = swept >= SWEPT or max(row["samples"]) > SWEEP_MOST
    few = "" if swept >= SWEPT else f"not answered in full: {swept} kernels of {POINTS} points; "
    return {**row, **({"at_most": SWEEP_MOST} if is_answered else {}), "note": few + row["note"]}


def clock_row(logs, machine):
    """How long all that has a bar took, over all calls, or the cells against PyTorch alone; none where a call says that not all is done
    after the last."""
    texts = [pathlib.Path(log).read_text() for log in logs]
    ends = [match for text in texts for match in re.findall(r"^(\d+) s; (.*)$", text, re.M)]
    if not ends or ends[-1][1] != "all is done":
        return None
    seconds, called = [int(took) for took, _ in ends], [phases for text in texts for phases in re.findall(r"^phases: (.*)$", text, re.M)]
    lanes = [f" --lanes {count}" for count in re.findall(r"^lanes: (\d+)$", texts[-1], re.M)[-1:]]
    is_whole = len(called) == len(ends) and set(WHOLE.split(",")) <= set(called[-1].split(","))
    bar, phases = (ENTIRE, f"--programs PACK --phases {WHOLE}") if is_whole else (PARTLY, "--phases compile,bench")
    left_out = "with copies, the sweep, the wrapper and the example; without the cells against naive kernels, and searches" if is_whole else CLOCKED
    return {"bar": bar, "shows": "from compiling PyTorch's kernels ahead to the last cell, on one device; what is not done in one call is gone on with in the next",
            "unit": "s", "statistic": "max", "at_most": TABLE_S, "bounded_by": "starts of PyTorch and of sessions; pauses between bursts",
            "command": "".join([f"{COMMAND} {phases} --groups torch", *lanes]), "machine": machine, "note": f"calls of {', '.join(map(str, seconds))} s; {left_out}", "samples": [sum(seconds)]}


def reports(folder, part):
    """What runs below the folder kept, whether of one kernel or of several, by path; what a run has not ended is none."""
    paths = sorted(pathlib.Path(folder).rglob(f"bars_{part}.json"))
    return [(path, json.loads(path.read_text())) for path in paths if path.parent.suffix != ".part"]


def report(folder, part):
    """All of it, put together."""
    found = [one for _, one in reports(folder, part)]
    lists = {name: [item for one in found for item in one.get(name, ())] for name in ("rows", "found", "not_measured")}
    return {**found[0], **lists} if found else None


def without(cells, kernels, place):
    """These cells but for those of kernels that are withdrawn."""
    return [cell for cell in cells if place(cell).split()[0] not in kernels]


def all_rows(folder, before, options):
    found = {place: there for place, there in samples(folder).items() if place[0] not in options.without}
    before = [{**row, "cells": without(row.get("cells", ()), options.without, lambda cell: cell["at"])} for row in before]
    for row in (row for row in before if "of" in row):
        kept_ones = [(sample, of) for sample, of in zip(row["samples"], row["of"]) if of[0] not in options.without]
        row |= {"samples": [sample for sample, _ in kept_ones], "of": [of for _, of in kept_ones]}
    commits = kept(before, found)
    measured = [Measured(bar, found, commits) for bar in [*BARS, NAIVE]]
    for one in (m for m in measured if not m.is_new()):
        print(f"not measured: {one.bar.name}")
    rows = [speed_row(one) for one in measured if one.is_new()]
    # searches alone do not say what they ran on: what `--keep` keeps is of the same machine
    machine = next((row["machine"] for row in [*rows, *before] if "machine" in row), None)
    tuned, table = pathlib.Path(folder) / "tune", ", the bar table"
    searches = [*search_clock.clock(search_clock.events_of(tuned), options.commit, before, table), *search_clock.gates(tuned, options.commit, before, table)]
    rows += [{**row, "machine": machine} for row in searches if machine]
    below = options.reports or pathlib.Path(folder) / "reports"
    copies, sweep = report(below, "copies"), report(below, "sweep")
    if copies:
        left = [f"{row['kernel']} {row['at']}" for row in copies["rows"] if row["kernel"] in options.without]
        copies = {**copies, "rows": without(copies["rows"], options.without, lambda row: row["kernel"]), "not_measured": copies["not_measured"] + left}
    others = [copy_row(copies, before) if copies else None, sweep_row(sweep, machine or (copies or {}).get("device"), options.commit, before) if sweep else None, clock_row(options.logs, machine)]
    return rows + [row for row in others if row]


def write(folder, options):
    path = pathlib.Path(options.out)
    before = raw.read(path) if options.keep else []
    rows = all_rows(folder, before, options)
    if not rows:
        raise SystemExit(f"nothing was measured in {folder}\nrun: python3 tests/bench/bars.py run {folder}")
    if any(row["bar"] == ENTIRE for row in rows):
        before = [row for row in before if row["bar"] != PARTLY]
    said = lambda row: [options.note, *(text for bar, text in options.note_of if bar == row["bar"])]
    noted = lambda row: "; ".join(filter(None, (row.get("note"), *said(row))))
    full = raw.merged(before, [{**row, "note": noted(row) or None, "commit": options.commit} for row in rows])
    raw.write(options.out, [{name: value for name, value in row.items() if value is not None} for row in full])
    print(f"{len(full)} rows: {options.out}\nnext: cargo run -p cutegen-tests --bin results")
    return 0
