"""Rows of results/raw/agentic.json and the tables of results/runs/agentic/README.md: what the twelve runs came to.

    python3 tests/bench/agentic_rows.py COMMIT [--runs FOLDER] [--raw FILE]

Read are the logs of FOLDER, what `cargo cutegen bench --peers --results FOLDER/raw/KERNEL.json` and `agentic_peers.py FOLDER/raw/FILE`
left there, and the records in its `cache/`. A kernel counts once the whole gate has passed it: no bar takes the naive kernel for it. A
row with a kernel that lacks says which, and has no verdict. Of a kernel with several runs the last one counts. Independent first
replies are the runs KERNEL-first-1, KERNEL-first-2 and so on; of each the answer to its first request counts.
"""

import argparse
import math
import pathlib
import re
import statistics

import agentic_runs
import raw
import run_logs

HARDEST = ("conv2d_3x3", "attention_prefill")
BESIDE_FIRST_REPLIES = ("embedding_norm", "attention_paged", "gemm_int4")
BEGIN, END = "<!-- by tests/bench/agentic_rows.py -->", "<!-- to here -->"
PEERS = "cargo cutegen bench KERNEL --peers --results FILE; python3 tests/bench/agentic_peers.py FILE"
STEP = "cargo cutegen step --results DIR"
HEAD = ["kernel", "strategy", "requests", "answers", "kernels", "rounds", "tokens", "first right -> final", "predicted -> measured", "over naive",
        "share of the roof", "over PyTorch's best", "bound by", "state"]


class Runs:
    """All runs of a folder, and of each kernel the last one."""

    def __init__(self, folder):
        self.folder, self.peers, self.text = folder, agentic_runs.peers(folder), (folder / "README.md").read_text()
        # kernel: which roof is the higher one
        self.bounds = dict(re.findall(r"(?m)^\| `(\w+)` \|.*\| (memory|compute) \|$", self.text))
        number = lambda path: int((re.findall(r"\d+$", path.stem) or [0])[0])
        self.all = [agentic_runs.Run(path, folder) for path in sorted(folder.glob("cutegen-runs/*/*.jsonl"), key=number)]
        is_first = lambda run: "-first-" in run.name
        self.runs = sorted((run for run in self.all if not is_first(run)), key=lambda run: list(self.bounds).index(run.kernel))
        self.last = {run.kernel: run for run in self.runs}
        self.firsts = {kernel: [run for run in self.all if is_first(run) and run.kernel == kernel] for kernel in BESIDE_FIRST_REPLIES}

    def torch(self, kernels):
        """Cells against PyTorch's best, and which kernels lack them."""
        found = [self.last[kernel].against(self.peers) if kernel in self.last else f"{kernel}: no run" for kernel in kernels]
        return [cell for cells in found if isinstance(cells, list) for cell in cells], [why for why in found if isinstance(why, str)]

    def gained(self):
        """Final over first right kernel, by kernel; and which lack it."""
        found = [self.gain(kernel) for kernel in self.bounds]
        return [cell for cell in found if isinstance(cell, dict)], [why for why in found if isinstance(why, str)]

    def gain(self, kernel):
        if (run := self.last.get(kernel)) is None:
            return f"{kernel}: no run"
        if not run.passed():
            return f"{kernel}: not accepted"
        if not (gain := run.gain()):
            return f"{kernel}: no chain of batches leads to its first kernel"
        return {"at": kernel, "against": {"the first right kernel": [round(gain, 4)]}}

    def beside_first_replies(self):
        """Final over the best of as many independent first replies, by speed-ups over the naive kernel; and which lack it."""
        compared = [self.compared(kernel) for kernel in BESIDE_FIRST_REPLIES]
        return [cell for cell in compared if isinstance(cell, dict)], [why for why in compared if isinstance(why, str)]

    def compared(self, kernel):
        run = self.last.get(kernel)
        if not run:
            return f"{kernel}: no run"
        if not run.passed() or not run.over("naive"):
            return f"{kernel}: not accepted"
        wanted = len(run.log.answers())
        seen = [reply for first in self.firsts[kernel][:wanted] if (reply := replied(first, run.card)) is not None]
        if len(seen) < wanted:
            return f"{kernel}: {len(seen)} of {wanted} first replies are judged on its card"
        best = max(seen)
        against = f"the best of {wanted} first replies" if best else f"the naive kernel, since none of {wanted} first replies is right"
        return {"at": kernel, "against": {against: [round(run.over("naive") / (best or 1), 4)]}}


def replied(first, card):
    """What a first reply is over the naive kernel, 0 where it is wrong; None where it is not judged on this card."""
    log = first.log
    if (answer := log.answers().get(1)) is None:
        return None
    kernels = [place for place in log.kernels() if log.answer(place) == answer]
    if not all(log.judged(place) for place in kernels):
        return None
    verdict = log.judged(log.chosen(answer))
    if not verdict or verdict["outcome"] != "right":
        return 0
    return run_logs.over_naive(verdict) if card.startswith(verdict["judge"]["card"]) else None


def row(bar, shows, unit, found, bounded_by, **more):
    return {"bar": bar, "shows": shows, "unit": unit, **more, "bounded_by": bounded_by, **found}


def of(cells, missing):
    return {"cells": cells} | ({"missing": missing} if missing else {})


def rows(runs):
    """A row for each bar, measured or not."""
    twelve, missing = runs.torch(runs.bounds)
    worst = {}
    for cell in twelve:
        kernel = cell["at"].split()[0]
        worst[kernel] = min(worst.get(kernel, math.inf), *map(statistics.median, cell["against"].values()))
    count = {"samples": [sum(ratio >= 1 for ratio in worst.values())] if worst else []} | ({"missing": missing} if missing else {})
    best = "PyTorch's fastest way of all: in any layout, by any backend, compiled or by hand"
    compute = "f32 without TF32 on scalar cores for convolutions; tensor cores for attention of a whole sequence; memory for the others"
    yield row("twelve kernels, at PyTorch's best", f"of twelve kernels those at 1.0 or more of {best}", "of 12", count, compute, statistic="max", at_least=8, command=PEERS)
    yield row("conv2d_3x3 and attention_prefill, over PyTorch", f"{' and '.join(HARDEST)} over {best}", "times as fast", of(*runs.torch(HARDEST)), "operations", worst_at_least=0.5, command=PEERS)
    yield row("twelve kernels, over PyTorch", f"all twelve over {best}", "times as fast", of(twelve, missing), compute, at_least=1.2, command=PEERS)
    yield row("twelve kernels, final over first", "the kernel at the end of a run over its first right one, by ratios within batches", "times as fast", of(*runs.gained()), "how good first kernels are", at_least=2.0, command=STEP)
    yield row("three kernels, final over as many first replies", "the kernel at the end of a run over the best of as many independent first replies as the run had answers, each by its ratio to the naive kernel", "times as fast",
              of(*runs.beside_first_replies()), "how good first kernels are", worst_at_least=1.0, command=STEP)


def short(value):
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cells_of(run, runs):
    """A run's line of the table."""
    counts = [run.count("request"), len(run.log.answers()), len(run.log.kernels()), run.rounds(), f"~{run.tokens()}" if run.log.answers() else 0]
    name = f"`{run.kernel}`" + (f" ({run.name})" if sum(other.kernel == run.kernel for other in runs.runs) > 1 else "")
    steps = "; ".join(f"{short(predicted) or 'none'} -> {short(measured)}" for predicted, measured in run.steps())
    torch = run.against(runs.peers)
    best = min((statistics.median(samples), way) for cell in torch for way, samples in cell["against"].items()) if isinstance(torch, list) else None
    over = f"{short(best[0])} ({best[1]})" if best else ""
    state = run.state + (f" `{run.log.kernels()[run.final]['name']}`" if run.passed() else "")
    return [name, run.log.start["strategy"], *counts, short(run.gain()), steps, short(run.over("naive")), short(run.roof()), over, run.bound() or runs.bounds[run.kernel], state]


def table(head, lines):
    shown = lambda cells: "| " + " | ".join(map(str, cells)) + " |"
    return "\n".join([shown(head), "|" + "---|" * len(head), *map(shown, lines)])


def told(one):
    """A bar's line: what it is over so far, and what it lacks."""
    least = [min(map(statistics.median, cell["against"].values())) for cell in one.get("cells", [])]
    so_far = f"{short(statistics.geometric_mean(least))} of {len(least)}, least {short(min(least))}" if least else ", ".join(map(str, one.get("samples", [])))
    wanted = f"at least {one['at_least']} {one['unit']}" if "at_least" in one else f"each at least {one['worst_at_least']} {one['unit']}"
    return [one["bar"], wanted, so_far or "nothing yet", lacks(one.get("missing", []))]


def lacks(missing):
    """Kernels by what they lack."""
    reasons = {}
    for kernel, reason in (one.split(": ", 1) for one in missing):
        reasons.setdefault(reason, []).append(kernel)
    return "; ".join(f"{reason}: {', '.join(kernels)}" for reason, kernels in reasons.items())


def page(runs, made):
    """The text between the marks."""
    judged = sum(any("judge" in verdict for verdict in run.log.verdicts()) for run in runs.runs)
    cards = sorted({run.card for run in runs.runs if run.card})
    about = f"Of {len(runs.runs)} runs {judged} have a kernel that a device judged{': ' + ', '.join(cards) if cards else ''}."
    firsts = [[f"`{kernel}`", len(some), sum(bool(run.log.right()) for run in some), len(runs.last[kernel].log.answers()) if kernel in runs.last else 0] for kernel, some in runs.firsts.items()]
    return "\n\n".join([about + " Tokens are a quarter of the bytes of prompts and answers where no endpoint counted them.", table(HEAD, [cells_of(run, runs) for run in runs.runs]),
                        table(["bar", "wanted", "so far", "lacks"], map(told, made)), table(["independent first replies of", "runs", "right", "answers of the run"], firsts)])


def written(text, between):
    """The text with this between its marks; behind all, where it has none."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head.rstrip()}\n\n{BEGIN}\n\n{between}\n\n{END}\n" + (f"\n{tail.strip()}\n" if tail.strip() else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--runs", type=pathlib.Path, default=raw.ROOT / "results/runs/agentic")
    parser.add_argument("--raw", type=pathlib.Path, default=raw.ROOT / "results/raw/agentic.json")
    options = parser.parse_args()
    runs = Runs(options.runs)
    made, machine = list(rows(runs)), "; ".join(sorted({run.card for run in runs.runs if run.card}))
    measured = [one | {"machine": machine, "commit": options.commit} for one in made if one.get("cells") or one.get("samples")]
    raw.write(options.raw, measured)
    (options.runs / "README.md").write_text(written(runs.text, page(runs, made)))
    for one in made:
        print(f"{one['bar']}: {'no row yet; ' if one['bar'] not in [m['bar'] for m in measured] else ''}lacks {lacks(one.get('missing', [])) or 'nothing'}")


if __name__ == "__main__":
    main()
