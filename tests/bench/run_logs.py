"""What logs of runs say, for programs that make rows of them: kernels with where they come from, verdicts, and how kernels compare.

`docs/formats.md` has the format. It knows no strategy, no record and no row of results.
"""

import json
import math
import pathlib
import statistics

RIGHT = ("right", "too-slow", "accepted")
# how far a point got that is not right
REACHED = {"refused": 0, "compiled": 0, "crashed": 1, "wrong": 2, "wrong-in-full": 2}


class Log:
    """A run. A place in it is an entry's number from 1."""

    def __init__(self, path):
        first, *entries = (json.loads(line) for line in pathlib.Path(path).read_text().splitlines())
        self.start, self.entries = first, [next(iter(entry.items())) for entry in entries]

    def of(self, kind):
        """Places and entries of a kind."""
        return [(place, entry) for place, (this, entry) in enumerate(self.entries, 1) if this == kind]

    def at(self, place):
        return self.entries[place - 1][1]

    def answers(self):
        """Those to a request, by the request's place."""
        return {entry["request"]: place for place, entry in self.of("candidate") if "request" in entry}

    def kernels(self):
        """What was read as a kernel and is new, points among them, by place."""
        held = self.of("candidate") + self.of("point")
        contents = {place: entry["content"] for place, entry in sorted(held, key=lambda held: held[0])}
        return {place: content["kernel"] for place, content in contents.items() if "kernel" in content}

    def verdicts(self, kernel=None):
        return [verdict for _, verdict in self.of("verdict") if kernel in (None, verdict["candidate"])]

    def last(self, kernel):
        """The outcome that was seen last; None of what nothing saw."""
        return next((verdict["outcome"] for verdict in reversed(self.verdicts(kernel))), None)

    def right(self):
        """Verdicts of the screening on right kernels, which it timed, in order."""
        return [verdict for verdict in self.verdicts() if verdict["outcome"] == "right"]

    def answer(self, kernel):
        """The answer of which a kernel is, itself or as a point."""
        return self.at(kernel).get("of", kernel)

    def request(self, kernel):
        """The request behind a kernel; none of what was submitted."""
        asked = self.at(self.answer(kernel)).get("request")
        return self.at(asked) if asked else {}

    def points(self, answer):
        return [place for place, point in self.of("point") if point["of"] == answer]

    def parent(self, kernel):
        """The nearest right kernel that it comes from."""
        about = self.request(kernel).get("about")
        while about is not None and self.last(about) not in RIGHT:
            about = self.request(about).get("about")
        return about

    def judged(self, kernel):
        """What was first seen of a kernel beyond that it compiles."""
        return next((verdict for verdict in self.verdicts(kernel) if verdict["outcome"] != "compiled"), None)

    def chosen(self, answer):
        """The kernel that stands for an answer: of a sweep the fastest right point, else the first that got furthest."""
        seen = [verdict for point in self.points(answer) if (verdict := self.judged(point))]
        best = None
        for verdict in (verdict for verdict in seen if verdict["outcome"] == "right"):
            best = verdict if best is None or faster(verdict, best) else best
        best = best or max(seen, key=lambda verdict: REACHED.get(verdict["outcome"], 3), default=None)
        return best["candidate"] if best else answer


def mean(numbers):
    """The geometric mean, where there is every number."""
    numbers = list(numbers)
    return statistics.geometric_mean(numbers) if numbers and None not in numbers else None


def speeds(verdict):
    """By workload; none of what was not timed."""
    return verdict.get("facts", {}).get("speed", [])


def over(verdict, other):
    """How much faster than another of the same batch, over all workloads; None where they were in none."""
    return mean(speed.get("over", {}).get(str(other)) for speed in speeds(verdict))


def over_naive(verdict):
    return mean(speed.get("over-naive") for speed in speeds(verdict))


def faster(one, other):
    """By times of one batch, where the two were in one."""
    ratio = over(one, other["candidate"])
    return (ratio or (over_naive(one) or 0) / (over_naive(other) or math.inf)) > 1


def chained(log, first, number):
    """At a workload, by place: how much faster right kernels are than `first`, by ratios within batches."""
    known = {str(first): 1.0}
    for verdict in log.right():
        if verdict["candidate"] == first:
            continue
        ratios = speeds(verdict)[number].get("over", {})
        chains = [known[parent] * ratio for parent, ratio in ratios.items() if parent in known]
        if chains:
            known[str(verdict["candidate"])] = statistics.geometric_mean(chains)
    return {int(place): ratio for place, ratio in known.items()}


def at(kernel, workload):
    """A cell's name."""
    return f"{kernel} " + " ".join(f"{axis}={extent}" for axis, extent in workload.items())


def samples(timing):
    """Ratios of theirs over ours: all pairs, where they were kept."""
    return [round(theirs / ours, 4) for ours, theirs in timing.get("pairs", [])] or [round(timing["speedup"], 4)]


def benched(kernel):
    """Timings of a kernel in a file of `bench --results`, each with its pairs, its variant and its roof."""
    return [{**times["timing"], "pairs": times["pairs"], "variant": times["variant"], "roof": times.get("roof")} for times in kernel["times"]]
