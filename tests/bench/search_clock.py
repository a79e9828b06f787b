"""Makes rows of results/raw/search_h200.json from what `tune --json` printed, a file a kernel.

    cargo cutegen tune --target sm_90a --json KERNEL > FOLDER/KERNEL.log
    python3 tests/bench/search_clock.py FOLDER "NVIDIA H200, sm_90, driver ..." COMMIT
"""

import json
import pathlib
import sys

import raw

MOST_S, CANDIDATES = 10, 16


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


def main(folder, machine, commit):
    found = [e for path in sorted(pathlib.Path(folder).glob("*.log")) for e in events(path)]
    ranked = [e for e in found if e.get("event") == "ranked"]
    assert ranked and all(e["candidates"] >= CANDIDATES for e in ranked), ranked
    whole = {e["kernel"]: e["seconds"] for e in found if e.get("event") == "found"}
    told = ", ".join(f"{e['kernel'].split()[0]} {e['candidates']} in {e['seconds']:.1f} s" for e in ranked)
    judged = ", ".join(f"{kernel.split()[0]} {seconds:.0f} s" for kernel, seconds in whole.items())
    row = {"bar": "search clock", "shows": "from the start of a search to its ranked finalists, compiling included", "unit": "s", "statistic": "max", "at_most": MOST_S,
           "note": f"{told}; with the judging of two finalists and the naive kernel: {judged}",
           "bounded_by": "some 0.2 s a comparison, for filling, capturing and copying hundreds of slots; then two rounds of compiling",
           "command": "cargo cutegen tune --target sm_90a --json KERNEL", "samples": [float(f"{e['seconds']:.4g}") for e in ranked],
           "machine": machine, "commit": commit}
    raw.write(raw.ROOT / "results/raw/search_h200.json", [row])


if __name__ == "__main__":
    main(*sys.argv[1:4])
