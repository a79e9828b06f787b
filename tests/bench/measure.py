"""Measures what needs no NumPy and no GPU, into results/raw/.

    python3 tests/bench/measure.py [replay] [cold-build] [language] [fuzz] [model] [choices] [attacks] [endpoints] [lines]

`cargo run -p cutegen-tests --bin results` renders the page from the files.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import raw

FOLDER = raw.ROOT / "results/raw"


def shared(what):
    return {"machine": raw.machine(), "commit": raw.commit(), "command": f"python3 tests/bench/measure.py {what}"}


def replay():
    run = ["cargo", "run", "--quiet", "--locked", "-p", "cutegen-build", "--example", "replay_speed"]
    fast, slow = (json.loads(subprocess.check_output(run + flags, cwd=raw.ROOT)) for flags in (["--release"], []))
    assert (fast["build"], slow["build"]) == ("opt-level 3", "opt-level 0")
    what = f"100 kernels, {fast['stored_bytes'] / 1e6:.1f} MB stored, host and `sm_90a` by turns"

    def row(bar, shows, took, samples, bounded_by, **more):
        parts = ", ".join(f"{part} {statistics.median(took[part + '_ms']):.0f}" for part in ("specs", "lookup", "emit", "archive"))
        note = f"medians in ms: {parts}; beside {took['busy']} of the samples others ran; {raw.load()}"
        return {"bar": bar, "shows": f"{shows}; {what}, {took['build']}", "unit": "ms", "statistic": "median", **more,
                **shared("replay"), "note": note, "bounded_by": bounded_by, "samples": [round(s, 3) for s in samples]}

    sums = lambda took: [a + b for a, b in zip(took["lookup_ms"], took["emit_ms"])]
    raw.write(FOLDER / "replay.json", [
        row("replay", "lookup, verification and writing, the archiver left out", fast, sums(fast),
            "lookup: parsing records, SHA-256 and inflating cubins; emit: printing 100 wrappers beside writing the members", at_most=50),
        row("replay, archiving", "the archiver by itself", fast, fast["archive_ms"], "`ar` reads and writes 4 MB in 100 members", at_most=150),
        row("replay, whole", "all of a build script's work, specs and archiver within", fast, fast["whole_ms"], "the rows above", at_most=200),
        row("replay, unoptimised", "lookup, verification and writing, the archiver left out", slow, sums(slow),
            "SHA-256 and parsing without optimisation: why the README asks for a build-override"),
        row("replay, whole, unoptimised", "all of a build script's work", slow, slow["whole_ms"], "the row above"),
    ])


def cold_build():
    """A user's crate outside the workspace, its build script in cargo's default profile."""
    tree = ["cargo", "tree", "--locked", "-p", "cutegen-build", "-e", "normal", "--prefix", "none"]
    lines = subprocess.check_output(tree, cwd=raw.ROOT, text=True).splitlines()
    crates = sorted({" ".join(line.split()[:2]) for line in lines if line})
    seconds, cores, busy = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        user = pathlib.Path(folder)
        (user / "src").mkdir()
        (user / "src/lib.rs").write_text("//! Nothing.\n")
        (user / "build.rs").write_text("fn main() {\n    cutegen_build::build();\n}\n")
        dependency = f"cutegen-build = {{ path = \"{raw.ROOT / 'cutegen-build'}\" }}"
        (user / "Cargo.toml").write_text(f"[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[build-dependencies]\n{dependency}\n")
        shutil.copy(raw.ROOT / "Cargo.lock", user / "Cargo.lock")
        env = {**os.environ, "CARGO_INCREMENTAL": "0"}
        subprocess.run(["cargo", "fetch", "--quiet", "--offline"], cwd=user, env=env, check=True)
        for run in range(2):
            busy += not raw.wait_until_quiet(60)
            env["CARGO_TARGET_DIR"] = str(user / f"target{run}")
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run(["cargo", "build", "--quiet", "--offline"], cwd=user, env=env, check=True)
            seconds.append(round(time.monotonic() - start, 2))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cores.append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2))
    note = f"CPU seconds {cores}; {busy} of 2 samples began on a busy machine; {raw.load()}"
    raw.write(FOLDER / "cold_build.json", [
        {"bar": "crates of a replaying build", "shows": "`cutegen-build` without features, itself among them, each version once", "unit": "crates",
         "statistic": "max", "at_most": 45, **shared("cold-build"), "note": ", ".join(c.split()[0] for c in crates),
         "bounded_by": "`toml`, `serde` and `object` with what they need", "samples": [len(crates)]},
        {"bar": "cold build", "shows": "a crate with `cutegen-build` as build-dependency, empty target folder, profile dev, sources on disk", "unit": "s",
         "statistic": "max", "at_most": 30, **shared("cold-build"), "note": note,
         "bounded_by": "rustc on two cores: `syn` of serde's derive, then `toml`, `cutegen-spec` and `cutegen-build` one after the other", "samples": seconds},
    ])


def language():
    """What reading specs and computing references takes."""
    run = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "cutegen-build"]
    example = lambda name, *flags: json.loads(subprocess.check_output(run + [*flags, "--example", name], cwd=raw.ROOT))
    busy = not raw.wait_until_quiet(60)
    read, references = example("spec_speed"), example("reference_speed", "--features", "search")
    note = f"{'began on a busy machine; ' if busy else ''}{raw.load()}"
    rows = [{"bar": "reading specs", "shows": f"{read['specs']} specs parsed, proved, lowered, classified and keyed on one thread, {read['build']}", "unit": "ms",
             "statistic": "median", "at_most": 200, **shared("language"), "note": note, "samples": [round(ms, 2) for ms in read["ms"]],
             "bounded_by": "half of it is the TOML parser; then lowering"}]
    for row in references:
        rows.append({"bar": f"reference, {row['reference']}", "shows": "the compiled f64 reference with its bound, on all cores", "unit": "ms", "statistic": "median",
                     "at_most": 1000, **shared("language"), "note": note, "samples": [round(1e3 * s, 1) for s in row["seconds"]],
                     "bounded_by": "one sum carries value, magnitude, count and a plain sum: some fifteen instructions a term"})
    raw.write(FOLDER / "language.json", rows)


def fuzz():
    """Ten minutes of random inputs a subject, the subjects side by side; a failure ends this with the input's place."""
    test = ["cargo", "test", "--release", "--locked", "-p", "cutegen-build", "--test", "fuzz"]
    subprocess.run(test + ["--no-run"], cwd=raw.ROOT, check=True)
    seed, rows = str(int(time.time())), []
    start = lambda subject: subprocess.Popen(test, cwd=raw.ROOT, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "CUTEGEN_FUZZ_SECONDS": "600", "CUTEGEN_FUZZ_SEED": seed, "CUTEGEN_FUZZ_SUBJECTS": subject})
    for subject, run in {subject: start(subject) for subject in ("reader", "plan", "record")}.items():
        said = run.communicate()[0]
        tried = next((line for line in said.splitlines() if line.startswith(f"{subject}: ")), said[-300:])
        rows.append({"bar": f"fuzz, {subject}", "shows": "random inputs without a panic, an overflow of a 2 MiB stack, and more than 2 s or 1 GiB an input, opt-level 3", "unit": "s",
                     "statistic": "median", "at_least": 600, **shared("fuzz"), "note": f"{tried}; seed {seed}; three subjects on two cores",
                     "bounded_by": "nothing: none was found", "samples": [600 if run.returncode == 0 else 0]})
    raw.write(FOLDER / "fuzz.json", rows)


def model():
    """The gate's rule on honest evaluations and numeric mutants; one wrong verdict leaves no file."""
    test = ["cargo", "test", "--locked", "-p", "cutegen-build", "--features", "search", "--test", "math"]
    subprocess.run(test + ["--no-run"], cwd=raw.ROOT, check=True)
    start = time.monotonic()
    said = subprocess.check_output(test + ["--", "--nocapture", "model::"], cwd=raw.ROOT, text=True)
    took = time.monotonic() - start
    line = next(line for line in said.splitlines() if line.startswith("model, seed "))
    count = lambda what: int(re.search(rf"(\d+) {what}", line)[1])
    assert count("rejected") == count("accepted") == 0, line
    row = {"unit": "evaluations", "statistic": "max", **shared("model"), "note": f"{line}; {took:.0f} s, opt-level 0; {raw.load()}"}
    raw.write(FOLDER / "model.json", [
        {"bar": "honest kernels never rejected, CPU model", "shows": "random honest evaluations, each over all distributions, that the gate's rule accepts; it rejects none",
         **row, "at_least": 500, "bounded_by": "the time of the test", "samples": [count("honest")]},
        {"bar": "numeric mutants rejected, CPU model", "shows": "mutants that change a bit somewhere, judged over all distributions, that the gate's rule rejects; it accepts none",
         **row, "unit": "mutants", "at_least": 2000, "bounded_by": "the time of the test; kernels beyond contractions are judged on a sample of their elements", "samples": [count("mutants")]},
    ])


def choices():
    """What a search tries today, by recorded timings of all points."""
    test = ["cargo", "test", "--quiet", "--locked", "-p", "cutegen-build", "--features", "search", "--test", "compile", "--", "choices"]
    run = subprocess.run(test, cwd=raw.ROOT, text=True, stdout=subprocess.PIPE)
    said = run.stdout
    assert run.returncode == 0 or "behind [" in said, said
    found = re.findall(r"^  (\S+): (\d+) of (\d+) points come within (-?[\d.]+) %$", said, re.M)
    swept = [(name, int(tried), int(points), float(share)) for name, tried, points, share in found if int(points) >= 100]
    assert len(swept) >= 8, f"the bar asks for eight kernels: {said}"
    told = ", ".join(f"{name} {share:.1f} % by {tried} of {points}" for name, tried, points, share in swept)
    raw.write(FOLDER / "choices.json", [
        {"bar": "search against an exhaustive sweep", "unit": "%", "statistic": "max", "at_most": 2, **shared("choices"), "machine": "NVIDIA H200, sm_90, driver 580 (CUDA 13.0)",
         "shows": "how much slower the fastest that today's search tries is than the fastest legal point, over all workloads; by timings of all points, of kernels with 100 and more",
         "note": f"{told}; swept by `gpu bars::sweep` at 4620c27, 7336728 and 7e4f960c80, see cutegen-build/tests/compile/choices/. What a search tries has been chosen by these timings, "
                 "too; of kernels that it had not seen, the search of its day came within 5.7 % (six at 6d310a8), 0.3 % (two at 1e1ae81), 2.9 % (three at 7336728) and 2.3 % (eight at 7e4f960c80)",
         "bounded_by": "what the model ranks too low to be tried", "samples": [max(0.02, share) for _, _, _, share in swept]}])


def attacks():
    """All attacks in all modes; as root, which can become an ordinary user. Fails where a mode is not as expected."""
    test = ["cargo", "test", "--locked", "-p", "cutegen-build", "--features", "search", "--test", "attacks"]
    subprocess.run(test + ["--no-run"], cwd=raw.ROOT, check=True)
    run = subprocess.run(test, cwd=raw.ROOT, text=True, stdout=subprocess.PIPE, env={**os.environ, "CUTEGEN_REQUIRE_TOOLCHAIN": "1"})
    assert run.returncode == 0, run.stdout
    said = run.stdout.splitlines()
    rows = []
    for mode in ("user with namespaces", "user without namespaces", "root with namespaces", "root without namespaces"):
        total = next(line for line in said if line.startswith(f"{mode}: ") and " succeeded" in line).split()
        succeeded, tried = int(total[-6]), int(total[-4])
        through = [line.split(": ")[1] for line in said if line.startswith(f"  {mode}: ") and "SUCCEEDED" in line]
        bar = {"at_least": tried} if mode.startswith("user") else {}
        rows.append({"bar": f"attacks, {mode}", "shows": "attacks on compilers, linker and runners that are stopped" + ("; each succeeds without the layer that stops it, in the same mode" if bar else ""), "unit": "attacks stopped",
                     "statistic": "max", **bar, **shared("attacks"), "note": f"{succeeded} of {tried} succeeded" + "".join(f"; through: {t}" for t in through),
                     "bounded_by": "nothing: each is stopped" if not through else "no limit on processes binds root, and a C++ compiler must start some", "samples": [tried - succeeded]})
    raw.write(FOLDER / "attacks.json", rows)


def endpoints():
    """Scripted endpoints that fail, and secrets that they echo; one wrong end or one leak leaves no file."""
    test = ["cargo", "test", "--locked", "--workspace", "--test", "language_model"]
    subprocess.run(test + ["--no-run"], cwd=raw.ROOT, check=True)
    start = time.monotonic()
    run = subprocess.run(test, cwd=raw.ROOT, text=True, stdout=subprocess.PIPE)
    assert run.returncode == 0, run.stdout
    count = lambda what: int(re.search(rf"^  (?:.*, )?(\d+) {what}", run.stdout, re.M)[1])
    row = {"statistic": "max", "at_least": 50, **shared("endpoints"), "note": f"{count('runs')} runs on both wires, all tests in {time.monotonic() - start:.0f} s; {raw.load()}"}
    raw.write(FOLDER / "endpoints.json", [
        {"bar": "faults of an endpoint", "shows": "ways in which scripted endpoints on loopback sockets fail; each ends as it is to end, within a time limit, and is booked as it is to be", "unit": "fault types",
         **row, "bounded_by": "the faults that were thought of", "samples": [count("faults")]},
        {"bar": "a key and a token in no file", "shows": "files of those tests that have no piece of a key or of a header's token, which endpoints echo: as they are, reversed, hexadecimal, in base64, percent-encoded, escaped", "unit": "files",
         **row, "bounded_by": "the files that the tests write", "samples": [count("files")]},
    ])


def lines():
    files = subprocess.check_output(["git", "-C", raw.ROOT, "ls-files", "*.rs"], text=True).splitlines()
    written = [raw.ROOT / f for f in files if not f.startswith("tests/golden/")]
    counts = sorted(len(f.read_text().splitlines()) for f in written)
    row = {"unit": "lines", **shared("lines"), "note": "printed files under tests/golden/ left out; `tidy` holds both", "samples": counts}
    raw.write(FOLDER / "lines.json", [
        {"bar": "median Rust file", "shows": "lines of every committed Rust file", "statistic": "median", "at_most": 249, **row, "bounded_by": "STYLE.md, rule 2"},
        {"bar": "longest Rust file", "shows": "lines of every committed Rust file", "statistic": "max", "at_most": 800, **row, "bounded_by": "STYLE.md, rule 2"},
    ])


if __name__ == "__main__":
    parts = {"replay": replay, "cold-build": cold_build, "language": language, "fuzz": fuzz, "model": model, "choices": choices, "attacks": attacks, "endpoints": endpoints, "lines": lines}
    for name in sys.argv[1:] or [part for part in parts if part != "fuzz"]:
        parts[name]()
