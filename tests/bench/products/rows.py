"""Makes rows of results/raw/products.json of what run.py measured, and keeps what was measured in results/runs/products/measured/.

    python3 tests/bench/products/rows.py FILE.json...

A row is written once all its cells are measured, of the texts that shapes.py gives for the commit's digest; what is missing is said.
Where two files have a cell the later one counts.
"""

import collections
import json
import pathlib
import statistics
import sys

import roof
import run
import shapes
from run import raw

OVER = "our speed over the fastest of cuBLASLt's heuristics, timed afresh behind the search, under the gate's protocol"


def merged(paths):
    """Files of each job as one, and what is wrong with some cells."""
    jobs, texts, said = {}, {}, []
    for path in paths:
        file = json.loads(pathlib.Path(path).read_text())
        job, about = file["job"], file["about"]
        known = jobs.setdefault(job, file | {"cells": {}})
        if known["about"]["digest"] != about["digest"]:
            said.append(f"{path}: of another digest than the files before it")
            continue
        wanted = texts.setdefault(job, shapes.sets(shapes.seed_of(about["digest"])).get(job, {}))
        for name, cell in file["cells"].items():
            if name in wanted and cell["digest"] == run.digest_of(wanted[name]):
                known["cells"][name] = {"commit": about["commit"], **cell}
            else:
                said.append(f"{path}: {name} was measured by another text")
        known["peak"] = file.get("peak") or known.get("peak")
    return jobs, said


def interval(times):
    return [times["low"], times["speedup"], times["high"]]


def reached(cell, winner, extents):
    """The share of its card's roof that a winner reaches; nothing where it was not timed."""
    times = winner["cublaslt"]["times"]
    return roof.share(cell["device"], extents, times["candidate_us"]) if times else {}


def row(file, bar, cells, **more):
    cards = sorted({cell["device"] for cell in file["cells"].values()})
    pack = "python3 tests/bench/products/run.py pack FOLDER && python3 FOLDER/run.py"
    return {"bar": bar, "cells": cells, **more, "unit": more.get("unit", "times"), "command": f"{pack} {file['job']} --out OUT", "commit": file["about"]["commit"], "machine": "; ".join(cards)}


def commits(cells):
    """At which commits cells were measured, where there are several."""
    counts = collections.Counter(cell["commit"] for cell in cells)
    return "; ".join(f"{count} measured at {commit}" for commit, count in counts.most_common()) if len(counts) > 1 else ""


def missing(file, wanted):
    return sorted(set(wanted) - {name for name, cell in file["cells"].items() if cell["workloads"]})


def shaped(file, job):
    """Two rows: shapes whose extents are multiples of 8, and a third whose are not."""
    which = "a seed of the commit's digest" if job == "commit" else "the seed that cost estimates were fitted on"
    for letter, what, least in (("a", "multiples of 8", 1.05), ("u", "no multiples of 8", 1.15)):
        mine = {name: cell for name, cell in sorted(file["cells"].items()) if name.startswith(f"{job}_{letter}")}
        if any(name.startswith(f"{job}_{letter}") for name in missing(file, shapes.sets(shapes.seed_of(file["about"]["digest"]))[job])):
            continue
        drawn = {f"{job}_{name}": mnk for name, *mnk in shapes.drawn(shapes.FIT if job == "fit" else shapes.seed_of(file["about"]["digest"]))}
        extents = {name: "x".join(map(str, mnk)) for name, mnk in drawn.items()}
        against = {name: cell["workloads"][0]["cublaslt"] for name, cell in mine.items()}
        cells = [{"at": extents[name], "against": {"cublaslt": interval(a["times"])}, **reached(mine[name], mine[name]["workloads"][0], drawn[name])} for name, a in against.items() if a["times"]]
        without = [extents[name] for name, a in against.items() if not a["times"]]
        note = f"extents from {shapes.LEAST} to {shapes.MOST}, log-uniform, from {which}" + (f"; not timed against cuBLASLt: {', '.join(without)}" if without else "")
        note = "; ".join(filter(None, [note, commits(mine.values())]))
        bars = {"at_least": least, "worst_at_least": 0.85} if job == "commit" else {}
        yield row(file, f"products of drawn shapes, {what}" + ("" if job == "commit" else ", where estimates were fitted"), cells, shows=OVER, note=note, bounded_by="small shapes by a launch, large ones by tensor cores", **bars)


def by_mma(file):
    """Up to 128 rows against cuBLASLt; from 512 on as a share of what the instruction does from registers."""
    peak = max(point["tflops"][1] for point in file["peak"]["points"])
    few, many = [], []
    for name, cell in sorted(file["cells"].items()):
        n, k = shapes.WEIGHTS[name.removeprefix("mma_")]
        for winner in cell["workloads"]:
            m, times = winner["workload"]["m"], winner["cublaslt"]["times"]
            share = reached(cell, winner, (m, n, k))
            if m <= 128:
                few.append({"at": f"{name.removeprefix('mma_')} m={m}", "against": {"cublaslt": interval(times)}, **share})
            else:
                shares = [2 * m * n * k / pair[0] * 1e-6 / peak for pair in times["pairs"]]
                many.append({"at": f"{name.removeprefix('mma_')} m={m}", "against": {"the peak": [round(x, 4) for x in shares]}, **share})
    yield row(file, "products by mma.sync alone, six weights, 1 to 128 rows", few, shows=OVER, at_least=1.0, bounded_by="memory")
    yield row(file, "products by mma.sync alone, six weights, 512 and 2048 rows", many, shows="share of the rate of mma.sync.m16n8k16 from registers alone", unit="of the peak", at_least=0.85,
              note=f"the peak is {peak:.0f} TFLOP/s, measured on the same card before", bounded_by="tensor cores")


def swept(file):
    cells, fewest = [], min(len(cell["tried"]) for cell in file["cells"].values())
    for name, cell in sorted(file["cells"].items()):
        winner = cell["workloads"][0]
        ratio = interval(winner["swept"][1]["times"]) if winner["swept"] else [1.0]
        extents = name.removeprefix("sweep_").split("_")
        cells.append({"at": "x".join(extents), "against": {"the fastest of the sweep": ratio}, **reached(cell, winner, map(int, extents))})
    searched = [sum(point["searched"] for point in cell["tried"]) for cell in file["cells"].values()]
    yield row(file, "a search of products against a sweep", cells, shows="speed of what a search dispatches over that of the fastest of a sweep, timed in pairs", worst_at_least=0.98,
              note=f"at least {fewest} points a shape, of which a search tries {min(searched)} to {max(searched)}; 1 where both are one kernel", bounded_by="which points a cost estimate puts first")


def ranged(file):
    """Both beside cuBLASLt at once; the ratio of what they are over it."""
    whole = file["cells"]["ranged_any"]
    any_of = {(w["workload"]["m"], w["workload"]["n"], w["workload"]["k"]): w for w in whole["workloads"]}
    ratio = lambda ours, theirs: round(ours["cublaslt"]["times"]["speedup"] / theirs["cublaslt"]["times"]["speedup"], 4)
    at = lambda winner, extents: (winner["workload"]["m"], *extents)
    cells = [{"at": f"{name} m={winner['workload']['m']}", "against": {"an entry of the weight": [ratio(any_of[at(winner, extents)], winner)]}, **reached(whole, any_of[at(winner, extents)], at(winner, extents))}
             for name, extents in shapes.WEIGHTS.items() for winner in file["cells"][f"ranged_{name}"]["workloads"] if at(winner, extents) in any_of]
    yield row(file, "one kernel of any columns and terms against one for each weight, six weights", cells, shows="speed of the kernel with n and k ranged over that of the weight's own, each timed in turn with cuBLASLt", at_least=0.926,
              note="at most 8 % slower; ratio of two ratios", bounded_by="six variants for all weights")


def squares(file):
    """Two rows, as those of the six weights: to 2^37 operations, and beyond."""
    cells = {}
    for name, cell in sorted(file["cells"].items()):
        (_, layout, side), winner = name.split("_"), cell["workloads"][0]
        extents = (int(side),) * 3
        cells.setdefault(int(side), []).append({"at": f"{layout} {side}", "against": {"cublaslt": interval(winner["cublaslt"]["times"])}, **reached(cell, winner, extents)})
    sides = lambda wanted: [cell for side in sorted(cells) if wanted(side) for cell in cells[side]]
    yield row(file, "square products of bf16, nt and nn, 1024 to 4096", sides(lambda side: side <= 4096), shows=OVER, at_least=1.03, worst_at_least=0.95, bounded_by="tensor cores")
    yield row(file, "square products of bf16, nt and nn, 8192", sides(lambda side: side > 4096), shows=OVER, at_least=0.97, worst_at_least=0.92, bounded_by="the card's power limit, under both")


def rows(jobs):
    """What is complete; and what is not, in words."""
    made, said = [], []
    for job, file in jobs.items():
        if job in run.SCREENED:
            lacking = missing(file, shapes.sets(shapes.seed_of(file["about"]["digest"]))[job])
            if lacking or job == "mma" and not file.get("peak"):
                said.append(f"{job}: no row yet, not measured: {', '.join(lacking) or 'the peak'}")
                if job not in ("fit", "commit"):
                    continue
        makers = {"fit": lambda f: shaped(f, "fit"), "commit": lambda f: shaped(f, "commit"), "mma": by_mma, "sweep": swept, "ranged": ranged, "squares": squares}
        made += makers[job](file)
    return made, said


def main(*paths):
    jobs, said = merged(paths)
    made, more = rows(jobs)
    place = run.ROOT / "results/raw/products.json"
    raw.write(place, raw.merged(raw.read(place), made))
    kept = run.ROOT / "results/runs/products/measured"
    kept.mkdir(exist_ok=True)
    for job, file in jobs.items():
        (kept / f"{job}.json").write_text(json.dumps(file, separators=(",", ":")) + "\n")
    for one in made:
        least = [statistics.median(samples) for cell in one.get("cells", []) for samples in cell["against"].values()]
        print(f"{one['bar']}: {statistics.geometric_mean(least):.3f}, least {min(least):.3f}" if least else f"{one['bar']}: {one['samples']}")
    print("\n".join(said + more))


if __name__ == "__main__":
    main(*sys.argv[1:])
