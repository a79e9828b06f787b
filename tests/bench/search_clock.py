"""Makes rows of results/raw/search_h200.json from what `tune --json` printed, a file a kernel.

    cargo cutegen tune --target sm_90a --json KERNEL > FOLDER/KERNEL.log
    python3 tests/bench/search_clock.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT
"""

import pathlib
import sys

import raw

MOST_S, CANDIDATES = 10, 16


def events_of(folder):
    """What searches said, as far as they came to ranking anything."""
    found = [event for path in sorted(pathlib.Path(folder).glob("*.log")) for event in raw.said(path.read_text())]
    return found if any(e.get("event") == "ranked" for e in found) else []


def row(found):
    """Searches of fewer candidates say nothing of the bar and are named."""
    ranked = [e for e in found if e.get("event") == "ranked"]
    whole = {e["kernel"]: e["seconds"] for e in found if e.get("event") == "found"}
    enough = [e for e in ranked if e["candidates"] >= CANDIDATES]
    told = ", ".join(f"{e['kernel'].split()[0]} {e['candidates']} in {e['seconds']:.1f} s" for e in ranked)
    judged = ", ".join(f"{kernel.split()[0]} {seconds:.0f} s" for kernel, seconds in whole.items())
    return {"bar": "search clock", "shows": f"from the start of a search to its ranked finalists, compiling included; searches of at least {CANDIDATES} candidates",
            "unit": "s", "statistic": "max", **({"at_most": MOST_S} if enough else {}), "note": f"{told}; with the judging of two finalists and the naive kernel: {judged}",
            "bounded_by": "filling, capturing and copying hundreds of slots for each comparison; then two rounds of compiling",
            "command": "cargo cutegen tune --target sm_90a --json KERNEL", "samples": [float(f"{e['seconds']:.4g}") for e in enough or ranked]}


def main(folder, machine, commit):
    found = events_of(folder)
    assert found, f"no search ranked anything in {folder}"
    raw.write(raw.ROOT / "results/raw/search_h200.json", [{**row(found), "machine": machine, "commit": commit}])


if __name__ == "__main__":
    main(*sys.argv[1:4])
