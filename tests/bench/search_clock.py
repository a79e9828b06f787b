"""Makes rows of results/raw/search_h200.json from what `tune --json` printed, a file a kernel.

    cargo cutegen toolchain cache --clear
    cargo cutegen tune --target sm_90a --json KERNEL --results FOLDER/KERNEL.tar.gz > FOLDER/KERNEL.log
    python3 tests/bench/search_clock.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT [NOTE]

Kernels that FOLDER lacks stay as the file has them, each with the commit at which it was searched.
"""

import pathlib
import sys
import tarfile

import raw

MOST_S, CANDIDATES = 10, 16
SCREENED_S = 0.15
GATE_S, LONGEST_S = 10, 60
COMMAND = "cargo cutegen tune --target sm_90a --json KERNEL"
PATH = raw.ROOT / "results/raw/search_h200.json"


def events_of(folder):
    """What searches said, as far as they came to ranking anything."""
    found = [event for path in sorted(pathlib.Path(folder).glob("*.log")) for event in raw.said(path.read_text())]
    return found if any(e.get("event") == "ranked" for e in found) else []


def joined(row, found, commit, before, digits=1, gone=()):
    """The row with these samples by kernel, and those that an earlier row of its name has of other kernels, but for what is `gone`; none
    without any."""
    earlier = next((old for old in before if old["bar"] == row["bar"] and "of" in old), {"of": [], "samples": []})
    every = {kernel: (sample, at) for (kernel, at), sample in zip(earlier["of"], earlier["samples"]) if kernel not in gone}
    every |= {kernel: (float(f"{sample:.4g}"), commit) for kernel, sample in found.items()}
    if not found:
        return []
    ordered = sorted(every.items())
    at = {commit: [kernel for kernel, (_, own) in ordered if own == commit] for _, (_, commit) in ordered}
    most = max(at, key=lambda own: len(at[own]))
    commits = [f"at {own} {', '.join(kernels)}" for own, kernels in at.items() if own != most] + [f"{'the others ' if len(at) > 1 else ''}at {most}"]
    told = ", ".join(f"{kernel} {sample:.{digits}f}" for kernel, (sample, _) in sorted(ordered, key=lambda pair: -pair[1][0]))
    return [{"command": COMMAND, **row, "note": "; ".join([told, *filter(None, [row.get("note")]), *commits]), "samples": [sample for _, (sample, _) in ordered],
             "of": [(kernel, own) for kernel, (_, own) in ordered]}]


def clock(found, commit, before, suffix=""):
    """Searches of fewer candidates say nothing of the bar, and neither do those that found compiles in the cache."""
    every = {e["kernel"].split()[0]: e for e in found if e.get("event") == "ranked"}
    is_cold = lambda e: not e.get("compiles", {}).get("cached")
    ranked = {kernel: e for kernel, e in every.items() if e["candidates"] >= CANDIDATES and is_cold(e)}
    row = {"bar": f"search clock{suffix}", "shows": f"from the start of a search to its ranked finalists, compiling included; searches of at least {CANDIDATES} candidates",
           "unit": "s", "statistic": "max", "at_most": MOST_S, "bounded_by": "timing of the naive kernel where it is slow and of large tensors; compiling, 1 to 6 s of 16 candidates and more"}
    return joined(row, {kernel: e["seconds"] for kernel, e in ranked.items()}, commit, before, gone=every)


def screening(found, commit, before):
    """By search: a candidate's share."""
    told = {e["kernel"].split()[0]: 1e3 * e["spent"]["screening"] / e["candidates"] for e in found if "spent" in e}
    row = {"bar": "screening a candidate in a search", "shows": "the mean of a search, with what its session makes once, compiling apart", "unit": "ms",
           "statistic": "median", "at_most": 1e3 * SCREENED_S, "bounded_by": "cases of 5 distributions at 3 shapes, up to 20 launches each; the start of runner and judge, and their references, within"}
    return joined(row, told, commit, before, 0)


def gates(folder, commit, before, suffix=""):
    """The whole gate of each winner: correctness in full, bursts against all incumbents, three seconds without pause."""
    # node.py puts the name of a set before the kernel's
    took = {path.name.removesuffix(".tar.gz").rpartition(".")[2]: judged(path) for path in sorted(pathlib.Path(folder).glob("*.tar.gz"))}
    shared = {"shows": "correctness in full and every timing, of the winners of searches, as their records say", "unit": "s",
              "note": "compute-sanitizer apart, one search a GPU", "bounded_by": "three seconds without pause of either kernel; bursts of the naive one"}
    rows = []
    for name, statistic, most in (("full gate of a finalist, in a search", "median", GATE_S), ("full gate of a finalist, in a search, the longest", "max", LONGEST_S)):
        rows += joined({"bar": name + suffix, "statistic": statistic, "at_most": most, **shared}, took, commit, before)
    return rows


def judged(results):
    """Seconds that judging the first variant took, by its record in the results of a search."""
    import tomllib  # Python 3.11
    with tarfile.open(results) as archive:
        name = next(name for name in archive.getnames() if name.endswith("record.toml"))
        return tomllib.loads(archive.extractfile(name).read().decode())["variants"][0]["evidence"]["judge-seconds"]


def main(folder, machine, commit, note=""):
    found, before = events_of(folder), raw.read(PATH)
    assert found, f"no search ranked anything in {folder}"
    rows = [*clock(found, commit, before), *screening(found, commit, before), *gates(folder, commit, before)]
    noted = lambda told: "; ".join(filter(None, (told["note"], note)))
    raw.write(PATH, raw.merged(before, [{**told, "note": noted(told), "machine": machine, "commit": commit} for told in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:5])
