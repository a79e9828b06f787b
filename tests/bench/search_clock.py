"""Makes rows of results/raw/search_h200.json from what `tune --json` printed, a file a kernel.

    cargo cutegen tune --target sm_90a --json KERNEL --results FOLDER/KERNEL.tar.gz > FOLDER/KERNEL.log
    python3 tests/bench/search_clock.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT [NOTE]
"""

import pathlib
import sys
import tarfile

import raw

MOST_S, CANDIDATES = 10, 16
SCREENED_S = 0.15
GATE_S, LONGEST_S = 10, 60
COMMAND = "cargo cutegen tune --target sm_90a --json KERNEL"


def events_of(folder):
    """What searches said, as far as they came to ranking anything."""
    found = [event for path in sorted(pathlib.Path(folder).glob("*.log")) for event in raw.said(path.read_text())]
    return found if any(e.get("event") == "ranked" for e in found) else []


def bound(ranked):
    """Where the time went, of searches that say so."""
    parts = [e["spent"] for e in ranked if "spent" in e]
    if not parts:
        return "not known: these searches do not say where their time went"
    shown = {name: sorted(part[name] for part in parts) for name in ("compiling", "screening", "timing")}
    return "; ".join(f"{name} {all[0]:.1f} to {all[-1]:.1f} s" for name, all in shown.items())


def row(found):
    """Searches of fewer candidates say nothing of the bar and are named."""
    ranked = [e for e in found if e.get("event") == "ranked"]
    whole = {e["kernel"]: e["seconds"] for e in found if e.get("event") == "found"}
    enough = [e for e in ranked if e["candidates"] >= CANDIDATES]
    told = ", ".join(f"{e['kernel'].split()[0]} {e['candidates']} in {e['seconds']:.1f} s" for e in ranked)
    judged = ", ".join(f"{kernel.split()[0]} {seconds:.0f} s" for kernel, seconds in whole.items())
    return {"bar": "search clock", "shows": f"from the start of a search to its ranked finalists, compiling included; searches of at least {CANDIDATES} candidates",
            "unit": "s", "statistic": "max", **({"at_most": MOST_S} if enough else {}), "note": f"{told}; with the judging of the finalists and the naive kernel: {judged}",
            "bounded_by": bound(ranked),
            "command": COMMAND, "samples": [float(f"{e['seconds']:.4g}") for e in enough or ranked]}


def screening(found):
    """By search: seconds a candidate."""
    told = {e["kernel"].split()[0]: e["spent"]["screening"] / e["candidates"] for e in found if "spent" in e}
    if told:
        yield {"bar": "screening a candidate in a search", "shows": "the mean of a search, with what its session makes once, compiling apart", "unit": "ms",
               "statistic": "median", "at_most": 1e3 * SCREENED_S, "note": ", ".join(f"{kernel} {1e3 * s:.0f} ms" for kernel, s in told.items()),
               "bounded_by": "cases of 5 distributions at 3 shapes, up to 20 launches each; the start of runner and judge, and their references, within",
               "command": COMMAND, "samples": [float(f"{1e3 * s:.4g}") for s in told.values()]}


def gates(folder):
    """The whole gate of each winner: correctness in full, bursts against all incumbents, three seconds without pause."""
    took = {path.name.removesuffix(".tar.gz"): judged(path) for path in sorted(pathlib.Path(folder).glob("*.tar.gz"))}
    told = ", ".join(f"{kernel} {seconds:.1f} s" for kernel, seconds in sorted(took.items(), key=lambda pair: -pair[1]))
    shared = {"unit": "s", "note": f"compute-sanitizer apart, one search a GPU: {told}", "bounded_by": "three seconds without pause of either kernel; bursts of the naive one",
              "command": COMMAND, "samples": [float(f"{seconds:.4g}") for seconds in took.values()]}
    if took:
        shows = "correctness in full and every timing, of the winners of searches, as their records say"
        yield {"bar": "full gate of a finalist, in a search", "shows": shows, "statistic": "median", "at_most": GATE_S, **shared}
        yield {"bar": "full gate of a finalist, in a search, the longest", "shows": shows, "statistic": "max", "at_most": LONGEST_S, **shared}


def judged(results):
    """Seconds that judging the first variant took, by its record in the results of a search."""
    import tomllib  # Python 3.11
    with tarfile.open(results) as archive:
        name = next(name for name in archive.getnames() if name.endswith("record.toml"))
        return tomllib.loads(archive.extractfile(name).read().decode())["variants"][0]["evidence"]["judge-seconds"]


def main(folder, machine, commit, note=""):
    found = events_of(folder)
    assert found, f"no search ranked anything in {folder}"
    noted = lambda told: "; ".join(filter(None, (told["note"], note)))
    rows = [row(found), *screening(found), *gates(folder)]
    raw.write(raw.ROOT / "results/raw/search_h200.json", [{**told, "note": noted(told), "machine": machine, "commit": commit} for told in rows])


if __name__ == "__main__":
    main(*sys.argv[1:5])
