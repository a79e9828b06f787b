"""One run of results/runs/agentic: its counts by its log, and the times of its final kernel by whatever timed that last.

It knows no bar and no page. Times come from `bench --results` first, else from the record in `cache/`, else from the log.
"""

import json
import statistics
import tomllib

import run_logs

GAIN = 1.01  # what a step must gain to be the best
# ways of agentic_peers.py that are the expression of the spec
SPELLED = ("dense", "sdpa", "bf16")
ROUNDS = ("optimise", "ideas")
PASSED = {"accepted": "accepted", "too-slow": "right in full, too slow"}


class Run:
    """What one log comes to."""

    def __init__(self, path, folder):
        self.log, self.name, self.folder = run_logs.Log(path), path.stem, folder
        self.kernel, self.key = self.log.start["kernel"], self.log.start["key"]
        self.timings, self.card, self.state, self.final = [], "", "", None
        self.read()

    def count(self, kind):
        return len(self.log.of(kind))

    def rounds(self):
        return sum(request["ask"] in ROUNDS for _, request in self.log.of("request"))

    def tokens(self):
        """As an endpoint reported them; of other answers a quarter of the bytes of prompt and answer."""
        taken = 0
        for request, answer in self.log.answers().items():
            entry = self.log.at(answer)
            counted = (self.log.at(request)["bytes"] + len(entry["text"].encode())) / 4
            taken += sum(entry["usage"].values()) if "usage" in entry else counted
        return round(taken)

    def first(self):
        """The first right kernel; of an answer that sweeps, its fastest right point."""
        right = [verdict for verdict in self.log.right() if run_logs.speeds(verdict)]
        return self.log.chosen(self.log.answer(right[0]["candidate"])) if right else None

    def gains(self):
        """By place: how much faster right kernels are than the first one, over all workloads."""
        if (first := self.first()) is None:
            return {}
        chains = [run_logs.chained(self.log, first, number) for number in range(len(run_logs.speeds(self.log.judged(first))))]
        return {place: run_logs.mean(chain[place] for chain in chains) for place in chains[0] if all(place in chain for chain in chains)}

    def gain(self):
        """Of the final kernel over the first right one."""
        return self.gains().get(self.final)

    def steps(self):
        """Predicted and measured gain over its parent, of each kernel that became the best."""
        gains, best = self.gains(), 1.0
        for place in sorted(gains):
            if place != self.first() and place == self.log.chosen(self.log.answer(place)) and gains[place] / best >= GAIN:
                best, parent = gains[place], self.log.parent(place)
                if parent and (measured := run_logs.over(self.log.judged(place), parent)):
                    yield self.predicted(place), measured

    def predicted(self, place):
        """By the answer, else by the idea that it carries out."""
        request = self.log.request(place)
        if (said := self.log.kernels()[place].get("predicted")) or "idea" not in request:
            return said
        asked = self.log.at(self.log.answer(place))["request"]
        ideas = [candidate["content"]["ideas"] for at, candidate in self.log.of("candidate") if at < asked and "ideas" in candidate["content"]]
        return ideas[-1][request["idea"] - 1].get("predicted") if ideas else None

    def read(self):
        """Which kernel is the final one, how far it came, and what timed it."""
        names = {kernel["name"]: place for place, kernel in self.log.kernels().items()}
        record = self.recorded(names)
        passed = [place for place in names.values() if self.log.last(place) in PASSED]
        if record:
            self.final, self.state = names[record["name"]], "accepted"
        elif passed:
            self.final, self.state = passed[-1], PASSED[self.log.last(passed[-1])]
        else:
            best = {place: gain for place, gain in self.gains().items() if self.log.last(place) in run_logs.RIGHT}
            self.final, self.state = max(best, key=best.get, default=None), self.waits()
        if self.final is not None:
            self.timed(self.log.kernels()[self.final]["name"], record)

    def recorded(self, names):
        """The tuned variant of the record in the cache, where it is of this run."""
        for path in self.folder.glob(f"cache/v1/{self.key[:2]}/{self.key}/record.toml"):
            variants = tomllib.loads(path.read_text())["variants"]
            return next((variant for variant in variants if variant["kind"] == "tuned" and variant["name"] in names), None)
        return None

    def waits(self):
        """For what a run waits that has not come to an end."""
        kernels = self.log.kernels()
        unseen = [place for place in kernels if self.log.last(place) in (None, "compiled")]
        compiled = sum(self.log.last(place) == "compiled" for place in unseen)
        open_ = self.count("request") - len(self.log.answers())
        said = [f"waits for a device: {len(unseen)} of {len(kernels)} kernels, {compiled} of them compile"] * bool(unseen)
        said += [f"waits for {open_} {'answer' if open_ == 1 else 'answers'}"] * bool(open_)
        return "; ".join(said) or ("best so far" if self.first() else "nothing right")

    def timed(self, name, record):
        """Timings by workload and incumbent; their card."""
        for path in sorted(self.folder.glob("raw/*.json")):
            for kernel in listed(path):
                if kernel["key"] == self.key and (found := [t for t in run_logs.benched(kernel) if t["variant"] == name]):
                    self.timings, self.card = found, kernel["device"]
                    return
        if record:
            self.timings, self.card = record["evidence"]["timings"], record["evidence"]["device"]
            return
        timed = [verdict for verdict in self.log.verdicts(self.final) if run_logs.speeds(verdict)]
        self.timings = [logged(speed) for speed in run_logs.speeds(timed[-1])]
        self.card = next((verdict["judge"]["card"] for verdict in reversed(timed) if "judge" in verdict), "")

    def passed(self):
        """Whether the whole gate passed its final kernel."""
        return self.state in PASSED.values()

    def over(self, incumbent):
        """The geometric mean over workloads; None where it was not timed at all of them."""
        found = {str(t["workload"]): statistics.median(run_logs.samples(t)) for t in self.timings if t["incumbent"] == incumbent and t.get("speedup")}
        return run_logs.mean(found.get(str(timing["workload"])) for timing in self.timings)

    def roof(self):
        """The least share of the roof; None on another card than the roof is of."""
        shares = [timing["roof-micros"] / timing["micros"] for timing in self.timings if timing.get("roof-micros")]
        return min(shares) if shares and "H200" in self.card else None

    def bound(self):
        """Which roof, where `bench` told it."""
        return next((timing["roof"]["bound"] for timing in self.timings if timing.get("roof")), "")

    def against(self, peers):
        """Cells against PyTorch's fastest way of all; or why there is none."""
        if not self.passed():
            return f"{self.kernel}: not accepted"
        if not (ways := peers.get("kernels", {}).get(self.kernel, {}).get("micros")):
            return f"{self.kernel}: PyTorch's ways are not timed"
        if not self.card.startswith(peers["device"]):
            return f"{self.kernel}: timed on {self.card or 'no card'}, PyTorch on {peers['device']}"
        return [self.cell(workload, {way: statistics.median(times) for way, times in ways.items()}) for workload in self.workloads()]

    def workloads(self):
        return list({str(timing["workload"]): timing["workload"] for timing in self.timings}.values())

    def cell(self, workload, ways):
        """Beside the expressions of the spec; by the ratio of two ways of one run, beside the fastest way."""
        here = [timing for timing in self.timings if timing["workload"] == workload]
        found = {timing["incumbent"]: run_logs.samples(timing) for timing in here if timing["incumbent"].startswith("torch")}
        fastest = min(ways, key=ways.get)
        spelled = [ways[way] for way in ways if way in [f"{name} {mode}" for name in SPELLED for mode in ("eager", "compile")]]
        if not found:
            found = {f"torch, {fastest}, timed in another run": [round(ways[fastest] / statistics.median(t["micros"] for t in here), 4)]}
        elif spelled and ways[fastest] < min(spelled):
            best = min(found.values(), key=statistics.median)
            found[f"torch, {fastest}"] = [round(sample * ways[fastest] / min(spelled), 4) for sample in best]
        return {"at": run_logs.at(self.kernel, workload), "against": found}


def logged(speed):
    """A speed of a log as a timing against the naive kernel."""
    roof = speed["roofline"] * speed["micros"] if "roofline" in speed else None
    return {"workload": speed["workload"], "micros": speed["micros"], "incumbent": "naive", "speedup": speed.get("over-naive"), "roof-micros": roof}


def listed(path):
    """Kernels of a file of `bench`; none of another file."""
    held = json.loads(path.read_text()).get("kernels", [])
    return held if isinstance(held, list) else []


def peers(folder):
    """What agentic_peers.py wrote, files of one card as one."""
    found = {}
    for path in sorted(folder.glob("raw/*.json")):
        file = json.loads(path.read_text())
        if isinstance(file.get("kernels"), dict):
            known = found.setdefault("device", file["device"])
            assert known == file["device"], f"{path}: of another card than the files before it: {known}"
            found.setdefault("kernels", {}).update(file["kernels"])
    return found
