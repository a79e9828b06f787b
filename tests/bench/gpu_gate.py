"""Turns what the GPU tests kept of the gate's bars and corpora into results/raw/gate_h200.json, or NAME.json there.

    CUTEGEN_REQUIRE_GPU=1 CUTEGEN_GPU_REPORT=FOLDER cargo test --release -p cutegen-build --features search --test gpu -- bars corpora
    python3 tests/bench/gpu_gate.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT [NAME [NOTE]]

FOLDER may hold folders of several runs, each over a share of the kernels (CUTEGEN_BARS_ONLY=0/4 and so on): their rows are put together.
What no run measured is said, and has no row. NAME is that of the file, for parts that were measured at different commits; NOTE is added to each row.
"""

import json
import pathlib
import statistics
import sys

import raw

COMMAND = "cargo test --release -p cutegen-build --features search --test gpu --"
MIN_SPEEDUP = 1.01
# a sample of nothing is none: what rounds to zero counts as the least that the page shows
LEAST = 0.01


def reports(folder, part):
    return [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).rglob(f"{part}.json"))]


def joined(folder, part):
    """Rows of all runs."""
    return [row for report in reports(folder, part) for row in report]


def shared(folder, part):
    """Rows of all runs that each took a share of the kernels, and the kernels that none came to."""
    found = reports(folder, part)
    rows = [row for report in found for row in report["rows"]]
    measured = {row["kernel"] for row in rows}
    return rows, sorted({name for report in found for name in report["not_measured"]} - measured)


def row(bar, shows, unit, statistic, samples, bounded_by, note, test, **limit):
    samples = [max(LEAST, float(f"{sample:.4g}")) for sample in samples]
    return {"bar": bar, "shows": shows, "unit": unit, "statistic": statistic, **limit, "note": note, "bounded_by": bounded_by,
            "command": f"{COMMAND} {test}", "samples": samples}


def equals(folder):
    rows = joined(folder, "bars_a_a")
    if not rows:
        return
    wins, above = (sum(r["low"] > least for r in rows) for least in (MIN_SPEEDUP, 1.0))
    sizes = sorted({r["traffic_bytes"] for r in rows})
    span = f"{sizes[0] / 1e3:.0f} KB to {sizes[-1] / 1e6:.0f} MB of traffic"
    yield row("A/A without a false win", f"a kernel against itself, {span}: runs whose interval's lower end stays within the margin of {MIN_SPEEDUP}",
              "% of runs", "max", [100 * (1 - wins / len(rows))], "the interval is of 95 %, and the margin comes on top",
              f"{len(rows)} runs, {wins} false wins; {above} lower ends are above 1", "bars::a_a", at_least=99)
    for name, told, is_same in (("one cubin", "the same cubin on both sides", True), ("two cubins", "cubins that differ in the entry's name", False)):
        at = {size: [r["speedup"] for r in rows if r["traffic_bytes"] == size and (r["path"] == "same") == is_same] for size in sizes}
        medians = [100 * abs(statistics.median(ratios) - 1) for ratios in at.values()]
        each = [100 * abs(r["speedup"] - 1) for r in rows if (r["path"] == "same") == is_same]
        yield row(f"A/A, {name}", f"{told}: distance of the median ratio from 1 at each size", "%", "max", medians, "resolution of the device's events",
                  f"{len(each)} runs at {len(sizes)} sizes; the farthest single run is {max(each):.2f} % off", "bars::a_a", at_most=0.5)


def slow_down(folder):
    rows = joined(folder, "bars_slow_down")
    if not rows:
        return
    seen, sizes = sum(r["seen"] for r in rows), {r["traffic_bytes"] for r in rows}
    planted = sorted({round(100 * (r["planted"] - 1), 2) for r in rows})
    is_two = all(1.75 <= share <= 2.25 for share in planted)
    limit = {"at_least": 95} if is_two else {}
    asked = "" if is_two else "; the bar asks for 2 % and is not answered: it was not planted that finely"
    yield row("planted slow-down seen", "a cubin against itself, which waits a little at its end on one side: runs whose interval lies on the right side of 1",
              "of 100", "max", [100 * seen / len(rows)], "noise of a block", f"{len(rows)} runs at {len(sizes)} sizes; planted were {planted} %{asked}",
              "bars::slow_down", **limit)


def screening(folder):
    rows, left = shared(folder, "bars_screening")
    if not rows:
        return
    samples = [1e3 * s for r in rows for s in r["seconds"]]
    slowest = max(rows, key=lambda r: max(r["seconds"], default=0))
    firsts = ", ".join(f"{r['kernel']} {r['first_s']:.1f} s" for r in rows)
    failed = [f"{r['kernel']}: {r['outcome']}" for r in rows if not r["outcome"].startswith("passed")]
    note = f"{len(rows)} kernels; slowest {slowest['kernel']}; first of each session, references within: {firsts}{left_out(left, failed)}"
    naive = [r["kernel"] for r in rows if not r["is_of_template"]]
    shows = "candidates that a search tries first, once the session has its references, compiling apart"
    note += f"; naive kernels, for want of a template: {', '.join(naive)}" if naive else ""
    for statistic, name in (("median", "screening a candidate"), ("max", "screening a candidate, the slowest")):
        yield row(name, shows, "ms", statistic, samples, "20 launches and their comparison at each of 3 shapes, 5 distributions", note, "bars::screening",
                  at_most=150)


def full_gate(folder):
    rows, left = shared(folder, "bars_full_gate")
    passed = [r for r in rows if r["passed"]]
    if not passed:
        return
    samples, largest = [r["gate_s"] for r in passed], max(passed, key=lambda r: r["gate_s"])
    parts = {part: sum(r[f"{part}_s"] for r in passed) / sum(samples) for part in ("correctness", "burst", "sustained")}
    said = ", ".join(f"{part} {100 * share:.0f} %" for part, share in parts.items())
    failed = [f"{r['kernel']}: {r['outcome']}" for r in rows if not r["passed"]]
    note = f"{len(passed)} kernels; {said}; longest {largest['kernel']}{left_out(left, failed)}"
    naive = [r["kernel"] for r in passed if not r["is_of_template"]]
    note += f"; naive kernels, for want of a template: {', '.join(naive)}" if naive else ""
    shows = "correctness in full, then every workload in bursts and the heaviest without pause, against the naive kernel; what a search would try first as finalist; peers and sanitizer apart"
    for statistic, name, most in (("median", "full gate of a finalist", 10), ("max", "full gate of a finalist, the longest", 60)):
        # a share of the kernels can miss a bar over all of them; it cannot meet it
        is_missed = {"median": statistics.median, "max": max}[statistic](samples) > most
        limit = {"at_most": most} if is_missed or not left else {}
        open_bar = "" if limit else f"the bar of {most} s is not answered: it asks for all kernels; "
        yield row(name, shows, "s", statistic, samples, "three seconds without pause, then 1,000 repeats", open_bar + note, "bars::full_gate", **limit)
    sanitized = [r for r in rows if r["sanitizer_s"] is not None]
    if sanitized:
        told = "; ".join(f"{r['kernel']}: {r['sanitizer']}" for r in sanitized)
        yield row("compute-sanitizer on a finalist", "four tools at the two smallest shapes", "s", "median", [r["sanitizer_s"] for r in sanitized],
                  "each tool starts a process and slows it down a hundredfold", told, "bars::full_gate")


def left_out(left, failed):
    return "".join(f"; {what}: {', '.join(names)}" for what, names in (("not measured", left), ("did not pass", failed)) if names)


def recovery(folder):
    rows = joined(folder, "bars_recovery")
    for fault, name in (("hang", "a hang"), ("null pointer", "a crash")):
        lost = [r for r in rows if r["fault"] == fault]
        if lost:
            yield row(f"another runner after {name}", "from the fault, or the deadline, until the next candidate was launched by a new runner", "s", "max",
                      [r["verdict_s"] + r["next_s"] for r in lost], "the driver: ending one context and opening another",
                      f"of it {max(r['verdict_s'] for r in lost):.2f} s at most until the verdict", "bars::recovery", at_most=5)


def maps(folder):
    for report in reports(folder, "bars_maps")[-1:]:
        known = report["found_of_the_judge"]
        assert report["found_planted"], "the looks found nothing that was there"
        yield row("looks at a CUDA runner that find nothing of the judge", "all readable memory of the runner, searched for seeds, references and bounds",
                  "looks", "max", [0 if known else report["whole"]], "nothing: none is there",
                  f"{report['read_mb']} MB read a look; the entry's name, which a runner must know, is found", "bars::maps", at_least=1)


def peer(folder):
    rows = joined(folder, "bars_peer_a_a")
    sizes = sorted({r["traffic_bytes"] for r in rows})
    for path, name, told in (("peers", "A/A across peer workers", "one cubin in two workers"),
                             ("paths", "A/A of the two code paths", "one cubin in our runner and in the peer worker")):
        found = [r for r in rows if r["path"] == path]
        if found:
            medians = [100 * abs(statistics.median(r["speedup"] for r in found if r["traffic_bytes"] == size) - 1) for size in sizes]
            farthest = max(100 * abs(r["speedup"] - 1) for r in found)
            yield row(name, f"{told}, blocks in turn: distance of the median ratio from 1 at each size", "%", "max", medians,
                      "each block waits for its process",
                      f"{len(found)} runs of {found[0]['samples']} pairs at {len(sizes)} sizes; the farthest single run is {farthest:.2f} % off",
                      "bars::peer_a_a", at_most=1)


def corpora(folder):
    for part, name, shows, least in (
            ("hostile", "hostile candidates that fall to their check, H200", "candidates in CUDA C++, each also accepted with its check off", 45),
            ("honest", "honest kernels never rejected, H200", "kernels in CUDA C++ and naive ones that pass in full", 40),
            ("mutants", "numeric mutants rejected, H200", "honest kernels with one site changed; none is accepted", 200)):
        lines = joined(folder, part)
        if lines:
            wrong = [f"{line['group']}, {line['name']}" for line in lines if not line["is_right"]]
            note = f"{len(lines)} in all, in {sum(line['seconds'] for line in lines):.0f} s of sessions{left_out([], wrong)}"
            yield row(name, shows, "kernels", "max", [len(lines) - len(wrong)], "nothing: all are judged as they should be" if not wrong else "the rows named in the note",
                      note, "corpora", at_least=least)


def main(folder, machine, commit, name="gate_h200", note=""):
    rows = []
    for measured in (corpora, equals, slow_down, peer, screening, full_gate, recovery, maps):
        found = list(measured(folder))
        if not found:
            print(f"not measured: {measured.__name__}", file=sys.stderr)
        rows.extend(found)
    noted = lambda row: row["note"] + (f"; {note}" if note else "")
    raw.write(raw.ROOT / f"results/raw/{name}.json", [{**row, "note": noted(row), "machine": machine, "commit": commit} for row in rows])


if __name__ == "__main__":
    main(*sys.argv[1:6])
